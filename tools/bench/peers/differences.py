"""Forward differences of the compiled primal: one run more than there are numbers to differentiate by."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tools.bench.kernel import Kernel
from tools.bench.peers.peer import Run

LONGEST = 0.5  # seconds; a gradient that takes longer is not waited for, and the table shows no figure


def derivatives(kernel: Kernel, args: tuple[Any, ...]) -> dict[str, Run]:
    """Return the gradient by differences, for gradients by few enough numbers."""
    if kernel.derivative != "grad":
        return {}
    wrt = kernel.wrt if isinstance(kernel.wrt, tuple) else (kernel.wrt,)
    kernel.primal(*args)
    start = time.process_time()
    kernel.primal(*args)
    if (time.process_time() - start) * sum(np.size(args[i]) for i in wrt) > LONGEST:
        return {}

    def gradient() -> Any:
        given = [np.array(arg, copy=True) if i in wrt and np.ndim(arg) else arg for i, arg in enumerate(args)]
        base = kernel.primal(*given)
        found = []
        for i in wrt:
            if not np.ndim(given[i]):
                step = 1e-7 * max(1.0, abs(given[i]))
                moved = [*given[:i], given[i] + step, *given[i + 1 :]]
                found.append((kernel.primal(*moved) - base) / step)
                continue
            flat, slopes = given[i].reshape(-1), np.empty(given[i].size)
            for j in range(flat.size):
                kept = flat[j]
                step = 1e-7 * max(1.0, abs(kept))
                flat[j] = kept + step
                slopes[j] = (kernel.primal(*given) - base) / step
                flat[j] = kept
            found.append(slopes.reshape(given[i].shape))
        return tuple(found)

    return {"": gradient}


def to_numpy(result: Any) -> Any:
    """Return the result as it is."""
    return result
