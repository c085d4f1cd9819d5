"""Loops over `exp` and its kin call glibc's vector library: as exact as NumPy's loops, and right at the edges."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest

import s2sad
from s2sad.backends import vector_math, vectors
from s2sad.backends.numba_cpu import jitted

pytestmark = pytest.mark.skipif(not vector_math.available(), reason="no libmvec on this machine")

EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324, -5e-324, 1e-310, 1e300, -1e300, 710.0, -746.0])
OFTEN = np.concatenate([np.linspace(-3.0, 3.0, 400), np.geomspace(1e-12, 1e6, 400), -np.geomspace(1e-12, 1e6, 400)])
NUMPY_NAMES = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
               "atanh": "arctanh", "atan2": "arctan2", "pow": "power"}  # fmt: skip


def in_numpy(name):
    """Return what NumPy calls a function of C."""
    return NUMPY_NAMES.get(name, name)


IN_NUMPY = [name for name in vector_math.UNARY if hasattr(np, in_numpy(name))]


def filler(name):
    """Return a compiled loop that applies one of NumPy's functions to every item."""
    scope = {"np": np}
    exec(f"def fill(x, y):\n    for i in range(x.size):\n        y[i] = np.{in_numpy(name)}(x[i])\n", scope)
    return jitted(scope["fill"], cache=False)


def exactly(name, x):
    """Return the value to double precision, worked out in a longer format."""
    with np.errstate(all="ignore"):
        return getattr(np, in_numpy(name))(x.astype(np.longdouble)).astype(x.dtype)


@pytest.mark.parametrize("name", IN_NUMPY)
def test_four_units_in_the_last_place(name):
    fill, y = filler(name), np.empty_like(OFTEN)
    fill(OFTEN, y)
    expected = exactly(name, OFTEN)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))
    off = np.abs(y[finite] - expected[finite])
    assert np.all(off <= 4.0 * np.spacing(np.abs(expected[finite])))


@pytest.mark.parametrize("name", IN_NUMPY)
def test_edges_are_those_of_the_scalar_function(name):
    x = np.tile(EDGES, 5)
    fill, y = filler(name), np.empty_like(x)
    fill(x, y)
    expected = exactly(name, x)
    np.testing.assert_allclose(y, expected, rtol=1e-15, atol=0.0)
    np.testing.assert_array_equal(np.signbit(y[expected == 0.0]), np.signbit(expected[expected == 0.0]))


@pytest.mark.parametrize(("name", "second"), [("power", 0.37), ("arctan2", -0.8), ("hypot", 2.5)])
def test_two_arguments(name, second):
    scope = {"np": np}
    exec(f"def fill(x, y):\n    for i in range(x.size):\n        y[i] = np.{name}(x[i], {second})\n", scope)
    x = np.concatenate([np.geomspace(1e-6, 1e6, 300), [0.0, np.inf, np.nan]])
    y = np.empty_like(x)
    jitted(scope["fill"], cache=False)(x, y)
    np.testing.assert_allclose(y, getattr(np, name)(x, second), rtol=1e-15)


def test_single_precision():
    x = np.linspace(-3.0, 3.0, 401).astype(np.float32)
    fill, y = filler("exp"), np.empty_like(x)
    fill(x, y)
    expected = np.exp(x.astype(np.float64))
    assert y.dtype == np.float32
    assert np.all(np.abs(y - expected) <= 4.0 * np.spacing(expected.astype(np.float32)))


def test_the_machine_code_calls_the_library():
    fill = filler("exp")
    fill(OFTEN, np.empty_like(OFTEN))
    (assembly,) = fill.inspect_asm().values()
    assert "_ZGV" in assembly


def energy(x):
    total = 0.0
    for i in range(x.size):
        total += math.exp(-x[i] * x[i]) * math.sin(x[i])
    return total


def test_a_gradient_through_vector_functions():
    x = np.linspace(-2.0, 2.0, 137)
    expected = np.exp(-x * x) * (np.cos(x) - 2.0 * x * np.sin(x))
    np.testing.assert_allclose(s2sad.grad(energy, target="cpu")(x), expected, rtol=1e-13, atol=1e-15)


def steps(x):
    """Overwrite and branch on values that both sweeps work out: they must go the same way."""
    y = x.copy()
    for k in range(3):
        for i in range(y.size):
            level = math.exp(y[i]) - 1.0
            if level > math.sin(y[i]) * 1.5:
                y[i] = y[i] * level + 0.1 * k
                y[i] = y[i] * y[i]
            else:
                y[i] = level - y[i]
    return np.sum(y)


def test_branches_go_the_same_way_in_both_sweeps():
    x = np.linspace(-0.4, 0.5, 64)
    compiled = s2sad.grad(steps, target="cpu")(x)
    np.testing.assert_allclose(compiled, s2sad.grad(steps, target="python")(x), rtol=1e-9, atol=1e-12)


def exponentials(x):
    total = 0.0
    for i in range(x.size):
        total += math.exp(x[i] - 1.5)
    return total


def products(x, y):
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


def test_a_loop_that_sums_calls_the_vector_library_too():
    total = jitted(exponentials, cache=False)
    np.testing.assert_allclose(total(OFTEN[:400]), exponentials(OFTEN[:400]), rtol=1e-14)
    (assembly,) = total.inspect_asm().values()
    assert "_ZGV" in assembly


def test_sums_keep_the_order_of_the_program():
    """Numbers of many sizes: any other order would round otherwise."""
    rng = np.random.default_rng(5)
    for n in (1, 3, 4, 63, 1000, 1003):
        x, y = rng.normal(size=n) * 10.0 ** rng.integers(-8, 8, n), rng.normal(size=n)
        assert jitted(products, cache=False)(x, y) == products(x, y)
        assert jitted(products, cache=False)(x[::-1], y) == products(x[::-1], y)


def test_the_option_is_taken_back():
    """Also where a compilation fails: what others compile is left alone."""
    with pytest.raises(numba.TypingError):
        jitted(lambda x: x.nothing, cache=False)(OFTEN)
    jitted(products, cache=False)(OFTEN, OFTEN)
    assert vectors.depth() == 0
