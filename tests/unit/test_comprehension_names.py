"""The variables of a comprehension are its own, whatever their names mean around it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.differences import assert_derivatives


def in_a_sum(x):
    i = 5.0
    s = sum(i * v for i, v in enumerate(x))
    return s * i


def in_a_list(x):
    v = x[0]
    s = sum([v * v for v in x])
    return s * v


def in_an_array(x):
    i, v = 5.0, x[1]
    s = np.array([a * v + i for i, (a, v) in enumerate(zip(x, x[::-1]))])
    return np.sum(s) * i * v


def in_extremes(x):
    i = 5.0
    high = max(i * v for i, v in enumerate(x))
    low = min((i * v for i, v in enumerate(x)), default=0.0)
    return high * i + low + sum(v for v in x if v > i)


def in_tests(x):
    i = x[0]
    t = 1.0 if any(i > 1 for i in x) else 2.0
    return (t + i) * x[1] if all(v < 10 for i, v in enumerate(x)) else i


def in_a_loop(x):
    i = x[0]
    for _ in range(2):
        s = sum(i * v for i, v in enumerate(x))
        i = i + 0.1 * s
    return s * i


def after_a_loop(x):
    for i, v in enumerate(x):
        last = i * v
    s = sum(v * i for i, v in enumerate(x[:2]))
    return s * v * i + last


def in_a_helper(x):
    def inner(y, v):
        s = sum(v * v for v in y)
        return s * v

    v = x[2]
    return inner(x, x[0]) * v + sum(v for v in x)


def nested(x):
    i, j = x[0], x[1]
    s = sum(sum(i * j * v for j, v in enumerate(x)) for i, v in enumerate(x))
    return s * i * j


PROGRAMS = [in_a_sum, in_a_list, in_an_array, in_extremes, in_tests, in_a_loop, after_a_loop, in_a_helper, nested]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_names_around_keep_their_values(fun, target):
    assert_derivatives(fun, np.array([0.7, 1.3, -0.4]), target)
