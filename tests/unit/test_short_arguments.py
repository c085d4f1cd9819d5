"""What cannot be followed for arrays of any length is followed where they are short, item by item."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

import s2sad

X = np.array([0.9, 1.3, 0.4, 0.7])


@dataclass
class Particle:
    """A place and a speed."""

    x: float
    v: float

    def kick(self, force, dt):
        self.v += force * dt


class Mass:
    """An object of a plain class."""

    def __init__(self, x):
        self.x = x
        self.v = 0.0

    def move(self, dt):
        self.v -= self.x * dt
        self.x += self.v * dt


def by_index(x):
    particles = [Particle(v, v**2) for v in x]
    for _ in range(3):
        for i in range(len(particles)):
            particles[i].x += 0.1 * particles[i].v
    return sum(p.x for p in particles)


def by_item(x):
    particles = [Particle(v, 0.0) for v in x]
    for _ in range(3):
        for p in particles:
            p.kick(-p.x, 0.1)
        for p in particles:
            p.x += 0.1 * p.v
    return sum(p.x**2 for p in particles)


def of_plain_objects(x):
    masses = [Mass(v) for v in x]
    for _ in range(3):
        for mass in masses:
            mass.move(0.1)
    return sum(mass.x**2 * mass.v for mass in masses)


def in_threes(x):
    total = 0.0
    for i, j, k in itertools.combinations(range(len(x)), 3):
        total += x[i] * x[j] ** 2 * x[k] ** 3
    return total


def by_degree(x):
    degree = np.bincount(np.array([0, 1, 1, 2]), minlength=len(x))
    return np.sum(x**2 / np.maximum(degree, 1))


PROGRAMS = [by_index, by_item, of_plain_objects, in_threes, by_degree, lambda x: np.sum(x[:1].squeeze() ** 2)]


def differences(fun, x):
    return np.array([(fun(x + e) - fun(x - e)) / 2e-6 for e in 1e-6 * np.eye(x.size)])


@pytest.mark.parametrize("program", PROGRAMS)
def test_short_ones(program):
    made = s2sad.grad(program, target="python")
    for x in (X, X[:3], X, np.linspace(0.5, 1.5, 7)):  # each length has a derivative of its own
        expected = differences(program, x)
        np.testing.assert_allclose(made(x), expected, rtol=1e-6, atol=1e-9)
        _, along = s2sad.jvp(program, (x,), (x,), target="python")
        np.testing.assert_allclose(along, expected @ x, rtol=1e-6)


@pytest.mark.parametrize("program", [by_item, in_threes])
def test_compiled(program):
    np.testing.assert_allclose(s2sad.grad(program)(X), differences(program, X), rtol=1e-6)
    many = s2sad.vmap(s2sad.grad(program))(np.stack((X, 2.0 * X)))
    np.testing.assert_allclose(many[1], differences(program, 2.0 * X), rtol=1e-6)


def test_long_ones_are_refused_as_before():
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="`combinations` of items whose number is not known"):
        s2sad.jvp(in_threes, (np.ones(40),), (np.ones(40),), target="python")
