"""What each turn of nested loops sets before it reads it has no place for every turn, however deep the loops are."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.random.default_rng(1).normal(size=(2, 3, 4))


def rows(x):
    a, b, n = x.shape
    e = np.empty(n)
    total = 0.0
    for i in range(a):
        for j in range(b):
            norm = 0.0
            for k in range(n):
                e[k] = math.exp(x[i, j, k])
                norm += e[k]
            for k in range(n):
                total += e[k] * math.sin(e[k]) / norm
    return total


def read_before_it_is_set(x):
    a, b, n = x.shape
    e = np.ones(n)
    total = 0.0
    for i in range(a):
        for j in range(b):
            for k in range(n):
                total += e[k] * x[i, j, k] ** 2
            for k in range(n):
                e[k] = math.sin(x[i, j, k]) * x[i, j, 0]
    return total


def not_all_of_it_is_set(x):
    a, b, n = x.shape
    e = np.ones(n)
    total = 0.0
    for i in range(a):
        for j in range(b):
            for k in range(n - 1):
                e[k + 1] = math.exp(x[i, j, k]) * e[k]
            for k in range(n):
                total += e[k] ** 2 * x[i, j, 0]
    return total


def the_next_one_is_read(x):
    a, b, n = x.shape
    e = np.ones(n)
    total = 0.0
    for i in range(a):
        for j in range(b):
            for k in range(n):
                total += e[(k + 1) % n] * x[i, j, k]
                e[k] = x[i, j, k] ** 2
            for k in range(n):
                total += e[k] ** 2
    return total


def set_on_one_path(x):
    a, b, n = x.shape
    e = np.ones(n)
    total = 0.0
    for i in range(a):
        for j in range(b):
            for k in range(n):
                if x[i, j, k] > 0.0:
                    e[k] = math.exp(x[i, j, k])
            for k in range(n):
                total += e[k] ** 2 * x[i, j, 0]
    return total


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    "fun", [rows, read_before_it_is_set, not_all_of_it_is_set, the_next_one_is_read, set_on_one_path]
)
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)


def test_a_row_is_as_long_as_a_row():
    gradient = s2sad.grad(rows, target="python")
    gradient(X)
    text = "".join(str(made.entry.derivative.text) for _, made in gradient.store.known())
    assert "e = np.empty(n)" in text
    assert "norm_tape" not in text
