"""Tangents of gradients, as these, are made for lengths that are related as in the call, where a text would ask."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from s2sad.api.transforms import _curvature

U = np.sin(np.arange(56.0)).reshape(8, 7)
C = np.cos(np.arange(20.0)).reshape(5, 4)


def diffusion(u, c):
    m, n = c.shape
    lap = 4.0 * u[1 : m + 2, 1 : n + 2] - (u[2 : m + 3, 1 : n + 2] + u[:m + 1, 1 : n + 2] + u[1 : m + 2, 2 : n + 3])
    flux = np.where(lap[1:, :n] * u[2 : m + 2, :n] > 0, 0.0, lap[1:, :n])
    return np.sum((u[1 : m + 1, 1 : n + 1] - c * flux[:, :n] * lap[:m, 1:]) ** 2)


def by_differences(f, step=1e-6):
    return (f(step) - f(-step)) / (2 * step)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_jvp(target):
    u_dot, c_dot = np.cos(U), np.sin(C)
    for dots in ((u_dot, c_dot), (u_dot, None), (None, c_dot)):
        given = [0.0 if dot is None else dot for dot in dots]
        out, out_dot = s2sad.jvp(diffusion, (U, C), dots, target=target)
        np.testing.assert_allclose(out, diffusion(U, C))
        wanted = by_differences(lambda e, given=given: diffusion(U + e * given[0], C + e * given[1]))
        np.testing.assert_allclose(out_dot, wanted, rtol=1e-6)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_hvp(target):
    u_dot = np.cos(U)
    found = s2sad.hvp(diffusion, (U, C), (u_dot,), target=target)
    gradient = s2sad.grad(diffusion, target="python")
    np.testing.assert_allclose(found, by_differences(lambda e: gradient(U + e * u_dot, C)), rtol=1e-5, atol=1e-6)
    text = _curvature(diffusion, 0, None, target).store.find((U, C))[0].entry.derivative.text
    assert "Holds where" in text
    assert "sum_to_shape" not in text


def test_other_lengths_have_a_tangent_of_their_own():
    u, c = np.ones((9, 9)), np.ones((5, 4))
    out, _ = s2sad.jvp(diffusion, (u, c), (u, c), target="python")
    np.testing.assert_allclose(out, diffusion(u, c))
    with pytest.raises(ValueError, match="broadcast"):
        s2sad.jvp(diffusion, (np.ones((3, 3)), c), (np.ones((3, 3)), c), target="python")
