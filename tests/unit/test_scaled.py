"""`y *= a` and `y /= a` scale the adjoint in place."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import also_on, assert_derivatives, differences

X = np.array([0.7, 1.4, -0.6, 2.1])


def elements(x):
    y = x.copy()
    for i in range(y.size):
        y[i] *= x[i]
        y[i] /= 1.0 + x[i] ** 2
        y[i] *= 2.0
    return np.sum(y**2)


def whole_arrays(x):
    y = np.outer(x, x)
    for _ in range(3):
        y *= x
        y[1:] /= x[0]
        y *= np.sum(x)
        y[:, 0] *= 3
    return np.sum(y)


def views(x):
    y = np.stack([x, x * x])
    row = y[1]
    row *= y[0]
    row[::2] /= y[0, ::2] + 3.0
    y.T[2] *= row[0]
    return np.sum(y**2)


def by_itself(x):
    y = x.copy()
    y *= y
    y[1:] *= y[:-1].copy()
    y /= 1.0 + y
    return np.sum(y)


def at_several_places(x):
    y = x.copy()
    y[np.array([0, 2])] *= x[1]
    y[y > 1.0] /= x[3]
    return np.sum(y**2)


def in_branches(x):
    total = 0.0
    for i in range(x.size):
        y = np.ones(2)
        if x[i] > 0.0:
            y *= x[i]
        else:
            y[1] /= x[i]
        total += y[0] * y[1]
    return total


def arguments(x):
    y = x.copy()
    scale(y, x[0], y[1:])
    return np.sum(y)


def scale(y, a, part):
    y *= a
    part /= a + 2.0


PROGRAMS = (elements, whole_arrays, views, by_itself, at_several_places, in_branches, arguments)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)
    curvature = differences(s2sad.grad(fun, target="python"), X)
    compiled = also_on(target, fun)
    np.testing.assert_allclose(s2sad.hessian(fun, target=compiled)(X), curvature, rtol=1e-5, atol=1e-5)
    twice = s2sad.jacrev(s2sad.grad(fun, target="python"), target="python")
    np.testing.assert_allclose(twice(X), curvature, rtol=1e-5, atol=1e-5)


def test_complex_numbers():
    def fun(x):
        z = x * (1.0 + 0.5j)
        z *= z[0] + 2.0j
        z /= 1.0 + 0.3j
        return np.sum(np.abs(z) ** 2)

    np.testing.assert_allclose(s2sad.grad(fun, target="python")(X), differences(fun, X), rtol=1e-6)


def test_the_text_scales():
    text = s2sad.differentiate(elements).source("grad", types="float64[:]")
    assert "y_bar[i] *= x[i]" in text
    assert "y_bar[i] /= 1.0 + x[i] ** 2" in text
    assert "y_bar[i] *= 2.0" in text
    assert text.count("np.empty(y.size)") == 2, text  # nothing reads what the quotient is made of
