"""Windows that slide over an array, read as an index array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from s2sad.ir import ops
from s2sad.rules.registry import expands


@expands(sliding_window_view)
def windows(x: Any, window_shape: Any, axis: Any = None) -> Any:
    """Return every window of a vector, of the axis of an array, or of a matrix. NumPy's cannot be written either."""
    if isinstance(window_shape, tuple) and len(window_shape) == 2 and x.ndim == 2:
        rows = np.arange(x.shape[0] - window_shape[0] + 1)[:, None] + np.arange(window_shape[0])
        columns = np.arange(x.shape[1] - window_shape[1] + 1)[:, None] + np.arange(window_shape[1])
        return x[rows[:, None, :, None], columns[None, :, None, :]]
    elif isinstance(window_shape, tuple):
        ops.refuse("windows of this form have no derivative rule", "Give one length, or two for a matrix.")
    elif x.ndim == 1:
        return x[np.arange(x.shape[0] - window_shape + 1)[:, None] + np.arange(window_shape)]
    elif isinstance(axis, int):
        moved = np.moveaxis(x, axis, -1)
        places = np.arange(moved.shape[-1] - window_shape + 1)[:, None] + np.arange(window_shape)
        return np.moveaxis(moved[..., places], -2, axis)
    else:
        ops.refuse("windows of an array need the axis that they slide along", "Give `axis=`.")
