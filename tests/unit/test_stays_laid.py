"""Time steps over the inside of a grid: their reverse gathers straight into what the next step reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2sad

pytestmark = pytest.mark.compiled


def copied_first(x, r, steps):
    u = x.copy()
    n = u.shape[0]
    for _ in range(steps):
        v = u.copy()
        for i in range(1, n - 1):
            v[i] = u[i] + r * (u[i + 1] - 2 * u[i] + u[i - 1])
        u = v
    return np.sum(u**2)


def added_in_slices(x, r, steps):
    u = x.copy()
    for _ in range(steps):
        u[1:-1] += r * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


def set_in_slices(x, r, steps):
    u = x.copy()
    for _ in range(steps):
        u[1:-1] = u[1:-1] + r * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


def upwind(x, r, steps):
    u = x.copy()
    for _ in range(steps):
        old = u.copy()
        u[1:] = old[1:] - 0.3 * (old[1:] - old[:-1])
    return np.sum(u**2)


def with_a_source(x, r, steps):
    u, q = x.copy(), np.sin(x)
    n = u.shape[0]
    for _ in range(steps):
        v = u.copy()
        for i in range(1, n - 1):
            v[i] = u[i] + 0.3 * (u[i + 1] - 2 * u[i] + u[i - 1]) + 0.01 * q[i]
        u = v
    return np.sum(u**2)


def two_rows_at_the_ends(x, r, steps):
    u = x.copy()
    n = u.shape[0]
    for _ in range(steps):
        v = u.copy()
        for i in range(2, n - 2):
            v[i] = 0.2 * (u[i - 2] + u[i + 2]) - 0.1 * u[i + 1] + 0.3 * u[i]
        u = v
    return np.sum(u**3)


def back_and_forth(x, r, steps):
    a, b = x.copy(), 0.5 * x
    for _ in range(steps):
        b[1:-1] = 0.3 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.3 * (b[:-2] + b[1:-1] - b[2:])
    return np.sum(a**2)


LINES = (copied_first, added_in_slices, set_in_slices, upwind, with_a_source, two_rows_at_the_ends, back_and_forth)


def exchanged(x, r, steps):
    a, b = x.copy(), x.copy()
    rows, columns = a.shape
    for _ in range(steps):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        a, b = b, a
    return np.sum(a * a)


def laplacian(x, r, steps):
    u = x.copy()
    for _ in range(steps):
        lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + r * lap
    return np.sum(u**2)


def corners_too(x, r, steps):
    u = x.copy()
    rows, columns = u.shape
    for _ in range(steps):
        v = u.copy()
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                v[i, j] = 0.5 * u[i, j] + 0.1 * (u[i - 1, j - 1] + u[i + 1, j + 1]) - 0.2 * u[i - 1, j + 1]
        u = v
    return np.sum(np.sin(u))


def relaxed_twice(x, r, steps):
    a, b = x.copy(), x.copy()
    n, m = a.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = 0.25 * (a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = 0.25 * (b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])
    return np.sum(a * a)


PLANES = (exchanged, laplacian, corners_too, relaxed_twice)


def read_in_the_loop(x, r, steps):
    u = x.copy()
    total = 0.0
    for _ in range(steps):
        u[1:-1] += r * (u[2:] - 2 * u[1:-1] + u[:-2])
        total += u[2] ** 2
    return total


def an_end_that_is_set(x, r, steps):
    u = x.copy()
    for _ in range(steps):
        u[1:-1] += r * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[0] = u[1]
    return np.sum(u**2)


def a_second_array_in_between(x, r, steps):
    u, w = x.copy(), x.copy()
    for _ in range(steps):
        new = u.copy()
        new[1:-1] = 0.3 * (u[2:] + u[:-2])
        w = w + 0.1 * new
        u = new
    return np.sum(w**2)


def a_factor_of_the_step(x, r, steps):
    u = x.copy()
    for t in range(steps):
        dt = r / (1.0 + t)
        u[1:-1] += dt * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


def a_factor_of_the_place(x, r, steps):
    u, c = x.copy(), np.cos(x)
    for _ in range(steps):
        u[1:-1] += c[1:-1] * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


def an_array_not_of_zeros(x, r, steps):
    a, b = x.copy(), x.copy()
    for _ in range(steps):
        b[1:-1] = 0.3 * (a[:-2] + a[2:])
        a, b = b, a
    return np.sum(a**2) + np.sum(b**3)


def a_multiple_that_another_array_gets(x, r, steps):
    u, w = x.copy(), np.cos(x)
    for _ in range(steps):
        step = 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[1:-1] += step
        w[1:-1] += step
    return np.sum(u**2) + np.sum(w**3)


def sources_to_both_sides(x, r, steps):
    u, q = x.copy(), np.cos(x)
    for _ in range(steps):
        u[1:-1] += 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2] + q[2:] - q[:-2])
    return np.sum(u**2)


OTHERS = (
    a_multiple_that_another_array_gets, sources_to_both_sides,
    read_in_the_loop, an_end_that_is_set, a_second_array_in_between, a_factor_of_the_step, a_factor_of_the_place,
    an_array_not_of_zeros,
)  # fmt: skip


def agree(fun: Callable[..., Any], x: np.ndarray, steps: int) -> None:
    given = x.copy()
    plain = s2sad.grad(fun, (0, 1), target="python")(x, 0.2, steps)
    for got, want in zip(s2sad.grad(fun, (0, 1), target="cpu")(x, 0.2, steps), plain, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(s2sad.grad(fun)(x, 0.2, steps), plain[0], rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(x, given)


@pytest.mark.parametrize("fun", [*LINES, *OTHERS])
def test_lines(fun):
    for n in (3, 4, 5, 6, 17):
        for steps in (0, 1, 2, 5):
            agree(fun, np.sin(np.arange(n) * 1.3) + 0.2, steps)


@pytest.mark.parametrize("fun", PLANES)
def test_planes(fun):
    for shape in [(1, 1), (2, 3), (3, 3), (3, 5), (6, 4), (9, 11)]:
        for steps in (0, 1, 4):
            agree(fun, np.sin(np.arange(shape[0] * shape[1]) * 1.3).reshape(shape), steps)


@pytest.mark.parametrize("fun", [copied_first, added_in_slices, exchanged])
def test_against_differences(fun):
    x = np.sin(np.arange(20.0)).reshape(4, 5) if fun is exchanged else np.sin(np.arange(7.0))
    bar = s2sad.grad(fun)(x, 0.2, 4)
    for place in np.ndindex(x.shape):
        unit = np.zeros_like(x)
        unit[place] = 1e-6
        wanted = (fun(x + unit, 0.2, 4) - fun(x - unit, 0.2, 4)) / 2e-6
        np.testing.assert_allclose(bar[place], wanted, rtol=1e-6, atol=1e-7)


def adjoint(fun: Callable[..., Any], rank: int) -> str:
    types = f"float64[{', '.join(':' * rank)}], float64, int64"
    text = s2sad.differentiate(argnums=0, target="cpu")(fun).source("grad", types=types)
    return text.split("# ---- adjoint sweep ----")[1]


@pytest.mark.parametrize("fun", [*LINES, *PLANES])
def test_no_step_lays_down_what_the_next_one_gathers(fun):
    text = adjoint(fun, 2 if fun in PLANES else 1)
    assert "# from turn to turn, " in text, text
    steps = text[text.index("for _ in range") :]
    assert "] = 0.0" not in steps, text


def test_the_edges_get_what_they_are_sent_alone():
    text = adjoint(copied_first, 1)
    assert "u_bar[0] += r * v_i_bars[2]" in text
    assert "u_bar[n - 1] += r * v_i_bars[n - 1]" in text
    assert "v_bar" not in text.replace("v_i_bars", ""), text


@pytest.mark.parametrize("fun", [read_in_the_loop, an_end_that_is_set, a_factor_of_the_place])
def test_what_else_meets_the_array_in_a_step_leaves_the_loop_as_it_was(fun):
    assert "# from turn to turn, " not in adjoint(fun, 1)
