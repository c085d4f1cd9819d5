"""Compiled rings and walls: the turns at the ends stand apart, and the derivative is that of the loop as it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2sad


def ring(x, steps):
    """Indices that wrap around at both ends: by a remainder, and by counting from the end."""
    u, n = x.copy(), x.size
    for _ in range(steps):
        slope = np.empty(n)
        for i in range(n):
            slope[i] = (u[(i + 1) % n] - u[i - 2]) * u[i - 1] - u[i]
        for i in range(n):
            u[i] += 0.05 * slope[i]
    return np.sum(u * u)


def choices(x, steps):
    """Neighbours chosen by a condition."""
    u, n = x.copy(), len(x)
    for _ in range(steps):
        new = np.empty_like(u)
        for i in range(n):
            after = i + 1 if i < n - 1 else 0
            before = i - 1 if i > 0 else n - 1
            new[i] = u[i] - 0.1 * u[i] * (u[after] - u[before])
        u[:] = new
    return np.sum(u**3)


def walls(x, steps):
    """Branches at the ends."""
    u, new = x.copy(), x.copy()
    n = u.shape[0]
    for _ in range(steps):
        for i in range(n):
            if i == 0:
                new[i] = 0.5 * u[i]
            elif i == n - 1:
                new[i] = u[i - 1]
            else:
                new[i] = u[i] + 0.2 * u[i] * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        u, new = new, u
    return np.sum(np.sin(u))


def grid(x, steps):
    """A torus: the inner loop has ends."""
    u = np.reshape(x, (-1, 2)) * np.ones(2)
    rows, columns = u.shape
    for _ in range(steps):
        new = np.empty_like(u)
        for i in range(rows):
            for j in range(columns):
                around = u[(i + 1) % rows, j] + u[i, (j + columns - 1) % columns] + u[i, (j + 1) % columns]
                new[i, j] = u[i, j] + 0.1 * around * u[i, j]
        u = new
    return np.sum(u)


def of_known_length(x, steps):
    u = np.zeros(18)
    u[: x.size] = x[:18]
    for _ in range(steps):
        v = np.zeros(18)
        for i in range(18):
            v[i] = u[(i + 17) % 18] * u[(i + 1) % 18]
        u += 0.1 * v
    return np.sum(u * u)


def shorter_than_the_period(x, steps):
    u, n = x.copy(), x.size
    for k in range(steps):
        for i in range(1, n - 1):
            u[(i + 2) % n] += 0.1 * u[i - 1] * u[(i + 1) % n] * k
    return np.sum(u * u)


LINES = (ring, choices, walls, shorter_than_the_period)
OTHERS = (grid, of_known_length)


def agree(fun: Callable[..., Any], *args: Any) -> None:
    """Compare the compiled gradient with the text that keeps the loops as they are, and with the tangent."""
    value, compiled = s2sad.value_and_grad(fun, target="cpu")(*args)
    np.testing.assert_allclose(value, fun(*args), rtol=1e-13)
    plain = s2sad.grad(fun, target="python")(*args)
    np.testing.assert_allclose(compiled, plain, rtol=1e-12, atol=1e-13)
    direction = np.cos(np.arange(args[0].size))
    np.testing.assert_allclose(
        np.sum(compiled * direction), s2sad.jvp(fun, args, (direction, None))[1], rtol=1e-9, atol=1e-11
    )


def compiled_text(fun: Callable[..., Any], *args: Any) -> str:
    """Return what is compiled."""
    made = s2sad.grad(fun, target="cpu")
    made(*args)
    text = made.store.find(args)[0].entry.derivative.text
    return "".join(line for line in text.splitlines(True) if not line.lstrip().startswith("#"))


@pytest.mark.parametrize("fun", LINES)
def test_lines_of_any_length(fun):
    for n in (2, 3, 4, 5, 9, 40):
        agree(fun, np.sin(np.arange(n) * 1.3) + 0.2, 3)


@pytest.mark.parametrize("fun", OTHERS)
def test_other_arrays(fun):
    for n in (2, 8, 30):
        agree(fun, np.sin(np.arange(n) * 1.3) + 0.2, 3)


@pytest.mark.parametrize("fun", [ring, choices, of_known_length])
def test_the_middle_divides_nothing_and_chooses_nothing(fun):
    text = compiled_text(fun, np.ones(9), 2)
    middles = re.findall(r"for (i\w*) in range\(\d, (?:n - \d|\d+)\):\n((?: {12}.*\n)+)", text)
    assert len(middles) >= 2  # the function's and its adjoint's
    assert not any(re.search(r"%| if ", body) for _, body in middles)
    assert re.search(r"for end in range\((?:min\(\d, n\)|1)\):", text)


def test_a_branch_at_the_ends_is_not_in_the_middle():
    text = compiled_text(walls, np.ones(9), 2)
    middle = re.search(r"for (i\w*) in range\(1, n - 1\):\n((?: {12}.*\n)+)", text)
    assert middle is not None
    assert "if" not in middle[2]


def test_true_remainders_stay():
    """The period is not what the loop runs to."""

    def seasons(x, steps):
        total = 0.0
        for t in range(steps):
            total += x[t % x.size] * t
        return total

    text = compiled_text(seasons, np.ones(4), 9)
    assert "% x.size" in text
    assert "for end" not in text
    agree(seasons, np.ones(4), 9)


def test_a_loop_that_may_be_left_stays():
    def until(x, limit):
        total = 0.0
        for i in range(x.size):
            total += x[i] * x[i - 1]
            if total > limit:
                break
        return total

    text = compiled_text(until, np.ones(9), 3.5)
    assert "for end" not in text[: text.index("break")]
    agree(until, np.linspace(0.2, 1.0, 9), 1.5)


def test_counters_read_behind_the_loop_keep_their_last_value():
    def last(x, scale):
        for i in range(x.size):
            here = x[i - 1] * scale
        return here * i

    agree(last, np.linspace(0.2, 1.0, 9), 1.5)


@pytest.mark.parametrize("fun", [choices, ring])
def test_whole_numbers_are_worked_out_again(fun):
    """Neither the places of neighbours nor arrays of which only the length is asked are kept for every turn."""
    text = s2sad.differentiate(fun).source("grad", (np.ones(9), 2))
    assert not re.search(r"(after|before|slope|new)_tape", text)
