"""Matrices by their diagonals, compiled: SciPy's code for them cannot be called, and NumPy's takes a pass for each.

The rows of a matrix are kept from their first number on that is not zero, so that those that meet in a step of the
elimination lie side by side, and a row moves by one place as its first number goes. One division a row suffices.
Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., 4.3 (bands, with partial pivoting).
"""

from __future__ import annotations

from typing import Any

import numpy as np

_SINGULAR = "singular matrix"
_UNEQUAL = "the matrix and the right side of a system are not equally long"


def solved(ab: Any, b: Any, above: int, trans: bool) -> Any:
    """Return what `runtime.solve_banded` does."""
    n = ab.shape[1]
    if b.shape[0] != n:
        raise ValueError(_UNEQUAL)
    x = np.empty(b.shape, (np.empty(0, ab.dtype) * np.empty(0, b.dtype) * np.empty(0, np.float32)).dtype)
    x[:] = b
    sides = x.reshape((n, x.size // max(n, 1)))
    found = _of_three(ab, sides, trans) if ab.shape[0] == 3 and above == 1 else _of_several(ab, sides, above, trans)
    if not found:
        raise np.linalg.LinAlgError(_SINGULAR)
    return x


def _of_three(ab: Any, x: Any, trans: bool) -> bool:
    """Solve a system with one diagonal on each side of the main one in place; return whether it has a solution."""
    n = x.shape[0]
    kept = np.empty((n, 3), x.dtype)  # of a row the reciprocal of its pivot, and the two numbers behind
    zero = np.zeros(1, x.dtype)[0]
    here, behind = zero, zero
    if n > 0:
        here = zero + ab[1, 0]
    if n > 1:
        behind = zero + (ab[2, 0] if trans else ab[0, 1])
    for k in range(n - 1):
        first = ab[0, k + 1] if trans else ab[2, k]
        second, third = ab[1, k + 1], zero
        if k < n - 2:
            third = zero + (ab[2, k + 1] if trans else ab[0, k + 2])
        if abs(first) > abs(here):
            scale = 1.0 / first
            factor = here * scale
            kept[k, 0], kept[k, 1], kept[k, 2] = scale, second, third
            here, behind = behind - factor * second, -factor * third
            for r in range(x.shape[1]):
                x[k, r], x[k + 1, r] = x[k + 1, r], x[k, r] - factor * x[k + 1, r]
        else:
            if here == 0.0:
                return False
            scale = 1.0 / here
            factor = first * scale
            kept[k, 0], kept[k, 1], kept[k, 2] = scale, behind, zero
            here, behind = second - factor * behind, third
            for r in range(x.shape[1]):
                x[k + 1, r] -= factor * x[k, r]
    if n > 0:
        if here == 0.0:
            return False
        for r in range(x.shape[1]):
            x[n - 1, r] /= here
    if n > 1:
        for r in range(x.shape[1]):
            x[n - 2, r] = (x[n - 2, r] - kept[n - 2, 1] * x[n - 1, r]) * kept[n - 2, 0]
    for k in range(n - 3, -1, -1):
        for r in range(x.shape[1]):
            x[k, r] = (x[k, r] - kept[k, 1] * x[k + 1, r] - kept[k, 2] * x[k + 2, r]) * kept[k, 0]
    return True


def _of_several(ab: Any, x: Any, above: int, trans: bool) -> bool:
    """Solve a system with any number of diagonals in place; return whether it has a solution."""
    n, wide = x.shape[0], ab.shape[0]
    below, over = (above, wide - 1 - above) if trans else (wide - 1 - above, above)
    w = np.zeros((n, wide), x.dtype)
    for i in range(n):
        start = max(0, i - below)
        for j in range(start, min(n, i + over + 1)):
            w[i, j - start] = ab[above + j - i, i] if trans else ab[above + i - j, j]
    for k in range(n):
        last = min(n, k + below + 1)
        pivot = k
        for i in range(k + 1, last):
            if abs(w[i, 0]) > abs(w[pivot, 0]):
                pivot = i
        if w[pivot, 0] == 0.0:
            return False
        if pivot != k:
            for j in range(wide):
                w[k, j], w[pivot, j] = w[pivot, j], w[k, j]
            for r in range(x.shape[1]):
                x[k, r], x[pivot, r] = x[pivot, r], x[k, r]
        scale = 1.0 / w[k, 0]
        for i in range(k + 1, last):
            factor = w[i, 0] * scale
            for j in range(1, wide):
                w[i, j - 1] = w[i, j] - factor * w[k, j]
            w[i, wide - 1] = 0.0
            for r in range(x.shape[1]):
                x[i, r] -= factor * x[k, r]
        w[k, 0] = scale
    for k in range(n - 1, -1, -1):
        for j in range(1, min(wide, n - k)):
            for r in range(x.shape[1]):
                x[k, r] -= w[k, j] * x[k + j, r]
        for r in range(x.shape[1]):
            x[k, r] *= w[k, 0]
    return True


def product(ab: Any, x: Any, above: int, trans: bool) -> Any:
    """Return what `runtime.banded_product` does."""
    n = ab.shape[1]
    out = np.zeros(x.shape, (np.empty(0, ab.dtype) * np.empty(0, x.dtype)).dtype)
    for k in range(ab.shape[0]):
        down = k - above
        row, column = (0, down) if trans else (down, 0)
        for j in range(max(0, -down), min(n, n - down)):
            if x.ndim == 1:
                out[j + row] += ab[k, j] * x[j + column]
            else:
                for r in range(x.shape[1]):
                    out[j + row, r] += ab[k, j] * x[j + column, r]
    return out


def outer(left: Any, right: Any, ab: Any, above: int) -> Any:
    """Return what `runtime.banded_outer` does."""
    n = ab.shape[1]
    out = np.zeros(ab.shape, (np.empty(0, left.dtype) * np.empty(0, right.dtype)).dtype)
    for k in range(ab.shape[0]):
        down = k - above
        for j in range(max(0, -down), min(n, n - down)):
            if left.ndim == 1:
                out[k, j] = left[j + down] * right[j]
            else:
                for r in range(left.shape[1]):
                    out[k, j] += left[j + down, r] * right[j, r]
    return out
