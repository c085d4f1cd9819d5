"""Adjoint liveness: what the forward sweep need not do.

A statement of the primal is run only if a result needs it, or the adjoint of a *later* statement
reads what it writes, or another statement that is run does. The adjoint of a statement reads the
values before it, so the last update of a state is often not needed at all: nothing saves it,
nothing undoes it.
Source: Hascoet and Pascual, "The Tapenade automatic differentiation tool", 2013, section 5.3.
"""

from __future__ import annotations

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.sharing import Groups
from s2sad.errors import RuleShapeError
from s2sad.ir.draws import draws
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assert,
    Assign,
    Break,
    CallStmt,
    Effect,
    Expr,
    For,
    Function,
    If,
    Raise,
    Return,
    Slice,
    Stmt,
    Store,
    Swap,
    Var,
    While,
)
from s2sad.ir.shapes import SHAPES
from s2sad.ir.types import Array, ListOf
from s2sad.ir.walk import bound, children, exprs_of, reads, statements, subexpressions


def unneeded(
    fn: Function, adjoint_code: dict[int, list[Stmt]], after_loop: dict[int, list[Stmt]],
    facts: Facts, values: tuple[Expr, ...], silent: bool, openings: list[Stmt],
    results: frozenset[int] = frozenset(),
) -> set[int]:  # fmt: skip
    """Return the statements of `fn`, by identity, that the forward sweep leaves out.

    `values`: the results that are wanted. `silent`: prints and checks are not repeated.
    `openings`: zeros and shadows of the reverse sweep, which need arrays for their shapes. `results`: the
    statements whose adjoint reads what they give.
    """
    finder = _Needed(fn, adjoint_code, after_loop, facts, silent, results)
    finder.shaped |= {n for s in openings for e in exprs_of(s) for n in reads(e)}
    wanted = {n for value in values for n in reads(value)}
    parts = [p for s in openings for e in exprs_of(s) for p in subexpressions(e)]
    wanted |= {p.name for p in parts if isinstance(p, Var) and isinstance(p.type, ListOf)}  # a list's length is content
    while True:
        known = len(finder.shaped)
        finder.block(fn.body, finder.groups.of(wanted))
        if len(finder.shaped) == known:
            break
    simple = Assign | Store | CallStmt | Append | Swap
    return {id(s) for s in statements(fn.body) if isinstance(s, simple) and id(s) not in finder.live}


class _Needed:
    """Walks backward with the groups of names that something later reads."""

    def __init__(
        self, fn: Function, adjoint_code: dict[int, list[Stmt]], after_loop: dict[int, list[Stmt]],
        facts: Facts, silent: bool, results: frozenset[int],
    ) -> None:  # fmt: skip
        self.results = results
        self.groups = Groups(fn, facts)
        self.facts, self.silent = facts, silent
        self.live: set[int] = set()
        self.shaped: set[str] = set()
        self.reading = {key: self._names(code) for key, code in adjoint_code.items()}
        self.leaving = {key: self._names(code) for key, code in after_loop.items()}
        self.sizes: dict[str, set[str]] = {}
        for stmt in statements(fn.body):
            for name in bound(stmt):
                self.sizes.setdefault(self.groups.find(name), set()).add(name)

    def _names(self, code: list[Stmt]) -> set[str]:
        return {g for s in statements(tuple(code)) for e in exprs_of(s) for g in self._content(e)}

    def _reads(self, stmt: Stmt) -> set[str]:
        return {g for e in exprs_of(stmt) for g in self._content(e)}

    def _content(self, expr: Expr | Slice) -> set[str]:
        """Return the groups whose elements are read; of what only gives its shape, the binding is needed."""
        whole = isinstance(expr, Apply) and expr.fn in SHAPES and isinstance(expr.args[0].type, Array)
        if whole and isinstance(expr, Apply) and isinstance(expr.args[0], Var):
            self.shaped.add(expr.args[0].name)
            return {g for arg in expr.args[1:] for g in self._content(arg)}
        if isinstance(expr, Var):
            return {self.groups.find(expr.name)}
        return {g for child in children(expr) for g in self._content(child)}

    def block(self, body: tuple[Stmt, ...], needed: set[str]) -> set[str]:
        """Return what is needed before `body`, given what is needed after it."""
        for stmt in reversed(body):
            needed = self._step(stmt, needed)
        return needed

    def _step(self, stmt: Stmt, needed: set[str]) -> set[str]:
        match stmt:
            case If(_, body, orelse):
                inside = self.block(body, set(needed)) | self.block(orelse, set(needed))
                return inside | self._reads(stmt) if self._matters(stmt) else inside
            case For() | While():
                return self._loop(stmt, needed)
            case Return():
                return needed | self.reading.get(id(stmt), set())
            case Raise(error) if issubclass(error, RuleShapeError):
                return needed | self._reads(stmt)
            case Effect() | Raise() | Assert():
                return needed if self.silent else needed | self._reads(stmt)
            case _:
                return self._simple(stmt, needed)

    def _simple(self, stmt: Stmt, needed: set[str]) -> set[str]:
        written = self.groups.of({*bound(stmt), *written_by(stmt, self.facts)})
        if id(stmt) in self.results:
            needed = needed | written
        if isinstance(stmt, CallStmt) and stmt.fn is not None:  # its adjoint reads the results
            needed = needed | self.reading.get(id(stmt), set())
        speaks = isinstance(stmt, CallStmt) and not self.silent and self.facts.has_effects(stmt.callee)
        speaks = speaks or (isinstance(stmt, Assign) and draws(stmt.value))
        result = set(needed)
        if written & needed or speaks or self.shaped & set(bound(stmt)):
            self.live.add(id(stmt))
            if isinstance(stmt, Assign):
                group = self.groups.find(stmt.target.name)
                if len(self.sizes.get(group, ())) == 1:
                    result.discard(group)
            result |= self._reads(stmt)
        return result | self.reading.get(id(stmt), set())

    def _loop(self, stmt: For | While, needed: set[str]) -> set[str]:
        needed = needed | self.leaving.get(id(stmt), set())
        head = set(needed)
        while True:
            start = self.block(stmt.body, set(head))
            if self._matters(stmt) or (isinstance(stmt, For) and self.groups.find(stmt.var.name) in needed):
                start |= self._reads(stmt)
            if start <= head:
                return head
            head |= start

    def _matters(self, stmt: Stmt) -> bool:
        """Say whether anything inside runs, in either sweep, or decides how often."""
        return any(
            id(s) in self.live or id(s) in self.reading or isinstance(s, Break | Raise | Assert | Effect)
            for s in statements((stmt,))
        )


__all__ = ["unneeded"]
