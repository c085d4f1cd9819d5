"""Attributes and items of dicts that are None or another text on another path."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives


class Best:
    def __init__(self, v=None):
        self.best = v
        self.mode = "a"


def another_object(x):
    s = Best()
    o = Best()
    if x[0] > 0.1:
        s.best = x[1]
    if s.best is not None:
        s = o
        return (s.best if s.best is not None else x[2]) * 2
    return x[0]


def the_best(x):
    s = Best()
    for v in x:
        if s.best is None or v > s.best:
            s.best = v**2
    return s.best


def items_of_a_dict(x):
    d = {"best": None, "mode": "start"}
    s = 0.0
    for v in x:
        if d["best"] is None:
            d["best"] = v
        elif v > d["best"]:
            d["best"] = v**2
            d["mode"] = "up"
        if d["mode"] == "up":
            s += v
    return s + d["best"]


class Mode(enum.Enum):
    A = 1
    B = 2


@dataclass
class Moving:
    x: float
    mode: Mode = Mode.A
    last: float | None = None

    def step(self, v):
        if v > 1.0:
            self.mode = Mode.B
        if self.mode is Mode.A:
            self.x += v
        else:
            self.x += v**2
        if self.last is not None:
            self.x += self.last * v
        self.last = v


def members_and_none(x):
    m = Moving(x[0])
    for v in x:
        m.step(v)
    return m.x + m.last


class Filter:
    def __init__(self):
        self.state = None

    def __call__(self, v):
        if self.state is None:
            self.state = np.zeros(3)
        self.state = 0.5 * self.state + v
        return np.sum(self.state**2)


def an_array_later(x):
    f = Filter()
    return f(x) + f(x[::-1]) * f(2 * x)


class Regulator:
    def __init__(self):
        self.prev = None
        self.i = 0.0

    def u(self, e):
        d = 0.0 if self.prev is None else e - self.prev
        self.prev = e
        self.i += e
        return e + 0.1 * self.i + 2 * d


def the_error_before(x):
    p = Regulator()
    s = 0.0
    for v in x:
        s += p.u(v) ** 2
    return s


def one_of_three_texts(x):
    s = Best()
    if x[0] > 0.1:
        s.mode = "b"
    if x[1] > 5:
        s.mode = "c"
    r = {"a": 1.0, "b": 2.0, "c": 3.0}[s.mode]
    return r * x[2] + (x[0] if s.mode in ("a", "b") else 0)


def a_name_for_it(x):
    s = Best()
    if x[0] > 0.1:
        s.best = x[1]
    y = s.best
    if y is None:
        y = x[2]
    return y * 3


def its_truth(x):
    s = Best()
    if x[0] > 0.1:
        s.best = x[1]
    y = s.best or x[2]
    z = s.best if s.best else 0.0
    return y * 3 + z


def none_that_is_used(x):
    s = Best()
    if x[0] > 10:
        s.best = x[1]
    return s.best * 2


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("f", [
    another_object, the_best, items_of_a_dict, members_and_none, an_array_later, the_error_before, one_of_three_texts,
    a_name_for_it, its_truth,
])  # fmt: skip
def test_none_and_texts_in_fields(f, target):
    assert_derivatives(f, np.array([0.3, 1.2, 2.0]), target)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_none_where_a_number_is_needed_is_an_error_of_the_run(target):
    with pytest.raises(TypeError, match=r"`s.best` is still None here"):
        s2sad.grad(none_that_is_used, target=target)(np.ones(3))
    np.testing.assert_allclose(s2sad.grad(none_that_is_used, target=target)(np.full(3, 11.0)), [0.0, 2.0, 0.0])


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_name_gets_none_as_python_does(target):
    np.testing.assert_allclose(s2sad.grad(a_name_for_it, target=target)(np.array([0.05, 1.0, 2.0])), [0.0, 0.0, 3.0])
