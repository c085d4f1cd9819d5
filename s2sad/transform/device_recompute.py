"""Loops whose length only the data know, with no tape: what they overwrote is computed again, a window at a time.

The adjoint saves onto lists, of which a thread keeps the last `window` items only. Where the reverse sweep
comes to the beginning of its window, the forward sweep is run once more, by a device function that keeps the
items of the window before. A loop of n steps is so computed n / window times more; nothing lies in global
memory, nothing is counted before the launch, and nothing overflows. Needs: a forward sweep that writes into
no array but the thread's own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from s2sad.errors import Span, UnsupportedSyntaxError
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.device import ATOMIC_MAX, LOCAL
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    CallStmt,
    Comment,
    Effect,
    Expr,
    Function,
    If,
    Index,
    Param,
    Return,
    Stmt,
    Store,
    Var,
)
from s2sad.ir.types import Array, ListOf, Scalar, Static, Type, is_inexact
from s2sad.ir.walk import (
    blocks_of,
    bound,
    exprs_of,
    map_blocks,
    map_children,
    map_exprs,
    names_in,
    root_of,
    statements,
    subexpressions,
)
from s2sad.transform.device_tape import INT, REVERSE, lists_of
from s2sad.transform.naming import Namer


def recomputed(
    fn: Function, name: str, window: int, writes: Callable[[str], object]
) -> tuple[Function, Function | None]:
    """Return `fn` with windows in the place of its lists, and the function called `name` that fills them.

    `fn` gets one more parameter, `needed`: not zero after a launch in which a forward sweep came out
    differently the second time. `writes`: which arguments a callee writes into.

    Raises:
        UnsupportedSyntaxError: a forward sweep that writes into arrays, or waits for other threads.
    """
    if not lists_of(fn):
        return fn, None
    writer = _Recomputing(fn, name, window, writes)
    body = writer.block(fn.body)
    params = (*fn.params, Param(writer.needed.name, writer.needed.type))
    return replace(fn, params=params, body=body), writer.replay


class _Recomputing:
    def __init__(self, fn: Function, name: str, window: int, writes: Callable[[str], object]) -> None:
        self.fn, self.name, self.window, self.writes = fn, name, window, writes
        namer = Namer(names_in(fn.body) | {p.name for p in fn.params})
        self.lists = lists_of(fn)
        words = {n: n.removesuffix("_tape") for n in self.lists}
        self.count = {n: Var(namer.fresh(f"{w}_count"), INT) for n, w in words.items()}
        self.total = {n: Var(namer.fresh(f"{w}_total"), INT) for n, w in words.items()}
        self.base = {n: Var(namer.fresh(f"{w}_base"), INT) for n, w in words.items()}
        self.kept = {n: Var(namer.fresh(f"{w}_window"), self._memory(n)) for n, w in words.items()}
        self.again = {n: Var(namer.fresh(f"{w}_again"), INT) for n, w in words.items()}
        self.needed = Var(namer.fresh("needed"), Array("int64", (1,), "C"))
        self.replay: Function | None = None
        self.free: tuple[Var, ...] = ()

    def _memory(self, name: str) -> Array:
        item = self.lists[name].item
        dtype = item.dtype if isinstance(item, Scalar) and is_inexact(item) else "int64"
        return Array(dtype, (self.window,), "C")

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        at = next((n for n, s in enumerate(body) if isinstance(s, Comment) and s.text == REVERSE), None)
        if at is None:
            return tuple(map_blocks(s, self.block) for s in body)
        span = self.fn.span
        forward = _without_lists(body[:at])
        self._check(forward)
        self.free = self._free(forward)
        self.replay = self._function(forward)
        start: list[Stmt] = [Assign(count, literal(0), span) for count in self.count.values()]
        ready: list[Stmt] = []
        for name, window in self.kept.items():
            assert isinstance(window.type, Array)
            static = (("shape", self.window), ("dtype", np.dtype(window.type.dtype).type))
            ready.append(Assign(window, Apply(LOCAL, (), window.type, static), span))
            ready += [Assign(self.base[name], self.count[name], span), Assign(self.total[name], self.count[name], span)]
        counted = self._each(forward, self._counted)
        return (*start, *counted, *ready, body[at], *self._each(body[at + 1 :], self._read))

    def _each(self, body: tuple[Stmt, ...], change: Callable[[Stmt], list[Stmt]]) -> tuple[Stmt, ...]:
        made: list[Stmt] = []
        for stmt in body:
            inner = map_blocks(stmt, lambda b: self._each(b, change)) if blocks_of(stmt) else stmt
            made += change(inner)
        return tuple(made)

    # ---- the forward sweep, once more ----

    def _check(self, forward: tuple[Stmt, ...]) -> None:
        own = {s.target.name for s in statements(forward) if isinstance(s, Assign) and isinstance(s.value, Apply)
               and (s.value.fn is LOCAL or s.value.fn in (np.empty, np.zeros))}  # fmt: skip
        for stmt in statements(forward):
            root = root_of(stmt.place) if isinstance(stmt, Store) else None
            if isinstance(stmt, Effect) or (isinstance(stmt, Store) and (root is None or root.name not in own)):
                raise _refused(stmt.span if stmt.span.line else self.fn.span)
            if isinstance(stmt, CallStmt) and self.writes(stmt.callee):
                raise _refused(stmt.span)

    def _free(self, forward: tuple[Stmt, ...]) -> tuple[Var, ...]:
        params = {p.name: p.type for p in self.fn.params}
        inside = {n for s in statements(forward) for n in bound(s)}
        found: dict[str, Type] = {}
        for stmt in statements(forward):
            for expr in exprs_of(stmt):
                for part in subexpressions(expr):
                    if isinstance(part, Var) and part.name not in self.lists:
                        if part.name in params or part.name not in inside:
                            found.setdefault(part.name, params.get(part.name, part.type))
        return tuple(Var(name, kind) for name, kind in found.items())

    def _function(self, forward: tuple[Stmt, ...]) -> Function:
        kept = self._each(forward, self._kept)
        start = tuple(Assign(count, literal(0), self.fn.span) for count in self.count.values())
        given = (*self.free, *self.base.values(), *self.kept.values())
        params = tuple(Param(v.name, v.type) for v in given)
        counts = tuple(self.count.values())
        doc = f"The forward sweep of `{self.fn.name}` once more: keep what it saves from each base on."
        body = (*start, *kept, Return(counts, self.fn.span))
        return Function(self.name, params, body, tuple(c.type for c in counts), doc, self.fn.span)

    def _up(self, stmt: Append) -> Assign:
        count = self.count[stmt.list.name]
        return Assign(count, build(operator.add, count, literal(1)), stmt.span)

    def _counted(self, stmt: Stmt) -> list[Stmt]:
        return [self._up(stmt)] if isinstance(stmt, Append) else [stmt]

    def _kept(self, stmt: Stmt) -> list[Stmt]:
        if not isinstance(stmt, Append):
            return [stmt]
        name = stmt.list.name
        count, base = self.count[name], self.base[name]
        ahead = build(operator.lt, count, build(operator.add, base, literal(self.window)))
        test = Apply(ops.both, (build(operator.le, base, count), ahead), Scalar("bool", weak=True))
        return [If(test, (Store(self._cell(name), "", stmt.value, stmt.span),), (), stmt.span), self._up(stmt)]

    # ---- the reverse sweep ----

    def _cell(self, name: str) -> Index:
        kind = self.kept[name].type
        assert isinstance(kind, Array)
        return Index(self.kept[name], (build(operator.sub, self.count[name], self.base[name]),), Scalar(kind.dtype))

    def _read(self, stmt: Stmt) -> list[Stmt]:
        popped = [p.args[0].name for e in exprs_of(stmt) for p in subexpressions(e)
                  if isinstance(p, Apply) and p.fn is ops.pop and isinstance(p.args[0], Var)]  # fmt: skip
        made: list[Stmt] = []
        for name in popped:
            used_up = build(operator.le, self.count[name], self.base[name])
            made.append(If(used_up, self._refill(stmt.span), (), stmt.span))
            made.append(Assign(self.count[name], build(operator.sub, self.count[name], literal(1)), stmt.span))
        if popped and isinstance(stmt, Effect):
            return made
        return [*made, map_exprs(stmt, self._value) if popped else stmt]

    def _refill(self, span: Span) -> tuple[Stmt, ...]:
        """Run the forward sweep again, for windows that end where each list ends now."""
        size = literal(self.window)
        bases = [Assign(self.base[n], build(operator.sub, self.count[n], size), span) for n in self.lists]
        call = CallStmt(tuple(self.again.values()), self.name,
                        (*self.free, *self.base.values(), *self.kept.values()), span)  # fmt: skip
        differ = [build(operator.ne, self.again[n], self.total[n]) for n in self.lists]
        test = differ[0] if len(differ) == 1 else Apply(ops.either, tuple(differ), Scalar("bool", weak=True))
        says = Effect(Apply(ATOMIC_MAX, (self.needed, literal(0), literal(1)), Static(None)), span)
        return (*bases, call, If(test, (says,), (), span))

    def _value(self, expr: Expr) -> Expr:
        if isinstance(expr, Apply) and expr.fn is ops.pop and isinstance(expr.args[0], Var):
            cell = self._cell(expr.args[0].name)
            flag = isinstance(expr.type, Scalar) and expr.type.dtype == "bool"
            return build(operator.ne, cell, literal(0)) if flag else cell
        return map_children(expr, self._value)


def _without_lists(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    kept = (s for s in body if not (isinstance(s, Assign) and isinstance(s.target.type, ListOf)))
    return tuple(map_blocks(s, _without_lists) for s in kept)


def _refused(span: Span) -> UnsupportedSyntaxError:
    return UnsupportedSyntaxError(
        "what this kernel overwrites cannot be computed again: it writes into arrays, or waits for other threads, on "
        "the way", span, "Leave `recompute` out, so that a tape is kept.",
    )  # fmt: skip


__all__ = ["recomputed"]
