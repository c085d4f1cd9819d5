"""`array.array("d", …)` of the standard library: a list of floats."""

import array
from array import array as made_of

import numpy as np
import pytest

import s2sad


def repeated(x):
    n = 5
    a = made_of("d", [0]) * n
    for i in range(n):
        a[i] = x * i + (a[i - 1] if i else 0)
    b = a[1:3]
    b[0] = 7.0
    return a[4] * a[1] + sum(b)


def copied(x):
    a = array.array("d", [0.0] * 4)
    for i in range(4):
        a[i] = x**i
    c = array.array("d", a)
    c.append(x)
    a[2] = 0.0
    return sum(c) * len(c) + a[2]


class Grid:
    def __init__(self, w, h):
        self.w, self.h = w, h
        self.data = made_of("d", [0]) * (w * h)

    def __getitem__(self, at):
        return self.data[at[1] * self.w + at[0]]

    def __setitem__(self, at, value):
        self.data[at[1] * self.w + at[0]] = value


def relaxed(x):
    g = Grid(4, 4)
    for i in range(4):
        for j in range(4):
            g[i, j] = x * i - j * x * x
    for _ in range(3):
        for y in range(1, 3):
            for z in range(1, 3):
                g[z, y] = 0.3 * (g[z, y - 1] + g[z, y + 1] + g[z - 1, y] + g[z + 1, y]) - 0.2 * g[z, y]
    return g[1, 1] * g[2, 2]


@pytest.mark.parametrize("program", [repeated, copied, relaxed], ids=lambda f: f.__name__)
def test_arrays_of_doubles_are_lists_of_floats(program):
    x, h = 1.3, 1e-6
    expected = (program(x + h) - program(x - h)) / (2 * h)
    assert s2sad.grad(program)(x) == pytest.approx(expected, rel=1e-7)
    value, tangent = s2sad.jvp(program, (x,), (1.0,))
    assert value == pytest.approx(program(x), rel=1e-14)
    assert tangent == pytest.approx(expected, rel=1e-7)


def test_arrays_of_other_types_are_refused():
    def f(x):
        a = array.array("f", [0.0, 0.0])
        a[0] = x
        return a[0]

    with pytest.raises(s2sad.S2SADError, match="only arrays of doubles"):
        s2sad.grad(f)(1.0)


def test_whole_numbers_become_floats():
    def f(x):
        a = array.array("d", [1, 2])
        return np.sin(x * a[0] / a[1])

    assert s2sad.grad(f)(0.3) == pytest.approx(0.5 * np.cos(0.15))
