"""Lists, dicts and records: a write through one name is seen through every other, or is refused."""

from __future__ import annotations

import copy
import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

import s2sad

X = np.array([0.5, 0.7, 1.1])
OUTER = [1.0, 2.0]


@dataclasses.dataclass
class State:
    """A record that steps write into."""

    place: float
    speed: float

    def energy(self):
        return self.place**2 + 0.5 * self.speed**2

    def step(self, dt):
        self.place += dt * self.speed
        self.speed = self.speed - dt * self.place

    @property
    def product(self):
        return self.place * self.speed


class Pair(NamedTuple):
    """A record that cannot be written."""

    a: float
    b: float

    def product(self):
        return self.a * self.b


def set_first(items, value):
    items[0] = value


def push(items, value):
    items.append(value)


def set_early(items, value):
    for _ in range(2):
        if value > 0:
            items[0] = value
            return 1.0
    return 2.0


def same(items):
    return items


def records_with_methods(x):
    state = State(x[0], x[1])
    for _ in range(3):
        state.step(0.1)
    state.place *= 2.0
    other = dataclasses.replace(state, place=x[2])
    other.speed = 3.0 * x[0]
    return state.energy() + state.product * other.energy()


def named_tuples(x):
    pair = Pair(x[0], x[1])
    return pair.product() * pair._replace(a=x[2] ** 2).product() + pair._asdict()["b"]


def closures_that_add_up(x):
    total, seen = [0.0], []

    def note(v):
        total[0] = total[0] + v * v
        seen.append(v)

    for i in range(3):
        note(x[i])
    push(seen, x[0])
    return total[0] * sum(seen)


def counters_of_a_factory(x):
    def make():
        count = [0.0]

        def add(v):
            count[0] = count[0] + v
            return count[0]

        return add

    add = make()
    add(x[0])
    return add(x[1] ** 2)


def helpers_that_write(x):
    items = [x[0], x[1]]
    set_first(items, x[2] ** 2)
    return items[0] * items[1]


def two_names(x):
    a = [x[0], x[1]]
    b = a
    if x[0] > 0:
        b[0] = x[2]
    else:
        a[1] = x[2]
    for _ in range(3):
        b = [x[2], x[1]]
        b[0] = x[0]
    return a[0] * a[1] + b[0]


def nested_dicts(x):
    d = {"u": {"v": x[0]}, "w": x[1]}
    e = d["u"]
    e["v"] = x[2] ** 2
    d.update(w=3 * x[0])
    d.setdefault("z", x[1])
    f = d.copy()
    f["w"] = 5.0
    return d["u"]["v"] * d["w"] + d.pop("z") + f["w"] * f["u"]["v"] + len(d)


def methods_of_lists(x):
    items = [x[0], x[1], x[2]]
    items.insert(0, x[0] * 2)
    first = items.pop(0)
    items.reverse()
    items[0] = items[0] * items[1]
    more = items
    more += [x[0]]
    items.extend([x[1]])
    return first * items[0] + items[2] * more[-1]


def written_while_looped_over(x):
    total, items = 0.0, [x[0], x[1], x[2]]
    for v in items:
        items[2] = v * 2
        total += v
    return total


def copies(x):
    a = [x[0], x[1]]
    b, c, d = list(a), copy.copy(a), copy.deepcopy([a, a])
    b[0] = 5.0
    c[1] = x[2]
    d[0][0] = x[2]
    return a[0] * a[1] + b[0] * b[1] + c[1] * c[0] + d[1][0]


def lists_that_change_places(x):
    a, b = [x[0], x[1]], [x[1], x[2]]
    now, then = [v for v in x], [0.0] * 3
    for _ in range(3):
        a[0] = b[1] * a[1]
        a, b = b, a
        for i in range(3):
            then[i] = now[i - 1] * now[i]
        now, then = then, now
    p, q = (a[0], b[0]), (x[0], x[2])
    p, q = q, p
    return now[0] + a[0] + 2 * b[0] + p[0] * q[1] + 3 * p[1]


