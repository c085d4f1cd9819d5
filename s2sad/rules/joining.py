"""Joining arrays, and building an array from its items."""

# pyright: reportSelfClsParameterName=false
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.ir.ops import unbroadcast
from s2sad.rules.registry import expands, rule
from s2sad.rules.sample import case, values

_VECTORS = [values(3), values(3, seed=1)]
_MATRICES = [values(2, 3), values(2, 3, seed=1)]


@rule(np.concatenate)
class concatenate:
    """Each array's bar is its own stretch of the result's."""

    samples = (
        case([values(3), values(2, seed=1), values(4, seed=2)]),
        case([values(2, 3), values(1, 3, seed=1)]),
        case([values(2, 3), values(2, 2, seed=1)], axis=1),
        case([values(2, 3), values(2, 2, seed=1)], axis=-1),
        case([values(2, 3), values(2, seed=1)], axis=None),
        case([values(2, 1, 3), values(2, 2, 3, seed=1)], axis=1),
        case([values(2, 2, 1), values(2, 2, 2, seed=1)], axis=-1),
    )
    complex = True

    def tangent(arrays: Any, y: Any, arrays_dot: Any, *, axis: Any = 0) -> Any:
        return np.concatenate(arrays_dot, axis=axis)

    def adjoint(arrays: Any, y: Any, y_bar: Any, arrays_bar: Any, *, axis: Any = 0) -> None:
        start = 0
        if axis is None:
            for a, a_bar in zip(arrays, arrays_bar):
                a_bar += np.reshape(y_bar[start : start + a.size], a.shape)
                start = start + a.size
        elif axis == 0 or axis == -y.ndim:
            for a, a_bar in zip(arrays, arrays_bar):
                a_bar += y_bar[start : start + a.shape[0]]
                start = start + a.shape[0]
        elif axis == -1 or axis == y.ndim - 1:
            for a, a_bar in zip(arrays, arrays_bar):
                a_bar += y_bar[..., start : start + a.shape[-1]]
                start = start + a.shape[-1]
        else:
            for a, a_bar in zip(arrays, arrays_bar):
                moved = np.swapaxes(y_bar, axis1=0, axis2=axis)
                part = moved[start : start + a.shape[axis]]
                a_bar += np.swapaxes(part, axis1=0, axis2=axis)
                start = start + a.shape[axis]


@rule(np.stack)
class stack:
    """Each array's bar is its own layer of the result's."""

    samples = (
        case(_VECTORS),
        case(_VECTORS, axis=1),
        case(_MATRICES, axis=-1),
        case(_MATRICES, axis=1),
        case([values(), values(seed=1)]),
    )
    complex = True

    def tangent(arrays: Any, y: Any, arrays_dot: Any, *, axis: int = 0) -> Any:
        return np.stack(arrays_dot, axis=axis)

    def adjoint(arrays: Any, y: Any, y_bar: Any, arrays_bar: Any, *, axis: int = 0) -> None:
        if axis == 0 or axis == -y.ndim:
            for k, a_bar in enumerate(arrays_bar):
                a_bar += y_bar[k]
        elif axis == -1 or axis == y.ndim - 1:
            for k, a_bar in enumerate(arrays_bar):
                a_bar += y_bar[..., k]
        else:
            for k, a_bar in enumerate(arrays_bar):
                a_bar += np.moveaxis(y_bar, source=axis, destination=0)[k]


@rule(np.hstack)
class hstack:
    """Side by side: along axis 0 for vectors, else along axis 1."""

    samples = (case([values(3), values(2)]), case([values(2, 3), values(2, 1, seed=1)]))
    complex = True

    def tangent(tup: Any, y: Any, tup_dot: Any) -> Any:
        return np.hstack(tup_dot)

    def adjoint(tup: Any, y: Any, y_bar: Any, tup_bar: Any) -> None:
        start = 0
        if y.ndim == 1:
            for a, a_bar in zip(tup, tup_bar):
                a_bar += unbroadcast(y_bar[start : start + np.size(a)], a)
                start = start + np.size(a)
        else:
            for a, a_bar in zip(tup, tup_bar):
                a_bar += y_bar[:, start : start + a.shape[1]]
                start = start + a.shape[1]


