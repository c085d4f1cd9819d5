"""Pullbacks and linear maps that a function makes: they keep what their function saw, whatever becomes of it."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from s2sad import grad, linearize, value_and_grad, vjp
from tests.differences import differences

X, Y = np.array([0.3, -0.4, 0.7]), np.array([1.1, 0.6, -0.9])


def an_array_that_is_written(x, y):
    _, pull = vjp(lambda u: u * y, x)
    y *= 2.0
    y[1] = 5.0
    return np.sum(pull(x)[0])


def an_array_of_the_same_name(x, y):
    _, push = linearize(lambda u: u * u * y, x)
    y = y * 2.0
    return np.sum(push(x)) * y[0]


def a_number(x, y):
    k = y[0]
    _, pull = vjp(lambda u: u * k, x)
    k = k * 2.0
    return np.sum(pull(x)[0]) * k


def the_point_itself(x, y):
    k = x[0]
    _, pull = vjp(lambda u: u * u * y[1], k)
    k = k * 2.0
    return pull(1.0)[0] * k


def what_a_helper_sees(x, y):
    k = y[0]

    def inner(u):
        return u * k

    def outer(u):
        return inner(u) * inner(u)

    _, pull = vjp(outer, x[0])
    k = k * 3.0
    return pull(1.0)[0] * inner(x[1])


def a_gradient(x, y):
    k = y[0]
    _, push = linearize(grad(lambda u: u**3 * k), x[0])
    k = k * 3.0
    return push(1.0) * k


def lists(x, y):
    pair, grown = [x[0], y[1]], []
    for v in x:
        grown.append(v * y[0])
    _, push = linearize(lambda u: u * u * pair[0] * pair[1] * sum(grown), x[1])
    pair[0] = 5.0
    grown.append(5.0)
    return push(1.0) * pair[0] * sum(grown)


def a_partial(x, y):
    k = y[0]
    _, push = linearize(functools.partial(lambda a, u: a * u * u, k), x[1])
    k = k * 2.0
    return push(1.0) * k


def in_a_loop(x, y):
    total = 0.0
    _, last = vjp(lambda u: u * x[0], y)
    for k in range(3):
        _, pull = vjp(lambda u: u * u * x[k], y)
        total += np.sum(last(y)[0]) * np.sum(pull(y)[0])
        y = y * 1.5
    return total


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [
    in_a_loop, an_array_that_is_written, an_array_of_the_same_name, a_number, the_point_itself, what_a_helper_sees,
    a_gradient, lists, a_partial,
])  # fmt: skip
def test_value_and_gradient(fun, target):
    value, slopes = value_and_grad(fun, target=target)(X, Y.copy())
    np.testing.assert_allclose(value, fun(X, Y.copy()))
    np.testing.assert_allclose(slopes, differences(lambda x: fun(x, Y.copy()), X), atol=1e-6)
