"""One way out: every jump is moved to the end of its path, and a function returns once, at its end.

`if c: return a` followed by `rest` becomes `if c: result = a` / `else: rest`. A `continue` at the
end of a path is nothing; a `break` stays, but only where nothing follows it. What cannot be moved
sets a flag. Afterwards a body read backwards is a body.
"""

from __future__ import annotations

from dataclasses import replace

from s2sad.frontend.operators import BOOL
from s2sad.frontend.values import literal
from s2sad.ir.nodes import (
    Assign,
    Break,
    CallStmt,
    Continue,
    Expr,
    For,
    Function,
    If,
    Index,
    Raise,
    Return,
    Slice,
    Stmt,
    Var,
    While,
)
from s2sad.ir.types import Array, ListOf
from s2sad.ir.views import view_base
from s2sad.ir.walk import bound, map_blocks, statements, told_apart
from s2sad.transform.naming import Namer

_SMALL = 4


def structured(fn: Function, namer: Namer) -> Function:
    """Return `fn` with one `return` at the end and no jump but `break` at the end of a path."""
    return _Structure(fn, namer).run()


class _Structure:
    def __init__(self, fn: Function, namer: Namer) -> None:
        self.fn, self.namer = fn, namer
        self.results: tuple[Var, ...] = ()
        self.returned: Var | None = None
        """The flag of the outermost loop that is looked at."""
        self.flags: list[Var] = []
        """By the outermost loops that are left by a `return`: that it was."""
        self.parts: set[int] = set()
        """The results that are a part of an array on some path."""
        self.passed_on: set[int] = set()
        """The returns behind inner loops, which have set the flag."""

    def run(self) -> Function:
        body = self.fn.body
        returns = [s for s in statements(body) if isinstance(s, Return)]
        simple = len(returns) == (1 if body and isinstance(body[-1], Return) else 0)
        if not simple and returns:
            hint = ["result"] if len(self.fn.results) == 1 else [f"result_{i}" for i in range(len(self.fn.results))]
            same = self._same_in_all(returns)
            self.parts = {i for r in returns for i, value in enumerate(r.values) if _is_part(value)}
            self.results = tuple(
                same.get(i) or Var(self.namer.fresh(h), kind)
                for i, (h, kind) in enumerate(zip(hint, self.fn.results, strict=True))
            )
        body = self._block(body)
        if self.results:
            body = (*self._leaves(body), Return(self.results, self.fn.span))
        elif not simple:
            body = self._leaves(body)
        body = (*(Assign(flag, literal(False), self.fn.span) for flag in self.flags), *body)
        return replace(self.fn, body=told_apart(body))

    def _same_in_all(self, returns: list[Return]) -> dict[int, Var]:
        """Return, by position, the arrays that all returns give: of a name that means one array, made before them."""
        body = self.fn.body
        first = next(i for i, s in enumerate(body) if any(isinstance(t, Return) for t in statements((s,))))
        early = [name for s in body[:first] if isinstance(s, Assign | CallStmt) for name in bound(s)]
        known = {p.name for p in self.fn.params} | set(early)
        again = [name for s in statements(body) for name in bound(s)]
        made = {name for name in known if again.count(name) == (name in early)}
        found: dict[int, Var] = {}
        for i, values in enumerate(zip(*(r.values for r in returns), strict=True)):
            value = values[0]
            if isinstance(value, Var) and isinstance(value.type, Array | ListOf) and value.name in made:
                if all(other == value for other in values):
                    found[i] = value
        return found

    def _block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Tidy the loops inside first, then move this block's own jumps to the ends."""
        inner: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, For | While):
                inner.extend(self._loop(stmt))
            else:
                inner.append(map_blocks(stmt, self._loops_inside))
        return self._tail(tuple(inner))

    def _loops_inside(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, For | While):
                result.extend(self._loop(stmt))
            else:
                result.append(map_blocks(stmt, self._loops_inside))
        return tuple(result)

    def _loop(self, stmt: For | While) -> list[Stmt]:
        has_return = any(isinstance(s, Return) for s in statements(stmt.body))
        around = self.returned
        if has_return and around is None:
            self.returned = Var(self.namer.fresh("returned"), BOOL)
            self.flags.append(self.returned)
        flag = self.returned
        body = self._loops_inside(stmt.body)
        if has_return and flag is not None:
            body = self._returns_to_breaks(body, flag)
        body = _without_continue(self._tail(body))
        self.returned = around
        loop = replace(stmt, body=body)
        if not has_return or flag is None:
            return [loop]
        behind = Return(self.results, stmt.span)
        self.passed_on.add(id(behind))
        return [loop, If(flag, (behind,), (), stmt.span)]

    def _returns_to_breaks(self, body: tuple[Stmt, ...], flag: Var) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Return):
                if id(stmt) not in self.passed_on:
                    result.extend(self._assign_results(stmt))
                    result.append(Assign(flag, literal(True), stmt.span))
                result.append(Break(stmt.span))
            elif isinstance(stmt, For | While):
                result.append(stmt)
            else:
                result.append(map_blocks(stmt, lambda inner: self._returns_to_breaks(inner, flag)))
        return tuple(result)

    def _assign_results(self, stmt: Return) -> list[Stmt]:
        pairs = enumerate(zip(self.results, stmt.values, strict=True))
        return [
            Assign(target, self._as_part(value) if i in self.parts else value, stmt.span)
            for i, (target, value) in pairs if target != value
        ]  # fmt: skip

    def _as_part(self, value: Expr) -> Expr:
        """Return all of an array as a part of it, where another path returns a shorter one."""
        if not (isinstance(value, Var) and isinstance(value.type, Array) and value.type.dims):
            return value
        return Index(value, (Slice(None, None, None),), value.type)

    def _tail(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        done: list[Stmt] = []
        for position, stmt in enumerate(body):
            if isinstance(stmt, Return | Break | Continue | Raise):
                return (*done, stmt)
            if not (isinstance(stmt, If) and _has_jump((stmt,))):
                done.append(map_blocks(stmt, self._tail) if isinstance(stmt, If) else stmt)
                continue
            return (*done, *self._branch(stmt, body[position + 1 :]))
        return tuple(done)

    def _branch(self, stmt: If, rest: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        then, other = always_jumps(stmt.body), always_jumps(stmt.orelse)
        if then or other or not rest or _is_small(rest):
            body = stmt.body if then else (*stmt.body, *rest)
            orelse = stmt.orelse if other else (*stmt.orelse, *rest)
            return (replace(stmt, body=self._tail(body), orelse=self._tail(orelse)),)
        return self._flagged(stmt, rest)

    def _flagged(self, stmt: If, rest: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """A jump deep inside: remember that it was taken, and skip the rest."""
        flags: dict[type, tuple[Var, Stmt]] = {}
        inits: list[Stmt] = []

        def mark(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
            result: list[Stmt] = []
            for inner in body:
                if isinstance(inner, Return | Break | Continue):
                    kind = type(inner)
                    if kind not in flags:
                        word = {Return: "returned", Break: "stopped", Continue: "skipped"}[kind]
                        flag = Var(self.namer.fresh(word), BOOL)
                        jump = Return(self.results, inner.span) if isinstance(inner, Return) else inner
                        flags[kind] = (flag, jump)
                        inits.append(Assign(flag, literal(False), stmt.span))
                    if isinstance(inner, Return):
                        result.extend(self._assign_results(inner))
                    result.append(Assign(flags[kind][0], literal(True), inner.span))
                elif isinstance(inner, For | While):
                    result.append(inner)
                else:
                    result.append(map_blocks(inner, mark))
            return tuple(result)

        marked = replace(stmt, body=mark(self._tail(stmt.body)), orelse=mark(self._tail(stmt.orelse)))
        tail = self._tail(rest)
        for flag, jump in reversed(list(flags.values())):
            tail = (If(flag, (jump,), tail, stmt.span),)
        return (*inits, marked, *tail)

    def _leaves(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Turn each remaining `return` into an assignment of the result."""
        result: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Return):
                result.extend(self._assign_results(stmt))
            elif isinstance(stmt, If):
                branch = replace(stmt, body=self._leaves(stmt.body), orelse=self._leaves(stmt.orelse))
                if branch.body or branch.orelse:
                    result.append(branch)
            else:
                result.append(stmt)
        return tuple(result)


def _is_part(value: Expr) -> bool:
    return isinstance(value, Index) and view_base(value) is not None


def always_jumps(body: tuple[Stmt, ...]) -> bool:
    """Say whether control never falls off the end of `body`."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, Return | Break | Continue | Raise):
        return True
    return isinstance(last, If) and always_jumps(last.body) and always_jumps(last.orelse)


def _has_jump(body: tuple[Stmt, ...]) -> bool:
    for stmt in body:
        if isinstance(stmt, Return | Break | Continue):
            return True
        if isinstance(stmt, If) and (_has_jump(stmt.body) or _has_jump(stmt.orelse)):
            return True
    return False


def _is_small(body: tuple[Stmt, ...]) -> bool:
    every = list(statements(body))
    return len(every) <= _SMALL and not any(isinstance(s, For | While) for s in every)


def _without_continue(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    if not body:
        return body
    last = body[-1]
    if isinstance(last, Continue):
        return body[:-1]
    if isinstance(last, If):
        return (*body[:-1], map_blocks(last, _without_continue))
    return body


def values_of(fn: Function) -> tuple[Expr, ...]:
    """Return what the single `return` at the end of a structured function returns."""
    last = fn.body[-1] if fn.body else None
    return last.values if isinstance(last, Return) else ()
