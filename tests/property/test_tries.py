"""Random programs of nested `try`, loops and branches over what raises by itself: values are CPython's, modes agree."""

from __future__ import annotations

import linecache
import random
from typing import Any

import pytest

import s2sad

NAMES = ("a", "b", "c")
CAUGHT = ("ZeroDivisionError", "ValueError", "ArithmeticError", "(ValueError, ZeroDivisionError)", "Exception")
POINTS = ((1.0, 2.0, 0.5), (0.0, 1.0, 2.0), (-1.0, 0.5, 0.0), (2.0, 0.0, -1.0), (0.5, 0.5, 3.0))
HEAD = """import math

def helper(u, v):
    if u < 0:
        raise ValueError("negative")
    return v / u + math.log(v)

def f(a, b, c):
"""


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        """Draw from this seed."""
        self.draw = random.Random(seed)
        self.lines: list[str] = []

    def atom(self) -> str:
        return self.draw.choice((*NAMES, *NAMES, "1.0", "2.0", "0.5"))

    def expression(self, depth: int = 0) -> str:
        kind = self.draw.random()
        if depth > 2 or kind < 0.3:
            return self.atom()
        one, other = self.expression(depth + 1), self.expression(depth + 1)
        choices = (f"({one} * {other})", f"({one} - {other})", f"({one} / {other})", f"({one} / {other})",
                   f"math.log({one})", f"math.sqrt({one})", f"helper({one}, {self.atom()})",
                   f"({one} if {self.atom()} > {self.atom()} else {other})")  # fmt: skip
        return self.draw.choice(choices)

    def condition(self) -> str:
        return f"{self.atom()} {self.draw.choice(('<', '>', '<=', '=='))} {self.atom()}"

    def block(self, indent: int, in_loop: bool, count: int | None = None) -> None:
        for _ in range(count or self.draw.randint(1, 2)):
            self.statement(indent, in_loop)

    def statement(self, indent: int, in_loop: bool) -> None:
        space, kind = "    " * indent, self.draw.random()
        if kind < 0.45 or indent > 4:
            self.lines.append(f"{space}{self.draw.choice(NAMES)} = {self.expression()}")
        elif kind < 0.6:
            self.lines.append(f"{space}if {self.condition()}:")
            self.block(indent + 1, in_loop)
        elif kind < 0.68 and indent < 3:
            self.lines.append(f"{space}for i in range({self.draw.randint(1, 3)}):")
            self.block(indent + 1, True)
        elif kind < 0.72:
            leave = self.draw.choice(("break", "continue")) if in_loop else f"return {self.expression(1)}"
            self.lines.append(f"{space}if {self.condition()}: {leave}")
        else:
            self.lines.append(f"{space}try:")
            self.block(indent + 1, in_loop)
            self.lines.append(f"{space}except {self.draw.choice(CAUGHT)}:")
            self.block(indent + 1, in_loop)

    def program(self) -> str:
        self.block(1, False, 3)
        return HEAD + "\n".join(self.lines) + "\n    return a + 2.0 * b - c\n"


def load(text: str, seed: int) -> Any:
    """Run the text of a program, and return its function."""
    name = f"<try {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"__name__": "tries"}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def outcome(call: Any, *args: Any) -> Any:
    """Return what a call gives, or the class of what it raises."""
    try:
        return call(*args)
    except s2sad.S2SADError:
        raise
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("seed", range(24))
def test_values_and_modes(seed: int) -> None:
    """Where CPython gives a number, so does the derivative; reverse mode and forward mode agree.

    A value that nothing reads is not computed, so that what it would have raised is not either.
    """
    f = load(Writer(seed).program(), seed)
    derivative = s2sad.value_and_grad(f, argnums=(0, 1, 2), target="python")
    for point in POINTS:
        expected = outcome(f, *point)
        try:
            found = outcome(derivative, *point)
        except s2sad.UnsupportedSyntaxError as refusal:
            pytest.skip(str(refusal).splitlines()[0])
        if isinstance(expected, type | complex) or isinstance(found, type):
            infinite = found is ZeroDivisionError  # of a derivative
            assert infinite or isinstance(expected, type | complex)
            continue
        value, slopes = found
        assert value == expected or (value != value and expected != expected)
        _, tangent = s2sad.jvp(f, point, (1.0, 0.5, -0.3), target="python")
        assert slopes[0] + 0.5 * slopes[1] - 0.3 * slopes[2] == pytest.approx(tangent, rel=1e-8, abs=1e-8, nan_ok=True)
