"""Classes that say themselves what `len(p)`, `p[i]`, `p == q`, `if p` and the operators mean."""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives


class Series:
    """Coefficients, with a name and a scale that are no items."""

    def __init__(self, *c: Any) -> None:
        self.name, self.c, self.scale = "series", c, 3.0

    def __len__(self) -> int:
        return len(self.c)

    def __getitem__(self, i: int) -> Any:
        return 10.0 * self.c[i]

    def __setitem__(self, i: int, value: float) -> None:
        raise NotImplementedError

    def __contains__(self, value: float) -> bool:
        return value in self.c

    def __bool__(self) -> bool:
        return len(self.c) > 5

    def __abs__(self) -> Any:
        return sum(v * v for v in self.c)

    def __float__(self) -> float:
        return float(self.c[0] * 7.0)

    def __lt__(self, other: Series) -> bool:
        return abs(self) < abs(other)

    def __eq__(self, other: object) -> bool:
        return self.scale == other.scale  # type: ignore[attr-defined]

    def __iadd__(self, other: float) -> Series:
        return Series(*(a + other for a in self.c))

    def __pos__(self) -> Series:
        return Series(*(2 * a for a in self.c))

    def __and__(self, other: Series) -> Any:
        return self.c[0] * other.c[0]


class Bare:
    """Says nothing about itself."""

    def __init__(self, x: float) -> None:
        self.x = x


class Rows:
    """Says what it gives in a loop."""

    def __init__(self, *c: Any) -> None:
        self.name, self.c = "rows", c

    def __iter__(self) -> Any:
        return iter(self.c[::-1])


@dataclass
class Pair:
    """A dataclass with an order and a truth of its own."""

    a: float
    b: float

    def __len__(self) -> int:
        return 7

    def __getitem__(self, i: int) -> float:
        return (self.b, self.a)[i]

    def __bool__(self) -> bool:
        return bool(self.a > self.b)


def lengths(x):
    p = Series(x[0], x[1])
    return len(p) * x[0] ** 2 + len(Pair(x[0], 1.0)) * x[1] ** 2


def items(x):
    p, q = Series(x[0], x[1]), Pair(x[0], x[1])
    return p[1] ** 2 + q[0] * q[1] ** 3


def truths(x):
    p = Series(x[0], x[1])
    first = x[0] if p else x[1] ** 2
    second = x[0] ** 2 if not p else x[1]
    third = x[0] ** 3 if Pair(x[0], x[1]) else x[1] ** 3
    return first + second + third + (x[2] if bool(p) else x[2] ** 2) + (x[0] if Bare(x[0]) else 0.0)


def comparisons(x):
    p, q = Series(x[0], x[1]), Series(x[0], 2 * x[1])
    s = x[0] ** 2 if p < q else x[1] ** 2
    s += x[0] ** 2 if p > q else x[1] ** 3
    s += x[2] ** 2 if p == q else x[1]
    s += x[2] ** 3 if p != q else x[0] ** 4
    return s + (x[0] ** 2 if 3.0 in Series(x[0], 3.0) else x[1]) * float(max(p, q, key=abs))


def operators(x):
    p = +Series(x[0], x[1])
    p += x[2]
    return abs(p) * float(p) + (p & Series(x[1], x[2]))


def equal_dataclasses(x):
    p, q = Pair(x[0], 1.0), Pair(x[0], 1.0)
    return x[0] ** 2 if p == q else x[1] ** 2


def a_loop(x):
    s = 0.0
    for v in Rows(x[0], x[1]):
        s = 2 * s + v
    return s


def an_unpacking(x):
    a, b = Rows(x[0], x[1])
    return a * b**2


def a_sum(x):
    return sum(Rows(x[0], x[1]))


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [
    lengths, items, truths, comparisons, operators, equal_dataclasses, a_loop, an_unpacking, a_sum,
])  # fmt: skip
def test_the_class_is_asked(fun, target):
    assert_derivatives(fun, np.array([0.7, 1.3, -0.4]), target)


def test_objects_without_equality_equal_themselves_alone():
    def same(x):
        return x[0] if Bare(x[0]) == Bare(x[0]) else x[1]

    def itself(x):
        one = Bare(x[0])
        other = one
        return x[0] if one == other else x[1]

    np.testing.assert_array_equal(s2sad.grad(same)(np.ones(2)), [0.0, 1.0])
    np.testing.assert_array_equal(s2sad.grad(itself)(np.ones(2)), [1.0, 0.0])


def kept_last(x):
    last = deque([x[0]], maxlen=2)
    other = last
    return other[0]


def grouped(x):
    totals = defaultdict(float)
    other = totals
    return x[0] + len(other)


def again_and_again(x):
    return sum(itertools.cycle(x))


@pytest.mark.parametrize(
    ("fun", "way_out"), [(kept_last, "items[1:]"), (grouped, "all its keys"), (again_and_again, "others in `zip`")]
)
def test_containers_of_the_library_are_refused_with_a_way_out(fun, way_out):
    with pytest.raises(s2sad.UnsupportedSyntaxError) as caught:
        s2sad.grad(fun)(np.ones(2))
    assert way_out in str(caught.value)
