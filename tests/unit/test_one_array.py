"""Compiled, what a loop makes of an array that is read for the last time there stays in that array."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives, differences

X = np.array([0.7, 1.4, -0.6, 2.1])
ROWS = np.random.default_rng(0).normal(size=(3, 4))


def log_sum_exp(x):
    largest = np.max(x)
    return largest + np.log(np.sum(np.exp(x - largest)))


def with_a_name(x):
    largest = np.max(x)
    weight = np.exp(x - largest)
    return largest + np.log(np.sum(weight))


def in_two_dimensions(x):
    weight = np.exp(x)
    return np.log(np.sum(weight)) * 2.0


def read_again_behind(x):
    e = np.exp(x)
    total = np.sum(e)
    f = e / total
    return np.sum(f * f) + total


def neighbours_are_read(x):
    e = np.exp(x)
    total = np.sum(e)
    f = np.zeros_like(x)
    for i in range(1, x.size):
        f[i] = e[i - 1] / total
    return np.sum(f**2)


def given_to_a_helper(x):
    e = np.exp(x)
    return _summed(e) + np.log(np.sum(e))


def _summed(e):
    total = 0.0
    for i in range(e.size):
        total += e[i] ** 2 * e[0]
    return total


def returned_as_well(x):
    e = np.exp(x - np.max(x))
    return np.log(np.sum(e)), e


EVERY = [
    (log_sum_exp, X), (with_a_name, X), (in_two_dimensions, ROWS), (read_again_behind, X), (neighbours_are_read, X),
    (given_to_a_helper, X),
]  # fmt: skip


@pytest.mark.parametrize(("fun", "x"), EVERY)
def test_derivatives(fun, x):
    assert_derivatives(fun, x, "cpu")
    want = differences(s2sad.grad(fun, target="python"), x)
    np.testing.assert_allclose(s2sad.hessian(fun)(x), want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("fun", "x"), EVERY)
def test_what_was_returned_is_not_written_by_the_next_call(fun, x):
    gradient = s2sad.grad(fun)
    first = gradient(x)
    kept = first.copy()
    second = gradient(2.0 * x)
    np.testing.assert_array_equal(first, kept)
    assert not np.shares_memory(first, second)
    assert not np.shares_memory(first, x)


def test_what_is_returned_beside_is_an_array_of_its_own():
    (_, aux), gradient = s2sad.value_and_grad(returned_as_well, has_aux=True)(X)
    np.testing.assert_allclose(aux, np.exp(X - np.max(X)), rtol=1e-14)
    np.testing.assert_allclose(gradient, differences(lambda x: returned_as_well(x)[0], X), rtol=1e-6)
    assert not np.shares_memory(aux, gradient)


def text_of(fun):
    gradient = s2sad.grad(fun)
    gradient(X)
    return "".join(str(made.entry.derivative.text) for _, made in gradient.store.known())


def test_the_text():
    assert text_of(log_sum_exp).count("np.empty") == 1
    assert "x_bar[i] *= ratio" in text_of(log_sum_exp)
    assert "x_bar = weight\n" in text_of(with_a_name)
    assert "e = " in text_of(given_to_a_helper)
