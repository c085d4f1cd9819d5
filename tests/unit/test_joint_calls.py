"""A helper's value and its adjoint are one call where the cotangent is known first; else two, and the same numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from tests.differences import also_on, assert_derivatives

X = np.array([0.3, 1.2, 0.7, 2.1, 0.9])


def mixture(v, x):
    total = 0.0
    for k in range(x.shape[0]):
        d = v - x[k]
        total += math.exp(-0.5 * d * d)
    return math.log(total)


def log_likelihood(x):
    total = 0.0
    for i in range(7):
        total += mixture(0.3 * i, x)
    return total


def weighed(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * mixture(x[i], x)
    return total


def at_two_places(x):
    return mixture(x[0], x) - 2.0 * mixture(x[1] * x[2], x) + mixture(0.5, x)


def on_one_side(x):
    total = 0.0
    for i in range(4):
        if x[i] > 0.8:
            total += 3.0 * mixture(x[i], x)
        else:
            total -= x[i]
    return total


def under_a_condition(x):
    if x.shape[0] > 3:
        total = 0.0
        for i in range(7):
            total += mixture(0.3 * i, x)
    else:
        total = x[0]
    return total


def on_rows(x):
    rows = np.outer(x, x)
    total = 0.0
    for i in range(x.shape[0]):
        total += mixture(0.5, rows[i])
    return total


ONE = [log_likelihood, weighed, on_one_side, under_a_condition, on_rows]


def squared(x):
    total = 0.0
    for i in range(7):
        total += mixture(0.3 * i, x) ** 2
    return total


def one_needs_another(x):
    a = mixture(0.3, x)
    return mixture(a, x) + mixture(0.5 * a, x)


def from_turn_to_turn(x):
    v = 0.1
    for _ in range(4):
        v = mixture(v, x)
    return v


def careful(v, x):
    total = 0.0
    for k in range(x.shape[0]):
        if x[k] < -9.0:
            raise ValueError("too small")
        total += (v - x[k]) ** 2
    return total


def may_raise(x):
    total = 0.0
    for i in range(4):
        total += careful(0.3 * i, x)
    return total


def changed_between(x):
    own = x * 2.0
    total = 0.0
    for i in range(4):
        total += mixture(0.5, own)
        own[i] = math.sin(own[i]) * x[0]
        total += mixture(0.5, own)
    return total


def taken_out(x, k):
    best = 0.0
    for i in range(x.shape[0]):
        best += x[i] * x[k]
    x[k] = 0.0
    return best


def writes(x):
    own = x * 1.0
    total = 0.0
    for i in range(3):
        total += taken_out(own, i)
    return total


def decides(x):
    total = 0.0
    scale = 1.0
    for i in range(5):
        v = mixture(0.3 * i, x)
        total += scale * v
        if v > 1.0:
            scale = -2.0
    return total


OTHERS = [at_two_places, squared, one_needs_another, from_turn_to_turn, may_raise, changed_between, writes, decides]


def text(fun, mode):
    return str(s2sad.differentiate(fun).source(mode, (X,)))


@pytest.mark.parametrize("fun", ONE)
def test_one_call_gives_the_value_and_adds_to_the_adjoints(fun):
    made = text(fun, "value_and_grad")
    assert "mixture_fwd_bwd(" in made, made
    assert "def mixture(" not in made, made
    assert "def mixture_bwd(" not in made, made


@pytest.mark.parametrize("fun", ONE)
def test_where_no_value_is_asked_for_none_is_given(fun):
    made = text(fun, "grad")
    assert "_fwd_bwd(" not in made or fun is weighed, made


@pytest.mark.parametrize("fun", [squared, from_turn_to_turn, may_raise, changed_between, writes])
def test_two_calls_stay_two(fun):
    assert "_fwd_bwd(" not in text(fun, "value_and_grad")


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", ONE + OTHERS)
def test_derivatives(fun, target):
    target = also_on(target, fun, one_in=2)
    value, gradient = s2sad.value_and_grad(fun, target=target)(X)
    np.testing.assert_allclose(value, fun(X), rtol=1e-13)
    np.testing.assert_allclose(gradient, s2sad.grad(fun, target=target)(X), rtol=1e-12, atol=1e-14)
    assert_derivatives(fun, X, target)


@pytest.mark.parametrize("fun", ONE + OTHERS)
def test_second_derivatives(fun):
    hessian = s2sad.hessian(fun, target="python")(X)
    step = 1e-6
    for k in range(X.size):
        near = [s2sad.grad(fun, target="python")(X + d * step * np.eye(X.size)[k]) for d in (1, -1)]
        np.testing.assert_allclose(hessian[k], (near[0] - near[1]) / (2 * step), rtol=1e-5, atol=1e-5)
