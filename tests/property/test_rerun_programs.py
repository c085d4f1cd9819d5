"""Random steppers: numbers, states and workspaces changed in turns, each of which is run again before its reverse."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
import pytest

import s2sad
from s2sad.transform import adjoint
from tests.property.test_programs import FOLDER, load

PROGRAMS = 100
HELPERS = '''"""A random program: x of shape (n,), a number a."""

import math

import numpy as np


def slope(y, out):
    for i in range(y.size):
        out[i] = math.sin(y[i]) - 0.3 * y[i - 1] * y[i]


'''


class Steps:
    """Writes a program: a loop over steps, whose statements read and write rows of workspaces in many orders."""

    def __init__(self, number: int) -> None:
        """Begin the program of that number."""
        self.random, self.lines = random.Random(number), list[str]()

    def one(self, *choices: Any) -> Any:
        """Draw one of the choices."""
        return self.random.choice(choices)

    def add(self, level: int, *lines: str) -> None:
        """Add lines at a level."""
        self.lines += ["    " * level + line for line in lines]

    def read(self, i: str = "", r: str = "") -> str:
        """Return something to read, with the counters that there are."""
        found = ["s", "t", "a", "u[1]", "m[2]", "w[0, 1]", "w[1, 2]", "m[0] * m[3]", "x[0]", "e[1]"]
        if i:
            found += [f"u[{i}]", f"m[{i}]", f"m[{i} + 1]", f"m[{i} + 2]", f"w[1, {i}]", f"x[{i}]", f"e[{i}]"] * 2
            found += [f"m[{i} - 1]", f"e[{i} - 1]", f"w[2, {i} - 1]"]  # at 0, the last
        if i and r:
            found += [*[f"w[{r}, {i}]"] * 6, f"w[{r} - 1, {i}]", f"w[{r}, {r}]"]
        return self.one(*found)

    def value(self, i: str = "", r: str = "") -> str:
        """Return an expression that stays small."""
        first, second = self.read(i, r), self.read(i, r)
        return self.one(f"math.sin({first}) * {second}", f"0.4 * {first} * {second}", f"math.cos({first} + {second})",
                        f"0.5 * {first} + 0.2", f"math.exp(-{first} * {first})")  # fmt: skip

    def fill(self, level: int) -> None:
        """A loop over elements."""
        turns = self.one("n", "n", "1, n", "n - 1, -1, -1", "n - 1")
        place = self.one("m[i]", "m[i]", "m[i + 1]", "m[i + 2]", "w[1, i]", "w[2, i]", "e[i]", "u[i]", "e[i - 1]")
        how = self.one("=", "=", "=", "+=") if place[0] != "u" else "+= 0.1 *"
        self.add(level, f"for i in range({turns}):")
        if self.one(0, 0, 1):
            self.add(level + 1, f"c = {self.value('i')}", f"m[i] = c * {self.read('i')}")
        self.add(level + 1, f"{place} {how} {self.value('i')}")

    def recur(self, level: int) -> None:
        """Each element made of its neighbour; that of the first is the last, from the step before."""
        array = self.one("e", "w[1]", "w[2]")
        place, before = (f"{array}[{k}]" if array == "e" else f"{array[:-1]}, {k}]" for k in ("i", "i - 1"))
        self.add(level, "for i in range(n):", f"    {place} = math.sin({before} * {before}) + {self.value('i')}")

    def stages(self, level: int) -> None:
        """Rows one after another, each made of those before."""
        self.add(level, f"for q in range({self.one('3', '3', '1, 3')}):", "    for i in range(n):")
        self.add(level + 2, f"m[i] = {self.one('u[i]', self.value('i'))}")
        inner = self.one("q", "q", "q", "q + 1", "3", "q - 1, -1, -1")
        self.add(level + 2, f"for r in range({inner}):", f"    m[i] += {self.value('i', 'r')}")
        self.add(level + 1, *self.one(
            ["row = w[q]", "row[0] = m[1] * m[2]", "row[1] = math.sin(m[0])"],
            ["for i in range(n):", f"    w[q, i] = {self.value('i')}"],
            ["slope(m[:4], w[q])"],
            [f"w[{self.one('q', '2 - q')}, {self.one('0', '1', '3')}] = {self.value()}"],
        ))  # fmt: skip

    def few(self, level: int) -> None:
        """A number, an element, a whole array, or a sum."""
        self.add(level, *self.one(
            [f"s = 0.5 * s + 0.3 * {self.value()}"], [f"s += 0.1 * {self.value()}"], [f"m[2] = {self.value()}"],
            [f"w[0, 1] = {self.value()}"], ["m[:] = 0.5"], ["e[:] = 0.1 * x"], [f"w[:] = 0.1 * {self.read()}"],
            [f"total += {self.value()} * {self.read()}"], ["slope(u, e)"], ["total += np.sum(e * u)"],
            ["z = np.sin(u) * s", f"e[:] = z * {self.read()}"], ["s = 0.2 * np.sum(w[1]) + s * s * 0.3"],
        ))  # fmt: skip

    def branch(self, level: int) -> None:
        """A decision, on a number or on a count."""
        self.add(level, f"if {self.one('s > 0.4', 't > 0.4', 'u[0] * s < 0.3', 'k % 2 == 0', 's > 0.1 and k > 1')}:")
        self.one(self.fill, self.few, self.stages, self.few)(level + 1)
        if self.one(0, 1):
            self.add(level, "else:")
            self.one(self.fill, self.few)(level + 1)

    def text(self) -> str:
        """Return the program."""
        self.add(0, "def f(x, a):")
        self.add(1, "n, s, t, k, total = x.size, 0.3 * a, 0.0, 0, 0.0")
        self.add(1, "u, m, e = x.copy(), np.zeros(n + 2), np.ones(n)", f"w = np.{self.one('zeros', 'ones')}((3, n))")
        if self.one(0, 1):
            self.add(1, "total += u[0] * m[1] * s + e[2] * e[2] * u[1] * u[1]", "w[1, 1] = s * u[2] * u[2]")
        loop = self.one(*["while t < 0.9:"] * 2, "for step in range(4):", "while True:", "for step in range(9):")
        self.add(1, loop)
        middle = self.random.randrange(4)
        for place in range(self.one(3, 4, 5)):
            if place == middle and loop in ("while True:", "for step in range(9):"):
                self.add(2, f"if {self.one('t > 0.7', 'k > 3', 's * s + t > 0.9 or k > 4')}:", "    break")
            self.one(self.fill, self.fill, self.stages, self.few, self.branch, self.recur)(2)
        self.add(2, f"t += {self.one('0.25', '0.25', '0.2 + 0.1 * math.sin(s) ** 2')}", "k += 1")
        if middle >= 3 or loop == "while True:":
            self.add(2, *(["if k > 4:", "    break"] if loop != "while t < 0.9:" else []))
        how = self.one("+= 0.1 * ", "= 0.5 * u[i] + 0.2 * ")
        self.add(2, "for i in range(n):", f"    u[i] {how}{self.value('i')}")
        self.add(1, *self.one([], ["total *= s"], ["total += m[1] * w[1, 2] * t"], ["u[1] *= s"]))
        rest = self.one("", "", " + np.sum(u * u)", " + np.sum(w * w) * e[1]", " + m[2] * u[1]")
        self.add(1, f"return total + s{rest}")
        return HELPERS + "\n".join(self.lines) + "\n"


def check(number: int, target: str = "python") -> None:
    """Compare the gradient with a tangent, and the tangent with differences."""
    source = Steps(number).text()
    program = load(source, False)
    try:
        numbers = np.random.default_rng(number)
        at = [numbers.uniform(0.2, 1.0, 4), 0.8]
        step = [numbers.normal(size=4), 0.7]
        value, bars = s2sad.value_and_grad(program.fun, argnums=(0, 1), target=target)(*at)
        slope = sum(np.sum(bar * dot) for bar, dot in zip(bars, step, strict=True))
        out, out_dot = s2sad.jvp(program.fun, tuple(at), tuple(step), target="python")
        size = max(1.0, *(float(np.max(np.abs(bar))) for bar in bars))
        np.testing.assert_allclose([value, out], program.fun(*at), rtol=1e-11, atol=1e-11, err_msg=source)
        np.testing.assert_allclose(slope / size, out_dot / size, rtol=0, atol=1e-10, err_msg=source)
        again = s2sad.grad(program.fun, argnums=(0, 1), target=target)(*at)
        for one, other in zip(again, bars, strict=True):
            np.testing.assert_allclose(one / size, other / size, rtol=0, atol=1e-11, err_msg=source)
    finally:
        sys.modules.pop(program.name, None)
        (FOLDER / f"{program.name}.py").unlink(missing_ok=True)


@pytest.mark.parametrize("part", range(4))
def test_random_steppers(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run turns again wherever that can be, whether or not it pays."""
    asked, done = set[int](), set[int]()
    run_again = adjoint.rerun

    def counted(loop: Any, around: Any, beforehand: bool = False) -> Any:
        made = run_again(loop, around, beforehand)
        if made is not None and not beforehand:
            done.add(number)
        return made

    def always(loop: Any, plan: Any, around: Any) -> bool:
        asked.add(number)
        return adjoint.rerun(loop, around, beforehand=True) is not None

    monkeypatch.setattr(adjoint, "rerun", counted)
    monkeypatch.setattr(adjoint, "pays", always)
    every = range(part, PROGRAMS, 4)
    for number in every:
        check(number)
    assert len(done) > len(every) // 2
