"""Target "cpu": rewrite a call that Numba 0.68 cannot compile into calls that it can.

Each rewrite was compiled; `tests/unit/test_legal.py` compiles them all again. A call that has no
rewrite is returned as it is, and Numba refuses it with its own message.
"""

from __future__ import annotations

import builtins
import cmath
import functools
import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Const, Expr, Pack, Var
from s2sad.ir.types import Array, Scalar, Static, Struct, Sym, Type, rank
from s2sad.rules import legal_fft, legal_linalg, legal_products, legal_shapes
from s2sad.rules.legal_parts import applied, expanded, number, with_axis, without_axes, without_axis
from s2sad.runtime import integers

Rewrite = Callable[[Apply], Expr | None]

_INT = Scalar("int64", weak=True)
_ALONG: dict[Any, Any] = {
    np.mean: runtime.mean_axis,
    np.average: runtime.mean_axis,
    np.max: runtime.max_axis,
    np.amax: runtime.max_axis,
    np.min: runtime.min_axis,
    np.amin: runtime.min_axis,
    np.prod: runtime.prod_axis,
    np.var: runtime.var_axis,
    np.std: runtime.std_axis,
    np.any: runtime.any_axis,
    np.all: runtime.all_axis,
    np.sum: runtime.sum_axis,
    np.nansum: runtime.nansum_axis,
    np.nanmean: runtime.nanmean_axis,
    runtime.logsumexp: runtime.logsumexp_axis,
}
_OVER_ALL: dict[Any, Any] = {
    np.var: runtime.var_all, np.std: runtime.std_all, runtime.logsumexp: runtime.logsumexp_all,
}  # fmt: skip
_OF_COMPLEX_ONLY = (
    cmath.log10, cmath.sinh, cmath.cosh, cmath.tanh, cmath.asinh, cmath.acosh, cmath.atanh, cmath.phase,
)  # fmt: skip
_NO_NESTING = (np.var, np.std, np.nanmean)
_JOINS = (np.concatenate, np.stack, np.hstack, np.vstack, np.column_stack)


def legal(call: Apply) -> Expr:
    """Return an expression of the same value and type that Numba compiles, where one is known."""
    rewrite = _REWRITES.get(call.fn)
    if isinstance(call.fn, np.ufunc) and any(name == "dtype" for name, _ in call.static):
        rewrite = _ufunc
    if (getattr(call.fn, "__module__", None) or "").startswith("scipy.linalg"):
        rewrite = legal_linalg.legal_scipy
    if rewrite is None:
        return call
    return rewrite(call) or call


def add(fn: Any, rewrite: Rewrite) -> None:
    """Add the rewrite of a function of a library that is loaded late."""
    _REWRITES[fn] = rewrite


def renamed(fn: Any) -> Rewrite:
    """Return the rewrite to another function of the same arguments, rewritten in its turn."""
    return lambda call: legal(Apply(fn, call.args, call.type, call.static))


def _reduce(call: Apply) -> Expr | None:
    static = dict(call.static)
    axis, keepdims = static.pop("axis", None), static.pop("keepdims", False)
    x, dtype = call.args[0], static.pop("dtype", None)
    if len(call.args) != 1 or static.keys() - {"ddof"} or not isinstance(x.type, Array):
        return None
    if dtype is not None and np.dtype(dtype).name != x.type.dtype:
        x = _astype(Apply(ops.astype, (x,), Array(np.dtype(dtype).name, x.type.dims, "C"), (("dtype", dtype),)))
        assert isinstance(x.type, Array)
    n = rank(x.type)
    axes = range(n) if axis is None else (axis,) if isinstance(axis, int) else axis
    axes = tuple(sorted(k % n for k in axes))
    result = _reduce_axes(call.fn, x, axes, static, call.type)
    if not keepdims or result is None:
        return result
    if len(axes) == n:
        return applied(np.full, (legal_shapes.ones(n), result), call.type)
    for k in axes:
        result = applied(np.expand_dims, (result,), with_axis(result.type, k), axis=k)
    return result


