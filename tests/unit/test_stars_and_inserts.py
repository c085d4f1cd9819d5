"""Stars before arrays, `insert`, sums of tuples and lists, and loops that are written out over many items."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import differences

X = np.array([0.3, 0.2, 0.5])
T = np.array([1.0, 2.0])
ROWS = [[0.1 * i + 0.01 * k for k in range(i)] for i in range(6)]


def model(t, a, b, c):
    return a * np.exp(-b * t) + c


class Decay:
    def __init__(self, rate):
        self.rate = rate

    def at(self, x, y):
        return self.rate * x * y


def parameters_of_a_model(x):
    return np.sum(model(T, *x))


def some_by_keyword(x):
    return np.sum(model(T, *x[:2], c=x[2]))


def of_a_list_that_is_built(x):
    squares = [v**2 for v in x]
    return np.sum(model(T, *squares))


def of_a_ufunc(x):
    return np.hypot(*(x[1:] - x[:2]))


def of_a_lambda(x):
    return (lambda a, b, c: a * b + c)(*x)


DECAY = Decay(2.0)


def of_a_method(x):
    return DECAY.at(*x[1:])


def within_a_list(x):
    items = [*x, 1.0, *x[::-1]]
    return sum(k * v for k, v in enumerate(items))


def within_an_array(x):
    return np.array([*x, *x]) @ np.arange(6.0)


def tuple_and_the_rest(x):
    q = tuple(v * 2 for v in x)
    r = (q[0], *(-c for c in q[1:]))
    s = (q[0],) + tuple(-c for c in q[1:])
    a, b, c = s
    return a * b * c + sum(r)


def gains_backwards(x):
    gains = []
    for k in range(3):
        gains.insert(0, np.outer(x, x) * k)
    s = x
    for gain in gains:
        s = s + gain @ s
    return s.sum()


def inserts_anywhere(x):
    items = [1.0]
    items.insert(5, x[0])
    items.insert(-1, x[1])
    for v in x:
        items.insert(1, v * items[0])
    for i in range(2):
        items.insert(i + 1, x[2])
    return sum(k * v for k, v in enumerate(items))


def many_turns_written_out(x):
    def rate(y):
        out = np.empty_like(y)
        out[0] = x[0] * y[1]
        out[1] = -x[1] * y[0]
        return out

    y, t = np.array([1.0, 0.5]), 0.0
    while t < 0.35:
        stages = []
        for row in ROWS:
            moved = y.copy()
            for a, k in zip(row, stages):
                moved += 0.1 * a * k
            stages.append(rate(moved))
        y = y + 0.1 * stages[-1]
        t += 0.1
    return y @ y


PROGRAMS = [
    parameters_of_a_model, some_by_keyword, of_a_list_that_is_built, of_a_ufunc, of_a_lambda, of_a_method,
    within_a_list, within_an_array, tuple_and_the_rest, gains_backwards, inserts_anywhere, many_turns_written_out,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_both_modes(program):
    expected = differences(program, X)
    assert np.allclose(s2sad.grad(program, target="python")(X), expected, atol=1e-6)
    assert np.allclose(s2sad.jacfwd(program, target="python")(X), expected, atol=1e-6)


def test_another_number_of_values_is_noticed():
    with pytest.raises(ValueError, match="3 values are needed here"):
        s2sad.grad(parameters_of_a_model, target="python")(np.ones(4))


def test_defaults_leave_the_number_open():
    """Then the derivative is made for the length of the array, if it is a short one."""

    def shifted(t, a, b=0.0, c=0.0, *others):
        return a * t + b * b + c * sum(others)

    def total(x):
        return np.sum(shifted(T, *x))

    for x in (X, X[:2], np.append(X, [0.5, 2.0])):
        expected = differences(total, x)
        assert np.allclose(s2sad.grad(total, target="python")(x), expected, atol=1e-6)
        assert np.allclose(s2sad.jacfwd(total, target="python")(x), expected, atol=1e-6)
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="how many values are starred here is not known"):
        s2sad.grad(total, target="python")(np.ones(40))


def test_columns_are_the_rows_of_the_transpose():
    """`zip(*a)` of an array of many rows is refused with what to write instead."""

    def products(a):
        return sum(np.prod(c) for c in zip(*a))

    assert np.allclose(s2sad.grad(products, target="python")(np.full((3, 2), 2.0)), 4.0)
    with pytest.raises(s2sad.UnsupportedSyntaxError, match=r"xs, ys = a\.T"):
        s2sad.grad(products, target="python")(np.ones((30, 2)))


def test_a_zip_beside_a_longer_container_is_noticed():
    def stages(x):
        found = []
        for row in ((0.0, 0.0), (0.5, 0.0)):
            y = x[0]
            for a, k in zip(row, found):
                y = y + a * k
            found.append(y * y)
        return found[-1]

    with pytest.raises(ValueError, match="`zip` needs 2 items here"):
        s2sad.grad(stages, target="python")(X)


def test_a_zip_ends_with_an_array_of_known_length():
    def weighted(x):
        return sum(w * v for w, v in zip((1.0, 2.0, 3.0), np.ones(2) * x[0]))

    assert np.allclose(s2sad.grad(weighted, target="python")(X), [3.0, 0.0, 0.0])
