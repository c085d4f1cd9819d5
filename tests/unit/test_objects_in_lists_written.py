"""Objects in lists that grow, and are written there: a name for one of them means its place in the list."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import pytest

import s2sad
from s2sad.errors import UnsupportedSyntaxError
from tests.differences import assert_derivatives

X = np.array([0.31, 0.93, -0.42])


class Particle:
    def __init__(self, x, v=0.0):
        self.x, self.v = x, v

    def kick(self, f):
        self.v += f

    def drift(self, h):
        self.x = self.x + h * self.v

    def energy(self):
        return 0.5 * self.v**2 + self.x**2


@dataclass
class State:
    x: float
    v: float = 0.0


class Spring:
    def __init__(self, a, b, k):
        self.a, self.b, self.k = a, b, k

    def act(self):
        f = self.k * (self.b.x - self.a.x - 1.0)
        self.a.v += f
        self.b.v -= f


class World:
    def __init__(self):
        self.particles, self.springs = [], []

    def add(self, particle):
        self.particles.append(particle)
        return particle

    def step(self, h):
        for spring in self.springs:
            spring.act()
        for p in self.particles:
            p.x += h * p.v


class Pair:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Pair(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Pair(self.x * k, self.y * k)


class Body:
    def __init__(self, at, speed):
        self.at, self.speed = at, speed


def made(x):
    ps = []
    for xi in x:
        ps.append(Particle(xi))
    return ps


def pick(ps, k):
    return ps[k]


def step(ps, h):
    for p in ps:
        p.v = p.v - h * p.x
    for p in ps:
        p.x = p.x + h * p.v


def by_place(x):
    ps = []
    for i in range(len(x)):
        ps.append(Particle(x[i]))
    for _ in range(4):
        for i in range(len(ps)):
            f = 0.0
            for j in range(len(ps)):
                if i != j:
                    f += ps[j].x - ps[i].x
            ps[i].v += 0.1 * f
        for i in range(len(ps)):
            ps[i].x += 0.1 * ps[i].v
    return sum(p.x**2 for p in ps)


def told_apart(x):
    ps = []
    for xi in x:
        ps.append(Particle(xi))
    for _ in range(3):
        for p in ps:
            for q in ps:
                if q is not p:
                    p.v += 0.1 * (q.x - p.x)
        for p in ps:
            p.x += 0.1 * p.v
    return sum(p.x**3 for p in ps)


def in_a_world(x):
    w = World()
    for xi in x:
        w.add(Particle(xi))
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            w.springs.append(Spring(w.particles[i], w.particles[j], 1.5))
    for _ in range(4):
        w.step(0.05)
    return sum(p.x**2 for p in w.particles)


def springs(x):
    ps, springs = [], []
    for xi in x:
        ps.append(Particle(xi))
    for i in range(len(ps) - 1):
        springs.append(Spring(ps[i], ps[i + 1], 2.0 + x[0]))
    for _ in range(3):
        for s in springs:
            s.k = s.k * 1.1
            s.act()
        for p in ps:
            p.x += 0.1 * p.v
    springs[0].a.x = 7.0 * springs[1].b.v
    return sum(p.x**2 + p.v for p in ps)


def pairs(x):
    ps, pairs = [], []
    for xi in x:
        ps.append(Particle(xi))
    for i in range(len(ps)):
        for j in range(i + 1, len(ps)):
            pairs.append((ps[i], ps[j]))
    for _ in range(3):
        for a, b in pairs:
            f = b.x - a.x
            a.v += f
            b.v -= f
        for p in ps:
            p.x += 0.1 * p.v
    return sum(p.x**3 for p in ps)


def by_methods(x):
    ps = []
    for xi in x:
        ps.append(Particle(xi))
    for _ in range(3):
        for p in ps:
            p.kick(-0.1 * np.sin(p.x))
        for p in ps:
            p.drift(0.2)
    return sum(p.energy() for p in ps)


def by_the_name_it_had(x):
    ps = []
    for i in range(len(x)):
        p = Particle(x[i])
        ps.append(p)
        p.v = 2.0 * x[i]
    ps[0].x = ps[0].x * 3.0
    a = ps[1]
    a.x = a.x + ps[0].x
    ps[1].x *= 2.0
    return a.x * ps[1].v + p.x * p.v


def carried(x):
    ps = []
    for xi in x:
        ps.append(Particle(xi))
    before = ps[0]
    for p in ps:
        before.v += p.x * 0.5
        p.x = p.x + before.v
        before = p
    before.x *= 2.0
    return sum(p.x * p.v for p in ps) + before.x


def chosen(x):
    ps = []
    for xi in x:
        ps.append(Particle(xi))
    q = ps[0] if x[0] > x[1] else ps[1]
    q.x = q.x**2
    best = ps[0]
    for p in ps:
        if p.x > best.x:
            best = p
    best.x = best.x * 2.0
    least = min(ps, key=lambda p: abs(p.x - 0.5))
    least.v = least.x
    return sum(p.x**2 * (1.0 + p.v) for p in ps) * q.x


def swapped_names(x):
    ps = []
    for xi in x:
        ps.append(Particle(xi))
    a, b = ps[0], ps[1]
    a, b = b, a
    a.x = a.x * 3.0
    b.x = b.x + 1.0
    a.v, b.v = b.x, a.x
    return ps[0].x * ps[0].v + ps[1].x * ps[1].v ** 2


def a_place_that_moves_on(x):
    ps = []
    for xi in x:
        ps.append(Particle(xi))
    i = 0
    q = ps[i]
    i = 2
    q.x = q.x * 2.0
    last = ps[-1]
    ps.append(Particle(x[1]))
    last.x = last.x + q.x
    for k in range(3):
        left = ps[k - 1]
        left.x += 0.5 * ps[k].x
    return ps[0].x * ps[i].x + ps[3].x + (3.0 if last is ps[2] else 0.0) * x[0]


def states(x):
    ps = []
    for xi in x:
        ps.append(State(xi))
    for _ in range(4):
        for i in range(len(ps)):
            ps[i].v += 0.1 * ps[(i + 1) % len(ps)].x
        for p in ps:
            p.x -= 0.1 * p.v
    return ps[0].x * ps[-1].x + sum([p.v for p in ps])


def by_helpers(x):
    ps = made(x)
    step(ps, 0.1)
    step(ps, 0.2)
    q = pick(ps, 1)
    q.x = q.x * 4.0
    ps[1].x += 1.0
    return q.x**2 + sum(p.x for p in ps)


def with_arrays(x):
    ps = []
    for i in range(len(x)):
        ps.append(Particle(np.array([x[i], 1.0]), np.zeros(2)))
    for _ in range(3):
        for p in ps:
            p.v -= 0.1 * p.x
        for p in ps:
            p.x += 0.1 * p.v
            p.x[0] = p.x[0] * 1.01
    return sum(np.sum(p.x * p.x) for p in ps)


def objects_in_objects(x):
    bodies = []
    for xi in x:
        at = Pair(xi, 0.5)
        bodies.append(Body(at, Pair(0.0, xi)))
        at.x = at.x * 2.0
    for _ in range(3):
        for b in bodies:
            b.speed = b.speed + b.at * -0.1
        for b in bodies:
            b.at = b.at + b.speed * 0.1
            b.at.x = b.at.x * 0.9
            b.speed.y += 0.1
    return sum(b.at.x * b.at.y + b.speed.y for b in bodies)


def some_of_them(x):
    ps = []
    for xi in x:
        ps.append(Particle(xi))
    for _ in range(3):
        for p in ps:
            p.x = p.x * 1.5
        ps = [p for p in ps if p.x < 2.0]
    positive = [p for p in ps if p.x > 0.0]
    for p in positive:
        p.x = p.x * 2.0
    for p in ps[1:]:
        p.v += p.x
    return sum(p.x**2 + p.v for p in ps)


def in_order(x):
    ps = []
    for xi in x:
        ps.append(Particle(xi))
    for p in ps:
        p.v = p.x * 1.5
    least = sorted(ps, key=lambda p: p.x)
    least[0].x = least[1].x * 2.0
    ps.sort(key=lambda p: -p.x)
    ps[0].v = ps[1].x
    ps.remove(ps[1])
    gone = ps.pop(0)
    gone.x = gone.x * 3.0
    return gone.x * gone.v + sum(p.x * p.v for p in ps)


def made_anew(x):
    ps = made(x)
    first = ps[0]
    for _ in range(3):
        new = []
        for p in ps:
            new.append(Particle(p.x * 1.1, p.v))
        for q in new:
            q.v += q.x
        ps = new
    return sum(p.v for p in ps) + first.x


def copied(x):
    ps = []
    for xi in x:
        ps.append(Particle(np.array([xi, 1.0]), xi))
    old, q = copy.deepcopy(ps), copy.copy(ps[0])
    q.v = 9.0 * x[1]
    for p in ps:
        p.x[0] = p.x[0] ** 2
        p.v = p.v * 3.0
    return sum(np.sum(ps[i].x * old[i].x) * ps[i].v * old[i].v for i in range(3)) + q.v


def waits_to_be_called(x):
    ps = []
    for xi in x:
        ps.append(Particle(xi))
    f, p = ps[0].kick, ps[1]
    g = p.kick
    p = ps[2]
    f(2.0 * x[1])
    g(x[0])
    return ps[0].v * ps[0].x + ps[1].v ** 2 + p.v


def neighbours(x):
    ps = []
    for xi in x:
        ps.append(Particle(xi))
    for p in ps:
        near = []
        for q in ps:
            if q is not p and abs(p.x - q.x) < 1.0:
                near.append(q)
        for q in near:
            q.v += 0.1 * p.x
        p.x = p.x + len(near) * 0.1 * x[0]
    return sum(p.x**2 + p.v for p in ps)


def the_same_in_another_list(x):
    ps = []
    for xi in x:
        ps.append(Particle(xi))
    qs = ps.copy()
    ps[0].x = 5.0 * x[1]
    qs[1].x = qs[0].x * 2.0
    named = {"first": ps[0], "last": ps[-1]}
    named["first"].v = 3.0 * named["last"].x
    for p in (ps[0], ps[1]):
        p.v += p.x
    return qs[0].x * ps[1].x + sum(q.v for q in qs)


def springs_that_break(x):
    ps, springs = [], []
    for xi in x:
        ps.append(Particle(xi))
    for i in range(len(ps) - 1):
        springs.append(Spring(ps[i], ps[i + 1], x[i]))
    for s in springs:
        s.k = s.k + 1.0
        s.act()
    springs = [s for s in springs if s.k > 1.5]
    for s in springs:
        s.act()
    return sum(p.x**2 + p.v for p in ps)


def kept_as_it_was(x):
    ps = []
    for xi in x:
        ps.append(Particle(xi))

    def twice(v=ps[0].x):
        return v * 2

    ps[0].x = 5.0 * x[2]
    return twice() * ps[0].x


def lists_of_two(x):
    rows = []
    for xi in x:
        rows.append([xi, 1.0])
    kept = [list(row) for row in rows]
    for row in rows:
        row[1] += row[0] ** 2
    rows[0][0] = rows[1][1]
    last = rows[2]
    last[0] *= 3.0
    pair = tuple(rows[0])
    rows[0][1] = 4.0 * x[0]
    a, b = rows[0]
    return pair[0] * pair[1] + sum(r[0] * r[1] * k[0] for r, k in zip(rows, kept)) + a * b


PROGRAMS = [
    the_same_in_another_list, springs_that_break, kept_as_it_was, lists_of_two,
    by_place, told_apart, in_a_world, springs, pairs, by_methods, by_the_name_it_had, carried, chosen, swapped_names,
    a_place_that_moves_on, states, by_helpers, with_arrays, objects_in_objects, some_of_them, in_order, made_anew,
    copied, waits_to_be_called, neighbours,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("target", ["cpu", "python"])
def test_an_object_is_written_in_its_list(program, target):
    assert_derivatives(program, X, target)


def test_the_derivative_has_a_list_for_each_attribute():
    text = s2sad.differentiate(by_place, target="python")
    text.grad(X)
    source = text.source("grad")
    assert "ps_x[i] = ps_x[i] + 0.1 * ps_v[i]" in source
    text.grad(np.linspace(0.1, 0.9, 7))
    assert text.source("grad") == source  # which holds for any number of objects


def taken_before_the_order_changed(x):
    ps = []
    for xi in x:
        ps.append(Particle(xi))
    a = ps[0]
    a.x = a.x * 2.0
    ps.sort(key=lambda p: p.x)
    a.x = a.x * 3.0
    return sum((i + 1) * p.x for i, p in enumerate(ps))


def test_a_name_means_nothing_when_the_objects_have_moved():
    with pytest.raises(UnsupportedSyntaxError, match="have other places now"):
        s2sad.grad(taken_before_the_order_changed, target="python")(X)


def none_at_first(x):
    ps = []
    for xi in x:
        ps.append(Particle(xi))
    best = None
    for p in ps:
        p.x = p.x * 2.0
        if best is None or p.x < best.x:
            best = p
    best.x = best.x * 3.0
    return sum(p.x for p in ps)


def test_none_and_then_one_of_them_is_refused():
    with pytest.raises(UnsupportedSyntaxError, match="one of the objects of a list on one path only") as refusal:
        s2sad.grad(none_at_first, target="python")(X)
    assert "`best = items[0]`" in str(refusal.value)
    assert refusal.value.span is not None
