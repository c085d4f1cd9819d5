"""Complex numbers, JAX's conventions: a map of C is a map of pairs of real numbers.

With the real Jacobian [[a, b], [c, d]] of (x, y) -> (u, v): the tangent of x_dot + i y_dot is
(a x_dot + b y_dot) + i (c x_dot + d y_dot), and the cotangent of p + i q is
(p a - q c) - i (p b - q d): no conjugation, so that dz gives the derivative of a holomorphic function.
"""

from __future__ import annotations

import cmath
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2sad
from s2sad.errors import NotDifferentiableError

grad = functools.partial(s2sad.grad, target="python")
jvp = functools.partial(s2sad.jvp, target="python")
vjp = functools.partial(s2sad.vjp, target="python")
BOTH = pytest.mark.parametrize("target", ["python", "cpu"])

Z = np.array([0.3 + 0.4j, -1.2 + 0.5j, 0.7 - 1.1j])
X = np.array([0.5, -0.8, 1.3])
M = np.array([[1.0 + 2j, 0.5j, 0.2], [0.1, 2.0 - 1j, 1j], [0.3 - 0.2j, 0.4, 1.5]])


def branching(z):
    total = 0j
    for i in range(z.size):
        if z[i].real > 0:
            total += z[i] ** 2
        else:
            total += np.conj(z[i]) * 3.0
    return total


def stored(z):
    out = np.zeros(z.size, dtype=np.complex128)
    for i in range(z.size):
        out[i] = z[i] * np.abs(z[i])
    out[0] = out[1] * 2j
    return out


def in_parts(z):
    x, y = np.real(z), np.imag(z)
    return (x * y + x**2) + 1j * np.sin(x + 2 * y)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "square": lambda z: z * z,
    "cube": lambda z: z**3,
    "power": lambda z: z**2.5,
    "exponent": lambda z: (1.5 + 0.5j) ** z,
    "quotient": lambda z: (1 + 2j) / (z + 2j),
    "reverse quotient": lambda z: z / (1.0 + np.abs(z)),
    "conjugate": np.conj,
    "real": np.real,
    "imaginary": np.imag,
    "attributes": lambda z: z.real * 2 + z.imag * z.conj(),
    "absolute": np.abs,
    "angle": np.angle,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "parts": in_parts,
    "sum": np.sum,
    "mean": np.mean,
    "matrix": lambda z: M @ z,
    "form": lambda z: z @ M @ np.conj(z),
    "dot": lambda z: np.dot(z, z),
    "outer": lambda z: np.outer(z, np.conj(z)),
    "where": lambda z: np.where(z.real > 0, z**2, np.conj(z)),
    "indexed": lambda z: z[::-1] * z[0],
    "branching": branching,
    "stored": stored,
    "stacked": lambda z: np.stack([z, np.conj(z) * 2j]),
    "real constant": lambda z: z * X,
    "norm": lambda z: np.sqrt(np.sum(np.abs(z) ** 2)),
}


