"""`types.SimpleNamespace` is a record that a function makes; captured arrays keep the names they have outside."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.5, 0.6, 0.7])
WEIGHTS = np.array([1.0, 2.0, 3.0])


def with_a_field_added(x):
    p = SimpleNamespace(a=x * 2, b=x**2)
    p.c = p.a * p.b
    return np.sum(p.c + p.a)


def written_in_a_loop(x):
    p = SimpleNamespace(a=x[0], w=x)
    for i in range(3):
        p.a = p.a * p.w[i]
    return p.a


def in_a_list(x):
    items = []
    for i in range(3):
        items.append(SimpleNamespace(a=x[i], b=x[i] ** 2))
    return sum(p.a * p.b for p in items)


def begun_empty(x):
    p = SimpleNamespace()
    p.a = x * 2
    return np.sum(p.a * x)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [with_a_field_added, written_in_a_loop, in_a_list, begun_empty])
def test_namespaces(fun, target):
    assert_derivatives(fun, X, target)


def weighed(x):
    return np.sum(WEIGHTS * x**2)


def local_of_that_name(x):
    return np.sum(WEIGHTS * x) + another(x)


def another(x):
    WEIGHTS = x * x
    return np.sum(WEIGHTS)


def test_the_name_outside():
    made = s2sad.differentiate(weighed)
    np.testing.assert_allclose(made.grad(X), 2.0 * WEIGHTS * X)
    assert "def weighed_grad(x, WEIGHTS):" in made.source("grad")


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_helper_with_a_local_of_that_name(target):
    assert_derivatives(local_of_that_name, X, target)


def test_a_masked_array():
    with pytest.raises(s2sad.ArgumentError, match=r"\.filled\("):
        s2sad.grad(weighed)(np.ma.masked_array(X, [True, False, False]))


def with_the_rest(a, b, **rest):
    return a * b**2 + rest.get("d", 0.0) * a


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_partial_functions_with_the_rest(target):
    """What a partial function gives by names that `**rest` takes is passed on; a call may give it anew."""
    plain = functools.partial(with_the_rest, b=3.0)
    given = functools.partial(with_the_rest, b=3.0, d=2.0)
    assert s2sad.grad(plain, target=target)(2.0) == 9.0
    assert s2sad.grad(plain, target=target)(2.0, d=5.0) == 14.0
    assert s2sad.grad(given, target=target)(2.0) == 11.0
    assert s2sad.grad(given, target=target)(2.0, d=5.0) == 14.0
