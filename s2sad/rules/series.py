"""Series of orthogonal polynomials, read as the recurrences that sum them (Clenshaw)."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.ir import ops
from s2sad.rules.registry import expands


@expands(np.polynomial.polynomial.polyval)
def powers(x: Any, c: Any, tensor: Any = True) -> Any:
    """Return the sum of `c[k] * x**k`."""
    check(c)
    total = c[c.shape[0] - 1] + 0 * x
    for k in range(c.shape[0] - 2, -1, -1):
        total = c[k] + total * x
    return total


@expands(np.polynomial.chebyshev.chebval)
def chebyshev(x: Any, c: Any, tensor: Any = True) -> Any:
    """Return the sum of `c[k] * T_k(x)`."""
    check(c)
    last = 0.0 * x
    total = 0.0 * x
    for k in range(c.shape[0] - 1, 0, -1):
        last, total = total, c[k] + 2 * x * total - last
    return c[0] + x * total - last


@expands(np.polynomial.legendre.legval)
def legendre(x: Any, c: Any, tensor: Any = True) -> Any:
    """Return the sum of `c[k] * P_k(x)`."""
    check(c)
    before = 1.0 + 0.0 * x
    now = 1.0 * x
    total = c[0] * before
    for k in range(1, c.shape[0]):
        total = total + c[k] * now
        before, now = now, ((2 * k + 1) * x * now - k * before) / (k + 1)
    return total


@expands(np.polynomial.hermite_e.hermeval)
def hermite(x: Any, c: Any, tensor: Any = True) -> Any:
    """Return the sum of `c[k] * He_k(x)`, the polynomials of probability."""
    check(c)
    before = 1.0 + 0.0 * x
    now = 1.0 * x
    total = c[0] * before
    for k in range(1, c.shape[0]):
        total = total + c[k] * now
        before, now = now, x * now - k * before
    return total


def check(c: Any) -> None:
    """Refuse coefficients of several series at once."""
    if np.ndim(c) != 1:
        ops.refuse("the coefficients of several series at once have no derivative rule", "Sum each series by itself.")
