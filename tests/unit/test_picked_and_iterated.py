"""What Python's library says in a word: `itertools`, getters, named slices, enumerations, fields of dataclasses."""

from __future__ import annotations

import enum
import itertools
import math
import operator
import typing
from collections import Counter, OrderedDict
from dataclasses import asdict, astuple, dataclass, fields
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, 0.4, 1.9, 0.9])


class Place(enum.IntEnum):
    FIRST = 0
    LAST = 4


class Weight(enum.Enum):
    LIGHT = 2.0
    HEAVY = 3.0


@dataclass
class Inner:
    a: Any
    b: Any = (1.0, 2.0)


@dataclass
class Outer:
    inner: Inner
    c: Any


def part_of(v, part):
    if np.sum(v) > 1000.0:
        return 0.0
    return np.sum(v[part] ** 2)


def slices_passed_on(x):
    t = part_of(x, slice(None)) + part_of(x, np.s_[2:]) + part_of(np.outer(x, x), np.s_[1:3, 0])
    for i in range(len(x) - 1):
        t += part_of(x, slice(i, i + 2)) * x[i]
    return t


def slices_and_ranges_keep_their_bounds(x):
    n = 2
    s, r = slice(0, n), range(n)
    n = 4
    t = np.sum(x[s] ** 2) * n
    for i in r:
        t += x[i] * n
    k = int(2.0 * x[1])
    s = slice(0, k)
    k = 5
    return t + np.sum(x[s] ** 3) * k


def without_an_end(x):
    w = x[:2]
    t = 0.0
    for v, c, k, two in zip(x, itertools.cycle(w), itertools.count(1, 2), itertools.repeat(x[0] * x[1])):
        w = 0.0 * x
        t += v * c * k + v * two
    return t + sum(v * math.sin(u) for v, u in zip(x, itertools.count(0.0, 0.1))) + sum(itertools.repeat(x[2], 3))


def running(x):
    one = sum(itertools.accumulate(x, lambda a, b: 0.9 * a + b * b, initial=x[1]))
    return one * list(itertools.accumulate(x, operator.mul))[-1] + sum(itertools.accumulate(x, max))


def parts(x):
    t = sum(k * v * v for k, v in enumerate(itertools.chain(x[:2], [2.0 * x[0]], (v for v in x if v > 1.0))))
    t += sum(v * v for v in itertools.islice((2.0 * a for a in x), 1, None, 2))
    t += sum(v * v for v in itertools.takewhile(lambda v: v < 1.5, x))
    t += sum(v**3 for v in itertools.dropwhile(lambda v: v < 1.0, x))
    t += sum(v * v for v in itertools.compress(x, [1, 0, 1, 0, 1]))
    return t + sum(map(lambda a, b: a * b**2, x, x[1:]))


def getters(x):
    pairs = [(x[0], x[1]), (x[2], x[3])]
    pairs.sort(key=operator.itemgetter(1), reverse=True)
    best = max([Inner(x[0], x[1]), Inner(x[2], x[3])], key=operator.attrgetter("b"))
    t = sum(a * b for a, b in map(operator.itemgetter(0, 1), pairs)) * pairs[0][0]
    return t * best.a + x[max(range(len(x)), key=x.__getitem__)] ** 2


def pairs_in_order(x):
    t = 0.0
    for k, (_, v) in enumerate(sorted(zip([1, 1, 0, 1, 0], x))):
        t += k * v
    for k, (a, b) in enumerate(sorted(zip(np.floor(x), -x), reverse=True)):
        t += k * b * (a + 1.0)
    for v, i in sorted((v, i) for i, v in enumerate(x)):
        t = 0.5 * t + v * i
    return t


def members(x):
    t = x[Place.LAST] * Place.LAST + Weight.HEAVY.value * x[1]
    for place in Place:
        t += x[place] * (2.0 if place is Place.LAST else 1.0) * (place + 1)
    named = {Weight.LIGHT: x[0], Weight.HEAVY: x[1]}
    return t * named[Weight.LIGHT]


def fields_of_dataclasses(x):
    p = Outer(Inner(x[0], (x[1], x[2])), x[3])
    d = asdict(p)
    (a, b), c = astuple(p)
    for name, v in zip(("c",), x):
        setattr(p, name, v * p.c)
    return d["inner"]["a"] * d["inner"]["b"][1] + a * b[0] * c + len(fields(p)) * p.c


