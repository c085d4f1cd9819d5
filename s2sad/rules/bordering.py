"""`np.pad` with a border that is computed, read as joins and gathers along one axis after the other.

A call with constants that are known has a rule of its own (`rules/shaping.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.ir import ops
from s2sad.rules.registry import Settings, expands
from s2sad.rules.subscripts import pad_widths

_GATHERED = ("edge", "reflect", "symmetric", "wrap")
_STATISTICS = ("mean", "median", "maximum", "minimum")


def _computed(known: Settings) -> bool:
    """Say whether the border is more than one constant that is known."""
    one = known.get("constant_values", 0.0)
    given = "constant_values" in known["given"] and ("constant_values" not in known or not isinstance(one, int | float))
    return given or known.get("mode", "constant") != "constant"


@expands(np.pad, when=_computed)
def pad(
    array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0.0, end_values: Any = 0.0,
    reflect_type: str = "even", stat_length: Any = None,
) -> Any:  # fmt: skip
    """Return the array with a border on each side of each axis."""
    widths = pad_widths(pad_width, array.ndim)
    if widths is None:
        ops.refuse("the widths of a `pad` with a mode must be known at transform time", "Write them as constants.")
    if stat_length is not None or mode not in ("constant", "linear_ramp", *_GATHERED, *_STATISTICS):
        ops.refuse(
            "this mode of `pad` has no derivative rule",
            "Give it one with s2sad.defvjp, or join the parts with np.concatenate.",
        )
    result = array
    for axis, (before, after) in enumerate(widths):
        if before > 0 or after > 0:
            if mode in _GATHERED:
                result = gathered(result, axis, before, after, mode, reflect_type)
            elif mode in _STATISTICS:
                part = statistic(result, axis, mode)
                result = np.concatenate(
                    [np.repeat(part, before, axis=axis), result, np.repeat(part, after, axis=axis)], axis=axis
                )
            elif mode == "linear_ramp":
                low, high = per_side(end_values, axis, array.ndim)
                result = np.concatenate(
                    [ramp(result, axis, before, low, 0), result, ramp(result, axis, after, high, -1)], axis=axis
                )
            else:
                low, high = per_side(constant_values, axis, array.ndim)
                left = (*result.shape[:axis], before, *result.shape[axis + 1 :])
                right = (*result.shape[:axis], after, *result.shape[axis + 1 :])
                result = np.concatenate([np.full(left, low), result, np.full(right, high)], axis=axis)
    return result


def gathered(a: Any, axis: int, before: int, after: int, mode: str, reflect_type: str) -> Any:
    """Return the array with a border of elements of its own, or of what they reflect in the edge."""
    n = a.shape[axis]
    places = np.arange(-before, n + after)
    if mode == "edge":
        places = np.clip(places, 0, n - 1)
    elif mode == "wrap":
        places = places % n
    elif mode == "reflect":
        places = n - 1 - np.abs(n - 1 - places % max(2 * n - 2, 1))
    else:
        places = np.minimum(places % (2 * n), 2 * n - 1 - places % (2 * n))
    result = np.take(a, places, axis=axis)
    if reflect_type == "odd" and mode in ("reflect", "symmetric"):
        reach = n - 1 if mode == "reflect" else n
        if before > reach or after > reach:
            raise ValueError("an odd reflection is differentiated no farther than the array is long")
        middle = (slice(None),) * axis + (slice(before, before + n),)
        first = 2.0 * np.take(a, np.zeros(before, np.int64), axis=axis)
        last = 2.0 * np.take(a, np.full(after, n - 1), axis=axis)
        head = (slice(None),) * axis + (slice(None, before),)
        tail = (slice(None),) * axis + (slice(before + n, None),)
        result = np.concatenate([first - result[head], result[middle], last - result[tail]], axis=axis)
    return result


def statistic(a: Any, axis: int, mode: str) -> Any:
    """Return the mean, the median or an extreme along an axis, which is kept."""
    return (
        np.mean(a, axis=axis, keepdims=True) if mode == "mean"
        else np.median(a, axis=axis, keepdims=True) if mode == "median"
        else np.max(a, axis=axis, keepdims=True) if mode == "maximum"
        else np.min(a, axis=axis, keepdims=True)
    )  # fmt: skip


def ramp(a: Any, axis: int, width: int, end: Any, edge: int) -> Any:
    """Return a border that goes from a value outside evenly to the edge of the array."""
    weights = np.arange(width) / max(width, 1)
    along = (weights if edge == 0 else weights[::-1])[(slice(None),) + (None,) * (a.ndim - 1 - axis)]
    return end + (np.take(a, np.array([edge]), axis=axis) - end) * along


def per_side(values: Any, axis: int, ndim: int) -> Any:
    """Return what a setting of `np.pad` says for the two sides of an axis."""
    if not isinstance(values, (list, tuple)):
        return values, values
    row = values[axis] if isinstance(values[0], (list, tuple)) and len(values) == ndim else values
    row = row[0] if isinstance(row[0], (list, tuple)) else row
    return row[0], row[len(row) - 1]
