"""A state that the reverse sweep takes back from a tape, and only reads, is the tape's row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.unit.test_gathered import agree

pytestmark = pytest.mark.compiled


def moved(u, k, out):
    for i in range(u.size):
        out[i] = u[i] + k * np.sin(u[i])


def through_the_middle(x, steps):
    u, mid = x.copy(), np.empty(x.size)
    for _ in range(steps):
        moved(u, 0.1, mid)
        for i in range(u.size):
            u[i] += 0.1 * mid[i] * mid[i]
    return np.sum(u**2)


def read_before_it_is_written(x, steps):
    u, mid = x.copy(), np.ones(x.size)
    for _ in range(steps):
        for i in range(u.size):
            u[i] += 0.1 * mid[i] * u[i]
        moved(u, 0.1, mid)
        moved(mid, 0.2, u)
    return np.sum(u**2)


def changed_in_place(x, steps):
    """The reverse sweep writes into the state, too."""
    u, mid = x.copy(), np.ones(x.size)
    for _ in range(steps):
        moved(u, 0.1, mid)
        for i in range(1, u.size):
            mid[i] = mid[i] * mid[i - 1]
        moved(mid, 0.1, u)
    return np.sum(u**2)


def returned_too(x, steps):
    u, mid = x.copy(), np.ones(x.size)
    for _ in range(steps):
        moved(u, 0.1, mid)
        moved(mid, 0.1, u)
    return np.sum(u**2) + np.sum(mid**3)


def in_two_loops(x, steps):
    u, mid = x.copy(), np.ones(x.size)
    for _ in range(steps):
        moved(u, 0.1, mid)
        moved(mid, 0.1, u)
    for _ in range(steps):
        moved(mid, 0.3, u)
        moved(u, 0.2, mid)
    return np.sum(u * mid)


PROGRAMS = (through_the_middle, read_before_it_is_written, changed_in_place, returned_too, in_two_loops)


@pytest.mark.parametrize("fun", PROGRAMS)
def test_the_gradient(fun):
    for n in (0, 1, 2, 7):
        for steps in (0, 1, 2, 5):
            agree(fun, 0.3 + 0.2 * np.sin(np.arange(n) * 1.3), steps)


@pytest.mark.parametrize("fun", PROGRAMS)
def test_calls_leave_nothing_behind(fun):
    """A second call gives what the first one gave, and the value is the function's."""
    x = 0.3 + 0.2 * np.sin(np.arange(7) * 1.3)
    grad = s2sad.value_and_grad(fun, target="cpu")
    first, second = grad(x, 3), grad(x, 3)
    assert first[0] == second[0] == pytest.approx(fun(x, 3), rel=1e-14)
    np.testing.assert_array_equal(first[1], second[1])


def text_of(fun: Callable[..., Any]) -> str:
    return s2sad.differentiate(argnums=0, target="cpu")(fun).source("grad", types="float64[:], int64")


def test_a_row_is_named():
    assert "mid_row = mid_tape" in text_of(read_before_it_is_written)


def test_what_is_changed_in_place_is_copied():
    assert "mid_row" not in text_of(changed_in_place)
