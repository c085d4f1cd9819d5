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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.layout import TOP, Block, Layout
from s2sad.analysis.saved import Plan
from s2sad.errors import Span
from s2sad.ir.nodes import Append, Apply, Assign, Expr, For, Function, Stmt, Store, Var, While
from s2sad.ir.types import Scalar, is_inexact
from s2sad.ir.walk import bound, exchanged, exchanged_in, exprs_of, map_blocks, reads, statements, subexpressions
from s2sad.transform.naming import Namer, noun

Result = tuple[Span, Expr]
"""A call, and the statement that it stands in."""

_NAMES = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 arcsin arccos arctan arctan2 sinh cosh tanh "
    "asinh acosh atanh arcsinh arccosh arctanh erf erfc gamma lgamma cbrt"
).split()
_DEAR = frozenset(getattr(module, name) for module in (math, np) for name in _NAMES if hasattr(module, name))
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
        if not isinstance(stmt, Assign | Store | Append) or not _keeps(block, plan, layout):
            continue
        changing = _changing(layout.owner[block], facts)
        code = [e for s in statements(tuple(adjoints.get(id(stmt), ()))) for e in exprs_of(s)]
        for call in _calls(stmt.value):
            if not reads(call) & changing:
                continue
            if id(stmt) in again or any(call == part for e in code for part in subexpressions(e)):
                found.add((stmt.span, call))
    return frozenset(found)


def _keeps(block: Block, plan: Plan, layout: Layout) -> bool:
    """Say whether each turn of a loop, whose body is `block`, keeps a value."""
    if block == TOP or not isinstance(owner := layout.owner[block], For | While):
        return False
    return bool(plan.taped.get(block)) or any(plan.overwrites.get(id(stmt)) for stmt in owner.body)


def _changing(loop: Stmt, facts: Facts) -> set[str]:
    """Return the names whose values differ from turn to turn of a loop."""
    return {name for stmt in statements((loop,)) for name in (*bound(stmt), *written_by(stmt, facts))}


def _calls(expr: Any) -> Iterator[Expr]:
    """Yield the outermost dear calls whose results an expression is made of by arithmetic alone."""
    if not isinstance(expr, Apply):
        return
    if isinstance(expr.type, Scalar) and (expr.fn in _DEAR or (expr.fn in _POWERS and not _is_small(expr.args[1]))):
        yield expr
        return
    if expr.fn in _THROUGH:
        for part in expr.args:
            yield from _calls(part)


def _is_small(exponent: Any) -> bool:
    """Say whether a power is a few products."""
    return isinstance(exponent.type, Scalar) and not is_inexact(exponent.type)


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


def with_results_named(fn: Function, results: frozenset[Result], namer: Namer) -> tuple[Function, Named]:
    """Return `fn` with a name for each of the calls, and these names."""
    names: set[str] = set()
    groups: list[tuple[Assign, ...]] = []

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(made for stmt in body for made in each(stmt))

    def each(stmt: Stmt) -> list[Stmt]:
        stmt = map_blocks(stmt, block)
        if not isinstance(stmt, Assign | Store | Append):
            return [stmt]
        before: list[Assign] = []
        for call in dict.fromkeys(call for call in _calls(stmt.value) if (stmt.span, call) in results):
            if isinstance(stmt, Assign) and stmt.value == call:
                names.add(stmt.target.name)
                continue
            name = Var(namer.fresh(noun(call)), call.type)
            names.add(name.name)
            before.append(Assign(name, call, stmt.span))
            stmt = replace(stmt, value=exchanged(stmt.value, call, name))
        groups.append(tuple(before))
        return [*before, stmt]

    if not results:
        return fn, Named()
    return replace(fn, body=block(fn.body)), Named(frozenset(names), tuple(group for group in groups if group))
