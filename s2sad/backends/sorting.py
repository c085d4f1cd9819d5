"""Sorting, which Numba compiles in 1.2 to 1.8 s for each type and layout: here one function serves all layouts.

It is Numba's own, compiled once for each type of numbers and kept on disk for the programs that come after. A sort by
merging, written for this, was compiled in a fifth of that time, but took 1.3 to 1.6 times as long for more than
a hundred numbers.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np

from s2sad.backends import any_layout

_types: Any = importlib.import_module("numba.core.types")


def _order(a: Any) -> Any:
    return np.argsort(a)


def _sorted(a: Any) -> Any:
    return np.sort(a)


@functools.cache
def _compiled(by_index: bool) -> Any:
    return any_layout.compiled(_order, "order") if by_index else any_layout.compiled(_sorted, "sorted")


def sorts(kind: Any, by_index: bool) -> tuple[Any, Any] | None:
    """Return the type of a sorted vector, or of the indices that sort it, and what writes it."""
    given = any_layout.given(kind.dtype, 1)
    if kind == given:  # asked by the function itself
        return None
    made = _types.Array(_types.intp if by_index else kind.dtype, 1, "C")
    return made, any_layout.called(_compiled(by_index), (given,))
