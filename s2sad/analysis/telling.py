"""Which parts of a thread's place a statement depends on: where none comes in, threads do the same.

    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = s[0]        # told: by the index the block, by the branch the thread

A test that only keeps a thread within an array, `if i < n`, lets many threads through and tells none.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from s2sad.analysis.on_device import shared_memory
from s2sad.analysis.races import accesses
from s2sad.analysis.threads import Threads
from s2sad.errors import Span
from s2sad.ir import device, ops
from s2sad.ir.device import Intrinsic, parts_of
from s2sad.ir.nodes import (
    Apply,
    Assign,
    Break,
    CallStmt,
    Const,
    Continue,
    Expr,
    For,
    Function,
    If,
    Return,
    Stmt,
    Store,
    While,
)
from s2sad.ir.walk import blocks_of, bound, exprs_of, reads, statements, subexpressions

Parts = frozenset[Intrinsic]
"""Of `threadIdx.x … blockIdx.z`."""

_ORDER = (operator.lt, operator.le, operator.gt, operator.ge)


@dataclass(frozen=True, slots=True)
class Alike:
    """A write that all threads do alike which differ in `part` alone: there may be one along that axis."""

    part: str
    root: str
    span: Span


def written_alike(fn: Function, threads: Threads) -> tuple[Alike, ...]:
    """Return the writes whose index, and the branches around them, do not look at all of a thread's place."""
    telling = Telling(threads)
    asked, params = threads.asked, {p.name for p in fn.params}
    shared = shared_memory(fn)
    found: list[Alike] = []
    for access in accesses(fn, threads):
        stmt, root = access.stmt, access.root
        if access.kind != "write" or access.index is None or root not in params | shared:
            continue
        if isinstance(stmt, Store) and isinstance(stmt.value, Const):
            continue  # whoever comes last, it is the same, and no derivative comes of it
        parts = asked & frozenset(device.THREAD) if root in shared else asked
        found += [Alike(p.path, root, stmt.span) for p in parts - telling.of_statement(stmt, access.index)]
    return tuple(sorted(found, key=lambda a: (a.part.startswith("block"), a.part, a.root)))


class Telling:
    """Follows the parts of a thread's place through one kernel."""

    def __init__(self, threads: Threads) -> None:
        """Follow what `threads` has read."""
        self.threads = threads
        self.around: dict[int, tuple[Expr, ...]] = {}
        """By statement: the tests that it stands under."""
        self._note(threads.fn.body, ())
        self.names: dict[str, Parts] = {}
        while self._grows():
            pass

    def of(self, expr: Any) -> Parts:
        """Return the parts that the value of an expression may depend on."""
        found: set[Intrinsic] = set()
        for item in subexpressions(expr):
            if isinstance(item, Apply) and isinstance(item.fn, Intrinsic):
                found |= parts_of(item.fn)
        return frozenset(found).union(*(self.names.get(name, frozenset()) for name in reads(expr)))

    def of_statement(self, stmt: Stmt, index: tuple[Any, ...]) -> Parts:
        """Return the parts that tell which threads reach a statement, and where they write."""
        found: Parts = frozenset()
        for item in index:
            found |= self.of(item)
        for test in self.around[id(stmt)]:
            found |= self._told_by(test)
        return found

    def _told_by(self, test: Expr) -> Parts:
        if isinstance(test, Apply) and test.fn in (ops.both, ops.either):
            return frozenset().union(*(self._told_by(part) for part in test.args))
        return frozenset() if self._keeps_within(test) else self.of(test)

    def _keeps_within(self, test: Expr) -> bool:
        """Say whether a test compares a thread's place with a length."""
        if not (isinstance(test, Apply) and test.fn in _ORDER):
            return False
        places = [self.threads.step(arg) is not None for arg in test.args]
        limits = [not isinstance(arg, Const) and not self.of(arg) for arg in test.args]
        return (places[0] and limits[1]) or (places[1] and limits[0])

    def _note(self, body: tuple[Stmt, ...], tests: tuple[Expr, ...]) -> None:
        for stmt in body:
            self.around[id(stmt)] = tests
            inside = (*tests, stmt.test) if isinstance(stmt, If | While) else tests
            inside = (*inside, *exprs_of(stmt)) if isinstance(stmt, For) else inside
            for block in blocks_of(stmt):
                self._note(block, inside)
            if isinstance(stmt, If) and any(isinstance(s, Return | Break | Continue) for s in statements((stmt,))):
                tests = (*tests, stmt.test)  # some threads do not come past it

    def _grows(self) -> bool:
        """Add what each binding brings, once."""
        before = dict(self.names)
        for stmt in statements(self.threads.fn.body):
            if not isinstance(stmt, Assign | CallStmt | For):
                continue
            found: Parts = frozenset()
            for expr in exprs_of(stmt):
                found |= self.of(expr)
            for test in self.around[id(stmt)]:
                found |= self._told_by(test)
            for name in bound(stmt):
                self.names[name] = self.names.get(name, frozenset()) | found
        return self.names != before


__all__ = ["Alike", "Parts", "Telling", "written_alike"]
