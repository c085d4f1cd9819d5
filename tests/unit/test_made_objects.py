"""Objects that a function makes: what their classes do beside keeping their arguments is done too, or refused."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import namedtuple
from dataclasses import InitVar, asdict, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives, differences


@dataclass
class Prepared:
    """Has everything that a dataclass can have beside plain fields."""

    unit: ClassVar[float] = 3.0
    x: float
    y: float = 2.0
    seen: InitVar[float] = 1.0
    parts: list[float] = field(default_factory=list)
    length: float = field(init=False)
    twice: float = field(default=0.0, kw_only=True)

    def __post_init__(self, seen: float) -> None:
        self.length = np.sqrt(self.x**2 + self.y**2)
        self.twice = self.twice + 2.0 * seen


@dataclass
class Own:
    """A dataclass whose `__init__` is its own."""

    x: float

    def __init__(self, x: float) -> None:
        self.x = 5.0 * x


class Doubled(namedtuple("Doubled", "x y")):
    def __new__(cls, x: float, y: float) -> Doubled:
        return super().__new__(cls, 2.0 * x, y)


class Watched:
    """Says what becomes of its attributes."""

    def __init__(self, x: float) -> None:
        self.x = x

    def __setattr__(self, name: str, value: float) -> None:
        object.__setattr__(self, name, 3.0 * value)


class Layer(ABC):
    """A base class that has a method to be defined."""

    __slots__ = ("scale",)

    def __init__(self, scale: float) -> None:
        self.scale = scale

    @abstractmethod
    def act(self, z: Any) -> Any:
        """Return what the layer makes of `z`."""

    def __call__(self, x: Any) -> Any:
        return self.scale * self.act(x)


class Shifted(Layer):
    """Calls the `__init__` of its base."""

    def __init__(self, scale: float, shift: float) -> None:
        super().__init__(scale)
        self.shift = shift

    def act(self, z: Any) -> Any:
        return np.tanh(z + self.shift)


class Twice(Shifted):
    """Calls methods of its base."""

    def act(self, z: Any) -> Any:
        return super().act(z) ** 2

    def __call__(self, x: Any) -> Any:
        return 2.0 * super().__call__(x)


OUTSIDE = Twice(2.0, 0.3)


@dataclass
class Moving:
    """Changes its own state."""

    a: float

    def step(self, h: float) -> None:
        self.a += h * self.a


@dataclass
class Driven(Moving):
    """Changes more of it, after its base."""

    b: float = 1.0

    def step(self, h: float) -> None:
        super().step(h)
        self.b *= self.a


class Added:
    """Says what a sum begins with."""

    def __init__(self, x: float) -> None:
        self.x = x

    def __radd__(self, other: float) -> Added:
        return Added(other + 10.0 * self.x)

    def __add__(self, other: Added) -> Added:
        return Added(self.x + other.x)


@dataclass(frozen=True)
class Fixed:
    """A frozen dataclass that is written into while it is made."""

    x: float
    twice: float = 0.0

    def __post_init__(self) -> None:
        if self.x > 100:
            raise ValueError("large")
        object.__setattr__(self, "twice", 2.0 * self.x)

    def moved(self, by: float) -> Fixed:
        return type(self)(self.x + by)

    def scaled(self, by: float) -> Fixed:
        return self.__class__(self.x * by)


def frozen(x):
    a = Fixed(x[0])
    return a.twice * a.moved(x[1]).twice * a.scaled(x[2]).twice


def prepared(x):
    p = Prepared(x[0], x[1], x[2], twice=x[0])
    q = replace(p, x=x[1], seen=x[0])
    return p.length * p.twice + q.length * q.twice * p.unit


def layers(x):
    first, second = Shifted(x[0], 0.1), Twice(x[1], x[2])
    return np.sum(second(first(x))) + np.sum(OUTSIDE(x))


def moved(x):
    state = Driven(x[0], x[1])
    for _ in range(3):
        state.step(0.1)
    return state.a * state.b


def summed(x):
    return sum([Added(x[0]), Added(x[1])]).x ** 2 + sum([Added(x[2])], Added(x[1])).x ** 2


@dataclass
class Rod:
    """Keeps what is no field."""

    length: float
    mass: float

    def __post_init__(self) -> None:
        self.inertia = self.mass * self.length**2 / 12.0  # pyright: ignore[reportUninitializedInstanceVariable]
        self.inertias = [self.inertia]


@dataclass(frozen=True)
class Squared:
    """Keeps what is no field, and cannot be changed."""

    side: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "area", self.side**2)


def beside_fields(x):
    rods = [Rod(length, 2.0) for length in x]
    rods[0].mass, rods[0].note = 5.0 * x[1], x[2]
    other = replace(rods[1], mass=x[0])
    last = Rod(x[2], 2.0)
    last.inertia = 0.0
    total = sum(rod.inertia for rod in rods) + other.inertia * rods[0].note
    total += rods[0].mass * sum(asdict(rods[1]).values()) + Squared(x[0]).area * rods[0].inertias[0]
    return total * (2.0 if last == rods[2] else 3.0)


@dataclass(order=True)
class Priced:
    """Has a field that takes no part in comparisons."""

    cost: float
    name: str = field(compare=False, default="")


@dataclass
class Dear(Priced):
    """Is equal to no object of the class that it comes from."""


def compared(x):
    total = x[0] if Priced(x[1], "a") == Priced(x[1], "b") else 2.0 * x[0]
    total += x[1] if Priced(x[1]) == Dear(x[1]) else 3.0 * x[1]
    return total + max(Priced(x[0], "a"), Priced(x[1], "b"), Priced(x[2], "c")).cost ** 2


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [prepared, layers, moved, summed, frozen, beside_fields, compared])
def test_what_classes_do(fun, target):
    assert_derivatives(fun, np.array([0.7, 1.3, -0.4]), target)


def test_an_init_of_its_own_is_read():
    np.testing.assert_allclose(s2sad.grad(lambda x: Own(x[0]).x ** 2 * x[1])(np.array([1.5, 2.0])), differences(
        lambda x: Own(x[0]).x ** 2 * x[1], np.array([1.5, 2.0])), rtol=1e-7)  # fmt: skip


@pytest.mark.parametrize(("cls", "what"), [(Doubled, "`__new__` of its own"), (Watched, "`__setattr__`")])
def test_what_is_not_read_is_refused(cls, what):
    def made(x):
        return cls(*[x[0], x[1]][: 2 if cls is Doubled else 1]).x ** 2

    with pytest.raises(s2sad.UnsupportedSyntaxError, match=what):
        s2sad.grad(made)(np.ones(2))


def test_arguments_are_those_of_the_class():
    def too_many(x):
        return Moving(x[0], x[1]).a

    with pytest.raises(s2sad.S2SADError, match="too many positional arguments"):
        s2sad.grad(too_many)(np.ones(2))
