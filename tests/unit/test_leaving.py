"""The reverse of a choice is left once what was chosen has been found; where more is left to do, it is not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from tests.differences import differences

X = np.array([[0.7, 0.2, 1.1], [0.4, 0.9, 0.3], [1.3, 0.6, 0.8], [0.5, 1.2, 0.1]])


def nearest(x):
    total = 0.0
    for i in range(x.shape[1]):
        best = math.inf
        for k in range(x.shape[0]):
            square = (x[k, i] - 0.5) ** 2
            if square < best:
                best = square
        total += best * x[0, 0]
    return total


def largest_step(x):
    """A choice that reaches several arrays, through an inner loop."""
    total, weights = 0.0, x[0] * x[0]
    for i in range(x.shape[0]):
        best = -1.0
        for k in range(x.shape[0]):
            product = 0.0
            for j in range(x.shape[1]):
                product += x[i, j] * math.sin(x[k, j]) * weights[j]
            if product > best:
                best = product
        total += best * best
    return total


def first_that_is_large(x):
    total = 0.0
    for i in range(x.shape[0]):
        found = x[i, 0] * 0.1
        for j in range(x.shape[1]):
            if x[i, j] > 0.65:
                found = math.exp(x[i, j]) * x[i, 0]
        total += found * found
    return total


CHOSEN = (nearest, largest_step, first_that_is_large)


def more_beside(x):
    """What is added beside the choice is added in every turn."""
    total = 0.0
    for i in range(x.shape[1]):
        best, rest = math.inf, 0.0
        for k in range(x.shape[0]):
            square = (x[k, i] - 0.5) ** 2
            if square < best:
                best = square
                rest += x[k, i] * x[0, i]
        total += best * rest
    return total


def all_of_them(x):
    """Each turn has its share of the older value."""
    total = 0.0
    for i in range(x.shape[1]):
        best = 3.0
        for k in range(x.shape[0]):
            if x[k, i] < best:
                best = 0.5 * best + 0.5 * x[k, i]
        total += best * best
    return total


def kept_for_the_turns(x):
    """What was chosen is needed as it was in every turn."""
    total = 0.0
    for i in range(x.shape[1]):
        best = 1.5
        for k in range(x.shape[0]):
            product = best * x[k, i]
            total += product * product
            if product < best:
                best = product
    return total


def counted(x):
    """The place of what was chosen is read behind the loop."""
    total = 0.0
    for i in range(x.shape[1]):
        best, at = math.inf, 0
        for k in range(x.shape[0]):
            if x[k, i] * x[k, i] < best:
                best, at = x[k, i] * x[k, i], k
        total += best * x[at, 0]
    return total


def zero_on_one_path(x):
    """Not every turn that is taken takes all there is."""
    total = 0.0
    for i in range(x.shape[1]):
        best = 0.3
        for k in range(x.shape[0]):
            if x[k, i] > 0.2:
                if x[k, i] > 0.6:
                    best = x[k, i] ** 2
                else:
                    best = best * x[k, i]
        total += best * best
    return total


@pytest.mark.compiled
@pytest.mark.parametrize("fun", [*CHOSEN, more_beside, all_of_them, kept_for_the_turns, counted, zero_on_one_path])
def test_gradient(fun):
    want = differences(fun, X)
    np.testing.assert_allclose(s2sad.grad(fun)(X), want, rtol=1e-6, atol=1e-8)
    value, bar = s2sad.value_and_grad(fun)(X)
    np.testing.assert_allclose(value, fun(X), rtol=1e-13)
    np.testing.assert_allclose(bar, want, rtol=1e-6, atol=1e-8)
    hessian = s2sad.hessian(fun, target="python")(X)
    np.testing.assert_allclose(s2sad.hessian(fun)(X), hessian, rtol=1e-10, atol=1e-10)


def text_of(fun):
    return s2sad.differentiate(fun).source("grad", types="float64[:, :]")


@pytest.mark.parametrize("fun", CHOSEN)
def test_the_loop_is_left(fun):
    text = text_of(fun)
    assert text.count("break") == 1, text


@pytest.mark.parametrize("fun", [more_beside, all_of_them, kept_for_the_turns, zero_on_one_path])
def test_the_loop_goes_on(fun):
    text = text_of(fun)
    assert "break" not in text, text
