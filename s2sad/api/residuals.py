"""Residuals between a forward sweep and its backward one: nobody else may write into them."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.api.flatten import detach


def owned(residuals: tuple[Any, ...], others: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copy the residuals that share memory with something the caller can write to."""
    arrays = [r for r in residuals if isinstance(r, np.ndarray)]
    fresh = detach(arrays, [o for o in others if isinstance(o, np.ndarray)]) if arrays else []
    if len(arrays) == len(residuals):
        return tuple(fresh)
    left = iter(fresh)
    return tuple([next(left) if isinstance(r, np.ndarray) else copied_residual(r) for r in residuals])


def copied_residual(value: Any) -> Any:
    """Return a residual with memory of its own."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    return [copied_residual(item) for item in value] if isinstance(value, list) else value
