"""Heaps, lists that are kept in order, and graphs whose edges are looked up by a node that only a run knows."""

from __future__ import annotations

import bisect
import heapq

import numpy as np
import pytest

import s2sad

EDGES = {0: [(1, 0), (2, 1)], 1: [(3, 2)], 2: [(3, 3), (1, 4)], 3: []}
NEIGHBOURS = [[1, 2], [3], [3, 1], []]
COUPLED = [[(1, 0.5), (2, 1.5)], [(3, 1.0)], [(3, 2.0), (1, 3.0)], []]
LENGTHS = np.array([1.0, 2.0, 0.5, 3.0, 1.2])


def shortest(w):
    distance = {v: float("inf") for v in EDGES}
    distance[0] = 0.0
    heap = [(0.0, 0)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > distance[u]:
            continue
        for v, e in EDGES[u]:
            other = d + w[e]
            if other < distance[v]:
                distance[v] = other
                heapq.heappush(heap, (other, v))
    return distance[3] * distance[1]


def shortest_of_given_lengths(w):
    edges = {0: [(1, w[0]), (2, w[1])], 1: [(3, w[2])], 2: [(3, w[3]), (1, w[4])], 3: []}
    distance = [float("inf")] * 4
    distance[0] = 0.0
    heap = [(0.0, 0)]
    while heap:
        d, u = heapq.heappop(heap)
        for v, length in edges[u]:
            if d + length < distance[v]:
                distance[v] = d + length
                heapq.heappush(heap, (distance[v], v))
    return distance[3] * distance[1]


def merged(w):
    heap = [(x, i) for i, x in enumerate(w)]
    heapq.heapify(heap)
    cost, count = 0.0, len(w)
    while len(heap) > 1:
        a, _ = heapq.heappop(heap)
        b, _ = heapq.heappop(heap)
        cost += a * b
        heapq.heappush(heap, (a + b, count))
        count += 1
    return cost


def replaced(w):
    heap = [0.3, 2.5, 0.1]
    heapq.heapify(heap)
    total = 0.0
    for x in w:
        total += heapq.heapreplace(heap, x * x) ** 2 + heapq.heappushpop(heap, total)
    return total + sum(heapq.nlargest(2, heap)) * heapq.nsmallest(1, heap)[0]


def running_median(w):
    low, high = [], []
    total = 0.0
    for x in w:
        heapq.heappush(low, -heapq.heappushpop(high, x))
        if len(low) > len(high):
            heapq.heappush(high, -heapq.heappop(low))
        total += high[0] if len(high) > len(low) else (high[0] - low[0]) / 2
    return total


def put_in_order(w):
    items = [0.3, 2.5]
    for x in w:
        bisect.insort(items, x * x)
    total = 0.0
    for i in range(len(items) - 1):
        total += (items[i + 1] - items[i]) ** 2 * i
    return total


def walked(w):
    total, u = 0.0, 0
    while NEIGHBOURS[u]:
        v = NEIGHBOURS[u][0]
        total += w[u] * w[v] * len(NEIGHBOURS[u])
        u = v
    return total


def one_neighbour_is_true(w):
    value = np.zeros(5)
    for k in range(30):
        n = (k * 7) % 4
        following = NEIGHBOURS[n]
        if following:
            value[n] = np.tanh(w[n] * value[following[0]] + w[following[-1]])
        else:
            value[n] = w[n]
    return np.sum(value)


def lists_are_joined(w):
    total = 0.0
    for k in range(8):
        for j in NEIGHBOURS[k % 4] + [0]:
            total += w[j] * k
    return total


def summed_over_edges(w):
    x = w.copy()
    for k in range(20):
        u = (k * 3) % 4
        x[u] = 0.5 * x[u] + np.tanh(sum(c * x[v] for v, c in COUPLED[u]))
    return np.sum(x * x)


PROGRAMS = (
    shortest, shortest_of_given_lengths, merged, replaced, running_median, put_in_order, walked, one_neighbour_is_true,
    lists_are_joined, summed_over_edges,
)  # fmt: skip


def differences(f, w):
    steps = 1e-6 * np.eye(w.size)
    return np.array([(f(w + step) - f(w - step)) / 2e-6 for step in steps])


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradient(f, target):
    value, slope = s2sad.value_and_grad(f, target=target)(LENGTHS)
    assert value == pytest.approx(f(LENGTHS), rel=1e-14)
    np.testing.assert_allclose(slope, differences(f, LENGTHS), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("f", [shortest, merged, walked], ids=lambda f: f.__name__)
def test_tangent(f):
    direction = np.array([0.3, -0.2, 0.5, 0.1, -0.4])
    _, moved = s2sad.jvp(f, (LENGTHS,), (direction,), target="python")
    assert moved == pytest.approx(differences(f, LENGTHS) @ direction, rel=1e-6)


def test_tables_stand_before_loops():
    text = s2sad.differentiate(walked).source("grad", types=(LENGTHS,))
    before = text[: text.index("while ")]
    assert text.count("np.array([") == before.count("np.array([") == 2
