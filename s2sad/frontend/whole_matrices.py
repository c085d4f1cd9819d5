"""Matrices of whole numbers that LAPACK is given: NumPy makes them real before, which is written out here."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Expr
from s2sad.ir.types import Array

_NAMES = frozenset({
    "solve", "inv", "det", "slogdet", "eig", "eigh", "eigvals", "eigvalsh", "cholesky", "qr", "svd", "svdvals", "lstsq",
    "pinv", "pinvh", "cond", "norm", "solve_triangular", "lu", "lu_factor", "cho_factor", "expm", "logm", "sqrtm",
    "solve_sylvester", "polar", "schur",
})  # fmt: skip


def as_real(fn: Any, args: list[Expr]) -> list[Expr]:
    """Return the arguments of a function of linear algebra, of which no matrix is one of whole numbers."""
    module = getattr(fn, "__module__", None) or ""
    if not module.startswith(("numpy.linalg", "scipy.linalg")) or getattr(fn, "__name__", "") not in _NAMES:
        return args
    return [_real(arg) for arg in args]


def _real(x: Expr) -> Expr:
    if not isinstance(x.type, Array) or len(x.type.dims) == 0 or np.dtype(x.type.dtype).kind not in "iub":
        return x
    kind = Array("float64", x.type.dims, x.type.layout)
    return Apply(ops.astype, (x,), kind, (("dtype", np.float64),))
