"""The larger and the smaller of floats in compiled derivatives: as NumPy's, and in vectors where a loop takes them."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import s2sad
from s2sad.backends import extremes
from s2sad.backends.numba_cpu import jitted

EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324, 1e300, -1e300])


def pairs(x, y, larger, smaller):
    for i in range(x.size):
        for j in range(y.size):
            larger[i, j] = np.maximum(x[i], y[j])
            smaller[i, j] = np.minimum(x[i], y[j])


def least_of(x):
    least = np.inf
    for i in range(x.size):
        least = np.minimum(least, x[i])
    return least


def extremes_of(x):
    return np.max(x), np.min(x), np.amax(x), np.amin(x)


def compiled(function):
    return jitted(function, cache=False)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_two_numbers_are_those_of_numpy(dtype):
    with np.errstate(over="ignore", under="ignore"):
        x = EDGES.astype(dtype)
    larger, smaller = np.empty((2, x.size, x.size), dtype)
    compiled(pairs)(x, x, larger, smaller)
    np.testing.assert_array_equal(larger, np.maximum(x[:, None], x[None, :]))
    np.testing.assert_array_equal(smaller, np.minimum(x[:, None], x[None, :]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1,), (3,), (4, 5), (2, 3, 41)])
def test_whole_arrays_are_those_of_numpy(shape, dtype):
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    expected = (x.max(), x.min(), x.max(), x.min())
    run = compiled(extremes_of)
    assert run(x) == expected
    assert run(x.T) == expected
    assert run(np.stack([x, x + 9], axis=-1)[..., 0]) == expected  # with gaps between the items
    for place in (0, x.size // 2, x.size - 1):
        one = x.copy()
        one.flat[place] = np.nan
        assert np.isnan(run(one)).all()


def test_whole_numbers_are_as_they_were():
    assert compiled(extremes_of)(np.array([3, -2, 7])) == (7, -2, 7, -2)


@pytest.mark.parametrize("fun", [lambda x: np.max(x * x), lambda x: np.min(x) ** 2, lambda x: np.max(x) * 2.0])
def test_of_nothing_it_is_an_error_as_in_numpy(fun):
    with pytest.raises(ValueError, match="zero-size array"):
        s2sad.grad(fun)(np.empty(0))


def test_loops_over_them_are_vectors():
    for run, args in ((compiled(least_of), (EDGES,)), (compiled(extremes_of), (EDGES,))):
        run(*args)
        assert "llvm.vector.reduce.fminimum" in "".join(run.inspect_llvm().values())


def test_other_functions_are_compiled_as_numba_does():
    before = [table[loop] for table, loop, _ in extremes.REPLACED]
    compiled(least_of)(EDGES)
    assert [table[loop] for table, loop, _ in extremes.REPLACED] == before
    run = njit(least_of)
    run(EDGES)
    (text,) = run.inspect_llvm().values()
    assert "fminimum" not in text


def test_ties_share_the_derivative():
    x = np.array([2.0, 1.0, 2.0, -1.0, -1.0])
    np.testing.assert_allclose(s2sad.grad(lambda x: 3.0 * np.max(x) + np.min(x))(x), [1.5, 0.0, 1.5, 0.5, 0.5])
