"""Cheap items are worked out again in compiled loops, and an array that is only copied is the copy."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, -0.4, 1.3, 0.9, -1.1, 0.2])


def log_sum_exp(x):
    largest = np.max(x)
    return largest + np.log(np.sum(np.exp(x - largest)))


def softmax(x):
    shifted = np.exp(x - np.max(x))
    return np.sum(np.arange(6.0) * shifted / np.sum(shifted))


def rows(x):
    a = x.reshape(2, 3)
    shifted = np.exp(a - np.max(a, axis=1, keepdims=True))
    return np.sum(shifted / np.sum(shifted, axis=1, keepdims=True) * np.arange(6.0).reshape(2, 3))


def changed_between(x):
    """What the mask was made of is overwritten before it is used again."""
    y = x * 2.0
    mask = (y > 0.5) * 1.0
    total = np.sum(mask * y)
    y[:] = -y
    return total + np.sum(mask * y * y)


def twice_the_largest(x):
    top = np.max(x)
    return top * top + np.max(x * x) - np.sum(x * (x == top))


def in_turns(x):
    total = 0.0
    y = x.copy()
    for k in range(3):
        largest = np.max(y)
        total += largest + np.log(np.sum(np.exp(y - largest)))
        y = y * (0.5 + 0.1 * k) + 0.01 * total
    return total


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [log_sum_exp, softmax, rows, changed_between, twice_the_largest, in_turns])
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)


def test_neither_copy_nor_mask_is_kept():
    derivative = s2sad.differentiate(log_sum_exp, target="cpu")
    derivative.grad(X)
    text = derivative.source("grad")
    assert "np.copy" not in text
    assert "hit[" not in text


def differences_in_place(x):
    p = x.copy()
    p[1:] -= p[:-1]
    return np.sum(p * p)


def test_what_is_copied_is_not_copied_again():
    derivative = s2sad.differentiate(differences_in_place, target="cpu")
    np.testing.assert_allclose(derivative.grad(np.arange(4.0)), [-2.0, 0.0, 0.0, 2.0])
    assert "np.copy(np.copy(" not in derivative.source("grad")
