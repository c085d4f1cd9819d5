"""What no device can do: allocate, call libraries, raise, recurse. Refused where the user wrote it."""

from __future__ import annotations

import builtins
from collections.abc import Iterable

import numpy as np

from s2sad.errors import Span, UnsupportedSyntaxError
from s2sad.ir import ops
from s2sad.ir.device import FORMER, MEMORY, SHARED
from s2sad.ir.nodes import Append, Apply, Assert, Assign, CallStmt, Function, Index, Raise, Stmt, Store, Var
from s2sad.ir.types import Array, ListOf
from s2sad.ir.walk import exprs_of, reads, statements, subexpressions

FRESH = (np.empty, np.zeros, np.zeros_like, np.empty_like)
"""Makers of arrays; of constant size they are a thread's own memory."""


def reachable(functions: dict[str, Function], entry: str) -> dict[str, Function]:
    """Return the functions that `entry` calls, directly or not, and itself."""
    found: dict[str, Function] = {}
    todo = [entry]
    while todo:
        name = todo.pop()
        if name in found or name not in functions:
            continue
        found[name] = functions[name]
        todo += [s.callee for s in statements(functions[name].body) if isinstance(s, CallStmt)]
    return found


def shared_memory(fn: Function) -> set[str]:
    """Return the arrays that the threads of a block have together."""
    return {s.target.name for s in statements(fn.body)
            if isinstance(s, Assign) and isinstance(s.value, Apply) and s.value.fn is SHARED}  # fmt: skip


def checked(functions: dict[str, Function]) -> None:
    """Refuse what no device can do, at the user's line.

    Raises:
        UnsupportedSyntaxError: recursion, exceptions, lists, allocations, calls of libraries.
    """
    for fn in functions.values():
        for stmt in statements(fn.body):
            _check_stmt(stmt, fn)
        _check_calls(fn.name, functions, ())


def without_outer_arrays(fn: Function, outer: Iterable[str]) -> None:
    """Refuse arrays of outer scopes, which a launch does not bring along, where one is read first.

    Raises:
        UnsupportedSyntaxError: `fn` reads one of the arrays `outer`.
    """
    names = set(outer)
    for stmt in statements(fn.body):
        for expr in exprs_of(stmt):
            found = sorted(reads(expr) & names)
            if found:
                raise UnsupportedSyntaxError(
                    f"`{found[0]}` is an array from outside the function", stmt.span if stmt.span.line else fn.span,
                    "Make it an argument: what stands outside is not there on a device. In a batch, None in in_axes "
                    "gives it to every element whole.",
                )  # fmt: skip


def _refuse(what: str, span: Span, way_out: str) -> UnsupportedSyntaxError:
    return UnsupportedSyntaxError(f"{what} cannot run on a device", span, way_out)


def _check_stmt(stmt: Stmt, fn: Function) -> None:
    span = stmt.span if stmt.span.line else fn.span
    match stmt:
        case Raise() | Assert():
            raise _refuse("an exception", span, "Write an error number to an array, and raise after the launch.")
        case Append():
            raise _refuse("a list that grows", span, "Write into `cuda.local.array(size, dtype)` instead.")
        case Assign(_, Apply(fn_)) if isinstance(stmt.target.type, ListOf) and fn_ is ops.new_list:
            raise _refuse("a list that grows", span, "Write into `cuda.local.array(size, dtype)` instead.")
        case _:
            pass
    for expr in exprs_of(stmt):
        for part in subexpressions(expr):
            if isinstance(part, Apply):
                _check_call(part, span)
            if isinstance(part, Index | Var) and isinstance(stmt, Store) and part is stmt.place:
                if isinstance(part.type, Array):
                    raise _refuse("a write to a whole array", span, "Write element by element, in a loop.")


def _check_call(part: Apply, span: Span) -> None:
    if part.fn is FORMER:
        raise UnsupportedSyntaxError(
            "the value that `cuda.atomic.add` returns has no derivative", span,
            "It depends on the order of the threads. Call it for what it adds alone; do what needs the value before in "
            "a kernel of its own.",
        )  # fmt: skip
    name = getattr(part.fn, "__name__", str(part.fn))
    if isinstance(part.type, Array) and part.fn not in MEMORY and part.fn is not ops.transpose:
        if part.fn in FRESH and all(isinstance(d, int) for d in part.type.dims):
            return
        raise _refuse(f"`{name}` makes a new array and", span,
                      "Use `cuda.local.array` or `cuda.shared.array` with a constant shape, and loops over "
                      "elements; or do this part outside the kernel.")  # fmt: skip
    if any(isinstance(a.type, Array) for a in part.args) and part.fn not in _OF_ARRAYS:
        raise _refuse(f"`{name}` of an array", span, "Loop over the elements.")


_OF_ARRAYS = frozenset({ops.dim, ops.size, ops.length, ops.transpose, np.zeros_like, np.empty_like, builtins.len})


def _check_calls(name: str, functions: dict[str, Function], path: tuple[str, ...]) -> None:
    for stmt in statements(functions[name].body):
        if isinstance(stmt, CallStmt):
            if stmt.callee in (*path, name):
                raise _refuse("recursion", stmt.span, "Write it as a loop.")
            if stmt.callee in functions:
                _check_calls(stmt.callee, functions, (*path, name))
