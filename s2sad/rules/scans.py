"""Running sums, products, differences, and what sorting gives."""

# pyright: reportSelfClsParameterName=false
# ruff: noqa: D102

from __future__ import annotations

import math
from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.rules.registry import rule
from s2sad.rules.sample import case, complex_values, values

_MATRIX = values(3, 4)
_CUBE = values(2, 3, 2)
_WITH_ZEROS = _MATRIX * (_MATRIX > -1.0)
_SCANS = (case(values(4)), case(_MATRIX), case(_MATRIX, axis=0), case(_CUBE, axis=-2))


@rule(np.prod)
class prod:
    """Each element's partial is the product of the others: no division, right at zeros."""

    samples = (
        *_SCANS,
        case(_WITH_ZEROS, axis=1),
        case(_MATRIX, axis=1, keepdims=True),
        case(complex_values(2, 3), axis=1),
    )
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        if axis is None:
            others = runtime.product_of_others(np.ravel(a), 0)
            return np.sum(others * np.ravel(a_dot), axis=axis, keepdims=keepdims)
        else:
            others = runtime.product_of_others(a, axis)
            return np.sum(others * a_dot, axis=axis, keepdims=keepdims)

    def adjoint(
        a: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: Any = None, keepdims: bool = False
    ) -> None:
        if axis is None:
            others = runtime.product_of_others(np.ravel(a), 0)
            a_bar += y_bar * np.reshape(others, a.shape)
        elif keepdims:
            a_bar += y_bar * runtime.product_of_others(a, axis)
        else:
            a_bar += np.expand_dims(y_bar, axis) * runtime.product_of_others(a, axis)


@rule(math.prod)
class list_prod:
    """The product of a list of numbers, as `prod` of their array."""

    samples = (case([values(), 0.0, values(seed=2)]), case([values(), values(seed=1)]))

    def tangent(items: Any, y: Any, items_dot: Any) -> Any:
        others = runtime.product_of_others(np.array(items), 0)
        return np.sum(others * np.array(items_dot))

    def adjoint(items: Any, y: Any, y_bar: Any, items_bar: Any) -> None:
        others = runtime.product_of_others(np.array(items), 0)
        for k, item_bar in enumerate(items_bar):
            item_bar += y_bar * others[k]


@rule(np.cumsum)
class cumsum:
    """Linear: the transpose sums from the other end."""

    samples = (*_SCANS, case(complex_values(4)))
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any, *, axis: Any = None) -> Any:
        return np.cumsum(a_dot, axis=axis)

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: Any = None) -> None:
        if a.ndim == 1:
            a_bar += np.cumsum(y_bar[::-1])[::-1]
        elif axis is None:
            a_bar += np.reshape(np.cumsum(y_bar[::-1])[::-1], a.shape)
        else:
            a_bar += np.flip(np.cumsum(np.flip(y_bar, axis=axis), axis=axis), axis=axis)


@rule(np.cumprod)
class cumprod:
    """The recurrence `y[k] = y[k - 1] * a[k]` and its transpose: no division, right at zeros."""

    samples = (*_SCANS, case(_WITH_ZEROS, axis=1), case(_WITH_ZEROS), case(complex_values(4)))
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any, *, axis: Any = None) -> Any:
        if axis is None:
            return runtime.scan(np.ravel(a), runtime.shift(y, 1.0, 0) * np.ravel(a_dot), 0)
        else:
            return runtime.scan(a, runtime.shift(y, 1.0, axis) * a_dot, axis)

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: Any = None) -> None:
        if axis is None:
            later = runtime.scan_back(np.ravel(a), y_bar, 0)
            a_bar += np.reshape(later * runtime.shift(y, 1.0, 0), a.shape)
        else:
            a_bar += runtime.scan_back(a, y_bar, axis) * runtime.shift(y, 1.0, axis)


@rule(np.diff)
class diff:
    """Linear: each difference adds to one element and subtracts from the one before."""

    samples = (case(values(5)), case(_MATRIX), case(_MATRIX, axis=0), case(_CUBE, axis=1))
    only = (("n", (1,)),)
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any, *, n: int = 1, axis: int = -1) -> Any:
        return np.diff(a_dot, axis=axis)

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any, *, n: int = 1, axis: int = -1) -> None:
        if a.ndim == 1 or axis == 0:
            a_bar[1:] += y_bar
            a_bar[:-1] += -y_bar
        elif axis == -1 or axis == a.ndim - 1:
            a_bar[..., 1:] += y_bar
            a_bar[..., :-1] += -y_bar
        else:
            moved = np.moveaxis(y_bar, axis, 0)
            a_bar += np.moveaxis(
                np.concatenate((-moved[:1], moved[:-1] - moved[1:], moved[-1:])), 0, axis
            )


