"""Rules that the compiler cannot read: target "python" runs them as they are, through every transform."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2sad
from s2sad import grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp, vmap

P: Any = {"target": "python"}
X = np.array([0.5, -1.0, 2.0])


def remembering_sine() -> tuple[Any, list[Any]]:
    """A sine whose adjoint rule says 3 cos, and remembers what it saw."""
    seen: list[Any] = []

    @s2sad.custom_vjp
    def sine(x):
        return np.sin(x)

    def bwd(x, g):
        seen.append((x, g))
        return (3.0 * np.cos(x) * g,)

    sine.defvjp(lambda x: (np.sin(x), x), bwd)
    return sine, seen


def remembering_tangent() -> tuple[Any, list[Any]]:
    """A product whose tangent rule is ten times too large by its first argument, and remembers."""
    seen: list[Any] = []

    @s2sad.custom_jvp
    def product(x, y):
        return x * y

    @product.defjvp
    def product_jvp(primals, tangents):
        (x, y), (x_dot, y_dot) = primals, tangents
        seen.append(len(tangents))
        return x * y, 10.0 * x_dot * y + x * y_dot

    return product, seen


def test_values_at_run_time() -> None:
    """The rule gets the numbers of this run, once."""
    sine, seen = remembering_sine()
    assert grad(lambda x: sine(x) * 5.0, **P)(0.5) == pytest.approx(15.0 * np.cos(0.5), rel=1e-15)
    assert seen == [(0.5, 5.0)]


def test_arrays_loops_and_helpers() -> None:
    """In a loop, in a helper, on arrays; the primal's value is the function's."""
    sine, seen = remembering_sine()

    def helper(x):
        return sine(x) + x

    def fun(x):
        for _ in range(3):
            x = helper(x)
        return np.sum(x)

    value, bar = value_and_grad(fun, **P)(X)
    x, slope = X, np.ones(3)
    for _ in range(3):
        slope = slope * (3.0 * np.cos(x) + 1.0)
        x = np.sin(x) + x
    np.testing.assert_allclose(value, np.sum(x), rtol=1e-15)
    np.testing.assert_allclose(bar, slope, rtol=1e-14)
    assert len(seen) == 3


def test_transforms() -> None:
    """Pullbacks, Jacobians and maps."""
    sine, _ = remembering_sine()
    exact = 3.0 * np.cos(X)
    _, pullback = vjp(sine, X, **P)
    for scale in (1.0, 2.0):
        np.testing.assert_allclose(pullback(np.full(3, scale))[0], scale * exact, rtol=1e-15)
    np.testing.assert_allclose(jacrev(sine, **P)(X), np.diag(exact), rtol=1e-15)
    np.testing.assert_allclose(vmap(grad(sine, **P), **P)(X), exact, rtol=1e-15)
    np.testing.assert_allclose(grad(lambda x: np.sum(vmap(sine)(x)), **P)(X), exact, rtol=1e-15)


def test_tangent_rule_in_both_modes() -> None:
    """Forward as it stands; backward by pushing one unit per element, which is exact."""
    product, seen = remembering_tangent()
    y = np.array([3.0, 4.0, 5.0])
    assert jvp(product, (2.0, 3.0), (1.0, 1.0), **P) == (6.0, 32.0)
    assert jvp(product, (2.0, 3.0), (1.0, None), **P) == (6.0, 30.0)
    x_bar, y_bar = grad(lambda x, y: np.sum(product(x, y) * y), (0, 1), **P)(X, y)
    np.testing.assert_allclose(x_bar, 10.0 * y * y, rtol=1e-15)
    np.testing.assert_allclose(y_bar, 2.0 * X * y, rtol=1e-15)
    assert set(seen) == {2}
    np.testing.assert_allclose(jacfwd(lambda x: product(x, y), **P)(X), np.diag(10.0 * y), rtol=1e-15)


def test_tangent_rule_of_complex_numbers() -> None:
    """The transpose follows the convention for complex numbers, for maps that are not holomorphic too."""
    seen: list[Any] = []

    @s2sad.custom_jvp
    def mix(z):
        return z * 2j + np.conj(z)

    @mix.defjvp
    def mix_jvp(primals, tangents):
        seen.append(primals)
        return mix(primals[0]), tangents[0] * 2j + np.conj(tangents[0])

    z = np.array([0.5 + 1j, -2.0 + 0.25j])

    def loss(z, fun):
        return np.sum(np.abs(fun(z)) ** 2)

    found = grad(lambda z: np.sum(np.abs(mix(z)) ** 2), **P)(z)
    exact = grad(lambda z: np.sum(np.abs(z * 2j + np.conj(z)) ** 2), **P)(z)
    np.testing.assert_allclose(found, exact, rtol=1e-14)
    assert seen


def test_function_that_is_not_read() -> None:
    """The function too may be any Python; the type of its result is found on a sample."""

    @s2sad.custom_vjp
    def ranked(x, options):
        order = sorted(range(len(x)), key=lambda i: float(x[i]))
        return {"values": x[np.array(order)] * options["scale"], "least": float(x[order[0]])}

    def fwd(x, options):
        return ranked(x, options), (np.argsort(x), options["scale"])

    def bwd(residuals, bars):
        order, scale = residuals
        x_bar = np.zeros(len(order))
        x_bar[order] += bars["values"] * scale
        x_bar[order[0]] += bars["least"]
        return x_bar, None

    ranked.defvjp(fwd, bwd)
    weights = np.array([1.0, 10.0, 100.0])

    def fun(x):
        made = ranked(x, {"scale": 2.0})
        return np.sum(made["values"] * weights) + 1000.0 * made["least"]

    value, bar = value_and_grad(fun, **P)(np.array([3.0, 1.0, 2.0]))
    assert value == 2.0 * (1.0 + 20.0 + 300.0) + 1000.0
    np.testing.assert_array_equal(bar, [200.0, 1002.0, 20.0])


def test_containers_reach_the_rule_whole() -> None:
    """Dictionaries, tuples and strings arrive as the user made them."""
    seen: list[Any] = []

    @s2sad.custom_vjp
    def pick(p, name):
        return p["pair"][0] * p["pair"][1]

    def bwd(residuals, g):
        seen.append(residuals)
        p, _ = residuals
        return {"pair": (p["pair"][1] * g, None)}, None

    pick.defvjp(lambda p, name: (pick(p, name), (p, name)), bwd)
    found = grad(lambda p: pick(p, "left"), **P)({"pair": (2.0, 3.0)})
    assert found == {"pair": (3.0, 0.0)}
    assert seen == [({"pair": (2.0, 3.0)}, "left")]


def test_results_do_not_alias() -> None:
    """What a rule gives is copied: a rule that gives its own argument back harms nobody."""
    log: list[Any] = []

    @s2sad.custom_vjp
    def same(x):
        return x * 1.0

    def bwd(x, g):
        log.append(None)
        return (x,)

    same.defvjp(lambda x: (x * 1.0, x), bwd)
    point = X.copy()
    bar = grad(lambda x: np.sum(same(x)) + np.sum(x), **P)(point)
    np.testing.assert_array_equal(bar, X + 1.0)
    bar[:] = 9.0
    np.testing.assert_array_equal(point, X)


def test_two_rules_of_one_text() -> None:
    """Two functions made by one piece of code keep their own memories."""
    first, first_seen = remembering_sine()
    second, second_seen = remembering_sine()
    grad(first, **P)(0.5)
    grad(second, **P)(0.25)
    assert (first_seen, second_seen) == ([(0.5, 1.0)], [(0.25, 1.0)])


def test_second_derivatives_of_the_rest() -> None:
    """Only what the rule gives has no second derivative; forward over the rest is as always."""
    sine, _ = remembering_sine()
    H = hessian(lambda x: np.sum(x**3) + s2sad.stop_gradient(sine(x[0])), **P)(X)
    np.testing.assert_allclose(H, np.diag(6.0 * X), rtol=1e-14)
