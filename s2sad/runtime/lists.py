"""Lists of adjoints, beside the lists that a function builds."""

from __future__ import annotations

from typing import Any

import numpy as np


def zero_scalars(items: list[Any]) -> list[Any]:
    """Return a list of zeros as long as `items`."""
    return [0.0 for _ in items]


def zero_arrays(items: list[Any]) -> list[Any]:
    """Return a list of zero arrays, each of the shape and dtype of the item at its place."""
    return [np.zeros_like(item) for item in items]
