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
    """Live-out names per statement (by identity), of one function body.

    A loop needs no fixed point: what a block lets through is a union, so the names live at a loop's
    head are those live after it, those its header reads, and those that an iteration reads before it
    sets them. The last are found once a loop, which makes the whole linear in the text.
    """

    def __init__(self, body: tuple[Stmt, ...], out: frozenset[str] = frozenset(), pops_read: bool = True) -> None:
        """Analyse `body`; `out` are the names read after it.

        `pops_read` False: a pop whose item nobody takes is no use of its list.
        """
        self._out, self._pops_read = out, pops_read
        self.after: dict[int, frozenset[str]] = {}
        self._entries: dict[int, frozenset[str]] = {}
        self._loops: list[tuple[frozenset[str], frozenset[str]]] = []
        self._block(body, out, keep=True)

    def before_loop_body(self, loop: For | While) -> frozenset[str]:
        """Return the names that an iteration of `loop` may read before it sets them."""
        return self._entries.get(id(loop), frozenset())

    def inside(self, stmt: If) -> frozenset[str]:
        """Return the names that are read before they are set in the first branch of `stmt`."""
        return self._block(stmt.body, frozenset(), keep=False)

    def _block(self, body: tuple[Stmt, ...], live: frozenset[str], keep: bool) -> frozenset[str]:
        for stmt in reversed(body):
            if keep:
                self.after[id(stmt)] = self.after.get(id(stmt), frozenset()) | live
            live = self._before(stmt, live, keep)
        return live

    def _before(self, stmt: Stmt, live: frozenset[str], keep: bool) -> frozenset[str]:
        match stmt:
            case If(test, body, orelse):
                return self._block(body, live, keep) | self._block(orelse, live, keep) | reads(test)
            case For() | While():
                return self._loop(stmt, live, keep)
            case Break():
                return self._loops[-1][0] if self._loops else live
            case Continue():
                return self._loops[-1][1] if self._loops else live
            case Return():
                return _used(stmt) | self._out
            case Raise():
                return _used(stmt)
            case Effect() if not self._pops_read and popped_from(stmt) is not None:
                return live
            case _:
                return (live - killed(stmt)) | _used(stmt)

    def _loop(self, stmt: For | While, live: frozenset[str], keep: bool) -> frozenset[str]:
        bound = frozenset({stmt.var.name}) if isinstance(stmt, For) else frozenset[str]()
        head = live | _used(stmt) | (self._entry(stmt) - bound)
        if keep:
            self._loops.append((live, head))
            self._block(stmt.body, head, keep)
            self._loops.pop()
        return head

    def _entry(self, stmt: For | While) -> frozenset[str]:
        if (known := self._entries.get(id(stmt))) is not None:
            return known
        self._loops.append((frozenset(), frozenset()))
        found = self._entries[id(stmt)] = self._block(stmt.body, frozenset(), keep=False)
        self._loops.pop()
        return found


def _used(stmt: Stmt) -> frozenset[str]:
    return frozenset(name for expr in exprs_of(stmt) for name in reads(expr))


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
