"""The verifier: what every pass may rely on, and must leave true.

Names are bound on some path before they are read, jumps stand in loops, a function returns as many
values as it says, calls agree with their callees, indices with the rank of their base. A statement stands in
one place: passes know what reaches it, or whether it is needed, by its identity.
"""

from __future__ import annotations

import os
from typing import Any

from s2sad.errors import VerifyError
from s2sad.ir.nodes import (
    Append,
    Break,
    CallStmt,
    Const,
    Continue,
    Expr,
    For,
    Function,
    If,
    Index,
    Return,
    Slice,
    Stmt,
    Store,
    Var,
    While,
)
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import blocks_of, bound, exprs_of, root_of, statements, subexpressions

ENABLED = os.environ.get("S2SAD_VERIFY", "0") not in ("", "0")
"""Whether every pass is checked; the tests switch it on."""


def verify(fn: Function, functions: dict[str, Function] | None = None) -> Function:
    """Return `fn` unchanged, or raise VerifyError naming the first broken invariant."""
    _Verifier(fn, functions or {}).run()
    return fn


class _Verifier:
    def __init__(self, fn: Function, functions: dict[str, Function]) -> None:
        self.fn, self.functions = fn, functions

    def run(self) -> None:
        names = [p.name for p in self.fn.params]
        if len(set(names)) != len(names):
            raise self._broken("two parameters have one name")
        seen: set[int] = set()
        for stmt in statements(self.fn.body):
            if id(stmt) in seen:
                raise self._broken("a statement stands in two places", stmt)
            seen.add(id(stmt))
        self._block(self.fn.body, set(names) | self._ever_bound(), 0)

    def _ever_bound(self) -> set[str]:
        return {n for s in statements(self.fn.body) for n in bound(s)}

    def _broken(self, what: str, stmt: Stmt | None = None) -> VerifyError:
        return VerifyError(f"`{self.fn.name}`: {what}", None if stmt is None else stmt.span, "This is a bug in s2sad.")

    def _block(self, body: tuple[Stmt, ...], known: set[str], depth: int) -> None:
        for stmt in body:
            for expr in exprs_of(stmt):
                self._expr(expr, known, stmt)
            self._stmt(stmt, depth)
            inner = depth + 1 if isinstance(stmt, For | While) else depth
            for block in blocks_of(stmt):
                self._block(block, known, inner)

    def _stmt(self, stmt: Stmt, depth: int) -> None:
        match stmt:
            case Break() | Continue() if depth == 0:
                raise self._broken("a jump stands outside a loop", stmt)
            case Return(values) if len(values) != len(self.fn.results):
                raise self._broken(f"{len(values)} values are returned, {len(self.fn.results)} are promised", stmt)
            case CallStmt(targets, callee, args) if callee in self.functions and self.functions[callee].body:
                target = self.functions[callee]
                if len(args) != len(target.params) or len(targets) != len(target.results):
                    raise self._broken(f"the call of `{callee}` does not fit it", stmt)
            case Store(place) if root_of(place) is None:
                raise self._broken("a write has no array to go to", stmt)
            case If(test) if isinstance(test.type, Array) and test.type.dims:
                raise self._broken("a branch on an array", stmt)
            case Append(target) if not isinstance(target, Var):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise self._broken("an append has no list to go to", stmt)
            case _:
                pass

    def _expr(self, expr: Expr, known: set[str], stmt: Stmt) -> None:
        for part in subexpressions(expr):
            if isinstance(part, Var) and part.name not in known:
                raise self._broken(f"`{part.name}` is read but nothing binds it", stmt)
            if isinstance(part, Index) and isinstance(part.base.type, Array):
                used = sum(_consumed(item) for item in part.index)
                if used > len(part.base.type.dims):
                    raise self._broken("more indices than dimensions", stmt)
            if isinstance(part, Index) and isinstance(part.base.type, Scalar):
                raise self._broken("an index into a number", stmt)


def _consumed(item: Any) -> int:
    if isinstance(item, Slice):
        return 1
    if isinstance(item, Const) and item.value is None:
        return 0
    if isinstance(item.type, Array) and item.type.dtype == "bool":
        return len(item.type.dims)
    return 1
