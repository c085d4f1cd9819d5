"""What a function reads from outside may change between calls, however deep it lies."""

from __future__ import annotations

import collections
import dataclasses
import functools
import sys
import types

import pytest

import s2sad

CFG = {"opt": {"sched": {"lr": 3.0}}, "list": [1.0, {"a": [3.0]}], "long": [float(i) for i in range(200)]}
GAIN = 3.0


class Held:
    """Holds what it is given."""

    def __init__(self, **held):
        vars(self).update(held)


class Dense:
    """Called as a layer is."""

    def __init__(self, w):
        self.w = w
        self.me = self

    def __call__(self, x):
        return self.w * x


class Chain:
    """Layers, and a property that reads further down."""

    def __init__(self, layers):
        self.layers = layers

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def energy(self, x):
        return self(x) * self.factor

    @property
    def factor(self):
        return CFG["opt"]["sched"]["lr"] / 3.0


class Base:
    """Has what others inherit."""

    k = 3.0


class Derived(Base):
    """Inherits it."""


class Gained:
    """Reads a name of the module in a property and in a call."""

    @property
    def gain(self):
        return GAIN

    def __call__(self, x):
        return GAIN * x


class Operated:
    """Reads a name of the module in its operators."""

    def __init__(self, x):
        self.x = x * GAIN

    def __add__(self, other):
        return self.x + other


@dataclasses.dataclass(slots=True)
class Slotted:
    """Keeps its number in a slot."""

    k: float = 3.0


class Rate:
    """Is bound anew, as a notebook's cell does."""

    value = 3.0


FirstRate = Rate


class OtherRate:
    """Takes its place."""

    value = 5.0


def bind(name, value):
    globals()[name] = value


def imports(x):
    from module_that_changes import K

    return K * x


def scaled(x):
    return scaled.factor * x


def by_default(x, c={"k": 3.0}):
    return c["k"] * x


def set_gain(value):
    global GAIN
    GAIN = value


def set_item(held, key, value):
    held[key] = value


def cases():
    """Yield a name, a function of `x` and more that has the slope 3, those, and what makes it 5."""
    net = Held(layers=[Held(w=3.0)])
    yield "object", lambda x, o: o.layers[0].w * x, (net,), lambda: setattr(net.layers[0], "w", 5.0)
    deep = Held(a=Held(b=Held(c=3.0)))
    yield "attributes", lambda x, o: o.a.b.c * x, (deep,), lambda: setattr(deep.a.b, "c", 5.0)
    held = Held(m={"a": Held(k=3.0)}, t=(Held(k=1.0),), rows=[[1.0]])
    of_items = lambda x, o: o.m["a"].k * o.t[0].k * o.rows[0][0] * x
    yield "items", of_items, (held,), lambda: setattr(held.m["a"], "k", 5.0)
    chain = Chain([Dense(3.0)])
    yield "layers", chain, (), lambda: setattr(chain.layers[0], "w", 5.0)
    other = Chain([Dense(3.0)])
    yield "in a lambda", lambda x: other(x), (), lambda: setattr(other.layers[0], "w", 5.0)
    third = Chain([Dense(3.0)])
    yield "method", third.energy, (), lambda: setattr(third.layers[0], "w", 5.0)
    yield "dict", lambda x: CFG["opt"]["sched"]["lr"] * x, (), lambda: set_item(CFG["opt"]["sched"], "lr", 5.0)
    yield "list", lambda x: CFG["list"][1]["a"][0] * x, (), lambda: set_item(CFG["list"][1]["a"], 0, 5.0)
    yield "long list", lambda x: CFG["long"][3] * x, (), lambda: set_item(CFG["long"], 3, 5.0)
    scaled.factor = 3.0
    yield "of a function", lambda x: scaled(x), (), lambda: setattr(scaled, "factor", 5.0)
    o = Derived()
    yield "inherited", lambda x: o.k * x, (), lambda: setattr(Derived, "k", 5.0)
    yield "default", lambda x: by_default(x), (), lambda: set_item(by_default.__defaults__[0], "k", 5.0)
    part = functools.partial(lambda x, a: a * x, a=3.0)
    yield "partial", lambda x: part(x), (), lambda: set_item(part.keywords, "a", 5.0)
    gained = Gained()
    yield "property", lambda x: gained.gain * x, (), lambda: set_gain(5.0)
    inside = {"a": [Gained()]}
    yield "in a call", lambda x: inside["a"][0](x), (), lambda: set_gain(5.0)


    yield "operators", lambda x: Operated(x) + 0.0, (), lambda: set_gain(5.0)
    slotted = Slotted()
    yield "slots", lambda x: slotted.k * x, (), lambda: setattr(slotted, "k", 5.0)
    other_slotted = Slotted()
    yield "slots of an argument", lambda x, o: o.k * x, (other_slotted,), lambda: setattr(other_slotted, "k", 5.0)
    yield "class bound anew", lambda x: Rate.value * x, (), lambda: bind("Rate", OtherRate)
    module = types.ModuleType("module_that_changes")
    module.K = 3.0
    sys.modules[module.__name__] = module
    yield "imported inside", imports, (), lambda: setattr(module, "K", 5.0)
    yield "module as argument", lambda x, m: m.K * x, (module,), lambda: setattr(module, "K", 5.0)
    ordered = collections.OrderedDict(k=3.0)
    yield "ordered", lambda x: ordered["k"] * x, (), lambda: set_item(ordered, "k", 5.0)
    queue = collections.deque([3.0])
    yield "deque", lambda x: queue[0] * x, (), lambda: queue.appendleft(5.0)
    members = {1}
    yield "set", lambda x: (5.0 if 3 in members else 3.0) * x, (), lambda: members.add(3)
    yield "by its name", lambda x: getattr(Derived, "k") * x, (), lambda: setattr(Derived, "k", 5.0)


@pytest.fixture(autouse=True)
def as_before():
    yield
    CFG["opt"]["sched"]["lr"], CFG["list"][1]["a"][0], CFG["long"][3] = 3.0, 3.0, 3.0
    by_default.__defaults__[0]["k"] = 3.0
    set_gain(3.0)
    bind("Rate", FirstRate)
    if "k" in vars(Derived):
        del Derived.k


@pytest.mark.parametrize("name", [name for name, *_ in cases()])
def test_changes_between_calls_are_seen(name):
    _, fun, more, change = next(case for case in cases() if case[0] == name)
    made = s2sad.value_and_grad(fun)
    assert made(1.0, *more) == (3.0, 3.0)
    change()
    assert made(1.0, *more) == (fun(1.0, *more), 5.0) == (5.0, 5.0)
    assert s2sad.grad(fun)(1.0, *more) == 5.0
