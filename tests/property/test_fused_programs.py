"""Random loops over rows whose turns mostly only add up: many become one with their adjoints, or with each other."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
import pytest

import s2sad
from s2sad.transform import fused
from tests.property.test_programs import FOLDER, load

PROGRAMS = 48
HELPERS = '''"""A random program: x of shape (n,), w of shape (m,), A of shape (n, m), a number a."""

import math

import numpy as np


def bend(c):
    if c > 0.6:
        return math.sin(c) * c
    return 0.5 * c


def fill(e, w, c):
    for j in range(w.size):
        e[j] = math.sin(w[j] * c + j)


'''


class Rows:
    """Writes a program: loops over rows, made of stages that each give a number or an array of the turn.

    Attributes:
        numbers: the names of numbers that the turn has made so far.
        arrays: the names of arrays that the turn has filled so far.
    """

    def __init__(self, number: int) -> None:
        """Begin the program of that number."""
        self.random, self.lines, self.count = random.Random(number), list[str](), 0
        self.numbers, self.arrays, self.works = list[str](), list[str](), list[str]()

    def one(self, *choices: Any) -> Any:
        """Draw one of the choices."""
        return self.random.choice(choices)

    def name(self, stem: str) -> str:
        """Return a name that is new."""
        self.count += 1
        return f"{stem}{self.count}"

    def add(self, level: int, *lines: str) -> None:
        """Write lines."""
        self.lines += ["    " * level + line for line in lines]

    def leaf(self, *more: str) -> str:
        """Draw a number: of the row, or one that the turn has made."""
        known = [*self.numbers[-3:], *more]
        other = self.one("n - 1 - i", "i - 1", "-i - 1", "(i + 1) % n")
        return self.one(*known, *known, "x[i]", "a", "A[i, 0]", "A[i, -1]", "w[i % 3]", f"x[{other}]", "0.3 * i")

    def term(self, *more: str) -> str:
        """Draw an expression of two numbers."""
        c, d = self.leaf(*more), self.leaf(*more)
        return self.one(f"({c} + {d})", f"{c} * ({d})", f"math.sin({c} * {d})", f"math.tanh({c} - {d})", f"bend({c})",
                        f"{c} / (1.5 + math.cos({d}))", f"({c} if {c} > {d} else 0.5 * {d})", f"math.exp(-({c}) ** 2)")

    def stage_sum(self) -> None:
        """Run over the components with a number that each of them changes."""
        s, item = self.name("s"), self.one("w[j]", "A[i, j]", *(f"{e}[j]" for e in self.arrays * 3))
        step = self.one(f"{s} += {item} * {self.leaf()}", f"{s} = math.sin({s} + {item})", f"{s} += {self.term(item)}",
                        f"{s} += {item} ** 2", f"{s} = {s} + 0.1 * {s} * {item}", f"{s} = max({s}, {item})")
        start = self.one("0.0", "1.0", self.leaf())
        self.add(2, f"{s} = {start}", f"for j in range({self.one('m', 'm', '3')}):", f"    {step}")
        self.numbers.append(s)

    def stage_array(self) -> None:
        """Fill an array from outside the loop, or make one."""
        free = [e for e in self.works if e not in self.arrays]
        e = self.one(*free) if free else self.name("g")
        if not free:
            self.add(2, f"{e} = np.sin({self.one('w', 'A[i]')} * {self.leaf()})")
        if self.one(True, False):
            self.add(2, "for j in range(m):", f"    {e}[j] {'=' if free else '+='} math.cos({self.term('w[j]')})")
        elif free:
            self.add(2, self.one(f"fill({e}, w, {self.leaf()})", f"{e}[:] = np.tanh(A[i] * {self.leaf()})"))
        self.arrays.append(e)

    def stage_use(self) -> None:
        """Make a number of an array."""
        if self.arrays:
            e, s = self.one(*self.arrays), self.name("s")
            use = self.one(f"np.sum({e} * {e})", f"np.max({e})", f"{e} @ w", f"{e}[0] * {e}[-1]", f"{e}[i % 3] ** 2")
            self.add(2, f"{s} = {use}")
            self.numbers.append(s)

    def stage_branch(self) -> None:
        """Skip the rest of a turn, or go one of two ways."""
        if self.one(True, False, False):
            self.add(2, f"if {self.leaf()} > 0.9:", "    continue")
            return
        z = self.name("z")
        self.add(2, f"if {self.leaf()} > 0.5:", f"    {z} = {self.term()}", "else:", f"    {z} = {self.leaf()}")
        self.numbers.append(z)

    def stage_other(self) -> None:
        """Draw a statement that may hold the turns together."""
        e, z, place = self.one("rows", *self.works), self.name("z"), self.one("0", "-1", "i % 3")
        self.add(2, self.one(
            f"{e}[{place}] {self.one('=', '+=', '*=')} {self.leaf()}", f"kept = 0.5 * kept + {self.leaf()}",
            f"y[{self.one('i', 'i - 1', 'n - 1 - i')}] = {self.term()}", f"rows += w * {self.leaf()}",
            f"items.append({self.leaf()})", f"if {self.leaf()} > 1.1: break", f"{e} = {e} * a",
            f"if {self.leaf()} > 0.7: fill({e}, w, {self.leaf()})"))
        read = self.one(f"{e}[{place}]", "kept", "y[i]", "y[i - 1]", "total * 0.1", "x[len(items) % n]")
        self.add(2, f"{z} = {read}")
        self.numbers.append(z)

    def loop(self) -> None:
        """Write a loop over rows."""
        self.numbers, self.arrays, self.works = [], [], []
        for _ in range(self.one(0, 1, 2)):
            self.works.append(self.name("e"))
            self.add(1, f"{self.works[-1]} = {self.one('np.empty(m)', 'np.zeros(m)', 'np.ones(3)', 'np.cos(w)')}")
            self.add(1, *([f"{self.works[-1]}[:] = 0.3"] if "empty" in self.lines[-1] else []))
        turns = self.one("n", "n", "x.size", "A.shape[0]", "1, n", "n - 1", "n - 1, -1, -1", "0, n, 2")
        self.add(1, f"for i in range({turns}):")
        stages = [self.stage_sum, self.stage_array, self.stage_use] * 3 + [self.stage_branch, self.stage_other]
        for stage in self.random.choices(stages, k=self.one(3, 4, 5)):
            stage()
        self.add(2, f"total += {' * '.join(['a', *self.numbers[-3:]])}")

    def text(self) -> str:
        """Return the program."""
        self.add(0, "def f(x, w, A, a):")
        self.add(1, "n, m, total, kept, items = x.size, w.size, 0.0, 0.4, [a, 0.3, a]")
        self.add(1, "y, rows = np.ones(n), np.zeros(m)")
        for _ in range(self.one(1, 1, 2)):
            self.loop()
            self.add(1, *self.one([], [], ["kept = items.pop()"], ["total *= 0.9"], ["a = kept * a"]))
        self.add(1, f"return total{self.one('', '', ' + kept', ' + np.sum(y * x)', ' + np.sum(rows * w)')}")
        return HELPERS + "\n".join(self.lines) + "\n"


def check(number: int) -> None:
    """Compare the gradient with a tangent, and the tangent with differences."""
    source = Rows(number).text()
    program = load(source, False)
    try:
        numbers = np.random.default_rng(number)
        at = [numbers.uniform(0.2, 1.4, shape) for shape in (5, 3, (5, 3))] + [0.8]
        step = [numbers.normal(size=np.shape(value)) for value in at[:3]] + [0.7]
        value, bars = s2sad.value_and_grad(program.fun, argnums=(0, 1, 2, 3), target="python")(*at)
        slope = sum(np.sum(bar * dot) for bar, dot in zip(bars, step, strict=True))
        out, out_dot = s2sad.jvp(program.fun, tuple(at), tuple(step), target="python")
        size = max(1.0, *(float(np.max(np.abs(bar))) for bar in bars))
        ahead, behind = (program.fun(*(x + h * d for x, d in zip(at, step, strict=True))) for h in (1e-6, -1e-6))
        np.testing.assert_allclose([value, out], program.fun(*at), rtol=1e-11, atol=1e-11, err_msg=source)
        np.testing.assert_allclose(slope / size, out_dot / size, rtol=0, atol=1e-10, err_msg=source)
        np.testing.assert_allclose((ahead - behind) / 2e-6 / size, out_dot / size, rtol=0, atol=1e-5, err_msg=source)
    finally:
        sys.modules.pop(program.name, None)
        (FOLDER / f"{program.name}.py").unlink(missing_ok=True)


@pytest.mark.parametrize("part", range(4))
def test_random_loops(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Differentiate random programs, of which many are made one loop."""
    joined = set[int]()
    put_together = fused.contracted

    def counted(*given: Any) -> Any:
        joined.add(number)
        return put_together(*given)

    monkeypatch.setattr(fused, "contracted", counted)
    every = range(part, PROGRAMS, 4)
    for number in every:
        check(number)
    assert len(joined) > len(every) // 4
