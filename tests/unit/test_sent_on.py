"""The reverse of `v[i] = f(v[i], v[i + 1])` counts up: what goes to the next element is laid down and added behind."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import differences

X = np.array([0.4, 1.1, 0.7, 1.6, 0.9, 1.3, 0.2])


def tree(x, n):
    v = np.empty(n + 1)
    for i in range(n + 1):
        v[i] = max(x[0] * 1.1**i - x[1], 0.0)
    for s in range(n - 1, -1, -1):
        for i in range(s + 1):
            v[i] = 0.95 * (x[2] * v[i] + (1 - x[2]) * v[i + 1])
    return v[0]


def squares_ahead(x, n):
    v = np.append(x, x)
    for _ in range(n):
        for i in range(v.shape[0] - 1):
            v[i] = 0.5 * v[i] * v[i + 1] + 0.1 * v[i + 1]
    return np.sum(v * v)


def in_columns(x, n):
    v = 0.4 * np.outer(x, x)
    for _ in range(n):
        for j in range(x.shape[0]):
            for i in range(x.shape[0] - 1):
                v[i, j] = 0.6 * v[i, j] ** 2 + 0.2 * v[i + 1, j]
    return np.sum(v * np.cos(v))


def counted_from_two(x, n):
    """The counter goes further than the array: what is laid down lies where the element does."""
    v = x.copy()
    for _ in range(n):
        for i in range(2, x.shape[0] + 1):
            v[i - 2] = 0.6 * v[i - 2] ** 2 + 0.2 * v[i - 1]
    return np.sum(v * np.cos(v))


def reads_both_sides(x, n):
    """What a turn reads below has been written already: its reverse is in the order that it has."""
    v = x.copy()
    for _ in range(n):
        for i in range(1, x.shape[0] - 1):
            v[i] = 0.3 * v[i - 1] * v[i] + 0.3 * v[i + 1] ** 2
    return np.sum(v * v)


def two_ahead(x, n):
    v = x.copy()
    for _ in range(n):
        for i in range(x.shape[0] - 2):
            v[i] = 0.5 * v[i] ** 2 + 0.3 * v[i + 2]
    return np.sum(v * v)


def by_two_names(x, n):
    v = x.copy()
    w = v[1:]
    for _ in range(n):
        for i in range(x.shape[0] - 1):
            v[i] = 0.5 * v[i] ** 2 + 0.3 * w[i]
    return np.sum(v * v)


def without_turns(x, n):
    v = np.zeros(1)
    for i in range(v.shape[0] - 1):
        v[i] = 0.5 * v[i] ** 2 + 0.3 * v[i + 1]
    return np.sum(x * x) + n * v[0]


def carries(x, n):
    """A number goes from turn to turn."""
    v, c = x.copy(), 0.3
    for _ in range(n):
        for i in range(x.shape[0] - 1):
            c = 0.5 * c + 0.1 * v[i]
            v[i] = c * v[i] + 0.3 * v[i + 1] ** 2
    return np.sum(v * v) + c


def until_small(x, n):
    """How often the outer loop turns only the data know: what is put back comes from a list."""
    v = x.copy()
    total = 10.0
    while total > 0.5 * n:
        for i in range(x.shape[0] - 1):
            v[i] = 0.3 * v[i] ** 2 + 0.4 * v[i + 1]
        total = 0.7 * total * (1.0 + 0.01 * v[0])
    return np.sum(v * v) + total


PROGRAMS = (tree, squares_ahead, in_columns, counted_from_two, reads_both_sides, two_ahead, by_two_names,
            without_turns, carries, until_small)


@pytest.mark.parametrize("fun", PROGRAMS)
@pytest.mark.parametrize("n", [1, 4])
def test_gradient(fun, n):
    given = X.copy()
    expected = differences(lambda x: fun(x, n), X)
    value, gradient = s2sad.value_and_grad(fun)(given, n)
    np.testing.assert_allclose(value, fun(X.copy(), n), rtol=1e-12)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(gradient, s2sad.grad(fun, target="python")(given, n), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(given, X)


@pytest.mark.parametrize("fun", [tree, squares_ahead, in_columns, counted_from_two])
def test_the_loop_counts_up(fun):
    made = s2sad.differentiate(fun)
    made.grad(X, 4)
    text = made.source("grad").split("adjoint sweep")[1]
    assert "sent[i" in text
    assert "for i in range(s, -1, -1)" not in text


@pytest.mark.parametrize("fun", [reads_both_sides, by_two_names, carries])
def test_where_turns_wait_for_each_other(fun):
    made = s2sad.differentiate(fun)
    made.grad(X, 4)
    assert "sent[" not in made.source("grad")
