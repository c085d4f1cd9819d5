"""Splitting, stacking, inserting and choosing: slices, joins, gathers and choices in disguise.

A call of the function that is named in front is read as the body below it; see `rules/expansions.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.ir import ops
from s2sad.rules.registry import Settings, expands
from s2sad.rules.subscripts import counting

_UNKNOWN_PARTS = "the number of parts to split into must be known at transform time"
_WRITE_SLICES = "Write it as a constant, or take slices in a loop."


@expands(np.reshape, counts=(2,))
def reshape(a: Any, shape: Any, order: Any = "C", *, copy: Any = None) -> Any:
    """Return the elements in another shape; Fortran's order is that of the transpose."""
    if order not in ("C", "F"):
        ops.refuse("only the orders 'C' and 'F' of a reshape have a derivative rule", "Name one of them.")
    return (
        np.copy(np.reshape(a, shape, order=order)) if copy
        else np.reshape(a, shape) if order == "C"
        else np.reshape(np.transpose(a), shape) if isinstance(shape, int)
        else np.transpose(np.reshape(np.transpose(a), shape[::-1]))
    )  # fmt: skip


@expands(np.ravel, counts=(1,))
def ravel(a: Any, order: Any = "C") -> Any:
    """Return the elements as a vector; Fortran's order is that of the transpose."""
    if order not in ("C", "F"):
        ops.refuse("only the orders 'C' and 'F' of `ravel` have a derivative rule", "Name one of them.")
    return np.ravel(a) if order == "C" else np.ravel(np.transpose(a))