def _reduce_axes(
    fn: Any, x: Expr, axes: tuple[int, ...], static: dict[str, Any], kind: Type
) -> Expr | None:
    if len(axes) == rank(x.type):
        scalar = Scalar(kind.dtype)  # type: ignore[union-attr]
        everywhere = _OVER_ALL.get(fn, fn) if static or fn not in (np.var, np.std) else fn
        return applied(np.mean if fn is np.average else everywhere, (x,), scalar, **static)
    if len(axes) > 1 and fn in _NO_NESTING:
        x = _joined_at_the_end(x, axes)
        axes = (rank(x.type) - 1,)
    result: Expr = x
    for k in reversed(axes):
        reduced = without_axis(result.type, k)
        along = Array(kind.dtype, reduced.dims, "C")  # type: ignore[union-attr]
        result = applied(_along(fn, result.type), (result,), along, axis=k, **static)
    return result


def _along(fn: Any, kind: Type) -> Any:
    """Return what reduces an array along one axis: Numba sums whole numbers and truth values as NumPy does."""
    inexact = getattr(kind, "dtype", "").startswith(("float", "complex"))
    return np.sum if fn is np.sum and not inexact else _ALONG[fn]


def _joined_at_the_end(x: Expr, axes: tuple[int, ...]) -> Expr:
    """Return an array whose last axis runs over several of another one."""
    assert isinstance(x.type, Array)
    order = [k for k in range(rank(x.type)) if k not in axes] + list(axes)
    if order != sorted(order):
        x = _transposed(x, order, Array(x.type.dtype, tuple(x.type.dims[k] for k in order)))
    x = _dense(x, x.type) if isinstance(x.type, Array) else x
    for _ in axes[1:]:
        assert isinstance(x.type, Array)
        x = applied(runtime.join_last_axes, (x,), Array(x.type.dtype, (*x.type.dims[:-2], Sym("joined#0")), "C"))
    return x


def _transposed(x: Expr, order: list[int], kind: Type) -> Expr:
    if order == sorted(order):
        return x
    axes = tuple(number(k) for k in order)
    kinds = Struct("tuple", tuple(range(len(order))), tuple(axis.type for axis in axes))
    return applied(np.transpose, (x, Pack("tuple", axes, kinds)), kind)


def _ptp(call: Apply) -> Expr | None:
    if not call.static or not isinstance(call.args[0], Var):
        return None
    top = legal(Apply(np.max, call.args, call.type, call.static))
    low = legal(Apply(np.min, call.args, call.type, call.static))
    return applied(np.subtract, (top, low), call.type)


def _roll(call: Apply) -> Expr | None:
    axis = dict(call.static).get("axis")
    x, shift = call.args
    if axis is None:
        return None
    axes = (axis,) if isinstance(axis, int) else axis
    if isinstance(shift.type, Array) and shift.type.dims:
        return applied(runtime.roll_axes, (x, shift), call.type, axes=axes)
    shifts = shift.items if isinstance(shift, Pack) else (shift,)
    if len(shifts) == 1 or len(axes) == 1:  # one of them goes with each of the others
        axes, shifts = axes * len(shifts), shifts * len(axes)
    for k, each in zip(axes, shifts, strict=True):
        x = applied(runtime.roll_axis, (x, each), call.type, axis=k)
    return x


def _positional_axis(helper: Any) -> Rewrite:
    def rewrite(call: Apply) -> Expr | None:
        axis = dict(call.static).get("axis")
        if axis is None:
            return None
        result = call.args[0]
        for k in (axis,) if isinstance(axis, int) else axis:
            result = applied(helper, (result, *call.args[1:]), call.type, axis=k)
        return result

    return rewrite


def _by_swapping(call: Apply) -> Expr | None:
    static = dict(call.static)
    x = call.args[0]
    axis = static.pop("axis", -1)
    if axis is None:
        return applied(call.fn, (applied(np.ravel, (x,), call.type),), call.type)
    if not isinstance(x.type, Array):
        return None
    if axis % rank(x.type) == rank(x.type) - 1:
        dense = x if x.type.layout == "C" else _dense(x, x.type)
        return applied(call.fn, (dense, *call.args[1:]), call.type, **static)
    dims = list(x.type.dims)
    dims[axis], dims[-1] = dims[-1], dims[axis]
    kind = Array(x.type.dtype, tuple(dims))
    inside = applied(np.swapaxes, (x, number(axis), number(-1)), kind)
    outside = applied(call.fn, (_dense(inside, kind), *call.args[1:]), kind, **static)
    back = applied(np.swapaxes, (outside, number(axis), number(-1)), call.type)
    assert isinstance(call.type, Array)
    return _dense(back, call.type) if call.type.layout == "C" else back


