"""How LLVM makes vectors of loops, while our own functions are compiled; then everything is as it was.

Sums stay in the program's order beside vectors of the rest:

    for i in range(x.size):
        total += math.exp(x[i] - largest)

LLVM does not vectorise this loop, as sums of floats must keep their order; so `exp` is called number by
number. It can vectorise all but the sum, and add the lanes one after the other: the same bits. Measured on
x86-64: 1.9 times as fast for this loop, 1.0 to 1.3 for others with a sum.

What remains after vectors of eight is done in vectors of four where it can: 14 turns are 8 + 4 + 2 and not
8 + 6 single ones, each with its own `exp`.

Both are options of LLVM as a whole.
"""

from __future__ import annotations

import importlib
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

_llvm: Any = importlib.import_module("llvmlite.binding")

_OPTIONS = (
    ("--force-ordered-reductions=", "true", "false"),
    ("--epilogue-vectorization-minimum-VF=", "8", "16"),
)
"""Each with its value for our functions, and LLVM's own."""
_VERSIONS = range(15, 23)
"""The versions of LLVM known to have the options: one that has not would end the process."""

_open = 0


@contextmanager
def vectorised() -> Generator[None]:
    """Set the options within the block; the caller holds Numba's compiler lock."""
    global _open
    _open += 1
    if _open == 1:
        _tell(1)
    try:
        yield
    finally:
        _open -= 1
        if not _open:
            _tell(2)


def depth() -> int:
    """Return how many compilations of ours are under way, one within the other."""
    return _open


def _tell(which: int) -> None:
    if _llvm.llvm_version_info[0] in _VERSIONS:
        for option in _OPTIONS:
            _llvm.set_option("s2sad", option[0] + option[which])
