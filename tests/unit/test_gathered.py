"""Compiled stencils gather what neighbours send; the derivative is the one of the loops as they stand."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives
from tests.unit.test_methods_bound import method_9
from tests.unit.test_turns_apart import rows_in_time


def three_points(x, c):
    y = x.copy()
    for i in range(1, x.shape[0] - 1):
        y[i] = c * (x[i - 1] - 2.0 * x[i] + x[i + 1])
    return np.sum(y * y)


def in_time(x, steps):
    u, new = x.copy(), x.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            new[i] = u[i] + 0.2 * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        u, new = new, u
    return np.sum(u**3)


def in_slices(x, steps):
    u = x.copy()
    for _ in range(steps):
        new = u.copy()
        new[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        u = new
    return np.sum(u**3)


def of_nine(x, steps):
    u = x.copy()
    rows, columns = u.shape
    for _ in range(steps):
        v = u.copy()
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                v[i, j] = 0.5 * u[i, j] - 0.125 * (u[i - 1, j - 1] + u[i + 1, j + 1]) + 0.25 * u[i - 1, j + 1]
        u = v
    return np.sum(np.sin(u))


def with_a_column_length_of_rows(x, steps):
    a, b = x.copy(), x.copy()
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = 0.3 * b[i, j - 1] * b[i, j - 1] + 0.2 * b[i, j + 1]
    return np.sum(a * a)


def upwind(x, steps):
    u = x.copy()
    for _ in range(steps):
        v = np.zeros_like(u)
        for i in range(2, u.shape[0]):
            v[i] = u[i] - 0.4 * (3.0 * u[i] - 4.0 * u[i - 1] + u[i - 2])
        u = v
    return np.sum(u * u)


def from_the_end(x, steps):
    u = x.copy()
    for _ in range(steps):
        v = np.zeros_like(u)
        for i in range(u.shape[0]):
            v[i] = u[i] - 0.4 * (u[i] - u[i - 1])
        u = v
    return np.sum(u**3)


def shrinking(x, steps):
    u = x.copy()
    n = u.shape[0]
    for k in range(min(steps, n // 2)):
        v = u.copy()
        for i in range(1, n - 1 - k):
            v[i] = 0.5 * (u[i - 1] + u[i + 1] - 2.0 * u[i])
        u = v
    return np.sum(u)


def read_again(x, steps):
    u = x.copy()
    total = 0.0
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            flow = 0.5 * (u[i + 1] - u[i - 1])
            total += flow * u[i]
        u *= 1.1
    return total


def in_place(x, steps):
    u = x.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            u[i] = 0.3 * (u[i - 1] + u[i] + u[i + 1])
    return np.sum(u * u)


def through_a_view(x, steps):
    u = x.copy()
    inner = u[1:-1]
    total = 0.0
    for _ in range(steps):
        for i in range(1, inner.shape[0] - 1):
            total += (inner[i - 1] - 2.0 * inner[i] + inner[i + 1]) * u[i]
        u *= 0.9
    return total


def two_speeds(x, steps):
    u = x.copy()
    for _ in range(steps):
        v = u.copy()
        for i in range(1, u.shape[0] - 1):
            v[i] = 0.1 * u[i - 1] * u[i + 1] + 0.2 * (u[i + 1] - u[i - 1]) - 0.3 * u[i]
        u = v
    return np.sum(u)


def in_three(x, steps):
    u = np.reshape(x, (2, -1))[:, :, None] * np.ones(4)
    for _ in range(steps):
        v = u.copy()
        for k in range(1, u.shape[2] - 1):
            for j in range(1, u.shape[1] - 1):
                for i in range(u.shape[0] - 1):
                    v[i, j, k] = u[i + 1, j, k] + 0.5 * (u[i, j, k + 1] - u[i, j - 1, k])
        u = v
    return np.sum(u * u)


def taken_back(x, steps):
    """What every element sends is nothing, all in all."""
    u = x.copy()
    total = 0.0
    for _ in range(steps):
        for i in range(1, u.size - 1):
            total += (u[i + 1] - u[i + 1]) + (u[i - 1] - u[i - 1]) + 0.0 * u[i]
        u *= 0.5
    return total


def of_known_length(x, steps):
    u = np.zeros(17)
    u[: x.size] = x[:17]
    for _ in range(steps):
        v = u.copy()
        for i in range(1, 16):
            v[i] = 0.2 * (u[i - 1] + u[i + 1])
        u = v
    return np.sum(u * u)


def wave_that_steepens(x, steps):
    u, new = x.copy(), x.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            new[i] = u[i] - 0.1 * u[i] * (u[i] - u[i - 1]) + 0.05 * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        u, new = new, u
    return np.sum(u**2)


def dispersive(x, steps):
    u = x.copy()
    n = u.size
    for _ in range(steps):
        d = np.zeros(n)
        for i in range(2, n - 2):
            d[i] = -0.3 * u[i] * (u[i + 1] - u[i - 1]) - 0.05 * (u[i + 2] - 2 * u[i + 1] + 2 * u[i - 1] - u[i - 2])
        for i in range(n):
            u[i] += 0.1 * d[i]
    return np.sum(u**2)


def in_a_ring(x, steps):
    u = x.copy()
    for _ in range(steps):
        slope = np.empty(u.size)
        rates(u, slope)
        u = u + 0.01 * slope
    return np.sum(u**3)


def rates(u, slope):
    n = u.size
    for i in range(n):
        slope[i] = (u[(i + 1) % n] - u[i - 2]) * u[i - 1] - u[i]


def four_values(x, steps):
    u = x.copy()
    for _ in range(steps):
        v = u.copy()
        for i in range(1, u.size - 2):
            v[i] = 0.1 * (u[i - 1] * math.sin(u[i]) + math.cos(u[i + 1]) + u[i + 2] ** 2 + u[i - 1] * u[i + 2])
        u = v
    return np.sum(u)


def of_sines(x, steps):
    """What is sent is dear to work out."""
    u = x.copy()
    for _ in range(steps):
        v = u.copy()
        for i in range(1, u.size - 1):
            u[i] = v[i] + 0.1 * np.sin(v[i + 1] - v[i]) * v[i - 1]
    return np.sum(u**2)


WORKED_OUT = (wave_that_steepens, dispersive)
LINES = (
    *WORKED_OUT, of_sines, four_values, taken_back, of_known_length,
    in_time, upwind, from_the_end, shrinking, read_again, in_place, through_a_view, two_speeds,
)  # fmt: skip
PLANES = (in_slices, of_nine, with_a_column_length_of_rows)


def agree(fun: Callable[..., Any], *args: Any) -> None:
    """Compare the compiled gradient with the text that keeps the loops as they are, and the tangent."""
    compiled = s2sad.grad(fun, target="cpu")(*args)
    plain = s2sad.grad(fun, target="python")(*args)
    np.testing.assert_allclose(compiled, plain, rtol=1e-12, atol=1e-13)
    direction = np.cos(np.arange(args[0].size)).reshape(args[0].shape)
    dots = (direction, *(None for _ in args[1:]))
    np.testing.assert_allclose(np.sum(compiled * direction), s2sad.jvp(fun, args, dots)[1], rtol=1e-9, atol=1e-11)


@pytest.mark.compiled
@pytest.mark.parametrize("fun", LINES)
def test_lines(fun):
    for n in (0, 1, 2, 3, 4, 9, 40):
        for steps in (0, 1, 4):
            agree(fun, np.sin(np.arange(n) * 1.3) + 0.2, steps)


@pytest.mark.compiled
def test_a_ring():
    for n in (3, 4, 5, 9, 40):  # it reaches back two
        for steps in (0, 1, 4):
            agree(in_a_ring, np.sin(np.arange(n) * 1.3) + 0.2, steps)


@pytest.mark.parametrize("fun", PLANES)
def test_planes(fun):
    shapes = [(1, 1), (2, 2), (2, 7), (3, 3), (5, 9), (12, 30)]
    for shape in shapes:
        agree(fun, np.sin(np.arange(shape[0] * shape[1]) * 1.3).reshape(shape), 3)


def test_one_sweep_and_three_axes():
    for n in (0, 1, 2, 3, 20):
        agree(three_points, np.sin(np.arange(n) * 1.3), 0.7)
    for n in (2, 4, 8, 20):
        agree(in_three, np.sin(np.arange(n) * 1.3), 3)


@pytest.mark.parametrize("fun", [*PLANES, in_time, upwind, shrinking, in_three])
def test_the_text_gathers(fun):
    text = source(fun, 2 if fun in PLANES else 1).split("# ---- adjoint sweep ----")[1]
    assert re.search(r"(bars|parts)\w*\[[^]]*\] = ", text), text


def test_different_values_are_laid_down_apart():
    text = source(of_sines)
    assert len(re.findall(r"= np.zeros\(\w+_bar.shape\[0\] \+ \d\)", text)) == 2, text
    assert len(re.findall(r"(?:bars|parts)\w*\[i\w* \+ \d\] = ", text)) == 2, text


@pytest.mark.parametrize("fun", [*WORKED_OUT, in_a_ring])
def test_different_values_are_worked_out_by_neighbours(fun):
    assert "# what the neighbours send" in source(fun)


def test_values_too_many_are_sent_as_they_were():
    text = source(four_values)
    assert "np.zeros(u_bar" not in text
    assert re.search(r"u_bar\[i\w* \+ 2\] \+=", text)


def source(fun: Callable[..., Any], rank: int = 1) -> str:
    """Return the text that is compiled."""
    types = f"float64[{', '.join(':' * rank)}], int64"
    return s2sad.differentiate(argnums=0, target="cpu")(fun).source("grad", types=types)


def test_an_array_made_before_the_steps_serves_all_of_them():
    text = source(in_time).split("# ---- adjoint sweep ----")[1]
    assert text.index("s = np.zeros(") < text.index("for step in range")


def test_bounds_that_change_with_the_steps_need_zeros_in_each():
    text = source(shrinking).split("# ---- adjoint sweep ----")[1]
    assert text.index("for k in range") < text.index("parts[:] = 0.0") < text.index("parts[i + 1] =")


def test_loops_that_surely_have_turns_are_not_asked_for_them():
    text = source(of_known_length).split("# ---- adjoint sweep ----")[1]
    assert re.search(r"parts_2\[(\w+) \+ 1\] = 0.2 \* \(parts\[\1\] \+ parts\[\1 \+ 2\]\)", text), text
    assert "if " not in text


def test_a_turn_whose_index_counts_from_the_end_stays():
    text = source(from_the_end)
    assert "for end in range(min(1, " in text
    assert re.search(r"u_bar\[end\w* - 1\] -=", text)


def test_rows_of_one_array_gather():
    x = np.linspace(0.4, 1.7, 17)
    made = s2sad.differentiate(rows_in_time)
    expected = s2sad.grad(rows_in_time, target="python")(x, 5)
    np.testing.assert_allclose(made.grad(x, 5), expected, rtol=1e-12)
    text = made.source("grad")
    assert "total_bars" in text
    assert "for i in range(x.shape[0] - 2, 0, -1)" not in text


def test_a_number_that_each_turn_multiplies_is_no_multiple_of_itself():
    assert_derivatives(method_9, np.array([0.7, 1.3]), "cpu")
