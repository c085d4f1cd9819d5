"""Rules of the runtime helpers that rules call, so that an adjoint differentiates again."""

# pyright: reportSelfClsParameterName=false
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.ir import ops
from s2sad.rules.registry import constant, rule
from s2sad.rules.sample import case, complex_values, values
from s2sad.runtime.lists import empty_list, zero_arrays, zero_complexes, zero_scalars

_MATRIX = values(3, 4)
_OTHER = values(3, 4, seed=1)
_WITH_ZEROS = _MATRIX * (_MATRIX > -1.0)

constant(runtime.any_axis, runtime.all_axis, runtime.argsort_axis)
constant(empty_list, zero_scalars, zero_arrays, zero_complexes)
constant(runtime.inverse_axes, runtime.pad_before, runtime.insertion_order, runtime.places_besides)

constant(ops.stop_gradient)


@rule(ops.unbroadcast, runtime.unbroadcast, runtime.sum_to_shape)
class unbroadcast:
    """Summing over broadcast axes is linear; its transpose broadcasts."""

    samples = (
        case(values(2, 3), values(3)),
        case(values(2, 3), values(2, 1)),
        case(values(3), values(3)),
        case(values(2, 4, 3), values(2, 1, 3)),
    )
    complex = True

    def tangent(g: Any, x: Any, y: Any, g_dot: Any) -> Any:
        return runtime.unbroadcast(g_dot, x)

    def adjoint(g: Any, x: Any, y: Any, y_bar: Any, g_bar: Any) -> None:
        g_bar += y_bar


@rule(runtime.scatter)
class scatter:
    """The transpose of a gather is a scatter, and conversely."""

    samples = (
        case(values(3), np.array([1, 1, 0]), values(4), axis=0),
        case(values(2, 3), np.array([1, 1, -1]), values(2, 4), axis=1),
        case(complex_values(3), np.array([1, 1, 0]), complex_values(4), axis=0),
    )
    complex = True

    def tangent(g: Any, index: Any, x: Any, y: Any, g_dot: Any, *, axis: int) -> Any:
        return runtime.scatter(g_dot, index, x, axis)

    def adjoint(g: Any, index: Any, x: Any, y: Any, y_bar: Any, g_bar: Any, *, axis: int) -> None:
        g_bar += np.reshape(np.take(y_bar, index, axis=axis), g.shape)


@rule(runtime.untile)
class untile:
    """The transpose of `tile_like`."""

    samples = (
        case(values(6), values(3)),
        case(values(4, 6), values(2, 3)),
        case(values(2, 6), values(3)),
    )

    def tangent(g: Any, x: Any, y: Any, g_dot: Any) -> Any:
        return runtime.untile(g_dot, x)

    def adjoint(g: Any, x: Any, y: Any, y_bar: Any, g_bar: Any) -> None:
        g_bar += runtime.tile_like(y_bar, g)


@rule(runtime.tile_like)
class tile_like:
    """The transpose of `untile`."""

    samples = (case(values(3), values(6)), case(values(2, 3), values(4, 6)))

    def tangent(x: Any, g: Any, y: Any, x_dot: Any) -> Any:
        return runtime.tile_like(x_dot, g)

    def adjoint(x: Any, g: Any, y: Any, y_bar: Any, x_bar: Any) -> None:
        x_bar += runtime.untile(y_bar, x)


@rule(runtime.put_diagonal)
class put_diagonal:
    """The transpose of taking a diagonal."""

    samples = (case(values(3), values(3, 4), k=0), case(values(2), values(3, 4), k=-1))

    def tangent(g: Any, x: Any, y: Any, g_dot: Any, *, k: int) -> Any:
        return runtime.put_diagonal(g_dot, x, k)

    def adjoint(g: Any, x: Any, y: Any, y_bar: Any, g_bar: Any, *, k: int) -> None:
        g_bar += np.diag(y_bar, k=k)


