"""What the reverse sweep keeps of a loop over a list that grows meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import differences

X = np.array([0.7, -0.4, 1.3])


def a_basis_that_grows(x):
    h = np.zeros((4, 4))
    basis = [x]
    for k in range(3):
        for j, q in enumerate(basis):
            h[j, k] = q @ x
            h[j, k] *= h[j, k]
        basis.append(x * h[0, 0])
    return np.sum(h)


PROGRAMS = [a_basis_that_grows]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_value_gradient_and_tangent(fun, target):
    bar = differences(fun, X)
    given, want = X.copy(), fun(X.copy())
    value, gradient = s2sad.value_and_grad(fun, target=target)(given)
    np.testing.assert_allclose(value, want, rtol=1e-12)
    np.testing.assert_allclose(gradient, bar, rtol=1e-6, atol=1e-7)
    _, out_dot = s2sad.jvp(fun, (given,), (np.cos(X),), target=target)
    np.testing.assert_allclose(out_dot, bar @ np.cos(X), rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(given, X)
