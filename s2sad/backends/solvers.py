"""Functions of BLAS and LAPACK that Numba's helper library does not export, and SciPy does.

They are symbols of the process, named anew where machine code that calls them is loaded, so that this can be kept
on disk.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

_PREFIX = "s2sad_blas_"


def symbol(function: str) -> str:
    """Return the symbol of a function of BLAS or LAPACK."""
    return _PREFIX + function


def has(name: str) -> bool:
    """Say whether a symbol is one of these functions."""
    return name.startswith(_PREFIX)


@functools.cache
def name_all() -> None:
    """Tell LLVM where the solvers lie; raises ImportError where there is no SciPy."""
    binding: Any = importlib.import_module("llvmlite.binding")
    extending: Any = importlib.import_module("numba.extending")
    for letter in "sdcz":
        for solver in (f"{letter}trsv", f"{letter}trsm"):
            found = extending.get_cython_function_address("scipy.linalg.cython_blas", solver)
            binding.add_symbol(symbol(solver), found)
    for name in ("dgees", "zgees", "dtrsyl", "ztrsyl", "dtrsen"):
        found = extending.get_cython_function_address("scipy.linalg.cython_lapack", name)
        binding.add_symbol(symbol(name), found)
