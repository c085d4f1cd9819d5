"""What is added to one place in every turn of a loop is summed in a number, where the compiled target runs it."""

import math

import numpy as np
import pytest

import s2sad
from tests.differences import differences

RNG = np.random.default_rng(8)


def pairs(x):
    """Triangles, as for the factors of a covariance: the inner adjoint adds to one item of `work`'s."""
    work = np.empty(x.shape[0])
    total = 0.0
    at = 0
    for i in range(x.shape[0]):
        work[i] = math.sin(x[i, 0])
    for i in range(x.shape[0]):
        for j in range(i + 1, x.shape[0]):
            total += work[i] * x[j, 1] * (1.0 + at)
            at += 1
    return total


def read_meanwhile(x):
    """The adjoint reads what it adds to: `y[i - 1]` moves on to `y[i]`."""
    y = np.copy(x)
    for i in range(1, x.size):
        for _ in range(2):
            y[i] = y[i] * y[i - 1]
    return np.sum(y)


def without_turns(x, n):
    """Inner loops that have no turns, over an axis that is shorter than the outer loop is long."""
    total = 0.0
    for i in range(x.size + 3):
        for j in range(n):
            total += x[i] * x[j] * (1.0 + i)
    return total


def one_array_twice(x):
    """The items of a pair are those of one array."""
    total = 0.0
    for i in range(x.size):
        for j in range(x.size):
            total += x[i] * x[j] * x[j]
    return total


def in_a_branch(x):
    total = 0.0
    for i in range(x.size):
        for j in range(x.size):
            if x[j] > 0.0:
                total += math.sin(x[i]) * j
    return total


def source_of(fun, *args):
    return str(s2sad.differentiate(fun).source("grad", args))


@pytest.mark.parametrize(
    ("fun", "args"),
    [
        (pairs, (RNG.normal(size=(6, 2)),)), (read_meanwhile, (RNG.normal(size=5),)),
        (without_turns, (RNG.normal(size=4), 0)), (one_array_twice, (RNG.normal(size=6),)),
        (in_a_branch, (RNG.normal(size=7),)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_gradients_are_those_of_differences(fun, args):
    found = s2sad.grad(fun)(*args)
    np.testing.assert_allclose(found, s2sad.grad(fun, target="python")(*args), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found, differences(lambda x: fun(x, *args[1:]), args[0]), rtol=1e-5, atol=1e-7)


def test_a_place_that_does_not_move_is_a_number():
    assert "work_bar_sum = 0.0" in source_of(pairs, RNG.normal(size=(6, 2)))
    assert "x_bar_sum = 0.0" in source_of(one_array_twice, RNG.normal(size=6))


def test_a_place_that_may_not_be_there_is_left():
    """With no turns of the inner loop, nothing may be added at `x.size + 2`."""
    assert "_sum = 0.0" not in source_of(without_turns, RNG.normal(size=4), 0)


def test_a_place_that_is_read_is_left():
    assert "_sum = 0.0" not in source_of(read_meanwhile, RNG.normal(size=5))
