"""Programs that once gave a wrong number without an error."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import also_on, assert_derivatives, differences

V = np.array([1.3, -0.6, 2.7, 0.4, -1.2, 0.9])
M = np.arange(12.0).reshape(3, 4) / 7.0 - 0.5
W = np.array([[0.3, -0.2], [0.5, 0.1]])


def mean_of_sums(m):
    return np.mean(np.sum(m**2, axis=1))


def safe_division(b):
    return np.divide(1.0, b, out=np.zeros_like(b), where=b != 0).sum()


def into_a_copy(b):
    return np.sqrt(b * b, out=b.copy()).sum()


def default_by_or(x, scale=None):
    scale = scale or 2.0
    return scale * x.sum() + (x[0] and x[1] ** 2) + (x[2] or 3.0) ** 2


def word_by_or(x, kind=""):
    kind = kind or "square"
    return (x**2).sum() if kind == "square" else x.sum()


def recurrent(x):
    y, s = x, 0.0
    for _ in range(3):
        y = np.tanh(W @ y + x)
        s += y[0]
    return s


def covariance(p):
    s = 0.0
    for _ in range(3):
        p = W @ p @ W.T + W
        s += p[0, 0]
    return s


def rows_of_displays(x):
    t = np.zeros((2, 3))
    t[0, :] = [x[0], x[1] ** 2, 1.0]
    t[1] = (x[2], x[0] * x[1], 2)
    t[0] += [x[0], x[0], 1.0]
    return (t * np.arange(6).reshape(2, 3)).sum()


def displays_beside_arrays(x):
    y = np.array([x[0], x[1], 2 * x[2]])
    y *= [1, 2, 3]
    y[1:] = [x[0] * x[1], x[1]]
    return np.dot(y, [1, 2, 3]) + (([1, 2, 3] - y) @ y) + np.where([True, False, True], y, y**2).sum()


def appended_constants(x):
    return (np.append(x, [1, 2]) ** 2).sum() + (np.append(np.ones(2), x) * np.arange(8.0)).sum()


def swapped_rows(m):
    a = m.copy()
    a[0], a[1] = a[1], a[0]  # views: both are the second row now
    a[:, 0], a[:, 2] = a[:, 2] * 2, a[:, 0]
    a[[1, 2]], a[0] = a[[2, 1]], a[1]
    return (a**2 * M).sum()


def defaults_of_inner_functions(x):
    fs = [lambda t, k=k: t * k for k in range(3)]
    s = x[0]

    def scaled(t, s=s):
        return t * s

    s = x[1]
    return sum(f(x[0]) for f in fs) + scaled(x[2]) * s


def own_defaults_and_those_of_inner_functions(x, k=3.0):
    def power(t, k=2):
        return t**k

    return power(x[0]) * k


def other(n, v):
    return v * 100.0 * n


def mutual(x):
    """A later inner function hides the global of its name."""

    def first(n, v):
        return v if n == 0 else other(n - 1, v * x[0])

    def other(n, v):
        return v * x[1] if n == 0 else first(n - 1, v + x[1])

    return first(3, 1.0)


def places_below_the_diagonal(x):
    lower = np.zeros((3, 3))
    lower[np.tril_indices(3)] = x
    outer = np.outer(x, x)
    return (lower**2).sum() + outer[np.triu_indices(3, k=1)].sum()


def lengths_that_data_decide(x):
    c = np.array([1.0, -1.0, 2.0, 0.5, -2.0, 1.0])
    t = np.unique(np.array([0, 0, 1, 2, 2, 5])) * 2.0 + c[c > 0] * 2 + np.where(c > 0)[0] * 2.0
    t = t + np.flatnonzero(c > 0) * 1.0 + c[np.nonzero(c > 0)]
    return (x[:4] * t).sum() + (x[:2] * np.compress([True, False, True], np.ones(3)) * 2).sum()


def windows_of_a_constant(x):
    return (np.lib.stride_tricks.sliding_window_view(V, x.shape[0] - 3) @ x[:3]).sum()


def counter_that_was_a_number(x):
    i = x[0]
    for i in range(3):
        pass
    return x[1] * i


def around_the_ring(x):
    y = x.copy()
    for i in range(4):
        y[i] = np.sin(y[i - 1])
    return np.sum(y)


def from_before_the_first(x):
    y = x.copy()
    s = 0.0
    for i in range(-2, 3):
        s += np.sin(y[i])
        y[i + 1] = s
    return np.sum(y) + s


def two_loops_of_one_variable(x):
    y = x.copy()
    s = 0.0
    for i in range(1, 4):
        s += np.sin(y[i - 1])
    for i in range(1, 4):
        y[i] = 2.0 * s
    return np.sum(y * y) + s


def filled_in_steps(x, steps):
    y = x.copy()
    s = 0.0
    for i in range(x.shape[0]):
        s += np.sin(y[i])
    for _ in range(steps):
        for i in range(y.shape[0]):
            y[i] = 0.1 * s
    for i in range(2):
        y[i] = 2.0 * s
    return np.sum(y * y) + s


def filled_in_no_step(x):
    return filled_in_steps(x, int(x[0] > 9.0))


def filled_in_two_steps(x):
    return filled_in_steps(x, 2)


def read_after_the_loop_that_binds_it(x):
    for _ in range(3):
        y = np.tanh(x)
        x = x - 0.5 * y * y
    return np.sum(y)


def mean_of_two_means(x):
    a, b = abs(x[0]), abs(x[1])
    for _ in range(4):
        g = np.sqrt(a * b)
        a = 0.5 * (a + b)
        b = g
    return a + g


def last_of_a_growing_list(x):
    states = [x[:2]]
    for _ in range(2):
        a, b = states[-1]
        states.append(np.array([a * b, b]))
    return states[-1][0]


def before_a_pop(x):
    rows = [x, 2.0 * x, 3.0 * x]
    s = 0.0
    for _ in range(2):
        row = rows[-1]
        s += row[0] * row[1]
        rows.pop()
    return s


def called_like_its_function(x):
    median = np.median(x)
    return x[0] * np.sum((x - median) ** 3)


def bound_anew_while_looped_over(x):
    u = x * 1.0
    s = 0.0
    for e in u:
        s += e * e
        u = x * x
    return s + np.sum(u)


def exchanged_while_looped_over(x):
    u, v = [x[0], x[1]], [x[2], x[3]]
    s = 0.0
    for e in u:
        s += e**3
        u, v = v, u
    return s


def counter_after_a_descending_loop(x):
    y = x * 1.0
    for i in range(2, -1, -1):
        y[i] += x[i + 1] ** 2
    return y[i] ** 2


def set_two(rows):
    rows[0] = 0.3
    rows[1] *= rows[0]


def helper_writes_a_view(x):
    y = x * 1.0
    z = np.sin(y)
    set_two(y[::-1])
    return np.sum(z)


def name_of_its_own_view(x):
    u = x * 1.0
    s = np.sin(u[1] * x[0])
    for _ in range(2):
        u = u[1:]
        u *= 3.0
    return s + np.sum(u)


def older_array_written(x):
    u = x * 1.0
    s = 0.0
    for _ in range(2):
        s += np.sin(u[1])
        z = u
        u = 2.0 * u
        z[1] = 3.0
        s += np.sum(z * z)
    return s + np.sum(u * u)


def weighed(x, w, i):
    v = x * w[i]
    s = 0.0
    for i in range(1, 3):
        s -= v[i]
    return s


def parameter_as_counter(x):
    return weighed(x, x, 3)


def counter_of_a_loop_that_does_nothing(x):
    n = 4
    u = x
    for i in range(n):
        u = u
    y = x * 1.0
    y[i] = 0.5
    return np.sum(np.sin(y * u))


def decided_by_a_constant(x):
    s = 0.3
    if s > 0.5:
        for i in range(3):
            s = s * x[i]
    return s * x[0]


def size_times(x, weights):
    if x[0] > 5.0:
        return np.sum(weights)
    size = np.sum(weights * weights)
    return np.sum(x * x) * size


def handed_a_part_of_what_is_computed(x):
    m = np.outer(x, x)
    return size_times(x, np.sin(m).T) + size_times(x, (2.0 * x)[1:]) + size_times(x, np.cos(m)[:, ::2].T[1])


def rows_added_at_one_row(m):
    y = m.copy()
    np.add.at(y, np.array([0, 2, 2]), m[1] ** 2)
    np.subtract.at(y, np.array([1, 1]), m[:1] ** 2)
    np.add.at(y, np.array([0, 0, 2]), m[:, :1] ** 2)
    return np.sum(y**2)


def rows_multiplied_at(m):
    y = m.copy()
    np.multiply.at(y, np.array([0, 2, 2]), m[1] ** 2)
    np.divide.at(y, np.array([[0, 1], [0, 2]]), m[1:2] ** 2 + 1.0)
    np.multiply.at(y, np.array([True, False, True]), m[:2] - 2.0)
    np.negative.at(y, np.array([0, 0, 1]))
    return np.sum(y**3)


def sizes_of_axes(m):
    return np.sum(m**2) * np.size(m, 1) + np.sum(m) ** 3 * np.size(m, axis=(0, 1)) / np.size(m, axis=-2)


def stretches_with_names(m):
    inner = np.s_[0:2, 1:]
    return np.sum(m[inner] ** 2) + np.sum(m[np.index_exp[1]] ** 3) + np.sum(m[np.s_[:, 0]])


def norms_over_several_axes(m):
    return np.sum(np.linalg.vector_norm(m, axis=(0, 1), keepdims=True)) + np.linalg.vector_norm(m, keepdims=True)[0, 0]


def singular_values_of_one_triangle(w):
    return np.sum(np.linalg.svd(w, compute_uv=False, hermitian=True) ** 3 * np.array([1.0, 2.0]))


def taken_by_one_row_of_places(m):
    return (np.sum(np.take_along_axis(m, np.array([[2, 0, 1, 1]]), axis=1) ** 3)
            + np.sum(np.take_along_axis(m[:1], np.array([[2], [0]]), axis=1) ** 2))


def shares_along_several_axes(m):
    cube = np.stack([m, m * m])
    shares = np.quantile(cube, [0.2, 0.7], axis=(0, 2), keepdims=True)
    return np.sum(shares**2 * np.arange(24.0).reshape(1, 2, 3, 4))


def chosen_by_dtype(x):
    return np.sum(x**2) if x.dtype == float and x.dtype.kind == "f" else np.sum(x)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    ("fun", "x"),
    [
        (rows_of_displays, V), (displays_beside_arrays, V), (appended_constants, V), (swapped_rows, M),
        (defaults_of_inner_functions, V), (own_defaults_and_those_of_inner_functions, V),
        (places_below_the_diagonal, V), (lengths_that_data_decide, V), (windows_of_a_constant, V),
        (counter_that_was_a_number, V), (mutual, V),
        (mean_of_sums, M), (safe_division, V), (into_a_copy, V), (default_by_or, V), (word_by_or, V),
        (recurrent, V[:2].copy()), (covariance, W + 1.0), (around_the_ring, V[:4].copy()),
        (from_before_the_first, V[:4].copy()), (two_loops_of_one_variable, V[:4].copy()), (decided_by_a_constant, V),
        (filled_in_no_step, V), (filled_in_two_steps, V),
        (read_after_the_loop_that_binds_it, V), (mean_of_two_means, V), (last_of_a_growing_list, V), (before_a_pop, V),
        (called_like_its_function, V[:5].copy()), (bound_anew_while_looped_over, V), (exchanged_while_looped_over, V),
        (counter_after_a_descending_loop, V), (helper_writes_a_view, V), (name_of_its_own_view, V),
        (handed_a_part_of_what_is_computed, V), (rows_added_at_one_row, M), (rows_multiplied_at, M), (sizes_of_axes, M),
        (stretches_with_names, M), (norms_over_several_axes, M), (singular_values_of_one_triangle, W),
        (chosen_by_dtype, V), (taken_by_one_row_of_places, M),
        (shares_along_several_axes, M),
        (older_array_written, V), (parameter_as_counter, V), (counter_of_a_loop_that_does_nothing, V),
    ],
)  # fmt: skip
def test_value_tangent_and_gradient(fun, x, target):
    bar = np.empty_like(x)
    for at in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[at] = 1e-6
        bar[at] = (fun(x + step) - fun(x - step)) / 2e-6
    value, gradient = s2sad.value_and_grad(fun, target=target)(x)
    np.testing.assert_allclose(value, fun(x), rtol=1e-12)
    np.testing.assert_allclose(gradient, bar, rtol=1e-6, atol=1e-8)
    out, out_dot = s2sad.jvp(fun, (x,), (np.ones_like(x),), target=also_on(target, fun))
    np.testing.assert_allclose(out, fun(x), rtol=1e-12)
    np.testing.assert_allclose(out_dot, bar.sum(), rtol=1e-6)
    np.testing.assert_allclose(s2sad.differentiate(fun, target=also_on(target, fun, 5))(x), fun(x), rtol=1e-12)


def first_positive(a, b):
    chosen = a if a[0] > 0 else b[::-1]
    chosen[0] = 1.0


def written_by_a_helper_through_either_name(x):
    u, v = x * 1.0, x * x
    first_positive(u, v)
    return np.sum(np.sin(u) * v)


def not_unpackable(c):
    if c < 0.5:
        _, c = 0.0
    return c


def looped_over_what_is_refused(x):
    u = x * 1.0
    for _ in range(2):
        for e in x:
            not_unpackable(e)
            u *= x
    return np.sum(u)


@pytest.mark.parametrize(
    ("fun", "error", "words"),
    [
        (written_by_a_helper_through_either_name, s2sad.AliasError, "may share its memory"),
        (looped_over_what_is_refused, s2sad.UnsupportedSyntaxError, "cannot be unpacked"),
    ],
)
def test_is_refused(fun, error, words):
    with pytest.raises(error, match=words):
        s2sad.grad(fun, target="python")(V)


def whole_numbers_on_a_diagonal(m):
    n = m.shape[0]
    b = m * 0.5
    b[1, 1] *= 0.5
    return np.sum(np.diag(b) * np.arange(n))


def whole_numbers_beside_a_part(x, k):
    z = x[: k.size] * 0.5
    z[0] *= 0.5
    return np.sum(z * k)


@pytest.mark.parametrize(
    ("fun", "args"),
    [(whole_numbers_on_a_diagonal, (M[:, :3],)), (whole_numbers_beside_a_part, (V, np.array([1, 2, 3])))],
)
def test_the_cotangent_of_a_product_with_integers_is_no_integer(fun, args):
    _, pull = s2sad.vjp(fun, *args, target="python")
    np.testing.assert_allclose(s2sad.grad(fun, target="python")(*args), pull(1.0)[0])


def sines_of_what_was_written(v, w):
    t = np.sin(w[0])
    v[0] *= 3.0
    w[1] += t * w[0]
    v[2] = np.sin(w[0])


def shifted_products(v, w):
    a, b = v[1:], w[:-1]
    a *= b
    a += b


def scaled_by_the_one_before(v, w):
    for _ in range(2):
        shifted_products(v, w)


def rows_given_to_a_helper(m, helper, i, j):
    a = m.copy()
    row = a[0]
    for _ in range(2):
        helper(row, a[j])
        row = a[i]
    return np.sum(a**2)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("helper", [sines_of_what_was_written, shifted_products, scaled_by_the_one_before])
def test_a_tangent_of_a_helper_that_is_given_one_row_twice(helper, target):
    m = np.sin(np.arange(12.0) * 1.3).reshape(3, 4)
    m_dot, step = np.cos(m), 1e-6
    for i, j in ((1, 1), (0, 1)):
        ahead, behind = (rows_given_to_a_helper(m + h * m_dot, helper, i, j) for h in (step, -step))
        dots = (m_dot, None, None, None)
        value, found = s2sad.jvp(rows_given_to_a_helper, (m, helper, i, j), dots, target=target)
        np.testing.assert_allclose(value, rows_given_to_a_helper(m, helper, i, j))
        np.testing.assert_allclose(found, (ahead - behind) / (2.0 * step), rtol=1e-6)


def damped(x, c):
    x *= np.tanh(c)


def written_by_a_helper_then_swapped(x):
    u, v = x.copy(), np.cos(x)
    damped(u, x[0])
    u, v = v, u
    damped(u, x[1])
    return np.sum(np.sin(u) * v)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_arrays_that_a_helper_writes_are_swapped(target):
    x = np.array([0.3, -0.7, 1.1])
    dot = np.array([1.0, 0.5, -0.2])
    moved = (written_by_a_helper_then_swapped(x + 1e-6 * dot) - written_by_a_helper_then_swapped(x - 1e-6 * dot)) / 2e-6
    found = s2sad.grad(written_by_a_helper_then_swapped, target=target)(x)
    np.testing.assert_allclose(found @ dot, moved, rtol=1e-7)


def copies_of_what_was_made_between(x):
    u = x.copy()
    v = np.ones(len(x))
    s = v.copy()
    for i in range(1, len(x)):
        u[i] = u[i] * u[i - 1]
        v[i] = v[i - 1] * u[i]
        s[i] = s[i - 1] + v[i] * u[i]
    return s[-1] + v[-1]


def copies_around_a_write(x):
    u = x.copy()
    w = np.zeros(len(x))
    w[0] = 2.0
    s = w.copy()
    for i in range(1, len(x)):
        s[i] = s[i - 1] * u[i] + s[i]
        u[i] = u[i - 1] * s[i]
    return s[-1] + u[-1]


@pytest.mark.parametrize("fun", [copies_of_what_was_made_between, copies_around_a_write])
def test_copies_stay_in_order_with_what_is_made_between_them(fun):
    x = np.array([0.3, 0.8, 1.1, 0.7])
    got = s2sad.grad(fun)(x)
    np.testing.assert_allclose(got, s2sad.grad(fun, target="python")(x), rtol=1e-13)
    for k in range(x.size):
        near = [fun(x + d * 1e-6 * np.eye(x.size)[k]) for d in (1, -1)]
        np.testing.assert_allclose(got[k], (near[0] - near[1]) / 2e-6, rtol=1e-6)


def another_length_in_a_loop(x):
    a = x[0].copy()
    for _ in range(3):
        b = np.empty(3)
        for j in range(3):
            total = 0.0
            for i in range(3):
                total += np.sin(a[i] * x[i, j])
            b[j] = total
        a = b
    return np.sum(a)


def made_in_one_branch_alone(x):
    y = x.copy()
    a = 0.5
    for i in range(3):
        if x[i] > 0.4:
            z = a * y
            a = np.sin(z @ y)
        y *= x
    return a + np.sum(y)


def read_in_a_later_branch(x):
    y = x.copy()
    a = 0.5
    for i in range(3):
        if x[i] < 0.4:
            for _ in range(2):
                y[1:] /= 1.5
        else:
            a += (a * y) @ y
            a += np.sin(a)
        y[1:-1] *= x[:-2]
    return a + np.sum(y)


def loops_with_nothing_left_in_them(x):
    a = 1.0
    for _ in range(3):
        b = x + x  # noqa: F841
    for _ in range(3):
        d = x - x
        a += d[0]
    return np.sum(x) + a * 0.0


def inserted_by_columns(x):
    kept = []
    m = x[:, :3]
    for _ in range(3):
        kept.insert(0, m.T * 2.0)
    total = 0.0
    for one in kept:
        total += np.sum(one * one[0, 0])
    return total


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    ("fun", "x"),
    [
        (another_length_in_a_loop, M), (made_in_one_branch_alone, np.abs(V[:5]) / 2.0),
        (read_in_a_later_branch, np.array([0.3, 0.5, 0.7, 0.2, 0.9])), (loops_with_nothing_left_in_them, V),
        (inserted_by_columns, M),
    ],
)  # fmt: skip
def test_gradients_and_hessians(fun, x, target):
    assert_derivatives(fun, x, target)
    want = differences(s2sad.grad(fun, target="python"), x)
    np.testing.assert_allclose(s2sad.hessian(fun, target=target)(x), want, rtol=1e-6, atol=1e-6)


def a_later_end_of_a_loop(x):
    c = x.copy()
    end = 1
    c[:end] *= x[0]
    end = 2
    c[:end] += x[:end]
    return np.sum(c * x)


def the_least_of_pairs(x):
    best = 1e9
    j = 0
    for k in range(x.size // 2):
        j += 2
        v = x[j - 2] * x[j - 1]
        if v < best:
            best = v
    return best


def the_least_by_leaps(x):
    best = 1e9
    j = 0
    for k in range(x.size):
        j = j + (1 if k % 3 > 0 else 2)
        v = (x[j % x.size] - 0.1) ** 2
        if v < best:
            best = v
    return best


def by_columns_and_flat(x):
    m = np.exp(x.reshape(2, 3).T)
    n = m.T.reshape(6)
    return (n * n).sum()


def a_tape_by_columns(x):
    m = x.reshape(2, 3).T * 1.0
    s = 0.0
    for t in range(2):
        m = np.sin(m)
        n = m.T.reshape(6)
        n[0] = n[1] * n[2]
        s += np.sum(m * m)
    return s


def a_list_by_columns(x):
    kept = []
    for k in range(2):
        m = x.reshape(2, 3).T * (1.0 + k)
        kept.append(m)
    v = kept[1].T.ravel()
    v[0] = v[1] * 3.0
    return np.sum(kept[1] ** 3)


def exchanged_lengths(u):
    v = np.zeros(2)
    for t in range(3):
        v[0] = u[0] * u[1]
        v[1] = u[1] ** 2
        u, v = v, u
    return np.sum(u**2)


def a_dead_array_as_long(x):
    n = x.size
    u = x.copy()
    v = np.ones(n) * x[0]
    v = np.tanh(x)
    for _ in u:
        v = np.tanh(0.5 * v)
    u, v = v, u
    for k in range(2):
        x = v + u[k]
    return v[0] + np.sum(x * x) + np.sum(u * u)


def the_same_axes_moved(x):
    p = x.reshape(3, 2)
    return np.sum(np.diff(np.moveaxis(p, -1, -1), axis=-1) ** 3)


def whole_rows_as_numbers(x):
    b = np.array([[k for i in range(6)] for k in range(2)], dtype=float)
    b[0] = x
    return (b * b * x).sum()


def rows_of_another_kind(x):
    rows = []
    for i in range(x.size):
        row = []
        for j in range(2):
            row.append(i * j)
        rows.append(row)
    b = np.array(rows, dtype=float)
    b[:, 0] = x
    c = np.asarray([[k, k + 1] for k in range(len(x))], float)
    c /= 3
    mask = np.array([[int(k + i) % 2 for i in range(6)] for k in range(2)], dtype=bool)
    return (b * b).sum() + (c.sum() * x).sum() + (x[mask[0]] ** 2).sum()


def joined_as_another_kind(x):
    a = np.stack([np.arange(6), np.arange(6)], dtype=float)
    a[0] = x
    b = np.concatenate([np.arange(3), np.arange(3)], dtype=float)
    b[:3] = x[:3]
    c = np.array(range(3), dtype=float)
    c[0] = x[0]
    d = np.tile([0, 1, 2], (2, 1)).astype(float)
    d[0] = x[3:]
    e = np.array([[0.0] * 3 for _ in range(len(x))])
    e[0] = x[:3]
    return (a * a).sum() + (b**3).sum() + (c**2).sum() + (d**2).sum() + (e**2).sum()


def two_loops_over_known_rows(x):
    rows = [[0.0] * 3 for _ in range(3)]
    for i in range(3):
        for j in range(i + 1):
            rows[i][j] = x[i] * x[j]
    return sum(rows[i][j] * (i + j) for i in range(3) for j in range(3))


K = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])


def filtered(image, k):
    return sum(k[i, j] * image[i : i + 1, j : j + 1] for i in range(3) for j in range(3))


def one_helper_for_two_orders(x):
    image = np.outer(x[:3], x[3:])
    return (filtered(image, K) * filtered(image, K.T)).sum()


def halves(x):
    if len(x) <= 1:
        return x
    a = halves(x[0::2])
    b = halves(x[1::2])
    return [a[k] - b[k] * 1j for k in range(len(x) // 2)]


def complex_lists_that_recurse(x):
    return abs(halves([complex(v) for v in x[:2]])[0]) ** 2


def one_row_of_places(x):
    k = int(x[0] > 0)
    return np.trapezoid(x.reshape(3, 2) ** 2, x=x.reshape(3, 2)[:k]).sum()


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    "fun",
    [
        a_later_end_of_a_loop, the_least_of_pairs, the_least_by_leaps, by_columns_and_flat, a_list_by_columns,
        exchanged_lengths, a_dead_array_as_long, the_same_axes_moved, whole_rows_as_numbers, one_row_of_places,
        rows_of_another_kind, joined_as_another_kind, two_loops_over_known_rows,
        one_helper_for_two_orders, complex_lists_that_recurse,
    ],
)  # fmt: skip
def test_gradients_tangents_and_hessians(fun, target):
    assert_derivatives(fun, V, target)
    _, dot = s2sad.jvp(fun, (V,), (np.cos(V),), target=target)
    np.testing.assert_allclose(dot, np.sum(differences(fun, V) * np.cos(V)), rtol=1e-6, atol=1e-7)
    want = differences(s2sad.grad(fun, target="python"), V)
    np.testing.assert_allclose(s2sad.hessian(fun, target=target)(V), want, rtol=1e-6, atol=1e-5)


def written_through_a_view(a):
    m = a * 2.0
    n = m.T.reshape(6)
    n[1:] += n[:-1] * m[0, 0]
    return m * 1.0


def flat_in_a_helper(x):
    m = x.reshape(2, 3).T * 1.0
    for t in range(2):
        m = written_through_a_view(m)
    return np.sum(m * m)


@pytest.mark.parametrize("fun", [a_tape_by_columns, flat_in_a_helper])
def test_what_is_a_view_because_of_the_order_in_memory_is_not_written(fun):
    for derivative in (s2sad.grad(fun), s2sad.hessian(fun)):
        with pytest.raises(s2sad.AliasError, match="may share its memory"):
            derivative(V)


def squares_by_columns(a):
    m = a * 2.0
    n = m.T
    n[1:] += n[:-1] * m[0, 0]
    return m * m


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_jacobians_of_arrays_by_columns(target):
    a = np.asfortranarray(np.arange(6.0).reshape(2, 3) + 1.0)
    want = np.zeros((2, 3, 2, 3))
    for i, j in np.ndindex(2, 3):
        unit = np.zeros_like(a)
        unit[i, j] = 1e-6
        want[:, :, i, j] = (squares_by_columns(a + unit) - squares_by_columns(a - unit)) / 2e-6
    for jacobian in (s2sad.jacfwd, s2sad.jacrev):
        got = jacobian(squares_by_columns, target=target)(a)
        np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-6)


def another_array_by_its_name(x, y):
    y = y * 1.0
    for i in range(1, x.size):
        y[i] += x[i] * y[i - 1]
    return np.sum(y * x)


def test_one_array_given_twice_that_is_not_written():
    got = s2sad.grad(another_array_by_its_name, argnums=(0, 1))(V, V)
    want = s2sad.grad(another_array_by_its_name, argnums=(0, 1))(V, V.copy())
    np.testing.assert_array_equal(got, want)
