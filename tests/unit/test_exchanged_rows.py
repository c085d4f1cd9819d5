"""Lists of rows that are copied, exchanged and written: elimination with pivots over lists of lists."""

import copy
from copy import deepcopy

import numpy as np
import pytest

import s2sad
from tests.differences import differences

A = [[0.4, 1.0, 2.0], [5.0, 3.0, 0.5], [1.0, 2.0, 5.0]]
B = [1.0, 2.0, 3.0]
T = [[0.3, -0.2, 0.5], [0.1, 0.7, -0.4], [0.2, 0.6, 0.9]]
U = [0.4, -0.3, 0.8]


def augmented(A, b):
    n = len(b)
    M = [row[:] + [b[i]] for i, row in enumerate(A)]
    for k in range(n):
        p = max(range(k, n), key=lambda r: abs(M[r][k]))
        M[k], M[p] = M[p], M[k]
        for r in range(k + 1, n):
            f = M[r][k] / M[k][k]
            for c in range(k, n + 1):
                M[r][c] -= f * M[k][c]
    x = [0.0] * n
    for i in range(n - 1, -1, -1):
        s = M[i][n]
        for j in range(i + 1, n):
            s -= M[i][j] * x[j]
        x[i] = s / M[i][i]
    return x[0] ** 2 + x[1] * x[2]


def of_a_parameter(A, b):
    n = len(A)
    A = copy.deepcopy(A)
    b = b[:]
    for i in range(n):
        pivot = i
        for j in range(i + 1, n):
            if abs(A[j][i]) > abs(A[pivot][i]):
                pivot = j
        if pivot != i:
            A[i], A[pivot] = A[pivot], A[i]
            b[i], b[pivot] = b[pivot], b[i]
        for j in range(i + 1, n):
            m = A[j][i] / A[i][i]
            for k in range(i, n):
                A[j][k] = A[j][k] - m * A[i][k]
            b[j] = b[j] - m * b[i]
    x = [0] * n
    for i in reversed(range(n)):
        x[i] = (b[i] - sum(A[i][j] * x[j] for j in range(i + 1, n))) / A[i][i]
    return x[0] ** 2 + x[1] * x[2]


def in_three_statements(A, b):
    M = [list(r) for r in A]
    n = len(M)
    for i in range(n):
        M[i].append(b[i])
    for i in range(n):
        mx = i
        for k in range(i + 1, n):
            if abs(M[k][i]) > abs(M[mx][i]):
                mx = k
        tmp = M[i]
        M[i] = M[mx]
        M[mx] = tmp
        for k in range(i + 1, n):
            c = -M[k][i] / M[i][i]
            for j in range(i, n + 1):
                if i == j:
                    M[k][j] = 0
                else:
                    M[k][j] += c * M[i][j]
    x = [0 for i in range(n)]
    for i in range(n - 1, -1, -1):
        x[i] = M[i][n] / M[i][i]
        for k in range(i - 1, -1, -1):
            M[k][n] -= M[k][i] * x[i]
    return sum(v * v for v in x)


def decomposed(A):
    n = len(A)
    U = [row[:] for row in A]
    L = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    P = list(range(n))
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(U[i][k]) > abs(U[p][k]):
                p = i
        U[k], U[p] = U[p], U[k]
        P[k], P[p] = P[p], P[k]
        for j in range(k):
            L[k][j], L[p][j] = L[p][j], L[k][j]
        for i in range(k + 1, n):
            L[i][k] = U[i][k] / U[k][k]
            for j in range(k, n):
                U[i][j] -= L[i][k] * U[k][j]
    return P, L, U


def by_a_decomposition(A, b):
    P, L, U = decomposed(A)
    n = len(b)
    y = [0.0] * n
    for i in range(n):
        y[i] = b[P[i]] - sum(L[i][j] * y[j] for j in range(i))
    x = [0.0] * n
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - sum(U[i][j] * x[j] for j in range(i + 1, n))) / U[i][i]
    return x[0] + 2 * x[1] * x[2]


def inverse(A):
    n = len(A)
    aug = [row[:] + [float(i == j) for j in range(n)] for i, row in enumerate(A)]
    for col in range(n):
        piv = col
        for r in range(col, n):
            if abs(aug[r][col]) > abs(aug[piv][col]):
                piv = r
        aug[col], aug[piv] = aug[piv], aug[col]
        d = aug[col][col]
        for c in range(2 * n):
            aug[col][c] /= d
        for r in range(n):
            if r != col:
                f = aug[r][col]
                aug[r] = [a - f * b for a, b in zip(aug[r], aug[col])]
    return [row[n:] for row in aug]


