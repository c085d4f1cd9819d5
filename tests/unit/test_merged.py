"""Additions of multiples of one array are one, and nothing is multiplied by one."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import differences

X = np.array([0.7, -0.4, 1.3])
M = np.arange(9.0).reshape(3, 3) / 4.0


def least_squares(x, m):
    r = m @ x - 1.0
    return r @ r


def halved(x, m):
    r = m @ x - 1.0
    return 0.5 * np.dot(r, r)


def several(x, m):
    return 0.5 * x @ (m @ x) + np.trace(m.T @ m) + 3.0 * np.vdot(x, x)


def written_on(x, m):  # what `r_bar` begins as is used, and changed, afterwards
    r = m @ x
    s = 0.5 * np.dot(r, r)
    r *= x
    return s + np.sum(r * r * x) - np.dot(r, r)


def difference(x, m):
    r = m @ x
    return np.dot(r, r) - 0.25 * np.dot(r, r) + np.dot(r, x) - np.dot(x, r)


PROGRAMS = [least_squares, halved, several, written_on, difference]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_gradient(fun, target, dtype):
    x, m = X.astype(dtype), M.astype(dtype)
    if dtype is np.complex128:
        pull = s2sad.vjp(fun, x, m, target=target)[1]
        want = s2sad.vjp(fun, X, M, target="python")[1](1.0)
        got = pull(1.0 + 0.0j)
        for one, other in zip(got, want, strict=True):
            assert one.dtype == dtype
            np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)
        return
    x_bar, m_bar = s2sad.grad(fun, argnums=(0, 1), target=target)(x, m)
    assert x_bar.dtype == m_bar.dtype == dtype
    tolerance = 1e-6 if dtype is np.float64 else 2e-5
    np.testing.assert_allclose(x_bar, differences(lambda v: fun(v, M), X), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(m_bar, differences(lambda v: fun(X, v), M), rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(x, X.astype(dtype))


def as_written(x, m):  # the function's own sums are made in its own order
    y = m @ x
    for _ in ("once", "again", "and again"):
        y += 0.1 * x
    y += 1.0 * x
    return 3.0 * (0.1 * y), np.sum(y)


@pytest.mark.parametrize("mode", ["vjp", "jvp"])
def test_the_values_are_those_of_the_function(mode):
    for seed in range(20):
        x, m = np.random.default_rng(seed).normal(size=(4, 3))[0], np.random.default_rng(seed).normal(size=(3, 3))
        if mode == "vjp":
            got = s2sad.vjp(as_written, x, m, target="python")[0]
        else:
            got = s2sad.jvp(as_written, (x, m), (x, m), target="python")[0]
        for one, other in zip(got, as_written(x, m), strict=True):
            np.testing.assert_array_equal(one, other)


def test_text():
    """The adjoint of a square is twice its root, as one would write it."""
    signature = "float64[:], float64[:,:]"

    def text(fun):
        return s2sad.differentiate(argnums=(0, 1), target="python")(fun).source("grad", types=signature)

    assert "    r_bar = 2.0 * r\n" in text(least_squares)
    assert "    r_bar = np.copy(r)\n" in text(halved)
    assert "    m_bar += 2.0 * m\n    x_bar += 6.0 * x\n" in text(several)
    assert all("1.0 *" not in text(fun) for fun in (least_squares, halved, several, written_on))
