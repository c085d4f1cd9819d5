"""Functions of `scipy.special` that are defined by an equation.

Source: Corless and others, "On the Lambert W Function", 1996.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from s2sad.api.transforms import stop_gradient
from s2sad.ir import ops
from s2sad.rules.registry import expands


@expands(scipy.special.lambertw)
def lambertw(z: Any, k: int = 0, tol: float = 1e-8) -> Any:
    """Return the w with w exp(w) = z, of a real z for which it is real; raises ValueError for others."""
    if np.iscomplexobj(z) or (k != 0 and k != -1):
        ops.refuse("`lambertw` is not supported for complex numbers and for other branches than 0 and -1",
                   "Give it a real argument.")  # fmt: skip
    if np.any(np.asarray(z) < -0.36787944117144233) or (k == -1 and np.any(np.asarray(z) >= 0.0)):
        raise ValueError("`lambertw` is complex here: only its real values are supported")
    root = np.sqrt(np.maximum(2.0 * (2.718281828459045 * z + 1.0), 0.0))
    if k == 0:
        w = stop_gradient(np.where(z < 1.0, root - 1.0 - root * root / 3.0 * (z < 0.0), np.log(np.maximum(z, 1.0))))
    else:
        depth = np.log(np.maximum(-z, 1e-300))
        w = stop_gradient(np.where(z < -0.25, -1.0 - root - root * root / 3.0, depth - np.log(-depth)))
    for _ in range(60):  # Halley's iteration
        grown = np.exp(w)
        off = w * grown - stop_gradient(z)
        apart = np.where(w == -1.0, 1.0, w + 1.0)
        w = w - off / (grown * apart - (w + 2.0) * off / (2.0 * apart))
    w = stop_gradient(w)
    for _ in range(2):  # as in `scipy_optimize.implied`
        grown = np.exp(w)
        off = w * grown - z
        w = w - (off - stop_gradient(off)) / (grown * (w + 1.0))
    return w + 0.0j
