"""Matrix operations that Numba lacks: batches, norms along an axis, inner products."""

from __future__ import annotations

from typing import Any

import numpy as np


def matmul_batch(a: Any, b: Any) -> Any:
    """Return `a @ b` for two three-dimensional arrays; a batch of one is broadcast."""
    n = max(a.shape[0], b.shape[0])
    out = np.zeros((n, a.shape[1], b.shape[2]), (a[:1, :1, :1] * b[:1, :1, :1]).dtype)
    for batch in range(n):
        left = a[batch if a.shape[0] > 1 else 0]
        right = b[batch if b.shape[0] > 1 else 0]
        for i in range(a.shape[1]):
            for k in range(a.shape[2]):
                for j in range(b.shape[2]):
                    out[batch, i, j] += left[i, k] * right[k, j]
    return out


def matmul_rows(a: Any, b: Any) -> Any:
    """Return `a @ b` for a matrix `b`: all rows of `a`, whatever its rank, in one product."""
    lead = a.shape[:-1]
    count = 1
    for length in lead:
        count *= length
    rows = np.ascontiguousarray(a).reshape((count, a.shape[-1]))
    return np.dot(rows, np.ascontiguousarray(b)).reshape((*lead, b.shape[1]))


def matmul_batches(a: Any, b: Any) -> Any:
    """Return `a @ b` for two arrays of one rank above three; batches of one are broadcast."""
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    count = 1
    for length in lead:
        count *= length
    left = np.ascontiguousarray(np.broadcast_to(a, (*lead, a.shape[-2], a.shape[-1])))
    right = np.ascontiguousarray(np.broadcast_to(b, (*lead, b.shape[-2], b.shape[-1])))
    left_rows = left.reshape((count, a.shape[-2], a.shape[-1]))
    out = matmul_batch(left_rows, right.reshape((count, b.shape[-2], b.shape[-1])))
    return out.reshape((*lead, a.shape[-2], b.shape[-1]))


def squared_size(x: Any) -> Any:
    """Return the squares of the sizes of the elements."""
    size = np.abs(x)
    return size * size


def norm_all(x: Any) -> Any:
    """Return the root of the sum of squares of the sizes of every element."""
    return np.sqrt(np.sum(squared_size(x)))


def vdot_flat(a: Any, b: Any) -> Any:
    """Return `np.vdot(a, b)` of two arrays of any rank."""
    return np.sum(np.conj(np.ravel(np.ascontiguousarray(a))) * np.ravel(np.ascontiguousarray(b)))


def solve_batch(a: Any, b: Any) -> Any:
    """Return `np.linalg.solve(a, b)` for two three-dimensional arrays of one batch."""
    out = np.empty(b.shape, b.dtype)
    for k in range(a.shape[0]):
        out[k] = np.linalg.solve(np.ascontiguousarray(a[k]), np.ascontiguousarray(b[k]))
    return out


def solve_lower(a: Any, b: Any, trans: int = 0) -> Any:
    """Return the solution of `a @ x = b`, or of `a.T @ x = b` if `trans`, for lower triangles `a`, one or a batch.

    Raises:
        numpy.linalg.LinAlgError: a number on the diagonal is zero.
    """
    lower = np.tril(a)
    return np.linalg.solve(np.swapaxes(lower, -1, -2) if trans else lower, b)


def inv_batch(a: Any) -> Any:
    """Return `np.linalg.inv(a)` for a three-dimensional array."""
    out = np.empty(a.shape, a.dtype)
    for k in range(a.shape[0]):
        out[k] = np.linalg.inv(np.ascontiguousarray(a[k]))
    return out


def det_batch(a: Any) -> Any:
    """Return `np.linalg.det(a)` for a three-dimensional array."""
    out = np.empty(a.shape[0], a.dtype)
    for k in range(a.shape[0]):
        out[k] = np.linalg.det(np.ascontiguousarray(a[k]))
    return out
