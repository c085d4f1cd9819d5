"""What a loop has read before an index, `A[i, :j]` past `for k in range(j)`: a write behind it keeps nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, 0.4, 1.3, 0.9, 1.1])


def matrix(x):
    return np.outer(x, x) * 0.1 + 3.0 * np.eye(x.size) + x


def cholesky(x):
    a = matrix(x) + matrix(x).T
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = math.sqrt(a[i, i])
    return np.sum(np.tril(a) ** 2)


def factors(x):
    a = matrix(x)
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[k, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            for k in range(i - 1, -1, -1):
                a[i, j] -= a[i, k] * a[k, j]
    return np.sum(np.sin(a))


def by_slices(x):
    a = matrix(x)
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
    return np.sum(a * a)


def shifted(x):
    y, total = x.copy(), 0.0
    for j in range(x.size):
        for k in range(1, j + 1):
            total += y[k - 1] ** 2
        y[j] -= 0.3 * total
    return total + np.sum(y)


def written_first(x):
    y, total = x.copy(), 0.0
    for t in range(1, x.size):
        y[t - 1] += total
        for j in range(t):
            total += y[j] ** 2
    return total + np.sum(y)


NOTHING_KEPT = [cholesky, factors, by_slices, shifted, written_first]


def one_too_near(x):
    y, total = x.copy(), 0.0
    for j in range(1, x.size):
        for k in range(j):
            total += y[k] ** 2
        y[j - 1] = math.sin(total)
    return total + np.sum(y)


def written_too_near(x):
    y, total = x.copy(), 0.0
    for t in range(2, x.size):
        y[t - 2] = math.sin(total)
        for j in range(t):
            total += y[j] ** 2
    return total + np.sum(y)


def downwards_and_written_first(x):
    y, total = x.copy(), 0.0
    for t in range(x.size - 1, 0, -1):
        y[t] = math.sin(total)
        for j in range(t):
            total += y[j] ** 2
    return total + np.sum(y)


def up_to_itself(x):
    y, total = x.copy(), 0.0
    for j in range(x.size):
        for k in range(j + 1):
            total += y[k] ** 2
        y[j] = math.sin(total)
    return total + np.sum(y)


def a_slice_too_near(x):
    y, total = x.copy(), 0.0
    for j in range(1, x.size):
        total += np.sum(y[:j] ** 2)
        y[j - 1] = math.sin(total)
    return total + np.sum(y)


def a_slice_from_the_end(x):
    y, total = x.copy(), 0.0
    for j in range(x.size):
        total += np.sum(y[: j - 1] ** 2)
        y[j] = math.sin(total)
    return total + np.sum(y)


def an_index_from_the_end(x):
    y, total = x.copy(), 0.0
    for j in range(x.size):
        for k in range(j):
            total += y[k - 1] ** 2
        y[j] = math.sin(total + 0.5)
    return total + np.sum(y)


def index_ahead(x):
    y, total = x.copy(), 0.0
    for j in range(x.size - 1):
        for k in range(j):
            total += y[k + 1] ** 2
        y[j] = math.sin(total + 0.5)
    return total + np.sum(y)


def downwards(x):
    y, total = x.copy(), 0.0
    for j in range(x.size - 1, -1, -1):
        for k in range(j):
            total += y[k] ** 2
        y[j] = math.sin(0.2 * total + 0.5)
    return total + np.sum(y)


def again_and_again(x):
    y, total = x.copy(), 0.0
    for _ in range(3):
        for j in range(x.size):
            for k in range(j):
                total += y[k] ** 2
            y[j] = math.sin(0.1 * total) + 0.5
    return total + np.sum(y)


def counted_twice(x):
    y, total = x.copy(), 0.0
    for j in range(x.size):
        for k in range(j):
            total += y[k] ** 2
    for j in range(x.size):
        y[j] = math.sin(j + total)
    return total + np.sum(y)


def rows_above(x):
    a, total = matrix(x), 0.0
    for i in range(1, x.size):
        for j in range(i):
            for k in range(j + 1):
                total += 0.1 * a[j, k] ** 2
        a[i - 1, i - 1] = math.sin(0.3 * total)
    return total + np.sum(a)


def while_around(x):
    y, total, turns = x.copy(), 0.0, 0
    while turns < 2:
        for j in range(x.size):
            for k in range(j):
                total += 0.3 * y[k] ** 2
            y[j] = math.sin(total) + 0.5
        turns += 1
    return total + np.sum(y)


def in_steps(x):
    y, total = x.copy(), 0.0
    for j in range(x.size):
        for k in range(0, j, 2):
            total += y[k] ** 2
        y[j] = math.sin(total)
        y[j - 1 if j else 0] = math.cos(total)
    return total + np.sum(y)


def before_and_behind(x):
    y, total = x.copy(), 0.0
    for i in range(x.size):
        for j in range(i, x.size):
            for k in range(i):
                total += 0.1 * y[k] ** 2
            y[j] = math.sin(0.1 * total + j)
            y[i] = math.cos(total) + 0.1 * y[j]
    return total + np.sum(y)


SOMETHING_KEPT = [
    one_too_near, written_too_near, downwards_and_written_first, up_to_itself, a_slice_too_near,
    a_slice_from_the_end, an_index_from_the_end, index_ahead,
    downwards, again_and_again, counted_twice, rows_above, while_around, in_steps, before_and_behind,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", NOTHING_KEPT + SOMETHING_KEPT)
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)


@pytest.mark.parametrize("fun", NOTHING_KEPT)
def test_nothing_is_kept(fun):
    made = s2sad.differentiate(fun, target="python")
    made.grad(X)
    text = made.derivative("grad").source
    assert "y_tape" not in text, text
    parts = ("a_i_j", "a_i_i", "a_part", "y_j", "y_part")
    assert not any(f"{part}_tape" in text for part in parts), text
