"""Methods and helpers with early returns that write into what they are given."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives


class Ball:
    def __init__(self, y):
        self.y = y
        self.v = 0.0
        self.n = 0

    def step(self, dt):
        if self.y < 0:
            return self.v
        self.v -= 9.81 * dt
        if self.v < -3:
            self.n += 1
            self.v = -3.0
            return self.v * 0.5
        self.y += self.v * dt
        return self.v

    def both(self, k):
        if k > 1:
            self.v = k
        elif k > 0.5:
            return k
        else:
            self.v = k**2
        self.y += self.v
        return self.y

    def inloop(self, xs):
        for v in xs:
            self.y += v
            if self.y > 1.0:
                return


def guard_clauses(x):
    b = Ball(x[0])
    s = 0.0
    for _ in range(6):
        s += b.step(0.1 * x[1])
    return b.y + s * x[2] + b.n


def returns_between(x):
    b = Ball(x[0])
    return sum(b.both(v) for v in x) * b.v


def put(d, k, v):
    if k in d:
        return
    d[k] = v


def a_dict_given(x):
    d = {}
    for k, v in zip("aba", x):
        put(d, k, v)
    return d["a"] * d["b"]


def add(acc, v):
    if v < 0.5:
        return False
    acc.append(v * v)
    return True


def a_list_given(x):
    acc = []
    n = 0
    for v in x:
        if add(acc, v):
            n += 1
    return sum(acc) * n


def a_return_in_a_loop(x):
    b = Ball(x[0])
    b.inloop(x)
    return b.y**2


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("f", [guard_clauses, returns_between, a_dict_given, a_list_given])
def test_early_returns_of_what_writes(f, target):
    assert_derivatives(f, np.array([0.3, 1.2, 2.0]), target)


def test_a_return_inside_of_a_loop_is_refused():
    with pytest.raises(s2sad.AliasError, match="one `return`, at its end"):
        s2sad.grad(a_return_in_a_loop)(np.ones(3))
