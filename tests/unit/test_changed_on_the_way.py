"""Comprehensions, sums and sort keys whose items change what stands outside: they are loops."""

from __future__ import annotations

import numpy as np
import pytest

from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, 0.4, 1.9, 0.9, 1.6])


class C:
    def __init__(self):
        self.h = []
        self.n = 0
        self.t = 0.0

    def note(self, v):
        self.h.append(v)
        self.n += 1
        self.t += v
        return v


def closure(x):
    c = C()

    def tick(v):
        c.h.append(v)
        return v

    s = sum(tick(v) for v in x)
    return sum(c.h) * s


def method(x):
    c = C()
    s = sum(c.note(v) for v in x)
    return sum(c.h) * s


def method_list(x):
    c = C()
    s = [c.note(v) for v in x]
    return sum(c.h) * s[0]


def scalars(x):
    c = C()
    s = [c.note(v) for v in x]
    return c.n * c.t * s[0]


def direct(x):
    c = C()
    s = [c.h.append(v) or v for v in x]
    return sum(c.h) * x[0] + s[0]


def item_of_dict(x):
    d = {"h": []}

    def tick(v):
        d["h"].append(v)
        return v

    s = sum(tick(v) for v in x)
    return sum(d["h"]) * s


def item_of_dict_list(x):
    d = {"h": []}

    def tick(v):
        d["h"].append(v)
        return v

    s = [tick(v) for v in x]
    return sum(d["h"]) * s[1]


def written(x):
    class_ = C()
    class_.h = [0.0, 0.0]

    def tick(v):
        class_.h[0] += v
        return v

    s = sum(tick(v) for v in x)
    return sum(class_.h) * s


def in_list(x):
    d = [[], []]

    def tick(v):
        d[0].append(v)
        return v

    s = [tick(v) for v in x]
    return sum(d[0]) * s[1]


def in_loop_right(x):
    c = C()
    s = 0.0
    for v in x:
        s += c.note(v)
    return sum(c.h) * s


def while_cond(x):
    c = C()
    i = 0
    while c.note(x[i]) < 1.8:
        i += 1
    return sum(c.h) * len(c.h)


def lambda_map(x):
    c = C()
    s = list(map(lambda v: c.note(v * 2), x))
    return sum(c.h) * s[1]


def any_(x):
    c = C()
    s = any(c.note(v) > 1.5 for v in x)
    return sum(c.h) * s


def sort_key(x):
    c = C()
    s = sorted(x, key=lambda v: c.note(-v))
    return sum(c.h) * s[0]


def next_(x):
    c = C()
    s = next(v for v in x if c.note(v) > 1.5)
    return sum(c.h) * s


PROGRAMS = [
    closure, method, method_list, scalars, direct, item_of_dict, item_of_dict_list, written, in_list,
    in_loop_right, while_cond, lambda_map, any_, sort_key, next_,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)


class Sum:
    """Keeps what it is given."""

    def __init__(self):
        self.kept = []
        self.total = 0.0

    def note(self, v):
        self.kept.append(v)
        return v

    def add(self, v):
        self.total += v
        return self.total


def noted_on_one_side(x):
    c = Sum()
    s = c.note(x[0]) if x[1] > 0 else c.note(x[2])
    return sum(c.kept) * s


def added_on_one_side(x):
    c = Sum()
    s = c.add(x[0]) if x[1] > 5 else c.add(x[2]) * c.add(x[3])
    return c.total * s


def noted_by_a_dict(x):
    held = {"a": []}

    def note(v):
        held["a"].append(v)
        return v

    s = note(x[0]) if x[1] > 0 else note(x[2])
    return sum(held["a"]) * s


def noted_where_it_is_asked(x):
    c, s = Sum(), 0.0
    for v in x:
        if v > 1.5 or c.note(v) > 1:
            s += v
    return sum(c.kept) * s


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    "fun", [noted_on_one_side, added_on_one_side, noted_by_a_dict, noted_where_it_is_asked]
)
def test_sides_of_a_conditional_expression_change_what_stands_outside(fun, target):
    assert_derivatives(fun, X, target)
