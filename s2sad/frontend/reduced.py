"""The types of reductions along known axes: the axes say which lengths stay, so that no large sample is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from s2sad.ir.types import Array, Dim

_REDUCTIONS: frozenset[Any] = frozenset({
    np.sum, np.prod, np.mean, np.var, np.std, np.max, np.min, np.any, np.all, np.argmax, np.argmin,
    np.nansum, np.nanmean, np.nanmax, np.nanmin, np.count_nonzero,
})  # fmt: skip
_SETTINGS = frozenset({"axis", "keepdims", "ddof"})
_FEW = 2
"""As many elements stand for a longer axis: enough to tell the layouts of the result apart."""


def small_sample(fn: Callable[..., Any], kinds: list[Any], static: dict[str, Any]) -> tuple[int, ...] | None:
    """Return a small shape that shows the dtype and layout of `fn(*kinds)`; None if it is no reduction of one array."""
    if fn not in _REDUCTIONS or len(kinds) != 1 or not _SETTINGS.issuperset(static):
        return None
    if not isinstance(kinds[0], Array) or not kinds[0].dims:
        return None
    return tuple(min(d, _FEW) if isinstance(d, int) else _FEW for d in kinds[0].dims)


def reduced_dims(dims: tuple[Dim, ...], static: dict[str, Any]) -> tuple[Dim, ...]:
    """Return the lengths that a reduction leaves."""
    axis = static.get("axis")
    given = range(len(dims)) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    gone = {int(at) % len(dims) for at in given} if dims else set[int]()
    if static.get("keepdims"):
        return tuple(1 if at in gone else d for at, d in enumerate(dims))
    return tuple(d for at, d in enumerate(dims) if at not in gone)
