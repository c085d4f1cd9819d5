"""tangent-ad: source to source too, for programs whose statements it knows."""

from __future__ import annotations

from typing import Any

import tangent

from tools.bench.kernel import Kernel
from tools.bench.peers.peer import Run


def derivatives(kernel: Kernel, args: tuple[Any, ...]) -> dict[str, Run]:
    """Return tangent's gradient of the kernel's own program, or nothing where tangent refuses it."""
    if kernel.derivative != "grad":
        return {}
    plain = getattr(kernel.primal, "py_func", kernel.primal)
    wrt = kernel.wrt if isinstance(kernel.wrt, tuple) else (kernel.wrt,)
    try:
        gradient = tangent.grad(plain, wrt=wrt)
        gradient(*args)
    except Exception:
        return {}
    return {"": lambda: gradient(*args)}


def to_numpy(result: Any) -> Any:
    """Return the result as it is."""
    return result
