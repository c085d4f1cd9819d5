"""Arrays that a helper is lent to work in: what they hold is kept only where the adjoint reads it as it was found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives


def slope_of(x, slope):
    for i in range(x.size):
        slope[i] = np.sin(x[i - 1]) - x[i] * x[i]


def moved(x, h, slope, out):
    for i in range(x.size):
        out[i] = x[i] + h * slope[i]


def heun(x, first, second, middle, h):
    slope_of(x, first)
    moved(x, h, first, middle)
    slope_of(middle, second)
    for i in range(x.size):
        x[i] += 0.5 * h * (first[i] * second[i] + second[i])


def all_set(x):
    u = x.copy()
    first, second, middle = np.empty(u.size), np.empty(u.size), np.empty(u.size)
    for _ in range(4):
        heun(u, first, second, middle, 0.1)
    return np.sum(u * u)


def with_ends(x, slope):
    for i in range(1, x.size - 1):
        slope[i] = x[i - 1] * x[i + 1]
    for i in range(x.size):
        x[i] += 0.1 * slope[i] * slope[i]
    slope[0] = x[1] * x[2]


def ends_from_before(x):
    u, slope = x.copy(), np.zeros(x.size)
    for _ in range(4):
        with_ends(u, slope)
    return np.sum(u * u)


def where_large(x, slope):
    if x[0] > 0.4:
        for i in range(x.size):
            slope[i] = x[i] * x[i]
    for i in range(x.size):
        x[i] -= 0.2 * slope[i] * x[i]


def set_by_turns(x):
    u, slope = x.copy(), 0.5 * x
    for _ in range(5):
        where_large(u, slope)
    return np.sum(u * u)


def either_way(x, slope):
    if x[0] > 0.4:
        for i in range(x.size):
            slope[i] = x[i] * x[i]
    else:
        slope[:] = 0.3 * x
    for i in range(x.size):
        x[i] -= 0.2 * slope[i] * x[i]


def set_on_both_sides(x):
    u, slope = x.copy(), 0.5 * x
    for _ in range(5):
        either_way(u, slope)
    return np.sum(u * u)


def read_in_the_next(x, slope):
    for i in range(x.size):
        x[i] += 0.1 * slope[i] * x[i]
    for i in range(x.size):
        slope[i] = x[i] * x[i]


def read_before(x):
    u, slope = x.copy(), 0.5 * x
    for _ in range(3):
        read_in_the_next(u, slope)
    return np.sum(u * u)


def by_neighbours(x, slope):
    for i in range(x.size):
        slope[i] = x[i] * slope[i - 1]
    for i in range(x.size):
        x[i] += 0.1 * slope[i] * x[i]


def reads_as_it_sets(x):
    u, slope = x.copy(), 0.5 * x
    for _ in range(3):
        by_neighbours(u, slope)
    return np.sum(u * u)


def longer(x, slope):
    for i in range(x.size):
        slope[i] = x[i] * x[i]
    for i in range(slope.size):
        x[i % x.size] += 0.1 * slope[i] * slope[i]


def more_room_than_is_set(x):
    u, slope = x.copy(), np.concatenate((x, 2.0 * x))
    for _ in range(3):
        longer(u, slope)
        slope[x.size] += u[0] * u[1]
    return np.sum(u * u)


def rows(x, table):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            table[i, j] = x[i, j] * x[i - 1, j]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] += 0.1 * table[i, j] * table[i, j - 1]


def of_two_axes(x):
    u = np.outer(x, x)
    table = np.empty(u.shape)
    for _ in range(3):
        rows(u, table)
    return np.sum(u * u)


def filled_by_turns(x, slope, times):
    for _ in range(times):
        for i in range(x.size):
            slope[i] = x[i] * x[i]
    for i in range(x.size):
        x[i] += 0.1 * slope[i] * slope[i]


def perhaps_not_filled(x):
    u, slope = x.copy(), 0.5 * x
    for k in range(4):
        filled_by_turns(u, slope, k % 2)
    return np.sum(u * u)


def read_afterwards(x):
    u, slope, total = x.copy(), np.empty(x.size), 0.0
    other = np.empty(x.size)
    for _ in range(3):
        heun(u, slope, other, np.empty(x.size), 0.1)
        total += slope[0] * other[1] * slope[1]
    return np.sum(u * u) + total


def with_borders(x, slope):
    n = x.shape[0]
    slope[0], slope[n - 1] = 0.0, x[0] * x[1]
    for i in range(1, n - 1):
        slope[i] = x[i - 1] * x[i + 1] - x[i] ** 2
    for i in range(n):
        x[i] += 0.1 * slope[i] * slope[i - 1]


def borders_for_themselves(x):
    u, slope = x.copy(), np.empty(x.size)
    for _ in range(3):
        with_borders(u, slope)
    return np.sum(u * u)


def without_one(x, slope):
    n = x.shape[0]
    slope[0] = 0.0
    for i in range(1, n - 1):
        slope[i] = x[i - 1] * x[i + 1] - x[i] ** 2
    for i in range(n):
        x[i] += 0.1 * slope[i] * slope[i - 1]
    slope[n - 1] = x[0] * x[1]


def a_border_from_before(x):
    u, slope = x.copy(), x * x
    for _ in range(3):
        without_one(u, slope)
    return np.sum(u * u)


def meeting_halves(x, slope):
    n = x.shape[0]
    for i in range(n - 2):
        slope[i] = x[i] * x[i + 1]
    for i in range(2, n):
        slope[i] = x[i] * x[i - 1]
    for i in range(n):
        x[i] += 0.1 * slope[i] * slope[i - 1]
    for i in range(n):
        slope[i] = x[i] ** 2


def halves_that_leave_one_of_three(x):
    u, slope = x[:3].copy(), x[:3] * x[1:4]
    for _ in range(3):
        meeting_halves(u, slope)
    return np.sum(u * u) + x[4]


def framed(x, table):
    n, m = x.shape
    for j in range(m):
        table[0, j] = x[0, j] * x[1, j]
        table[n - 1, j] = 0.0
    for i in range(1, n - 1):
        table[i, 0] = x[i, 1] ** 2
        for j in range(1, m - 1):
            table[i, j] = x[i, j - 1] * x[i + 1, j]
        table[i, -1] = 1.0
    for i in range(n):
        for j in range(m):
            x[i, j] += 0.1 * table[i, j] * table[i - 1, j]


def inside_a_frame(x):
    u = np.outer(x, x)
    table = np.empty(u.shape)
    for _ in range(3):
        framed(u, table)
    return np.sum(u * u)


def read_in_its_turn(x, slope):
    n = x.size
    slope[0] = x[1] * x[2]
    for i in range(1, n):
        slope[i] = x[i] * x[i]
        x[i - 1] += 0.1 * slope[i] * x[i]
    x[n - 1] += slope[0] * slope[1]


def set_and_read_in_turns(x):
    u, slope = x.copy(), np.empty(x.size)
    for _ in range(3):
        read_in_its_turn(u, slope)
    return np.sum(u * u)


def into_another(x, slope):
    slope = np.zeros(x.size)
    for i in range(x.size):
        slope[i] = x[i] * x[i]
    x[0] += slope[1]


def leaves_room_alone(x, slope):
    into_another(x, slope)
    for i in range(x.size):
        x[i] += 0.1 * slope[i] * x[i]
    slope[:] = 0.5 * x


def set_under_another_name(x):
    u, slope = x.copy(), x * x
    for _ in range(3):
        leaves_room_alone(u, slope)
    return np.sum(u * u)


def with_an_empty_part(x, slope):
    slope[:0] = 0.0
    for i in range(x.size):
        x[i] += 0.1 * slope[i] * x[i]
    slope[:] = 0.5 * x


def nothing_is_set(x):
    u, slope = x.copy(), x * x
    for _ in range(3):
        with_an_empty_part(u, slope)
    return np.sum(u * u)


def by_parts(x, slope):
    slope[:-1] = x[1:] * x[:-1]
    slope[-1] = x[0]
    for i in range(x.size):
        x[i] += 0.1 * slope[i] * x[i]


def set_by_parts(x):
    u, slope = x.copy(), x * x
    for _ in range(3):
        by_parts(u, slope)
    return np.sum(u * u)


PROGRAMS: list[Callable[[Any], Any]] = [
    all_set, ends_from_before, set_by_turns, set_on_both_sides, read_before, reads_as_it_sets, more_room_than_is_set,
    of_two_axes, perhaps_not_filled, read_afterwards, borders_for_themselves, a_border_from_before,
    halves_that_leave_one_of_three, inside_a_frame, set_and_read_in_turns,
    set_under_another_name, nothing_is_set, set_by_parts,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_room_is_put_back_where_it_is_read_as_found(program: Callable[[Any], Any], target: str) -> None:
    assert_derivatives(program, np.array([0.7, 0.3, -0.4, 0.9, 0.55]), target)


def tapes(program: Callable[[Any], Any]) -> list[str]:
    text = str(s2sad.differentiate(program).source("grad", types=(np.ones(5),)))
    return [line.split(" = ")[0].strip() for line in text.splitlines() if "_tape = np.empty(" in line]


@pytest.mark.parametrize(
    "program", [all_set, of_two_axes, borders_for_themselves, inside_a_frame, set_and_read_in_turns, set_by_parts]
)
def test_of_each_step_the_state_alone_is_kept(program: Callable[[Any], Any]) -> None:
    assert [name for name in tapes(program) if name in ("slope_tape", "table_tape", "first_tape", "middle_tape")] == []


@pytest.mark.parametrize(
    "program", [ends_from_before, a_border_from_before, halves_that_leave_one_of_three, nothing_is_set]
)
def test_what_is_read_as_it_was_found_is_kept(program: Callable[[Any], Any]) -> None:
    assert "slope_tape" in tapes(program)
