"""Gradients by central differences: only ever a check of what is derived."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def differences(fun: Callable[[Any], Any], x: Any, step: float = 1e-6) -> Any:
    """Return the derivative of `fun` at `x`: its own axes first, then those of `x`."""
    moved = [step * unit.reshape(x.shape) for unit in np.eye(x.size)]
    columns = [(fun(x + dot) - fun(x - dot)) / (2 * step) for dot in moved]
    return np.stack(columns, axis=-1).reshape(np.shape(columns[0]) + x.shape)
