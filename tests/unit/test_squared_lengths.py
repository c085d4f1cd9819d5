"""Squares of lengths have the derivatives of the sum of squares, the second ones at zero too."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

LENGTHS = {
    "norm": (lambda x: np.linalg.norm(x) ** 2, 2.0),
    "norm of rows": (lambda x: np.sum(np.linalg.norm(x.reshape(1, 2), axis=1) ** 2), 2.0),
    "norm of rows, kept": (lambda x: np.sum(np.linalg.norm(x.reshape(1, 2), axis=1, keepdims=True) ** 2), 2.0),
    "square": (lambda x: np.square(np.linalg.norm(x)), 2.0),
    "root": (lambda x: np.sqrt(np.sum(x**2)) ** 2, 2.0),
    "root of numbers": (lambda x: math.sqrt(x[0] * x[0] + x[1] * x[1]) ** 2, 2.0),
    "hypotenuse": (lambda x: np.hypot(x[0], x[1]) ** 2, 2.0),
    "size": (lambda x: np.sum(np.abs(x) ** 2), 2.0),
    "size of a complex number": (lambda x: np.abs(x[0] + 1j * x[1]) ** 2, 2.0),
    "below an exponential": (lambda x: np.exp(-np.linalg.norm(x) ** 2), -2.0),
}


@pytest.mark.parametrize("name", LENGTHS)
@pytest.mark.parametrize("target", ["cpu", "python"])
def test_the_second_derivative_at_zero(name, target):
    fun, diagonal = LENGTHS[name]
    np.testing.assert_allclose(s2sad.hessian(fun, target=target)(np.zeros(2)), diagonal * np.eye(2), atol=1e-14)


@pytest.mark.parametrize("name", LENGTHS)
def test_elsewhere_it_is_as_it_was(name):
    assert_derivatives(LENGTHS[name][0], np.array([0.3, -0.8]), "python")


def test_other_norms_keep_their_rule():
    def largest(x):
        return np.linalg.norm(x, ord=np.inf) ** 2 + np.linalg.norm(x, ord=1) ** 2

    assert_derivatives(largest, np.array([0.3, -0.8]), "python")


def test_a_complex_array():
    def power(z):
        return np.sum(np.abs(np.fft.fft(z)) ** 2)

    z = np.array([0.3 + 1.0j, 0.0, -0.2j])
    np.testing.assert_allclose(s2sad.grad(power, target="python")(z), 2.0 * 3 * np.conj(z), atol=1e-14)


def test_the_derivative_reads_as_by_hand():
    def ridge(w):
        return 0.5 * np.linalg.norm(w - 1.0) ** 2

    derivative = s2sad.differentiate(ridge, target="python")
    derivative.grad(np.array([0.3, 0.4]))
    assert "return w - 1.0" in derivative.source("grad")
