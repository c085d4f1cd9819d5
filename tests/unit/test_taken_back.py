"""A change of sign is taken back by another one, as an integer that was counted up is counted down: no tape."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.3, 0.9, -0.5, 1.2])


def alternating(x):
    """The signs of a determinant's minors."""
    total, sign = 0.0, 1.0
    for i in range(x.size):
        total += sign * math.sin(x[i]) * x[i - 1]
        sign = -sign
    return total * total


def turned_by_a_branch(x):
    """The number that changes its sign is differentiated, and by some turns twice."""
    v, total = x[0] * 1.0, 0.0
    for i in range(x.size):
        total += math.sin(v * x[i])
        v = -v
        if x[i] > 0.5:
            v = -v
            total *= 1.0 + v * v
    return total * v


def counted_down(x):
    total, k = 0.0, x.size
    while k > 0:
        k -= 1
        total += math.sin(x[k]) * (k + 1)
    return total


def of_another_name(x):
    """`w` is not what `v` was."""
    v, w, total = x[0] * 1.0, x[1] * 1.0, 0.0
    for i in range(x.size):
        total += math.sin(v * x[i]) * w
        v = -w
        w = total
    return total * v


EVERY = (alternating, turned_by_a_branch, counted_down, of_another_name)


@pytest.mark.parametrize("fun", EVERY)
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)


@pytest.mark.parametrize("fun", EVERY)
def test_both_sweeps_apart_and_second_derivatives(fun):
    bar = s2sad.grad(fun, target="python")
    _, pullback = s2sad.vjp(fun, X, target="python")
    np.testing.assert_allclose(pullback(1.0)[0], bar(X), rtol=1e-12)
    hessian = s2sad.hessian(fun, target="python")(X)
    for unit, column in zip(np.eye(X.size) * 1e-6, hessian, strict=True):
        np.testing.assert_allclose(column, (bar(X + unit) - bar(X - unit)) / 2e-6, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("fun", "kept"), [(alternating, "sign"), (turned_by_a_branch, "v"), (counted_down, "k")])
def test_nothing_is_kept_of_it(fun, kept):
    text = s2sad.differentiate(fun).source("grad", (X,))
    assert f"{kept}_tape" not in text
    assert f"{kept} = -{kept}" in text.split("adjoint sweep")[1] or f"{kept} += 1" in text.split("adjoint sweep")[1]
