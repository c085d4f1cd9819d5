"""Functions of numbers that give several results or take a whole array, read as simpler ones."""

# pyright: reportSelfClsParameterName=false
# ruff: noqa: D102

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from s2sad.ir import ops
from s2sad.rules.registry import expands, rule
from s2sad.rules.sample import case, values

_DEGREES = 57.29577951308232


@expands(np.modf, math.modf)
def modf(x: Any) -> Any:
    """Return the fraction and the whole part, both of the sign of `x`."""
    whole = np.trunc(x)
    return x - whole, whole


@rule(np.frexp)
class frexp:
    """`x = mantissa * 2**exponent`: the exponent is a step."""

    samples = (case(values(3, 4)), case(values()), case(100.0 * values(3)))
    results = ("mantissa", "exponent")

    def tangent(x: Any, y: Any, x_dot: Any) -> Any:
        _, exponent = y
        return (np.ldexp(x_dot, -exponent),)

    def adjoint(x: Any, y: Any, y_bar: Any, x_bar: Any) -> None:
        _, exponent = y
        mantissa_bar, _ = y_bar
        x_bar += np.ldexp(mantissa_bar, -exponent)


@rule(math.frexp)
class frexp_number:
    """As that of an array."""

    samples = (case(values()), case(37.5))
    results = ("mantissa", "exponent")
    tangent = frexp.tangent
    adjoint = frexp.adjoint


@expands(np.divmod)
def divided(a: Any, b: Any) -> Any:
    """Return the floor of the quotient, and what remains."""
    return a // b, a % b


@expands(cmath.polar)
def polar(z: Any) -> Any:
    """Return the size and the angle of a complex number."""
    return abs(z), cmath.phase(z)


@expands(cmath.rect)
def rect(r: Any, phi: Any) -> Any:
    """Return the complex number of this size and angle."""
    return complex(r * math.cos(phi), r * math.sin(phi))


@expands(np.angle, counts=(1,))
def angle(z: Any, deg: bool = False) -> Any:
    """Return the angle, in degrees if asked."""
    if deg:
        return np.angle(z) * _DEGREES
    else:
        return np.angle(z)


@expands(np.real_if_close)
def real_if_close(a: Any, tol: Any = 100) -> Any:
    """Return real numbers as they are; of complex ones, only their values decide what they become."""
    if np.iscomplexobj(a):
        ops.refuse("`real_if_close` of complex numbers is real or complex by their values", "Use np.real.")
    return a


@expands(math.prod, keywords=("start",), arrays=True)
def prod_from(items: Any, *, start: Any = 1) -> Any:
    """Return the product of an array or a list of numbers, and of what it starts with."""
    return np.prod(np.array(items)) * start


@expands(math.fsum, arrays=True)
def fsum(items: Any) -> Any:
    """Return the sum of an array."""
    return np.sum(items)


@expands(math.dist, arrays=True)
def dist(p: Any, q: Any) -> Any:
    """Return the distance of two points that are arrays."""
    return np.sqrt(np.sum((p - q) ** 2))


_SUMPROD: Any = getattr(math, "sumprod", None)  # of Python 3.12

if _SUMPROD is not None:

    @expands(_SUMPROD)
    def sumprod(p: Any, q: Any) -> Any:
        """Return the sum of the products of two sequences."""
        if isinstance(p, np.ndarray):
            return np.dot(p, q)
        else:
            return sum([a * b for a, b in zip(p, q)])
