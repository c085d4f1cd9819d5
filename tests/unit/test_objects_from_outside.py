"""Objects of the user's classes that a function finds outside of it: their operators mean what their class says."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives, differences

X = np.array([1.0, 2.0])


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return Vector(self.x - other.x, self.y - other.y)

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __mul__(self, factor):
        return Vector(self.x * factor, self.y * factor)

    def __getitem__(self, i):
        return self.x if i == 0 else self.y

    def __call__(self, factor):
        return self.x * factor + self.y

    def __abs__(self):
        return math.hypot(self.x, self.y)

    def __len__(self):
        return 2

    def __lt__(self, other):
        return self.x < other.x

    def __iter__(self):
        return iter((self.x, self.y))


@dataclass
class Point:
    x: float
    y: float

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)


LIGHT, ORIGIN = Vector(5.0, 1.0), Point(1.0, 2.0)
LIGHTS = [Vector(1.0, 2.0), Vector(2.0, 3.0)]
NAMED = {"sun": Vector(1.0, 2.0)}


def left_of_a_difference(p):
    d = LIGHT - Vector(p[0], p[1])
    return d.x * d.x + d.y * d.y


def times_a_number(p):
    w = LIGHT * p[0]
    return w.x + w.y * p[1]


def negated(p):
    return (-LIGHT).x * p[0]


def its_length(p):
    return abs(LIGHT) * p[0] + len(LIGHT) * p[1]


def an_item(p):
    return LIGHT[1] * p[0] + LIGHT(p[1])


def compared(p):
    return p[0] if LIGHT < Vector(p[0], 1.0) else p[1] ** 2


def unpacked(p):
    a, b = LIGHT
    return a * p[0] + b * p[1]


def a_record(p):
    w = ORIGIN + Point(p[0], p[1])
    return w.x * w.y


def added_to(p):
    total = LIGHT
    total += Vector(p[0], p[1])
    return total.x * total.y


def of_a_list(p):
    total = 0.0
    for light in LIGHTS:
        w = light + Vector(p[0], p[1])
        total += w.x * w.y
    return total


def of_a_dict(p):
    w = NAMED["sun"] + Vector(p[0], p[1])
    return w.x * w.y


def closed_over():
    home = Vector(1.0, 2.0)

    def f(p):
        w = home + Vector(p[0], p[1])
        return w.x * w.y

    return f


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    "fun",
    [
        left_of_a_difference, times_a_number, negated, its_length, an_item, compared, unpacked, a_record, added_to,
        of_a_list, of_a_dict, closed_over(),
    ],
)  # fmt: skip
def test_operators(fun, target):
    assert_derivatives(fun, X, target)


def test_what_they_hold_is_read_at_each_call(monkeypatch):
    gradient = s2sad.grad(times_a_number, target="python")
    np.testing.assert_allclose(gradient(X), differences(times_a_number, X), rtol=1e-6)
    monkeypatch.setattr(LIGHT, "x", 7.0)
    np.testing.assert_allclose(gradient(X), differences(times_a_number, X), rtol=1e-6)


class Cubic:
    def __init__(self, a):
        self.a = a

    def __eq__(self, other):
        return self.a == other.a

    def __call__(self, x):
        return self.a * x**3


CUBIC = Cubic(2.0)


def test_objects_that_compare_themselves_by_values_are_called():
    def f(x):
        return np.sum(CUBIC(x)) if callable(CUBIC) else 0.0

    x = np.array([1.0, -2.0])
    np.testing.assert_allclose(s2sad.grad(f)(x), 6 * x**2)
    polynomial = np.polynomial.Chebyshev.basis(3, [0, 1])
    with pytest.raises(s2sad.MissingRuleError, match="has no derivative rule"):
        s2sad.grad(lambda x: np.sum(polynomial(x)))(x)
