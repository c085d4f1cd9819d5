"""Checkpoints: the same derivative, with less kept."""

import numpy as np
import pytest

import s2sad
from s2sad import checkpoint, grad, jvp
from s2sad.errors import UnsupportedSyntaxError

X = np.array([0.3, -0.4, 1.2])


def plain_power(x, n):
    y = x
    for i in range(n):
        y = np.sin(y) * x + i * 0.01
    return y


def power(x, n):
    y = x
    with s2sad.checkpoint():
        for i in range(n):
            y = np.sin(y) * x + i * 0.01
    return y


def plain_heat(u0, k):
    u = u0.copy()
    total = 0.0
    for t in range(20, 3, -2):
        for i in range(1, u.size - 1):
            u[i] = u[i] + k * (u[i - 1] - 2 * u[i] + u[i + 1]) * u[i]
        total += u[1] * t
    return np.sum(u * u) + total


def heat(u0, k):
    u = u0.copy()
    total = 0.0
    with checkpoint():
        for t in range(20, 3, -2):
            for i in range(1, u.size - 1):
                u[i] = u[i] + k * (u[i - 1] - 2 * u[i] + u[i + 1]) * u[i]
            total += u[1] * t
    return np.sum(u * u) + total


def plain_layers(x, w):
    for start in range(2):
        for _ in range(start, 7):
            h = np.tanh(w @ x)
            x = x + 0.1 * h
    return np.sum(x)


def layers(x, w):
    for start in range(2):
        with s2sad.checkpoint():
            for _ in range(start, 7):
                h = np.tanh(w @ x)
                x = x + 0.1 * h
    return np.sum(x)


W = np.random.default_rng(0).normal(size=(3, 3))
PAIRS = [
    (power, plain_power, (0.7, 30), 0), (power, plain_power, (0.7, 0), 0), (power, plain_power, (0.7, 1), 0),
    (heat, plain_heat, (np.array([0.1, 0.5, -0.3, 0.8]), 0.1), (0, 1)), (layers, plain_layers, (X, W), (0, 1)),
]  # fmt: skip


def agree(a, b):
    for x, y in zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]:
        np.testing.assert_allclose(x, y, rtol=1e-14)


@pytest.mark.parametrize(("fun", "same", "args", "argnums"), PAIRS)
def test_the_derivative_is_the_same(fun, same, args, argnums):
    assert fun(*args) == same(*args)
    agree(grad(fun, argnums, target="python")(*args), grad(same, argnums, target="python")(*args))
    dots = tuple(None if isinstance(a, int) else np.ones_like(a) if np.ndim(a) else 1.0 for a in args)
    agree(jvp(fun, args, dots, target="python"), jvp(same, args, dots, target="python"))


@pytest.mark.parametrize(("fun", "same", "args", "argnums"), PAIRS[-2:])
def test_compiled(fun, same, args, argnums):
    a, b = grad(fun, argnums, target="cpu")(*args), grad(same, argnums, target="cpu")(*args)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-14)


def test_second_derivatives_go_through():
    expected = grad(grad(plain_power), target="python")(0.7, 12)
    assert grad(grad(power), target="python")(0.7, 12) == pytest.approx(expected, rel=1e-13)


def test_what_is_kept_grows_with_the_root():
    """Counts the numbers on the tapes by running the derivative's text with a counting `np`."""
    longest = {}
    for fun in (power, plain_power):
        sizes = []

        class Counting:
            def __getattr__(self, name, sizes=sizes):
                real = getattr(np, name)
                return (lambda n, *rest: sizes.append(n) or real(n, *rest)) if name == "empty" else real

        text = s2sad.differentiate(target="python")(fun).source("grad", (0.7, 400))
        scope = {}
        exec(text, scope)
        scope["np"] = Counting()
        slope = next(value for name, value in scope.items() if name.endswith("_grad"))
        np.testing.assert_allclose(slope(0.7, 400), grad(plain_power, target="python")(0.7, 400))
        longest[fun] = max(sizes)
    assert longest[plain_power] == 400
    assert longest[power] <= 25


def costly(x):
    s = 0.0
    for i in range(x.size):
        s = np.sin(s + x[i]) * x[i]
    return s


def through_a_function(x):
    return checkpoint(costly)(x) * costly(2.0 * x)


def test_a_function_keeps_its_arguments_only():
    def plainly(x):
        return costly(x) * costly(2.0 * x)

    agree(grad(through_a_function, target="python")(X), grad(plainly, target="python")(X))
    agree(grad(checkpoint(costly), target="python")(X), grad(costly, target="python")(X))
    text = s2sad.differentiate(target="python")(through_a_function).source("grad", (X,))
    assert "costly_bwd(" in text


def test_outside_a_transform_nothing_happens():
    assert checkpoint(costly)(X) == costly(X)
    assert checkpoint(costly) == checkpoint(costly)
    assert repr(checkpoint(costly)) == "<s2sad.checkpoint of costly>"


def leaves_early(x):
    with s2sad.checkpoint():
        for i in range(3):
            if x > i:
                break
            x = x * x
    return x


def no_range(x):
    with s2sad.checkpoint():
        for v in (1.0, 2.0):
            x = x * v
    return x


def used_after(x):
    with s2sad.checkpoint():
        for i in range(3):
            y = x * i
            x = x + y
    return y


@pytest.mark.parametrize(
    ("fun", "message"),
    [
        (leaves_early, "a checkpointed loop cannot be left early"),
        (no_range, r"only one loop over `range\(…\)`"),
        (used_after, "`y` is bound inside a checkpointed loop"),
    ],
)
def test_refusals(fun, message):
    with pytest.raises(UnsupportedSyntaxError, match=message):
        grad(fun, target="python")(1.5)


def bound_again(n, w, x):
    if n == 7:
        return x * 2.0
    for _ in range(n):
        x = x + 0.1 * np.tanh(w @ x)
    return x


def calls_bound_again(x):
    for i in range(2):
        x = bound_again(i + 2, W, x)
    return np.sum(x)


def test_a_parameter_that_a_callee_binds_again():
    slopes = [np.imag(calls_bound_again(X + 1e-30j * unit)) / 1e-30 for unit in np.eye(3)]
    np.testing.assert_allclose(grad(calls_bound_again, target="python")(X), slopes, rtol=1e-12)
