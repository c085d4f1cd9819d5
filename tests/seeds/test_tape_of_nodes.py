"""A tape of nodes, as in the Julia text: a quadratic form, operators of one's own, a trace of a product."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import s2sad
from s2sad import grad, value_and_grad, vjp
from s2sad.errors import ArgumentError, MissingRuleError

BOTH = pytest.mark.parametrize("target", ["python", "cpu"])


def quadratic(x, A, b, c):
    z1 = x.T
    z2 = z1 @ A
    y1 = z2 @ x
    y2 = np.dot(b, x)
    return y1 + y2 + c


@BOTH
def test_quadratic_form(target):
    """y = xᵀAx + b·x + c: each variable gets its derivative, `x` the sum over its three uses."""
    x, b, c = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -1.0]), 4.0
    A = np.array([[2.0, 1.0, 0.0], [-1.0, 3.0, 0.5], [0.2, 0.0, 1.0]])
    value, bars = value_and_grad(quadratic, (0, 1, 2, 3), target=target)(x, A, b, c)
    np.testing.assert_allclose(value, x @ A @ x + b @ x + c, rtol=1e-15)
    for found, exact in zip(bars, ((A + A.T) @ x + b, np.outer(x, x), x, 1.0), strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-15)


def trace_of_product(x1, x2):
    return np.trace(x1 @ x2)


def by_hand(x1, x2):
    """The text's own baseline: the identity through the product."""
    grad_z1 = np.eye(len(x1))
    return grad_z1 @ x2.T, x1.T @ grad_z1


@BOTH
def test_trace_of_a_product(target):
    """The benchmark's tr(x1 x2) on 30 × 30: the gradients are x2ᵀ and x1ᵀ, as by hand."""
    x1, x2 = np.random.default_rng(0).uniform(size=(2, 30, 30))
    found = grad(trace_of_product, (0, 1), target=target)(x1, x2)
    for one, hand, exact in zip(found, by_hand(x1, x2), (x2.T, x1.T), strict=True):
        np.testing.assert_allclose(one, hand, rtol=1e-14)
        np.testing.assert_allclose(one, exact, rtol=1e-14)


def test_gradients_accumulate():
    """A variable that is used several times gets the sum, as `x.grad += grad` does."""
    x = np.arange(9.0).reshape(3, 3)
    found = grad(lambda x: np.trace(x @ x) + np.trace(x))(x)
    np.testing.assert_allclose(found, 2 * x.T + np.eye(3), rtol=1e-15)


@BOTH
def test_sine(target):
    """`gradient(::typeof(sin), grad, output, x) = grad * cos(x)`, for numbers and broadcast."""
    assert grad(np.sin, target=target)(0.7) == math.cos(0.7)
    x, g = np.array([0.1, 0.2, -3.0]), np.array([1.0, 5.0, -2.0])
    np.testing.assert_array_equal(vjp(np.sin, x, target=target)[1](g)[0], g * np.cos(x))


def test_constants_pass_through():
    """`Variable(2.0) + 3.0`: a constant takes no part; the value is theirs."""
    assert value_and_grad(lambda x: x + 3.0)(2.0) == (5.0, 1.0)


@dataclass
class Linear:
    """An operator with variables of its own."""

    w: object
    b: object


def apply_linear(op, x):
    return op.w @ x + op.b


@BOTH
def test_operator_with_variables(target):
    """The gradient by an operator holds those of its matrix and its vector."""
    op, x = Linear(np.array([[1.0, 2.0], [0.5, -1.0]]), np.array([0.1, 0.2])), np.array([3.0, 4.0])
    op_bar, x_bar = grad(lambda op, x: np.sum(apply_linear(op, x) ** 2), (0, 1), target=target)(op, x)
    g = 2 * (op.w @ x + op.b)
    assert isinstance(op_bar, Linear)
    np.testing.assert_allclose(op_bar.w, np.outer(g, x), rtol=1e-15)
    np.testing.assert_allclose(op_bar.b, g, rtol=1e-15)
    np.testing.assert_allclose(x_bar, op.w.T @ g, rtol=1e-15)


