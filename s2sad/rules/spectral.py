"""Eigenvalues and singular values, with their vectors.

For the transposed formulas the pairing has no conjugate, as JAX has it: `x_bar` pairs with `x_dot`
as the real part of `sum(x_bar * x_dot)`. Of a real symmetric matrix NumPy reads one triangle, and
so does the derivative; a complex matrix is taken for Hermitian as a whole, `(a + a^H) / 2`, as in
JAX. Eigenvectors of equal eigenvalues have no derivative: it comes out as NaN or infinity.
"""

# pyright: reportSelfClsParameterName=false, reportPossiblyUnboundVariable=false
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.rules.registry import rule
from s2sad.rules.sample import case, complex_values, definite, values

_SYMMETRIC = definite(3, 3) + definite(3, 3).T + np.diag([0.0, 1.0, 3.0])
_HERMITIAN = _SYMMETRIC + 1j * (values(3, 3) - values(3, 3).T)
_BATCH = np.stack([_SYMMETRIC, _SYMMETRIC @ _SYMMETRIC])


@rule(np.linalg.eigh)
class eigh:
    """Giles 2008, section 3.1; complex as in JAX, an eigenvector moving at right angles to itself.

    Where eigenvalues are equal but for rounding, the turn of their eigenvectors into each other is
    NaN, unless nothing turns them.
    """

    samples = (
        case(_SYMMETRIC),
        case(_SYMMETRIC, UPLO="U"),
        case(_BATCH),
    )
    results = ("eigenvalues", "eigenvectors")
    only = (("UPLO", ("L", "U")),)
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any, *, UPLO: Any = "L") -> Any:
        w, v = y
        if np.iscomplexobj(a):
            full = 0.5 * (a_dot + np.conj(np.matrix_transpose(a_dot)))
        elif UPLO == "L":
            full = np.tril(a_dot) + np.matrix_transpose(np.tril(a_dot, k=-1))
        else:
            full = np.triu(a_dot) + np.matrix_transpose(np.triu(a_dot, k=1))
        rotated = np.conj(np.matrix_transpose(v)) @ full @ v
        eye = np.eye(a.shape[-1], dtype=w.dtype)
        row, column = w[..., None, :], w[..., :, None]
        near = np.abs(row - column) <= 1e3 * np.finfo(w.dtype).eps * (np.abs(row) + np.abs(column))
        gaps = np.where(near & (eye == 0.0) & (rotated != 0.0), np.nan, row - column) + eye
        w_dot = np.real(np.sum(rotated * eye, axis=-1))
        return w_dot, v @ (rotated * ((1.0 - eye) / gaps))

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any, *, UPLO: Any = "L") -> None:
        w, v = y
        w_bar, v_bar = y_bar
        if v_bar is None:
            full = np.conj(v) * w_bar[..., None, :] @ np.matrix_transpose(v)
        else:
            eye = np.eye(a.shape[-1], dtype=w.dtype)
            inner = np.matrix_transpose(v) @ v_bar
            row, column = w[..., None, :], w[..., :, None]
            near = np.abs(row - column) <= 1e3 * np.finfo(w.dtype).eps * (np.abs(row) + np.abs(column))
            gaps = np.where(near & (eye == 0.0) & (inner != 0.0), np.nan, row - column) + eye
            inner = inner * ((1.0 - eye) / gaps)
            if w_bar is None:
                full = np.conj(v) @ inner @ np.matrix_transpose(v)
            else:
                full = np.conj(v) @ (inner + w_bar[..., None, :] * eye) @ np.matrix_transpose(v)
        if np.iscomplexobj(a):
            a_bar += 0.5 * (full + np.conj(np.matrix_transpose(full)))
        elif UPLO == "L":
            a_bar += np.tril(full) + np.tril(np.matrix_transpose(full), k=-1)
        else:
            a_bar += np.triu(full) + np.triu(np.matrix_transpose(full), k=1)


@rule(np.linalg.eigvalsh)
class eigvalsh:
    """Giles 2008, section 3.1: an eigenvalue moves by the change within its own eigenvector."""

    samples = (
        case(_SYMMETRIC),
        case(_SYMMETRIC, UPLO="U"),
        case(_BATCH),
    )
    only = (("UPLO", ("L", "U")),)
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any, *, UPLO: Any = "L") -> Any:
        v = np.linalg.eigh(a, UPLO=UPLO)[1]
        if np.iscomplexobj(a):
            full = 0.5 * (a_dot + np.conj(np.matrix_transpose(a_dot)))
        elif UPLO == "L":
            full = np.tril(a_dot) + np.matrix_transpose(np.tril(a_dot, k=-1))
        else:
            full = np.triu(a_dot) + np.matrix_transpose(np.triu(a_dot, k=1))
        return np.real(np.sum(np.conj(v) * (full @ v), axis=-2))

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any, *, UPLO: Any = "L") -> None:
        v = np.linalg.eigh(a, UPLO=UPLO)[1]
        full = np.conj(v) * y_bar[..., None, :] @ np.matrix_transpose(v)
        if np.iscomplexobj(a):
            a_bar += 0.5 * (full + np.conj(np.matrix_transpose(full)))
        elif UPLO == "L":
            a_bar += np.tril(full) + np.tril(np.matrix_transpose(full), k=-1)
        else:
            a_bar += np.triu(full) + np.triu(np.matrix_transpose(full), k=1)


