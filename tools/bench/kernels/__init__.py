"""The programs of the bench; `KERNELS` has all of them."""

from tools.bench.kernel import Kernel
from tools.bench.kernels import (
    adaptive,
    dense,
    elementwise,
    learning,
    mixture,
    ode,
    recurrent,
    small,
    stencils,
    vision,
)

FAMILIES = (small, mixture, vision, recurrent, ode, adaptive, learning, elementwise, dense, stencils)
KERNELS = tuple(kernel for family in FAMILIES for kernel in family.KERNELS)


def find(name: str) -> Kernel:
    """Return the kernel of that name."""
    return next(kernel for kernel in KERNELS if kernel.name == name)
