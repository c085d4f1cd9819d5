"""What `sorted` gives is a list: `+` joins it, slices are copies, it is true unless it is empty."""

from __future__ import annotations

import numpy as np
import pytest

from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, 0.4, 1.9, 0.9, 1.6])


def plus_list(x):
    s = sorted([x[0], x[1], x[2]])
    t = s + [x[3]]
    return t[0] + 2 * t[1] + 3 * len(t)


def straight(x):
    s = [x[0], x[1], x[2]]
    s += [0.5]
    s = sorted(s)
    s = s[1:] + [x[4]]
    return s[0] + 2 * s[1] + 3 * s[2]


def times(x):
    t = sorted(x) * 2
    return t[0] + 2 * t[1] + 3 * len(t)


def halves(x):
    a = sorted(x)
    r = a[3:] + a[:3]
    return sum((i * v for i, v in enumerate(r)))


def slice_is_a_view(x):
    a = sorted([x[0], x[1], x[2]])
    b = a[1:]
    b[0] = 100.0
    return a[1] * x[3] + b[1]


def keyed(x):
    s = sorted([x[0], x[1]], key=lambda v: -v) + [x[2]]
    return s[0] + 2 * s[1] + 3 * len(s)


def iadd(x):
    a = sorted([x[0], x[1]])
    a += [x[2]]
    return a[0] + 2 * a[1] + 3 * len(a)


def maxed(x):
    a = [x[0], x[1]]
    return max(sorted(a) + [x[2]]) + sum(sorted(a) + [x[5]])


def put_between(x):
    a = sorted(x)
    a = a[:2] + [x[5]] + a[2:]
    return sum((i * v for i, v in enumerate(a)))


def of_unequal_lengths(x):
    s = sorted(x) + sorted(x[:2])
    return s[0] + 2 * s[1] + 3 * len(s)


def truth(x):
    a = sorted([x[0], x[1], x[2]])
    return a[0] if a else x[3]


def equal(x):
    a = sorted([x[0], x[1]])
    if a == [x[0], x[1]]:
        return x[2]
    return x[3]


def appended(x):
    a = sorted([x[0], x[1]])
    a.append(x[2])
    return a[0] + a[2]


def inserted(x):
    a = sorted(x)
    a.pop()
    a.insert(0, x[2])
    return a[0] + a[2]


def in_a_loop_that_is_left(x):
    s = list(x[:4])
    for i in range(2):
        s = sorted(s)
        s = [v * x[2] for v in s]
    return s[0] + 2 * s[1]


def in_a_branch(x):
    s = [v * v for v in x]
    if x[0] > 0.1:
        s = sorted(s)
    return s[0] + 2 * s[1]


def joined_then_sorted(x):
    s = list(x[:4])
    for i in range(3):
        for j in range(2):
            s = sorted(s)
            if s[0] > 1.5:
                break
        s = [v * x[2] for v in s]
    return s[0] + 2 * s[1]


def sorted_in_turns(x):
    s = list(x[:4])
    for i in range(3):
        for j in range(2):
            s = sorted(s)
        s = [v * x[2] for v in s]
    return s[0] + 2 * s[1]


def sorted_twice(x):
    s = list(x[:4])
    for i in range(3):
        s = sorted(s)
        if s[0] > 1.5:
            break
        s = [v * x[2] for v in s]
    return s[0] + 2 * s[1]


def grown_and_sorted(x):
    s = []
    for v in x:
        s.append(v)
        s = sorted(s)[:3]
    return s[0] + 2 * s[1] + 3 * s[2] + len(s)


def sorted_while_grown(x):
    s = []
    for v in x:
        s = sorted(s + [v])
    return s[0] + 2 * s[1] + 3 * s[2] + len(s)


PROGRAMS = [
    plus_list, straight, times, halves, slice_is_a_view, keyed, iadd, maxed, put_between, of_unequal_lengths,
    truth, equal, appended, inserted, in_a_loop_that_is_left, in_a_branch, joined_then_sorted, sorted_in_turns,
    sorted_twice, grown_and_sorted, sorted_while_grown,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)
