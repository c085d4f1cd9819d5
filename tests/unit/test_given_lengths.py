"""A whole number that is an argument counts as a length: arrays made by it are known to be equally long."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad

X = np.array([0.4, 0.9, 1.6, 0.7])
DIRECTION = np.array([0.3, -0.7, 1.1, 0.2])


def two_made_alike(x, n):
    u, v = np.zeros(n), np.ones(n)
    u[0] = x[0]
    v[:] = x[1]
    return np.sum(u * v)


def weighted(u, n):
    return np.sum(u * np.ones(n) * u[0])


def by_a_helper(x, n):
    return weighted(np.ones(n) * x[0], n) + weighted(np.ones(1) * x[1], n) + weighted(np.ones(n) * x[2], 1)


def counted_down(x, n):
    z = np.ones(n) * x[0]
    n = n - 1
    return np.sum(z[1:] * np.ones(n) * x[1]) + np.sum(z)


def changed_in_a_loop(x, n):
    total = 0.0
    for k in range(2):
        z = np.full(n, x[k])
        n = 3
        total += np.sum(z * np.ones(3) * x[k + 1])
    return total


def changed_on_a_path(x, n):
    if n > 4:
        n = 2
    return np.sum(np.ones(n) * x[0] * x[:2])


def two_numbers(x, n, m):
    return np.sum(np.ones(n) * x[0] * np.ones(m) * x[1])


def identity_of_a_size(x, n):
    return np.sum(np.identity(x.shape[0]) * x * x) + np.sum(np.identity(n) * x[0]) + np.sum(np.identity(4) * x)


def all_that_is_left(x, n):
    return np.sum(np.reshape(x, (n,)) * np.reshape(x[:1], (n,)))


def counting_to_nowhere(x, n):
    return np.sum(np.arange(n) * x[n]) + x[n]


@pytest.mark.parametrize(
    ("fun", "calls"),
    [
        (two_made_alike, [(3,), (1,)]),
        (by_a_helper, [(3,), (1,)]),
        (counted_down, [(4,), (2,)]),
        (changed_in_a_loop, [(3,), (1,)]),
        (changed_on_a_path, [(2,), (1,), (7,)]),
        (two_numbers, [(3, 3), (3, 1), (1, 3)]),
        (identity_of_a_size, [(3,), (1,)]),
        (all_that_is_left, [(-1,)]),
        (counting_to_nowhere, [(2,), (-1,)]),
    ],
)
def test_each_number_gives_its_own_derivative(fun, calls):
    for numbers in calls:
        expected = (fun(X + 1e-6 * DIRECTION, *numbers) - fun(X - 1e-6 * DIRECTION, *numbers)) / 2e-6
        tangents = (DIRECTION, *[None] * len(numbers))
        gradient = s2sad.grad(fun, target="python")(X, *numbers)
        np.testing.assert_allclose(gradient @ DIRECTION, expected, rtol=1e-7)
        np.testing.assert_allclose(s2sad.jvp(fun, (X, *numbers), tangents, target="python")[1], expected, rtol=1e-7)


def test_no_shapes_are_compared_where_one_number_made_them():
    written = s2sad.differentiate(two_made_alike).source("grad", types="float64[:], int64")
    assert "sum_to_shape" not in written
    assert "sum_to_shape" in s2sad.differentiate(two_numbers).source("grad", types="float64[:], int64, int64")


def decay(y, t, rate, scale=2.0, *more):
    return -rate * y * scale + sum(more) * t


def steps(theta, y):
    for k in range(3):
        y = y + 0.1 * decay(y, 0.1 * k, *theta)
    return y.sum()


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_an_array_is_starred_where_only_its_length_says_how_many_there_are(target):
    """Each length has a derivative of its own: with two items `more` is empty."""
    gradient = s2sad.grad(steps, target=target)
    y = np.array([1.0, 0.5])
    for theta in (X, X[:2], X[:3], X):
        step = 1e-6 * DIRECTION[: len(theta)]
        slope = (steps(theta + step, y) - steps(theta - step, y)) / 2e-6
        assert gradient(theta, y) @ DIRECTION[: len(theta)] == pytest.approx(slope, rel=1e-6)
        _, tangent = s2sad.jvp(steps, (theta, y), (DIRECTION[: len(theta)], None), target=target)
        assert tangent == pytest.approx(slope, rel=1e-6)
