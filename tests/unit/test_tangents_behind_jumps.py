"""Forward mode, where turns of loops end early: what is zero at the end of a turn may not be where it is continued."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2sad


def continued(e):
    v = 1.0
    for n in range(4):
        new = v - 0.1
        if n == 1:
            v = e * v
            continue
        v = new
    return v


def left(e):
    v = 1.0
    for n in range(4):
        if n == 2:
            v = e * v
            break
        v = 2.0
    return v * 3


def both(e):
    v = np.ones(2)
    w = v * 1.0
    for n in range(4):
        new = v - 0.1
        if n == 1:
            v = e * v
            continue
        if n == 3:
            w = v * e
            break
        v = new
        w = np.zeros(2)
    return v.sum() + w.sum()


def nested(e):
    v = 1.0
    n = 0
    while True:
        n += 1
        if n > 5:
            break
        if n == 2:
            v = v * e
            continue
        for k in range(3):
            if k == 1:
                v = v * e
                break
            v = v + 0.0
        t = v
        v = t
    return v


@pytest.mark.parametrize("target", ["cpu", "python"])
@pytest.mark.parametrize("fn", [continued, left, both, nested], ids=lambda f: f.__name__)
def test_tangents_where_turns_end_early(fn: Any, target: str):
    e, h = 1.1, 1e-6
    expected = (fn(e + h) - fn(e - h)) / (2 * h)
    value, moved = s2sad.jvp(fn, (e,), (1.0,), target=target)
    assert value == pytest.approx(fn(e))
    assert moved == pytest.approx(expected, rel=1e-7)
    assert s2sad.grad(fn, target=target)(e) == pytest.approx(expected, rel=1e-7)
