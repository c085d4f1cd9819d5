"""Random programs that write into arrays by any of their names: the derivative is right, or refused as undecided.

Names mean one array on some paths and another on others; helpers write what they are given and may return it; views
are written. Most of what goes wrong in such programs is a value that the reverse reads under one name after it has
been put back under another.
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
HELPERS = (
    "    a[0] = np.sin(a[1] * b)\n    return a",
    "    if b > 0.2:\n        a = a * b\n    a[1] = np.cos(a[0])\n    return a",
    "    if b > 0.2:\n        return a\n    a[1] = np.cos(a[0]) * a[1]\n    return a",
)


class Writer:
    """Writes one program, line by line."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []

    def name(self) -> str:
        return self.random.choice(NAMES)

    def place(self) -> str:
        return f"{self.name()}[{self.random.randint(0, 2)}]"

    def put(self, indent: int, *lines: str) -> None:
        self.lines += [" " * indent + line for line in lines]

    def statement(self, indent: int, depth: int) -> None:
        """Write a statement, or a loop or a branch with some."""
        weights = {self.set: 5, self.rename: 5, self.write: 4, self.total: 3, self.change: 2, self.changed: 3,
                   self.elements: 2, self.view: 1, self.augmented: 2}  # fmt: skip
        if depth < 2:
            weights |= {self.branch: 3, self.loop: 3}
        kind: Callable[[int, int], None] = self.random.choices(list(weights), list(weights.values()))[0]
        kind(indent, depth)

    def set(self, indent: int, _: int) -> None:
        a, b = self.name(), self.name()
        value = self.random.choice([
            f"np.sin({a})", f"{a} + 0.3 * {b}", f"0.9 * {a} * np.cos({b})", f"{a} * {self.place()}", f"{a}.copy()",
            f"np.array([{a}[1], 0.5 * {b}[0] * {a}[2], np.sin({b}[1])])",
        ])  # fmt: skip
        self.put(indent, f"{self.name()} = {value}")

    def rename(self, indent: int, _: int) -> None:
        self.put(indent, f"{self.name()} = {self.name()}")

    def write(self, indent: int, _: int) -> None:
        self.put(indent, f"{self.place()} = np.sin({self.place()} * {self.name()}[1])")

    def total(self, indent: int, _: int) -> None:
        self.put(indent, f"total += np.sum({self.name()} * {self.name()})")

    def change(self, indent: int, _: int) -> None:
        self.put(indent, f"change({self.name()}, {self.name()}[0])")

    def changed(self, indent: int, _: int) -> None:
        self.put(indent, f"{self.name()} = changed({self.name()}, {self.name()}[0])")

    def elements(self, indent: int, _: int) -> None:
        a, b = self.name(), self.name()
        self.put(indent, f"for k in range({a}.size):", f"    {a}[k] = np.sin({b}[k] * {self.name()}[0])")

    def view(self, indent: int, _: int) -> None:
        self.put(indent, f"v = {self.name()}[1:]", "total += np.sum(v * v)")
        if self.random.random() < 0.5:
            self.put(indent, f"v[0] = np.cos({self.name()}[2])")

    def augmented(self, indent: int, _: int) -> None:
        self.put(indent, f"{self.name()} {self.random.choice(['+=', '*='])} 0.5 * {self.name()}")

    def branch(self, indent: int, depth: int) -> None:
        self.put(indent, f"if {self.place()} > 0.3:")
        self.statement(indent + 4, depth + 1)
        if self.random.random() < 0.3:
            self.put(indent, "else:")
            self.statement(indent + 4, depth + 1)

    def loop(self, indent: int, depth: int) -> None:
        turns, counter = self.random.randint(2, 3), f"n{depth}"
        if self.random.random() < 0.7:
            self.put(indent, f"for {counter} in range({turns}):")
        else:
            self.put(indent, f"{counter} = 0", f"while {counter} < {turns}:", f"    {counter} += 1")
        for _ in range(self.random.randint(1, 4)):
            self.statement(indent + 4, depth + 1)


def program(seed: int) -> str:
    """Return the text of a program."""
    writer = Writer(seed)
    choice = writer.random
    writer.lines = [
        "def change(a, b):", "    a[0] = np.sin(a[1] * b)", "    a[2] *= 0.9",
        "def changed(a, b):", choice.choice(HELPERS),
        "def f(x):",
        f"    y = {choice.choice(['x.copy()', 'x * 0.7', 'np.cos(x)'])}",
        f"    z = {choice.choice(['x.copy()', 'x * 0.7', 'np.cos(x)', 'y'])}",
        "    x = x.copy()",
        "    total, n = 0.0, 0",
        choice.choice(["    for t in range(3):", "    while n < 3:"]),
        "        n += 1",
    ]  # fmt: skip
    for _ in range(choice.randint(2, 6)):
        writer.statement(8, 0)
    if choice.random() < 0.3:
        writer.put(4, "for u in range(2):")
        writer.statement(8, 1)
    writer.put(4, "return total + np.sum(x * y) + np.sum(z * z)")
    return "\n".join(writer.lines) + "\n"


def made(seed: int) -> Any:
    """Return the program as a function whose lines can be read."""
    text, name = program(seed), f"<names written {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def checked(seed: int, target: str) -> bool:
    """Check the derivatives of a program; say whether it has any."""
    fun = made(seed)
    want = fun(X.copy())
    bar = differences(fun, X)
    crosses = not np.allclose(bar, differences(fun, X, 3e-7), rtol=1e-4, atol=1e-4)
    if crosses or not abs(want) < 1e4:
        return False
    try:
        value, known = s2sad.value_and_grad(fun, target=target)(X.copy())
    except s2sad.AliasError:
        return False
    np.testing.assert_allclose(value, want, rtol=1e-10)
    np.testing.assert_allclose(known, bar, rtol=1e-4, atol=1e-4, err_msg=program(seed))
    _, out_dot = s2sad.jvp(fun, (X.copy(),), (np.cos(X),), target="python")
    np.testing.assert_allclose(out_dot, known @ np.cos(X), rtol=1e-9, atol=1e-9, err_msg=program(seed))
    try:
        _, pullback = s2sad.vjp(fun, X.copy(), target="python")
    except s2sad.AliasError:
        return True
    np.testing.assert_allclose(pullback(2.0)[0], 2.0 * known, rtol=1e-9, atol=1e-9, err_msg=program(seed))
    return True


@pytest.mark.parametrize("first", range(0, 160, 20))
def test_random_programs(first: int) -> None:
    derived = sum(checked(seed, "python") for seed in range(first, first + 20))
    assert derived >= 5, "most programs are refused"


@pytest.mark.parametrize("seed", range(200, 212))
def test_random_programs_compiled(seed: int) -> None:
    if not checked(seed, "cpu"):
        pytest.skip("the program writes where two names may mean one array, or crosses a branch")
