"""Which indices cannot be negative, and which sums may be added in any order."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest

import s2sad
from s2sad.analysis.bounds import lower_bounds
from s2sad.analysis.sums import accumulators
from s2sad.errors import NOWHERE
from s2sad.frontend.functions import instantiate
from s2sad.frontend.lowerer import Context
from s2sad.ir.typeof import typeof
from tests.differences import assert_derivatives, differences

X = np.array([0.7, -0.4, 1.3, 0.9, -1.1])


def function_of(fun, *args):
    """Return the IR of a function for these arguments."""
    made = instantiate(Context(), fun, tuple(typeof(arg) for arg in args), NOWHERE)
    assert made.function is not None
    return made.function


def loops(x, start):
    n = x.size
    at = 0
    down = 3
    for i in range(1, n):
        for j in range(n - 1, i, -1):
            at += 1
            down -= 1
            x[j] = at * down
    half = n // 2
    turned = (start - 1) % n
    least = min(half, 4)
    most = max(start, 2)
    return x[0] + half + turned + least + most


def test_bounds_of_names():
    found = lower_bounds(function_of(loops, X, 3))
    assert found["n"] == 0
    assert found["at"] == 0
    assert found["i"] == 1
    assert found["j"] == 2
    assert "down" not in found
    assert found["half"] == 0
    assert found["turned"] == 0
    assert found["least"] == 0
    assert found["most"] == 2
    assert "start" not in found


def sums(x):
    total = 0.0
    for i in range(x.size):
        total += x[i]
    return total


def test_the_users_own_sums_keep_their_order():
    fn = function_of(sums, X)
    assert accumulators(fn, frozenset()) == {"total"}
    assert accumulators(fn, frozenset({"total"})) == frozenset()


def test_a_users_sum_is_the_same_to_the_last_bit():
    x = np.random.default_rng(0).normal(size=1001) * 10.0 ** np.random.default_rng(1).integers(-8, 8, 1001)
    expected = sums(x)
    assert s2sad.value_and_grad(sums, target="cpu")(x)[0] == expected


def behind(x):
    """Read from the end: the index is negative at first."""
    total = 0.0
    for i in range(x.size):
        total += x[i - 2] * x[i] * x[(i + 1) % x.size]
    return total


def packed(x):
    """Walk through a triangle by a counter, which the reverse sweep takes back."""
    n, total, at = 3, 0.0, 0
    for p in range(n):
        for q in range(p, n - 1):
            total += math.sin(x[at]) * x[p] * (q + 1)
            at += 1
    return total


def backwards(x):
    total, at = 0.0, -1
    for _ in range(x.size):
        total += x[at] * x[at] * x[0]
        at -= 1
    return total


def shifted(x):
    y = np.zeros(x.size)
    for i in range(1, x.size):
        y[i - 1] += x[i] * x[i - 1]
        y[-i] += x[i]
    return np.sum(y**2)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [behind, packed, backwards, shifted])
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)


def in_a_ring(x):
    total = 0.0
    for i in range(x.size):
        total += (x[(i + 1) % x.size] - x[(i - 2) % x.size]) * x[(i - 1) % x.size] + x[(7 * i) % x.size] ** 2
    return total


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_ring(target):
    assert_derivatives(in_a_ring, X, target)


def remainder(a, b):
    return a % b


def test_remainders_are_pythons():
    from s2sad.backends.lowering import Pipeline

    compiled = numba.njit(pipeline_class=Pipeline)(remainder)
    numbers = [*range(-9, 10), 2**62, 2**63 - 1, -(2**63)]
    for a in numbers:
        for b in [n for n in numbers if n]:
            assert compiled(a, b) == a % b
    with pytest.raises(ZeroDivisionError):
        compiled(1, 0)


def sweeps(a, b, c):  # the second loop counts by the same name, from 0
    n = a.size
    p = np.zeros(n)
    x = np.zeros(n)
    p[0] = c[0]
    for i in range(1, n):
        w = b[i] - a[i] * p[i - 1]
        p[i] = c[i] / w
    x[-1] = p[-1]
    for i in range(n - 2, -1, -1):
        x[i] = p[i] * x[i + 1]
    return np.sum(x * x)


def a_ring_and_a_sweep(a, b, c):  # here the counter is 0, and `p[i - 1]` the last element
    n = a.size
    p = c * 1.0
    for i in range(n):
        p[i] = math.sin(p[i - 1]) * a[i] + b[i]
    for i in range(1, n):
        p[i] = math.sin(p[i - 1]) * a[i] + b[i] * p[i]
    return np.sum(p * p)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [sweeps, a_ring_and_a_sweep])
def test_counters_of_one_name(fun, target):
    args = (X[:4], X[1:] + 3.0, X[::-1][:4])
    for k in range(3):
        bar = differences(lambda v, k=k: fun(*args[:k], v, *args[k + 1:]), args[k])
        got = s2sad.grad(fun, argnums=k, target=target)(*args)
        np.testing.assert_allclose(got, bar, rtol=1e-6, atol=1e-7)


def test_a_sweep_keeps_nothing_whatever_else_counts_by_that_name():
    signature = "float64[:], float64[:], float64[:]"
    assert "tape" not in s2sad.differentiate(argnums=(0, 1, 2))(sweeps).source("grad", types=signature)
    assert "tape" in s2sad.differentiate(argnums=(0, 1, 2))(a_ring_and_a_sweep).source("grad", types=signature)
