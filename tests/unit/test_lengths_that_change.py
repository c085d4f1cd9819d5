"""What is made once for all turns and calls has room for each: lengths that change between them are no lengths."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.linspace(0.3, 1.2, 10)


def add(u, p, o):
    for i in range(p.size):
        o[i] += p[i] * (0.5 * u[i] - 0.3 * u[i + 2] + 0.2 * u[i + 1])


def helper_of_longer_parts(x):
    o = np.zeros(x.size)
    u = x.copy()
    for t in range(3):
        add(u, x[: 4 - t], o)
        u[1:] += 0.3 * o[:-1]
    return np.sum(o * u)


def solved(a, d, o):
    cp = np.zeros(a.size)
    for i in range(d.size):
        cp[i] = 0.3 * a[i] * d[i]
    for i in range(a.size - 1):
        o[i] += cp[i] * a[i + 1] + cp[i + 1]


def helper_with_zeros(x):
    o = np.zeros(x.size)
    for t in range(3):
        solved(x, x[: 7 - 2 * t], o)
    return np.sum(o * x)


def stencil_over_a_list(x):
    weights = [0.3, 0.2, 0.5]
    o = np.zeros(x.size)
    for t in range(3):
        for i in range(len(weights)):
            o[i] += 0.5 * x[i] * weights[i] - 0.3 * x[i + 2] + 0.2 * x[i + 1]
        weights.append(o[t])
    return np.sum(o * x)


def products_over_a_list(x):
    a = np.outer(np.sin(X), np.cos(X))
    weights = [0.3, 0.2]
    u = np.copy(x)
    for _ in range(3):
        for i in range(len(weights)):
            total = 0.0
            for j in range(x.size):
                total += a[i, j] * u[j]
            u[i] += weights[i] * np.tanh(total)
        weights.append(0.1 * u[0])
    return np.sum(u * u)


def grown(items, value):
    items.append(value)


def list_grown_by_a_helper(x):
    weights = [0.3, 0.2, 0.5]
    o = np.zeros(x.size)
    for t in range(3):
        for i in range(len(weights)):
            o[i] += 0.5 * x[i] * weights[i] - 0.3 * x[i + 2] + 0.2 * x[i + 1]
        grown(weights, o[t])
    return np.sum(o * x)


def grown_by_turns(x, k):
    p = x[:2].copy()
    for t in range(k):
        q = np.zeros(p.size + 1)
        q[1:] = p * x[t]
        q[:-1] += np.sin(p)
        p = q
    return np.sum(p * p)


def array_that_grows_in_two_calls(x):
    return grown_by_turns(x, 3) + grown_by_turns(x * 2.0, 3)


PROGRAMS = [
    array_that_grows_in_two_calls,
    helper_of_longer_parts, helper_with_zeros, stencil_over_a_list, products_over_a_list, list_grown_by_a_helper,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_arrays_that_are_worked_in(fun, target):
    assert_derivatives(fun, X, target)
    given, dot = X.copy(), np.cos(X)
    _, tangent = s2sad.jvp(fun, (given,), (dot,), target=target)
    np.testing.assert_allclose(tangent, np.sum(s2sad.grad(fun, target=target)(X) * dot), rtol=1e-9)


def times_ones(x):
    return np.sum(x * np.ones(3))


def plus_zeros(x):
    return np.sum(x + np.zeros(3))


def above_zeros(x):
    return np.sum((x > np.zeros(3)) * x)


def added_to_zeros(x):
    r = np.zeros(4)
    r += x * 2
    return np.sum(r)


def taken_from_ones(x):
    r = np.ones(4)
    r -= x
    return np.sum(r)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("transform", [s2sad.grad, s2sad.value_and_grad])
@pytest.mark.parametrize("fun", [times_ones, plus_zeros, above_zeros, added_to_zeros, taken_from_ones])
def test_lengths_that_a_program_says_are_asked_for(fun, transform, target):
    fits = np.ones(4 if 4 in fun.__code__.co_consts else 3)
    transform(fun, target=target)(fits)
    for n in (2, 5):
        with pytest.raises(ValueError):
            fun(np.ones(n))
        with pytest.raises(ValueError):
            transform(fun, target=target)(np.ones(n))


def text(x):
    return f"{x[0]}"


def text_beside(x):
    return x[0] ** 2, str(x[0])


def function_beside(x):
    return x[0] ** 2, lambda y: y


@pytest.mark.parametrize("fun", [text, text_beside, function_beside])
def test_results_that_none_can_return(fun):
    for transform in (s2sad.grad, s2sad.jacrev, s2sad.differentiate):
        with pytest.raises(s2sad.errors.UnsupportedSyntaxError, match="cannot be a result") as caught:
            transform(fun)(np.ones(3))
        assert caught.value.span.line == fun.__code__.co_firstlineno + 1
    with pytest.raises(s2sad.errors.UnsupportedSyntaxError, match="cannot be a result"):
        s2sad.grad(fun, has_aux=True)(np.ones(3))


def shorter_and_shorter(x, k):
    v = x.copy()
    total = 0.0
    for _ in range(k):
        total += np.sum(v * v)
        v = v[1:] * v[:-1]
    return total


def of_its_gradient(x, k):
    return np.sum(np.tanh(s2sad.grad(shorter_and_shorter)(x, k)) * x)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_is_saved_of_a_name_has_the_length_that_it_had(target):
    """The tape's arrays are those before the name gets a shorter one, whose length loops went by."""
    x = np.array([0.3, 0.5, 0.9, 1.1, 0.7])
    for k in (1, 2, 3):
        steps = 1e-6 * np.eye(5)
        expected = [(of_its_gradient(x + e, k) - of_its_gradient(x - e, k)) / 2e-6 for e in steps]
        np.testing.assert_allclose(s2sad.grad(of_its_gradient, target=target)(x, k), expected, rtol=1e-6)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_the_first_part_of_what_is_computed_is_as_long_as_that_part(target):
    """The lengths of what it is computed of are no lengths of the loop over it."""
    x, y, z = np.arange(1.0, 6.0), np.linspace(0.5, 1.0, 5), np.arange(1.0, 4.0)
    for program in (
        lambda x, y, z: np.sum((np.ones(5) * x[0])[:3] * z),
        lambda x, y, z: np.sum((x + np.zeros(5) + y)[:3] * z),
        lambda x, y, z: np.sum((np.ones(5) * x)[: z.size] * z + z),
    ):
        found = s2sad.grad(program, argnums=(0, 1, 2), target=target)(x, y, z)
        for k, given in enumerate((x, y, z)):
            for at in range(given.size):
                args = [v.copy() for v in (x, y, z)]
                args[k][at] += 1e-6
                up = program(*args)
                args[k][at] -= 2e-6
                assert found[k][at] == pytest.approx((up - program(*args)) / 2e-6, abs=1e-7)
