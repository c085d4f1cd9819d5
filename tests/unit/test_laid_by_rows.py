"""Matrices of linear algebra lie by columns in Numba: a view that takes them row by row is a view all the same."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import differences

H = np.array([[2.0, 0.3, 0.1], [0.2, 1.5, -0.4], [0.3, 0.1, 1.8]])
WEIGHTS = np.arange(9.0).reshape(3, 3)


def every_other(h):
    inverse = np.linalg.inv(h) * 2
    part = inverse.ravel()[::2]
    return np.sum(part**2)


def written_through(h):
    inverse = np.linalg.inv(h) + 1.0
    row = inverse.ravel()
    row[0] = 5.0 * h[0, 0]
    return np.sum(inverse**2)


def made_like_it(h):
    room = np.zeros_like(np.linalg.inv(h))
    room.reshape(-1)[3] = h[0, 0]
    return np.sum(room**2)


def null_vector(h):
    """The last right singular vector as a matrix: a homography from its equations."""
    equations = np.concatenate((np.outer(h.ravel(), h.ravel()), np.eye(9) * np.arange(9.0)))
    _, _, right = np.linalg.svd(equations, full_matrices=False)
    matrix = right[-1].reshape(3, 3)
    return np.sum(matrix**2 * WEIGHTS)


def solved(h):
    x = np.linalg.solve(h, 2.0 * np.eye(3))
    row = x.ravel()
    row[1] = 3.0 * h[0, 1]
    return np.sum(x**2 * WEIGHTS)


def factor(h):
    lower = np.linalg.cholesky(h @ h.T)
    row = lower.reshape(-1)
    row[3] = 2.0 * h[1, 1]
    return np.sum(lower**2 * WEIGHTS)


def helper(h):
    return np.linalg.inv(h)


def by_a_helper(h):
    inverse = helper(h)
    again = np.reshape(inverse, (9,)).reshape(3, 3)
    again[0, 1] = 2.0 * h[0, 0]
    return np.sum(inverse * WEIGHTS * inverse)


PROGRAMS = (every_other, written_through, made_like_it, null_vector, solved, factor, by_a_helper)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_views_row_by_row(fun, target):
    value, gradient = s2sad.value_and_grad(fun, target=target)(H)
    np.testing.assert_allclose(value, fun(H), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(fun, H), rtol=1e-5, atol=1e-6)
    dot = np.cos(WEIGHTS)
    _, slope = s2sad.jvp(fun, (H,), (dot,), target=target)
    np.testing.assert_allclose(slope, np.sum(gradient * dot), rtol=1e-9, atol=1e-10)
