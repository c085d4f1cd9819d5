"""Helpers that return None on one path and a value on another, as ray tracers and root finders have them."""

import math
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.3, 0.2, 0.1, 1.4])
TARGETS = ("python", "cpu")


def _by_differences(f, x, h=1e-6):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.size)])


def agrees(f, x=X, target="python"):
    """Both modes against central differences."""
    wanted = _by_differences(f, x)
    np.testing.assert_allclose(s2sad.grad(f, target=target)(x), wanted, atol=1e-6)
    forward = [s2sad.jvp(f, (x,), (e,), target=target)[1] for e in np.eye(x.size)]
    np.testing.assert_allclose(forward, wanted, atol=1e-6)


def hit(origin, direction, center, radius):
    along = np.sum((origin - center) * direction)
    disc = along * along - (np.sum((origin - center) ** 2) - radius * radius)
    if disc < 0.0:
        return None
    t = -along - math.sqrt(disc)
    return t


def nearest(x):
    best = 1e9
    for k in range(3):
        t = hit(x[0:3], np.array([0.0, 0.0, 1.0]), np.array([0.5 * k, 0.0, 3.0 + k]), x[3])
        if t is not None and t < best:
            best = t
    return best


@pytest.mark.parametrize("target", TARGETS)
def test_the_nearest_hit_of_several(target):
    agrees(nearest, target=target)
    agrees(nearest, np.array([0.3, 0.2, 0.1, 0.1]), target=target)  # nothing is hit


def root(a, b, c):
    d = b * b - 4 * a * c
    if d >= 0:
        return (-b + math.sqrt(d)) / (2 * a)


def or_else(x):
    r = root(x[0], x[1], x[2])
    if r is None:
        r = x[3]
    return r * x[3]


@pytest.mark.parametrize("x", [X, np.array([0.3, 2.0, 0.1, 1.4])])
@pytest.mark.parametrize("target", TARGETS)
def test_falling_off_the_end_is_none_and_the_name_gets_another_value(target, x):
    agrees(or_else, x, target)


Record = namedtuple("Record", "t normal")


@dataclass
class Found:
    t: float
    n: int


def as_tuple(x, k):
    if x[0] < 0.1 * k:
        return None
    return x[0] * x[1], x[1:3] * k


def as_record(x, k):
    return Record(x[0] * x[1], x[1:3] * k) if x[0] >= 0.1 * k else None


def as_dataclass(x, k):
    if x[0] < 0.1 * k:
        return None
    return Found(x[0] * x[1], k)


def with_tuples(x):
    s = 0.0
    for k in range(6):
        found = as_tuple(x, k)
        if found is None:
            continue
        t, normal = found
        s += t * np.sum(normal)
    return s


def with_records(x):
    s = 0.0
    for k in range(6):
        found = as_record(x, k)
        if found:
            s += found.t * np.sum(found.normal)
    return s


def with_dataclasses(x):
    closest = None
    for k in range(6):
        found = as_dataclass(x, k)
        if found is not None:
            if closest is None or found.t * k > closest.t * closest.n:
                closest = found
    if closest is None:
        return x[3]
    return closest.t * closest.n


@pytest.mark.parametrize("f", [with_tuples, with_records, with_dataclasses])
@pytest.mark.parametrize("target", TARGETS)
def test_records_or_none(f, target):
    agrees(f, np.array([0.35, 0.2, 0.1, 1.4]), target)


def best_of(x, limit):
    best = None
    for v in x:
        if v < limit and (best is None or v > best):
            best = v
    return best


def unset(x):
    b = best_of(x, x[0])
    a = best_of(x, 0.0)
    if a is not None:
        return a
    return b * x[3]


def forwarded(x, limit):
    return best_of(x, limit)


def through(x):
    a = forwarded(x, -1.0)
    return x[1] * x[2] if a is None else a


@pytest.mark.parametrize("f", [unset, through])
@pytest.mark.parametrize("target", TARGETS)
def test_a_name_that_was_never_set_is_returned(f, target):
    agrees(f, target=target)


def walrus(x):
    if (t := root(x[0], x[1], x[2])) is not None:
        return t
    s = 0.0
    if root(x[0], x[3], x[2]) is not None:
        s = x[1]
    if not root(x[0], x[1], x[2]):
        s += x[2] * x[2]
    return s + 2.0 * root(x[0], x[3], x[2])


def inner_helper(x):
    def half(v):
        if v < 0.15:
            return None
        return v / 2

    s = 0.0
    for k in range(4):
        h = half(x[k])
        s += x[k] if h is None else h * h
    return s


class Sphere:
    def __init__(self, r):
        self.r = r

    def meet(self, y):
        d = self.r * self.r - y * y
        if d < 0:
            return None
        return math.sqrt(d)


