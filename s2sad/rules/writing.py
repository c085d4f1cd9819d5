"""Procedures that write into an array, read as assignments to its places.

A call of the function that is named in front is read as the body below it; see `rules/expansions.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.ir import ops
from s2sad.rules.registry import expands, meaning


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
    if mode != "raise":
        ops.refuse("`put` with a mode has no derivative rule", "Clip or wrap the indices before.")
    places = np.array(ind) if isinstance(ind, (list, tuple)) else ind
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
    if a.ndim != 2 or wrap:
        ops.refuse("`fill_diagonal` is read for matrices without `wrap` only", "Write in a loop.")
    given = np.ravel(np.array(val)) if isinstance(val, (list, tuple)) else val
    for i in range(min(a.shape[0], a.shape[1])):
        a[i, i] = given if np.ndim(given) == 0 else np.ravel(given)[i % given.size]


@expands(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any = -1) -> None:
    """Write to the places that an array of indices along one axis gives."""
    if axis is None or arr.ndim > 2:
        ops.refuse("`put_along_axis` is read for vectors and matrices only", "Write in loops.")
    if arr.ndim == 1:
        arr[indices] = values
    elif axis % 2 == 0:
        arr[indices, np.arange(arr.shape[1])] = values
    else:
        arr[np.arange(arr.shape[0])[:, None], indices] = values


@meaning
def multiply_at(a: Any, indices: Any, b: Any) -> None:
    """Do `np.multiply.at(a, indices, b)`: an index that occurs twice multiplies twice."""
    places = np.asarray(indices)
    for k in range(places.size):
        a[places[k]] *= b if np.ndim(b) == 0 else b[k]


@meaning
def divide_at(a: Any, indices: Any, b: Any) -> None:
    """Do `np.divide.at(a, indices, b)`."""
    places = np.asarray(indices)
    for k in range(places.size):
        a[places[k]] /= b if np.ndim(b) == 0 else b[k]


@meaning
def maximum_at(a: Any, indices: Any, b: Any) -> None:
    """Do `np.maximum.at(a, indices, b)`."""
    places = np.asarray(indices)
    for k in range(places.size):
        a[places[k]] = np.maximum(a[places[k]], b if np.ndim(b) == 0 else b[k])


@meaning
def minimum_at(a: Any, indices: Any, b: Any) -> None:
    """Do `np.minimum.at(a, indices, b)`."""
    places = np.asarray(indices)
    for k in range(places.size):
        a[places[k]] = np.minimum(a[places[k]], b if np.ndim(b) == 0 else b[k])


AT = {
    np.multiply: multiply_at, np.divide: divide_at, np.maximum: maximum_at, np.minimum: minimum_at,
}  # fmt: skip
"""What the method `at` of a ufunc is read as, one index array over the first axis."""
