"""A recursion whose cotangents are known before its calls is one with its adjoint; others have the same numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from tests.differences import also_on, assert_derivatives

X = np.array([0.3, 1.2, 0.7, 2.1])


def minors(a):
    n = a.shape[0]
    if n == 1:
        return a[0, 0]
    total = 0.0
    sign = 1.0
    for j in range(n):
        minor = np.empty((n - 1, n - 1))
        for p in range(1, n):
            for q in range(n - 1):
                minor[p - 1, q] = a[p, q] if q < j else a[p, q + 1]
        total += sign * a[0, j] * minors(minor)
        sign = -sign
    return total


def determinant(x):
    return minors(np.outer(x, x) ** 2 + np.diag(x[::-1]))


def logarithm(x):
    return math.log(1.0 + minors(np.outer(x, x) ** 2 + np.diag(x[::-1])) ** 2)


def halves_of(x, lo, hi):
    if hi - lo == 1:
        return x[lo] ** 3
    mid = (lo + hi) // 2
    left = halves_of(x, lo, mid)
    right = halves_of(x, mid, hi)
    return left * (1.0 + lo) - 2.0 * right


def tree(x):
    return halves_of(x, 0, x.shape[0])


def numbers(v, depth):
    if depth == 0:
        return math.sin(v)
    return 0.5 * numbers(v * v, depth - 1) + v


def of_numbers(x):
    return numbers(x[0], 3) + numbers(x[1] * x[2], 2)


def stretched(x, depth):
    if depth == 0:
        return np.sum(x**3)
    total = 0.0
    for k in range(2):
        total += stretched(x * (k + 1), depth - 1) * x[k]
    return total


def arrays_made_for_each(x):
    return stretched(x, 2)


def pair(x, lo, hi):
    if hi - lo == 1:
        return x[lo] * 2.0, x[lo] ** 2
    mid = (lo + hi) // 2
    a, b = pair(x, lo, mid)
    c, d = pair(x, mid, hi)
    return a - d, b + 3.0 * c


def two_results(x):
    a, b = pair(x, 0, x.shape[0])
    return a * b


def weighed(x, k, w):
    if k == x.shape[0]:
        return w * w
    if x[k] > 1.0:
        return weighed(x, k + 1, 0.5 * w) + x[k] ** 2
    return weighed(x, k + 1, w * x[k]) * 3.0


def weights_go_down(x):
    return weighed(x, 0, x[1])


def in_parts(x):
    n = x.shape[0]
    if n == 1:
        return x[0] ** 2
    return in_parts(x[: n // 2]) * 2.0 + in_parts(x[n // 2 :]) + x[0]


def over_slices(x):
    return in_parts(x)


def given_twice(x, y, depth):
    if depth == 0:
        return np.sum(x * y * y)
    return given_twice(x, y, depth - 1) + given_twice(x, x, depth - 1) * 0.5


def one_array_for_two(x):
    return given_twice(x, x, 2)


ONE = [
    determinant, logarithm, tree, of_numbers, arrays_made_for_each, two_results, weights_go_down, over_slices,
    one_array_for_two,
]  # fmt: skip


def product(x, lo, hi):
    if hi - lo == 1:
        return x[lo] ** 2
    mid = (lo + hi) // 2
    return product(x, lo, mid) * product(x, mid, hi)


def products(x):
    return product(x, 0, x.shape[0])


def chained(v, depth):
    if depth == 0:
        return v * v
    first = chained(v, depth - 1)
    return chained(0.5 * first, depth - 1) + v


def one_call_after_another(x):
    return chained(x[0], 2) * x[1]


def refilled(x, depth):
    if depth == 0:
        return np.sum(x**2)
    own = np.empty(x.shape[0])
    total = 0.0
    for k in range(2):
        for i in range(x.shape[0]):
            own[i] = x[i] * (k + 1)
        total += refilled(own, depth - 1) * own[0]
        for i in range(x.shape[0]):
            own[i] = math.sin(own[i]) * x[i]
        total += refilled(own, depth - 1)
    return total


def overwritten_between(x):
    return refilled(x, 2)


def decides(x, lo, hi):
    if hi - lo == 1:
        return x[lo] ** 2
    mid = (lo + hi) // 2
    left = decides(x, lo, mid)
    return decides(x, mid, hi) * (2.0 if left > 1.0 else 0.5) + left


def value_decides(x):
    return decides(x, 0, x.shape[0])


def until(x, depth):
    total = 0.0
    for k in range(x.shape[0]):
        if depth > 0:
            total += until(x, depth - 1) * x[k]
        else:
            total += x[k]
        if total > 4.0:
            break
    return total


def left_early(x):
    return until(x, 2)


def strict(x, lo, hi):
    if hi <= lo:
        raise ValueError("nothing there")
    if hi - lo == 1:
        return x[lo] ** 2
    mid = (lo + hi) // 2
    return strict(x, lo, mid) + 2.0 * strict(x, mid, hi)


def may_raise(x):
    return strict(x, 0, x.shape[0])


OTHERS = [products, one_call_after_another, overwritten_between, value_decides, left_early, may_raise]


def text(fun, mode="grad"):
    return str(s2sad.differentiate(fun).source(mode, (X,)))


@pytest.mark.parametrize("fun", ONE)
def test_one_recursion_gives_the_value_and_adds_to_the_adjoints(fun):
    made = text(fun)
    assert "_fwd_bwd(" in made, made
    assert "_tape" not in made, made
    assert "_fwd(" not in made, made


@pytest.mark.parametrize("fun", [products, one_call_after_another])
def test_cotangents_that_need_values_leave_two_recursions(fun):
    made = text(fun)
    assert "_fwd_bwd(" not in made, made
    assert "_fwd(" in made, made
    assert "_bwd(" in made, made


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", ONE + OTHERS)
def test_derivatives(fun, target):
    assert_derivatives(fun, X, also_on(target, fun, one_in=2))


@pytest.mark.parametrize("fun", ONE + OTHERS)
def test_values_come_with_it(fun):
    value, gradient = s2sad.value_and_grad(fun, target="python")(X)
    np.testing.assert_allclose(value, fun(X), rtol=1e-13)
    np.testing.assert_allclose(gradient, s2sad.grad(fun, target="python")(X), rtol=1e-13)
    _, pullback = s2sad.vjp(fun, X, target="python")
    np.testing.assert_allclose(pullback(1.0)[0], gradient, rtol=1e-12, atol=1e-14)


def test_a_recursion_is_the_derivative_that_is_asked_for():
    made = str(s2sad.differentiate(halves_of, argnums=0).source("value_and_grad", (X, 0, 4)))
    assert "x_bar = np.zeros_like(x)\n    result = halves_of_fwd_bwd(x, lo, hi, 1.0, x_bar)" in made, made
    value, gradient = s2sad.value_and_grad(halves_of)(X, 0, 4)
    np.testing.assert_allclose(value, halves_of(X, 0, 4))
    np.testing.assert_allclose(gradient, [3 * 0.3**2, -6 * 1.2**2, -6 * 3 * 0.7**2, 12 * 2.1**2])


def test_a_sign_that_turns_does_so_at_the_end_of_the_turn():
    made = text(determinant)
    turn = made.index("for j in range(n):")
    assert made.index("sign = -sign", turn) > made.index("minor_bar[p - 1, q]", turn), made
    assert made.count("sign = -sign") == 1, made


@pytest.mark.parametrize("fun", [determinant, tree, arrays_made_for_each, products])
def test_second_derivatives(fun):
    hessian = s2sad.hessian(fun, target="python")(X)
    step = 1e-6
    for k in range(X.size):
        near = [s2sad.grad(fun, target="python")(X + d * step * np.eye(X.size)[k]) for d in (1, -1)]
        np.testing.assert_allclose(hessian[k], (near[0] - near[1]) / (2 * step), rtol=1e-5, atol=1e-5)
