"""`items.remove(v)` where only a run tells which item that is; the least of known pairs by a key."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([1.0, 4.0, 2.0, 5.0])


def one_after_another(w):
    todo = [0, 1, 2, 3]
    total = 0.0
    k = 1
    while todo:
        u = min(todo, key=lambda v: w[v])
        todo.remove(u)
        total += k * w[u] ** 2
        k += 1
    return total


def pairs(w):
    waiting = [(0, 0), (1, 2), (2, 1), (3, 3)]
    total = 0.0
    k = 1
    while len(waiting) > 1:
        best = min(waiting, key=lambda pair: w[pair[0]] * pair[1])
        waiting.remove(best)
        total += k * w[best[0]] ** 2
        k += 1
    return total


def numbers(w):
    items = [v * v for v in w]
    most = max(items)
    items.remove(most)
    return sum(items) * most


def nearest_neighbours(w):
    left = list(range(len(w)))
    total = 0.0
    here = 0
    left.remove(here)
    while left:
        following = min(left, key=lambda j: abs(w[j] - w[here]))
        total += (w[following] - w[here]) ** 2
        left.remove(following)
        here = following
    return total


def the_first_of_equals(w):
    a = [w[0], w[1], w[0] * 1.0]
    a.remove(w[0])
    return a[0] * 10.0 + a[1]


def one_of_two(x):
    a = [x[0], x[1]]
    a.remove(x[1])
    return a[0] ** 2


@pytest.mark.parametrize("f", [one_after_another, pairs, numbers, nearest_neighbours, one_of_two])
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_items_are_taken_out(f, target):
    assert_derivatives(f, X, target)


def test_the_first_that_is_equal_goes():
    value, slope = s2sad.value_and_grad(the_first_of_equals, target="python")(X)
    assert value == the_first_of_equals(X) == 41.0
    np.testing.assert_array_equal(slope, [1.0, 10.0, 0.0, 0.0])


def missing(w):
    items = [w[0], w[1]]
    items.remove(w[3])
    return sum(items)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_is_not_there_is_an_error(target):
    with pytest.raises(ValueError, match="not in this list"):
        s2sad.grad(missing, target=target)(X)
