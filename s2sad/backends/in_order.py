"""Sums in loops, taken in the program's order beside vectors of the rest.

    for i in range(x.size):
        total += math.exp(x[i] - largest)

LLVM does not vectorise this loop, as sums of floats must keep their order; so `exp` is called number by
number. It can vectorise all but the sum, and add the lanes one after the other: the same bits. Measured on
x86-64: 1.9 times as fast for this loop, 1.0 to 1.3 for others with a sum. It does so when told by an option,
which is LLVM's as a whole: we set it while our own functions are compiled, and take it back.
"""

from __future__ import annotations

import importlib
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

_llvm: Any = importlib.import_module("llvmlite.binding")

_OPTION = "--force-ordered-reductions="
_VERSIONS = range(15, 23)
"""The versions of LLVM known to have the option: one that has not would end the process."""

_open = 0


@contextmanager
def sums() -> Generator[None]:
    """Vectorise loops around their sums within the block; the caller holds Numba's compiler lock."""
    global _open
    _open += 1
    if _open == 1:
        _tell("true")
    try:
        yield
    finally:
        _open -= 1
        if not _open:
            _tell("false")


def depth() -> int:
    """Return how many compilations of ours are under way, one within the other."""
    return _open


def _tell(value: str) -> None:
    if _llvm.llvm_version_info[0] in _VERSIONS:
        _llvm.set_option("s2sad", _OPTION + value)
