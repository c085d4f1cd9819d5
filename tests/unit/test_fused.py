"""A loop of independent turns and that of its adjoint are one: where they are, where they must not be, same numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from s2sad.transform import tidy
from tests.differences import also_on, assert_derivatives

X = np.array([0.3, 1.2, 0.7, 2.1, 0.9])


def logistic(x):
    total = 0.0
    for i in range(x.size - 1):
        z = 0.0
        for j in range(2):
            z += x[i + j] * (1.0 + j)
        p = 1.0 / (1.0 + math.exp(-z))
        total += (p - 0.5) ** 2
    return total


def work_array(x):
    total = 0.0
    e = np.empty(3)
    for i in range(x.size):
        for j in range(3):
            e[j] = math.exp(x[i] * (j + 1))
        norm = 0.0
        for j in range(3):
            norm += e[j] * e[j]
        total += e[1] / norm
    return total


def work_matrix(x):
    total = 0.0
    m = x.size
    e = np.empty((m, 2))
    largest = np.empty(m)
    for i in range(x.size):
        for j in range(m):
            for k in range(2):
                e[j, k] = math.sin(x[i] * x[j] + k)
        for j in range(m):
            largest[j] = e[j, 0] * e[j, 1]
        total += np.max(largest) + np.sum(e * e)
    return total


def filled_in_the_inner_turn(x):
    total = 0.0
    e = np.empty(2)
    for i in range(x.size):
        best = 0.0
        for k in range(3):
            for j in range(2):
                e[j] = math.tanh(x[i] * k + j)
            best += e[0] * e[1] * x[k]
        total += best * best
    return total


def paths(x):
    total = 0.0
    for p in range(4):
        s = x[0]
        for t in range(x.size):
            s = s + 0.1 * s * x[t] * math.sin(p + t)
        total += max(s - 0.2, 0.0) ** 2
    return total / 4.0


def sign_that_alternates(x):
    total = 0.0
    sign = 1.0
    for i in range(x.size):
        z = math.sin(x[i]) * sign
        total += z * z * z
        sign = -sign
    return total


def own_part_of_an_array(x):
    n = x.size
    h = np.empty((n, 2))
    total = 0.0
    for i in range(n):
        for j in range(2):
            h[i, j] = math.exp(x[i] * j)
        t = h[i, 0] + h[i, 1] * x[i]
        total += t * t
    return total


FUSED = [
    logistic, work_array, work_matrix, filled_in_the_inner_turn, paths, sign_that_alternates, own_part_of_an_array,
]  # fmt: skip


def logarithm_of_the_sum(x):
    total = 0.0
    for i in range(x.size):
        z = math.sin(x[i]) * x[i]
        total += z * z
    return math.log(total)


def carried(x):
    total = s = 0.0
    for i in range(x.size):
        s = 0.5 * s + x[i] * x[i]
        total += s * s
    return total


def reads_the_running_sum(x):
    total = 0.1
    for i in range(x.size):
        z = math.sin(x[i])
        total += z * z * total
    return total


def reads_what_the_turn_before_wrote(x):
    y = np.zeros(x.size + 1)
    total = 0.0
    for i in range(x.size):
        z = y[i] * y[i] + x[i]
        y[i + 1] = math.sin(z) * z
        total += y[i + 1] * z
    return total


def filled_on_some_paths(x):
    e = np.zeros(2)
    total = 0.0
    for i in range(x.size):
        if x[i] > 0.8:
            for j in range(2):
                e[j] = math.exp(x[i] * (j + 1))
        z = e[0] + e[1] * e[1]
        total += z * z * x[i]
    return total


def filled_in_part(x):
    e = np.ones(3)
    total = 0.0
    for i in range(x.size):
        for j in range(2):
            e[j] = math.exp(x[i] * (j + 1)) * e[j + 1]
        total += e[0] * e[1] * e[2]
    return total


def read_before_it_is_filled(x):
    e = np.ones(2)
    total = 0.0
    for i in range(x.size):
        z = e[0] * e[1]
        for j in range(2):
            e[j] = math.sin(x[i] * (j + 1))
        total += z * e[0] * e[1]
    return total


def filled_from_what_it_held(x):
    e = np.ones(2)
    total = 0.0
    for i in range(x.size):
        for j in range(2):
            e[j] = math.sin(x[i] * (j + 1)) * e[0]
        total += e[0] * e[1] * e[1]
    return total


def used_after_the_loop(x):
    e = np.empty(2)
    total = 0.0
    for i in range(x.size):
        for j in range(2):
            e[j] = math.sin(x[i] * (j + 1))
        total += e[0] * e[1] * e[1]
    return total * e[0] + e[1]


def left_early(x):
    total = 0.0
    for i in range(x.size):
        z = math.sin(x[i]) * x[i]
        if z > 1.5:
            break
        total += z * z
    return total


def changes_what_the_range_is_made_of(x):
    n = x.size
    total = 0.0
    for i in range(n):
        z = math.sin(x[i]) * x[i]
        total += z * z
        n = 3
    return total * n


def name_used_again(x):
    total = 0.0
    z = 0.0
    for i in range(x.size):
        z = math.sin(x[i]) * x[i]
        total += z * z
    return total + z * z * z


def scatters(x):
    total = np.zeros(3)
    for i in range(x.size):
        z = math.sin(x[i]) * x[i]
        total[i % 3] += z * z
    return total[0] * total[1] + total[2]


def two_loops_over_one_array(x):
    y = np.empty(x.size)
    for i in range(x.size):
        z = math.exp(x[i])
        y[i] = z * z
    total = 0.0
    for i in range(x.size):
        total += y[i] * y[x.size - 1 - i]
    return total


def state_of_each(x):
    n = x.size
    h = np.empty((n, 2))
    for i in range(n):
        h[i, 0] = 0.5
        h[i, 1] = x[i]
    total = 0.0
    for t in range(3):
        for i in range(n):
            z = math.sin(h[i, 0] * x[i] + t)
            total += h[i, 1] * z
            h[i, 1] = z * z
            h[i, 0] = 0.5 * h[i, 0] + 0.1 * x[i]
    return total


def counted_from_the_end(x):
    y = np.ones((4, 2))
    total = 0.0
    for i in range(7):
        z = y[i - 4, 0] * x[i % 5]
        y[i - 4, 0] = math.sin(z) * x[0]
        y[i - 4, 1] = z * z
        total += y[i - 4, 1] * y[i - 4, 0] * z
    return total


def last_turn_lives_on(x):
    total = z = 0.0
    for i in range(x.size):
        z = math.sin(x[i]) * x[i]
        y = z * z
        total += y * y
    for i in range(2):
        total += z * x[i] * x[i]
    return total


def sums_that_start_in_the_turn(x):
    h = np.zeros((x.size, 2))
    total = 0.0
    for i in range(x.size):
        for j in range(3):
            h[i, j % 2] += math.sin(x[i] * j)
        z = h[i, 0] * h[i, 1]
        total += z * z
    return total


def state_that_carries_no_derivative(x):
    h = np.empty((5, 2))
    for i in range(5):
        h[i, 0] = 0.1 * i
        h[i, 1] = 0.5
    total = 0.0
    for t in range(3):
        for i in range(x.size):
            h[i, 0] = 0.7 * h[i, 0] + h[i, 1]
            z = 0.0
            for j in range(2):
                z += math.sin(x[i] * h[i, j] + t)
            total += z * z * z
    return total


def takes_from_a_list_of_as_many(x):
    items = []
    for k in range(3):
        items.append(x[k])
    total = 0.0
    for i in range(len(items)):
        s = 0.0
        for j in range(3):
            s = math.sin(s + x[i] * j)
        total += s * s
    last = items.pop()
    total += items[0] * items[1]
    return total + last * x[3]


def kept_by_the_loop_between(x):
    total = 0.0
    for t in range(x.size):
        s = x[t]
        for _ in range(2):
            s = math.sin(s) * x[t]
        total += s * s
    for i in range(x.size - 1):
        g = np.ones(x.size)
        g[:] = np.cos(x[i] * x)
        total += g[0] / (1.1 + g[1] ** 2)
    return total


def added_to_what_was_there(x):
    h = np.sin(x)
    total = 0.0
    for i in range(x.size):
        h[i] += x[i] * x[i]
    for i in range(x.size):
        total += h[i] * h[i] * x[i]
    return total


def scaled_in_place(x):
    total = 0.0
    for i in range(x.size):
        h = np.sin(x * x[i])
        for j in range(x.size):
            h[j] = h[j] * x[i]
        for j in range(x.size - 1, -1, -1):
            total += h[j] * h[j] * x[j]
    return total


def filled_in_the_first_run(x):
    h = np.empty((x.size, 2))
    total = 0.0
    for t in range(2):
        for i in range(x.size):
            if t == 0:
                for j in range(2):
                    h[i, j] = math.sin(x[i] * (j + 1))
        for i in range(x.size):
            total += h[i, 0] * h[i, 1] * x[i] * (t + 1)
    return total


OTHERS = [
    added_to_what_was_there, scaled_in_place, filled_in_the_first_run, takes_from_a_list_of_as_many,
    kept_by_the_loop_between,
    state_of_each, state_that_carries_no_derivative, counted_from_the_end, last_turn_lives_on,
    sums_that_start_in_the_turn,
    logarithm_of_the_sum, carried, reads_the_running_sum, reads_what_the_turn_before_wrote, filled_on_some_paths,
    filled_in_part, read_before_it_is_filled, filled_from_what_it_held, used_after_the_loop, left_early,
    changes_what_the_range_is_made_of, name_used_again, scatters, two_loops_over_one_array,
]  # fmt: skip


def text(fun):
    gradient = s2sad.grad(fun, target="python")
    gradient(X)
    return gradient.store.known()[0][1].entry.derivative.text


@pytest.mark.parametrize("fun", FUSED)
def test_nothing_is_kept_from_turn_to_turn(fun):
    made = text(fun)
    outer = [line for line in made.splitlines() if line.startswith("    for ")]
    assert len(outer) == 1, made
    assert "_tape = np.empty((x.size" not in made, made


@pytest.mark.parametrize("fun", [logarithm_of_the_sum, carried, left_early])
def test_what_hangs_together_stays_apart(fun):
    assert text(fun).count("\n    for ") == 2


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", FUSED + OTHERS)
def test_derivatives(fun, target):
    assert_derivatives(fun, X, also_on(target, fun))


@pytest.mark.parametrize("fun", FUSED + OTHERS)
def test_same_numbers_as_apart(fun, monkeypatch):
    one = s2sad.grad(fun, target="python")(X)
    monkeypatch.setattr(tidy, "DISABLED", {"fused"})
    copy = s2sad.grad(lambda x: fun(x), target="python")
    np.testing.assert_allclose(one, copy(X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("fun", FUSED)
def test_values_come_with_it(fun):
    value, gradient = s2sad.value_and_grad(fun, target="python")(X)
    np.testing.assert_allclose(value, fun(X), rtol=1e-14)
    out, pullback = s2sad.vjp(fun, X, target="python")
    np.testing.assert_allclose(out, value, rtol=1e-14)
    np.testing.assert_allclose(pullback(1.0)[0], gradient, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("fun", FUSED)
def test_no_turns_at_all(fun):
    short = X[:0] if fun not in (filled_in_the_inner_turn, paths) else X[:3]
    assert s2sad.grad(fun, target="python")(short).shape == short.shape


@pytest.mark.parametrize("fun", [work_array, logistic, paths, filled_in_the_inner_turn])
def test_again(fun):
    forward = s2sad.jacfwd(s2sad.grad(fun), target="python")(X)
    np.testing.assert_allclose(s2sad.jacrev(s2sad.grad(fun), target="python")(X), forward, rtol=1e-9, atol=1e-11)


def test_value_and_gradient_compute_functions_once():
    gradient = s2sad.value_and_grad(logistic, target="python")
    gradient(X)
    made = gradient.store.known()[0][1].entry.derivative.text
    code = [line.partition("#")[0] for line in made.splitlines()]
    assert sum("exp(-z)" in line for line in code) == 1, made


def draws_in_the_loop_and_after(x):
    total = 0.0
    for i in range(x.size):
        z = np.random.normal()
        s = 0.0
        for j in range(3):
            s = math.sin(s + x[i] * z * j)
        total += s * s
    return total + np.random.normal() * x[0]


def test_random_numbers_are_drawn_in_their_order():
    np.random.seed(3)
    want = draws_in_the_loop_and_after(X)
    np.random.seed(3)
    value, gradient = s2sad.value_and_grad(draws_in_the_loop_and_after, target="python")(X)
    np.testing.assert_allclose(value, want, rtol=1e-14)
    np.random.seed(3)
    np.testing.assert_allclose(s2sad.jacfwd(draws_in_the_loop_and_after, target="python")(X), gradient, rtol=1e-12)


def shown(c, times):
    print(c)
    return c if times == 0 else shown(math.sin(c), times - 1)


def speaks_in_the_loop_and_after(x):
    total = 0.0
    for i in range(x.size):
        z = shown(x[i], 2)
        total += z * z
    return total + shown(10.0, 1) * x[0]


def test_lines_are_printed_in_their_order(capsys):
    want = speaks_in_the_loop_and_after(X)
    printed = capsys.readouterr().out
    assert s2sad.value_and_grad(speaks_in_the_loop_and_after, target="python")(X)[0] == want
    assert capsys.readouterr().out == printed


def left_between(x):
    """The second loop is not reached in the last turn: the first may not wait for it."""
    m, u, at = np.zeros(x.size), x.copy(), 0
    for _ in range(9):
        for i in range(x.size):
            m[i] = math.cos(u[i] + at)
        at += 1
        if at > 3:
            break
        for i in range(x.size):
            u[i] = 0.5 * u[i] + 0.2 * m[i] * m[i]
    return np.sum(m * u)


def gone_on_between(x):
    m, u, total = np.zeros(x.size), x.copy(), 0.0
    for at in range(4):
        for i in range(x.size):
            m[i] = math.cos(u[i] + at)
        if at % 2 == 1:
            continue
        for i in range(x.size):
            u[i] = 0.5 * u[i] + 0.2 * m[i] * m[i]
        total += m[0]
    return np.sum(m * u) + total


@pytest.mark.parametrize("fun", [left_between, gone_on_between])
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_loop_does_not_move_past_a_way_out(fun, target):
    x, x_dot = np.array([0.4, 0.9, 0.2]), np.array([0.3, -0.5, 0.8])
    out, out_dot = s2sad.jvp(fun, (x,), (x_dot,), target=target)
    ahead, behind = fun(x + 1e-6 * x_dot), fun(x - 1e-6 * x_dot)
    np.testing.assert_allclose(out, fun(x), rtol=1e-13)
    np.testing.assert_allclose(out_dot, (ahead - behind) / 2e-6, rtol=1e-7)
    value, bar = s2sad.value_and_grad(fun, target=target)(x)
    np.testing.assert_allclose(value, fun(x), rtol=1e-13)
    np.testing.assert_allclose(bar @ x_dot, out_dot, rtol=1e-12)
