"""JAX, jitted, in double precision on the CPU; one form with whole arrays, one with `lax` loops."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from tools.bench.kernel import Kernel
from tools.bench.peers import jax_arrays, jax_loops
from tools.bench.peers.peer import Run

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

FORMS = {
    "cholesky": {"scan": jax_loops.cholesky, "library": jax_loops.cholesky_library},
    "substitute": {"scan": jax_loops.substitute, "library": jax_loops.substitute_library},
    "gauss_seidel": {"scan by rows": jax_arrays.gauss_seidel, "scan as written": jax_loops.gauss_seidel_as_written},
    "fehlberg": {"while, forward": jax_loops.fehlberg},
}


def forms(kernel: Kernel) -> dict[str, Any]:
    """Return the primals that JAX has for a kernel, by form."""
    if kernel.peers in FORMS:
        return FORMS[kernel.peers]
    primal = getattr(jax_arrays, kernel.peers, None)
    return {} if primal is None else {"": primal}


def derivatives(kernel: Kernel, args: tuple[Any, ...]) -> dict[str, Run]:
    """Return compiled derivatives that wait for their result; the arguments are on the device already."""
    fixed = tuple(i for i, arg in enumerate(args) if isinstance(arg, int))
    given = tuple(arg if i in fixed else jax.numpy.asarray(arg) for i, arg in enumerate(args))
    runs = {}
    for form, primal in forms(kernel).items():
        compiled = jax.jit(_derivative(kernel, primal), static_argnums=fixed)
        runs[form] = lambda compiled=compiled: jax.block_until_ready(compiled(*given))
    return runs


def _derivative(kernel: Kernel, primal: Any) -> Any:
    match kernel.derivative:
        case "grad" if kernel.peers == "fehlberg":
            return jax.jacfwd(primal, argnums=kernel.wrt)
        case "grad":
            return jax.grad(primal, argnums=kernel.wrt)
        case "hvp":
            return lambda *args: jax.jvp(lambda x: jax.grad(primal)(x, *args[1:-1]), args[:1], args[-1:])[1]
        case "jacfwd":
            return jax.jacfwd(primal, argnums=kernel.wrt)
        case "covectors":
            return _covectors(primal)
        case "batched jacobian" | "own loop":
            return jax.vmap(jax.jacrev(primal, argnums=kernel.wrt))
    raise ValueError(kernel.derivative)


def _covectors(primal: Any) -> Any:
    def product(x: Any, *rest: Any) -> Any:
        _, pullback = jax.vjp(lambda x: primal(x, *rest[:-1]), x)
        return jax.vmap(pullback)(rest[-1])[0]

    return product


def to_numpy(result: Any) -> Any:
    """Return JAX arrays as NumPy's, in the same structure."""
    return jax.tree_util.tree_map(np.asarray, result)
