"""Shapes, axes, copies, tiles, diagonals and gathers: linear, each transpose undoes the map."""

# pyright: reportSelfClsParameterName=false
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.ir import ops
from s2sad.ir.ops import unbroadcast
from s2sad.rules.registry import rule
from s2sad.rules.sample import case, values

_VECTOR = values(4)
_MATRIX = values(3, 4)
_CUBE = values(2, 3, 2)


@rule(np.reshape)
class reshape:
    """The same elements in another shape."""

    samples = (case(_MATRIX, (2, 6)), case(_MATRIX, -1), case(_CUBE, (3, -1)))
    complex = True
    only = (("order", ("C",)),)

    def tangent(a: Any, shape: Any, y: Any, a_dot: Any, *, order: str = "C") -> Any:
        return np.reshape(a_dot, shape)

    def adjoint(a: Any, shape: Any, y: Any, y_bar: Any, a_bar: Any, *, order: str = "C") -> None:
        a_bar += np.reshape(y_bar, np.shape(a))


@rule(np.ravel)
class ravel:
    """The same elements as a vector."""

    samples = (case(_VECTOR), case(_MATRIX))
    complex = True
    only = (("order", ("C",)),)

    def tangent(a: Any, y: Any, a_dot: Any, *, order: str = "C") -> Any:
        return np.ravel(a_dot)

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any, *, order: str = "C") -> None:
        a_bar += np.reshape(y_bar, a.shape)


@rule(np.transpose)
class transpose:
    """Undone by the inverse permutation."""

    samples = (case(_MATRIX), case(_CUBE, axes=(1, 2, 0)), case(_CUBE, axes=(-1, 0, 1)))
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any, *, axes: Any = None) -> Any:
        return np.transpose(a_dot, axes=axes)

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any, *, axes: Any = None) -> None:
        if axes is None:
            a_bar += np.transpose(y_bar)
        else:
            a_bar += np.transpose(y_bar, axes=runtime.inverse_axes(axes))


@rule(ops.transpose)
class transpose_all:
    """`x.T`."""

    samples = (case(_MATRIX), case(_CUBE))
    complex = True

    def tangent(x: Any, y: Any, x_dot: Any) -> Any:
        return x_dot.T

    def adjoint(x: Any, y: Any, y_bar: Any, x_bar: Any) -> None:
        x_bar += y_bar.T


@rule(np.swapaxes)
class swapaxes:
    """Its own inverse."""

    samples = (case(_CUBE, axis1=0, axis2=1), case(_CUBE, axis1=-1, axis2=0))
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any, *, axis1: int, axis2: int) -> Any:
        return np.swapaxes(a_dot, axis1=axis1, axis2=axis2)

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any, *, axis1: int, axis2: int) -> None:
        a_bar += np.swapaxes(y_bar, axis1=axis1, axis2=axis2)


@rule(np.moveaxis)
class moveaxis:
    """Undone by moving back."""

    samples = (
        case(_CUBE, source=0, destination=2),
        case(_CUBE, source=(0, 1), destination=(-1, 0)),
    )
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any, *, source: Any, destination: Any) -> Any:
        return np.moveaxis(a_dot, source=source, destination=destination)

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any, *, source: Any, destination: Any) -> None:
        a_bar += np.moveaxis(y_bar, source=destination, destination=source)


@rule(np.expand_dims)
class expand_dims:
    """The same elements, with axes of length one."""

    samples = (case(_MATRIX, axis=1), case(_MATRIX, axis=(0, -1)))
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any, *, axis: Any) -> Any:
        return np.expand_dims(a_dot, axis)

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: Any) -> None:
        a_bar += np.reshape(y_bar, np.shape(a))


@rule(np.squeeze)
class squeeze:
    """The same elements, without axes of length one."""

    samples = (
        case(values(3, 1, 2)),
        case(values(1, 3, 1), axis=0),
        case(values(1, 3, 1), axis=(0, 2)),
    )
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any, *, axis: Any = None) -> Any:
        return np.squeeze(a_dot, axis=axis)

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: Any = None) -> None:
        a_bar += np.reshape(y_bar, a.shape)


@rule(np.atleast_1d, np.atleast_2d)
class atleast:
    """The same elements, with axes of length one in front."""

    samples = (case(_VECTOR), case(_MATRIX), case(values()))
    complex = True

    def tangent(x: Any, y: Any, x_dot: Any) -> Any:
        return np.reshape(x_dot, y.shape)

    def adjoint(x: Any, y: Any, y_bar: Any, x_bar: Any) -> None:
        x_bar += unbroadcast(y_bar, x)


@rule(np.broadcast_to)
class broadcast_to:
    """Repeats elements; the transpose sums them."""

    samples = (
        case(values(3), (2, 3)),
        case(values(2, 1), (2, 3)),
        case(values(), (2, 3)),
    )
    complex = True

    def tangent(array: Any, shape: Any, y: Any, array_dot: Any) -> Any:
        return np.broadcast_to(array_dot, shape)

    def adjoint(array: Any, shape: Any, y: Any, y_bar: Any, array_bar: Any) -> None:
        array_bar += unbroadcast(y_bar, array)


