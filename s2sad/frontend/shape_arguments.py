"""Shapes that are given as arrays or lists: `np.zeros(np.array([n, 3]))`, `x.reshape(lengths)`, `np.ones([n] * 2)`.

How many axes a result has must be known; such a shape is read as the tuple of its numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.frontend.displays import row_of_numbers
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StructV, V, Value
from s2sad.ir.types import Array, ListOf

SHAPED: dict[Any, int] = {
    np.zeros: 0, np.ones: 0, np.empty: 0, np.full: 0, np.reshape: 1, np.broadcast_to: 1, np.tile: 1, np.resize: 1,
}  # fmt: skip
"""Functions that take a shape, or numbers of repetitions, and as which of their arguments."""
_NAMES = ("shape", "reps", "new_shape")


def with_known_shape(
    lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any
) -> tuple[list[Value], dict[str, Value]]:
    """Return the arguments of such a function, with the shape as a tuple or a number."""
    at = SHAPED[fn]
    if at < len(args):
        args = [*args[:at], _as_tuple(lw, args[at], node), *args[at + 1 :]]
    return args, {name: _as_tuple(lw, v, node) if name in _NAMES else v for name, v in kwargs.items()}


def _as_tuple(lw: Lowerer, shape: Value, node: Any) -> Value:
    if not isinstance(shape, V) or not isinstance(shape.expr.type, Array | ListOf):
        return shape
    if isinstance(shape.expr.type, Array) and not shape.expr.type.dims:
        return shape
    row = row_of_numbers(lw, shape, node)
    if isinstance(row, StructV):
        return row
    return lw.fail(node, "how many axes this shape has is not known before the function runs",
                   "Write it as a tuple of numbers: `(n, 3)`.")  # fmt: skip


__all__ = ["SHAPED", "with_known_shape"]
