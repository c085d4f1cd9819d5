"""`stop_gradient` is a constant to every derivative, not to the first alone."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import differences

X = np.array([0.3, 0.7, -0.2])
still = s2sad.stop_gradient


def times_itself(x):
    return np.sum(still(x) * x + still(x) ** 2 * np.sin(x))


def in_turns(x):
    total = 0.0
    for i in range(3):
        held = still(x[i] * x[i])
        total += held * np.sin(x[i])
    return total


@s2sad.custom_jvp
def square(x):
    return x * x


@square.defjvp
def _(primals, tangents):
    return primals[0] ** 2, 2.0 * still(primals[0]) * tangents[0]


@pytest.mark.parametrize("target", ["python", "cpu"])
class TestEveryDerivative:
    def test_hessians(self, target):
        want = np.diag(-(X**2) * np.sin(X))
        for fun in (times_itself, in_turns):
            np.testing.assert_allclose(s2sad.hessian(fun, target=target)(X), want, atol=1e-15)
            np.testing.assert_allclose(s2sad.hvp(fun, (X,), (X,), target=target), want @ X, atol=1e-15)
            gradient = s2sad.grad(fun, target=target)
            np.testing.assert_allclose(s2sad.jvp(gradient, (X,), (X,), target=target)[1], want @ X, atol=1e-15)
            np.testing.assert_allclose(s2sad.linearize(gradient, X)[1](X), want @ X, atol=1e-15)
            np.testing.assert_allclose(s2sad.vjp(gradient, X)[1](X)[0], want @ X, atol=1e-15)
            np.testing.assert_allclose(s2sad.jacrev(gradient, target=target)(X), want, atol=1e-15)

    def test_inside_another_function(self, target):
        def weighted(x):
            return np.sum(s2sad.vmap(s2sad.grad(lambda v: still(v) * v))(x) * x)

        np.testing.assert_allclose(s2sad.grad(weighted, target=target)(X), X)

    def test_in_a_rule(self, target):
        first = s2sad.grad(square, target=target)
        assert first(1.5) == 3.0
        assert s2sad.grad(first, target=target)(1.5) == 0.0

    def test_what_is_held_by_the_compiler_has_its_second_derivatives(self, target):
        def soft(x):
            largest = np.max(x)
            shares = np.exp(x - largest)
            return np.sum(shares / shares.sum() * np.arange(3.0)) + np.log(np.sum(shares)) + largest

        want = differences(s2sad.grad(soft, target="python"), X)
        np.testing.assert_allclose(s2sad.hessian(soft, target=target)(X), want, atol=1e-8)
