"""What a caller may choose about a derivative, besides the function and its arguments."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one transform; the compiler reads them, and they are part of its cache key.

    Attributes:
        aux: the function returns (output, aux) and only the output is differentiated.
        holomorphic: the function is complex-differentiable; `grad` is then dy/dz.
        allow_int: integer arguments may be asked for a gradient, which is zero.
        outputs: the parameters through which a procedure returns its results.
        fastmath: Numba's option of that name.
        parallel: on target "cpu", share the turns of loops over a `prange` between threads, as is done in any case
            in functions under `@njit(parallel=True)`.
        nogil: calls run beside other threads.
        cache: keep machine code on disk.
        debug_nans: stop at the first NaN or infinity that the derivative produces.
        debug: True runs derivatives in CPython, keeps every intermediate value and asserts that it is
            finite; "gdb" compiles them without optimisation, so that gdb steps through their lines.
    """

    aux: bool = False
    holomorphic: bool = False
    allow_int: bool = False
    outputs: tuple[str, ...] = ()
    fastmath: bool | frozenset[str] = False
    parallel: bool = False
    nogil: bool = False
    cache: bool = True
    debug_nans: bool = False
    debug: bool | Literal["gdb"] = False


def nans_are_checked(options: Options) -> bool:
    """Say whether `debug_nans` is on, by the option or by `S2SAD_DEBUG_NANS`."""
    return options.debug_nans or os.environ.get("S2SAD_DEBUG_NANS", "0") not in ("", "0")
