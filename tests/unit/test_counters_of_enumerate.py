"""Loops over `enumerate` count by the name that the text gives, also where it had another value before."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.3, 0.9, -0.4])


def counted_before(x):
    y = x * 1.0
    for _ in range(3):
        for i in range(len(y)):
            y[i] = y[i] * y[i - 1]
    out = np.zeros(len(y))
    for i, v in enumerate(y):
        out[i] = v
        if out[i] < 0.0:
            out[i] *= 0.1
    return np.sum(out**2)


def another_value_in_the_body(x):
    s = 0.0
    for i, v in enumerate(x):
        i = i * 2
        s += v * x[i % 3]
    return s * (i + 1)


def a_number_with_a_derivative_before(x):
    i = x[0] * 2.0
    s = i
    for i, v in enumerate(x):
        s += v * i
    return s * i


def without_a_turn(x):
    i = 3
    s = 0.0
    for i, v in enumerate(x[:0]):
        s += v
    return x[0] * i + s


def around_another(x):
    s = 0.0
    for i in range(3):
        for i, v in enumerate(x):
            s += v * (i + 1)
        s *= i
    return s


@pytest.mark.parametrize("program", [
    counted_before, another_value_in_the_body, a_number_with_a_derivative_before, without_a_turn, around_another,
])  # fmt: skip
@pytest.mark.parametrize("target", ["cpu", "python"])
def test_as_in_python(program, target):
    assert_derivatives(program, X, target)


def test_the_text_counts_by_the_name():
    derivative = s2sad.differentiate(counted_before, target="python")
    derivative.grad(X)
    source = derivative.source("grad")
    assert "for i in range(" in source
    assert "i_2" not in source
