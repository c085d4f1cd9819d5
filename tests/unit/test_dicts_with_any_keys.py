"""Dicts whose keys a run tells, and inner functions that remember their results: written as two lists."""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from functools import lru_cache

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives, differences

X = np.array([0.7, 1.3, 0.4, 1.9, 0.9, 0.6, 1.1])


def counted(x):
    sums = {}
    for i in range(len(x)):
        key = (i * i) % 5
        sums[key] = sums.get(key, 0.0) + x[i] ** 2
    total = len(sums) * x[0]
    for key, value in sums.items():
        total += value**2 * (key + 1)
    return total


def by_pairs(x):
    sums = {(0, 0): x[0] ** 2}
    n = len(x)
    for i in range(n):
        for j in range(n):
            if ((i + j) % 3, i % 2) not in sums:
                sums[(i + j) % 3, i % 2] = 0.0
            sums[(i + j) % 3, i % 2] += x[i] * x[j] ** 2
    return sum(v * v for v in sums.values()) * sums.get((7, 7), 2.0) + sum(a + 2 * b for a, b in sums.keys()) * x[1]


def by_default(x):
    sums = defaultdict(float)
    firsts = {}
    for i in range(len(x)):
        sums[int(3.0 * x[i])] += x[i] ** 3
        firsts.setdefault(i // 2, x[i])
    for key in firsts:
        firsts[key] *= key + 1
    return sum(sums[key] ** 2 for key in sorted(sums)) + sum(firsts.values())


def on_some_paths(x):
    seen = {}
    at, total = 0, 0.0
    while at not in seen:
        seen[at] = x[at] ** 2
        total += seen[at]
        at = (2 * at + 1) % 7
    return total * seen[at]


def of_arrays(x):
    rows = {}
    for i in range(len(x)):
        rows[i % 3] = np.array([x[i], x[i] ** 2])
    total = np.zeros(2)
    for key in rows:
        total = total + rows[key] * key
    return total[0] * total[1]


def what_is_put_in_may_put_in_too(x):
    kept = {}

    def legendre(k):
        if k in kept:
            return kept[k]
        if k == 0:
            kept[k] = 1.0
        elif k == 1:
            kept[k] = x[0]
        else:
            kept[k] = ((2 * k - 1) * x[0] * legendre(k - 1) - (k - 1) * legendre(k - 2)) / k
        return kept[k]

    return sum(legendre(i) * x[i] for i in range(len(x)))


def remembers(x):
    n = len(x)

    @lru_cache(maxsize=128)
    def best(i):
        if i >= n:
            return 0.0
        return math.log(math.exp(x[i] + best(i + 2)) + math.exp(best(i + 1)))

    return best(0)


def remembers_pairs(x):
    n = len(x)

    @functools.cache
    def distance(i, j):
        if i == 0 or j == 0:
            return 0.1 * (i + j) * x[0]
        cost = (x[i - 1] - 0.5 * x[j - 1]) ** 2
        return cost + min(distance(i - 1, j), distance(i, j - 1), distance(i - 1, j - 1))

    return distance(n, n - 2)


def by_a_text_that_a_run_tells(x):
    lists = {"high": [], "low": [x[0]]}
    arrays = {"first": x, "second": x[1] * x}
    for v in x:
        lists["high" if v > 1.0 else "low"].append(v * x[1])
    which = "first" if x[1] > 1.0 else "second"
    total = sum(lists["high"]) * sum(lists["low"]) + np.sum(arrays[which] ** 2)
    return total + np.sum(arrays["second" if x[0] > 2.0 else "first"])


def whole_numbers_first(x):
    sums = {}
    sums[int(x[0] > 0.5)] = 1
    sums[int(x[1] > 5.0)] = x[2]
    return sums[1] * sums[0] ** 2


def from_a_range(x):
    squares = {i: x[i] ** 2 for i in range(len(x))}
    sums = dict.fromkeys(range(len(x)), 0.0)
    products = dict.fromkeys(("a", "b"), 1.0)
    for i in range(len(x)):
        sums[(i * i) % len(x)] += squares[i]
        products["a" if i % 2 else "b"] *= x[i]
    halves = {k / 2: k * x[k] for k in range(1, 3)}
    total = sum(v * (k + 1) for k, v in sums.items()) + products["a"] * products["b"]
    return total + sum(v * np.exp(-k * x[0]) for k, v in halves.items())


def set_while_it_is_gone_through(x):
    parts, pairs = {0: x[0], -2: x[2]}, {(0, 1): x[0], (1, 0): x[1]}
    for i in range(len(x)):
        parts[i % 3] = parts.get(i % 3, 0.0) + x[i] ** 2
    pairs[int(x[0] > 0.0), 5] = x[2]
    total = sum(parts.values())
    for key in parts:
        parts[key] = parts[key] / total
    for key, value in parts.items():
        parts[key] = value * (key + 1)
    for (p, q), value in pairs.items():
        pairs[p, q] = value * (p + 2 * q)
    return sum(v * v for v in parts.values()) + sum(v * v for v in pairs.values())


def by_named_pairs(x):
    sums, total = {}, 0.1
    weights = defaultdict(float)
    for i in range(len(x)):
        key = (int(x[i] > 1.0), i % 2)
        sums[key] = sums.get(key, 0.0) + x[i] ** 2
        total = total + weights[int(x[i] > 0.8)] + x[i]
        weights[i % 3] = total
    return sum(v * (a + 2 * b + 1) for (a, b), v in sums.items()) + sum(weights.values()) * len(weights)


PROGRAMS = [
    by_named_pairs,
    set_while_it_is_gone_through,
    from_a_range,
    whole_numbers_first,
    by_a_text_that_a_run_tells,
    counted, by_pairs, by_default, on_some_paths, of_arrays, what_is_put_in_may_put_in_too, remembers, remembers_pairs,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)


def test_a_key_that_is_not_there():
    def missing(x):
        sums = {}
        for i in range(len(x)):
            sums[2 * i] = x[i]
        return sums[len(x)] * x[0]

    with pytest.raises((KeyError, ValueError)):
        s2sad.grad(missing, target="python")(np.ones(41))


def test_a_thousand_calls_that_are_remembered_are_a_thousand_not_more():
    calls = s2sad.value_and_grad(remembers, target="python")
    value, slopes = calls(np.full(40, 0.1))
    assert np.isfinite(value)
    assert np.all(slopes > 0.0)


def test_a_range_as_long_as_a_long_array():
    x = np.linspace(0.1, 1.0, 90)
    np.testing.assert_allclose(s2sad.grad(from_a_range, target="python")(x), differences(from_a_range, x), atol=1e-6)


def under_two_names(x):
    sums = {}
    other = sums
    for i in range(len(x)):
        other[i] = x[i]
    return sums[0]


def taken_out(x):
    sums = {}
    for i in range(len(x)):
        sums[i] = x[i]
    del sums[0]
    return sums[1]


def a_default_that_does_more(x):
    sums = {}

    def put(k):
        sums[k] = x[0]
        return x[1]

    for i in range(len(x)):
        sums[i % 3] = sums.get(i % 2, put(i % 3)) * x[i]
    return sums[0]


def keys_that_may_be_one(x):
    sums = {int(x[0] > 0.5): x[0], int(x[1] > 0.5): x[1]}
    return sums[1]


@pytest.mark.parametrize("fun", [under_two_names, taken_out, a_default_that_does_more, keys_that_may_be_one])
def test_what_is_refused(fun):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="is not known"):
        s2sad.grad(fun, target="python")(np.ones(40))


def test_functions_that_remember_by_other_keys():
    graph = {"a": {"b": 0, "c": 1}, "b": {"d": 2}, "c": {"d": 3}, "d": {}}

    def cheapest(x):
        @lru_cache
        def cost(node):
            if node == "d":
                return 0.0
            return min(x[edge] + cost(end) for end, edge in graph[node].items())

        return cost("a")

    with pytest.raises(s2sad.UnsupportedSyntaxError, match="whole numbers that it does not change"):
        s2sad.grad(cheapest, target="python")(X)
