"""Windows that move along an array: gathers of its elements, one for each place of the window.

The function is read as the body below it; see `rules/expansions.py`. NumPy gives a view that cannot be written, here
the elements are copied: what is read is the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.ir import ops
from s2sad.rules.registry import expands


@expands(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """Return the windows of an array: their places along its axes, what is in them along axes at the end."""
    if writeable:
        ops.refuse("a `sliding_window_view` that is written has no derivative rule", "Write into slices in a loop.")
    sizes = window_shape if isinstance(window_shape, (tuple, list)) else (window_shape,)
    axes = tuple(range(len(sizes))) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    if len(sizes) != len(axes) or (axis is None and len(sizes) != x.ndim):
        ops.refuse("each axis of a `sliding_window_view` needs a length of the window", "Give one for each.")
    windows = x
    for size, k in zip(sizes, axes):
        if size < 1 or windows.shape[k % x.ndim] < size:
            raise ValueError("window_shape must be positive, and no larger than the array")
        places = np.arange(windows.shape[k % x.ndim] - size + 1)[:, None] + np.arange(size)
        taken = np.take(windows, places, axis=k % x.ndim)
        windows = np.moveaxis(taken, k % x.ndim + 1, -1)
    return windows
