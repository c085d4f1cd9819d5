"""Rounding to decimal places as Python's floats do it: of the number that they are, not of its product with 10**n."""

from __future__ import annotations

import math

_EXACT = 22  # the largest power of ten that is a double
_SPLIT = 134217729.0  # 2**27 + 1


def round_decimal(x: float, digits: int) -> float:
    """Return `x` rounded to `digits` decimal places, halves to even: `round(2.675, 2)` is 2.67, for 2.675 is less.

    The decimal point is moved by a power of ten that is a double, and what that product loses (Dekker, "A
    floating-point technique for extending the available precision", 1971) decides between the two neighbours.
    Beyond 22 places, in either direction, the product itself is rounded.

    Example::

        >>> from s2sad.runtime import round_decimal
        >>> round_decimal(2.675, 2), round_decimal(0.125, 2), round_decimal(1250.0, -2)
        (2.67, 0.12, 1200.0)
    """
    if not math.isfinite(x) or abs(digits) > _EXACT or abs(x) > 1e280:
        return round(x, digits)
    scale = 10.0 ** abs(digits)
    moved = x * scale if digits >= 0 else x / scale
    if abs(moved) >= 2.0**53:  # the places are closer together than doubles are
        return x
    low = math.floor(moved)
    factor = x if digits >= 0 else low + 0.5
    product = factor * scale
    high, scale_high = _SPLIT * factor, _SPLIT * scale
    high, scale_high = high - (high - factor), scale_high - (scale_high - scale)
    rest, scale_rest = factor - high, scale - scale_high
    lost = rest * scale_rest - (((product - high * scale_high) - rest * scale_high) - high * scale_rest)
    past_half = ((moved - low) - 0.5) + lost if digits >= 0 else (x - product) - lost
    if past_half > 0.0 or (past_half == 0.0 and low % 2 == 1):
        low += 1
    return math.copysign(low / scale if digits >= 0 else low * scale, x)


__all__ = ["round_decimal"]
