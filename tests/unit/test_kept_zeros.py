"""Zeros around what every turn sets are written once; where a turn could find what another left, in every turn."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.unit.test_gathered import agree

pytestmark = pytest.mark.compiled


def diffused(x, steps):
    """Heat, with a copy in every step: what is sent has zeros around it."""
    u = x.copy()
    for _ in range(steps):
        un = u.copy()
        for i in range(1, u.size - 1):
            u[i] = un[i] + 0.2 * (un[i + 1] - 2.0 * un[i] + un[i - 1])
    return np.sum(u**3)


def added_once(x, steps):
    """The flow is zero at the ends, and added to in between."""
    u = x.copy()
    for _ in range(steps):
        flow = np.zeros(u.size + 1)
        for i in range(1, u.size):
            flow[i] -= 0.3 * np.sin(u[i] - u[i - 1])
        for i in range(u.size):
            u[i] = u[i] + flow[i] - flow[i + 1]
    return np.sum(u**2)


def read_before_it_is_set(x, steps):
    u = x.copy()
    total = 0.0
    for _ in range(steps):
        w = np.zeros(u.size)
        for i in range(u.size):
            total += w[i] * u[i]
        for i in range(u.size):
            w[i] = u[i] ** 2
        for i in range(u.size):
            u[i] = 0.5 * w[i] + 0.1 * u[i]
    return total + np.sum(u)


def written_again(x, steps):
    u = x.copy()
    for step in range(steps):
        w = np.zeros(u.size + 1)
        for i in range(u.size):
            w[i] = u[i] ** 2
        w[step % 3] = u[0]
        for i in range(u.size):
            u[i] = 0.5 * w[i] + 0.1 * w[i + 1]
    return np.sum(u)


def left_early(x, steps):
    u = x.copy()
    for step in range(steps):
        w = np.zeros(u.size)
        for i in range(u.size):
            if u[i] > 0.9:
                break
            w[i] = u[i] ** 2
        for i in range(u.size):
            u[i] = 0.5 * w[i] + 0.3 * np.cos(u[i])
    return np.sum(u)


def skipped(x, steps):
    u = x.copy()
    for step in range(steps):
        w = np.zeros(u.size)
        if step % 2 == 0:
            for i in range(u.size):
                w[i] = u[i] ** 2
        for i in range(u.size):
            u[i] = 0.5 * w[i] + 0.3 * np.cos(u[i])
    return np.sum(u)


def growing(x, steps):
    u = x.copy()
    for step in range(steps):
        w = np.zeros(u.size)
        for i in range(min(step + 1, u.size)):
            w[i] = u[i] ** 2
        for i in range(u.size):
            u[i] = 0.5 * w[i] + 0.3 * np.cos(u[i])
    return np.sum(u)


def by_what_it_has(x, steps):
    """How far the nest goes is read from an array."""
    u = x.copy()
    most = np.array([2, 1, 3, 0])
    for step in range(steps):
        w = np.zeros(u.size)
        for i in range(min(most[step % 4], u.size)):
            w[i] = u[i] ** 2
        for i in range(u.size):
            u[i] = 0.5 * w[i] + 0.3 * np.cos(u[i])
    return np.sum(u)


def around_the_end(x, steps):
    """The first and the last addition come to one element."""
    u = x.copy()
    n = u.size
    for _ in range(steps):
        w = np.zeros(n)
        for i in range(n + 1):
            w[i - 1] += 0.1 * np.sin(u[i - 1])
        for i in range(n):
            u[i] = w[i] + 0.5 * u[i] ** 2
    return np.sum(u)


def kept_beyond(x, steps):
    """The array of one turn is read in the next."""
    u = x.copy()
    before = np.zeros(u.size)
    for _ in range(steps):
        w = np.zeros(u.size)
        for i in range(1, u.size):
            w[i] = u[i] * u[i - 1]
        for i in range(u.size):
            u[i] = 0.5 * w[i] + 0.2 * before[i] + 0.1
        before = w
    return np.sum(u)


def in_a_corner(x, steps):
    """A triangle of a matrix is set, the rest stays zero."""
    u = x.copy()
    n = u.size
    for _ in range(steps):
        w = np.zeros((n, n))
        for i in range(n):
            for j in range(i):
                w[i, j] += 0.2 * u[i] * u[j]
        for i in range(n):
            for j in range(n):
                u[i] = u[i] + 0.1 * w[i, j] - 0.05 * w[j, i]
    return np.sum(u)


KEPT = (diffused, added_once, in_a_corner)
ANEW = (
    read_before_it_is_set, written_again, left_early, skipped, growing, by_what_it_has, around_the_end, kept_beyond,
)  # fmt: skip


@pytest.mark.parametrize("fun", [*KEPT, *ANEW])
def test_values(fun: Callable[..., Any]) -> None:
    for n in (3, 4, 9, 30):
        for steps in (0, 1, 2, 5):
            agree(fun, 0.3 + 0.5 * np.sin(np.arange(n) * 1.3), steps)


@pytest.mark.parametrize("fun", KEPT)
def test_no_turn_writes_zeros(fun: Callable[..., Any]) -> None:
    primal, adjoint = text_of(fun).split("# ---- adjoint sweep ----")
    text = adjoint if fun is diffused else primal
    assert "= np.zeros" in text
    assert not re.search(r"\[:(, :)?\] = 0.0", text), text


@pytest.mark.parametrize("fun", [fun for fun in ANEW if fun not in (left_early, kept_beyond)])
def test_every_turn_writes_zeros(fun: Callable[..., Any]) -> None:
    primal = text_of(fun).split("# ---- adjoint sweep ----")[0]
    assert re.search(r"w\[:\] = 0.0|    w = np.zeros|w\[i\w*\] = 0.0", primal), primal


def text_of(fun: Callable[..., Any]) -> str:
    return s2sad.differentiate(argnums=0, target="cpu")(fun).source("grad", types="float64[:], int64")
