"""Equations of Sylvester, Lyapunov and Riccati, and the square root of a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import s2sad
from tests.differences import also_on, differences

BOTH = pytest.mark.parametrize("target", ["python", "cpu"])
RNG = np.random.default_rng(5)
X = RNG.normal(size=4)
A, W = RNG.normal(size=(4, 4)), RNG.normal(size=(4, 4))
B = RNG.normal(size=(4, 2))


def of_sylvester(x):
    left, right = 4.0 * np.eye(4) + np.outer(x, x), np.array([[3.0, x[0]], [x[1], 2.0]])
    return np.sum(scipy.linalg.solve_sylvester(left, right, B * x[:, None]) ** 2)


def of_lyapunov(x):
    a = 0.2 * A + np.diag(x) - 3.0 * np.eye(4)
    p = scipy.linalg.solve_continuous_lyapunov(a, np.outer(x, x) + W)
    return np.sum(W * p) + np.sum(scipy.linalg.solve_discrete_lyapunov(0.2 * a, p) ** 2)


def of_more_rows(x):
    a = 0.3 * np.outer(np.arange(12.0) / 12.0, np.repeat(x, 3)) + 0.1 * np.eye(12)
    return np.sum(scipy.linalg.solve_discrete_lyapunov(a, np.eye(12), method="bilinear") ** 2)


def of_complex_numbers(x):
    a, b = 0.2 * W + 1j * np.diag(x) - 3.0 * np.eye(4), A * 0.1 + 2.0j * np.eye(4)
    y = scipy.linalg.solve_sylvester(a, b, np.outer(x, 1j * x))
    z = scipy.linalg.solve_discrete_lyapunov(0.2 * a, y)
    return np.sum(np.abs(y) ** 2) + np.sum(np.abs(scipy.linalg.solve_continuous_lyapunov(a, z)) ** 2)


def regulator(x):
    """Its cost from one state: the weights, what is steered and how vary."""
    a, b = A + np.diag(x), B * (1.0 + x[0] ** 2)
    q, r = np.diag(1.0 + x * x), np.array([[2.0, 0.3 * x[1]], [0.3 * x[1], 1.0]])
    return x @ scipy.linalg.solve_continuous_are(a, b, q, r) @ X


def regulator_by_steps(x):
    a, b = 0.5 * A + np.diag(x), B * (1.0 + x[0] ** 2)
    q, r = np.diag(1.0 + x * x), np.array([[2.0, 0.3 * x[1]], [0.3 * x[1], 1.0]])
    p = scipy.linalg.solve_discrete_are(a, b, q, r)
    k = np.linalg.solve(r + b.T @ p @ b, b.T @ p @ a)
    return np.sum(k * k) + np.sum(W * p)


def steered_by_one(x):
    p = scipy.linalg.solve_continuous_are(A, np.reshape(x, (4, 1)), np.eye(4), [[2.0]])
    return np.sum(p)


def rooted(x):
    return np.sum(W * scipy.linalg.sqrtm(0.3 * A + np.outer(x, x) + 3.0 * np.eye(4)))


def complex_root(x):
    return np.sum(np.abs(scipy.linalg.sqrtm(0.3 * A + 1j * np.outer(x, x) + 3.0 * np.eye(4)) - W) ** 2)


PROGRAMS = [
    of_sylvester, of_lyapunov, of_more_rows, of_complex_numbers, regulator, regulator_by_steps, steered_by_one, rooted,
    complex_root,
]  # fmt: skip


@BOTH
@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives(program: Any, target: str) -> None:
    bar = differences(program, X)
    value, gradient = s2sad.value_and_grad(program, target=target)(X)
    np.testing.assert_allclose(value, program(X), rtol=1e-9)
    np.testing.assert_allclose(gradient, bar, rtol=1e-5, atol=1e-6)
    _, along = s2sad.jvp(program, (X,), (np.cos(X),), target=also_on(target, program))
    np.testing.assert_allclose(along, bar @ np.cos(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("program", PROGRAMS)
def test_second_derivatives(program: Any) -> None:
    expected = differences(s2sad.grad(program, target="python"), X)
    found = s2sad.hessian(program, target=also_on("cpu", program, 4))(X)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@BOTH
def test_weights_that_are_arguments(target: str) -> None:
    """Their cotangents are symmetric, as the equation asks of the weights."""
    for solve in (scipy.linalg.solve_continuous_are, scipy.linalg.solve_discrete_are):

        def cost(q, r, solve=solve):
            return np.sum(W * solve(A, B, q, r))

        q, r = np.eye(4) + 0.1 * (A + A.T) @ (A + A.T), np.array([[2.0, 0.5], [0.5, 1.0]])
        q_bar, r_bar = s2sad.grad(cost, argnums=(0, 1), target=target)(q, r)
        np.testing.assert_allclose(q_bar, q_bar.T, rtol=1e-8, atol=1e-10)
        q_dot, r_dot = W + W.T, np.array([[0.3, -1.0], [-1.0, 0.7]])
        along = (cost(q + 1e-6 * q_dot, r + 1e-6 * r_dot) - cost(q - 1e-6 * q_dot, r - 1e-6 * r_dot)) / 2e-6
        np.testing.assert_allclose(np.sum(q_bar * q_dot) + np.sum(r_bar * r_dot), along, rtol=1e-5)


@BOTH
def test_what_is_refused(target: str) -> None:
    def root(a):
        return np.sum(scipy.linalg.sqrtm(a))

    def steered(a, q):
        return np.sum(scipy.linalg.solve_continuous_are(a, B, q, np.eye(2)))

    def generalised(a):
        return np.sum(scipy.linalg.solve_discrete_are(a, B, np.eye(4), np.eye(2), s=B))

    with pytest.raises(ValueError, match="no real square root"):
        s2sad.grad(root, target=target)(np.diag([1.0, -2.0, 3.0]))
    with pytest.raises(ValueError, match="symmetric"):
        s2sad.grad(steered, target=target)(A, W)
    with pytest.raises(s2sad.S2SADError, match="with `e` or `s`"):
        s2sad.grad(generalised, target=target)(A)
    with pytest.raises(s2sad.S2SADError, match="`sqrtm` of several matrices"):
        s2sad.grad(root, target=target)(np.stack((A, A)))


def test_single_precision() -> None:
    x = X.astype(np.float32)
    for program in (of_lyapunov, rooted):
        compiled = s2sad.grad(program)(x)
        np.testing.assert_allclose(compiled, s2sad.grad(program, target="python")(X), rtol=1e-3, atol=1e-3)
