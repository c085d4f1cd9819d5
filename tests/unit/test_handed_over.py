"""Arrays that get another name at the end of a turn: where both names are used, they are apart."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from s2sad.analysis.facts import Facts
from s2sad.analysis.sharing import Apart
from s2sad.errors import NOWHERE
from s2sad.frontend.functions import instantiate
from s2sad.frontend.lowerer import Context
from s2sad.ir.nodes import Assign
from s2sad.ir.typeof import typeof
from s2sad.ir.walk import statements
from tests.differences import assert_derivatives

START = 0.5 * np.random.default_rng(0).normal(size=9)
FIELD = 0.3 * np.random.default_rng(1).normal(size=(6, 7))


def diffusion(u, k=0.3):
    for _ in range(3):
        new = u.copy()
        new[1:-1, 1:-1] = u[1:-1, 1:-1] + k * (u[2:, 1:-1] * u[:-2, 1:-1] - u[1:-1, 1:-1])
        u = new
    return np.sum(u**2)


def wave(u, c=0.3):
    before = u.copy()
    now = 0.9 * u
    for _ in range(4):
        after = np.zeros_like(now)
        slope = now[2:, 1:-1] + now[:-2, 1:-1] - 2.0 * now[1:-1, 1:-1]
        after[1:-1, 1:-1] = 2.0 * now[1:-1, 1:-1] - before[1:-1, 1:-1] + c * slope * now[1:-1, 1:-1]
        before = now
        now = after
    return np.sum(now**2) + np.sum(before * now)


def view_outlives_its_name(x, c=0.3):
    total = 0.0
    x = x.copy()
    for _ in range(3):
        new = x.copy()
        part = new[1:]
        new[1:-1] = c * x[1:-1] + x[2:] * x[:-2]
        x = new
        x[1:] += 0.5 * part[::-1]
        total += np.sum(np.sin(0.1 * x))
    return total


def one_array_throughout(x, c=0.3):
    x = x.copy()
    new = x
    for _ in range(3):
        new[1:] = c * x[:-1] + 0.1 * x[1:] ** 2
        x = new
        new = x
    return np.sum(x**3)


def sometimes_the_same(x, c=0.3):
    x = x.copy()
    new = x.copy()
    for turn in range(5):
        if turn % 2 == 0:
            new = x.copy()
        new[1:] = c * x[:-1] + 0.1 * x[1:] ** 2
        x = new
    return np.sum(x**3)


def turned_round(x, c=0.3):
    a, b = x.copy(), 2.0 * x
    for _ in range(3):
        t = a
        a = b
        b = t
        b[1:] = c * a[:-1] + 0.3 * b[1:]
        a[:-1] += b[1:] ** 2
    return np.sum(a * b)


def crossed(x, c=0.3):
    y = 2.0 * x
    x = x.copy()
    for _ in range(4):
        new, other = np.empty_like(x), np.empty_like(y)
        new[1:] = x[1:] - c * (x[1:] - y[:-1])
        new[0] = y[0]
        other[:-1] = y[:-1] * new[1:] + c * x[1:]
        other[-1] = new[-1]
        x = other
        y = new
    return np.sum(x**2) + np.sum(y**3)


def loops_around_the_hand_over(x, c=0.3):
    old = x.copy()
    now = x * x
    for _ in range(3):
        made = np.cos(now)
        spare = old + now
        old = now
        now = made
        now[1:] = now[1:] * old[:-1]
        old[:-1] = c * spare[1:] + now[1:]
    return np.sum(now * old)


PROGRAMS = [
    (diffusion, FIELD), (wave, FIELD), (view_outlives_its_name, START), (one_array_throughout, START),
    (sometimes_the_same, START), (turned_round, START), (crossed, START), (loops_around_the_hand_over, START),
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(("fun", "x"), PROGRAMS, ids=lambda value: getattr(value, "__name__", ""))
def test_derivatives(fun, x, target):
    assert_derivatives(fun, x, target)


def test_names_are_apart_where_both_are_used():
    kinds = (typeof(FIELD, "u"), typeof(0.3, "k"))
    fn = instantiate(Context(), diffusion, kinds, NOWHERE).function
    apart = Apart(fn, Facts({fn.name: fn}))
    (given,) = [s for s in statements(fn.body) if isinstance(s, Assign) and getattr(s.value, "name", "") == "new"]
    assert apart.may_meet(given.target.name, "new")
    assert not apart.may_meet_now(given.target.name, "new")
    assert apart.hands_over(given)


@pytest.mark.parametrize("fun", [view_outlives_its_name, one_array_throughout])
def test_names_that_stay_in_use_are_not_apart(fun):
    fn = instantiate(Context(), fun, (typeof(START, "x"), typeof(0.3, "c")), NOWHERE).function
    apart = Apart(fn, Facts({fn.name: fn}))
    (given, *_) = [s for s in statements(fn.body) if isinstance(s, Assign) and getattr(s.value, "name", "") == "new"]
    assert apart.may_meet_now(given.target.name, "new")


def test_what_is_handed_over_is_no_reason_for_copies():
    text = str(s2sad.differentiate(diffusion).source(types="float64[:,:], float64"))
    assert "np.copy(u[" not in text
    assert "new[i + 1, j + 1] = (" in text
