"""Arrays that one loop fills for the next alone are not made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.unit.test_gathered import agree
from tests.unit.test_kept_zeros import diffused, text_of

pytestmark = pytest.mark.compiled


def by_a_coefficient(x, k, steps):
    """What both neighbours are sent is a multiple of one value, by a number that stays."""
    u = x.copy()
    for _ in range(steps):
        un = u.copy()
        for i in range(1, u.size - 1):
            u[i] = un[i] + k / 0.25 * (un[i + 1] - 2.0 * un[i] + un[i - 1]) - 0.5 * k * un[i - 1]
    return np.sum(u**3)


def in_a_plane(x, k, steps):
    u = x.copy()
    rows, columns = u.shape
    for _ in range(steps):
        un = u.copy()
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                around = un[i + 1, j] + un[i - 1, j] + un[i, j + 1] + un[i, j - 1]
                u[i, j] = un[i, j] + k * (around - 4.0 * un[i, j])
    return np.sum(u**3)


def read_again(x, k, steps):
    """The copy has two readers."""
    u = x.copy()
    total = 0.0
    for _ in range(steps):
        un = u.copy()
        for i in range(1, u.size - 1):
            u[i] = un[i] + k * (un[i + 1] - 2.0 * un[i] + un[i - 1])
        total += np.sum(un * u)
    return total


def coefficient_that_moves(x, k, steps):
    """The coefficient is another in every turn of the loop over elements."""
    u = x.copy()
    for _ in range(steps):
        un = u.copy()
        c = k
        for i in range(1, u.size - 1):
            c = 0.9 * c + 0.1 * un[i]
            u[i] = un[i] + c * (un[i + 1] - 2.0 * un[i] + un[i - 1])
    return np.sum(u**3)


def coefficient_that_fades(x, k, steps):
    """The coefficient changes in place, in every turn of the loop over elements."""
    u = x.copy()
    for _ in range(steps):
        un = u.copy()
        c = k
        for i in range(1, u.size - 1):
            c *= 0.9
            u[i] = un[i] + c * (un[i + 1] - 2.0 * un[i] + un[i - 1])
    return np.sum(u**3)


def sums_that_grow(x, k, steps):
    """What multiplies the neighbours is a sum that the same loop adds to."""
    u = x.copy()
    for _ in range(steps):
        un = u.copy()
        s = k
        for i in range(1, u.size - 1):
            s += 0.01 * un[i]
            u[i] = un[i] + s * un[i + 1] + s * un[i - 1]
    return np.sum(u**3)


LINES = (coefficient_that_fades, sums_that_grow, by_a_coefficient, read_again, coefficient_that_moves)


@pytest.mark.parametrize("fun", LINES)
def test_lines(fun: Callable[..., Any]) -> None:
    for n in (1, 2, 3, 4, 9, 40):
        for steps in (0, 1, 4):
            agree(fun, np.sin(np.arange(n) * 1.3) + 0.2, 0.1, steps)


def test_planes() -> None:
    for shape in ((1, 1), (2, 7), (3, 3), (5, 9), (12, 30)):
        agree(in_a_plane, np.sin(np.arange(shape[0] * shape[1]) * 1.3).reshape(shape), 0.1, 3)


def test_the_adjoint_of_the_copy_is_not_made() -> None:
    assert "un_bar" not in text_of(diffused)
    for fun, kind in ((by_a_coefficient, "float64[:]"), (in_a_plane, "float64[:, :]")):
        text = s2sad.differentiate(argnums=0, target="cpu")(fun).source("grad", types=f"{kind}, float64, int64")
        assert "un_bar" not in text, text


def test_one_array_does_for_all_multiples_of_a_value() -> None:
    kinds = "float64[:], float64, int64"
    text = s2sad.differentiate(argnums=0, target="cpu")(by_a_coefficient).source("grad", types=kinds)
    assert text.count("= np.zeros(") == 1, text
    moving = s2sad.differentiate(argnums=0, target="cpu")(coefficient_that_moves).source("grad", types=kinds)
    assert "un_bar" in moving

