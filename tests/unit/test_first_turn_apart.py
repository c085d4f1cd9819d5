"""Names that are a number, or None, before a loop and an array from its first turn on: that turn stands before it."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import also_on, assert_derivatives

X = np.array([0.3, 0.5, 0.8])


def sum_that_begins_as_a_number(x):
    s = 0
    for k in range(100):
        s += np.sin(x) * x[::-1] ** k * 0.5**k
    return np.sum(s)


def none_until_the_first(x):
    s = None
    for k in range(30):
        v = np.cos(x * k)
        s = v if s is None else s * 0.5 + v
    return np.sum(s)


def products_with_a_matrix(x):
    a = np.outer(x, x)
    v = x.reshape(-1, 1)
    cost = 0
    for _ in range(30):
        cost += v.T @ a @ v
        v = 0.5 * (a @ v) + 0.1
    return cost.item()


def skips(x):
    s = 0
    for k in range(40):
        if k % 3 == 2:
            continue
        s += np.sin(x * k)
    return np.sum(s * s)


def few_turns(x):
    s = 0
    for k in range(3):
        s += np.sin(x * k)
    return np.sum(s)


PROGRAMS = [sum_that_begins_as_a_number, none_until_the_first, products_with_a_matrix, skips, few_turns]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_derivatives(fun, target):
    assert_derivatives(fun, X, also_on(target, fun, one_in=1))


@pytest.mark.parametrize("fun", PROGRAMS[:4])
def test_the_loop_stays_a_loop(fun):
    made = str(s2sad.differentiate(fun).source("grad", (X,)))
    assert made.count("\n") < 110, made


@pytest.mark.parametrize("fun", PROGRAMS)
def test_values(fun):
    np.testing.assert_allclose(s2sad.value_and_grad(fun)(X)[0], fun(X), rtol=1e-12)
