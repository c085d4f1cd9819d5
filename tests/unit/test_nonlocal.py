"""`nonlocal` numbers: what a nested function binds is bound in the function around it."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.1, 0.2, 0.3, 0.4])


def fills_a_triangle(x):
    k = 0
    matrix = np.zeros((3, 3))

    def following():
        nonlocal k
        value = x[k]
        k += 1
        return value

    for i in range(3):
        for j in range(i):
            matrix[i, j] = following()
    return np.sum(matrix @ matrix) + np.sum(matrix**2 * np.arange(3.0))


def columns_of_a_triangle(x):
    n = 3
    first = 0

    def column(i):
        nonlocal first
        count = n - i - 1
        made = np.concatenate((np.zeros(i + 1), x[first : first + count]))
        first += count
        return made

    matrix = np.column_stack([column(i) for i in range(n)])
    return np.sum(matrix @ matrix) + np.sum(matrix**2 * np.arange(3.0))


def operands_keep_what_they_read(x):
    k = 0

    def following(m):
        nonlocal k
        k += 1
        return x[m] * k

    return k * x[0] + following(k) * (k + following(k)) + x[k] * k + following(k - 1)


def a_sum_under_a_condition(x):
    total = 0.0

    def add(v):
        nonlocal total
        if v > 0.15:
            total += v * v

    for v in x:
        add(v)
        add(v * total)
    return total * total


def a_while_in_the_nested_function(x):
    k = 0

    def following():
        nonlocal k
        while x[k] < 0.25:
            k += 1
        return x[k]

    s = following()
    if s > 0.2:
        k += 1
        s += following() * k
    return s**2


def comprehensions(x):
    k = 0

    def following():
        nonlocal k
        k += 1
        return x[k % 4]

    picked = np.array([following() * k for v in x if v > 0.15])
    square = np.array([[following() * k for _ in x] for _ in x])
    return np.sum(picked**2) * np.sum(square**2) * x[k % 4]


def declared_on_the_way(x):
    k = 1

    def twice():
        nonlocal k

        def step():
            nonlocal k
            k += 1
            return x[0]

        k += 1
        return step() + step()

    return twice() * k


FUNCTIONS = [
    fills_a_triangle, columns_of_a_triangle, operands_keep_what_they_read,
    a_sum_under_a_condition, a_while_in_the_nested_function, comprehensions,
    declared_on_the_way,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", FUNCTIONS, ids=lambda fun: fun.__name__)
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)


def in_the_head_of_a_loop(x):
    k = 1

    def step():
        nonlocal k
        k += 1
        return x[0]

    s = 0.0
    for _ in range(k):
        s += step()
    return s


def called_by_another(x):
    k = 1

    def step():
        nonlocal k
        k += 1
        return x[0]

    def twice():
        return step() + x[k]

    return twice() * k


def read_by_another(x):
    k = 1

    def peek():
        return x[k]

    def step():
        nonlocal k
        k += 1
        return peek()

    return step() * k


def two_functions_in(x):
    k = 1

    def twice():
        def step():
            nonlocal k
            k += 1
            return x[0]

        return step() + step()

    return twice() * k


def two_functions_in_with_an_early_return(x):
    k = 1

    def twice():
        def step():
            nonlocal k
            k += 1
            return x[0]

        if x[1] > 1:
            return 0.0
        return step() + step()

    return twice() * k


@pytest.mark.parametrize(
    ("fun", "words"),
    [
        (two_functions_in, "further out"),
        (two_functions_in_with_an_early_return, "further out"),
        (in_the_head_of_a_loop, "what a loop runs over"),
        (called_by_another, "called by another"),
        (read_by_another, "other inner functions"),
    ],
)
def test_what_cannot_be_followed_is_refused(fun, words):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match=words):
        s2sad.grad(fun, target="python")(X)