@rule(np.vstack)
class vstack:
    """One above the other; a vector is a row."""

    samples = (case(_VECTORS), case([values(2, 3), values(1, 3, seed=1), values(3)]))
    complex = True

    def tangent(tup: Any, y: Any, tup_dot: Any) -> Any:
        return np.vstack(tup_dot)

    def adjoint(tup: Any, y: Any, y_bar: Any, tup_bar: Any) -> None:
        start = 0
        for a, a_bar in zip(tup, tup_bar):
            if a.ndim == 1:
                a_bar += y_bar[start]
                start = start + 1
            else:
                a_bar += y_bar[start : start + a.shape[0]]
                start = start + a.shape[0]


@rule(np.column_stack)
class column_stack:
    """Side by side; a vector is a column."""

    samples = (case(_VECTORS), case([values(3, 2), values(3, seed=1)]))
    complex = True

    def tangent(tup: Any, y: Any, tup_dot: Any) -> Any:
        return np.column_stack(tup_dot)

    def adjoint(tup: Any, y: Any, y_bar: Any, tup_bar: Any) -> None:
        start = 0
        for a, a_bar in zip(tup, tup_bar):
            if a.ndim == 1:
                a_bar += y_bar[:, start]
                start = start + 1
            else:
                a_bar += y_bar[:, start : start + a.shape[1]]
                start = start + a.shape[1]


@expands(np.append, when=lambda known: isinstance(known.get("axis"), int) and known["axis"] not in (0, -1))
def append_along(arr: Any, values: Any, axis: Any = None) -> Any:
    """Join two arrays along any axis."""
    return np.concatenate((arr, values), axis=axis)


@rule(np.append)
class append:
    """Two arrays joined: flattened when no axis is given."""

    samples = (
        case(values(3), values(2, seed=1)),
        case(values(3), values(seed=1)),
        case(values(2, 3), values(2, seed=1)),
        case(values(2, 3), values(1, 3, seed=1), axis=0),
        case(values(2, 3), values(2, 2, seed=1), axis=-1),
    )
    complex = True
    only = (("axis", (None, 0, -1)),)
    joint = True

    def tangent(
        arr: Any, values: Any, y: Any, arr_dot: Any, values_dot: Any, *, axis: Any = None
    ) -> Any:
        return np.append(arr_dot, values_dot, axis=axis)

    def adjoint(
        arr: Any,
        values: Any,
        y: Any,
        y_bar: Any,
        arr_bar: Any,
        values_bar: Any,
        *,
        axis: Any = None,
    ) -> None:
        if axis is None and np.ndim(arr) == 1 and np.ndim(values) == 0:
            arr_bar += y_bar[:-1]
            values_bar += y_bar[-1]
        elif axis is None and np.ndim(arr) == 1 and np.ndim(values) == 1:
            arr_bar += y_bar[: y_bar.size - values.size]
            values_bar += y_bar[y_bar.size - values.size :]
        elif axis is None and np.ndim(values) == 0:
            arr_bar += np.reshape(y_bar[: arr.size], arr.shape)
            values_bar += y_bar[arr.size]
        elif axis is None:
            arr_bar += np.reshape(y_bar[: arr.size], arr.shape)
            values_bar += np.reshape(y_bar[arr.size :], np.shape(values))
        elif axis == 0:
            arr_bar += y_bar[: arr.shape[0]]
            values_bar += y_bar[arr.shape[0] :]
        else:
            arr_bar += y_bar[..., : arr.shape[-1]]
            values_bar += y_bar[..., arr.shape[-1] :]


@rule(np.array, np.asarray)
class array:
    """An array of a flat list of numbers, or of arrays of one shape."""

    samples = (case([values(), values(seed=1)]), case(_VECTORS))
    complex = True

    def tangent(object: Any, y: Any, object_dot: Any) -> Any:
        return np.array(object_dot)

    def adjoint(object: Any, y: Any, y_bar: Any, object_bar: Any) -> None:
        for k, item_bar in enumerate(object_bar):
            item_bar += y_bar[k]
