"""`round(x, n)`: of Python's numbers as Python does it, of NumPy's as NumPy does, on both targets."""

from __future__ import annotations

import math
import random

import numba
import numpy as np
import pytest

import s2sad
from s2sad.runtime import round_decimal


def _numbers():
    draw = random.Random(5)
    for _ in range(4000):
        yield round(draw.uniform(-1e3, 1e3), draw.randrange(8))
        yield draw.randrange(-(10**6), 10**6) / draw.choice([8, 16, 200, 2000, 20000])
        yield draw.gauss(0.0, 1.0) * 10.0 ** draw.randrange(-8, 9)
        yield (draw.randrange(-(10**5), 10**5) + 0.5) * 10.0 ** draw.randrange(-6, 7)
    yield from (0.0, -0.0, -0.001, math.inf, -math.inf, 1e300, 2.675, 1.005, 5e-324, 9007199254740993.0)


@pytest.mark.parametrize("rounded", [round_decimal, numba.njit(round_decimal)])
def test_places_are_python_s(rounded):
    draw = random.Random(6)
    for x in _numbers():
        digits = draw.randrange(-6, 13)
        assert repr(rounded(x, digits)) == repr(round(x, digits)), (x, digits)
    assert math.isnan(rounded(math.nan, 2))


def tick(a, s):
    return round(a, 2) * s + a * s


def places(a, k):
    return round(a, k) * a


def of_an_element(x):
    return round(x[0], 2) * x[1]


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_both_targets_round_alike(target):
    assert s2sad.value_and_grad(tick, argnums=(0, 1), target=target)(2.675, 3.0) == (tick(2.675, 3.0), (3.0, 5.345))
    assert s2sad.value_and_grad(places, target=target)(2.675, 2) == (2.67 * 2.675, 2.67)
    x = np.array([2.675, 3.0])
    value, gradient = s2sad.value_and_grad(of_an_element, target=target)(x)
    assert value == of_an_element(x) == 2.68 * 3.0
    np.testing.assert_array_equal(gradient, [0.0, 2.68])
