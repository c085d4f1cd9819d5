"""Derivatives called inside the user's own compiled code."""

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError

from s2sad import differentiate, grad, hessian, value_and_grad


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


def test_what_cannot_be_compiled_is_said():
    with pytest.raises(TypingError, match="`hessian` of `potential` cannot be called in compiled code"):
        of_a_hessian(X)


def test_overlapping_arguments_of_a_function_that_writes():
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    np.testing.assert_array_equal(of_a_writer(x, y), [8.0, 6.0])
    np.testing.assert_array_equal(x, [1.0, 2.0])
    with pytest.raises(ValueError, match="overlaps"):
        of_a_writer(x, x)
