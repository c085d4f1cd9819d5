"""Functions of numbers as a device has them: `math` for NumPy, the rest written out or refused.

Numba compiles `math` for a device, and NumPy's functions of numbers mostly not; the simulator runs all
of them. What a GPU would stop at is therefore settled here, where the user's line is known.
"""

from __future__ import annotations

import builtins
import inspect
import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.errors import Span, UnsupportedSyntaxError
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.device import BLOCK_SIZE, GRID_SIZE, STRIDE
from s2sad.ir.nodes import Apply, Const, Expr, For
from s2sad.ir.types import Array, Scalar
from s2sad.transform.algebra import fold
from s2sad.transform.stepping import minus, unreversed

FRESH = (np.empty, np.zeros, np.zeros_like, np.empty_like)
"""Makers of arrays; of constant size they are a thread's own memory."""

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
    np.greater_equal: operator.ge, np.less_equal: operator.le, np.equal: operator.eq, np.not_equal: operator.ne,
    np.remainder: operator.mod, np.floor_divide: operator.floordiv, np.fmod: math.fmod, np.trunc: math.trunc,
    np.float_power: operator.pow,
}  # fmt: skip

_MATH = frozenset(
    "acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh degrees erf erfc exp expm1 fabs floor fmod gamma "
    "hypot isfinite isinf isnan ldexp lgamma log log10 log1p log2 nextafter pow radians remainder sin sinh sqrt tan "
    "tanh trunc".split()
)
"""What Numba compiles of `math`."""

_NUMPY = frozenset({
    np.angle, np.logical_xor, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift,
})  # fmt: skip
"""What Numba compiles of NumPy, and `math` and `operator` do not have."""

_HELPERS = frozenset({"digamma", "is_close"})
"""What of the runtime a device can run: helpers of numbers that call `math` alone."""


def _sign(x: Expr) -> Expr:
    """0 where `x` is 0 and NaN where it is NaN, as NumPy has it."""
    told = build(operator.gt, build(abs, x), literal(0.0))
    return build(ops.ifexp, told, _copysign(literal(1.0), x), x)


def _cbrt(x: Expr) -> Expr:
    return _copysign(build(operator.pow, build(abs, x), literal(1.0 / 3.0)), x)


def _copysign(size: Expr, x: Expr) -> Expr:
    return build(math.copysign, size, x)


_WRITTEN: dict[Callable[..., Any], Callable[..., Expr]] = {
    np.sign: _sign,
    np.cbrt: _cbrt,
    math.cbrt: _cbrt,
    np.exp2: lambda x: build(operator.pow, literal(2.0), x),
    math.exp2: lambda x: build(operator.pow, literal(2.0), x),
    np.square: lambda x: build(operator.mul, x, x),
    np.reciprocal: lambda x: build(operator.truediv, literal(1.0), x),
    np.positive: lambda x: x,
    np.real: lambda x: x,
    np.conjugate: lambda x: x,
    np.clip: lambda x, low, high: build(min, build(max, x, low), high),
}


def _turns(start: Expr, stop: Expr, step: Expr) -> Expr:
    """The length of a range, which not every front end tells of one."""
    left = build(operator.floordiv, build(operator.sub, start, stop), step)
    return build(ops.ifexp, build(operator.lt, left, literal(0)), build(operator.neg, left), literal(0))


def backwards(loop: For) -> For:
    """Return the reverse of a range with its start by a division: not every front end has `len(range(…))`."""
    found = unreversed(loop)
    if found is None:
        return loop
    start, stop, by = found.start, found.stop, found.step
    step = by.value if isinstance(by, Const) else None
    down = step < 0 if step else not _is_positive(by)
    low, high = (stop, start) if down else (start, stop)
    way = fold(build(operator.sub, high, low)) if not _is_nothing(low) else high
    size = literal(abs(step)) if step else by
    known = step is not None or not down
    turns = build(operator.floordiv, minus(way, 1) if known else way, size)  # less one; of an unknown step, minus them
    far = build(operator.mul, turns if known else build(operator.add, turns, literal(1)), size)
    before = fold(minus(start, step) if step else build(operator.sub, start, by))
    last = far if not down and _is_nothing(start) else build(operator.sub if down else operator.add, start, far)
    return replace(loop, start=last, stop=before)


def _is_positive(step: Expr) -> bool:
    """Say whether a step is how many threads or blocks there are."""
    return isinstance(step, Apply) and step.fn in (*STRIDE.values(), *BLOCK_SIZE, *GRID_SIZE)


def _is_nothing(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value == 0


def on_device(expr: Apply, span: Span) -> Expr:
    """Return a call of a function of real numbers as a device has it.

    Raises:
        UnsupportedSyntaxError: a function that Numba does not compile for a device.
    """
    if expr.fn is ops.length and isinstance(expr.args[0], Apply) and expr.args[0].fn is range:
        return _turns(*expr.args[0].args)
    kinds = [expr.type, *(a.type for a in expr.args)]
    if any(isinstance(kind, Array) or getattr(kind, "dtype", "").startswith("complex") for kind in kinds):
        return expr
    whole = not str(getattr(kinds[1], "dtype", "")).startswith("float") if len(kinds) > 1 else True
    if expr.fn in _WRITTEN and not whole and len(expr.args) == len(inspect.signature(_WRITTEN[expr.fn]).parameters):
        return _WRITTEN[expr.fn](*expr.args)
    fn = AS_MATH.get(expr.fn, expr.fn) if isinstance(expr.type, Scalar) else expr.fn
    if _is_missing(fn):
        raise UnsupportedSyntaxError(
            f"`{getattr(fn, '__name__', fn)}` cannot run on a device", span,
            "Write it with operators and with the functions of `math` that Numba compiles for a device: sqrt, exp, "
            "log, erf and their like.",
        )  # fmt: skip
    return expr if fn is expr.fn else Apply(fn, expr.args, expr.type, expr.static)


def _is_missing(fn: Any) -> bool:
    if fn in _NUMPY:
        return False
    if isinstance(fn, np.ufunc):
        return True
    module, name = str(getattr(fn, "__module__", "")), str(getattr(fn, "__name__", ""))
    if module == "math":
        return name not in _MATH
    if module.startswith("s2sad.runtime") or (module == ops.__name__ and hasattr(runtime, name)):
        return name not in _HELPERS
    return module.startswith("numpy") and not isinstance(fn, type) and fn not in FRESH


__all__ = ["AS_MATH", "FRESH", "backwards", "on_device"]
