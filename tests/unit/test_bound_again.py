"""Names that are bound again while a closure or a method of what they meant is kept: each keeps what it was made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.4, 0.9, -0.3])


def power(a):
    return lambda x: a * x**2


def added(f, a):
    return lambda x: f(x) + a * x


def after(f, g):
    return lambda x: g(f(x))


def squared(x, a):
    return a + x**2


def scaled(f, k):
    return lambda x: k * f(x)


def slope(f, h=0.1):
    return lambda x: (f(x + h) - f(x - h)) / (2 * h)


def second_of(v):
    return lambda x: x * v[1]


class Shifted:
    def __init__(self, a):
        self.a = a

    def __call__(self, x):
        return self.a + x**2

    def scale(self, x):
        return self.a * x

    def bump(self, x):
        self.a = self.a + x
        return self.a

    def maker(self):
        return lambda x: self.a * x


@dataclass(frozen=True)
class Fixed:
    a: float

    def scale(self, x):
        return self.a * x


class Holder:
    def __init__(self, rate):
        self.schedule = power(rate)

    def step(self, x):
        return x - self.schedule(x)


def a_number(p):
    v, q, r = p
    f = power(v)
    v = v * q
    return f(r) + power(v)(q) + v


def given_by_name(p):
    return _given_by_name(v=p[0], q=p[1], r=p[2])


def _given_by_name(*, v, q, r):
    f = power(v)
    v = v * q
    return f(r) + v


def with_a_function(p):
    v, q, r = p
    f = added(np.sin, v)
    v = v * q
    g = added(f, v)
    return f(r) + g(r)


def in_a_loop(p):
    v, q, r = p
    f = power(v)
    for _ in range(3):
        f = power(v)
        v = f(q)
    return v + f(r)


def exchanged(p):
    v, q, r = p
    fs = [power(v), power(q)]
    v, q = q, v
    return fs[0](r) + 2 * fs[1](r) + v


def an_array(p):
    a = np.array([p[0], p[1]])
    f = after(np.sin, second_of(a))
    a = a + 5.0 * p[2]
    return f(p[2]) + np.sum(a)


def an_array_that_is_written(p):
    a = np.array([p[0], p[1]])
    f = second_of(a)
    a[1] = 5.0 * p[2]
    return f(p[2]) + np.sum(a)


def an_object(p):
    v, q, r = p
    g = Shifted(q)
    f = after(np.sin, g)
    g = Shifted(r)
    return f(0.7) * v + g(0.2)


def an_object_that_changes(p):
    v, q, r = p
    o = Shifted(v)
    m = o.maker()
    o.bump(q)
    t = m(r)
    o = Shifted(q)
    return t + m(q) + o(r)


def in_a_constructor(p):
    v, q, r = p
    o = Holder(v)
    v = v * q
    return o.step(r) * v


def partials_in_turn(p):
    f = partial(squared, a=p[0])
    for g in (partial(squared, a=p[1]), partial(squared, a=p[2])):
        f = after(f, g)
    return f(0.7)


def composed(p):
    compose = lambda *fs: reduce(lambda f, g: lambda x: g(f(x)), fs)
    return compose(partial(squared, a=p[0]), partial(squared, a=p[1]), partial(squared, a=p[2]))(0.7)


def three_deep(p):
    return scaled(scaled(scaled(np.sin, p[0]), p[1] * 2), p[2] * 3)(0.3)


def a_third_difference(p):
    return slope(slope(slope(lambda x: p[0] * x**4 + p[1] * x**2)))(p[2])


def a_method(p):
    v, q, r = p
    o = Shifted(v)
    m = o.scale
    o = Shifted(q)
    return m(r) + o(q)


def methods_in_a_tuple(p):
    fs = ()
    for a in (p[0], p[1]):
        o = Shifted(a)
        fs = (*fs, o.scale)
    return fs[0](p[2]) + 2 * fs[1](p[2])


def a_method_that_writes(p):
    v, q, r = p
    o = Shifted(v)
    m, n = o.bump, o.scale
    o = Shifted(q)
    m(r)
    m(r)
    return n(r) + o(q) + m(v)


def a_method_of_what_is_fixed(p):
    v, q, r = p
    o = Fixed(v)
    m = o.scale
    o = Fixed(q)
    return m(r) + o.scale(q)


def a_method_of_an_array(p):
    w = p * 2.0
    dot, total = w.dot, w.sum
    w = w * p[0]
    return dot(p) * total() + w[1]


def used_before(p):
    values = [p[0], p[1]]
    r = p[2]
    g = (x * r for x in values)
    total = sum(g)
    r = 2 * total
    return total + r


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    "fun",
    [
        a_number, given_by_name, with_a_function, in_a_loop, exchanged, an_array, an_array_that_is_written, an_object,
        an_object_that_changes, in_a_constructor, partials_in_turn, composed, three_deep, a_third_difference, a_method,
        methods_in_a_tuple, a_method_that_writes, a_method_of_what_is_fixed, a_method_of_an_array,
        used_before,
    ],
)  # fmt: skip
def test_each_keeps_what_it_was_made_of(fun, target):
    assert_derivatives(fun, X, target)


def read_late(p):
    values, r = [p[0], p[1]], p[2]
    g = (x * r for x in values); r = 2 * r  # noqa: E702
    return sum(g) + r


def test_an_iterator_that_reads_what_is_bound_again_is_refused_on_one_line_too():
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="bound again") as refused:
        s2sad.grad(read_late, target="python")(X)
    assert "g = (x * r for x in values)" in str(refused.value)


def a_view_of_a_dict(p):
    d = {"a": p[0], "b": p[1]}
    values = d.values()
    d["a"] = p[2]
    return sum(values)


def a_view_of_a_dict_in_a_loop(p):
    d = {"a": p[0], "b": p[1]}
    values = d.values()
    total = 0.0
    for _ in range(2):
        total += sum(values)
        d["a"] = p[2]
    return total


def a_view_read_in_time(p):
    d = {"a": p[0], "b": p[1]}
    values = d.values()
    total = sum(values)
    d["a"] = total * p[2]
    return sum(d.values()) + total


def test_a_view_of_a_dict_that_is_written_before_it_is_read_is_refused():
    for fun in (a_view_of_a_dict, a_view_of_a_dict_in_a_loop):
        with pytest.raises(s2sad.UnsupportedSyntaxError, match="`d` is written while `values`") as refused:
            s2sad.grad(fun, target="python")(X)
        assert "`d.values()` where it is used" in str(refused.value)
    assert_derivatives(a_view_read_in_time, X, "python")
