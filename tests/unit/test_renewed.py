"""Additions to an element that was set just before save nothing; where anything looks at it meanwhile, they do."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from s2sad.transform import adjoint
from tests.differences import differences

X = np.array([0.7, -0.4, 1.1])


def stages(x):  # the sums alone
    middle = np.zeros(3)
    t, total = 0.0, 0.0
    while t < 1.0:
        t += 0.3 + 0.1 * x[0] * x[0]
        for i in range(3):
            middle[i] = t * x[i]
            for r in range(i):
                middle[i] += x[r] * math.sin(t)
        for i in range(3):
            total += math.sin(middle[i]) * middle[i - 1]
    return total


def looked_at(x):  # the cosine reads what an addition is about to change
    middle = np.zeros(3)
    t, total = 0.0, 0.0
    while t < 1.0:
        t += 0.3 + 0.1 * x[0] * x[0]
        for i in range(3):
            middle[i] = t * x[i]
            for r in range(i):
                total += math.cos(middle[i])
                middle[i] += x[r] * math.sin(t)
        for i in range(3):
            total += math.sin(middle[i]) * middle[i - 1]
    return total


def its_own_value(x):  # what is added is made of the element
    middle = np.zeros(3)
    t, total = 0.0, 0.0
    while t < 1.0:
        t += 0.3 + 0.1 * x[0] * x[0]
        for i in range(3):
            middle[i] = t * x[i]
            for r in range(i):
                middle[i] += x[r] * math.sin(middle[i])
        for i in range(3):
            total += math.sin(middle[i]) * middle[i - 1]
    return total


def another_element(x):  # the index moves between the two
    middle = np.zeros(4)
    t, total = 0.0, 0.0
    while t < 1.0:
        t += 0.3 + 0.1 * x[0] * x[0]
        for i in range(3):
            k = i
            middle[k] = t * x[i]
            while k < 3:
                k += 1
                middle[k] += x[i] * math.sin(t)
        for i in range(4):
            total += math.sin(middle[i]) * middle[i - 1]
    return total


def by_another_name(x):  # a view reads it
    middle = np.zeros(3)
    view = middle[:]
    t, total = 0.0, 0.0
    while t < 1.0:
        t += 0.3 + 0.1 * x[0] * x[0]
        for i in range(3):
            middle[i] = t * x[i]
            total += math.cos(view[i])
            middle[i] += x[i] * math.sin(t)
        for i in range(3):
            total += math.sin(middle[i]) * view[i - 1]
    return total


def on_one_path(x):  # the element is not set in every turn
    middle = np.ones(3)
    t, total = 0.0, 0.0
    while t < 1.0:
        t += 0.3 + 0.1 * x[0] * x[0]
        for i in range(3):
            if x[i] * t > 0.2:
                middle[i] = t * x[i]
            middle[i] += x[i] * math.sin(t)
        for i in range(3):
            total += math.sin(middle[i]) * middle[i - 1]
    return total


def its_result(x):  # the adjoint of `exp` reads what it has stored
    middle = np.zeros(3)
    t, total = 0.0, 0.0
    while t < 1.0:
        t += 0.3 + 0.1 * x[0] * x[0]
        for i in range(3):
            middle[i] = math.exp(t * x[i])
            middle[i] -= x[i] * math.sin(t)
        for i in range(3):
            total += math.sin(middle[i]) * middle[i - 1]
    return total


def counted_by_an_array(x):  # the array of indices changes
    middle = np.zeros(3)
    at = np.zeros(1, dtype=np.int64)
    t, total = 0.0, 0.0
    while t < 1.0:
        t += 0.3 + 0.1 * x[0] * x[0]
        for i in range(2):
            at[0] = i
            middle[at[0]] = t * x[i]
            at[0] = i + 1
            middle[at[0]] += x[i] * math.sin(t)
        for i in range(3):
            total += math.sin(middle[i]) * middle[i - 1]
    return total


PROGRAMS = [
    stages, looked_at, its_own_value, another_element, by_another_name, on_one_path, its_result, counted_by_an_array,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_gradient(fun, target):
    value, gradient = s2sad.value_and_grad(fun, target=target)(X)
    np.testing.assert_allclose(value, fun(X), rtol=1e-13)
    np.testing.assert_allclose(gradient, differences(fun, X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("fun", PROGRAMS)
def test_split_sweeps_and_second_derivatives(fun):
    bar = differences(fun, X)
    np.testing.assert_allclose(s2sad.vjp(fun, X, target="python")[1](1.0)[0], bar, rtol=1e-6, atol=1e-6)
    curvature = differences(s2sad.grad(fun, target="python"), X)
    np.testing.assert_allclose(s2sad.hessian(fun, target="python")(X), curvature, rtol=1e-5, atol=1e-5)


def test_text(monkeypatch):
    """One tape of the element where only sums stand between, two where something looks at it."""
    monkeypatch.setattr(adjoint, "pays", lambda *_: False)  # a turn that is run again has other tapes
    assert s2sad.differentiate(stages).source("grad", types="float64[:]").count("_tape.append(middle[i])") == 1
    text = s2sad.differentiate(looked_at).source("grad", types="float64[:]")
    assert text.count(".append(middle[i])") == 2
