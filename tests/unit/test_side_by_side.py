"""Sums over rows of a matrix grow side by side where a loop around them pays for the copy of its columns."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.differences import assert_derivatives
from tests.unit.test_ends import compiled_text

X = np.random.default_rng(3).normal(size=(9, 4))


def nearest(x):
    """Distances to every row, then the least."""
    total = 0.0
    for i in range(x.shape[0]):
        least = math.inf
        for k in range(x.shape[0]):
            square = 0.0
            for j in range(x.shape[1]):
                jump = x[i, j] - 0.7 * x[k, j] - 0.1
                square += jump * jump
            if square < least:
                least = square
        total += least
    return total


def kernel_matrix(x):
    n = x.shape[0]
    gram = np.zeros((n, n))
    for i in range(n):
        for k in range(n):
            square = 0.0
            for j in range(x.shape[1]):
                square += (x[i, j] - x[k, j]) ** 2
            gram[i, k] = np.exp(-0.5 * square)
    return np.sum(np.sin(gram))


def two_sums_with_beginnings(x):
    """Two sums, one of which begins with an element, one that is subtracted from."""
    total = 0.0
    for i in range(x.shape[0]):
        for k in range(x.shape[0]):
            dot = x[k, 0] * 0.5
            rest = 1.0
            for j in range(x.shape[1]):
                dot += x[i, j] * x[k, j]
                rest -= 0.1 * x[k, j] * x[k, j]
            total += np.tanh(dot) * rest
    return total


SIDE_BY_SIDE = [nearest, kernel_matrix, two_sums_with_beginnings]


def a_layer(x):
    """What a turn writes may be what the next one reads: one name has stood for both."""
    w = np.outer(np.sin(x[:, 0]), np.cos(x[:, 1])) * 0.3
    h = x[:, 2].copy()
    for _ in range(3):
        new = np.empty(h.size)
        for k in range(h.size):
            s = 0.1
            for j in range(h.size):
                s += w[k, j] * h[j]
            new[k] = np.tanh(s)
        h = new
    return np.sum(h * h)


def in_place(x):
    """Each sum reads what the one before wrote."""
    w = x @ x.T * 0.1
    h = x[:, 2].copy()
    for _ in range(2):
        for k in range(h.size):
            s = 0.0
            for j in range(h.size):
                s += w[k, j] * h[j]
            h[k] = np.tanh(s)
    return np.sum(h)


def changing_matrix(x):
    w = x @ x.T * 0.1
    total = 0.0
    for i in range(3):
        for k in range(w.shape[0]):
            s = 0.0
            for j in range(w.shape[1]):
                s += w[k, j] * (j + i)
            total += np.sin(s)
        w[i, 0] += total * 0.1
    return total


def left_early(x):
    total = 0.0
    for i in range(3):
        for k in range(x.shape[0]):
            s = 0.0
            for j in range(x.shape[1]):
                s += x[k, j] * x[i, j]
            if s > 1.5:
                break
            total += s
    return total


def carried(x):
    """The sum is not begun anew."""
    total = 0.0
    s = 0.0
    for i in range(3):
        for k in range(x.shape[0]):
            for j in range(x.shape[1]):
                s += x[k, j] * x[i, j]
            total += np.sin(s)
    return total


def up_to_the_turn(x):
    total = 0.0
    for i in range(x.shape[0]):
        for k in range(i):
            s = 0.0
            for j in range(x.shape[1]):
                s += x[k, j] * x[i, j]
            total += np.sin(s)
    return total


def counter_in_the_sum(x):
    """How long a sum is depends on whose it is."""
    total = 0.0
    for i in range(3):
        for k in range(x.shape[0]):
            s = 0.0
            for j in range(min(k, x.shape[1])):
                s += x[k, j] * x[i, j]
            total += np.sin(s)
    return total


AS_THEY_ARE = [a_layer, in_place, changing_matrix, left_early, carried, up_to_the_turn, counter_in_the_sum]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [*SIDE_BY_SIDE, *AS_THEY_ARE])
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)


@pytest.mark.parametrize("fun", SIDE_BY_SIDE)
def test_which_grow_side_by_side(fun):
    assert "_columns[j, k]" in compiled_text(fun, X)


@pytest.mark.parametrize("fun", AS_THEY_ARE)
def test_which_do_not(fun):
    assert "_columns" not in compiled_text(fun, X)
