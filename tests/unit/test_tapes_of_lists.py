"""What the reverse sweep keeps of a loop over a list that grows meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

from tests.differences import assert_derivatives

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
    assert_derivatives(fun, X, target)
