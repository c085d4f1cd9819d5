"""Attributes and items that a method or a helper writes under a condition: both paths count where they meet."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

import s2sad


class Solver:
    def __init__(self, x):
        self.x = x
        self.converged = False

    def step(self):
        d = math.cos(self.x) - self.x
        self.x = self.x + 0.5 * d
        if abs(d) < 1e-3:
            self.converged = True


def solve(x):  # runs ONE step instead of ~8
    s = Solver(x)
    for _ in range(20):
        s.step()
        if s.converged:
            break
    return s.x


class Marked:
    def __init__(self, x):
        self.x, self.flag, self.mode, self.txt, self.val = x, False, 0, "a", None

    def mark(self):
        if self.x > 0.5:
            self.flag = True

    def both(self):
        if self.x > 0.5:
            self.flag = True
        else:
            self.flag = False

    def number(self):
        if self.x > 0.5:
            self.mode = 3

    def text(self):
        if self.x > 0.5:
            self.txt = "b"

    def none(self):
        if self.x > 0.5:
            self.val = 2.0


def bool_attr(x):
    s = Marked(x)
    s.mark()
    return x**2 if s.flag else x


def both_branches(x):  # wrong at 0.9
    s = Marked(x)
    s.both()
    return x**2 if s.flag else x


def int_attr(x):
    s = Marked(x)
    s.number()
    return x**2 if s.mode == 3 else x


def str_attr(x):
    s = Marked(x)
    s.text()
    return x**2 if s.txt == "b" else x


def none_attr(x):  # at 0.3: UnboundLocalError "cannot access local variable 's_val'"  (x*0 taken as not None)
    s = Marked(x)
    s.none()
    return x**2 if s.val is None else x * s.val


def set_done(state, y):
    if y > 0.5:
        state["done"] = True


def dict_in_helper(x):
    state = {"done": False}
    y = x
    for _ in range(3):
        set_done(state, y)
        if state["done"]:
            break
        y = y * 1.4
    return y


@dataclass
class Flagged:
    x: float
    flag: bool = False


def set_flag(d):
    if d.x > 0.5:
        d.flag = True


def dataclass_in_helper(x):
    d = Flagged(x)
    for _ in range(3):
        set_flag(d)
        if d.flag:
            break
        d.x *= 1.4
    return d.x


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("f", [
    solve, bool_attr, both_branches, int_attr, str_attr, none_attr, dict_in_helper, dataclass_in_helper,
])  # fmt: skip
def test_what_a_helper_writes_under_a_condition(f, target):
    for x in (0.3, 0.9):
        value, gradient = s2sad.value_and_grad(f, target=target)(x)
        np.testing.assert_allclose(value, f(x), rtol=1e-12)
        np.testing.assert_allclose(gradient, (f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rtol=1e-6, atol=1e-6)


class Speed:
    def __init__(self, x):
        self.v = x


def limit(s, v):
    if v > 0.5:
        s.v *= 1.3


def its_own_item(x):
    s = Speed(x)
    limit(s, s.v)
    return s.v**2


class Descent:
    def __init__(self, params):
        self.params = params

    def step(self, gradients):
        for i, (p, g) in enumerate(zip(self.params, gradients, strict=True)):
            self.params[i] = p - 0.1 * g


def parameters_written_while_they_are_gone_over(x):
    descent = Descent([x, 2 * x])
    for _ in range(3):
        descent.step([descent.params[1] ** 2, x])
    return descent.params[0] * descent.params[1]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("f", [its_own_item, parameters_written_while_they_are_gone_over])
def test_items_in_two_variables(f, target):
    for x in (0.3, 0.9):
        value, gradient = s2sad.value_and_grad(f, target=target)(x)
        np.testing.assert_allclose(value, f(x), rtol=1e-12)
        np.testing.assert_allclose(gradient, (f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rtol=1e-6, atol=1e-6)
