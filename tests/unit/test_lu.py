"""Triangular factors with exchanged rows, and systems that are solved by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import s2sad
from s2sad.runtime.decompositions import exchange_rows, lu_pivots
from tests.differences import also_on, assert_derivatives, differences

BOTH = pytest.mark.parametrize("target", ["python", "cpu"])
N = 4
RNG = np.random.default_rng(3)
A, W, B = RNG.normal(size=(N, N)), RNG.normal(size=(N, N)), RNG.normal(size=N)


def packed(a):
    factors, pivots = scipy.linalg.lu_factor(a, check_finite=False)
    return np.sum(W * np.sin(factors)) + pivots[0]


def apart(a):
    p, lower, upper = scipy.linalg.lu(a)
    return np.sum((p @ lower) ** 2) + np.sum(W * upper**3)


def put_back(a):
    lower, upper = scipy.linalg.lu(a, permute_l=True)
    p, below, _ = scipy.linalg.lu(a, p_indices=True)
    return np.sum(W * lower**2) + np.sum(W * upper) + np.sum(below[p] * W)


def by_turns(a):
    factors = scipy.linalg.lu_factor(a, overwrite_a=True)
    x = B
    for _ in range(4):
        x = scipy.linalg.lu_solve(factors, x + B)
        x = 0.1 * scipy.linalg.lu_solve(factors, x, trans=1)
    return np.sum(x**2) + np.sum(scipy.linalg.lu_solve(factors, W * W, 2))


def of_complex_numbers(a):
    c = a + 1j * W
    factors = scipy.linalg.lu_factor(c)
    total = np.sum(np.abs(scipy.linalg.lu_solve(factors, B + 0.5j)) ** 2)
    total += np.sum(np.abs(scipy.linalg.lu_solve(factors, c * c, trans=2)) ** 2)
    return total + np.real(scipy.linalg.lu_solve(factors, B + 0j, trans=1)[0])


PROGRAMS = [packed, apart, put_back, by_turns, of_complex_numbers]


@BOTH
@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives(program: Any, target: str) -> None:
    assert_derivatives(program, A, target)


@pytest.mark.parametrize("program", PROGRAMS)
def test_second_derivatives(program: Any) -> None:
    expected = differences(s2sad.grad(program, target="python"), A)
    found = s2sad.hessian(program, target=also_on("cpu", program))(A)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_pivots_are_those_of_scipy(n: int) -> None:
    a = np.random.default_rng(n).normal(size=(n, n))
    for made, want in zip(lu_pivots(a), scipy.linalg.lu_factor(a), strict=True):
        np.testing.assert_allclose(made, want, rtol=1e-10)
        assert made.dtype == want.dtype
    _, pivots = lu_pivots(a)
    lower, upper = scipy.linalg.lu(a, permute_l=True)
    np.testing.assert_allclose(exchange_rows(exchange_rows(a, pivots, False), pivots, True), a)
    np.testing.assert_allclose(np.triu(exchange_rows(lower, pivots, False), 1), np.zeros((n, n)))
    np.testing.assert_allclose(lower @ upper, a, atol=1e-12)


@BOTH
def test_factors_made_outside_are_those_of_scipy(target: str) -> None:
    factors = scipy.linalg.lu_factor(A)

    def solved(b):
        return np.sum(scipy.linalg.lu_solve(factors, b) ** 2)

    assert_derivatives(solved, B, target)


@BOTH
def test_what_is_refused(target: str) -> None:
    def total(a, b):
        return np.sum(scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b))

    gradient = s2sad.grad(total, target=target)
    with pytest.raises(ValueError):
        gradient(A, B[:3])
    with pytest.raises((ValueError, np.linalg.LinAlgError)):
        gradient(A[:3], B[:3])
    with pytest.raises(np.linalg.LinAlgError), np.errstate(all="ignore"):
        gradient(np.ones((N, N)), B)
    with pytest.raises(s2sad.S2SADError, match="`lu` of several matrices"):
        s2sad.grad(lambda a: np.sum(scipy.linalg.lu(a)[1]), target=target)(np.stack((A, A)))
