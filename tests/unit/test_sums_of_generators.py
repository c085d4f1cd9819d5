"""`sum(… for …)` over what a run counts: each number is added as it comes, and the derivative keeps no list."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.3, -0.5, 1.2, 0.7])


def rosenbrock(x):
    return sum(100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2 for i in range(len(x) - 1))


def of_sums(x):
    return sum(sum(x[i] * x[j] for j in range(i)) for i in range(len(x)))


def with_a_test_and_a_start(x):
    return sum(v * w for v, w in zip(x, x[1:]) if v > w) + sum([v**2 for v in x], 1.5)  # noqa: RUF007


def in_a_loop(x):
    s = 0.0
    for k in range(3):
        s += sum(v**k for v in x) * k
    return s


def counted(x):
    return sum(1 for v in x if v > 0) * x[0]


def two_loops(x):
    return sum(x[i] * y for i in range(len(x)) for y in x[:i]) / len(x)


def on_one_path(x):
    return x[0] if sum(v for v in x) < 0 else sum(v * v for v in x)


def a_variable_of_the_same_name(x):
    v = 3.0
    t = sum(v * v for v in x)
    return t * v


def within_calls(x):
    return np.sqrt(sum((a - b) ** 2 for a, b in zip(x, x[::-1]))) + sum(v for v in x if v > 100)


def helper(x, i):
    return sum(x[j] * i for j in range(len(x)))


def of_a_helper(x):
    return sum(helper(x, k) ** 2 for k in range(len(x)))


def of_parts(x):
    return sum(x[k : k + 2].sum() ** 2 for k in range(len(x) - 1))


def of_numbers_from_a_list(x):
    return sum(float(v) ** 2 for v in x.tolist())


def of_rows(x):
    return sum(r for r in np.outer(x, x)).sum()


PROGRAMS = (
    rosenbrock, of_sums, with_a_test_and_a_start, in_a_loop, counted, two_loops, on_one_path,
    a_variable_of_the_same_name, within_calls, of_a_helper, of_parts, of_numbers_from_a_list, of_rows,
)  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)


def test_no_list_is_kept():
    text = s2sad.differentiate(rosenbrock).source("grad", types="float64[:]")
    assert "items" not in text, text
    assert "tape" not in text, text
    assert text.count(" in range(x.shape[0] - 1):") == 1, text


def test_nothing_to_add():
    def empty(x):
        return sum(v * v for v in x[:0]) + x[0]

    value, bar = s2sad.value_and_grad(empty)(X)
    assert value == X[0]
    np.testing.assert_array_equal(bar, [1.0, 0.0, 0.0, 0.0])
