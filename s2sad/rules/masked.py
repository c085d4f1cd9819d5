"""Reductions with `where=` and `initial=`, read as reductions of an array with the rest filled in."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.rules.registry import Settings, expands

_MASKED = ("where", "initial")


def _is_complex(known: Settings) -> bool:
    return known["complex"][0]


@expands(np.sum, keywords=_MASKED)
def total(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = 0.0, where: Any = True
) -> Any:
    """Return the sum of what the mask lets through, and of what it starts with."""
    return np.sum(np.where(where, a, 0.0), axis=axis, keepdims=keepdims) + initial


@expands(np.nansum, keywords=_MASKED, when=_is_complex)
def nantotal(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = 0.0, where: Any = True
) -> Any:
    """Return the sum of what the mask lets through and is a number."""
    if np.iscomplexobj(a):
        return np.sum(np.where(np.logical_and(where, ~np.isnan(a)), a, 0.0), axis=axis, keepdims=keepdims) + initial
    else:
        return np.nansum(np.where(where, a, 0.0), axis=axis, keepdims=keepdims) + initial


@expands(np.prod, keywords=_MASKED, when=lambda known: isinstance(known.get("axis"), tuple))
def prod(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = 1.0, where: Any = None
) -> Any:
    """Return the product of what the mask lets through, and of what it starts with."""
    chosen = a if where is None else np.where(where, a, 1.0)
    if isinstance(axis, tuple):
        for k in axis:
            chosen = np.prod(chosen, axis=k, keepdims=True)
        if not keepdims:
            chosen = np.squeeze(chosen, axis=axis)
        return chosen * initial
    else:
        return np.prod(chosen, axis=axis, keepdims=keepdims) * initial


@expands(np.max, np.amax, keywords=_MASKED)
def largest(a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = -np.inf, where: Any = True) -> Any:
    """Return the largest of what the mask lets through; never less than what it starts with."""
    return np.maximum(np.max(np.where(where, a, -np.inf), axis=axis, keepdims=keepdims), initial)


@expands(np.min, np.amin, keywords=_MASKED)
def smallest(a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = np.inf, where: Any = True) -> Any:
    """Return the smallest of what the mask lets through; never more than what it starts with."""
    return np.minimum(np.min(np.where(where, a, np.inf), axis=axis, keepdims=keepdims), initial)


@expands(np.mean, keywords=_MASKED)
def mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any) -> Any:
    """Return the mean of what the mask lets through."""
    count = np.sum(np.where(where, np.ones_like(a), 0.0), axis=axis, keepdims=keepdims)
    return np.sum(np.where(where, a, 0.0), axis=axis, keepdims=keepdims) / count


@expands(np.var, keywords=("where", "correction", "mean"), when=_is_complex)
def var(
    a: Any, axis: Any = None, dtype: Any = None, *, ddof: Any = 0, keepdims: bool = False, where: Any = True,
    mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """Return the mean square of the deviations that the mask lets through."""
    less = ddof if correction is None else correction
    count = np.sum(np.where(where, np.ones_like(a), 0.0), axis=axis, keepdims=True)
    if mean is None:
        middle = np.sum(np.where(where, a, 0.0), axis=axis, keepdims=True) / count
        deviation = np.where(where, a - middle, 0.0)
    else:
        deviation = np.where(where, a - mean, 0.0)
    share = np.sum(np.where(where, np.ones_like(a), 0.0), axis=axis, keepdims=keepdims) - less
    square = np.real(deviation * np.conj(deviation)) if np.iscomplexobj(a) else deviation * deviation
    return np.sum(square, axis=axis, keepdims=keepdims) / np.real(share)


@expands(np.std, keywords=("where", "correction", "mean"), when=_is_complex)
def std(
    a: Any, axis: Any = None, dtype: Any = None, *, ddof: Any = 0, keepdims: bool = False, where: Any = True,
    mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """Return the square root of the masked variance."""
    return np.sqrt(var(a, axis, ddof=ddof, keepdims=keepdims, where=where, mean=mean, correction=correction))


@expands(np.nanmean, keywords=("where",))
def nanmean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any) -> Any:
    """Return the mean of what the mask lets through and is a number."""
    given = np.logical_and(where, ~np.isnan(a))
    count = np.sum(np.where(given, np.ones_like(a), 0.0), axis=axis, keepdims=keepdims)
    return np.sum(np.where(given, a, 0.0), axis=axis, keepdims=keepdims) / count


@expands(np.nanprod)
def nanprod(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    """Return the product of the elements that the mask lets through and that are not NaN."""
    chosen = np.where(np.isnan(a), 1.0, a) if where is None else np.where(where & ~np.isnan(a), a, 1.0)
    product = np.prod(chosen, axis=axis, keepdims=keepdims)
    return product if initial is None else product * initial


@expands(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """Return running sums in which NaN counts as 0."""
    return np.cumsum(np.where(np.isnan(a), 0.0, a), axis=axis)


@expands(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """Return running products in which NaN counts as 1."""
    return np.cumprod(np.where(np.isnan(a), 1.0, a), axis=axis)


@expands(np.nanvar)
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, *, ddof: Any = 0, keepdims: bool = False, where: Any = True,
    mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """Return the variance of the elements that are not NaN."""
    given = np.logical_and(where, ~np.isnan(a))
    return var(a, axis, ddof=ddof, keepdims=keepdims, where=given, mean=mean, correction=correction)


@expands(np.nanstd)
def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, *, ddof: Any = 0, keepdims: bool = False, where: Any = True,
    mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """Return the square root of the variance of the elements that are not NaN."""
    given = np.logical_and(where, ~np.isnan(a))
    return std(a, axis, ddof=ddof, keepdims=keepdims, where=given, mean=mean, correction=correction)


@expands(np.nanmax)
def nanmax(a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = -np.inf, where: Any = True) -> Any:
    """Return the largest element that is not NaN; NaN where there is none."""
    given = np.logical_and(where, ~np.isnan(a))
    found = np.max(np.where(given, a, -np.inf), axis=axis, keepdims=keepdims)
    return np.where(np.any(given, axis=axis, keepdims=keepdims), np.maximum(found, initial), np.nan)


@expands(np.nanmin)
def nanmin(a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = np.inf, where: Any = True) -> Any:
    """Return the smallest element that is not NaN; NaN where there is none."""
    given = np.logical_and(where, ~np.isnan(a))
    found = np.min(np.where(given, a, np.inf), axis=axis, keepdims=keepdims)
    return np.where(np.any(given, axis=axis, keepdims=keepdims), np.minimum(found, initial), np.nan)
