"""Products with sparse matrices, as loops over what is stored.

By rows, row `i` is `data[indptr[i]:indptr[i + 1]]`; else each number has its row and its column.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def sparse_dot(data: Any, indices: Any, indptr: Any, rows: Any, x: Any, dtype: Any) -> Any:
    """Return the product with a vector; `indices` are the columns of `data`."""
    product = np.zeros(rows, dtype=dtype)
    for i in range(rows):
        for k in range(indptr[i], indptr[i + 1]):
            product[i] += data[k] * x[indices[k]]
    return product


def sparse_matmul(data: Any, indices: Any, indptr: Any, rows: Any, x: Any, dtype: Any) -> Any:
    """Return the product with a matrix; `indices` are the columns of `data`."""
    product = np.zeros((rows, x.shape[1]), dtype=dtype)
    for i in range(rows):
        for k in range(indptr[i], indptr[i + 1]):
            for j in range(x.shape[1]):
                product[i, j] += data[k] * x[indices[k], j]
    return product


def sparse_sum(data: Any, rows: Any, columns: Any, count: Any, x: Any) -> Any:
    """Return the product of `data` at its places, in `count` rows, with a vector."""
    product = np.zeros(count, dtype=np.result_type(data, x))
    for k in range(data.size):
        product[rows[k]] += data[k] * x[columns[k]]
    return product


def sparse_columns(data: Any, rows: Any, columns: Any, count: Any, x: Any) -> Any:
    """Return the product of `data` at its places, in `count` rows, with a matrix."""
    product = np.zeros((count, x.shape[1]), dtype=np.result_type(data, x))
    for k in range(data.size):
        for j in range(x.shape[1]):
            product[rows[k], j] += data[k] * x[columns[k], j]
    return product
