"""Lists of lists of a known size that are read at places which a run tells: one table, made where a function begins."""

import math

import numpy as np
import pytest

import s2sad

A = [[4.0, 1.0, 2.0], [1.0, 5.0, 0.5], [0.3, 0.2, 3.0]]
B = [1.0, 2.0, 3.0]
T = [[0.3, -0.2, 0.5], [0.1, 0.7, -0.4], [0.2, 0.6, 0.9]]
U = [0.4, -0.3, 0.8]


def forward(L, b):
    n = len(b)
    y = [0] * n
    for i in range(n):
        s = b[i]
        for j in range(i):
            s -= L[i][j] * y[j]
        y[i] = s / L[i][i]
    return y


def backward(U, y):
    n = len(y)
    x = [0] * n
    for i in range(n - 1, -1, -1):
        s = y[i]
        for j in range(i + 1, n):
            s -= U[i][j] * x[j]
        x[i] = s / U[i][i]
    return x


def decomposed(A):
    n = len(A)
    L = [[0] * n for _ in range(n)]
    U = [[0 for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(i, n):
            U[i][j] = A[i][j]
            for k in range(i):
                U[i][j] -= L[i][k] * U[k][j]
        for j in range(i, n):
            if i == j:
                L[i][i] = 1
            else:
                L[j][i] = A[j][i]
                for k in range(i):
                    L[j][i] -= L[j][k] * U[k][i]
                L[j][i] /= U[i][i]
    return L, U


def solved(A, b):
    L, U = decomposed(A)
    x = backward(U, forward(L, b))
    return x[0] * x[1] + x[2]


def bound_again(A, b):
    def looked_up(M, k):
        s = M[k][k]
        M = [[M[0][0] * 2.0, s], [s, M[1][1]]]
        return s * M[k][1 - k]

    k = int(math.floor(b[0]))
    return looked_up(A, k) + looked_up(A, 0)


def rebinds(M, y):
    k = len(y)
    s = 0.0
    while k > 0:
        k -= 1
        s += M[k][0] * y[k]
    M = [[s, M[0][1]], [M[1][0] * s, s]]
    k = len(y) - 1
    while k > 0:
        k -= 1
        s += M[k][1] * y[k]
    return s


def of_a_helper_that_rebinds(A, b):
    return rebinds(A, forward(A, b))


def with_places(A, b):
    edges = [[0, 1, A[0][1]], [1, 2, A[1][2]], [2, 0, A[2][0]]]
    total = 0.0
    k = 0
    while total < 5.0:
        i, j = edges[k][0], edges[k][1]
        total += edges[k][2] * b[i] * b[j] + 0.5
        k = (k + 1) % 3
    return total


PROGRAMS = [solved, bound_again, of_a_helper_that_rebinds, with_places]


def moved(x, t, h):
    return [moved(a, b, h) for a, b in zip(x, t, strict=True)] if isinstance(x, list) else x + h * t


def dot(g, t):
    return sum(dot(a, b) for a, b in zip(g, t, strict=True)) if isinstance(t, list) else float(g) * t


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_tables_have_both_derivatives(program):
    h = 1e-6
    b = [1.2, 2.0, 3.0]
    expected = (program(moved(A, T, h), moved(b, U, h)) - program(moved(A, T, -h), moved(b, U, -h))) / (2 * h)
    value, tangent = s2sad.jvp(program, (A, b), (T, U))
    assert value == pytest.approx(program(A, b), rel=1e-12)
    assert tangent == pytest.approx(expected, rel=1e-6)
    dA, dB = s2sad.grad(program, argnums=(0, 1))(A, b)
    assert dot(dA, T) + dot(dB, U) == pytest.approx(expected, rel=1e-6)


def test_the_text_has_one_table_and_whole_matrices():
    text = s2sad.differentiate(solved).source("grad", types=(A, B))
    assert "L = np.zeros((n, n))" in text
    assert "[[U_0_0, U_0_1, U_0_2], [U_1_0, U_1_1, U_1_2], [U_2_0, U_2_1, U_2_2]]" in text
    assert "sum_value" not in text
    assert "s -= table[i][j] * x[j]" in text
    assert "which" not in text


def test_a_matrix_of_one_number_is_made_whole():
    def f(x):
        n = len(x)
        M = [[1.5] * n for _ in range(n)]
        Z = [[0 for _ in range(n + 1)] for _ in range(2)]
        for i in range(n):
            for j in range(i):
                M[i][j] *= x[i] * x[j]
            Z[i % 2][i] = M[i][0] + x[i]
        return sum(sum(row) for row in M) * Z[0][2] + Z[1][1] * len(Z[0])

    x = np.array([0.7, -1.3, 2.0])
    h = 1e-6
    expected = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(s2sad.grad(f)(x), expected, rtol=1e-7)
    text = s2sad.differentiate(f).source("grad", types=(x,))
    assert "M = np.full((n, n), 1.5)" in text
    assert "Z = np.zeros((2, n + 1))" in text
