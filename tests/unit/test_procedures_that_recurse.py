"""Functions that return nothing and call themselves; lists that one of two others may be and that grow."""

import numpy as np
import pytest

import s2sad

X = np.array([0.3, 0.2, 0.1, 1.4])


def fill(a, n, x):
    if n <= 0:
        return
    a[n] = a[n] * x[0] + x[n] * n
    fill(a, n - 1, x)
    fill(a, n - 2, x)


def arrays(x):
    a = np.zeros(4) + x[1]
    fill(a, 3, x)
    return np.sum(a * x)


def shorten(items):
    if len(items) > 1:
        items.pop(0)
        shorten(items)


def lists(x):
    items = []
    for v in x:
        items.append(v * v)
    shorten(items)
    return items[0] * x[1]


def displays(x):
    items = [x[0], x[1], x[2]]
    shorten(items)
    return items[0] * x[1]


@pytest.mark.parametrize("f", [arrays, lists, displays])
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_both_modes(f, target):
    wanted = [(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(4)]
    np.testing.assert_allclose(s2sad.grad(f, target=target)(X), wanted, atol=1e-6)
    forward = [s2sad.jvp(f, (X,), (e,), target=target)[1] for e in np.eye(4)]
    np.testing.assert_allclose(forward, wanted, atol=1e-6)


def one_of_two(x):
    a = [v * v for v in x]
    b = [2 * v for v in x]
    c = a if x[0] > 0.1 else b
    c.append(x[1])
    return sum(c)


def test_a_list_that_is_one_of_two_and_grows_is_refused():
    with pytest.raises(s2sad.AliasError, match="`c` grows or shrinks here"):
        s2sad.grad(one_of_two)(X)


def made_on_each_side(x):
    if x[0] > 0.1:
        a = [v * v for v in x]
        c = a
    else:
        b = [2 * v for v in x]
        c = b
    c.append(x[1])
    return sum(c)


def test_a_list_that_is_made_on_each_side_grows():
    np.testing.assert_allclose(s2sad.grad(made_on_each_side)(X), 2 * X + [0, 1, 0, 0])