def _dense(x: Expr, kind: Array) -> Expr:
    return applied(np.ascontiguousarray, (x,), Array(kind.dtype, kind.dims, "C"))


def _kron(call: Apply) -> Expr | None:
    """`np.kron`: Numba takes arrays in one piece and of one dtype, and does not know the layout of a transpose."""

    def is_dense(x: Expr) -> bool:
        moved = isinstance(x, Apply) and x.fn in (np.transpose, ops.transpose)
        return isinstance(x.type, Array) and x.type.layout == "C" and not moved

    args = [x if is_dense(x) or not isinstance(x.type, Array) else _dense(x, x.type) for x in call.args]
    args = legal_products.of_one_dtype(*args)
    return None if args == call.args else replace(call, args=args)


def _argsort(call: Apply) -> Expr | None:
    axis = dict(call.static).get("axis", -1)
    if axis is None or rank(call.type) < 2:
        return applied(np.argsort, call.args, call.type) if axis in (0, -1) else None
    return applied(runtime.argsort_axis, call.args, call.type, axis=axis)


def _swapaxes(call: Apply) -> Expr | None:
    static = dict(call.static)
    x, *axes = call.args
    given = [getattr(a, "value", None) for a in axes] + list(static.values())
    if rank(x.type) == 2 and sorted(k % 2 for k in given if isinstance(k, int)) == [0, 1]:
        assert isinstance(x.type, Array)
        layout = {"C": "F", "F": "C"}.get(x.type.layout, "A")  # known, so that products need no copy
        return applied(ops.transpose, (x,), Array(x.type.dtype, x.type.dims[::-1], layout))
    return applied(call.fn, (*call.args, *(number(k) for k in static.values())), call.type)


def _moveaxis(call: Apply) -> Expr | None:
    """A known order of axes is a transpose, which Numba compiles several times faster than `np.moveaxis`."""
    static = dict(call.static)
    x, *given = call.args
    values = [_known_axes(a) for a in given] + [static[k] for k in ("source", "destination") if k in static]
    ends = [(k,) if isinstance(k, int) else k for k in values]
    if len(ends) != 2 or not all(isinstance(axes, tuple) and all(isinstance(k, int) for k in axes) for axes in ends):
        return None
    n = rank(x.type)
    source, destination = ([k % n for k in axes] for axes in ends)
    if source == destination:  # a view of which Numba would not know the layout
        return x
    if n == 2 and all(isinstance(k, int) for k in values):
        return _swapaxes(call)
    order = [k for k in range(n) if k not in source]
    for end, start in sorted(zip(destination, source, strict=True)):
        order.insert(end, start)
    return _transposed(x, order, call.type)


def _known_axes(axes: Expr) -> Any:
    """Return one or several axes that are written out, else None."""
    if isinstance(axes, Pack):
        found = tuple(_known_axes(item) for item in axes.items)
        return found if all(isinstance(k, int) for k in found) else None
    return getattr(axes, "value", None)


def _batched(helper: Any) -> Rewrite:
    def rewrite(call: Apply) -> Expr | None:
        batch = all(rank(x.type) == 3 for x in call.args)
        return applied(helper, call.args, call.type) if batch else None

    return rewrite


def _solve(call: Apply) -> Expr | None:
    """Both sides of a system have one dtype, and are no whole numbers, as Numba asks."""
    a, b = call.args
    if not isinstance(a.type, Array) or not isinstance(b.type, Array):
        return None
    common = np.result_type(a.type.dtype, b.type.dtype, np.float32)
    a, b = legal_products.as_dtype(a, common), legal_products.as_dtype(b, common)
    if rank(a.type) == rank(b.type) == 3:
        return applied(runtime.solve_batch, (a, b), call.type)
    return None if (a, b) == call.args else Apply(np.linalg.solve, (a, b), call.type)


def _triangle(call: Apply) -> Expr | None:
    """`np.tri(n, dtype=…)`: converted once it is made, as Numba's takes no dtype."""
    static = dict(call.static)
    dtype = static.pop("dtype", None)
    if dtype is None or not isinstance(call.type, Array):
        return None
    made = Apply(np.tri, call.args, Array("float64", call.type.dims, "C"), tuple(static.items()))
    if np.dtype(dtype) == np.float64:
        return made
    return _astype(Apply(ops.astype, (made,), call.type, (("dtype", dtype),)))


