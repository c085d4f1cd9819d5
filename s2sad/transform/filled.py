"""The first loop that adds to each element of an array of zeros sets it.

    x_bar = np.zeros_like(x)                 x_bar = np.empty_like(x)
    for i in range(x.size):       becomes    for i in range(x.size):
        x_bar[i] += a * y_bar[i]                 x_bar[i] = a * y_bar[i]

A loop over the length of another array leaves what may lie behind to a loop of zeros from there on.
Needs: the loops run over every element, each once and on every path, nothing reads or writes the array between
its making and them, what else they do with an element comes after, and no other thread adds to it. Saves one way
through the memory.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.analysis.facts import Facts
from s2sad.analysis.on_device import shared_memory
from s2sad.analysis.sharing import Groups
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Apply,
    Assign,
    Break,
    Comment,
    Const,
    Continue,
    Expr,
    For,
    Function,
    Index,
    Return,
    Stmt,
    Store,
    Var,
)
from s2sad.ir.types import Array, Dim, Scalar, is_given
from s2sad.ir.walk import bound, children, exprs_of, is_const, map_blocks, names_in, statements
from s2sad.transform.algebra import negative
from s2sad.transform.naming import Namer

EMPTY: dict[Any, Any] = {np.zeros_like: np.empty_like, np.zeros: np.empty}


def filled(fn: Function, facts: Facts) -> Function:
    """Return `fn` with such loops setting what they find zero."""
    groups = Groups(fn, facts)
    namer = Namer(names_in(fn.body) | {p.name for p in fn.params})
    behind: dict[str, str] = {}
    met_in = {groups.find(name) for name in shared_memory(fn)}

    def each(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        made = [map_blocks(stmt, each) for stmt in body]
        rest: dict[int, list[Stmt]] = {}
        for at, stmt in enumerate(made):
            if isinstance(stmt, Assign) and isinstance(stmt.value, Apply) and stmt.value.fn in EMPTY:
                there = groups.find(stmt.target.name)
                if _of_the_block(stmt.value, met_in, groups):
                    continue
                met = next((k for k in range(at + 1, len(made)) if _places(made[k], there, groups)), None)
                loop = made[met] if met is not None else None
                if met is None or not isinstance(loop, For):
                    continue
                first = next(s for s in statements((loop,)) if _places(s, there, groups, False))
                if not isinstance(first, Store) or len(_places(first, there, groups, False)) != 1:
                    continue
                if any(place != first.place for place in _places(loop, there, groups)):
                    continue
                setting = _setting(loop, stmt.target, first)
                if setting is None and (setting := _setting(loop, stmt.target, first, whole=False)) is not None:
                    turn = loop.var.name
                    behind[turn] = behind.get(turn) or namer.fresh(turn)
                    rest[met] = [*rest.get(met, ()), _rest_of(stmt.target, loop, behind[turn])]
                if setting is not None:
                    made[at] = replace(stmt, value=replace(stmt.value, fn=EMPTY[stmt.value.fn]))
                    made[met] = setting
        return tuple(one for at, stmt in enumerate(made) for one in (stmt, *rest.get(at, ())))

    return replace(fn, body=each(fn.body))


def _of_the_block(made: Apply, met_in: set[str], groups: Groups) -> bool:
    """Say whether an array is the shadow of shared memory, to which every thread of the block adds."""
    return any(isinstance(a, Var) and groups.find(a.name) in met_in for a in made.args)


def _places(stmt: Stmt, there: str, groups: Groups, inside: bool = True) -> list[Expr | None]:
    """List where names of a group of arrays are met in a statement, and in those inside it: an item, or None."""
    found: list[Expr | None] = []

    def visit(expr: Any) -> None:
        if isinstance(expr, Index) and isinstance(expr.base, Var) and groups.find(expr.base.name) == there:
            found.append(expr)
            for item in expr.index:
                visit(item)
        elif isinstance(expr, Var):
            found.extend([None] * (groups.find(expr.name) == there))
        elif isinstance(expr, Apply) and expr.fn in (ops.dim, ops.size) and isinstance(expr.args[0], Var):
            pass  # lengths are none of the elements
        else:
            for child in children(expr):
                visit(child)

    for one in statements((stmt,)) if inside else (stmt,):
        for expr in exprs_of(one):
            visit(expr)
        found.extend(None for name in bound(one) if groups.find(name) == there)
    return found


def _setting(
    loop: For, array: Var, first: Store, index: tuple[Var, ...] = (), whole: bool = True
) -> For | None:
    """Return the loop with its `first` use of `array`, an addition, as a setting, if it reaches every element.

    `whole` False: or every one up to the length of another array, if there is one axis.
    """
    kind = array.type
    if not isinstance(kind, Array) or len(index) >= len(kind.dims):
        return None
    if not (covers(loop, kind.dims[len(index)]) if whole else len(kind.dims) == 1 and _counts_to_a_length(loop)):
        return None
    if any(isinstance(s, Break | Continue | Return) or loop.var.name in bound(s) for s in statements(loop.body)):
        return None
    index = (*index, loop.var)
    for at, stmt in enumerate(loop.body):
        made: Stmt | None = None
        if isinstance(stmt, For):
            made = _setting(stmt, array, first, index)
        elif stmt is first and first.op in ("+", "-") and first.place == Index(
            array, index, first.place.type
        ):
            made = replace(first, op="", value=negative(first.value) if first.op == "-" else first.value)
        if made is not None:
            return replace(loop, body=(*loop.body[:at], made, *loop.body[at + 1 :]))
    return None


def _counts_to_a_length(loop: For) -> bool:
    """Say whether a loop counts from zero to a length that stays what it is, step by step."""
    match loop.stop:
        case Apply(fn, (Var(name), *_)) if fn in (ops.dim, ops.size, np.size):
            steady = all(name not in bound(s) for s in statements(loop.body))
            return steady and is_const(loop.start, 0) and is_const(loop.step, 1)
        case _:
            return False


def _rest_of(array: Var, loop: For, turn: str) -> Stmt:
    """Return the loop that sets the elements behind the last one that a loop reaches to zero."""
    assert isinstance(array.type, Array)
    behind = Var(turn, loop.var.type)
    item = Index(array, (behind,), Scalar(array.type.dtype))
    zeros = Store(item, "", literal(0.0), loop.span)
    return For(behind, loop.stop, build(ops.dim, array, literal(0)), literal(1), (zeros,), loop.span)


def covers(loop: For, dim: Dim) -> bool:
    """Say whether a loop counts from zero to a length, step by step."""
    return is_const(loop.start, 0) and is_const(loop.step, 1) and is_length(loop.stop, dim)


def loops_over(loop: For, kind: Array) -> list[For] | None:
    """Return the loops of a nest, one for each axis of an array."""
    found: list[For] = []
    stmt: Stmt = loop
    for _ in kind.dims:
        if not isinstance(stmt, For):
            return None
        found.append(stmt)
        inner = [s for s in stmt.body if not isinstance(s, Comment)]
        if len(found) < len(kind.dims) and len(inner) != 1:
            return None
        stmt = inner[0] if inner else stmt
    return found if len({one.var.name for one in found}) == len(found) else None


def is_length(stop: Expr, dim: Dim) -> bool:
    """Say whether an expression is the length that a type knows as `dim`."""
    if isinstance(dim, int):
        known = stop.value if isinstance(stop, Const) else stop.type.value if isinstance(stop.type, Scalar) else None
        return type(known) is int and known == dim
    match stop:
        case Apply(fn, (Var(_, Array(_, dims)), Const(axis))) if fn is ops.dim:
            return bool(dims[axis] == dim)
        case Apply(fn, (Var(_, Array(_, dims)),)) if fn in (ops.size, np.size):
            return dims == (dim,)
        case _:
            return isinstance(stop.type, Scalar) and stop.type.value == dim and not is_given(dim)
