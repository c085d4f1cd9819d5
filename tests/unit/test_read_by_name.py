"""What a function reads from modules and classes by name may change between two calls: derived anew, never stale."""

from __future__ import annotations

import types

import pytest

import s2sad

settings = types.ModuleType("settings")
PAIR = (1.0, [2.0])


def double(x):
    return 2.0 * x


def triple(x):
    return 3.0 * x


def scaled(x, by=2.0):
    return by * x


class Limits:
    """Numbers that belong to the class."""

    rate = 2.0


class Model:
    """An object whose class holds a number, a method and a property."""

    scale = 2.0

    def __init__(self):
        self.weight = 3.0

    def factor(self):
        return 1.0

    @property
    def offset(self):
        return 2.0

    def value(self, x):
        return x * self.weight * self.scale * self.factor() * self.offset


class Special(Model):
    """Takes all from its base."""


settings.rate, settings.table, settings.function, settings.Limits = 2.0, [1.0, 2.0], double, Limits
model = Special()


def a_module(x):
    return x * settings.rate


def a_list_in_a_module(x):
    return x * settings.table[1]


def a_function_of_a_module(x):
    return settings.function(x)


def a_class(x):
    return x * Limits.rate


def a_class_in_a_module(x):
    return x * settings.Limits.rate


def an_object(x):
    return model.value(x)


def defaults_of_a_helper(x):
    return scaled(x)


def a_list_in_a_tuple(x):
    return x * PAIR[1][0]


CHANGES = [
    (a_module, settings, "rate", 5.0), (a_list_in_a_module, settings, "table", [1.0, 5.0]),
    (a_function_of_a_module, settings, "function", triple), (a_class, Limits, "rate", 5.0),
    (a_class_in_a_module, Limits, "rate", 5.0), (an_object, Model, "scale", 5.0),
    (an_object, Model, "factor", lambda self: 5.0), (an_object, Model, "offset", property(lambda self: 5.0)),
    (model.value, Model, "scale", 5.0), (defaults_of_a_helper, scaled, "__defaults__", (5.0,)),
]  # fmt: skip


@pytest.mark.parametrize(("fun", "owner", "name", "new"), CHANGES)
def test_a_change_is_noticed(fun, owner, name, new, monkeypatch):
    gradient = s2sad.grad(fun, target="python")
    assert gradient(1.5) == gradient(1.5) == pytest.approx(fun(1.5) / 1.5)
    before = fun(1.5)
    monkeypatch.setattr(owner, name, new)
    assert fun(1.5) != before
    assert gradient(1.5) == pytest.approx(fun(1.5) / 1.5)
    assert s2sad.grad(fun, target="python")(1.5) == pytest.approx(fun(1.5) / 1.5)
    assert s2sad.jvp(fun, (1.5,), (1.0,), target="python")[1] == pytest.approx(fun(1.5) / 1.5)


def test_items_of_a_list_in_a_tuple_are_looked_at():
    gradient = s2sad.grad(a_list_in_a_tuple, target="python")
    assert gradient(1.5) == gradient(1.5) == PAIR[1][0]
    PAIR[1][0] = 5.0
    assert gradient(1.5) == 5.0


def test_compiled_too(monkeypatch):
    gradient = s2sad.grad(a_class, target="cpu")
    assert gradient(1.5) == gradient(1.5) == 2.0
    monkeypatch.setattr(Limits, "rate", 5.0)
    assert gradient(1.5) == 5.0
