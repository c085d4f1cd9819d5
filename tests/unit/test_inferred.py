"""The types that the compiler finds by trying operations on samples."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from s2sad.frontend import infer
from tests.differences import differences


def convolution(x, w):
    """Rows of windows times a matrix of weights: arrays of six axes on the way."""
    count, channels, height, width = x.shape
    tall, wide = height - 1, width - 1
    windows = np.zeros((count, channels, 2, 2, tall, wide))
    for i in range(2):
        for j in range(2):
            windows[:, :, i, j] = x[:, :, i : i + tall, j : j + wide]
    rows = windows.transpose(0, 4, 5, 1, 2, 3).reshape(count * tall * wide, -1)
    return np.sum(np.tanh(rows @ w.reshape(w.shape[0], -1).T))


def spread_sums(x, w):
    """Products spread over five axes, summed along three of them."""
    parts = x[:, :, :, :, np.newaxis] * w[np.newaxis, :, :, :, :]
    return np.sum(np.sin(np.sum(parts, axis=(1, 2, 3))))


@pytest.mark.parametrize(
    ("fun", "x", "w"),
    [(convolution, (2, 2, 3, 3), (2, 2, 2, 2)), (spread_sums, (3, 2, 2, 3), (2, 2, 3, 2))],
)
def test_many_axes_need_no_large_samples(fun, x, w, monkeypatch):
    largest = []
    sample = infer._sample_array

    def seen(dtype, shape, layout, turned=False):
        largest.append(np.prod(shape))
        return sample(dtype, shape, layout, turned)

    monkeypatch.setattr(infer, "_sample_array", seen)
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(x), rng.standard_normal(w)
    bars = s2sad.grad(fun, argnums=(0, 1), target="python")(x, w)
    np.testing.assert_allclose(bars[0], differences(lambda v: fun(v, w), x), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(bars[1], differences(lambda v: fun(x, v), w), rtol=1e-6, atol=1e-7)
    assert max(largest) < 100_000


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (1, -1)])
def test_reductions_keep_the_lengths_of_the_other_axes(axis, keepdims):
    def reduced(x):
        return np.sum(x * x, axis=axis, keepdims=keepdims)

    x = np.random.default_rng(0).standard_normal((2, 3, 4))
    value, pullback = s2sad.vjp(reduced, x, target="python")
    assert np.shape(value) == np.shape(reduced(x))
    np.testing.assert_allclose(pullback(np.ones_like(value))[0], 2 * x)
