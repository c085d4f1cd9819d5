"""Rows that a loop stacks below a first one, which has one axis before it."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.3, 0.9, 0.4])


def while_it_falls(x):
    path = x
    y = x
    while y[0] > 0.05:
        y = y * 0.8
        path = np.vstack([path, y])
    return np.sum(path[-1] * path[0])


def as_often_as_is_said(x, turns=6):
    path = x.copy()
    for _ in range(int(turns)):
        x = np.sin(x)
        path = np.vstack((path, x))
    return np.sum(path[:, 0] ** 2)


def beside_another(x):
    left, right = x, x[::-1]
    for k in range(len(x)):
        left = np.vstack((left, x * k))
        right = np.vstack((x, right))
    return np.sum(left * np.cos(left)) + np.sum(right**2)


@pytest.mark.parametrize("program", [while_it_falls, as_often_as_is_said, beside_another])
@pytest.mark.parametrize("target", ["cpu", "python"])
def test_rows_below_a_first_one(program, target):
    assert_derivatives(program, X, target)


@pytest.mark.parametrize("target", ["cpu", "python"])
def test_without_a_turn_there_is_an_error(target):
    with pytest.raises(ValueError, match="takes no turn"):
        s2sad.grad(while_it_falls, target=target)(np.array([0.01, 0.2, 0.3]))
