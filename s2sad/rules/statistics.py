"""Statistics and finite differences, read as the array code that defines them."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.ir import ops
from s2sad.rules.registry import expands


@expands(np.diff, keywords=("n", "prepend", "append"), counts=(1,), names=("axis",))
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Return differences of neighbours, taken `n` times, after something was put at either end."""
    if n < 0:
        ops.refuse("differences are not taken a negative number of times", "Give `diff` an `n` that is not negative.")
    if prepend is not None and append is not None:
        whole = np.concatenate((end_piece(prepend, a, axis), a, end_piece(append, a, axis)), axis=axis)
    elif prepend is not None:
        whole = np.concatenate((end_piece(prepend, a, axis), a), axis=axis)
    elif append is not None:
        whole = np.concatenate((a, end_piece(append, a, axis)), axis=axis)
    elif n == 0:
        return a
    else:
        whole = np.diff(a, axis=axis)
        n = n - 1
    for _ in range(n):
        whole = np.diff(whole, axis=axis)
    return whole


def end_piece(value: Any, a: Any, axis: int) -> Any:
    """Return what `np.diff` puts before or behind `a`: a number fills one slice."""
    if np.ndim(value) == 0:
        return np.zeros_like(np.take(a, np.array([0]), axis=axis)) + value
    else:
        return value


