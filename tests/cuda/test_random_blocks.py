"""Random kernels whose threads work together: shared memory, barriers in loops, leaders, one axis and two."""

from __future__ import annotations

import importlib.util
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.cuda.harness import check

FORMS = ["({} * {})", "({} + {})", "math.sin({})", "({} - 0.3 * {})", "math.tanh({})", "{} / (1.5 + {} ** 2)",
         "max({}, {})", "math.sqrt(0.3 + {} ** 2)", "({} if {} > 0.4 else {})"]  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """A launch of one or two axes: how kernels for it read, write and tell threads apart."""

    grid: Any
    block: Any
    own: str
    cell: str
    start: tuple[str, ...]
    first: str
    guards: tuple[str, ...]
    of_global: tuple[str, ...]
    of_shared: tuple[str, ...]
    length: int


LINE = Shape(
    2, 4, "t", "i",
    ("s = cuda.shared.array(4, np.float64)", "z = cuda.shared.array((4, 2), np.float64)", "t = cuda.threadIdx.x",
     "i = cuda.grid(1)"),
    "t == 0", ("t < 2", "t % 2 == 1", "x[i] > 0.9", "i > 2"),
    ("x[i]", "y[i]", "w[0]", "w[t]", "k", "x[order[i]]", "x[t]", "x[n - 1 - i]", "x[max(i - 1, 0)]", "x[(i + 1) % n]"),
    ("s[t]", "s[3 - t]", "s[(t + 1) % 4]", "s[0]", "z[t, 0]", "z[3 - t, 1]", "c[0]"), 8,
)  # fmt: skip
PLANE = Shape(
    (3, 2), (2, 3), "tx, ty", "i, j",
    ("s = cuda.shared.array((2, 3), np.float64)", "z = cuda.shared.array((2, 3, 2), np.float64)",
     "tx, ty = cuda.threadIdx.x, cuda.threadIdx.y", "i, j = cuda.grid(2)"),
    "tx == 0 and ty == 0", ("tx == 0", "ty < 2", "x[i, j] > 0.9", "tx + ty == 1"),
    ("x[i, j]", "y[i, j]", "w[0]", "w[ty]", "k", "x[j, i]", "x[0, j]", "x[max(i - 1, 0), j]", "w[tx + ty]"),
    ("s[tx, ty]", "s[1 - tx, ty]", "s[tx, (ty + 1) % 3]", "s[0, 0]", "z[tx, ty, 0]", "z[0, ty, 1]", "c[0]"), 6,
)  # fmt: skip


@dataclass
class Writer:
    """Writes one kernel: every shared element is written by one thread between two barriers."""

    rng: random.Random
    shape: Shape
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    names: tuple[str, ...] = ("0.7",)

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def under(self, head: str, text: str) -> None:
        self.line(f"{head}:")
        self.lines.append("    " * (self.depth + 1) + text)

    def expression(self, depth: int, shared: bool = False) -> str:
        if depth == 0 or self.rng.random() < 0.25:
            of_shared = self.shape.of_shared * 2 if shared else ()
            return self.rng.choice([*self.names * 2, *self.shape.of_global, *of_shared])
        form = self.rng.choice(FORMS)
        return form.format(*(self.expression(depth - 1, shared) for _ in range(form.count("{}"))))

    def write(self) -> None:
        own = self.shape.own
        match self.rng.randrange(5):
            case 0:
                self.line(f"s[{own}] = {self.expression(2)}")
            case 1:
                self.line(f"z[{own}, {self.rng.randint(0, 1)}] = {self.expression(2)}")
            case 2:
                self.under(f"if {self.rng.choice(self.shape.guards)}", f"s[{own}] = {self.expression(1)}")
            case 3:
                self.under(f"if {self.shape.first}", f"c[0] = {self.expression(2)}")
            case _:
                self.line(f"s[{own}] = 0.5 * s[{own}] + {self.expression(1)} * s[{own}] * 0.2")

    def phase(self) -> None:
        self.write()
        self.line("cuda.syncthreads()")
        name = self.rng.choice(("p", "q"))
        match self.rng.randrange(3):
            case 0:
                self.line(f"{name} = {self.expression(2, True)}")
            case 1:
                self.line(f"{name} += 0.3 * {self.expression(1, True)}")
            case _:
                self.under(f"if {self.rng.choice(self.shape.guards)}", f"{name} = {self.expression(2, True)}")
        self.line("cuda.syncthreads()")

    def block(self, loops: int) -> None:
        for _ in range(self.rng.randint(1, 3)):
            draw = self.rng.random()
            if draw < 0.6 or loops == 0:
                self.phase()
                continue
            if draw < 0.8:
                self.line(f"for m{loops} in range({self.rng.choice(('2', 'n // 2', '1, 3'))}):")
            else:
                self.line(f"h{loops} = {self.rng.choice((2, 3))}")
                self.line(f"while h{loops} > 0:")
            self.depth += 1
            self.phase()
            self.block(loops - 1)
            if draw >= 0.8:
                self.line(f"h{loops} -= 1")
            self.depth -= 1

    def text(self) -> str:
        own, cell = self.shape.own, self.shape.cell
        for line in (*self.shape.start, "c = cuda.shared.array(1, np.float64)"):
            self.line(line)
        self.line(f"p = {self.expression(1)}")
        self.line(f"q = {self.expression(1)}")
        self.names = ("p", "q")
        for place in (f"s[{own}]", f"z[{own}, 0]", f"z[{own}, 1]"):
            self.line(f"{place} = {self.expression(1)}")
        self.under(f"if {self.shape.first}", f"c[0] = {self.expression(1)}")
        self.line("cuda.syncthreads()")
        self.block(2)
        if self.rng.random() < 0.4:
            self.line(f"cuda.atomic.add(total, {self.rng.choice(('0', 'i % 2'))}, {self.expression(1, True)})")
        self.line(f"out[{cell}] {self.rng.choice(('=', '+='))} {self.expression(2, True)} * p + q")
        head = "import math\nimport numpy as np\nfrom numba import cuda\n\n\n"
        return head + "def kernel(x, y, w, k, out, total, order, n):\n" + "\n".join(self.lines) + "\n"


@pytest.mark.parametrize("seed", range(9))
def test_a_random_kernel_of_blocks(seed: int, tmp_path: Path) -> None:
    shape = PLANE if seed % 3 == 2 else LINE
    path = tmp_path / f"blocks_{seed}.py"
    path.write_text(Writer(random.Random(seed), shape).text())
    spec: Any = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rng, n = np.random.default_rng(seed), shape.length
    size = (n,) if shape is LINE else (n, n)
    draw = lambda *dims: rng.uniform(0.4, 1.2, dims)
    args = draw(*size), draw(*size), draw(4), 0.7, draw(*size), draw(2), rng.permutation(n), n
    check(s2sad.cuda.kernel(module.kernel), shape.grid, shape.block, *args, rtol=3e-5)
