"""The small lengths that a program knows: arrays that it writes out item by item."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from s2sad.ir.nodes import Apply, Const, Function, Index, Slice, Var
from s2sad.ir.types import Array
from s2sad.ir.walk import exprs_of, statements, subexpressions

FEW = 16
"""The longest that an argument may be known to be: programs write such arrays out."""


def lengths_in(functions: Iterable[Function]) -> frozenset[int]:
    """Return the small lengths that arrays of a program are known to have, and those of what such are parts of.

    What `x[3:]` is added to says how long `x` is: three more.
    """
    parts = [part for fn in functions for s in statements(fn.body) for e in exprs_of(s) for part in subexpressions(e)]
    kinds = [part.type for part in parts if isinstance(part, Apply | Var)]
    dims = {dim for kind in kinds if isinstance(kind, Array) for dim in kind.dims if isinstance(dim, int)}
    dims |= {n for part in parts if isinstance(part, Apply) and part.fn is np.cross for n in (2, 3)}
    cut = {_cut(item) for part in parts if isinstance(part, Index) for item in part.index if isinstance(item, Slice)}
    return frozenset(dim + less for dim in dims for less in cut | {0} if 1 < dim and dim + less <= FEW)


def _cut(item: Slice) -> int:
    """Return how many elements `x[3:]` leaves out."""
    lower = item.lower.value if isinstance(item.lower, Const) and item.upper is None and item.step is None else 0
    return lower if isinstance(lower, int) and lower > 0 else 0