def counted_and_named(x):
    known = Counter("abca")
    d = OrderedDict()
    d["k"] = x[0]
    d["m"] = typing.cast("float", x[1]) ** 2
    total = 0.0
    for value in d.values():
        square = value * value
        total += square
        del square
    return total * known["a"]


def filled_up(x):
    total = 0.0
    for a, b in itertools.zip_longest(x, x[:2] ** 2, fillvalue=0.5):
        total += a**2 * b
    few = [x[0], x[1] * x[2]]
    return total + sum(k * a * b for k, (a, b) in enumerate(itertools.zip_longest(few, x, fillvalue=2.0)))


def a_series(x):
    total = 0.0
    for k in itertools.count(1):
        term = x[0] ** k / math.factorial(k)
        if k % 3 == 0:
            continue
        total += term
        if term < 1e-12:
            break
    return total * k


def until_it_settles(x):
    y = x[1]
    for _ in itertools.repeat(None):
        new = 0.5 * (y + 2.0 * x[0] / y)
        if abs(new - y) < 1e-13:
            return new * y + x[2]
        y = new


def in_turns(x):
    total, n = 0.0, 2
    for i, (k, w) in enumerate(zip(itertools.count(2.0, 0.5), itertools.cycle([x[0], -x[1]])), 3):
        total += w * x[2] ** i / k
        if i > 9:
            break
    for k in itertools.count(n, n):
        n += 1
        k = k + 1
        total += x[3] * k
        if total > 50.0:
            break
    return total * n


PROGRAMS = [
    filled_up, a_series, until_it_settles, in_turns,
    slices_passed_on, slices_and_ranges_keep_their_bounds, without_an_end, running, parts, getters, pairs_in_order,
    members, fields_of_dataclasses, counted_and_named,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)


SCALE = 2.5


def without_a_way_out(x):
    total = 0.0
    for k in itertools.count():
        total += k * x[0]
    return total


def test_a_loop_that_nothing_leaves_is_refused():
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="`count` has no end"):
        s2sad.grad(without_a_way_out, target="python")(X)


@pytest.mark.parametrize("fun", [
    lambda x: sum(a for a, b in itertools.zip_longest(x, x[1:])), lambda x: sum(np.nditer(x)),
])  # fmt: skip
def test_what_has_no_value_or_no_order_is_refused(fun):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match=r"fillvalue=0\.0|ndindex"):
        s2sad.grad(fun, target="python")(X)


def mapped_meanwhile(x):
    y, total = [x[0], x[1], x[2]], 0.0
    for v in map(lambda item: item * item, y):
        total += v
        y[2] = y[2] + v
    return total


def generated_meanwhile(x):
    scale, total = x[0], 0.0
    for v in (scale * item for item in x):
        total += v
        scale = v
    return total


def appended_meanwhile(x):
    y, total = [x[0]], 0.0
    for v in itertools.chain(y, x):
        total += v
        if total < 10.0:
            y.append(v)
    return total


def named_meanwhile(x):
    y = x * 1.0
    squares = (item * item for item in y)
    y[0] = 5.0 * y[1]
    return sum(squares)


@pytest.mark.parametrize("fun", [mapped_meanwhile, generated_meanwhile, appended_meanwhile, named_meanwhile])
def test_what_an_iterator_has_yet_to_read_is_not_written(fun):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="has items of it yet to read"):
        s2sad.grad(fun, target="python")(X)


def written_beside(x):
    """What the iterator reads stays; a copy is gone through whatever is written."""
    y, z, total = x * 1.0, x * 2.0, 0.0
    for v in map(lambda item: item * item, y):
        total += v
        z[0] = z[0] + v
    for v in list(map(lambda item: item * z[1], y)):
        y[0] = y[0] + v
    for k, v in enumerate(w * w for w in z):
        y = y * 1.5
        total += k * v
    cubes = map(lambda item: item**3, y)
    total += sum(cubes)
    y[0] = 0.0
    return total + y[1]


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_is_written_beside_an_iterator(target):
    assert_derivatives(written_beside, X, target)


def test_a_global_that_is_read_may_be_declared():
    def scaled(x):
        global SCALE
        return SCALE * x[0]

    np.testing.assert_array_equal(s2sad.grad(scaled, target="python")(X), [2.5, 0, 0, 0, 0])


def test_a_global_that_is_written_is_refused():
    def counts(x):
        global SCALE
        SCALE = 2.0
        return SCALE * x[0]

    with pytest.raises(s2sad.UnsupportedSyntaxError, match="`global` writes cannot be differentiated"):
        s2sad.grad(counts, target="python")(X)
