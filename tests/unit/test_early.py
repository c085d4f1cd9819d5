"""Numbers that a turn updates are put back first, so that what was made of them needs no tape; else nothing changes."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives, differences

X = np.array([0.7, 1.3, 0.4, 0.9])


def midpoint(x):
    a, b, total = 1.0, 1.0, 0.0
    for i in range(x.size):
        slope_a = x[0] * a - x[1] * a * b
        slope_b = x[2] * a * b - x[3] * b
        middle_a = a + 0.05 * slope_a
        middle_b = b + 0.05 * slope_b
        a = a + 0.1 * (x[0] * middle_a - x[1] * middle_a * middle_b)
        b = b + 0.1 * (x[2] * middle_a * middle_b - x[3] * middle_b)
        total += (a - x[i]) ** 2 + a * b
    return total


def newton(x):
    total = 0.0
    for i in range(x.size):
        root = 1.0
        for _ in range(30):
            value = root**3 + x[i] * root - 2.0
            slope = 3.0 * root * root + x[i]
            step = value / slope
            root -= step
            if abs(step) < 1e-12:
                break
        total += root
    return total


def newer_in_a_name_of_the_turn(x):
    state, total = 0.5, 0.0
    for i in range(x.size):
        slope = x[i] * state * state
        state = state + 0.3 * slope * math.sin(slope)
        error = state - x[0]
        total += error * error * state
    return total


def newer_in_the_next_update(x):
    speed, place = 0.3, 1.0
    for i in range(x.size):
        force = -x[i] * place**3
        speed = speed + 0.2 * force * force
        lag = place * speed
        place = place + 0.2 * speed * speed * lag
    return place * speed


def newer_in_a_branch_that_is_followed(x):
    state, total = 0.5, 0.0
    for i in range(x.size):
        slope = x[i] * state * state
        state = state + 0.3 * slope * slope
        if state > 0.9:
            total += state * slope
        else:
            total += state**3
    return total


def newer_in_an_inner_loop(x):
    state, total = 0.5, 0.0
    for i in range(x.size):
        slope = x[i] * state * state
        state = state + 0.3 * slope * slope
        for j in range(3):
            part = state * x[j]
            total += part * part * slope
    return total


def newer_in_an_array_of_the_turn(x):
    state, total = 0.5, 0.0
    for i in range(x.size):
        slope = x[i] * state * state
        state = state + 0.3 * slope * slope
        powers = np.empty(3)
        for j in range(3):
            powers[j] = state * x[j]
        total += powers[0] * powers[1] * powers[2] * slope
    return total


def set_twice(x):
    state, total = 0.5, 0.0
    for i in range(x.size):
        slope = x[i] * state * state
        state = state + 0.3 * slope * slope
        total += state * slope
        state = state * 0.9 + 0.1 * state * state
    return total + state


def set_in_a_branch(x):
    state, total = 0.5, 0.0
    for i in range(x.size):
        slope = x[i] * state * state
        if slope > 0.2:
            state = state + 0.3 * slope * slope
        total += state * slope
    return total


def left_before_the_update(x):
    state, total = 0.5, 0.0
    for i in range(x.size):
        slope = x[i] * state * state
        total += slope * slope
        if total > 0.5:
            break
        state = state + 0.3 * slope * slope
    return total * state


def left_behind_the_update(x):
    state, total = 0.5, 0.0
    while True:
        slope = x[0] * state * state
        state = state + 0.3 * slope * slope
        if state > 0.9:
            break
        total += slope * state * state * x[1]
    return total * state


def skipped(x):
    state, total = 0.5, 0.0
    for i in range(x.size):
        slope = x[i] * state * state
        if i == 1:
            continue
        state = state + 0.3 * slope * slope
        total += slope * state * state
    return total


def one_behind_the_other(x):
    older, newer, total = 0.5, 0.7, 0.0
    for i in range(x.size):
        product = older * newer * x[i]
        older, newer = newer, newer + 0.1 * product * product
        total += product * older * newer
    return total


def arrays_beside(x):
    state, y = 0.5, x.copy()
    for i in range(x.size):
        slope = y[i] * state * state
        y[i] = slope * y[i - 1]
        state = state + 0.3 * slope * slope
        y[i - 1] *= state
    return np.sum(y) * state


def into_an_array(x):
    path, state = np.empty(x.size), 0.5
    for i in range(x.size):
        slope = x[i] * state * state
        state = state + 0.3 * slope * slope
        path[i] = state * state
    return np.sum(path * path)


def wound(x):
    total = 0.0
    for i in range(2):
        state = x[i]
        for j in range(x.size):
            inner = state
            slope = x[j] * state * state
            for _ in range(3):
                bend = inner * math.cos(inner) * slope
                inner = inner + 0.05 * math.sin(bend)
            state = state + 0.1 * math.sin(slope * inner)
        total += state * state
    return total


def rounds_down(x):
    state, total = 0.5, 0.0
    for i in range(x.size):
        slope = x[i] * state * state
        state = state + 0.7 * slope
        total += x[int(state) % 4] * slope * slope
    return total


def updated_in_branches(x):
    state, at = 0.5, 0
    while at < x.size:
        if x[at] > 0.8:
            bent = state * state * x[at]
            state = bent * bent + 0.1 * bent
            at += 1
        else:
            slope = state * x[at]
            lift = slope * slope
            state = math.exp(-lift * slope)
            at += 2
    return state


def branches_in_branches(x):
    a, b = 0.5, 0.2
    for i in range(x.size):
        if x[i] > 0.8:
            a = a * a * x[i]
            if b > 0.3:
                b = math.sin(b) * a
            else:
                b = b * b + a
        elif x[i] > 0.5:
            b = math.cos(a * b)
            a = a + b * b * a
        else:
            a = math.exp(-a * a)
    return a * b


def counted(x):
    state, total, at = 0.5, 0.0, 0
    while at < x.size:
        slope = x[at] * state * state
        at += 1
        state = state + 0.3 * slope * slope
        total += slope * x[at - 1] * at
    return total * state


def counted_into_an_array(x):
    y, at, state = x.copy(), 0, 0.5
    while at < x.size - 1:
        slope = y[at] * state * state
        at = at + 1
        y[at] = y[at] * slope + y[at - 1] * state
        state = state + 0.1 * slope * slope
    return np.sum(y) * state


EARLY = (
    midpoint, newton, newer_in_a_name_of_the_turn, newer_in_the_next_update, left_behind_the_update, into_an_array,
    wound, arrays_beside, one_behind_the_other, updated_in_branches, branches_in_branches, counted,
    newer_in_a_branch_that_is_followed,
)  # fmt: skip
ALL = (
    *EARLY, counted_into_an_array, newer_in_an_inner_loop, newer_in_an_array_of_the_turn, set_twice,
    set_in_a_branch, left_before_the_update, skipped, rounds_down,
)  # fmt: skip


@pytest.mark.parametrize("fun", ALL)
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)


@pytest.mark.compiled
@pytest.mark.parametrize("fun", ALL)
def test_a_pullback_used_twice_and_second_derivatives(fun):
    _, pullback = s2sad.vjp(fun, X, target="python")
    want = differences(fun, X)
    for _ in range(2):
        np.testing.assert_allclose(pullback(1.0)[0], want, rtol=1e-6, atol=1e-7)
    gradient = s2sad.grad(fun, target="python")
    curvature = s2sad.hessian(fun, target="python")(X)
    np.testing.assert_allclose(curvature, differences(gradient, X), rtol=1e-5, atol=1e-6)


def tapes(fun) -> set[str]:
    """Return the names of what is kept for the turns of loops."""
    text = s2sad.differentiate(fun).source("grad", types="float64[:]")
    return set(re.findall(r"^ *(\w+_tape\w*) = ", text, re.M))


@pytest.mark.parametrize(
    ("fun", "kept"),
    [
        (midpoint, {"a_tape", "b_tape"}),
        (newton, {"root_tape", "_tape"}),
        (newer_in_the_next_update, {"speed_tape", "place_tape"}),
        (left_behind_the_update, {"state_tape"}),
        (newer_in_a_branch_that_is_followed, {"state_tape"}),
        (counted, {"state_tape"}),
        (updated_in_branches, {"state_tape", "x_at_holds_tape"}),
        (branches_in_branches, {"a_tape", "b_tape", "b_holds_tape"}),
    ],
)
def test_one_state_a_turn_is_kept(fun, kept):
    assert {name for name in tapes(fun) if not name.startswith("steps")} <= kept


def test_the_newer_value_has_a_name():
    text = s2sad.differentiate(midpoint).source("grad", types="float64[:]")
    assert "a_new = a\n" in text
    assert text.index("a = a_tape[i]") < text.index("slope_a = x[0] * a", text.index("adjoint sweep"))
    assert "2 * (a_new - x[i])" in text
