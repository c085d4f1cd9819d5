"""Rules of systems with sparse matrices."""

# pyright: reportSelfClsParameterName=false
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.rules.registry import constant, rule
from s2sad.rules.sample import case, complex_values, values

constant(runtime.sparse_pairs)

_ROWS = np.array([0, 1, 2, 0, 1, 2, 2])
_COLUMNS = np.array([0, 1, 2, 1, 2, 0, 0])
_DATA = np.array([3.0, -2.0, 4.0, 0.5, 1.0, -0.3, 0.8])
_FACTORS = np.array([0, 1, 1, 1, 2]), np.array([0, 2, 3, 5]), np.array([1, 2, 0]), np.array([0, 2, 1])
_OF_FACTORS = np.array([2.0, 0.5, 3.0, -1.0, 4.0])


@rule(runtime.sparse_solve)
class sparse_solve:
    """Giles 2008, section 2.3.1, where the matrix has elements."""

    samples = (case(_DATA, _ROWS, _COLUMNS, values(3)), case(_DATA + 0.3j, _ROWS, _COLUMNS, complex_values(3)))
    complex = True

    def tangent(data: Any, rows: Any, columns: Any, b: Any, y: Any, data_dot: Any, b_dot: Any) -> Any:
        moved = runtime.scatter(data_dot * y[columns], rows, y, 0)
        return runtime.sparse_solve(data, rows, columns, b_dot - moved)

    def adjoint(
        data: Any, rows: Any, columns: Any, b: Any, y: Any, y_bar: Any, data_bar: Any, b_bar: Any
    ) -> None:
        right_bar = runtime.sparse_solve(data, columns, rows, y_bar)
        b_bar += right_bar
        data_bar += -(right_bar[rows] * y[columns])


@rule(runtime.sparse_lu_solve)
class sparse_lu_solve:
    """Linear in the right side; the matrix, and so its factors, are constant."""

    samples = (
        case(_OF_FACTORS, *_FACTORS, values(3), trans=False),
        case(_OF_FACTORS, *_FACTORS, values(3), trans=True),
    )
    complex = True

    def tangent(
        data: Any, indices: Any, indptr: Any, row_order: Any, column_order: Any, b: Any, y: Any, b_dot: Any,
        *, trans: bool,
    ) -> Any:  # fmt: skip
        return runtime.sparse_lu_solve(data, indices, indptr, row_order, column_order, b_dot, trans=trans)

    def adjoint(
        data: Any, indices: Any, indptr: Any, row_order: Any, column_order: Any, b: Any, y: Any, y_bar: Any,
        b_bar: Any, *, trans: bool,
    ) -> None:  # fmt: skip
        b_bar += runtime.sparse_lu_solve(data, indices, indptr, row_order, column_order, y_bar, trans=not trans)
