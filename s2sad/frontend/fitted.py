"""What is written into a place has the place's own axes: `x[i, None] = row` writes `x[i]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from s2sad.frontend.operators import apply
from s2sad.ir.nodes import Const, Expr, Slice
from s2sad.ir.types import Array, rank

if TYPE_CHECKING:
    from s2sad.frontend.lowerer import Lowerer


def without_new_axes(kind: Array, index: list[Any]) -> tuple[list[Any], list[int]]:
    """Return an index without its new axes, and where these stand in what it takes, counted from behind.

    An index with arrays is left alone, as new axes beside them decide where their own axis stands.
    """
    if any(not isinstance(item, Slice) and item is not Ellipsis and isinstance(item.type, Array) for item in index):
        return index, []
    left = [item for item in index if not _is_new(item)]
    if len(left) == len(index):
        return index, []
    given = sum(item is not Ellipsis for item in left)
    axes: list[int] = []  # 0 for an axis of the array, 1 for a new one
    for item in index if Ellipsis in index else [*index, Ellipsis]:
        if item is Ellipsis:
            axes.extend([0] * (rank(kind) - given))
        elif _is_new(item):
            axes.append(1)
        elif isinstance(item, Slice):
            axes.append(0)
    return left or [Ellipsis], [k - len(axes) for k, new in enumerate(axes) if new]


def fitted_value(lw: Lowerer, value: Expr, taken: int, new: list[int], leads: bool, node: Any) -> Expr:
    """Return a value without the axes of length 1 that a place of `taken` axes has not itself.

    Args:
        lw: the function that is read.
        value: what is written.
        taken: how many axes of the array the index takes.
        new: where the index has new axes, from behind; the value may have one there.
        leads: whether axes in front of all others go too, as they do where nothing is added.
        node: where it is written.
    """
    count = rank(value.type)
    most = taken + len(new)
    dims = value.type.dims if isinstance(value.type, Array) else ()
    idle = [k for k in range(count) if (leads and k < count - most) or k - count in new]
    idle = [k for k in idle if not isinstance(dims[k], int) or dims[k] == 1]
    return apply(lw, np.squeeze, (value,), {"axis": tuple(idle)}, node).expr if idle else value


def _is_new(item: Any) -> bool:
    return isinstance(item, Const) and item.value is None
