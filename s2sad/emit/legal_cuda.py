"""What a device needs that the text would not say by itself.

Literals in the precision of the kernel, as a float64 literal or an integer beside a float32 would make a
float32 kernel compute in double; constant-size arrays in a thread's own memory.
"""

from __future__ import annotations

import builtins
import math
import operator
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.emit.device_calls import FRESH, backwards, on_device
from s2sad.errors import Span, UnsupportedSyntaxError
from s2sad.ir import ops
from s2sad.ir.device import LOCAL, Intrinsic
from s2sad.ir.nodes import (
    Apply,
    Assign,
    Const,
    Expr,
    For,
    Function,
    Index,
    Pack,
    Slice,
    Stmt,
)
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import map_blocks, map_children, map_exprs, statements


def is_single(fn: Function) -> bool:
    """Say whether a function computes in single precision: no argument of it is a double."""
    kinds = {p.type.dtype for p in fn.params if isinstance(p.type, Array | Scalar) and not _is_weak(p.type)}
    return "float32" in kinds and "float64" not in kinds


def _is_weak(kind: Any) -> bool:
    return isinstance(kind, Scalar) and kind.weak


def legalised(fn: Function, single: bool) -> Function:
    """Return `fn` as a device compiles it; `single`: literals are of single precision."""
    params = tuple(replace(param, default=None) for param in fn.params)  # a kernel is given everything
    body = _singly_bound(fn.body, _floating(fn.body)) if single else fn.body
    return replace(fn, params=params, body=_block(body, single, fn.span))


def _floating(body: tuple[Stmt, ...]) -> frozenset[str]:
    """Return the names that hold a real number somewhere."""
    bound = (s.target for s in statements(body) if isinstance(s, Assign))
    return frozenset(target.name for target in bound if _is_float(target.type))


def _singly_bound(body: tuple[Stmt, ...], floating: frozenset[str]) -> tuple[Stmt, ...]:
    """Where a sum starts from an integer, `acc = 0`, Numba would make it a double: it starts from a float32."""

    def each(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Assign) and stmt.target.name in floating:
            return replace(stmt, value=_as_float(stmt.value))
        return map_blocks(stmt, lambda b: tuple(map(each, b)))

    return tuple(map(each, body))


def _block(body: tuple[Stmt, ...], single: bool, whole: Span) -> tuple[Stmt, ...]:
    result: list[Stmt] = []
    for stmt in body:
        span = stmt.span if stmt.span.line else whole
        stmt = backwards(stmt) if isinstance(stmt, For) else stmt
        stmt = map_exprs(stmt, lambda e, span=span: _expr(e, single, span))
        if isinstance(stmt, Assign) and isinstance(stmt.value, Apply) and stmt.value.fn in FRESH:
            stmt = _local(stmt, stmt.value, single)
        result.append(map_blocks(stmt, lambda b: _block(b, single, whole)))
    return tuple(result)


def _local(stmt: Assign, value: Apply, single: bool) -> Assign:
    """An array of constant size is a thread's own memory."""
    kind = value.type
    if not (isinstance(kind, Array) and all(_known(d) is not None for d in _lengths(value))):
        raise UnsupportedSyntaxError(
            f"`{value.fn.__name__}` of unknown size cannot run on a device", stmt.span, "Give it a constant size."
        )
    shape = tuple(_known(d) for d in _lengths(value))
    dtype = "float32" if single and kind.dtype == "float64" else kind.dtype
    static = (("shape", shape[0] if len(shape) == 1 else shape), ("dtype", np.dtype(dtype).type))
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


def _expr(expr: Any, single: bool, span: Span) -> Any:
    if isinstance(expr, Const):
        return _typed(expr) if single else expr
    if isinstance(expr, Slice):
        return expr
    if isinstance(expr, Index):
        return map_children(expr, lambda c: c if isinstance(c, Const) else _expr(c, single, span))
    if isinstance(expr, Apply) and isinstance(expr.fn, Intrinsic) and expr.fn.path.startswith("atomic"):
        target, at, *values = expr.args
        return replace(expr, args=(target, at, *(_expr(v, single, span) for v in values)))
    if isinstance(expr, Apply):
        said = on_device(expr, span)
        if isinstance(said, Apply) and said.fn is not expr.fn and said.args != expr.args:
            return _expr(said, single, span)  # written out: its parts are looked at in their turn
        expr = said
    expr = map_children(expr, lambda c: _expr(c, single, span))
    return _floats(expr) if single and isinstance(expr, Apply) else expr


def _typed(expr: Const) -> Expr:
    if type(expr.value) is float:
        return Const(np.float32(expr.value), Scalar("float32"))
    return expr


_ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod)
_ORDER = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
_CONVERTERS = (math.floor, math.ceil, math.trunc, builtins.round)
_SMALL = 16
"""Powers up to here Numba writes as products, if their exponent is an integer."""


def _floats(expr: Apply) -> Expr:
    """An integer beside a float32 makes Numba compute in double: it is made a float32 first."""
    if expr.fn in _ORDER and any(_is_float(a.type) for a in expr.args):
        return _with(expr, [_as_float(a) for a in expr.args])
    if not _is_float(expr.type):
        return expr
    if expr.fn is builtins.float:
        return _single(expr.args[0])
    if expr.fn in _CONVERTERS or getattr(expr.fn, "__module__", "").startswith("s2sad.runtime"):
        return _single(expr)
    if expr.fn is operator.pow:
        base, exponent = expr.args
        is_product = isinstance(exponent, Const) and isinstance(exponent.value, int) and abs(exponent.value) <= _SMALL
        return _with(expr, [_as_float(base), exponent if is_product else _as_float(exponent)])
    if expr.fn is ops.ifexp:
        test, then, other = expr.args
        return _with(expr, [test, _as_float(then), _as_float(other)])
    if expr.fn is math.ldexp:
        return _with(expr, [_as_float(expr.args[0]), expr.args[1]])
    if expr.fn in (*_ARITHMETIC, builtins.max, builtins.min) or getattr(expr.fn, "__module__", "") == "math":
        return _with(expr, [_as_float(a) for a in expr.args])
    return expr


def _with(expr: Apply, args: list[Expr]) -> Apply:
    return expr if tuple(args) == expr.args else replace(expr, args=tuple(args))


def _is_float(kind: Any) -> bool:
    return isinstance(kind, Scalar) and kind.dtype.startswith("float")


def _as_float(arg: Expr) -> Expr:
    if isinstance(arg.type, Scalar) and "int" in arg.type.dtype:
        return Const(np.float32(arg.value), Scalar("float32")) if isinstance(arg, Const) else _single(arg)
    return arg


def _single(arg: Expr) -> Expr:
    return Apply(np.float32, (arg,), Scalar("float32"))


__all__ = ["is_single", "legalised"]
