"""Second derivatives of what takes a road of its own: several results, tapes of arrays, recursion, parts of numbers."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from s2sad.errors import NotDifferentiableError
from tests.differences import also_on, differences

A = np.array([[0.9, -0.3, 0.4], [0.2, 1.1, -0.5], [-0.6, 0.1, 1.3]])
V = np.array([1.3, -0.6, 2.7, 0.4])


def largest_singular_value(a):
    return np.linalg.norm(a, 2) + np.linalg.norm(a, "nuc") + np.linalg.norm(a.ravel())


def condition(a):
    return np.linalg.cond(a)


def cubes_of_singular_values(a):
    return (np.linalg.svd(a)[1] ** 3).sum()


def fitted_line(y):
    return (np.polyfit(np.arange(4.0), y, 1) ** 2).sum() * y[0]


def products_in_place(x):
    x = x.copy()
    for _ in range(2):
        x[1:] *= x[:-1]
    return x.sum()


def halves(x):
    def merged(a):
        if len(a) == 1:
            return a
        return np.concatenate((merged(a[::2]), 2 * merged(a[1::2])))

    return merged(x) @ (x * x)


def parts_of_complex_numbers(x):
    z = x * (1.0 + 0.5j)
    z.imag[1] = 2.0 * x[0]
    z.real[0] += x[1] ** 2
    z.imag[2:] *= x[2]
    return np.sum(np.abs(z) ** 2)


PROGRAMS = [
    (largest_singular_value, A), (condition, A), (cubes_of_singular_values, A), (fitted_line, V),
    (products_in_place, V), (halves, V), (parts_of_complex_numbers, V),
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(("fun", "x"), PROGRAMS)
def test_gradient_and_hessian(fun, x, target):
    np.testing.assert_allclose(s2sad.grad(fun, target=target)(x), differences(fun, x), rtol=1e-6, atol=1e-6)
    curvature = differences(s2sad.grad(fun, target="python"), x)
    compiled = also_on(target, fun, 2)
    np.testing.assert_allclose(s2sad.hessian(fun, target=compiled)(x), curvature, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("fun", "x"), [(products_in_place, V), (halves, V)])
def test_reverse_over_reverse(fun, x):
    twice = s2sad.jacrev(s2sad.grad(fun, target="python"), target="python")
    curvature = differences(s2sad.grad(fun, target="python"), x)
    np.testing.assert_allclose(twice(x), curvature, rtol=1e-6, atol=1e-6)


def squares(x):
    return [t * t for t in x]


@pytest.mark.parametrize("transform", [s2sad.jacfwd, s2sad.jacrev, lambda f, **kw: lambda x: s2sad.vjp(f, x, **kw)])
def test_a_list_of_unknown_length_has_no_cotangent(transform):
    out, out_dot = s2sad.jvp(squares, (V,), (np.ones(4),), target="python")
    np.testing.assert_allclose((out, out_dot), (V * V, 2 * V))
    with pytest.raises(NotDifferentiableError, match="a list of unknown length"):
        transform(squares, target="python")(V)


def mirrored(u):
    u[0] = u[1]
    u[-1] = u[-2]


def rate(u):
    mirrored(u)
    change = np.zeros_like(u)
    change[1:-1] = u[2:] * u[:-2] - u[1:-1]
    return change


def stepped_with_borders_that_are_filled_in_place(u0):
    u, t = u0.copy(), 0.0
    while t < 0.25:
        middle = u + 0.1 * rate(u)
        u = 0.5 * (u + middle + 0.1 * rate(middle))
        t += 0.1
    return np.sum(u**2)


def kept_from_turn_to_turn(u0):
    past, u = [], u0.copy()
    for _ in range(3):
        u[0] = u[1] * u[2]
        past.append(u)
        u = u * u
    return sum([np.sum(v**2) for v in past]) + np.sum(u)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [stepped_with_borders_that_are_filled_in_place, kept_from_turn_to_turn])
def test_what_the_first_turn_works_on_is_kept_apart_from_what_later_ones_do(fun, target):
    x = np.array([0.5, 0.7, 1.1, 0.9, 0.4])
    again = s2sad.jacrev(s2sad.grad(fun), target=target)(x)
    np.testing.assert_allclose(again, s2sad.hessian(fun, target="python")(x), rtol=1e-12, atol=1e-13)
    if target == "python":
        s2sad.check_grads(s2sad.grad(fun, target="python"), (x,))
