"""Conditions and bounds that ask for the length of a part of an array: its ends are what they depend on."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad

STARTS = np.array([0, 2, 3, 5, 5])
NEXT = np.array([1, 3, 3, -1])
X = np.arange(1.0, 7.0)


def condition_moves_its_own_end(w):
    total, k = 0.0, 0
    for u in range(3):
        if w[k:].size > 3:
            total += w[k] * w[u]
            k = 2 * u + 1
    return total


def loop_moves_its_own_end(w):
    total, u = 0.0, 0
    while len(w[STARTS[u] : STARTS[u + 1]]) > 0:
        v = NEXT[u]
        total += w[u] * w[v]
        u = v
    return total


def left_where_a_part_is_empty(w):
    total, u = 0.0, 0
    while True:
        if w[STARTS[u] : STARTS[u + 1]].shape[0] == 0:
            break
        total += w[u] * w[NEXT[u]]
        u = NEXT[u]
    return total


def bound_moves(w):
    total, k = 0.0, 1
    for _ in range(3):
        for i in range(len(w[k:])):
            total += w[i] * w[k]
            k = min(k + 1, 4)
    return total


def name_of_another_length(w):
    total, part = 0.0, w
    for i in range(4):
        if part[1:].size > 1:
            total += part[0] * part[-1] * w[i]
            part = part[1:] * 1.5
    return total


def columns(w):
    m = np.outer(w, w)
    total, k = 0.0, 0
    for u in range(3):
        if m[:, k:].shape[1] > 3 and m[k:].T.size > 10:
            total += m[k, u]
            k += 2
    return total


PROGRAMS = (
    condition_moves_its_own_end, loop_moves_its_own_end, left_where_a_part_is_empty, bound_moves,
    name_of_another_length, columns,
)  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradient(f, target):
    slope = s2sad.grad(f, target=target)(X)
    moved = [(f(X + step) - f(X - step)) / 2e-6 for step in 1e-6 * np.eye(X.size)]
    np.testing.assert_allclose(slope, moved, rtol=1e-6, atol=1e-7)