@rule(np.linalg.svd)
class svd:
    """Townsend 2016, "Differentiating the singular value decomposition"; complex as in JAX.

    Singular vectors of equal singular values have no derivative. A function that does not depend on
    which are chosen, such as the rotation `u @ vt`, has one nevertheless: reverse mode gives it,
    forward mode NaN. The columns that `full_matrices` adds to a matrix that is not square are any
    basis of what is left: what is made of them has the derivative NaN.
    """

    samples = (
        case(values(3, 3)),
        case(values(4, 3), full_matrices=False),
        case(values(3, 4), full_matrices=False),
        case(values(2, 4, 3), full_matrices=False),
        case(definite(3, 3)),
    )
    results = ("left", "singular", "right")
    complex = True

    def tangent(
        a: Any, y: Any, a_dot: Any, *, full_matrices: bool = True
    ) -> Any:
        left, s, right = y
        k = s.shape[-1]
        u = left[..., :, :k] if full_matrices else left
        vt = right[..., :k, :] if full_matrices else right
        uh = np.conj(np.matrix_transpose(u))
        v = np.conj(np.matrix_transpose(vt))
        eye = np.eye(k, dtype=s.dtype)
        row, column = s[..., None, :], s[..., :, None]
        equal = np.abs(row - column) <= 1e3 * np.finfo(s.dtype).eps * (row + column)  # but for rounding
        apart = np.where(equal & (eye == 0.0), np.nan, row - column)
        mixing = (1.0 - eye) / (apart * (row + column) + eye)
        along = a_dot @ v
        across = uh @ a_dot
        inner = uh @ along
        s_dot = np.real(np.sum(inner * eye, axis=-1))
        leftward = inner * row
        rightward = inner * column
        u_turn = mixing * (leftward + np.conj(np.matrix_transpose(leftward)))
        v_turn = mixing * (rightward + np.conj(np.matrix_transpose(rightward)))
        if np.iscomplexobj(a):
            u_turn = u_turn + 0.5 * (inner - np.conj(np.matrix_transpose(inner))) * eye / row
        u_dot = u @ u_turn + (along - u @ inner) / row
        vt_dot = np.conj(np.matrix_transpose(v_turn)) @ vt + (across - inner @ vt) / column
        if full_matrices:
            lost_left = np.full_like(left[..., :, k:], np.nan)
            lost_right = np.full_like(right[..., k:, :], np.nan)
            u_dot = np.concatenate((u_dot, lost_left), axis=-1)
            vt_dot = np.concatenate((vt_dot, lost_right), axis=-2)
        return u_dot, s_dot, vt_dot

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any, *, full_matrices: bool = True) -> None:
        left, s, right = y
        left_bar, s_bar, right_bar = y_bar
        k = s.shape[-1]
        u = left[..., :, :k] if full_matrices else left
        vt = right[..., :k, :] if full_matrices else right
        if left_bar is None and right_bar is None:
            a_bar += np.conj(u) * s_bar[..., None, :] @ np.conj(vt)
        else:
            eye = np.eye(k, dtype=s.dtype)
            row, column = s[..., None, :], s[..., :, None]
            if left_bar is not None and right_bar is not None:
                u_bar = left_bar[..., :, :k] if full_matrices else left_bar
                vt_bar = right_bar[..., :k, :] if full_matrices else right_bar
                u_inner = np.matrix_transpose(u) @ u_bar
                v_inner = vt_bar @ np.matrix_transpose(vt)
                u_turn = u_inner - np.conj(np.matrix_transpose(u_inner))
                v_turn = v_inner - np.conj(np.matrix_transpose(v_inner))
                size = np.abs(u_inner) + np.abs(v_inner)
                # Of `u @ vt`, equal singular values leave nothing here but what was rounded off.
                eps = np.finfo(s.dtype).eps
                rounded = np.abs(u_turn - v_turn) <= 64.0 * eps * (size + np.matrix_transpose(size))
                alike = rounded & (np.abs(row - column) <= 1e5 * eps * (row + column))
                apart = np.where(alike, 0.0, u_turn - v_turn) / np.where(alike, 1.0, row - column)
                inner = 0.5 * (1.0 - eye) * (apart + (u_turn + v_turn) / (row + column))
            elif left_bar is not None:
                u_bar = left_bar[..., :, :k] if full_matrices else left_bar
                u_inner = np.matrix_transpose(u) @ u_bar
                u_mixed = (1.0 - eye) / ((row - column) * (row + column) + eye) * u_inner
                inner = (u_mixed + np.conj(np.matrix_transpose(u_mixed))) * row
            elif right_bar is not None:
                vt_bar = right_bar[..., :k, :] if full_matrices else right_bar
                v_inner = vt_bar @ np.matrix_transpose(vt)
                v_mixed = (1.0 - eye) / ((row - column) * (row + column) + eye) * np.matrix_transpose(v_inner)
                inner = (np.conj(v_mixed) + np.matrix_transpose(v_mixed)) * column
            if s_bar is not None:
                inner = inner + s_bar[..., None, :] * eye
            if left_bar is not None and np.iscomplexobj(a):
                inner = inner + (u_inner - np.real(u_inner)) * eye / row
            a_bar += np.conj(u) @ inner @ np.conj(vt)
            if left_bar is not None:
                a_bar += (u_bar - np.conj(u) @ u_inner) / row @ np.conj(vt)
            if right_bar is not None:
                a_bar += np.conj(u) @ ((vt_bar - v_inner @ np.conj(vt)) / column)
            if full_matrices and left_bar is not None:
                rest = left_bar[..., :, k:]
                a_bar += np.sum(np.where(rest == 0.0, rest, np.nan))
            if full_matrices and right_bar is not None:
                others = right_bar[..., k:, :]
                a_bar += np.sum(np.where(others == 0.0, others, np.nan))


