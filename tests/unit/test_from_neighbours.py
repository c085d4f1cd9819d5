"""Where a turn sends its neighbours different values, each neighbour works out what it is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.unit.test_gathered import agree

pytestmark = pytest.mark.compiled

SHAPES = [(0, 3), (1, 1), (2, 2), (3, 3), (3, 7), (4, 3), (5, 9), (12, 30)]


def of_moving_conductivity(x, steps):
    """The conductivity is the square of the temperature, so that what is sent depends on both."""
    u = x.copy()
    rows, columns = u.shape
    for _ in range(steps):
        v = u.copy()
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                here = v[i, j] * v[i, j]
                u[i, j] = v[i, j] + 0.01 * (
                    (here + v[i + 1, j] * v[i + 1, j]) * (v[i + 1, j] - v[i, j])
                    - (here + v[i - 1, j] * v[i - 1, j]) * (v[i, j] - v[i - 1, j])
                    + (here + v[i, j + 1] * v[i, j + 1]) * (v[i, j + 1] - v[i, j])
                    - (here + v[i, j - 1] * v[i, j - 1]) * (v[i, j] - v[i, j - 1])
                )
    return np.sum(u**3)


def of_nine(x, steps):
    """Corners are sent values too."""
    rows, columns = x.shape
    total = 0.0
    for _ in range(steps):
        y = np.zeros_like(x)
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                y[i, j] = (
                    x[i - 1, j - 1] * x[i + 1, j + 1] + x[i - 1, j + 1] * x[i + 1, j - 1] + x[i, j] * x[i + 1, j]
                    - 2.0 * x[i, j - 1] * x[i, j + 1]
                )
        total += np.sum(y**3)
    return total


def far_along_rows(x, steps):
    """Neighbours read further than the turn does: the first and the last turns leave that to others."""
    u = x.copy()
    rows, columns = u.shape
    for _ in range(steps):
        v = u.copy()
        for i in range(rows):
            for j in range(2, columns - 1):
                u[i, j] = v[i, j] + 0.1 * (v[i, j + 1] - v[i, j - 2]) * v[i, j - 1]
    return np.sum(u**2)


def from_the_first_row(x, steps):
    """Only what lies ahead is sent anything, from the first element on."""
    u = x.copy()
    rows, columns = u.shape
    for _ in range(steps):
        for i in range(rows - 2):
            for j in range(columns - 1):
                u[i, j] = u[i, j] * 0.9 + 0.1 * u[i + 2, j] * u[i, j + 1] * u[i + 1, j]
    return np.sum(u**2)


def two_fields(x, steps):
    """What is sent is a multiple of two values, not of one."""
    u, v = x.copy(), 0.5 * x
    rows, columns = u.shape
    for _ in range(steps):
        a, b = u.copy(), v.copy()
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                u[i, j] = a[i, j] - 0.1 * a[i, j] * (a[i, j] - a[i - 1, j]) - 0.1 * b[i, j] * (a[i, j] - a[i, j - 1])
                v[i, j] = b[i, j] - 0.1 * a[i, j] * (b[i, j] - b[i - 1, j]) - 0.1 * b[i, j] * (b[i, j] - b[i, j - 1])
    return np.sum(u**2 + v**2)


def with_a_coefficient(x, steps):
    """A number gathers from every turn meanwhile, and counters are factors."""
    u = x.copy()
    k = 0.1 + 0.01 * np.sum(x)
    rows, columns = u.shape
    for _ in range(steps):
        v = u.copy()
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                u[i, j] = v[i, j] + k * (0.01 * i * v[i + 1, j] * v[i - 1, j] - 0.02 * j * v[i, j + 1] * v[i, j - 1])
    return np.sum(u**2)


def carried(x, steps):
    """A number is carried from turn to turn: nobody else can work out what a turn sends."""
    u = x.copy()
    rows, columns = u.shape
    for _ in range(steps):
        v = u.copy()
        c = 0.1
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                c = 0.9 * c + 0.01 * v[i, j]
                u[i, j] = v[i, j] + c * (v[i + 1, j] * v[i - 1, j] + v[i, j + 1] * v[i, j - 1])
    return np.sum(u**2)


def in_place(x, steps):
    """What neighbours would read has been changed by the time that they would read it."""
    u = x.copy()
    rows, columns = u.shape
    for _ in range(steps):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                u[i, j] = 0.9 * u[i, j] + 0.1 * (u[i + 1, j] * u[i - 1, j] - u[i, j + 1] * u[i, j - 1])
    return np.sum(u**2)


def with_a_root(x, steps):
    u = x.copy()
    rows, columns = u.shape
    for _ in range(steps):
        v = u.copy()
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                right, down = v[i, j + 1] - v[i, j], v[i + 1, j] - v[i, j]
                u[i, j] = v[i, j] + 0.1 * np.sqrt(1.0 + right * right + down * down)
    return np.sum(u**2)


def of_a_transpose(x, steps):
    """Rows and columns of one array, the other way round."""
    n = min(x.shape[0], x.shape[1])
    total = 0.0
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                total += x[i, j] * x[j + 1, i] * x[i + 1, j] + x[j, i - 1] * x[i, j + 1] ** 2
    return total


def by_what_is_nothing_around(x, steps):
    """What turns divide by is zero around them, where no turn divides."""
    u = x.copy()
    rows, columns = u.shape
    c = np.zeros((rows, columns))
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            c[i, j] = 1.0 + 0.1 * i * j
    for _ in range(steps):
        v = u.copy()
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                u[i, j] = v[i, j] + 0.1 / c[i, j] * (
                    v[i + 1, j] * v[i - 1, j] - v[i, j + 1] * v[i, j - 1] + v[i + 1, j] ** 2
                )
    return np.sum(u**2)


def of_what_was_never_set(x, steps):
    """Around the turns, the coefficients are no numbers, and no turn reads them."""
    u = x.copy()
    rows, columns = u.shape
    c, d = np.full((rows, columns), np.nan), np.full((rows, columns), np.inf)
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            c[i, j], d[i, j] = 1.0 + 0.1 * i * j, 2.0
    for _ in range(steps):
        v = u.copy()
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                u[i, j] = v[i, j] + 0.1 * c[i, j] * (
                    v[i + 1, j] * v[i - 1, j] - d[i, j] * v[i, j + 1] * v[i, j - 1] + v[i + 1, j] ** 2
                )
    return np.sum(u**2)


WORKED_OUT = (
    by_what_is_nothing_around, of_what_was_never_set, of_moving_conductivity, of_nine, far_along_rows, two_fields,
    with_a_coefficient,
)  # fmt: skip
PLANES = (*WORKED_OUT, from_the_first_row, carried, in_place, with_a_root, of_a_transpose)


@pytest.mark.parametrize("fun", PLANES)
def test_planes(fun):
    for shape in SHAPES:
        for steps in (0, 1, 3):
            agree(fun, 0.5 + 0.4 * np.sin(np.arange(shape[0] * shape[1]) * 1.3).reshape(shape), steps)


def chain_of_springs(x, steps):
    q, p = x.copy(), 0.1 * x
    n = q.size
    for _ in range(steps):
        for i in range(1, n - 1):
            right, left = q[i + 1] - q[i], q[i] - q[i - 1]
            p[i] += 0.1 * (right - left + 0.3 * (right * right * right - left * left * left))
        for i in range(1, n - 1):
            q[i] += 0.1 * p[i]
    return np.sum(q**2 + p**2)


def reaching_far(x, steps):
    """Turns meet over three: one reads ahead and two behind."""
    u = x.copy()
    n = u.size
    for _ in range(steps):
        v = u.copy()
        for i in range(2, n - 1):
            u[i] = v[i] + 0.1 * (v[i + 1] - v[i - 2]) * v[i - 1]
    return np.sum(u**2)


def reaching_further(x, steps):
    u = x.copy()
    n = u.size
    for _ in range(steps):
        v = u.copy()
        for i in range(3, n - 3):
            u[i] = v[i] + 0.1 * (v[i + 3] * v[i - 3] + v[i + 2] * v[i - 1] - v[i] * v[i + 1])
    return np.sum(u**2)


LINES = (chain_of_springs, reaching_far, reaching_further)


@pytest.mark.parametrize("fun", LINES)
def test_lines(fun):
    for n in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 40):
        for steps in (0, 1, 3):
            agree(fun, 0.5 + 0.4 * np.sin(np.arange(n) * 1.3), steps)


def in_space(x, steps):
    u = x.copy()
    for _ in range(steps):
        v = u.copy()
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                for k in range(1, u.shape[2] - 1):
                    u[i, j, k] = v[i, j, k] + 0.1 * (
                        v[i + 1, j, k] * v[i - 1, j, k] + v[i, j + 1, k] * v[i, j - 1, k]
                        - 2.0 * v[i, j, k + 1] * v[i, j, k - 1]
                    )
    return np.sum(u**2)


def test_space():
    for shape in ((2, 3, 3), (3, 3, 3), (4, 3, 5), (6, 7, 8)):
        for steps in (0, 1, 3):
            agree(in_space, 0.5 + 0.4 * np.sin(np.arange(np.prod(shape)) * 1.3).reshape(shape), steps)


def text_of(fun: Callable[..., Any], types: str) -> str:
    return s2sad.differentiate(argnums=0, target="cpu")(fun).source("grad", types=types)


@pytest.mark.parametrize("fun", WORKED_OUT)
def test_neighbours_work_out_what_they_are_sent(fun):
    assert "# what the neighbours send" in text_of(fun, "float64[:, :], int64")


@pytest.mark.parametrize("fun", [carried, in_place, with_a_root])
def test_what_neighbours_cannot_work_out_is_sent(fun):
    assert "# what the neighbours send" not in text_of(fun, "float64[:, :], int64")


@pytest.mark.parametrize("fun", LINES)
def test_lines_that_take_several_turns_at_once(fun):
    assert "# what the neighbours send" in text_of(fun, "float64[:], int64")


def test_one_edge_is_one_turn():
    text = text_of(of_moving_conductivity, "float64[:, :], int64")
    assert "range(max(" not in text.split("# what is sent to the rows around")[1]