@rule(np.lib.stride_tricks.sliding_window_view)
class sliding_window_view:
    """Windows along the last axis overlap; the transpose sums what lies on one place (see `rules/rearranging.py`)."""

    samples = (case(_VECTOR, 2, axis=-1), case(_MATRIX, 3, axis=-1), case(_CUBE, 1, axis=-1))
    complex = True

    def tangent(x: Any, window_shape: Any, y: Any, x_dot: Any, *, axis: int) -> Any:
        return np.lib.stride_tricks.sliding_window_view(x_dot, window_shape, axis=axis)

    def adjoint(x: Any, window_shape: Any, y: Any, y_bar: Any, x_bar: Any, *, axis: int) -> None:
        x_bar += runtime.sum_windows(y_bar, x)


@rule(np.tile)
class tile:
    """Repeats the whole array; the transpose sums the tiles."""

    samples = (case(_VECTOR, 2), case(_VECTOR, (2, 1)), case(_MATRIX, (2, 3)), case(_CUBE, 2), case(values(), 3))

    def tangent(A: Any, reps: Any, y: Any, A_dot: Any) -> Any:
        return np.tile(A_dot, reps)

    def adjoint(A: Any, reps: Any, y: Any, y_bar: Any, A_bar: Any) -> None:
        if np.ndim(A) == 0:
            A_bar += np.sum(y_bar)
        else:
            A_bar += runtime.untile(y_bar, A)


@rule(np.repeat)
class repeat:
    """Repeats each element; the transpose sums the copies."""

    samples = (
        case(_VECTOR, 3),
        case(_MATRIX, 2),
        case(_MATRIX, 2, axis=1),
        case(_VECTOR, np.array([0, 2, 1, 3])),
        case(_MATRIX, np.array([1, 0, 2]), axis=0),
    )

    def tangent(a: Any, repeats: Any, y: Any, a_dot: Any, *, axis: Any = None) -> Any:
        return np.repeat(a_dot, repeats, axis=axis)

    def adjoint(a: Any, repeats: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: Any = None) -> None:
        if np.ndim(repeats) == 0 and axis is None:
            a_bar += np.reshape(np.sum(np.reshape(y_bar, (a.size, repeats)), axis=1), a.shape)
        elif np.ndim(repeats) == 0 and (axis == 0 or axis == -a.ndim):
            a_bar += np.sum(np.reshape(y_bar, (a.shape[0], repeats, *a.shape[1:])), axis=1)
        elif axis is None:
            index = np.repeat(np.arange(a.size), repeats)
            a_bar += np.reshape(runtime.scatter(y_bar, index, np.ravel(a), 0), a.shape)
        else:
            index = np.repeat(np.arange(a.shape[axis]), repeats)
            a_bar += runtime.scatter(y_bar, index, a, axis)


@rule(np.take)
class take:
    """A gather; the transpose adds, so that duplicate indices accumulate."""

    samples = (
        case(_VECTOR, np.array([0, 2, 2, -1])),
        case(_MATRIX, np.array([1, 1, 7])),
        case(_MATRIX, np.array([1, 1, 0]), axis=1),
        case(_CUBE, np.array([[1, 1], [0, -1]]), axis=1),
        case(_MATRIX, 1, axis=0),
    )

    def tangent(a: Any, indices: Any, y: Any, a_dot: Any, *, axis: Any = None) -> Any:
        return np.take(a_dot, indices, axis=axis)

    def adjoint(a: Any, indices: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: Any = None) -> None:
        if axis is None:
            a_bar += np.reshape(runtime.scatter(y_bar, indices, np.ravel(a), 0), a.shape)
        else:
            a_bar += runtime.scatter(y_bar, indices, a, axis)


@rule(np.roll)
class roll:
    """Undone by rolling back."""

    samples = (
        case(_VECTOR, 1), case(_MATRIX, -2), case(_MATRIX, 1, axis=0), case(_MATRIX, (1, -2), axis=(0, 1)),
        case(_MATRIX, (1, 2), axis=0), case(_MATRIX, 1, axis=(0, 1)),
    )  # fmt: skip
    complex = True

    def tangent(a: Any, shift: Any, y: Any, a_dot: Any, *, axis: Any = None) -> Any:
        return np.roll(a_dot, shift, axis=axis)

    def adjoint(a: Any, shift: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: Any = None) -> None:
        if isinstance(shift, (list, tuple)):
            a_bar += np.roll(y_bar, tuple([-each for each in shift]), axis=axis)
        else:
            a_bar += np.roll(y_bar, -shift, axis=axis)


