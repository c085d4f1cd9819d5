"""Jacobians, a run for each direction, of functions that call themselves and read arrays from outside."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import differences

X = np.array([0.5, 0.8])
WEIGHTS = np.array([1.0, 2.0])
LONGER = np.array([1.0, 2.0, 3.0])
MATRIX = np.array([[1.0, 0.5], [-0.3, 2.0], [0.7, 0.1]])


def power(c, k):
    if k == 0:
        return 1.0
    return c * power(c, k - 1)


def down(v, k, c):
    if k == 0:
        return c
    return down(v, k - 1, c * v[k - 1])


def scaled(x):
    return WEIGHTS * power(x[0], 3) * x


def total(x):
    return np.sum(WEIGHTS * x) * power(x[0], 3)


def of_another_length(x):
    return power(x[0], 3) * LONGER[2] * x[1] * LONGER


def of_another_rank(x):
    return MATRIX @ x * down(x, x.size, x[0])


def several(x):
    return down(x, x.size, WEIGHTS[1] * x[1]) * (MATRIX.T @ (LONGER * power(x[1], 2)))


def closed_over():
    inner = np.array([0.3, -1.2])

    def f(x):
        return down(x, x.size, inner @ x) * inner

    return f


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [scaled, total, of_another_length, of_another_rank, several, closed_over()])
def test_jacobians_and_hessians(fun, target):
    want = differences(fun, X)
    for jacobian in (s2sad.jacfwd, s2sad.jacrev):
        np.testing.assert_allclose(jacobian(fun, target=target)(X), want, rtol=1e-7, atol=1e-8)

    def summed(x):
        return np.sum(fun(x) ** 2)

    curvature = differences(s2sad.grad(summed, target="python"), X)
    np.testing.assert_allclose(s2sad.hessian(summed, target=target)(X), curvature, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_through_a_pullback(target):
    def pulled(x):
        return s2sad.vjp(scaled, x, target=target)[1](WEIGHTS)[0]

    want = differences(lambda x: differences(scaled, x, 1e-4).T @ WEIGHTS, X, 1e-4)
    np.testing.assert_allclose(s2sad.jacfwd(pulled, target=target)(X), want, rtol=1e-5, atol=1e-6)
