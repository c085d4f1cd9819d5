"""What a loop goes over is told once; names that a derivative has uses for; tangents that share memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.3, 0.5, 0.7])


class Box:
    def __init__(self, v):
        self.v = v

    def halve(self):
        self.v = self.v * 0.5


def halve(o):
    o.v = o.v * 0.5 + 0.1


def attribute(x):
    o = Box(x * 0.9)
    total = 0.0
    for w in o.v:
        total += w
        o.v = o.v * 0.8
    return np.sum(o.v) + total


def by_a_helper(x):
    o = Box(x * 1.0)
    total = 0.0
    for i, w in enumerate(o.v):
        total += w * w * (i + 1)
        halve(o)
    return total


def by_a_method(x):
    o = Box(x * 1.0)
    total = 0.0
    for w in reversed(o.v):
        total += w * w + o.v[0]
        o.halve()
    return total


def item_of_a_tuple(x):
    t = (x * 1.0, 1.0)
    total = 0.0
    for w in t[0]:
        total += w * w
        t = (t[0] * 0.5, 2.0)
    return total


def item_of_a_dict(x):
    d = {"a": x * 0.9}
    total = 0.0
    for w in d["a"]:
        total += w * d["a"][0]
        d["a"] = d["a"] * 0.8
    return total


def in_a_comprehension(x):
    o = Box(x)

    def f(w):
        o.v = o.v * 0.5
        return w * o.v[0]

    return sum([f(w) for w in o.v])


def added_to_in_place(x):
    o = Box(x * 1.0)
    total = 0.0
    for w in o.v:
        total += w * w
        o.v += 0.1
    return total


FNS = [attribute, by_a_helper, by_a_method, item_of_a_tuple, item_of_a_dict, in_a_comprehension, added_to_in_place]


@pytest.mark.parametrize("target", ["cpu", "python"])
@pytest.mark.parametrize("fn", FNS, ids=lambda f: f.__name__)
def test_a_loop_goes_on_over_what_it_began_with(fn: Any, target: str):
    assert_derivatives(fn, X, target)


def index(x):
    for _ in range(2):
        pass
    k = 0
    x = x.copy()
    while k < 2:
        k += 1
        x[_:] = x[_:] * x[0]
    return np.sum(x * np.cos(x))


def factor(x):
    u, _ = x[0] * 2.0, x[1] * 3.0
    k = 0
    while k < 3:
        k += 1
        u = u * _
    return u


def length(x):
    (_,) = x.shape
    k = 0
    x = x.copy()
    while k < 2:
        k += 1
        x[k] *= x[k - 1] * _
    return np.sum(x)


@pytest.mark.parametrize("target", ["cpu", "python"])
@pytest.mark.parametrize("fn", [index, factor, length], ids=lambda f: f.__name__)
def test_an_underscore_that_is_read_is_kept(fn: Any, target: str):
    assert_derivatives(fn, X, target)


def shifted(x):
    v = x * 2.0
    w = v
    v = v + 1.0
    w *= 2.0
    return np.sum(v * w)


def copied(x):
    v = x * 2.0
    w = v
    v = v.copy()
    w *= 2.0
    return np.sum(v * w)


def one_item(x):
    v = x * 2.0
    w = v
    v = v + 1.0
    w[0] = 0.5
    return np.sum(v * w)


@pytest.mark.parametrize("target", ["cpu", "python"])
@pytest.mark.parametrize("fn", [shifted, copied, one_item], ids=lambda f: f.__name__)
def test_a_tangent_is_an_array_of_its_own_where_the_value_is(fn: Any, target: str):
    _, moved = s2sad.jvp(fn, (X,), (np.cos(X),), target=target)
    h = 1e-6 * np.cos(X)
    assert moved == pytest.approx((fn(X + h) - fn(X - h)) / 2e-6, rel=1e-7)
    assert_derivatives(fn, X, target)