def test_operator_with_a_rule():
    """An operator may bring its gradient along."""

    @s2sad.custom_vjp
    def linear(op, x):
        return op.w @ x + op.b

    def fwd(op, x):
        return linear(op, x), (op, x)

    def bwd(residuals, g):
        op, x = residuals
        return Linear(np.outer(g, x), 100.0 * g), op.w.T @ g

    linear.defvjp(fwd, bwd)
    op, x = Linear(np.eye(2), np.zeros(2)), np.array([3.0, 4.0])
    op_bar = grad(lambda op: np.sum(linear(op, x)))(op)
    np.testing.assert_array_equal(op_bar.w, np.outer(np.ones(2), x))
    np.testing.assert_array_equal(op_bar.b, [100.0, 100.0])


class TestFriendlyErrors:
    """What the text checks on the way back is checked, and says what was expected and received."""

    def test_type_of_the_gradient(self):
        """A gradient of another type than the output."""
        pullback = vjp(np.sin, np.ones(3))[1]
        with pytest.raises(ArgumentError, match=r"expected dtype float64.*got dtype complex128"):
            pullback(np.ones(3, complex))

    def test_size_of_the_gradient(self):
        """A gradient of another size than the output."""
        pullback = vjp(np.sin, np.ones(3))[1]
        with pytest.raises(ArgumentError, match=r"shape \(3,\).*shape \(4,\)"):
            pullback(np.ones(4))

    def test_other_layouts_are_taken(self):
        """Only dtype and dimensions count: a view with strides is as good as an array."""
        pullback = vjp(np.sin, np.zeros(3))[1]
        np.testing.assert_array_equal(pullback(np.arange(6.0)[::2])[0], [0.0, 2.0, 4.0])

    def test_no_gradient_is_defined(self):
        """An operator without a gradient: the error shows how to define one."""
        with pytest.raises(MissingRuleError, match="`kaiser` has no derivative rule") as caught:
            grad(lambda x: np.kaiser(3, x)[0])(1.0)
        assert "s2sad.defvjp(np.kaiser, fwd, bwd)" in str(caught.value)


RULES = {
    np.exp: np.exp, np.log: lambda x: 1 / x, np.cos: lambda x: -np.sin(x), np.tan: lambda x: 1 + np.tan(x) ** 2,
    np.sqrt: lambda x: 0.5 / np.sqrt(x), np.sinh: np.cosh, np.tanh: lambda x: 1 - np.tanh(x) ** 2,
    np.arcsin: lambda x: 1 / np.sqrt(1 - x * x), np.arctan: lambda x: 1 / (1 + x * x), np.abs: np.sign,
    np.log1p: lambda x: 1 / (1 + x), np.expm1: np.exp, np.cbrt: lambda x: 1 / (3 * np.cbrt(x) ** 2),
}  # fmt: skip


@pytest.mark.parametrize("fn", RULES, ids=lambda fn: fn.__name__)
def test_operators_for_free(fn):
    """The table of elementary functions serves numbers and arrays, `abs` among them."""
    x = np.array([0.3, 0.6, 0.9])
    pulled = vjp(fn, x, target="python")[1](np.array([1.0, -2.0, 3.0]))[0]
    np.testing.assert_allclose(pulled, RULES[fn](x) * [1.0, -2.0, 3.0], rtol=1e-14)
    np.testing.assert_allclose(grad(fn, target="python")(0.4), RULES[fn](0.4), rtol=1e-14)


def test_two_operands_broadcast():
    """Of two operands each gets the sum over what it was broadcast to."""
    x, y = np.array([1.0, 2.0, 3.0]), np.array([[0.5], [2.0]])
    x_bar, y_bar = grad(lambda x, y: np.sum(x**y), (0, 1), target="python")(x, y)
    np.testing.assert_allclose(x_bar, np.sum(y * x ** (y - 1), axis=0), rtol=1e-14)
    np.testing.assert_allclose(y_bar, np.sum(x**y * np.log(x), axis=1, keepdims=True), rtol=1e-14)
