"""Flags, views, lists and lengths that change while a loop runs: all of these once gave a wrong number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import s2sad
from tests.differences import also_on, differences

X = np.array([0.6, 1.3, 0.9, 1.6])


@dataclass
class Record:
    """A record with a default."""

    a: float
    n: int = 0


def a_flag_that_its_branch_clears(x):
    first = True
    s = 0.0
    for v in x:
        if first:
            s = v * v
            first = False
        else:
            s = s * v + 1
    return s


def a_flag_in_straight_code(x):
    go = x[0] > -10
    s = x[0]
    if go:
        s = s * s
        go = s < -1
    if go:
        s = s * x[1]
    return s * x[2]


def a_walrus_in_a_condition(x):
    s = 0.0
    i = 0
    while x[i] > -100 and (i := i + 1) < 3:
        s += x[i] ** 2
    return s + x[i] ** 3


def a_walrus_that_guards(x):
    s = 0.0
    i = 0
    while x[i] > -100 and (i := i + 1) < 4:
        s += x[i] ** 2
    return s


def a_walrus_in_a_value(x):
    s = 1.0
    for v in x:
        ok = v > -5 and (s := s * v + 1) < 0
        if ok:
            s += 1
    return s


def whole_view_then_element(x):
    y = x.copy()
    v = y[1:]
    v[:] = v * y[0]
    y[0] = 1.0
    return y.sum()


def two_views(x):
    y = x.copy()
    q = y[:2]
    r = y[2:]
    r[:] = q * x[1]
    q[:] = 1.0
    return y.sum()


def two_rows(x):
    A = np.zeros((2, 4))
    A[0] = x
    r = A[1]
    q = A[0]
    r[:] = q * x[1]
    q *= 2.0
    return A.sum()


def columns_in_a_loop(x):
    A = np.outer(x, x)
    for i in range(2):
        a = A[:, i]
        b = A[:, i + 1]
        t = 0.8 * a - 0.6 * b
        b[:] = b * a
        a[:] = t
    return A.sum()


def buffers_as_rows(x):
    A = np.zeros((2, 4))
    a = A[0]
    b = A[1]
    a[:] = x
    for i in range(3):
        b[:] = a * a * x[i]
        a[:] = b + 1.0
    return A.sum()


def lists_of_numbers_rebound(x):
    cur = [x[0], x[1]]
    for k in range(2):
        nxt = []
        for i in range(2):
            nxt.append(cur[i] * x[k + 2])
        cur = nxt
    return cur[0] * cur[1]


def lists_of_arrays_rebound(x):
    fr = [x]
    for k in range(2):
        nf = []
        for a in fr:
            nf.append(a * x[k])
        fr = nf
    return fr[0].sum()


def a_list_that_grows_each_turn(x):  # all zeros
    cur = [x[0], x[1]]
    for k in range(3):
        nxt = [1.0]
        for i in range(len(cur) - 1):
            nxt.append(cur[i] * cur[i + 1] + x[k])
        nxt.append(x[3])
        cur = nxt
    return cur[0] * cur[1] + cur[2]


def a_list_that_shrinks_each_turn(x):  # IndexError
    cur = [v for v in x]
    for k in range(2):
        nxt = []
        for i in range(len(cur) - 1):
            nxt.append(cur[i] * cur[i + 1])
        cur = nxt
    return cur[0] * cur[1]


def comprehensions_that_shrink(x):  # IndexError
    cur = [v for v in x]
    for k in range(2):
        cur = [cur[i] * cur[i + 1] for i in range(len(cur) - 1)]
    return cur[0] * cur[1]


def the_list_before(x):  # pop from empty list
    cur = [x[0], x[1]]
    for k in range(2):
        prev = cur
        cur = []
        for i in range(2):
            cur.append(prev[i] * x[k + 2])
    return cur[0] * cur[1]


def broadcasts_of_several_lengths(x):
    s = 0.0
    for k in range(1, 3):
        y = np.ones(k) * x[0]
        s += y.sum()
    return s + y[-1]


def slices_of_several_lengths(x):  # ValueError (broadcast)
    s = 0.0
    for k in range(1, 4):
        y = x[:k] * x[k]
        s += (y * y).sum()
    return s + y[-1]


def shifted_views(x):
    y = x.copy()
    a = y[1:]
    b = y[:-1]
    a += b
    return y @ y


def a_transpose_added_to_itself(x):
    A = np.outer(x, np.arange(1.0, 5.0))
    B = A.T
    A += B
    return (A**2).sum()


def a_reversed_view(x):
    y = x.copy()
    r = y[::-1]
    r *= y
    return (y * np.arange(4.0)).sum()


def a_row_and_a_column(x):
    A = np.outer(x, x)
    c = A[:, 0]
    d = A[2]
    d += c
    return (A**2).sum()


def rows_updated_after_they_were_read(x):
    A = np.zeros((3, 4))
    A[0] = x
    for i in range(1, 3):
        q = A[i - 1]
        A[i] = q * x[i]
        q *= 2.0
    return (A**2).sum()


def blocks_updated_after_they_were_read(x):
    A = np.outer(x, x) + 5 * np.eye(4)
    for k in range(2):
        r = A[k, 1:]
        A[k + 1, 1:] -= r * r
        r *= 1.5
    return (A**2).sum()


def another_name_scaled(x):
    p = x.copy()
    s = 0.0
    for i in range(2):
        s += (p**3).sum()
        q = p
        q *= 1.5
    return s


def a_view_scaled(x):
    p = x.copy()
    s = 0.0
    for i in range(2):
        s += (p**3).sum()
        q = p[:2]
        q[0] *= 1.5
    return s


def zip_of_lists(x):  # zip of growing lists, the first longer
    U = [x[0]]
    for t in range(3):
        U.append(U[-1] * x[t])
    s = 0.0
    for a, b in zip(U, U[1:]):  # noqa: RUF007
        s += a * b
    return s


def zip_of_filtered_lists(x):
    b = [v for v in x if v > 1.0]
    a = [v for v in x]
    return sum(u * w for u, w in zip(a, b))


def a_dataclass_with_a_default(x):  # dataclass default
    s = Record(x[0])
    s.n += 1
    return s.a * s.n


def a_row_of_each_turn(x):
    a, s = np.outer(x, x) + 5 * np.eye(4), 0.0
    for k in range(3):
        b = a[k]
        s += (b**2).sum()
        b *= x[k]
        s += (a**3).sum()
    return s


def a_row_that_a_counter_chooses(x):
    a, s, j = np.outer(x, x) + 5 * np.eye(4), 0.0, 0
    for k in range(3):
        j = (j * 2 + k + 1) % 4
        b = a[j]
        s += (b**2).sum()
        b *= x[k]
        b[1] = b[0] * b[2]
        s += (a**3).sum()
    return s


def views_of_several_shapes(x):
    a = np.outer(x, x) + 5 * np.eye(4)
    for k in range(2):
        c, b = a[k + 1 :, k], a[k + 1 :, k + 1 :]
        b -= np.outer(c, c)
    return (a**2).sum()


PROGRAMS = [
    a_row_of_each_turn, a_row_that_a_counter_chooses, views_of_several_shapes,
    a_flag_that_its_branch_clears, a_flag_in_straight_code, a_walrus_in_a_condition, a_walrus_that_guards,
    a_walrus_in_a_value, whole_view_then_element, two_views, two_rows, columns_in_a_loop, buffers_as_rows,
    lists_of_numbers_rebound, lists_of_arrays_rebound, a_list_that_grows_each_turn, a_list_that_shrinks_each_turn,
    comprehensions_that_shrink, the_list_before, broadcasts_of_several_lengths, slices_of_several_lengths,
    shifted_views, a_transpose_added_to_itself, a_reversed_view, a_row_and_a_column,
    rows_updated_after_they_were_read, blocks_updated_after_they_were_read, another_name_scaled, a_view_scaled,
    zip_of_lists, zip_of_filtered_lists, a_dataclass_with_a_default,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_value_tangent_and_gradient(fun, target):
    bar = differences(fun, X)
    value, gradient = s2sad.value_and_grad(fun, target=target)(X)
    np.testing.assert_allclose(value, fun(X), rtol=1e-12)
    np.testing.assert_allclose(gradient, bar, rtol=1e-6, atol=1e-6)
    _, out_dot = s2sad.jvp(fun, (X,), (np.arange(4.0),), target=also_on(target, fun))
    np.testing.assert_allclose(out_dot, bar @ np.arange(4.0), rtol=1e-6, atol=1e-6)


@pytest.mark.compiled
@pytest.mark.parametrize("fun", PROGRAMS)
def test_second_derivatives_and_split_sweeps(fun):
    bar = differences(fun, X)
    np.testing.assert_allclose(s2sad.vjp(fun, X, target="python")[1](1.0)[0], bar, rtol=1e-6, atol=1e-6)
    curvature = differences(s2sad.grad(fun, target="python"), X)
    np.testing.assert_allclose(s2sad.hessian(fun, target="python")(X), curvature, rtol=1e-5, atol=1e-5)


M = np.arange(12.0).reshape(3, 4) / 7.0 - 0.5


def a_copy_is_in_order(m):
    y = m.T.copy()
    z = y.ravel()
    z[0] = 5.0
    return np.sum(y * y)


def a_copy_of_what_may_be_in_any_order(m):
    y = m.copy()
    z = y.ravel()
    z[0] = 5.0
    return np.sum(y * y)


def parts_of_complex_arrays(m):
    y = m * (1 + 2j)
    y.real += 1
    y.imag *= 2
    y.imag = y.imag * m
    return np.sum(np.abs(y) ** 2)


def a_row_taken_from_all(m):
    y = m.copy()
    y -= y[1]
    y[1:] -= y[1]
    y += 7.0
    y /= y[:, 1:2]
    z = m[:, :3].copy()
    z += z.T
    return np.sum(y**3) + np.sum(z**3)


def a_flattened_result_is_written(m):
    y = m * 2
    z = y.T.ravel().copy()
    w = (m * m).T
    w[0] = 5.0
    z[0] = 5.0
    return np.sum(y * y) * np.sum(z) + np.sum(w**2)


def counted_through(m):
    return m.item(2) * m[0, 0] + m.item(1, 2) ** 2


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("m", [M, np.asfortranarray(M)])
@pytest.mark.parametrize(
    "fun",
    [
        a_copy_is_in_order, a_copy_of_what_may_be_in_any_order, parts_of_complex_arrays, a_row_taken_from_all,
        a_flattened_result_is_written, counted_through,
    ],
)  # fmt: skip
def test_matrices_in_either_order(fun, m, target):
    steps = [1e-6 * np.eye(12)[k].reshape(3, 4) for k in range(12)]
    bar = np.array([(fun(m + e) - fun(m - e)) / 2e-6 for e in steps]).reshape(3, 4)
    value, gradient = s2sad.value_and_grad(fun, target=target)(m)
    np.testing.assert_allclose(value, fun(m), rtol=1e-10)
    np.testing.assert_allclose(gradient, bar, rtol=1e-4, atol=1e-4)
    dot = np.cos(m)
    _, out_dot = s2sad.jvp(fun, (m,), (dot,), target=target)
    np.testing.assert_allclose(out_dot, np.sum(bar * dot), rtol=1e-4, atol=1e-4)


def by_columns_throughout(m):
    y = m * 2
    w = y.T
    w[0] = 5.0
    z = (y * m).T.ravel()
    return np.sum(y * y) + np.sum(z[1:] * z[:-1])


def written_flat(m):
    y = m * 2
    z = y.T.ravel()
    z[0] = 5.0
    return np.sum(y * y)


def test_a_tangent_lies_in_memory_as_its_primal():
    m = np.asfortranarray(M)
    for dot in (np.cos(M), np.asfortranarray(np.cos(M))):
        step = np.asfortranarray(1e-6 * dot)
        expected = (by_columns_throughout(m + step) - by_columns_throughout(m - step)) / 2e-6
        got = s2sad.jvp(by_columns_throughout, (m,), (dot,), target="python")[1]
        np.testing.assert_allclose(got, expected, rtol=1e-6)
    with pytest.raises(s2sad.AliasError, match="may share its memory"):  # its adjoint may lie in another order
        s2sad.jvp(written_flat, (m,), (m,), target="python")


@pytest.mark.parametrize("index", [np.array([0, 2]), np.array([True, False, True, False])])
def test_a_gathered_array_may_be_in_any_order(index):
    def gathered(m):
        y = m[:, index]
        z = y.ravel()
        z[0] *= 5.0
        return np.sum(y * y) + np.sum(z * z)

    with pytest.raises(s2sad.AliasError):
        s2sad.grad(gathered, target="python")(M)
