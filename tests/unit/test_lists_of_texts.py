"""Lists of texts that grow by path: which methods apply, what was met. A number stands for each text."""

from __future__ import annotations

import enum

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives


class Regime(enum.Enum):
    LAMINAR = 1
    TURBULENT = 2


def methods(x, extra=None):
    found = []
    if x[0] < 1.0:
        if extra is not None:
            found.append("extra")
        found.append("low")
        found.append("lower")
    if x[0] >= 1.0:
        found.append("high")
    return found


def by_the_first(x):
    method = methods(x)[0]
    if method == "low":
        return x[0] * x[1]
    elif method == "high":
        return x[0] ** 3
    else:
        raise ValueError("no method")


def by_the_last(x):
    found = methods(x)
    if len(found) > 1 and found[-1] == "lower":
        return x[0] * 5.0 * x[1]
    return x[1] if found[0] != "high" else 2.0 * x[0]


def named(x):
    kinds = ["start"]
    for v in (x[0], x[1], x[0] * x[1]):
        if v > 1.0:
            kinds.append("big")
        elif v > 0.5:
            kinds.append("middle")
    total = 0.0
    for kind in kinds:
        if kind == "big":
            total += x[0]
        elif kind == "middle":
            total += x[0] * x[1]
        else:
            total += x[1] ** 2
    return total


def of_members(x):
    regimes = []
    for v in x:
        regimes.append(Regime.LAMINAR if v < 1.0 else Regime.TURBULENT)
    total = 0.0
    for k in range(len(regimes)):
        total += x[k] ** 2 if regimes[k] is Regime.TURBULENT else x[k]
    return total


def range_of(v):
    return "low" if v < 1.0 else "high"


def ranges(v):
    found = []
    if v < 0.5:
        found.append("tiny")
    found.append("high" if v > 2.0 else "low")
    return found


def of_two_functions(x):
    return x[0] * x[1] if ranges(x[0])[-1] == range_of(x[0]) else x[0] ** 3


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_texts_of_two_functions_are_compared(target):
    """Each counts its texts otherwise."""
    for v in (0.3, 0.8, 1.5, 2.5):
        assert_derivatives(of_two_functions, np.array([v, 1.7]), target)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [by_the_first, by_the_last, named, of_members])
def test_the_text_decides(fun, target):
    """A comparison with what a run put into the list was taken for false."""
    for x in (np.array([0.4, 1.3]), np.array([2.1, 0.6])):
        assert_derivatives(fun, x, target)


def test_texts_beside_numbers_are_refused():
    """Items of one list are of one kind."""

    def mixed(x):
        found = []
        for v in x:
            if v > 1.0:
                found.append(v)
            else:
                found.append("none")
        return x[0] * len(found)

    with pytest.raises(s2sad.UnsupportedSyntaxError, match="differ in kind"):
        s2sad.grad(mixed)(np.array([0.4, 1.3]))
