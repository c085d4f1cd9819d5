"""What a device needs that the text would not say by itself.

`math` in place of NumPy for numbers; literals in the precision of the kernel, as a float64 literal
would make a float32 kernel compute in double; constant-size arrays in a thread's own memory.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.errors import UnsupportedSyntaxError
from s2sad.ir import ops
from s2sad.ir.device import LOCAL, Intrinsic
from s2sad.ir.nodes import (
    Apply,
    Assign,
    Const,
    Expr,
    Function,
    Index,
    Pack,
    Slice,
    Stmt,
)
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import map_blocks, map_children, map_exprs

AS_MATH: dict[Callable[..., Any], Callable[..., Any]] = {
    np.sin: math.sin, np.cos: math.cos, np.tan: math.tan, np.arcsin: math.asin, np.arccos: math.acos,
    np.arctan: math.atan, np.arctan2: math.atan2, np.sinh: math.sinh, np.cosh: math.cosh, np.tanh: math.tanh,
    np.arcsinh: math.asinh, np.arccosh: math.acosh, np.arctanh: math.atanh, np.exp: math.exp, np.expm1: math.expm1,
    np.log: math.log, np.log1p: math.log1p, np.log2: math.log2, np.log10: math.log10, np.sqrt: math.sqrt,
    np.hypot: math.hypot, np.absolute: builtins.abs, np.fabs: builtins.abs, np.maximum: builtins.max,
    np.minimum: builtins.min, np.fmax: builtins.max, np.fmin: builtins.min, np.power: operator.pow,
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.divide: operator.truediv,
    np.negative: operator.neg, np.floor: math.floor, np.ceil: math.ceil, np.isnan: math.isnan, np.isinf: math.isinf,
    np.isfinite: math.isfinite, np.copysign: math.copysign, np.degrees: math.degrees, np.radians: math.radians,
    np.rad2deg: math.degrees, np.deg2rad: math.radians, np.where: ops.ifexp, np.logical_not: operator.not_,
    np.logical_and: ops.both, np.logical_or: ops.either, np.greater: operator.gt, np.less: operator.lt,
}  # fmt: skip
"""Numba compiles `math` for a device, and NumPy's functions of numbers mostly not."""

_FRESH = (np.empty, np.zeros, np.zeros_like, np.empty_like)


def is_single(fn: Function) -> bool:
    """Say whether a function computes in single precision: no argument of it is a double."""
    kinds = {p.type.dtype for p in fn.params if isinstance(p.type, Array | Scalar) and not _is_weak(p.type)}
    return "float32" in kinds and "float64" not in kinds


def _is_weak(kind: Any) -> bool:
    return isinstance(kind, Scalar) and kind.weak


def legalised(fn: Function, single: bool) -> Function:
    """Return `fn` as a device compiles it; `single`: literals are of single precision."""
    params = tuple(replace(param, default=None) for param in fn.params)  # a kernel is given everything
    return replace(fn, params=params, body=_block(fn.body, single))


def _block(body: tuple[Stmt, ...], single: bool) -> tuple[Stmt, ...]:
    result: list[Stmt] = []
    for stmt in body:
        stmt = map_exprs(stmt, lambda e: _expr(e, single))
        if isinstance(stmt, Assign) and isinstance(stmt.value, Apply) and stmt.value.fn in _FRESH:
            stmt = _local(stmt, stmt.value)
        result.append(map_blocks(stmt, lambda b: _block(b, single)))
    return tuple(result)


def _local(stmt: Assign, value: Apply) -> Assign:
    """An array of constant size is a thread's own memory."""
    kind = value.type
    if not (isinstance(kind, Array) and all(_known(d) is not None for d in _lengths(value))):
        raise UnsupportedSyntaxError(
            f"`{value.fn.__name__}` of unknown size cannot run on a device", stmt.span, "Give it a constant size."
        )
    shape = tuple(_known(d) for d in _lengths(value))
    static = (("shape", shape[0] if len(shape) == 1 else shape), ("dtype", np.dtype(kind.dtype).type))
    return replace(stmt, value=Apply(LOCAL, (), kind, static))


def _lengths(value: Apply) -> tuple[Any, ...]:
    if value.fn in (np.zeros_like, np.empty_like):
        return value.type.dims if isinstance(value.type, Array) else ()
    shape = value.args[0]
    return shape.items if isinstance(shape, Pack) else (shape,)


def _known(item: Any) -> int | None:
    if isinstance(item, int):
        return item
    value = item.value if isinstance(item, Const) else getattr(getattr(item, "type", None), "value", None)
    return value if isinstance(value, int) else None


def _expr(expr: Any, single: bool) -> Any:
    if isinstance(expr, Const):
        return _typed(expr) if single else expr
    if isinstance(expr, Slice):
        return expr
    if isinstance(expr, Index):
        return map_children(expr, lambda c: c if isinstance(c, Const) else _expr(c, single))
    if isinstance(expr, Apply) and isinstance(expr.fn, Intrinsic) and expr.fn.path.startswith("atomic"):
        target, at, *values = expr.args
        return replace(expr, args=(target, at, *(_expr(v, single) for v in values)))
    expr = map_children(expr, lambda c: _expr(c, single))
    if not isinstance(expr, Apply):
        return expr
    if isinstance(expr.type, Scalar) and expr.fn in AS_MATH and not any(isinstance(a.type, Array) for a in expr.args):
        expr = replace(expr, fn=AS_MATH[expr.fn])
    return _floats(expr) if single else expr


def _typed(expr: Const) -> Expr:
    if type(expr.value) is float:
        return Const(np.float32(expr.value), Scalar("float32"))
    return expr


_ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.truediv)


def _floats(expr: Apply) -> Apply:
    """An integer beside a float32 makes Numba compute in double: it is made a float32 first."""
    if expr.fn not in _ARITHMETIC or not (isinstance(expr.type, Scalar) and expr.type.dtype.startswith("float")):
        return expr
    args = tuple(_as_float(a) for a in expr.args)
    return expr if args == expr.args else replace(expr, args=args)


def _as_float(arg: Expr) -> Expr:
    if isinstance(arg.type, Scalar) and "int" in arg.type.dtype:
        if isinstance(arg, Const):
            return Const(np.float32(arg.value), Scalar("float32"))
        return Apply(np.float32, (arg,), Scalar("float32"))
    return arg


__all__ = ["is_single", "legalised"]