def by_an_inverse(A, b):
    inv = inverse(A)
    return sum(inv[i][j] * b[j] for i in range(3) for j in range(3))


def solved_in_place(a, b):
    """Solve a system, and leave its rows exchanged and eliminated."""
    n = len(a)
    for i in range(n):
        mx = i
        for r in range(i + 1, n):
            if abs(a[r][i]) > abs(a[mx][i]):
                mx = r
        a[i], a[mx] = a[mx], a[i]
        b[i], b[mx] = b[mx], b[i]
        for r in range(i + 1, n):
            f = a[r][i] / a[i][i]
            b[r] -= f * b[i]
            for c in range(i, n):
                a[r][c] -= f * a[i][c]
    x = [0.0] * n
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, n):
            s -= a[i][j] * x[j]
        x[i] = s / a[i][i]
    return x


def by_a_helper(A, b):
    x = solved_in_place([r[:] for r in A], b[:])
    return x[0] * x[1] + x[2]


def read_behind_a_helper(A, b):
    M = [r[:] for r in A]
    c = b[:]
    x = solved_in_place(M, c)
    return M[0][0] * M[1][1] + M[2][2] * M[1][2] + c[0] * c[2] + x[0]


def twice(A, b):
    M = deepcopy(A)
    c = b[:]
    solved_in_place(M, c)
    M[2][0] += 3.0
    x = solved_in_place(M, c)
    return M[0][0] * M[1][1] + sum(x)


def largest(a, k):
    p = k
    for r in range(k + 1, len(a)):
        if abs(a[r][k]) > abs(a[p][k]):
            p = r
    return p


def read_by_a_helper(A, b):
    M = [row[:] for row in A]
    before = np.asarray(M) * 1.0
    p = largest(M, 0)
    M[0], M[p] = M[p], M[0]
    M[0][1] *= 2.0
    return before[0, 0] + before[1, 1] * M[0][1] + b[0]


def of_inner_functions(A, b):
    def det(M):
        M = [r[:] for r in M]
        n = len(M)
        s = 1
        for i in range(n):
            for j in range(i, n):
                if abs(M[j][i]) > 0.5:
                    if i != j:
                        M[i], M[j] = M[j], M[i]
                        s = -s
                    break
            for k in range(i + 1, n):
                f = M[k][i] / M[i][i]
                for c in range(n):
                    M[k][c] -= f * M[i][c]
        d = s
        for i in range(n):
            d *= M[i][i]
        return d

    D = det(A)
    xs = []
    for i in range(2):
        Ai = [row[:] for row in A]
        for r in range(3):
            Ai[r][i] = b[r]
        xs.append(det(Ai) / D)
    return sum(x * x for x in xs)


def rows_read_in_many_ways(A, b):
    M = [row[:] for row in A]
    p = largest(A, 0)
    M[0], M[p] = M[p], M[0]
    for i, v in enumerate(M[0]):
        M[0][2] = v * 2.0
    M[1][0] = sum(M[0][1:]) + max(M[2]) * b[1]
    total = sum(a * c for a, c in zip(M[0], M[1])) + len(M[0])
    for row in M:
        total += row[1] * sum(row)
    first = M[1][:2] + [3.0]
    return total + [v for v in M[-1]][1] + first[0] * len(first)


def matrices_of_matrices(A, b):
    M = [A[i][:] for i in range(3)]
    p = largest(M, 0)
    M[0], M[p] = M[p], M[0]
    M = [q[:] for q in M]
    p = largest(M, 1)
    M[1], M[p] = M[p], M[1]
    M[p][2] *= b[0]
    N = [M[i][:] for i in range(3)]
    N[0][0] = 9.0 * M[p][2]
    N[p][1] = b[1]
    N[0], N[p] = N[p], N[0]
    K = [q[1:] for q in N]
    return M[0][0] * N[p][0] + N[0][1] * K[1][1] + M[1][1]


