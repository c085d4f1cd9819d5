"""Operators that a class defines, wherever the object stands; `in` a range; several indices at once."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.3, 0.7, 1.1, 2.0, 0.4])


@dataclass
class Pair:
    """A vector of two numbers."""

    x: float
    y: float

    def __add__(self, other):
        return Pair(self.x + other.x, self.y * other.y)

    def __mul__(self, factor):
        return Pair(self.x * factor, self.y * factor)


@dataclass
class Body:
    """Where something is, and how it moves."""

    at: Pair
    by: Pair


def of_an_attribute(x):
    body = Body(Pair(x[0], x[1]), Pair(x[2], x[3]))
    body.at += body.by
    body.by *= x[4]
    return body.at.x * body.at.y + body.by.y


def of_an_item(x):
    pairs = [Pair(x[0], x[1]), Pair(x[2], x[3])]
    pairs[0] += pairs[1]
    named = {"first": pairs[0]}
    named["first"] += pairs[1]
    return named["first"].x * named["first"].y * pairs[0].y


def by_the_operator_module(x):
    pairs = [Pair(x[0], x[1]), Pair(x[2], x[3]), Pair(x[4], x[0])]
    total = functools.reduce(operator.add, pairs)
    (other,) = map(operator.add, pairs[:1], pairs[1:2])
    return total.x * total.y + other.y


def in_a_range(x):
    steps, back, total = range(0, 5, 2), range(4, 0, -3), 0.0
    for i in range(5):
        if i in steps:
            total += x[i] ** 2
        if i not in back:
            total += np.sin(x[i])
        if i / 2 in range(0, 2):
            total += x[i] ** 3
    return total


def several_indices(x):
    place, rows = (1,), x.reshape(5, 1) * 1.0
    rows[*place, 0] = x[2] ** 2
    rows[(*place, 0)] *= x[3]
    return rows[*place, 0] * np.sum(rows[*place, :]) + np.sum(rows)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [of_an_attribute, of_an_item, by_the_operator_module, in_a_range, several_indices])
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)


def of_unknown_length(x):
    places = [i for i in range(5) if x[i] > 0.5]
    return x.reshape(5, 1)[*places]


def test_how_many_indices_is_asked():
    with pytest.raises(s2sad.S2SADError, match="how many indices these are is not known here"):
        s2sad.grad(of_unknown_length, target="python")(X)


class Walk:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Walk(self.x + other.x, self.y + other.y)

    def __iter__(self):
        return iter((self.x, self.y))


def summed_from_a_start(x):
    total = sum([Walk(x[0], x[1]), Walk(x[1], x[0] * x[1])], Walk(0.0, 0.0))
    print(f"so far {x}") if x[0] > 10.0 else None
    return total.x * total.y


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_objects_that_have_items_are_added_to_a_start(target):
    assert_derivatives(summed_from_a_start, np.array([0.3, 1.2]), target)
