"""The transpose of a gather: scattering with addition, so that duplicate indices accumulate."""

from __future__ import annotations

from typing import Any

import numpy as np


def add_at(x_bar: Any, index: Any, g: Any) -> None:
    """Add `g[k]` to `x_bar[index[k]]` for a one-dimensional integer index over the leading axis."""
    for k in range(index.size):
        x_bar[index[k]] += g[k]


def add_at_any(x_bar: Any, index: Any, g: Any) -> None:
    """Add `g` to `x_bar[index]` for any index of NumPy; in CPython only."""
    np.add.at(x_bar, index, g)
