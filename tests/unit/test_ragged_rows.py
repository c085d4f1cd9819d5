"""Lists of rows that differ in length: each row is an array where it is made anew and read from there on."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from tests.differences import also_on, differences

X = np.array([1.0, 2.5, 3.0, 4.7])


def romberg(a, b, n=5):
    f = lambda x: math.exp(-x * x)
    R = [[0.5 * (b - a) * (f(a) + f(b))]]
    for i in range(1, n):
        h = (b - a) / 2**i
        s = sum(f(a + (2 * k - 1) * h) for k in range(1, 2 ** (i - 1) + 1))
        row = [0.5 * R[i - 1][0] + h * s]
        for j in range(1, i + 1):
            row.append(row[j - 1] + (row[j - 1] - R[i - 1][j - 1]) / (4**j - 1))
        R.append(row)
    return R[-1][-1]


def pascal(x, n=4):
    rows = [[1.0]]
    for i in range(n):
        prev = rows[-1]
        new = [x]
        for j in range(len(prev) - 1):
            new.append(prev[j] + prev[j + 1] * x)
        new.append(1.0)
        rows.append(new)
    return sum(sum(r) for r in rows)


def neville(x, xs, ys):
    P = [list(ys)]
    for k in range(1, len(xs)):
        prev = P[-1]
        P.append(
            [((x - xs[i + k]) * prev[i] + (xs[i] - x) * prev[i + 1]) / (xs[i] - xs[i + k]) for i in range(len(xs) - k)]
        )
    return P[-1][0]


def sums_with_the_last_row(x, n=4):
    h = [[1.0]]
    for i in range(n):
        h.append(h[-1] + [x * h[-1][-1]])
    return sum(h[-1])


def rows_gone_over(x, n=4):
    h = [[1.0]]
    for i in range(n):
        last = h[-1]
        h.append([x * v for v in last] + [x])
    t = 0.0
    for r in h:
        for v in r:
            t += v
    return t


def written_rows(x, n=4):
    T = []
    for i in range(n):
        T.append([0.0] * (i + 1))
        T[i][0] = x**i
        for j in range(1, i + 1):
            T[i][j] = T[i][j - 1] + T[i - 1][j - 1]
    return T[n - 1][n - 1]


def shrinking_layers(x, n=4):
    layers = [[x, 2 * x, 3.0]]
    while len(layers[-1]) > 1:
        cur = layers[-1]
        layers.append([cur[i] * cur[i + 1] for i in range(len(cur) - 1)])
    return layers[-1][0]


def differences_of_an_array(xs):
    table = [xs.copy()]
    while len(table[-1]) > 1:
        p = table[-1]
        table.append([p[i + 1] - p[i] for i in range(len(p) - 1)])
    return sum(t[0] for t in table)


def divided_differences(xs):
    n = len(xs)
    table = [[xi**2 for xi in xs]]
    for k in range(1, n):
        col = []
        for i in range(n - k):
            col.append((table[k - 1][i + 1] - table[k - 1][i]) / (xs[i + k] - xs[i]))
        table.append(col)
    return sum(table[k][0] * 0.5**k for k in range(n))


def comprehended(x, n=4):
    rows = []
    for i in range(n):
        rows.append([x * j for j in range(i + 1)])
    return sum(max(r) for r in rows)


def all_comprehended(x, n=4):
    rows = [[x * j for j in range(i + 1)] for i in range(n)]
    return sum(sum(r) for r in rows)


def whole_numbers_in_rows(x, n=4):
    tri = [[1]]
    for i in range(1, n):
        r = [1]
        for j in range(1, i):
            r.append(tri[i - 1][j - 1] + tri[i - 1][j])
        r.append(1)
        tri.append(r)
    return sum(c * x**k for k, c in enumerate(tri[-1]))


def rows_under_a_name(x, n=4):
    grid = []
    for i in range(n):
        row = []
        for j in range(n):
            row.append(x * i + j)
        grid.append(row)
    return sum(grid[i][n - 1 - i] for i in range(n)) + sum(row[0] for row in grid)


def arrays_in_rows(x, n=4):
    a = np.array([x, 2 * x])
    rows = [[a]]
    rows.append([a, a])
    a[0] = 5 * x
    return rows[1][0][0] + rows[0][0][1]


def texts_in_rows(x, n=4):
    rows = [["a", x]]
    rows.append(["b", x * x, 2.0])
    t = 0.0
    for r in rows:
        t += r[1]
    return t


def one_name_for_two_things(x, n=4):
    grid = []
    for i in range(n):
        row = [x]
        for j in range(i):
            row.append(row[-1] * x)
        grid.append(row)
    t = 0.0
    for row in grid:
        for v in row:
            t += v
    return t


def a_written_table(x, n=4):
    c = [[0] * (i + 1) for i in range(n)]
    for i in range(n):
        c[i][0] = 1
        for j in range(1, i + 1):
            c[i][j] = c[i - 1][j - 1] + (c[i - 1][j] if j < i else 0)
    return sum(c[n - 1][k] * x**k for k in range(n))


def zipped_rows(x, n=4):
    rows = [[1.0]]
    for i in range(n):
        prev = rows[-1]
        rows.append([a + b * x for a, b in zip([0.0] + prev, prev + [0.0])])
    return sum(v * v for v in rows[-1])


def a_graph(x, n=4):
    graph = [[j for j in range(i)] for i in range(n)]
    s = np.zeros(n)
    s[0] = x
    for i in range(1, n):
        for j in graph[i]:
            s[i] += x * s[j]
    return s[n - 1]


def up_a_triangle(x, n=4):
    tri = [[float(i + j) for j in range(i + 1)] for i in range(n)]
    for i in range(n - 2, -1, -1):
        for j in range(i + 1):
            tri[i][j] += x * max(tri[i + 1][j], tri[i + 1][j + 1])
    return tri[0][0]


def made_longer_first(x, n=4):
    h = []
    for i in range(n):
        r = [x, i]
        if i % 2:
            r = r + [x * x]
        h.append(r)
    return sum(r[-1] for r in h)


def numbered_rows(x, n=4):
    sols = []
    for i in range(n):
        sols.append([x * i] + [x] * i)
    best = 0.0
    for i, s in enumerate(sols):
        best = max(best, sum(s[1:]) * i + s[0])
    return best


def in_an_inner_function(x, n=4):
    def inner(x, n=4):
        T = [[x]]
        for i in range(n):
            p = T[-1]
            T.append([q * x for q in p] + [1.0])
        return T[n][0] + T[n][1]

    return inner(x, n) * inner(2 * x, n - 1)


CASES = [
    (romberg, (0.1, 1.2)),
    (pascal, (0.7,)),
    (neville, (0.35, X[:3], X[1:])),
    (sums_with_the_last_row, (0.7,)),
    (rows_gone_over, (0.7,)),
    (written_rows, (0.7,)),
    (shrinking_layers, (0.7,)),
    (differences_of_an_array, (X,)),
    (divided_differences, (X,)),
    (comprehended, (0.7,)),
    (all_comprehended, (0.7,)),
    (whole_numbers_in_rows, (0.7,)),
    (rows_under_a_name, (0.7,)),
    (arrays_in_rows, (0.7,)),
    (texts_in_rows, (0.7,)),
    (one_name_for_two_things, (0.7,)),
    (a_written_table, (0.7,)),
    (zipped_rows, (0.7,)),
    (a_graph, (0.7,)),
    (up_a_triangle, (0.7,)),
    (made_longer_first, (0.7,)),
    (numbered_rows, (0.7,)),
    (in_an_inner_function, (0.7,)),
]


@pytest.mark.parametrize(("f", "arguments"), CASES, ids=[f.__name__ for f, _ in CASES])
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_rows_of_different_lengths(f, arguments, target):
    x, rest = np.asarray(arguments[0]), arguments[1:]
    given = x if x.ndim else float(x)
    slope = differences(lambda x: f(x if x.ndim else float(x), *rest), x)
    value, gradient = s2sad.value_and_grad(f, target=target)(given, *rest)
    assert value == pytest.approx(f(given, *rest), rel=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-7)
    _, dot = s2sad.jvp(lambda x: f(x, *rest), (given,), (given,), target=also_on(target, f))
    np.testing.assert_allclose(dot, np.sum(slope * x), rtol=1e-6, atol=1e-7)


def exchanged(x, n=4):
    rows = [[x], [x, 2.0]]
    last = rows[-1]
    rows.append([1.0, 2.0, x])
    rows[1][0] = 5.0
    return last[0] * rows[2][2] + n


def scaled(x, n=4):
    rows = [[x], [x, 2.0]]
    for i in range(n):
        rows.append(rows[-1] * 2)
    return sum(rows[-1])


def handed_on(x, n=4):
    def changed(row):
        row.append(x)
        return row[0]

    rows = [[x]]
    for i in range(n):
        rows.append([x] * (i + 2))
    return changed(rows[1]) + len(rows[1]) * x


def sum_with_an_array(x, n=4):
    rows = [np.array([x, 2.0])]
    for i in range(n):
        rows.append(rows[-1] + [1.0, x])
    return np.sum(rows[-1])


def copies_are_perhaps_arrays(x, n=4):
    start = np.array([x, 2.0])
    rows = [start.copy()]
    rows.append([x, 1.0, 3.0])
    for i in range(n):
        rows.append(rows[0] + [1.0, x])
    return rows[-1][1] + rows[1][2] * x


def test_sums_with_arrays_add_their_items():
    assert s2sad.grad(sum_with_an_array, target="python")(0.7) == 5.0
    assert s2sad.grad(copies_are_perhaps_arrays, target="python")(0.7) == pytest.approx(4.0, rel=1e-12)


def named_twice(x):
    out = []
    for i in range(2):
        row = []
        row.append(x[i])
        row.append(2.0)
        other = row
        out.append(row)
        other[0] = 5.0 * x[0]
    return out[0][0] + out[1][0]


def grown_by_its_second_name(x):
    out = [[x[0]]]
    for i in range(3):
        row = [x[i]]
        row.append(x[1])
        other = row
        out.append(row)
        other.append(x[2])
    return sum(out[1]) * out[2][0]


def kept_in_a_dict_too(x):
    out = [[x[0]]]
    kept = {}
    for i in range(3):
        row = [x[i], x[1]]
        kept[0] = row
        out.append(row)
        kept[0][0] = 7.0
    return sum(out[1]) * out[2][0]


def chosen_by_or(x):
    out = [[x[0]]]
    for i in range(3):
        row = [x[i]]
        row.append(x[1])
        other = row or [1.0]
        out.append(row)
        other.append(x[2])
    return sum(out[1]) * out[2][0]


@pytest.mark.parametrize("f", [named_twice, grown_by_its_second_name, kept_in_a_dict_too, chosen_by_or])
def test_rows_with_a_second_name_are_no_arrays(f):
    with pytest.raises(s2sad.S2SADError) as info:
        s2sad.grad(f, target="python")(X)
    assert info.value.span is not None


def test_a_row_that_is_written_through_another_name():
    assert s2sad.value_and_grad(exchanged)(0.7) == (exchanged(0.7), 5.0)


@pytest.mark.parametrize(("f", "line"), [(scaled, "rows = [[x]"), (handed_on, "rows.append([x]")])
def test_rows_that_are_used_as_lists_stay_lists(f, line):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="differ in kind") as info:
        s2sad.grad(f)(0.7)
    assert line in str(info.value)
