"""More of the language: `match`, `map`, `reduce`, `**kwargs`, cached helpers, methods that read their object."""

import functools
from dataclasses import dataclass

import numpy as np

from tests.corpus.programs import mat, program, vec


@dataclass
class Circle:
    """One number."""

    r: float


@dataclass
class Rectangle:
    """Two numbers."""

    w: float
    h: float


class Filter:
    """Weights and a number that a method reads."""

    def __init__(self):
        self.weights, self.gain, self.stages = np.array([0.5, -0.25, 0.125]), 2.0, [np.eye(3), np.ones((3, 3))]

    def step(self, x):
        return self.gain * np.sum(self.weights * x)

    def run(self, x):
        for stage in self.stages:
            x = np.tanh(stage @ x)
        return self.step(x) ** 2


@program(Circle(1.5))
@program(Rectangle(2.0, 3.0))
@program(Rectangle(3.0, 2.0))
def match_class(shape):
    match shape:
        case Circle(r=r):
            return np.pi * r**2
        case Rectangle(w, h) if w > h:
            return 2.0 * w * h
        case Rectangle(w, h):
            return w * h


@program((1.5,))
@program((1.5, 2.0))
@program((1.5, 2.0, 3.0))
def match_sequence(values):
    match values:
        case (a,):
            return a**2
        case (a, b):
            return a * b
        case [a, *rest]:
            return a * sum(rest)


@program(0.7, 0)
@program(0.7, 2)
@program(0.7, -3)
@program(0.7, 9)
def match_number(x, k):
    match k:
        case 0:
            return x
        case 1 | 2:
            y = x**2
        case n if n < 0:
            y = x * n
        case _:
            y = np.sin(x)
    return 2.0 * y


@program(0.7, "cubic")
@program(0.7, "sine")
@program(0.7, "none")
def match_word(x, kind):
    match kind:
        case "cubic":
            return x**3
        case "sine" | "sin":
            return np.sin(x)
    return 5.0 * x


@program(0.5, (0, 1, 2, 1))
@program(0.5, np.array([0, 1, 2, 1]))
def match_in_a_loop(x, steps):
    s = x
    for step in steps:
        match step:
            case 0:
                s = s * x
            case 1:
                s = s + x
            case _:
                s = np.sin(s)
    return s


@program(vec(4))
def map_one(x):
    return sum(map(lambda v: v * np.sin(v), x))


@program(vec(4), vec(4, 1), wrt=(0, 1))
def map_two(x, y):
    return sum(map(lambda a, b: a * b**2, x, y))


@program(vec(4))
def map_of_a_ufunc(x):
    return np.sum(np.array(list(map(np.exp, x))) ** 2)


@program(np.array([1.0, -2.0, 3.0]))
def filter_positive(x):
    return sum(v**2 for v in filter(lambda v: v > 0, x))


@program(vec(4))
def reduce_product(x):
    return functools.reduce(lambda a, b: a * b, x)


@program(vec(4))
def reduce_from_a_start(x):
    return functools.reduce(lambda a, b: np.sin(a) + b**2, x, 1.0)


def weighted(x, *, scale=1.0, **others):
    return scale * others["first"] * x + others.get("second", 3.0)


@program(0.5, 2.0, wrt=(0, 1))
def keywords_collected(x, k):
    return weighted(x, first=k**2, scale=x) * weighted(x, first=k, second=x * k)


@functools.lru_cache
def coefficient(n):
    return 1.0 / (n + 1.0)


@program(0.5)
def cached_helper(x):
    return coefficient(1) * x**2 + coefficient(2) * x**3


@program(vec(3))
def method_of_an_object(x):
    return Filter.run(FILTER, x) + FILTER.step(x)


FILTER = Filter()


def total(a, axis):
    return np.sum(a, axis=axis)


@program(mat(3, 4), 1, marks="static")
def axis_given(x, axis):
    return np.sum(total(x, axis) ** 2)


@program(mat(3, 4))
def axes_counted(x):
    s = 0.0
    for axis in range(x.ndim):
        s += np.sum(np.diff(x, axis=axis) ** 2)
    return s
