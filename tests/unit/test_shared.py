"""What a branch has computed is used again in a later branch on the same condition, and only while it holds."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([1.3, 0.6, 2.7, 0.4])


def turned(x):
    """The rotation that bundle adjustment has: near zero it is the identity."""
    square = x[0] * x[0] + x[1] * x[1]
    if square > 0.0:
        theta = math.sqrt(square)
        cosine, sine = math.cos(theta), math.sin(theta) / theta
        u = x[2] * cosine + x[3] * sine
    else:
        u = x[2] * math.exp(x[3])
    return u * u


def changed_between(x):
    """What the first branch has computed is of another number."""
    flag, y, z = x[0] > 0.0, x[1], 1.0
    if flag:
        z = math.sin(y) * x[2]
    y = y * x[3]
    if flag:
        z += math.sin(y) * z
    return z * y


def another_way(x):
    """The condition has changed in between."""
    n, z = 2, x[0]
    if n > 1:
        a = math.exp(x[1])
        z = z * a
        n = 1
    if n > 1:
        z = math.exp(x[1]) * 3.0 * z
    else:
        z = z * math.exp(x[1]) + math.exp(x[2])
    return z * z


def in_turns(x):
    """Each turn has branches of its own."""
    total, count = 0.0, 0
    for i in range(x.size):
        if count > 1:
            total += math.sin(x[i]) * total
        else:
            total += math.tanh(x[i])
        count = count + 1
        if count > 1:
            total *= math.sin(x[i])
        if count > 2:
            total += math.cos(x[i])
    return total


def both_sides(x):
    """Three branches on one condition, on either side."""
    few = x[0] > 2.0
    if few:
        a = math.exp(x[1]) * x[2]
    else:
        a = math.sin(x[1]) + x[2]
    if not few:
        a += math.cos(x[1]) * x[3]
    if few:
        a *= math.exp(x[1])
    else:
        a *= math.sin(x[1]) * math.cos(x[1])
    return a * a


@pytest.mark.parametrize("fun", [turned, changed_between, another_way, in_turns, both_sides])
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_derivatives(fun, target):
    for x in (X, -X, np.array([2.5, 0.3, -0.7, 1.1])):
        assert_derivatives(fun, x, target)


def test_an_adjoint_uses_what_the_branch_has_computed():
    text = s2sad.differentiate(turned).source("grad", (X,))
    code = "".join(line for line in text.splitlines(True) if not line.lstrip().startswith("#"))
    assert code.count("math.cos(") == 1
    assert code.count("math.sin(") == 1
    assert code.count("math.exp(") == 1


def test_at_the_other_side():
    """Names of the side that is not taken are not read."""
    np.testing.assert_allclose(
        s2sad.grad(turned)(np.array([0.0, 0.0, 2.0, 0.5])), [0.0, 0.0, 4.0 * math.e, 8.0 * math.e], rtol=1e-14
    )
