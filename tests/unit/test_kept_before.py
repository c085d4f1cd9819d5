"""What both sides of a branch keep is kept once, before it: the text where it is so, and the numbers everywhere."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from s2sad.transform import tidy
from tests.differences import also_on, assert_derivatives

X = np.array([0.3, 1.2, 0.7, 0.95, 0.9, 0.2])


def decides_by_itself(x):
    u = x.copy()
    for _ in range(3):
        for i in range(1, u.shape[0]):
            if u[i] > 0.5:
                u[i] = u[i] * u[i - 1]
            else:
                u[i] = math.sin(u[i]) + u[i - 1] * u[i]
    return np.sum(u * u)


def limited(x, limit):
    u = x.copy()
    for i in range(1, u.shape[0]):
        if limit <= u[i]:
            u[i] = u[i] * u[i] * u[i - 1]
        else:
            u[i] = math.exp(u[i]) * u[i - 1]
    return np.sum(u)


def by_a_limit(x):
    return limited(x, 0.8)


LIMITS = np.array([0.5, 0.9, 0.4, 1.1, 0.2, 0.3])


def by_a_table(x, limits=LIMITS):
    u = x.copy()
    for i in range(1, u.shape[0]):
        if u[i] > limits[i]:
            u[i] = u[i] * u[i - 1]
        else:
            u[i] = math.sin(u[i]) * u[i - 1]
    return np.sum(u)


def a_number(x):
    s = 0.6
    for i in range(x.shape[0]):
        if s > 0.4:
            s = s * s * x[i]
        else:
            s = math.cos(s) * x[i]
    return s


def one_of_three(x):
    s = 0.3
    for i in range(x.shape[0]):
        if x[i] > 0.8:
            s = s * s * x[i]
        elif x[i] > 0.25:
            s = math.sin(s) * x[i]
        else:
            s = math.cos(s) - x[i]
    return s


KEPT_ONCE = [decides_by_itself, by_a_limit, by_a_table, a_number, one_of_three]


def by_its_neighbour(x):
    u = x.copy()
    for _ in range(2):
        for i in range(1, u.shape[0] - 1):
            if u[i] > u[i + 1]:
                u[i] = u[i] * u[i - 1]
            else:
                u[i] = math.sin(u[i]) * u[i - 1]
    return np.sum(u * u)


def by_a_limit_that_moves(x):
    u = x.copy()
    limit = 0.9
    for i in range(1, u.shape[0]):
        if u[i] > limit:
            u[i] = u[i] * u[i - 1]
        else:
            u[i] = math.sin(u[i]) * u[i - 1]
        limit = limit * 0.9
    return np.sum(u * u)


def by_a_table_that_moves(x):
    u = x.copy()
    limits = LIMITS.copy()
    for _ in range(2):
        for i in range(1, u.shape[0]):
            if u[i] > limits[i]:
                u[i] = u[i] * u[i - 1]
            else:
                u[i] = math.sin(u[i]) * u[i - 1]
            limits[i] = 0.1
    return np.sum(u)


def other_elements(x):
    u = x.copy()
    for i in range(1, u.shape[0] - 1):
        if x[i] > 0.8:
            u[i] = u[i] * u[i - 1]
        else:
            u[i + 1] = u[i + 1] * u[i]
    return np.sum(u * u)


def one_side_twice(x):
    u = x.copy()
    for i in range(1, u.shape[0]):
        if u[i] > 0.8:
            u[i] = u[i] * u[i - 1]
            u[i] = math.sin(u[i]) * u[i]
        else:
            u[i] = u[i] * u[i] * u[i - 1]
    return np.sum(u * u)


def one_side_only(x):
    u = x.copy()
    for i in range(1, u.shape[0]):
        if u[i] > 0.8:
            u[i] = u[i] * u[i] * u[i - 1]
    return np.sum(u * u)


def asks_again(x):
    u = x.copy()
    total = 0.0
    for i in range(1, u.shape[0]):
        big = u[i] > 0.8
        if big:
            u[i] = u[i] * u[i - 1]
        else:
            u[i] = math.sin(u[i]) * u[i]
        if big:
            total += u[i] ** 3
    return total + np.sum(u)


def a_sum_decides(x):
    u = x.copy()
    for i in range(1, u.shape[0]):
        if u[i] * 2.0 + x[0] > 1.65:
            u[i] = u[i] * u[i - 1]
        else:
            u[i] = math.sin(u[i]) * u[i]
    return np.sum(u * u)


def as_long_as_it_lasts(x):
    s = x[0]
    i = 0
    while s < 2.0 and i < x.shape[0]:
        if s > 0.5:
            s = s * (1.0 + x[i])
        else:
            s = math.exp(s) * x[i]
        i += 1
    return s


def whole_rows(x):
    u = np.outer(x, x)
    for t in range(3):
        for i in range(1, u.shape[0]):
            if x[i] > 0.8:
                u[i] = u[i] * u[i - 1]
            else:
                u[i] = np.sin(u[i]) * u[i - 1]
    return np.sum(u)


OTHERS = [
    by_its_neighbour, by_a_limit_that_moves, by_a_table_that_moves, other_elements, one_side_twice, one_side_only,
    asks_again, a_sum_decides,
    as_long_as_it_lasts, whole_rows,
]  # fmt: skip


def text(fun):
    return str(s2sad.differentiate(fun).source("grad", (X,)))


@pytest.mark.parametrize("fun", KEPT_ONCE)
def test_one_tape_and_no_flag(fun):
    made = text(fun)
    assert made.count("_tape = np.empty(") == 1, made
    assert "_tape_2" not in made, made
    assert "holds" not in made, made


@pytest.mark.parametrize("fun", [by_its_neighbour, by_a_limit_that_moves, by_a_table_that_moves, a_sum_decides])
def test_what_may_come_out_otherwise_is_kept(fun):
    assert "holds_tape" in text(fun)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", KEPT_ONCE + OTHERS)
def test_derivatives(fun, target):
    assert_derivatives(fun, X, also_on(target, fun, one_in=2))


@pytest.mark.parametrize("fun", KEPT_ONCE + OTHERS)
def test_same_numbers_as_kept_on_either_side(fun, monkeypatch):
    one = s2sad.grad(fun, target="python")(X)
    monkeypatch.setattr(tidy, "DISABLED", {"kept"})
    copy = s2sad.grad(lambda x: fun(x), target="python")
    np.testing.assert_array_equal(one, copy(X))


@pytest.mark.parametrize("fun", KEPT_ONCE + OTHERS)
def test_second_derivatives(fun):
    hessian = s2sad.hessian(fun, target="python")(X)
    step = 1e-6
    for k in range(X.size):
        near = [s2sad.grad(fun, target="python")(X + d * step * np.eye(X.size)[k]) for d in (1, -1)]
        np.testing.assert_allclose(hessian[k], (near[0] - near[1]) / (2 * step), rtol=1e-5, atol=1e-5)


def test_what_is_no_number_goes_the_same_way_in_both_sweeps(monkeypatch):
    x = X.copy()
    x[2] = np.nan
    one = s2sad.grad(decides_by_itself, target="python")(x)
    monkeypatch.setattr(tidy, "DISABLED", {"kept"})
    np.testing.assert_array_equal(one, s2sad.grad(lambda x: decides_by_itself(x), target="python")(x))
    assert np.isnan(one[2])
