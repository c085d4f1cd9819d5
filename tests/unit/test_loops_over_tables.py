"""Loops over lists of numbers: long ones are loops over an array, short ones are written out."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

FACTORS = [0.1 * k for k in range(20)]


def over_a_constant_list(x):
    total = 0.0
    for factor in FACTORS:
        total = total + math.sin(factor * x[0]) * x[1]
    return total


BARS = [(0, 1), (1, 2), (0, 2), (1, 3), (2, 3), (0, 3), (3, 1)]
WEIGHTS = [((0, 2.5), "a"), ((3, 0.5), "a"), ((1, 1.5), "a")]


def over_tuples(x):
    force = np.zeros(4)
    y = np.array([x[0], x[1], x[0] * x[1], 1.0])
    for e, (i, j) in enumerate(BARS):
        d = y[j] - y[i]
        k = 1.0 + 0.1 * e * d
        force[i] += k * d
        force[j] -= k * d * y[i]
        force[(i + j) % 4] += d * d
    for (i, weight), _ in WEIGHTS:
        a = weight * y[i]
        b = a * a + i
        c = math.sin(b) + a
        d = c * b
        e = d + weight
        g = e * a
        h = 0.1 * g + 1.0
        u = math.cos(h)
        i = 0
        force[i] += h + u
        force[1] += a
        force[2] += b
        force[3] += c
    return np.sum(np.sin(0.1 * force))


def left_and_completed(x):
    total = 0.0
    for factor in FACTORS:
        if factor * x[0] > 2.0:
            break
        total += factor * x[0] * x[1]
    else:
        total = -total
    return total


def of_what_is_differentiated(x):
    total = 0.0
    weights = [float(x[0]), float(x[1]), 2.0, float(x[0] * x[1])]
    for weight in weights:
        a = weight * 2.0
        b = math.sin(a)
        c = b * b + a
        if c > 1.0:
            c = c * weight
        d = c - a
        e = d * b
        f = e + c
        g = f * weight
        total = total + g * a
    return total


def written_meanwhile(x):
    total = 0.0
    weights = [1.0, 2.0, 3.0, 4.0, 5.0]
    for weight in weights:
        a = weight * x[0]
        b = math.sin(a)
        c = b * b + a
        d = c - a
        e = d * b
        f = e + c
        g = f * weight
        h = g + a
        weights[1] = 7.0
        total = total + h * x[1]
    return total


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    "fun", [over_a_constant_list, over_tuples, left_and_completed, of_what_is_differentiated, written_meanwhile]
)
def test_slopes(fun, target):
    """Left early or not, of constants or of what is differentiated, and of a list that the loop itself writes."""
    for x in (np.array([0.7, 1.3]), np.array([2.1, -0.4])):
        assert_derivatives(fun, x, target)


def test_the_text_is_as_long_as_the_loop():
    """One turn is written, not twenty."""
    text = s2sad.differentiate(over_a_constant_list).source("grad", types=(np.array([0.7, 1.3]),))
    assert text.count("math.cos") == 1
    assert "for i in range(20):" in text


def test_tuples_of_numbers_are_a_table_for_each_place():
    text = s2sad.differentiate(over_tuples).source("grad", types=(np.array([0.7, 1.3]),))
    assert "range(7):" in text
    assert "range(3):" in text


def test_short_floats_stay_what_they_are():
    """An item is a number of Python's, which leaves single precision alone."""

    def scaled(x):
        total = x[0] * x[0]
        for factor in FACTORS:
            total = total + factor * x[1]
        return total

    x = np.array([0.5, 0.25], np.float32)
    value, slope = s2sad.value_and_grad(scaled)(x)
    assert value.dtype == slope.dtype == np.float32
    assert value == scaled(x)


def test_what_is_known_to_be_false_is_not_asked():
    """`c and False` takes no branch, whatever `c` is."""

    def guarded(x, shift=None):
        if x[0] > 0.5 and shift is not None:
            return x[0] * shift
        return x[1] * x[1]

    text = s2sad.differentiate(guarded).source("grad", types=(np.array([0.7, 1.3]),))
    assert "if" not in text.split('"""')[2]
