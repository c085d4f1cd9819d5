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
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Const, Expr, Index, Pack, Slice, Var
from s2sad.ir.types import Array, Dim, Scalar, Static, Struct, Sym, Type, rank
from s2sad.rules import legal_fft, legal_linalg, legal_shapes, subscripts
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


def _apply(fn: Any, args: tuple[Expr, ...], kind: Type, **static: Any) -> Apply:
    return Apply(fn, args, kind, tuple(static.items()))


def _int(value: int) -> Const:
    return Const(value, Scalar("int64", weak=True, value=value))


def _without(kind: Type, axis: int) -> Type:
    assert isinstance(kind, Array)
    dims = tuple(d for k, d in enumerate(kind.dims) if k != axis)
    return Array(kind.dtype, dims, "C") if dims else Scalar(kind.dtype)


def _with(kind: Type, axis: int) -> Type:
    dims = list(kind.dims) if isinstance(kind, Array) else []
    dims.insert(axis, 1)
    return Array(kind.dtype, tuple(dims), "C")  # type: ignore[union-attr]


def _reduce(call: Apply) -> Expr | None:
    static = dict(call.static)
    axis, keepdims = static.pop("axis", None), static.pop("keepdims", False)
    x = call.args[0]
    if len(call.args) != 1 or static.keys() - {"ddof"} or not isinstance(x.type, Array):
        return None
    n = rank(x.type)
    axes = range(n) if axis is None else (axis,) if isinstance(axis, int) else axis
    axes = tuple(sorted(k % n for k in axes))
    result = _reduce_axes(call.fn, x, axes, static, call.type)
    if not keepdims or result is None:
        return result
    if len(axes) == n:
        return _apply(np.full, (legal_shapes.ones(n), result), call.type)
    for k in axes:
        result = _apply(np.expand_dims, (result,), _with(result.type, k), axis=k)
    return result


def _reduce_axes(
    fn: Any, x: Expr, axes: tuple[int, ...], static: dict[str, Any], kind: Type
) -> Expr | None:
    if len(axes) == rank(x.type):
        scalar = Scalar(kind.dtype)  # type: ignore[union-attr]
        everywhere = _OVER_ALL.get(fn, fn) if static or fn not in (np.var, np.std) else fn
        return _apply(np.mean if fn is np.average else everywhere, (x,), scalar, **static)
    if len(axes) > 1 and fn in _NO_NESTING:
        x = _joined_at_the_end(x, axes)
        axes = (rank(x.type) - 1,)
    result: Expr = x
    for k in reversed(axes):
        reduced = _without(result.type, k)
        along = Array(kind.dtype, reduced.dims, "C")  # type: ignore[union-attr]
        result = _apply(_along(fn, result.type), (result,), along, axis=k, **static)
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
        x = _apply(runtime.join_last_axes, (x,), Array(x.type.dtype, (*x.type.dims[:-2], Sym("joined#0")), "C"))
    return x


def _transposed(x: Expr, order: list[int], kind: Type) -> Expr:
    axes = tuple(_int(k) for k in order)
    kinds = Struct("tuple", tuple(range(len(order))), tuple(axis.type for axis in axes))
    return _apply(np.transpose, (x, Pack("tuple", axes, kinds)), kind)


def _ptp(call: Apply) -> Expr | None:
    if not call.static or not isinstance(call.args[0], Var):
        return None
    top = legal(Apply(np.max, call.args, call.type, call.static))
    low = legal(Apply(np.min, call.args, call.type, call.static))
    return _apply(np.subtract, (top, low), call.type)


def _roll(call: Apply) -> Expr | None:
    axis = dict(call.static).get("axis")
    x, shift = call.args
    if axis is None:
        return None
    axes = (axis,) if isinstance(axis, int) else axis
    shifts = shift.items if isinstance(shift, Pack) else (shift,) * len(axes)
    for k, each in zip(axes, shifts, strict=True):
        x = _apply(runtime.roll_axis, (x, each), call.type, axis=k)
    return x


def _positional_axis(helper: Any) -> Rewrite:
    def rewrite(call: Apply) -> Expr | None:
        axis = dict(call.static).get("axis")
        if axis is None:
            return None
        result = call.args[0]
        for k in (axis,) if isinstance(axis, int) else axis:
            result = _apply(helper, (result, *call.args[1:]), call.type, axis=k)
        return result

    return rewrite


