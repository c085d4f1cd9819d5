"""Generators that are methods, or handed on: what they give is listed first, unless that would not be the same."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.3, 1.2, 2.0])


class Pair:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __iter__(self):
        yield self.x
        yield self.y


class Path:
    def __init__(self, pts):
        self.pts = pts

    def segments(self):
        for i in range(len(self.pts) - 1):
            yield self.pts[i], self.pts[i + 1]

    def squares(self, p=2):
        for v in self.pts:
            if v > 5:
                return
            yield v**p


class Squares(Path):
    def __iter__(self):
        return self.squares()


class Node:
    def __init__(self, v, left=None, right=None):
        self.v, self.left, self.right = v, left, right

    def walk(self):
        if self.left is not None:
            yield from self.left.walk()
        yield self.v
        if self.right is not None:
            yield from self.right.walk()


class Counter:
    def __init__(self, n):
        self.n = n

    def forever(self):
        while True:
            yield self.n


class Running:
    def __init__(self, a):
        self.a = a
        self.k = 0.0

    def go(self):
        for v in self.a:
            self.k += v
            yield v


def total(gen):
    return sum(g * g for g in gen)


def terms(x):
    for v in x:
        yield np.sin(v)


def use(it, pts):
    s = 0.0
    for v in it:
        pts[2] = 3.0
        s += v
    return s


def unpacked(x):
    a, b = Pair(x[0], x[1])
    return a * b + sum(Pair(x[1], x[2]))


def over_an_object(x):
    s = 1.0
    for c in Pair(x[0], x[1] * x[2]):
        s *= c
    return s


def pairs(x):
    p = Path(x)
    s = 0.0
    for a, b in p.segments():
        s += a * b
    return s


def used_up_at_once(x):
    p = Path(x)
    return sum(p.squares()) + max(p.squares(3)) + np.sum(np.array(list(p.squares())))


def numbered(x):
    p = Path(x)
    out = np.zeros(3)
    for i, v in enumerate(p.squares()):
        out[i] = v * x[i]
    return out @ x


def a_tree_walked(x):
    t = Node(x[0], Node(x[1]), Node(x[2]))
    s = 0.0
    for i, v in enumerate(t.walk()):
        s += (i + 1) * v**2
    return s


def listed_before_the_write(x):
    p = Path(x.copy())
    s = 0.0
    for v in list(p.squares()):
        p.pts[2] = 3.0
        s += v
    return s


def handed_on(x):
    return total(terms(x)) + total(v for v in x)


def looked_up(x):
    fns = {"a": terms}
    return sum(fns["a"](x))


def an_iterator_of_its_class(x):
    p = Squares(x.copy())
    s = 0.0
    for v in p:
        s += v
    q = p.squares()
    return s + sum(q)


def state_read_behind(x):
    c = Running(x)
    s = sum(c.go())
    return s * c.k


def written_meanwhile(x):
    p = Path(x.copy())
    s = 0.0
    for v in p.squares():
        p.pts[2] = 3.0
        s += v
    return s


def without_an_end(x):
    s = 0.0
    for v in Counter(x[0]).forever():
        s += v
        if s > 3:
            break
    return s


def written_before_use(x):
    p = Path(x.copy())
    it = p.squares()
    s = 0.0
    for v in it:
        p.pts[2] = 3.0
        s += v
    return s


def handed_on_to_a_writer(x):
    p = Path(x.copy())
    return use(p.squares(), p.pts)


def written_while_its_class_gives(x):
    p = Squares(x.copy())
    s = 0.0
    for v in p:
        p.pts[2] = 3.0
        s += v
    return s


def state_read_meanwhile(x):
    c = Running(x)
    s = 0.0
    for v in c.go():
        s += v * c.k
    return s


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    "f",
    [
        unpacked,
        over_an_object,
        pairs,
        used_up_at_once,
        numbered,
        a_tree_walked,
        listed_before_the_write,
        handed_on,
        looked_up,
        an_iterator_of_its_class,
        state_read_behind,
    ],
)
def test_values_are_listed_first(f, target):
    assert_derivatives(f, X, target)


def state_after_the_first(x):
    c = Running(x)
    return (2.0 if any(c.go()) else 1.0) * c.k


@pytest.mark.parametrize(("f", "says"), [
    (written_meanwhile, "what `squares` has yet to read"), (without_an_end, "without an end"),
    (written_before_use, "what `squares` has yet to read"), (handed_on_to_a_writer, "what `squares` has yet to read"),
    (written_while_its_class_gives, "what `squares` has yet to read"),
    (state_read_meanwhile, "`go` writes what may be read before its next value"),
    (state_after_the_first, "`go` writes what may be read before its next value"),
])  # fmt: skip
def test_refused_where_python_would_see_what_is_written(f, says):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match=says):
        s2sad.grad(f)(X)
