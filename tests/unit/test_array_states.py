"""States that are arrays, advanced from step to step by new arrays: no copies, no writes that nothing reads."""

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives


def leapfrog(x):
    u, v = x.copy(), np.zeros_like(x)
    for _ in range(3):
        lap = np.zeros_like(u)
        lap[1:-1] = u[2:] - 2.0 * u[1:-1] + u[:-2]
        v = v + 0.1 * lap - 0.1 * v * np.abs(v)
        u = u + 0.2 * v
    return np.sum(u * u)


def each_from_both(x):
    a, b = x * 2.0, np.cos(x)
    for _ in range(3):
        a = a + b * b
        b = b + 0.1 * a
        a = a - 0.2 * b * a
    return np.sum(a * b)


def exchanged(x):
    a, b = x, np.sin(x)
    for _ in range(3):
        a, b = b, a + 0.5 * b
    return np.sum(a * b * b)


def two_names(x):
    a = x * 1.0
    before = a
    for k in range(3):
        before = a
        a = a + before * before * 0.1
        if k == 1:
            before = a
    return np.sum(a * before)


def kept_in_a_list(x):
    states = [x * 1.0]
    a = states[0]
    for _ in range(3):
        a = a + 0.3 * np.sin(a)
        states.append(a)
    total = 0.0
    for s in states:
        total += np.sum(s * s * s)
    return total


def written_after(x):
    a = np.exp(0.1 * x)
    total = 0.0
    for k in range(3):
        b = a + x
        a = b + a * a
        a[k] = 0.5 * b[k]
        total += a[0] * b[1]
    return total + np.sum(a)


def with_views(x):
    a = x * x
    for _ in range(2):
        head = a[:-1]
        a = a + 1.0
        a[1:] += head * 0.5
        tail = a[1:]
        tail *= 1.5
    return np.sum(a * a)


def twice_in_one_line(x):
    a = x.copy()
    for _ in range(3):
        a = a + a * 0.1 + np.sum(a) * 0.01
    return np.sum(a**3)


def nested(x):
    a, b = x.copy(), x * 0.5
    for i in range(2):
        b = b + a
        for j in range(2):
            a = a + b * (0.1 * i + 0.2)
            b = b + 0.1 * a * a * j
        work = np.zeros_like(a)
        work[:] = a * b
        a = a + 0.1 * work
        work[0] = 3.0
    return np.sum(a * b)


def advanced(a, b):
    a = a + 0.2 * b
    b = b + np.sin(a)
    return a, b


def by_a_helper(x):
    a, b = x.copy(), np.ones_like(x)
    for _ in range(3):
        a, b = advanced(a, b)
        a = a + b
    return np.sum(a * b)


PROGRAMS = [
    leapfrog, each_from_both, exchanged, two_names, kept_in_a_list, written_after, with_views, twice_in_one_line,
    nested, by_a_helper,
]  # fmt: skip
X = np.array([0.3, -0.7, 0.5, 0.9, -0.2])


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS, ids=lambda f: f.__name__)
def test_value_tangent_and_gradient(fun, target):
    assert_derivatives(fun, X, target)


@pytest.mark.parametrize("fun", [fun for fun in PROGRAMS if fun is not with_views], ids=lambda f: f.__name__)
def test_second_derivatives(fun):
    s2sad.check_grads(fun, (X,), order=2, target="python")


def test_the_text_has_neither_copies_nor_dead_writes():
    text = str(s2sad.differentiate(leapfrog, target="python").source("grad", (X,)))
    behind = text[text.index("adjoint sweep") :]
    assert "np.copy" not in behind
    assert "_new_bar" not in behind
    assert "] = 0.0" not in behind
