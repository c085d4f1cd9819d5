"""Random numbers inside a function: drawn once, in order; the derivative is of that evaluation."""

import random
from typing import Any

import numpy as np
import pytest

import s2sad
from s2sad.errors import UnsupportedSyntaxError

X = np.array([0.3, 0.5, 0.7])


def twice_read(x):
    noise = np.random.normal(size=x.size)
    return np.sum(np.sin(x * noise) * np.random.uniform(size=x.shape))


def some_unused(x):
    total = 0.0
    for _ in range(4):
        ignored = np.random.normal()  # noqa: F841
        e = np.random.normal(scale=2.0)
        total += np.sin(x[0] * e) * x[1]
    return total


def deciding(x):
    t = x[0]
    while np.random.random() < 0.8:
        t = np.sin(t) + x[1] * np.random.standard_normal()
    return t


def on_one_side(x):
    e = x[0] if x[0] > 5 else x[1] * np.random.normal()
    return e * e * np.random.normal()


def overwriting(x):
    noise = np.random.normal(size=3)
    y = x * noise
    noise = np.random.normal(size=3)
    y[1:] *= noise[:2] * y[:2]
    return np.sum(y**2)


def from_an_argument(x, rng):
    return np.sum(np.cos(x * rng.normal(size=3)))


def from_the_library(x):
    return x[0] ** 2 * random.random()


def in_a_helper(x):
    return helper(x) * x[0]


def helper(x):
    return x[1] * np.random.normal() if x[0] > 0 else x[2]


def making_a_generator(x):
    return np.sum(x * np.random.default_rng(0).normal(size=3))


def slopes(function: Any, seed: int) -> Any:
    step, found = 1e-6, []
    for e in np.eye(3) * step:
        sides = []
        for x in (X + e, X - e):
            np.random.seed(seed)
            sides.append(function(x))
        found.append((sides[0] - sides[1]) / (2 * step))
    return np.array(found)


@pytest.mark.parametrize("function", [twice_read, some_unused, deciding, on_one_side, overwriting])
def test_every_mode_draws_what_the_function_draws(function: Any) -> None:
    derivative, want = s2sad.differentiate(target="python")(function), slopes(function, 3)
    np.random.seed(3)
    value, following = function(X), np.random.random()

    def seeded(call: Any) -> Any:
        np.random.seed(3)
        result = call()
        assert np.random.random() == following, "more or fewer numbers were drawn than the function draws"
        return result

    for _ in range(2):  # the first call also derives, which must draw nothing
        np.testing.assert_allclose(seeded(lambda: derivative.grad(X)), want, rtol=1e-6, atol=1e-7)
    got, x_bar = seeded(lambda: derivative.value_and_grad(X))
    assert got == value
    np.testing.assert_allclose(x_bar, want, rtol=1e-6, atol=1e-7)
    got, dot = seeded(lambda: derivative.jvp((X,), (np.ones(3),)))
    assert got == value
    assert dot == pytest.approx(want.sum(), rel=1e-6, abs=1e-7)
    got, pullback = seeded(lambda: derivative.vjp(X))
    assert got == value
    for _ in range(2):
        np.testing.assert_allclose(pullback(1.0)[0], want, rtol=1e-6, atol=1e-7)


def test_second_order_draws_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2SAD_DISABLE_JIT", "1")
    gradient, v = s2sad.grad(twice_read), np.ones(3)

    def at(x: Any) -> Any:
        np.random.seed(5)
        return gradient(x)

    np.random.seed(5)
    _, second = s2sad.jvp(gradient, (X,), (v,))
    np.testing.assert_allclose(second, (at(X + 1e-6 * v) - at(X - 1e-6 * v)) / 2e-6, rtol=1e-6)


def test_a_generator_that_is_passed_in() -> None:
    derivative = s2sad.differentiate(target="python")(from_an_argument)
    noise = np.random.default_rng(4).normal(size=3)
    for _ in range(2):
        rng = np.random.default_rng(4)
        np.testing.assert_allclose(derivative.grad(X, rng), -noise * np.sin(X * noise), rtol=1e-14)
        assert rng.normal() == np.random.default_rng(4).normal(size=4)[3]


def test_the_standard_library() -> None:
    random.seed(1)
    drawn = random.random()
    random.seed(1)
    assert s2sad.differentiate(target="python")(from_the_library).grad(X)[0] == pytest.approx(2 * X[0] * drawn)


def test_compiled_code_draws_once() -> None:
    derivative = s2sad.differentiate(twice_read)
    value, x_bar = derivative.value_and_grad(X)
    text = derivative.source("value_and_grad")
    assert text.count("np.random.normal(") == 1
    assert text.count("np.random.uniform(") == 1
    assert np.isfinite(value)
    assert np.all(np.isfinite(x_bar))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (in_a_helper, "a random number cannot be drawn in a function that is called"),
        (making_a_generator, "a random generator cannot be made inside the function"),
    ],
)
def test_refusals(function: Any, words: str) -> None:
    with pytest.raises(UnsupportedSyntaxError, match=words):
        s2sad.differentiate(target="python")(function).grad(X)
