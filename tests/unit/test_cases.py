"""Names that mean one array or the other, and conditions that turn from one turn of a loop to the next."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.5, 0.9, 1.1, 1.6, 1.8, 2.2])


def buffers_in_turn(x):
    a, b = x.copy(), np.zeros(6)
    for i in range(4):
        src, dst = (a, b) if i % 2 == 0 else (b, a)
        for j in range(1, 5):
            dst[j] = 0.5 * src[j] + 0.25 * (src[j - 1] * src[j + 1])
        dst[0] = src[0]
        dst[5] = src[5]
    return (a * a).sum() + b[2]


def buffers_by_a_branch(x):
    a, b = x.copy(), np.zeros(6)
    for i in range(5):
        if i % 2 == 0:
            src, dst = a, b
        else:
            src = b
            dst = a
        dst[1:-1] = src[1:-1] + 0.1 * (src[:-2] - 2 * src[1:-1] + src[2:]) * src[1:-1]
    return (a * a).sum() + b[2]


def smoothed(src, dst, c):
    for j in range(1, 5):
        dst[j] = 0.5 * src[j] + c * (src[j - 1] * src[j + 1])


def buffers_for_a_helper(x):
    a, b = x.copy(), x.copy()
    for i in range(4):
        src, dst = (a, b) if i % 2 == 0 else (b, a)
        smoothed(src, dst, x[0])
    return (a * a).sum() + b[2]


def one_name_for_two(x):
    low, high = np.zeros(6), np.ones(6)
    for i in range(6):
        out = low if x[i] < 1.5 else high
        out[i] = x[i] ** 2
        out[0] += out[i] * x[0]
    return low @ x + (high * high).sum()


def a_condition_that_turns(x):
    a, b = x.copy(), np.zeros(6)
    flip, i = False, 0
    while i < 5:
        if flip:
            dst, src = a, b
        else:
            src, dst = a, b
        dst[1:-1] = src[1:-1] * 0.7 + src[:-2] * x[2]
        if dst[1] > 18:
            break
        flip = not flip
        i += 1
    return (a * a).sum() + b[2]


def turned_in_a_while(x):
    total, flip, i = 0.0, False, 0
    while i < 6:
        if flip:
            total += x[i]
        else:
            total *= x[i]
        flip = not flip
        i += 1
    return total


def turned_before_a_break(x):
    total, flip, i = 0.0, True, 0
    while True:
        total += x[i] ** 2 if flip else x[i]
        if total > 4.1:
            break
        flip = not flip
        i += 1
    return total


def known_at_first(x, mode="squares"):
    squares, nothing = mode == "squares", mode is None
    total = 1.0
    for i in range(6):
        if squares and not nothing:
            total += x[i] ** 2
            squares = x[i] > 1
        else:
            total *= x[i]
            squares = True
    return total


def read_behind_the_loop(x):
    a, b = x.copy(), np.zeros(6)
    for i in range(5):
        src, dst = (a, b) if i % 2 == 0 else (b, a)
        dst[1:] = src[1:] * src[:-1]
    total = dst[3]
    for k in range(3):
        total = total + dst[k] * src[k]
    return total * np.sum(dst)


def settled(x):
    a, b, i = x.copy(), np.zeros(6), 0
    while True:
        if i % 2 == 0:
            src, dst = a, b
        else:
            src, dst = b, a
        dst[1:] = 0.5 * src[1:] * src[:-1]
        if dst[1] < 0.1 or i > 8:
            break
        i += 1
    return dst


def returned_by_a_helper(x):
    return (settled(x) ** 2 * x).sum()


def one_list_or_the_other(x):
    a, b = [x[0], x[1]], [x[1], x[2]]
    c = a if x[0] > 0 else b
    c[0] = 5 * x[2]
    return a[0] * b[0]


PROGRAMS = [
    one_list_or_the_other,
    read_behind_the_loop, returned_by_a_helper,
    buffers_in_turn, buffers_by_a_branch, buffers_for_a_helper, one_name_for_two, a_condition_that_turns,
    turned_in_a_while, turned_before_a_break, known_at_first,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)


def test_the_arrays_themselves_are_written():
    source = s2sad.differentiate(buffers_in_turn).source("grad", (X,))
    assert "b[j] = 0.5 * a[j] + 0.25 * (a[j - 1] * a[j + 1])" in source
    assert "a[j] = 0.5 * b[j] + 0.25 * (b[j - 1] * b[j + 1])" in source


def written_behind_the_loop(x):
    a, b = x.copy(), np.zeros(6)
    for i in range(5):
        src, dst = (a, b) if i % 2 == 0 else (b, a)
        dst[1:] = src[1:] * src[:-1]
    dst *= 2
    return (dst * a).sum()


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_names_that_are_written_behind_the_loop_are_refused(target):
    with pytest.raises(s2sad.AliasError, match=r"may share its memory"):
        s2sad.grad(written_behind_the_loop, target=target)(X)
