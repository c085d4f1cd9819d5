"""A part of an adjoint that is copied, set to zero and then added elsewhere is added before it is set to zero.

    u_part_bar = np.copy(u_bar[:, 0])
    u_bar[:, 0] = 0.0                   becomes    u_bar[:, 1] += u_bar[:, 0]
    u_bar[:, 1] += u_part_bar                      u_bar[:, 0] = 0.0

Guarantees the same values; needs the two places to lie apart, and nothing else to read the copy. That is the reverse
of `u[:, 0] = u[:, 1]`, a boundary condition.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from s2sad.analysis.bounds import Bounds, lower_bounds, never_meet
from s2sad.analysis.facts import Facts
from s2sad.analysis.sharing import Groups
from s2sad.frontend.values import literal
from s2sad.ir.nodes import Apply, Assign, Expr, Function, Index, Stmt, Store, Var
from s2sad.ir.walk import bound, exchanged, exprs_of, is_const, map_blocks, reads, root_of, statements, subexpressions


def read_first(fn: Function, facts: Facts, keep: frozenset[str]) -> Function:
    """Add before zeroing wherever that leaves out a copy."""
    if not any(_copied(s) is not None for s in statements(fn.body)):
        return fn
    every = list(statements(fn.body))
    uses = Counter(p.name for s in every for e in exprs_of(s) for p in subexpressions(e) if isinstance(p, Var))
    uses.update(name for s in every for name in bound(s))
    groups = Groups(fn, facts)
    bounds = lower_bounds(fn)

    def each(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for stmt in body:
            out.append(map_blocks(stmt, each))
            if len(out) >= 3 and (made := _turned(out[-3], out[-2], out[-1], groups, bounds)) is not None:
                copied = out[-3]
                assert isinstance(copied, Assign)
                if copied.target.name not in keep and uses[copied.target.name] == 2:
                    out[-3:] = made
        return tuple(out)

    return replace(fn, body=each(fn.body))


def _copied(stmt: Stmt) -> Index | None:
    match stmt:
        case Assign(_, Apply(fn, (Index(Var()) as part,), _, ())) if fn is np.copy:
            return part
        case _:
            return None


def _turned(first: Stmt, zeroing: Stmt, adding: Stmt, groups: Groups, bounds: Bounds) -> list[Stmt] | None:
    """Return the addition and the zeroing, in that order, for a copy, the zeroing and the addition."""
    part = _copied(first)
    if part is None or not isinstance(first, Assign) or not isinstance(adding, Store) or adding.op not in ("+", "-"):
        return None
    if not isinstance(zeroing, Store) or zeroing.op or zeroing.place != part or not is_const(zeroing.value, 0):
        return None
    if first.target.name in reads(adding.place) or not _are_apart(part, adding.place, groups, bounds):
        return None
    rest = exchanged(adding.value, first.target, literal(0))
    if groups.read(rest) & groups.read(part.base) or first.target.name in reads(rest):
        return None  # what is read there besides is zero by then
    return [replace(adding, value=exchanged(adding.value, first.target, part)), zeroing]


def _are_apart(part: Index, place: Expr, groups: Groups, bounds: Bounds) -> bool:
    """Say whether two places have no element in common."""
    one, other = root_of(part), root_of(place)
    if one is None or other is None:
        return False
    if groups.find(one.name) != groups.find(other.name):
        return True
    if not isinstance(place, Index) or place.base != part.base:
        return False
    return never_meet(part, place, (), bounds)
