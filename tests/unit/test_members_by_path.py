"""Members of enumerations that differ from path to path; Numba's element-wise functions, differentiated themselves."""

from __future__ import annotations

import enum
import math

import numba
import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives


class Status(enum.IntEnum):
    CONVERGED = 0
    EXHAUSTED = 1


class Scheme(enum.Enum):
    UPWIND = "upwind"
    CENTRAL = "central"


def newton(f, x, most):
    status = Status.EXHAUSTED
    for _ in range(most):
        step = f(x) / (2.0 * x)
        x = x - step
        if abs(step) < 1e-8:
            status = Status.CONVERGED
            break
    return x, status


def root_or_last(x):
    total = 0.0
    for most in (2, 20):
        root, status = newton(lambda y: y * y - x[0], 1.0, most)
        if status == Status.CONVERGED:
            total += root * x[1]
        else:
            total -= root
    return total


def by_identity(x):
    scheme = Scheme.UPWIND if x[0] > 1.0 else Scheme.CENTRAL
    if scheme is Scheme.UPWIND:
        return x[0] * x[1]
    return x[0] ** 3


def by_match(x):
    scheme = Scheme.CENTRAL
    if x[1] > 0.0:
        scheme = Scheme.UPWIND
    match scheme:
        case Scheme.CENTRAL:
            return x[0] * x[0]
        case Scheme.UPWIND:
            return x[0] * math.sin(x[1])


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [root_or_last, by_identity, by_match])
def test_a_member_is_compared_with_members(fun, target):
    """Which one it is, is a number at run time."""
    for x in (np.array([2.0, 0.7]), np.array([0.6, -1.3])):
        assert_derivatives(fun, x, target)


def test_a_member_that_is_a_number_is_not_compared_with_one():
    """`status == 0` would be true in Python: that is refused, not answered."""

    def zero(x):
        status = Status.EXHAUSTED
        if x > 1.0:
            status = Status.CONVERGED
        return x * x if status == 0 else x

    with pytest.raises(s2sad.UnsupportedSyntaxError, match="which member this is"):
        s2sad.grad(zero)(2.0)


@numba.vectorize
def softened(x, y):
    return math.log1p(math.exp(x)) * y


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_an_elementwise_function_is_differentiated_itself(target):
    """`s2sad.grad` of what `@vectorize` made, at numbers."""
    value, slopes = s2sad.value_and_grad(softened, argnums=(0, 1), target=target)(0.3, 2.0)
    assert value == pytest.approx(softened(0.3, 2.0), rel=1e-15)
    assert slopes == pytest.approx((2.0 / (1.0 + math.exp(-0.3)), math.log1p(math.exp(0.3))), rel=1e-14)
