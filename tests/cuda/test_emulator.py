"""The emulator sees the faults that a GPU would hide: each is planted here."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from numba import cuda

from tests.cuda.emulator import Divergence, OutOfBounds, Race, emulate
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


def test_a_right_kernel_passes() -> None:
    out = np.zeros(1)
    emulate(right, 2, 4, np.arange(8.0), out)
    assert out[0] == 28.0


def faulty(text: str, what: str) -> list[str]:
    """Return the module with one of its barriers left out, or one of its atomic additions made plain; each in turn."""
    found: list[str] = []
    for number in range(text.count(what)):
        lines = text.splitlines()
        at = [n for n, line in enumerate(lines) if what in line][number]
        call = ast.parse(lines[at].strip()).body[0].value
        margin = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        words = [ast.unparse(a) for a in call.args]
        lines[at] = margin + (f"{words[0]}[{words[1]}] += {words[2]}" if words else "pass")
        found.append("\n".join(lines))
    return found


@pytest.mark.parametrize(("name", "what"), [
    ("matmul", "cuda.atomic.add("), ("permuted", "cuda.atomic.add("), ("chosen_element", "cuda.atomic.add("),
    ("scale", "cuda.syncthreads()"), ("strided", "cuda.syncthreads()"),
])  # fmt: skip
def test_a_fault_planted_in_an_adjoint_is_seen(name: str, what: str) -> None:
    case = CASES[name]
    args = list(case.args())
    made = adjoint(case.kernel, case.grid, case.block, args, [np.ones(np.shape(a) or 1) for a in args])
    texts = faulty(made.loaded.text, what)
    assert texts
    for text in texts:
        given = [(np.array(a) if np.ndim(a) else a, np.ones(np.shape(a) or 1)) for a in args]
        flat = [v for i, pair in enumerate(given) for v in pair[: 1 + (i in made.wrt)]]
        with pytest.raises(Race):
            emulate(made.loaded.plain[made.program.kernels[-1]], case.grid, case.block, *flat, text=text)
