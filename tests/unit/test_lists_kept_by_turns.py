"""What is kept for the reverse, and is not to be written on the way back or on the way there.

Arrays that a loop keeps in lists, which its names are given again in a later turn and then written by the same name;
items of lists that others replace, which the rules of what made those still read.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.differences import differences

N = 3


def resampled(px, pw):
    if pw[0] > 100.0:
        index = []
        for i in range(N):
            index.append(i)
        px = px[:, index]
        pw = np.zeros(N) + 1.0 / N
    return px, pw


def filtered(px, pw, u):
    for i in range(N):
        x = px[:, i].copy()
        w = pw[i]
        x = x * u
        w = w * math.exp(-x[0])
        px[:, i] = x
        pw[i] = w
    estimate = px.dot(pw)
    px, pw = resampled(px, pw)
    return estimate, px, pw


def particles(u):
    px = np.zeros((2, N)) + np.arange(3.0)
    pw = np.zeros(N) + 1.0
    total = 0.0
    for _ in range(3):
        estimate, px, pw = filtered(px, pw, u)
        total += np.sum(estimate)
    return total


def in_one_function(u):
    px = np.zeros((2, N)) + np.arange(3.0)
    pw = np.ones(N)
    total = 0.0
    t = 0
    while t < 3 and total < 100.0:
        own = px
        for i in range(N):
            own[:, i] = own[:, i] * u + 0.1
        total += np.sum(own.dot(pw))
        px = own
        if total > 50.0:
            px = px[:, pw > 0.5]
        t += 1
    return total


def made_in_a_turn(u):
    a = np.arange(3.0)
    total = 0.0
    t = 0
    while total < 20.0 and t < 4:
        b = a
        b[0] = b[0] * u + 1.0
        total += np.sum(b**2)
        a = b * u if t % 2 else b
        t += 1
    return total + a[0]


@pytest.mark.parametrize("target", ["cpu", "python"])
@pytest.mark.parametrize("fn", [particles, in_one_function, made_in_a_turn], ids=lambda f: f.__name__)
def test_what_is_kept_of_a_turn_is_not_written_by_the_next(fn: Any, target: str):
    u, h = 0.7, 1e-6
    expected = (fn(u + h) - fn(u - h)) / (2 * h)
    assert s2sad.grad(fn, target=target)(u) == pytest.approx(expected, rel=1e-7)
    assert s2sad.jvp(fn, (u,), (1.0,), target=target)[1] == pytest.approx(expected, rel=1e-7)


def replaced(x, y):
    items = [x, x * 2.0]
    k = 0
    if x[0] > 0:
        k = 1
    total = items[0] @ items[k] * items[1][0]
    items[k] = np.tanh(y[0])
    return total + np.sum(items[0] * items[1])


def replaced_behind_a_loop(x, y):
    items = [x, x * 2.0]
    for i in range(2):
        y = y * np.array(items)
    items[i] = np.exp(y[0])
    return np.sum(y) + np.sum(items[1])


def replaced_in_a_loop(x, y):
    items = [x, x * 2.0]
    total = 0.0
    for i in range(2):
        total += np.sum(items[i] ** 2)
        items[i] = np.max(y * items[i], axis=0)
    return total + np.sum(items[0] * items[1])


@pytest.mark.parametrize("target", ["cpu", "python"])
@pytest.mark.parametrize("fn", [replaced, replaced_behind_a_loop, replaced_in_a_loop], ids=lambda f: f.__name__)
def test_an_item_that_is_put_back_leaves_what_took_its_place(fn: Any, target: str):
    x, y = np.array([0.3, 0.5]), np.array([[0.2, 0.7], [0.4, 0.1]])
    x_bar, y_bar = s2sad.grad(fn, argnums=(0, 1), target=target)(x, y)
    np.testing.assert_allclose(x_bar, differences(lambda v: fn(v, y), x), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(y_bar, differences(lambda v: fn(x, v), y), rtol=1e-7, atol=1e-8)