def _astype(call: Apply) -> Expr:
    dtype = dict(call.static)["dtype"]
    return Apply(np.ndarray.astype, (*call.args, Const(dtype, Static(dtype))), call.type)


def _conversion(call: Apply) -> Expr | None:
    """`np.float32(x)` of an array is `x.astype(np.float32)`: Numba converts numbers alone by a call."""
    if not isinstance(call.args[0].type, Array):
        return None
    return Apply(np.ndarray.astype, (*call.args, Const(call.fn, Static(call.fn))), call.type)


def _expand_dims(call: Apply) -> Expr | None:
    axis = dict(call.static).get("axis")
    result = call.args[0]
    if rank(result.type) == 0:
        return applied(np.full, (legal_shapes.ones(rank(call.type)), result), call.type)
    if not isinstance(axis, tuple):
        return None
    for k in sorted(k % rank(call.type) for k in axis):
        result = expanded(result, k)
    return result


def _squeeze(call: Apply) -> Expr | None:
    x = call.args[0]
    axis = dict(call.static).get("axis")
    if not isinstance(x.type, Array):
        return None
    n = rank(x.type)
    if axis is None:
        axes = {k for k, d in enumerate(x.type.dims) if d == 1}
    else:
        axes = {k % n for k in ((axis,) if isinstance(axis, int) else axis)}
    return without_axes(x, axes, call.type)


def _join(call: Apply) -> Expr | None:
    items = call.args[0]
    if not isinstance(items, Pack):
        return None
    static = dict(call.static)
    static.pop("casting", None)
    if static.pop("dtype", None) is not None:  # Numba's have none
        assert isinstance(call.type, Array)
        first = np.result_type(*(x.type.dtype for x in items.items if isinstance(x.type, Array | Scalar))).name
        plain = _join(applied(call.fn, call.args, replace(call.type, dtype=first), **static))  # type: ignore[arg-type]
        return None if plain is None else _of_dtype(plain, call.type)
    parts = items.items
    ranks = {rank(x.type) for x in parts}
    if call.fn is np.vstack and len(ranks) > 1:
        parts = tuple(expanded(x, 0) if rank(x.type) == 1 else x for x in parts)
    if call.fn is np.hstack and ranks == {0, 1}:
        line = Array(call.type.dtype, (1,), "C")  # type: ignore[union-attr]
        parts = tuple(applied(np.full, (legal_shapes.ones(1), x), line) if rank(x.type) == 0 else x for x in parts)
    if call.fn is np.concatenate and static.get("axis", 0) is None:
        del static["axis"]
        parts = tuple(applied(np.ravel, (x,), x.type) for x in parts)
    if call.fn in (np.stack, np.hstack) and all(rank(x.type) == 0 for x in parts):
        return applied(np.array, (Pack("list", parts, items.type),), call.type)
    return applied(call.fn, (Pack("tuple", parts, items.type),), call.type, **static)


def _array(call: Apply) -> Expr | None:
    x = call.args[0]
    if isinstance(x, Pack) and not x.items:
        dtype = getattr(call.type, "dtype", "float64")
        static = {} if dtype == "float64" else {"dtype": np.dtype(dtype).type}
        return applied(np.zeros, (number(0),), call.type, **static)
    if isinstance(x.type, Array) and call.fn is np.array and not call.static:
        return applied(np.copy, (x,), call.type)
    if isinstance(x.type, Array) and call.fn is np.array and set(dict(call.static)) == {"dtype"} and x.type.dims:
        return Apply(np.ndarray.astype, (x, Const(kind := dict(call.static)["dtype"], Static(kind))), call.type)
    if isinstance(x, Pack) and isinstance(call.type, Array) and not call.static:
        alike = _numbers_of(x, call.type.dtype)
        if alike is not x:
            return _array(Apply(call.fn, (alike,), call.type)) or applied(call.fn, (alike,), call.type)
    if isinstance(x, Pack) and x.items and all(isinstance(i.type, Array) for i in x.items):
        rows = tuple(_of_dtype(item, call.type) for item in x.items)
        return applied(np.stack, (Pack("tuple", rows, x.type),), call.type)
    if isinstance(x, Pack) and isinstance(call.type, Array) and _holds_arrays(x):
        below = Array(call.type.dtype, call.type.dims[1:], "C")
        rows = tuple(_array(Apply(np.array, (item,), below)) for item in x.items)
        if all(row is not None for row in rows):
            return applied(np.stack, (Pack("tuple", rows, x.type),), call.type)  # type: ignore[arg-type]
    return None