def _by_swapping(call: Apply) -> Expr | None:
    static = dict(call.static)
    x = call.args[0]
    axis = static.pop("axis", -1)
    if axis is None:
        return _apply(call.fn, (_apply(np.ravel, (x,), call.type),), call.type)
    if not isinstance(x.type, Array):
        return None
    if axis % rank(x.type) == rank(x.type) - 1:
        dense = x if x.type.layout == "C" else _dense(x, x.type)
        return _apply(call.fn, (dense, *call.args[1:]), call.type, **static)
    dims = list(x.type.dims)
    dims[axis], dims[-1] = dims[-1], dims[axis]
    kind = Array(x.type.dtype, tuple(dims))
    inside = _apply(np.swapaxes, (x, _int(axis), _int(-1)), kind)
    outside = _apply(call.fn, (_dense(inside, kind), *call.args[1:]), kind, **static)
    return _apply(np.swapaxes, (outside, _int(axis), _int(-1)), call.type)


def _dense(x: Expr, kind: Array) -> Expr:
    return _apply(np.ascontiguousarray, (x,), Array(kind.dtype, kind.dims, "C"))


def _argsort(call: Apply) -> Expr | None:
    axis = dict(call.static).get("axis", -1)
    if axis is None or rank(call.type) < 2:
        return _apply(np.argsort, call.args, call.type) if axis in (0, -1) else None
    return _apply(runtime.argsort_axis, call.args, call.type, axis=axis)


def _swapaxes(call: Apply) -> Expr | None:
    static = dict(call.static)
    x, *axes = call.args
    given = [getattr(a, "value", None) for a in axes] + list(static.values())
    if rank(x.type) == 2 and sorted(k % 2 for k in given if isinstance(k, int)) == [0, 1]:
        assert isinstance(x.type, Array)
        layout = {"C": "F", "F": "C"}.get(x.type.layout, "A")  # known, so that products need no copy
        return _apply(ops.transpose, (x,), Array(x.type.dtype, x.type.dims[::-1], layout))
    return _apply(call.fn, (*call.args, *(_int(k) for k in static.values())), call.type)


def _moveaxis(call: Apply) -> Expr | None:
    """A known order of axes is a transpose, which Numba compiles several times faster than `np.moveaxis`."""
    static = dict(call.static)
    x, *given = call.args
    values = [_known_axes(a) for a in given] + [static[k] for k in ("source", "destination") if k in static]
    ends = [(k,) if isinstance(k, int) else k for k in values]
    if len(ends) != 2 or not all(isinstance(axes, tuple) and all(isinstance(k, int) for k in axes) for axes in ends):
        return None
    n = rank(x.type)
    if n == 2 and all(isinstance(k, int) for k in values):
        return _swapaxes(call)
    source, destination = ([k % n for k in axes] for axes in ends)
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


