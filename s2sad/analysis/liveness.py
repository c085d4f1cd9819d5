"""Liveness: which names may still be read after each statement."""

from __future__ import annotations

from s2sad.analysis.loops import popped_from
from s2sad.ir.nodes import (
    Append,
    Assign,
    Break,
    CallStmt,
    Continue,
    Effect,
    For,
    If,
    Raise,
    Return,
    Stmt,
    Store,
    Swap,
    While,
)
from s2sad.ir.types import Scalar
from s2sad.ir.walk import exprs_of, reads, root_of


class Liveness:
    """Live-out names per statement (by identity), of one function body."""

    def __init__(self, body: tuple[Stmt, ...], out: frozenset[str] = frozenset(), pops_read: bool = True) -> None:
        """Analyse `body`; `out` are the names read after it.

        `pops_read` False: a pop whose item nobody takes is no use of its list.
        """
        self._pops_read = pops_read
        self.after: dict[int, frozenset[str]] = {}
        self._bodies: dict[int, frozenset[str]] = {}
        self._loops: list[tuple[frozenset[str], frozenset[str]]] = []
        self._block(body, out)

    def before_loop_body(self, loop: For | While) -> frozenset[str]:
        """Return the names that an iteration of `loop` may read before it sets them."""
        return self._bodies.get(id(loop), frozenset())

    def inside(self, stmt: If) -> frozenset[str]:
        """Return the names that are read before they are set in the first branch of `stmt`."""
        return self._block(stmt.body, frozenset())

    def _block(self, body: tuple[Stmt, ...], live: frozenset[str]) -> frozenset[str]:
        for stmt in reversed(body):
            self.after[id(stmt)] = self.after.get(id(stmt), frozenset()) | live
            live = self._before(stmt, live)
        return live

    def _before(self, stmt: Stmt, live: frozenset[str]) -> frozenset[str]:
        match stmt:
            case If(test, body, orelse):
                return self._block(body, live) | self._block(orelse, live) | reads(test)
            case For() | While():
                return self._loop(stmt, live)
            case Break():
                return self._loops[-1][0] if self._loops else live
            case Continue():
                return self._loops[-1][1] if self._loops else live
            case Return() | Raise():
                return frozenset(name for expr in exprs_of(stmt) for name in reads(expr))
            case Effect() if not self._pops_read and popped_from(stmt) is not None:
                return live
            case _:
                used = frozenset(name for expr in exprs_of(stmt) for name in reads(expr))
                return (live - killed(stmt)) | used

    def _loop(self, stmt: For | While, live: frozenset[str]) -> frozenset[str]:
        used = frozenset(name for expr in exprs_of(stmt) for name in reads(expr))
        bound = frozenset({stmt.var.name}) if isinstance(stmt, For) else frozenset[str]()
        head = live | used
        while True:
            self._loops.append((live, head))
            inner = self._block(stmt.body, head) - bound
            self._loops.append((frozenset(), frozenset()))
            entry = self._block(stmt.body, frozenset())
            self._loops.pop()
            self._bodies[id(stmt)] = entry
            self._loops.pop()
            grown = head | inner
            if grown == head:
                return head
            head = grown


def killed(stmt: Stmt) -> frozenset[str]:
    """Return the names whose old value is surely gone after the statement."""
    match stmt:
        case Assign(target):
            return frozenset({target.name})
        case CallStmt(targets):
            return frozenset(target.name for target in targets)
        case _:
            return frozenset()


def written(stmt: Stmt) -> str | None:
    """Return the root name that an in-place statement writes into."""
    match stmt:
        case Store(place):
            root = root_of(place)
            return root.name if root is not None else None
        case Append(target):
            return target.name
        case _:
            return None


def is_rebinding(stmt: Store) -> bool:
    """Say whether a `Store` is on a scalar name, which rebinds it."""
    return isinstance(stmt.place.type, Scalar) and stmt.place is root_of(stmt.place)


__all__ = ["Liveness", "Swap", "killed", "written"]
