"""Adjoints of arrays of which the lengths are not known to be one: what a loop reaches is set, the rest is zero."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import differences


def matched(x, y):
    total = 0.0
    for i in range(y.size):
        total += np.sin(x[i]) * y[i] ** 2
    return total


def matched_until(x, y):
    total = 0.0
    for i in range(y.size):
        if total > 1.0:
            break
        total += x[i] * y[i]
    return total


def matched_with_a_shorter_one_in_turns(x, y):
    total = 0.0
    for i in range(y.size):
        y = y[:-1] if i == 2 else y
        total += x[i] * y[0]
    return total


@pytest.mark.parametrize("fun", [matched, matched_until, matched_with_a_shorter_one_in_turns])
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_lies_behind_is_zero(fun, target):
    y = np.array([0.7, -0.4, 1.2, 0.35])
    for length in (4, 9):
        x = np.linspace(0.3, 1.4, length)
        np.full(length, np.nan)  # what is freed here may be given to the adjoint
        got = s2sad.grad(fun, argnums=(0, 1), target=target)(x, y)
        np.testing.assert_allclose(got[0], differences(lambda x: fun(x, y), x), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(got[1], differences(lambda y, x=x: fun(x, y), y), rtol=1e-6, atol=1e-8)


def test_the_text_sets_what_the_loop_reaches():
    text = s2sad.differentiate(matched).source("grad", types=(np.zeros(5), np.zeros(4)))
    assert "x_bar = np.empty_like(x)" in text
    assert "for i_2 in range(y.size, x_bar.shape[0]):\n        x_bar[i_2] = 0.0" in text
    assert "zeros" not in text


def test_nothing_to_reach():
    got = s2sad.grad(matched)(np.ones(3), np.zeros(0))
    np.testing.assert_array_equal(got, np.zeros(3))
