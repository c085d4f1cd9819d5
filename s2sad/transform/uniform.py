"""Arrays of one number are not made: what reads them reads the number.

    e_bar = np.full_like(e, 1.0)
    d_bar = np.copy(e_bar)
    y_bar = -0.5 * (y * d_bar)          becomes          y_bar = -0.5 * y
    s_bar = -(np.sum(e_bar) / s)                         s_bar = -(1.0 * e.size / s)

Needs: the array has one definition, nothing is written into it, no other name means it, and the array that it is made
like keeps its length. The numbers are the same, but for the rounding of a sum of equal ones.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.sharing import Groups
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Const, Expr, For, Function, If, Return, Stmt, Store, Var, While
from s2sad.ir.types import Array
from s2sad.ir.walk import (
    bound,
    exchanged,
    exprs_of,
    map_blocks,
    map_children,
    reads,
    statements,
    subexpressions,
)
from s2sad.transform.lighter import lightened

_FOLDED: dict[Any, Callable[[float, float], float]] = {
    operator.mul: operator.mul, operator.truediv: operator.truediv,
}  # fmt: skip


def uniform(fn: Function, facts: Facts, keep: frozenset[str]) -> Function:
    """Read the number where an array of it is read; the user's lines stay."""
    known = _known(fn, facts, keep)
    return replace(fn, body=tuple(_stmt(s, known, keep) for s in fn.body)) if known else fn


Known = dict[str, Apply]
"""By name: `np.full_like(e, 1.0)`."""


def _known(fn: Function, facts: Facts, keep: frozenset[str]) -> Known:
    """Return the arrays of one number."""
    every = list(statements(fn.body))
    times = Counter(name for s in every for name in bound(s)) + Counter(p.name for p in fn.params)
    written = {name for s in every for name in written_by(s, facts)}
    groups = Groups(fn, facts)
    shared = {groups.find(name) for name in groups.parent}
    found: Known = {}
    for stmt in every:
        full = _full(stmt.value) if isinstance(stmt, Assign) else None
        if not isinstance(stmt, Assign) or full is None or stmt.target.name in keep | written:
            continue
        names = {stmt.target.name, *reads(full)}
        if all(times[name] <= 1 for name in names) and groups.find(stmt.target.name) not in shared:
            found[stmt.target.name] = full
    return found


def _full(value: Expr) -> Apply | None:
    """Return `np.full_like(e, 1.0)` for that, and for `np.full_like(2.0 * e, 1.0)`."""
    match value:
        case Apply(fn, (like, Const(float())), Array("float64", dims), ()) if fn is np.full_like:
            found = [p for p in subexpressions(like) if isinstance(p, Var) and p.type == like.type]
            alike = found and isinstance(like.type, Array) and like.type.dims == dims
            return replace(value, args=(found[0], value.args[1])) if alike else None
        case _:
            return None


def _stmt(stmt: Stmt, known: Known, keep: frozenset[str]) -> Stmt:
    if isinstance(stmt, If | For | While):
        return map_blocks(stmt, lambda body: tuple(_stmt(s, known, keep) for s in body))
    names = known.keys() & {name for expr in exprs_of(stmt) for name in reads(expr)}
    if not names or isinstance(stmt, Return) or (isinstance(stmt, Assign) and stmt.target.name in keep):
        return stmt
    for name in names:
        stmt = _with_number(stmt, name, known[name])
    return stmt


def _with_number(stmt: Stmt, name: str, full: Apply) -> Stmt:
    """Put the number in the place of the array, if no array of it has to be made then."""
    if isinstance(stmt, Assign) and (whole := _whole(stmt.value, name, full)) is not None:
        return replace(stmt, value=whole)
    if isinstance(stmt, Store) and isinstance(stmt.value, Var) and stmt.value.name == name:
        return replace(stmt, value=full.args[1]) if stmt.place.type == stmt.value.type else stmt
    made = lightened(stmt, lambda expr: _summed(exchanged(expr, Var(name, full.type), full)))
    left = any(part == full for expr in exprs_of(made) for part in subexpressions(expr))
    return stmt if left else made


def _whole(value: Expr, name: str, full: Apply) -> Expr | None:
    """Return what a value is that is such an array itself: a copy, a multiple, the negative."""
    like, number = full.args
    assert isinstance(number, Const)
    match value:
        case Apply(fn, (Var(other),), _, ()) if other == name and fn in (np.copy, operator.neg):
            folded = -number.value if fn is operator.neg else number.value
        case Apply(fn, (Var(other), Const(float(by))), _, ()) if other == name and fn in _FOLDED and by:
            folded = _FOLDED[fn](number.value, by)
        case Apply(fn, (Const(float(by)), Var(other)), _, ()) if other == name and fn is operator.mul:
            folded = by * number.value
        case _:
            return None
    return replace(full, args=(like, literal(folded))) if value.type == full.type else None


def _summed(expr: Expr) -> Expr:
    """Write the sum of an array of one number as a product."""
    made = map_children(expr, _summed)
    match made:
        case Apply(fn, (inner,), _, ()) if fn is np.sum and (full := _full(inner)) is not None:
            return build(operator.mul, full.args[1], build(ops.size, full.args[0]))
        case _:
            return made
