"""The transpose of a gather: scattering with addition, so that duplicate indices accumulate."""

from __future__ import annotations

from typing import Any

import numpy as np


def add_at(x_bar: Any, index: Any, g: Any) -> None:
    """Add `g[k]` to `x_bar[index[k]]` for a one-dimensional integer index over the leading axis."""
    for k in range(index.size):
        x_bar[index[k]] += g[k]


def add_at_each(x_bar: Any, index: Any, g: Any) -> None:
    """Add `g[k]` to `x_bar[index[k]]`; raises ValueError where there are not as many of the one as of the other."""
    if g.shape[0] != index.size:
        raise ValueError("operands could not be broadcast together")
    for k in range(index.size):
        x_bar[index[k]] += g[k]


def add_at_any(x_bar: Any, index: Any, g: Any) -> None:
    """Add `g` to `x_bar[index]` for any index of NumPy; in CPython only."""
    np.add.at(x_bar, index, g)


def last_of_each(places: Any) -> Any:
    """Return 1.0 where a number below the largest occurs for the last time, else 0.0, in the shape of `places`."""
    flat = np.ravel(places)
    mask = np.zeros(flat.size)
    if flat.size == 0:
        return mask.reshape(places.shape)
    last = np.zeros(np.max(flat) + 1, np.int64)
    for k in range(flat.size):
        last[flat[k]] = k
    for k in range(flat.size):
        if last[flat[k]] == k:
            mask[k] = 1.0
    return mask.reshape(places.shape)


def insertion_order(places: Any, size: int) -> Any:
    """Return where each element of `np.insert(a, places, values)` stands in `a` followed by `values`."""
    count = places.size
    order = np.argsort(places + (places < 0) * size, kind="mergesort")
    result = np.empty(size + count, np.int64)
    taken = np.zeros(size + count, np.bool_)
    for k in range(count):
        place = places[order[k]]
        at = (place + size if place < 0 else place) + k
        result[at] = size + order[k]
        taken[at] = True
    source = 0
    for k in range(size + count):
        if not taken[k]:
            result[k] = source
            source += 1
    return result


def places_besides(places: Any, size: int) -> Any:
    """Return the numbers below `size` that are not among `places`."""
    left = np.ones(size, np.bool_)
    for place in places:
        left[place] = False
    return np.flatnonzero(left)


def add_at_scalar(x_bar: Any, index: Any, g: Any) -> None:
    """Add the number `g` to `x_bar[index[k]]` for each k."""
    for k in range(index.size):
        x_bar[index[k]] += g


def add_at_pairs(x_bar: Any, rows: Any, columns: Any, g: Any) -> None:
    """Add `g[k]` to `x_bar[rows[k], columns[k]]` for each k."""
    for k in range(rows.size):
        x_bar[rows[k], columns[k]] += g[k]


def add_at_scalar_pairs(x_bar: Any, rows: Any, columns: Any, g: Any) -> None:
    """Add the number `g` to `x_bar[rows[k], columns[k]]` for each k."""
    for k in range(rows.size):
        x_bar[rows[k], columns[k]] += g


def add_at_places(x_bar: Any, places: Any, g: Any) -> None:
    """Add `g` to the elements of `x_bar` that are counted through in C order."""
    spread = np.broadcast_to(g, places.shape)
    for at, place in np.ndenumerate(places):
        x_bar.flat[place] += spread[at]


def add_at_number(x_bar: Any, places: Any, g: Any) -> None:
    """Add the number `g` to the elements of `x_bar` that are counted through in C order."""
    for _, place in np.ndenumerate(places):
        x_bar.flat[place] += g


def take_masked(x: Any, mask: Any) -> Any:
    """Return `x[mask]` for a mask of the shape of `x`, of any rank."""
    count = 0
    for at in np.ndindex(mask.shape):
        if mask[at]:
            count += 1
    result = np.empty(count, x.dtype)
    count = 0
    for at in np.ndindex(mask.shape):
        if mask[at]:
            result[count] = x[at]
            count += 1
    return result


def put_masked(x: Any, mask: Any, values: Any) -> None:
    """Do `x[mask] = values` for a mask of the shape of `x`, of any rank; one value is for all places.

    Raises ValueError where there are not as many values as places.
    """
    step = 0 if values.size == 1 else 1
    if step == 1 and values.size != np.sum(mask):
        raise ValueError("cannot assign: there are not as many values as places")
    count = 0
    for at in np.ndindex(mask.shape):
        if mask[at]:
            x[at] = values[count]
            count += step


def put_masked_scalar(x: Any, mask: Any, value: Any) -> None:
    """Do `x[mask] = value` for a mask of the shape of `x`, of any rank."""
    for at in np.ndindex(mask.shape):
        if mask[at]:
            x[at] = value
