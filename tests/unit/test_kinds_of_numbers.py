"""What kind a number is of: `type(x)` asked of it, and kinds named as Numba names them."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from numba import float64

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.6, 0.3, 0.7])


@numba.njit
def powerlaw(z, beta, m):
    """A tail as a library of distributions writes it: for numbers of either precision."""
    kind = type(beta)
    log_a = m * np.log(m / beta) - kind(0.5) * beta * beta
    return log_a - m * np.log(m / beta - beta - z)


def of_a_type(x):
    return powerlaw(-x[0], x[1], type(x[2])(2) + x[2])


def asked_of_arrays(x):
    kind = type(x)
    assert isinstance(x, kind)
    return np.sum(x**2) if kind is np.ndarray else x[0]


def made_of_a_type(x):
    y = np.zeros_like(x, dtype=type(x[0]))
    y[:2] = x[1:]
    return np.sum(y * x)


@numba.njit
def named_by_numba(x):
    a = np.zeros(3, dtype=numba.float64)
    b = np.empty(x.size, dtype=float64)
    z = np.zeros((1, 2), numba.complex128)
    chosen = np.ones(3, dtype=numba.boolean)
    for i in range(3):
        if chosen[i]:
            a[i] = numba.float64(x[i]) * float64(2)
    b[:] = x * numba.int32(7.9)
    z[0, 1] = x[0] * 1j
    return math.sqrt(np.sum(a * b)) + np.abs(z).sum() ** 2


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [of_a_type, asked_of_arrays, made_of_a_type, named_by_numba])
def test_programs(fun, target) -> None:
    assert_derivatives(fun, X, target)


def test_what_is_no_kind_is_refused_with_its_line() -> None:
    def wrong(x):
        return np.sum(np.zeros(3, dtype="floating") + x)

    with pytest.raises(s2sad.S2SADError, match="no `dtype` of `zeros`") as refused:
        s2sad.grad(wrong, target="python")(X)
    assert "test_kinds_of_numbers.py" in str(refused.value)
