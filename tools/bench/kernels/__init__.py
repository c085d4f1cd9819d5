"""The programs of the bench; `KERNELS` has all of them."""

from tools.bench.kernel import Kernel
from tools.bench.kernels import (
    adaptive,
    dense,
    elementwise,
    examples,
    learning,
    mixture,
    ode,
    recurrent,
    small,
    stencils,
    vision,
    weather,
)

FAMILIES = (small, mixture, vision, recurrent, ode, adaptive, learning, elementwise, dense, stencils, weather, examples)
KERNELS = tuple(kernel for family in FAMILIES for kernel in family.KERNELS)


def family(kernel: Kernel) -> str:
    """Return the module that has the kernel, so that it can be imported alone."""
    return next(family.__name__ for family in FAMILIES if kernel in family.KERNELS)


def find(name: str) -> Kernel:
    """Return the kernel of that name."""
    return next(kernel for kernel in KERNELS if kernel.name == name)
