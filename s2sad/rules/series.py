"""Series of powers and of orthogonal polynomials, read as the recurrences that sum them (Clenshaw)."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.ir import ops
from s2sad.rules.registry import expands
from s2sad.rules.subscripts import counting


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


@expands(np.polynomial.hermite.hermval)
def hermite_of_physics(x: Any, c: Any, tensor: Any = True) -> Any:
    """Return the sum of `c[k] * H_k(x)`, the polynomials of physics."""
    check(c)
    before = 1.0 + 0.0 * x
    now = 2.0 * x
    total = c[0] * before
    for k in range(1, c.shape[0]):
        total = total + c[k] * now
        before, now = now, 2.0 * (x * now - k * before)
    return total


@expands(np.polynomial.laguerre.lagval)
def laguerre(x: Any, c: Any, tensor: Any = True) -> Any:
    """Return the sum of `c[k] * L_k(x)`."""
    check(c)
    before = 1.0 + 0.0 * x
    now = 1.0 - x
    total = c[0] * before
    for k in range(1, c.shape[0]):
        total = total + c[k] * now
        before, now = now, ((2 * k + 1 - x) * now - k * before) / (k + 1)
    return total


@expands(np.polynomial.polynomial.polyvander)
def powers_beside_each_other(x: Any, deg: Any) -> Any:
    """Return `x**k` in column `k`."""
    given = np.asarray(x)
    return given[..., None] ** np.arange(deg + 1, dtype=given.dtype)


@expands(np.polynomial.polynomial.polyval2d)
def powers_of_two(x: Any, y: Any, c: Any) -> Any:
    """Return the sum of `c[i, j] * x**i * y**j`."""
    across = np.polynomial.polynomial.polyvander(x, c.shape[0] - 1)
    along = np.polynomial.polynomial.polyvander(y, c.shape[1] - 1)
    return np.sum((across @ c) * along, axis=-1)


@expands(np.polynomial.polynomial.polyadd)
def sum_of_powers(c1: Any, c2: Any) -> Any:
    """Return the coefficients of a sum, the lowest power first."""
    return np.polyadd(np.asarray(c1)[::-1], np.asarray(c2)[::-1])[::-1]


@expands(np.polynomial.polynomial.polysub)
def difference_of_powers(c1: Any, c2: Any) -> Any:
    """Return the coefficients of a difference, the lowest power first."""
    return np.polyadd(np.asarray(c1)[::-1], -np.asarray(c2)[::-1])[::-1]


@expands(np.polynomial.polynomial.polymul)
def product_of_powers(c1: Any, c2: Any) -> Any:
    """Return the coefficients of a product, the lowest power first."""
    return np.polymul(np.asarray(c1)[::-1], np.asarray(c2)[::-1])[::-1]


@expands(np.polynomial.polynomial.polyder)
def slope_of_powers(c: Any, m: int = 1, scl: Any = 1, axis: int = 0) -> Any:
    """Return the coefficients of a derivative, the lowest power first."""
    check(c)
    result = np.asarray(c)
    for _ in counting(m):
        result = scl * result[1:] * np.arange(1, result.size, dtype=result.dtype)
    return result


@expands(np.i0)
def bessel(x: Any) -> Any:
    """Return the modified Bessel function of order 0: its power series, all of one sign (DLMF 10.25.2)."""
    square = np.asarray(x) * np.asarray(x) * 0.25
    term = 1.0 + 0.0 * square
    total = term
    for k in range(1, 20 + int(1.5 * np.max(np.abs(x), initial=0.0))):
        term = term * square / (k * k)
        total = total + term
    return total


def check(c: Any) -> None:
    """Refuse coefficients of several series at once."""
    if np.ndim(c) != 1:
        ops.refuse("the coefficients of several series at once have no derivative rule", "Sum each series by itself.")
