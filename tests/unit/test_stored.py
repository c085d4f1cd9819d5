"""Adjoints read what a statement has stored, where it is still there."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.3, 1.2, 0.7, 2.1, 0.9])


def kept(x):
    y = np.empty_like(x)
    total = 0.0
    for i in range(x.size):
        y[i] = math.exp(x[i])
        total += y[i] * x[i]
    return total


def kept_under_a_condition(x):
    y = np.zeros((2, x.size))
    for i in range(x.size):
        for j in range(2):
            if x[i] > 0.5 + j:
                y[j, i] = math.sqrt(x[i] + j)
    return np.sum(y**3) + y[1, 3] * y[0, 1]


def scaled_afterwards(x):
    y = np.empty_like(x)
    for i in range(x.size):
        y[i] = math.tanh(x[i])
    total = np.sum(y * y)
    y *= 2.0
    return total + np.sum(y**3)


def stored_twice(x):
    y = np.empty(3)
    total = 0.0
    for i in range(x.size):
        y[i % 3] = math.exp(x[i])
        total += y[i % 3] ** 2 * y[0]
    return total


def filled_in_every_turn(x):
    y = np.empty(2)
    total = 0.0
    for i in range(x.size - 1):
        for j in range(2):
            y[j] = math.exp(x[i + j])
        total += y[0] * y[1] / (y[0] + y[1])
    return total


def made_in_every_turn(x):
    total = 0.0
    for i in range(x.size - 1):
        y = np.empty(2)
        for j in range(2):
            y[j] = x[i] / x[i + j]
        total += y[0] * y[1] * y[1]
    return total


def from_the_end(x):
    y = np.zeros_like(x)
    for i in range(-1, x.size):
        y[i] = math.exp(x[i] * (i + 2))
    return np.sum(y * y)


def through_another_name(x):
    y = np.zeros_like(x)
    part = y[1:]
    for i in range(x.size):
        y[i] = math.exp(x[i])
    part[0] = x[0] * part[1]
    return np.sum(y * y)


def rows_in_one_buffer(x):
    exps = np.empty(3)
    total = 0.0
    for i in range(x.size - 2):
        norm = 0.0
        for j in range(3):
            exps[j] = math.exp(x[i + j])
            norm += exps[j]
        for j in range(3):
            total += x[i] * exps[j] / norm
    return total


def read_in_the_next_turn(x):
    exps = np.ones(2)
    total = 0.0
    for i in range(x.size - 1):
        total += exps[0] * exps[1] * x[i]
        for j in range(2):
            exps[j] = math.tanh(x[i + j] * exps[1 - j])
    return total


def halves(x):
    y = np.outer(x, x)
    total = 0.0
    for i in range(x.size):
        row = y[i]
        half = row.size // 2
        n = row.size
        for j in range(half):
            row[j] = row[n - 1 - j] * math.tanh(row[j])
            total += row[j] ** 2
    return total


def logistic(z):
    return 1.0 / (1.0 + math.exp(-z))


def gates(x):
    y = x.copy()
    for _ in range(2):
        for i in range(y.size):
            y[i] = logistic(y[i] * x[i]) * y[i]
    return np.sum(y)


PROGRAMS = (
    rows_in_one_buffer, read_in_the_next_turn, halves, gates,
    kept, kept_under_a_condition, scaled_afterwards, stored_twice, filled_in_every_turn, made_in_every_turn,
    from_the_end, through_another_name,
)  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_gradient(fun, target):
    gradient = s2sad.grad(fun, target=target)(X)
    direction = np.cos(np.arange(X.size))
    moving = s2sad.jvp(fun, (X,), (direction,), target="python")[1]
    np.testing.assert_allclose(gradient @ direction, moving, rtol=1e-12)


def test_what_was_stored_is_read():
    text = s2sad.differentiate(kept).source("grad", types="float64[:]").split("# ---- adjoint sweep ----")[1]
    assert "x_bar[i] += y[i] * y_bar[i]" in text
    text = s2sad.differentiate(kept_under_a_condition).source("grad", types="float64[:]")
    assert text.count("math.sqrt(") == text.count("y[j, i] = math.sqrt(") == 2  # the second in a comment


def test_what_was_stored_over_is_computed_again_or_kept():
    text = s2sad.differentiate(scaled_afterwards).source("grad", types="float64[:]")
    assert "math.tanh(x[i])" in text.split("# ---- adjoint sweep")[1]


def adjoint_sweep(fun):
    return s2sad.differentiate(fun).source("grad", types="float64[:]").split("# ---- adjoint sweep")[1]


def test_a_buffer_that_is_kept_anyway_is_read():
    code = [line for line in adjoint_sweep(rows_in_one_buffer).splitlines() if not line.lstrip().startswith("#")]
    assert sum(line.count("math.exp(") for line in code) == 1


def test_lengths_of_views_are_not_taped():
    text = s2sad.differentiate(halves).source("grad", types="float64[:]")
    assert "n_tape" not in text
    assert "half_tape" not in text


def test_an_exponential_that_is_kept_is_not_computed_again():
    code = [line for line in adjoint_sweep(gates).splitlines() if not line.lstrip().startswith("#")]
    assert not any("math.exp(" in line for line in code)


def solved_from_below(x):
    """Each element is made of the ones before it; its value is read before the older one is put back."""
    y = 0.5 * x
    for i in range(x.size):
        y[i] = (x[i] - np.sum(y[:i] * x[:i])) / (1.0 + x[i])
    return np.sum(y * y)


def swept_again_and_again(x):
    y = 0.5 * x
    for _ in range(3):
        for i in range(1, x.size - 1):
            y[i] = (x[i] + np.exp(0.1 * y[i - 1]) + y[i + 1]) / (2.0 + x[i])
    return np.sum(y * y * y)


def from_its_own_older_value(x):
    y = 0.5 * x
    for k in range(2):
        for i in range(x.size):
            y[i] = (y[i] + k) / (1.0 + x[i] * y[i])
    return np.sum(y * x)


def both_ways(x):
    y = 0.5 * x
    for i in range(1, x.size):
        y[i] = y[i - 1] / (y[i] + x[i])
    total = 0.0
    for i in range(x.size):
        total += y[i] * y[i]
    return total


def in_the_argument(x):
    for i in range(1, x.size):
        x[i] = np.sin(x[i - 1]) / x[i]
    return np.sum(x * x)


def in_some_turns(x):
    y = 0.5 * x
    for i in range(1, x.size):
        if x[i] > 0.7:
            y[i] = (y[i - 1] + 1.0) / (x[i] + y[i])
        y[0] += 0.1 * y[i]
    return np.sum(y * y)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    "fun",
    [solved_from_below, swept_again_and_again, from_its_own_older_value, both_ways, in_the_argument, in_some_turns],
    ids=lambda fun: fun.__name__,
)
def test_what_is_made_of_its_own_elements(fun, target):
    assert_derivatives(fun, np.array([1.3, 0.6, 2.7, 0.4, 1.9]), target=target)


def test_a_quotient_is_read_and_not_divided_again():
    text = s2sad.differentiate(in_the_argument).source("grad", (np.ones(3),))
    assert "x_i_new = x[i]" in text


def begun_before(x):
    h = np.empty(x.size + 1)
    h[0] = x[0]
    for t in range(x.size):
        h[t + 1] = math.tanh(0.8 * h[t] + x[t])
    return h[x.size]


def divided(x):
    a = np.empty(x.size)
    b = np.empty(x.size)
    a[0], b[0] = x[0], 1.0
    for i in range(1, x.size):
        m = 2.5 + x[i] * a[i - 1]
        a[i] = x[i] / m
        b[i] = (x[i] - x[i - 1] * b[i - 1]) / m
    return np.sum(a * b)


def smoothed(x):
    y = x.copy()
    for i in range(1, x.size - 1):
        y[i] = (y[i - 1] + y[i] + x[i + 1]) / 3.0
    return np.sum(y * y) / 4.0


def divided_for_an_index(x):
    """`49 * (1.0 / 49)` is less than one: what an index is made of is divided."""
    total = 0.0
    for t in range(150):
        total += x[int(t / 49)] ** 2 / 7.0 * math.sin(t / 49)
    return total


def written(fun):
    """Return the two sweeps of a gradient."""
    made = s2sad.differentiate(fun)
    made.grad(X)
    return made.source("grad").split("adjoint sweep")


def test_an_array_that_others_begin():
    """What the loop stores is read, though the first element is stored before it."""
    primal, adjoint = written(begun_before)
    assert "math.tanh" in primal
    assert "tanh" not in adjoint.replace("# h[t + 1] = math.tanh", "")


def test_quotients_share_a_division():
    """Both cotangents of a quotient take it divided once; the quotient itself is read where it is."""
    assert written(divided)[1].count(" / m\n") == 4  # two of them in comments


def test_constant_divisors_in_loops():
    """A derivative multiplies by the reciprocal of a number; the user's own line divides."""
    primal, adjoint = written(smoothed)
    assert "/ 3.0" in primal
    assert "* (1.0 / 3.0)" in adjoint


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [begun_before, divided, smoothed, divided_for_an_index])
def test_their_derivatives(fun, target):
    assert_derivatives(fun, X, target)
