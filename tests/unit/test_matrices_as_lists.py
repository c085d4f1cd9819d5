"""Matrices written as lists of lists: products, elimination with pivots, and tables of dynamic programs."""

from __future__ import annotations

import numpy as np
import pytest

from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, -0.4, 2.1])


def entries_written(x):
    n = len(x)
    a = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            a[i][j] = x[i] * x[j] + (i == j)
    return a[0][1] * a[2][3] + a[1][1]


def constant_rows_found_by_what_is_counted(x):
    grid = [[0.0] * 2 for _ in range(2)]
    for i, row in enumerate(x.reshape(2, 2)):
        for j, v in enumerate(row):
            grid[i][j] = v * x[j] + (grid[i - 1][j] if i else 0.0)
    return grid[1][1]


def entries_added_to_whole_zeros(x):
    n = len(x)
    a = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            a[i][j] += x[i] * x[j] + (i == j)
    return a[0][1] * a[2][3] + a[1][1]


def rows_by_comprehension(x):
    n = len(x)
    a = [[x[i] * x[j] for j in range(n)] for i in range(n)]
    total = 0.0
    for row in a:
        total += sum(row)
    return total * a[1][2]


def a_determinant_with_pivots(x):
    n = len(x) - 1
    a = [[x[i] * x[j] + (1.0 if i == j else 0.0) for j in range(n)] for i in range(n)]
    det = 1.0
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(a[i][k]) > abs(a[pivot][k]):
                pivot = i
        if pivot != k:
            a[k], a[pivot] = a[pivot], a[k]
            det = -det
        det *= a[k][k]
        for i in range(k + 1, n):
            factor = a[i][k] / a[k][k]
            for j in range(k, n):
                a[i][j] -= factor * a[k][j]
    return det


def a_product_of_matrices(x):
    n = 2 * (len(x) // 2)
    a = [[x[i] + j for j in range(n)] for i in range(n)]
    b = [[x[j] * i for j in range(n)] for i in range(n)]
    c = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                c[i][j] += a[i][k] * b[k][j]
    return c[0][1] + np.array(c).sum() * c[2][3]


def a_knapsack(x):
    n = len(x)
    capacity = 6
    weights = [1, 2, 3, 2]
    best = [[0.0] * (capacity + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for c in range(capacity + 1):
            best[i][c] = best[i - 1][c]
            if weights[i - 1] <= c:
                best[i][c] = max(best[i][c], best[i - 1][c - weights[i - 1]] + x[i - 1])
    return best[n][capacity]


def time_warping(x):
    y = [0.5, 1.0, -0.2]
    n = len(x)
    m = len(y)
    cost = [[float("inf")] * (m + 1) for _ in range(n + 1)]
    cost[0][0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            distance = (x[i - 1] - y[j - 1]) ** 2
            cost[i][j] = distance + min(cost[i - 1][j], cost[i][j - 1], cost[i - 1][j - 1])
    return cost[n][m]


PROGRAMS = [
    entries_written, constant_rows_found_by_what_is_counted, entries_added_to_whole_zeros, rows_by_comprehension,
    a_determinant_with_pivots, a_product_of_matrices, a_knapsack, time_warping,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)
