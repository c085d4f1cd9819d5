"""Items of an adjoint that no later turn reads are not set to zero; those that one reads are."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([1.3, 0.6, 2.7, 0.4, 1.9])


def once(x):
    """Every item of `y` is written and read once."""
    n = x.size
    y = np.empty(n)
    for i in range(n):
        y[i] = x[i] * x[n - 1 - i] * 0.5
    total = 0.0
    for i in range(n - 1):
        total += math.sin(y[i] * y[i + 1])
    return total


def again_each_time(x):
    """The array outlives the loop over steps: what one step leaves, the step before would add to."""
    n = x.size
    y, z = np.zeros(n), x * 1.0
    for _ in range(3):
        for i in range(n):
            y[i] = z[i] * math.cos(z[n - 1 - i])
        for i in range(n):
            z[i] = z[i] + 0.3 * y[i]
    return np.sum(z * z)


def from_the_end(x):
    """`y[i - 1]` is the last item where `i` is 0: two turns write it."""
    n = x.size
    y = np.zeros(n - 1)
    for i in range(n):
        y[i - 1] = x[i] * x[i] * (i + 1)
    return np.sum(y * y)


def one_item_for_all(x):
    """All turns of the outer loop write the same items."""
    n = x.size
    y = np.zeros(n)
    for k in range(3):
        for i in range(n):
            y[i] = math.sin(x[i] * (k + 1))
    return np.sum(y * y)


def in_planes(x):
    n = x.size
    y = np.empty((n, 2))
    for i in range(n):
        for j in range(2):
            y[i, j] = x[i] * (j + 1) - x[i - 1]
    total = 0.0
    for i in range(1, n):
        for j in range(2):
            total += y[i, j] * y[i - 1, j]
    return total


EVERY = (once, again_each_time, from_the_end, one_item_for_all, in_planes)


@pytest.mark.parametrize("fun", EVERY)
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)


@pytest.mark.parametrize(("fun", "zeros"), [(once, 0), (in_planes, 0), (again_each_time, 1), (one_item_for_all, 1)])
def test_items_set_to_zero(fun, zeros):
    text = s2sad.differentiate(fun, target="python").source("grad", (X,))
    assert sum(line.strip().endswith("] = 0.0") for line in text.splitlines()) == zeros
