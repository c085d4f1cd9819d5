"""Names that may be None, given to functions that ask: states of cells, transforms that begin as None."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.differences import assert_derivatives

X = np.array([[0.3, 0.2], [0.1, 0.5]])


def moved(before, r, k=1):
    return r * k if before is None else before @ r


def smooth(x, prev=None):
    if prev is not None:
        return 0.5 * x + 0.5 * prev
    return x


def two_parts(state, x):
    if state is None:
        h, c = x * 0.0, x * 0.0
    else:
        h, c = state
    c = 0.5 * c + np.tanh(x + h)
    return np.sin(c), c


class Cell:
    def __init__(self, w):
        self.w = w

    def __call__(self, x, h=None):
        if h is not None:
            return np.tanh(self.w * x + h)
        return np.tanh(self.w * x)

    def step(self, x, h=None):
        if h is None:
            h = np.zeros(2)
        return np.tanh(self.w * x + h)


def left_by_a_break(m):
    h = None
    count, error = 0, np.inf
    while error > 1e-4:
        count += 1
        error = 1.0 / count
        h = moved(h, m)
        if count >= 4:
            break
    return np.sum(h)


def by_word(m):
    h = None
    for k in range(3):
        h = moved(h, m, k=k + 1)
    return np.sum(h)


def of_numbers(m):
    prev = None
    total = 0.0
    for i in range(2):
        for j in range(2):
            prev = smooth(m[i, j], prev=prev)
            total += prev**2
    return total


def inside_of_an_expression(m):
    prev = None
    total = 0.0
    for i in range(2):
        total += np.sum(smooth(m[i], prev) ** 2)
        prev = m[i] * 2
    return total


def of_tuples(m):
    state = None
    for i in range(2):
        state = two_parts(state, m[i])
    h, c = state
    return np.sum(h) + np.sum(c)


def of_methods(m):
    cell = Cell(m[0, 0])
    h = None
    for i in range(2):
        h = cell.step(m[i], h)
    return np.sum(h)


def of_objects(m):
    cell = Cell(m[0, 0])
    h = None
    for i in range(2):
        h = cell(m[i], h)
    return np.sum(h)


@pytest.mark.parametrize("target", ["cpu", "python"])
@pytest.mark.parametrize(
    "fn", [left_by_a_break, by_word, of_numbers, inside_of_an_expression, of_tuples, of_methods, of_objects],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_what_is_asked_for_none_is_called_in_both_ways(fn: Any, target: str):
    assert_derivatives(fn, X, target)
