"""The ten programs, each against its true derivative: the same arithmetic on dual numbers, thread by thread."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

from tests.cuda import warp
from tests.cuda.emulator import Launch, threads_of
from tests.cuda.harness import adjoint
from tests.cuda.kernels import CASES
from tests.duals import Dual, tangent_of

TRUTH = {  # what the derivative of the sum of all results by the first argument is known to be
    "product_over_range": lambda x, n, out: n * x ** (n - 1),
    "newton": lambda a, out: 0.5 / np.sqrt(a),
    "times_in_place": lambda x, y: y,
    "read_then_overwrite": lambda x, out: 6 * x**5,
    "running_product": lambda x, out: (out * np.prod(x, axis=1))[:, None] / x,
}


class Cells:
    """An array of dual numbers that a thread reads and writes."""

    def __init__(self, values: Any) -> None:
        self.cells = np.array(values, dtype=object)

    shape = property(lambda self: self.cells.shape)
    size = property(lambda self: self.cells.size)

    def __getitem__(self, index: Any) -> Any:
        return self.cells[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.cells[index] = value


def by_duals(name: str) -> Any:
    """Return d(sum of the second array)/d(each element of the first), one launch per element."""
    case = CASES[name]
    args = case.args()
    found = np.zeros_like(args[0])
    for at in np.ndindex(found.shape):
        given = [Cells(a) if isinstance(a, np.ndarray) else a for a in args]
        given[0][at] = Dual(float(given[0][at]), 1.0)
        launch, kernel = Launch(case.grid, case.block, 0), case.kernel.py_func
        with_numpy = types.FunctionType(kernel.__code__, {**kernel.__globals__, "math": np}, kernel.__name__)
        launch.run(threads_of(with_numpy, launch), given)
        found[at] = sum(tangent_of(cell) for cell in given[-1].cells.ravel())
    return found


@pytest.mark.parametrize("name", warp.NAMES)
def test_a_program_that_others_get_wrong(name: str) -> None:
    case = CASES[name]
    args = list(case.args())
    bars: list[Any] = [np.zeros_like(a) if isinstance(a, np.ndarray) else None for a in args]
    bars[-1][...] = 1.0
    adjoint(case.kernel, case.grid, case.block, [np.array(a) if np.ndim(a) else a for a in args], bars)
    np.testing.assert_allclose(bars[0], by_duals(name), rtol=1e-12)
    if name in TRUTH:
        np.testing.assert_allclose(bars[0], TRUTH[name](*args), rtol=1e-6)


def test_there_are_ten() -> None:
    assert len(warp.NAMES) == 10
    assert set(TRUTH) < set(warp.NAMES)
