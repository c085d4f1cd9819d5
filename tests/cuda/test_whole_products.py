"""Batches and the examples' adjoints in the emulator, which sees races and indices outside; and the CPU's answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.cuda.emulator import emulate
from tests.cuda.harness import check
from tools.bench.cuda.subjects import example


def draw(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape)


def border(batch: int, n: int, m: int) -> Any:
    cost = np.full((batch, n + 1, m + 1), 5.0)
    cost[:, 0, 0] = 0.0
    return cost


@pytest.mark.parametrize(("file", "name", "grid", "block", "args"), [
    ("cuda_diffusion.py", "diffuse", (2, 2), (3, 4), (draw(5, 7), draw(5, 7, seed=1), draw(5, 7, seed=2))),
    ("cuda_nbody.py", "potential", 2, 3, (draw(5), draw(5, seed=1), draw(5, seed=2), draw(5, seed=3))),
    ("cuda_ode.py", "pendulum", 2, 2, (draw(3), draw(3, seed=1), draw(3, seed=2))),
    ("cuda_soft_dtw.py", "soft_dtw", 2, 3, (draw(2, 3, 4), 0.7, border(2, 3, 4))),
])  # fmt: skip
def test_an_examples_adjoint_is_free_of_races(file: str, name: str, grid: Any, block: Any, args: Any) -> None:
    check(getattr(example(file), name), grid, block, *args, rtol=1e-4 if name == "pendulum" else 1e-6)


def root(a, x):
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def masked(x, y):  # derivatives that are infinite where they are masked
    return math.sqrt(max(x, 0.0)) + (math.log(y) if y > 0.0 else 0.0) + (x if y > 0.0 else math.sqrt(x * x))


def weighted(x, w):
    s = 0.0
    for i in range(x.shape[0]):
        s += math.sin(w * x[i] ** 2)
    return s


BATCHES = [
    (root, (draw(5), draw(5, seed=1))), (masked, (np.array([-1.0, -0.5, 2.0, 1.0]), np.array([1.0, 2.0, 0.0, -1.0]))),
    (weighted, (draw(5, 3), draw(5, seed=1))),
    (example("cuda_black_scholes.py").call, tuple(draw(5, seed=s) for s in range(5))),
]  # fmt: skip


@pytest.mark.parametrize(("function", "args"), BATCHES, ids=lambda b: getattr(b, "__name__", ""))
def test_a_batch_equals_the_cpus_answer_and_is_free_of_races(function: Any, args: Any) -> None:
    chosen = tuple(range(len(args)))
    batch = s2sad.vmap(s2sad.value_and_grad(function, argnums=chosen), target="cuda")
    value, bars = batch(*args)
    one = s2sad.value_and_grad(function, argnums=chosen)
    for at in range(len(value)):
        want, want_bars = one(*(a[at] if a.ndim > 1 else float(a[at]) for a in args))
        np.testing.assert_allclose(value[at], want, rtol=1e-13)
        for got, wanted in zip(bars, want_bars, strict=True):
            np.testing.assert_allclose(got[at], wanted, rtol=1e-12)
    (program, loaded), = batch._made.values()
    names = [o.name for o in program.outputs]
    arrays = [np.zeros_like(args[0]) if len(o.type.dims) > 1 else np.full(len(value), np.nan) for o in program.outputs]
    extra: list[Any] = []
    if program.tape is not None:
        needed = np.zeros(1, np.int64)
        emulate(loaded.plain[program.tape.counter], 2, 2, *args, needed, text=loaded.text)
        extra = [np.full((int(needed[0]), max(1, program.tape.values), 4), np.nan),
                 np.zeros((int(needed[0]), max(1, program.tape.marks), 4), np.int64), np.zeros(1, np.int64)]
    emulate(loaded.plain[program.entry], 2, 2, *args, *arrays, *extra, text=loaded.text)
    assert len(names) == 1 + len(args)
    np.testing.assert_allclose(arrays[0], value, rtol=1e-13)
    assert all(np.isfinite(a).all() for a in arrays)
