"""An array that two names mean in turn: what one name writes, the reverse puts back for the other as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives, differences
from tests.unit.test_ends import compiled_text
from tests.unit.test_found_wrong import name_of_its_own_view

X = np.array([0.6, 0.3, 0.7])


def maybe_scaled(x):
    """The state goes on under another name, scaled in some turns."""
    state = np.full((3, 3), 0.5)
    state[-1] = x
    t = 0.0
    while t < 2.0:
        other = state
        if t > 1.0:
            other = other * x[1]
        other[0] = other[-1] * x[0]
        state = other
        t += 0.4
        state[2] = np.sin(state[0] + state[1])
    return np.sum(state**2)


def many_rows(x):
    """The same, in a loop that is counted, of more elements than are kept number by number."""
    state = np.full((30, 3), 0.5)
    state[-1] = x
    for turn in range(6):
        other = state
        if turn > 2:
            other = other * x[1]
        other[0] = other[2] * x[0]
        state = other
        state[2] = np.sin(state[0] + state[1]) * state[-1]
    return np.sum(state**2)


def always_renamed(x):
    """The other name always means the same array."""
    state = np.full((3, 3), 0.5)
    state[-1] = x
    for _ in range(4):
        other = state
        other[0] = other[-1] * x[0]
        state = other
        state[2] = np.sin(state[0] + state[1])
    return np.sum(state**2)


@numba.njit
def change(state, x, t):
    """Write into a state, or into what it is scaled to, and return it."""
    if t > 1.0:
        state = state * x[1]
    state[0] = state[-1] * x[0]
    return state


def changed_by_helper(x):
    """A helper returns the array that it has written."""
    state = np.full((3, 3), 0.5)
    state[-1] = x
    t = 0.0
    while t < 2.0:
        state = change(state, x, t)
        t += 0.4
        state[2] = np.sin(state[0] + state[1])
    return np.sum(state**2)


@numba.njit
def step(y, stages, t, h):
    """One step of an adaptive method that writes its stages, with returns from within a loop."""
    if t >= 2.0:
        return False, t, y, h, stages
    y_old = y
    while True:
        stages[0] = stages[-1]
        stages[1] = -(y_old + 0.5 * h * stages[0])
        y = y_old + h * stages[1]
        stages[-1] = -y
        if np.abs(stages[-1] - stages[0]).max() * h < 0.1:
            return True, t + h, y, 1.2 * h, stages
        else:
            h = 0.5 * h
            if h < 1e-8:
                return False, t, y, h, stages


def adaptive(x):
    """Stages that a helper writes and gives back, in a loop that runs until it says so."""
    stages = np.zeros((3, 3))
    stages[-1] = -x
    t, y, h = 0.0, x, 0.3
    running = True
    while running:
        running, t, y, h, stages = step(y, stages, t, h)
    return np.sum(y**2) + y[0]


def maybe_itself(a, t):
    """The array, or another."""
    if t > 0:
        return a
    return a * t


def read_in_a_branch(x):
    """What may be the array itself is named in a branch only, and the array is written behind it."""
    a, y = x * 2, 1.0
    if np.sum(a) < -100:
        y = np.sum(maybe_itself(a, x[0]) ** 2)
    a[2] = x[0]
    return y * np.sum(a * x)


def read_in_the_branch_taken(x):
    """The same where the branch is taken, and in a loop."""
    a, y = x * 2, 1.0
    for k in range(3):
        if x[k] > 0.4:
            y += np.sum(maybe_itself(a, x[0] - 0.5 * k) ** 2)
        a[k] = x[0] * y
    return y * np.sum(a * x)


def out_of_a_loop(x):
    """One array is returned from within a loop and behind it."""

    def filled(scale):
        out = np.zeros(3)
        for i in range(9):
            out[i % 3] += scale * scale * (i + 1)
            if out[0] > 5.0:
                return out
            out[1] *= scale
        return out

    return np.sum(filled(x[0]) ** 2) + np.sum(filled(2.0 * x[1]))


def view_read_before(x):
    """A view that is read before a loop writes over it through the other name."""
    state = np.outer(x, x)
    last = state[-1]
    total = np.sum(last**3)
    i = 0
    while i < 3:
        for j in range(x.size):
            state[-1, j] = np.sin(state[0, j]) * x[j] * state[-1, j]
        if i == 1:
            state = state * 1.5
        i += 1
    return total + np.sum(state**2)


def elements_between_reads(x):
    """Elements are written by either name, and the whole is read in between."""
    state = np.outer(x, x)
    total = 0.0
    for i in range(4):
        other = state
        total += np.sum(other**3)
        for j in range(x.size):
            other[-1, j] = np.sin(other[0, j]) * x[j] * other[-1, j]
        if i > 1:
            other = other * 1.5
        for j in range(x.size):
            other[0, j] = np.sin(other[1, j]) * x[j]
        state = other
        state[0] *= x
        total += np.sum(state**3)
    return total + np.sum(state**2)


def renamed_in_an_inner_loop(x):
    """The other name leaves the array in an inner loop that may not run."""
    state = np.outer(x, x)
    total = 0.0
    for i in range(4):
        other = state
        while total < 4.0 + i:
            other = other * 1.05
            total += np.sum(other**3) + 0.1
            other[0] = np.sin(other[1]) * x
        state = other
    return total + np.sum(state)


def kept_by_turn(x):
    """What a turn makes is written by the next, under the name of the state."""
    state = x.copy()
    y, z = np.cos(x), np.sin(x)
    n = 0
    while n < 3:
        n += 1
        z = state + 0.3 * z
        state[0] = np.sin(state[1] * z[1])
        y = z.copy()
        made = state * y[0]
        made[1] = np.cos(made[0])
        state = made
    return np.sum(state * y) + np.sum(z * z)


def best_so_far(x):
    """The best of several states is written into at last."""
    state = np.outer(x, x)
    total, best = 0.0, state
    for _ in range(4):
        state = np.sin(state) * x
        if np.sum(state) > 0.3 * np.sum(best):
            best = state
        total += np.sum(best**2)
    best[0] = best[1] * x
    return total + np.sum(best**3)


def written_for_nothing(x):
    """A loop writes every element of an array, and nobody reads it."""
    y = x.copy()
    z = np.cos(x)
    total = 0.0
    for _ in range(3):
        total += np.sum(z * z)
        for k in range(z.size):
            z[k] = np.sin(x[k] * x[0])
        z = y.copy()
    return total + np.sum(x * y) + np.sum(z * z)


def filled_then_another(x):
    """An array is filled; later its name means another, which the reverse must not fill."""
    y = x * 0.7
    for k in range(y.size):
        y[k] = np.sin(x[k] * x[0])
    total = np.sum(y)
    for _ in range(2):
        y = x
    return total + np.sum(x * x * x) + np.sum(x * y)


def set_then_another(x):
    """The same, of an array that is set as a whole."""
    y = np.cos(x)
    total = np.sum(y**3)
    y[:] = np.sin(x * x[0])
    total += np.sum(y**2)
    for _ in range(2):
        y = x
    return total + np.sum(x * x * x) + np.sum(x * y)


PROGRAMS = [
    maybe_scaled, many_rows, always_renamed, changed_by_helper, adaptive, out_of_a_loop, view_read_before,
    read_in_a_branch, read_in_the_branch_taken, elements_between_reads, renamed_in_an_inner_loop, kept_by_turn,
    best_so_far, written_for_nothing,
    filled_then_another, set_then_another,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_programs(fun: Callable[[Any], Any], target: str) -> None:
    assert_derivatives(fun, X, target)


@pytest.mark.parametrize("fun", PROGRAMS)
def test_pullbacks(fun: Callable[[Any], Any]) -> None:
    """The sweeps are functions of their own here, and have no memory in common."""
    _, pullback = s2sad.vjp(fun, X.copy(), target="python")
    bar = differences(fun, X)
    for factor in (1.0, 2.0, 1.0):
        np.testing.assert_allclose(pullback(factor)[0], factor * bar, rtol=1e-6, atol=1e-7)


def test_an_array_that_is_shorter_in_each_turn_has_adjoints_of_its_own_lengths() -> None:
    text = compiled_text(name_of_its_own_view, X)
    assert "u_new_bar, u_bar" not in text
    assert "u_bar = np.zeros_like(u)" in text
    assert_derivatives(name_of_its_own_view, X, "cpu")


def cut_in_a_branch(x):
    """A branch asks for a length that it changes."""
    y = x * 1.5
    for _ in range(3):
        if y.size > 2:
            y = y[1:] * x[0]
    return np.sum(y**2)


def grown_in_a_branch(x):
    y = x * 1.5
    if y.size % 2 == 1:
        y = np.append(y, x[0])
    return np.sum(y[::2] * y[1::2])


def bounds_that_change(x):
    y = x * 1.5
    total = 0.0
    for k in range(y.size):
        y = np.append(y, x[k] * y[0])
        total += y[-1] * k
    return total + np.sum(y)


def lengths_exchanged(x):
    """Two arrays of different lengths exchange their names in each turn."""
    y = x[1:] * 0.7
    for _ in range(3):
        y, x = x, y
        y = np.sin(x)
    return np.sum(x) * np.sum(y)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [cut_in_a_branch, grown_in_a_branch, bounds_that_change, lengths_exchanged])
def test_lengths_that_change(fun: Callable[[Any], Any], target: str) -> None:
    assert_derivatives(fun, X, target)


def rows_written(x):
    """Views of the state are written in an inner loop, by their own names."""
    state = np.outer(x, x)
    total = 0.0
    for t in range(4):
        for k in range(2):
            row, other = state[k], state[k + 1]
            for i in range(x.size):
                row[i] = np.sin(other[i] * row[i])
        total += state[0, 1] * state[1, 2]
    return total


def test_a_view_of_an_array_is_no_other_array() -> None:
    fun = s2sad.differentiate(target="python")(rows_written)
    np.testing.assert_allclose(fun.grad(X), differences(rows_written, X), rtol=1e-6)
    text = fun.source("grad")
    assert "np.copy(state)" not in text
    assert "state.shape[0], state.shape[1]" not in text
