"""Calls of `exp` and its kin are made once where their turn keeps something anyway, and again where it does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = 0.5 + np.random.default_rng(3).uniform(size=9)


def sigmoid(z):
    return 1.0 / (1.0 + math.exp(-z))


def gated(x):
    """A recurrent cell of one number: its older state is kept in each turn."""
    cell, hidden = 0.1, 0.2
    for t in range(x.size):
        forget = sigmoid(x[t] + 0.5 * hidden)
        change = math.tanh(hidden * x[t])
        cell = cell * forget + (1.0 - forget) * change
        hidden = sigmoid(x[t] - cell) * math.tanh(cell)
    return hidden + cell


def anomalies(x):
    """Newton's method for Kepler's equation asks for sine and cosine of the same angle."""
    total = 0.0
    for i in range(x.size):
        angle = x[i]
        for _ in range(4):
            angle -= (angle - 0.3 * math.sin(angle) - x[i]) / (1.0 - 0.3 * math.cos(angle))
        total += angle * angle
    return total


def until_small(x):
    """How many turns there are only a run knows."""
    y, turns = x[0], 0
    while turns < 20 and y > 0.4:
        y = y * np.exp(-0.2 * y) + 0.01 * x[turns % x.size]
        turns += 1
    return y * y


def in_a_row(x):
    """One statement makes a call with what another call gives."""
    y = x.copy()
    for i in range(1, y.size):
        y[i] = y[i] * math.exp(math.sin(y[i - 1])) * y[i - 1]
    return np.sum(y)


def written_again(x):
    """The same call, before and after what it is made with has changed."""
    y, s = x.copy(), 1.0
    for i in range(y.size):
        s = s * math.exp(-0.1 * y[i])
        y[i] = y[i] * s
        s = s + math.exp(-0.1 * y[i]) * y[i]
    return s


def capped(x):
    """Nothing of an infinite derivative comes from behind the bound."""
    y = 1.0
    for i in range(x.size):
        y = y * max(0.9 * x[i] ** 0.5, 0.2) + x[i] * y * y * 0.1
    return y


def sums(x):
    """The turns keep nothing."""
    s, total = 0.0, 0.0
    for i in range(x.size):
        s += math.exp(x[i]) * x[i]
    for i in range(x.size):
        total += math.tanh(s * x[i]) * s
    return total


def at_times(x):
    """A branch need not be taken."""
    u = x.copy()
    for i in range(1, u.size):
        jump = u[i] - u[i - 1]
        if jump > 0.1:
            u[i] = u[i - 1] + 0.1 * math.tanh(jump / 0.1)
        else:
            u[i] -= 0.1 * jump * jump
    return np.sum(u * u)


def discounted(x):
    """What does not change from turn to turn is not kept in each."""
    v = x.copy()
    for step in range(x.size - 1, 0, -1):
        for i in range(step):
            v[i] = math.exp(-0.1 * x[0]) * v[i] * v[i + 1]
    return v[0]


def signs(x):
    """Powers of whole numbers are a few products."""
    d = x[0]
    for j in range(x.size):
        d = d * x[j] + (-1.0) ** j * d * d
    return d


KEEPING = [gated, anomalies, until_small, in_a_row, written_again]
PROGRAMS = [*KEEPING, sums, at_times, discounted, signs]
CALLS = ("math.exp(", "np.exp(", "math.tanh(", "math.sin(", "math.cos(")


@pytest.mark.parametrize(
    ("fun", "calls"), [(gated, 4), (anomalies, 2), (until_small, 1), (in_a_row, 3), (written_again, 2)]
)
def test_calls_are_made_once(fun: Callable[..., Any], calls: int) -> None:
    """Those of the function, and one cosine for the derivative of a sine."""
    text = code_of(fun)
    assert sum(text.count(call) for call in CALLS) == calls, text


@pytest.mark.parametrize("fun", [sums, at_times, discounted, signs])
def test_no_more_is_kept(fun: Callable[..., Any]) -> None:
    text = s2sad.differentiate(fun, target="python").source("grad", (X,))
    assert not any(f"{name}_tape" in text or f"{name}_jump_tape" in text for name in ("exp", "tanh", "power")), text


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_nothing_comes_from_behind_a_bound(target: str) -> None:
    x = np.array([0.3, 0.0, 0.2, 1.0])
    found = s2sad.grad(capped, target=target)(x)
    assert np.all(np.isfinite(found)), found


W = np.random.default_rng(5).normal(size=(3, 3))


def recurrent(x):
    """Products of matrices and what is made of them."""
    h = np.zeros(3)
    for t in range(3):
        a = W @ x[3 * t : 3 * t + 3]
        gate = 1.0 / (1.0 + np.exp(-(a + W @ h)))
        h = gate * h + (1.0 - gate) * np.tanh(a * a)
    return np.sum(h * h)


def rebound(x):
    """An array that is the result of a call, turn after turn."""
    h = x.copy()
    for t in range(3):
        h = np.tanh(h * x + np.sin(t))
        if t > 0:
            h = np.exp(-h * h) + h * x[t]
    return np.sum(h * h)


def rebound_and_written(x):
    """Likewise, where a part is written after it."""
    h = x.copy()
    for t in range(3):
        h = np.tanh(h * x)
        h[t] = h[t + 1] * h[t + 2]
    return np.sum(h * h)


def normalised(x):
    """Sums of many elements, kept as one number."""
    v = x.copy()
    for _ in range(3):
        v = v * x + v
        v = v / np.sqrt(np.sum(v * v))
    return np.sum(v * x)


def long_results(x):
    """The turn keeps numbers, not a row of them."""
    s, total = x[0], 0.0
    for t in range(3):
        s = s * np.sin(s) + x[t]
        row = np.exp(s * x)
        total += np.sum(row * row)
    return 1e-3 * total


def mixture(x):
    """A row that a turn fills is read by the adjoint in the same turn."""
    total = 0.0
    for i in range(3):
        terms = np.empty(3)
        for k in range(3):
            terms[k] = -((x[i] - x[3 + k]) ** 2) * x[6 + k]
        top = np.max(terms)
        total += top + np.log(np.sum(np.exp(terms - top)))
    return total


def filled_again(x):
    """The row is written once more before the turn ends."""
    total, row = 0.0, np.zeros(3)
    for i in range(3):
        for k in range(3):
            row[k] = x[i] * x[3 + k]
        size = np.exp(-row)
        row[:] = row * size
        total += np.sum(row * row * size)
    return total


ARRAYS = [recurrent, rebound, rebound_and_written, normalised, long_results, mixture, filled_again]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [*PROGRAMS, *ARRAYS])
def test_derivatives(fun: Callable[..., Any], target: str) -> None:
    assert_derivatives(fun, X, target)


@pytest.mark.parametrize("fun", [*KEEPING, *ARRAYS])
def test_pullback_of_its_own(fun: Callable[..., Any]) -> None:
    value, pullback = s2sad.vjp(fun, X, target="python")
    np.testing.assert_allclose(pullback(1.0)[0], s2sad.grad(fun, target="python")(X), rtol=1e-13)
    np.testing.assert_allclose(value, fun(X), rtol=1e-13)


def code_of(fun: Callable[..., Any]) -> str:
    """Return the derivative without its comments."""
    text = s2sad.differentiate(fun, target="python").source("grad", (X,))
    return "\n".join(line for line in text.splitlines() if not line.strip().startswith("#"))


def test_products_are_made_once() -> None:
    text = code_of(recurrent)
    assert text.count("W @ x[") == 1, text
    assert text.count("np.exp(") == 1, text


def test_a_result_is_read_where_it_is() -> None:
    text = code_of(rebound)
    assert text.count("np.tanh(") == 1, text


def test_long_results_are_made_again() -> None:
    text = code_of(long_results)
    assert "sin_s_tape" in text, text
    assert "exp_tape" not in text, text
    assert "row_tape" not in text, text


def test_a_row_of_the_same_turn_is_not_kept() -> None:
    assert "_tape" not in code_of(mixture)
