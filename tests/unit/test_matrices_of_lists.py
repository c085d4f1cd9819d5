"""Functions that take and return matrices as lists of lists: products, powers, decompositions, transposes."""

import math

import numpy as np
import pytest

import s2sad

A = [[4.0, 1.0, 2.0], [1.0, 5.0, 0.5], [0.3, 0.2, 3.0]]
B = [[1.0, 2.0, 3.0], [0.5, 1.0, -1.0], [2.0, 0.1, 0.2]]
T = [[0.3, -0.2, 0.5], [0.1, 0.7, -0.4], [0.2, 0.6, 0.9]]


def product(A, B):
    n, m, p = len(A), len(B), len(B[0])
    C = [[0.0] * p for _ in range(n)]
    for i in range(n):
        for j in range(p):
            for k in range(m):
                C[i][j] += A[i][k] * B[k][j]
    return C


def product_by_rows(A, B):
    C = []
    for i in range(len(A)):
        row = []
        for j in range(len(B[0])):
            s = 0
            for k in range(len(B)):
                s += A[i][k] * B[k][j]
            row.append(s)
        C.append(row)
    return C


def product_by_comprehensions(A, B):
    return [[sum(a * b for a, b in zip(r, c)) for c in zip(*B)] for r in A]


def transposed(A):
    return [[A[j][i] for j in range(len(A))] for i in range(len(A[0]))]


def trace(A):
    return sum(A[i][i] for i in range(len(A)))


def of_products(A, B):
    return trace(product(product(A, B), transposed(A)))


def of_rows(A, B):
    return trace(product_by_rows(product_by_rows(A, B), transposed(A)))


def of_comprehensions(A, B):
    return trace(product_by_comprehensions(product_by_comprehensions(A, B), transposed(A)))


def of_a_power_method(A, B):
    P = A
    for _ in range(4):
        P = product(P, B)
        s = max(abs(v) for r in P for v in r)
        P = [[v / s for v in r] for r in P]
    return trace(P) + P[0][1]


def of_a_power(A, B):
    n = len(A)
    result = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    e = 5
    base = B
    while e > 0:
        if e % 2 == 1:
            result = product(result, base)
        base = product(base, base)
        e //= 2
    return trace(product(result, A))


def orthogonal(A):
    n = len(A)
    Q = [[0.0] * n for _ in range(n)]
    R = [[0.0] * n for _ in range(n)]
    for j in range(n):
        v = [A[i][j] for i in range(n)]
        for i in range(j):
            R[i][j] = sum(Q[k][i] * A[k][j] for k in range(n))
            for k in range(n):
                v[k] -= R[i][j] * Q[k][i]
        R[j][j] = math.sqrt(sum(x * x for x in v))
        for k in range(n):
            Q[k][j] = v[k] / R[j][j]
    return Q, R


def of_an_iteration(A, B):
    M = product(A, B)
    for _ in range(6):
        Q, R = orthogonal(M)
        new = product(R, Q)
        if abs(new[2][0]) < 1e-9:
            break
        M = new
    return M[0][0] + 2 * M[1][1] + M[0][2]


PROGRAMS = [of_products, of_rows, of_comprehensions, of_a_power_method, of_a_power, of_an_iteration]


def moved(x, t, h):
    return [moved(a, b, h) for a, b in zip(x, t, strict=True)] if isinstance(x, list) else x + h * t


def dot(g, t):
    return sum(dot(a, b) for a, b in zip(g, t, strict=True)) if isinstance(t, list) else float(g) * t


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_matrices_of_lists_have_both_derivatives(program):
    h = 1e-6
    S = transposed(T)
    expected = (program(moved(A, T, h), moved(B, S, h)) - program(moved(A, T, -h), moved(B, S, -h))) / (2 * h)
    value, tangent = s2sad.jvp(program, (A, B), (T, S))
    assert value == pytest.approx(program(A, B), rel=1e-12)
    assert tangent == pytest.approx(expected, rel=1e-6)
    dA, dB = s2sad.grad(program, argnums=(0, 1))(A, B)
    assert dot(dA, T) + dot(dB, S) == pytest.approx(expected, rel=1e-6)


def test_a_matrix_is_a_result_of_its_own():
    value, pull = s2sad.vjp(lambda A: product(A, B), A)
    np.testing.assert_allclose(value, np.array(A) @ np.array(B))
    assert isinstance(value, list)
    assert isinstance(value[0], list)
    (dA,) = pull(T)
    np.testing.assert_allclose(dA, np.array(T) @ np.array(B).T)


def test_rows_whose_number_only_a_run_knows_say_the_way_out():
    def rows_of(x):
        rows = []
        for i in range(len(x)):
            row = []
            for j in range(len(x)):
                row.append(x[i] * x[j])
            rows.append(row)
        return rows

    def f(x):
        return sum(sum(row) for row in rows_of(x))

    x = np.array([0.7, -1.3, 2.0])
    assert s2sad.jvp(f, (x,), (np.ones(3),))[1] == pytest.approx(2 * 3 * np.sum(x))
    with pytest.raises(s2sad.NotDifferentiableError, match="a list of lists has no derivative"):
        s2sad.grad(f)(x)


def test_many_rows_are_not_written_out():
    n = 12
    M = np.random.default_rng(0).normal(size=(n, n)).tolist()
    text = s2sad.differentiate(lambda A: trace(product_by_rows(A, A))).source("jvp", types=(M,))
    assert text.count("\n") < 3000
