"""Compiled `np.roll` and `np.flip` read the elements where they are; no array is made for them."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([[1.3, 0.6, 2.7, 0.9], [0.4, 1.9, 0.8, 1.2], [1.1, 0.5, 1.4, 0.2]])


def ring(x):
    u = x[0] * x[1]
    return np.sum(u * (np.roll(u, 1) - 2.0 * u + np.roll(u, -1)))


def torus(x):
    u = x
    for _ in range(3):
        around = np.roll(u, 1, axis=0) + np.roll(u, -1, axis=0) + np.roll(u, 1, axis=1) + np.roll(u, -1, axis=-1)
        u = u + 0.1 * around * u
    return np.sum(u)


def two_axes(x):
    return np.sum(np.roll(x * x, (1, -2), axis=(0, 1)) * x) + np.sum(np.roll(x, 5, axis=1) * x)


def written_meanwhile(x):
    u = x.copy()
    for _ in range(2):
        u += 0.3 * np.roll(u, 1, axis=1) * u
        u[1:] = np.roll(u, 2, axis=0)[:-1]
    return np.sum(u * u)


def by_a_number(x):
    total = 0.0
    for k in range(5):
        total += np.sum(np.roll(x[0], k) * x[1]) * (k + 1)
    return total


def mirrored(x):
    return np.sum(np.flip(x, axis=0) * x * x) + np.sum(np.flip(x * x, axis=1)[0] * x[1]) + np.sum(np.flip(x)[0] * x[2])


def rolled_flat(x):
    return np.sum(np.roll(x, 3) * x)


def of_columns(x):
    y = x.T
    return np.sum(np.roll(y, 1, axis=0) * y * np.flip(y, axis=1))


EVERY = (ring, torus, two_axes, written_meanwhile, by_a_number, mirrored, rolled_flat, of_columns)


@pytest.mark.parametrize("fun", EVERY)
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)


@pytest.mark.parametrize("fun", [ring, torus, two_axes])
def test_nothing_is_moved(fun):
    made = s2sad.value_and_grad(fun, target="cpu")
    made(X)
    text = made.store.find((X,))[0].entry.derivative.text
    code = "".join(line for line in text.splitlines(True) if not line.lstrip().startswith("#"))
    assert "np.roll(" not in code
    assert "roll_axis" not in code


def test_empty_and_short():
    for shape in ((0, 3), (1, 1), (2, 1), (1, 4)):
        x = np.linspace(0.5, 1.5, shape[0] * shape[1]).reshape(shape)
        for fun in (torus, mirrored) if shape[0] > 2 else (torus,):
            np.testing.assert_allclose(
                s2sad.grad(fun, target="cpu")(x), s2sad.grad(fun, target="python")(x), rtol=1e-13
            )
