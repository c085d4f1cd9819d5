"""`scipy.linalg`, loaded when a program that uses it is differentiated: SciPy is not required.

What NumPy also has is read as NumPy's function; `check_finite` and `overwrite_…` mean nothing here.
"""

# pyright: reportSelfClsParameterName=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from s2sad import runtime
from s2sad.rules.registry import expands, rule
from s2sad.rules.sample import case, complex_values, definite, values


@rule(scipy.linalg.solve_triangular)
class solve_triangular:
    """Giles 2008, section 2.3.1, within the triangle that is read."""

    samples = (
        case(definite(3, 3), values(3)),
        case(definite(3, 3), values(3, 2), lower=True),
        case(definite(3, 3), values(3, 2), trans=1),
        case(definite(3, 3), values(3), trans=1, lower=True),
        case(definite(3, 3), values(3), unit_diagonal=True, lower=True),
        case(definite(3, 3) + 1j * values(3, 3), complex_values(3), lower=True),
    )
    only = (("trans", (0, 1)),)
    complex = True

    def tangent(
        a: Any,
        b: Any,
        y: Any,
        a_dot: Any,
        b_dot: Any,
        *,
        trans: int = 0,
        lower: bool = False,
        unit_diagonal: bool = False,
    ) -> Any:
        if lower:
            moved = np.tril(a_dot, k=-1 if unit_diagonal else 0)
        else:
            moved = np.triu(a_dot, k=1 if unit_diagonal else 0)
        if trans == 1:
            right = b_dot - moved.T @ y
        else:
            right = b_dot - moved @ y
        return scipy.linalg.solve_triangular(
            a, right, trans=trans, lower=lower, unit_diagonal=unit_diagonal
        )

    def adjoint(
        a: Any,
        b: Any,
        y: Any,
        y_bar: Any,
        a_bar: Any,
        b_bar: Any,
        *,
        trans: int = 0,
        lower: bool = False,
        unit_diagonal: bool = False,
    ) -> None:
        right_bar = scipy.linalg.solve_triangular(
            a, y_bar, trans=1 - trans, lower=lower, unit_diagonal=unit_diagonal
        )
        b_bar += right_bar
        if b.ndim == 1 and trans == 1:
            full = np.outer(y, right_bar)
        elif b.ndim == 1:
            full = np.outer(right_bar, y)
        elif trans == 1:
            full = y @ right_bar.T
        else:
            full = right_bar @ y.T
        if lower:
            a_bar += -np.tril(full, k=-1 if unit_diagonal else 0)
        else:
            a_bar += -np.triu(full, k=1 if unit_diagonal else 0)


@rule(scipy.linalg.expm)
class expm:
    """Higham 2008, theorem 3.6: the change of `exp(A)` is a block of the exponential of a matrix."""

    samples = (case(0.5 * values(3, 3)), case(0.5 * complex_values(2, 2)))
    complex = True

    def tangent(A: Any, y: Any, A_dot: Any) -> Any:
        n = A.shape[0]
        above = np.concatenate((A, A_dot), axis=1)
        below = np.concatenate((np.zeros_like(A), A), axis=1)
        return scipy.linalg.expm(np.concatenate((above, below), axis=0))[:n, n:]

    def adjoint(A: Any, y: Any, y_bar: Any, A_bar: Any) -> None:
        n = A.shape[0]
        above = np.concatenate((A.T, y_bar), axis=1)
        below = np.concatenate((np.zeros_like(A), A.T), axis=1)
        A_bar += scipy.linalg.expm(np.concatenate((above, below), axis=0))[:n, n:]


@expands(scipy.linalg.solve)
def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: Any = None,
    transposed: bool = False,
) -> Any:
    """Return the solution; of a matrix that is said to be symmetric one triangle is read."""
    if assume_a is None or assume_a == "gen" or assume_a == "general":
        matrix = a
    elif lower:
        matrix = np.tril(a) + np.conj(np.tril(a, k=-1).T)
    else:
        matrix = np.triu(a) + np.conj(np.triu(a, k=1).T)
    return np.linalg.solve(matrix.T, b) if transposed else np.linalg.solve(matrix, b)


@expands(scipy.linalg.inv)
def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the inverse."""
    return np.linalg.inv(a)


@expands(scipy.linalg.det)
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the determinant."""
    return np.linalg.det(a)


@expands(scipy.linalg.pinv)
def pinv(a: Any, check_finite: bool = True) -> Any:
    """Return the pseudo-inverse."""
    return np.linalg.pinv(a)


@expands(scipy.linalg.lstsq)
def lstsq(
    a: Any,
    b: Any,
    cond: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Return the solution, the residuals, the rank and the singular values."""
    return np.linalg.lstsq(a, b, runtime.precision(a) if cond is None else cond)


@expands(scipy.linalg.cholesky)
def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Return the factor, the upper one unless `lower`."""
    return np.linalg.cholesky(a) if lower else np.linalg.cholesky(a, upper=True)


@expands(scipy.linalg.cho_factor)
def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Return the factor, the other triangle empty, and which one it is."""
    return (scipy.linalg.cholesky(a, lower=lower), lower)


@expands(scipy.linalg.cho_solve)
def cho_solve(
    c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Return the solution by the factor that `cho_factor` gives."""
    if c_and_lower[1]:
        half = scipy.linalg.solve_triangular(c_and_lower[0], b, lower=True)
        return np.conj(scipy.linalg.solve_triangular(c_and_lower[0], np.conj(half), trans=1, lower=True))
    else:
        half = scipy.linalg.solve_triangular(c_and_lower[0], np.conj(b), trans=1)
        return scipy.linalg.solve_triangular(c_and_lower[0], np.conj(half))


@expands(scipy.linalg.norm)
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    """Return a norm."""
    return np.linalg.norm(a, ord=ord, axis=axis, keepdims=keepdims)
