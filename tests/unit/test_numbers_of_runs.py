"""Lengths made of whole numbers that only a run knows, and functions that take a number where arrays are usual."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives, differences

X = np.arange(12.0) ** 0.5 + 0.1


def twice_as_long(x):
    return np.sum(np.abs(np.fft.rfft(x, 2 * len(x))) ** 1.5)


def power_of_two(x):
    n = 1
    while n < len(x) + 3:
        n *= 2
    return np.sum(np.abs(np.fft.rfft(x, n=n)) ** 1.5)


def windows(x):
    half, total = int(x[3] * 2), 0.0
    for i in range(3):
        lines = np.fft.rfft(x[i : i + 2 * half], n=2 * half)
        total += np.sum(np.abs(lines) ** 2 * np.arange(lines.size))
    return total


def two_axes(x):
    k = int(x[3] * 3)
    return np.sum(np.abs(np.fft.rfft2(np.outer(x, x), s=(8, 2 * k))) ** 1.5)


def chosen(x):
    n = 8 if x[0] > 2 else 16
    return np.sum(np.abs(np.fft.rfft(x, n)) ** 1.5)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("f", [twice_as_long, power_of_two, windows, two_axes, chosen])
def test_spectra(f, target):
    assert_derivatives(f, X, target)


def moments(x):
    p = x[0] * 1.0
    m, v, c = np.zeros_like(p), np.ones_like(p), np.full_like(p, 2)
    for t in range(3):
        g = p - x[t]
        m = 0.9 * m + 0.1 * g
        v = 0.99 * v + 0.01 * g * g
        p = p - m / np.sqrt(v) * c
    return p


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_number_like_a_number(target):
    assert_derivatives(moments, X, target)


def roots(x):
    return np.sum(np.sqrt(x, dtype=np.float64)) + np.sum(np.maximum(x, 1, dtype=np.float64) * x)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_functions_with_a_dtype(target):
    x = np.array([4.0, 9.0, 2.0], np.float32)
    gradient = s2sad.grad(roots, target=target)(x)
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, 0.5 / np.sqrt(x) + 2 * x, rtol=1e-6)


def forward(x):
    log_p, a = x.reshape(4, 3), np.full(4, -np.inf)
    a[0] = 0.0
    for t in range(4):
        b = a + log_p[t, 0]
        b[1:] = np.logaddexp(b[1:], a[:-1] + log_p[t, 1])
        a = b
    return a[-1] + a[1]


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_no_chance_at_all_has_no_part(target):
    np.testing.assert_allclose(s2sad.grad(forward, target=target)(X), differences(forward, X), rtol=1e-6, atol=1e-8)
