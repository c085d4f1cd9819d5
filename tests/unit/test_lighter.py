"""Adjoints of products carry signs and numbers outside, where they cost least."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad

A = np.arange(12.0).reshape(4, 3) / 7 - 0.6
B = np.cos(np.arange(15.0)).reshape(5, 3)


def distances(centres, points):
    square = np.sum(points**2, axis=1)[:, None] + np.sum(centres**2, axis=1)[None, :] - 2.0 * points @ centres.T
    return np.sum(np.min(square, axis=1))


def both_turned(a, b):
    return np.sum(np.exp(-(-a) @ (-b).T))


def residual(a, b):
    return np.sum((b - b @ a.T @ a) ** 2)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [distances, both_turned, residual])
def test_gradient(fun, target):
    dot = np.sin(np.arange(A.size)).reshape(A.shape)
    moving = s2sad.jvp(lambda a: fun(a, B), (A,), (dot,), target="python")[1]
    np.testing.assert_allclose(np.sum(s2sad.grad(fun, target=target)(A, B) * dot), moving, rtol=1e-12)


def test_no_matrix_is_made_for_a_sign_or_a_one():
    text = s2sad.differentiate(distances, target="python").source("grad", types="float64[:,:], float64[:,:]")
    adjoint = text.split("# ---- adjoint sweep ----")[1]
    assert "centres_bar -= " in adjoint
    assert "-square_bar" not in adjoint
    assert "np.full" not in adjoint
