"""One of several functions, where a run tells which: lists of functions, conditional expressions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, 0.4, 1.9, 0.9])


def square(v: Any) -> Any:
    return v * v


def cube(v: Any) -> Any:
    return v * v * v


def either_way(f: Any, v: Any) -> Any:
    if v > 1.0:
        return f(v)
    return 2.0 * f(0.5 * v)


class Layer:
    """Has a method that is put into a list."""

    def __init__(self, scale: Any) -> None:
        self.scale = scale

    def act(self, v: Any) -> Any:
        return np.tanh(self.scale * v)


TABLE = [square, cube, math.sin]
NUMBERED = {0: square, 1: cube, 5: np.exp}


def by_a_remainder(x):
    s = 0.0
    for i in range(len(x)):
        s += TABLE[i % 3](2.0 * x[i])
    return s


def from_the_end(x):
    s = 0.0
    for i in range(len(x)):
        k = i - 3 if i < 4 else 1
        s += TABLE[k](x[i])
    return s


def by_the_keys_of_a_dict(x):
    s = 0.0
    for i in range(len(x)):
        s += NUMBERED[5 if i > 2 else 0](x[i])
    return s


def under_a_name(x):
    f = math.sin if x[0] > 0.5 else math.cos
    g = (lambda v: v * x[3]) if x[0] > 1.0 else (lambda v: v + x[4])
    return f(x[1]) * g(x[2]) + f(g(x[2]))


def of_arrays(x):
    steps = (np.tanh, np.sin, lambda a: a * a[0])
    h = x
    for i in range(len(x)):
        h = steps[i % 3](h)
    return np.sum(h)


def that_write(x):
    y = np.zeros(3)

    def add(k, by=1.0):
        y[k] += by * x[0]

    def scale(k, by=2.0):
        y[k] *= by * x[1]

    for i in range(len(x)):
        [add, scale][i % 2](i % 3, by=x[2])
        [add, scale][i % 2](i % 3)
    return np.sum(y * y)


def methods_and_tuples(x):
    layers = [Layer(x[0]).act, Layer(x[1]).act]
    p, q = x[2], x[3]
    for i in range(len(x)):
        p = layers[i % 2](p)
        p, q = (lambda a, b: (a + 0.1 * b, b), lambda a, b: (a, b - 0.1 * a))[i % 2](p, q)
    return p * q


def handed_on(x):
    s = 0.0
    for i in range(len(x)):
        s += either_way(TABLE[i % 3], x[i])
    return s


PROGRAMS = [
    by_a_remainder, from_the_end, by_the_keys_of_a_dict, under_a_name, of_arrays, that_write, methods_and_tuples,
    handed_on,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)


def test_a_place_that_is_not_there_is_noticed():
    def beyond(x):
        s = 0.0
        for i in range(len(x)):
            s += TABLE[i](x[i])
        return s

    with pytest.raises(IndexError):
        s2sad.grad(beyond, target="python")(X)


def test_functions_of_two_paths():
    def torn(x):
        if x[0] > 0.0:
            def f(v):
                return v * v
        else:
            def f(v):
                return 2.0 * v
        return f(x[1])

    for x in (X, -X):
        slope = s2sad.grad(torn, target="python")(x)
        np.testing.assert_allclose(slope[1], 2.0 * x[1] if x[0] > 0.0 else 2.0)
