"""Loops whose turns meet in no element are told to the compiler; loops whose turns do meet are not."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from s2sad.analysis.facts import Facts
from s2sad.emit.turns_apart import loops_apart
from s2sad.errors import Span
from s2sad.frontend.functions import instantiate
from s2sad.frontend.lowerer import Context
from s2sad.ir.types import Array, Scalar, Sym

X = np.linspace(0.1, 1.3, 23)


def rows_in_time(x, n):
    u = np.zeros((n + 2, x.shape[0]))
    u[1] = x
    for t in range(1, n + 1):
        for i in range(1, x.shape[0] - 1):
            u[t + 1, i] = 2 * u[t, i] - u[t - 1, i] + 0.2 * x[i] * (u[t, i + 1] - 2 * u[t, i] + u[t, i - 1])
    return np.sum(u[n] ** 2)


def exchanged(x, n):
    u, new = x.copy(), x.copy()
    for _ in range(n):
        for i in range(1, x.shape[0] - 1):
            new[i] = u[i] + 0.1 * x[i] * (u[i + 1] - 2 * u[i] + u[i - 1])
        u, new = new, u
    return np.sum(u**3)


def one_after_another(x, n):
    """Each turn reads what the one before wrote."""
    u = x.copy()
    for _ in range(n):
        for i in range(1, x.shape[0]):
            u[i] = 0.5 * u[i] + 0.3 * u[i - 1] * u[i - 1]
    return np.sum(u * u)


def same_row_perhaps(x, n):
    """Rows that are one where `k` is 0."""
    u = np.zeros((n + 2, x.shape[0]))
    u[0] = x
    for t in range(n):
        k = t % 2
        for i in range(1, x.shape[0]):
            u[t + k, i] = 0.5 * u[t, i - 1] * u[t, i - 1] + 0.1 * x[i]
    return np.sum(u * u)


def two_names(x, n):
    u = x.copy()
    other = u
    for _ in range(n):
        for i in range(1, x.shape[0]):
            u[i] = 0.5 * u[i] + 0.3 * other[i - 1] ** 2
    return np.sum(u * u)


def through_a_view(x, n):
    u = x.copy()
    ahead = u[1:]
    for _ in range(n):
        for i in range(x.shape[0] - 1):
            ahead[i] = 0.5 * u[i] ** 2 + 0.3 * ahead[i]
    return np.sum(u * u)


def around_the_end(x, n):
    """`u[i - 1]` of the first turn is the last element, which the last turn writes."""
    u = x.copy()
    for _ in range(n):
        for i in range(x.shape[0]):
            u[i - 1] = 0.5 * u[i - 1] + 0.1 * x[i]
    return np.sum(u * u * u)


def in_any_order(x, n):
    places = np.array([0, 3, 3, 5, 1, 0])
    u = x.copy()
    for _ in range(n):
        for i in range(places.shape[0]):
            u[places[i]] = 0.5 * u[places[i]] ** 2 + x[i]
    return np.sum(u * u)


def last_row(x, n):
    """`t - 1` counts from the end in the first turn: the row is the one that is written."""
    u = np.zeros((1, x.shape[0]))
    u[0] = x
    for t in range(1):
        for i in range(1, x.shape[0]):
            u[t, i] = 0.5 * u[t - 1, i - 1] ** 2 + n * 0.1 * u[t, i]
    return np.sum(u * u)


def in_branches(x, n):
    u = np.zeros((n + 1, x.shape[0]))
    u[0] = x
    for t in range(n):
        for i in range(x.shape[0]):
            if u[t, i] > 0.6:
                u[t + 1, i] = 0.8 * u[t, i] * x[i]
            else:
                u[t + 1, i] = u[t, i] + 0.1 * x[i] * x[i]
    return np.sum(u[n] ** 2)


APART = (rows_in_time, exchanged, in_branches)
MEETING = (one_after_another, same_row_perhaps, two_names, through_a_view, around_the_end, in_any_order, last_row)


@pytest.mark.parametrize("fun", [*APART, *MEETING])
@pytest.mark.parametrize("length", [4, 23])
def test_both_targets_agree(fun, length):
    x = X[:length] if fun is not in_any_order else X
    expected = s2sad.value_and_grad(fun, target="python")(x, 4)
    found = s2sad.value_and_grad(fun)(x, 4)
    np.testing.assert_allclose(found[0], fun(x, 4), rtol=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-10, atol=1e-12)
    dot = np.cos(np.arange(x.size))
    _, slope = s2sad.jvp(lambda x: fun(x, 4), (x,), (dot,))
    np.testing.assert_allclose(slope, expected[1] @ dot, rtol=1e-10, atol=1e-12)


def told(fun) -> list[bool]:
    """Say of the loops of a function itself whether their turns are apart."""
    ctx = Context()
    types = (Array("float64", (Sym("m"),), "C"), Scalar("int64", True, Sym("given n")))
    instance = instantiate(ctx, fun, types, Span("<call>", 0, 0, 0, 0, fun.__name__))
    functions = {one.function.name: one.function for one in ctx.instances.values() if one.function is not None}
    assert instance.function is not None
    return loops_apart(instance.function, Facts(functions), None)


@pytest.mark.parametrize("fun", APART)
def test_turns_that_are_apart(fun):
    assert told(fun)[-1]


@pytest.mark.parametrize("fun", MEETING)
def test_turns_that_may_meet(fun):
    assert not any(told(fun))