@rule(runtime.sum_windows)
class sum_windows:
    """The transpose of taking windows."""

    samples = (case(values(3, 2), values(4)), case(values(2, 2, 3), values(2, 4)))

    def tangent(g: Any, x: Any, y: Any, g_dot: Any) -> Any:
        return runtime.sum_windows(g_dot, x)

    def adjoint(g: Any, x: Any, y: Any, y_bar: Any, g_bar: Any) -> None:
        g_bar += np.lib.stride_tricks.sliding_window_view(y_bar, np.shape(g)[-1], axis=-1)


@rule(runtime.unpad)
class unpad:
    """The transpose of `pad_like`."""

    samples = (case(values(6), values(3), (1,)), case(values(4, 6), values(2, 3), (1, 2)))

    def tangent(g: Any, x: Any, before: Any, y: Any, g_dot: Any) -> Any:
        return runtime.unpad(g_dot, x, before)

    def adjoint(g: Any, x: Any, before: Any, y: Any, y_bar: Any, g_bar: Any) -> None:
        g_bar += runtime.pad_like(y_bar, g, before)


@rule(runtime.pad_like)
class pad_like:
    """The transpose of `unpad`."""

    samples = (case(values(3), values(6), (1,)), case(values(2, 3), values(4, 6), (1, 2)))

    def tangent(x: Any, g: Any, before: Any, y: Any, x_dot: Any) -> Any:
        return runtime.pad_like(x_dot, g, before)

    def adjoint(x: Any, g: Any, before: Any, y: Any, y_bar: Any, x_bar: Any) -> None:
        x_bar += runtime.unpad(y_bar, x, before)


@rule(np.take_along_axis)
class take_along_axis:
    """A gather along one axis; the transpose adds."""

    samples = (
        case(values(3, 4), np.argsort(values(3, 4), axis=1), axis=1),
        case(values(3, 4), np.array([[0, 0, 1, -1]]), axis=0),
        case(values(5), np.array([1, 1, 3]), axis=0),
        case(values(3, 4), np.array([[2, 0, 1, 1]]), axis=1),
        case(values(1, 4), np.array([[2], [0], [2]]), axis=-1),
    )

    def tangent(arr: Any, indices: Any, y: Any, arr_dot: Any, *, axis: int = -1) -> Any:
        return np.take_along_axis(arr_dot, indices, axis=axis)

    def adjoint(
        arr: Any, indices: Any, y: Any, y_bar: Any, arr_bar: Any, *, axis: int = -1
    ) -> None:
        arr_bar += runtime.scatter_along(y_bar, indices, arr, axis)


@rule(runtime.scatter_along)
class scatter_along:
    """The transpose of `np.take_along_axis`."""

    samples = (
        case(values(5, 2), np.array([[1, 1, 0, 2, 2]] * 2).T, values(3, 2), axis=0),
        case(values(3), np.array([1, 1, 3]), values(5), axis=-1),
    )

    def tangent(g: Any, indices: Any, x: Any, y: Any, g_dot: Any, *, axis: int) -> Any:
        return runtime.scatter_along(g_dot, indices, x, axis)

    def adjoint(g: Any, indices: Any, x: Any, y: Any, y_bar: Any, g_bar: Any, *, axis: int) -> None:
        g_bar += np.take_along_axis(y_bar, indices, axis=axis)


