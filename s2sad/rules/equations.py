"""Rules of equations of matrices, each by a linear equation of the same kind.

For the transposed equations the pairing has no conjugate, as JAX has it.
"""

# pyright: reportSelfClsParameterName=false
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.rules.registry import rule
from s2sad.rules.sample import case, complex_values, definite, values


@rule(runtime.solve_sylvester)
class solve_sylvester:
    """Kao & Hennequin 2020, "Automatic differentiation of Sylvester, Lyapunov, and algebraic Riccati equations"."""

    samples = (
        case(definite(3, 3), definite(2, 2), values(3, 2)),
        case(definite(2, 2) + 1j * values(2, 2), definite(2, 2) + 0j, complex_values(2, 2)),
    )
    complex = True

    def tangent(a: Any, b: Any, q: Any, y: Any, a_dot: Any, b_dot: Any, q_dot: Any) -> Any:
        return runtime.solve_sylvester(a, b, q_dot - a_dot @ y - y @ b_dot)

    def adjoint(a: Any, b: Any, q: Any, y: Any, y_bar: Any, a_bar: Any, b_bar: Any, q_bar: Any) -> None:
        right_bar = runtime.solve_sylvester(a.T, b.T, y_bar)
        q_bar += right_bar
        a_bar += -(right_bar @ y.T)
        b_bar += -(y.T @ right_bar)


@rule(runtime.solve_discrete_lyapunov)
class solve_discrete_lyapunov:
    """Kao & Hennequin 2020, the discrete Lyapunov equation."""

    samples = (
        case(0.3 * values(3, 3), values(3, 3)),
        case(0.2 * complex_values(2, 2), complex_values(2, 2, seed=1)),
    )
    complex = True

    def tangent(a: Any, q: Any, y: Any, a_dot: Any, q_dot: Any) -> Any:
        moved = a_dot @ y @ np.conj(a.T) + a @ y @ np.conj(a_dot.T)
        return runtime.solve_discrete_lyapunov(a, q_dot + moved)

    def adjoint(a: Any, q: Any, y: Any, y_bar: Any, a_bar: Any, q_bar: Any) -> None:
        right_bar = runtime.solve_discrete_lyapunov(a.T, y_bar)
        q_bar += right_bar
        a_bar += right_bar @ np.conj(a) @ y.T + np.conj(right_bar.T @ a @ y)


@rule(runtime.solve_continuous_are)
class solve_continuous_are:
    """Kao & Hennequin 2020, the continuous Riccati equation; the symmetric part of tangents and cotangents counts."""

    samples = (case(values(1, 1), values(1, 1, seed=1), np.eye(1), 2.0 * np.eye(1)),)  # others would not stay symmetric

    def tangent(
        a: Any, b: Any, q: Any, r: Any, y: Any, a_dot: Any, b_dot: Any, q_dot: Any, r_dot: Any
    ) -> Any:
        k = np.linalg.solve(r, b.T @ y)
        closed = a - b @ k
        half = y @ (a_dot - b_dot @ k) + 0.5 * (q_dot + k.T @ r_dot @ k)
        return runtime.solve_sylvester(closed.T, closed, -(half + half.T))

    def adjoint(
        a: Any, b: Any, q: Any, r: Any, y: Any, y_bar: Any, a_bar: Any, b_bar: Any, q_bar: Any, r_bar: Any
    ) -> None:
        k = np.linalg.solve(r, b.T @ y)
        closed = a - b @ k
        right_bar = runtime.solve_sylvester(closed, closed.T, -0.5 * (y_bar + y_bar.T))
        moved_bar = 2.0 * y @ right_bar
        a_bar += moved_bar
        b_bar += -(moved_bar @ k.T)
        q_bar += right_bar
        r_bar += k @ right_bar @ k.T


@rule(runtime.solve_discrete_are)
class solve_discrete_are:
    """Kao & Hennequin 2020, the discrete Riccati equation; the symmetric part of tangents and cotangents counts."""

    samples = (case(values(1, 1), values(1, 1, seed=1), np.eye(1), 2.0 * np.eye(1)),)  # others would not stay symmetric

    def tangent(
        a: Any, b: Any, q: Any, r: Any, y: Any, a_dot: Any, b_dot: Any, q_dot: Any, r_dot: Any
    ) -> Any:
        k = np.linalg.solve(r + b.T @ y @ b, b.T @ y @ a)
        closed = a - b @ k
        half = closed.T @ y @ (a_dot - b_dot @ k) + 0.5 * (q_dot + k.T @ r_dot @ k)
        return runtime.solve_discrete_lyapunov(closed.T, half + half.T)

    def adjoint(
        a: Any, b: Any, q: Any, r: Any, y: Any, y_bar: Any, a_bar: Any, b_bar: Any, q_bar: Any, r_bar: Any
    ) -> None:
        k = np.linalg.solve(r + b.T @ y @ b, b.T @ y @ a)
        closed = a - b @ k
        right_bar = runtime.solve_discrete_lyapunov(closed, 0.5 * (y_bar + y_bar.T))
        moved_bar = 2.0 * y @ closed @ right_bar
        a_bar += moved_bar
        b_bar += -(moved_bar @ k.T)
        q_bar += right_bar
        r_bar += k @ right_bar @ k.T


@rule(runtime.sqrtm)
class sqrtm:
    """Higham 2008, "Functions of Matrices", section 6.1: the change of the root solves a Sylvester equation."""

    samples = (case(definite(3, 3)), case(definite(2, 2) + 1j * values(2, 2)))
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any) -> Any:
        return runtime.solve_sylvester(y, y, a_dot)

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any) -> None:
        a_bar += runtime.solve_sylvester(y.T, y.T, y_bar)
