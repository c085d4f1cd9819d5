"""Ranges that are measured, cut and read from the end; items put in order by keys of several parts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, -0.4, 2.1, -1.6])


def weighted(items):
    return sum(k * v for k, v in enumerate(items, 1))


def a_range_that_ends_before_it_begins(x):
    return len(range(len(x) + 2, len(x))) * x[0] + len(range(1, len(x))) * x[1] ** 2


def ranges_with_steps(x):
    return len(range(0, len(x), 2)) * x[0] ** 2 + len(range(len(x), 0, -3)) * x[1] + len(range(-3)) * x[2]


def ranges_from_the_end(x):
    places = range(len(x))
    total = places[-1] * x[0] ** 2 + range(1, 8, 3)[-1] * x[1]
    for k in (-2, 1):
        total += places[k] * x[k] ** 2
    return total


def parts_of_ranges(x):
    places, total = range(len(x)), 0.0
    for part in (places[1:-1], places[:2], places[-2:], places[::2], places[1:100], places[3:1]):
        for k in part:
            total = total * 0.5 + (k + 1) * x[k] ** 2
    return total


def pairs_of_what_is_numbered(x):
    return sum(a * b * (j - i) for (i, a), (j, b) in itertools.combinations(enumerate(x), 2))


def the_best_of_what_is_numbered(x):
    place, least = min(enumerate(x), key=lambda pair: pair[1])
    return place * least + max((v * v for v in x if v < 0), key=lambda v: -v)


def by_a_flag_backwards(x):
    return weighted(sorted(x, key=lambda v: v > 0, reverse=True))


def by_a_flag_and_a_number(x):
    up = sorted(x, key=lambda v: (v > 0, -v * v))
    return weighted(up) * weighted(sorted(x, key=lambda v: (v < 1, v), reverse=True))


def the_two_first_by_two_keys(x):
    return np.sum(sorted(x, key=lambda v: (v > 1, v))[:2])


def places_by_two_keys(x):
    return weighted([x[i] ** 2 for i in sorted(range(len(x)), key=lambda i: (i % 2, x[i]))])


def pairs_sorted_where_they_are(x):
    pairs = [(v, i % 2) for i, v in enumerate(x)]
    pairs.sort(key=lambda pair: (pair[1], -pair[0]))
    return weighted([a * (b + 1) for a, b in pairs])


def states_kept_as_tuples(x):
    state, history = np.zeros(2), []
    for v in x:
        state[0], state[1] = state[1] + v, state[0] * v
        history.append(tuple(state))
    last = tuple(state)
    state *= 5
    return sum(a * b for a, b in history) + last[0] * last[1]


PROGRAMS = [
    a_range_that_ends_before_it_begins, ranges_with_steps, ranges_from_the_end, parts_of_ranges,
    pairs_of_what_is_numbered, the_best_of_what_is_numbered, by_a_flag_backwards, by_a_flag_and_a_number,
    the_two_first_by_two_keys, places_by_two_keys, pairs_sorted_where_they_are, states_kept_as_tuples,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)


def test_ranges_and_pairs_are_unpacked():
    x = np.array([0.7, 1.3, -0.4])

    def total(x):
        first, second, third = range(3)
        (a, b), c, d = [(v, v * v) for v in x]
        return x[first] * x[third] + a * b * c[1] + d[0] * second

    def pairs_of_two(x):
        (a, b), (c, d) = [(v, v * v) for v in x]
        return a * b * c * d

    p, q, r = x
    expected = [r + 3 * p**2 * q**2, 2 * p**3 * q, p + 1]
    assert np.allclose(s2sad.grad(total, target="python")(x), expected)
    with pytest.raises(ValueError, match="2 values are needed here"):
        s2sad.grad(pairs_of_two, target="python")(x)
