"""Lists that are handed on from name to name, and lists that are made of what they were before."""

from __future__ import annotations

import numpy as np
import pytest

from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, 0.4, 1.9, 0.9, 1.6])


def chain_user(x):
    cur = [x[0], x[1]]
    if x[0] > 0.1:
        a = []
        a.append(x[2])
        a.append(x[3])
        new = a
        cur = new
    return cur[1] * x[0]


def simplest(x):
    cur = list(x[:3])
    if x[0] > 0.1:
        new = cur[:]
        cur = new
    return cur[1] * x[0]


def rotate(x):
    cur = list(x)
    for i in range(2):
        new = cur[1:] + cur[:1]
        cur = new
    return cur[1] * x[0]


def mapped(x):
    cur = [v * v for v in x]
    for i in range(2):
        new = list(map(lambda c: c * x[3], cur))
        cur = new
    return cur[1] * x[0]


def step_function(x):

    def step(v):
        out = v[1:] + [v[0] * x[2]]
        return out

    cur = list(x)
    for i in range(2):
        cur = step(cur)
    return cur[1] * x[0] + cur[0] + cur[-1]


def shifted_append(x):
    cur = [x[0], x[1], x[2]]
    for i in range(3):
        new = cur[1:]
        new.append(cur[0] * x[3])
        cur = new
    return cur[1] * 2 + cur[0] ** 2


def crash_pop(x):
    cur = [x[0], x[1], x[2]]
    if x[0] > 0.1:
        new = cur[:]
        new.pop()
        cur = new
    return cur[1] * 2 + cur[0] ** 2


def fine_one_name(x):
    cur = list(x)
    for i in range(2):
        cur = cur[1:] + cur[:1]
    return cur[1] * x[0]


def fine_comprehension(x):
    cur = [v * v for v in x]
    for i in range(2):
        new = [v * x[i] for v in cur]
        cur = new
    return cur[1] * x[0]


def levenshtein_rows(x):
    a, b = ([0, 1, 2, 1], [1, 2, 2])
    prev = [j * x[0] for j in range(len(b) + 1)]
    for i, u in enumerate(a):
        cur = [(i + 1) * x[1]] + [0.0] * len(b)
        for j, v in enumerate(b):
            cost = 0 if u == v else x[2] + abs(u - v) * x[3]
            cur[j + 1] = min(prev[j] + cost, prev[j + 1] + x[1], cur[j] + x[0])
        prev, cur = (cur, prev)
    return prev[-1]


def concat(x):
    prev = [x[0], x[1]]
    for i in range(3):
        cur = [x[2]] + [0.0] * 1
        cur[1] = prev[0] * prev[1]
        prev = cur
    return prev[1]


def sliced(x):
    prev = [x[0], x[1]]
    for i in range(3):
        cur = prev[:]
        cur[1] = prev[0] * prev[1]
        prev = cur
    return prev[1]


def listed_again(x):
    prev = [x[0], x[1]]
    for i in range(3):
        cur = list(prev)
        for j in range(1):
            cur[j + 1] = prev[0] * prev[1] + cur[j]
        prev = cur
    return prev[1]


def starred(x):
    prev = [x[0], x[1]]
    for i in range(3):
        cur = [x[2], *prev[1:]]
        cur[1] += prev[0] * prev[1]
        prev = cur
    return prev[1]


def unwritten(x):
    prev = [x[0], x[1]]
    for i in range(3):
        cur = [prev[0] * x[2]] + prev[:1]
        prev = cur
    return prev[1]


def copied(x):
    prev = [x[0], x[1]]
    for i in range(3):
        cur = prev.copy()
        cur[1] = prev[0] * prev[1]
        prev = cur
    return prev[1]


def joined_once(x):
    prev = [x[0], x[1]]
    cur = [x[2]] + [0.0] * int(x[3])
    cur[1] = prev[0] * prev[1]
    prev = cur
    return prev[1] * prev[0]


def joined_in_a_branch(x):
    prev = [x[0], x[1]]
    if x[0] > 0.1:
        cur = [x[2]] + [0.0] * 1
        cur[1] = prev[0] * prev[1]
        prev = cur
    return prev[1] * prev[0]


def in_a_while(x):
    prev = [x[0], x[1]]
    while prev[1] < 20:
        cur = [x[2]] + prev[:1]
        cur[1] += prev[1] * x[3]
        prev = cur
    return prev[1] * prev[0]


def fine_direct(x):
    prev = [x[0], x[1]]
    for i in range(3):
        prev = [prev[0] * x[2]] + prev[:1]
    return prev[1]


def in_for(x):
    p = [0.5] * 2
    for it in range(3):
        for _ in range(2):
            trial = [a * x[2] for a in p]
        p = trial
    return p[0] * p[1]


def line_search(x):
    p = [0.5] * 2
    for it in range(3):
        t = 0.5
        while True:
            trial = [a - t * b for a, b in zip(p, x)]
            if trial[0] > -2:
                break
            t *= 0.5
        p = trial
    return p[0] * p[1]


