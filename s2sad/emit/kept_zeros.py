"""Target "cpu": zeros around what every turn of a loop sets anew are written once, before the loop.

    for t in range(steps):                     parts = np.zeros(n + 2)
        parts = np.zeros(n + 2)                for t in range(steps):
        for i in range(1, n - 1):    becomes       for i in range(1, n - 1):
            parts[i + 1] += u_bar[i]                   parts[i + 1] = u_bar[i]
        ...                                        ...

Needs: one nest of counting loops alone writes into the array, at the same elements in every turn and before
anything reads it, on the only way through the turn.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from s2sad.analysis.bounds import Bounds, least_of
from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.loops import affine
from s2sad.ir.nodes import (
    Apply,
    Break,
    Comment,
    Const,
    Continue,
    Expr,
    For,
    Index,
    Return,
    Slice,
    Stmt,
    Store,
    Var,
)
from s2sad.ir.shapes import SHAPES
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import bound, exprs_of, reads, statements, subexpressions
from s2sad.transform.algebra import negative


def with_zeros_kept(
    name: str, rest: tuple[Stmt, ...], changed: Container[str], facts: Facts, least: Bounds
) -> tuple[Stmt, ...] | None:
    """Return the statements of a turn behind the making of an array of zeros, for one that is made once, or None.

    `changed`: the names that the turn gives another value or length. `least`: what whole numbers do not fall below.
    """
    if any(isinstance(s, Break | Continue | Return) for s in statements(rest)):
        return None
    at = next((k for k, s in enumerate(rest) if _meets(s, name)), None)
    if at is None or not isinstance(nest := rest[at], For):
        return None
    if any(name in written_by(s, facts) for s in statements(rest[at + 1 :])):
        return None
    setting = _setting(nest, name, (), changed, least)
    return None if setting is None else (*rest[:at], setting, *rest[at + 1 :])


def _meets(stmt: Stmt, name: str) -> bool:
    """Say whether a statement, or one inside it, does more with an array than ask for its lengths."""
    return any(name in _met(expr) for s in statements((stmt,)) for expr in exprs_of(s))


def _met(expr: Expr) -> set[str]:
    parts = list(subexpressions(expr))
    asked = [a for p in parts if isinstance(p, Apply) and p.fn in SHAPES for a in p.args if isinstance(a, Var)]
    found = [p for p in parts if isinstance(p, Var)]
    return {p.name for p in found if sum(q is p for q in found) > sum(q is p for q in asked)}


def _setting(
    loop: For, name: str, around: tuple[Var, ...], changed: Container[str], least: Bounds
) -> For | None:
    """Return a nest that sets what it would add to, if it reaches the same elements in every turn."""
    counters = (*around, loop.var)
    own = {v.name for v in counters}
    if len(own) != len(counters) or loop.var.name in {n for s in statements(loop.body) for n in bound(s)}:
        return None
    for bound_ in (loop.start, loop.stop, loop.step):
        if any(isinstance(part, Index) for part in subexpressions(bound_)):
            return None
        if any(n in changed for n in reads(bound_) - own - {name}):
            return None
    inner = [s for s in loop.body if not isinstance(s, Comment)]
    if len(inner) == 1 and isinstance(inner[0], For):
        made = _setting(inner[0], name, counters, changed, least)
        return None if made is None else replace(loop, body=tuple(made if s is inner[0] else s for s in loop.body))
    if any(not isinstance(s, Comment) and _meets(s, name) and not isinstance(s, Store) for s in inner):
        return None
    place: Index | None = None
    body: list[Stmt] = []
    for stmt in loop.body:
        if isinstance(stmt, Comment) or not _meets(stmt, name):
            body.append(stmt)
            continue
        assert isinstance(stmt, Store)
        first = place is None
        if first:
            if not isinstance(stmt.place, Index) or not _is_own(stmt.place, name, counters):
                return None
            if stmt.op not in ("", "+", "-") or name in _met(stmt.value):
                return None
            if stmt.op and not all(isinstance(k, Slice) or _is_natural(k, least) for k in stmt.place.index):
                return None  # an index from the end may come to an element a second time
            place = stmt.place
        for expr in exprs_of(stmt):
            met = [p for p in subexpressions(expr) if isinstance(p, Index) and p.base == Var(name, p.base.type)]
            if any(p != place for p in met) or (name in _met(expr) and not met):
                return None
        if first and stmt.op:
            stmt = replace(stmt, op="", value=negative(stmt.value) if stmt.op == "-" else stmt.value, accumulate=False)
        body.append(stmt)
    return replace(loop, body=tuple(body)) if place is not None else None


def _is_own(place: Index, array: str, counters: tuple[Var, ...]) -> bool:
    """Say whether a place is an element of the array for each turn of a nest: its counters, shifted or not."""
    base = place.base
    if not isinstance(base, Var) or base.name != array or not isinstance(base.type, Array):
        return False
    if not isinstance(place.type, Scalar) or len(place.index) != len(base.type.dims):
        return False
    found: set[str] = set()
    for item in place.index:
        if isinstance(item, Const):
            continue
        name, _ = affine(item) or (None, 0)
        if name is None or name in found:
            return False
        found.add(name)
    return found == {v.name for v in counters}



def _is_natural(item: Expr, least: Bounds) -> bool:
    found = least_of(item, least)
    return found is not None and found >= 0
