"""Operands are read from left to right, fields of a record together, and iterators once."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, 0.4, 2.1])
State = namedtuple("State", "t y")


def tripled(a, i):
    a[i] *= 3
    return a[i]


def stepped(u, dt):
    u += dt * np.sin(u)
    return np.sum(u)


def added(items, v):
    items.append(v)
    return v


def an_element_then_a_write(x):
    a = x.copy()
    return a[0] + tripled(a, 0) - (a[1] < tripled(a, 1)) * a[1]


def a_display_around_a_write(x):
    a = x.copy()
    parts = [a[1], tripled(a, 1), a[1]]
    return parts[0] * parts[1] * parts[2] + max(a[0], tripled(a, 0))


def a_sum_then_a_step(x):
    u = x.copy()
    return np.sum(u) + stepped(u, 0.1) + u @ u - stepped(u, 0.1) * u[0]


def arguments_in_order(x):
    def weighted(a, b):
        return a + 2 * b

    u = x.copy()
    return weighted(u[0], b=stepped(u, 0.1))


def an_item_then_an_append(x):
    items = [x[0]]
    return items[-1] + added(items, x[1]) * len(items)


def an_item_then_a_pop(x):
    items = list(x)
    return items[-1] * items.pop() + items[-1]


def a_name_bound_on_the_way(x):
    s = x[0]
    total = s + (s := x[1] * 2) * s
    for v in x:
        if s < (s := s + v):
            total += s
    return total


def the_array_itself_is_seen(x):
    u = x.copy()
    return np.sum(u * stepped(u, 0.1))


def records_from_the_last(x):
    history = [(x[0], x[1])]
    for _ in range(3):
        history.append((history[-1][0] + 0.1, history[-1][1] * history[-1][0]))
    return sum(t * y for t, y in history)


def named_records_from_the_last(x):
    history = [State(x[0], x[1])]
    while len(history) < 4:
        history.append(State(history[-1].t + 0.1, history[-1].y * history[-1].t))
    return sum(s.t * s.y for s in history)


def the_length_in_a_record(x):
    history = [(0.0, x[0])]
    for v in x:
        history.append((v, len(history) * 1.0))
    return sum(a * b for a, b in history)


def fields_that_change_places(x):
    history = [(x[0], x[1])]
    for v in x:
        history.append((v, 1.0))
        history[-1] = (history[-1][1], history[-1][0])
    return sum((i + 1) * a * b * b for i, (a, b) in enumerate(history))


def a_record_from_the_one_popped(x):
    history = [(x[0], x[1])]
    for _ in range(3):
        history.append((history[0][1], history.pop()[0]))
    return sum(a * b * b for a, b in history)


def names_in_a_display_of_targets(x):
    (p, q), r = (x[0], x[1]), x[2]
    (p, q), r = (r, p), p
    return p * q + r * r * q


def elements_in_a_display_of_targets(x):
    a = x.copy()
    (a[0], a[1]), t = (a[1], a[0]), a[0]
    return a[0] * a[1] * t + a[0]


def displays_that_turn(x):
    p, (q, r) = x[0], (x[1], x[2])
    for i in range(3):
        p, (q, r) = q, (r * x[i], p)
    return p * q**2 * r**3


def a_star_in_a_display(x):
    p, [q, r] = x[0], [x[1], x[2]]
    p, [q, *r] = q, [p, q, p]
    return p * q**2 * r[0] ** 3 * r[1]


def an_array_unpacked_behind_a_write(x):
    a = x.copy()
    a[0], (p, q, _, _), a[1] = x[3] * 2, a, a[0]
    return p * p * q + a[1] * a[0] * x[2]


PROGRAMS = [
    names_in_a_display_of_targets, elements_in_a_display_of_targets, displays_that_turn, a_star_in_a_display,
    an_array_unpacked_behind_a_write,
    an_element_then_a_write, a_display_around_a_write, a_sum_then_a_step, arguments_in_order, an_item_then_an_append,
    an_item_then_a_pop, a_name_bound_on_the_way, the_array_itself_is_seen, records_from_the_last,
    named_records_from_the_last, the_length_in_a_record, fields_that_change_places, a_record_from_the_one_popped,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)


def test_what_it_adds_to_is_changed_by_the_right_side():
    def doubled_twice(x):
        a = x.copy()
        a[0] += tripled(a, 0)
        return a[0]

    assert_derivatives(doubled_twice, X, "python")


def test_the_place_that_it_adds_to_is_changed_by_the_right_side():
    def moved(x):
        a, k = x.copy(), 0
        a[k : k + 2] += (k := 2) * x[3]
        return a @ a * k

    with pytest.raises(s2sad.UnsupportedSyntaxError, match="the right side changes the place of what it is added to"):
        s2sad.grad(moved)(X)


def used_twice(x):
    squares = (v * v for v in x)
    return sum(squares) + 10 * sum(squares)


def resumed(x):
    pairs = enumerate(x)
    s = 0.0
    for i, v in pairs:
        s += i * v
        if i > 1:
            break
    for _, v in pairs:
        s += v * v
    return s


def read_late(x):
    c = x[0]
    scaled = (c * v for v in x)
    c = x[3]
    return sum(scaled) + c


@pytest.mark.parametrize(
    ("fun", "why"), [(used_twice, "used up"), (resumed, "used up"), (read_late, "bound again before it is used")]
)
def test_iterators_are_used_once(fun, why):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match=why):
        s2sad.grad(fun)(X)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_truth_or_a_number_is_a_number(target):
    def either(x, y):
        return (x > 100 or y) * x

    def both(x, y):
        scale = x > 0 and y
        return scale * x

    for x, value, slopes in ((0.8, 1.04, (1.3, 0.8)), (101.0, 101.0, (1.0, 0.0))):
        found = s2sad.value_and_grad(either, argnums=(0, 1), target=target)(x, 1.3)
        np.testing.assert_allclose((found[0], *found[1]), (value, *slopes))
    for x, value, slopes in ((0.8, 1.04, (1.3, 0.8)), (-0.8, 0.0, (0.0, 0.0))):
        found = s2sad.value_and_grad(both, argnums=(0, 1), target=target)(x, 1.3)
        np.testing.assert_allclose((found[0], *found[1]), (value, *slopes))
