"""Arithmetic of complex arrays is compiled as loops, as that of real ones is, with the values that NumPy gives."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import s2sad
from tests.differences import differences

PHASE = np.exp(1j * np.linspace(0.0, 2.0, 12)).reshape(3, 4)


def parts(x):
    z = x * PHASE
    w = z * np.conj(z) + 0.5j * z
    return np.sum(np.real(w) * x + np.imag(w) * np.imag(z))


def quotients(x):
    z = x * PHASE
    w = (z + 2.0) / (1.0 + z * 1j) / np.abs(z)
    return np.sum(np.abs(w) ** 2) + np.sum(np.real(z / x))


def functions(x):
    z = 0.3 * x * PHASE + 1.0
    w = np.exp(z) + np.log(z) + np.sqrt(z) * np.sin(z) - np.cos(z) + np.tanh(z)
    return np.sum(np.real(w)) + 2.0 * np.sum(np.imag(w))


def squares(x):
    z = x * PHASE
    return np.sum(np.real(z**2) + np.imag(z**3) + np.real(np.square(z + 1j)))


def chosen(x):
    z = x * PHASE
    w = np.where(np.abs(z) > 0.9, z, 0.1 * np.conj(z))
    v = np.where(np.imag(z) > 0.2, w, 1.0)
    return np.sum(np.real(w * v))


def stencil(x):
    z = x * PHASE
    out = np.zeros_like(z)
    out[1:-1] += z[2:] - 2.0 * z[1:-1] + z[:-2]
    out[:, 1:] -= 0.5j * z[:, :-1]
    out[0] *= z[1]
    out[2] = np.conj(z[0])
    return np.sum(np.abs(out) ** 2)


def divided_in_place(x):
    z = x * PHASE
    z /= 1.0 + z * z
    z[0] /= 2.0j
    return np.sum(np.abs(z))


def rows(x):
    z = x * PHASE
    middle = np.sum(z, axis=1)
    spread = z - middle[:, None] / 4.0
    return np.sum(np.abs(spread) ** 2 * np.sum(np.real(z), axis=0))


def averaged(x):
    z = x * PHASE
    return np.abs(np.mean(z)) + np.sum(np.abs(z - np.mean(z, axis=0)))


def spread_over(x):
    z = x[:, :1] * PHASE
    w = z.T * PHASE[0][:, None]
    return np.sum(np.real(w) * np.imag(w) + np.tril(np.real(z[:, :3])).T[0, 1])


def stepped(x):
    z = x * PHASE
    for _ in range(3):
        z = z + 0.1j * (0.5 * z - np.conj(z) * z)
        z = z / np.sqrt(np.sum(np.abs(z) ** 2))
    return np.sum(np.abs(z) ** 2 * x)


def flipped(x):
    z = np.flip(x * PHASE, axis=0) * np.roll(PHASE, 1, 1)
    return np.sum(np.imag(np.triu(z[:, :3]) * z[:, 1:]))


def named_part(x):
    z = x * PHASE
    r = z.real
    r[0] *= x[1]
    return np.sum(np.abs(z))


def compared(x):
    z = np.where(x > 0.8, x, 0.0) * PHASE
    return np.sum((z != 0) * x) + np.sum(np.real(z)[z == z[0, 0]])


def of_other_kinds(x):
    z = (x > 0.8) * (x * PHASE)
    w = np.arange(4) * z + np.where(x > 1.0, 1, z)
    return np.sum(np.abs(w) ** 2 + np.real(1j * x) * np.imag(x * 1.0)) + np.sum(np.real(w) * np.ones_like(z).real)


def outer_products(x):
    z = np.outer(x[0] * PHASE[0], np.conj(PHASE[1]) * x[1])
    return np.sum(np.real(z @ z)) + np.real(np.trace(z))


PROGRAMS = [
    of_other_kinds, outer_products,
    parts, quotients, functions, squares, chosen, stencil, divided_in_place, rows, averaged, spread_over, stepped,
    flipped, named_part, compared,
]  # fmt: skip


@pytest.mark.compiled
@pytest.mark.parametrize("fun", PROGRAMS, ids=lambda fun: fun.__name__)
def test_values_and_slopes(fun):
    x = np.random.default_rng(0).uniform(0.5, 1.5, size=(3, 4))
    wanted = s2sad.value_and_grad(fun, target="python")(x)
    value, bar = s2sad.value_and_grad(fun, target="cpu")(x)
    np.testing.assert_allclose(value, fun(x), rtol=1e-12)
    np.testing.assert_allclose(bar, wanted[1], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(bar, differences(fun, x), rtol=1e-6, atol=1e-7)


def test_complex_arguments_and_results():
    def program(z, w):
        return np.exp(0.3j * z) * w / (1.0 + z * np.conj(z))

    rng = np.random.default_rng(1)
    z, w, t = (rng.standard_normal(5) + 1j * rng.standard_normal(5) for _ in range(3))
    for direction in (t, 1j * t):
        one = s2sad.jvp(program, (z, w), (direction, direction), target="python")
        other = s2sad.jvp(program, (z, w), (direction, direction), target="cpu")
        np.testing.assert_allclose(other[1], one[1], rtol=1e-12)
    one = s2sad.vjp(program, z, w, target="python")[1](t)
    other = s2sad.vjp(program, z, w, target="cpu")[1](t)
    np.testing.assert_allclose(other, one, rtol=1e-12)


def test_they_are_loops():
    made = s2sad.differentiate(stepped, target="cpu")
    made.grad(np.ones((3, 4)))
    text = made.source("grad")
    assert "z[i, j] + 0.1j * (0.5 * z[i, j] - np.conj(z[i, j]) * z[i, j])" in text
    assert "= np.abs(z)" not in text
    assert "np.where" not in text


def test_a_division_by_zero_is_no_error():
    def inverse(x):
        z = x * PHASE
        return np.sum(np.real(1.0 / z))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, _ = s2sad.value_and_grad(inverse, target="cpu")(np.zeros((3, 4)))
    assert not np.isfinite(value)
