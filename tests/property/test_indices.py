"""Random loops that share their variables, count from before 0, and overwrite what they or others have read."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2sad

RANGES = (
    "range(5)", "range(1, 5)", "range(4)", "range(4, -1, -1)", "range(-2, 3)", "range(0, 5, 2)", "range(1, 4)",
    "range(3, 0, -1)", "range(n)", "range(n - 1)", "range(1, n)", "range(n - 2, -1, -1)", "range(k, n)",
)  # fmt: skip
PROGRAMS = 12


class Writer:
    """Writes one program `f(x, w, k)` of three arrays of five and the count 2."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.arrays = ["y", "z"]
        self.lines = ["def f(x, w, k):", "    n = x.shape[0]", "    y = x.copy()", "    z = np.empty(n)",
                      "    z[:] = w", "    s = 0.5"]  # fmt: skip

    def text(self) -> str:
        self.block(1, [], self.pick.randint(2, 5))
        return "\n".join(["import numpy as np", "", "", *self.lines,
                          "    return np.sum(np.sin(y)) + np.sum(np.sin(z)) + s", ""])  # fmt: skip

    def index(self, loops: list[str]) -> str:
        if not loops or self.pick.random() < 0.12:
            return str(self.pick.choice([0, 1, -1, 2, -2, 3]))
        return self.pick.choice(loops) + self.pick.choice(["", "", "", "", " - 1", " - 1", " - 2"])

    def item(self, loops: list[str]) -> str:
        return "s" if self.pick.random() < 0.15 else f"{self.pick.choice(['y', 'z', 'x', 'w'])}[{self.index(loops)}]"

    def value(self, loops: list[str], depth: int = 2) -> str:
        item = self.item(loops)
        if depth == 0 or self.pick.random() < 0.25:
            return item
        inner = self.value(loops, depth - 1)
        return self.pick.choice([f"np.sin({inner})", f"{item} * {inner}", f"({inner} + 0.5 * {item})",
                                 f"np.tanh({inner})", f"np.cos({item}) * 0.7"])  # fmt: skip

    def block(self, indent: int, loops: list[str], size: int) -> None:
        pad = "    " * indent
        for _ in range(size):
            chance = self.pick.random()
            if chance < 0.3 and indent < 4:
                name = self.pick.choice(["i", "i", "i", "j", "t"])
                if name == "t":
                    self.lines.append(f"{pad}for t in range({self.pick.choice(['2', '3', 'k'])}):")
                    self.block(indent + 1, loops, self.pick.randint(1, 3))
                elif name not in loops:
                    self.lines.append(f"{pad}for {name} in {self.pick.choice(RANGES)}:")
                    self.block(indent + 1, [*loops, name], self.pick.randint(1, 3))
            elif chance < 0.4 and loops:
                self.lines.append(f"{pad}if {self.item(loops)} > {self.pick.choice(['0.3', '0.6', '0.0'])}:")
                self.block(indent + 1, loops, self.pick.randint(1, 2))
            elif chance < 0.55:
                self.lines.append(f"{pad}s {self.pick.choice(['=', '+='])} {self.value(loops)}")
            elif chance < 0.97:
                place = f"{self.pick.choice(self.arrays)}[{self.index(loops)}]"
                self.lines.append(f"{pad}{place} {self.pick.choice(['=', '=', '+=', '*='])} {self.value(loops)}")
            else:
                self.lines.append(f"{pad}y, z = z, y")
        if self.lines[-1].endswith(":"):
            self.lines.append(f"{pad}s *= 0.9")


def written(seed: int, folder: Path) -> Any:
    path = folder / f"indices_{seed}.py"
    path.write_text(Writer(seed).text())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


@pytest.mark.parametrize("first", range(0, 20 * PROGRAMS, PROGRAMS))
def test_reverse_agrees_with_forward(first, tmp_path):
    """Forward mode keeps nothing, so that what the reverse sweep keeps too little of is seen."""
    for seed in range(first, first + PROGRAMS):
        f = written(seed, tmp_path)
        values = np.random.default_rng(seed)
        x, w = values.uniform(0.2, 1.2, 5), values.uniform(0.2, 1.2, 5)
        with np.errstate(all="ignore"):
            expected = f(x.copy(), w.copy(), 2)
            if not np.isfinite(expected) or abs(expected) > 1e6:
                continue
            value, bars = s2sad.value_and_grad(f, argnums=(0, 1), target="python")(x, w, 2)
            rows = s2sad.jacfwd(f, argnums=(0, 1), target="python")(x, w, 2)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        scale = 1.0 + max(np.abs(row).max() for row in rows)
        for bar, row in zip(bars, rows, strict=True):
            np.testing.assert_allclose(bar / scale, row / scale, atol=1e-8, err_msg=Writer(seed).text())