@rule(runtime.product_of_others)
class product_of_others:
    """`left * right`, the products of what stands before and behind; its Jacobian is symmetric."""

    samples = (case(values(4), axis=0), case(_WITH_ZEROS, axis=1), case(values(2, 3, 2), axis=-2))
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any, *, axis: int) -> Any:
        back = np.flip(a, axis=axis)
        left = runtime.shift(np.cumprod(a, axis=axis), 1.0, axis)
        right = runtime.shift(np.cumprod(back, axis=axis), 1.0, axis)
        left_dot = runtime.scan(a, left * a_dot, axis)
        right_dot = runtime.scan(back, right * np.flip(a_dot, axis=axis), axis)
        before = runtime.shift(left_dot, 0.0, axis) * np.flip(right, axis=axis)
        return before + left * np.flip(runtime.shift(right_dot, 0.0, axis), axis=axis)

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: int) -> None:
        back = np.flip(a, axis=axis)
        left = runtime.shift(np.cumprod(a, axis=axis), 1.0, axis)
        right = runtime.shift(np.cumprod(back, axis=axis), 1.0, axis)
        left_dot = runtime.scan(a, left * y_bar, axis)
        right_dot = runtime.scan(back, right * np.flip(y_bar, axis=axis), axis)
        a_bar += runtime.shift(left_dot, 0.0, axis) * np.flip(right, axis=axis)
        a_bar += left * np.flip(runtime.shift(right_dot, 0.0, axis), axis=axis)


@rule(runtime.scan)
class scan:
    """A linear recurrence: its tangent is one, its transpose runs back."""

    samples = (case(values(4), values(4, seed=1), axis=0), case(_MATRIX, _OTHER, axis=-2))
    complex = True

    def tangent(a: Any, f: Any, y: Any, a_dot: Any, f_dot: Any, *, axis: int) -> Any:
        return runtime.scan(a, f_dot, axis) + runtime.scan(
            a, runtime.shift(y, 0.0, axis) * a_dot, axis
        )

    def adjoint(
        a: Any, f: Any, y: Any, y_bar: Any, a_bar: Any, f_bar: Any, *, axis: int
    ) -> None:
        later = runtime.scan_back(a, y_bar, axis)
        f_bar += later
        a_bar += later * runtime.shift(y, 0.0, axis)


@rule(runtime.scan_back)
class scan_back:
    """The transpose of `scan`, which runs forward again when transposed."""

    samples = (case(values(4), values(4, seed=1), axis=0), case(_MATRIX, _OTHER, axis=1))
    complex = True

    def tangent(a: Any, g: Any, y: Any, a_dot: Any, g_dot: Any, *, axis: int) -> Any:
        return runtime.scan_back(a, g_dot, axis) + runtime.scan_back(
            a, runtime.shift_back(y * a_dot, axis), axis
        )

    def adjoint(
        a: Any, g: Any, y: Any, y_bar: Any, a_bar: Any, g_bar: Any, *, axis: int
    ) -> None:
        earlier = runtime.scan(a, y_bar, axis)
        g_bar += earlier
        a_bar += runtime.shift(earlier, 0.0, axis) * y


@rule(runtime.shift)
class shift:
    """The transpose of `shift_back`."""

    samples = (case(values(4), 1.0, axis=0), case(_MATRIX, 0.0, axis=-1))
    complex = True

    def tangent(a: Any, first: Any, y: Any, a_dot: Any, *, axis: int) -> Any:
        return runtime.shift(a_dot, 0.0, axis)

    def adjoint(a: Any, first: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: int) -> None:
        a_bar += runtime.shift_back(y_bar, axis)


@rule(runtime.shift_back)
class shift_back:
    """The transpose of `shift`."""

    samples = (case(values(4), axis=0), case(_MATRIX, axis=0))
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any, *, axis: int) -> Any:
        return runtime.shift_back(a_dot, axis)

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: int) -> None:
        a_bar += runtime.shift(y_bar, 0.0, axis)


@rule(runtime.embed)
class embed:
    """The transpose of taking a stretch."""

    samples = (case(values(4), 2, 7), case(values(3), 0, 3))
    complex = True

    def tangent(g: Any, start: Any, size: Any, y: Any, g_dot: Any) -> Any:
        return runtime.embed(g_dot, start, size)

    def adjoint(g: Any, start: Any, size: Any, y: Any, y_bar: Any, g_bar: Any) -> None:
        g_bar += y_bar[start : start + g.size]
