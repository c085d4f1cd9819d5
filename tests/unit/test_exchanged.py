"""Arrays that change places: items of lists, tuples and dicts, attributes, rows of a buffer that a loop makes."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad

BOTH = pytest.mark.parametrize("target", ["python", "cpu"])
X = np.linspace(0.5, 1.3, 5)


def items(x, k):
    levels = [x.copy(), x * x]
    for _ in range(k):
        levels[1][1:] = levels[0][:-1] * levels[1][1:]
        levels[0], levels[1] = levels[1], levels[0]
    return np.sum(levels[0] * levels[1] ** 2)


def three(x, k):
    a = [x.copy(), x * 2, x * x]
    for _ in range(k):
        a[2][1:] = a[0][:-1] * a[1][1:]
        a[0], a[1], a[-1] = a[1], a[-1], a[0]
    return np.sum(a[0] * a[1] * a[2])


def display(x, k):
    levels = [x.copy(), x * x]
    for _ in range(k):
        levels[1][1:] = levels[0][:-1] * levels[1][1:]
        levels = [levels[1], levels[0]]
    return np.sum(levels[0] * levels[1] ** 2)


def sliced(x, k):
    a = [x.copy(), x * x, x * 3]
    for _ in range(k):
        a[1][1:] = a[0][:-1] * a[2][1:]
        a = a[1:] + a[:1]
    return np.sum(a[0] * a[1] ** 2)


def pair(x, k):
    levels = (x.copy(), x * x)
    for _ in range(k):
        levels[1][1:] = levels[0][:-1] * levels[1][1:]
        levels = (levels[1], levels[0])
    return np.sum(levels[0] * levels[1] ** 2)


def table(x, k):
    held = {"a": x.copy(), "b": x * 2}
    for _ in range(k):
        held["b"][1:] = held["a"][:-1] * held["b"][1:]
        held["a"], held["b"] = held["b"], held["a"]
    return np.sum(held["a"] * held["b"] ** 2)


def table_anew(x, k):
    held = {"a": x.copy(), "b": x * x}
    for _ in range(k):
        held["a"][1:] = held["b"][:-1] * held["a"][1:]
        held = {"a": held["b"], "b": held["a"]}
    return np.sum(held["a"] * held["b"] ** 2)


def sometimes(x, k):
    levels = [x.copy(), x * x]
    for t in range(k):
        levels[1][1:] = levels[0][:-1] * levels[1][1:]
        if t % 2:
            levels = [levels[1], levels[0]]
    return np.sum(levels[0] * levels[1] ** 2)


class Field:
    """Two time levels."""

    def __init__(self, u):
        self.u = u
        self.v = u * u

    def step(self):
        for i in range(1, self.u.size):
            self.v[i] = self.u[i] * self.u[i - 1]
        self.u, self.v = self.v, self.u


def attributes(x, k):
    field = Field(x.copy())
    for _ in range(k):
        field.step()
    return np.sum(field.u * field.v)


def with_a_dead_name(x, k):
    """`u` is read by nothing that follows, but its square is in the adjoint."""
    u = x.copy()
    f, g = u, u * u
    w = u * g
    for _ in range(k):
        g[0] = f[0] * f[1] + w[0]
        f, g = g, f
    return np.sum(f * g)


def rows_made_in_a_loop(x, k):
    total = 0.0
    for _ in range(k):
        buffer = np.zeros((2, x.size))
        buffer[0] = x
        f, g = buffer[0], buffer[1]
        for _ in range(k):
            for i in range(1, x.size):
                g[i] = 0.5 * f[i - 1] * f[i]
            f, g = g, f
        total += np.sum(f)
    return total


PROGRAMS = [items, three, display, sliced, pair, table, table_anew, sometimes, attributes, with_a_dead_name,
            rows_made_in_a_loop]  # fmt: skip


@BOTH
@pytest.mark.parametrize("program", PROGRAMS)
def test_exchanges(program, target):
    gradient = s2sad.grad(program, target=target)
    for k in (0, 1, 2, 3, 6):
        steps = 1e-6 * np.eye(5)
        expected = np.array([(program(X + e, k) - program(X - e, k)) / 2e-6 for e in steps])
        np.testing.assert_allclose(gradient(X.copy(), k), expected, rtol=1e-6, atol=1e-8)
        _, along = s2sad.jvp(lambda x, k=k: program(x, k), (X.copy(),), (np.ones(5),), target="python")
        np.testing.assert_allclose(along, expected.sum(), rtol=1e-6)


def test_no_copies_are_made():
    """What changes its place does so by name."""
    made = s2sad.differentiate(items, target="python").source("primal", types=(X, 3))
    assert "levels_0, levels_1 = levels_1, levels_0" in made
    assert made.count("np.copy") == 1


def test_an_array_that_another_name_reads_later_is_refused():
    def shared(x, k):
        u = x.copy()
        levels = [u, u * u]
        for _ in range(k):
            levels[1][1:] = levels[0][:-1]
            levels[0], levels[1] = levels[1], levels[0]
        return np.sum(levels[0] * u)

    def another_list(x, k):
        levels = [x.copy(), x * x]
        old = levels
        for _ in range(k):
            levels[1][1:] = levels[0][:-1]
            levels = [levels[1], levels[0]]
        return np.sum(levels[0]) + old[0][1]

    for program in (shared, another_list):
        with pytest.raises(s2sad.AliasError):
            s2sad.grad(program, target="python")(X, 2)


def lists_in_turn(x):
    a, b, c = [], [], []
    for k in range(3):
        y = x * k
        for items, v in zip([a, b, c], [y, y * x, a[-1] if a else x]):
            items.append(v)
    return a[1] * b[2] + c[2] * x


def lists_of_a_display(x):
    a, b = [], []
    for items in (a, b):
        items.append(x)
        items.append(x * len(items))
    return a[1] * b[0] * len(b)


@BOTH
@pytest.mark.parametrize("program", [lists_in_turn, lists_of_a_display])
def test_loops_over_lists_that_grow(program, target):
    value, slope = s2sad.value_and_grad(program, target=target)(1.5)
    assert value == pytest.approx(program(1.5))
    assert slope == pytest.approx((program(1.5 + 1e-6) - program(1.5 - 1e-6)) / 2e-6)


def kept(rows, least):
    found = []
    for k in range(len(rows)):
        if rows[k][0] < least:
            found.append(rows[k])
    return found


def polygon(points):
    rows = [p for p in points]
    rows = kept(rows, 10.0)
    rows = kept(rows, 5.0)
    return sum(p[0] * p[1] for p in rows)


def written_after(points):
    rows = [p.copy() for p in points]
    found = kept(rows, 10.0)
    found[0][1] *= 3.0
    return sum(p[0] * p[1] for p in found)


@BOTH
@pytest.mark.parametrize("program", [polygon, written_after])
def test_a_helper_that_keeps_some_of_the_rows(program, target):
    points = np.arange(8.0).reshape(4, 2) + 0.5
    expected = np.zeros_like(points)
    for place in np.ndindex(points.shape):
        step = np.zeros_like(points)
        step[place] = 1e-6
        expected[place] = (program(points + step) - program(points - step)) / 2e-6
    np.testing.assert_allclose(s2sad.grad(program, target=target)(points.copy()), expected, rtol=1e-6, atol=1e-8)


def scaled_then_moved(a, q):
    a[0] *= q
    b = a * 1.0
    if q > 0.1:
        a = a + q
    return np.sum(a * a) + b[1]


def written_then_bound_anew(x):
    u = x.copy()
    s = scaled_then_moved(u, x[0]) + u[0]
    u[1] *= 3.0
    return s + scaled_then_moved(u, x[1]) * u[1]


@BOTH
def test_a_parameter_that_is_written_and_then_bound_anew(target):
    steps = 1e-6 * np.eye(5)
    program = written_then_bound_anew
    expected = [(program(X + e) - program(X - e)) / 2e-6 for e in steps]
    np.testing.assert_allclose(s2sad.grad(program, target=target)(X.copy()), expected, rtol=1e-6)
