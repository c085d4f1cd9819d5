"""Random kernels: reads of neighbours, of permuted and fixed elements, loops, branches, tapes, atomics."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.cuda.harness import check

READS = ["x[i]", "x[i - 1]", "x[i + 1]", "y[i]", "w[0]", "w[1]", "x[n - 1 - i]", "y[i] * x[i]", "k", "x[order[i]]",
         "x[2]"]  # fmt: skip
FORMS = ["({} * {})", "({} + {})", "math.sin({})", "({} - 0.3 * {})", "math.exp(-{} * {})"]
HEADS = [
    "    i = cuda.grid(1)\n    if 0 < i < n - 1:",
    "    i = cuda.grid(1)\n    if 1 <= i and i + 1 < n:",
    "    for i in range(cuda.grid(1), n, cuda.gridsize(1)):\n        if i == 0 or i == n - 1:\n            continue",
    "    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x\n"
    "    if i == 0 or i >= n - 1:\n        return\n    if True:",
]


def expression(rng: random.Random, depth: int, names: list[str]) -> str:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(READS + names * 2)
    form = rng.choice(FORMS)
    return form.format(*(expression(rng, depth - 1, names) for _ in range(form.count("{}"))))


def statement(rng: random.Random, names: list[str]) -> list[str]:
    assign = f"{rng.choice('abc')} = {expression(rng, 2, names)}"
    test = rng.choice(["a > b", "x[i] > 1.0", "i > 2", "a * b > c"])
    pair = rng.choice(["x[j] * x[i]", "(x[i] - x[j]) ** 2", "w[0] * x[j]", "y[i] * x[j]"])
    loop = f"for j in range({rng.choice(['n', '1, n', 'i, n', '3'])}):"
    return rng.choice([
        [assign],
        [loop, f"    a += {pair}"],
        [loop, f"    a = 0.5 * a * x[j] + 0.2 * {expression(rng, 1, ['b', 'c'])}"],
        [f"if {test}:", f"    {assign}"],
        [f"if {test}:", f"    {assign}", "else:", f"    b = {expression(rng, 1, names)}"],
        [f"out[i] = {expression(rng, 2, names)}"],
        [f"cuda.atomic.add(total, {rng.choice(['0', '1', 'order[i] % 2'])}, {expression(rng, 1, names)})"],
        ["m = 0", "while m < 3 and a < 5.0:", "    a = a * a + 0.1 * b", "    m = m + 1"],
    ])  # fmt: skip


def kernel_text(rng: random.Random) -> str:
    names = ["a", "b", "c"]
    lines = [f"{name} = {expression(rng, 1, [])}" for name in names]
    for _ in range(rng.randint(1, 4)):
        lines += statement(rng, names)
    lines.append(f"out[i] = {expression(rng, 1, names)} * a")
    if rng.random() < 0.4:
        lines.append(f"y[i] = y[i] * {expression(rng, 1, names)}")
    body = "\n".join(f"        {line}" for line in lines)
    head = "import math\nfrom numba import cuda\n\n\ndef kernel(x, y, w, k, out, total, order, n):"
    return f"{head}\n{rng.choice(HEADS)}\n{body}\n"


@pytest.mark.parametrize("seed", range(16))
def test_a_random_kernel(seed: int, tmp_path: Path) -> None:
    text = kernel_text(random.Random(seed))
    path = tmp_path / f"random_{seed}.py"
    path.write_text(text)
    spec: Any = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rng, n = np.random.default_rng(seed), 7
    draw = lambda size: rng.uniform(0.4, 1.2, size)
    args = draw(n), draw(n), draw(2), 0.7, draw(n), draw(2), rng.permutation(n), n
    check(s2sad.cuda.kernel(module.kernel), 2, 2 if "gridsize" in text else 4, *args, rtol=2e-5)
