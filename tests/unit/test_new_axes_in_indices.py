"""New axes in indices: beside arrays and numbers that stand apart they are refused, elsewhere they are NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.random.default_rng(0).normal(size=(4, 5, 3))


def before(x):
    return np.sum(x[None, [0, 1], 2] ** 2 * np.arange(6.0).reshape(1, 2, 3))


def behind(x):
    return np.sum(x[[0, 1], None, :, 1:] ** 2 * np.arange(20.0).reshape(2, 1, 5, 2))


def added_to_what_it_gives(x):
    return np.sum(x[0, [0, 1]][:, None] ** 2 * np.arange(6.0).reshape(2, 1, 3))


@pytest.mark.parametrize("program", [before, behind, added_to_what_it_gives])
@pytest.mark.parametrize("target", ["cpu", "python"])
def test_as_in_numpy(program, target):
    assert_derivatives(program, X, target)


def between(x):
    return np.sum(x[0, None, [0, 1]] ** 2 * np.arange(6.0).reshape(2, 1, 3))


def before_those_apart(x):
    return np.sum(x[None, [0, 1], :, 2] ** 2)


def written(x):
    y = x.copy()
    y[0, None, [0, 1]] = np.ones((2, 1, 3)) * x[0, 0, 0]
    return np.sum(y**3)


@pytest.mark.parametrize("program", [between, before_those_apart, written])
def test_beside_what_stands_apart_they_are_refused(program):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="a new axis stands in an index") as refusal:
        s2sad.grad(program)(X)
    assert refusal.value.span is not None
    assert "add the axis to what that gives" in str(refusal.value)