def repeated_items(x):
    rows = [x[:2].copy()] * 2
    rows[0][0] = 5.0
    grid = [[0.0] * 2] * 2
    grid[0][1] = x[2]
    return rows[1].sum() * x[0] + grid[1][1]


def closures_see_later_values(x):
    items = [x[0]]

    def total():
        return sum(items)

    for _ in range(3):
        pass
    items = [x[0], x[1]]
    k = 5
    scales = [lambda t: t * k for k in range(3)]
    return total() * scales[0](x[0]) + k


def items_named_like_variables(x):
    p_0 = x[0] ** 2
    p = [x[0], 2 * x[1]]
    return p_0 * p[1] + p[0]


def appended_after_it_was_appended(x):
    row, rows = [], []
    rows.append(row)
    row.append(x[0])
    return rows[0][0] ** 2


def closures_in_a_loop_over_an_array(x):
    total = [0.0]

    def add(v):
        total[0] += v

    for v in x:
        add(v * v)
    return total[0]


def lists_joined(x):
    items = [x[0]] * 3 + [x[1]]
    more = [float(i) for i in range(3)] + [0.0] * 2
    more[3] = x[0]
    squares = [v * v for v in x]
    items += squares
    items.extend(squares)
    items.extend([x[1], 2.0])
    items.extend(x)
    return sum(items + squares + [x[2]]) * items[-1] * len(items) + sum(more) * x[1]


PROGRAMS = [
    closures_in_a_loop_over_an_array, lists_joined,
    records_with_methods, named_tuples, closures_that_add_up, counters_of_a_factory, helpers_that_write, two_names,
    nested_dicts, methods_of_lists, written_while_looped_over, copies, lists_that_change_places, repeated_items,
    closures_see_later_values, items_named_like_variables, appended_after_it_was_appended,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_a_container_is_one_object(fun, target):
    bar = np.array([(fun(X + e) - fun(X - e)) / 2e-6 for e in 1e-6 * np.eye(3)])
    value, gradient = s2sad.value_and_grad(fun, target=target)(X)
    np.testing.assert_allclose(value, fun(X), rtol=1e-12)
    np.testing.assert_allclose(gradient, bar, rtol=1e-6, atol=1e-8)
    _, out_dot = s2sad.jvp(fun, (X,), (np.array([1.0, -0.5, 2.0]),), target=target)
    np.testing.assert_allclose(out_dot, bar @ [1.0, -0.5, 2.0], rtol=1e-6)


def either_list(x):
    a, b = [x[0], x[1]], [x[1], x[2]]
    c = a if x[0] > 0 else [x[2], x[3]]
    c[0] = 5 * x[2]
    return a[0] * b[0]


def written_by_a_function_with_two_returns(x):
    a = [x[0], x[1]]
    set_early(a, x[2])
    return a[0] * a[1]


def handed_back(x):
    a = [x[0], x[1]]
    b = same(a)
    b[0] = x[2]
    return a[0] * a[1]


def outside(x):
    OUTER[0] = x[0]
    return OUTER[0] * OUTER[1]


def grows_while_looped_over(x):
    total, items = 0.0, [x[0], x[1]]
    for v in items:
        total += v
        if len(items) < 4:
            items.append(v * 2)
    return total


def another_name_grows(x):
    a = [x[0], x[1]]
    b = a
    for v in x:
        b.append(v)
    return sum(a)


@pytest.mark.parametrize(
    ("fun", "reason"),
    [
        (either_list, "may or may not be the one that another name means"),
        (written_by_a_function_with_two_returns, "belongs to the caller"),
        (handed_back, "may or may not be the one that another name means"),
        (outside, "is defined outside the function"),
        (grows_while_looped_over, "while it is looped over"),
    ],
)
def test_a_write_that_cannot_be_followed_is_refused(fun, reason):
    with pytest.raises((s2sad.AliasError, s2sad.UnsupportedSyntaxError), match=reason):
        s2sad.grad(fun, target="python")(X)
