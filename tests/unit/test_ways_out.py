"""A loop that is left by `break` or `return`: one flag tells the reverse sweep, and no turn keeps its condition."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, 0.4, 1.3, 0.9, 1.1, 0.6])
KNOTS = np.array([0.2, 0.5, 0.8, 1.0, 1.2, 1.4])


def discount(times, rates, t):
    total, last = 0.0, 0.0
    for time, rate in zip(times, rates):
        if t <= time:
            return np.exp(-(total + rate * (t - last)))
        total += rate * (time - last)
        last = time
    return np.exp(-(total + rates[-1] * (t - last)))


def curve(x):
    total = 0.0
    for j in range(1, 9):
        total += discount(KNOTS, x, 0.2 * j) ** 2
    return total


def interpolated(knots, values, at):
    for k in range(knots.size - 1):
        if at < knots[k + 1]:
            return values[k] + (values[k + 1] - values[k]) * (at - knots[k]) ** 2
    return values[-1] ** 2


def table(x):
    total = 0.0
    for i in range(9):
        total += interpolated(KNOTS, x, 0.15 * i + 0.1) ** 2
    return total


def left_under_a_condition(x):
    total = 0.0
    for i in range(x.size):
        if x[i] < 0.5:
            continue
        if total > 2.0:
            total = total * x[i]
            break
        total += x[i] ** 2
    else:
        total = total * 2.0
    return total


def two_ways(x):
    total = 1.0
    for i in range(x.size):
        total = total * (x[i] + 0.6)
        if total > 3.0:
            return total * x[0]
        total = total + math.sin(total)
        if total > 2.5:
            return math.sin(total * x[1])
    return total


def one_after_the_other(x):
    total = 1.0
    for i in range(x.size):
        total = total * x[i]
        if total > 5.0:
            return total * 3.0
    for i in range(x.size):
        total = math.sin(total) * x[i]
        if total < 0.2:
            return total * total
    return total


def from_inside(x):
    for i in range(x.size):
        for j in range(i):
            if x[i] * x[j] > 0.9:
                return x[i] * x[j] * math.sin(x[i])
    return x[0]


def rest_behind_the_inner(x):
    total = 0.3
    for i in range(x.size):
        for j in range(x.size):
            if x[j] > total:
                total = total * x[j]
                break
            total = math.sin(total) + x[j] * x[i]
        total = total + math.cos(total * x[i])
    return total


def on_the_other_side(x):
    total, i = 1.0, 0
    while i < x.size:
        if total < 4.0:
            total = total + math.sin(x[i] * total)
        else:
            total = total * total
            break
        i += 1
    return total


def state_behind(x):
    y = x.copy()
    while True:
        z = 0.5 * (y + x / y)
        if np.max(np.abs(z - y)) < 1e-3:
            break
        y = z
    return np.sum(z * y)


def written(x):
    y = x.copy()
    for i in range(x.size):
        if y[i] > 1.2:
            y[0] = y[i] * y[0]
            break
        y[i] = math.sin(y[i]) * y[0]
    return np.sum(y * y)


def put_back_by_every_turn(x):
    """What the turns overwrite was read before them."""
    power, scale = 3, x[2]
    total = x[0] ** power * scale * scale
    for k in range(4):
        power = k * 2
        scale = scale * 0.5 + k
        if x[k] > 1.0:
            total = total * x[k] * scale * scale
            break
    return total * power


def a_flag_that_stays_set(x):
    """The user's own flag is true in turns that did not set it."""
    total, found = 0.2, False
    for i in range(3):
        for j in range(x.size):
            if x[j] > 0.6 + 0.5 * i:
                total = total * x[j]
                found = True
                break
            total = total + math.sin(x[j] * total)
    if found:
        total = total * 2.0
    return total


ALL = [
    curve, table, left_under_a_condition, two_ways, one_after_the_other, from_inside, rest_behind_the_inner,
    on_the_other_side, state_behind, written, a_flag_that_stays_set, put_back_by_every_turn,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", ALL)
def test_ways_out(fun, target):
    for x in (X, X[::-1] * 0.8, X + 0.53, X * 0.5):
        assert_derivatives(fun, x.copy(), target)


def source(fun, target="cpu"):
    made = s2sad.differentiate(fun, target=target)
    made.grad(X)
    return made.derivative("grad").source


def test_no_turn_keeps_which_way_it_went():
    for fun in (curve, left_under_a_condition, two_ways, on_the_other_side):
        text = source(fun)
        assert "holds_tape" not in text, text
        assert "result_tape" not in text, text


def test_what_the_last_turn_alone_does_is_not_looked_for():
    text = source(table)
    backwards = text.split("    if not returned:")[1].split("def ")[0]
    assert "k = steps - 1" in backwards
    assert "for " not in backwards


def test_as_many_places_as_an_array_has():
    """A loop that may leave early keeps numbers in an array where that is no longer than one that is there."""
    text = source(curve)
    assert "last_tape = np.empty(min(KNOTS.shape[0], x.shape[0]))" in text
    assert ".append(" not in text
