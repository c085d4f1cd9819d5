"""What operands of `and` and `or`, and items of `all` and `any`, write when it is their turn, and only then."""

from __future__ import annotations

import numpy as np
import pytest

from tests.differences import assert_derivatives


class Refined:
    def __init__(self):
        self.w = 1.0
        self.n = 0

    def refine(self):
        self.w *= 1.5
        return True

    def count(self):
        self.n += 1
        return True


def attribute(x):
    k = Refined()
    if x[0] > 0.5 and k.refine():
        k.w += 1.0
    return x[1] * k.w


def loop(x):  # value 0: n is lost
    k = Refined()
    w = 1.0
    while w < 10 * x[0] and k.count():
        w *= 1.5
    return x[1] * w * k.n


def nonlocal_number(x):
    s = 1.0

    def push(v):
        nonlocal s
        s += v
        return True

    if x[0] > 0.3 and push(x[1]):
        s *= 2
    return s * x[0]


def list_item(x):
    c = [0.0]

    def push(v):
        c[0] += v
        return True

    if x[0] > 0.3 and push(x[1]):
        c[0] *= 2
    return c[0] * x[0]


def in_comprehension(x):
    k = Refined()
    return sum(v for v in x if v > 0.3 and k.refine()) * k.w


def negated(x):
    k = Refined()
    if not k.refine() or k.w > 1.2:
        return k.w * x[0]
    return x[1]


class Chain:
    def __init__(self):
        self.w = 1.0

    def accept(self, v):
        self.w = self.w * v
        return v < 0.7


def stops_early(x):
    k = Chain()
    ok = all(k.accept(v) for v in x)  # stops at x[1]
    return k.w * (2.0 if ok else 1.0)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("f", [
    attribute, loop, nonlocal_number, list_item, in_comprehension, negated, stops_early,
])  # fmt: skip
def test_what_an_operand_writes(f, target):
    assert_derivatives(f, np.array([0.6, 0.4, 0.9]), target)