def _of_dtype(x: Expr, like: Type) -> Expr:
    """Return an array as one of the dtype of another."""
    if not (isinstance(x.type, Array) and isinstance(like, Array)) or x.type.dtype == like.dtype:
        return x
    kind = Array(like.dtype, x.type.dims, "C")
    cast = applied(ops.astype, (x,), kind, dtype=np.dtype(like.dtype).type)
    assert isinstance(cast, Apply)
    return _astype(cast)


def _numbers_of(x: Expr, dtype: str) -> Any:
    """Numba wants the numbers of a nested display to be of one type: whole ones among others become others."""
    if isinstance(x, Pack):
        items = tuple(_numbers_of(item, dtype) for item in x.items)
        return x if all(a is b for a, b in zip(items, x.items, strict=True)) else Pack(x.kind, items, x.type)
    if dtype not in ("float64", "complex128") or not isinstance(x.type, Scalar) or x.type.dtype == dtype:
        return x
    kind, cast = Scalar(dtype, weak=True), float if dtype == "float64" else complex
    return Const(cast(x.value), kind) if isinstance(x, Const) else Apply(cast, (x,), kind)


def _holds_arrays(x: Expr) -> bool:
    return isinstance(x.type, Array) or (isinstance(x, Pack) and any(_holds_arrays(item) for item in x.items))


def _clip(call: Apply) -> Expr | None:
    if len(call.args) != 3:
        return None
    x, low, high = call.args
    if rank(call.type):  # Numba's keeps the dtype of what is clipped
        kind, own = call.type, x.type
        if not isinstance(kind, Array) or not isinstance(own, Array) or own.dtype == kind.dtype:
            return None
        static = (("dtype", np.dtype(kind.dtype).type),)
        wider = legal(Apply(ops.astype, (x,), Array(kind.dtype, own.dims, own.layout), static))
        return Apply(np.clip, (wider, low, high), kind, call.static)
    if not (isinstance(low, Const) and low.value is None):
        x = applied(builtins.max, (x, low), call.type)
    if not (isinstance(high, Const) and high.value is None):
        x = applied(builtins.min, (x, high), call.type)
    return x


def _tile(call: Apply) -> Expr | None:
    x, reps = call.args
    if isinstance(x, Pack) and all(isinstance(item.type, Scalar) for item in x.items):
        x = applied(np.array, (x,), Array(call.type.dtype, (len(x.items),), "C"))  # type: ignore[union-attr]
    counts = reps.items if isinstance(reps, Pack) else (reps,)
    if rank(x.type) == 0:
        return applied(np.full, (reps, x), call.type)
    if rank(x.type) == 1 and len(counts) == 1:
        return applied(runtime.tile_vector, (x, counts[0]), call.type)
    if rank(x.type) > 2 or len(counts) > 2:
        return _tile_axes(x, counts, call.type)
    matrix = x if rank(x.type) == 2 else expanded(x, 0)
    both = counts if len(counts) == 2 else (number(1), *counts)
    return applied(runtime.tile_matrix, (matrix, *both), call.type)


def _tile_axes(x: Expr, counts: tuple[Expr, ...], kind: Type) -> Expr:
    """Tile one axis after the other, by a gather of its places again and again."""
    while rank(x.type) < len(counts):
        x = expanded(x, 0)
    first = rank(x.type) - len(counts)
    for k, count in enumerate(counts):
        if getattr(count.type, "value", None) != 1:
            x = applied(runtime.tile_axis, (x, count), kind, axis=first + k)
    return x


def _rot90(call: Apply) -> Expr | None:
    static = dict(call.static)
    if "axes" not in static:
        return None
    x = call.args[0]
    first, second = static["axes"]
    turns = static.get("k", 1) % 4
    if turns == 2:
        return _flipped(_flipped(x, first), second)
    if turns == 3:
        return _flipped(_swapped(x, first, second), second)
    return _swapped(_flipped(x, second), first, second) if turns else applied(np.copy, (x,), call.type)


