"""Records that have a name go into lists that grow; what is written afterwards, by whatever name, is written there."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

import s2sad
from tests.differences import differences

X = np.arange(8.0).reshape(4, 2) / 3


class Point:
    def __init__(self, a, b):
        self.a = a
        self.b = b

    def step(self):
        self.a = self.a * 2
        return self

    def put(self, ps):
        ps.append(self)


class Early:
    def __init__(self, reg, a):
        self.a = a
        reg.append(self)
        self.b = a * 2


class Late:
    def __init__(self, reg, a):
        self.a = a
        self.b = a * 2
        reg.append(self)


@dataclass
class Body:
    pos: np.ndarray
    m: float = 1.0
    hist: list[float] = field(default_factory=list[float])


def written_before_in_every_turn(x):
    ps = []
    p = Point(x[0, 0], x[0, 1])
    for i in range(3):
        p.a = p.a * 2
        ps.append(p)
    return sum(p.a * p.b for p in ps)


def written_by_its_method(x):
    ps = []
    p = Point(x[0, 0], x[0, 1])
    for i in range(3):
        p.step()
        ps.append(p)
    return sum(p.a * p.b for p in ps)


def given_back_by_its_method(x):
    ps = []
    p = Point(x[0, 0], x[0, 1])
    for i in range(3):
        ps.append(p.step())
    return sum(p.a * p.b for p in ps)


def put_by_a_method(x):
    ps = []
    for i in range(3):
        p = Point(x[0, 0] * i, x[0, 1])
        p.step()
        p.put(ps)
    return sum(p.a * p.b for p in ps)


def registered_before_it_is_done(x):
    reg = []
    for i in range(3):
        Early(reg, x[i, 0])
    return sum(r.a * r.b for r in reg)


def registered(x):
    reg = []
    for i in range(3):
        Late(reg, x[i, 0])
    return sum(r.a * r.b for r in reg)


def written_where_it_is_made(x):
    reg = []
    for i in range(3):
        r = Late(reg, x[i, 0])
        r.a = r.a * 3
    return sum(r.a * r.b for r in reg)


def one_list_or_the_other(x):
    good = []
    bad = []
    for i in range(4):
        p = Point(x[i, 0], x[i, 1])
        if i % 2:
            good.append(p)
        else:
            p.a = p.a * 3
            bad.append(p)
    return sum(p.a for p in good) * sum(p.a * p.b for p in bad)


def written_behind_a_branch(x):
    ps = []
    p = Point(x[0, 0], x[0, 1])
    if x[0, 1] > 0.5:
        ps.append(p)
    else:
        ps.append(Point(1.0, 2.0))
    p.a = p.a * 2
    return ps[0].a * p.a


def chosen_from_a_list(x):
    ps = []
    for i in range(4):
        ps.append(Point(x[i, 0], x[i, 1]))
    best = []
    for p in ps:
        if p.a > 1.0:
            best.append(p)
    return sum(p.a * p.b for p in best)


def written_by_another_name(x):
    ps = []
    for i in range(4):
        p = Point(x[i, 0], x[i, 1])
        q = p
        ps.append(p)
        q.a = q.a * 2
    return sum(p.a * p.b for p in ps)


def written_through_a_dict(x):
    ps = []
    owner = {"p": Point(x[0, 0], x[0, 1])}
    for i in range(3):
        ps.append(owner["p"])
        owner["p"].a = owner["p"].a * 2
    return sum(p.a * p.b for p in ps)


def with_a_list_of_its_own(x):
    ps = []
    for i in range(3):
        p = Body(x[i])
        ps.append(p)
    return sum(np.sum(p.pos) for p in ps)


def written_in_a_function(x):
    ps = []

    def add(p):
        ps.append(p)
        p.a = p.a * 2

    for i in range(3):
        add(Point(x[i, 0], x[i, 1]))
    return sum(p.a * p.b for p in ps)


def written_by_a_closure(x):
    ps = []
    p = Point(x[0, 0], x[0, 1])

    def w():
        p.a = p.a * 2

    for i in range(3):
        ps.append(p)
        w()
    return sum(p.a * p.b for p in ps)


def made_of_the_last(x):
    ps = []
    p = Point(x[0, 0], x[0, 1])
    for i in range(4):
        ps.append(p)
        p = Point(p.a * x[i, 1], p.b + 1)
        p.a = p.a + 1
    return sum(p.a * p.b for p in ps)


def while_the_list_grows(x):
    ps = []
    p = Point(x[0, 0], x[0, 1])
    ps.append(p)
    while len(ps) < 4:
        q = Point(ps[-1].a * 2, p.b)
        ps.append(q)
        p = q
    return sum(p.a * p.b for p in ps)


def written_in_one_turn(x):
    ps = []
    p = Point(x[0, 0], x[0, 1])
    for i in range(3):
        if i == 1:
            p.a = p.a * 5
        ps.append(p)
    return sum(p.a * p.b for p in ps)


FOLLOWED = (put_by_a_method, registered, one_list_or_the_other, chosen_from_a_list, with_a_list_of_its_own,
            made_of_the_last, while_the_list_grows, written_before_in_every_turn, written_by_its_method,
            given_back_by_its_method, written_by_another_name, written_through_a_dict, written_in_a_function,
            written_by_a_closure, written_in_one_turn, written_where_it_is_made)
REFUSED = {
    registered_before_it_is_done: "the attribute `b` is new in an object that a list has got",
    written_behind_a_branch: "`p` has no single meaning here",
}


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", FOLLOWED)
def test_followed(fun, target):
    np.testing.assert_allclose(s2sad.grad(fun, target=target)(X), differences(fun, X), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("fun", REFUSED)
def test_refused(fun):
    with pytest.raises(s2sad.S2SADError, match=REFUSED[fun]):
        s2sad.grad(fun)(X)


def test_a_waiting_method():
    """What a method that has been read may write cannot be followed."""

    def stepped(x):
        points, p = [], Point(x[0, 0], x[0, 1])
        step = p.step
        for _ in range(3):
            points.append(p)
            step()
        return sum(q.a * q.b for q in points)

    with pytest.raises(s2sad.UnsupportedSyntaxError, match="has another name"):
        s2sad.grad(stepped)(X)
