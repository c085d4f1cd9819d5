"""Remainders without a division, where a number is less than one period away: `(i + 1) % n` in a ring.

A division of 64-bit numbers takes twenty to forty cycles, which is most of what a periodic stencil takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def lowered(builder: Any, number: Any, period: Any, divide: Callable[[], Any]) -> Any:
    """Write `number % period` of signed numbers: itself, one period less or more, or what `divide` writes."""
    result = builder.alloca(number.type, name="remainder")
    builder.store(number, result)
    with builder.if_then(builder.not_(_within(builder, number, period)), likely=False):
        ahead = builder.icmp_signed(">=", number, period)
        moved = builder.select(ahead, builder.sub(number, period), builder.add(number, period))
        builder.store(moved, result)
        with builder.if_then(builder.not_(_within(builder, moved, period)), likely=False):
            builder.store(divide(), result)
    return builder.load(result)


def _within(builder: Any, number: Any, period: Any) -> Any:
    zero = number.type(0)
    return builder.and_(builder.icmp_signed(">=", number, zero), builder.icmp_signed("<", number, period))
