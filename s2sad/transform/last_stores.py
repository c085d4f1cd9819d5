"""Writes into an array that nothing reads any more are left out.

    total_bar = lap_bar[1:-1]                total_bar = lap_bar[1:-1]
    u_bar[2:] += total_bar       becomes     u_bar[2:] += total_bar
    lap_bar[1:-1] = 0.0

Needs: the array is made in the same block, every name of it begins there, and none is read later in it. In the last
loops that have to do with an array, the items that every turn reads and then writes, each turn its own, are left
as they are:

    for i in range(n):                       for i in range(n):
        total_bar = lap_bar[i]                   total_bar = lap_bar[i]
        lap_bar[i] = 0.0           becomes       u_bar[i + 1] += total_bar
        u_bar[i + 1] += total_bar
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from s2sad.analysis.bounds import Bounds, from_the_start, inside, lower_bounds
from s2sad.analysis.facts import Facts
from s2sad.analysis.loops import affine
from s2sad.analysis.sharing import Groups
from s2sad.ir import ops
from s2sad.ir.draws import draws
from s2sad.ir.nodes import Apply, Assign, Expr, For, Function, Index, Slice, Stmt, Store, Var
from s2sad.ir.shapes import shaping_parts
from s2sad.ir.walk import bound, children, exprs_of, map_blocks, names_in, reads, root_of, statements, subexpressions


def without_last_stores(fn: Function, facts: Facts, outputs: frozenset[str]) -> Function:
    """Return `fn` without such writes; `outputs` are arrays written for the caller."""
    work = _Last(fn, facts, outputs | {p.name for p in fn.params})
    return replace(fn, body=work.block(fn.body))


class _Last:
    def __init__(self, fn: Function, facts: Facts, given: frozenset[str]) -> None:
        groups = Groups(fn, facts)
        self.given = given
        self.members: dict[str, set[str]] = {}
        self.names = names_in(fn.body) | given
        for name in self.names:
            self.members.setdefault(groups.find(name), set()).add(name)
        self.find = groups.find
        self.mentions = _mentions(fn.body)
        self.least = lower_bounds(fn)

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        body = tuple(map_blocks(stmt, self.block) for stmt in body)
        at = len(body) - 1
        while at >= 0:
            stmt = body[at]
            if isinstance(stmt, Store) and self._is_last(stmt, body, at):
                self.mentions -= _mentions((stmt,))
                body = (*body[:at], *body[at + 1 :])
            elif isinstance(stmt, For):
                for store in self._last_items(stmt):
                    if self._is_last(store, body, at):
                        self.mentions -= _mentions((store,))
                        stmt = _without(stmt, store)
                body = (*body[:at], stmt, *body[at + 1 :])
            at -= 1
        return body

    def _last_items(self, nest: For) -> list[Store]:
        """Return the stores of a nest of loops after which their turn, and no other one, reads the item."""
        found: list[Store] = []
        loops = [nest]
        least: Bounds = self.least
        while True:
            block, least = loops[-1].body, inside(loops[-1], least)
            for at, stmt in enumerate(block):
                if isinstance(stmt, Store) and _is_own_item(stmt.place, loops, least):
                    root = root_of(stmt.place)
                    if root is not None and self.members[self.find(root.name)] == {root.name}:
                        before, every = _items(block[: at + 1], root.name), _items((nest,), root.name)
                        if before == every and set(every) == {stmt.place}:
                            found.append(stmt)
            inner = [stmt for stmt in block if isinstance(stmt, For)]
            if len(inner) != 1:
                return found
            loops.append(inner[0])

    def _is_last(self, stmt: Store, body: tuple[Stmt, ...], at: int) -> bool:
        root = root_of(stmt.place)
        if root is None or draws(stmt.value) or _takes_out(stmt):
            return False
        names = self.members[self.find(root.name)]
        if names & self.given or any(names & set(_mentions((later,))) for later in body[at + 1 :]):
            return False
        own = _mentions(body)
        return all(own[name] == self.mentions[name] and _begins_in(name, body) for name in names)


def _is_own_item(place: Expr, loops: list[For], least: Bounds) -> bool:
    """Say whether every turn of nested loops has an item of its own: each counter stands in one index, plus a constant.

    `least`: what whole numbers do not fall below; an index that may count from the end could be another turn's.
    """
    if not isinstance(place, Index) or not isinstance(place.base, Var):
        return False
    counters = [loop.var.name for loop in loops]
    if len(set(counters)) < len(counters):
        return False
    if any(name in bound(s) for loop in loops for s in loop.body for name in counters if not isinstance(s, For)):
        return False
    met: list[str] = []
    for item in place.index:
        shift = affine(item) if not isinstance(item, Slice) else None
        if shift is None or (shift[0] is not None and not from_the_start(shift, least)):
            return False
        met += [shift[0]] if shift[0] in counters else []
    return sorted(met) == sorted(counters)


def _items(body: tuple[Stmt, ...], name: str) -> Counter[Expr | None]:
    """Count the items of an array that are mentioned; None stands for the array as a whole, but for its lengths."""
    found: Counter[Expr | None] = Counter()

    def look(expr: Any) -> None:
        if isinstance(expr, Index) and expr.base == Var(name, expr.base.type):
            found[expr] += 1
            for item in expr.index:
                look(item)
        elif isinstance(expr, Var):
            found[None] += expr.name == name
        else:
            lengths = isinstance(expr, Apply) and expr.fn in (ops.dim, ops.size)
            for child in shaping_parts(expr) if isinstance(expr, Apply) and lengths else children(expr):
                look(child)

    for stmt in statements(body):
        found[None] += name in bound(stmt)
        for expr in exprs_of(stmt):
            look(expr)
    return +found


def _without(stmt: Stmt, store: Store) -> Stmt:
    return map_blocks(stmt, lambda body: tuple(_without(s, store) for s in body if s is not store))


def _mentions(body: tuple[Stmt, ...]) -> Counter[str]:
    found: Counter[str] = Counter()
    for stmt in statements(body):
        found.update(bound(stmt))
        for expr in exprs_of(stmt):
            found.update(reads(expr))
    return found


def _begins_in(name: str, body: tuple[Stmt, ...]) -> bool:
    """Say whether a block binds a name before anything else in it has to do with that."""
    first = next((stmt for stmt in body if name in _mentions((stmt,))), None)
    return isinstance(first, Assign) and first.target.name == name and name not in reads(first.value)


def _takes_out(stmt: Store) -> bool:
    parts = [part for expr in exprs_of(stmt) for part in subexpressions(expr)]
    return any(isinstance(part, Apply) and part.fn is ops.pop for part in parts)
