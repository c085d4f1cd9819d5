"""Complex arrays made of real ones: their tangents are complex too, and are written in place as they are."""

from __future__ import annotations

import numpy as np
import pytest

from tests.differences import assert_derivatives

X = np.array([0.7, -0.4, 1.3])


def an_item_written(x):
    z = x + 0j
    z[1] = z[0] * 1j + z[1]
    return np.abs(z[1]) ** 2


def a_choice_multiplied(x):
    z = np.where(x > 0, x, 1j)
    z *= 1 + 2j
    z[0] = z[1] * z[2]
    return np.sum(z).imag


def a_complex_array_filled(x):
    z = np.full(3, x[0], dtype=complex)
    z[1:] += x[1:] * 1j
    return (z.sum() ** 2).real


def a_phase_applied_in_place(x):
    wave = np.exp(-(x**2)) + 0j
    wave *= np.exp(-0.1j * x**2)
    return np.abs(wave[0] + wave[1]) ** 2


def a_slice_added_to(x):
    wave = x + 0j
    wave[1:] += 0.1j * wave[:-1]
    return np.sum(np.abs(wave) ** 4)


PROGRAMS = [
    an_item_written, a_choice_multiplied, a_complex_array_filled, a_phase_applied_in_place, a_slice_added_to,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)
