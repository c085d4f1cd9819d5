"""HIPS autograd: the NumPy program itself, with `autograd.numpy` in the place of `numpy`.

It follows no writes into arrays, so that only programs without them can be handed over.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import autograd
import autograd.numpy as anp
import numpy as np
from autograd.scipy.special import erf

from tools.bench.kernel import Kernel
from tools.bench.kernels import elementwise, learning, small, weather
from tools.bench.peers.peer import Run


def jacobi(a0, steps):
    a = b = a0
    for _ in range(steps):
        b = _bordered(b, 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]))
        a = _bordered(a, 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1]))
    return anp.sum(a * a)


def _bordered(old, inside):
    middle = anp.concatenate((old[1:-1, :1], inside, old[1:-1, -1:]), axis=1)
    return anp.concatenate((old[:1], middle, old[-1:]), axis=0)


def misfit(coefficients, powers, y):
    error = anp.dot(powers, coefficients) - y
    return anp.sum(error * error)


def log_sum_exp(x):
    largest = anp.max(x)
    return largest + anp.log(anp.sum(anp.exp(x - largest)))


def go_fast(a):
    return anp.sum(a + anp.sum(anp.tanh(anp.diag(a))))


def black_scholes(spot, strike, years, volatility, rate):
    spread = volatility * anp.sqrt(years)
    d1 = (anp.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    n1, n2 = 0.5 * (1.0 + erf(d1 / np.sqrt(2.0))), 0.5 * (1.0 + erf((d1 - spread) / np.sqrt(2.0)))
    return anp.sum(spot * n1 - strike * anp.exp(-rate * years) * n2)


def runge_kutta(x0, forcing, steps):
    h = 0.01

    def slope(x):
        return (anp.roll(x, -1) - anp.roll(x, 2)) * anp.roll(x, 1) - x + forcing

    x = x0
    for _ in range(steps):
        k1 = slope(x)
        k2 = slope(x + 0.5 * h * k1)
        k3 = slope(x + 0.5 * h * k2)
        k4 = slope(x + h * k3)
        x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return anp.sum(x * x)


def _rebound(function: Any) -> Any:
    """Return the kernel's own program over autograd's NumPy."""
    plain = getattr(function, "py_func", function)
    return FunctionType(plain.__code__, dict(plain.__globals__) | {"np": anp}, plain.__name__)


PROGRAMS = {
    "trace": _rebound(small.trace),
    "squared_tanh": _rebound(small.squared_tanh),
    "predict": _rebound(small.predict),
    "diffuse": _rebound(weather.diffuse_slices),
    "arc_distance": _rebound(elementwise.arc_distance_arrays),
    "k_means": _rebound(learning.k_means_arrays),
    "softmax": _rebound(learning.softmax),
    "perceptron": _rebound(learning.perceptron),
    "jacobi": jacobi, "misfit": misfit, "log_sum_exp": log_sum_exp, "go_fast": go_fast,
    "black_scholes": black_scholes, "runge_kutta": runge_kutta,
}


def derivatives(kernel: Kernel, args: tuple[Any, ...]) -> dict[str, Run]:
    """Return autograd's derivative, if it can follow the program."""
    primal = PROGRAMS.get(kernel.peers)
    if primal is None:
        return {}
    match kernel.derivative:
        case "grad":
            gradient = autograd.grad(primal, kernel.wrt)
            return {"": lambda: gradient(*args)}
        case "hvp":
            product = autograd.make_hvp(primal)
            return {"": lambda: product(*args[:-1])[0](args[-1])}
        case "covectors":
            pull = autograd.make_vjp(primal)

            def rows() -> Any:
                pullback, _ = pull(*args[:-1])
                return np.stack([pullback(covector) for covector in args[-1]])

            return {"": rows}
    return {}


def to_numpy(result: Any) -> Any:
    """Return the result as it is."""
    return result
