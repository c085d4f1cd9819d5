"""`deque` and `defaultdict`, written as the list and the dict that they are."""

from __future__ import annotations

import collections
from collections import defaultdict, deque

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, 0.4, 1.9, 0.9])


def the_last_ones(x):
    n = 3
    h = deque(maxlen=n)
    s = 0.0
    for v in x:
        h.append(v * v)
        s += sum(h) / len(h) + h[-1] * h[0]
        if len(h) == n:
            s += np.std(np.array(h)) + max(h)
    return s


def that_begins_full(x):
    h = deque([0.0] * 3, maxlen=3)
    g: collections.deque = collections.deque([x[0], x[1], x[2]], maxlen=2)
    s = g[0] * g[1] * len(g)
    for v in x:
        h.append(v)
        g.appendleft(v)
        s += sum(a * b for a, b in zip([0.5, 0.3, 0.2], h)) ** 2 + g[0] * 2.0 - g[1]
    return s


def as_long_as_a_length(x):
    weights = [0.5, 0.2]
    h = deque([0.0] * len(weights), maxlen=len(weights))
    s, most_g = 0.0, 2
    for n in range(1, 3):
        g = deque(maxlen=n + 1)
        n = 7
        for v in x:
            h.appendleft(v - sum(w * e for w, e in zip(weights, h)))
            g.append(v * n)
            s += sum(g) * h[0] / len(g) + most_g
    return s


def that_begins_too_long(x):
    h = deque(x, maxlen=3)
    g = deque([x[0], x[1], x[2]], maxlen=x.size - 3)
    h.append(3.0 * x[0] * x[1])
    g.append(x[4] * x[4])
    return sum(v * v for v in h) + g[0] * g[1]


def a_queue(x):
    q = deque([x[0], x[1]])
    t = 0.0
    while q:
        v = q.popleft()
        t += v * v
        if v < 1.5:
            q.append(v * 1.5)
            q.appendleft(v * 1.3)
    return t


def a_search(x):
    neighbours = [[1, 2], [3], [3], [4], []]
    far = np.zeros(5)
    seen = [False] * 5
    seen[0] = True
    q = deque([0])
    while q:
        u = q.popleft()
        for w in neighbours[u]:
            if not seen[w]:
                seen[w] = True
                far[w] = far[u] + x[w] ** 2
                q.append(w)
    return np.sum(far**2)


def turned(x):
    q = deque([x[0], x[1], x[2]])
    q.rotate(1)
    s = q[0] * 2.0 + q[1] * 3.0
    q.rotate(-2)
    return s * q[0]


def sums_by_key(x):
    d = defaultdict(float)
    for k, (a, b) in enumerate([(0, 1), (1, 2), (0, 2), (2, 3)]):
        d[a] += x[k]
        d[b] += x[k] ** 2
    n = defaultdict(int)
    for word in ["a", "b", "a"]:
        n[word] += 1
    return sum(d[v] ** 2 for v in range(4)) * n["a"] + n["c"] + len(n) * x[0]


def lists_by_key(x):
    d = defaultdict(list)
    for k, v in zip("abab", x):
        d[k].append(v)
    scales = defaultdict(lambda: 2.0)
    scales["a"] *= x[0]
    return sum(d["a"]) * sum(d["b"]) * scales["a"] * scales["b"]


def arrays_by_key(x):
    scale = 2.0
    sums = defaultdict(lambda: np.zeros(2))
    firsts = defaultdict(lambda: [scale, 1.0])
    kept = sums["a"]
    for k, v in zip("abab", x):
        sums[k] += np.array([v, v * v])
        firsts[k] += [v]
    return np.sum(sums["a"] * sums["b"]) * np.sum(kept) + sum(firsts["a"]) * firsts["b"][2] + sum(firsts["c"])


PROGRAMS = [the_last_ones, that_begins_full, a_queue, a_search, turned, sums_by_key, lists_by_key, arrays_by_key]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)


def under_two_names(x):
    h = deque(maxlen=2)
    g = h
    for v in x:
        g.append(v)
    return sum(h)


def read_perhaps(x):
    d = defaultdict(float)
    s = d["a"] if x[0] > 1.0 else x[1]
    return s + len(d)


def by_what_a_run_tells(x):
    d = defaultdict(float)
    for i in range(len(x)):
        d[i % 2] += x[i]
    return d[0] * d[1]


def a_default_that_moves(x):
    scale = 1.0
    d = defaultdict(lambda: scale)
    for k, v in zip("abab", x):
        scale *= v
        d[k] += v
    return d["a"]


@pytest.mark.parametrize(("fun", "what"), [
    (a_default_that_moves, "`defaultdict` is not supported"),
    (under_two_names, "is read under a local name only, bound once and handed to nobody"),
    (read_perhaps, "`defaultdict` is not supported"),
    (by_what_a_run_tells, "the key of this dict is not known before the function runs"),
])  # fmt: skip
def test_what_is_refused(fun, what):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match=what):
        s2sad.grad(fun, target="python")(np.ones(40))


def test_keys_that_the_length_of_a_short_array_tells():
    even, odd = np.sum(X[::2]), np.sum(X[1::2])
    assert np.allclose(s2sad.grad(by_what_a_run_tells, target="python")(X), [odd, even, odd, even, odd])
