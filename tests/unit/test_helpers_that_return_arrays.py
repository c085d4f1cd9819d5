"""Helpers that return arrays, called in loops: what is kept lies in arrays, and nothing is copied only to be read."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import also_on, assert_derivatives

X = np.array([0.3, 1.2, 0.7, 2.1])


def bent(x, w):
    y = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = np.tanh(x[i] * w[i])
    return y


def turned(x, w):
    h = np.tanh(x) * w
    for _ in range(3):
        h = np.sin(h) * x
    return h


def layers(x):
    w = 0.5 * x
    for _ in range(3):
        x = bent(x, w)
        x = turned(x, w)
    return np.sum(x)


def part_of(x):
    return x[::2]


def parts(x):
    total = 0.0
    for _ in range(2):
        y = part_of(x)
        total += np.sum(y * y)
        x = np.sin(x) * y[0]
    return total


def itself_or_not(x, k):
    if k > 1:
        return x
    return x * x


def sometimes_itself(x):
    total = 0.0
    for k in range(4):
        y = itself_or_not(x, k)
        total += np.sum(np.sin(y))
        x = y * 0.7
    return total


def shorter(x):
    return x[1:] * x[:-1]


def shorter_each_time(x):
    total = 0.0
    for _ in range(2):
        x = shorter(x)
        total += np.sum(np.sin(x))
    return total


def scaled(x, y):
    x *= y[0]
    return np.cos(x)


def written_by_the_helper(x):
    own = x * 1.0
    for _ in range(2):
        y = scaled(own, x)
        own = y + own
    return np.sum(own * own)


PROGRAMS = [layers, parts, sometimes_itself, shorter_each_time, written_by_the_helper]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_derivatives(fun, target):
    assert_derivatives(fun, X, also_on(target, fun, one_in=1))


@pytest.mark.parametrize("fun", PROGRAMS)
def test_second_derivatives(fun):
    hessian = s2sad.hessian(fun, target="python")(X)
    step = 1e-6
    for k in range(X.size):
        near = [s2sad.grad(fun, target="python")(X + d * step * np.eye(X.size)[k]) for d in (1, -1)]
        np.testing.assert_allclose(hessian[k], (near[0] - near[1]) / (2 * step), rtol=1e-5, atol=1e-5)


def test_what_helpers_give_is_kept_in_arrays():
    made = str(s2sad.differentiate(layers).source("grad", (X,)))
    assert "bent_value_tape = np.empty((3, x.shape[0]))" in made, made
    assert "_tape = []" not in made, made
    assert "np.copy(x)" not in made, made


def test_cotangents_that_are_only_read_are_not_copied():
    made = str(s2sad.differentiate(layers).source("grad", (X,)))
    begin = made.index("def bent_bwd(")
    own = made[begin : made.index("def ", begin + 4)]
    assert "result_bar[i]" in own, own
    assert "y_bar" not in own, own


def test_cotangents_stay_as_they_are():
    def swept(x):
        return bent(turned(x, x), x)

    _, pullback = s2sad.vjp(swept, X)
    seed = np.array([1.0, -2.0, 0.5, 3.0])
    first = pullback(seed)[0]
    np.testing.assert_array_equal(seed, [1.0, -2.0, 0.5, 3.0])
    np.testing.assert_array_equal(pullback(seed)[0], first)
