"""Lists of lists that the sweeps hand on: between `vjp` and its pullback, `linearize` and its map."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

import s2sad

TABLE = [[], [0.5], [0.0, 0.75]]


def stages(y, h):
    """Every step keeps its list of stages."""
    for _ in range(3):
        slopes = []
        for row in TABLE:
            at = y.copy()
            for k, factor in enumerate(row):
                at = at + h * factor * slopes[k]
            slopes.append(np.sin(at) * at)
        y = y + h * (2.0 * slopes[0] + 3.0 * slopes[1] + 4.0 * slopes[2]) / 9.0
    return y @ y


def delayed(x, b):
    """A window of three, of which every turn makes another."""
    window = deque([0.0] * 3, maxlen=3)
    total = 0.0
    for x_n in x:
        window.appendleft(x_n)
        y_n = sum(b_k * w_k for b_k, w_k in zip(b, window))
        total += y_n * y_n * window[2]
    return total


PROGRAMS: list[tuple[Any, tuple[Any, ...]]] = [
    (stages, (np.array([0.4, -0.7, 1.1]), 0.3)),
    (delayed, (np.array([0.3, -0.2, 0.9, 0.5, -1.0]), np.array([1.0, 0.5, -0.25]))),
]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(("fun", "args"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_halves_agree_with_the_gradient(fun, args, target):
    where = tuple(range(len(args)))
    expected = s2sad.grad(fun, argnums=where, target="python")(*args)
    value, pullback = s2sad.vjp(fun, *args, target=target)
    assert value == pytest.approx(float(fun(*args)), rel=1e-14)
    for factor in (1.0, -2.0):  # what is kept serves more than once
        for bar, one in zip(pullback(factor), expected, strict=True):
            np.testing.assert_allclose(bar, factor * np.asarray(one), rtol=1e-12, atol=1e-14)
    for at, one in enumerate(expected):
        dots = [np.zeros_like(a) for a in args]
        dots[at] = np.ones_like(args[at])
        slope = s2sad.linearize(fun, *args, target=target)[1](*dots)
        assert slope == pytest.approx(float(np.sum(one)), rel=1e-12)


def test_loops_without_turns():
    for target in ("python", "cpu"):
        value, pullback = s2sad.vjp(delayed, np.zeros(0), np.ones(2), target=target)
        x_bar, b_bar = pullback(1.0)
        assert value == 0.0
        assert x_bar.shape == (0,)
        np.testing.assert_array_equal(b_bar, [0.0, 0.0])


def test_pullbacks_in_a_batch():
    y, h = PROGRAMS[0][1]
    _, pullback = s2sad.vjp(stages, y, h)
    found = s2sad.vmap(pullback)(np.array([1.0, 2.0, -1.0]))
    expected = pullback(1.0)
    for bars, one in zip(found, expected, strict=True):
        np.testing.assert_allclose(bars, np.multiply.outer([1.0, 2.0, -1.0], one), rtol=1e-12)


def test_the_text_says_how_they_go():
    args = PROGRAMS[1][1]
    assert "flat_list(" in s2sad.differentiate(delayed).source("fwd", args)
    assert "nested_list(" in s2sad.differentiate(delayed).source("bwd", args)
