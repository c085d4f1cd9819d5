"""Rules of the user's own: they hold in both modes, on both targets, through calls and scopes."""

import math

import numpy as np
import pytest

import s2sad
from s2sad.errors import RuleError

TARGETS = ["python", "cpu"]


@s2sad.custom_vjp
def triple(x):
    return 2.0 * x


def triple_fwd(x):
    return 2.0 * x, x


def triple_bwd(x, g):
    return (3.0 * g,)


triple.defvjp(triple_fwd, triple_bwd)


@s2sad.custom_jvp
def bent(x, y):
    return np.sin(x) * y


@bent.defjvp
def bent_jvp(primals, tangents):
    x, y = primals
    x_dot, y_dot = tangents
    return np.sin(x) * y, 10.0 * x_dot + np.sin(x) * y_dot


def through_triple(x):
    return triple(x) * x


def through_bent(x):
    return np.sum(bent(x, x))


@pytest.mark.parametrize("target", TARGETS)
def test_reverse_rule(target):
    """The rule says 3 where the body says 2: the rule holds."""
    assert s2sad.grad(through_triple, target=target)(2.0) == 3.0 * 2.0 + 4.0


def test_direct():
    """The transform of the ruled function itself uses the rule."""
    assert s2sad.grad(triple)(5.0) == 3.0


@pytest.mark.parametrize("target", TARGETS)
def test_forward_rule_in_reverse(target):
    """A tangent rule alone serves reverse mode, by transposition."""
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(s2sad.grad(through_bent, target=target)(x), 10.0 + np.sin(x), rtol=1e-15)


def test_forward_rule_forward():
    """The same rule in forward mode."""
    x = np.array([1.0, 2.0])
    _, dot = s2sad.jvp(through_bent, (x,), (np.ones(2),))
    np.testing.assert_allclose(dot, np.sum(10.0 + np.sin(x)), rtol=1e-15)


def test_reverse_rule_has_no_jvp():
    """A reverse rule under jvp is a TypeError that says what to do."""
    with pytest.raises(TypeError, match="reverse-mode rule only"):
        s2sad.jvp(through_triple, (2.0,), (1.0,))


def test_scoped_rule_of_a_foreign_function():
    """A rule for `np.sinc` holds inside its `with`, and nowhere after."""
    def fun(x):
        return np.sinc(x) * 2.0

    before = s2sad.grad(fun)(0.3)
    with s2sad.rules():
        s2sad.defvjp(np.sinc, lambda x: (np.sinc(x), x), lambda x, g: (7.0 * g,))
        assert s2sad.grad(fun)(0.3) == 14.0
    assert s2sad.grad(fun)(0.3) == before
    x = 0.3
    exact = 2.0 * (math.cos(math.pi * x) - np.sinc(x)) / x
    np.testing.assert_allclose(before, exact, rtol=1e-13)


def test_wrong_number_of_cotangents():
    """A rule that returns too few cotangents is named."""
    @s2sad.custom_vjp
    def product(x, y):
        return x * y

    product.defvjp(lambda x, y: (x * y, (x, y)), lambda res, g: (g * res[1],))
    with pytest.raises(RuleError, match="2 cotangents"):
        s2sad.grad(lambda x: product(x, 3.0))(2.0)


def test_stop_gradient():
    """No derivative flows through `stop_gradient`."""
    assert s2sad.grad(lambda x: x * s2sad.stop_gradient(x))(3.0) == 3.0
