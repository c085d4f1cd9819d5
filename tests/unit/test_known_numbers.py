"""Numbers that an operation must know, axes and orders, are made constants where they are passed as arguments."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from s2sad.errors import UnsupportedSyntaxError
from tests.differences import assert_derivatives

MATRIX = np.arange(9.0).reshape(3, 3) + 1.0


def differences(fun, x, *rest):
    """Return the central differences of `fun` in `x`."""
    bar, step = np.zeros_like(x), 1e-6
    for at in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[at] += step
        down[at] -= step
        bar[at] = (fun(up, *rest) - fun(down, *rest)) / (2 * step)
    return bar


def along(x, axis=1):
    return np.sum(np.sum(x, axis) ** 2)


def total(a, axis):
    return np.sum(a, axis=axis)


def through_a_helper(x, axis):
    return np.sum(total(x, axis) ** 2)


def p_norm(x, p=2):
    return np.linalg.norm(x[0], p)


def axes_in_a_loop(x):
    s = 0.0
    for axis in range(x.ndim):
        s += np.sum(np.diff(x, axis=axis) ** 2)
    return s


def parts(x, n):
    return np.sum(np.split(x, n)[1] ** 2)


def axis_and_count(x, n, axis):
    s = 0.0
    for _ in range(n):
        s += np.sum(np.sum(x, axis=axis) ** 3)
    return s


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    ("fun", "rest"),
    [
        (along, ()), (along, (0,)), (through_a_helper, (1,)), (p_norm, ()), (p_norm, (np.inf,)), (p_norm, (3,)),
        (axes_in_a_loop, ()), (parts, (3,)), (axis_and_count, (2, 0)),
    ],
)  # fmt: skip
def test_gradient(fun, rest, target):
    np.testing.assert_allclose(
        s2sad.grad(fun, target=target)(MATRIX, *rest), differences(fun, MATRIX, *rest), rtol=1e-6, atol=1e-6
    )


def test_each_value_has_a_specialisation_of_its_own():
    gradient = s2sad.grad(along, target="python")
    for _ in range(2):
        for axis in (0, 1, np.int64(0), -1):
            np.testing.assert_allclose(gradient(MATRIX, axis), differences(along, MATRIX, axis), rtol=1e-6)


def test_only_what_must_be_known_is_made_a_constant():
    function = s2sad.differentiate(axis_and_count, target="python")
    function.grad(MATRIX, 2, 1)
    text = function.source("grad")
    assert "def axis_and_count_grad(x, n):" in text
    assert "axis=1" in text


def test_every_transform():
    dot, x_bar = np.ones((3, 3)), differences(along, MATRIX, 0)
    np.testing.assert_allclose(s2sad.jvp(along, (MATRIX, 0), (dot, None), target="python")[1], np.sum(x_bar), rtol=1e-6)
    bars = s2sad.vjp(along, MATRIX, 0, target="python")[1](1.0)
    np.testing.assert_allclose(bars[0], x_bar, rtol=1e-6)
    assert bars[1] is None
    push = s2sad.linearize(along, MATRIX, 0, target="python")[1]
    np.testing.assert_allclose(push(dot, None), np.sum(x_bar), rtol=1e-6)
    batch = np.stack([MATRIX, MATRIX * 2])
    values = s2sad.vmap(along, in_axes=(0, None), target="python")(batch, 1)
    np.testing.assert_allclose(values, [along(MATRIX), along(MATRIX * 2)])
    second = s2sad.hessian(along, target="python")(MATRIX, 1)
    assert second.shape == (3, 3, 3, 3)
    assert second[0, 1, 0, 2] == 2.0


def test_what_constants_do_not_mend_is_said_as_before():
    def reads(x, n):
        with open("name") as file:
            return x * n * len(file.read())

    with pytest.raises(UnsupportedSyntaxError, match="context manager"):
        s2sad.grad(reads, target="python")(1.0, 2)


def test_a_differentiated_number_stays_one():
    def curved(x, p):
        return np.sum(np.abs(x) ** p)

    bar = s2sad.grad(curved, argnums=1, target="python")(MATRIX, 2.0)
    np.testing.assert_allclose(bar, np.sum(MATRIX**2 * np.log(MATRIX)))


@pytest.mark.parametrize(
    "fun",
    [
        lambda x, n: np.sum(np.vander(x, n)),
        lambda x, n: np.sum(np.arange(1.0, n + 1.0) * x[0] ** 2),
        lambda x, n: np.sum(np.tri(n) * x[0] ** 2),
        lambda x, n: np.sum(np.bartlett(n + 1) * x[1] ** 2),
    ],
)
def test_a_length_that_an_argument_gives_is_not_a_known_one(fun):
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(s2sad.grad(fun, target="python")(x, 4), differences(fun, x, 4), rtol=1e-6)


EDGES = {(0, 1): 0, (1, 2): 1, (0, 2): 2}
NEIGHBOURS = [[1, 2], [0, 2], [1, 0]]


def weights_of_edges(x):
    total = 0.0
    for i in range(3):
        for j in NEIGHBOURS[i]:
            total += (i + 1) * x[EDGES[min(i, j), max(i, j)]] ** 2
            total += x[EDGES[tuple(sorted([i, j]))]]
    return total


def test_the_lesser_of_two_known_numbers_is_known():
    x = np.array([0.4, -0.3, 0.7])
    found = s2sad.grad(weights_of_edges, target="python")(x)
    np.testing.assert_allclose(found, differences(weights_of_edges, x), rtol=1e-6)


def polynomial(a, b, c=1.0):
    return a + 2.0 * b + 3.0 * c


def starred(theta, scale, x):
    return polynomial(*np.exp(theta)) * scale * np.sum(x)


def test_a_number_stays_one_where_the_length_of_an_array_must_be_known():
    gradient = s2sad.grad(starred, argnums=(0, 1))
    theta = np.array([0.1, 0.2])
    for x in (np.ones(3), [1.0, 2.0]):
        for scale in (0.5, 0.7):
            _, by_scale = gradient(theta, scale, x)
            np.testing.assert_allclose(by_scale, starred(theta, 1.0, x))
    by_theta = s2sad.grad(starred)
    for k in range(4):
        by_theta(theta, 0.1 * k, np.ones(3))
        by_theta(theta, 0.1 * k, [1.0, 2.0])
    assert len(by_theta.store.known()) == 2


def fractions_of_whole_numbers(x):
    n = 3
    return x[0] * 2**-2 + x[1] * 2**-n


def remainders_of_powers(x):
    total = x[0] * pow(3, 4, 5)
    for i in range(int(x[0] + 4)):
        total += x[pow(3, i, 2)] * x[1]
    return total


def truth_values_as_numbers(x):
    unit = [[float(i == j) for j in (0, 1)] for i in (0, 1)]
    return x[0] * unit[0][0] + unit[0][1] + x[1] * float(x[1] > 0.1) + x[1] * float(len("ab") == 2)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [fractions_of_whole_numbers, remainders_of_powers, truth_values_as_numbers])
def test_whole_numbers_that_become_others(fun, target):
    assert_derivatives(fun, np.array([0.7, 1.3]), target)


def test_numbers_that_64_bits_do_not_hold_are_refused_when_compiled():
    def chosen(x):
        return x * math.comb(int(x) + 70, 35)

    with pytest.raises(ValueError, match="too large for 64 bits"):
        s2sad.grad(chosen, target="cpu")(0.5)
