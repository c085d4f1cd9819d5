"""Decorators of functions that are defined inside of a differentiated one."""

from __future__ import annotations

import functools
from functools import partial

import numba
import numpy as np
import pytest

import s2sad
from s2sad.errors import UnsupportedSyntaxError
from tests.differences import assert_derivatives

X = np.array([0.5, 1.2, -0.7])


def compiled_ones(x):
    @numba.njit
    def square(v):
        return v**2

    @numba.njit(fastmath=True)
    def doubled(v):
        return 2.0 * square(v)

    return sum(doubled(v) for v in x)


def one_above_the_other(x):
    def doubled(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            return 2.0 * f(*args, **kwargs)

        return inner

    def plus(shift):
        return lambda f: lambda v, k: f(v, k=k) + shift

    @plus(x[0])
    @doubled
    def power(v, k=1.0):
        return np.sin(v) * k

    return np.sum(power(x, 3.0) ** 2)


def transforms(x):
    @partial(s2sad.vmap, in_axes=(0, None))
    def product(v, w):
        return v * w**2

    @s2sad.grad
    def slope(v):
        return np.sum(v**3)

    return np.sum(product(x, x[0])) + slope(x) @ x


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [compiled_ones, one_above_the_other, transforms])
def test_decorated_inner_functions(fun, target):
    assert_derivatives(fun, X, target)


def remembered(x):
    @functools.cache
    def power(n):
        return 1.0 if n == 0 else x[0] * power(n - 1)

    return power(4)


def test_an_inner_function_may_remember_its_results():
    assert np.allclose(s2sad.grad(remembered, target="python")(X)[0], 4.0 * X[0] ** 3)


def remembered_by_name(x):
    @functools.cache
    def power(name):
        return x[0] if name == "first" else x[1] * power("first")

    return power("second")


def recomputed(x):
    @s2sad.checkpoint
    def layer(h):
        return np.tanh(1.1 * h)

    return np.sum(layer(layer(x)))


REFUSED = [(remembered_by_name, "fill an array in a loop"), (recomputed, "Define the function outside")]


@pytest.mark.parametrize(("fun", "way_out"), REFUSED)
def test_what_is_refused_says_what_to_write(fun, way_out):
    with pytest.raises(UnsupportedSyntaxError, match=way_out):
        s2sad.grad(fun, target="python")(X)
