"""Generators: what they yield is what a loop, a sum or a list runs over."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import differences

X = np.array([0.7, 1.3, -0.4, 2.1])


def squares(a):
    for v in a:
        yield v * v


def pairs(n):
    for i in range(n):
        for j in range(i + 1, n):
            yield i, j


def every_other(a):
    """Yield the items at even places."""
    k = 0
    while True:
        if k >= len(a):
            return
        yield a[k]
        k += 2


def one_after_the_other(a, b):
    yield from a
    yield from squares(b)
    yield a[0] * b[0]


def numbers_without_end():
    k = 0
    while True:
        yield k
        k += 1


def summed(x):
    return sum(squares(x))


def looped_over_in_pairs(x):
    s = 0.0
    for i, j in pairs(4):
        s += x[i] * x[j] ** 2
    return s


def ended_by_return(x):
    s = 0.0
    for v in every_other(x):
        s += v * v
    return s


def from_other_generators(x):
    return np.prod(np.array(list(one_after_the_other(x, x * 2))))


def an_inner_generator(x):
    scale = 2.0

    def positive():
        for v in x:
            if v < 0:
                continue
            yield v * scale, v

    s = 0.0
    for a, b in positive():
        s += a * b
    return s


def the_largest_yielded(x):
    return max(squares(x)) + max(v for v in squares(x))


def enumerated_and_zipped(x):
    s = 0.0
    for i, v in enumerate(squares(x)):
        s += i * v
    for a, b in zip(squares(x), x):
        s += a * b
    return s


PROGRAMS = [
    summed, looped_over_in_pairs, ended_by_return, from_other_generators, an_inner_generator, the_largest_yielded,
    enumerated_and_zipped,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_value_gradient_and_tangent(fun, target):
    bar = differences(fun, X)
    given, want = X.copy(), fun(X.copy())
    value, gradient = s2sad.value_and_grad(fun, target=target)(given)
    np.testing.assert_allclose(value, want, rtol=1e-12)
    np.testing.assert_allclose(gradient, bar, rtol=1e-6, atol=1e-7)
    _, out_dot = s2sad.jvp(fun, (given,), (np.cos(X),), target=target)
    np.testing.assert_allclose(out_dot, bar @ np.cos(X), rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(given, X)


def left_before_the_end(x):
    s = 0.0
    for k in numbers_without_end():
        if k > 2:
            break
        s += x[k]
    return s


def an_array_written_while_it_is_read(x):
    y = x.copy()
    s = 0.0
    for v in squares(y):
        y[0] = y[0] + v
        s += v
    return s + y[0]


def a_number_changed_while_it_is_read(x):
    scale = 2.0

    def scaled():
        for v in x:
            yield v * scale

    s = 0.0
    for a in scaled():
        s += a
        scale = scale + 1
    return s


@pytest.mark.parametrize(
    ("fun", "sentence"),
    [
        (left_before_the_end, "`yield` cannot be differentiated"),
        (an_array_written_while_it_is_read, "this loop writes what the generator that it runs over still reads"),
        (a_number_changed_while_it_is_read, "this loop writes what the generator that it runs over still reads"),
        (squares, "A generator has no single result to differentiate"),
    ],
)
def test_refusals(fun, sentence):
    with pytest.raises(s2sad.UnsupportedSyntaxError) as refused:
        s2sad.grad(fun, target="python")(X)
    assert sentence in str(refused.value)
