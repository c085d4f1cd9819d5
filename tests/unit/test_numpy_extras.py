"""NumPy functions that come up seldom, tables read by an index known at run time, and series of polynomials."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import chebyshev, hermite_e, legendre, polynomial

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, -0.4, 2.1])
V = np.array([0.7, -0.4, 1.3])
M = np.arange(12.0).reshape(3, 4) / 7 - 0.6
TRIANGLES = ((0, 1, 2), (1, 2, 3), (0, 2, 3))


def a_product_of_polynomials(x):
    return np.sum(np.polymul(x, x[:2]) ** 2)


def sums_of_segments(x):
    return np.sum(np.add.reduceat(x * x, [0, 2]) ** 2)


def appended_along_an_axis(m):
    return np.sum(np.append(m, m * m, axis=1) ** 2)


def a_weighted_covariance(m):
    return np.sum(np.cov(m, aweights=np.array([1.0, 2.0, 1.0, 3.0])) ** 2)


def matrices_transposed(m):
    both = np.stack([m, m * m])
    return np.sum(both.mT[:, 0] * 3)


def two_contexts_at_once(x):
    with np.errstate(divide="ignore"), np.printoptions(precision=3):
        y = np.log(np.abs(x))
    return y.sum()


def a_chebyshev_series(x):
    return np.sum(chebyshev.chebval(x, x[:3]) ** 2)


def legendre_series(x):
    return np.sum(legendre.legval(x, x) ** 2) + legendre.legval(x[0], x)


def a_power_series(x):
    return np.sum(polynomial.polyval(x, x) ** 2)


def a_hermite_series(x):
    return np.sum(hermite_e.hermeval(x, x) ** 2)


def a_table_of_coefficients(x):
    weights = [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [-1.0, 2.0, 0.0]]
    times = [0.0, 0.5, 1.0]
    y = x[0]
    slopes = []
    for i in range(3):
        moved = y
        for j in range(i):
            moved = moved + 0.1 * weights[i][j] * slopes[j]
        slopes.append(-moved * x[1] + times[i])
    return slopes[2] * slopes[1]


def a_table_of_places(x):
    k = 0
    s = 0.0
    while k < 3:
        corners = TRIANGLES[k]
        s += x[corners[0]] * x[corners[1]] * x[corners[2]]
        for v in TRIANGLES[k]:
            s += x[v] ** 2 * k
        k += 1
    return s


def a_table_of_pairs(x):
    wanted = [(0, 0.1), (1, -0.2), (2, 0.3)]
    k = 0
    s = 0.0
    while k < 3:
        place, value = wanted[k]
        s += (x[place] - value) ** 2
        k += 1
    return s


PROGRAMS = [
    (a_product_of_polynomials, X), (sums_of_segments, X), (appended_along_an_axis, M),
    (a_weighted_covariance, M), (matrices_transposed, M), (two_contexts_at_once, X),
    (a_chebyshev_series, X), (legendre_series, X), (a_power_series, X), (a_hermite_series, X),
    (a_table_of_coefficients, X), (a_table_of_places, X), (a_table_of_pairs, V),
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(("fun", "x"), PROGRAMS)
def test_value_gradient_and_tangent(fun, x, target):
    assert_derivatives(fun, x, target)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_leading_zeros_of_a_product_are_refused(target):
    gradient = s2sad.grad(a_product_of_polynomials, target=target)
    x = X.copy()
    x[0] = 0.0
    with pytest.raises(ValueError, match="leading zeros"):
        gradient(x)


def test_windows_that_share_memory_are_refused():
    def windows(x):
        y = x.copy()
        seen = np.lib.stride_tricks.sliding_window_view(y, 2)
        y[0] = 3 * y[1]
        return np.sum(seen**2)

    with pytest.raises(s2sad.MissingRuleError):
        s2sad.grad(windows)(X)
