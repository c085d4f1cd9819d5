"""Names that start as None and get a value later."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import differences

X = np.array([0.5, 0.9, 1.1, 0.3])


def largest_square(x):
    best = None
    for v in x:
        if best is None or v * v > best:
            best = v * v
    return best * x[0]


def differences_of_neighbours(x):
    prev = None
    s = 0.0
    for v in x:
        if prev is not None:
            s += (v - prev) ** 2
        prev = v
    return s


def arrays_that_come_later(x):
    prev = None
    s = 0.0
    for i in range(3):
        p = x[i : i + 2] * 2
        if prev is None:
            prev = p
            continue
        s += np.sum((p - prev) ** 2)
        prev = p
    return s


def place_of_the_largest(x):
    best_i = None
    best = -np.inf
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
            best_i = i
    if best_i is None:
        return 0.0
    return x[best_i] ** 2


def conditional_expressions(x):
    lo = None
    if x[0] > 0.4:
        lo = x[1]
    r = lo if lo is not None else x[2]
    return r * (2.0 if lo is None else lo)


def found_or_refused(x):
    root = None
    for k in range(4):
        if x[k] > 1.0:
            root = x[k] * x[0]
            break
    if root is None:
        raise ValueError("none")
    return root


def until_it_is_small(x):
    y = None
    while y is None or y > 0.2:
        y = x[0] if y is None else y * x[0]
    return y


def the_first_two(x):
    a = None
    b = None
    for v in x:
        if a is None:
            a = v
        elif b is None:
            b = v * a
    if a and b:
        return a * b
    return x[3]


def inner_functions(x):
    def pick(t):
        best = None
        for v in t:
            if best is None or v < best:
                best = v
        return best

    return pick(x) * pick(x * x)


def sums_of_arrays(x):
    acc = None
    for k in range(4):
        term = x * k
        acc = term if acc is None else acc + term
    return acc.sum() * x[0]


def filled_in_a_later_turn(x):
    cache = None
    y = x[0]
    for k in range(3):
        if k == 1:
            cache = y
        y = y * x[k]
        if cache is not None and k > 1:
            y = y + cache
    return y


def default_arguments(x, w=None):
    if w is None:
        w = np.ones(4)
    return w @ x


def none_on_one_side(x):
    s = 0.0
    for v in x:
        t = v * 2 if v > 0.45 else None
        if t is not None:
            s += t * v
    row = x * x if x[0] > 0.1 else None if x[1] > 0 else x
    return s if row is None else s * row.sum()


PROGRAMS = [
    largest_square, differences_of_neighbours, arrays_that_come_later, place_of_the_largest,
    conditional_expressions, found_or_refused, until_it_is_small,
    the_first_two, inner_functions, sums_of_arrays, filled_in_a_later_turn, default_arguments,
    none_on_one_side,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_a_flag_says_whether_there_is_a_value(fun, target):
    bar = differences(fun, X)
    value, gradient = s2sad.value_and_grad(fun, target=target)(X)
    np.testing.assert_allclose(value, fun(X), rtol=1e-12)
    np.testing.assert_allclose(gradient, bar, rtol=1e-6, atol=1e-7)
    _, out_dot = s2sad.jvp(fun, (X,), (np.arange(4.0),), target=target)
    np.testing.assert_allclose(out_dot, bar @ np.arange(4.0), rtol=1e-6, atol=1e-7)
    curvature = differences(s2sad.grad(fun, target="python"), X)
    np.testing.assert_allclose(s2sad.hessian(fun, target=target)(X), curvature, rtol=1e-6, atol=1e-6)


def never_found(x):
    found = None
    for v in x:
        if v > 100.0:
            found = v
    if found is not None:
        return found * 2.0
    return found * x[0]


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_none_is_no_number(target):
    with pytest.raises(TypeError, match="is still None here"):
        s2sad.value_and_grad(never_found, target=target)(X)


def test_in_a_lambda_the_first_item_that_fits_is_not_asked_for():
    """There it has no line of its own."""
    with pytest.raises(s2sad.UnsupportedSyntaxError, match=r"ask in a `def`(.|\n)*that ends in `break`"):
        s2sad.grad(lambda x: next(v for v in x if v > 0.4), target="python")(X)
