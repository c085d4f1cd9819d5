"""Functions that look at the shape of their first argument and never at its elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.ir import ops
from s2sad.runtime.lists import zero_arrays, zero_complexes, zero_scalars

SHAPES: frozenset[Any] = frozenset({
    ops.dim, ops.size, ops.length, ops.shape, np.zeros_like, np.empty_like, np.ones_like, np.full_like,
    zero_arrays, zero_complexes, zero_scalars,
})  # fmt: skip
