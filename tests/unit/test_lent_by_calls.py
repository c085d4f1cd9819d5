"""Calls that give memory of their argument, or write into it: what is written there is not lost."""

from __future__ import annotations

import operator
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import s2sad
from s2sad.errors import AliasError, S2SADError, UnsupportedSyntaxError
from tests.differences import assert_derivatives

X = np.array([0.6, 0.3, 0.7, 1.2])


def required(x):
    y = x * 1.0
    v = np.require(y)
    v *= 3.0
    return np.sum(y * y)


def checked(x):
    y = x * 1.0
    v = np.asarray_chkfinite(y)
    v[0] = 0.0
    return np.sum(y * y)


def added_in_place(x):
    y = x * 1.0
    operator.iadd(y, 3.0)
    return np.sum(y * y)


def written_through_a_sorted_list(x):
    items = [x * 1.0, x * 2.0]
    ordered = sorted(items, key=lambda v: -v[0])
    ordered[0][0] = 5.0
    return np.sum(items[0] * items[1])


def written_in_a_loop_over_a_sorted_list(x):
    a, b = x * 1.0, x * 2.0
    for v in sorted([a, b], key=np.sum):
        v *= v[1]
    return np.sum(a * b)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [required, checked, added_in_place, written_through_a_sorted_list,
                                 written_in_a_loop_over_a_sorted_list], ids=lambda fun: fun.__name__)  # fmt: skip
def test_what_cannot_be_followed_is_refused(fun, target):
    with pytest.raises(AliasError, match=r"memory of its argument|are copies here"):
        s2sad.grad(fun, target=target)(X)


def through_a_cast_to_itself(x):
    y = x * 1.0
    v = np.float64(y)
    v[0] = 4.0
    return np.sum(y * v)


def a_sorted_list_of_arrays(x):
    items = [x[:2] * 1.0, x[2:] * 2.0]
    ordered = sorted(items, key=np.sum) + [x[:2]]
    t = 0.0
    for i, v in enumerate(ordered):
        t += np.sum(v**2) * (i + 1)
    return t


def filled_and_scattered(x):
    r = np.zeros(4)
    for z in np.array([1, 3]):
        r[z] = x[z] ** 2
    return np.sum(np.arange(4.0) * r)


def turned_about_swapped_axes(x):
    m = np.rot90(x.reshape(2, 2), 1, (1, 0))
    return np.sum(m * np.arange(4.0).reshape(2, 2) * m[0, 1])


def area_of_a_polygon(x):
    p = x.reshape(2, 2)
    t = 0.0
    for i in range(p.shape[0] - 1):
        t += np.cross(p[i], p[i + 1])
    return 0.5 * t + np.sum(np.cross(p[:-1], p[1:]) ** 2)


def stacked_numbers(x):
    s = x[0] * x[1]
    m = np.vstack([s, x[2], 2.0])
    c = np.column_stack([s, x[3]])
    return np.sum(m**2) * c[0, 1] + np.concatenate([np.ravel(s), np.ravel(x[1])]) @ np.array([1.0, 10.0])


def inner_recursion(x):
    def g(u, n):
        return u if n == 0 else g(u * u + x[0], n - 1) * 1.0

    return g(x[1], 2)


PROGRAMS = [through_a_cast_to_itself, a_sorted_list_of_arrays, filled_and_scattered, turned_about_swapped_axes,
            area_of_a_polygon, stacked_numbers, inner_recursion]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS, ids=lambda fun: fun.__name__)
def test_derivatives_are_those_of_the_program(fun, target):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # NumPy's, of vectors in the plane
        assert_derivatives(fun, X, target)


def a_row_that_is_scaled(x, c):
    y = x * 1.0
    rows = list(y)
    rows[1] *= c
    return y


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_the_tangent_of_a_row_is_written_where_the_row_lies(target):
    x = np.arange(1.0, 7.0).reshape(3, 2)
    _, y_dot = s2sad.jvp(a_row_that_is_scaled, (x, 2.0), (np.ones((3, 2)), 0.0), target=target)
    np.testing.assert_array_equal(y_dot, [[1, 1], [2, 2], [1, 1]])


def scattered(x, n):
    out = np.zeros(n + 2)
    for k in range(n):
        for i in range(2):
            out[k + i] = x[k] * x[i]
    return out


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_vector_that_loops_scatter_into_gives_its_cotangent_back(target):
    _, pullback = s2sad.vjp(scattered, np.array([1.0, 2.0, 3.0]), 3, target=target)
    np.testing.assert_array_equal(pullback(np.ones(5))[0], [7.0, 4.0, 3.0])


def at_a_tuple(x, place):
    return np.sum(x[tuple(place)] ** 2)


def at_a_tuple_that_was_found(x):
    t = tuple(np.argwhere(x > 4)[0])
    return np.sum(x[t] ** 2)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_tuple_of_places_is_no_array_of_rows(target):
    x = np.arange(1.0, 7.0).reshape(3, 2)
    gradient = s2sad.grad(at_a_tuple, target=target)(x, np.array([1, 0]))
    np.testing.assert_array_equal(gradient, [[0, 0], [6, 0], [0, 0]])
    with pytest.raises(UnsupportedSyntaxError, match="how many indices this tuple has"):
        s2sad.grad(at_a_tuple_that_was_found, target=target)(x)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_results_have_the_shape_and_kind_that_numpy_gives(target):
    single = np.array([0.5, 0.7, 0.9], np.float32)
    wide, _ = s2sad.vjp(lambda x, y: np.multiply.outer(x, y), X, 2.0, target=target)
    assert wide.shape == X.shape
    put_in, _ = s2sad.vjp(lambda x: np.insert(x, 0, 2.0), single, target=target)
    heights, _ = s2sad.vjp(lambda x: np.histogram(x, bins=3, range=(0, 2), weights=x)[0], single, target=target)
    assert put_in.dtype == heights.dtype == np.float32


def chosen_by_a_number(x, s):
    return np.sum({True: x * s, False: x}[bool(s > 0.5)])


def along_a_number(x, s):
    return np.sum(np.outer(x, x), axis=int(s))[0] * s


def test_a_number_that_has_a_cotangent_is_no_constant():
    _, pullback = s2sad.vjp(chosen_by_a_number, X, 0.7)
    np.testing.assert_allclose(pullback(1.0)[1], np.sum(X))
    with pytest.raises(S2SADError, match="must be known at transform time"):
        s2sad.vjp(along_a_number, X, 1.0)


def test_an_argument_that_compares_by_its_contents_has_no_hash():
    assert s2sad.grad(lambda x, s: x * s.k, target="python")(2.0, SimpleNamespace(k=3.0)) == 3.0


def test_zeros_of_either_sign_in_a_closure_are_two():
    def angle_from(k):
        return lambda x: np.arctan2(k, x)

    for k in (0.0, -0.0, np.float32(0.0), np.float32(-0.0)):
        value, _ = s2sad.value_and_grad(angle_from(k), target="python")(-1.0)
        np.testing.assert_allclose(value, np.arctan2(k, -1.0), rtol=1e-6)
