"""An array of which the adjoint needs the lengths alone is made again in its turn, and not kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.random.default_rng(8).normal(size=(4, 5))


def slope_into(y, out):
    for j in range(y.size):
        out[j] = np.sin(y[j]) + 0.3 * y[j - 1]


def euler(x):
    """The slope of each step is written by a helper, and added."""
    y = x[0].copy()
    for i in range(x.shape[0]):
        slope = np.zeros(y.size)
        slope_into(y, slope)
        y += 0.1 * slope
    return np.sum(y * y)


def midpoint_while(x):
    """How many steps there are only a run knows."""
    y = x[0].copy()
    t = 0.0
    while t < 1.0:
        k1, k2 = np.empty(y.size), np.empty_like(y)
        slope_into(y, k1)
        slope_into(y + 0.1 * k1, k2)
        y += 0.2 * k2
        t += 0.2 + 0.01 * y[0] ** 2
    return np.sum(y * y)


def shrinking(x):
    """The length is another one in each turn, and the name of it changes before the turn ends."""
    n = x.shape[1]
    total = 0.0
    while n > 1:
        slope = np.empty(n)
        slope_into(x[0, :n].copy(), slope)
        n -= 1
        for j in range(n):
            total += slope[j] * slope[j + 1]
    return total


def shrinking_sums(x):
    """Likewise, where only the lengths are needed."""
    n = x.shape[1]
    total = 0.0
    while n > 1:
        slope = np.empty(n)
        slope_into(x[0, :n].copy(), slope)
        n -= 1
        for j in range(n):
            total += slope[j] + 2.0 * slope[j + 1]
    return total


def grown(x):
    """An array that takes the place of another, longer, in each turn is measured before that."""
    y = x[0].copy()
    total = 0.0
    for _ in range(3):
        slope = np.empty_like(y)
        slope_into(y, slope)
        y = np.concatenate((y, np.cos(slope[:2])))
        total += np.sum(slope) * 0.5
    return total + np.sum(y)


def in_a_branch(x):
    y = x[0].copy()
    for i in range(x.shape[0]):
        if x[i, 0] > -0.5:
            slope = np.empty(y.size)
            slope_into(y, slope)
            y += 0.1 * slope * x[i, 1]
    return np.sum(y)


def square_into(y, out):
    """The adjoint of this reads what is written here."""
    for j in range(y.size):
        out[j] = np.exp(y[j])
        out[j] = out[j] * out[j - 1]


def contents_needed(x):
    y = x[0].copy()
    for i in range(x.shape[0]):
        out = np.full(y.size, 0.5)
        work = np.zeros(y.size)
        square_into(0.1 * y, out)
        slope_into(out, work)
        y += 0.1 * work * work
    return np.sum(y)


def seen_after(x):
    """The array of the last turn outlives the loop."""
    y = x[0].copy()
    slope = np.zeros(y.size)
    for i in range(x.shape[0]):
        slope = np.zeros(y.size)
        slope_into(y, slope)
        y += 0.1 * slope
    return np.sum(y) + np.sum(slope * slope)


PROGRAMS = [euler, midpoint_while, shrinking, shrinking_sums, grown, in_a_branch, contents_needed, seen_after]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_derivatives(fun: Callable[..., Any], target: str) -> None:
    assert_derivatives(fun, X, target)


@pytest.mark.parametrize("fun", [euler, midpoint_while, shrinking_sums, in_a_branch])
def test_pullback_of_its_own(fun: Callable[..., Any]) -> None:
    value, pullback = s2sad.vjp(fun, X, target="python")
    np.testing.assert_allclose(pullback(1.0)[0], s2sad.grad(fun, target="python")(X), rtol=1e-13)
    np.testing.assert_allclose(value, fun(X), rtol=1e-13)


@pytest.mark.parametrize(("fun", "names"), [(euler, ["slope"]), (midpoint_while, ["k1", "k2"])])
def test_nothing_is_kept(fun: Callable[..., Any], names: list[str]) -> None:
    text = s2sad.differentiate(fun, target="python").source("grad", (X,))
    for name in names:
        assert text.count(f"{name} = np.") == 2, text
        assert f"{name}_tape" not in text
