"""What texts, objects and inner functions carry: changing words, partial, classes, closures."""

from __future__ import annotations

import functools
from collections import namedtuple

import numpy as np
import pytest

from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, -0.4, 2.1])


def a_word_by_the_first_item(x):
    mode = "add" if x[0] > 0 else "multiply"
    s = x[0]
    for v in x[1:]:
        if mode == "add":
            s = s + v * v
        else:
            s = s * v
    return s


def a_machine_of_states(x):
    state = "idle"
    s = 0.0
    for v in x:
        if state == "idle":
            s += v
            if v > 1:
                state = "run"
        elif state == "run":
            s *= v
            state = "done"
        else:
            s -= v**2
    return s


def one_word_of_three(x):
    if x[0] > 2:
        kind = "a"
    elif x[1] > 1:
        kind = "b"
    else:
        kind = "c"
    if kind in ("a", "c"):
        return x[0] ** 2
    return x[1] ** 3


def power(kind, v):
    if kind == "square":
        return v * v
    if kind == "cube":
        return v**3
    raise ValueError("kind")


def a_word_passed_on(x):
    s = 0.0
    for v in x:
        kind = "square" if v > 0 else "cube"
        s += power(kind, v)
    return s


def a_word_bound_twice(x):
    kind = "square"
    s = power(kind, x[0])
    kind = "cube"
    return s * power(kind, x[1])


def the_side_of_a_bisection(x):
    side = "left"
    a, b = 0.0, 3.0
    for _ in range(10):
        c = (a + b) / 2
        if c * c - x[0] > 0:
            b = c
            side = "right"
        else:
            a = c
            side = "left"
    return x[0] * 2 if side == "left" else x[0] * 3


def a_word_that_ends_a_loop(x):
    phase = "up"
    y = x[0]
    while phase != "stop":
        y = y * 1.5 + x[1] * 0.1
        if y > 5:
            phase = "stop"
    return y


def words_in_a_list(x):
    names = ["sin", "cos", "exp"]
    s = 0.0
    for name in names:
        if name == "sin":
            s += np.sin(x[0])
        elif name == "cos":
            s += np.cos(x[1])
        else:
            s += np.exp(x[2])
    return s


def a_partial_of_an_inner_function(x):
    def line(a, b, c):
        return a * b + c

    fixed = functools.partial(line, x[0], c=x[1])
    return fixed(x[2]) * fixed(x[3])


def a_named_tuple_made_inside(x):
    Point = namedtuple("Point", "a b")
    q = Point(x[0], x[1])
    q = q._replace(a=q.a * 2)
    return q.a * q.b


class Kernel:
    scale = 2.0

    def __init__(self, length, height=1.0):
        self.length = length
        self.height = height

    def __call__(self, a, b):
        return self.height * np.exp(-((a - b) ** 2) / self.length**2) * self.scale


class Vector:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, factor):
        return Vector(self.x * factor, self.y * factor)

    __rmul__ = __mul__

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def dot(self, other):
        return self.x * other.x + self.y * other.y


class Linear:
    def __init__(self, factor):
        self.factor = factor

    def act(self, v):
        return v * self.factor


class Quadratic(Linear):
    def act(self, v):
        return v * v * self.factor


class Dual:
    def __init__(self, a, b=0.0):
        self.a = a
        self.b = b

    def __mul__(self, other):
        return Dual(self.a * other.a, self.a * other.b + self.b * other.a)

    def __add__(self, other):
        return Dual(self.a + other.a, self.b + other.b)


def an_object_that_is_called(x):
    kernel = Kernel(x[0])
    return kernel(x[1], x[2]) * kernel(x[3], x[0])


def objects_with_operators(x):
    a = Vector(x[0], x[1])
    b = Vector(x[2], x[3])
    return (a + b * x[0] + 2.0 * a).dot(-a)


def a_class_and_its_base(x):
    return Quadratic(x[0]).act(x[1]) + Linear(x[1]).act(x[2])


def objects_replaced_in_a_loop(x):
    variable = Dual(x[0], 1.0)
    result = Dual(1.0)
    for _ in range(3):
        result = result * variable + Dual(x[1])
    return result.b * x[2]


def objects_in_a_list(x):
    points = [Vector(x[i], x[i + 1]) for i in range(3)]
    s = Vector(0.0, 0.0)
    for point in points:
        s = s + point * 2.0
    return s.x * s.y


def parabola(a):
    def value(v):
        return a * v * v

    return value


def compose(outer, inner):
    return lambda v: outer(inner(v))


def functions_that_return_functions(x):
    both = compose(parabola(x[0]), parabola(x[1]))
    return both(x[2])


PROGRAMS = [
    a_word_by_the_first_item,
    a_machine_of_states, one_word_of_three, a_word_passed_on, a_word_bound_twice, the_side_of_a_bisection,
    a_word_that_ends_a_loop, words_in_a_list, a_partial_of_an_inner_function, a_named_tuple_made_inside,
    an_object_that_is_called, objects_with_operators,
    a_class_and_its_base, objects_replaced_in_a_loop, objects_in_a_list, functions_that_return_functions,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)
