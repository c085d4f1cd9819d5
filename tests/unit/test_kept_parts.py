"""Parts of arrays that a turn updates twice: kept once, where both updates write the very same part."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, 0.4, 1.3, 0.9, 1.1])


def scaled_then_added_to(x):
    c = np.outer(x, x)
    for i in range(x.size):
        c[i, : i + 1] *= x[0]
        for k in range(x.size):
            c[i, : i + 1] += x[1] * x[k] * x[: i + 1]
    return np.sum(c**2)


def column(x):
    c = np.outer(x, x)
    for i in range(1, x.size):
        c[:i, i] *= x[i]
        c[:i, i] += np.sin(x[:i])
        c[:i, i] -= x[i - 1]
    return np.sum(c**3)


def read_between(x):
    c, total = np.outer(x, x), 0.0
    for i in range(x.size):
        c[i, : i + 1] *= x[0]
        total += np.sum(c[i, : i + 1] ** 3)
        c[i, : i + 1] += x[: i + 1]
    return total + np.sum(c**2)


def longer_behind(x):
    c = np.outer(x, x)
    for i in range(1, x.size):
        c[i, :i] *= c[i, :i]
        c[i, : i + 1] += x[: i + 1]
        c[i, : i + 1] *= c[i, : i + 1]
    return np.sum(c)


def end_moves(x):
    c, end = np.outer(x, x), 1
    for i in range(x.size):
        c[i, :end] *= x[i]
        end = end % 4 + 1
        c[i, :end] += x[:end]
        c[i, :end] *= c[i, :end]
    return np.sum(c**2)


def row_moves(x):
    c, row = np.outer(x, x), 0
    for i in range(x.size):
        c[row, :2] *= c[row, :2]
        row = (row + 2) % x.size
        c[row, :2] += x[i]
    return np.sum(c**2)


def read_then_moved(x):
    c, row, total = np.outer(x, x), 0, 0.0
    for i in range(x.size):
        total += np.sum(c[row, :2] ** 3)
        row = (row + 2) % x.size
        c[row, :2] *= x[i]
        c[(row + 3) % x.size, :2] += x[i]
    return total + np.sum(c**2)


def end_read_then_moved(x):
    c, end, total = np.outer(x, x), 4, 0.0
    for i in range(x.size):
        total += np.sum(c[i, :end] ** 3)
        end = end - 1 if end > 1 else 4
        c[i, :end] *= x[i]
        c[i, end:] += x[i]
    return total + np.sum(c**2)


def other_array(x):
    c, d = np.outer(x, x), np.outer(x, x + 1)
    for i in range(x.size):
        c[i, :2] *= c[i, :2]
        c, d = d, c
        c[i, :2] += x[:2]
    return np.sum(c**2) + np.sum(d**2)


def new_array(x):
    c = np.outer(x, x)
    for i in range(x.size):
        c[i, :2] *= c[i, :2]
        c = c * x
        c[i, :2] += x[:2]
    return np.sum(c**2)


def through_a_view(x):
    c = np.outer(x, x)
    for i in range(x.size):
        row = c[i]
        c[i, :2] *= row[:2]
        row[:2] += x[:2]
        c[i, :2] *= c[i, :2]
    return np.sum(c)


def two_turns(x):
    c = np.outer(x, x)
    for i in range(1, x.size):
        for k in range(2):
            c[i, :i] *= c[i, :i] * x[k]
            c[i - 1, :i] += x[:i]
    return np.sum(c)


ALL = [scaled_then_added_to, column, read_between, longer_behind, end_moves, row_moves, read_then_moved,
       end_read_then_moved, other_array, new_array, through_a_view, two_turns]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("f", ALL)
def test_gradients(f, target):
    assert_derivatives(f, X, target)


@pytest.mark.parametrize(("f", "kept"), [(scaled_then_added_to, 1), (longer_behind, 2)])
def test_how_often_a_part_is_kept(f, kept):
    fun = s2sad.differentiate(f)
    fun.grad(X)
    assert fun.source("grad").count(".append(") == kept
