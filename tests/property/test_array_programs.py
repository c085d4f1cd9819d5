"""Random programs whose loops make arrays anew, give them other names, write into them and keep some.

What is compiled keeps such states in their arrays, and its tapes in rows (`emit/in_place.py`, `transform/tapes.py`):
the text for Python, which does neither of the first, and central differences say what is right.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.differences import differences

X = np.array([0.4, -0.7, 1.1])
NAMES = ("x", "y", "z")


class Writer:
    """Writes one program, line by line."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []

    def value(self) -> str:
        """Return an array computed of others."""
        a, b = self.random.choice(NAMES), self.random.choice(NAMES)
        return self.random.choice([
            f"np.sin({a})", f"{a} + 0.3 * {b}", f"0.9 * {a} * np.cos({b})", f"{a} * {b}[{self.random.randint(0, 2)}]",
            f"np.roll({a}, 1) * 0.8", f"{a} / (1.0 + np.sum({b} * {b}))", f"(w @ {a}) * 0.5", f"{a}.copy()",
            f"np.array([{a}[1], 0.5 * {b}[0] * {a}[2], np.sin({b}[1])])", f"np.zeros_like({a})",
        ])  # fmt: skip

    def statement(self, indent: int, depth: int) -> None:
        """Write a statement, or a loop or a branch with some."""
        kinds = [self.set, self.name, self.write, self.total, self.exchange, self.keep, self.candidate]
        weights = [8, 2, 2, 2, 2, 1, 2]
        if depth < 2:
            kinds, weights = [*kinds, self.branch, self.loop], [*weights, 3, 3]
        kind: Callable[[int, int], None] = self.random.choices(kinds, weights)[0]
        kind(indent, depth)

    def put(self, indent: int, text: str) -> None:
        self.lines.append(" " * indent + text)

    def set(self, indent: int, _: int) -> None:
        self.put(indent, f"{self.random.choice(NAMES)} = {self.value()}")

    def name(self, indent: int, _: int) -> None:
        self.put(indent, f"{self.random.choice(NAMES)} = {self.random.choice(NAMES)}")

    def write(self, indent: int, _: int) -> None:
        name = self.random.choice(NAMES)
        self.put(indent, f"{name} = {name}.copy()")
        self.put(indent, f"{name}[{self.random.randint(0, 2)}] = np.sin({self.random.choice(NAMES)}[1])")

    def total(self, indent: int, _: int) -> None:
        self.put(indent, f"total += np.sum({self.random.choice(NAMES)} * {self.random.choice(NAMES)})")

    def exchange(self, indent: int, _: int) -> None:
        a, b = self.random.sample(NAMES, 2)
        self.put(indent, f"{a}, {b} = {self.random.choice([b, self.value()])}, {self.random.choice([a, self.value()])}")

    def keep(self, indent: int, _: int) -> None:
        self.put(indent, f"kept.append({self.random.choice(NAMES)})")

    def candidate(self, indent: int, _: int) -> None:
        new, name = f"new{len(self.lines)}", self.random.choice(NAMES)
        self.put(indent, f"{new} = {self.value()}")
        self.put(indent, f"total += np.sum({new} * {name})")
        self.put(indent, f"{name} = {new}")

    def branch(self, indent: int, depth: int) -> None:
        self.put(indent, f"if {self.random.choice(NAMES)}[{self.random.randint(0, 2)}] > 0.3:")
        self.statement(indent + 4, depth + 1)
        if self.random.random() < 0.3:
            self.put(indent, "else:")
            self.statement(indent + 4, depth + 1)

    def loop(self, indent: int, depth: int) -> None:
        self.put(indent, f"for {'ij'[depth]} in range({self.random.randint(2, 3)}):")
        for _ in range(self.random.randint(1, 3)):
            self.statement(indent + 4, depth + 1)


def program(seed: int) -> str:
    """Return the text of a program."""
    writer = Writer(seed)
    choice = writer.random
    writer.lines = [
        "def f(x):",
        "    w = np.outer(x, x) * 0.2",
        f"    y = {choice.choice(['x.copy()', 'x * 0.7'])}",
        f"    z = {choice.choice(['np.cos(x)', 'np.cos(x)', 'x'])}",
        "    total, n, kept = 0.0, 0, [np.zeros(x.size)]",
        choice.choice(["    for t in range(3):", "    for t in range(3):", "    while n < 3:"]),
        "        n += 1",
    ]
    for _ in range(choice.randint(2, 5)):
        writer.statement(8, 0)
    if choice.random() < 0.3:
        writer.put(4, "for u in range(2):")
        writer.statement(8, 1)
    writer.put(4, "return total + np.sum(x * y) + np.sum(z * z) + np.sum(kept[-1]) + 0.5 * np.sum(kept[0] * x)")
    return "\n".join(writer.lines) + "\n"


def made(seed: int) -> Any:
    """Return the program as a function whose lines can be read."""
    text, name = program(seed), f"<array program {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed: int) -> None:
    fun = made(seed)
    want = fun(X.copy())
    if not abs(want) < 1e6:
        pytest.skip("the program overflows")
    try:
        known = s2sad.grad(fun, target="python")(X.copy())
    except s2sad.AliasError:
        pytest.skip("the program writes where two names may mean one array")
    given = X.copy()
    value, gradient = s2sad.value_and_grad(fun)(given)
    np.testing.assert_allclose(value, want, rtol=1e-10)
    np.testing.assert_allclose(gradient, known, rtol=1e-9, atol=1e-10, err_msg=program(seed))
    np.testing.assert_allclose(known, differences(fun, X), rtol=1e-4, atol=1e-5, err_msg=program(seed))
    _, pullback = s2sad.vjp(fun, given)
    for factor in (1.0, 2.0, 1.0):
        np.testing.assert_allclose(pullback(factor)[0], factor * known, rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(given, X)
