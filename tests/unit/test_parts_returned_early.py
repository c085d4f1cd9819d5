"""`return y[: i + 1]` out of the loop that fills `y`, and all of `y` behind it."""

import numpy as np
import pytest

import s2sad


def filled(a):
    y = np.zeros(8)
    for i in range(1, 8):
        y[i] = y[i - 1] + a * i
        if y[i] >= 5.0:
            return y[: i + 1]
    return y


def two_filled(a):
    y = np.zeros(8)
    t = np.zeros(8)
    for i in range(1, 8):
        y[i] = y[i - 1] + a * i
        t[i] = i * a
        if y[i] >= 5.0:
            return t[: i + 1], y[: i + 1]
    return t, y


def rows_filled(a):
    y = np.zeros((8, 2))
    for i in range(1, 8):
        y[i] = y[i - 1] * 0.9 + np.array([a, a * a])
        if y[i, 0] >= 3.0:
            return y[:i]
    return y


def largest(a):
    return np.max(filled(a))


def product(a):
    t, y = two_filled(a)
    return np.sum(t * y)


def written_behind(a):
    y = filled(a)
    y[0] = a
    return np.sum(y * y)


def of_rows(a):
    return np.sum(rows_filled(a)[-1] ** 2)


@pytest.mark.parametrize("a", [0.1, 0.7, 1.1, 6.0])
@pytest.mark.parametrize("program", [largest, product, written_behind, of_rows], ids=lambda f: f.__name__)
def test_parts_returned_early_have_derivatives(program, a):
    h = 1e-6
    expected = (program(a + h) - program(a - h)) / (2 * h)
    assert s2sad.grad(program)(a) == pytest.approx(expected, rel=1e-6)
    assert s2sad.jvp(program, (a,), (1.0,))[1] == pytest.approx(expected, rel=1e-6)
