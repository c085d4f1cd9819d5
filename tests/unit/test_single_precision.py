"""Programs over float32 arrays, compiled as loops: the numbers, and their types, are those of the text for Python."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad

FIELD = np.random.default_rng(0).normal(size=(5, 6)).astype(np.float32)


def weak_numbers(u, k):
    x = u
    for i in range(3):
        x = k * np.sin(x) + x**2 - u**3 / (1 + x**2) + np.where(u > 0, u, 0) - np.where(u > 0, 1, 0.5) * x + i
    return np.mean(x)


def sums_along_axes(u, k):
    total, mean = np.sum(u, axis=0), np.mean(u, axis=1)
    z = u / total - mean[:, None] * k
    return np.sum(z * z) / 3 + np.max(z) + np.sum(np.max(z, axis=0))


def written_in_place(u, k):
    v = u.copy()
    v[1:] += u[:-1] * k
    v[0] = v[0] / 3
    v *= 2
    v -= np.sum(u)
    v /= 3
    return np.sum(np.sqrt(v * v + 1))


def beside_whole_numbers(u, k):
    places = np.arange(u.shape[0])
    w = u * places[:, None] + places[:, None] / 3
    return np.sum(np.abs(w) ** 1.5) * k


def softmax(u, k):
    e = np.exp(u - np.max(u, axis=1)[:, None])
    p = e / np.sum(e, axis=1)[:, None]
    return -np.sum(np.log(p)[:, 0]) + np.std(u) * k


def on_either_way(u, k):
    total = np.sum(u)
    x = total * u + np.maximum(u, 0) + np.minimum(u, 0.5) + np.clip(u, -1, 1)
    x = x * 2 if total > 0 else u
    return np.sum(x * x) * k


def made_in_single(u, k):
    z, ones, filled = np.zeros_like(u), np.ones(u.shape, dtype=np.float32), np.full(u.shape, k, dtype=np.float32)
    for _ in range(3):
        z = z + ones * u * filled
        z[:, 1:] -= z[:, :-1] * 0.5
    return np.sum(z * z * np.ones(u.shape))


def products(u, k):
    a, b = u @ u.T, np.outer(u[0], u[1])
    return np.sum(np.tanh(a)) + np.sum(b * b) + np.sum(a[0] * k) + np.sum(np.hypot(u, 1)) + np.sum(np.arctan2(u, 2))


def between_precisions(u, k):
    double = u.astype(np.float64)
    single = (double * 2).astype(np.float32)
    return np.sum(single * u) + k * np.sum(double**2)


def rows(u, k):
    total = 0.0
    for i in range(u.shape[0]):
        row = u[i] * k
        total += np.sum(row**2) + row[0] / 3 + row @ row
    return total


def diffusion(u, k):
    for _ in range(4):
        new = u.copy()
        new[1:-1, 1:-1] = u[1:-1, 1:-1] + k * (u[2:, 1:-1] + u[:-2, 1:-1] - 2 * u[1:-1, 1:-1])
        u = new
    return np.sum(u**2)


def moments(u, k):
    spread = np.var(u, axis=0)
    d = (u - np.mean(u, axis=0)) / np.sqrt(spread + 1e-5)
    return np.sum(d**3) + k * np.sum(np.cumsum(u) * 0.1) + np.prod(spread + 1)


PROGRAMS = [
    weak_numbers, sums_along_axes, written_in_place, beside_whole_numbers, softmax, on_either_way, made_in_single,
    products, between_precisions, rows, diffusion, moments,
]  # fmt: skip


def assert_alike(found, known):
    assert type(found) is type(known)
    assert np.asarray(found).dtype == np.asarray(known).dtype
    np.testing.assert_allclose(found, known, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("factor", [0.5, np.float32(0.5)], ids=["weak", "single"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_compiled_like_python(fun, factor):
    args = FIELD.copy(), factor
    known, bars = s2sad.value_and_grad(fun, argnums=(0, 1), target="python")(*args)
    value, found = s2sad.value_and_grad(fun, argnums=(0, 1))(*args)
    assert_alike(value, known)
    for one, other in zip(found, bars, strict=True):
        assert_alike(one, other)
    np.testing.assert_array_equal(args[0], FIELD)
    exact = s2sad.grad(fun, target="python")(FIELD.astype(np.float64), 0.5)
    np.testing.assert_allclose(found[0], exact, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("factor", [0.5, np.float64(0.5)], ids=["weak", "double"])
@pytest.mark.parametrize("fun", [weak_numbers, written_in_place, rows, diffusion])
def test_tangents_like_python(fun, factor):
    tangents = np.cos(FIELD), type(factor)(1.0)
    known = s2sad.jvp(fun, (FIELD, factor), tangents, target="python")
    for one, other in zip(s2sad.jvp(fun, (FIELD, factor), tangents), known, strict=True):
        assert_alike(one, other)


def test_arithmetic_is_written_as_loops():
    text = str(s2sad.differentiate(diffusion).source(types="float32[:,:], float64"))
    assert "np.copy(u[" not in text
    assert "new[i + 1, j + 1] = (" in text
    assert "np.float32(k)" in text
