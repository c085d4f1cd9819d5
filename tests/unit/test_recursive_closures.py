"""Inner functions that call themselves, and fill lists and arrays of the function around them."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, 0.4, 0.9])


def in_order(x):
    values = []

    def build(depth):
        if depth == 0:
            values.append(x[0])
            return
        build(depth - 1)
        values.append(x[1] ** depth)
        build(depth - 1)

    build(3)
    return sum(v * (i + 1) for i, v in enumerate(values))


def a_tree(x):
    tree, order = [[1, 2], [3], [], []], []

    def visit(node):
        order.append(node)
        for child in tree[node]:
            visit(child)

    visit(0)
    return sum(x[node] ** 2 * (k + 1) for k, node in enumerate(order))


def a_path(x):
    path = []

    def walk(i):
        if i >= 4:
            return sum(path)
        path.append(x[i] * i)
        return walk(i + 1)

    return walk(0)


def an_array(x):
    kept, have = np.zeros(8), np.zeros(8)

    def power(k):
        if have[k] > 0.0:
            return kept[k]
        out = x[1] if k == 0 else x[0] * power(k - 1) + power(k // 2) * x[2]
        have[k] = 1.0
        kept[k] = out
        return out

    return power(7) * np.sum(kept)


def the_best(x):
    best = [1e9]

    def search(i, cost):
        if cost >= best[0]:
            return
        if i == len(x):
            best[0] = cost
            return
        search(i + 1, cost + x[i] ** 2)
        search(i + 1, cost + 0.5 * x[i] + 0.1)

    search(0, 0.0)
    return best[0]


def two_items(x):
    state = [0.0, 1.0]

    def walk(k):
        pair = [x[k - 1], 2.0]
        pair[1] = pair[0] * k
        if k == 0:
            return
        state[0] += pair[1]
        state[1] *= x[k - 1]
        walk(k - 1)

    walk(len(x))
    return state[0] * state[1]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [in_order, a_tree, a_path, an_array, the_best, two_items])
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)


def put_into(x, kept, k):
    if k == 0:
        out = x[0]
    else:
        out = x[1] * put_into(x, kept, k - 1)
    if k > 7:
        out = 2.0 * out
    else:
        kept.append(out)
    return out


def begins_with_nothing(x):
    kept = []
    last = put_into(x, kept, 4)
    return last + sum(v * v for v in kept)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_the_adjoint_of_a_helper_does_not_put_in_it_does_not_take_out(target):
    assert_derivatives(begins_with_nothing, X, target)


def test_a_list_that_grows_from_call_to_call_is_refused():
    def chosen(x):
        def pick(items, k):
            return items[0] if k == 0 else pick([*items, x[k]], k - 1)

        return pick([x[0]], 2)

    with pytest.raises(s2sad.UnsupportedSyntaxError, match="ever new kinds"):
        s2sad.grad(chosen, target="python")(X)
