"""`items[a:b] = values` of a list that a function builds."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad

X = np.array([1.3, 2.0, 0.5, 3.0, 1.2])


def weighted(items):
    total = 0.0
    for i, v in enumerate(items):
        total += v * (i + 1)
    return total


def shorter(x):
    items = [v * 2 for v in x]
    items[1:3] = [x[0] * x[1]]
    return items[0] * items[1] + items[2] * len(items)


def many_kinds(x):
    items = [v * 2 for v in x]
    for k in range(3):
        items[k : k + 2] = [items[k] * items[k + 1], items[k + 1]]
    items[-1:] = x[:2]
    items[:1] = ()
    items[5:] = [1.0, x[0]]
    items[4:2] = [x[3]]
    return weighted(items)


def under_two_names(x):
    items = [v * 2 for v in x]
    other = items
    items[:2] = items[2:4]
    return weighted(other)


def turned_by_a_helper(x):
    items = list(x)

    def turn(p):
        p[:] = p[1:] + p[:1]

    turn(items)
    turn(items)
    return weighted(items)


def of_arrays(x):
    items = []
    for i in range(4):
        items.append(x[i] * x)
    items[1:3] = [x * x]
    return np.sum(items[0] * items[1]) + np.sum(items[2])


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    "f", [shorter, many_kinds, under_two_names, turned_by_a_helper, of_arrays], ids=lambda f: f.__name__
)
def test_gradient(f, target):
    value, slope = s2sad.value_and_grad(f, target=target)(X)
    assert value == pytest.approx(f(X), rel=1e-14)
    moved = [(f(X + step) - f(X - step)) / 2e-6 for step in 1e-6 * np.eye(X.size)]
    np.testing.assert_allclose(slope, moved, rtol=1e-6, atol=1e-7)


def test_step_is_refused():
    def f(x):
        items = [v * 2 for v in x]
        items[::2] = [x[0], x[1], x[2]]
        return weighted(items)

    with pytest.raises(s2sad.errors.UnsupportedSyntaxError, match="slice of a growing list cannot be assigned to"):
        s2sad.grad(f, target="python")(X)
