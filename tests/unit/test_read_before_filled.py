"""Lists that a helper reads before anything has gone into them: histories of steps, empty at first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.differences import assert_derivatives

X = np.array([0.1, 0.3, 0.5])
SCALES = np.array([1.0, 2.0, 3.0])


def orthogonal(g, steps):
    q = g.copy()
    for s in steps:
        q -= s.dot(q) * s
    return q


def in_a_helper(x):
    steps = []
    for _ in range(3):
        new = x - 0.1 * orthogonal(x, steps)
        steps.append(new - x)
        if len(steps) > 2:
            steps.pop(0)
        x = new
    return x @ x


def in_a_while_loop(x):
    steps = []
    k = 0
    while k < 3:
        new = x - 0.1 * orthogonal(x, steps)
        steps.append(new - x)
        x = new
        k += 1
    return x @ x


def two_loops(g, steps, changes):
    q = g.copy()
    kept = []
    for s, y in zip(reversed(steps), reversed(changes), strict=True):
        a = s.dot(q) / y.dot(s)
        kept.append(a)
        q = q - a * y
    if len(steps) > 0:
        q = q * (steps[-1].dot(changes[-1]) / changes[-1].dot(changes[-1]))
    for s, y, a in zip(steps, changes, reversed(kept), strict=True):
        q = q + (a - y.dot(q) / y.dot(s)) * s
    return q


def slope(x):
    return SCALES * x + 4 * x**3


def limited_memory(x):
    steps, changes = [], []
    g = slope(x)
    for _ in range(4):
        new = x - 0.3 * two_loops(g, steps, changes)
        changed = slope(new)
        steps.append(new - x)
        changes.append(changed - g)
        if len(steps) > 2:
            steps.pop(0)
            changes.pop(0)
        x, g = new, changed
    return x @ x


class Memory:
    def __init__(self):
        self.steps, self.changes = [], []

    def direction(self, g):
        return -two_loops(g, self.steps, self.changes)


def in_an_object(x):
    memory = Memory()
    g = slope(x)
    for _ in range(3):
        new = x + 0.3 * memory.direction(g)
        changed = slope(new)
        memory.steps.append(new - x)
        memory.changes.append(changed - g)
        x, g = new, changed
    return x @ x


@pytest.mark.parametrize("target", ["cpu", "python"])
@pytest.mark.parametrize("fn", [in_a_helper, in_a_while_loop, limited_memory, in_an_object], ids=lambda f: f.__name__)
def test_a_list_that_is_empty_at_the_first_call_is_read_by_a_helper(fn: Any, target: str):
    assert_derivatives(fn, X, target)
