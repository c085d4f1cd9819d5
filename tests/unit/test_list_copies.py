"""A list that takes all items of another that nobody needs any more is that list; every other stays."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, 0.4, 1.9, 0.9])


def rest_and_order(x):
    s = sorted(x, reverse=True)
    top, *rest = s
    ordered = sorted(enumerate(x), key=lambda pair: pair[1])
    return top * sum(rest) + sum(i * v for i, v in ordered)


def copied_again(x):
    squares = []
    for v in x:
        squares.append(v * v)
    first = list(squares)
    second = list(first)
    second.append(x[0])
    return sum(second) * second[1]


def the_first_goes_on(x):
    squares = []
    for v in x:
        squares.append(v * v)
    more = list(squares)
    more.append(x[0])
    squares.append(x[1] ** 3)
    return sum(more) * sum(squares) * len(squares)


def the_first_has_two_names(x):
    squares = []
    other = squares
    for v in x:
        squares.append(v * v)
    more = list(squares)
    more.append(x[0])
    return sum(more) * sum(other)


def a_part_alone(x):
    squares = []
    for v in x:
        squares.append(v * v)
    few = []
    for i in range(len(squares) - 1):
        few.append(squares[i])
    back = []
    for i in range(len(few)):
        back.append(few[len(few) - 1 - i])
    return sum(few) * back[0]


def in_each_turn(x):
    total = 0.0
    last = [x[0]]
    for k in range(3):
        powers = []
        for v in x:
            powers.append(v**k)
        kept = list(powers)
        kept.append(last[0])
        if k == 1:
            last = list(kept)
        total += kept[-1] * sum(kept)
    return total * last[1]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [rest_and_order, copied_again, the_first_goes_on, the_first_has_two_names,
                                 a_part_alone, in_each_turn])  # fmt: skip
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)


@pytest.mark.parametrize(("fun", "made"), [
    (copied_again, {"squares"}), (the_first_goes_on, {"squares", "more"}),
    (the_first_has_two_names, {"squares", "more"}),
])  # fmt: skip
def test_which_lists_there_are(fun, made):
    f = s2sad.differentiate(target="python")(fun)
    f.grad(X)
    primal = f.source("grad").partition("# ---- adjoint")[0]
    assert {line.strip().partition(" = []")[0] for line in primal.splitlines() if line.endswith(" = []")} == made
