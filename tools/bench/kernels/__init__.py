"""The programs of the bench; `KERNELS` has all of them.

The families are loaded when they are asked for: a process that measures a first derivative loads the one that
it needs, for the others import libraries (SciPy's optimisers take longer than the derivative).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tools.bench.kernel import Kernel

_NAMES = ("small", "mixture", "vision", "recurrent", "ode", "adaptive", "learning", "elementwise", "dense", "stencils",
          "weather", "examples")

if TYPE_CHECKING:
    FAMILIES: tuple[ModuleType, ...]
    KERNELS: tuple[Kernel, ...]


@cache
def _families() -> tuple[ModuleType, ...]:
    return tuple(import_module(f"{__name__}.{name}") for name in _NAMES)


def __getattr__(name: str) -> Any:
    """Return `FAMILIES`, the modules, or `KERNELS`, all that they have."""
    if name == "FAMILIES":
        return _families()
    if name == "KERNELS":
        return tuple(kernel for family in _families() for kernel in family.KERNELS)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def family(kernel: Kernel) -> str:
    """Return the module that has the kernel, so that it can be imported alone."""
    return next(family.__name__ for family in _families() if kernel in family.KERNELS)


def find(name: str) -> Kernel:
    """Return the kernel of that name."""
    return next(kernel for family in _families() for kernel in family.KERNELS if kernel.name == name)
