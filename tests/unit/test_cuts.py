"""Parts with bounds that only a run knows: what their lengths have in common, and loops over their elements."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([1.3, 0.6, 2.7, 0.4, 1.9, 0.8])


def substitution(x):
    """A triangular solve, a row at a time."""
    n = x.size
    lower = np.outer(x, x) * 0.1 + 2.0 * np.eye(n)
    y = np.zeros(n)
    for i in range(n):
        y[i] = (x[i] - lower[i, :i] @ y[:i]) / lower[i, i]
    return np.sum(y * y)


def factors_in_place(x):
    """Rows times columns, of which no element lies beside the next."""
    n = x.size
    a = np.outer(x, x) * 0.1 + 3.0 * np.eye(n)
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= np.dot(a[i, :i], a[:i, j])
    return np.sum(a * a)


def rank_by_rank(x):
    """Parts of one end, of axes whose lengths nothing relates."""
    n = x.size
    a = np.outer(x, np.sin(x[:4]))
    c = np.outer(x, x)
    for i in range(n):
        c[i, : i + 1] *= 1.2
        for k in range(a.shape[1]):
            c[i, : i + 1] += 0.5 * a[i, k] * a[: i + 1, k]
    return np.sum(c * c)


def below_the_diagonal(x):
    """What follows an element, in two matrices."""
    b = np.outer(x, x[:3])
    a = np.outer(np.cos(x), x)
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    return np.sum(b * b)


def windows(x):
    """Windows that surely lie within the array have the length of the weights."""
    w = np.sin(x[:3])
    k = w.shape[0]
    total = 0.0
    for i in range(x.size - k + 1):
        total += np.sum(x[i : i + k] * w) ** 2
    return total


def windows_at_the_end(x):
    """The last windows are cut short, and one of them has one element, which is spread."""
    w = np.array([0.5, 0.3])
    total = 0.0
    for i in range(x.size):
        total += np.sum(x[i : i + 2] * w)
    return total * total


def pairs_pooled(x):
    total = 0.0
    for i in range(x.size // 2):
        total += np.max(x[2 * i : 2 * i + 2] ** 2)
    return total


def toeplitz(x):
    """A part that is turned around, added to itself."""
    r = 0.1 * x
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return np.sum(y * y)


def ends_that_move(x):
    """The end has another value in the next turn: parts of one text are not of one length."""
    total, end, last = 0.0, 1, x[:1] * 1.0
    while end < x.size:
        here = x[:end] * 2.0
        total += np.sum(here[: last.size] * last)
        last = here
        end = end + 1
    return total


def counted_in_a_helper(x):
    def mean_of_first(v, count):
        return np.sum(v[:count] * v[:count]) / count

    return mean_of_first(x, 2) * mean_of_first(x, 4) + mean_of_first(x[1:], 3)


def negative_ends(x):
    """An end that goes below zero counts from the back."""
    total = 0.0
    for i in range(1, 4):
        for j in range(2):
            total += np.sum(x[: j - i] * x[: j - i]) * (i + 1)
    return total


def columns_from_columns(x):
    """A recurrence along columns: elements of one turn and of the one before never meet."""
    n = x.size
    p = np.outer(x, x)
    q = np.outer(np.sin(x), x)
    for j in range(1, n):
        p[1 : n - 1, j] = -0.3 / (0.5 * p[1 : n - 1, j - 1] + 2.0)
        q[1 : n - 1, j] = (q[0 : n - 2, j] - q[2:n, j] - 0.4 * q[1 : n - 1, j - 1]) / (p[1 : n - 1, j - 1] + 3.0)
    for j in range(n - 2, -1, -1):
        q[:, j] = p[:, j] * q[:, j + 1] + q[:, j]
    return np.sum(q * q)


def columns_around_the_end(x):
    """The column before the first is the last, which is written in the last turn."""
    a = np.outer(x, x)
    for j in range(x.size):
        a[:, j] = 0.5 * a[:, j - 1] + np.sin(a[:, j])
    return np.sum(a * a)


def one_column(x):
    """Of one column, the one before is itself."""
    a = np.outer(x, x[:1])
    for j in range(a.shape[1]):
        a[:, j] = 0.5 * a[:, j - 1] * a[:, j]
    return np.sum(a * a)


def rows_two_apart(x):
    a = np.outer(x, x)
    for k in range(2, x.size):
        a[k] = a[k - 2] * a[k - 1] + a[k]
        a[k - 1, 1:] += 0.1 * a[k, :-1]
    return np.sum(a * a)



def ends_of_some_turn_before(x):
    """What a name was in a turn before is not what the counter says in this one: one element is spread over two."""
    total = 0.0
    for i in range(x.size):
        if i == 1:
            here = i + 1
        if i == 2:
            total += np.sum(x[:here] * x[: i]) + np.sum(np.outer(x[:here], x[: i + 1]))
    return total


ALL = [
    substitution, factors_in_place, rank_by_rank, below_the_diagonal, windows, windows_at_the_end, pairs_pooled,
    toeplitz, ends_that_move, counted_in_a_helper, negative_ends, columns_from_columns, columns_around_the_end,
    one_column, rows_two_apart, ends_of_some_turn_before,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", ALL, ids=lambda fun: fun.__name__)
def test_both_modes(fun, target):
    assert_derivatives(fun, X, target=target)


def sum_of_products(x, y, n):
    total = 0.0
    for i in range(n):
        total += np.sum(x[:i] * y[:i])
    return total


def products(x, y, n):
    total = 0.0
    for i in range(n):
        total += math.cos(x[:i] @ y[:i])
    return total


def columns(x, y, n):
    a = np.outer(x, x)
    total = 0.0
    for i in range(n):
        total += math.cos(a[:i, 0] @ y[:i])
    return total


@pytest.mark.parametrize("fun", [sum_of_products, products, columns], ids=lambda fun: fun.__name__)
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_parts_that_are_cut_short_differently_are_refused(fun, target):
    """Both have three elements in every turn, but the last: then one array has ended."""
    gradient = s2sad.grad(fun, argnums=(0, 1), target=target)
    same = gradient(X, X, 6)
    assert all(np.isfinite(part).all() for part in same)
    with pytest.raises(ValueError):
        gradient(X, X[:4], 6)


def test_a_vector_of_one_is_not_spread_by_a_product():
    gradient = s2sad.value_and_grad(columns, argnums=(0, 1), target="cpu")
    with pytest.raises(Exception, match=r"(?i)incompatible|mismatch|aligned|broadcast"):
        gradient(X, X[:1], 3)


def test_what_is_too_long_for_one_place_is_refused():
    def fill(x, y):
        out = np.zeros_like(y)
        out[:] = x * 2.0
        return np.sum(out)

    with pytest.raises(ValueError):
        s2sad.value_and_grad(fill, target="cpu")(X, X[:1])


def test_the_compiled_text_indexes_what_is_there():
    gradient = s2sad.differentiate(substitution, target="cpu")
    gradient.grad(X)
    text = gradient.source("grad", (X,))
    assert "y_bar[:i]" not in text
    assert "range(i)" in text


def test_windows_need_no_sum_to_shape():
    gradient = s2sad.differentiate(windows, target="python")
    gradient.grad(X)
    assert "sum_to_shape" not in gradient.source("grad", (X,))


def test_columns_of_two_turns_share_a_loop():
    gradient = s2sad.differentiate(columns_from_columns, target="cpu")
    gradient.grad(X)
    text = gradient.source("grad", (X,))
    assert re.search(r"p\[(\w+) \+ 1, j\] = -0.3 / \(0.5 \* p\[\1 \+ 1, j - 1\] \+ 2.0\)", text)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5])
def test_ends_that_are_counted_from_the_length(size):
    """`x[0:n - 3]` of two elements is `x[0:-1]`: one element, not none."""

    def parts(x):
        n = x.size
        return np.sum(x[0 : n - 3] * 2.0) + np.sum(x[1 : n - 1] * x[1 : n - 1]) + np.sum(np.sin(x[2 : n - 4]))

    x = np.linspace(0.3, 1.1, size)
    for target in ("python", "cpu"):
        value, gradient = s2sad.value_and_grad(parts, target=target)(x)
        assert value == pytest.approx(parts(x), abs=1e-14)
        step = 1e-6
        for k in range(size):
            unit = step * (np.arange(size) == k)
            assert gradient[k] == pytest.approx((parts(x + unit) - parts(x - unit)) / (2 * step), abs=1e-8)


def priced_backwards(x, n):
    """A binomial tree: parts of an array that is one longer than what counts."""
    v = np.empty(n + 1)
    for i in range(n + 1):
        v[i] = np.exp(x[0] * i / n) + x[1]
    for s in range(n, 0, -1):
        v[:s] = 0.9 * (x[3] * v[:s] + (1 - x[3]) * v[1 : s + 1])
    return v[0]


def test_arrays_longer_than_a_given_number():
    made = s2sad.differentiate(priced_backwards)
    made.grad(X, 5)
    assert "sum_to_shape" not in made.source("grad")
    for n in (1, 2, 7):
        expected = s2sad.grad(priced_backwards, target="python")(X, n)
        np.testing.assert_allclose(s2sad.grad(priced_backwards)(X, n), expected, rtol=1e-10)
        step = 1e-6 * np.eye(X.size)
        slopes = [(priced_backwards(X + e, n) - priced_backwards(X - e, n)) / 2e-6 for e in step]
        np.testing.assert_allclose(expected, slopes, rtol=1e-6, atol=1e-7)


def one_turn_later(x, n):
    """The part is of the array that the turn before has made, by another number."""
    total = 0.0
    made = np.ones(1)
    for k in range(1, n):
        m = 2 * k
        total += np.sum(made[: m - 1] * x[: m - 1])
        made = np.empty(m + 1)
        for i in range(m + 1):
            made[i] = x[i] * k
    return total


def test_lengths_of_the_turn_before():
    x = np.linspace(0.2, 1.4, 9)
    expected = s2sad.grad(one_turn_later, target="python")(x, 3)
    np.testing.assert_allclose(s2sad.grad(one_turn_later)(x, 3), expected, rtol=1e-12)
    step = 1e-6 * np.eye(x.size)
    slopes = [(one_turn_later(x + e, 3) - one_turn_later(x - e, 3)) / 2e-6 for e in step]
    np.testing.assert_allclose(expected, slopes, rtol=1e-6, atol=1e-7)
