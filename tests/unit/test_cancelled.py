"""No derivative flows through what is subtracted from exponents and given back: the shift of a log-sum-exp."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from tests.differences import also_on, assert_derivatives, differences

X = np.array([0.7, 1.4, -0.6, 2.1])
ROWS = np.random.default_rng(0).normal(size=(3, 4))


def log_sum_exp(x):
    largest = np.max(x)
    return largest + np.log(np.sum(np.exp(x - largest)))


def in_loops(x):
    largest = x[0]
    for v in x:
        if v > largest:
            largest = v
    total = 0
    for v in x:
        total += math.exp(v - largest)
    return largest + math.log(total)


def softmax_twice(x):
    return np.sum(np.exp(x - np.max(x)) / np.sum(np.exp(x - np.max(x))) * x)


def in_place(x):
    y = x.copy()
    y -= np.max(y)
    e = np.exp(y)
    e /= np.sum(e)
    return e @ x


def over_rows(x):
    e = np.exp(x - np.max(x, axis=1)[:, None])
    return np.sum(np.log(e[:, 1] / np.sum(e, axis=1)))


def log_softmax(x):
    z = x - np.max(x, axis=-1, keepdims=True)
    return np.sum((z - np.log(np.sum(np.exp(z), axis=-1, keepdims=True)))[:, 0] * np.arange(3))


def rows_in_loops(x):
    e = np.empty(x.shape[1])
    total = 0.0
    for i in range(x.shape[0]):
        largest = x[i, 0]
        for j in range(x.shape[1]):
            largest = max(largest, x[i, j])
        norm = 0.0
        for j in range(x.shape[1]):
            e[j] = math.exp(x[i, j] - largest)
            norm += e[j]
        for j in range(x.shape[1]):
            e[j] /= norm
        for j in range(x.shape[1]):
            total += e[j] * x[i, j] ** 2
    return total


def forward_algorithm(x):
    a = x[0, :3].copy()
    for _ in range(4):
        b = np.empty(3)
        for j in range(3):
            largest = -np.inf
            for i in range(3):
                largest = max(largest, a[i] + x[i, j])
            total = 0.0
            for i in range(3):
                total += math.exp(a[i] + x[i, j] - largest)
            b[j] = largest + math.log(total)
        a = b
    return np.sum(a[:2])


def temperature(x):
    beta = 2.5
    energy = x**2
    least = energy.min()
    weight = np.exp(-beta * (energy - least))
    free = least - np.log(weight.sum()) / beta
    return free + (weight / weight.sum() * x).sum()


def root_of_squares(x):
    largest = np.max(x)
    spread = np.exp(x - largest)
    return largest + 0.5 * np.log(np.sum(spread**2)) + largest + np.log(np.sqrt(np.exp(2.0 * (x[0] - largest))))


CANCELLED = [
    (log_sum_exp, X), (in_loops, X), (softmax_twice, X), (over_rows, ROWS), (log_softmax, ROWS), (rows_in_loops, ROWS),
    (forward_algorithm, ROWS), (temperature, X), (root_of_squares, X),
]  # fmt: skip


def not_given_back(x):
    largest = np.max(x)
    return np.sum(np.exp(x - largest))


def a_little_more(x):
    largest = np.max(x)
    return largest + np.log(np.sum(np.exp(x - largest)) + 1e-3)


def returned_too(x):
    largest = np.max(x)
    return largest + np.log(np.sum(np.exp(x - largest))) + 0.5 * largest


def kept_from_turn_to_turn(x):
    total = 0.0
    shift = 0.0
    for i in range(3):
        shift = x[i] * x[0]
        total = total + math.exp(x[1] - shift)  # the sum is not rescaled where the shift is another
    return shift + math.log(total)


def a_sum_over_rows(x):
    largest = np.max(x, axis=1)
    return np.log(np.sum(np.exp(x - largest[:, None]))) + np.mean(largest)


def of_other_rows(x):
    largest = np.max(x, axis=1)
    e = np.exp(x - largest[:, None])
    return np.sum(np.log(e / e[::-1]) * x)


def written_between(x):
    largest = np.max(x)
    e = np.empty(4)
    for i in range(4):
        if i == 2:
            largest = x[1] * 0.5
        e[i] = math.exp(x[i] - largest)
    return np.sum(e / np.sum(e) * x)


def rows_of_a_table(x):
    e = np.empty_like(x)
    for i in range(x.shape[0]):
        largest = np.max(x[i])
        for j in range(x.shape[1]):
            e[i, j] = math.exp(x[i, j] - largest)
    return np.sum(e) / np.sum(e[0])


def a_view_of_it(x):
    e = np.empty(4)
    row = e[1:]
    largest = np.max(x)
    for i in range(4):
        e[i] = math.exp(x[i] - largest)
    row[0] = x[0]
    return np.sum(e) / e[0]


def through_a_helper(x):
    largest = np.max(x)
    return _spread(x - largest)


def _spread(z):
    return np.sum(np.exp(z)) + z[0]


def written_into_an_argument(x):
    out = np.zeros(4)
    _shifted_into(x, out)
    return np.sum(out**2)


def _shifted_into(x, out):
    largest = np.max(x)
    for i in range(4):
        out[i] = math.exp(x[i] - largest)


NOT_CANCELLED = [
    (not_given_back, X), (a_little_more, X), (returned_too, X), (kept_from_turn_to_turn, X), (a_sum_over_rows, ROWS),
    (of_other_rows, ROWS), (written_between, X), (rows_of_a_table, ROWS), (a_view_of_it, X), (through_a_helper, X),
    (written_into_an_argument, X),
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(("fun", "x"), [*CANCELLED, *NOT_CANCELLED, (in_place, X)])
def test_value_gradient_tangent_and_hessian(fun, x, target):
    assert_derivatives(fun, x, target)
    curvature = differences(s2sad.grad(fun, target="python"), x)
    hessian = s2sad.hessian(fun, target=also_on(target, fun))(x)
    np.testing.assert_allclose(hessian, np.reshape(curvature, hessian.shape), rtol=1e-5, atol=1e-5)


def text_of(fun, x):
    gradient = s2sad.grad(fun, target="python")
    gradient(x)
    return "".join(str(made.entry.derivative.text) for _, made in gradient.store.known())


@pytest.mark.parametrize(("fun", "x"), CANCELLED)
def test_no_derivative_flows_through_it(fun, x):
    text = text_of(fun, x)
    assert "hit" not in text
    assert "largest_bar" not in text
    assert "least_bar" not in text


@pytest.mark.parametrize(
    ("fun", "x"), [(not_given_back, X), (a_little_more, X), (returned_too, X), (rows_of_a_table, ROWS)]
)
def test_elsewhere_it_does(fun, x):
    assert "hit" in text_of(fun, x)