def in_if(x):
    p = [0.5] * 2
    for it in range(3):
        if x[it] > 1:
            trial = [a * x[2] for a in p]
        else:
            trial = [a * x[3] for a in p]
        p = trial
    return p[0] * p[1]


def in_if_no_loop(x):
    p = [0.5] * 2
    if x[0] > 0.1:
        trial = [a * x[2] for a in p]
        if x[1] > 0.1:
            trial = [a * x[3] for a in p]
        p = trial
    return p[0] * p[1]


def append_loop(x):
    p = [v * v for v in x[:2]]
    for it in range(3):
        for k in range(2):
            trial = []
            for a in p:
                trial.append(a * x[2 + k])
        p = trial
    return p[0] * p[1]


def read_between(x):
    p = [v * v for v in x[:2]]
    tot = 0.0
    for it in range(3):
        for k in range(2):
            trial = [a * x[2] for a in p]
            tot += trial[0]
        p = trial
    return p[0] * p[1] + tot


def fine_fixed(x):
    p = [0.5, 0.3]
    for it in range(3):
        for _ in range(2):
            trial = [a * x[2] for a in p]
        p = trial
    return p[0] * p[1]


def step_copy(x):

    def step(s):
        n = s.copy()
        for i in range(1, len(s) - 1):
            n[i] = 0.5 * (s[i - 1] + s[i + 1]) * x[0]
        return n

    s = list(x)
    for _ in range(2):
        s = step(s)
    return s[2] * s[3] + s[1]


def steps_along_a_direction(x):
    s = [0.0] * 2
    p = [x[0], x[1]]
    for k in range(2):
        s = [si + x[2] * pi for si, pi in zip(s, p)]
    return s[1]


def steps_from_a_display(x):
    s = [0.0, 0.0]
    p = [x[0], x[1]]
    for k in range(2):
        s = [si + x[2] * pi for si, pi in zip(s, p)]
    return s[1]


def steps_by_index(x):
    s = [0.0] * 2
    p = [x[0], x[1]]
    for k in range(2):
        s = [s[i] + x[2] * p[i] for i in range(2)]
    return s[1]


def steps_from_squares(x):
    s = [v * v for v in x]
    p = [x[0], x[1]]
    for k in range(2):
        s = [si + x[2] * pi for si, pi in zip(s, p)]
    return s[1]


def two_in_turn(x):
    s = [v * v for v in x]
    for k in range(2):
        s = [s[1] * 2, s[0] + x[1]]
    return s[1]


def shift_register(x):
    s = [v * v for v in x[:2]]
    for v in x[2:]:
        s = [v, s[0]]
    return s[0] + 10 * s[1]


def shift_branch(x):
    s = [v * v for v in x[:2]]
    if x[0] > 0.1:
        s = [x[3], s[0]]
    return s[0] + 10 * s[1]


def shift_branch_repeat(x):
    s = [x[4]] * 2
    if x[0] > 0.1:
        s = [x[3], s[0]]
    return s[0] + 10 * s[1]


def shift_append(x):
    s = []
    for v in x[:2]:
        s.append(v)
    for v in x[2:]:
        s = [v, s[0]]
    return s[0] + 10 * s[1]


def swap_display(x):
    s = [v * v for v in x[:2]]
    for i in range(3):
        s = [x[3] + 1, s[0] * s[1]]
    return s[0] + 10 * s[1]


def longer_in_turns(x):
    s = [v * v for v in x[:2]]
    for i in range(3):
        s = [x[3] + 1, x[1] * len(s)]
    return s[0] + 10 * s[1]


def shift_slice(x):
    s = [v * v for v in x[:3]]
    for v in x[2:]:
        s = [v] + s[:-1]
    return s[0] + 10 * s[1]


def shift_star(x):
    s = [v * v for v in x[:3]]
    for v in x[2:]:
        s = [v, *s[:-1]]
    return s[0] + 10 * s[1]


def shift_list_tuple(x):
    s = [v * v for v in x[:3]]
    for v in x[2:]:
        s = list((v, s[0], s[1]))
    return s[0] + 10 * s[1] + 100 * s[2]


def fib_list(x):
    s = [v for v in x[:2]]
    for k in range(5):
        s = [s[-1], s[-1] + s[-2]]
    return s[0] + 10 * s[1]


def comp_index(x):
    s = [0.0] * 3
    for k in range(3):
        s = [s[i - 1] if i else x[k] for i in range(3)]
    return s[0] + 10 * s[1] + 100 * s[2]


PROGRAMS = [
    chain_user, simplest, rotate, mapped, step_function, shifted_append, crash_pop, fine_one_name,
    fine_comprehension, levenshtein_rows, concat, sliced, listed_again, starred, unwritten, copied, joined_once,
    joined_in_a_branch, in_a_while, fine_direct, in_for, line_search, in_if, in_if_no_loop, append_loop,
    read_between, fine_fixed, step_copy, steps_along_a_direction, steps_from_a_display, steps_by_index,
    steps_from_squares, two_in_turn, shift_register, shift_branch, shift_branch_repeat, shift_append,
    swap_display, longer_in_turns, shift_slice, shift_star, shift_list_tuple, fib_list, comp_index,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)
