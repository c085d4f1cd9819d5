"""Loop variables that outlive their loops, lists that grow, and every derivative of both."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import also_on, differences

X = np.array([0.5, 0.9, 1.1])
D = np.array([1.0, -0.5, 2.0])


def two_loops_over_one_name(x):
    for k in range(3):
        if x[k] > 0.8:
            break
    y = x[k] ** 2
    for k in range(2):
        y = y * x[k]
    return y


def set_before_the_loop(x):
    k = 2
    y = x[k] ** 2
    for k in range(2):
        y = y * x[k]
    return y * k * x[k]


def left_in_every_turn(x):
    y, limits = 1.0, [0.4, 0.8, 1.0]
    for j in range(3):
        for k in range(3):
            if x[k] > limits[j]:
                break
        y = y * x[k]
    return y


def nested_over_one_name(x):
    s = 1.0
    for i in range(3):
        for i in range(2):
            s = s + x[i] * s
        s = s * x[i]
    return s


def in_the_bounds_of_its_loop(x):
    s, k = 1.0, 0
    while k < 2:
        s = s * x[k]
        for k in range(k + 1, k + 2):
            s = s * x[k]
    return s * x[k]


def no_turn_at_all(x):
    for k in range(len(x)):
        twice = x[k] * 2
    s = x[k] * twice
    for k in range(2):
        s = s * x[k]
    for k in range(0):
        s = 5.0
    return s * x[k]


def counted_by_hand(x):
    i, s = 0, 0.0
    while i < len(x):
        s += x[i] ** 2 * x[0]
        i += 1
    return s


def found_by_enumerate(x):
    for k, v in enumerate(x):
        if v > 0.8:
            break
    return v * k + x[k] ** 2


def squares(x):
    return np.array([v * v for v in x]) @ x


def a_list_that_starts_with_one(x):
    h = [x[0]]
    for _ in range(2):
        h.append(np.sin(h[-1]) * x[1])
    return h[-1] ** 2 * x[2]


def a_list_in_every_turn(x):
    s = 0.0
    for _ in range(2):
        a = []
        for k in range(2):
            a.append(x[k] * x[k])
        for v in a:
            s += v * x[2]
    return s


def work_to_do(x):
    todo, s = [0, 2, 1], 1.0
    while len(todo) > 0:
        i = todo.pop()
        s = s * x[i] + 0.5
        if i == 2:
            todo.append(1)
    return s


def another_name_for_the_list(x):
    a = []
    for v in x:
        a.append(v)
    b = a
    b.append(x[0])
    return sum(a) * len(a) * x[1]


def indices_of_a_list(x):
    idx, s = [], 1.0
    for i in range(3):
        idx.append(i)
        s = s * x[idx[-1]]
    return s


def indices_that_are_popped(x):
    idx, s = [0, 1, 2, 1], 1.0
    for i in range(3):
        s = s * x[idx[-1]] * s
        idx.pop()
    return s * x[idx[0]]


def weights_that_grow(x):
    w = [1.5]
    s = 1.0
    for i in range(3):
        s = s * x[i] * w[-1] * s
        w.append(w[-1] * 2)
    return s * w[0]


def weights_to_do(x):
    st = [1.5, 2.5]
    s = 1.0
    while len(st) > 0:
        c = st.pop()
        s = s * x[0] * c * s
        if c > 2:
            st.append(0.5)
            st.append(0.7)
    return s


def weights_that_are_written(x):
    w = [1.5, 2.0, 3.0]
    s = 1.0
    for i in range(3):
        s = s * x[i] * w[i] * s
        w[i] = 0.0
        w[i - 1] = i * 1.0
    return s * w[0]


def branches_to_follow(x):
    st = [x[0], x[1] * 2]
    s = 1.0
    while len(st) > 0:
        c = st.pop()
        s = s * x[2] * c + c
        if c > 1.2:
            st.append(c * 0.5)
            st.append(c * 0.7)
    return s


def last_of_a_list(x):
    st = [x[0], x[1] * 2]
    s = 1.0
    for i in range(4):
        st.append(st[-1] * st[-2])
        if i % 2:
            st.pop()
        s += st[-1] * s
    return s * st[0]


def counted_in_a_branch(x):
    k = 0
    fl = [1, 0, 1]
    y = x[k]
    for i in range(3):
        if fl[i]:
            k += 1
    return y * y * x[k]


def pushed_and_popped(x):
    st = [x[0], x[1]]
    s = 1.0
    for i in range(3):
        st.append(x[i] * s)
        if i == 1:
            st.pop()
        c = st.pop()
        s = s * c + st[0]
    return s


def an_array_of_few_numbers(x):
    p = np.eye(2)
    for k in range(3):
        gain = np.array([[x[0], x[1] + k]]) @ p
        p = p - 0.1 * np.outer(gain, x[1:])
    return np.sum(p**2) + np.sum(gain**2)


def a_padded_length(x):
    n = 1 << (len(x) - 1).bit_length()
    y = np.zeros(n)
    y[: len(x)] = x
    return np.sum(y**2) * n


PROGRAMS = [
    an_array_of_few_numbers, a_padded_length,
    two_loops_over_one_name, set_before_the_loop, left_in_every_turn, nested_over_one_name, in_the_bounds_of_its_loop,
    no_turn_at_all, counted_by_hand, found_by_enumerate, squares, a_list_that_starts_with_one, a_list_in_every_turn,
    work_to_do, another_name_for_the_list, indices_of_a_list, indices_that_are_popped, weights_that_grow,
    weights_to_do, weights_that_are_written, branches_to_follow, last_of_a_list, counted_in_a_branch,
    pushed_and_popped,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_first_and_second_derivatives(fun, target):
    bar = differences(fun, X)
    curvature = differences(s2sad.grad(fun, target="python"), X)
    np.testing.assert_allclose(s2sad.grad(fun, target=target)(X), bar, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(s2sad.hessian(fun, target=also_on(target, fun, 2))(X), curvature, rtol=1e-6, atol=1e-7)
    again = also_on(target, fun)
    twice = s2sad.jacrev(s2sad.grad(fun, target=again), target=again)
    if fun is a_list_in_every_turn:  # its reverse sweep keeps a list of lists
        with pytest.raises(s2sad.NotDifferentiableError, match="a list of lists has no derivative"):
            twice(X)
        return
    np.testing.assert_allclose(twice(X), curvature, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("fun", PROGRAMS)
def test_the_other_transforms(fun):
    bar = differences(fun, X)
    np.testing.assert_allclose(s2sad.jacfwd(fun, target="python")(X), bar, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(s2sad.jacrev(fun, target="python")(X), bar, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(s2sad.linearize(fun, X, target="python")[1](D), bar @ D, rtol=1e-6, atol=1e-7)
    curvature = differences(s2sad.grad(fun, target="python"), X)
    np.testing.assert_allclose(s2sad.hvp(fun, (X,), (D,), target="python"), curvature @ D, rtol=1e-6, atol=1e-7)
