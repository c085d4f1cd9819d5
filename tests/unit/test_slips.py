"""Slips that users make are told where they stand; what looks like one and is right works."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft

import s2sad
from s2sad.api.known import constant, refuse_constants
from s2sad.api.structure import describe
from s2sad.implicit import fixed_point
from tests.differences import assert_derivatives

X = np.array([0.3, 1.2, 2.0])


def new_axes_of_numbers(x):
    e = np.exp(x - x.max(-1)[..., None])
    s = np.sum(x**2)
    return (e / e.sum(-1)[..., None])[0] + np.sum(s[None, None] * x)


def a_number_as_a_matrix(x):
    s = np.sum(x**2)
    return np.linalg.inv(s.reshape(1, 1))[0, 0] * s * s + np.expand_dims(s, 0)[0] * s


def frequencies_of_a_spacing(x):
    k = 2 * np.pi * np.fft.fftfreq(8, (x[0] + 3.0) / 8)
    return np.sum(k**3 + k) + np.sum(np.fft.rfftfreq(7, d=x[1]) ** 2) + np.sum(scipy.fft.rfftfreq(6, 1 / x[2]) ** 2)


def the_nearest_under_a_condition(x):
    q = x[1]
    for _ in range(3):
        if x[2] > 0.7:
            q = min([x[0], q, 1.3], key=lambda t: (t - 0.5) ** 2)
    return q * x[0]


def a_name_of_two_ranks(x):
    y = x * 2
    y = y.sum()
    for _ in range(2):
        z = x * y
        z = z @ x
        y = y + z
    return y


def a_border_of_four_numbers(x):
    a = x[:, None] * x
    return np.sum(np.pad(a, ((1, 0), (0, 2)), constant_values=((1, 2), (3, 4))) ** 2) + np.sum(
        np.pad(a, 1, constant_values=(0.5, 2.0))[0] * 2.0
    )


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("f", [
    a_border_of_four_numbers, new_axes_of_numbers, a_number_as_a_matrix, frequencies_of_a_spacing,
    the_nearest_under_a_condition, a_name_of_two_ranks,
])  # fmt: skip
def test_right(f, target):
    assert_derivatives(f, X, target)
    np.testing.assert_allclose(s2sad.jacfwd(f, target=target)(X), s2sad.grad(f, target="python")(X), rtol=1e-9)


def test_a_constant_exponent_less_one_is_written_so():
    def cube(x):
        k = 3
        return x**k

    derived = s2sad.differentiate(cube, target="python")
    assert derived.grad(2.0) == 12.0
    assert "x ** (k - 1)" in derived.source("grad")


def test_second_derivatives_of_a_fixed_point_of_a_lambda():
    def root(a):
        return fixed_point(lambda a, x: 0.5 * (x + a / x), a, 1.0)

    np.testing.assert_allclose(s2sad.grad(s2sad.grad(root), target="python")(0.7), -0.25 * 0.7**-1.5, rtol=1e-9)


def test_an_array_without_axes_is_no_constant():
    value = np.array(2.5)
    known = constant(describe(value, "x"), value)
    with pytest.raises(s2sad.NotDifferentiableError, match="has no cotangent"):
        refuse_constants((known,), (value,))


def inner_needs_more(x):
    def scaled(a, b):
        return a * b

    return scaled(x[0])


def rebound_on_the_way(x):
    s = _State(x)
    s.u *= _renewed(s, x[2])
    return s.u @ x


class _State:
    def __init__(self, x):
        self.u = x.copy()


def _renewed(s, v):
    s.u = np.array([2.0, 1.0, v])
    return v


@pytest.mark.parametrize(("f", "says"), [
    (lambda x: x.sum, "a function cannot be a result"), (lambda x: print(x), "returns None, which has no gradient"),
    (lambda x: max(x[None] * x[:, None])[0], "goes over the rows of this array"),
    (lambda x: np.concatenate(x[:1], x[1:]).sum(), r"Write `np.concatenate\(\(a, b\)\)`"),
    (lambda x: np.vstack(x, x).sum(), "takes its arrays in one tuple or list"),
    (lambda x: float(f"{x[0]:.3f}") * x[1], "this text is not known before the function runs"),
    (inner_needs_more, "`scaled` needs its argument `b`"), (rebound_on_the_way, "gives another array to the place"),
])  # fmt: skip
def test_told(f, says):
    with pytest.raises(s2sad.S2SADError, match=says):
        s2sad.grad(f, target="python")(X)


def test_the_version_is_known():
    assert s2sad.__version__.count(".") >= 1


def test_what_a_function_raises_can_be_caught_as_that():
    def f(x, mode):
        if mode == "sum":
            return x.sum()
        raise NotImplementedError(f"unknown mode {mode}")

    with pytest.raises(NotImplementedError, match="unknown mode"):
        s2sad.grad(f, target="python")(X, "product")
    with pytest.raises(s2sad.ArgumentError):
        s2sad.grad(f, target="python")(X, "product")
