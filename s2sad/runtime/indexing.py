"""The transpose of a gather: scattering with addition, so that duplicate indices accumulate."""

from __future__ import annotations

from typing import Any

import numpy as np


def add_at(x_bar: Any, index: Any, g: Any) -> None:
    """Add `g[k]` to `x_bar[index[k]]` for a one-dimensional integer index over the leading axis."""
    for k in range(index.size):
        x_bar[index[k]] += g[k]


def add_at_any(x_bar: Any, index: Any, g: Any) -> None:
    """Add `g` to `x_bar[index]` for any index of NumPy; in CPython only."""
    np.add.at(x_bar, index, g)


def last_of_each(index: Any) -> Any:
    """Return 1.0 where an index occurs for the last time in a vector of indices, else 0.0."""
    mask = np.zeros(index.shape[0])
    for k in range(index.shape[0]):
        last = True
        for later in range(k + 1, index.shape[0]):
            if index[later] == index[k]:
                last = False
                break
        if last:
            mask[k] = 1.0
    return mask


def last_of_pairs(rows: Any, columns: Any) -> Any:
    """Return 1.0 where a pair of indices occurs for the last time, else 0.0."""
    mask = np.zeros(rows.shape[0])
    for k in range(rows.shape[0]):
        last = True
        for later in range(k + 1, rows.shape[0]):
            if rows[later] == rows[k] and columns[later] == columns[k]:
                last = False
                break
        if last:
            mask[k] = 1.0
    return mask


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
    """Do `x[mask] = values` for a mask of the shape of `x`, of any rank."""
    count = 0
    for at in np.ndindex(mask.shape):
        if mask[at]:
            x[at] = values[count]
            count += 1


def put_masked_scalar(x: Any, mask: Any, value: Any) -> None:
    """Do `x[mask] = value` for a mask of the shape of `x`, of any rank."""
    for at in np.ndindex(mask.shape):
        if mask[at]:
            x[at] = value
