"""Compiled triangles of matrices are written element by element, with the arithmetic around them."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([[1.3, 0.6, 2.7], [0.4, 1.9, 0.8], [1.1, 0.5, 1.4]])
W = np.linspace(-1.0, 1.0, 12).reshape(3, 4)


def of_arithmetic(x):
    return np.sum(np.tril(x * x) * np.triu(np.sin(x), k=-1))


def of_a_product(x):
    low = np.tril(x @ x, k=1)
    return np.sum(low * low.T) + np.sum(np.triu(x @ x.T, k=2))


def inside_a_product(x):
    return np.sum(np.linalg.solve(np.tril(x) + 2.0 * np.eye(3), np.triu(x * x, 1)))


def of_a_wide_matrix(x):
    wide = x @ W
    return np.sum(np.tril(wide, k=-1) ** 2 + np.triu(wide, k=2) ** 3)


def beyond_the_corners(x):
    return np.sum(np.tril(x * x, k=-3)) + np.sum(np.triu(x * x, k=-2)) + np.sum(np.tril(x * x, k=5))


@pytest.mark.parametrize(
    "fun", [of_arithmetic, of_a_product, inside_a_product, of_a_wide_matrix, beyond_the_corners]
)
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)


def test_no_triangle_is_a_call():
    made = s2sad.grad(of_a_product, target="cpu")
    made(X)
    text = made.store.find((X,))[0].entry.derivative.text
    assert "tri" not in "".join(line for line in text.splitlines() if "np." in line and "#" not in line)


def test_what_is_not_a_number_stays_outside():
    """The other triangle is zero, whatever the matrix holds there."""

    def lower(x):
        return np.sum(np.tril(x * 2.0))

    x = np.array([[1.0, np.nan], [3.0, np.inf]])
    assert s2sad.value_and_grad(lower, target="cpu")(x)[0] == np.inf
    x[1, 1] = 4.0
    value, bar = s2sad.value_and_grad(lower, target="cpu")(x)
    assert value == 16.0
    np.testing.assert_array_equal(bar, [[2.0, 0.0], [2.0, 2.0]])
