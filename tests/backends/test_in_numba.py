"""Derivatives called inside the user's own compiled code."""

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError

from s2sad import differentiate, grad, hessian, jacfwd, jacrev, linearize, value_and_grad, vmap


def potential(x):
    return np.sum(np.sin(x) * x)


def product(x, y):
    return np.sum(x * y)


def overwriting(x, y):
    x[0] = y[0] * y[1]
    return x[0] * x[1]


slope = grad(potential)
both = value_and_grad(potential)
pair = grad(product, argnums=(0, 1))
bend = hessian(potential)
written = grad(overwriting, argnums=1)


@differentiate
def loss(w, b):
    return w * w * b


@numba.njit
def descend(x, steps):
    for _ in range(steps):
        x = x - 0.1 * slope(x)
    return x


@numba.njit
def value_and_first(x):
    value, bars = both(x)
    return value + bars[0]


@numba.njit
def both_arguments(x, y):
    return pair(x, y)


@numba.njit
def through_the_decorator(w):
    value, w_bar = loss.value_and_grad(w, 2.0)
    return value + w_bar + loss.grad(w, 1.0) + loss(w, 3.0)


@numba.njit
def of_a_hessian(x):
    return bend(x)


def residuals(x, scale):
    r = np.empty(2)
    r[0] = scale * x[0] * x[1]
    r[1] = np.sum(np.cos(x))
    return r


def with_more(x, y):
    return np.sum(x * x * y), (np.sum(x), x.size)


rows = jacrev(residuals, argnums=(0, 1))
columns = jacfwd(residuals)
of_rows = vmap(grad(potential))
first_of_all = vmap(residuals, in_axes=(0, None))
with_aux = value_and_grad(with_more, argnums=(0, 1), has_aux=True)
only_aux = grad(with_more, has_aux=True)
_, kept = linearize(potential, np.ones(3))
of_kept = vmap(kept)


@numba.njit
def newton(x, steps):
    for _ in range(steps):
        x = x - np.linalg.solve(bend(x) + 5.0 * np.eye(x.size), slope(x))
    return x


@numba.njit
def both_jacobians(x, scale):
    by_x, by_scale = rows(x, scale)
    return columns(x, scale) - by_x, by_scale


@numba.njit
def of_batches(x, scale):
    return of_rows(x), first_of_all(x, scale)


@numba.njit
def with_auxiliaries(x, y):
    (value, (total, count)), (x_bar, y_bar) = with_aux(x, y)
    bar, _ = only_aux(x, y)
    return value, total, count, x_bar - bar, y_bar


@numba.njit
def of_a_linear_map(x):
    return of_kept(x)


@numba.njit
def matrices_of_the_decorated(w):
    return loss.jacobian(w, 2.0) + loss.hessian(w, 2.0)


@numba.njit
def of_a_writer(x, y):
    return written(x, y)


X = np.array([0.5, 1.0, 1.5])


def test_an_optimiser_of_the_users_own():
    expected = X
    for _ in range(3):
        expected = expected - 0.1 * (np.sin(expected) + expected * np.cos(expected))
    np.testing.assert_allclose(descend(X, 3), expected, rtol=1e-13)


def test_value_and_gradient_for_any_length():
    for x in (X, X[:1]):
        expected = potential(x) + np.sin(x[0]) + x[0] * np.cos(x[0])
        assert value_and_first(x) == pytest.approx(expected, rel=1e-13)


def test_lengths_of_one_broadcast():
    x_bar, y_bar = both_arguments(np.ones((3, 1)), np.arange(4.0))
    np.testing.assert_array_equal(x_bar, np.full((3, 1), 6.0))
    np.testing.assert_array_equal(y_bar, np.full(4, 3.0))


def test_attributes_of_a_decorated_function():
    assert through_the_decorator(3.0) == 18.0 + 12.0 + 6.0 + 27.0


def test_a_hessian_in_a_solver_of_the_users_own():
    expected = np.diag(2.0 * np.cos(X) - X * np.sin(X))
    np.testing.assert_allclose(of_a_hessian(X), expected, rtol=1e-13, atol=1e-15)
    here = X
    for _ in range(4):
        matrix = np.diag(2.0 * np.cos(here) - here * np.sin(here)) + 5.0 * np.eye(3)
        here = here - np.linalg.solve(matrix, np.sin(here) + here * np.cos(here))
    np.testing.assert_allclose(newton(X, 4), here, rtol=1e-12)


def test_jacobians_by_several_arguments():
    for x in (X, np.array([0.3, -2.0])):
        difference, by_scale = both_jacobians(x, 1.5)
        np.testing.assert_allclose(difference, np.zeros((2, x.size)), atol=1e-15)
        np.testing.assert_allclose(by_scale, [x[0] * x[1], 0.0], rtol=1e-15)
    np.testing.assert_allclose(columns(X, 2.0)[0], [2.0 * X[1], 2.0 * X[0], 0.0])


def test_maps_over_batches():
    x = np.array([X, 2.0 * X])
    slopes, values = of_batches(x, 0.5)
    np.testing.assert_allclose(slopes, np.sin(x) + x * np.cos(x), rtol=1e-14)
    np.testing.assert_allclose(values, [residuals(row, 0.5) for row in x], rtol=1e-14)


def test_auxiliary_results():
    y = np.array([2.0, 0.5, 1.0])
    value, total, count, nothing, y_bar = with_auxiliaries(X, y)
    assert value == pytest.approx(np.sum(X * X * y))
    assert (total, count) == (3.0, 3)
    np.testing.assert_array_equal(nothing, np.zeros(3))
    np.testing.assert_allclose(y_bar, X * X)


def test_matrices_of_a_decorated_function():
    assert matrices_of_the_decorated(3.0) == pytest.approx(12.0 + 4.0)


def test_what_cannot_be_compiled_is_said():
    with pytest.raises(TypingError, match="a linear map keeps values of one run"):
        of_a_linear_map(np.ones((2, 3)))


def test_overlapping_arguments_of_a_function_that_writes():
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    np.testing.assert_array_equal(of_a_writer(x, y), [8.0, 6.0])
    np.testing.assert_array_equal(x, [1.0, 2.0])
    with pytest.raises(ValueError, match="overlaps"):
        of_a_writer(x, x)


@numba.njit
def cubic(x):
    return x**3 - 2.0 * x - 5.0


@numba.njit
def root_of(f, df, x):
    for _ in range(20):
        x = x - f(x) / df(x)
    return x


@numba.njit
def root_by_attribute(f, x):
    for _ in range(20):
        x = x - f(x) / f.grad(x)
    return x


@differentiate
def decorated(x):
    return x**3 - 2.0 * x - 5.0


def test_derivatives_are_arguments():
    df = grad(cubic)
    lowest = root_of(df, grad(df), 2.0)
    assert lowest == pytest.approx(np.sqrt(2.0 / 3.0), rel=1e-15)
    for root in (root_of(cubic, df, 2.0), root_of(decorated, decorated.grad, 2.0), root_by_attribute(decorated, 2.0)):
        assert root == pytest.approx(2.0945514815423265, rel=1e-15)
    made = len(root_of.signatures)
    root_of(cubic, grad(cubic), 3.0)
    assert len(root_of.signatures) == made
