"""Mistakes that type checkers find; each line with `# wrong` must be reported."""

from __future__ import annotations

import s2sad


@s2sad.differentiate
def square(x: float) -> float:
    return x * x


def plain(x: float, n: int) -> float:
    return x**n


square("three")  # wrong
square(3.0, 4.0)  # wrong
square.gradient  # wrong
s2sad.grad(plain)(2.0)  # wrong
s2sad.grad(plain)("two", 3)  # wrong
s2sad.grad(3.0)  # wrong
s2sad.differentiate(argnum=0)  # wrong
s2sad.gradient  # wrong
