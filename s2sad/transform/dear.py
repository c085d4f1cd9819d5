"""Results that are dear to compute again are kept in turns of a loop that keep something anyway.

    for t in range(n):                            for t in range(n):
        cell_tape[t] = cell                           cell_tape[t] = cell
        cell = math.tanh(cell) * x[t]   becomes       tanh_cell = math.tanh(cell)
                                                      tanh_cell_tape[t] = tanh_cell
                                                      cell = tanh_cell * x[t]

A call of `exp` takes as long as five to ten readings of a tape. Turns that keep nothing go on doing so, and so do
branches: what one adjoint needs stays within a small multiple of what it needs anyway. Where the loop and its
adjoint then are one (`fused`), these tapes go with the others.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.layout import TOP, Block, Layout
from s2sad.analysis.saved import Plan
from s2sad.errors import Span
from s2sad.ir import ops
from s2sad.ir.nodes import Append, Apply, Assign, Const, Expr, For, Function, Stmt, Store, Var, While
from s2sad.ir.shapes import SHAPES
from s2sad.ir.types import Array, Scalar, Type, is_inexact
from s2sad.ir.walk import (
    bound,
    children,
    exchanged_in,
    exprs_of,
    map_blocks,
    map_children,
    reads,
    statements,
    subexpressions,
)
from s2sad.transform.naming import Namer, noun
from s2sad.transform.shared import LINEAR_ALGEBRA

Result = tuple[Span, Expr]
"""A call, and the statement that it stands in."""

_NAMES = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 arcsin arccos arctan arctan2 sinh cosh tanh "
    "asinh acosh atanh arcsinh arccosh arctanh erf erfc gamma lgamma cbrt"
).split()
_DEAR = frozenset(getattr(module, name) for module in (math, np) for name in _NAMES if hasattr(module, name))
_PRODUCTS = frozenset({
    operator.matmul, np.matmul, np.dot, np.vdot, np.inner, np.einsum, np.tensordot, np.interp, np.convolve,
})  # fmt: skip
_GATHERING = _PRODUCTS | {np.sum, np.mean, np.prod, np.var, np.std}
"""Functions whose result is shorter than the work that it takes."""
_POWERS = frozenset({operator.pow, math.pow, np.power})
_THROUGH = frozenset({
    operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pos, math.sqrt, np.sqrt, np.add,
    np.subtract, np.multiply, np.divide, np.negative,
})  # fmt: skip
"""Functions that pass a derivative to all of their operands: behind `max`, what was not chosen gets none."""


def dear_results(
    fn: Function, adjoints: Mapping[int, list[Stmt]], plan: Plan, layout: Layout, facts: Facts
) -> frozenset[Result]:
    """Return the calls that the adjoint makes again although something is kept in the same turn."""
    again = {id(stmt) for made in plan.recomputed.values() for stmt in made}
    found: set[Result] = set()
    for stmt in statements(fn.body):
        block = layout.block_of[id(stmt)]
        if not isinstance(stmt, Assign | Store | Append) or not (kept := _kept(block, plan, layout)):
            continue
        changing = _changing(layout.owner[block], facts)
        made = _made(tuple(adjoints.get(id(stmt), ())))
        if id(stmt) in again:
            made += _values(stmt.value)

        def is_kept(call: Apply) -> bool:
            worth = is_dear(call) and _is_worth_its_place(call) and any(_fits(call.type, kind) for kind in kept)
            return worth and _is_fixed(call) and call in made and bool(reads(call) & changing)

        def visit(expr: Any) -> None:
            if not isinstance(expr, Apply):
                return
            if is_kept(expr):
                found.add((stmt.span, expr))
            elif is_dear(expr) or expr.fn in _THROUGH:
                for part in expr.args:
                    visit(part)

        if not _is_handed_on(stmt):
            visit(stmt.value)
    return frozenset(found)


def _is_handed_on(stmt: Assign | Store | Append) -> bool:
    """Say whether a list takes the array that a call makes: it must have no other name."""
    return isinstance(stmt, Append) and isinstance(stmt.value.type, Array)


def _is_fixed(call: Expr) -> bool:
    """Say whether a call is told by its text: an option may be a list that somebody holds."""
    try:
        hash(call)
    except TypeError:
        return False
    return True


def _made(code: tuple[Stmt, ...]) -> list[Any]:
    """Return what adjoint statements compute, and read for more than its shape."""
    exprs = [e for s in statements(code) for e in exprs_of(s)]
    asked = {part.name for e in exprs for part in _values(e) if isinstance(part, Var)}
    measured = {name for e in exprs for name in reads(e)} - asked
    return [
        part for s in statements(code) if not (isinstance(s, Assign) and s.target.name in measured)
        for e in exprs_of(s) for part in _values(e)
    ]  # fmt: skip


def _values(expr: Any) -> list[Any]:
    """Return the parts of an expression of which more than the shape is read."""
    parts = children(expr)
    if isinstance(expr, Apply) and expr.fn in SHAPES:
        parts = parts[1:]
    elif isinstance(expr, Apply) and expr.fn is ops.unbroadcast:
        parts = parts[:1]
    return [expr, *(below for part in parts for below in _values(part))]


def _kept(block: Block, plan: Plan, layout: Layout) -> list[Type]:
    """Return the types of what each turn of a loop, whose body is `block`, keeps."""
    if block == TOP or not isinstance(owner := layout.owner[block], For | While):
        return []
    places = [place for stmt in owner.body for place in plan.overwrites.get(id(stmt), ())]
    return [place.type for place in (*plan.taped.get(block, ()), *places)]


def _fits(result: Type, kept: Type) -> bool:
    """Say whether a result is no longer than something that is kept."""
    if isinstance(result, Scalar):
        return True
    return isinstance(result, Array) and isinstance(kept, Array) and not Counter(result.dims) - Counter(kept.dims)


def _changing(loop: Stmt, facts: Facts) -> set[str]:
    """Return the names whose values differ from turn to turn of a loop."""
    return {name for stmt in statements((loop,)) for name in (*bound(stmt), *written_by(stmt, facts))}


def is_dear(call: Apply) -> bool:
    """Say whether a call takes much longer than to read its result."""
    if not isinstance(call.type, Scalar | Array) or not is_inexact(call.type):
        return False
    return call.fn in _DEAR | _GATHERING or _is_of_matrices(call) or _is_power(call)


def _is_worth_its_place(call: Expr) -> bool:
    """Say whether to keep a result is better than to compute it again: a row of `exp` takes little for each element."""
    parts = [part for part in subexpressions(call) if isinstance(part, Apply)]
    return isinstance(call.type, Scalar) or any(part.fn in _PRODUCTS or _is_of_matrices(part) for part in parts)


def _is_of_matrices(call: Apply) -> bool:
    return (getattr(call.fn, "__module__", "") or "").startswith(LINEAR_ALGEBRA)


def _is_power(call: Apply) -> bool:
    """Say whether a call is a power that is not a few products."""
    exponent = call.args[1] if call.fn in _POWERS else None
    if isinstance(exponent, Const) and isinstance(exponent.value, float):
        return not exponent.value.is_integer()
    return exponent is not None and is_inexact(exponent.type)


@dataclass(frozen=True, slots=True)
class Named:
    """The calls that were given names."""

    names: frozenset[str] = frozenset()
    groups: tuple[tuple[Assign, ...], ...] = ()
    """Statements that name calls, those together that were taken from one statement."""

    def together(self, adjoints: dict[int, list[Stmt]]) -> Iterator[Assign]:
        """Let adjoints of one group read all of its results, `cos(x)` in that of `sin(x)`; yield who does so now.

        All are then the adjoint of the last of the group: at the others not all of the results are there.
        """
        for group in self.groups:
            code = [s for stmt in reversed(group) for s in adjoints.get(id(stmt), ())]
            made = code
            for stmt in group:
                made = [exchanged_in(s, stmt.value, stmt.target) for s in made]
            if made != code:
                for stmt in group:
                    adjoints.pop(id(stmt), None)
                adjoints[id(group[-1])] = made
                yield group[-1]


def _is_of_numbers(expr: Expr) -> bool:
    """Say whether an expression is made of numbers alone, which change only where their names are bound."""
    names = [part for part in subexpressions(expr) if isinstance(part, Var)]
    return isinstance(expr.type, Scalar) and all(isinstance(name.type, Scalar) for name in names)


def with_results_named(fn: Function, results: frozenset[Result], namer: Namer) -> tuple[Function, Named]:
    """Return `fn` with a name for each of the calls, and these names."""
    names: set[str] = set()
    groups: list[tuple[Assign, ...]] = []

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        done: list[Stmt] = []
        known: dict[Expr, Var] = {}
        for stmt in body:
            done += each(stmt, known)
            changed = {name for s in statements((stmt,)) for name in bound(s)}
            known = {e: v for e, v in known.items() if not (reads(e) | {v.name}) & changed}
        return tuple(done)

    def each(stmt: Stmt, known: dict[Expr, Var]) -> list[Stmt]:
        """Name the calls of a statement; `known`: those of numbers that have a name already."""
        stmt = map_blocks(stmt, block)
        if not isinstance(stmt, Assign | Store | Append) or _is_handed_on(stmt):
            return [stmt]
        before: dict[Expr, Assign] = {}

        def visit(expr: Any) -> Any:
            if not isinstance(expr, Apply):
                return expr
            dear = is_dear(expr) and _is_fixed(expr)
            if dear and expr in before:
                return before[expr].target
            if dear and expr in known:
                return known[expr]
            made = map_children(expr, visit) if dear or expr.fn in _THROUGH else expr
            if not dear or not {(stmt.span, expr), (stmt.span, made)} & results:
                return made
            if isinstance(stmt, Assign) and stmt.value is expr:
                names.add(stmt.target.name)
                return made
            name = Var(namer.fresh(noun(expr)), expr.type)
            names.add(name.name)
            before[expr] = Assign(name, made, stmt.span)
            return name

        stmt = replace(stmt, value=visit(stmt.value))
        groups.append(tuple(before.values()))
        known |= {e: made.target for e, made in before.items() if _is_of_numbers(e)}
        return [*before.values(), stmt]

    if not results:
        return fn, Named()
    return replace(fn, body=block(fn.body)), Named(frozenset(names), tuple(group for group in groups if group))
