"""Items of rows of zeros that are added to one by one are set first: the text, and the numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from tests.differences import differences


def circle(p):
    out = np.empty(3)
    out[0] = math.sin(p[0]) * p[1] + p[0]
    out[1] = p[2] * p[2] * p[0]
    out[2] = math.exp(-p[1] * p[1])
    return out


def with_a_branch(p):
    out = np.empty(2)
    out[0] = p[0] * p[1]
    if p[0] > 0.0:
        out[1] = p[2] ** 2 + p[1]
    else:
        out[1] = math.cos(p[3])
    return out


def with_a_gap(p):
    out = np.empty(2)
    out[0] = p[0] * p[3]
    out[1] = p[3] ** 2 + math.sin(p[1])
    return out


def from_the_end(p):
    out = np.empty(2)
    out[0] = p[0] * p[-1]
    out[1] = p[1] ** 2 * p[-2]
    return out


def all_of_them_too(p):
    out = np.empty(2)
    out[0] = p[0] * p[1]
    out[1] = np.sum(p * p) * p[1]
    return out


def any_of_them_too(p, k):
    out = np.empty(2)
    out[0] = p[0] * p[1]
    out[1] = math.sin(p[k]) * p[1]
    return out


def as_long_as_it_is(p, k):
    out = np.empty(2)
    out[0] = p[0] * math.sin(p[1])
    out[1] = p[1]
    if k > 2:
        out[1] += p[2] * 3.0
    return out


def under_a_condition_first(p, k):
    out = np.empty(2)
    out[0] = p[0] * p[1] + p[2]
    out[1] = p[1]
    if k > 2:
        out[1] += p[0] * 3.0
    return out


def several_times(p):
    out = np.empty(2)
    out[0] = p[0] * p[0] * p[1] - p[0]
    out[1] = p[1] - p[0] * math.sin(p[1] * p[0])
    return out


PROGRAMS = [
    (circle, ()), (with_a_branch, ()), (with_a_gap, ()), (from_the_end, ()), (all_of_them_too, ()),
    (any_of_them_too, (2,)), (any_of_them_too, (0,)), (several_times, ()), (as_long_as_it_is, (3,)),
    (as_long_as_it_is, (0,)), (under_a_condition_first, (3,)), (under_a_condition_first, (0,)),
]  # fmt: skip
POINTS = [np.array([0.7, -1.2, 0.4, 0.9]), np.array([-0.7, 1.3, 0.4, 0.9])]


def text(fun, *rest):
    jacobian = s2sad.jacrev(fun)
    jacobian(POINTS[0], *rest)
    return "".join(str(entry.derivative.text) for entry in entries(jacobian))


def entries(function):
    return [made.entry for _, made in function.store.known()]


@pytest.mark.parametrize(("fun", "rest"), PROGRAMS)
def test_jacobians(fun, rest):
    for point in POINTS:
        for longer in (point, np.concatenate([point, [0.3, 0.8]])):
            got = s2sad.jacrev(fun)(longer, *rest)
            want = s2sad.jacrev(fun, target="python")(longer, *rest)
            np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-15)
            for row in range(got.shape[0]):
                near = differences(lambda p, row=row: fun(p, *rest)[row], longer)
                np.testing.assert_allclose(got[row], near, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("fun", "rest"), PROGRAMS)
def test_jacobians_of_a_batch(fun, rest):
    points = np.stack(POINTS * 2)
    got = s2sad.vmap(s2sad.jacrev(fun), in_axes=(0, *(None for _ in rest)))(points, *rest)
    for point, jacobian in zip(points, got, strict=True):
        np.testing.assert_allclose(jacobian, s2sad.jacrev(fun, target="python")(point, *rest), rtol=1e-13, atol=1e-15)


def test_nothing_is_set_that_a_short_row_may_not_have():
    made = text(as_long_as_it_is, 0)
    assert "range(2, p_bar.shape[0])" in made, made
    assert "p_bar[2] += " in made, made
    assert "[i, 2] = 0.0" not in made, made
    got = s2sad.jacrev(as_long_as_it_is)(POINTS[0][:2], 0)
    np.testing.assert_allclose(got, s2sad.jacrev(as_long_as_it_is, target="python")(POINTS[0][:2], 0))


def test_the_zeros_begin_behind_what_is_set():
    made = text(with_a_gap)
    assert "range(4, p_bar.shape[0])" in made, made
    assert "result_by_p[i, 2] = 0.0" in made, made
    assert "p_bar[1] = " in made, made
    assert "p_bar[3] += " in made, made


@pytest.mark.parametrize(("fun", "rest"), [(from_the_end, ()), (any_of_them_too, (2,))])
def test_items_that_may_be_others_are_added_to(fun, rest):
    made = text(fun, *rest)
    assert "range(p_bar.shape[0])" in made or "np.zeros" in made, made