@rule(np.trapezoid)
class trapezoid:
    """The trapezium rule over the last axis: half the sum of neighbours, times the step."""

    samples = (
        case(values(5)),
        case(values(5), dx=0.5),
        case(_MATRIX),
        case(values(5), np.arange(5.0) ** 1.5),
        case(_MATRIX, np.arange(4.0) ** 1.5),
        case(values(1, 4), _MATRIX),
    )
    only = (("axis", (-1,)),)

    def tangent(
        f: Any, x: Any, y: Any, f_dot: Any, x_dot: Any, *, dx: float = 1.0, axis: int = -1
    ) -> Any:
        if x is None:
            return np.trapezoid(f_dot) * dx
        else:
            pairs = f[..., 1:] + f[..., :-1]
            return np.trapezoid(f_dot, x) + 0.5 * np.sum(pairs * np.diff(x_dot), axis=-1)

    def adjoint(
        f: Any,
        x: Any,
        y: Any,
        y_bar: Any,
        f_bar: Any,
        x_bar: Any,
        *,
        dx: float = 1.0,
        axis: int = -1,
    ) -> None:
        if x is None and f.ndim == 1:
            f_bar[1:] += 0.5 * dx * y_bar
            f_bar[:-1] += 0.5 * dx * y_bar
        elif x is None:
            g = np.expand_dims(y_bar, -1)
            f_bar[..., 1:] += 0.5 * dx * g
            f_bar[..., :-1] += 0.5 * dx * g
        elif f.ndim == 1:
            half_bar = 0.5 * y_bar
            f_bar[1:] += half_bar * (x[1:] - x[:-1])
            f_bar[:-1] += half_bar * (x[1:] - x[:-1])
            x_bar[1:] += half_bar * (f[1:] + f[:-1])
            x_bar[:-1] += -half_bar * (f[1:] + f[:-1])
        else:
            g = np.expand_dims(y_bar, -1)
            half_bar = 0.5 * (x[..., 1:] - x[..., :-1]) * g
            f_bar[..., 1:] += runtime.unbroadcast(half_bar, f[..., 1:])
            f_bar[..., :-1] += runtime.unbroadcast(half_bar, f[..., 1:])
            step_bar = 0.5 * (f[..., 1:] + f[..., :-1]) * g
            x_bar[..., 1:] += runtime.unbroadcast(step_bar, x[..., 1:])
            x_bar[..., :-1] += runtime.unbroadcast(-step_bar, x[..., 1:])


@rule(np.nansum)
class nansum:
    """As `sum` over the elements that are not NaN."""

    samples = (case(np.where(_MATRIX > 1.5, np.nan, _MATRIX)), case(_MATRIX, axis=0))

    def tangent(a: Any, y: Any, a_dot: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        return np.sum(np.where(np.isnan(a), 0.0, a_dot), axis=axis, keepdims=keepdims)

    def adjoint(
        a: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: Any = None, keepdims: bool = False
    ) -> None:
        if axis is None or keepdims:
            a_bar += np.where(np.isnan(a), 0.0, y_bar)
        else:
            a_bar += np.where(np.isnan(a), 0.0, np.expand_dims(y_bar, axis))


@rule(np.nanmean)
class nanmean:
    """As `mean` over the elements that are not NaN."""

    samples = (
        case(np.where(_MATRIX > 1.5, np.nan, _MATRIX)),
        case(np.where(_MATRIX > 1.5, np.nan, _MATRIX), axis=1),
        case(_MATRIX, axis=0, keepdims=True),
    )

    def tangent(a: Any, y: Any, a_dot: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        count = np.sum(~np.isnan(a) * np.ones_like(a), axis=axis, keepdims=keepdims)
        return np.sum(np.where(np.isnan(a), 0.0, a_dot), axis=axis, keepdims=keepdims) / count

    def adjoint(
        a: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: Any = None, keepdims: bool = False
    ) -> None:
        share = y_bar / np.sum(~np.isnan(a) * np.ones_like(a), axis=axis, keepdims=keepdims)
        if axis is None or keepdims:
            a_bar += np.where(np.isnan(a), 0.0, share)
        else:
            a_bar += np.where(np.isnan(a), 0.0, np.expand_dims(share, axis))


@rule(np.sort)
class sort:
    """A permutation; its transpose is the inverse permutation."""

    samples = (
        case(values(5)),
        case(_MATRIX),
        case(_MATRIX, axis=0),
        case(_MATRIX, axis=None),
    )

    def tangent(a: Any, y: Any, a_dot: Any, *, axis: Any = -1) -> Any:
        if a.ndim == 1:
            return a_dot[np.argsort(a)]
        elif axis is None:
            return np.ravel(a_dot)[np.argsort(np.ravel(a))]
        else:
            return np.take_along_axis(a_dot, np.argsort(a, axis=axis), axis=axis)

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: Any = -1) -> None:
        if a.ndim == 1:
            a_bar += y_bar[np.argsort(np.argsort(a))]
        elif axis is None:
            a_bar += np.reshape(y_bar[np.argsort(np.argsort(np.ravel(a)))], a.shape)
        else:
            back = np.argsort(np.argsort(a, axis=axis), axis=axis)
            a_bar += np.take_along_axis(y_bar, back, axis=axis)


@rule(np.unwrap)
class unwrap:
    """A shift of each element by a multiple of the period, which does not vary."""

    samples = (
        case(values(5) * 4.0), case(values(2, 4) * 4.0, axis=0), case(values(5) * 4.0, discont=3.5),
        case(values(5) * 4.0, period=4.0),
    )  # fmt: skip

    def tangent(
        p: Any, y: Any, p_dot: Any, *, discont: Any = None, axis: int = -1, period: float = 2 * np.pi
    ) -> Any:
        return p_dot

    def adjoint(
        p: Any, y: Any, y_bar: Any, p_bar: Any, *, discont: Any = None, axis: int = -1, period: float = 2 * np.pi
    ) -> None:
        p_bar += y_bar
