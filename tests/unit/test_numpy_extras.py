"""NumPy functions that come up seldom, tables read by an index known at run time, and series of polynomials."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial

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


def parts_of_an_array(m):
    first, second, third = np.unstack(m)
    return np.sum(first * second + third) + sum([np.sum(part) ** 2 for part in np.unstack(m, axis=1)])


def indices_brought_inside(x):
    far = np.array([7, -1, 2])
    y = x.copy()
    np.put(y, [0, 17], x[1] ** 2, mode="wrap")
    chosen = np.choose(np.array([0, 5, 1, 0]), [x, y], mode="clip")
    return np.sum(np.take(x, far, mode="clip") * np.take(y, far, mode="wrap")) + np.sum(chosen**2)


def borders_that_are_computed(x):
    ramp = np.pad(x, (2, 1), mode="linear_ramp", end_values=(x[0], 0.5))
    means = np.pad(x, 2, mode="mean") + np.pad(x, 2, mode="maximum") * np.pad(x, 2, mode="median")
    return (np.sum(ramp**2) + np.sum(means**2) + np.sum(np.pad(x, 2, mode="reflect", reflect_type="odd") ** 3)
            + np.sum(np.pad(x, 1, constant_values=x[1]) ** 2))


def every_method_of_a_quantile(x):
    total = np.quantile(x, 0.37, method="hazen") + np.quantile(x, 0.37, method="weibull") ** 2
    total += np.quantile(x, 0.5, method="averaged_inverted_cdf") ** 2 + np.quantile(x, 0.2, method="inverted_cdf") ** 2
    total += np.quantile(x, 0.625, method="closest_observation") ** 3
    return total + np.quantile(x, 0.9, method="median_unbiased") * np.quantile(x, 0.1, method="normal_unbiased")


def vectorized_functions(m):
    larger = np.vectorize(lambda a, b: a * b if a > b else b)
    return np.sum(larger(m, m[0] ** 2)) + np.sum(np.vectorize(np.sin)(m) ** 2)


def along_any_axis(m):
    cube = np.stack([m, m * m])
    lines = np.apply_along_axis(lambda line, by: line[0] * line * by, 1, cube, m[0, 0])
    return np.sum(lines**2) + np.sum(np.apply_over_axes(np.sum, cube, [0, 2]) ** 2)


def a_histogram(x):
    heights, edges = np.histogram(x, bins=3, density=True)
    counts, _ = np.histogram(x, bins=np.array([-1.0, 0.0, 1.0, 3.0]), weights=x**2)
    return np.sum(heights * edges[1:]) + np.sum(counts**2)


def what_is_known_of_types(x):
    floor = np.finfo(x.dtype).eps * np.iinfo(np.int64).max
    kept = np.zeros(x.size, dtype=np.result_type(x, 1.0))
    return np.sum(np.astype(x, np.float64) ** 2 + kept) * floor + x.itemsize * x.nbytes * np.sum(np.array(x, ndmin=2))


def different_values_only(x):
    return np.sum(np.unique(np.concatenate((x, x[:2]))) ** 2 * np.arange(4))


def series_of_other_polynomials(x):
    total = np.sum(hermite.hermval(x, x[:3]) ** 2) + np.sum(laguerre.lagval(x, x) ** 2)
    total += np.sum(polynomial.polyval2d(x, x * x, np.outer(x, x[:3])))
    both = polynomial.polyadd(polynomial.polymul(x, x[:2]), polynomial.polyder(x, 2))
    return total + np.sum(both**2)


def divided_polynomials_and_their_zeros(x):
    quotient, rest = np.polydiv(x, x[:2])
    zeros = np.roots(np.array([1.0, -3.0 * x[1], x[1] ** 2, 0.1]))
    return np.sum(quotient**2) + np.sum(rest) + np.sum(zeros**3)


def a_kaiser_window(x):
    return np.sum(np.i0(x * np.array([1.0, 2.0, 30.0, 0.0])) / np.i0(x[3]))


def shapes_that_are_spread(m):
    made = np.zeros(np.broadcast_shapes(m.shape, (4,), (1, 1))) + m**2
    products = np.zeros((3, 4))
    np.cumprod(m, axis=1, out=products)
    return np.sum(made**2) + np.sum(products**2) + np.sum(np.tile(m[0, 1] ** 2, (2, 3)) ** 2) + np.sum(
        np.insert(m[0], slice(1, 3), m[1, 1]) ** 2
    )


def triangles_of_a_vector(x):
    return np.sum(np.triu(x, 1) ** 2) + np.sum(np.tril(x) @ x)


def polynomials_whose_coefficients_are_rows(m):
    return np.sum(np.polyval(m, m[0])) + np.sum(np.polyval(m * m, m[:2])) + np.sum(np.polyval(m, 2.0) ** 2)


PROGRAMS = [
    (shapes_that_are_spread, M), (triangles_of_a_vector, X), (polynomials_whose_coefficients_are_rows, M),
    (series_of_other_polynomials, X), (divided_polynomials_and_their_zeros, X), (a_kaiser_window, X / 3),
    (parts_of_an_array, M), (indices_brought_inside, X), (borders_that_are_computed, X),
    (every_method_of_a_quantile, X), (vectorized_functions, M), (along_any_axis, M), (a_histogram, X),
    (what_is_known_of_types, X), (different_values_only, X),
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

    with pytest.raises(s2sad.AliasError, match="`y` is written here while `seen` may share its memory"):
        s2sad.grad(windows)(X)
