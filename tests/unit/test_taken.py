"""Items that are taken one by one with `next`: what is left, what is found first, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import s2sad
from s2sad.errors import UnsupportedSyntaxError
from tests.differences import assert_derivatives

X = np.array([0.5, 1.2, -0.7, 2.0, 0.9])


def first_and_rest(x):
    it = iter(x)
    first = next(it)
    total = first
    for v in it:
        total = 0.5 * total + v * first
    return total


def what_a_loop_leaves(x):
    it = iter(x)
    for v in it:
        if v > 1.0:
            break
    return v * next(it) + sum(u**2 for u in it)


def two_in_each_turn(x):
    it = iter(x)
    total = 0.0
    for v in it:
        total += v * next(it, 3.0)
    return total


def until_there_is_none(x):
    it = iter(x)
    total = 0.0
    while (v := next(it, None)) is not None:
        total = 0.5 * total + v**2
    return total


def until_it_stops(x):
    it = iter(x)
    total = 0.0
    while True:
        try:
            v = next(it)
        except StopIteration:
            break
        total = 0.5 * total + v**2
    return total


def items_that_are_added(x):
    items = [x[0], x[1]]
    it = iter(items)
    total = next(it)
    for v in it:
        total += v**2
        if len(items) < 5:
            items.append(2.0 * v)
    return total


def pairs(x):
    both = zip(x, x[::-1])
    a, b = next(both)
    total = a * b**2
    for a, b in both:
        total += a**2 * b
    return total


def numbered(x):
    numbers = enumerate(x, start=1)
    i, v = next(numbers)
    total = i * v
    for i, v in numbers:
        total += i * v**2
        if i == 3:
            break
    i, v = next(numbers)
    return total * v + i


def counted(x):
    numbers = itertools.count(1)
    weights = itertools.cycle([1.0, -2.0])
    total = 0.0
    for v in x:
        total += v**2 * next(numbers) * next(weights)
    return total


def the_first_that_fits(x):
    """The variable of the generator is its own."""
    i = 2.0
    k = next(i for i, v in enumerate(x) if v > 1.0)
    return x[k] ** 2 * i + next((v for v in x if v < -5.0), 3.0) * x[0] + next(v for v in x if v > 1.5)


def none_that_fits(x):
    large = next((v for v in x if v > 100.0), None)
    if large is None:
        return x[0] ** 2
    return large


def first_of_what_is_made(x):
    return next(iter(x)) ** 2 + next(iter({"a": x[1]}.values())) * x[2]


PROGRAMS = [
    first_and_rest, what_a_loop_leaves, two_in_each_turn, until_there_is_none, until_it_stops, items_that_are_added,
    pairs, numbered, counted, the_first_that_fits, none_that_fits, first_of_what_is_made,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)


def three_of_them(x):
    it = iter(x)
    return next(it) * next(it) * next(it)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_an_iterator_that_is_used_up_stops(target):
    """Compiled, too, no memory behind the array is read."""
    with pytest.raises(StopIteration):
        s2sad.grad(three_of_them, target=target)(X[:2])


def asked_in_one_of_two_cases(x):
    it = iter(x)
    return next(it) if x[0] > 0 else 2.0 * next(it)


def handed_on(x):
    it = iter(x)
    return taken(it) * taken(it)


def taken(it):
    return next(it)


@pytest.mark.parametrize("fun", [asked_in_one_of_two_cases, handed_on])
def test_iterators_that_cannot_be_followed(fun):
    with pytest.raises(UnsupportedSyntaxError, match=r"Index what it goes over(.|\n)*x\[k\]"):
        s2sad.grad(fun, target="python")(X)


def written_behind_the_first(x):
    pairs = enumerate(x)
    _, total = next(pairs)
    x = x * 1.0
    x[2] = total * 3.0
    for k, v in pairs:
        total += k * v
    return total


def bound_anew_behind_the_first(x):
    k = 2.0
    scaled = (v * k for v in x)
    first = next(scaled)
    k = k * first
    return first + sum(scaled)


def grown_behind_the_first(x):
    items = [x[0], x[1]]
    pairs = zip(items, x)
    total = next(pairs)[0]
    items.append(total)
    for a, b in pairs:
        total += a * b
    return total


@pytest.mark.parametrize("fun", [written_behind_the_first, bound_anew_behind_the_first, grown_behind_the_first])
def test_iterators_that_read_what_is_written_meanwhile(fun):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match=r"may be written, or bound anew[^$]*iter\(list"):
        s2sad.grad(fun, target="python")(np.array([0.7, 1.3, 0.4]))


def made_before(x):
    y = x * 1.0
    items = iter(list(enumerate(y)))
    _, total = next(items)
    y[2] = total * 3.0
    for k, v in items:
        total += k * v
    return total * y[2]


def gone_through_itself(x):
    y = x * 1.0
    items = iter(y)
    total = next(items)
    y[2] = total * 3.0
    return total + sum(v * v for v in items)


def another_array_of_the_name(x):
    n, y = 2, x * 1.0
    numbers = itertools.count(n)
    pairs = zip(y, x)
    total = next(numbers) * next(pairs)[0]
    n, y = 7, y * 3.0
    for a, b in pairs:
        total += a * b
    return total * next(numbers) + y[1] * n


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [made_before, gone_through_itself, another_array_of_the_name])
def test_what_is_written_behind_the_first_item(fun, target):
    assert_derivatives(fun, np.array([0.7, 1.3, 0.4]), target)
