"""The small lengths that a program knows: arrays that it writes out item by item."""

from __future__ import annotations

from collections.abc import Iterable

from s2sad.ir.nodes import Apply, Function, Var
from s2sad.ir.types import Array
from s2sad.ir.walk import exprs_of, statements, subexpressions

_FEW = 16
"""The longest that an argument may be known to be: programs write such arrays out."""


def lengths_in(functions: Iterable[Function]) -> frozenset[int]:
    """Return the small lengths that arrays of a program are known to have."""
    kinds = [
        part.type
        for fn in functions for stmt in statements(fn.body)
        for expr in exprs_of(stmt) for part in subexpressions(expr) if isinstance(part, Apply | Var)
    ]  # fmt: skip
    dims = {dim for kind in kinds if isinstance(kind, Array) for dim in kind.dims}
    return frozenset(dim for dim in dims if isinstance(dim, int) and 1 < dim <= _FEW)
