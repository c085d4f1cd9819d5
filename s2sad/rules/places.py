"""Where things stand: index arrays and grids, several results each, read as simpler calls.

A call of the function that is named in front is read as the body below it; see `rules/expansions.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.ir import ops
from s2sad.rules.registry import expands
from s2sad.rules.subscripts import counting


@expands(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """Return the index along each axis of elements counted through."""
    if order != "C":
        ops.refuse("`unravel_index` is read in the order 'C' only", "Reverse the shape and the result.")
    rest = np.asarray(indices) if isinstance(indices, (list, tuple)) else indices
    sizes = (shape,) if isinstance(shape, int) else shape
    found = []
    for size in sizes[:0:-1]:
        found = [rest % size, *found]
        rest = rest // size
    return (rest, *found)


@expands(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any) -> Any:
    """Return the place of elements counted through, from the index along each axis."""
    place = multi_index[0]
    for index, size in zip(multi_index[1:], dims[1:]):
        place = place * size + index
    return place


@expands(np.nonzero)
def nonzero(a: Any) -> Any:
    """Return the index along each axis of the elements that are not zero."""
    return np.unravel_index(np.flatnonzero(a), a.shape)


@expands(np.where, counts=(3,))
def where(condition: Any) -> Any:
    """Return the index along each axis of the elements for which a condition holds."""
    return np.nonzero(condition)


@expands(np.triu_indices)
def triu_indices(n: int, k: int = 0, m: Any = None) -> Any:
    """Return the rows and columns on and above a diagonal."""
    return np.nonzero(np.tri(n, n if m is None else m, k - 1) == 0.0)


@expands(np.tril_indices)
def tril_indices(n: int, k: int = 0, m: Any = None) -> Any:
    """Return the rows and columns on and below a diagonal."""
    return np.nonzero(np.tri(n, n if m is None else m, k) != 0.0)


@expands(np.triu_indices_from)
def triu_indices_from(arr: Any, k: int = 0) -> Any:
    """Return the rows and columns on and above a diagonal of a matrix."""
    return np.triu_indices(arr.shape[0], k, arr.shape[1])


@expands(np.tril_indices_from)
def tril_indices_from(arr: Any, k: int = 0) -> Any:
    """Return the rows and columns on and below a diagonal of a matrix."""
    return np.tril_indices(arr.shape[0], k, arr.shape[1])


@expands(np.diag_indices)
def diag_indices(n: int, ndim: int = 2) -> Any:
    """Return the places on the diagonal."""
    places = np.arange(n)
    return (places,) * ndim


@expands(np.diag_indices_from)
def diag_indices_from(arr: Any) -> Any:
    """Return the places on the diagonal of a matrix."""
    places = np.arange(arr.shape[0])
    return (places,) * arr.ndim


@expands(np.ix_)
def ix_(*args: Any) -> Any:
    """Return index arrays that pick rows, columns, … of which every combination is meant."""
    arrays = [np.array(a) if isinstance(a, (list, tuple)) else a for a in args]
    places = [np.flatnonzero(a) if a.dtype == np.bool_ else a for a in arrays]
    n = len(args)
    return tuple([
        a[(None,) * k + (slice(None),) + (None,) * (n - 1 - k)] for k, a in enumerate(places)
    ])  # fmt: skip


@expands(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Return the coordinates of a grid, one array for each axis."""
    if indexing not in ("xy", "ij"):
        ops.refuse("`meshgrid` knows the orders `xy` and `ij`", "Give one of them as `indexing`.")
    n = len(xi)
    axes = [1, 0, *counting(n)[2:]] if indexing == "xy" and n > 1 else [*counting(n)]
    vectors = [np.ravel(np.array(x) if isinstance(x, (list, tuple)) else x) for x in xi]
    spread = [
        x[(None,) * axis + (slice(None),) + (None,) * (n - 1 - axis)] for x, axis in zip(vectors, axes)
    ]  # fmt: skip
    shape = tuple([vectors[axis].size for axis in axes])
    return (
        spread if sparse else [np.copy(np.broadcast_to(x, shape)) for x in spread] if copy
        else [np.broadcast_to(x, shape) for x in spread]
    )  # fmt: skip


@expands(np.fromfunction)
def fromfunction(function: Any, shape: Any, *, dtype: Any = float) -> Any:
    """Return what a function gives for the coordinates of every element."""
    vectors = [np.arange(n).astype(dtype) for n in shape]
    return function(*np.meshgrid(*vectors, indexing="ij"))