@expands(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Return nearly equal parts, or the parts between given places."""
    array = np.asarray(ary)
    size = array.shape[axis]
    if isinstance(indices_or_sections, int):
        n = counting(indices_or_sections)
        if n is None:
            ops.refuse(_UNKNOWN_PARTS, _WRITE_SLICES)
        cuts = [k * (size // len(n)) + min(k, size % len(n)) for k in n[1:]]
    else:
        cuts = [cut for cut in indices_or_sections]
    return [
        array[(slice(None),) * (axis % array.ndim) + (slice(low, high),)]
        for low, high in zip([None, *cuts], [*cuts, None])
    ]


@expands(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Return equal parts, or the parts between given places."""
    if isinstance(indices_or_sections, int):
        n = counting(indices_or_sections)
        if n is None:
            ops.refuse(_UNKNOWN_PARTS, _WRITE_SLICES)
        size = ary.shape[axis]
        if size % len(n) != 0:
            raise ValueError("array split does not result in an equal division")
        cuts = [k * (size // len(n)) for k in n[1:]]
    else:
        cuts = [cut for cut in indices_or_sections]
    return [
        ary[(slice(None),) * (axis % ary.ndim) + (slice(low, high),)]
        for low, high in zip([None, *cuts], [*cuts, None])
    ]


@expands(np.hsplit)
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Return parts side by side."""
    return np.split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


@expands(np.vsplit)
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Return parts one above the other."""
    return np.split(ary, indices_or_sections, 0)


@expands(np.dsplit)
def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Return parts one behind the other."""
    return np.split(ary, indices_or_sections, 2)


@expands(np.atleast_1d, counts=(1,))
def atleast_1d(*arys: Any) -> Any:
    """Return several arrays, each with an axis at least."""
    return tuple([np.atleast_1d(a) for a in arys])


@expands(np.atleast_2d, counts=(1,))
def atleast_2d(*arys: Any) -> Any:
    """Return several arrays, each with two axes at least."""
    return tuple([np.atleast_2d(a) for a in arys])


@expands(np.unstack)
def unstack(x: Any, /, *, axis: int = 0) -> Any:
    """Return the parts along an axis: an array gives them when it is unpacked, counted or looped over."""
    return x if axis == 0 else np.moveaxis(x, axis, 0)


@expands(np.atleast_3d)
def atleast_3d(a: Any) -> Any:
    """Return the elements with axes of length one around."""
    n = np.ndim(a)
    if n == 0:
        return np.full((1, 1, 1), a)
    array = np.asarray(a)
    return array if n >= 3 else array[:, :, None] if n == 2 else array[None, :, None]


@expands(np.dstack)
def dstack(tup: Any) -> Any:
    """Return arrays one behind the other."""
    return np.concatenate([np.atleast_3d(a) for a in tup], axis=2)


@expands(np.block)
def block(arrays: Any) -> Any:
    """Return an array put together of blocks: the innermost lists along the last axis, those around before it."""
    if not isinstance(arrays, list):
        return np.copy(arrays)
    if not isinstance(arrays[0], list):
        return np.concatenate([np.atleast_1d(a) for a in arrays], axis=-1)
    if not isinstance(arrays[0][0], list):
        return np.concatenate([np.concatenate([np.atleast_2d(a) for a in row], axis=-1) for row in arrays], axis=-2)
    if isinstance(arrays[0][0][0], list):
        ops.refuse("`block` of lists nested four deep is not supported", "Join the blocks by `np.concatenate`.")
    return np.concatenate([
        np.concatenate([np.concatenate([_with_three_axes(a) for a in row], axis=-1) for row in slab], axis=-2)
        for slab in arrays
    ], axis=-3)  # fmt: skip


def _with_three_axes(a: Any) -> Any:
    return a if np.ndim(a) >= 3 else np.atleast_2d(a)[None]


def joined_parts(tup: Any, axis: Any = 0) -> Any:
    """Return `np.concatenate(a, axis)` of an array `a`, whose parts along the first axis are joined."""
    if tup.ndim < 2:
        ops.refuse("`concatenate` joins arrays with an axis, and the items of this one are numbers", "Leave it out.")
    if axis is None:
        return np.ravel(tup)
    k = axis % (tup.ndim - 1)
    moved = np.moveaxis(tup, 0, k)
    return np.reshape(moved, (*moved.shape[:k], moved.shape[k] * moved.shape[k + 1], *moved.shape[k + 2:]))


def stacked_parts(arrays: Any, axis: int = 0) -> Any:
    """Return `np.stack(a, axis)` of an array `a`."""
    return np.moveaxis(arrays, 0, axis)


def vstack_parts(tup: Any) -> Any:
    """Return `np.vstack(a)` of an array `a`."""
    if tup.ndim < 3:
        return np.reshape(tup, (tup.size, 1)) if tup.ndim == 1 else np.copy(tup)
    return joined_parts(tup, 0)


def hstack_parts(tup: Any) -> Any:
    """Return `np.hstack(a)` of an array `a`."""
    return np.copy(tup) if tup.ndim == 1 else np.ravel(tup) if tup.ndim == 2 else joined_parts(tup, 1)


def columns_of_parts(tup: Any) -> Any:
    """Return `np.column_stack(a)` of an array `a`."""
    if tup.ndim < 3:
        return np.reshape(tup, (1, tup.size)) if tup.ndim == 1 else np.transpose(tup)
    return joined_parts(tup, 1)


def dstack_parts(tup: Any) -> Any:
    """Return `np.dstack(a)` of an array `a`."""
    return np.atleast_3d(np.moveaxis(tup, 0, -1) if tup.ndim == 3 else np.transpose(tup)[None])


PARTS: dict[Any, Any] = {
    np.concatenate: joined_parts, np.stack: stacked_parts, np.vstack: vstack_parts, np.hstack: hstack_parts,
    np.column_stack: columns_of_parts, np.dstack: dstack_parts,
}  # fmt: skip
"""What these functions give of one array, for the list of its parts."""


@expands(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Any:
    """Return the order by the last key, where it is the same by the one before, and so on."""
    order = np.argsort(keys[0], kind="stable")
    for key in keys[1:]:
        order = order[np.argsort(key[order], kind="stable")]
    return order


@expands(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """Return a copy with values put in before the given places."""
    single = isinstance(obj, (int, np.integer))
    a = np.ravel(arr) if axis is None else arr
    k = 0 if axis is None else axis % a.ndim
    given = np.array(values) if isinstance(values, (list, tuple)) else values
    missing = a.ndim - np.ndim(given)
    slab = (
        given if missing == 0 else np.full((1,) * a.ndim, given) if missing == a.ndim
        else given[(None,) * missing]
    )  # fmt: skip
    if slab.dtype != a.dtype:
        slab = slab.astype(a.dtype)
    if single:
        moved = np.moveaxis(slab, 0, k) if k > 0 else slab
        added = np.broadcast_to(moved, (*a.shape[:k], moved.shape[k], *a.shape[k + 1:]))
        before = (slice(None),) * k + (slice(None, obj),)
        after = (slice(None),) * k + (slice(obj, None),)
        result = np.concatenate([a[before], added, a[after]], axis=k)
    else:
        places = np.arange(a.shape[k])[obj] if isinstance(obj, slice) else np.asarray(obj)
        added = np.broadcast_to(slab, (*a.shape[:k], places.size, *a.shape[k + 1:]))
        joined = np.concatenate([a, added], axis=k)
        result = np.take(joined, runtime.insertion_order(places, a.shape[k]), axis=k)
    return result


@expands(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """Return a copy without the given places."""
    a = np.ravel(arr) if axis is None else arr
    k = 0 if axis is None else axis % a.ndim
    size = a.shape[k]
    if isinstance(obj, (int, np.integer)):
        at = obj if obj >= 0 else obj + size
        if at < 0 or at >= size:
            raise IndexError("index is out of bounds")
        before = (slice(None),) * k + (slice(None, at),)
        after = (slice(None),) * k + (slice(at + 1, None),)
        result = np.concatenate([a[before], a[after]], axis=k)
    else:
        result = np.take(a, runtime.places_besides(np.arange(size)[obj], size), axis=k)
    return result


@expands(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    """Return an array of another shape, filled by going through the elements again and again."""
    flat = np.ravel(a)
    shape = (new_shape,) if isinstance(new_shape, (int, np.integer)) else new_shape
    size = 1
    for n in shape:
        size = size * n
    return np.reshape(flat[np.arange(size) % flat.size], shape)


@expands(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Return the differences of neighbours, with something before and behind."""
    gaps = np.diff(np.ravel(ary))
    first = [] if to_begin is None else [np.atleast_1d(to_begin)]
    last = [] if to_end is None else [np.atleast_1d(to_end)]
    return gaps if to_begin is None and to_end is None else np.concatenate([*first, gaps, *last])


@expands(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    """Return a matrix with the elements on a diagonal."""
    return np.diag(np.ravel(np.array(v) if isinstance(v, (list, tuple)) else v), k)


@expands(np.compress)
def compress(condition: Any, a: Any, axis: Any = None) -> Any:
    """Return the slices of which the condition is true."""
    return np.take(a, np.flatnonzero(np.asarray(condition)), axis=axis)


@expands(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    """Return the elements of which the condition is true, as a vector."""
    return np.take(np.ravel(arr), np.flatnonzero(condition))


@expands(np.take, when=lambda known: known.get("mode") in ("clip", "wrap"))
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """Return elements by indices that are brought inside first."""
    size = a.size if axis is None else a.shape[axis]
    return np.take(a, inside(np.asarray(indices), size, mode), axis=axis)


def inside(places: Any, size: Any, mode: str) -> Any:
    """Return indices clipped or wrapped to those below `size`."""
    return np.minimum(np.maximum(places, 0), size - 1) if mode == "clip" else places % size


@expands(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Return for each element the first choice whose condition is true."""
    result = default
    for condition, choice in zip(condlist[::-1], choicelist[::-1]):
        result = np.where(condition, choice, result)
    return result


@expands(np.choose)
def choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    """Return for each element the choice of that number."""
    given = np.asarray(a)
    chosen = given if mode == "raise" else inside(given, len(choices), mode)
    if np.any(chosen < 0) or np.any(chosen >= len(choices)):
        raise ValueError("invalid entry in choice array")
    result = choices[0]
    for k, choice in enumerate(choices[1:], 1):
        result = np.where(chosen == k, choice, result)
    return result


@expands(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any) -> Any:
    """Return what the functions give, each called with the elements of which its condition is true."""
    result = np.zeros_like(x)
    conditions = [condlist] if not isinstance(condlist, (list, tuple)) else condlist
    if len(funclist) > len(conditions):
        rest = conditions[0]
        for condition in conditions[1:]:
            rest = rest | condition
        conditions = [*conditions, np.logical_not(rest)]
    for condition, fun in zip(conditions, funclist):
        if np.ndim(x) == 0:
            result = np.where(condition, fun if isinstance(fun, (int, float)) else fun(x, *args), result)
        elif isinstance(fun, (int, float)):
            result[condition] = fun
        else:
            result[condition] = fun(x[condition], *args)
    return result


@expands(np.apply_along_axis)
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any) -> Any:
    """Return what a function gives for each vector along an axis."""
    array = np.asarray(arr)
    if array.ndim == 1:
        return func1d(array, *args)
    elif array.ndim == 2:
        lines = array if axis % 2 == 1 else array.T
        results = [func1d(line, *args) for line in lines]
        return (
            np.array(results) if np.ndim(results[0]) == 0
            else np.stack(results) if axis % 2 == 1 else np.stack(results).T
        )  # fmt: skip
    else:
        front = np.moveaxis(array, axis, -1)
        results = [func1d(line, *args) for line in np.reshape(np.ascontiguousarray(front), (-1, front.shape[-1]))]
        return (
            np.reshape(np.array(results), front.shape[:-1]) if np.ndim(results[0]) == 0
            else np.moveaxis(np.reshape(np.stack(results), (*front.shape[:-1], -1)), -1, axis)
        )  # fmt: skip


@expands(np.lib.stride_tricks.sliding_window_view, when=lambda known: not _is_one_window(known))
def windows(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """Return the windows along one axis after the other, each read along the last."""
    if writeable:
        ops.refuse("windows that are written to have no derivative", "Write to the array itself.")
    sizes = window_shape if isinstance(window_shape, (tuple, list)) else (window_shape,)
    along = counting(x.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    if len(sizes) != len(along):
        ops.refuse("there are not as many windows as axes", "Give `axis`, or a window for each axis.")
    if x.ndim == 1 and len(sizes) == 1:
        return np.lib.stride_tricks.sliding_window_view(x, sizes[0], axis=-1)
    view = x
    for size, k in zip(sizes, along):
        last = np.moveaxis(view, k % x.ndim, -1) if k % x.ndim < view.ndim - 1 else view
        each = np.lib.stride_tricks.sliding_window_view(last, size, axis=-1)
        view = np.moveaxis(each, -2, k % x.ndim) if k % x.ndim < each.ndim - 2 else each
    return view


def _is_one_window(known: Any) -> bool:
    """Say whether windows are taken along the last axis, as the rule has it."""
    return known.get("axis") == -1


@expands(np.apply_over_axes)
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    """Return what a reduction gives over one axis after the other, all of them kept."""
    result = a
    for axis in [axes] if isinstance(axes, int) else axes:
        reduced = func(result, axis)
        result = reduced if np.ndim(reduced) == a.ndim else np.expand_dims(reduced, axis)
    return result


def vectorized(fun: Any, *args: Any) -> Any:
    """Return what a function of numbers gives for each element: what `np.vectorize(fun)` is read as."""
    spread = [args[0]] if len(args) == 1 else np.broadcast_arrays(*args)
    if np.ndim(spread[0]) == 0:
        return fun(*args)
    else:
        columns = [np.ravel(each) for each in spread]
        return np.reshape(np.array([fun(*items) for items in zip(*columns)]), spread[0].shape)


@expands(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x: Any) -> Any:
    """Return the matrices of a stack transposed."""
    return np.swapaxes(x, -1, -2)


@expands(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """Return the array with an axis moved to stand before another."""
    k = axis % a.ndim
    to = start + a.ndim if start < 0 else start
    return np.moveaxis(a, k, to - 1 if k < to else to)


@expands(np.broadcast_arrays)
def broadcast_arrays(*args: Any) -> Any:
    """Return the arrays spread to one shape."""
    whole = args[0]
    for other in args[1:]:
        whole = np.where(True, whole, other)
    return tuple([np.broadcast_to(a, whole.shape) for a in args])


@expands(np.diagonal, counts=(1, 2), keywords=("axis1", "axis2"), when=lambda known: known["ndim"][0] > 2)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return the diagonals along two axes: of a matrix as they are, of more axes by their places."""
    front = a if axis1 == 0 and axis2 == 1 else np.moveaxis(a, (axis1, axis2), (0, 1))
    if np.ndim(a) == 2:
        return np.diagonal(front, offset)
    inner = front[:, offset:] if offset > 0 else front[-offset:] if offset < 0 else front
    places = np.arange(min(inner.shape[0], inner.shape[1]))
    return np.moveaxis(inner[places, places], 0, -1)


def _other_axes(known: Settings) -> bool:
    n = known["ndim"][0]
    return n > 3 or (n == 3 and (known.get("axis1", 0), known.get("axis2", 1)) not in ((0, 1), (-2, -1)))


@expands(np.trace, when=_other_axes)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return the sums of the diagonals along two axes among others."""
    return np.sum(np.diagonal(a, offset, axis1, axis2), axis=-1)


@expands(np.interp, counts=(3,))
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Return a value of a table, with values of their own below and above it, or of one that repeats."""
    table = np.array(xp) if isinstance(xp, (list, tuple)) else xp
    if period is not None:
        order = np.argsort(table % period)
        places = (table % period)[order]
        heights = fp[order]
        places = np.concatenate((places[-1:] - period, places, places[:1] + period))
        heights = np.concatenate((heights[-1:], heights, heights[:1]))
        return np.interp(x % period, places, heights)
    inside = np.interp(x, table, fp)
    above = inside if right is None else np.where(x > table[-1], right, inside)
    return above if left is None else np.where(x < table[0], left, above)


@expands(np.polyder)
def polyder(p: Any, m: int = 1) -> Any:
    """Return the coefficients of the derivative of a polynomial."""
    result = np.asarray(p)
    for _ in counting(m):
        result = result[:-1] * np.arange(result.size - 1, 0, -1)
    return result


@expands(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """Return the coefficients of the integral of a polynomial, constants zero or given."""
    result = np.asarray(p)
    for j in counting(m):
        constant = np.zeros(1) if k is None else np.atleast_1d(k[j] if isinstance(k, (list, tuple)) else k)
        result = np.concatenate([result / np.arange(result.size, 0, -1), constant])
    return result


@expands(np.polyfit)
def polyfit(x: Any, y: Any, deg: int, rcond: Any = None, full: Any = False, w: Any = None, cov: Any = False) -> Any:
    """Return the coefficients of the polynomial nearest to points: least squares in scaled powers."""
    if full or cov:
        ops.refuse("`polyfit` with `full` or `cov` has no derivative rule", "Ask for the coefficients only.")
    powers, values = np.vander(np.asarray(x), deg + 1), np.asarray(y)
    if w is not None:
        powers = powers * np.asarray(w)[:, None]
        values = values * np.asarray(w) if values.ndim == 1 else values * np.asarray(w)[:, None]
    size = np.sqrt(np.sum(powers * powers, axis=0))
    scaled = np.linalg.lstsq(powers / size, values)[0]
    return scaled / size if values.ndim == 1 else scaled / size[:, None]


@expands(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    """Return the coefficients of the sum of two polynomials."""
    first, second = np.asarray(a1), np.asarray(a2)
    size = max(first.size, second.size)
    longer, other = np.zeros(size, first.dtype), np.zeros(size, second.dtype)
    longer[size - first.size :] = first
    other[size - second.size :] = second
    return longer + other


@expands(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    """Return the coefficients of the difference of two polynomials."""
    return np.polyadd(a1, -np.asarray(a2))
