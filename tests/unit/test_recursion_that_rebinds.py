"""Recursive functions that bind their own parameters to something else, on some paths: what the caller gave stays."""

from __future__ import annotations

import numpy as np
import pytest

from tests.differences import assert_derivatives

X = np.array([0.6, 0.3, 0.7, 1.2])


def bisect(f0, a, b, depth):
    m = 0.5 * (a + b)
    if depth == 0:
        return m
    if m * m * m + f0 * m - 1.0 > 0:
        b = m
    else:
        a = m
    return bisect(f0, a, b, depth - 1) * 1.0001


def of_numbers(x):
    return bisect(x[0], x[1], x[3] * 2, 5) + x[0] * x[1]


def squared(x, depth):
    if depth > 0:
        x = squared(np.sin(x), depth - 1)
    return x * x


def of_an_array(x):
    return np.sum(squared(x, 2))


def bound_in_a_loop(x, depth):
    for _ in range(2):
        x = np.sin(x)
    if depth > 0:
        return bound_in_a_loop(x * x, depth - 1)
    return x**3


def of_a_loop(x):
    return np.sum(bound_in_a_loop(x, 2))


def traced(p, d, n):
    if n == 0:
        return p[0] * p[1]
    p = p + 0.3 * d
    if p[1] > 0.5:
        d = d * np.array([1.0, -0.8])
    return traced(p, d, n - 1) + p[0] * 0.1


def of_a_ray(x):
    return traced(x[:2], x[2:], 4)


def exchanged(x, y, n):
    if n % 2 == 0:
        y = y * x
        x = x + 1.0
    if n == 0:
        return x * y
    x, y = y, x
    return exchanged(x, y * 0.5, n - 1) + x


def of_exchanged_numbers(x):
    return exchanged(x[0], x[1], 4)


def halved(pair, n):
    a, b = pair
    if n == 0:
        return a * b
    while a > b:
        a = a * 0.5
    pair = (a + b, b * 1.1)
    return halved(pair, n - 1)


def of_a_pair(x):
    return halved((x[0] + 2.0, x[1]), 3)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [of_numbers, of_an_array, of_a_loop, of_a_ray, of_exchanged_numbers, of_a_pair],
                         ids=lambda fun: fun.__name__)  # fmt: skip
def test_derivatives_are_those_of_the_program(fun, target):
    assert_derivatives(fun, X, target)
