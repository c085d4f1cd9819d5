"""The same kernels on a GPU, against the emulator; skipped where there is none.

    NUMBA_ENABLE_CUDASIM=0 python -m pytest tests/cuda -m gpu
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from s2sad.backends import cuda as backend
from tests.cuda import blocks, warp
from tests.cuda.harness import adjoint
from tests.cuda.kernels import CASES

pytestmark = pytest.mark.gpu


def _missing() -> str:
    if backend.is_simulated():
        return "the simulator is on; set NUMBA_ENABLE_CUDASIM=0 to run on a GPU"
    return "" if backend.front_end().is_available() else "no GPU and driver are found"


@pytest.mark.parametrize("name", sorted({*CASES, *warp.NAMES, *blocks.NAMES}))
def test_on_a_gpu(name: str) -> None:
    if reason := _missing():
        pytest.skip(reason)
    case = CASES[name]
    args = list(case.args())
    seeds: list[Any] = [
        None if isinstance(a, int) or np.asarray(a).dtype.kind != "f"
        else np.random.default_rng(i).uniform(-1, 1, np.shape(a) or 1) for i, a in enumerate(args)
    ]  # fmt: skip
    wanted = [None if s is None else s.copy() for s in seeds]
    adjoint(case.kernel, case.grid, case.block, [np.array(a) if np.ndim(a) else a for a in args], wanted)
    flat = [v for a, s in zip(args, seeds, strict=True) for v in ((a,) if s is None else (a, s))]
    case.kernel.adjoint[case.grid, case.block](*flat)
    for got, want in zip(seeds, wanted, strict=True):
        if want is not None:
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
