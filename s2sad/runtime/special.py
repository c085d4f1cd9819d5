"""Special functions that neither NumPy nor `math` has."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def polyval(p: Any, x: Any) -> Any:
    """Return `np.polyval(p, x)`: Horner's rule, the highest power first."""
    value = x * 0 + p[0] * 0
    for k in range(p.size):
        value = value * x + p[k]
    return value


def is_close(a: float, b: float, rel_tol: float, abs_tol: float) -> bool:
    """Return `math.isclose(a, b, rel_tol=rel_tol, abs_tol=abs_tol)`."""
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    return abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)


def ieee_remainder(a: float, b: float) -> float:
    """Return `math.remainder(a, b)`: `a - n * b` for the integer `n` nearest to `a / b`, ties to even.

    Exact, as each step is: `fmod` is, and so are the subtractions of halves that follow it.
    """
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0.0:
        return math.nan
    size, rest = abs(b), np.fmod(abs(a), abs(b))
    if math.isinf(b):
        return a
    other = size - rest
    if rest > other or (rest == other and np.fmod(abs(a) - rest, 2.0 * size) != 0.0):
        rest = -other
    return math.copysign(1.0, a) * rest


def frexp_array(x: Any) -> Any:
    """Return `np.frexp(x)` of an array."""
    mantissa, exponent = np.empty(x.shape, x.dtype), np.empty(x.shape, np.int32)
    for place in np.ndindex(x.shape):
        mantissa[place], exponent[place] = math.frexp(x[place])
    return mantissa, exponent


def heaviside(a: Any, b: Any) -> Any:
    """Return `np.heaviside(a, b)`."""
    return np.where(a > 0, 1.0, np.where(a == 0, b, np.where(a < 0, 0.0, a + 0.0)))


def digamma(x: float) -> float:
    """Return the logarithmic derivative of gamma; NaN at its poles.

    Upward recurrence to 10, then the asymptotic series.
    Source: Abramowitz & Stegun, 6.3.5 and 6.3.18; 6.3.7 for negative arguments.
    """
    if x <= 0.0 and x == math.floor(x):
        return math.nan
    value = 0.0
    if x < -10.0:
        value -= math.pi / math.tan(math.pi * x)
        x = 1.0 - x
    while x < 10.0:
        value -= 1.0 / x
        x += 1.0
    r = 1.0 / (x * x)
    series = r * (
        1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * 691 / 32760))))
    )
    return value + math.log(x) - 0.5 / x - series


def polygamma(times: int, x: float) -> float:
    """Return the `times`-th derivative of `digamma`; NaN at its poles.

    Source: Abramowitz & Stegun, 6.4.6 and 6.4.11.
    """
    n = times
    if n == 0:
        return digamma(x)
    if x <= 0.0 and x == math.floor(x):
        return math.nan
    factorial = math.gamma(n)  # (n - 1)!
    value = 0.0
    while x < 15.0 + n:
        value += n * factorial / x ** (n + 1)
        x += 1.0
    value += factorial / x**n + n * factorial / (2.0 * x ** (n + 1))
    # the Bernoulli terms: B_2k (2k + n - 1)! / ((2k)! x**(2k + n))
    ratio = factorial * n * (n + 1) / 2.0 / x ** (n + 2)
    for k in range(1, 9):
        value += _BERNOULLI[k - 1] * ratio
        j = 2 * k + n
        ratio *= j * (j + 1) / ((2 * k + 1) * (2 * k + 2)) / (x * x)
    return value if n % 2 == 1 else -value


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def hurwitz_zeta(s: float, q: float) -> float:
    """Return the sum of `(q + k)**-s` over all `k >= 0`, for `s > 1`; infinite at the poles.

    Summed to 12 beyond, then the Euler-Maclaurin formula. Source: NIST DLMF, 25.11.5.
    """
    if q <= 0.0 and q == math.floor(q):
        return math.inf
    if s <= 1.0 or (q < 0.0 and s != math.floor(s)):
        return math.inf if s == 1.0 else math.nan
    total = 0.0
    while q < 12.0:
        total += q**-s
        q += 1.0
    total += q ** (1.0 - s) / (s - 1.0) + 0.5 * q**-s
    ratio = 0.5 * s * q ** (-s - 1.0)
    for k in range(1, 9):
        total += _BERNOULLI[k - 1] * ratio
        j = s + 2 * k
        ratio *= (j - 1.0) * j / ((2 * k + 1) * (2 * k + 2)) / (q * q)
    return total