def _flipped(x: Expr, axis: int) -> Expr:
    return applied(runtime.flip_axis, (x,), x.type, axis=axis)


def _swapped(x: Expr, first: int, second: int) -> Expr:
    assert isinstance(x.type, Array)
    dims = list(x.type.dims)
    dims[first], dims[second] = dims[second], dims[first]
    return applied(np.swapaxes, (x, number(first), number(second)), Array(x.type.dtype, tuple(dims)))


def _like(call: Apply) -> Expr | None:
    """`np.zeros_like(p)` of a number: Numba gives an array without axes, which is no number to it."""
    if not isinstance(call.type, Scalar):
        return None
    return _number_of(Const(_FILLS[call.fn], Scalar("int64", weak=True)), call.type.dtype)


def _number_of(value: Expr, dtype: str) -> Expr:
    """Return a number as one of a dtype."""
    if isinstance(value, Const) and dtype in ("float64", "int64", "complex128", "bool"):
        return Const(np.dtype(dtype).type(value.value).item(), Scalar(dtype, weak=True))
    kind = value.type
    return value if getattr(kind, "dtype", "") == dtype else Apply(np.dtype(dtype).type, (value,), Scalar(dtype))


def _ufunc(call: Apply) -> Expr | None:
    """`np.sqrt(x, dtype=…)`: Numba's take no dtype, so that what they are given has it."""
    static = dict(call.static)
    dtype = static.pop("dtype", None)
    if dtype is None or not isinstance(call.type, Array | Scalar):
        return None
    name = np.dtype(dtype).name

    def converted(arg: Expr) -> Expr:
        if isinstance(arg.type, Array) and arg.type.dtype != name:
            kind = Array(name, arg.type.dims, arg.type.layout if arg.type.layout != "A" else "C")
            return _astype(Apply(ops.astype, (arg,), kind, (("dtype", np.dtype(dtype).type),)))
        return _number_of(arg, name) if isinstance(arg.type, Scalar) else arg

    return legal(Apply(call.fn, tuple(converted(arg) for arg in call.args), call.type, tuple(static.items())))


def _filled(call: Apply) -> Expr | None:
    """`np.full(shape, array)` and `np.full_like(x, array)`: Numba fills with numbers only."""
    where, value = call.args
    if call.fn is np.full_like and isinstance(call.type, Scalar):
        return _number_of(value, call.type.dtype)
    if rank(value.type) == 0:
        return legal_shapes.listed_shape(call) if call.fn is np.full else None
    shape = where if call.fn is np.full else applied(ops.shape, (where,), where.type)
    if not isinstance(shape, Pack) and isinstance(shape.type, Scalar):
        shape = Pack("tuple", (shape,), Struct("tuple", (0,), (shape.type,)))
    return applied(np.copy, (applied(np.broadcast_to, (value, shape), call.type),), call.type)


def _linspace(call: Apply) -> Expr | None:
    static = dict(call.static)
    start, stop, *count = call.args
    endpoint = static.get("endpoint", True)
    if static.get("axis", 0) != 0 or static.keys() - {"endpoint", "axis"} or not isinstance(call.type, Array):
        return None
    if endpoint and rank(call.type) == 1:
        return applied(np.linspace, call.args, call.type)
    n = count[0] if count else number(50)
    line = Array("float64", call.type.dims[:1], "C")
    zero, one = (Const(x, Scalar("float64", weak=True)) for x in (0.0, 1.0))
    weights: Expr = applied(np.linspace, (zero, one, n), line)
    if not endpoint:
        weights = applied(operator.truediv, (applied(np.arange, (n,), line), n), line)
    for _ in range(rank(call.type) - 1):
        weights = expanded(weights, rank(weights.type))
    gap = applied(operator.sub, (stop, start), stop.type if rank(stop.type) else start.type)
    return applied(operator.add, (start, applied(operator.mul, (weights, gap), call.type)), call.type)


def _atleast(call: Apply) -> Expr | None:
    x, n = call.args[0], 1 if call.fn is np.atleast_1d else 2
    if rank(x.type) >= n:
        return x
    return applied(np.full, (legal_shapes.ones(n), x), call.type) if rank(x.type) == 0 else None


