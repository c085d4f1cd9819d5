"""Matrices by their diagonals, as `scipy.linalg.solve_banded` takes them: `ab[above + i - j, j]` is `a[i, j]`.

`above` is how many diagonals lie above the main one; what of `ab` lies outside of the matrix is not read.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def solve_banded(ab: Any, b: Any, above: int, trans: bool) -> Any:
    """Return the solution of `a @ x = b` for a vector or a matrix `b`, or of `a.T @ x = b` if `trans`.

    Raises:
        numpy.linalg.LinAlgError: the matrix is singular.
        ValueError: the right side is not as long as the matrix.
    """
    from scipy.linalg import solve_banded as solve

    below = ab.shape[0] - 1 - above
    if not trans:
        return solve((below, above), ab, b, check_finite=False)
    turned = np.zeros_like(ab)
    for k, first, last in _diagonals(ab, above):
        turned[ab.shape[0] - 1 - k, first + k - above : last + k - above] = ab[k, first:last]
    return solve((above, below), turned, b, check_finite=False)


def _diagonals(ab: Any, above: int) -> Any:
    """Return the rows of `ab`, and in which columns each of them lies within the matrix."""
    n = ab.shape[1]
    return [(k, max(0, above - k), min(n, n + above - k)) for k in range(ab.shape[0]) if abs(above - k) < n]


def banded_product(ab: Any, x: Any, above: int, trans: bool) -> Any:
    """Return `a @ x` for a vector or a matrix `x`, or `a.T @ x` if `trans`."""
    out = np.zeros(x.shape, np.result_type(ab, x))
    for k, first, last in _diagonals(ab, above):
        columns, rows = slice(first, last), slice(first + k - above, last + k - above)
        numbers = ab[k, columns] if x.ndim == 1 else ab[k, columns, None]
        if trans:
            out[columns] += numbers * x[rows]
        else:
            out[rows] += numbers * x[columns]
    return out


def banded_outer(left: Any, right: Any, ab: Any, above: int) -> Any:
    """Return of `left @ right.T`, or of the outer product of two vectors, as many diagonals as `ab` has."""
    out = np.zeros(ab.shape, np.result_type(left, right))
    for k, first, last in _diagonals(ab, above):
        products = left[first + k - above : last + k - above] * right[first:last]
        out[k, first:last] = products if left.ndim == 1 else np.sum(products, axis=1)
    return out
