"""What others write: the least of pairs, new axes in what is written, lists where NumPy takes arrays."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives, differences

V = np.array([0.7, -0.4, 1.2, 0.35])
COLUMN = np.array([[0.0], [0.1]])


def the_nearest(x):
    d, i = min((abs(v - 0.3), i) for i, v in enumerate(x))
    return d * x[i] ** 2


def the_furthest_of_a_list(x):
    pairs = []
    for i, v in enumerate(x):
        if v > 0:
            pairs.append((v * v, 2 * v, i))
    a, b, i = max(pairs)
    return a * b * x[i]


def the_greatest_by_a_key(x):
    pairs = [(v * v, i) for i, v in enumerate(x)]
    best = max(pairs, key=lambda pair: -pair[0])
    return best[0] * x[best[1]]


def the_place_of_the_greatest(x):
    i = max(range(len(x)), key=lambda k: x[k])
    return x[i] ** 3


def the_row_of_the_least(x):
    rows = np.outer(x, x)
    return np.sum(np.sin(min(rows, key=lambda row: row[0] + row[1])))


def written_through_a_new_axis(x):
    for i in range(3):
        x[i, None] *= x[0]
    return np.sum(x * x)


def set_through_a_new_axis(x):
    m = x.reshape(4, 1) * x
    for i in range(3):
        m[i, None] = np.sin(m[None, i]) * x[1]
        m[None, i, 2] = m[i, None, 0] * 2
    return np.sum(m * m)


def a_row_set_to_a_column(x):
    m = np.outer(x, x)
    v = np.prod(x.reshape(1, -1), 1)
    m[1] = v.reshape(-1, 1)
    return np.sum(m * m)


def chosen_once_it_is_there(x):
    s = 0.0
    for i in range(4):
        if i > 0:
            c = x[0] if i == 1 else c * x[i]  # noqa: F821
            s += c
    return s


def appended_and_summed(x):
    y = np.array([])
    for v in x:
        if v > 0:
            y = np.append(y, v * v)
    return np.sum(np.cumsum(y))


def gains_put_in_front(x):
    v, gains = np.eye(2) * 2, []
    for u in x:
        gain = -np.linalg.solve(u * u * np.eye(1) + COLUMN.T @ v @ COLUMN + 1, COLUMN.T @ v)
        gains.insert(0, gain)
        v = v + gain.T @ gain
    return v.sum() + sum((g * (k + 1)).sum() for k, g in enumerate(gains))


def an_area_of_a_list(x):
    heights = []
    for v in x:
        heights.append(v * v)
    return np.trapezoid(heights, dx=0.5) + np.gradient(heights)[1] ** 2


def a_slope_of_a_display(x):
    return np.gradient([x[0], x[1] * x[2], x[3] ** 2])[1] + np.array_split([x[0], x[1]], 2)[0][0] ** 2


def a_shape_of_twos(x):
    n = 2
    return x.reshape([2] * n)[1, 0] ** 2 + np.sum(x[0] * np.ones([3] * n))


def the_worst_replaced(x):
    def f(p):
        return (p[0] - 1) ** 2 + 10 * (p[1] + 0.5) ** 2

    start = x[:2]
    corners = [start, start + np.array([0.3, 0.0]), start + x[2:]]
    for _ in range(4):
        corners.sort(key=f)
        middle = sum(corners[:-1]) / 2
        if f(middle) < f(corners[0]):
            corners[-1] = middle
        else:
            corners[2] = 0.5 * (corners[2] + corners[0])
    return f(corners[0])


def sums_of_other_diagonals(x):
    partial = np.trace(np.outer(x, x).reshape(2, 2, 2, 2), axis1=1, axis2=3)
    return np.sum(partial @ partial) + np.sum(np.trace(np.outer(x, x).reshape(2, 2, 4), offset=1, axis1=0, axis2=2))


def products_of_last_axes(x):
    return np.sum(np.inner(x.reshape(1, 2, 2), x.reshape(2, 2)) ** 2)


def along_another_axis(x):
    m = np.outer(x, np.array([1.0, -2.0, 0.5]))
    return np.sum(np.partition(m, 1, axis=0)[:2] ** 2) + np.sum(np.unwrap(m * 9, axis=0) ** 2)


FUNCTIONS = [
    the_nearest, the_furthest_of_a_list, the_greatest_by_a_key, the_place_of_the_greatest, the_row_of_the_least,
    written_through_a_new_axis, set_through_a_new_axis, a_row_set_to_a_column, chosen_once_it_is_there,
    appended_and_summed, gains_put_in_front, an_area_of_a_list, a_slope_of_a_display, a_shape_of_twos,
    the_worst_replaced, sums_of_other_diagonals, products_of_last_axes, along_another_axis,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", FUNCTIONS)
def test_derivatives(fun, target):
    assert_derivatives(fun, V, target)


@pytest.mark.parametrize("fun", [the_nearest, written_through_a_new_axis, chosen_once_it_is_there, an_area_of_a_list])
def test_hessians(fun):
    want = differences(s2sad.grad(fun, target="python"), V)
    np.testing.assert_allclose(s2sad.hessian(fun)(V), want, rtol=1e-6, atol=1e-5)


def test_what_keeps_where_the_least_stands_tapes_nothing():
    text = s2sad.differentiate(the_nearest).source("grad", types=(V,))
    assert "tape" not in text


def test_what_is_appended_to_needs_no_tape():
    text = s2sad.differentiate(appended_and_summed).source("grad", types=(V,))
    assert "y_tape" not in text


def test_an_inner_loop_that_ends_without_its_break():
    def product_or_sum(a):
        total = 1.0
        for i in range(4):
            for j in range(4):
                if a[i, j] > 0:
                    total *= a[i, j]
                    break
                total += a[i, j]
            if total > 50:
                break
        return total**2

    a = -np.abs(np.outer(V, V))
    for target in ("python", "cpu"):
        np.testing.assert_allclose(s2sad.hessian(product_or_sum, target=target)(a), np.full((4, 4, 4, 4), 2.0))


def test_an_item_with_another_name_may_be_replaced():
    def named(x):
        corners = [x, x + 1.0]
        for _ in range(3):
            corners.sort(key=np.sum)
            worst = corners[1]
            corners[1] = 0.5 * corners[0]
            corners[0] = corners[0] + worst
        return np.sum(corners[0] ** 2)

    assert_derivatives(named, V, "python")
