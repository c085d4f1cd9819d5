"""Operands that turn out to have one element: broadcast at run time, where the lengths were not known before."""

from __future__ import annotations

import numpy as np
import pytest

from tests.differences import assert_derivatives

X = np.array([0.5, 0.9, 1.1, 1.6, 1.8, 2.2])


def to_the_shape_of_another(x):
    q = np.broadcast_to(x[:1], x.shape)
    return (q * q * x).sum()


def arrays_together(x):
    p, q = np.broadcast_arrays(x, x[:1])
    return np.sin(q) @ p + q.sum()


def three_together(x):
    r = np.broadcast_arrays(x, x[:1], x[0])
    return (r[0] * r[1] * r[2]).sum()


def read_in_a_loop(x):
    p, q = np.broadcast_arrays(x, x[: int(x[0] > 0)])
    total = 0.0
    for i in range(6):
        total += p[i] * q[i] * i
    return total


def the_shorter_first(x):
    p, q = np.broadcast_arrays(x[:1], x)
    return (p * p).sum() + (q * q).sum()


def a_column_and_a_row(x):
    p, q = np.broadcast_arrays(x[:, None], x[None])
    return (p * q**2).sum()


def an_integral_over_rows(x):
    k = int(x[0] > 0)
    rows = x[:k].reshape(-1, 1) * x[:2]
    return np.trapezoid(rows, x=x.reshape(3, 2) ** 2).sum()


def an_integral_over_one_row(x):
    k = int(x[0] > 0)
    return np.trapezoid(x.reshape(3, 2), x=x.reshape(3, 2)[:k] ** 2).sum()


PROGRAMS = [
    to_the_shape_of_another, arrays_together, three_together, read_in_a_loop, the_shorter_first, a_column_and_a_row,
    an_integral_over_rows, an_integral_over_one_row,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)


def _stacked(x):
    return np.stack([np.outer(x[:2], x[1:3]), np.outer(x[2:4], x[4:]), np.outer(x[1:3], x[3:5])])


def one_matrix_for_all(x):
    m = _stacked(x)
    return (m[: int(x[0] > 0)] @ (m * x[3] + 1)).sum()


def test_products_of_stacks():
    assert_derivatives(one_matrix_for_all, X, "python")
