"""An array that is made to be copied into a row of another one is that row.

    x_bar = np.zeros_like(x)               x_bar = block[i]
    x_bar[k] += t * y           becomes    x_bar[:] = 0.0
    block[i] = x_bar                       x_bar[k] += t * y

Needs: both arrays are the derivative's own, nobody reads the other one meanwhile, and the lengths agree.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from s2sad.analysis.alias import view_base
from s2sad.analysis.facts import Facts
from s2sad.frontend.values import literal
from s2sad.ir.nodes import (
    Apply,
    Assign,
    Break,
    CallStmt,
    Continue,
    Expr,
    Function,
    Index,
    Return,
    Slice,
    Stmt,
    Store,
    Var,
)
from s2sad.ir.types import Array
from s2sad.ir.walk import bound, children, exprs_of, map_blocks, reads, statements

_EMPTY = (np.empty, np.empty_like)
_ZEROS = (np.zeros, np.zeros_like)


def placed(fn: Function, facts: Facts, keep: frozenset[str]) -> Function:
    """Make such arrays in their place; `keep` are the user's names, which stay what they are."""
    while (better := _Placing(fn, facts, keep).block(fn.body)) != fn.body:
        fn = replace(fn, body=better)
    return fn


class _Placing:
    def __init__(self, fn: Function, facts: Facts, keep: frozenset[str]) -> None:
        self.facts = facts
        every = list(statements(fn.body))
        self.bound = Counter(name for stmt in every for name in bound(stmt))
        self.fixed = keep | {p.name for p in fn.params}
        self.used = Counter(name for stmt in every for name in _used(stmt))
        self.views = [
            (s.target.name, base.name)
            for s in every if isinstance(s, Assign) and (base := view_base(s.value)) is not None
        ]  # fmt: skip
        self.made = {s.target.name for s in every if isinstance(s, Assign) and _fill(s.value) is not None}

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Return a block, and those in it, with one such array in its place."""
        for at, stmt in enumerate(body):
            if isinstance(stmt, Store) and (start := self._start(body, at, stmt)) is not None:
                return (*body[:start], *_in_place(body[start], stmt.place), *body[start + 1 : at], *body[at + 1 :])
        for at, stmt in enumerate(body):
            if (better := map_blocks(stmt, self.block)) != stmt:
                return (*body[:at], better, *body[at + 1 :])
        return body

    def _start(self, body: tuple[Stmt, ...], at: int, store: Store) -> int | None:
        """Return where the array is made that the statement at `at` copies, if it can be made in its place."""
        place, value = store.place, store.value
        if store.op or not isinstance(value, Var) or not isinstance(place, Index) or not _is_row(place, value):
            return None
        assert isinstance(place.base, Var)
        whole = place.base.name
        own = {value.name, whole}.isdisjoint(self.fixed) and self.bound[value.name] == self.bound[whole] == 1
        if not own or whole not in self.made:
            return None
        start = next((k for k in range(at) if bound(body[k]) == (value.name,)), None)
        if start is None or value.name not in self.made:
            return None
        between = list(statements(body[start + 1 : at]))
        if any(isinstance(s, Break | Continue | Return) for s in between):
            return None
        meant = self._views_of(value.name)  # the array, and all that shares its memory
        inside = Counter(name for stmt in between for name in _used(stmt))
        inside[value.name] += 1
        alone = all(inside[name] == self.used[name] and self.bound[name] == 1 for name in meant)
        if not alone or not meant.isdisjoint(self.fixed) or any(self._hands_on(s, meant) for s in between):
            return None
        moving = {name for stmt in (body[start], *between) for name in bound(stmt)} - {value.name}
        asked = {name for item in place.index for name in reads(item)}
        other = self._views_of(whole)
        if asked & moving or any(not other.isdisjoint(_used(s)) for s in (body[start], *between)):
            return None
        return start

    def _views_of(self, name: str) -> set[str]:
        """Return a name and all that are views of it, or of those."""
        found = {name}
        while more := {view for view, base in self.views if base in found} - found:
            found |= more
        return found

    def _hands_on(self, stmt: Stmt, names: set[str]) -> bool:
        """Say whether the memory of `names` may get another name but by a view that is known."""
        match stmt:
            case CallStmt(_, callee, args, fn=None):
                return any(not names.isdisjoint(reads(args[i])) for i in self.facts.shares(callee))
            case Assign() | Store():
                return False
            case _:
                return any((base := view_base(e)) is not None and base.name in names for e in exprs_of(stmt))


def _fill(value: Expr) -> float | None:
    """Return what a new array is filled with: NaN for anything, None where it is no new array."""
    if not isinstance(value, Apply) or not isinstance(value.type, Array):
        return None
    return 0.0 if value.fn in _ZEROS else np.nan if value.fn in _EMPTY else None


def _is_row(place: Index, value: Var) -> bool:
    """Say whether a place is a row of an array, of just the shape of what is stored there."""
    base, into, kind = place.base, place.type, value.type
    if not isinstance(base, Var) or not isinstance(base.type, Array) or base.type.layout != "C":
        return False
    if not isinstance(into, Array) or not isinstance(kind, Array) or kind.layout != "C":
        return False
    if (into.dtype, into.dims) != (kind.dtype, kind.dims):
        return False
    scalars = [item for item in place.index if not isinstance(item, Slice)]
    rest = place.index[len(scalars) :]
    whole = all(isinstance(item, Slice) and item == Slice(None, None, None) for item in rest)
    return whole and all(not isinstance(item.type, Array) for item in scalars)


def _in_place(made: Stmt, place: Expr) -> list[Stmt]:
    """Return the row under the array's name, filled alike."""
    assert isinstance(made, Assign)
    row: list[Stmt] = [replace(made, value=place)]
    kind = made.target.type
    if _fill(made.value) == 0.0 and isinstance(kind, Array):
        every = tuple(Slice(None, None, None) for _ in kind.dims)
        zero = literal(0.0)
        row.append(Store(Index(made.target, every, kind), "", zero, made.span))
    return row


def _used(stmt: Stmt) -> list[str]:
    """List the names that a statement uses, each time that it does."""
    found: list[str] = []

    def look(expr: Expr | Slice) -> None:
        if isinstance(expr, Var):
            found.append(expr.name)
        for child in children(expr):
            look(child)

    for expr in exprs_of(stmt):
        look(expr)
    return found
