"""Arrays that lists hold: one array in two places, items that have names, tangents of their own."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from s2sad.errors import AliasError
from tests.differences import assert_derivatives

X = np.array([0.6, 0.3, 0.7, 1.2])


def appended_twice(x):
    v = x.copy()
    items = []
    for _ in range(2):
        items.append(v)
    items[1][0] *= x[1]
    return np.sum(items[0])


def the_last_one_again(x):
    items = [x.copy()]
    for _ in range(3):
        items.append(items[-1])
    items[0][0] *= x[1]
    return np.sum(items[2] * items[1])


def one_item_for_another(x):
    items = [x * k for k in range(1, 4)]
    for k in range(3):
        items[k] = items[k - 1]
    items[0][0] *= x[1]
    return np.sum(items[2])


def sorted_in_place(x):
    items = [x * k for k in range(1, 4)]
    a = items[0]
    items.sort(key=lambda r: r[2])
    a[0] *= x[1]
    return np.sum(items[2])


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [appended_twice, the_last_one_again, one_item_for_another, sorted_in_place],
                         ids=lambda fun: fun.__name__)  # fmt: skip
def test_a_write_into_an_array_in_two_places_is_refused(fun, target):
    with pytest.raises(AliasError, match=r"may hold twice|are copies here"):
        s2sad.grad(fun, target=target)(X)


def a_named_item_of_a_growing_list(x):
    items = [x * 1.0]
    for k in range(2):
        w = items[-1]
        w[k] *= x[k + 1]
        items.append(w * 2)
    return np.sum(items[-1])


def a_named_item_behind_the_growth(x):
    items = [x * 1.0]
    for k in range(2):
        w = items[-1]
        items.append(w * 2)
        w[k] *= x[k + 1]
    return np.sum(items[-1]) + np.sum(items[0] * items[1])


def rows_of_a_matrix(x):
    rows = []
    a = x.reshape(2, 2) * 1.0
    for i in range(2):
        rows.append(a[i])
    rows[0][1] *= x[3]
    return np.sum(rows[0] * rows[1])


def new_arrays_of_one_name(x):
    items = []
    u = x * 1.0
    for _ in range(3):
        u = u * u[0] + x
        items.append(u)
    items[1][0] *= 2.0
    return np.sum(items[1] * items[2])


def items_that_are_replaced_and_written(x):
    items = [x * k for k in range(len(x))]
    for i in range(len(x)):
        items[i] = x - 0.5
        items[i][0] *= 5
    return np.sum(items[1])


def shifted(v):
    return v + 1.0


def of_a_shifted_array(x):
    a = shifted(x)
    a[0] *= 4
    return np.sum(a * x) + np.sum(x)


def step(y, h):
    return y + h


def of_steps(x):
    y = x.copy()
    total = 0.0
    for k in range(3):
        z = step(y, 0.1)
        z[k] *= z[k]
        total += np.sum(z * y)
        y = step(z, -0.1)
    return total + np.sum(y)


def numbers_spread_over_items(x):
    items = [np.ones(3) for _ in range(len(x))]
    for i in range(len(x)):
        items[i] = x[i] + np.ones(3)
    return np.sum(items[0]) + np.sum(items[1] ** 2)


def counted_with_a_length(x):
    return np.sum(np.bincount(np.array([0, 1, 1, 2]), x * x, x.size) ** 2)


DEBUG = False


def a_comprehension_of_nothing(x):
    extra = [t * t for t in x if DEBUG]
    return np.sum(x * x) + sum(extra)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    "fun",
    [a_named_item_of_a_growing_list, a_named_item_behind_the_growth, rows_of_a_matrix, new_arrays_of_one_name,
     items_that_are_replaced_and_written, a_comprehension_of_nothing, of_a_shifted_array, of_steps,
     numbers_spread_over_items, counted_with_a_length], ids=lambda fun: fun.__name__,
)  # fmt: skip
def test_derivatives_are_those_of_the_program(fun, target):
    assert_derivatives(fun, X, target)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_the_tangent_of_a_result_is_no_other_tangent(target):
    gradient = s2sad.grad(of_steps, target="python")
    columns = [(gradient(X + h) - gradient(X - h)) / 2e-6 for h in np.eye(4) * 1e-6]
    np.testing.assert_allclose(s2sad.hessian(of_steps, target=target)(X), columns, rtol=1e-6, atol=1e-7)


def written_through_the_list_alone(x, n):
    a = np.zeros(4)
    items = [a, x * 2.0]
    for k in range(n):
        items.append(x * 1.0)
        items[k % 2][k] += x[1]
    return np.sum(a) + sum(np.sum(q * q) for q in items)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_is_written_through_a_list_has_a_tangent_under_its_own_name(target):
    x_dot = np.array([1.0, 2.0, -1.0, 0.5])
    _, got = s2sad.jvp(written_through_the_list_alone, (X, 3), (x_dot, None), target=target)
    before, behind = (written_through_the_list_alone(X + h * x_dot, 3) for h in (-1e-6, 1e-6))
    np.testing.assert_allclose(got, (behind - before) / 2e-6, rtol=1e-6)
