"""Texts in the order of numbers, and items of dicts found by them."""

from __future__ import annotations

import heapq
import itertools

import numpy as np
import pytest

from tests.differences import assert_derivatives

X = np.array([0.3, 2.0, 1.2])


def largest(x):
    d = {"a": x[0], "b": x[1], "c": x[2]}
    return d[max(d, key=d.get)] ** 2 + d[min(d, key=lambda name: d[name])]


def in_order(x):
    d = dict(zip(["a", "b", "c"], x, strict=True))
    return sum(d[name] * (k + 1) for k, name in enumerate(sorted(d, key=lambda name: d[name])))


def pairs_in_order(x):
    d = {"a": x[0], "b": x[1], "c": x[2]}
    return sum(v * k for k, (_, v) in enumerate(sorted(d.items(), key=lambda item: item[1], reverse=True)))


def by_truth(x):
    total = 0.0
    for v in x:
        total += {True: v**2, False: v}[v > 1.0]
    return total


def pairs_of_points(x):
    total = 0.0
    for (a, b), (c, d) in itertools.pairwise(zip(x, x**2, strict=True)):
        total += a * d - b * c
    return total


def taken_from_a_heap(x):
    heap = [(1.0, "b"), (1.0, "a"), (1.0, "zz")]
    heapq.heapify(heap)
    total = 0.0
    for k in range(3):
        _, name = heapq.heappop(heap)
        if name == "b":
            total += x[0] * (k + 1)
        elif name == "a":
            total += x[1] * (k + 1) * 2.0
        else:
            total += x[2] * (k + 1) * 5.0
        if k == 1:
            heapq.heappush(heap, (0.5, "m"))
    return total


def in_the_order_of_letters(x):
    best = max((x[0], "u"), (x[1], "v"))
    name = "beta" if x[0] > x[1] else "alpha"
    return best[0] ** 2 + (x[2] if name < "b" else 3.0 * x[2]) + (x[1] if name >= "beta" else x[0])


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("f", [largest, in_order, pairs_in_order, by_truth, pairs_of_points, taken_from_a_heap,
                               in_the_order_of_letters])  # fmt: skip
def test_of_texts(f, target):
    assert_derivatives(f, X, target)
