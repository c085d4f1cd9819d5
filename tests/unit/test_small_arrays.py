"""Small arrays of the derivative's own become numbers; a call whose result only gives a shape is left out."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, -0.4, 1.3])


def error_of(x):
    error = np.empty(2)
    error[0] = x[0] * x[1]
    error[1] = np.sin(x[2]) * x[0]
    return error


def one_item(x):
    return error_of(x)[0]


def both_items(x):
    e = error_of(x)
    return e[0] * e[1] + e[-1]


def in_a_loop(x):
    total = 0.0
    for i in range(3):
        e = error_of(x * (i + 1))
        total += e[0] ** 2 + e[1]
    return total


def in_a_branch(x):
    e = error_of(x)
    if x[0] > 0.5:
        e[0] = e[0] * e[1]
    else:
        e[1] = 2.0 * e[0]
    return e[0] + e[1]


def added_to(x):
    e = np.zeros(2)
    for i in range(3):
        e[0] += x[i]
        e[1] += e[0] * x[i]
    return e[1]


def matrix_of_items(x):
    a = np.empty((2, 2))
    a[0, 0], a[0, 1], a[1, 0], a[1, 1] = x[0], x[1], x[2], x[0] * x[2]
    return a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]


def slope(y):
    dy = np.empty(2)
    dy[0] = y[1]
    dy[1] = -np.sin(y[0])
    return dy


def pendulum(x):
    y = x[:2].copy()
    for _ in range(4):
        k = slope(y)
        y = y + 0.1 * slope(y + 0.05 * k)
    return y[0] * y[1]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    "fun", [one_item, both_items, in_a_loop, in_a_branch, added_to, matrix_of_items, pendulum]
)  # fmt: skip
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)


def test_only_the_adjoint_is_called():
    derivative = s2sad.differentiate(one_item)
    derivative.grad(X)
    text = derivative.source("grad")
    assert "= error_of(" not in text
    assert "np.copy" not in text


def refusing(x):
    if x[0] < 0.0:
        raise ValueError("negative")
    return error_of(x)


def first_of_refusing(x):
    return refusing(x)[0]


def three_times(x):
    assert x[0] >= 0.0, "negative"
    return 3.0 * x


def sum_of_three_times(x):
    return np.sum(three_times(x))


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(("fun", "kind"), [(first_of_refusing, ValueError), (sum_of_three_times, AssertionError)])
def test_a_helper_that_refuses_is_called_all_the_same(fun, kind, target):
    gradient = s2sad.grad(fun, target=target)
    gradient(X)
    with pytest.raises(kind, match="negative"):
        gradient(-X)