@expands(np.gradient)
def gradient(f: Any, *spacing: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Return central differences, one-sided at the ends, along one axis or a list of them along all."""
    values = np.asarray(f)
    if axis is None and values.ndim > 1:
        steps = spacing if len(spacing) == values.ndim else spacing * values.ndim
        if len(steps) == 0:
            return tuple(slope(values, 1.0, k, edge_order) for k in range(values.ndim))
        else:
            return tuple(slope(values, steps[k], k, edge_order) for k in range(values.ndim))
    elif isinstance(axis, tuple):
        if len(spacing) == 0:
            return tuple(slope(values, 1.0, k, edge_order) for k in axis)
        else:
            return tuple(slope(values, spacing[k] if len(spacing) > 1 else spacing[0], axis[k], edge_order)
                         for k in range(len(axis)))  # fmt: skip
    else:
        along = 0 if axis is None else axis
        return slope(values, spacing[0] if len(spacing) else 1.0, along, edge_order)


def slope(f: Any, step: Any, axis: int, edge_order: int) -> Any:
    """Return the slope of `f` along one axis: second order inside (Fornberg 1988 for uneven steps)."""
    rows = np.moveaxis(f, axis, 0) if f.ndim > 1 else f
    out = np.empty_like(rows)
    n = rows.shape[0]
    if np.ndim(step) == 0:
        out[1:-1] = (rows[2:] - rows[:-2]) / (2.0 * step)
        if edge_order == 2:
            out[0] = (-1.5 * rows[0] + 2.0 * rows[1] - 0.5 * rows[2]) / step
            out[n - 1] = (1.5 * rows[n - 1] - 2.0 * rows[n - 2] + 0.5 * rows[n - 3]) / step
        else:
            out[0] = (rows[1] - rows[0]) / step
            out[n - 1] = (rows[n - 1] - rows[n - 2]) / step
    else:
        gaps = step[1:] - step[:-1]
        for k in range(1, n - 1):
            left, right = gaps[k - 1], gaps[k]
            out[k] = (
                rows[k + 1] * (left / (right * (left + right)))
                + rows[k] * ((right - left) / (left * right))
                - rows[k - 1] * (right / (left * (left + right)))
            )
        if edge_order == 2:
            a, b = gaps[0], gaps[1]
            out[0] = (
                rows[1] * ((a + b) / (a * b)) - rows[0] * ((2.0 * a + b) / (a * (a + b)))
                - rows[2] * (a / (b * (a + b)))
            )  # fmt: skip
            a, b = gaps[n - 3], gaps[n - 2]
            out[n - 1] = (
                rows[n - 3] * (b / (a * (a + b))) - rows[n - 2] * ((a + b) / (a * b))
                + rows[n - 1] * ((2.0 * b + a) / (b * (a + b)))
            )  # fmt: skip
        else:
            out[0] = (rows[1] - rows[0]) / gaps[0]
            out[n - 1] = (rows[n - 1] - rows[n - 2]) / gaps[n - 2]
    if f.ndim > 1:
        return np.moveaxis(out, 0, axis)
    else:
        return out


@expands(np.cov)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None,
    fweights: Any = None, aweights: Any = None,
) -> Any:  # fmt: skip
    """Return the covariance matrix of variables that are rows, or columns without `rowvar`."""
    if fweights is not None or aweights is not None:
        return weighted_cov(m, y, rowvar, bias, ddof, fweights, aweights)
    less = (0 if bias else 1) if ddof is None else ddof
    m = m * np.ones(1)  # in double precision, as NumPy does
    if y is None and m.ndim == 1:
        apart = m - np.mean(m)
        return np.sum(apart * np.conj(apart)) / (m.size - less)
    elif m.ndim == 1:
        rows = np.stack((m, np.asarray(y)))
        apart = rows - np.mean(rows, axis=1, keepdims=True)
        return apart @ np.conj(apart).T / (m.size - less)
    else:
        rows = m if rowvar else m.T
        if y is not None:
            rows = np.concatenate((rows, y if rowvar else y.T))
        apart = rows - np.mean(rows, axis=1, keepdims=True)
        return apart @ np.conj(apart).T / (rows.shape[1] - less)


def weighted_cov(
    m: Any, y: Any, rowvar: bool, bias: bool, ddof: Any, fweights: Any, aweights: Any
) -> Any:
    """Return the covariance matrix of observations that count with weights."""
    less = (0 if bias else 1) if ddof is None else ddof
    rows = m if rowvar or m.ndim == 1 else m.T
    if y is not None:
        rows = np.vstack((rows, y if rowvar or y.ndim == 1 else y.T))
    if aweights is None:
        weights = 1.0 * np.asarray(fweights)
        spread = np.sum(weights)
    elif fweights is None:
        weights = 1.0 * np.asarray(aweights)
        spread = np.sum(weights**2)
    else:
        weights = 1.0 * np.asarray(fweights) * np.asarray(aweights)
        spread = np.sum(weights * np.asarray(aweights))
    total = np.sum(weights)
    apart = rows - (np.sum(rows * weights, axis=-1, keepdims=True) / total)
    if aweights is None:
        scale = total - less
    else:
        scale = total - less * spread / total
    if rows.ndim == 1:
        return np.sum(apart * weights * np.conj(apart)) / scale
    else:
        return (apart * weights) @ np.conj(apart).T / scale


@expands(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    """Return the matrix of correlations."""
    c = cov(x, y, rowvar)
    size = np.sqrt(np.diag(c))
    return c / size[:, None] / size[None, :]


@expands(np.cumulative_sum)
def cumulative_sum(x: Any, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """Return running sums, from 0 on if asked."""
    along = 0 if axis is None else axis
    sums = np.cumsum(x, axis=along)
    if include_initial:
        return np.concatenate((np.zeros_like(np.take(x, np.array([0]), axis=along)), sums), axis=along)
    else:
        return sums


@expands(np.cumulative_prod)
def cumulative_prod(x: Any, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """Return running products, from 1 on if asked."""
    along = 0 if axis is None else axis
    products = np.cumprod(x, axis=along)
    if include_initial:
        return np.concatenate((np.ones_like(np.take(x, np.array([0]), axis=along)), products), axis=along)
    else:
        return products


@expands(np.trapezoid, keywords=("axis", "dx"), counts=(1, 2))
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Return the trapezium rule along any axis, with a step that may vary."""
    moved = y if y.ndim == 1 else np.moveaxis(y, axis, -1)
    pairs = moved[..., 1:] + moved[..., :-1]
    if x is None:
        return np.sum(pairs, axis=-1) * (0.5 * dx)
    elif x.ndim == 1:
        return 0.5 * np.sum(pairs * np.diff(x), axis=-1)
    else:
        return 0.5 * np.sum(pairs * np.diff(np.moveaxis(x, axis, -1), axis=-1), axis=-1)
