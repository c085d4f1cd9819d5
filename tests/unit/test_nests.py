"""Loops over `itertools.product` of ranges and over `np.ndindex`: loops in one another, as one would write them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.random.default_rng(0).random((5, 3))


def lattice(x):
    total = 0.0
    for k in product(range(-1, 2), repeat=3):
        if not any(k):
            continue
        wave = np.array(k) * 1.0
        total += np.exp(-wave @ wave) * np.sum(np.cos(x @ wave))
    return total


def shifted(x):
    total, n = 0.0, x.shape[0]
    for i, j in product(range(1, n), range(n - 1)):
        total += x[i, 0] * x[j, 1] * (i - j)
    return total


def indices(x):
    total = 0.0
    for i, j in np.ndindex(x.shape):
        if i == j:
            continue
        total += x[i, j] ** 2 * (i + 1)
    return total


def left(x):
    total, n = 0.0, x.shape[0]
    for i, j in product(range(n), range(n)):
        if x[i, 0] > 0.6:
            break
        total += x[i, 0] * x[j, 1]
    else:
        total += 1
    return total


def bound_moves(x):
    n, total = 2, 0.0
    for i, j in product(range(n), range(0, n, 1)):
        n = n + 1
        total += x[i, 0] * x[j, 1] * n
    return total


def comprehensions(x):
    pairs = sum(x[i, 0] * x[j, 1] for i, j in product(range(1, 4), range(3)))
    return pairs + sum([x[i, j] ** 2 for i, j in np.ndindex(2, 2)])


def functions_by_place(x):
    functions, total = (np.sin, np.cos, np.exp), 0.0
    for i, j in product(range(3), range(3)):
        total += functions[i](x[j, 0])
    return total


def numbered(x):
    total = 0.0
    for i, place in enumerate(product(range(3), range(4))):
        total += x[place[0], 0] * x[place[1], 1] * i
    return total


def growing(x):
    v = x[:, 0]
    for i, j in product(range(3), range(2)):
        v = np.append(v, v[i] * v[j])
    return np.sum(v**2)


def one_range(x):
    total = 0.0
    for (i, j), w in zip(product(range(3), range(4)), range(12)):
        total += x[i, 0] * x[j, 1] * w
    for (i,) in product(range(3)):
        total += x[i, 0] ** 2
    for i, j in product((0, 1), repeat=2):
        total += x[i, 0] * x[j, 2]
    return total


def read_behind(x):
    i, j, empty = 4, 1, int(x[0, 0] * 0.1)
    for i, j in product(range(3), range(empty)):  # no turn at all: both stay
        x = x * 2.0
    return x[i, j] ** 2


def names_alike(x):
    total = 0.0
    for _, _ in product(range(2), range(1, 4)):
        total += x[0, 0] * x[1, 1]
    for _ in np.ndindex(2, 2):
        total += x[2, 2] ** 2
    return total


ALL = [lattice, shifted, indices, left, bound_moves, comprehensions, functions_by_place, numbered, growing, one_range,
       read_behind, names_alike]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("f", ALL)
def test_gradients(f, target):
    assert_derivatives(lambda x: f(x.reshape(5, 3)), X.ravel(), target)


@pytest.mark.parametrize("f", [lattice, shifted, indices])
def test_the_text_has_loops_in_one_another(f):
    fun = s2sad.differentiate(f)
    fun.grad(X)
    text = fun.source("grad")
    assert "//" not in text
    assert "%" not in text
    assert len(text.splitlines()) < 60