def _of_one_dtype(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Numba multiplies matrices of one floating dtype only."""
    if not (isinstance(a.type, Array) and isinstance(b.type, Array)) or a.type.dtype == b.type.dtype:
        return a, b
    common = np.result_type(a.type.dtype, b.type.dtype)
    return _as_dtype(a, common), _as_dtype(b, common)


def _as_dtype(x: Expr, dtype: Any) -> Expr:
    assert isinstance(x.type, Array)
    if x.type.dtype == dtype.name:
        return x
    kind = Array(dtype.name, x.type.dims, x.type.layout if x.type.layout != "A" else "C")
    return Apply(np.ndarray.astype, (x, Const(dtype.type, Static(dtype.type))), kind)


def _matmul(call: Apply) -> Expr | None:
    a, b = _of_one_dtype(*call.args)
    m, n = rank(a.type), rank(b.type)
    if m == 0 or n == 0:
        return _apply(operator.mul, (a, b), call.type)
    if m <= 2 and n <= 2:
        return _apply(operator.matmul, (a, b), call.type)
    if (call.fn is np.dot and n > 2) or m > 3 or n > 3 or not isinstance(call.type, Array):
        return None
    left = a if m == 3 else _expand(a, 0) if m == 2 else _expand(_expand(a, 0), 0)
    right = b if n == 3 else _expand(b, 0) if n == 2 else _expand(_expand(b, 1), 0)
    dims = list(call.type.dims)
    if m == 1:
        dims.insert(1, 1)
    if n == 1:
        dims.append(1)
    full = _apply(runtime.matmul_batch, (left, right), Array(call.type.dtype, tuple(dims), "C"))
    return _drop(full, {1} if m == 1 else {2} if n == 1 else set(), call.type)


def _expand(x: Expr, axis: int) -> Expr:
    return _apply(np.expand_dims, (x,), _with(x.type, axis), axis=axis)


def _drop(x: Expr, axes: set[int], kind: Type) -> Expr:
    if not axes:
        return x
    everything = Slice(None, None, None)
    return Index(x, tuple(_int(0) if k in axes else everything for k in range(rank(x.type))), kind)


def _inner(call: Apply) -> Expr | None:
    a, b = _of_one_dtype(*call.args)
    match rank(a.type), rank(b.type):
        case 1, 1:
            return _apply(operator.matmul, (a, b), call.type)
        case 2, 1:
            return _apply(operator.matmul, (a, b), call.type)
        case 1, 2:
            return _apply(operator.matmul, (b, a), call.type)
        case 2, 2:
            assert isinstance(b.type, Array)
            turned = Array(b.type.dtype, b.type.dims[::-1])
            return _apply(operator.matmul, (a, _apply(ops.transpose, (b,), turned)), call.type)
        case _:
            return None


def _batched(helper: Any) -> Rewrite:
    def rewrite(call: Apply) -> Expr | None:
        batch = all(rank(x.type) == 3 for x in call.args)
        return _apply(helper, call.args, call.type) if batch else None

    return rewrite


def _einsum(call: Apply) -> Expr | None:
    spec = call.args[0]
    if not isinstance(spec, Const) or "." in spec.value:
        return None
    letters, result = subscripts.split(spec.value)
    parts: list[_Part] = []
    for x, each in zip(call.args[1:], letters, strict=True):
        part = _distinct(_Part(x, each))
        if part is None:
            return None
        parts.append(part)
    while len(parts) > 1:
        first, second, *others = parts
        later = result + "".join(part.letters for part in others)
        wanted = "".join(c for c in dict.fromkeys(later) if c in first.letters + second.letters)
        parts = [_contract(first, second, wanted), *others]
    return _as_letters(parts[0], result).expr


@dataclass(frozen=True)
class _Part:
    """An operand of `einsum` and the letters of its axes."""

    expr: Expr
    letters: str

    def dim(self, letter: str) -> Dim:
        assert isinstance(self.expr.type, Array)
        return self.expr.type.dims[self.letters.index(letter)]

    def typed(self, letters: str, layout: str = "C") -> Type:
        dtype = self.expr.type.dtype  # type: ignore[union-attr]
        dims = tuple(self.dim(c) for c in letters)
        return Array(dtype, dims, layout) if letters else Scalar(dtype)


def _distinct(part: _Part) -> _Part | None:
    """Take the diagonal of a matrix whose axes share a letter."""
    if len(set(part.letters)) == len(part.letters):
        return part
    if len(part.letters) != 2:
        return None
    kind = part.typed(part.letters[0])
    return _Part(_apply(np.diag, (part.expr,), kind), part.letters[0])


def _as_letters(part: _Part, result: str) -> _Part:
    """Sum over the axes that the result lacks, and put the others in its order."""
    for letter in part.letters:
        if letter not in result:
            left = part.letters.replace(letter, "")
            static = {"axis": part.letters.index(letter)} if left else {}
            fn = _along(np.sum, part.expr.type) if left else np.sum
            part = _Part(_apply(fn, (part.expr,), part.typed(left), **static), left)
    if part.letters == result:
        return part
    kind = part.typed(result, "A")
    if len(result) == 2:
        return _Part(_apply(ops.transpose, (part.expr,), kind), result)
    axes = tuple(part.letters.index(c) for c in result)
    return _Part(_apply(np.transpose, (part.expr,), kind, axes=axes), result)


def _contract(a: _Part, b: _Part, wanted: str) -> _Part:
    """Multiply two operands and sum over the letters that are not wanted any more."""
    a = _as_letters(a, "".join(c for c in a.letters if c in b.letters + wanted))
    b = _as_letters(b, "".join(c for c in b.letters if c in a.letters + wanted))
    if not a.letters or not b.letters:
        whole = a if a.letters else b
        kind = whole.typed(whole.letters)
        return _Part(_apply(operator.mul, (a.expr, b.expr), kind), whole.letters)
    both = "".join(c for c in a.letters if c in b.letters)
    batch = "".join(c for c in both if c in wanted)
    summed = "".join(c for c in both if c not in wanted)
    rows = "".join(c for c in a.letters if c not in both)
    columns = "".join(c for c in b.letters if c not in both)
    if len(batch) <= 1 and len(summed) == 1 and len(rows) <= 1 and len(columns) <= 1:
        if not batch:
            return _product(operator.matmul, a, b, rows + summed, summed + columns, rows + columns)
        if rows and columns:
            return _product(
                runtime.matmul_batch, a, b, batch + rows + summed, batch + summed + columns,
                batch + rows + columns,
            )  # fmt: skip
    order = wanted + summed
    left, right = _spread(a, order), _spread(b, order)
    dims = tuple((a if c in a.letters else b).dim(c) for c in order)
    kind = Array(a.expr.type.dtype, dims, "C")  # type: ignore[union-attr]
    return _as_letters(_Part(_apply(operator.mul, (left, right), kind), order), wanted)


def _product(fn: Any, a: _Part, b: _Part, left: str, right: str, result: str) -> _Part:
    first, second = _as_letters(a, left), _as_letters(b, right)
    dims = tuple((a if c in a.letters else b).dim(c) for c in result)
    dtype = a.expr.type.dtype  # type: ignore[union-attr]
    kind = Array(dtype, dims, "C") if dims else Scalar(dtype)
    return _Part(_apply(fn, (first.expr, second.expr), kind), result)


def _spread(part: _Part, order: str) -> Expr:
    """Return the operand with an axis for every letter, of length one where it has none."""
    own = "".join(c for c in order if c in part.letters)
    result = _as_letters(part, own).expr
    for k, letter in enumerate(order):
        if letter not in own:
            result = _expand(result, k)
    return result


def _tensordot(call: Apply) -> Expr | None:
    a, b = call.args
    axes = dict(call.static).get("axes", 2)
    text = subscripts.letters(axes, rank(a.type), rank(b.type))
    return _einsum(Apply(np.einsum, (Const(text, Static(text)), a, b), call.type))


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
        return _apply(np.full, (legal_shapes.ones(rank(call.type)), result), call.type)
    if not isinstance(axis, tuple):
        return None
    for k in sorted(k % rank(call.type) for k in axis):
        result = _expand(result, k)
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
    return _drop(x, axes, call.type)


def _join(call: Apply) -> Expr | None:
    items = call.args[0]
    if not isinstance(items, Pack):
        return None
    static = dict(call.static)
    parts = items.items
    ranks = {rank(x.type) for x in parts}
    if call.fn is np.vstack and len(ranks) > 1:
        parts = tuple(_expand(x, 0) if rank(x.type) == 1 else x for x in parts)
    if call.fn is np.hstack and ranks == {0, 1}:
        line = Array(call.type.dtype, (1,), "C")  # type: ignore[union-attr]
        parts = tuple(_apply(np.full, (legal_shapes.ones(1), x), line) if rank(x.type) == 0 else x for x in parts)
    if call.fn is np.concatenate and static.get("axis", 0) is None:
        del static["axis"]
        parts = tuple(_apply(np.ravel, (x,), x.type) for x in parts)
    if call.fn in (np.stack, np.hstack) and all(rank(x.type) == 0 for x in parts):
        return _apply(np.array, (Pack("list", parts, items.type),), call.type)
    return _apply(call.fn, (Pack("tuple", parts, items.type),), call.type, **static)


def _array(call: Apply) -> Expr | None:
    x = call.args[0]
    if isinstance(x, Pack) and not x.items:
        return _apply(np.zeros, (_int(0),), call.type)
    if isinstance(x.type, Array) and call.fn is np.array and not call.static:
        return _apply(np.copy, (x,), call.type)
    if isinstance(x, Pack) and isinstance(call.type, Array) and not call.static:
        alike = _numbers_of(x, call.type.dtype)
        if alike is not x:
            return _array(Apply(call.fn, (alike,), call.type)) or _apply(call.fn, (alike,), call.type)
    if isinstance(x, Pack) and x.items and all(isinstance(i.type, Array) for i in x.items):
        return _apply(np.stack, (Pack("tuple", x.items, x.type),), call.type)
    if isinstance(x, Pack) and isinstance(call.type, Array) and _holds_arrays(x):
        below = Array(call.type.dtype, call.type.dims[1:], "C")
        rows = tuple(_array(Apply(np.array, (item,), below)) for item in x.items)
        if all(row is not None for row in rows):
            return _apply(np.stack, (Pack("tuple", rows, x.type),), call.type)  # type: ignore[arg-type]
    return None


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
        x = _apply(builtins.max, (x, low), call.type)
    if not (isinstance(high, Const) and high.value is None):
        x = _apply(builtins.min, (x, high), call.type)
    return x


def _tile(call: Apply) -> Expr | None:
    x, reps = call.args
    counts = reps.items if isinstance(reps, Pack) else (reps,)
    if rank(x.type) == 0:
        return _apply(np.full, (reps, x), call.type)
    if rank(x.type) == 1 and len(counts) == 1:
        return _apply(runtime.tile_vector, (x, counts[0]), call.type)
    if rank(x.type) > 2 or len(counts) > 2:
        return _tile_axes(x, counts, call.type)
    matrix = x if rank(x.type) == 2 else _expand(x, 0)
    both = counts if len(counts) == 2 else (_int(1), *counts)
    return _apply(runtime.tile_matrix, (matrix, *both), call.type)


def _tile_axes(x: Expr, counts: tuple[Expr, ...], kind: Type) -> Expr:
    """Tile one axis after the other, by a gather of its places again and again."""
    while rank(x.type) < len(counts):
        x = _expand(x, 0)
    first = rank(x.type) - len(counts)
    for k, count in enumerate(counts):
        if getattr(count.type, "value", None) != 1:
            x = _apply(runtime.tile_axis, (x, count), kind, axis=first + k)
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
    return _swapped(_flipped(x, second), first, second) if turns else _apply(np.copy, (x,), call.type)


def _flipped(x: Expr, axis: int) -> Expr:
    return _apply(runtime.flip_axis, (x,), x.type, axis=axis)


def _swapped(x: Expr, first: int, second: int) -> Expr:
    assert isinstance(x.type, Array)
    dims = list(x.type.dims)
    dims[first], dims[second] = dims[second], dims[first]
    return _apply(np.swapaxes, (x, _int(first), _int(second)), Array(x.type.dtype, tuple(dims)))


def _filled(call: Apply) -> Expr | None:
    """`np.full(shape, array)` and `np.full_like(x, array)`: Numba fills with numbers only."""
    where, value = call.args
    if rank(value.type) == 0:
        return legal_shapes.listed_shape(call) if call.fn is np.full else None
    shape = where if call.fn is np.full else _apply(ops.shape, (where,), where.type)
    if not isinstance(shape, Pack) and isinstance(shape.type, Scalar):
        shape = Pack("tuple", (shape,), Struct("tuple", (0,), (shape.type,)))
    return _apply(np.copy, (_apply(np.broadcast_to, (value, shape), call.type),), call.type)


def _linspace(call: Apply) -> Expr | None:
    static = dict(call.static)
    start, stop, *count = call.args
    endpoint = static.get("endpoint", True)
    if static.get("axis", 0) != 0 or static.keys() - {"endpoint", "axis"} or not isinstance(call.type, Array):
        return None
    if endpoint and rank(call.type) == 1:
        return _apply(np.linspace, call.args, call.type)
    n = count[0] if count else _int(50)
    line = Array("float64", call.type.dims[:1], "C")
    zero, one = (Const(x, Scalar("float64", weak=True)) for x in (0.0, 1.0))
    weights: Expr = _apply(np.linspace, (zero, one, n), line)
    if not endpoint:
        weights = _apply(operator.truediv, (_apply(np.arange, (n,), line), n), line)
    for _ in range(rank(call.type) - 1):
        weights = _expand(weights, rank(weights.type))
    gap = _apply(operator.sub, (stop, start), stop.type if rank(stop.type) else start.type)
    return _apply(operator.add, (start, _apply(operator.mul, (weights, gap), call.type)), call.type)


def _atleast(call: Apply) -> Expr | None:
    x, n = call.args[0], 1 if call.fn is np.atleast_1d else 2
    if rank(x.type) >= n:
        return x
    return _apply(np.full, (legal_shapes.ones(n), x), call.type) if rank(x.type) == 0 else None


def _repeat(call: Apply) -> Expr | None:
    axis = dict(call.static).get("axis")
    x, repeats = call.args
    if axis is None or not isinstance(x.type, Array):
        return None
    if rank(x.type) == 1:
        return _apply(np.repeat, (x, repeats), call.type)
    line = Array("int64", ("n",), "C")  # type: ignore[arg-type]
    size = x.type.dims[axis]
    count = _int(size) if isinstance(size, int) else _apply(ops.dim, (x, _int(axis % rank(x.type))), _INT)
    index = _apply(np.repeat, (_apply(np.arange, (count,), line), repeats), line)
    return _apply(np.take, (x, index), call.type, axis=axis)


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
            x = _apply(runtime.pad_axis, (x, _int(int(before)), _int(int(after)), filler), call.type, axis=axis)
        return x
    widths = tuple(_int(int(k)) for k in pairs.ravel())
    helper = runtime.pad_vector if rank(x.type) == 1 else runtime.pad_matrix
    return _apply(helper, (x, *widths, Const(value, Scalar("float64", weak=True))), call.type)


def _diagonal(call: Apply) -> Expr | None:
    offset = dict(call.static).get("offset", 0)
    return _apply(np.diag, call.args, call.type, k=offset) if rank(call.args[0].type) == 2 else None


def _unbroadcast(call: Apply) -> Expr | None:
    g, x = call.args
    if not isinstance(g.type, Array):
        return g
    if not isinstance(x.type, Array):
        return _apply(np.sum, (g,), call.type)
    return _apply(runtime.sum_to_shape, (g, x), call.type)


def _renamed(fn: Any) -> Rewrite:
    return lambda call: Apply(fn, call.args, call.type, call.static)


def _folded(fn: Any) -> Rewrite:
    def rewrite(call: Apply) -> Expr | None:
        items = call.args[0].items if isinstance(call.args[0], Pack) else call.args
        if len(items) < 2:
            return items[0] if isinstance(call.args[0], Pack) and items else None
        return functools.reduce(lambda x, y: _apply(fn, (x, y), call.type), items)

    return rewrite


def _dist(call: Apply) -> Expr | None:
    p, q = call.args
    if not (isinstance(p, Pack) and isinstance(q, Pack)):
        return None
    gaps = [_apply(operator.sub, pair, call.type) for pair in zip(p.items, q.items, strict=True)]
    whole: Expr = gaps[0]
    for gap in gaps[1:]:
        whole = _apply(math.hypot, (whole, gap), call.type)
    return _apply(builtins.abs, (whole,), call.type)


def _power(call: Apply) -> Expr | None:
    """Compiled, a whole number to a negative power would be 0."""
    base, exponent = call.args
    whole = all(isinstance(a.type, Scalar) and a.type.dtype.startswith(("int", "uint")) for a in (base, exponent))
    if not whole or (isinstance(exponent, Const) and exponent.value >= 0):
        return None
    return _apply(integers.power, (base, exponent), call.type)


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
    return _apply(runtime.is_close, (*call.args, *extra), call.type)


_REWRITES: dict[Any, Rewrite] = {
    **legal_linalg.REWRITES,
    **legal_fft.REWRITES,
    **legal_shapes.REWRITES,
    **dict.fromkeys(_ALONG, _reduce),
    **dict.fromkeys(_JOINS, _join),
    **dict.fromkeys((np.matmul, operator.matmul, np.dot), _matmul),
    **dict.fromkeys((np.array, np.asarray), _array),
    **dict.fromkeys((ops.unbroadcast, runtime.unbroadcast), _unbroadcast),
    **dict.fromkeys((np.diff, np.sort), _by_swapping),
    np.ptp: _ptp,
    np.argsort: _argsort,
    np.cumprod: _positional_axis(runtime.cumprod_axis),
    np.roll: _roll,
    np.flip: _positional_axis(runtime.flip_axis),
    np.swapaxes: _swapaxes,
    np.moveaxis: _moveaxis,
    np.inner: _inner,
    np.linalg.solve: _batched(runtime.solve_batch),
    np.linalg.inv: _batched(runtime.inv_batch),
    np.linalg.det: _batched(runtime.det_batch),
    ops.astype: _astype,
    np.tri: _triangle,
    **dict.fromkeys((np.float64, np.float32, np.complex128, np.complex64), _conversion),
    np.einsum: _einsum,
    np.tensordot: _tensordot,
    np.polyval: _renamed(runtime.polyval),
    np.expand_dims: _expand_dims,
    np.squeeze: _squeeze,
    np.clip: _clip,
    np.tile: _tile,
    np.repeat: _repeat,
    np.pad: _pad,
    np.rot90: _rot90,
    np.linspace: _linspace,
    np.full: _filled,
    np.full_like: _filled,
    np.atleast_1d: _atleast,
    np.atleast_2d: _atleast,
    np.diagonal: _diagonal,
    np.fix: _renamed(np.trunc),
    np.heaviside: _renamed(runtime.heaviside),
    operator.pow: _power,
    builtins.pow: lambda call: legal(Apply(operator.pow, call.args, call.type)),
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
