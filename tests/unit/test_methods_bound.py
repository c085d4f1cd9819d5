"""Methods that are kept, passed on, and called when their object has changed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, 0.4, 1.9, 0.9, 1.6])


class C:
    def __init__(self, r):
        self.r = r

    def area(self):
        return self.r**2

    def grow(self, k):
        self.r += k
        return self


def method_1(x):
    c = C(x[0])
    f = c.area
    c.r *= 2
    return f()


def method_2(x):
    c = C(x[0])
    fs = [c.area]
    c.r *= 2
    return sum(f() for f in fs)


def method_3(x):
    c = C(x[0])
    fs = [c.area]
    c.r *= 2
    return fs[0]()


def method_4(x):
    c = C(x[0])
    return c.area() + c.grow(x[2]).grow(0.5).r


def method_5(x):
    c = C(x[0])
    f = c.grow
    f(x[1])
    f(x[2])
    return c.r**2


def method_6(x):
    c = C(x[0])
    f = lambda: c.r**2
    c.r *= 2
    return f()


def method_7(x):
    c = C(x[0])
    d = {"a": c}
    c.r *= 2
    return d["a"].r


def method_8(x):
    c = C(x[0])
    lst = [c, C(x[1])]
    c.r *= 2
    return sum(q.area() for q in lst)


def method_9(x):
    c = C(x[0])
    s = 0.0
    f = c.area
    for i in range(3):
        c.r *= 1.5
        s += f()
    return s


def method_10(x):
    v = []
    add = v.append
    for t in x:
        add(t * t)
    return v[1] * len(v)


def method_11(x):
    c = C(x[0])
    g = c.grow
    for i in range(3):
        g(x[i])
    return c.r**2


def method_12(x):
    import functools

    c = C(x[0])
    p = functools.partial(c.grow, x[1])
    c.r = x[2]
    p()
    return c.r**2


def twice(f, v):
    f(v)
    f(v)


def passed(x):
    c = C(x[0])
    twice(c.grow, x[1])
    return c.r**2


class Log:
    def __init__(self):
        self.h = []

    def note(self, v):
        self.h.append(v)


def passed_append(x):
    c = Log()
    twice(c.note, x[1])
    return sum(c.h) + x[0]


PROGRAMS = [
    method_1, method_2, method_3, method_4, method_5, method_6, method_7, method_8, method_9, method_10,
    method_11, method_12, passed, passed_append,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)
