"""What is zero whenever a turn begins, and is first added to, is set; its zeros are not written again."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.unit.test_gathered import agree

pytestmark = pytest.mark.compiled


def fluxes(x, steps):
    u = x.copy()
    n = u.size
    f = np.zeros(n)
    for _ in range(steps):
        for i in range(n - 1):
            f[i] = (u[i] + u[i + 1]) * (u[i + 1] - u[i])
        for i in range(1, n - 1):
            u[i] += 0.1 * (f[i] - f[i - 1])
    return np.sum(u**3)


def slope_into(u, k):
    for i in range(u.size):
        k[i] = u[i] * (1.0 - u[i])


def with_a_helper(x, steps):
    u = x.copy()
    k, mid = np.empty(u.size), np.empty(u.size)
    for _ in range(steps):
        slope_into(u, k)
        for i in range(u.size):
            mid[i] = u[i] + 0.05 * k[i]
        slope_into(mid, k)
        for i in range(u.size):
            u[i] += 0.1 * k[i]
    return np.sum(u**2)


def helper_whose_zeros_are_needed(x, steps):
    """One of the calls writes to an array that is read before it is written the next time."""
    u = x.copy()
    k, slow = np.zeros(u.size), np.zeros(u.size)
    for t in range(steps):
        slope_into(u, k)
        for i in range(u.size):
            u[i] += 0.1 * k[i] + 0.2 * slow[i]
        if t % 3 == 0:
            slope_into(u, slow)
    return np.sum(u**2)


def filled_and_emptied(u, f, k):
    for i in range(1, u.size - 1):
        f[i] = u[i + 1] - u[i - 1] * u[i]
    for i in range(1, u.size - 1):
        u[i] += k * f[i]


def all_in_a_helper(x, steps):
    u = x.copy()
    f = np.zeros(u.size)
    for _ in range(steps):
        filled_and_emptied(u, f, 0.1)
    return np.sum(u**2)


def two_arrays_in_a_helper(x, steps):
    u, v = x.copy(), 0.5 * x
    f, g = np.zeros(u.size), np.zeros(v.size)
    for _ in range(steps):
        filled_and_emptied(u, f, 0.1)
        filled_and_emptied(v, g, 0.2)
        filled_and_emptied(u, g, 0.05)
    return np.sum(u**2 * v)


def that_adds_up(x, steps):
    """The array is added to in every step, and never written anew."""
    u = x.copy()
    total = np.zeros(u.size)
    for _ in range(steps):
        for i in range(u.size):
            total[i] += u[i] * u[i]
        for i in range(u.size):
            u[i] = 0.9 * u[i] + 0.01 * total[i]
    return np.sum(u**2)


def that_is_read_first(x, steps):
    """Each step reads what the last one wrote."""
    u = x.copy()
    f = np.zeros(u.size)
    for _ in range(steps):
        for i in range(u.size):
            u[i] += 0.1 * f[i]
        for i in range(u.size):
            f[i] = u[i] * u[i]
    return np.sum(u**2)


def that_shrinks(x, steps):
    """Steps write ever fewer elements, and read all of them."""
    u = x.copy()
    f = np.zeros(u.size)
    for t in range(steps):
        for i in range(max(0, u.size - t)):
            f[i] = u[i] * u[i]
        for i in range(u.size):
            u[i] += 0.1 * f[i]
    return np.sum(u**2)


def that_is_written_now_and_then(x, steps):
    u = x.copy()
    f = np.zeros(u.size)
    for t in range(steps):
        if t % 2 == 0:
            for i in range(u.size):
                f[i] = u[i] * u[i]
        for i in range(u.size):
            u[i] += 0.1 * f[i]
    return np.sum(u**2)


def that_is_written_by_halves(x, steps):
    """The even elements and the odd ones: neither is all."""
    u = x.copy()
    f = np.zeros(2 * u.size)
    for _ in range(steps):
        for i in range(u.size):
            f[i] = u[i] * u[i]
        for i in range(u.size):
            f[i + u.size] = f[i] * u[i]
        for i in range(u.size):
            u[i] += 0.1 * f[i + u.size] - 0.2 * f[i]
    return np.sum(u**2)


def that_the_result_has(x, steps):
    u = x.copy()
    f = np.zeros(u.size)
    for _ in range(steps):
        for i in range(u.size):
            f[i] = u[i] * u[i]
        for i in range(u.size):
            u[i] += 0.1 * f[i]
    return np.sum(u**2) + np.sum(f**3)


def of_two_loops(x, steps):
    u = x.copy()
    f = np.zeros(u.size)
    for _ in range(steps):
        for i in range(u.size):
            f[i] = u[i] * u[i]
        for i in range(u.size):
            u[i] += 0.1 * f[i]
    for _ in range(steps):
        for i in range(u.size):
            u[i] += 0.3 * f[i] * u[i]
        for i in range(u.size):
            f[i] = u[i] * f[i]
    return np.sum(u**2)


def left_early(x, steps):
    u = x.copy()
    f = np.zeros(u.size)
    for _ in range(steps):
        for i in range(u.size):
            f[i] = u[i] * u[i]
        if np.sum(f) > 3.0:
            break
        for i in range(u.size):
            u[i] += 0.1 * f[i]
    return np.sum(u**2)


def with_an_element_more(x, steps):
    """One element is used apart from the others."""
    u = x.copy()
    f = np.zeros(u.size + 1)
    for _ in range(steps):
        for i in range(u.size):
            f[i] = u[i] * u[i]
        for i in range(u.size):
            u[i] += 0.1 * f[i]
        f[u.size] += f[0] if u.size else 0.0
    return np.sum(u**2) + f[u.size]


def in_a_plane(x, steps):
    u = x.reshape((-1, 2)) * 1.0 if x.size % 2 == 0 else np.ones((3, 2))
    f = np.zeros(u.shape)
    for _ in range(steps):
        for i in range(u.shape[0]):
            for j in range(u.shape[1]):
                f[i, j] = u[i, j] * u[i, 0]
        for i in range(u.shape[0]):
            for j in range(u.shape[1]):
                u[i, j] += 0.1 * f[i, j]
    return np.sum(u**2)


PROGRAMS = (
    fluxes, with_a_helper, helper_whose_zeros_are_needed, all_in_a_helper, two_arrays_in_a_helper, that_adds_up,
    that_is_read_first, that_shrinks, that_is_written_now_and_then, that_is_written_by_halves, that_the_result_has,
    of_two_loops, left_early, with_an_element_more, in_a_plane,
)  # fmt: skip


@pytest.mark.parametrize("fun", PROGRAMS)
def test_the_gradient(fun):
    for n in (0, 1, 2, 3, 8):
        for steps in (0, 1, 2, 5):
            agree(fun, 0.3 + 0.2 * np.sin(np.arange(n) * 1.3), steps)


def text_of(fun: Callable[..., Any]) -> str:
    return s2sad.differentiate(argnums=0, target="cpu")(fun).source("grad", types="float64[:], int64")


@pytest.mark.parametrize(("fun", "array"), [(with_a_helper, "k_bar"), (all_in_a_helper, "f_bar")])
def test_zeros_are_not_written_again(fun, array):
    text = text_of(fun)
    assert f"{array}[i] = " in text
    assert f"{array}[i] = 0.0\n" not in text
    assert f"{array}[i] += " not in text


def test_what_the_next_loop_alone_reads_is_not_kept():
    assert "f_bar" not in re.findall(r"\w+", text_of(fluxes))


def test_zeros_that_a_call_needs_are_left():
    assert "k_bar[i] = 0.0" in text_of(helper_whose_zeros_are_needed)


@pytest.mark.parametrize("fun", [that_is_read_first, that_shrinks, that_is_written_now_and_then])
def test_what_is_carried_is_added_to(fun):
    assert re.search(r"f_bar\[i\] \+= ", text_of(fun))


def adds_around_and_empties(u, f):
    """It sets more of an array than its caller does."""
    n = u.size
    for i in range(n):
        f[i] = u[i] * u[i]
    for i in range(n):
        u[i] += 0.1 * f[i]


def into_a_part(x, steps):
    u = x.copy()
    f = np.zeros(u.size)
    for _ in range(steps):
        adds_around_and_empties(u, f)
        for i in range(1, u.size - 1):
            u[i] += 0.2 * f[i]
    return np.sum(u**2)


def through_a_view(u, f):
    part = f[1:]
    for i in range(part.size):
        part[i] = u[i] * u[i]
    for i in range(u.size):
        u[i] += 0.1 * f[i]


def by_a_view(x, steps):
    u = x.copy()
    f = np.zeros(u.size)
    for _ in range(steps):
        through_a_view(u, f)
        for i in range(u.size):
            u[i] += 0.2 * f[i]
    return np.sum(u**2)


def in_loops_inside(x, steps):
    """The array is met in a loop of several turns inside a step."""
    u = x.copy()
    f = np.zeros(u.size)
    for _ in range(steps):
        for _ in range(2):
            for i in range(u.size):
                f[i] = u[i] * u[i]
            for i in range(u.size):
                u[i] += 0.1 * f[i]
        for i in range(u.size):
            u[i] += 0.2 * f[i]
    return np.sum(u**2)


@pytest.mark.parametrize("fun", [into_a_part, by_a_view, in_loops_inside])
def test_what_else_meets_the_array(fun):
    for n in (0, 1, 2, 3, 8):
        for steps in (0, 1, 2, 5):
            agree(fun, 0.3 + 0.2 * np.sin(np.arange(n) * 1.3), steps)
