"""What an expression does besides giving its value is done once, in its turn, and only if it is reached."""

from __future__ import annotations

import numpy as np
import pytest

from tests.differences import assert_derivatives

X = np.array([1.3, 0.6, 2.7, 0.4])


def bumped(y, k):
    y[0] += 1.5 + 0.1 * k
    return y[0] * 1.0


def shifted(y):
    y[0] += 1.5
    return y * 2


def place(y, k):
    y[0] *= 1.7
    return k


def exceeds(y, v, limit):
    y[0] += v
    return y[0] > limit


def negated(x):
    y = x.copy()
    s = 1.0 if not exceeds(y, x[1], 100.0) else 2.0
    while not exceeds(y, x[2], 9.0):
        s *= y[0]
    return s * y[0]


def one_or_the_other(x):
    y = x.copy()
    s = (bumped(y, 1) or bumped(y, 2)) * (bumped(y, 3) and bumped(y, 4))
    t = exceeds(y, x[1], 100.0) or exceeds(y, x[2], 1.0)
    return s * y[0] * t


def known_but_done(x):
    y = x.copy()

    def always(v):
        y[1] += v
        return True

    if always(x[2]) and x[0] > 0:
        y[1] *= 2
    z = x[0] > 100 or always(x[3])
    return y[1] * z


def until_one_does(x):
    y = x.copy()
    found = any(exceeds(y, v, 3.0) for v in x)
    every = all(exceeds(y, v, 1e3) for v in (x[0], x[1], x[2]))
    return y[0] * (found + 2 * every)


def items_that_write(x):
    y = x.copy()
    items = [bumped(y, k) for k in range(3)]
    pairs = [(y[0], bumped(y, k)) for k in (1, 2)]
    kept = [u for u in shifted(y) if u > 0]
    named = {"a": bumped(y, 1), "b": bumped(y, 2)}
    return items[0] + 10 * items[1] + 100 * pairs[0][0] + 7 * pairs[1][1] + kept[0] * named["a"] + y[0]


def conditions_in_turn(x):
    y = x.copy()
    kept = [v for v in x if v > 0.5 if exceeds(y, v, 2.0)]
    return sum(kept) * y[0]


def places_before_values(x):
    y = x.copy()
    y[: place(y, 2)] += shifted(y)[:2]
    y[1 : place(y, 3)] *= y[0]
    return y.sum() + 10 * y[0]


def several_places_at_once(x):
    y = x.copy()
    y[[0, 1, 0]] += x[1:]
    y[[2, 3]] *= 2.0
    y[[0, 1, 0]] -= x[0]
    return (y * np.arange(1, 5)).sum()


def names_bound_by_items(x):
    total = 0.0
    sums = [total := total + v for v in x]
    three = [total := total * v for v in (x[0], x[1], x[2])]
    k = 0
    picked = [x[k := k + 1] * k for _ in range(3)]
    return sums[1] * three[0] + total * picked[0] * picked[2] * k


def the_last_that_was_tried(x):
    found = any((last := v) > 2 for v in x)
    squares = sum([(w := v * v) * w for v in x if (t := v - 0.5) > 0])
    table = np.array([(a := v) * 2 for v in x])
    return found * last + squares * w + t + table.sum() * a


def bound_by_items_in_a_loop(x):
    n, w, s = 0, 0.0, 1.0
    while (n := n + 1) < 3:
        s += sum([(w := v * 0.7) for v in (x[0], x[1], s)])
        w *= s
        y = x * w
        s += any(exceeds(y, v, 2.0) for v in x) * y[0]
    return w * s


def several_targets(x):
    y = x.copy()
    y[0] = z = y[0] * 2
    y[1] = y[2] = y[1] * y[0]
    y[1:3] = w = y[:2] * 2
    i = 0
    y[i] = i = 3
    y[i], y[1] = pair = y[1], y[3] * z
    return (y * np.arange(1, 5)).sum() + z * w[0] * w[1] + pair[0] * 10 + pair[1]


def items_of_a_display(x):
    y = x.copy()
    s = 0.0
    for v in (y[0], y[1], y[2]):
        y[1] = 5 * v
        s += v * y[1]
    for i, v in enumerate([y[0], y[1]]):
        y[1] = 2 * v
        s += v * i
    for u, v in zip((y[0], y[1], y[2]), y):  # the array is read in its turn
        y[1] = 0.5 * u
        y[2] += v
        s += u * v
    return s + sum([bumped(y, t) for t in (x[0], x[1], y[0])]) + sum([bumped(y, t) for t in (x[1], y[0]) if t > 0.7])


def items_of_copies(x):
    items = [x[0], x[1], x[2]]
    s = 0.0
    for v in list(items):
        items[2] = items[0] * v
        s += v
    for v in tuple(items):
        items[1] *= v
        s += v * v
    for v in items:  # the list itself shows what is written
        items[2] = items[2] * v
        s += v
    return s


def keys_of_what_is_written(x):
    p = {"a": x[0], "b": x[1]}
    for k in p:
        p[k] = p[k] * p["a"]
    for k, v in p.items():
        p["b"] = v * 2 + p["b"]
        p[k] -= 0.1 * v
    return p["a"] * p["b"]


def added_to_what_was(x):
    y = x.copy()
    y[0] += bumped(y, x[1])
    s = y[0]
    s += bumped(y, x[1]) * s
    y[[0, 1]] *= bumped(y, x[2])
    items = [y[0], 2.0]

    def pushed(v):
        items[0] *= v
        return items[0]

    items[0] += pushed(x[3])
    return s * y[1] + items[0]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [
    items_of_a_display, items_of_copies, keys_of_what_is_written, added_to_what_was,
    negated, one_or_the_other, known_but_done, until_one_does, items_that_write, conditions_in_turn,
    places_before_values, several_places_at_once, names_bound_by_items, the_last_that_was_tried,
    bound_by_items_in_a_loop, several_targets,
])  # fmt: skip
def test_once_and_in_turn(fun, target):
    assert_derivatives(fun, X, target)


def test_unknown_conditions_over_known_items():
    def kept(x):
        return sum([a * b for a, b in zip(x, [1.0, 2.0, 3.0, 4.0]) if a > 0.5 if b > 1])

    assert_derivatives(kept, X, "python")


def a_default_that_grows(x):
    def pushed(v, items=[]):
        items.append(v)
        return len(items) * items[0]

    return x[0] * pushed(x[1]) + x[2] * pushed(x[3])


def a_default_that_is_written(x):
    def total(v, sums=[0.0], seen={"n": 0.0}):
        sums[0] += v
        seen["n"] += 1.0
        return sums[0] * seen["n"]

    s = 0.0
    for v in x:
        s += v * total(v)
    return s * total(x[0])


def a_default_with_a_name(x):
    items = []

    def pushed(v, items=items):
        items.append(v)
        return len(items) * items[0]

    return x[0] * pushed(x[1]) + x[2] * pushed(x[3]) * len(items)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [a_default_that_grows, a_default_that_is_written, a_default_with_a_name])
def test_defaults_are_one_object_for_all_calls(fun, target):
    assert_derivatives(fun, X, target)
