"""Roots of sums of squares at zero: distances of a point and itself, what is cut off behind them, kinks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives, differences

POINTS = np.random.default_rng(0).normal(size=(4, 2))
WEIGHTS = np.arange(16.0).reshape(4, 4)


def skipped(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            d = x[i] - x[j]
            r = math.sqrt(d[0] ** 2 + d[1] ** 2)
            if i != j:
                total += 1.0 / r
    return total


def distance(a, b):
    return math.sqrt(sum((p - q) ** 2 for p, q in zip(a, b, strict=True)))


def skipped_behind_a_helper(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            r = distance(x[i], x[j])
            if r == 0:
                continue
            total += 1 / r
    return total


def apart2(p, q):
    return (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2


def squares_of_a_helper(x):
    total = 0.0
    for i in range(4):
        for j in range(4):
            r = math.sqrt(apart2(x[i], x[j]))
            total += (i + 2 * j) * math.exp(-(r**2))
    return total


def cut_off(x):
    dx = x[:, 0:1].T - x[:, 0:1]
    dy = x[:, 1:2].T - x[:, 1:2]
    inv_r = np.sqrt(dx**2 + dy**2)
    inv_r[inv_r > 0] = 1.0 / inv_r[inv_r > 0]
    return np.sum(np.sum(np.triu(-inv_r, 1)))


def written_over(x):
    d = x[:, None, :] - x[None, :, :]
    r = np.sqrt(np.sum(d**2, axis=-1))
    np.fill_diagonal(r, 1.0)
    return np.sum(1 / r**6)


def picked(x):
    d2 = np.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=-1)
    return np.sum((d2**0.5)[np.triu_indices(len(x), 1)])


def furthest(x):
    return np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1)).max()


def kernel(x):
    r = np.sqrt(np.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=-1))
    return np.sum(np.exp(-0.5 * (r / 0.7) ** 2) * WEIGHTS)


def kernel_by_einsum(x):
    d = x[:, None, :] - x[None, :, :]
    r = np.sqrt(np.einsum("ijk,ijk->ij", d, d))
    return np.sum(np.exp(-r * r) * WEIGHTS)


def kernel_in_loops(x):
    made = np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            s = 0.0
            for k in range(x.shape[1]):
                s += (x[i, k] - x[j, k]) ** 2
            r = math.sqrt(s)
            made[i, j] = math.exp(-r * r / 0.5)
    return np.sum(made * WEIGHTS)


def matern(x):
    r = np.sqrt(np.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=-1))
    return np.sum((1 + math.sqrt(3) * r) * np.exp(-math.sqrt(3) * r) * WEIGHTS)


def by_hypot(x):
    total = 0.0
    for i in range(4):
        for j in range(4):
            r = math.hypot(x[i, 0] - x[j, 0], x[i, 1] - x[j, 1])
            total += r**2 + (i + 2 * j) * np.exp(-r * r)
    return total


def by_a_power(x):
    total = 0.0
    for i in range(4):
        for j in range(4):
            s = (x[i, 0] - x[j, 0]) ** 2 + (x[i, 1] - x[j, 1]) ** 2
            r = s**0.5
            total += r**2 + (i + 2 * j) * np.exp(-r * r)
    return total


def constant_column(x):
    y = np.vstack([x.T, np.zeros(4)])
    z = (y - y.mean(axis=1)[:, None]) / (y.std(axis=1)[:, None] + 0.1)
    return np.sum(z * np.arange(12.0).reshape(3, 4) ** 2) + y.std()


CASES = [
    skipped, skipped_behind_a_helper, squares_of_a_helper, cut_off, written_over, picked, furthest, kernel,
    kernel_by_einsum, kernel_in_loops, matern, by_hypot, by_a_power, constant_column,
]  # fmt: skip
SMOOTH = [kernel, kernel_by_einsum, kernel_in_loops, squares_of_a_helper, by_hypot, by_a_power, constant_column]


@pytest.mark.parametrize("target", ["cpu", "python"])
@pytest.mark.parametrize("fn", CASES, ids=lambda f: f.__name__)
def test_a_length_of_zero_has_the_derivative_that_the_whole_has(fn: Any, target: Any):
    assert_derivatives(fn, POINTS, target)


@pytest.mark.parametrize("fn", SMOOTH, ids=lambda f: f.__name__)
def test_second_derivatives_are_right_where_points_coincide(fn: Any):
    first = s2sad.grad(fn)
    expected = differences(first, POINTS).reshape(8, 8)
    for second in (s2sad.hessian(fn), s2sad.jacrev(first)):
        np.testing.assert_allclose(np.reshape(second(POINTS), (8, 8)), expected, rtol=1e-5, atol=1e-6)


def test_a_spring_at_its_own_length_keeps_its_stiffness():
    def energy(x):
        d = x[1] - x[0]
        return 0.5 * (np.sqrt(d @ d) - 1.0) ** 2

    at_rest = np.array([[0.0, 0.0], [1.0, 0.0]])
    np.testing.assert_allclose(s2sad.hessian(energy)(at_rest)[1, 0], [[-1, 0], [1, 0]])


@pytest.mark.parametrize("fn", [
    lambda x: np.sqrt(x), lambda x: x**0.5, lambda x: np.sqrt(np.sqrt(x * x)), lambda x: (x * x) ** 0.25,
    lambda x: np.sqrt(np.abs(x)), lambda x: np.sqrt(3.0**2 * x), lambda x: np.sqrt(x + x**2),
])  # fmt: skip
def test_other_roots_are_as_steep_as_they_are(fn: Any):
    assert not np.isfinite(s2sad.grad(fn)(0.0))


def test_what_is_no_sum_of_squares_by_another_name_is_as_steep_as_it_is():
    def through_a_view(x):
        s = np.zeros(2)
        view = s[1:]
        view[0] = x
        return np.sqrt(s[1])

    def through_a_list(x):
        s = np.zeros(2)
        kept = [s, s * 2]
        kept[0][1] = x
        return np.sqrt(s[1])

    def in_a_helper(x):
        s = np.zeros(2)
        put(s, x)
        return np.sqrt(s[1])

    def on_one_path(x):
        s = x**2
        if x < 1.0:
            s = x
        return np.sqrt(s)

    for fn in (through_a_view, through_a_list, in_a_helper, on_one_path):
        assert s2sad.grad(fn)(0.0) == np.inf, fn


def put(s, x):
    s[1] = x


def test_a_length_that_is_divided_by_is_written_as_it_was():
    def potential(x):
        r = math.sqrt(x[0] ** 2 + x[1] ** 2)
        return 1.0 / r

    text = s2sad.differentiate(potential).source("grad", types=(np.ones(2),))
    assert "inf" not in text
