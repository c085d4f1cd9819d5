"""The structure of a container that a helper changes under a condition: refused, as it is in the function itself."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives


def hsort(items, x):
    if x[0] > 0.5:
        items.sort()


def sort_in_helper(x):  # value 0.0 when the branch is not taken (python), garbage on cpu
    items = [x[2], x[1], x[0]]
    hsort(items, x)
    return items[0] ** 2 + 3 * items[1] * items[2]


def hrev(items, x):
    if x[0] > 0.5:
        items.reverse()


def reverse_in_helper(x):
    items = [x[0], x[1], x[2] ** 2]
    hrev(items, x)
    return items[0] ** 2 + items[1] * items[2]


def hpop(d, x):
    if x[0] > 0.5:
        d.pop("a")


def pop_in_helper(x):
    d = {"a": x[1], "b": x[2]}
    hpop(d, x)
    return sum(d.values()) ** 2


class Held:
    def __init__(self, x):
        self.l = [x[0], x[1], x[2]]
        self.act = np.tanh
        self.axis = 0
        self.n = 3

    def shorter(self, x):
        if x[0] > 0.5:
            self.l = [x[1], x[2]]

    def array(self, x):
        if x[0] > 0.5:
            self.l = np.array(self.l)

    def choose(self, x):
        if x[0] > 0.5:
            self.act = np.sin
            self.axis = 1
            self.n = 1


def shorter_list(x):
    c = Held(x)
    c.shorter(x)
    return c.l[-1] * len(c.l)


def to_array(x):
    c = Held(x)
    c.array(x)
    return c.l[0] * x[0]


def function_attr(x):
    c = Held(x)
    c.choose(x)
    return c.act(x[1])


def axis_attr(x):
    c = Held(x)
    c.choose(x)
    return np.sum(x.reshape(2, 2), axis=c.axis)[1]


def size_attr(x):  # value right, gradient wrong
    c = Held(x)
    c.choose(x)
    return np.sum(np.zeros(c.n) + x[0]) + x[: c.n].sum()


def index_attr(x):
    c = Held(x)
    c.choose(x)
    return x[0] * (3, 2, 1, 7)[c.n]


X = np.array([0.3, 0.6, 0.4, 0.9])


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("f", [size_attr, index_attr, reverse_in_helper])
def test_numbers_are_joined(f, target):
    assert_derivatives(f, X, target)


@pytest.mark.parametrize("f", [
    sort_in_helper, pop_in_helper, shorter_list, to_array, function_attr, axis_attr,
])  # fmt: skip
def test_what_has_no_form_for_both_paths_is_refused(f):
    with pytest.raises(s2sad.S2SADError, match=r"no single meaning|must be known"):
        s2sad.grad(f)(X)
