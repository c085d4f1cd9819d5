"""`_` of a user's loop is `step` where a tape is read by it; otherwise names stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.3, -0.7, 1.1])


def stepped(x):
    y = x.copy()
    for _ in range(3):
        for j in range(y.size):
            y[j] = np.sin(y[j]) + y[j - 1]
    return np.sum(y)


def nested(x):
    y = x.copy()
    for _ in range(3):
        y[0] = np.sin(y[0])
        for _ in range(2):
            y[1] = np.cos(y[1] * y[0])
    return y[0] * y[1] + y[2]


def one_after_another(x):
    y = x.copy()
    step = 0.5
    for _ in range(3):
        y[0] = np.sin(y[0]) * step
    for _ in range(2):
        y[1] = np.cos(y[1]) * y[0]
    return np.sum(y)


def counted_with(x):
    """The user's own reading of it is left to the user."""
    y = x.copy()
    for _ in range(3):
        y[_] = np.sin(y[_] * y[0])
    return np.sum(y)


def linear(x):
    """No tape, no name."""
    total = 0.0
    for _ in range(3):
        total += 2.0 * x[1]
    return total


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [stepped, nested, one_after_another, counted_with, linear])
def test_derivatives(fun: Callable[..., Any], target: str) -> None:
    assert_derivatives(fun, X, target)


@pytest.mark.parametrize(
    ("fun", "loops", "others"),
    [
        (stepped, ["for step in range(3)", "for step in range(2, -1, -1)", "y_j_tape[step, j]"], ["for _ in"]),
        (nested, ["for step in range(2)", "for step in range(1, -1, -1)", ", step]"], ["for _ in", "[_"]),
        (one_after_another, ["for turn in range(3)", "for turn in range(2)", "step = 0.5"], ["for _ in", "turn_2"]),
        (counted_with, ["for _ in range(3)", "y[_]"], ["step"]),
        (linear, [], ["step"]),
    ],
)
def test_names(fun: Callable[..., Any], loops: list[str], others: list[str]) -> None:
    text = s2sad.differentiate(fun, target="python").source("grad", (X,))
    for part in loops:
        assert part in text, text
    for part in others:
        assert part not in text, text
