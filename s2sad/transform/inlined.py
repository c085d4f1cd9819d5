"""Calls written into their caller: what is left has one body, which can be cut in two.

    y = g(x)                  x_2 = x
                   becomes    t = np.sin(x_2)
                              y = t * t

Recursive calls stay. Names and symbolic lengths of a callee are its own, and get names of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from s2sad.frontend.infer import fresh_dim
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    CallStmt,
    Const,
    For,
    Function,
    Index,
    Pack,
    Return,
    Slice,
    Stmt,
    Swap,
    Var,
)
from s2sad.ir.types import Array, Dim, ListOf, Scalar, Struct, Sym, Type
from s2sad.ir.walk import map_blocks, map_exprs, names_in, statements
from s2sad.transform.naming import Namer
from s2sad.transform.structure import structured


def inlined(fn: Function, callee: Callable[[str], Function], namer: Namer) -> Function:
    """Return `fn` with the bodies of all that it calls in place of the calls, but for recursive ones."""
    return replace(fn, body=_block(fn.body, callee, namer))


def _block(body: tuple[Stmt, ...], callee: Callable[[str], Function], namer: Namer) -> tuple[Stmt, ...]:
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, CallStmt) and stmt.fn is None and not _recursive(stmt.callee, callee):
            result.extend(_call(stmt, callee, namer))
        else:
            result.append(map_blocks(stmt, lambda b: _block(b, callee, namer)))
    return tuple(result)


def _recursive(name: str, callee: Callable[[str], Function]) -> bool:
    waiting, seen = [name], set[str]()
    while waiting:
        for stmt in statements(callee(waiting.pop()).body):
            if isinstance(stmt, CallStmt) and stmt.fn is None and stmt.callee not in seen:
                seen.add(stmt.callee)
                waiting.append(stmt.callee)
    return name in seen


def _call(stmt: CallStmt, callee: Callable[[str], Function], namer: Namer) -> list[Stmt]:
    fn = callee(stmt.callee)
    fn = structured(fn, Namer(names_in(fn.body) | {p.name for p in fn.params}))
    local = _Renaming(fn, stmt, namer)
    start: list[Stmt] = [
        Assign(local.name(Var(p.name, p.type)), arg, stmt.span) for p, arg in zip(fn.params, stmt.args, strict=True)
    ]
    body = _block(tuple(local.stmt(s) for s in fn.body), callee, namer)
    end: list[Stmt] = []
    if body and isinstance(body[-1], Return):
        end.extend(Assign(t, v, stmt.span) for t, v in zip(stmt.targets, body[-1].values, strict=True))
        body = body[:-1]
    return [*start, *body, *end]


class _Renaming:
    """Gives the names and symbolic lengths of a callee new ones, lengths of parameters the caller's."""

    def __init__(self, fn: Function, stmt: CallStmt, namer: Namer) -> None:
        names = sorted(names_in(fn.body) | {p.name for p in fn.params})
        self.names = {name: namer.fresh(name) for name in names}
        self.dims: dict[str, tuple[Sym, Dim]] = {}
        for param, arg in zip(fn.params, stmt.args, strict=True):
            if isinstance(param.type, Array) and isinstance(arg.type, Array):
                for own, given in zip(param.type.dims, arg.type.dims, strict=True):
                    if isinstance(own, Sym):
                        self.dims.setdefault(own.name, (own, given))

    def name(self, var: Var) -> Var:
        """Return the variable under its new name."""
        return Var(self.names[var.name], self.kind(var.type))

    def kind(self, kind: Type) -> Type:
        """Return the type with the caller's lengths."""
        match kind:
            case Array(dtype, dims, layout):
                return Array(dtype, tuple(self._dim(d) for d in dims), layout)
            case Scalar(dtype, weak, Sym() as value):
                dim = self._dim(value)
                return Scalar(dtype, weak, dim if isinstance(dim, Sym) else None)
            case ListOf(item):
                return ListOf(None if item is None else self.kind(item))
            case Struct(container, keys, items):
                return Struct(container, keys, tuple(self.kind(item) for item in items))
            case _:
                return kind

    def _dim(self, dim: Dim) -> Dim:
        if isinstance(dim, int):
            return dim
        if dim.name not in self.dims:
            self.dims[dim.name] = Sym(dim.name), fresh_dim()
        own, given = self.dims[dim.name]
        less = dim.minus - own.minus
        if isinstance(given, int):
            return max(given - less, 0)
        return Sym(given.name, given.minus + less, given.nonone and less <= 0)

    def expr(self, expr: Any) -> Any:
        """Return the expression in the caller's names and lengths."""
        match expr:
            case Var():
                return self.name(expr)
            case Const(value, kind):
                return Const(value, self.kind(kind))
            case Apply(fn, args, kind, static):
                return Apply(fn, tuple(self.expr(a) for a in args), self.kind(kind), static)
            case Index(base, index, kind):
                return Index(self.expr(base), tuple(self.expr(i) for i in index), self.kind(kind))
            case Pack(container, items, kind):
                return Pack(container, tuple(self.expr(i) for i in items), self.kind(kind))
            case Slice(lower, upper, step):
                return Slice(*(None if part is None else self.expr(part) for part in (lower, upper, step)))
            case _:
                return expr

    def stmt(self, stmt: Stmt) -> Stmt:
        """Return the statement in the caller's names and lengths."""
        made: Stmt = map_exprs(stmt, self.expr)
        match made:
            case Assign(target):
                made = replace(made, target=self.name(target))
            case For(var):
                made = replace(made, var=self.name(var))
            case CallStmt(targets):
                made = replace(made, targets=tuple(self.name(t) for t in targets))
            case Append(items):
                made = replace(made, list=self.name(items))
            case Swap(first, second):
                made = replace(made, first=self.name(first), second=self.name(second))
            case _:
                pass
        return map_blocks(made, lambda body: tuple(self.stmt(s) for s in body))
