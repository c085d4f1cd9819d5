"""Medians and quantiles, read as what they select from the sorted elements.

The derivative goes to the elements that are selected, and through the weights to `q`. NaN sorts
last: where there is one, the result is NaN, except in the `nan` variants, which leave them out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.ir import ops
from s2sad.rules.registry import expands


@expands(np.quantile)
def quantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the elements, or means of neighbours, below which the shares `q` of all lie."""
    if not isinstance(q, (list, tuple, np.ndarray)) and (q < 0 or q > 1):
        raise ValueError("Quantiles must be in the range [0, 1]")
    rows = sorted_rows(a, axis)
    if not isinstance(q, (list, tuple, np.ndarray)):
        value = at_share(rows, q, method)
    elif rows.ndim == 1:
        value = np.array([at_share(rows, share, method) for share in q])
    else:
        value = np.stack([at_share(rows, share, method) for share in q])
    if keepdims:
        return kept(value, a, axis, isinstance(q, (list, tuple, np.ndarray)))
    else:
        return value


@expands(np.percentile)
def percentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """As `quantile`, of hundredths."""
    if not isinstance(q, (list, tuple, np.ndarray)) and (q < 0 or q > 100):
        raise ValueError("Percentiles must be in the range [0, 100]")
    rows = sorted_rows(a, axis)
    if not isinstance(q, (list, tuple, np.ndarray)):
        value = at_share(rows, q / 100.0, method)
    elif rows.ndim == 1:
        value = np.array([at_share(rows, share / 100.0, method) for share in q])
    else:
        value = np.stack([at_share(rows, share / 100.0, method) for share in q])
    if keepdims:
        return kept(value, a, axis, isinstance(q, (list, tuple, np.ndarray)))
    else:
        return value


