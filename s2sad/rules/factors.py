"""Factors of a matrix, and what is computed by them: Cholesky, QR, the determinant, least squares.

For the transposed formulas the pairing has no conjugate, as JAX has it.
"""

# pyright: reportSelfClsParameterName=false, reportPossiblyUnboundVariable=false
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.rules.registry import constant, rule
from s2sad.rules.sample import case, complex_values, definite, values

_SPD = definite(3, 3) @ definite(3, 3).T
constant(runtime.rank_bound, runtime.sure_bound, runtime.precision, runtime.is_singular, runtime.not_positive_definite)

_HPD = _SPD + 1j * (values(3, 3) - values(3, 3).T)


@rule(np.linalg.cholesky)
class cholesky:
    """Murray 2016, section 3; of real numbers NumPy reads one triangle, and so does the derivative.

    A complex matrix is taken for Hermitian as a whole, `(a + a^H) / 2`, as in JAX.
    """

    samples = (
        case(_SPD),
        case(np.stack([_SPD, _SPD + np.eye(3)])),
    )
    only = (("upper", (False,)),)
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any, *, upper: bool = False) -> Any:
        if np.iscomplexobj(a):
            full = 0.5 * (a_dot + np.conj(np.matrix_transpose(a_dot)))
        else:
            full = np.tril(a_dot) + np.matrix_transpose(np.tril(a_dot, k=-1))
        half = runtime.solve_lower(y, full)
        inside = runtime.solve_lower(y, np.conj(np.matrix_transpose(half)))
        return 0.5 * (y @ (np.tril(inside) + np.tril(inside, k=-1)))

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any, *, upper: bool = False) -> None:
        inside = np.tril(np.matrix_transpose(y) @ y_bar)
        if np.iscomplexobj(a):
            masked = 0.5 * (inside + np.tril(inside, k=-1))
            half = runtime.solve_lower(y, masked, trans=1)
            mirrored = runtime.solve_lower(y, np.conj(np.matrix_transpose(half)), trans=1)
            full = np.conj(np.matrix_transpose(mirrored))
            a_bar += 0.5 * (full + mirrored)
        else:
            symmetric = inside + np.matrix_transpose(np.tril(inside, k=-1))
            half = runtime.solve_lower(y, symmetric, trans=1)
            full = 0.5 * runtime.solve_lower(y, np.matrix_transpose(half), trans=1)
            a_bar += np.tril(full) + np.tril(full, k=-1)


@rule(np.linalg.qr)
class qr:
    """Roberts & Roberts 2020, "QR and LQ decomposition matrix backpropagation"; complex as in JAX.

    The leading square block must be regular; its columns alone decide `q`.
    """

    samples = (
        case(values(3, 3)),
        case(values(4, 3)),
        case(values(3, 5)),
        case(values(2, 4, 3)),
        case(complex_values(4, 3)),
        case(complex_values(3, 4)),
    )
    results = ("orthonormal", "triangular")
    only = (("mode", ("reduced",)),)
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any, *, mode: str = "reduced") -> Any:
        q, r = y
        k = r.shape[-2]
        square = np.matrix_transpose(r[..., :, :k])
        moved = np.matrix_transpose(
            runtime.solve_lower(square, np.matrix_transpose(a_dot[..., :, :k]))
        )
        qh = np.conj(np.matrix_transpose(q))
        inner = qh @ moved
        below = np.tril(inner, k=-1)
        turn = below - np.conj(np.matrix_transpose(below))
        if np.iscomplexobj(a):
            turn = turn + (inner - np.real(inner)) * np.eye(k, dtype=r.dtype)
        return moved + q @ (turn - inner), qh @ a_dot - turn @ r

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any, *, mode: str = "reduced") -> None:
        q, r = y
        q_bar, r_bar = y_bar
        k = r.shape[-2]
        if q_bar is None:
            turn_bar = -r_bar @ np.matrix_transpose(r)
            inner = turn_bar
        else:
            inner = np.matrix_transpose(q) @ q_bar
            turn_bar = inner
            if r_bar is not None:
                turn_bar = inner - r_bar @ np.matrix_transpose(r)
        below = np.tril(turn_bar - np.conj(np.matrix_transpose(turn_bar)), k=-1)
        if np.iscomplexobj(a):
            below = below + (turn_bar - np.real(turn_bar)) * np.eye(k, dtype=r.dtype)
        if q_bar is None:
            moved_bar = np.conj(q) @ below
        else:
            moved_bar = q_bar + np.conj(q) @ (below - inner)
        square = np.matrix_transpose(r[..., :, :k])
        solved = runtime.solve_lower(square, np.matrix_transpose(moved_bar), trans=1)
        a_bar[..., :, :k] += np.matrix_transpose(solved)
        if r_bar is not None:
            a_bar += np.conj(q) @ r_bar


@rule(np.linalg.slogdet)
class slogdet:
    """Giles 2008, section 2.2.4; the sign of a real determinant is constant."""

    samples = (
        case(definite(3, 3)),
        case(definite(2, 3, 3)),
        case(definite(3, 3) + 0.5j * values(3, 3)),
    )
    results = ("sign", "logabsdet")
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any) -> Any:
        sign, _ = y
        if a.ndim == 2:
            whole = np.trace(np.linalg.solve(a, a_dot))
        else:
            whole = np.trace(np.linalg.solve(a, a_dot), axis1=-2, axis2=-1)
        if np.iscomplexobj(a):
            return sign * (whole - np.real(whole)), np.real(whole)
        else:
            return np.zeros_like(sign), whole

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any) -> None:
        sign, _ = y
        sign_bar, log_bar = y_bar
        if not np.iscomplexobj(a):
            share = log_bar
        elif sign_bar is None:
            share = log_bar
        else:
            turned = sign_bar * sign
            share = turned - np.real(turned)
            if log_bar is not None:
                share = share + log_bar
        if share is None:
            pass
        elif a.ndim == 2:
            a_bar += share * np.linalg.inv(a).T
        else:
            a_bar += share[..., None, None] * np.matrix_transpose(np.linalg.inv(a))


