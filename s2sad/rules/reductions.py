"""Sums, means, extrema and running sums, with static `axis`, `keepdims` and `ddof`."""

# pyright: reportSelfClsParameterName=false
# ruff: noqa: D102

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.rules.registry import rule
from s2sad.rules.sample import case, complex_values, values

_MATRIX = values(3, 4)
_CUBE = values(2, 3, 2)
_OVER_AXES = (
    case(values(4)),
    case(_MATRIX),
    case(_MATRIX, axis=0),
    case(_MATRIX, axis=-1, keepdims=True),
    case(_MATRIX, axis=None, keepdims=True),
    case(_CUBE, axis=1),
)
_OVER_PAIRS = (case(_CUBE, axis=(0, 2)), case(_CUBE, axis=(0, -1), keepdims=True))


@rule(np.sum)
class total:
    """Linear: the transpose of a sum broadcasts."""

    samples = (*_OVER_AXES, *_OVER_PAIRS, case(complex_values(3, 2), axis=0))
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        return np.sum(a_dot, axis=axis, keepdims=keepdims)

    def adjoint(
        a: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: Any = None, keepdims: bool = False
    ) -> None:
        if axis is None or keepdims:
            a_bar += y_bar
        else:
            a_bar += np.expand_dims(y_bar, axis)


