"""Objects of plain classes that change what they hold, properties that are set, classes that say what a loop gives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, 0.4, 1.9, 0.9])


class Pendulum:
    """Moves when it is told to."""

    def __init__(self, angle: Any, speed: Any) -> None:
        self.angle, self.speed = angle, speed
        self.time = 0.0

    def step(self, dt: float) -> Pendulum:
        self.speed -= dt * math.sin(self.angle)
        self.angle += dt * self.speed
        self.time += dt
        return self

    def run(self, count: int) -> None:
        for _ in range(count):
            self.step(0.1)

    def energy(self) -> Any:
        return 0.5 * self.speed**2 + 1.0 - math.cos(self.angle)

    def until(self, most: float) -> Any:
        for k in range(20):
            self.step(0.1)
            if self.angle > most:
                return 1.0 * k
        return 0.0


class Count:
    """Begins with the numbers of its class."""

    total = 0.0
    number = 0

    def add(self, value: Any) -> None:
        self.total += value
        self.number += 1


class Thermometer:
    """Has a property that can be set, and one that cannot."""

    def __init__(self, celsius: Any) -> None:
        self._celsius = celsius

    @property
    def fahrenheit(self) -> Any:
        return 1.8 * self._celsius + 32.0

    @fahrenheit.setter
    def fahrenheit(self, value: Any) -> None:
        self._celsius = (value - 32.0) / 1.8

    @property
    def kelvin(self) -> Any:
        return self._celsius + 273.15


class Bag:
    """Says what a loop over it gives."""

    def __init__(self, items: Any) -> None:
        self.items = items

    def __iter__(self) -> Any:
        return iter(self.items)


class Row:
    """Hands its items on one by one."""

    def __init__(self, items: Any) -> None:
        self.items = items

    def __getitem__(self, k: int) -> Any:
        return self.items[k]


class Halves:
    """Gives something else than it holds."""

    def __init__(self, items: Any) -> None:
        self.items = items

    def __getitem__(self, k: int) -> Any:
        return 0.5 * self.items[k]


class Stack:
    """Holds a list that grows and shrinks."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    def push(self, value: Any) -> None:
        self.items.append(value)

    def pop(self) -> Any:
        return self.items.pop()

    def height(self) -> Any:
        return sum(v * v for v in self.items)


class Forgetful:
    """Gets an attribute when it is used."""

    def __init__(self, scale: Any) -> None:
        self.scale = scale

    def act(self, value: Any) -> Any:
        self.last = self.scale * value
        return self.last


def in_a_loop(x):
    p = Pendulum(x[0], x[1])
    for _ in range(6):
        p.step(0.1)
    return p.energy() * p.time


def by_a_method_that_calls_another(x):
    p = Pendulum(x[0], x[1])
    p.run(5)
    return p.step(0.2).step(0.3).energy()


def under_two_names(x):
    p = Pendulum(x[0], x[1])
    q = p
    q.step(0.1)
    p.angle *= x[2]
    return p.angle * q.speed + q.angle


def several_in_a_list(x):
    ps = [Pendulum(x[0], x[1]), Pendulum(x[2], x[3])]
    for _ in range(3):
        for p in ps:
            p.step(0.1)
        ps[0].speed += 0.1 * (ps[1].angle - ps[0].angle)
    return sum(p.energy() for p in ps)


def on_one_path(x):
    p = Pendulum(x[0], x[1])
    for v in x:
        if v > 0.8:
            p.step(v)
        else:
            p.speed = 0.5 * v
    return p.energy()


def counted(x):
    c = Count()
    for v in x:
        c.add(v * v)
    return c.total / c.number + Count.total


def a_property_is_set(x):
    t = Thermometer(x[0])
    for v in x:
        t.fahrenheit *= v
        t.fahrenheit = t.fahrenheit - v
    return t._celsius


def a_stack(x):
    s = Stack()
    for v in x:
        s.push(v)
        if v < 1.0:
            s.push(v * s.pop())
    return s.height()


def a_stack_from_the_top(x):
    s = Stack()
    for v in x:
        s.push(v * v)
    total = 0.0
    while len(s.items) > 0:
        total = 0.5 * total + s.pop()
    return total


def items_of_a_bag(x):
    total = 0.0
    for k, v in enumerate(Bag([x[0], x[1] * x[2]])):
        total += (k + 1) * v * v
    first, second = Bag((x[3], x[4]))
    return total * first + second


def array_of_a_bag(x):
    return sum(v**3 for v in Bag(2.0 * x)) + max(Bag(x))


def items_handed_on(x):
    total = 0.0
    for v, w in zip(Row(x * x), Row([1.0, 2.0, 3.0, 4.0, 5.0])):
        total += v * w
    return total


PROGRAMS = [
    in_a_loop, by_a_method_that_calls_another, under_two_names, several_in_a_list, on_one_path, counted,
    a_property_is_set, a_stack, a_stack_from_the_top, items_of_a_bag, array_of_a_bag, items_handed_on,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)


def sets_what_has_no_setter(x):
    t = Thermometer(x[0])
    t.kelvin = x[1]
    return t.fahrenheit


def gets_an_attribute_in_a_loop(x):
    f = Forgetful(x[0])
    total = 0.0
    for v in x:
        total += f.act(v)
    return total


def gets_an_attribute_as_often_as_is_said(x):
    f = Forgetful(x[0])
    total = 0.0
    while total < 3.0:
        total += f.act(x[1])
    return total


def test_an_attribute_that_each_turn_sets_of_a_loop_that_is_written_out():
    assert_derivatives(gets_an_attribute_in_a_loop, X, "python")


def writes_one_of_two(x):
    p, q = Pendulum(x[0], x[1]), Pendulum(x[2], x[3])
    r = p if x[0] > 1.0 else q
    r.step(0.1)
    return p.energy()


def returns_early(x):
    p = Pendulum(x[0], x[1])
    return p.until(1.0) * p.speed


def gives_halves(x):
    return sum(v * v for v in Halves(x))


@pytest.mark.parametrize(("fun", "what", "why"), [
    (sets_what_has_no_setter, "the property `kelvin` of `Thermometer` has no setter", "computed from"),
    (gets_an_attribute_as_often_as_is_said, "`f` has no single meaning", "`last` on one path only; begin it"),
    (writes_one_of_two, "this Pendulum may or may not be the one that another name means", "new object"),
    (returns_early, "this Pendulum belongs to the caller, who would not see the write", "one `return`, at its end"),
    (gives_halves, "a loop over a `Halves`, or its unpacking, asks the class for the items", "Loop over the attribute"),
])  # fmt: skip
def test_what_is_refused(fun, what, why):
    with pytest.raises(s2sad.S2SADError) as caught:
        s2sad.grad(fun, target="python")(X)
    assert what in str(caught.value)
    assert why in str(caught.value)
