"""Random loops over rows and neighbours of several arrays, by several names: compiled, they give what CPython gives.

The compiler is told which turns are apart (`emit/turns_apart.py`); what it is told wrongly would show here: rows that
are one, elements that the next turn reads, names that mean one array, buffers that are exchanged.
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

SEEDS = 24


class Writer:
    """Writes one program, line by line."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.matrices = [f"u{k}" for k in range(self.random.randint(1, 2))]
        self.vectors = [f"v{k}" for k in range(self.random.randint(1, 3))]
        self.low, self.high = self.random.choice([(0, 0), (1, 1), (2, 2), (1, 0), (0, 1), (2, 1)])

    def one_of(self, *words: str) -> str:
        return self.random.choice(words)

    def column(self) -> str:
        step = self.random.randint(-self.low, self.high)
        return f"i + {step}" if step > 0 else f"i - {-step}" if step else "i"

    def row(self) -> str:
        return self.one_of("t", "t", "t - 1", "t - 1", "t - 2", "0", "t + 0", "n - t")

    def element(self) -> str:
        if self.random.random() < 0.5:
            return f"{self.one_of(*self.matrices)}[{self.row()}, {self.column()}]"
        return f"{self.one_of(*self.vectors)}[{self.column()}]"

    def value(self, depth: int = 0) -> str:
        chance = self.random.random()
        if depth > 2 or chance < 0.35:
            return self.one_of(self.element(), self.element(), "x[i]", "w", "s")
        if chance < 0.7:
            return f"({self.value(depth + 1)} {self.one_of('+', '-')} {self.value(depth + 1)})"
        if chance < 0.9:
            return f"0.3 * {self.value(depth + 1)} * {self.element()}"
        return f"np.{self.one_of('sin', 'tanh')}({self.value(depth + 1)})"

    def target(self) -> str:
        column = "i" if self.random.random() < 0.6 else self.column()
        if self.random.random() < 0.5:
            return f"{self.one_of(*self.matrices)}[{self.one_of('t', 't', 't', 't - 1')}, {column}]"
        return f"{self.one_of(*self.vectors)}[{column}]"

    def statement(self) -> list[str]:
        test = [f"if {self.element()} > 0.1:"] if self.random.random() < 0.2 else []
        target = self.target()
        text = self.one_of(
            f"{target} = 0.4 * np.sin({self.value()})", f"{target} = 0.4 * np.sin({self.value()})",
            f"{target} += 0.2 * np.sin({self.value()})", f"{target} *= 0.5", f"s += {self.value()}",
        )  # fmt: skip
        return [*test, ("    " if test else "") + text]

    def program(self) -> str:
        lines = ["def f(x):", "    m, n, w, s = x.shape[0], 4, 0.7, 0.0"]
        for k, name in enumerate(self.matrices):
            lines += [f"    {name} = np.zeros((n + 3, m))", f"    {name}[0] = x * {0.5 + k}",
                      f"    {name}[1] = x[::-1] * {0.3 + k}", f"    {name}[2] = np.sin(x)"]  # fmt: skip
        lines += [f"    {name} = x * {1.0 + 0.1 * k}" for k, name in enumerate(self.vectors)]
        if self.random.random() < 0.3:
            lines.append("    p = v0")
            self.vectors.append("p")
        lines.append("    for t in range(2, n + 2):")
        lines.append(self.one_of(
            f"        for i in range({self.low}, m - {self.high}):",
            f"        for i in range(m - {self.high} - 1, {self.low} - 1, -1):",
            f"        for i in range({self.low}, m - {self.high}, 2):",
        ))  # fmt: skip
        for _ in range(self.random.randint(1, 4)):
            lines += [" " * 12 + line for line in self.statement()]
        if "v1" in self.vectors and self.random.random() < 0.4:
            lines.append("        v0, v1 = v1, v0")
        sums = [f"np.sum({name} ** 2)" for name in self.matrices + self.vectors]
        return "\n".join([*lines, f"    return {' + '.join(sums)} + s", ""])


def written(seed: int) -> Callable[[Any], Any]:
    """Return the function of a program."""
    text = Writer(seed).program()
    name = f"<rows {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_rows(seed):
    fun = written(seed)
    x = np.random.default_rng(seed).normal(size=(5, 17)[seed % 2])
    value, gradient = s2sad.value_and_grad(fun, target="python")(x)
    np.testing.assert_allclose(value, fun(x), rtol=1e-10)
    compiled = s2sad.value_and_grad(fun)(x)
    np.testing.assert_allclose(compiled[0], value, rtol=1e-10)
    np.testing.assert_allclose(compiled[1], gradient, rtol=1e-9, atol=1e-9 * np.abs(gradient).max())
    if np.abs(gradient).max() < 1e4:  # else differences say nothing
        np.testing.assert_allclose(gradient, differences(fun, x), rtol=1e-4, atol=1e-5)