@rule(np.linalg.pinv)
class pinv:
    """Golub & Pereyra 1973, equation 4.12; where the rank does not change."""

    samples = (
        case(values(4, 2)),
        case(values(2, 4)),
        case(definite(3, 3)),
        case(values(2, 4, 3)),
        case(complex_values(4, 2)),
        case(values(4, 2), 1e-10),
    )
    only = (("hermitian", (False,)),)
    complex = True

    def tangent(a: Any, rcond: Any, y: Any, a_dot: Any, *, hermitian: bool = False) -> Any:
        if rcond is not None and a.ndim == 2:
            y = np.linalg.pinv(a, runtime.sure_bound(a, rcond))
        yh = np.conj(np.matrix_transpose(y))
        ah_dot = np.conj(np.matrix_transpose(a_dot))
        beside = np.eye(a.shape[-2], dtype=a.dtype) - a @ y
        below = np.eye(a.shape[-1], dtype=a.dtype) - y @ a
        return y @ yh @ ah_dot @ beside + below @ ah_dot @ yh @ y - y @ a_dot @ y

    def adjoint(
        a: Any, rcond: Any, y: Any, y_bar: Any, a_bar: Any, *, hermitian: bool = False
    ) -> None:
        if rcond is not None and a.ndim == 2:
            y = np.linalg.pinv(a, runtime.sure_bound(a, rcond))
        yt = np.matrix_transpose(y)
        yc = np.conj(y)
        turned = np.matrix_transpose(y_bar)
        beside = np.eye(a.shape[-2], dtype=a.dtype) - a @ y
        below = np.eye(a.shape[-1], dtype=a.dtype) - y @ a
        a_bar += np.conj(beside @ turned @ y @ np.conj(yt))
        a_bar += yt @ yc @ np.conj(turned @ below)
        a_bar += -(yt @ y_bar @ yt)


@rule(np.linalg.lstsq)
class lstsq:
    """Golub & Pereyra 1973, equation 4.12, applied to `b`; where the rank does not change."""

    samples = (
        case(values(5, 3), values(5, seed=1)),
        case(values(5, 3), values(5, 2, seed=1)),
        case(values(3, 5) + np.eye(3, 5), values(3, seed=1)),
        case(values(5, 3), values(5, seed=1), 1e-10),
        case(complex_values(5, 3), complex_values(5, seed=1)),
    )
    results = ("solution", "residuals", "matrix_rank", "singular")
    complex = True

    def tangent(
        a: Any, b: Any, rcond: Any, y: Any, a_dot: Any, b_dot: Any
    ) -> Any:
        x, residuals = y[0], y[1]
        bound = runtime.rank_bound(a) if rcond is None else runtime.sure_bound(a, rcond)
        inverse = np.linalg.pinv(a, bound)
        inverse_h = np.conj(np.matrix_transpose(inverse))
        gap = b - a @ x
        change = b_dot - a_dot @ x
        ah_dot = np.conj(np.matrix_transpose(a_dot))
        lower = ah_dot @ (inverse_h @ x)
        x_dot = inverse @ (change + inverse_h @ (ah_dot @ gap)) + lower - inverse @ (a @ lower)
        u, _, vt = np.linalg.svd(a, full_matrices=False)
        s_dot = np.sum(np.conj(u) * (a_dot @ np.conj(np.matrix_transpose(vt))), axis=0)
        lost = 2.0 * np.sum(np.conj(gap) * change, axis=0)
        return x_dot, np.real(lost * np.ones_like(residuals)), np.real(s_dot)

    def adjoint(
        a: Any, b: Any, rcond: Any, y: Any, y_bar: Any, a_bar: Any, b_bar: Any
    ) -> None:
        x = y[0]
        x_bar, residuals_bar, _, s_bar = y_bar
        gap = b - a @ x
        if x_bar is not None:
            bound = runtime.rank_bound(a) if rcond is None else runtime.sure_bound(a, rcond)
            inverse = np.linalg.pinv(a, bound)
            inverse_h = np.conj(np.matrix_transpose(inverse))
            right_bar = np.matrix_transpose(inverse) @ x_bar
            twice = inverse @ np.conj(right_bar)
            rest = np.conj(x_bar - np.matrix_transpose(a) @ right_bar)
            lower = inverse_h @ x
            b_bar += right_bar
            if b.ndim == 1:
                a_bar += np.conj(np.outer(gap, np.conj(twice)) + np.outer(lower, np.conj(rest)))
                a_bar += -np.outer(right_bar, x)
            else:
                a_bar += np.conj(gap) @ twice.T + np.conj(lower) @ rest.T
                a_bar += -(right_bar @ x.T)
        if residuals_bar is not None:
            if b.ndim == 1:
                loss_bar = 2.0 * np.conj(gap) * np.sum(residuals_bar)  # none without full rank
                b_bar += loss_bar
                a_bar += -np.outer(loss_bar, x)
            else:
                loss_bar = 2.0 * np.conj(gap) * residuals_bar
                b_bar += loss_bar
                a_bar += -(loss_bar @ x.T)
        if s_bar is not None:
            u, _, vt = np.linalg.svd(a, full_matrices=False)
            a_bar += np.conj(u) * s_bar @ np.conj(vt)
