"""Numba's array functions loaded without SciPy's linear algebra, which few programs call.

As it loads them, Numba imports `scipy.linalg` (0.1 s) to learn whether there is a BLAS at all. That SciPy is
installed says as much; a function that calls BLAS or LAPACK still imports it when it is compiled.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any


def array_functions() -> Any:
    """Return `numba.np.arraymath`, loaded with a BLAS taken for granted where SciPy is installed."""
    name = "numba.np.arraymath"
    if name in sys.modules or importlib.util.find_spec("scipy") is None:
        return importlib.import_module(name)
    linalg: Any = importlib.import_module("numba.np.linalg")
    check = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        loaded: Any = importlib.import_module(name)
    finally:
        linalg.ensure_blas = check
    loaded.ensure_blas = check
    return loaded
