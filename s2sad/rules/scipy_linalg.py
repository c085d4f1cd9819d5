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
from s2sad.ir import ops
from s2sad.rules.registry import expands, rule
from s2sad.rules.sample import case, complex_values, definite, values


@rule(runtime.exchange_rows)
class exchange_rows:
    """A permutation, whose transpose is the one back."""

    samples = (
        case(values(3), np.array([1, 2, 2]), trans=False),
        case(values(3, 2), np.array([2, 2, 2]), trans=True),
    )
    complex = True

    def tangent(x: Any, pivots: Any, y: Any, x_dot: Any, *, trans: bool) -> Any:
        return runtime.exchange_rows(x_dot, pivots, trans=trans)

    def adjoint(x: Any, pivots: Any, y: Any, y_bar: Any, x_bar: Any, *, trans: bool) -> None:
        x_bar += runtime.exchange_rows(y_bar, pivots, trans=not trans)


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

    samples = (case(0.5 * values(3, 3)), case(0.5 * complex_values(2, 2)), case(0.5 * values(2, 3, 3)))
    complex = True

    def tangent(A: Any, y: Any, A_dot: Any) -> Any:
        n = A.shape[-1]
        above = np.concatenate((A, A_dot), axis=-1)
        below = np.concatenate((np.zeros_like(A), A), axis=-1)
        return scipy.linalg.expm(np.concatenate((above, below), axis=-2))[..., :n, n:]

    def adjoint(A: Any, y: Any, y_bar: Any, A_bar: Any) -> None:
        n = A.shape[-1]
        back = np.swapaxes(A, -1, -2)
        above = np.concatenate((back, y_bar), axis=-1)
        below = np.concatenate((np.zeros_like(A), back), axis=-1)
        A_bar += scipy.linalg.expm(np.concatenate((above, below), axis=-2))[..., :n, n:]


@rule(scipy.linalg.lu_factor)
class lu_factor:
    """Axen 2021, "Differentiating the LU decomposition", of square matrices.

    Which rows are exchanged is constant.
    """

    samples = (
        case(definite(3, 3)),
        case(values(4, 4)),
        case(values(3, 3) + 1j * definite(3, 3)),
    )
    results = ("factors", "pivots")
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any) -> Any:
        lu, pivots = y
        moved = runtime.exchange_rows(a_dot, pivots, trans=False)
        half = scipy.linalg.solve_triangular(lu, moved, lower=True, unit_diagonal=True)
        inside = scipy.linalg.solve_triangular(lu, half.T, trans=1).T
        below = np.tril(inside, k=-1)
        return (below + np.tril(lu, k=-1) @ below + np.triu(inside) @ np.triu(lu),)

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any) -> None:
        lu, pivots = y
        lu_bar, _ = y_bar
        below = np.tril(lu_bar, k=-1)
        inside_bar = np.tril(below + np.tril(lu, k=-1).T @ below, k=-1) + np.triu(np.triu(lu_bar) @ np.triu(lu).T)
        half_bar = scipy.linalg.solve_triangular(lu, inside_bar.T).T
        moved_bar = scipy.linalg.solve_triangular(lu, half_bar, trans=1, lower=True, unit_diagonal=True)
        a_bar += runtime.exchange_rows(moved_bar, pivots, trans=True)


