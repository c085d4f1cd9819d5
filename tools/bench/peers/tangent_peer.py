"""tangent-ad: source to source too, for programs whose statements it knows."""

from __future__ import annotations

from typing import Any

import tangent

from tools.bench.kernel import Kernel, interpreted
from tools.bench.peers.peer import Run


def derivatives(kernel: Kernel, args: tuple[Any, ...]) -> dict[str, Run]:
    """Return tangent's gradient of the kernel's own program; tangent raises where it refuses that."""
    if kernel.derivative != "grad":
        return {}
    wrt = kernel.wrt if isinstance(kernel.wrt, tuple) else (kernel.wrt,)
    gradient = tangent.grad(interpreted(kernel.primal), wrt=wrt)
    return {"": lambda: gradient(*args)}


def to_numpy(result: Any) -> Any:
    """Return the result as it is."""
    return result
