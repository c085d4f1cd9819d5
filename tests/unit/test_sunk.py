"""A loop that only passes on an adjoint which a branch may have left at zero stands in that branch."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, -0.4, 1.3, 0.9, -1.1, 0.2])
CENTRES = np.array([[0.5, 0.1], [-0.6, 0.3], [1.0, -1.0]])


def nearest_point(x):
    best = np.inf
    for k in range(3):
        square = 0.0
        for j in range(2):
            jump = x[2 * k + j] - CENTRES[k, j]
            square += jump * jump
        if square < best:
            best = square
    return best


def gated_twice(x):
    """The adjoint goes on after the loop too, so that not all of it may move."""
    kept, total = 0.0, 0.0
    for k in range(x.size):
        value = 0.0
        for j in range(3):
            value += x[k] * x[j]
        if value > 0.1:
            kept = value
        total += value * kept
    return total + kept


def else_sets_it_too(x):
    kept = 1.0
    for k in range(x.size):
        value = 0.0
        for j in range(2):
            value += x[k] * x[k - j]
        if value > 0.1:
            kept = value
        else:
            kept = 2.0 * value
    return kept


def one_over_zero(x):
    """The side that loses has an infinite slope."""
    best = -np.inf
    for k in range(x.size):
        value = 0.0
        for j in range(2):
            value += np.sqrt(abs(x[k] - 0.2)) * (j + 1)
        if value > best:
            best = value
    return best


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [nearest_point, gated_twice, else_sets_it_too])
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)


def test_the_loop_stands_in_the_branch():
    derivative = s2sad.differentiate(nearest_point)
    derivative.grad(X)
    lines = derivative.source("grad").split("\n")
    adjoint = lines[lines.index("    # ---- adjoint sweep ----") :]
    branch = next(i for i, line in enumerate(adjoint) if line.lstrip().startswith("if "))
    loop = next(i for i, line in enumerate(adjoint) if "for j in" in line)
    depth = [len(adjoint[i]) - len(adjoint[i].lstrip()) for i in (branch, loop)]
    assert loop > branch
    assert depth[1] > depth[0]


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_lost_takes_nothing(target):
    gradient = s2sad.grad(one_over_zero, target=target)(X)
    expected = np.zeros(6)
    expected[4] = -1.5 / np.sqrt(1.3)
    np.testing.assert_allclose(gradient, expected, rtol=1e-12)
