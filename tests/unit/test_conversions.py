"""Conversions that copy and conversions that do not: a write reaches the derivative where it reaches the value."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from s2sad.errors import AliasError, UnsupportedSyntaxError

MATRIX = np.arange(9.0).reshape(3, 3) + 1.0


def copied(b):
    return b.astype(np.float64)


def kept(b):
    return b.astype(np.float64, copy=False)


def conjugate(b):
    return b.conj()


def asarray(b):
    return np.asarray(b, dtype=np.float64)


def array(b):
    return np.array(b)


def array_kept(b):
    return np.array(b, float, copy=False)


def contiguous(b):
    return np.ascontiguousarray(b)


def turned(b):
    return np.ascontiguousarray(b.T)


def turned_by_order(b):
    return np.asarray(b.T, order="C")


def copy_in_order(b):
    return b.T.copy(order="K")


def real(b):
    return b.real


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("convert", [
    copied, kept, conjugate, asarray, array, array_kept, contiguous, turned, turned_by_order, copy_in_order, real,
])  # fmt: skip
@pytest.mark.parametrize("side", ["before", "after"])
def test_a_write_on_either_side(convert, side, target):
    weights = np.arange(1.0, 10.0).reshape(3, 3)

    def before(x):
        b = 2.0 * x
        d = convert(b)
        b[0, 1] = x[1, 0]
        return np.sum(d**2 * weights)

    def after(x):
        b = 2.0 * x
        d = convert(b)
        d[0, 1] = x[1, 0] ** 2
        return np.sum(b**2 * weights)

    fun = before if side == "before" else after
    bar = np.empty((3, 3))
    for at in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[at] = 1e-6
        bar[at] = (fun(MATRIX + step) - fun(MATRIX - step)) / 2e-6
    np.testing.assert_allclose(s2sad.grad(fun, target=target)(MATRIX), bar, rtol=1e-6, atol=1e-6)


def test_a_copy_in_some_runs_only_is_refused_where_it_matters():
    def columns(x):
        b = 2.0 * x
        d = np.ascontiguousarray(b[:, 1:])
        b[0, 1] = x[1, 0]
        return np.sum(d**2)

    with pytest.raises(AliasError, match="may share its memory"):
        s2sad.grad(columns, target="python")(MATRIX)


def test_a_copy_in_some_runs_only_is_followed():
    def columns(x):
        b = 2.0 * x
        return np.sum(np.ascontiguousarray(b[:, 1:]) ** 2)

    expected = 8.0 * MATRIX * (np.arange(3) > 0)
    np.testing.assert_allclose(s2sad.grad(columns, target="python")(MATRIX), expected)


def test_a_function_that_writes_into_its_argument_is_refused():
    def replaced(x):
        b = 2.0 * x
        np.nan_to_num(b, copy=False)
        return np.sum(b)

    with pytest.raises(UnsupportedSyntaxError, match="writes into its argument"):
        s2sad.grad(replaced, target="python")(MATRIX)


def test_one_return_with_a_choice_that_recurses():
    def power(x, n):
        return x if n == 0 else power(x, n - 1) * x

    assert s2sad.grad(power, target="python")(2.0, 3) == 32.0
    assert s2sad.grad(power)(2.0, 3) == 32.0


def test_a_recursion_without_an_end():
    def endless(x):
        return x * endless(x)

    with pytest.raises(UnsupportedSyntaxError, match="no type for its result"):
        s2sad.grad(endless, target="python")(2.0)
