"""Sums over pairs: the branch that leaves out a body itself is one branch in the turn of a fused loop, too."""

from __future__ import annotations

import math

import numpy as np
import pytest

from s2sad import differentiate
from tests.differences import differences

X = np.random.default_rng(0).normal(size=(5, 3))
M = np.linspace(0.5, 1.5, 5)


def potential(x, m):
    energy = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            if i != j:
                d = 0.0
                for k in range(3):
                    d += (x[i, k] - x[j, k]) ** 2
                energy[i] += m[i] * m[j] / math.sqrt(d)
    return np.sum(energy)


def changed_inside(x, m):
    """What the test reads is changed in the branch: the branch of the adjoint is another."""
    total = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        near = 1.0
        for j in range(x.shape[0]):
            if near > 0.1:
                d = 0.0
                for k in range(3):
                    d += (x[i, k] - x[j, k]) ** 2
                near = math.exp(-d)
                total[i] += near * near * m[j]
    return np.sum(total)


def both_sides(x, m):
    total = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            if j < i:
                d = 0.0
                for k in range(3):
                    d += x[i, k] * x[j, k]
                total[i] += math.sin(d) * m[j]
            else:
                total[i] += m[i] * x[j, 0] ** 2
    return np.sum(total * total)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [potential, changed_inside, both_sides])
def test_gradients(fun, target):
    found = differentiate(fun, argnums=(0, 1), target=target).grad(X, M)
    np.testing.assert_allclose(found[0], differences(lambda x: fun(x, M), X), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(found[1], differences(lambda m: fun(X, m), M), rtol=1e-6, atol=1e-7)


def test_nothing_is_kept_for_another_branch():
    text = differentiate(potential, argnums=(0, 1)).source("grad", types=(X, M))
    assert "tape" not in text
    assert text.count("if i != j:") == 1