def _repeat(call: Apply) -> Expr | None:
    axis = dict(call.static).get("axis")
    x, repeats = call.args
    if axis is None or not isinstance(x.type, Array):
        return None
    if rank(x.type) == 1:
        return applied(np.repeat, (x, repeats), call.type)
    line = Array("int64", ("n",), "C")  # type: ignore[arg-type]
    size = x.type.dims[axis]
    count = number(size) if isinstance(size, int) else applied(ops.dim, (x, number(axis % rank(x.type))), _INT)
    index = applied(np.repeat, (applied(np.arange, (count,), line), repeats), line)
    return applied(np.take, (x, index), call.type, axis=axis)


def _pad(call: Apply) -> Expr | None:
    static = dict(call.static)
    x, value = call.args[0], static.get("constant_values", 0.0)
    if static.get("mode", "constant") != "constant" or "pad_width" not in static:
        return None
    if not isinstance(value, int | float) or not isinstance(x.type, Array):
        return None
    pairs = np.broadcast_to(np.asarray(static["pad_width"]), (rank(x.type), 2))
    filler = Const(float(value), Scalar("float64", weak=True))
    if rank(x.type) > 2:
        for axis, (before, after) in enumerate(pairs):
            x = applied(runtime.pad_axis, (x, number(int(before)), number(int(after)), filler), call.type, axis=axis)
        return x
    widths = tuple(number(int(k)) for k in pairs.ravel())
    helper = runtime.pad_vector if rank(x.type) == 1 else runtime.pad_matrix
    return applied(helper, (x, *widths, Const(value, Scalar("float64", weak=True))), call.type)


def _diagonal(call: Apply) -> Expr | None:
    offset = dict(call.static).get("offset", 0)
    return applied(np.diag, call.args, call.type, k=offset) if rank(call.args[0].type) == 2 else None


def _unbroadcast(call: Apply) -> Expr | None:
    g, x = call.args
    if not isinstance(g.type, Array):
        return g
    if not isinstance(x.type, Array):
        return applied(np.sum, (g,), call.type)
    return applied(runtime.sum_to_shape, (g, x), call.type)


def _renamed(fn: Any) -> Rewrite:
    return lambda call: Apply(fn, call.args, call.type, call.static)


def _folded(fn: Any) -> Rewrite:
    def rewrite(call: Apply) -> Expr | None:
        items = call.args[0].items if isinstance(call.args[0], Pack) else call.args
        if len(items) < 2:
            return items[0] if isinstance(call.args[0], Pack) and items else None
        return functools.reduce(lambda x, y: applied(fn, (x, y), call.type), items)

    return rewrite


def _dist(call: Apply) -> Expr | None:
    p, q = call.args
    if not (isinstance(p, Pack) and isinstance(q, Pack)):
        return None
    gaps = [applied(operator.sub, pair, call.type) for pair in zip(p.items, q.items, strict=True)]
    whole: Expr = gaps[0]
    for gap in gaps[1:]:
        whole = applied(math.hypot, (whole, gap), call.type)
    return applied(builtins.abs, (whole,), call.type)


def _sum_of_truths(call: Apply) -> Expr | None:
    """NumPy's True + True is True: one of them holds."""
    kinds = [getattr(part.type, "dtype", "") for part in (call, *call.args)]
    return applied(operator.or_, call.args, call.type) if kinds == ["bool"] * 3 else None


def _power(call: Apply) -> Expr | None:
    """Compiled, a whole number to a negative power would be 0."""
    base, exponent = call.args
    whole = all(isinstance(a.type, Scalar) and a.type.dtype.startswith(("int", "uint")) for a in (base, exponent))
    if not whole or (isinstance(exponent, Const) and exponent.value >= 0):
        return None
    if getattr(call.type, "dtype", "") == "float64":
        real = Apply(builtins.float, (base,), Scalar("float64", weak=True))
        return applied(operator.pow, (real, exponent), call.type)
    return applied(integers.power, (base, exponent), call.type)


def _builtin_power(call: Apply) -> Expr | None:
    if len(call.args) == 3:
        return applied(integers.power_modulo, call.args, call.type)
    return legal(Apply(operator.pow, call.args, call.type))


