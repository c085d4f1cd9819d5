"""Rules of the runtime helpers that rules call, so that an adjoint differentiates again."""

# pyright: reportSelfClsParameterName=false
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.ir import ops
from s2sad.rules.registry import constant, rule
from s2sad.rules.sample import case, values

constant(runtime.inverse_axes, runtime.pad_before, runtime.any_axis, runtime.all_axis)
constant(runtime.argsort_axis)


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
        case(values(3), np.array([1, 1, 0]), values(4), 0),
        case(values(2, 3), np.array([1, 1, -1]), values(2, 4), 1),
    )

    def tangent(g: Any, index: Any, x: Any, axis: Any, y: Any, g_dot: Any) -> Any:
        return runtime.scatter(g_dot, index, x, axis)

    def adjoint(g: Any, index: Any, x: Any, axis: Any, y: Any, y_bar: Any, g_bar: Any) -> None:
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

    samples = (case(values(3), values(3, 4), 0), case(values(2), values(3, 4), -1))

    def tangent(g: Any, x: Any, k: Any, y: Any, g_dot: Any) -> Any:
        return runtime.put_diagonal(g_dot, x, k)

    def adjoint(g: Any, x: Any, k: Any, y: Any, y_bar: Any, g_bar: Any) -> None:
        g_bar += np.diag(y_bar, k=k)


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
        case(values(5, 2), np.array([[1, 1, 0, 2, 2]] * 2).T, values(3, 2), 0),
        case(values(3), np.array([1, 1, 3]), values(5), -1),
    )

    def tangent(g: Any, indices: Any, x: Any, axis: Any, y: Any, g_dot: Any) -> Any:
        return runtime.scatter_along(g_dot, indices, x, axis)

    def adjoint(g: Any, indices: Any, x: Any, axis: Any, y: Any, y_bar: Any, g_bar: Any) -> None:
        g_bar += np.take_along_axis(y_bar, indices, axis=axis)
