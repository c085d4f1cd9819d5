"""Procedures that write into an array, read as assignments to its places.

A call of the function that is named in front is read as the body below it; see `rules/expansions.py`.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from s2sad.ir import ops
from s2sad.rules.rearranging import inside
from s2sad.rules.registry import expands, meaning
from s2sad.rules.subscripts import counting


@expands(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Copy, where a condition holds."""
    if isinstance(where, bool):
        dst[...] = src
    else:
        dst[...] = np.where(where, src, dst)


@expands(np.put)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write to elements counted through."""
    given = np.array(ind) if isinstance(ind, (list, tuple)) else ind
    places = given if mode == "raise" else inside(given, a.size, mode)
    values = np.array(v) if isinstance(v, (list, tuple)) else v
    if np.ndim(values) > 0 and np.ndim(places) > 0:
        a[np.unravel_index(np.ravel(places), a.shape)] = np.resize(values, places.size)
    else:
        a[np.unravel_index(places, a.shape)] = values if np.ndim(values) == 0 else np.ravel(values)[0]


@expands(np.putmask)
def putmask(a: Any, mask: Any, values: Any) -> None:
    """Write where a mask is true, the values laid over the array again and again."""
    given = np.array(values) if isinstance(values, (list, tuple)) else values
    a[...] = np.where(mask, given if np.ndim(given) == 0 else np.resize(given, a.shape), a)


@expands(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Write where a mask is true, the values in order and again and again."""
    given = np.array(vals) if isinstance(vals, (list, tuple)) else vals
    chosen = np.asarray(mask)
    if np.ndim(given) == 0:
        arr[chosen] = given
    else:
        values = np.ravel(given)
        arr[chosen] = values[np.arange(np.count_nonzero(chosen)) % values.size]


@expands(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Write the diagonal of a matrix."""
    if a.ndim != 2:
        ops.refuse("`fill_diagonal` is read for matrices only", "Write in a loop.")
    given = np.ravel(np.array(val)) if isinstance(val, (list, tuple)) else val
    if wrap:
        for i in range((a.size + a.shape[1]) // (a.shape[1] + 1)):
            at = i * (a.shape[1] + 1)
            a[at // a.shape[1], at % a.shape[1]] = given if np.ndim(given) == 0 else np.ravel(given)[i % given.size]
    else:
        for i in range(min(a.shape[0], a.shape[1])):
            a[i, i] = given if np.ndim(given) == 0 else np.ravel(given)[i % given.size]


@expands(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any = -1) -> None:
    """Write to the places that an array of indices along one axis gives."""
    if axis is None:
        ops.refuse("`put_along_axis` is read along an axis only", "Use np.put.")
    if arr.ndim == 1:
        arr[indices] = values
    elif arr.ndim > 2:
        arr[
            tuple([
                indices if k == axis % arr.ndim
                else np.arange(arr.shape[k])[(None,) * k + (slice(None),) + (None,) * (arr.ndim - 1 - k)]
                for k in counting(arr.ndim)
            ])
        ] = values
    elif axis % 2 == 0:
        arr[indices, np.arange(arr.shape[1])] = values
    else:
        arr[np.arange(arr.shape[0])[:, None], indices] = values


@meaning
def binary_at(fn: Any, a: Any, indices: Any, b: Any) -> None:
    """Do `fn.at(a, indices, b)`: an index that occurs twice is combined twice."""
    places = np.atleast_1d(np.asarray(indices))
    flat = np.ravel(places)
    if np.ndim(b) == 0:
        for k in range(flat.size):
            a[flat[k]] = fn(a[flat[k]], b)
    else:
        spread = np.broadcast_to(b, (*places.shape, *a.shape[1:]))
        values = spread if places.ndim == 1 else np.reshape(np.copy(spread), (flat.size, *a.shape[1:]))
        for k in range(flat.size):
            a[flat[k]] = fn(a[flat[k]], values[k])


@meaning
def unary_at(fn: Any, a: Any, indices: Any) -> None:
    """Do `fn.at(a, indices)`."""
    flat = np.ravel(np.atleast_1d(np.asarray(indices)))
    for k in range(flat.size):
        a[flat[k]] = fn(a[flat[k]])


AT = {1: unary_at, 2: binary_at}
"""What the method `at` of a ufunc of so many arguments is read as, one index array over the first axis."""

OPERATORS: dict[Any, Any] = {np.multiply: operator.mul, np.divide: operator.truediv, np.power: operator.pow}
"""The operators that ufuncs are written as."""
