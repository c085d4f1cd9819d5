"""Names that hold an integer here and a real number there: what is saved of them is what they held."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives, differences

X = np.array([0.3, -0.7, 1.1, 0.4, -1.3, 0.8])


def later_an_integer(x):
    w, total = 0.5, 0.0
    for i in range(len(x)):
        total += w * x[i] * x[i]
        w = 2
    return total


def after_the_loop(x):
    w = 0.25
    for i in range(3):
        w = w * x[i] + 1.5
    y = w * w
    w = 3
    return y * w


def on_one_side(x):
    w, total = 0.5, 0.0
    for i in range(len(x)):
        total += w * np.sin(x[i]) * w
        if i % 2 == 0:
            w = 1
        else:
            w = w * x[i]
    return total


def a_truth_value(x):
    w, total = 0.5, 0.0
    for i in range(len(x)):
        total += w * x[i] ** 2
        w = x[i] > 0
    return total


def counted_from_a_real(x):
    lo, total = x[0], 0.0
    for i in range(len(x)):
        total += lo * lo * x[i]
        lo = i
    return total


def from_an_integer_on(x):
    w, total = 1, 0.0
    for i in range(len(x)):
        total += w * x[i] ** 2
        w = w * x[i] + 0.5
        if w > 1.2:
            w = 1
    return total


def of_a_complex(x):
    w, total = 0.5 + 0.25j, 0.0
    for i in range(len(x)):
        z = w * x[i] * x[i]
        total += z.real + z.imag
        w = 0.75
    return total


def of_float32(x):
    w, total = 0.5, 0.0
    for i in range(len(x)):
        total += w * x[i] * x[i]
        w = np.float32(0.1)
    return total


def in_a_while(x):
    w, total, i = 0.5, 0.0, 0
    while i < len(x):
        total += np.exp(w * x[i])
        w = 2 if x[i] > 0 else w * x[i]
        i += 1
    return total


def left_early(x):
    w, total = 0.5, 0.0
    for i in range(len(x)):
        total += w * x[i] * x[i]
        if total > 1.0:
            w = 4
            break
        if x[i] < 0:
            w = -1
            continue
        w = x[i] * 0.5
    return total * w


def in_a_list(x):
    pair, total = [0.5, x[0]], 0.0
    for i in range(len(x)):
        total += pair[0] * x[i] * x[i] * pair[1]
        pair[0], pair[1] = 2, 1
    return total


def in_a_dict(x):
    state, total = {"w": 0.5, "n": 1}, 0.0
    for i in range(len(x)):
        total += state["w"] * x[i] * x[i] * state["n"]
        state["w"] = state["n"] + 1
        state["n"] = x[i] * 0.5
    return total


def _weighted(x, w):
    total = 0.0
    for i in range(len(x)):
        total += w * x[i] * x[i]
        w = 2
    return total


def in_a_helper(x):
    return _weighted(x, 0.5) + _weighted(x * x, x[1])


def exchanged(x):
    a, b, total = 0.5, 2, 0.0
    for i in range(len(x)):
        total += a * x[i] * x[i]
        a, b = b, a
    return total


def steps(x):
    h, y = 0.1, x[0]
    for _ in range(40):
        k1 = np.sin(y) + x[1] * y
        k2 = np.sin(y + 0.5 * h * k1) + x[1] * k1
        k3 = np.sin(y + 0.5 * h * k2) + x[2] * k2 * y
        y = y + h * (k1 + 2 * k2 + k3) / 40
        h = 1
    return y * h


PROGRAMS = [
    later_an_integer, after_the_loop, on_one_side, a_truth_value, counted_from_a_real, from_an_integer_on, of_a_complex,
    of_float32, in_a_while, left_early, in_a_list, in_a_dict, in_a_helper, exchanged, steps,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_what_was_held_comes_back(fun, target):
    assert_derivatives(fun, X, target)


def test_the_tape_is_of_the_kind_that_is_kept():
    source = s2sad.differentiate(steps).source("grad", (X,))
    assert "h_tape = np.empty(40)\n" in source


@pytest.mark.parametrize("fun", [later_an_integer, on_one_side, from_an_integer_on, left_early, in_a_list, exchanged])
def test_second_derivatives(fun):
    gradient = s2sad.grad(fun, target="python")
    np.testing.assert_allclose(s2sad.hessian(fun, target="python")(X), differences(gradient, X), rtol=1e-5, atol=1e-6)