@rule(np.flip)
class flip:
    """Its own inverse."""

    samples = (case(_VECTOR), case(_MATRIX), case(_MATRIX, axis=0), case(_CUBE, axis=(0, 2)))
    complex = True

    def tangent(m: Any, y: Any, m_dot: Any, *, axis: Any = None) -> Any:
        return np.flip(m_dot, axis=axis)

    def adjoint(m: Any, y: Any, y_bar: Any, m_bar: Any, *, axis: Any = None) -> None:
        m_bar += np.flip(y_bar, axis=axis)


@rule(np.flipud)
class flipud:
    """Its own inverse."""

    samples = (case(_VECTOR), case(_MATRIX))
    complex = True

    def tangent(m: Any, y: Any, m_dot: Any) -> Any:
        return np.flipud(m_dot)

    def adjoint(m: Any, y: Any, y_bar: Any, m_bar: Any) -> None:
        m_bar += np.flipud(y_bar)


@rule(np.fliplr)
class fliplr:
    """Its own inverse."""

    samples = (case(_MATRIX),)
    complex = True

    def tangent(m: Any, y: Any, m_dot: Any) -> Any:
        return np.fliplr(m_dot)

    def adjoint(m: Any, y: Any, y_bar: Any, m_bar: Any) -> None:
        m_bar += np.fliplr(y_bar)


@rule(np.rot90)
class rot90:
    """Undone by rotating back."""

    samples = (
        case(_MATRIX), case(_MATRIX, k=2), case(_CUBE, k=3, axes=(1, 2)), case(_CUBE, axes=(2, 0)),
        case(_MATRIX, axes=(1, 0)), case(_MATRIX, k=3, axes=(-1, -2)), case(_MATRIX, axes=(0, -1)),
    )  # fmt: skip
    complex = True

    def tangent(m: Any, y: Any, m_dot: Any, *, k: int = 1, axes: Any = (0, 1)) -> Any:
        if m.ndim == 2 and axes[0] % 2 == 0:
            return np.rot90(m_dot, k=k)
        elif m.ndim == 2:
            return np.rot90(m_dot, k=-k)
        else:
            return np.rot90(m_dot, k=k, axes=axes)

    def adjoint(m: Any, y: Any, y_bar: Any, m_bar: Any, *, k: int = 1, axes: Any = (0, 1)) -> None:
        if m.ndim == 2 and axes[0] % 2 == 0:
            m_bar += np.rot90(y_bar, k=-k)
        elif m.ndim == 2:
            m_bar += np.rot90(y_bar, k=k)
        else:
            m_bar += np.rot90(y_bar, k=-k, axes=axes)


@rule(np.pad)
class pad:
    """A constant border, which is not differentiated; the transpose cuts it off."""

    samples = (
        case(_VECTOR, pad_width=(1, 2)),
        case(_MATRIX, pad_width=1),
        case(_MATRIX, pad_width=((0, 1), (2, 0)), constant_values=0.5),
    )
    only = (("mode", ("constant",)),)

    def tangent(
        array: Any,
        y: Any,
        array_dot: Any,
        *,
        pad_width: Any,
        mode: str = "constant",
        constant_values: Any = 0.0,
    ) -> Any:
        return np.pad(array_dot, pad_width=pad_width)

    def adjoint(
        array: Any,
        y: Any,
        y_bar: Any,
        array_bar: Any,
        *,
        pad_width: Any,
        mode: str = "constant",
        constant_values: Any = 0.0,
    ) -> None:
        start = runtime.pad_before(pad_width, array.ndim)
        if array.ndim == 1:
            array_bar += y_bar[start[0] : start[0] + array.size]
        elif array.ndim == 2:
            rows, columns = array.shape
            array_bar += y_bar[start[0] : start[0] + rows, start[1] : start[1] + columns]
        else:
            array_bar += runtime.unpad(y_bar, array, start)


@rule(np.partition)
class partition:
    """Both the values and the partition have places in the sorted order, which match them up."""

    samples = (
        case(values(3), 1), case(values(6), 2), case(_MATRIX, 1), case(_MATRIX, 1, axis=0), case(_CUBE, 1, axis=1),
    )  # fmt: skip

    def tangent(a: Any, kth: Any, y: Any, a_dot: Any, *, axis: Any = -1) -> Any:
        if a.ndim == 1:
            return a_dot[np.argsort(a)][np.argsort(np.argsort(y))]
        else:
            ordered = np.take_along_axis(a_dot, np.argsort(a, axis=axis), axis=axis)
            places = np.argsort(np.argsort(y, axis=axis), axis=axis)
            return np.take_along_axis(ordered, places, axis=axis)

    def adjoint(a: Any, kth: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: Any = -1) -> None:
        if a.ndim == 1:
            a_bar += y_bar[np.argsort(y)][np.argsort(np.argsort(a))]
        else:
            ordered = np.take_along_axis(y_bar, np.argsort(y, axis=axis), axis=axis)
            places = np.argsort(np.argsort(a, axis=axis), axis=axis)
            a_bar += np.take_along_axis(ordered, places, axis=axis)
