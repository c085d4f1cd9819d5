"""Generators: their text goes into the loops that use them up."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives, differences

X = np.array([0.7, 1.3, 0.45, 1.9, 0.9])


def times(count, dt=0.1):
    """Yield each step with its time."""
    t = 0.0
    for i in range(count):
        yield i, t
        t += dt


def places(count):
    for i in range(count):
        for j in range(i):
            yield i, j


def sums(items, most):
    total = 0.0
    for item in items:
        total += item
        if total > most:
            return
        yield total
    yield -1.0


def roots(a):
    z = a
    while True:
        z = 0.5 * (z + a / z)
        yield z


def three(a, b):
    yield a
    a = a * b
    yield a
    if a > 0.5:
        yield a + b


def leapfrog(q, p, dt, count):
    q, p = q.copy(), p.copy()
    for _ in range(count):
        p -= dt * q
        q += dt * p
        yield q, p


def rows(a):
    for i in range(a.shape[0]):
        yield a[i]


def tree(i, count):
    if i < count:
        yield i
        yield from tree(2 * i + 1, count)
        yield from tree(2 * i + 2, count)


def tidied(items):
    for item in items:
        try:
            yield item
        finally:
            pass


def a_loop(x):
    s = 0.0
    t = 2.0
    for i, u in times(5):
        s += x[i] * math.cos(u) * t
    return s + i


def left_by_break(x):
    s = 0.0
    for i, j in places(5):
        if x[i] + x[j] > 2.9:
            break
        s += x[i] * x[j]
    return s


def with_an_else(x):
    s = 0.0
    for i, j in places(4):
        if x[i] * x[j] > 3.0:
            break
        s += x[i] * x[j]
    else:
        s *= x[4]
    for i, j in places(4):
        if x[i] * x[j] > 2.0:
            break
        s += x[j]
    else:
        s *= 100.0
    return s


def that_returns(x):
    t = 0.0
    for s in sums(x, 2.5):
        t += s * s
    for s in sums(x, 100.0):
        if s > 3.0:
            continue
        t = 0.9 * t + s
    return t


def without_an_end(x):
    before = 0.0
    for z in roots(x[1]):
        if abs(z - before) < 1e-13:
            break
        before = z
    return z * x[0]


def several_yields(x):
    s = 0.0
    for k, v in enumerate(three(x[0], x[1])):
        if k == 1:
            continue
        s = 2.0 * s + v
    return s


def arrays_written_meanwhile(x):
    s = 0.0
    for q, p in leapfrog(x[:2], x[2:4], 0.1, 4):
        s += np.sum(q * p)
    a = np.outer(x, x)
    for r in rows(a):
        r *= 2.0
        r[0] = 0.0
    return s + np.sum(a)


def what_it_reads_is_written_meanwhile(x):
    y = x * 1.0

    def lefts(u):
        for i in range(1, len(u)):
            yield i, u[i - 1]

    for i, left in lefts(y):
        y[i] += 0.5 * left
    return np.sum(y**2)


def names_bound_anew(x):
    n = 3
    y = 2.0 * x
    s = 0.0
    for i, j in places(n):
        n = 10
        s += x[i] * x[j]
    for v in sums(y, 100.0):
        y = 0.0 * x
        s += v
    return s * n + np.sum(y)


def one_in_the_other(x):
    s = 0.0
    for i, j in places(3):
        for k, m in places(3):
            s += x[i] * x[j] * x[k] * x[m]
    return s


def gathered(x):
    a = np.array(list(sums(x, 100.0)))
    first, *_, last = three(x[0], x[1])
    g = sums(x, 100.0)
    for v in g:
        first += v
    total = sum(k * v for k, v in enumerate(sums(x, 9.0), 1) if v > 1.5)
    return np.sum(a**2) + max(sums(x, 100.0)) * total + first * last


def beside_others(x):
    s = 0.0
    for v, z in zip(x, roots(x[0])):
        s += v * z
    for (i, t), v in zip(times(9), x):
        s += i * t * v
    return s


def from_others(x):
    def both(u, v):
        yield from u
        yield from three(v[0], v[1])

    return sum(k * v for k, v in enumerate(both(x, x[::-1])))


def returns_from_within(x):
    for s in sums(x, 100.0):
        if s > 2.2:
            return s * s
    return 0.0


def named_first(x):
    """The generator has a name; what it was given is bound anew before it is used up."""
    scale = x[0] * 2.0
    if scale < 0.0:
        scale = -scale
    later = three(scale * x[1], x[3])
    scale = scale * x[2]
    s = 0.0
    for z in later:
        s += z * scale
    return s


def first_of_each(x):
    i, t = next(times(3, x[0]))
    s = next(roots(x[1])) ** 2 + i + t
    for k in range(3):
        s += next(sums(x * k, 100.0)) * x[k]
    return s


def smoothed(items, decay=0.5):
    state = 0.0
    for item in items:
        state = decay * state + item
        yield state


def above(items, least):
    if least > 0.0:
        for item in items:
            if item > least:
                yield item * item


def pipelines(x):
    decay = 0.3
    total = sum(above(smoothed(x, decay=0.4), 0.5)) + max(smoothed(a - 1.0 for a in x))
    for i, v in enumerate(above(above(smoothed(x * decay, decay), 0.1), 0.05)):
        decay = decay * v
        total += i * decay
    steps = smoothed(x)
    return total * sum(above(steps, 1.0))


PROGRAMS = [
    pipelines, named_first, first_of_each,
    a_loop, left_by_break, with_an_else, that_returns, without_an_end, several_yields, arrays_written_meanwhile,
    what_it_reads_is_written_meanwhile, names_bound_anew, one_in_the_other, gathered, beside_others, from_others,
    returns_from_within,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)


def test_the_text_is_that_of_the_loop_and_each_line_knows_whose_it_is():
    f = s2sad.differentiate(target="python")(a_loop)
    f.grad(X)
    text = f.source("grad")
    assert "for i_2 in range(5):" in text
    assert "t_2 += 0.1" in text


def test_a_generator_that_calls_itself_is_listed_first():
    assert_derivatives(calls_itself, X, "python")


def test_an_error_points_into_the_generator():
    def given(items):
        for item in items:
            yield eval("item")

    def asks(x):
        s = 0.0
        for v in given(x):
            s += v
        return s

    with pytest.raises(s2sad.UnsupportedSyntaxError) as caught:
        s2sad.grad(asks, target="python")(X)
    assert 'yield eval("item")' in str(caught.value)


def used_twice(x):
    g = sums(x, 100.0)
    return sum(g) + sum(g)


def calls_itself(x):
    s = 0.0
    for i in tree(0, 5):
        s += x[i]
    return s


def yields_in_try(x):
    return sum(tidied(x))


def again(items):
    for item in items:
        yield item
    for item in items:
        yield 2.0 * item


def used_up(x):
    return sum(again(smoothed(x)))


@pytest.mark.parametrize("fun", [used_twice, yields_in_try, used_up])
def test_what_is_refused(fun):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="is written into what uses it up at once"):
        s2sad.grad(fun, target="python")(X)


def test_a_generator_that_gives_nothing_is_over() -> None:
    def nothing(x):
        return next(places(1))[0] * x

    with pytest.raises(StopIteration):
        s2sad.grad(nothing, target="python")(0.7)


def layered():
    """Layers of a network, by a generator that reads a list of the function around it."""
    shapes = [(2, 3), (3, 1)]

    def layers(weights):
        for m, n in shapes:
            yield weights[: m * n].reshape((m, n)), weights[m * n : (m + 1) * n]
            weights = weights[(m + 1) * n :]

    def output(weights, x):
        for w, b in layers(weights):
            x = np.tanh(x @ w + b)
        return np.sum(x)

    return output, shapes


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_generator_of_the_function_around_that_reads_a_list_there(target):
    output, shapes = layered()
    x = np.linspace(-1.0, 1.0, 8).reshape(4, 2)
    gradient = s2sad.grad(output, target=target)
    for count, held in ((13, [(2, 3), (3, 1)]), (9, [(2, 2), (2, 1)])):
        shapes[:] = held  # noticed at the next call
        weights = np.linspace(-0.7, 0.9, count)
        np.testing.assert_allclose(
            gradient(weights, x), differences(lambda w: output(w, x), weights), rtol=1e-6, atol=1e-8
        )


def counting(n, scale):
    """Two closures of one text, whose generators read different numbers."""

    def first(w):
        for i in range(n):
            yield w[i] * w[i]

    def total(w):
        s = 0.0
        for v in first(w):
            s += v * scale
        return s

    return total


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_closures_of_one_text_have_numbers_of_their_own(target):
    w = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(s2sad.grad(counting(1, 1.0), target=target)(w), [2.0, 0.0, 0.0])
    np.testing.assert_array_equal(s2sad.grad(counting(3, 2.0), target=target)(w), [4.0, 8.0, 12.0])
    np.testing.assert_array_equal(s2sad.grad(counting(1, 1.0), target=target)(w), [2.0, 0.0, 0.0])