def methods(x):
    s = 0.0
    for k in range(3):
        found = Sphere(x[3]).meet(x[0] * 3 * k)
        if found is None:
            break
        s += found
    return s


def descent(x, depth):
    if depth > 3:
        return None
    found = descent(x * x, depth + 1)
    if found is None:
        return x
    return found + x


def recursive(x):
    d = descent(x[3], 0)
    if d is None:
        return x[0]
    return d * x[1]


@pytest.mark.parametrize("f", [walrus, inner_helper, methods, recursive])
@pytest.mark.parametrize("target", TARGETS)
def test_other_forms_of_the_call(f, target):
    agrees(f, target=target)


def calculates(x):
    return 2.0 * root(x[0], x[1], x[2])


def used_unasked(x):
    r = root(x[0], x[1], x[2])
    return r * 2


@pytest.mark.parametrize("f", [calculates, used_unasked])
@pytest.mark.parametrize("target", TARGETS)
def test_calculating_with_none_is_a_type_error_as_in_python(f, target):
    with pytest.raises(TypeError, match="None"):
        s2sad.grad(f, target=target)(X)
    agrees(f, np.array([0.3, 2.0, 0.1, 1.4]), target)


def lost_inside(x):
    r = root(x[0], x[1], x[2])
    if r is not None:
        if x[3] > 1.0:
            r = None
        return r * x[0]
    return x[0]


def lost_in_a_loop(x):
    r = root(x[0], x[1], x[2])
    s = 0.0
    if r is not None:
        for k in range(3):
            s += r * x[k]
            if k > 0:
                r = None
    return s


@pytest.mark.parametrize("f", [lost_inside, lost_in_a_loop])
def test_a_name_that_is_set_to_none_again_is_no_longer_known_to_have_a_value(f):
    x = np.array([0.3, 2.0, 0.1, 1.4])
    with pytest.raises(TypeError):
        f(x)
    with pytest.raises(TypeError, match="None"):
        s2sad.grad(f)(x)


def listed(x):
    found = [root(x[k], x[1], x[2]) for k in range(3)]
    return sum(r for r in found if r is not None)


def test_a_list_of_such_results_is_refused_with_the_way_out():
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="may return None here") as refusal:
        s2sad.grad(listed)(X)
    assert "if t is not None" in str(refusal.value)


def derivative_of_one(x):
    return np.sum(s2sad.grad(lambda y: best_of(y, 10.0) ** 3)(x) * x)


def test_second_derivatives():
    np.testing.assert_allclose(np.diag(s2sad.hessian(best_cube)(X)), [0, 0, 0, 6 * 1.4])
    agrees(derivative_of_one)


def best_cube(x):
    b = best_of(x, 10.0)
    return 0.0 if b is None else b**3


def the_entered(x):
    if x[0] > 100:
        return None
    return x[0]


def test_the_differentiated_function_itself_gives_a_value_or_an_error():
    """Where it returns None there is no derivative; on its other paths there is."""
    with pytest.raises(TypeError, match="None is returned here"):
        s2sad.grad(the_entered)(X + 100.0)
    assert_derivatives(the_entered, X, "cpu")


def one_of_two(x, kind):
    if kind > 1.0:
        return x * x
    elif kind > 0.0:
        return x**3


def rooted(x, kind):
    return None if kind < 0 else math.sqrt(x)


def laminar(x, kind, length=None):
    if kind > 0:
        factor = x * x
    else:
        factor = math.sqrt(x / length)
    return 2.0 * factor


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_none_is_an_error_where_it_is_returned(target):
    """The other paths have their derivative: a function that ends without `return`, `None if … else …`."""
    for fun in (one_of_two, rooted):
        derivative = s2sad.value_and_grad(fun, target=target)
        for kind in (2.0, 0.5, -1.0):
            if fun(1.7, kind) is None:
                with pytest.raises(TypeError, match="None is returned here"):
                    derivative(1.7, kind)
            else:
                assert_derivatives(lambda x, kind=kind, fun=fun: fun(x[0], kind), np.array([1.7]), target=target)
                assert derivative(1.7, kind)[0] == fun(1.7, kind)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_none_is_an_error_where_it_is_calculated_with(target):
    """A parameter that was left out, in a branch that is not taken, is nobody's mistake."""
    derivative = s2sad.value_and_grad(laminar, target=target)
    assert derivative(1.5, 1.0) == (4.5, 6.0)
    with pytest.raises(TypeError, match="`/` is applied to None here"):
        derivative(1.5, -1.0)
    with pytest.raises(s2sad.ArgumentError, match=r"`[*]` is applied to None here"):
        s2sad.grad(lambda x, by=None: x * by, target=target)(1.5)
