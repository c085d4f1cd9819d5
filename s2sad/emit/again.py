"""Loops work out again what costs next to nothing, rather than keep it in an array.

    for i in range(n):                               for i in range(n):
        hit[i] = (x[i] == largest) * 1.0                 hit = (x[i] == largest) * 1.0
        total += hit[i]                    becomes       total += hit
    for i in range(n):                               for i in range(n):
        x_bar[i] += share * hit[i]                       x_bar[i] += share * ((x[i] == largest) * 1.0)

Memory that is fetched, filled and read once costs more than two operations on what is read anyway.
"""

from __future__ import annotations

import operator
from typing import Any

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.sharing import Apart
from s2sad.ir.nodes import Apply, Const, Expr, For, Index, Slice, Stmt, Store, Var
from s2sad.ir.types import Scalar
from s2sad.ir.walk import bound, children, exchanged_in, exprs_of, map_blocks, reads, root_of, statements

_CHEAP = (
    operator.add, operator.sub, operator.mul, operator.neg, operator.eq, operator.ne, operator.lt, operator.le,
    operator.gt, operator.ge,
)  # fmt: skip
_OPERATIONS, _USES = 3, 2


def again(body: tuple[Stmt, ...], made: set[str], apart: Apart, facts: Facts) -> tuple[Stmt, ...]:
    """Return `body` with the cheap ones of the `made` arrays worked out where later loops read them."""
    counts = _counts(body)
    stores = [root.name for s in statements(body) if isinstance(s, Store) and (root := root_of(s.place)) is not None]
    names = [name for s in statements(body) for name in bound(s)]
    made = {name for name in made if stores.count(name) == 1 == names.count(name)}

    def block(stmts: tuple[Stmt, ...], around: frozenset[str] = frozenset()) -> tuple[Stmt, ...]:
        stmts = tuple(
            map_blocks(stmt, lambda inner, counter=_counter(stmt): block(inner, around | counter)) for stmt in stmts
        )
        for at in range(len(stmts)):
            for place, value in _kept(stmts[at], made):
                stmts = _inlined(stmts, at, place, value, around, counts, apart, facts)
        return stmts

    return block(body)


def _counter(stmt: Stmt) -> frozenset[str]:
    return frozenset({stmt.var.name}) if isinstance(stmt, For) else frozenset()


def _counts(body: tuple[Stmt, ...]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for stmt in statements(body):
        for expr in exprs_of(stmt):
            for part in _parts(expr):
                if isinstance(part, Var):
                    counts[part.name] = counts.get(part.name, 0) + 1
    return counts


def _parts(expr: Expr | Slice) -> list[Any]:
    return [expr, *(part for child in children(expr) for part in _parts(child))]


def _kept(loop: Stmt, made: set[str]) -> list[tuple[Index, Expr]]:
    """Return the items that a nest of loops fills with something cheap."""
    found: list[tuple[Index, Expr]] = []
    while isinstance(loop, For):
        for stmt in loop.body:
            if isinstance(stmt, Store) and stmt.op == "" and isinstance(stmt.place, Index):
                base = stmt.place.base
                if isinstance(base, Var) and base.name in made and _is_cheap(stmt.value):
                    found.append((stmt.place, stmt.value))
        if not loop.body:
            break
        loop = loop.body[0]
    return found


def _is_cheap(value: Expr) -> bool:
    applied = [part for part in _parts(value) if isinstance(part, Apply)]
    items = [part for part in _parts(value) if isinstance(part, Index)]
    return (
        len(applied) <= _OPERATIONS
        and all(part.fn in _CHEAP for part in applied)
        and 0 < len(items) <= 2
        and all(isinstance(part.type, Scalar) for part in items)
    )


def _inlined(
    stmts: tuple[Stmt, ...], at: int, place: Index, value: Expr, around: frozenset[str], counts: dict[str, int],
    apart: Apart, facts: Facts,
) -> tuple[Stmt, ...]:  # fmt: skip
    """Put the value of an item in its place behind the loop that made it, if all that it is made of stays.

    `around` are the counters of the loops that the statements are in.
    """
    assert isinstance(place.base, Var)
    name = place.base.name
    here = _count_of(stmts[at], place, around)
    later = [_count_of(stmt, place, around) for stmt in stmts[at + 1 :]]
    if not any(later) or sum(later) > _USES or here + sum(later) != counts.get(name):
        return stmts
    if _operations(value) > 1 and any(_is_compared(stmt, place) for stmt in stmts[at + 1 :]):
        return stmts  # rounded another way, where that is allowed, it would not be equal to what it was
    last = at + 1 + max(k for k, count in enumerate(later) if count)
    own = {v.name for v in _parts(place) if isinstance(v, Var)}
    inputs = reads(value) - (own - {name})
    if name in inputs or any(_changes(stmt, inputs, name, apart, facts) for stmt in stmts[at : last + 1]):
        return stmts

    counts[name] -= sum(later)
    for part in _parts(value):
        if isinstance(part, Var):
            counts[part.name] += sum(later)

    return (
        *stmts[: at + 1], *(exchanged_in(s, place, value) for s in stmts[at + 1 : last + 1]), *stmts[last + 1 :]
    )  # fmt: skip


def _operations(value: Expr) -> int:
    return sum(isinstance(part, Apply) for part in _parts(value))


def _is_compared(stmt: Stmt, place: Index) -> bool:
    """Say whether an item is looked for: `x[i] == largest`."""
    compared = [
        part for inner in statements((stmt,)) for expr in exprs_of(inner) for part in _parts(expr)
        if isinstance(part, Apply) and part.fn in (operator.eq, operator.ne)
    ]  # fmt: skip
    return any(place in part.args for part in compared)


def _count_of(stmt: Stmt, place: Index, around: frozenset[str]) -> int:
    """Count the readings of an item, none of them from outside the loops over it."""
    loops = {v.name for v in _parts(place) if isinstance(v, Var)} - {place.base.name}  # type: ignore[union-attr]
    return _count_in(stmt, place, loops - around)


def _count_in(stmt: Stmt, place: Index, missing: set[str]) -> int:
    if isinstance(stmt, For) and isinstance(stmt.start, Const):
        missing = missing - {stmt.var.name}
    own = sum(part == place for expr in exprs_of(stmt) for part in _parts(expr)) if not missing else 0
    inner = stmt.body if isinstance(stmt, For) else ()
    return own + sum(_count_in(s, place, missing) for s in inner)


def _changes(stmt: Stmt, inputs: set[str], name: str, apart: Apart, facts: Facts) -> bool:
    """Say whether a statement, or one in it, may change one of these names or what they hold."""
    for one in statements((stmt,)):
        if set(bound(one)) & inputs:
            return True
        written = set(written_by(one, facts))
        if isinstance(one, Store) and (root := root_of(one.place)) is not None:
            written.add(root.name)
        for changed in written - {name}:
            if any(apart.may_meet(changed, given) for given in inputs):
                return True
    return False
