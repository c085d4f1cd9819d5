"""The transpose of broadcasting: summing a contribution down to the shape of its argument."""

from __future__ import annotations

from typing import Any

import numpy as np


def unbroadcast(g: Any, x: Any) -> Any:
    """Sum `g` over the axes along which `x` was broadcast; a number for a number `x`.

    The result is a new array: `g` may be a place that is cleared next.
    """
    shape = np.shape(x)
    if np.shape(g) == shape:
        return np.array(g) if shape else g
    extra = np.ndim(g) - len(shape)
    axes = [*range(extra)]
    axes += [k + extra for k in range(len(shape)) if shape[k] == 1 and np.shape(g)[k + extra] != 1]
    return np.reshape(np.sum(g, axis=tuple(axes)), shape) if shape else np.sum(g)


def sum_to_shape(g: Any, x: Any) -> Any:
    """Sum the array `g` to the shape of the array `x`, for compiled targets: always a new array."""
    flat = g.flatten()
    inner = 1
    for k in range(x.ndim - 1, -1, -1):
        at = g.ndim - x.ndim + k
        n = g.shape[at]
        if x.shape[k] == 1 and n != 1:
            outer = 1
            for j in range(at):
                outer *= g.shape[j]
            flat = sum_middle(flat, outer, n, inner)
        inner *= x.shape[k]
    if flat.size != inner:
        flat = sum_middle(flat, 1, flat.size // inner, inner)
    return flat.reshape(x.shape)


def sum_middle(flat: Any, outer: int, n: int, inner: int) -> Any:
    """Sum the middle axis of the contiguous data of an `(outer, n, inner)` array; of nothing it is zero."""
    out = np.zeros(outer * inner, flat.dtype)
    for o in range(outer):
        for k in range(n):
            for i in range(inner):
                out[o * inner + i] += flat[(o * n + k) * inner + i]
    return out