@expands(scipy.linalg.lu_factor, counts=(1,))
def lu_factor_anew(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the factors, in memory of their own."""
    factors, pivots = scipy.linalg.lu_factor(a)
    return factors, pivots


@expands(scipy.linalg.lu_solve)
def lu_solve(lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Return the solution by the factors that `lu_factor` gives, of the transposed system too."""
    factors, pivots = lu_and_piv
    if trans == 0:
        moved = runtime.exchange_rows(b, pivots, trans=False)
        half = scipy.linalg.solve_triangular(factors, moved, lower=True, unit_diagonal=True)
        return scipy.linalg.solve_triangular(factors, half)
    else:
        half = scipy.linalg.solve_triangular(factors, _conjugate(b) if trans == 2 else b, trans=1)
        moved = scipy.linalg.solve_triangular(factors, half, trans=1, lower=True, unit_diagonal=True)
        back = runtime.exchange_rows(moved, pivots, trans=True)
        return _conjugate(back) if trans == 2 else back


@expands(scipy.linalg.lu)
def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> Any:
    """Return the factors of a square matrix, and which rows were exchanged unless the lower factor's are to be."""
    if a.ndim != 2:
        ops.refuse("`lu` of several matrices has no derivative rule", "Factorise one at a time.")
    factors, pivots = scipy.linalg.lu_factor(a)
    eye = np.eye(a.shape[0], dtype=factors.dtype)
    lower, upper = np.tril(factors, k=-1) + eye, np.triu(factors)
    if permute_l:
        return runtime.exchange_rows(lower, pivots, trans=True), upper
    elif p_indices:
        return runtime.exchange_rows(np.arange(a.shape[0], dtype=np.int32), pivots, trans=True), lower, upper
    else:
        return runtime.exchange_rows(np.real(eye), pivots, trans=True), lower, upper


@expands(scipy.linalg.solve_triangular, when=lambda known: known.get("trans", 0) not in (0, 1))
def solve_transposed(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """Return the solution of the system that a letter names, or of the conjugated one."""
    if trans == "N" or trans == "T":
        which = 0 if trans == "N" else 1
        return scipy.linalg.solve_triangular(a, b, trans=which, lower=lower, unit_diagonal=unit_diagonal)
    else:
        back = scipy.linalg.solve_triangular(a, np.conj(b), trans=1, lower=lower, unit_diagonal=unit_diagonal)
        return np.conj(back)


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
    """Return the determinant, in double precision of single-precision matrices too."""
    return np.linalg.det(a.astype(np.float64) if a.dtype == np.float32 else a)


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
    solution, residuals, rank, sizes = np.linalg.lstsq(a, b, runtime.precision(a) if cond is None else cond)
    return solution, residuals, int(rank), sizes


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
    factor, lower = c_and_lower
    if lower:
        half = scipy.linalg.solve_triangular(factor, b, lower=True)
        return _conjugate(scipy.linalg.solve_triangular(factor, _conjugate(half), trans=1, lower=True))
    else:
        half = scipy.linalg.solve_triangular(factor, _conjugate(b), trans=1)
        return scipy.linalg.solve_triangular(factor, _conjugate(half))


@expands(scipy.linalg.solve_banded)
def solve_banded(
    l_and_u: Any, ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Return the solution of a system with few diagonals."""
    below, above = l_and_u
    if below + above + 1 != ab.shape[0]:
        raise ValueError("l + u + 1 is not the number of diagonals in ab")
    return runtime.solve_banded(ab, b, above, trans=False)


@expands(scipy.linalg.solveh_banded)
def solveh_banded(
    ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, lower: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """Return the solution by the diagonals on one side, those on the other being their conjugates."""
    count, n = ab.shape[0] - 1, ab.shape[1]
    whole = np.zeros((2 * count + 1, n), dtype=ab.dtype)
    if lower:
        whole[count:] = ab
        for k in range(1, count + 1):
            whole[count - k, k:] = _conjugate(ab[k, : n - k])
    else:
        whole[: count + 1] = ab
        for k in range(1, count + 1):
            whole[count + k, : n - k] = _conjugate(ab[count - k, k:])
    return runtime.solve_banded(whole, b, count, trans=False)


@expands(scipy.linalg.solve_sylvester)
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Return the solution of `a @ x + x @ b = q`."""
    return runtime.solve_sylvester(a, b, q)


@expands(scipy.linalg.solve_continuous_lyapunov)
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """Return the solution of `a @ x + x @ a.conj().T = q`."""
    return runtime.solve_sylvester(a, _conjugate(a.T), q)


@expands(scipy.linalg.solve_discrete_lyapunov)
def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    """Return the solution of `x = a @ x @ a.conj().T + q`."""
    return runtime.solve_discrete_lyapunov(a, q)


@expands(scipy.linalg.solve_continuous_are)
def solve_continuous_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """Return the solution that stabilises, of the equation with `e` and `s` neither."""
    if e is not None or s is not None:
        ops.refuse("`solve_continuous_are` with `e` or `s` has no derivative rule", "Transform the equation before.")
    return runtime.solve_continuous_are(np.atleast_2d(a), np.atleast_2d(b), np.atleast_2d(q), np.atleast_2d(r))


@expands(scipy.linalg.solve_discrete_are)
def solve_discrete_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """Return the solution that stabilises, of the equation with `e` and `s` neither."""
    if e is not None or s is not None:
        ops.refuse("`solve_discrete_are` with `e` or `s` has no derivative rule", "Transform the equation before.")
    return runtime.solve_discrete_are(np.atleast_2d(a), np.atleast_2d(b), np.atleast_2d(q), np.atleast_2d(r))


@expands(scipy.linalg.sqrtm)
def sqrtm(A: Any, disp: Any = True, blocksize: Any = None) -> Any:
    """Return the square root."""
    if A.ndim != 2 or not disp:
        ops.refuse("`sqrtm` of several matrices, or with `disp`, has no derivative rule", "Take the root of one.")
    return runtime.sqrtm(A)


def _conjugate(x: Any) -> Any:
    return np.conj(x) if np.iscomplexobj(x) else x


@expands(scipy.linalg.norm)
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    """Return a norm."""
    return np.linalg.norm(a, ord=ord, axis=axis, keepdims=keepdims)


@expands(scipy.linalg.eigh)
def eigh(
    a: Any, b: Any = None, lower: bool = True, eigvals_only: bool = False, overwrite_a: bool = False,
    overwrite_b: bool = False, type: int = 1, check_finite: bool = True,
) -> Any:  # fmt: skip
    """Return the eigenvalues, and the eigenvectors unless only those are asked for."""
    if b is not None:
        ops.refuse("`eigh` of two matrices has no derivative rule", "Divide by a Cholesky factor of the second first.")
    uplo = "L" if lower else "U"
    return np.linalg.eigvalsh(a, UPLO=uplo) if eigvals_only else np.linalg.eigh(a, UPLO=uplo)


@expands(scipy.linalg.eigvalsh)
def eigvalsh(
    a: Any, b: Any = None, lower: bool = True, overwrite_a: bool = False, overwrite_b: bool = False, type: int = 1,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """Return the eigenvalues of the triangle that is read."""
    return eigh(a, b, lower, eigvals_only=True)


@expands(scipy.linalg.svd)
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False, check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:  # fmt: skip
    """Return the singular values, between the singular vectors unless they alone are asked for."""
    return np.linalg.svd(a, full_matrices=full_matrices) if compute_uv else np.linalg.svdvals(a)


@expands(scipy.linalg.svdvals)
def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Return the singular values."""
    return np.linalg.svdvals(a)


@expands(scipy.linalg.block_diag)
def block_diag(*arrs: Any) -> Any:
    """Return the matrices along a diagonal, zeros beside them."""
    blocks = [np.atleast_2d(each) for each in arrs]
    rows = sum([each.shape[0] for each in blocks])
    columns = sum([each.shape[1] for each in blocks])
    made = np.zeros((rows, columns), dtype=np.result_type(*blocks))
    row, column = 0, 0
    for each in blocks:
        made[row : row + each.shape[0], column : column + each.shape[1]] = each
        row, column = row + each.shape[0], column + each.shape[1]
    return made


@expands(scipy.linalg.toeplitz)
def toeplitz(c: Any, r: Any = None) -> Any:
    """Return the matrix that is constant along its diagonals, of its first column and its first row."""
    first, last = np.asarray(c), np.conj(np.asarray(c)) if r is None else np.asarray(r)
    line = np.concatenate((first[::-1], last[1:]))
    return line[np.arange(first.size - 1, -1, -1)[:, None] + np.arange(last.size)[None, :]]


@expands(scipy.linalg.circulant)
def circulant(c: Any) -> Any:
    """Return the matrix whose columns are the first one, turned."""
    turns = np.arange(c.size)
    return np.asarray(c)[(turns[:, None] - turns[None, :]) % c.size]
