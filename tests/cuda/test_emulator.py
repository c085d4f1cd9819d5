"""The emulator sees the faults that a GPU would hide: each is planted here."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest
from numba import cuda

from tests.cuda import blocks, warp
from tests.cuda.emulator import DeviceFault, Divergence, OutOfBounds, Race, emulate
from tests.cuda.harness import adjoint
from tests.cuda.kernels import CASES


def scatter_without_atomic(x, out):
    i = cuda.grid(1)
    out[i % 2] += x[i]


def neighbour_in_place(x):
    i = cuda.grid(1)
    if i > 0:
        x[i] = x[i - 1]


def missing_barrier(x, out):
    s = cuda.shared.array(4, np.float64)
    t = cuda.threadIdx.x
    s[t] = x[t]
    out[t] = s[3 - t]


def atomic_and_plain_read(x, out):
    i = cuda.grid(1)
    cuda.atomic.add(out, 0, x[i])
    x[i] = out[0]


def blocks_meet(x, out):
    out[cuda.threadIdx.x] = x[cuda.grid(1)]


def blocks_meet_adding(x, out):
    out[cuda.threadIdx.x] += x[cuda.grid(1)]


def divergent_barrier(x):
    if cuda.threadIdx.x < 2:
        cuda.syncthreads()
    x[cuda.grid(1)] = 1.0


def different_barriers(x):
    if cuda.threadIdx.x < 2:
        cuda.syncthreads()
    else:
        cuda.syncthreads()
    x[cuda.grid(1)] = 1.0


def past_the_end(x, out):
    i = cuda.grid(1)
    out[i] = x[i + 1]


def before_the_start(x, out):
    i = cuda.grid(1)
    out[i] = x[i - 1]


def unset_memory(x):
    s = cuda.shared.array(4, np.float64)
    x[cuda.grid(1)] = s[cuda.threadIdx.x]


@pytest.mark.parametrize(("kernel", "fault", "count"), [
    (scatter_without_atomic, Race, 2), (neighbour_in_place, Race, 1), (missing_barrier, Race, 2),
    (atomic_and_plain_read, Race, 2), (divergent_barrier, Divergence, 1), (different_barriers, Divergence, 1),
    (past_the_end, OutOfBounds, 2), (before_the_start, OutOfBounds, 2),
])  # fmt: skip
def test_a_planted_fault_is_seen(kernel, fault, count) -> None:
    for seed in range(3):
        with pytest.raises(fault):
            emulate(kernel, 1, 4, *(np.ones(4) for _ in range(count)), seed=seed)


def test_blocks_that_meet_are_seen() -> None:
    with pytest.raises(Race, match="blocks meet"):
        emulate(blocks_meet, 2, 2, np.ones(4), np.ones(2))


def test_memory_that_nobody_wrote_is_nan() -> None:
    x = np.ones(4)
    emulate(unset_memory, 1, 4, x)
    assert np.isnan(x).all()


def right(x, out):
    s = cuda.shared.array(4, np.float64)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    cuda.atomic.add(out, 0, s[3 - t])


def two_in_one_line(x, out):
    a = cuda.shared.array(4, np.float64); b = cuda.shared.array(4, np.float64)  # noqa: E702
    t = cuda.threadIdx.x
    a[t] = x[t]
    b[t] = 0.0
    cuda.syncthreads()
    out[t] = a[3 - t]


def test_shared_arrays_made_in_one_line_are_two() -> None:
    out = np.zeros(4)
    emulate(two_in_one_line, 1, 4, np.arange(4.0), out)
    np.testing.assert_array_equal(out, [3.0, 2.0, 1.0, 0.0])


def test_every_kernel_is_looked_at() -> None:
    assert {*blocks.NAMES, *warp.NAMES} <= set(CASES)


def test_a_right_kernel_passes() -> None:
    out = np.zeros(1)
    emulate(right, 2, 4, np.arange(8.0), out)
    assert out[0] == 28.0


def faulty(text: str, what: str) -> list[str]:
    """Return the module with one of its barriers left out, or one of its atomic additions made plain; each in turn."""
    found: list[str] = []
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if not (isinstance(node, ast.Expr) and ast.unparse(node.value).startswith(what)):
            continue
        assert isinstance(node.value, ast.Call)
        words = [ast.unparse(a) for a in node.value.args]
        instead = f"{words[0]}[{words[1]}] += {words[2]}" if words else "pass"
        margin = " " * node.col_offset
        rest = [""] * ((node.end_lineno or node.lineno) - node.lineno)
        found.append("\n".join([*lines[: node.lineno - 1], margin + instead, *rest, *lines[node.end_lineno :]]))
    return found


class Planted:
    """The adjoint of a case, to be run with another text."""

    def __init__(self, name: str) -> None:
        self.case = CASES[name]
        self.args = list(self.case.args())
        bars = [np.ones(np.shape(a) or 1) for a in self.args]
        self.made = adjoint(self.case.kernel, self.case.grid, self.case.block, list(self.args), bars)
        self.text = self.made.loaded.text

    def run(self, text: str, seed: int = 0, late: bool = False) -> list[Any]:
        """Return the shadows after the adjoint, and after the kernel that counts its steps, by this text."""
        case, program, plain = self.case, self.made.program, self.made.loaded.plain
        where: dict[str, Any] = {"seed": seed, "text": text, "late": late}
        rng = np.random.default_rng(len(self.args))
        args = [np.array(a) if np.ndim(a) else a for a in self.args]
        bars = [rng.uniform(0.5, 1.5, np.shape(a) or 1) for a in args]
        extra: list[Any] = []
        if program.tape is not None:
            needed = np.zeros(1, np.int64)
            own = [np.array(a) if np.ndim(a) else a for a in args]
            emulate(plain[program.tape.counter], case.grid, case.block, *own, needed, **where)
            size, threads = int(needed[0]), int(np.prod(case.grid) * np.prod(case.block))
            extra = [np.full((size, max(1, program.tape.values), threads), np.nan),
                     np.zeros((size, max(1, program.tape.marks), threads), np.int64), np.zeros(1, np.int64)]
        flat = [v for i, pair in enumerate(zip(args, bars, strict=True)) for v in pair[: 1 + (i in self.made.wrt)]]
        for name in program.kernels:
            emulate(plain[name], case.grid, case.block, *flat, *extra, **where)
        return [bars[i] for i in self.made.wrt]


@pytest.mark.parametrize(("name", "what"), [
    ("matmul", "cuda.atomic.add("), ("permuted", "cuda.atomic.add("), ("chosen_element", "cuda.atomic.add("),
    ("scale", "cuda.syncthreads()"), ("strided", "cuda.syncthreads()"), ("image_convolution", "cuda.atomic.add("),
    ("image_convolution", "cuda.syncthreads()"),
])  # fmt: skip
def test_a_fault_planted_in_an_adjoint_is_seen(name: str, what: str) -> None:
    planted = Planted(name)
    texts = faulty(planted.text, what)
    assert texts
    for text in texts:
        with pytest.raises(Race):
            planted.run(text)


@pytest.mark.parametrize("name", list(CASES))
def test_a_fault_that_is_not_seen_is_none(name: str) -> None:
    """What may be left out without a race changes no number in a machine where threads see each other late either."""
    planted = Planted(name)
    texts = [text for what in ("cuda.atomic.add(", "cuda.syncthreads()") for text in faulty(planted.text, what)]
    right = planted.run(planted.text) if texts else []
    for text in [planted.text, *texts] if texts else []:
        try:
            planted.run(text)
        except DeviceFault:
            assert text is not planted.text
            continue
        for seed in range(3):
            for got, want in zip(planted.run(text, seed, late=True), right, strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)


def test_what_threads_see_late_shows_in_the_numbers() -> None:
    lost, stale = np.zeros(2), np.zeros(4)
    emulate(scatter_without_atomic, 1, 4, np.ones(4), lost, late=True)
    np.testing.assert_array_equal(lost, [1.0, 1.0])
    emulate(missing_barrier, 1, 4, np.ones(4), stale, late=True)
    assert np.isnan(stale).all()
    lost = np.zeros(2)
    emulate(blocks_meet_adding, 2, 2, np.ones(4), lost, late=True)
    np.testing.assert_array_equal(lost, [1.0, 1.0])
    whole = np.zeros(1)
    emulate(right, 2, 4, np.arange(8.0), whole, late=True)
    assert whole[0] == 28.0