def by_one_name_twice(A, b):
    M = [list(r) for r in A]
    for c in range(3):
        p = largest(M, c)
        tmp = M[c]
        M[c] = M[p]
        M[p] = tmp
        M[c][0] += b[c]
    for c in range(2):
        p = largest(M, c + 1)
        tmp = M[c]
        M[c] = M[p]
        M[p] = tmp
    return M[0][0] * M[1][1] + M[2][2] * M[0][2]


def returned_early(M, k):
    if M[k][k] > 100.0:
        return 0.0
    p = largest(M, k)
    M[k], M[p] = M[p], M[k]
    M[k][1] *= 3.0
    return M[k][k]


def by_a_helper_with_two_returns(A, b):
    M = [r[:] for r in A]
    s = returned_early(M, 0)
    s += returned_early(M, 1) * b[0]
    return s + M[0][1] * M[1][2] + M[2][0]


def scaled_by_places(A, b):
    n = len(A)
    M = [row[:] + [b[i]] for i, row in enumerate(A)]
    for k in range(n):
        p = largest(M, k)
        M[k], M[p] = M[p], M[k]
        pivot = M[k][k]
        M[k] = [M[k][c] / pivot for c in range(n + 1)]
        for r in range(n):
            if r != k:
                f = M[r][k]
                for c in range(n + 1):
                    M[r][c] -= f * M[k][c]
    return sum(M[i][n] ** 2 for i in range(n))


PROGRAMS = [
    scaled_by_places,
    matrices_of_matrices, by_one_name_twice, by_a_helper_with_two_returns,
    augmented, of_a_parameter, in_three_statements, by_a_decomposition, by_an_inverse, by_a_helper,
    read_behind_a_helper, twice, read_by_a_helper, of_inner_functions, rows_read_in_many_ways,
]  # fmt: skip


def moved(x, t, h):
    return [moved(a, b, h) for a, b in zip(x, t, strict=True)] if isinstance(x, list) else x + h * t


def dot(g, t):
    return sum(dot(a, b) for a, b in zip(g, t, strict=True)) if isinstance(t, list) else float(g) * t


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_exchanged_rows_have_both_derivatives(program):
    h = 1e-6
    expected = (program(moved(A, T, h), moved(B, U, h)) - program(moved(A, T, -h), moved(B, U, -h))) / (2 * h)
    value, tangent = s2sad.jvp(program, (A, B), (T, U))
    assert value == pytest.approx(program(A, B), rel=1e-12)
    assert tangent == pytest.approx(expected, rel=1e-6)
    dA, dB = s2sad.grad(program, argnums=(0, 1))(A, B)
    assert dot(dA, T) + dot(dB, U) == pytest.approx(expected, rel=1e-6)


def test_a_nested_list_of_an_array_is_eliminated():
    def det(A):
        M = A.tolist()
        n = len(M)
        d = 1.0
        for i in range(n):
            p = max(range(i, n), key=lambda r: abs(M[r][i]))
            if p != i:
                M[i], M[p] = M[p], M[i]
                d = -d
            d *= M[i][i]
            for r in range(i + 1, n):
                f = M[r][i] / M[i][i]
                for c in range(i, n):
                    M[r][c] -= f * M[i][c]
        return d

    a = np.array(A)
    expected = np.linalg.det(a) * np.linalg.inv(a).T
    np.testing.assert_allclose(s2sad.grad(det)(a), expected, rtol=1e-12, atol=1e-14)


def test_nested_lists_of_a_known_shape_are_lists():
    def f(x):
        rows = np.outer(x[:2], np.array([1.0, 2.0, 3.0])).tolist()
        return sum(rows[0] + rows[1]) * rows[1][2] + len(rows[0])

    x = np.array([0.7, -1.3, 2.0])
    np.testing.assert_allclose(s2sad.grad(f)(x), differences(f, x), rtol=1e-6, atol=1e-8)


def test_the_matrix_is_one_array_in_the_text():
    text = s2sad.differentiate(augmented).source("grad", types=(A, B))
    assert "M[at] = np.copy(M)[np.array([p, k])]" in text
    assert "M[r][c] = M[r][c] - f * M[k][c]" in text or "M[r][c] -= f * M[k][c]" in text


def shared(A):
    z = [0.5, 1.5, 2.5]
    M = [A[0][:], z, A[2][:]]
    p = largest(M, 0)
    M[0], M[p] = M[p], M[0]
    M[0][1] *= 2.0
    return z[1] + M[0][1] * M[1][1]


