"""Systems with sparse matrices: by the factors of a matrix, or by what its elements are made of."""

from __future__ import annotations

from typing import Any

import numpy as np


def sparse_lu_solve(
    data: Any, indices: Any, indptr: Any, row_order: Any, column_order: Any, b: Any, trans: bool
) -> Any:
    """Return the solution of `a @ x = b` for a vector `b`, or of `a.T @ x = b` if `trans`, by the factors of `a`.

    Args:
        data: both triangular factors by columns, rows in order, without the ones on the diagonal of the lower.
        indices: the rows of `data`.
        indptr: where each column of `data` begins, and where the last one ends.
        row_order: the place of each row of `a` among those of the factors.
        column_order: the place of each column of `a` among those of the factors.
        b: the right side.
        trans: whether the system of the transposed matrix is solved.
    """
    n = indptr.size - 1
    before, behind = (column_order, row_order) if trans else (row_order, column_order)
    w = np.zeros(n, (data[:1] * b[:1]).dtype)
    for i in range(n):
        w[before[i]] = b[i]
    if trans:
        for j in range(n):
            k = indptr[j]
            while indices[k] < j:
                w[j] -= data[k] * w[indices[k]]
                k += 1
            w[j] /= data[k]
        for j in range(n - 1, -1, -1):
            k = indptr[j + 1] - 1
            while indices[k] > j:
                w[j] -= data[k] * w[indices[k]]
                k -= 1
    else:
        for j in range(n):
            k = indptr[j + 1] - 1
            while indices[k] > j:
                w[indices[k]] -= data[k] * w[j]
                k -= 1
        for j in range(n - 1, -1, -1):
            k = indptr[j]
            while indices[k] < j:
                k += 1
            w[j] /= data[k]
            for above in range(indptr[j], k):
                w[indices[above]] -= data[above] * w[j]
    x = np.empty_like(w)
    for i in range(n):
        x[i] = w[behind[i]]
    return x


def sparse_solve(data: Any, rows: Any, columns: Any, b: Any) -> Any:
    """Return the solution of a system for a vector `b`, not a number if the matrix is singular.

    The matrix is square, and zero but for `data`, which are added up at `rows` and `columns`.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.linalg import spsolve

    return spsolve(coo_matrix((data, (rows, columns)), shape=(b.size, b.size)).tocsc(), b)


def grouped(keys: Any, n: int) -> Any:
    """Return the places of each key below `n` one after the other, and where those of each begin."""
    starts = np.zeros(n + 1, np.int64)
    for key in keys:
        starts[key + 1] += 1
    for i in range(n):
        starts[i + 1] += starts[i]
    found, free = np.empty(keys.size, np.int64), starts.copy()
    for k in range(keys.size):
        found[free[keys[k]]] = k
        free[keys[k]] += 1
    return found, starts


def sparse_pairs(columns: Any, rows: Any) -> Any:
    """Return which numbers of two sparse matrices meet in their product: those of the first, and those of the second.

    Args:
        columns: the column of each number of the first matrix.
        rows: the row of each number of the second one.
    """
    n = 0
    for row in rows:
        n = max(n, row + 1)
    for column in columns:
        n = max(n, column + 1)
    order, starts = grouped(rows, n)
    count = 0
    for column in columns:
        count += starts[column + 1] - starts[column]
    pairs = np.empty((2, count), np.int64)
    count = 0
    for k in range(columns.size):
        for place in range(starts[columns[k]], starts[columns[k] + 1]):
            pairs[0, count], pairs[1, count] = k, order[place]
            count += 1
    return pairs
