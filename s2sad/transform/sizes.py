"""Sizes asked of what has them: `np.log(x).size` is `x.size`, and nothing is computed for it.

Nor is a function called of whose result only the shape is used, where an argument has it too or it is known.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from s2sad.analysis.pure import is_pure
from s2sad.frontend.infer import is_elementwise
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal, pack
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, CallStmt, Const, Expr, Function, Slice, Stmt, Var
from s2sad.ir.types import Array, Dim, Sym
from s2sad.ir.walk import bound, children, exprs_of, map_blocks, map_children, map_exprs, statements

_MADE_LIKE = {np.zeros_like: np.zeros, np.empty_like: np.empty}


def sized(fn: Function, keep: frozenset[str]) -> Function:
    """Ask the operands of elementwise arithmetic for its sizes; the user's lines stay."""
    asking = _Asking(fn, keep)
    fn = replace(fn, body=tuple(asking.stmt(s) for s in fn.body))
    known = _only_shapes(fn)
    if not known:
        return fn

    def each(stmt: Stmt) -> Stmt:
        stmt = map_exprs(stmt, lambda expr: _made_like(expr, known))
        return map_blocks(stmt, lambda body: tuple(each(s) for s in body))

    return replace(fn, body=tuple(each(s) for s in fn.body))


def _only_shapes(fn: Function) -> dict[str, Expr]:
    """Return, for results of calls after which only arrays are shaped, something else of their shape.

    It is a parameter of the same lengths that stays what it is, or the lengths themselves.
    """
    every = list(statements(fn.body))
    results = {
        t.name: t.type for s in every if isinstance(s, CallStmt) and s.fn is None for t in s.targets
    }  # fmt: skip
    if not results:
        return {}
    names = [name for stmt in every for name in bound(stmt)]
    used = {name for stmt in every for expr in exprs_of(stmt) for name in _not_shaping(expr)}
    params = [Var(p.name, p.type) for p in fn.params if p.name not in names]
    found: dict[str, Expr] = {}
    for name, kind in results.items():
        if name in used or names.count(name) > 1 or not isinstance(kind, Array) or kind.dtype != "float64":
            continue
        like = next((p for p in params if p.type == kind), None)
        if like is not None:
            found[name] = like
        elif all(isinstance(dim, int) for dim in kind.dims) and kind.layout == "C":
            lengths: list[Expr] = [literal(dim) for dim in kind.dims]
            found[name] = lengths[0] if len(lengths) == 1 else pack("tuple", lengths)
    return found


def _not_shaping(expr: Expr | Slice) -> set[str]:
    if isinstance(expr, Apply) and expr.fn in _MADE_LIKE and len(expr.args) == 1 and not expr.static:
        return set() if isinstance(expr.args[0], Var) else _not_shaping(expr.args[0])
    if isinstance(expr, Var):
        return {expr.name}
    return {name for child in children(expr) for name in _not_shaping(child)}


def _made_like(expr: Any, known: dict[str, Expr]) -> Any:
    if isinstance(expr, Apply) and expr.fn in _MADE_LIKE and isinstance(expr.args[0], Var):
        like = known.get(expr.args[0].name)
        if like is not None:
            fn = expr.fn if isinstance(like, Var) else _MADE_LIKE[expr.fn]
            return Apply(fn, (like,), expr.type)
    return map_children(expr, lambda child: _made_like(child, known))


class _Asking:
    """Asks for sizes what is at hand anyway: known numbers, the arguments, what a result is computed of."""

    def __init__(self, fn: Function, keep: frozenset[str]) -> None:
        self.keep = keep | {p.name for p in fn.params}
        names = {name for stmt in statements(fn.body) for name in bound(stmt)}
        self.lengths: dict[Dim, Expr] = {}
        for param in fn.params:
            if isinstance(param.type, Array) and param.name not in names:
                for axis, dim in enumerate(param.type.dims):
                    if isinstance(dim, Sym):
                        length = build(ops.dim, Var(param.name, param.type), literal(axis))
                        self.lengths.setdefault(dim, length)

    def stmt(self, stmt: Stmt) -> Stmt:
        """Return a statement that asks so, but for the user's own."""
        if not (isinstance(stmt, Assign) and stmt.target.name in self.keep):
            stmt = map_exprs(stmt, self.expr)
        return map_blocks(stmt, lambda body: tuple(self.stmt(s) for s in body))

    def expr(self, expr: Any) -> Any:
        """Return an expression that asks so."""
        expr = map_children(expr, self.expr)
        if not (isinstance(expr, Apply) and expr.fn in (ops.size, ops.dim)):
            return expr
        if (length := self._known(expr)) is not None:
            return length
        if isinstance(expr.args[0], Apply):
            name = _alike(expr.args[0])
            if name is not None and is_pure(expr.args[0]):
                return replace(expr, args=(name, *expr.args[1:]))
        return expr

    def _known(self, asked: Apply) -> Expr | None:
        """Return a length of an array of the derivative's own that is a number or an argument's."""
        value, axis = asked.args[0], asked.args[-1]
        own = isinstance(value, Var) and value.name not in self.keep
        computed = isinstance(value, Apply) and _alike(value) is None and is_pure(value)
        if not (own or computed) or not isinstance(value.type, Array):
            return None
        dims = value.type.dims
        chosen = dims if asked.fn is ops.size else (dims[axis.value],) if isinstance(axis, Const) else ()
        known = [dim for dim in chosen if isinstance(dim, int)]
        if chosen and len(known) == len(chosen):
            return literal(prod(known))
        return self.lengths.get(chosen[0]) if len(chosen) == 1 else None


def _alike(value: Apply) -> Var | None:
    """Return a name in elementwise arithmetic that has the shape of the whole."""
    for arg in value.args if is_elementwise(value.fn) else ():
        if isinstance(arg.type, Array) and isinstance(value.type, Array) and arg.type.dims == value.type.dims:
            found = arg if isinstance(arg, Var) else _alike(arg) if isinstance(arg, Apply) else None
            if found is not None:
                return found
    return None
