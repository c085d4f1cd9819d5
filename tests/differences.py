"""Gradients by central differences: only ever a check of what is derived."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

import s2sad


def differences(fun: Callable[[Any], Any], x: Any, step: float = 1e-6) -> Any:
    """Return the derivative of `fun` at `x`: its own axes first, then those of `x`."""
    moved = [step * unit.reshape(x.shape) for unit in np.eye(x.size)]
    columns = [(fun(x + dot) - fun(x - dot)) / (2 * step) for dot in moved]
    return np.stack(columns, axis=-1).reshape(np.shape(columns[0]) + x.shape)


def also_on(target: str, fun: Callable[..., Any], one_in: int = 3) -> str:
    """Return the target for a further check: compiled for one function in several, as compiling takes its time."""
    return target if zlib.crc32(getattr(fun, "__name__", "").encode()) % one_in == 0 else "python"


def assert_derivatives(fun: Callable[[Any], Any], x: Any, target: str) -> None:
    """Check the value, the gradient and a tangent of `fun` at `x`, and that `x` is left alone."""
    bar, x_dot = differences(fun, x), np.cos(x)
    given, want = x.copy(), fun(x.copy())
    value, gradient = s2sad.value_and_grad(fun, target=target)(given)
    np.testing.assert_allclose(value, want, rtol=1e-12)
    np.testing.assert_allclose(gradient, bar, rtol=1e-6, atol=1e-7)
    _, out_dot = s2sad.jvp(fun, (given,), (x_dot,), target=also_on(target, fun))
    np.testing.assert_allclose(out_dot, np.sum(bar * x_dot), rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(given, x)
