"""Items of containers that a run picks, as a branch for each, and sets that are added to."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from s2sad.errors import S2SADError
from tests.differences import assert_derivatives

X = np.array([0.6, 0.3, 0.7, 1.2])


def bins_of_a_display(x):
    bins = [[], [], []]
    for i, v in enumerate(x):
        bins[i % 3].append(v * v)
    return sum(sum(b) * (k + 1) for k, b in enumerate(bins))


def bins_by_value(x):
    hist = [[] for _ in range(3)]
    for v in x:
        hist[min(int(v * 3), 2)].append(v)
    return sum((sum(h) / max(len(h), 1)) ** 2 for h in hist)


def bins_of_a_dict(x):
    bins = {0: [], 1: [], 2: []}
    k = 0
    while k < len(x):
        bins[(k * k) % 3].append(x[k])
        k += 1
    return sum(bins[0]) * sum(bins[1])


def bins_from_the_end(x):
    bins = [[], []]
    for v in x:
        bins[-1 if v > 0.5 else 0] += [v]
    return sum(bins[0]) * sum(v * v for v in bins[1])


def parts_of_unlike_lengths(x):
    k = int(x.sum()) % 2
    ws = [x[:2], x[1:] * 2.0]
    return np.sum(ws[k] ** 2)


def parts_in_turn(x):
    parts = (x[:2], x[2:], x[1:3] * 2)
    t = 0.0
    for i in range(len(x)):
        u = parts[i % 3]
        t += u[0] * u[1] * (i + 1)
    return t


def numbers_of_rows(x):
    m = [[0.0, 0.0, 1.0], [0.0, 0.0, 2.0]]
    for i in range(len(x)):
        m[i % 2][i // 2 + 1] += x[i] ** 2 * m[1 - i % 2][2]
    return m[0][1] * m[1][1] + m[1][2]


def parts_written_in_turn(x):
    ws = [x[:2].copy(), x[2:] * 2.0]
    for i in range(len(x)):
        ws[(i + 1) % 2][i // 2] += x[i]
    return np.sum(ws[0] * ws[1])


def depth_first(x):
    visited = set()
    order = []
    stack = [0]
    t = 0.0
    while stack:
        i = stack.pop()
        if i in visited:
            continue
        visited.add(i)
        order.append(i)
        t += x[i] * len(order)
        if i + 1 < 4:
            stack.append(i + 1)
        if i + 2 < 4:
            stack.append(i + 2)
    return t * x[0]


def a_set_that_holds_something(x):
    seen: set[int] = set([1])
    t = 0.0
    for i in range(len(x)):
        k = (i * i) % 3
        if k not in seen:
            t += x[i] ** 2 * (k + 1)
        seen.add(k)
    return t * len(seen) + sum(sorted(seen)) * x[0]


def a_set_of_pairs(x):
    seen = {(0, 1)}
    t = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            a, b = (i * 2) % 4, (j * 3) % 4
            if (a, b) in seen:
                continue
            seen.add((a, b))
            t += x[a] * x[b]
    return t


def a_list_of_pairs(x):
    pairs = []
    t = 0.0
    for i in range(len(x)):
        a, b = (i * 2) % 4, (i * 3) % 2
        if (a, b) not in pairs:
            pairs.append((a, b))
            t += x[i] * x[a]
    return t


def lists_by_default(x):
    from collections import defaultdict as by_default

    d = by_default(list)
    for i in range(4):
        d[i % 2].append(x[i] ** 2)
    return sum(d[0]) * sum(d[1])


PROGRAMS = [value for name, value in list(vars().items())
            if callable(value) and getattr(value, "__module__", "") == __name__]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS, ids=lambda fun: fun.__name__)
def test_derivatives_are_those_of_the_program(fun, target):
    assert_derivatives(fun, X, target)


def outside(x, k):
    ws = [x[:2], x[1:] * 2.0]
    return np.sum(ws[k] ** 2)


def no_such_key(x, k):
    bins = {2: x[:2], 5: x[1:]}
    return np.sum(bins[k] ** 2)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_places_that_are_not_there_raise_what_python_raises(target):
    gradient = s2sad.grad(outside, target=target)
    np.testing.assert_allclose(gradient(X, -2), [2 * X[0], 2 * X[1], 0.0, 0.0])
    for k in (2, -3):
        with pytest.raises(IndexError):
            gradient(X, k)
    keyed = s2sad.grad(no_such_key, target=target)
    np.testing.assert_allclose(keyed(X, 5), [0.0, *(2 * X[1:])])
    for k in (0, 3, -1):
        with pytest.raises(KeyError):
            keyed(X, k)


def in_any_order(x):
    seen = set()
    t = 0.0
    for i in range(len(x)):
        seen.add(i % 3)
    for k in seen:
        t += x[k]
    return t


def under_two_names(x):
    seen = set()
    other = seen
    for i in range(len(x)):
        other.add(i)
    return x[0] * len(seen)


@pytest.mark.parametrize("fun", [in_any_order, under_two_names])
def test_sets_that_are_more_than_asked_are_refused(fun):
    with pytest.raises(S2SADError, match=rf"{fun.__name__}"):
        s2sad.grad(fun)(X)