def real_jacobian(fun: Callable[[Any], Any], z: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
    """Derivatives of the output's elements by the real and by the imaginary parts, by central differences."""
    step = 1e-6
    columns: list[list[Any]] = [[], []]
    for part, unit in enumerate((1.0, 1j)):
        for index in range(z.size):
            move = np.zeros(z.shape, complex)
            move.reshape(-1)[index] = unit * step
            ahead, behind = np.asarray(fun(z + move), complex), np.asarray(fun(z - move), complex)
            columns[part].append((ahead - behind).reshape(-1) / (2 * step))
    return np.stack(columns[0], axis=-1), np.stack(columns[1], axis=-1)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tangents_and_cotangents(name: str) -> None:
    """Both products against the map of pairs of real numbers."""
    fun = FUNCTIONS[name]
    by_x, by_y = real_jacobian(fun, Z)
    generator = np.random.default_rng(3)
    dot = generator.normal(size=3) + 1j * generator.normal(size=3)
    value, pushed = jvp(fun, (Z,), (dot,))
    np.testing.assert_allclose(value, fun(Z), rtol=1e-13)
    expected = by_x @ dot.real + by_y @ dot.imag
    np.testing.assert_allclose(np.reshape(pushed, -1), expected, rtol=1e-7, atol=1e-8)
    assert np.asarray(pushed).dtype == np.asarray(value).dtype
    bar = generator.normal(size=np.shape(value)) + 1j * generator.normal(size=np.shape(value))
    bar = bar if np.iscomplexobj(value) else bar.real
    seed = bar if np.ndim(value) else np.asarray(bar)[()]
    (pulled,) = vjp(fun, Z)[1](seed)
    row = np.reshape(bar, -1)
    expected = np.real(row @ by_x) - 1j * np.real(row @ by_y)
    np.testing.assert_allclose(pulled, expected, rtol=1e-7, atol=1e-8)
    assert pulled.dtype == np.complex128
    np.testing.assert_allclose(np.real(np.sum(row * np.reshape(pushed, -1))), np.real(np.sum(pulled * dot)), rtol=1e-12)


@pytest.mark.parametrize("name", ["square", "quotient", "absolute", "exp", "parts", "matrix", "branching", "stored"])
def test_compiled(name: str) -> None:
    """Machine code follows the same conventions."""
    fun = FUNCTIONS[name]
    value, pullback = s2sad.vjp(fun, Z)
    bar = np.ones_like(value) * (0.7 if not np.iscomplexobj(value) else 0.7 - 0.2j)
    seed = bar if np.ndim(value) else bar[()]
    np.testing.assert_allclose(pullback(seed)[0], vjp(fun, Z)[1](seed)[0], rtol=1e-13)


HOLOMORPHIC: dict[Callable[[Any], Any], Callable[[Any], Any]] = {
    np.exp: np.exp, np.log: lambda z: 1 / z, np.sqrt: lambda z: 0.5 / np.sqrt(z), np.sin: np.cos,
    np.tanh: lambda z: 1 - np.tanh(z) ** 2, np.arctan: lambda z: 1 / (1 + z * z), np.square: lambda z: 2 * z,
    np.arcsin: lambda z: 1 / np.sqrt(1 - z * z), np.reciprocal: lambda z: -1 / z**2,
    cmath.exp: cmath.exp, cmath.sqrt: lambda z: 0.5 / cmath.sqrt(z),
}  # fmt: skip


@pytest.mark.parametrize("fun", HOLOMORPHIC, ids=lambda fun: f"{fun.__module__}.{fun.__name__}")
def test_holomorphic_derivatives(fun: Any) -> None:
    """`grad(f, holomorphic=True)` is f', and its own derivative f''."""
    z = 0.3 + 0.4j
    np.testing.assert_allclose(grad(fun, holomorphic=True)(z), HOLOMORPHIC[fun](z), rtol=1e-13)
    step = 1e-6
    second = (HOLOMORPHIC[fun](z + step) - HOLOMORPHIC[fun](z - step)) / (2 * step)
    found = grad(grad(fun, holomorphic=True), holomorphic=True)(z)
    np.testing.assert_allclose(found, second, rtol=1e-8)


@BOTH
def test_real_output(target: str) -> None:
    """|z|² at 3 + 4i has the gradient 6 - 8i, however it is written."""
    for fun in (
        lambda z: np.real(z) ** 2 + np.imag(z) ** 2,
        lambda z: np.abs(z) ** 2,
        lambda z: np.real(z * np.conj(z)),
        lambda z: (z * z.conjugate()).real,
    ):
        np.testing.assert_allclose(s2sad.grad(fun, target=target)(3.0 + 4j), 6.0 - 8.0j, rtol=1e-15)


@BOTH
def test_absolute_value_at_zero(target: str) -> None:
    """There is no direction at 0: the derivative is 0, as for real numbers."""
    found = s2sad.grad(lambda z: np.sum(np.abs(z)), target=target)(np.array([0j, 3 + 4j]))
    np.testing.assert_allclose(found, [0.0, 0.6 - 0.8j], rtol=1e-15)


class TestMixtures:
    """Real and complex numbers together: every cotangent is of its argument's kind."""

    def test_real_argument_of_a_complex_result(self) -> None:
        """R → C: the tangent is complex, the cotangent real."""

        def fun(x):
            return np.exp(1j * x) * (2 - 1j)

        value, dot = jvp(fun, (X,), (np.ones(3),))
        np.testing.assert_allclose(dot, 1j * value, rtol=1e-15)
        (bar,) = vjp(fun, X)[1](np.full(3, 0.5 + 2j))
        assert bar.dtype == np.float64
        np.testing.assert_allclose(bar, np.real((0.5 + 2j) * 1j * value), rtol=1e-14)

    @BOTH
    def test_real_weights(self, target: str) -> None:
        """Real weights in a complex model with a real loss get real gradients."""

        def loss(w, z):
            return np.sum(np.abs(w * z - 1.0) ** 2)

        w_bar, z_bar = s2sad.grad(loss, (0, 1), target=target)(X, Z)
        assert (w_bar.dtype, z_bar.dtype) == (np.float64, np.complex128)
        np.testing.assert_allclose(w_bar, 2 * np.real(np.conj(X * Z - 1.0) * Z), rtol=1e-14)
        np.testing.assert_allclose(z_bar, 2 * X * np.conj(X * Z - 1.0), rtol=1e-14)

    @BOTH
    def test_scalars(self, target: str) -> None:
        """A Python float gets a float, a complex a complex."""
        found = s2sad.grad(lambda x, z: np.real(x * z * z), (0, 1), target=target)(2.0, 1 + 3j)
        assert [type(value) for value in found] == [float, complex]
        assert found == (-8.0, 4 + 12j)

    def test_containers(self) -> None:
        """A dictionary of both."""
        found = grad(lambda p: np.sum(np.real(p["x"] * p["z"])))({"x": X, "z": Z})
        np.testing.assert_allclose(found["x"], Z.real, rtol=1e-15)
        np.testing.assert_allclose(found["z"], X, rtol=1e-15)

    def test_single_precision(self) -> None:
        """complex64 stays complex64, float32 stays float32."""
        z, x = Z.astype(np.complex64), X.astype(np.float32)
        found = grad(lambda z, x: np.sum(np.abs(z * x) ** 2), (0, 1))(z, x)
        assert [value.dtype for value in found] == [np.complex64, np.float32]
        np.testing.assert_allclose(found[0], 2 * X**2 * np.conj(Z), rtol=1e-6)

    def test_second_order(self) -> None:
        """The Hessian of a real function through complex numbers is real and symmetric."""

        def fun(x):
            z = np.exp(1j * x) * x
            return np.sum(np.real(z) ** 2 * np.imag(z))

        H = s2sad.hessian(fun, target="python")(X)
        assert H.dtype == np.float64
        t = X
        inner = t**3 * np.cos(t) ** 2 * np.sin(t)
        step = 1e-4

        def f(t):
            return t**3 * np.cos(t) ** 2 * np.sin(t)

        second = (f(t + step) - 2 * inner + f(t - step)) / step**2
        np.testing.assert_allclose(np.diag(H), second, rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(H - np.diag(np.diag(H)), np.zeros((3, 3)))


class TestRefusals:
    """What has no single complex derivative is refused, by name."""

    def test_complex_output(self) -> None:
        """A complex output needs the promise."""
        with pytest.raises(NotDifferentiableError, match="holomorphic=True") as caught:
            grad(lambda z: z * z)(1j)
        assert isinstance(caught.value, TypeError)

    def test_promise_of_a_real_function(self) -> None:
        """The promise needs complex arguments and a complex output."""
        with pytest.raises(NotDifferentiableError, match="complex arguments"):
            grad(lambda x: x * x, holomorphic=True)(1.0)
        with pytest.raises(NotDifferentiableError, match="complex output"):
            grad(lambda z: np.abs(z), holomorphic=True)(1j)

    def test_jacobians(self) -> None:
        """`jacfwd` takes real arguments, `jacrev` real outputs, without the promise."""
        with pytest.raises(NotDifferentiableError, match="real arguments"):
            s2sad.jacfwd(np.sin, target="python")(Z)
        with pytest.raises(NotDifferentiableError, match="real outputs"):
            s2sad.jacrev(np.sin, target="python")(Z)
        for transform in (s2sad.jacfwd, s2sad.jacrev):
            J = transform(lambda z: M @ np.sin(z), holomorphic=True, target="python")(Z)
            np.testing.assert_allclose(J, M * np.cos(Z), rtol=1e-14)

    def test_real_jacobian_of_a_complex_argument(self) -> None:
        """`jacrev` of C → R needs no promise: the gradient of each output."""
        J = s2sad.jacrev(lambda z: np.abs(z) ** 2, target="python")(Z)
        np.testing.assert_allclose(J, np.diag(2 * np.conj(Z)), rtol=1e-14)

    def test_complex_cotangent_of_a_real_output(self) -> None:
        """A real output takes a real cotangent."""
        with pytest.raises(TypeError, match="float64"):
            vjp(np.abs, 3 + 4j)[1](1j)


@BOTH
def test_custom_rules(target: str) -> None:
    """A rule's cotangent follows the convention: the row times the derivative, not conjugated."""

    @s2sad.custom_vjp
    def turn(z):
        return z * 1j

    turn.defvjp(lambda z: (z * 1j, None), lambda _, g: (g * 1j,))
    found = s2sad.grad(lambda z: np.real(turn(z) ** 2), target=target)(0.5 + 2j)
    np.testing.assert_allclose(found, -2 * (0.5 + 2j), rtol=1e-15)

    @s2sad.custom_jvp
    def flip(z):
        return np.conj(z)

    flip.defjvp(lambda primals, tangents: (np.conj(primals[0]), np.conj(tangents[0])))
    found = s2sad.grad(lambda z: np.real(flip(z) * (2 + 1j)), target=target)(0.5 + 2j)
    np.testing.assert_allclose(found, np.conj(2 + 1j), rtol=1e-15)
