"""Sizes asked of what has them: `np.log(x).size` is `x.size`, and nothing is computed for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from s2sad.analysis.saved import is_pure
from s2sad.frontend.infer import is_elementwise
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Function, Stmt, Var
from s2sad.ir.types import Array
from s2sad.ir.walk import map_blocks, map_children, map_exprs


def sized(fn: Function, keep: frozenset[str]) -> Function:
    """Ask the operands of elementwise arithmetic for its sizes; the user's lines stay."""
    return replace(fn, body=tuple(_stmt(s, keep) for s in fn.body))


def _stmt(stmt: Stmt, keep: frozenset[str]) -> Stmt:
    if not (isinstance(stmt, Assign) and stmt.target.name in keep):
        stmt = map_exprs(stmt, _expr)
    return map_blocks(stmt, lambda body: tuple(_stmt(s, keep) for s in body))


def _expr(expr: Any) -> Any:
    expr = map_children(expr, _expr)
    if isinstance(expr, Apply) and expr.fn in (ops.size, ops.dim) and isinstance(expr.args[0], Apply):
        name = _alike(expr.args[0])
        if name is not None and is_pure(expr.args[0]):
            return replace(expr, args=(name, *expr.args[1:]))
    return expr


def _alike(value: Apply) -> Var | None:
    """Return a name in elementwise arithmetic that has the shape of the whole."""
    for arg in value.args if is_elementwise(value.fn) else ():
        if isinstance(arg.type, Array) and isinstance(value.type, Array) and arg.type.dims == value.type.dims:
            found = arg if isinstance(arg, Var) else _alike(arg) if isinstance(arg, Apply) else None
            if found is not None:
                return found
    return None
