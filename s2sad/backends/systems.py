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
from s2sad.runtime import decompositions

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
        return np.ascontiguousarray(w[n:].T) if several else w[n]  # by rows, as NumPy's lies

    return any_layout.compiled(solve, f"solve {number} {several}")


@functools.cache
def _factoriser(dtype: Any) -> Any:
    """Return the compiled function that factorises a matrix of numbers of one type."""
    _linalg.ensure_lapack()
    kind = ord(_linalg.get_blas_kind(dtype, "inv"))
    number, counter = _support.as_dtype(dtype), _linalg.F_INT_nptype
    by_lapack = _linalg._LAPACK().numba_xxgetrf(dtype)

    def lu_factor(a: Any) -> Any:
        n = a.shape[0]
        if a.shape[1] != n:
            raise np.linalg.LinAlgError(_NOT_SQUARE)
        w = np.empty((n, n), dtype=number)  # by columns, as LAPACK has it
        for i in range(n):
            for j in range(n):
                w[j, i] = a[i, j]
        pivots = np.empty(n, dtype=counter)
        if n > 0 and by_lapack(kind, n, n, w.ctypes, n, pivots.ctypes) > 0:
            raise np.linalg.LinAlgError(_SINGULAR)
        order = np.arange(n)
        for i in range(n):
            row = order[i]
            order[i] = order[pivots[i] - 1]
            order[pivots[i] - 1] = row
        return w.T, order

    return any_layout.compiled(lu_factor, f"lu_factor {number}")


@functools.cache
def _by_factors(dtype: Any, several: bool) -> Any:
    """Return the compiled function that solves systems by factors, for several right sides or one."""

    def lu_solve(lu: Any, order: Any, b: Any, trans: bool) -> Any:
        return decompositions.lu_solve(lu, order, b, trans)

    return any_layout.compiled(lu_solve, f"lu_solve {_support.as_dtype(dtype)} {several}")


def factors(dtype: Any) -> tuple[Any, Any]:
    """Return the type of a matrix's factors and of the order of its rows, and what writes them."""
    made = _types.Tuple((_types.Array(dtype, 2, "F"), _types.Array(_types.int64, 1, "C")))
    return made, any_layout.called(_factoriser(dtype), (any_layout.given(dtype, 2),))


def solved_by_factors(lu: Any, order: Any, b: Any) -> tuple[Any, Any] | None:
    """Return the type of a solution by factors, one or several, and what writes it; None where itself asks."""
    kinds = tuple(any_layout.given(kind.dtype, kind.ndim) for kind in (lu, order, b))
    if kinds == (lu, order, b):
        return None
    made = _types.Array(lu.dtype, b.ndim, "C")
    return made, any_layout.called(_by_factors(lu.dtype, b.ndim == 2), (*kinds, _types.boolean))


def solved(dtype: Any, rank: int) -> tuple[Any, Any]:
    """Return the type of a solution, one (`rank` 1) or several, and what writes it."""
    kinds = tuple(any_layout.given(dtype, n) for n in (2, rank))
    made = _types.Array(dtype, rank, "C")
    return made, any_layout.called(_solver(dtype, rank == 2), kinds)
