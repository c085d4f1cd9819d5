"""Systems of linear equations, which Numba compiles as a dozen functions for each pair of layouts.

`np.linalg.solve` takes it 2.7 to 3.4 s of a program's first call, and this 0.5 to 0.9 s. Here a system of a
few equations is eliminated where it stands, by the largest pivot of each column (two to four times as fast as the
call of LAPACK, which larger ones get). As in NumPy a matrix that is singular is an error, and numbers that are none
are not looked for. `inv`, `det` and `slogdet` written so were as much faster, but took 0.3 s longer to compile than
Numba's own.
Source: G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed., 3.4.1 (partial pivoting).
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np

from s2sad.backends import any_layout

_extending: Any = importlib.import_module("numba.extending")
_linalg: Any = importlib.import_module("numba.np.linalg")
_support: Any = importlib.import_module("numba.np.numpy_support")
_types: Any = importlib.import_module("numba.core.types")

_FEW = 12
"""Rows of a matrix that is eliminated where it stands: up to here that is as fast as LAPACK."""
_NOT_SQUARE = "Last 2 dimensions of the array must be square"
_UNEQUAL = "the matrix and the right side of a system are not equally long"
_SINGULAR = "Singular matrix"


@_extending.register_jitable
def _eliminated(w: Any) -> bool:
    """Solve systems in place: `w[j, i]` is the element in row `i` and column `j`, right sides after the matrix.

    Returns whether they have a solution.
    """
    n = w.shape[1]
    for c in range(n):
        pivot = c
        for i in range(c + 1, n):
            if abs(w[c, i]) > abs(w[c, pivot]):
                pivot = i
        divisor = w[c, pivot]
        if divisor == 0.0:
            return False
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
    return True


@functools.cache
def _solver(dtype: Any, several: bool) -> Any:
    """Return the compiled function that solves systems of numbers of one type, for several right sides or one."""
    _linalg.ensure_lapack()
    kind = ord(_linalg.get_blas_kind(dtype, "solve"))
    number, counter = _support.as_dtype(dtype), _linalg.F_INT_nptype
    by_lapack = _linalg._LAPACK().numba_xgesv(dtype)

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
            found = _eliminated(w)
        else:
            pivots, count = np.empty(n, dtype=counter), w.shape[0] - n
            found = by_lapack(kind, n, count, w.ctypes, n, pivots.ctypes, w[n:].ctypes, n) <= 0
        if not found:
            raise np.linalg.LinAlgError(_SINGULAR)
        return w[n:].T if several else w[n]

    return any_layout.compiled(solve, f"solve {number} {several}")


def solved(dtype: Any, rank: int) -> tuple[Any, Any]:
    """Return the type of a solution, one (`rank` 1) or several, and what writes it."""
    kinds = tuple(any_layout.given(dtype, n) for n in (2, rank))
    made = _types.Array(dtype, rank, "F" if rank == 2 else "C")
    return made, any_layout.called(_solver(dtype, rank == 2), kinds)
