"""Products with sparse matrices, as loops over what is stored: row `i` is `data[indptr[i]:indptr[i + 1]]`."""

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
