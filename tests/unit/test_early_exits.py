"""Early exits beside branches that assign, names that outlive their branch or loop, and recursions that end."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives, differences

TWO = np.float64(2.0)
STEEP = np.float64(2.5)
BASE = np.float64(0.7)
FALLING = np.array([2.0, 0.5])
PAIR = np.array([0.7, 0.4])
V = np.array([0.7, -0.4, 1.3])
X = np.array([0.7, 1.3, -0.4, 2.1])
M = np.arange(12.0).reshape(3, 4) / 7 - 0.6


def returned_beside_an_assignment(a):
    if a > 1:
        a = a * 3
    elif a == 5:
        return a
    r = a * a
    return r


def returned_after_an_assignment(a):
    y = a
    if a > 1:
        y = a * 3
        if a > 100:
            return y
    r = y * y
    return r


def continued_beside_an_assignment(a):
    s = 0.0
    for i in range(3):
        y = a * i
        if y > 1:
            y = y**2
        elif y < 0:
            continue
        r = y * y + a
        s += r
    return s


def returned_beside_a_swap(x):
    a = x[0]
    b = x[1]
    if a > b:
        a, b = b, a
    elif a == b:
        return a
    r = b - a
    return r * a


def returned_beside_an_array(x):
    y = x
    if x[0] > 1:
        y = x**2
    elif x[0] < 0:
        return 0.0
    r = y * y
    return np.sum(r)


def raised_beside_an_assignment(a):
    try:
        if a > 1:
            a = a * 3
        elif a == 5:
            raise ValueError
    except ValueError:
        return 0.0
    r = a * a
    return r


def returned_in_a_call(x):
    return returned_beside_a_swap(x) * 2


def returned_between_branches(x):
    a = x[0]
    b = x[1]
    c = 0.2
    seen = [a]
    if b < c:
        a = math.tanh(b)
    elif c > 0.3:
        return a * b
    else:
        b, a = a, b
        for _ in range(2):
            seen.append(c)
    b, a = a, b
    return a * 1.3 + b * c + seen[-1]


def returned_in_the_third_branch(x):
    if x < 1:
        y = x**2
    elif x < 2:
        y = 2 * x - 1
    elif x < 3:
        y = 0.3 * x
        if y > 100:
            return 100.0
    else:
        y = 0.9
    z = y * x
    return z + y


def a_row_that_outlives_its_loop(m):
    for i in range(3):
        row = m[i]
        s = row.sum()
    return np.sum(row**2) * s


def a_result_bound_at_the_break(x):
    out = x * 2
    k = 0
    while True:
        if k >= 3:
            r = out
            break
        out[k] *= x[k]
        k += 1
    return np.sum(r * r)


def a_view_bound_at_the_break(x):
    out = x * 2
    for k in range(4):
        if x[k] < 0:
            r = out[1:]
            r[0] = 7 * x[0]
            break
        out[k] *= x[k]
    r[1] *= 2
    return np.sum(r * r) * np.sum(out)


def a_result_written_after_the_break(x):
    out = x * 2
    k = 0
    while True:
        if k >= 3:
            r = out
            break
        out[k] *= x[k]
        k += 1
    r[0] *= x[1]
    return np.sum(r * r) + np.sum(out)


def first_and_last_place_found(x):
    left = right = None
    for i in range(len(x)):
        if x[i] > 0 and left is None:
            left = i
        if x[i] > 0:
            right = i
    return x[left] * x[right] ** 2


def power(x, n):
    return 1 if n == 0 else x * power(x, n - 1)


def a_power_by_recursion(x):
    return power(x, 4)


def squares_up_to(x, n):
    if n < 0:
        return 0
    return x[n] ** 2 + squares_up_to(x, n - 1)


def a_sum_by_recursion(x):
    return squares_up_to(x, 2)


PROGRAMS = [
    (returned_beside_an_assignment, TWO), (returned_after_an_assignment, TWO), (continued_beside_an_assignment, TWO),
    (returned_beside_a_swap, FALLING), (returned_beside_an_array, FALLING), (raised_beside_an_assignment, TWO),
    (returned_in_a_call, FALLING), (returned_between_branches, PAIR), (returned_in_the_third_branch, STEEP),
    (a_row_that_outlives_its_loop, M), (a_result_bound_at_the_break, X), (a_view_bound_at_the_break, X),
    (a_result_written_after_the_break, X), (first_and_last_place_found, V), (a_power_by_recursion, BASE),
    (a_sum_by_recursion, V),
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(("fun", "x"), PROGRAMS)
def test_value_gradient_and_tangent(fun, x, target):
    assert_derivatives(fun, x, target)


def roots_of_positive_parts(x):
    s = 0.0
    for v in x:
        s += math.sqrt(max(v, 0.0)) + v
    return s


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_the_root_of_a_clamped_number_has_gradient_zero(target):
    value, gradient = s2sad.value_and_grad(roots_of_positive_parts, target=target)(V)
    np.testing.assert_allclose(value, roots_of_positive_parts(V), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(roots_of_positive_parts, V), rtol=1e-6, atol=1e-7)
    assert gradient[1] == 1.0  # nothing but the second term: the root gives zero below zero
