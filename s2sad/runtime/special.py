"""Special functions that neither NumPy nor `math` has."""

from __future__ import annotations

import math
from typing import Any


def polyval(p: Any, x: Any) -> Any:
    """Return `np.polyval(p, x)`: Horner's rule, the highest power first."""
    value = x * 0 + p[0] * 0
    for k in range(p.size):
        value = value * x + p[k]
    return value


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


def polygamma(n: int, x: float) -> float:
    """Return the `n`-th derivative of `digamma`; NaN at its poles.

    Source: Abramowitz & Stegun, 6.4.6 and 6.4.11.
    """
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
