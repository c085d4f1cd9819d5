"""A batch shared between threads: each runs the compiled loop over a part of it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from s2sad.api.axes import Axes, spread
from s2sad.api.linear_map import values_of
from s2sad.api.plan import Plan
from s2sad.api.structure import describe, unflatten
from s2sad.ir.types import Array

_LEAST = 2  # a part of one element would be of another type: lengths of one broadcast


def shared(plan: Plan, leaves: tuple[Any, ...], batches: Sequence[tuple[int, int]], out_axes: Axes) -> Any:
    """Return what one call of the loop over the whole batch returns.

    Args:
        plan: the loop, which runs beside other threads.
        leaves: its arguments.
        batches: which of them hold the batch, and along which axis.
        out_axes: the batch axes of the results.
    """
    first, axis = batches[0]
    count = leaves[first].shape[axis]
    parts = min(_threads(), count // _LEAST)
    if parts < 2:
        return plan.run(leaves)
    ends = [count * k // parts for k in range(parts + 1)]
    axes = dict(batches)
    given = [
        tuple(_part(plan, at, leaf, axes.get(at), start, end) for at, leaf in enumerate(leaves))
        for start, end in pairwise(ends)
    ]
    with ThreadPoolExecutor(parts) as pool:
        return _joined(list(pool.map(plan.run, given)), out_axes)


def _threads() -> int:
    import numba

    return int(numba.get_num_threads())


def _part(plan: Plan, at: int, leaf: Any, axis: int | None, start: int, end: int) -> Any:
    """Return a part of a batch, in the layout that the loop was compiled for."""
    if axis is None:
        return leaf
    part = leaf[(slice(None),) * axis + (slice(start, end),)]
    kind = plan.entry.leaves[at].type
    layout = kind.layout if isinstance(kind, Array) else "A"
    return np.require(part, requirements=layout) if layout in ("C", "F") else part


def _joined(results: list[Any], out_axes: Axes) -> Any:
    tree = describe(results[0], "result")
    axes = spread(tree, out_axes, "out_axes")
    columns = zip(*(values_of(tree, result) for result in results), strict=True)
    made = {
        leaf: values[0] if axes[leaf] is None else np.concatenate(values, axes[leaf])
        for leaf, values in zip(tree.leaves(), columns, strict=True)
    }
    return unflatten(tree, made)
