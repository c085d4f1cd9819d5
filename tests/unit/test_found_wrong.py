"""Programs that once gave a wrong number without an error."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad

V = np.array([1.3, -0.6, 2.7, 0.4, -1.2, 0.9])
M = np.arange(12.0).reshape(3, 4) / 7.0 - 0.5
W = np.array([[0.3, -0.2], [0.5, 0.1]])


def mean_of_sums(m):
    return np.mean(np.sum(m**2, axis=1))


def safe_division(b):
    return np.divide(1.0, b, out=np.zeros_like(b), where=b != 0).sum()


def into_a_copy(b):
    return np.sqrt(b * b, out=b.copy()).sum()


def default_by_or(x, scale=None):
    scale = scale or 2.0
    return scale * x.sum() + (x[0] and x[1] ** 2) + (x[2] or 3.0) ** 2


def word_by_or(x, kind=""):
    kind = kind or "square"
    return (x**2).sum() if kind == "square" else x.sum()


def recurrent(x):
    y, s = x, 0.0
    for _ in range(3):
        y = np.tanh(W @ y + x)
        s += y[0]
    return s


def covariance(p):
    s = 0.0
    for _ in range(3):
        p = W @ p @ W.T + W
        s += p[0, 0]
    return s


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    ("fun", "x"),
    [
        (mean_of_sums, M), (safe_division, V), (into_a_copy, V), (default_by_or, V), (word_by_or, V),
        (recurrent, V[:2].copy()), (covariance, W + 1.0),
    ],
)  # fmt: skip
def test_value_tangent_and_gradient(fun, x, target):
    bar = np.empty_like(x)
    for at in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[at] = 1e-6
        bar[at] = (fun(x + step) - fun(x - step)) / 2e-6
    value, gradient = s2sad.value_and_grad(fun, target=target)(x)
    np.testing.assert_allclose(value, fun(x), rtol=1e-12)
    np.testing.assert_allclose(gradient, bar, rtol=1e-6, atol=1e-8)
    out, out_dot = s2sad.jvp(fun, (x,), (np.ones_like(x),), target=target)
    np.testing.assert_allclose(out, fun(x), rtol=1e-12)
    np.testing.assert_allclose(out_dot, bar.sum(), rtol=1e-6)
    np.testing.assert_allclose(s2sad.differentiate(fun, target=target)(x), fun(x), rtol=1e-12)
