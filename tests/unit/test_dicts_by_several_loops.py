"""Dict comprehensions over ranges, with conditions, and with several loops."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.4, 0.9, 0.3])
N = 3


def a_grid(x):
    index = {(i, j): i * N + j for i in range(N) for j in range(N)}
    total = 0.0
    for (i, j), k in index.items():
        total += x[k % 3] * (i + 2 * j)
    return total * x[0]


def a_triangle(x):
    d = {(i, j): x[i] * x[j] for i in range(3) for j in range(i)}
    return d[2, 1] * 3 + d[1, 0] + len(d) * x[0]


def twenty(x):
    d = {i: x[i % 3] * i for i in range(20)}
    return sum(d.values()) * x[0]


def keys_that_come_twice(x):
    d = {i + j: x[i] * j for i in range(3) for j in range(3) if i != j}
    return sum(v**2 for v in d.values()) + d[3]


def words(x):
    d = {(a, b): x[0] * len(a + b) for a in ("x", "yy") for b in ("z", "zz")}
    return d["x", "zz"] * x[1]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [a_grid, a_triangle, twenty, keys_that_come_twice, words])
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)


def of_unknown_length(x):
    d = {i: v * v for i, v in enumerate(x)}
    return d[0] * d[2]


def pairs_of_unknown_length(x):
    d = {(i, j): x[i] * x[j] for i in range(len(x)) for j in range(i)}
    return d[1, 0]


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_keys_that_only_a_run_knows(target):
    assert_derivatives(of_unknown_length, X, target)


def test_keys_by_several_loops_that_only_a_run_knows_are_refused():
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="keys known at transform time"):
        s2sad.grad(lambda x: pairs_of_unknown_length(x[: int(x[0] * 0 + 2)]), target="python")(X)
