"""Helpers whose loops change the length of their array: each call has lengths of its own."""

from __future__ import annotations

import numpy as np
import pytest

from tests.differences import assert_derivatives

X = np.array([1.0, 3.0, -2.0, 0.5, 0.7, 0.3, 1.1, -0.4])


def shrunk(w, n):
    for _ in range(n):
        w = w[1:] - w[:-1]
    return w


def coarse(w, n):
    for _ in range(n):
        w = 0.5 * (w[::2] + w[1::2])
    return w


def down_to(w, n):
    while len(w) > n:
        w = 0.3 * w[:-1] * w[1:]
    return w


def doubled(w, n):
    for _ in range(n):
        w = np.repeat(w, 2)
    return w


def twice(x):
    return np.sum(shrunk(x, 3) ** 2) + np.sum(shrunk(x, 1) ** 3)


def halves(x):
    p, q = coarse(x, 2), coarse(x, 1)
    return np.sum(p**2) + np.sum(q**3)


def levels(x):
    return np.sum(down_to(x, 2) ** 2) + np.sum(np.sin(down_to(x, 4)))


def up(x):
    a, b = doubled(x, 2), doubled(x, 1)
    return np.sum(np.exp(0.1 * a)) + np.sum(b * b)


def differences_of_three_orders(x):
    return np.sum(np.diff(x, n=3) ** 2) + np.sum(np.diff(x, n=1) ** 2) + np.sum(np.sin(np.diff(x, n=2)))


def along_two_axes(x):
    m = np.reshape(x, (4, 2)) * np.ones((1, 2))
    return np.sum(np.diff(np.diff(m, axis=0), axis=1) ** 2) + np.sum(np.diff(m, n=2, axis=0) ** 2)


def in_a_loop(x):
    total = 0.0
    for k in range(1, 4):
        a, b = shrunk(x, k), shrunk(x, 4 - k)
        total += np.sum(a**2) * k + np.sum(np.cos(b))
    return total


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [
    twice, halves, levels, up, differences_of_three_orders, along_two_axes, in_a_loop,
])  # fmt: skip
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)
