"""Second derivatives through rules that do not say the truth: those of what the rule says, in every nesting."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad


@s2sad.custom_jvp
def thrice(x):
    return np.exp(x)


thrice.defjvp(lambda primals, tangents: (np.exp(primals[0]), 3.0 * np.exp(primals[0]) * tangents[0]))


@s2sad.custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, None), lambda _, bar: (np.clip(bar, -0.5, 0.5),))


@s2sad.custom_vjp
def by_itself(x):
    return x * x


by_itself.defvjp(lambda x: (by_itself(x), x), lambda x, bar: (5.0 * x * bar,))


@s2sad.custom_vjp
def rounded(x):
    return np.round(x)


rounded.defvjp(lambda x: (np.round(x), None), lambda _, bar: (bar,))


def squared(x):
    return thrice(x) ** 2


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_every_nesting_gives_the_same(target):
    # d/dx (2 exp(x) * 3 exp(x)) = 12 exp(2x)
    wanted = 12.0 * np.exp(1.0)
    first = s2sad.grad(squared, target=target)
    forward = s2sad.jacfwd(squared, target=target)
    found = [
        s2sad.grad(first, target=target)(0.5),
        s2sad.jvp(first, (0.5,), (1.0,), target=target)[1],
        s2sad.grad(forward, target=target)(0.5),
        s2sad.jacfwd(forward, target=target)(0.5),
        s2sad.jacrev(s2sad.jacrev(squared, target=target), target=target)(0.5),
        s2sad.hessian(squared, target=target)(0.5),
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_clipped_gradient(target):
    cubed = s2sad.grad(lambda x: clipped(x) ** 3, target=target)
    assert cubed(0.3) == pytest.approx(0.27)
    assert s2sad.grad(cubed, target=target)(0.3) == pytest.approx(1.8)


def test_rule_that_calls_its_function():
    first = s2sad.grad(lambda x: by_itself(x) ** 2, target="python")
    assert first(3.0) == pytest.approx(2 * 9 * 15)
    # d/dx (2 f(x) * 5x), f'(x) = 5x by the rule again
    assert s2sad.grad(first, target="python")(3.0) == pytest.approx(2 * 15 * 15 + 2 * 9 * 5)


def test_rounding_that_lets_gradients_through():
    x = np.array([0.1, -1.2, 2.2])
    first = s2sad.grad(lambda x: np.sum(rounded(x) ** 3), target="python")
    np.testing.assert_allclose(first(x), 3 * np.round(x) ** 2)
    np.testing.assert_allclose(s2sad.jacrev(first, target="python")(x), np.zeros((3, 3)))