def named(A):
    M = [row[:] for row in A]
    r = M[0]
    p = largest(M, 0)
    M[0], M[p] = M[p], M[0]
    M[p][1] *= 3.0
    return r[1] + M[0][1] * M[p][1]


def named_outside(A):
    M = deepcopy(A)
    r = M[0]
    solved_in_place(M, [1.0, 2.0, 3.0])
    return r[0] * r[1] + M[2][2]


def largest_of_two(A):
    M = [r[:] for r in A]
    p = largest(M, 0)
    M[0], M[p] = M[p], M[0]
    M[0][1] *= 2.0
    return max(M[0], M[1])[1] + M[0][1]


def exchanged_inside(A):
    M = [r[:] for r in A]
    p = largest(M, 0)

    def exchange():
        M[0], M[p] = M[p], M[0]

    s = 0.0
    for i, v in enumerate(M[0]):
        if i == 0:
            exchange()
        s += v * (i + 1)
    M[0][1] *= 2.0
    return s + M[0][1]


def place_behind_a_write(A):
    M = [r[:] for r in A]
    p = largest(M, 0)
    M[0][0] = 2.0
    M[p][0] = 1.0
    M[0], M[int(M[0][0])] = M[int(M[0][0])], M[0]
    M[0][1] *= 2.0
    return M[0][1] * M[1][0] + M[2][1] * 3


KEPT = [shared, named, named_outside, largest_of_two, exchanged_inside, place_behind_a_write]


@pytest.mark.parametrize("program", KEPT, ids=lambda f: f.__name__)
def test_a_row_with_another_name_is_refused(program):
    with pytest.raises(s2sad.AliasError, match="an item of a list that grows") as refusal:
        s2sad.grad(program)(A)
    assert "np.array(…)" in str(refusal.value)


def test_an_array_made_of_a_matrix_keeps_its_items():
    def f(x):
        n = len(x)
        M = [[x[i] * x[j] + i for j in range(n)] for i in range(n)]
        kept = np.asarray(M)
        M[0][0] = 5.0 * x[1]
        return kept[0, 0] + M[0][0] * kept[1, 2]

    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(s2sad.grad(f)(x), differences(f, x), rtol=1e-6, atol=1e-8)


def test_a_statement_of_many_items_at_computed_places_ends():
    def f(x):
        n = len(x)
        pairs = [[x[0], 1.0], [x[1], 2.0], [x[0] * x[1], 3.0]]
        first = pairs[0]
        for k in range(n):
            pairs[k][0], pairs[k - 1][1] = pairs[k - 1][1] * pairs[k][1], pairs[k][0]
        return first[0] * pairs[1][1] + pairs[2][0]

    x = np.array([1.3, 2.0, 0.7])
    np.testing.assert_allclose(s2sad.grad(f)(x), differences(f, x), rtol=1e-6, atol=1e-8)


def first(rows):
    return rows[0]


def written_by_a_name_that_a_helper_gives(A):
    M = [list(row) for row in A]
    z = first(M)
    z[0] = A[1][1]
    p = largest(M, 1)
    t = M[1]
    M[1] = M[p]
    M[p] = t
    return M[0][0] * M[1][1] + z[1]


def test_what_a_helper_takes_out_of_a_list_is_not_written_by_another_name():
    with pytest.raises(s2sad.AliasError, match="an item of a list that grows"):
        s2sad.grad(written_by_a_name_that_a_helper_gives)(A)


def test_what_a_helper_takes_out_of_a_list_is_read():
    def f(A):
        M = [list(row) for row in A]
        p = largest(M, 0)
        M[0], M[p] = M[p], M[0]
        z = first(M)
        return z[0] * z[1] + M[1][2]

    h = 1e-6
    expected = (f(moved(A, T, h)) - f(moved(A, T, -h))) / (2 * h)
    assert dot(s2sad.grad(f)(A), T) == pytest.approx(expected, rel=1e-7)


def test_a_row_that_becomes_shorter_does_not_fill_the_one_before():
    def f(A):
        M = [row[:2] for row in A]
        p = largest(M, 0)
        M[0], M[p] = M[p], M[0]
        M[1][0] *= 2.0
        M[0] = [M[0][c] * 3.0 for c in range(1, 2)]
        return sum(M[0]) + M[1][0] * M[1][1]

    with pytest.raises((IndexError, s2sad.S2SADError)):
        s2sad.grad(f)(A)
