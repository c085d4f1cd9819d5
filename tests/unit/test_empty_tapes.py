"""Loops that run zero times between two compiled sweeps: their tapes are empty lists, of which Numba knows no type."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad


def newton(a, x0):
    x = x0
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def squashed(x, most):
    y = x
    while np.sum(y * y) > most:
        z = y.copy()
        for i in range(y.size):
            z[i] = np.sin(z[i]) * y[i]
        y = z
    return np.sum(y)


POINT = np.array([0.3, 0.4, 0.9])


@pytest.mark.parametrize("starts", [(2.0, 3.0), (3.0, 2.0)])  # whichever is compiled first
def test_a_tape_of_numbers(starts):
    for start in starts:
        out, pull = s2sad.vjp(newton, 4.0, start)
        assert out == pytest.approx(2.0)
        np.testing.assert_allclose(pull(1.0), (0.0, 1.0) if start == 2.0 else (0.25, 0.0), atol=1e-12)
        _, push = s2sad.linearize(newton, 4.0, start)
        assert push(1.0, 1.0) == pytest.approx(1.0 if start == 2.0 else 0.25)
    s2sad.check_grads(newton, (4.0, 2.5), order=2)


def test_a_tape_of_arrays():
    for most in (100.0, 0.1):
        found = s2sad.vjp(squashed, POINT, most)[1](1.0)[0]
        expected = s2sad.grad(squashed, target="python")(POINT, most)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_batch_of_cotangents():
    pull = s2sad.vjp(newton, 4.0, 2.0)[1]
    found = s2sad.vmap(pull)(np.arange(3.0))
    np.testing.assert_allclose(found, [np.zeros(3), np.arange(3.0)])


def products_of_neighbours(x, m, steps):
    u = x.copy()
    for _ in range(steps):
        for i in range(1, m - 3):
            u[i] = u[i] * u[i - 1]
    return np.sum(u)


def powers_up_to_the_last_but_one(x, m, steps):
    last = x.shape[0] - 4 - steps
    u = x.copy()
    for i in range(last + m):
        u[i] = u[i] * u[i] * u[i + 1]
    return np.sum(u)


@pytest.mark.parametrize("fun", [products_of_neighbours, powers_up_to_the_last_but_one])
def test_a_loop_without_turns_whose_bounds_lie_below_zero(fun):
    for n in (0, 1, 2):
        x = POINT[:n]
        np.testing.assert_allclose(s2sad.grad(fun, target="python")(x, n, 2), np.ones(n))
    x = np.arange(1.0, 8.0)
    found = s2sad.grad(fun, target="python")(x, 5, 2)
    tangent = s2sad.jvp(fun, (x, 5, 2), (np.cos(x), None, None), target="python")[1]
    np.testing.assert_allclose(found @ np.cos(x), tangent, rtol=1e-12)
