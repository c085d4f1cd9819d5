"""Names for parts of one array that mean another part later: buffers that change places, rows and windows that move."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, -0.4, 0.2, -1.1, 0.9, 0.5])
M = np.sin(np.arange(20.0) * 1.3).reshape(4, 5)


def rows_that_change_places(x):
    buf = np.zeros((2, x.size))
    buf[0] = x
    cur, new = buf[0], buf[1]
    for _ in range(4):
        new[1:-1] = cur[1:-1] + 0.1 * (cur[2:] - 2.0 * cur[1:-1] + cur[:-2]) ** 2
        new[0] = cur[1] * cur[0]
        new[-1] = cur[-2]
        cur, new = new, cur
    return np.sum(cur**2)


def three_levels_and_a_break(x):
    buf = np.zeros((3, x.size))
    buf[0] = x
    buf[1] = 0.9 * x
    old, cur, new = buf[0], buf[1], buf[2]
    n = 0
    while n < 6:
        for i in range(1, x.size - 1):
            new[i] = 2.0 * cur[i] - old[i] + 0.2 * (cur[i + 1] - 2.0 * cur[i] + cur[i - 1]) * cur[i]
        n += 1
        if np.max(np.abs(new)) > 2.0:
            break
        old, cur, new = cur, new, old
    return new @ cur + old[2] * n


def the_last_row_written(x):
    buf = np.zeros((2, x.size))
    buf[0] = x
    for k in range(4):
        cur, new = buf[k % 2], buf[(k + 1) % 2]
        new[1:-1] = cur[1:-1] * cur[2:]
        new[0] = cur[1] * cur[0]
    return np.sum(new**2)


def halves_that_change_places(x):
    y = x.copy()
    a, b = y[:3], y[3:6]
    for _ in range(3):
        a[:] = a + b * 0.5
        a, b = b, a
    b *= a
    return y @ y + a[0]


def best_row_so_far(m):
    a = m.copy()
    best = a[0]
    for i in range(4):
        row = a[i]
        if row.sum() > best.sum():
            best = row
        best[0] += row[1]
    best *= 2.0
    return np.sum(a**2)


def scaled_by_neighbours(v, w):
    v[1:] *= w[:-1]


def handed_to_a_helper(m):
    a = m.copy()
    cur = a[0]
    for i in range(4):
        scaled_by_neighbours(cur, a[(i + 1) % 4])
        cur = a[(i * 2) % 4]
        if cur[0] > 1.5:
            break
    else:
        cur = a[1]
    cur[2] = 7.0 * cur[3]
    return np.sum(a**2) + cur.mean()


@njit
def columns_in_compiled_code(m):
    a = m.copy()
    p, q = a[:, 0], a[:, 1]
    s = 0.0
    for j in range(2, 5):
        for i in range(4):
            q[i] += p[i] * a[i, j]
            if q[i] > 0.5:
                p, q = q, p
        p = q
        q = a[:, j]
        s += p[1] * q[2]
    return s + a.sum()


def window_that_moves(x):
    y = x.copy()
    w = y[0:3]
    k = 0
    while k + 3 < len(y):
        w[0] = w[1] * w[2]
        k += 1
        w = y[k : k + 3]
    w[:] += y[0]
    return y @ y


def one_of_two_windows(x):
    y = x.copy()
    w = y[2:] if x[0] > 5.0 else y[:2]
    w *= 2.0
    y[1] += w[0]
    v = y[1:]
    for _ in range(2):
        v[1:] -= 0.3 * v[:-1]
        v = y[:-1]
    return y @ y + w @ w


PROGRAMS = [
    (rows_that_change_places, X), (three_levels_and_a_break, X), (the_last_row_written, X),
    (halves_that_change_places, X), (best_row_so_far, M), (handed_to_a_helper, M), (columns_in_compiled_code, M),
    (window_that_moves, X), (one_of_two_windows, X),
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(("fun", "x"), PROGRAMS)
def test_value_gradient_and_tangent(fun, x, target):
    assert_derivatives(fun, x, target)


def test_the_text_tells_places_by_numbers():
    text = s2sad.differentiate(rows_that_change_places, target="python").source("grad", types="float64[:]")
    assert "buf[new_at, 0] = buf[cur_at, 1] * buf[cur_at, 0]" in text


def test_second_derivatives():
    s2sad.check_grads(rows_that_change_places, (X,), order=2)


def a_part_or_another_array(x):
    y, z = x.copy(), x[:3] * 2.0
    w = y[:3]
    for _ in range(2):
        w *= 1.5
        w = z
    return np.sum(y) + np.sum(z)


def test_what_may_be_part_of_another_array_is_refused():
    with pytest.raises(s2sad.AliasError, match="may share its memory"):
        s2sad.grad(a_part_or_another_array, target="python")(X)
