"""`sum` of arrays: where it starts, and what it is of a list without items."""

from __future__ import annotations

import numpy as np
import pytest

from tests.differences import assert_derivatives

A = np.array([[0.5, 0.9, 1.1], [1.2, -0.4, 0.3], [0.2, 0.7, -0.6]])


def of_rows_from_a_start(a):
    doubled = [row * 2.0 for row in a]
    return np.sum(sum(doubled, a[0] ** 2) ** 2) + np.sum(sum(a, a[1]) ** 3)


def of_numbers_from_a_start(a):
    return np.sum(sum([row for row in a], 0.5) ** 2)


def gram_schmidt(a):
    """The first of the vectors has none before it: the sum is 0."""
    basis = []
    for v in a:
        w = v - sum(np.dot(v, b) * b for b in basis)
        basis.append(w / np.linalg.norm(w))
    return np.sum(np.array(basis) ** 3)


def of_nothing(a):
    large = []
    for row in a:
        if row[0] > 5.0:
            large.append(row**2)
    return np.sum((np.sin(a[0]) + sum(large)) * sum(large, a[1]))


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [of_rows_from_a_start, of_numbers_from_a_start, gram_schmidt, of_nothing])
def test_sums_of_arrays(fun, target):
    assert_derivatives(fun, A, target)
