"""Calls in loops: arguments worked out of what the call writes into, results that are of another length each turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

Y = np.array([-0.3, -0.5, 0.7, 0.2])
X = np.random.default_rng(0).standard_normal(8)


def where_below(a, c):
    for i in range(a.size):
        if a[i] <= 0:
            a[i] = 0.5 * c


def scaled(a, c):
    for i in range(1, a.size):
        a[i] = a[i] * c + a[i - 1]


def of_an_item(y):
    y = y.copy()
    for _ in range(2):
        where_below(y, np.exp(y)[0])
    return np.sum(y**2)


def of_a_norm(y):
    y = y.copy()
    for _ in range(2):
        scaled(y, np.linalg.norm(y))
    return np.sum(y**2)


def of_items(y):
    y = y.copy()
    for _ in range(2):
        scaled(y, y[1] * y[2])
    return np.sum(y**2)


def of_a_part(y):
    u = y.copy()
    for _ in range(2):
        where_below(u[1:], np.tanh(u).sum())
    return np.sum(u**2)


@pytest.mark.parametrize("target", ["cpu", "python"])
@pytest.mark.parametrize("fn", [of_an_item, of_a_norm, of_items, of_a_part], ids=lambda f: f.__name__)
def test_an_argument_is_worked_out_of_what_the_call_found(fn: Any, target: str):
    assert_derivatives(fn, Y, target)


def running(a):
    b = a * 2.0
    for i in range(1, len(a)):
        b[i] *= b[i - 1]
    return b


def power(a, n):
    if n == 0:
        return a * 0.5
    return a * power(a, n - 1) * 0.9


def one_of_two(a):
    if a[0] > 10:
        return a * 3.0
    return np.exp(a)


@s2sad.custom_vjp
def ruled(a):
    return a * a * 0.5


ruled.defvjp(lambda a: (a * a * 0.5, a), lambda a, g: (a * g,))
run_again = s2sad.checkpoint(lambda a: a * a * 0.5)


def from_the_end(x):
    for i in range(6):
        v = running(x[i:])
    return v.sum()


def by_recursion(x):
    for i in range(6):
        v = power(x[i:], 2)
    return v.sum()


def by_returns(x):
    for i in range(1, 6):
        v = one_of_two(x[:i])
    return v.sum()


def by_a_rule(x):
    for i in range(1, 6):
        v = ruled(x[:i])
    return v.sum()


def by_a_checkpoint(x):
    for i in range(1, 6):
        v = run_again(x[:i])
    return v.sum()


@pytest.mark.parametrize("target", ["cpu", "python"])
@pytest.mark.parametrize("fn", [from_the_end, by_recursion, by_returns, by_a_rule, by_a_checkpoint],
                         ids=lambda f: f.__name__)  # fmt: skip
def test_results_of_another_length_each_turn(fn: Any, target: str):
    x_bar = s2sad.grad(fn, target=target)(X)
    moved = [1e-6 * unit for unit in np.eye(8)]
    expected = [(fn(X + dot) - fn(X - dot)) / 2e-6 for dot in moved]
    np.testing.assert_allclose(x_bar, expected, rtol=1e-6, atol=1e-7)
