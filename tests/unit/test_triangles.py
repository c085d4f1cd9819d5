"""Tapes of loops whose ends move with the loops around them are arrays: the counters say where."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([1.3, 0.6, 2.7, 0.4, 1.9])


def pairs(x):
    """Every pair once: what a turn makes is kept for it."""
    total = 0.0
    for i in range(x.size):
        for j in range(i + 1, x.size):
            distance = 0.0
            for k in range(2):
                d = x[i] - (k + 1) * x[j]
                d = d - 0.5 * math.sin(d)
                distance += d * d
            total += math.log(1.0 + distance * total)
            total = total + distance
    return total


def backwards_through_a_tree(x):
    """A tree of prices, from the leaves to the root."""
    n = x.size
    value = x * 1.0
    for i in range(n - 2, -1, -1):
        for j in range(i + 1):
            value[j] = 0.6 * value[j] * value[j + 1] + 0.3 * math.cos(value[j])
    return value[0]


def elimination(x):
    """A factorisation in place: three loops, two of whose ends move."""
    n = x.size
    a = np.outer(x, x) * 0.1 + 3.0 * np.eye(n)
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(n - 1, k, -1):
                a[i, j] -= a[i, k] * a[k, j]
    total = 0.0
    for k in range(n):
        total += math.log(a[k, k])
    return total


def solved_backwards(x):
    """The factors of a matrix, then a solution from the last unknown to the first."""
    n = x.size
    a = np.outer(x, x) * 0.1 + 3.0 * np.eye(n)
    b = x * 1.0
    for k in range(n):
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            b[i] -= factor * b[k]
            for j in range(k + 1, n):
                a[i, j] -= factor * a[k, j]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= a[k, j] * b[j]
        b[k] /= a[k, k]
    return np.sum(b * b)


def factors_in_place(x):
    """Cholesky's factor takes the place of the matrix: a root and quotients of it are read where they are."""
    n = x.size
    a = np.outer(x, x) * 0.1 + 3.0 * np.eye(n)
    for k in range(n):
        a[k, k] = np.sqrt(a[k, k])
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
        for j in range(k + 1, n):
            for i in range(j, n):
                a[i, j] -= a[i, k] * a[j, k]
    total = 0.0
    for k in range(n):
        total += math.log(a[k, k]) * (k + 1)
    return total


def root_and_more(x):
    """The root's own adjoint reads the root, but another one what was there before."""
    y = x * 1.0
    total = 0.0
    for k in range(x.size):
        total += math.sin(y[k])
        y[k] = np.sqrt(y[k])
        y[k] = y[k] / (1.0 + y[k])
    return total * np.sum(y)


def from_the_counter_on(x):
    """The inner loop begins at the outer one's counter: what was read of the diagonal is written."""
    n = x.size
    a = np.outer(x, x) * 0.1 + 3.0 * np.eye(n)
    for k in range(n):
        for i in range(k, n):
            a[i, i] = a[i, i] * math.sin(a[k, k])
    return np.sum(a * a)


def one_before_the_counter(x):
    n = x.size
    y = x * 1.0
    total = 0.0
    for k in range(1, n):
        total += math.sin(y[k])
        for i in range(k + 1, n):
            y[i - 1] = y[i - 1] * y[i]
    return total + np.sum(y)


def again_and_again(x):
    """The outer loop begins anew: what it read at its end lies where it writes now."""
    n = x.size
    y = x * 1.0
    total = 0.0
    for _ in range(2):
        for k in range(n):
            total += math.sin(y[k])
            for i in range(k + 1, n):
                y[i] = 0.9 * y[i]
    return total * y[0]


def shrinking_from_both_sides(x):
    n = x.size
    y = x * 1.0
    for k in range(n // 2):
        for i in range(min(k, 1), n - k):
            y[i] = y[i] * math.sin(y[n - 1 - i] + k)
    return np.sum(y * y)


def band(x):
    """Both ends move: the turns are few, and a place for every pair would mostly stay empty."""
    n = x.size
    y = x * 1.0
    for i in range(n):
        for j in range(max(0, i - 1), min(n, i + 2)):
            y[j] = y[j] * math.cos(y[i])
    return np.sum(y * y)


def counter_set_again(x):
    """The counter of the outer loop is another number by the time that the inner one begins."""
    n = x.size
    y = x * 1.0
    for i in range(n - 3):
        i = i + 2
        for j in range(i):
            y[j] = y[j] * math.cos(y[i])
    return np.sum(y * y)


EVERY = (
    pairs, backwards_through_a_tree, elimination, solved_backwards, factors_in_place, root_and_more,
    from_the_counter_on, one_before_the_counter, again_and_again, shrinking_from_both_sides, band, counter_set_again,
)  # fmt: skip


@pytest.mark.parametrize("fun", EVERY)
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)


@pytest.mark.parametrize("fun", [pairs, backwards_through_a_tree])
def test_tapes_are_arrays(fun):
    text = s2sad.differentiate(fun).source("grad", (X,))
    assert "tape = np.empty(" in text
    assert ".append(" not in text


@pytest.mark.parametrize("fun", [pairs, elimination, shrinking_from_both_sides])
def test_nothing_and_one(fun):
    for n in (0, 1, 2):
        x = X[:n]
        bars = s2sad.grad(fun, target="python")(x)
        _, out_dot = s2sad.jvp(fun, (x,), (np.ones(n),), target="python")
        np.testing.assert_allclose(np.sum(bars), out_dot, rtol=1e-10, atol=1e-12)


def test_a_band_keeps_a_list():
    assert ".append(" in s2sad.differentiate(band).source("grad", (X,))


@pytest.mark.parametrize("fun", [elimination, factors_in_place])
def test_an_elimination_keeps_nothing(fun):
    """Row `k` and column `k` are not written after turn `k`, and a quotient is read where it is."""
    assert "tape" not in s2sad.differentiate(fun).source("grad", (X,))


@pytest.mark.parametrize("fun", [from_the_counter_on, one_before_the_counter, again_and_again])
def test_what_may_be_written_is_kept(fun):
    assert "tape" in s2sad.differentiate(fun).source("grad", (X,))


def test_what_is_added_to_a_column_is_a_number():
    """`a[k, j]` lies beside column `k`, as `j` is more than `k`."""
    text = s2sad.differentiate(elimination).source("grad", (X,))
    assert "a_bar_sum += a[k, j] * " in text
    assert "a_bar[i, k] += a_bar_sum" in text
