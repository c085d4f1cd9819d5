"""Helpers written into their caller see their arguments as they were at the call; and other ordinary Python."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, -0.4, 1.3])
Y = np.array([0.5, -1.0, 2.0])
LABELS = np.array([1, 0, 1])


def relax(p, v):
    for _ in range(3):
        p += v


def computed_argument(x):
    a = x.copy()
    relax(a, a * Y)
    return np.sum(a**2)


def add_both(p, q, u, v):
    p += u
    q += v


def two_computed_arguments(x):
    a, b = x.copy(), 2.0 * x
    add_both(a, b, b * x, a * Y)
    return np.sum(a * b)


def gathered_argument(x):
    a = x.copy()
    relax(a, a[[2, 0, 1]])
    return np.sum(a**2)


def item_as_argument(x):
    a = x.copy()

    def scale(p, factor):
        p *= 2.0
        p *= factor

    scale(a, a[0])
    return np.sum(a)


def view_as_argument(x):
    """A part of an array shows what is written into it."""
    a = x.copy()

    def shift(p, part):
        p[1:] += 1.0
        p[0] *= np.sum(part)

    shift(a, a[1:])
    return np.sum(a * Y)


def inner_with_two_returns(x):
    def energy(u):
        if u[0] > 1e9:
            return 0.0
        return np.sum(u * u)

    return energy(2.0 * x)


def where_over_labels(x):
    return np.mean(np.where(LABELS == 1, x * x, x))


def half_where_over_labels(x):
    return 0.5 * np.mean(np.where(LABELS > 0, x[0], x * x))


def set_twice(x):
    w = x * x + 2.0
    d = (3.0 - w) / w
    return np.max(d) + np.sum(d * d) - np.log(w[-1])


def added_to_after(x):
    b = np.copy(x)
    v = x[0]
    a = b - x * x
    return np.sum(a) + np.sum(b * Y) * 0.2 + v


def rebound_after(x):
    b = x * Y
    c = x - Y
    for _ in range(3):
        b = np.copy(c[::-1])
    a = c * c - b
    return np.sum(a)


def window(x, k):
    total = 0.0
    for i in range(k, k + 3):
        total += x[i] ** 2
    return total


def index_from_the_end(x):
    return window(x, len(x) - 5)


def index_less_an_index(x):
    total = 0.0
    for i in range(2):
        for j in range(2):
            total += x[i - 2 * j] ** 2 * (i + 1)
    return total


def clipped_whole_numbers(x):
    return np.sum(np.clip(LABELS * 3, 0.5, 2.5) * x) + np.sum(np.clip(LABELS * 3, 0, x[2]))


def neighbours(x):
    total = 0.0
    for i in range(3):
        for shift, weight in ((1, 2.0), (-1, 3.0), (2, 0.5)):
            at = i + shift
            if not 0 <= at < 3:
                continue
            if x[at] < 0.0:
                total += weight
                if weight > 2.5:
                    continue
                total *= 2.0
            total += x[at] * x[i] * weight
    return total


def by_version(x):
    if hasattr(np, "trapezoid"):
        return np.trapezoid(x * x)
    return np.trapz(x * x)


PROGRAMS = [
    computed_argument, two_computed_arguments, gathered_argument, item_as_argument, view_as_argument,
    inner_with_two_returns, where_over_labels, half_where_over_labels, set_twice, added_to_after, rebound_after,
    index_from_the_end, index_less_an_index, clipped_whole_numbers, neighbours, by_version,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)


def test_expm1_far_from_zero():
    assert s2sad.grad(np.expm1)(-40.0) == pytest.approx(np.exp(-40.0), rel=1e-12)


def starred(v):
    x, *rest = (0.0, *v)
    return x + rest[0]


def test_an_array_is_starred_in_a_display():
    np.testing.assert_allclose(s2sad.grad(starred, target="python")(X), np.eye(X.size)[0])
