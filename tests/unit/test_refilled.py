"""Arrays that a turn of a loop makes and fills by arithmetic are filled again in its adjoint, not kept."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import s2sad


def windows(x, w):
    total = 0.0
    m = w.shape[0]
    for j in range(x.shape[0] - m):
        window = np.empty(m)
        for k in range(m):
            window[k] = x[j + k] * w[k]
        s = 0.0
        for k in range(m):
            s += math.sin(window[k]) * window[m - 1 - k]
        total += s * s
    return total


def changed(x, w):
    total = 0.0
    y = x * 1.0
    m = w.shape[0]
    for j in range(x.shape[0] - m):
        window = np.empty(m)
        for k in range(m):
            window[k] = y[j + k] * w[k]
        for k in range(m):
            y[j + k] = math.sin(window[k]) * window[m - 1 - k]
        total += y[j]
    return total


def zeros(x, w):
    total = 0.0
    c = 1.0
    m = w.shape[0]
    for j in range(x.shape[0] - m):
        g = np.zeros((m, m))
        for k in range(m):
            if x[j + k] > 0.5:
                g[k, k] = x[j + k] * c
            t = x[j] + w[k]
            g[k, 0] = g[k, 0] + t * c if k > 0 else t
        c = c * 0.9 + g[0, 0] * 0.01
        v = g @ w
        total += np.sum(v * v)
    return total


def nested(x, w):
    total = 0.0
    m = w.shape[0]
    for j in range(x.shape[0] - m):
        a = np.empty(m)
        for k in range(m):
            a[k] = x[j + k]
        b = np.empty(m)
        for k in range(m):
            b[k] = a[k] * w[k]
        total += np.sum(np.exp(-b * a))
        w = w * 1.01
    return total


def updated(x, w):
    total = 0.0
    m = w.shape[0]
    for j in range(x.shape[0] - m):
        a = np.empty(m)
        for k in range(m):
            a[k] = x[j + k]
        a[0] = a[0] * a[1]
        a *= w
        total += np.sum(a * a * a)
    return total


def borrowed(x, w):
    total = 0.0
    last = np.zeros(w.shape[0])
    for j in range(x.shape[0] - w.shape[0]):
        window = np.empty(w.shape[0])
        for k in range(w.shape[0]):
            window[k] = x[j + k] * w[k]
        total += np.sum(window * last * window)
        last = window  # the next turn reads it under another name
    return total


def counted(x, w):
    total, k = 0.0, 0
    for j in range(x.shape[0] - w.shape[0]):
        window = np.empty(w.shape[0])
        for k in range(w.shape[0]):
            window[k] = x[j + k] * w[k]
        total += math.sin(window[0]) * window[k] * k
    return total


X = np.array([0.3, 1.2, 0.7, 1.1, 0.2, 0.9, -0.4, 0.5])
W = np.array([0.5, 1.3, -0.7])
PROGRAMS = [windows, changed, zeros, nested, updated, borrowed, counted]


@pytest.mark.parametrize("fun", PROGRAMS)
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_reverse_mode_agrees_with_forward_mode(fun, target):
    found = s2sad.grad(fun, argnums=(0, 1), target=target)(X, W)
    wanted = s2sad.jacfwd(fun, argnums=(0, 1), target="python")(X, W)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


def text(fun):
    return str(s2sad.differentiate(fun).source("grad", (X, W)))


def test_the_array_of_each_turn_is_not_kept():
    assert "tape" not in text(windows)
    assert "a_tape" not in text(nested)


def test_a_turn_that_is_one_with_its_adjoint_fills_once():
    assert len(re.findall(r"^ +window\[k\] = ", text(windows), re.MULTILINE)) == 1


def test_an_array_that_changes_after_it_was_filled_is_kept():
    assert "a_tape" in text(updated)