@rule(np.mean, np.average)
class mean:
    """Linear: a sum over the count."""

    samples = (*_OVER_AXES, *_OVER_PAIRS, case(complex_values(3, 2), axis=0))
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        return np.mean(a_dot, axis=axis, keepdims=keepdims)

    def adjoint(
        a: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: Any = None, keepdims: bool = False
    ) -> None:
        if axis is None:
            a_bar += y_bar / a.size
        elif isinstance(axis, int):
            share = y_bar / a.shape[axis]
            a_bar += share if keepdims else np.expand_dims(share, axis)
        elif keepdims:
            a_bar += y_bar / (a.size // y.size)
        else:
            a_bar += np.expand_dims(y_bar / (a.size // np.size(y)), axis)


@rule(np.var)
class var:
    """The mean square of the deviations; the mean's own derivative sums to zero against them."""

    samples = (
        *_OVER_AXES,
        *_OVER_PAIRS,
        case(values(4), ddof=1),
        case(_MATRIX, axis=1, ddof=1, keepdims=True),
    )

    def tangent(
        a: Any, y: Any, a_dot: Any, *, axis: Any = None, ddof: int = 0, keepdims: bool = False
    ) -> Any:
        count = a.size // np.size(y) - ddof
        deviation = a - np.mean(a, axis=axis, keepdims=axis is not None)
        return np.sum(deviation * a_dot, axis=axis, keepdims=keepdims) * (2 / count)

    def adjoint(
        a: Any,
        y: Any,
        y_bar: Any,
        a_bar: Any,
        *,
        axis: Any = None,
        ddof: int = 0,
        keepdims: bool = False,
    ) -> None:
        count = a.size // np.size(y) - ddof
        deviation = a - np.mean(a, axis=axis, keepdims=axis is not None)
        if axis is None or keepdims:
            a_bar += y_bar * (2 / count) * deviation
        else:
            a_bar += np.expand_dims(y_bar * (2 / count), axis) * deviation


@rule(np.std)
class std:
    """The square root of the variance. Where every deviation is 0, it has no derivative: 0, as for a norm."""

    samples = var.samples

    def tangent(
        a: Any, y: Any, a_dot: Any, *, axis: Any = None, ddof: int = 0, keepdims: bool = False
    ) -> Any:
        count = a.size // np.size(y) - ddof
        deviation = a - np.mean(a, axis=axis, keepdims=axis is not None)
        apart = np.where(y == 0.0, np.inf, y)
        return np.sum(deviation * a_dot, axis=axis, keepdims=keepdims) / (count * apart)

    def adjoint(
        a: Any,
        y: Any,
        y_bar: Any,
        a_bar: Any,
        *,
        axis: Any = None,
        ddof: int = 0,
        keepdims: bool = False,
    ) -> None:
        count = a.size // np.size(y) - ddof
        deviation = a - np.mean(a, axis=axis, keepdims=axis is not None)
        apart = np.where(y == 0.0, np.inf, y)
        if axis is None or keepdims:
            a_bar += y_bar / (count * apart) * deviation
        else:
            a_bar += np.expand_dims(y_bar / (count * apart), axis) * deviation


@rule(np.max, np.amax, np.min, np.amin)
class extremum:
    """The elements that attain the extremum share its derivative equally (as JAX)."""

    samples = (*_OVER_AXES, *_OVER_PAIRS)

    def tangent(a: Any, y: Any, a_dot: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        if axis is None or keepdims:
            hit = (a == y) * np.ones_like(a)
        else:
            hit = (a == np.expand_dims(y, axis)) * np.ones_like(a)
        count = np.sum(hit, axis=axis, keepdims=keepdims)
        return np.sum(hit * a_dot, axis=axis, keepdims=keepdims) / count

    def adjoint(
        a: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: Any = None, keepdims: bool = False
    ) -> None:
        if axis is None or keepdims:
            hit = (a == y) * np.ones_like(a)
            a_bar += y_bar / np.sum(hit, axis=axis, keepdims=keepdims) * hit
        else:
            hit = (a == np.expand_dims(y, axis)) * np.ones_like(a)
            a_bar += np.expand_dims(y_bar / np.sum(hit, axis=axis), axis) * hit


@rule(runtime.logsumexp)
class logsumexp:
    """The partials are the shares `exp(a - y)`; where every element is -inf they are 0."""

    samples = (*_OVER_AXES, *_OVER_PAIRS)

    def tangent(a: Any, y: Any, a_dot: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        if axis is None or keepdims:
            shares = np.exp(a - np.where(np.isfinite(y), y, 0.0))
        else:
            shares = np.exp(a - np.expand_dims(np.where(np.isfinite(y), y, 0.0), axis))
        return np.sum(shares * a_dot, axis=axis, keepdims=keepdims)

    def adjoint(
        a: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: Any = None, keepdims: bool = False
    ) -> None:
        if axis is None or keepdims:
            a_bar += y_bar * np.exp(a - np.where(np.isfinite(y), y, 0.0))
        else:
            base = np.where(np.isfinite(y), y, 0.0)
            a_bar += np.expand_dims(y_bar, axis) * np.exp(a - np.expand_dims(base, axis))


@rule(np.ptp)
class ptp:
    """The largest minus the smallest."""

    samples = (*_OVER_AXES, *_OVER_PAIRS)

    def tangent(a: Any, y: Any, a_dot: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        top = (a == np.max(a, axis=axis, keepdims=axis is not None)) * np.ones_like(a)
        low = (a == np.min(a, axis=axis, keepdims=axis is not None)) * np.ones_like(a)
        top_share = top / np.sum(top, axis=axis, keepdims=axis is not None)
        low_share = low / np.sum(low, axis=axis, keepdims=axis is not None)
        return np.sum((top_share - low_share) * a_dot, axis=axis, keepdims=keepdims)

    def adjoint(
        a: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: Any = None, keepdims: bool = False
    ) -> None:
        top = (a == np.max(a, axis=axis, keepdims=axis is not None)) * np.ones_like(a)
        low = (a == np.min(a, axis=axis, keepdims=axis is not None)) * np.ones_like(a)
        top_share = top / np.sum(top, axis=axis, keepdims=axis is not None)
        low_share = low / np.sum(low, axis=axis, keepdims=axis is not None)
        if axis is None or keepdims:
            a_bar += y_bar * (top_share - low_share)
        else:
            a_bar += np.expand_dims(y_bar, axis) * (top_share - low_share)


@rule(builtins.sum, math.fsum)
class list_sum:
    """Linear in every item."""

    samples = (case([values(), values(seed=1), values(seed=2)]),)

    def tangent(items: Any, y: Any, items_dot: Any) -> Any:
        return sum(items_dot)

    def adjoint(items: Any, y: Any, y_bar: Any, items_bar: Any) -> None:
        for item_bar in items_bar:
            item_bar += y_bar


@rule(math.dist)
class dist:
    """The Euclidean distance: NaN where the points coincide."""

    samples = (case([values(), values(seed=1)], [values(seed=2), values(seed=3)]),)

    def tangent(p: Any, q: Any, y: Any, p_dot: Any, q_dot: Any) -> Any:
        offset = np.array(p) - np.array(q)
        return np.dot(offset, np.array(p_dot)) / y - np.dot(offset, np.array(q_dot)) / y

    def adjoint(p: Any, q: Any, y: Any, y_bar: Any, p_bar: Any, q_bar: Any) -> None:
        for a, b, a_bar, b_bar in zip(p, q, p_bar, q_bar):
            a_bar += y_bar * (a - b) / y
            b_bar += y_bar * (b - a) / y
