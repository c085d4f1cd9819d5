"""Writes into an array that nothing reads any more are left out.

    total_bar = lap_bar[1:-1]                total_bar = lap_bar[1:-1]
    u_bar[2:] += total_bar       becomes     u_bar[2:] += total_bar
    lap_bar[1:-1] = 0.0

Needs: the array is made in the same block, every name of it begins there, and none is read later in it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from s2sad.analysis.facts import Facts
from s2sad.analysis.sharing import Groups
from s2sad.ir import ops
from s2sad.ir.draws import draws
from s2sad.ir.nodes import Apply, Assign, Function, Stmt, Store
from s2sad.ir.walk import bound, exprs_of, map_blocks, names_in, reads, root_of, statements, subexpressions


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

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        body = tuple(map_blocks(stmt, self.block) for stmt in body)
        at = len(body) - 1
        while at >= 0:
            stmt = body[at]
            if isinstance(stmt, Store) and self._is_last(stmt, body, at):
                self.mentions -= _mentions((stmt,))
                body = (*body[:at], *body[at + 1 :])
            at -= 1
        return body

    def _is_last(self, stmt: Store, body: tuple[Stmt, ...], at: int) -> bool:
        root = root_of(stmt.place)
        if root is None or draws(stmt.value) or _takes_out(stmt):
            return False
        names = self.members[self.find(root.name)]
        if names & self.given or any(names & set(_mentions((later,))) for later in body[at + 1 :]):
            return False
        own = _mentions(body)
        return all(own[name] == self.mentions[name] and _begins_in(name, body) for name in names)


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
