"""Arrays that are joined or repeated, of lengths that only a run knows: parts of the cotangent are as long as they."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, 0.4, 1.3, 0.9, 1.1, 0.2, 0.5, 1.6])


def transform(x):
    n = x.shape[0]
    if n <= 1:
        return x
    even, odd = transform(x[::2]), transform(x[1::2])
    turned = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
    return np.concatenate((even + turned, even - turned))


def spectrum(x):
    return np.sum(np.abs(transform(x + 0j)) ** 3 * x)


def growing(x):
    u = x[: int(x[0] * 4)]
    for i in range(3):
        u = np.concatenate((u * x[i], np.array([x[i]]), u[:1] * 2.0))
    return np.sum(u**2)


def spread(x):
    part = x[: int(x[0] * 2)]  # one element
    u = np.concatenate((part * x, x * part, part))
    return np.sum(u**3)


def rows(x):
    count = int(x[0] * 5)
    h = np.repeat(x[None, :], count, axis=0)
    for _ in range(2):
        h = np.tanh(h * 2.0) + x
    return np.sum(h**3)


def flat(x):
    h = np.repeat(x, int(x[0] * 5))
    return np.sum(h**2 * np.arange(h.size))


def columns(x):
    h = np.repeat(np.outer(x, x), int(x[0] * 3), axis=1)
    return np.sum(h**2 * np.arange(h.shape[1]))


def by_counts(x):
    h = np.repeat(np.outer(x, x[:3]), np.array([1, 0, 2]), axis=1)
    return np.sum(np.sin(h) ** 2)


def never(x):
    h = np.repeat(np.outer(x, x), int(x[0]), axis=0)
    return np.sum(h**2) + np.sum(np.repeat(x, int(x[1]))) + x[0] ** 2


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("f", [spectrum, growing, spread, rows, flat, columns, by_counts, never])
def test_gradients(f, target):
    assert_derivatives(f, X, target)


def test_parts_of_a_cotangent_are_read_as_they_are():
    fun = s2sad.differentiate(spectrum)
    fun.grad(X)
    assert "zeros_like(np.concatenate" not in fun.source("grad")
    fun = s2sad.differentiate(growing)
    fun.grad(X)
    assert "zeros_like(u *" not in fun.source("grad")


@pytest.mark.parametrize("f", [rows, flat])
def test_what_is_repeated_by_a_number_is_summed(f):
    fun = s2sad.differentiate(f)
    fun.grad(X)
    assert "scatter" not in fun.source("grad")
