"""`np.f.reduce`, `np.f.accumulate` and `np.f.outer` of any binary ufunc, read as the loops that they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad import runtime


def reduce(fn: Any, array: Any, axis: Any = 0, keepdims: bool = False) -> Any:
    """Fold `fn` over one axis, from its first element on."""
    rows = np.moveaxis(array, axis, 0) if array.ndim > 1 else array
    total = rows[0]
    for k in range(1, rows.shape[0]):
        total = fn(total, rows[k])
    if keepdims:
        return np.expand_dims(total, axis)
    else:
        return total


def accumulate(fn: Any, array: Any, axis: Any = 0) -> Any:
    """Keep every step of folding `fn` over one axis."""
    if array.ndim > 1:
        rows = np.moveaxis(array, axis, 0)
        steps = np.copy(rows)
        for k in range(1, rows.shape[0]):
            steps[k] = fn(steps[k - 1], rows[k])
        return np.moveaxis(steps, 0, axis)
    else:
        steps = np.copy(array)
        for k in range(1, array.shape[0]):
            steps[k] = fn(steps[k - 1], array[k])
        return steps


def reduceat(fn: Any, array: Any, indices: Any) -> Any:
    """Fold `fn` from each index to the next; where the next is no larger, the element itself."""
    folded = np.copy(array[indices])
    for k in range(indices.size):
        stop = indices[k + 1] if k + 1 < indices.size else array.size
        for j in range(indices[k] + 1, stop):
            folded[k] = fn(folded[k], array[j])
    return folded


def outer(fn: Any, a: Any, b: Any) -> Any:
    """Return `fn` of every element of `a` with every element of `b`."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return fn(a, b)
    elif b.ndim == 1:
        return fn(a[..., None], b)
    elif b.ndim == 2:
        return fn(a[..., None, None], b)
    else:
        return fn(a[..., None, None, None], b)


KNOWN: dict[str, dict[Any, Any]] = {
    "reduce": {np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min,
               np.logaddexp: runtime.logsumexp},
    "accumulate": {np.add: np.cumsum, np.multiply: np.cumprod},
}
"""Ufuncs whose folding has a name of its own."""

GENERIC: dict[str, Any] = {"reduce": reduce, "accumulate": accumulate}

FOLDED: frozenset[Any] = frozenset({
    np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.subtract, np.divide, np.hypot,
    np.logaddexp, np.logaddexp2, np.arctan2, np.copysign,
})  # fmt: skip
"""Not `np.power`, which NumPy 2.4 folds wrongly along contiguous axes."""