@rule(np.linalg.svdvals)
class svdvals:
    """Giles 2008, section 3.2; of equal or vanishing singular values their sum has a derivative."""

    samples = (
        case(values(4, 3)),
        case(values(3, 4)),
        case(definite(2, 3, 3)),
        case(complex_values(3, 2)),
    )
    complex = True

    def tangent(x: Any, y: Any, x_dot: Any) -> Any:
        u, _, vt = np.linalg.svd(x, full_matrices=False)
        return np.real(np.sum(np.conj(u) * (x_dot @ np.conj(np.matrix_transpose(vt))), axis=-2))

    def adjoint(x: Any, y: Any, y_bar: Any, x_bar: Any) -> None:
        u, _, vt = np.linalg.svd(x, full_matrices=False)
        x_bar += np.conj(u) * y_bar[..., None, :] @ np.conj(vt)


@rule(np.linalg.eig, runtime.real_eig)
class eig:
    """Giles 2008, section 3.1, with LAPACK's scaling: unit length, the largest component real."""

    samples = (
        case(definite(3, 3) + np.diag([0.0, 2.0, 5.0]) + 0.3j * values(3, 3, seed=2)),
        case(np.stack([definite(3, 3) + np.diag([0.0, 2.0, 5.0]) + 0.3j * values(3, 3)] * 2)),
    )
    results = ("eigenvalues", "eigenvectors")
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any) -> Any:
        w, v = y
        rotated = np.linalg.solve(v, a_dot @ v)
        eye = np.eye(a.shape[-1], dtype=a.dtype)
        gaps = w[..., None, :] - w[..., :, None] + eye
        turned = v @ (rotated * ((1.0 - eye) / gaps))
        stretch = np.sum(np.real(np.conj(v) * turned), axis=-2, keepdims=True)
        w_dot = np.sum(rotated * eye, axis=-1)
        if np.iscomplexobj(a):
            size = np.abs(v)
            largest = size == np.max(size, axis=-2, keepdims=True)
            phase = np.sum(np.where(largest, turned / v, 0.0), axis=-2, keepdims=True)
            return w_dot, turned - v * (stretch + (phase - np.real(phase)))
        else:
            return w_dot, turned - v * stretch

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any) -> None:
        w, v = y
        w_bar, v_bar = y_bar
        eye = np.eye(a.shape[-1], dtype=a.dtype)
        if v_bar is None:
            inner = w_bar[..., None, :] * eye
        else:
            along = np.sum(v_bar * v, axis=-2, keepdims=True)
            turned = v_bar - np.real(along) * np.conj(v)
            if np.iscomplexobj(a):
                size = np.abs(v)
                largest = size == np.max(size, axis=-2, keepdims=True)
                turned = turned - np.where(largest, (along - np.real(along)) / v, 0.0)
            gaps = w[..., None, :] - w[..., :, None] + eye
            inner = (np.matrix_transpose(v) @ turned) * ((1.0 - eye) / gaps)
            if w_bar is not None:
                inner = inner + w_bar[..., None, :] * eye
        a_bar += np.linalg.solve(np.matrix_transpose(v), inner @ np.matrix_transpose(v))


@rule(np.linalg.eigvals, runtime.real_eigvals)
class eigvals:
    """Giles 2008, section 3.1."""

    samples = (
        case(definite(3, 3) + np.diag([0.0, 2.0, 5.0]) + 0.3j * complex_values(3, 3)),
        case(definite(3, 3) + definite(3, 3).T),
    )
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any) -> Any:
        if np.iscomplexobj(a):
            v = np.linalg.eig(a)[1]
        else:
            v = runtime.real_eig(a)[1]
        eye = np.eye(a.shape[-1], dtype=a.dtype)
        return np.sum(np.linalg.solve(v, a_dot @ v) * eye, axis=-1)

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any) -> None:
        if np.iscomplexobj(a):
            v = np.linalg.eig(a)[1]
        else:
            v = runtime.real_eig(a)[1]
        spread = y_bar[..., :, None] * np.matrix_transpose(v)
        a_bar += np.linalg.solve(np.matrix_transpose(v), spread)