@expands(np.median)
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    """Return the middle element, or the mean of the middle two."""
    rows = sorted_rows(a, axis)
    n = rows.shape[0]
    middle = (rows[(n - 1) // 2] + rows[n // 2]) * 0.5
    value = np.where(np.isnan(rows[n - 1]), rows[n - 1], middle)
    if keepdims:
        return kept(value, a, axis, False)
    else:
        return value


@expands(np.nanquantile)
def nanquantile(a: Any, q: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """As `quantile` of the elements that are not NaN."""
    rows = sorted_rows(a, axis)
    if not isinstance(q, (list, tuple, np.ndarray)):
        value = at_share_given(rows, q)
    elif rows.ndim == 1:
        value = np.array([at_share_given(rows, share) for share in q])
    else:
        value = np.stack([at_share_given(rows, share) for share in q])
    if keepdims:
        return kept(value, a, axis, isinstance(q, (list, tuple, np.ndarray)))
    else:
        return value


@expands(np.nanpercentile)
def nanpercentile(a: Any, q: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """As `nanquantile`, of hundredths."""
    rows = sorted_rows(a, axis)
    if not isinstance(q, (list, tuple, np.ndarray)):
        value = at_share_given(rows, q / 100.0)
    elif rows.ndim == 1:
        value = np.array([at_share_given(rows, share / 100.0) for share in q])
    else:
        value = np.stack([at_share_given(rows, share / 100.0) for share in q])
    if keepdims:
        return kept(value, a, axis, isinstance(q, (list, tuple, np.ndarray)))
    else:
        return value


@expands(np.nanmedian)
def nanmedian(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the median of the elements that are not NaN."""
    value = at_share_given(sorted_rows(a, axis), 0.5)
    if keepdims:
        return kept(value, a, axis, False)
    else:
        return value


def sorted_rows(a: Any, axis: Any) -> Any:
    """Return `a` sorted along the axis, which comes first; everything in one line without one."""
    if axis is None or a.ndim == 1:
        return np.sort(np.ravel(a))
    elif isinstance(axis, tuple):
        front = np.moveaxis(a, axis, tuple([k for k in range(len(axis))]))
        return np.sort(np.reshape(front, (-1, *front.shape[len(axis) :])), axis=0)
    else:
        return np.sort(np.moveaxis(a, axis, 0), axis=0)


def kept(value: Any, a: Any, axis: Any, several: bool) -> Any:
    """Return the result with the axes that were reduced kept, behind that of the shares if any."""
    if axis is None or a.ndim == 1:
        return np.reshape(value, (-1, *(1,) * a.ndim)) if several else np.full((1,) * a.ndim, value)
    elif several:
        axes = axis if isinstance(axis, tuple) else (axis,)
        return np.expand_dims(value, tuple([k + 1 if k >= 0 else k for k in axes]))
    else:
        return np.expand_dims(value, axis)


_CONTINUOUS = {
    "linear": (1.0, 1.0), "weibull": (0.0, 0.0), "hazen": (0.5, 0.5), "interpolated_inverted_cdf": (0.0, 1.0),
    "median_unbiased": (1.0 / 3.0, 1.0 / 3.0), "normal_unbiased": (3.0 / 8.0, 3.0 / 8.0),
}  # fmt: skip
"""Hyndman & Fan 1996: what decides between which elements a share lies."""


def at_share(rows: Any, q: Any, method: str) -> Any:
    """Return what lies at the share `q` of the way through sorted rows."""
    n = rows.shape[0]
    if method in _CONTINUOUS:
        first, last = _CONTINUOUS[method]
        place = q * (n - 1) if method == "linear" else n * q + (first + q * (1.0 - first - last)) - 1.0
        place = place if method == "linear" else min(max(place, 0.0), n - 1.0)
        low = min(int(np.floor(place)), n - 1)
        high = min(low + 1, n - 1)
        value = rows[low] + (rows[high] - rows[low]) * (place - low)
    elif method == "midpoint":
        place = q * (n - 1)
        value = (rows[int(np.floor(place))] + rows[int(np.ceil(place))]) * 0.5
    elif method == "averaged_inverted_cdf":
        place = n * q - 1.0
        high = min(max(int(np.floor(place)) + 1, 0), n - 1)
        low = max(int(np.ceil(place)), 0)
        value = (rows[low] + rows[high]) * 0.5
    else:
        value = rows[selected(n, q, method)]
    return np.where(np.isnan(rows[n - 1]), rows[n - 1], value)


def selected(n: int, q: Any, method: str) -> Any:
    """Return which of `n` sorted elements a method without weights selects."""
    if method == "lower":
        at = int(np.floor(q * (n - 1)))
    elif method == "higher":
        at = int(np.ceil(q * (n - 1)))
    elif method == "nearest":
        at = int(np.rint(q * (n - 1)))
    elif method == "inverted_cdf":
        at = int(np.ceil(n * q - 1.0))
    elif method == "closest_observation":
        place = n * q - 1.5
        below = int(np.floor(place))
        at = below if place == below and below % 2 == 1 else below + 1
    else:
        ops.refuse("this method of a quantile is not known", "Name one that np.quantile lists.")
    return max(at, 0)


def at_share_given(rows: Any, q: Any) -> Any:
    """Return what lies at the share `q` of the way through the numbers before the NaNs."""
    if rows.ndim == 1:
        n = int(np.sum(~np.isnan(rows)))
        place = q * (n - 1)
        low = min(int(np.floor(place)), n - 1)
        high = min(low + 1, n - 1)
        return rows[low] + (rows[high] - rows[low]) * (place - low)
    else:
        n = np.sum(~np.isnan(rows), axis=0)
        place = q * (n - 1)
        low = np.maximum(np.minimum(np.floor(place), n - 1.0), 0.0).astype(np.int64)
        high = np.maximum(np.minimum(low + 1, n - 1), 0)
        below = np.take_along_axis(rows, low[None], axis=0)[0]
        above = np.take_along_axis(rows, high[None], axis=0)[0]
        return below + (above - below) * (place - low).astype(rows.dtype)
