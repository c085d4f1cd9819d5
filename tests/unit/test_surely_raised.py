"""What Python would raise on one path only is raised there: the other paths have their derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

PAIR = (1.5, 2.5)
STEPS = ((0.1, 1.0), (0.4, 2.0), (0.9, 3.0))


def third_of_two(x):
    if x[0] > 5.0:
        return PAIR[2] * x[0]
    return PAIR[1] * x[0] * x[1]


def between(x):
    for i in range(len(STEPS)):
        low, high = STEPS[i], STEPS[i + 1]
        if low[0] <= x[0] <= high[0]:
            return low[1] * x[0] + high[1] * x[1] ** 2
    raise ValueError("beyond the last")


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_an_index_behind_the_end(target):
    """In a branch that is not taken, and in a turn of a loop that is not reached."""
    for fun in (third_of_two, between):
        assert_derivatives(fun, np.array([0.3, 1.7]), target)
    with pytest.raises(IndexError, match="index 2 is outside this tuple of 2"):
        s2sad.grad(third_of_two, target=target)(np.array([6.0, 1.0]))
    with pytest.raises((IndexError, ValueError)):
        s2sad.grad(between, target=target)(np.array([2.0, 1.0]))


def test_where_it_is_sure_it_is_an_error_of_the_function():
    """Before anything runs, with the line."""
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="index 2 is outside this tuple of 2") as caught:
        s2sad.grad(lambda x: PAIR[2] * x)(1.0)
    assert caught.value.span.file == __file__


def bound_above_one(x):
    if x[0] > 1.0:
        w = x[0] * x[1]
    else:
        return w * x[0]
    return w * 2.0


def asked_where_it_is_bound(x):
    warm = x[0] > 1.0
    if warm:
        pressure = np.exp(x[1])
    for limit in (0.5, 2.0):
        if limit > 1.0 and warm and pressure > limit:
            return x[0] * pressure
    return x[0] + x[1]


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_name_that_only_another_path_binds(target):
    """It is asked for where it has a value, as far as anyone can tell before it runs."""
    assert_derivatives(bound_above_one, np.array([1.7, 0.6]), target)
    with pytest.raises(UnboundLocalError, match="`w` has no value here"):
        s2sad.grad(bound_above_one, target=target)(np.array([0.7, 0.6]))
    for x in (np.array([1.7, 0.9]), np.array([0.3, 0.9])):
        assert_derivatives(asked_where_it_is_bound, x, target)
