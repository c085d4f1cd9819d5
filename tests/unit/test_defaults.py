"""Defaults, keywords and counts of arguments: of partial functions, builtins and emitted functions."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import s2sad


def scaled(x, y=2.0, *, p=3):
    return x**p * y


def product(a, b, c):
    return a * b**2 * c**3


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_partial_functions(target):
    cases = [
        (partial(scaled, 2.0), (3.0,), {}, 8.0),
        (partial(scaled, y=4.0), (2.0,), {}, 48.0),
        (partial(scaled, y=4.0), (2.0,), {"p": 2}, 16.0),
        (partial(scaled, p=2), (3.0, 4.0), {}, 24.0),
        (partial(product, b=2.0), (3.0,), {"c": 2.0}, 32.0),
        (partial(partial(product, 1.5), c=2.0), (3.0,), {}, 72.0),
    ]
    for fun, args, kwargs, slope in cases:
        assert s2sad.grad(fun, target=target)(*args, **kwargs) == pytest.approx(slope, rel=1e-14)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_builtins_of_any_number_of_arguments(target):
    assert s2sad.grad(max, argnums=(0, 1), target=target)(1.0, 2.0) == (0.0, 1.0)
    assert s2sad.grad(min, argnums=2, target=target)(1.0, 2.0, 0.5) == 1.0
    np.testing.assert_array_equal(s2sad.vmap(max, target=target)(np.ones(3), np.arange(3.0)), [1.0, 1.0, 2.0])


def test_hvp_takes_its_primals_together():
    with pytest.raises(s2sad.ArgumentError, match="primals as a tuple or a list, not a float"):
        s2sad.hvp(lambda x: x**3, 1.0, 1.0)


def test_emitted_functions_keep_defaults_that_are_numbers():
    def decay(x, rate=0.5, *, steps=3, shift=-1e-3):
        for _ in range(steps):
            x = x - rate * x + shift
        return x

    made = s2sad.differentiate(decay, target="python")
    assert made.grad(2.0) == pytest.approx(0.125)
    assert "def decay_grad(x, rate=0.5, steps=3, shift=-0.001):" in made.source("grad")
    scope: dict[str, object] = {}
    exec(made.source("value_and_grad"), scope)
    value, slope = scope["decay_value_and_grad"](2.0)  # type: ignore[operator]
    assert value == pytest.approx(decay(2.0))
    assert slope == pytest.approx(0.125)
