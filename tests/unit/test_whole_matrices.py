"""Matrices of whole numbers that LAPACK is given, and products of real arrays with complex ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, 1.3])
SYSTEM, EVEN, LOWER = np.array([[1, 2], [1, 3]]), np.array([[4, 1], [1, 3]]), np.array([[2, 0], [1, 3]])
TURNED = np.array([[1.0, 1.0j], [0.0, 2.0]])


def solved(x):
    return np.sum(np.linalg.solve(SYSTEM, x) ** 2) + np.sum(scipy.linalg.solve_triangular(LOWER, x, lower=True))


def fitted(x):
    return np.sum(np.linalg.lstsq(np.array([[1, 2], [1, 3], [1, 4]]), np.array([x[0], x[1], 1.0]))[0] ** 2)


def factors(x):
    lower, (q, r) = np.linalg.cholesky(EVEN), np.linalg.qr(SYSTEM)
    return np.sum((lower + r) @ x) + np.sum(q @ x) ** 2


def numbers(x):
    total = np.linalg.det(SYSTEM) + np.linalg.slogdet(SYSTEM)[1] + np.linalg.norm(EVEN) + np.linalg.cond(LOWER)
    total += np.linalg.eigvalsh(EVEN)[0] + np.linalg.svd(SYSTEM)[1][0] + np.sum(np.linalg.eigh(EVEN)[0])
    return total * np.sum(x**2) + np.sum(np.linalg.inv(SYSTEM) @ x) + np.sum(np.linalg.pinv(SYSTEM) @ x)


def given_as_an_argument(x):
    def system(a, b):
        return np.sum(np.linalg.solve(a, b) ** 2)

    return system(np.arange(4).reshape(2, 2) + 1, x)


def with_complex_numbers(x):
    real = np.array([[1.0, x[0]], [x[1], 1.0]])
    return np.abs(np.sum(np.kron(real, TURNED))) + np.abs(np.vdot(TURNED[0], x)) + np.abs(np.vdot(real, TURNED))


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [solved, fitted, factors, numbers, given_as_an_argument, with_complex_numbers])
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)


def test_by_the_right_side_of_a_system_of_whole_numbers():
    gradient = s2sad.grad(lambda a, b: np.sum(np.linalg.solve(a, b)), argnums=1)(SYSTEM, X)
    np.testing.assert_allclose(gradient, np.linalg.solve(SYSTEM.T, np.ones(2)), atol=1e-14)