def _float(call: Apply) -> Expr | None:
    """Compiled, a truth value is no number yet."""
    (x,) = call.args
    if not (isinstance(x.type, Scalar) and x.type.dtype == "bool"):
        return None
    return Apply(builtins.float, (Apply(builtins.int, (x,), Scalar("int64", weak=True)),), call.type)


def _of_complex(call: Apply) -> Expr | None:
    """Compiled, a function of `cmath` may know complex numbers only."""
    (x,) = call.args
    complexes = Scalar("complex128", weak=True)
    if getattr(x.type, "dtype", "").startswith("complex"):
        return None
    return Apply(call.fn, (Apply(builtins.complex, (x,), complexes),), call.type)


def _isclose(call: Apply) -> Expr | None:
    static = dict(call.static)
    tolerances = (static.get("rel_tol", 1e-9), static.get("abs_tol", 0.0))
    if len(call.args) != 2:
        return None
    extra = tuple(Const(value, Scalar("float64", weak=True)) for value in tolerances)
    return applied(runtime.is_close, (*call.args, *extra), call.type)


def _round(call: Apply) -> Expr | None:
    """`round(x, 2)` of a number of Python's: Numba rounds as NumPy does, which has another answer for 2.675."""
    kind = call.args[0].type
    if len(call.args) != 2 or not isinstance(kind, Scalar) or not kind.weak or kind.dtype != "float64":
        return None
    return applied(runtime.round_decimal, call.args, call.type)


_FILLS: dict[Any, int] = {np.zeros_like: 0, np.empty_like: 0, np.ones_like: 1}

_REWRITES: dict[Any, Rewrite] = {
    **legal_linalg.REWRITES,
    **legal_fft.REWRITES,
    **legal_shapes.REWRITES,
    **legal_products.REWRITES,
    **dict.fromkeys(_ALONG, _reduce),
    **dict.fromkeys(_JOINS, _join),
    **dict.fromkeys((np.array, np.asarray), _array),
    **dict.fromkeys((ops.unbroadcast, runtime.unbroadcast), _unbroadcast),
    **dict.fromkeys((np.diff, np.sort, np.partition, np.unwrap), _by_swapping),
    np.ptp: _ptp,
    np.kron: _kron,
    np.argsort: _argsort,
    np.cumprod: _positional_axis(runtime.cumprod_axis),
    np.roll: _roll,
    np.flip: _positional_axis(runtime.flip_axis),
    np.swapaxes: _swapaxes,
    np.moveaxis: _moveaxis,
    np.linalg.solve: _solve,
    np.linalg.inv: _batched(runtime.inv_batch),
    np.linalg.det: _batched(runtime.det_batch),
    ops.astype: _astype,
    np.tri: _triangle,
    **dict.fromkeys((np.float64, np.float32, np.complex128, np.complex64), _conversion),
    np.polyval: _renamed(runtime.polyval),
    np.expand_dims: _expand_dims,
    np.squeeze: _squeeze,
    np.clip: _clip,
    np.tile: _tile,
    np.repeat: _repeat,
    np.pad: _pad,
    np.rot90: _rot90,
    np.linspace: _linspace,
    **dict.fromkeys(_FILLS, _like),
    np.full: _filled,
    np.full_like: _filled,
    np.atleast_1d: _atleast,
    np.atleast_2d: _atleast,
    np.diagonal: _diagonal,
    np.fix: _renamed(np.trunc),
    np.heaviside: _renamed(runtime.heaviside),
    operator.pow: _power,
    operator.add: _sum_of_truths,
    builtins.float: _float,
    builtins.round: _round,
    builtins.pow: _builtin_power,
    **dict.fromkeys(_OF_COMPLEX_ONLY, _of_complex),
    math.isclose: _isclose,
    math.remainder: _renamed(runtime.ieee_remainder),
    math.cbrt: _renamed(np.cbrt),
    math.fmod: _renamed(np.fmod),
    math.hypot: _folded(math.hypot),
    math.prod: _folded(operator.mul),
    math.fsum: _folded(operator.add),
    math.dist: _dist,
    math.factorial: _renamed(integers.factorial),
    math.comb: _renamed(integers.comb),
    math.perm: _renamed(integers.perm),
    math.gcd: _renamed(integers.gcd),
    math.isqrt: _renamed(integers.isqrt),
}
