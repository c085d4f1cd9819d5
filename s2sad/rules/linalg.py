"""Products of vectors, matrices and batches of them."""

# pyright: reportSelfClsParameterName=false
# ruff: noqa: D102

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from s2sad.ir.ops import unbroadcast
from s2sad.rules.registry import rule
from s2sad.rules.sample import case, complex_values, values

_PRODUCTS = (
    case(values(3), values(3, seed=1)),
    case(values(2, 3), values(3, 4, seed=1)),
    case(values(2, 3), values(3, seed=1)),
    case(values(3), values(3, 4, seed=1)),
    case(complex_values(2, 3), complex_values(3, 2, seed=1)),
)


@rule(np.matmul, operator.matmul)
class matmul:
    """Giles 2008, section 2.2.1."""

    samples = (
        *_PRODUCTS,
        case(values(2, 2, 3), values(2, 3, 4, seed=1)),
        case(values(2, 2, 3), values(3, 4, seed=1)),
        case(values(2, 3), values(2, 3, 4, seed=1)),
        case(values(2, 1, 2, 3), values(4, 3, 2, seed=1)),
        case(values(2, 1, 2, 3), values(3, 2, seed=1)),
        case(values(2, 1, 2, 3), values(3, seed=1)),
        case(values(2, 2, 3), values(3, seed=1)),
        case(values(3), values(2, 3, 4, seed=1)),
    )
    complex = True

    def tangent(a: Any, b: Any, y: Any, a_dot: Any, b_dot: Any) -> Any:
        return a_dot @ b + a @ b_dot

    def adjoint(a: Any, b: Any, y: Any, y_bar: Any, a_bar: Any, b_bar: Any) -> None:
        if a.ndim == 1 and b.ndim == 1:
            a_bar += y_bar * b
            b_bar += y_bar * a
        elif a.ndim == 2 and b.ndim == 2:
            a_bar += y_bar @ b.T
            b_bar += a.T @ y_bar
        elif a.ndim == 2 and b.ndim == 1:
            a_bar += np.outer(y_bar, b)
            b_bar += a.T @ y_bar
        elif a.ndim == 1 and b.ndim == 2:
            a_bar += b @ y_bar
            b_bar += np.outer(a, y_bar)
        elif a.ndim == 1:
            a_bar += unbroadcast((b @ y_bar[..., None])[..., 0], a)
            b_bar += a[:, None] * y_bar[..., None, :]
        elif b.ndim == 1:
            a_bar += y_bar[..., None] * b
            b_bar += unbroadcast((np.swapaxes(a, -1, -2) @ y_bar[..., None])[..., 0], b)
        elif b.ndim == 2:
            a_bar += y_bar @ b.T
            b_bar += np.reshape(a, (-1, b.shape[0])).T @ np.reshape(y_bar, (-1, b.shape[1]))
        else:
            a_bar += unbroadcast(y_bar @ np.swapaxes(b, -1, -2), a)
            b_bar += unbroadcast(np.swapaxes(a, -1, -2) @ y_bar, b)


@rule(np.dot)
class dot:
    """Giles 2008, section 2.2.1; beyond matrices, as a product of matrices."""

    samples = (
        *_PRODUCTS,
        case(values(), values(3, seed=1)),
        case(values(2, 3), values(seed=1)),
        case(values(2, 2, 3), values(3, seed=1)),
        case(values(2, 2, 3), values(3, 4, seed=1)),
        case(values(2, 3), values(2, 3, 4, seed=1)),
    )
    complex = True

    def tangent(a: Any, b: Any, y: Any, a_dot: Any, b_dot: Any) -> Any:
        return np.dot(a_dot, b) + np.dot(a, b_dot)

    def adjoint(a: Any, b: Any, y: Any, y_bar: Any, a_bar: Any, b_bar: Any) -> None:
        if np.ndim(a) == 0 or np.ndim(b) == 0:
            a_bar += unbroadcast(y_bar * b, a)
            b_bar += unbroadcast(y_bar * a, b)
        elif a.ndim == 1 and b.ndim == 1:
            a_bar += y_bar * b
            b_bar += y_bar * a
        elif a.ndim == 2 and b.ndim == 2:
            a_bar += y_bar @ b.T
            b_bar += a.T @ y_bar
        elif a.ndim == 2 and b.ndim == 1:
            a_bar += np.outer(y_bar, b)
            b_bar += a.T @ y_bar
        elif a.ndim == 1 and b.ndim == 2:
            a_bar += b @ y_bar
            b_bar += np.outer(a, y_bar)
        elif b.ndim == 1:
            a_bar += y_bar[..., None] * b
            b_bar += np.reshape(a, (-1, b.size)).T @ np.ravel(y_bar)
        else:
            rows = np.reshape(a, (-1, b.shape[-2]))
            moved = np.moveaxis(b, -2, 0)
            columns = np.reshape(moved, (b.shape[-2], -1))
            flat_bar = np.reshape(y_bar, (rows.shape[0], columns.shape[1]))
            a_bar += np.reshape(flat_bar @ columns.T, a.shape)
            b_bar += np.moveaxis(np.reshape(rows.T @ flat_bar, moved.shape), 0, -2)


@rule(np.inner)
class inner:
    """The product of two vectors, or of rows with rows."""

    samples = (
        case(values(3), values(3, seed=1)),
        case(values(2, 3), values(4, 3, seed=1)),
        case(values(2, 3), values(3, seed=1)),
        case(values(3), values(4, 3, seed=1)),
        case(values(), values(2, 3, seed=1)),
    )
    complex = True

    def tangent(a: Any, b: Any, y: Any, a_dot: Any, b_dot: Any) -> Any:
        return np.inner(a_dot, b) + np.inner(a, b_dot)

    def adjoint(a: Any, b: Any, y: Any, y_bar: Any, a_bar: Any, b_bar: Any) -> None:
        if np.ndim(a) == 1 and np.ndim(b) == 1:
            a_bar += y_bar * b
            b_bar += y_bar * a
        elif np.ndim(a) == 0 or np.ndim(b) == 0:
            a_bar += unbroadcast(y_bar * b, a)
            b_bar += unbroadcast(y_bar * a, b)
        else:
            rows = np.reshape(a, (-1, a.shape[-1]))
            columns = np.reshape(b, (-1, a.shape[-1]))
            flat_bar = np.reshape(y_bar, (rows.shape[0], columns.shape[0]))
            a_bar += np.reshape(flat_bar @ columns, a.shape)
            b_bar += np.reshape(flat_bar.T @ rows, b.shape)


@rule(np.outer)
class outer:
    """The outer product of two flattened arrays."""

    samples = (case(values(3), values(4, seed=1)), case(values(2, 2), values(3, seed=1)))
    complex = True

    def tangent(a: Any, b: Any, y: Any, a_dot: Any, b_dot: Any) -> Any:
        return np.outer(a_dot, b) + np.outer(a, b_dot)

    def adjoint(a: Any, b: Any, y: Any, y_bar: Any, a_bar: Any, b_bar: Any) -> None:
        if a.ndim == 1 and b.ndim == 1:
            a_bar += y_bar @ b
            b_bar += y_bar.T @ a
        else:
            a_bar += np.reshape(y_bar @ np.ravel(b), a.shape)
            b_bar += np.reshape(y_bar.T @ np.ravel(a), b.shape)


@rule(np.vdot)
class vdot:
    """The sum of the products of two arrays, flattened, the first one conjugated."""

    samples = (
        case(values(3), values(3, seed=1)),
        case(values(2, 3), values(2, 3, seed=1)),
        case(values(2, 3), values(6, seed=1)),
        case(complex_values(2, 3), complex_values(2, 3, seed=1)),
    )
    complex = True

    def tangent(a: Any, b: Any, y: Any, a_dot: Any, b_dot: Any) -> Any:
        return np.vdot(a_dot, b) + np.vdot(a, b_dot)

    def adjoint(a: Any, b: Any, y: Any, y_bar: Any, a_bar: Any, b_bar: Any) -> None:
        if a.ndim == 1 and b.ndim == 1:
            a_bar += np.conj(y_bar * b)
            b_bar += y_bar * np.conj(a)
        else:
            a_bar += np.conj(y_bar * np.reshape(b, a.shape))
            b_bar += y_bar * np.conj(np.reshape(a, b.shape))


@rule(np.trace)
class trace:
    """The sum of a diagonal of a matrix, or of each matrix of a batch over its first axes."""

    samples = (
        case(values(3, 3)),
        case(values(3, 4)),
        case(values(3, 3), offset=1),
        case(values(3, 3, 2)),
        case(values(2, 3, 3), axis1=-2, axis2=-1),
    )
    only = (
        ("axis1", (0, -2)),
        ("axis2", (1, -1)),
    )
    complex = True

    def tangent(
        a: Any, y: Any, a_dot: Any, *, offset: int = 0, axis1: int = 0, axis2: int = 1
    ) -> Any:
        if a.ndim == 2:
            return np.trace(a_dot, offset=offset)
        else:
            return np.trace(a_dot, offset=offset, axis1=axis1, axis2=axis2)

    def adjoint(
        a: Any, y: Any, y_bar: Any, a_bar: Any, *, offset: int = 0, axis1: int = 0, axis2: int = 1
    ) -> None:
        if a.ndim == 2:
            a_bar += y_bar * np.eye(a.shape[0], a.shape[1], k=offset)
        elif axis1 == 0:
            a_bar += y_bar * np.eye(a.shape[0], a.shape[1], k=offset)[:, :, None]
        else:
            a_bar += y_bar[..., None, None] * np.eye(a.shape[-2], a.shape[-1], k=offset)


@rule(np.kron)
class kron:
    """The Kronecker product of two vectors or two matrices."""

    samples = (
        case(values(2), values(3, seed=1)),
        case(values(2, 3), values(2, 2, seed=1)),
    )
    complex = True

    def tangent(a: Any, b: Any, y: Any, a_dot: Any, b_dot: Any) -> Any:
        return np.kron(a_dot, b) + np.kron(a, b_dot)

    def adjoint(a: Any, b: Any, y: Any, y_bar: Any, a_bar: Any, b_bar: Any) -> None:
        if a.ndim == 1:
            split = np.reshape(y_bar, (a.size, b.size))
            a_bar += split @ b
            b_bar += split.T @ a
        else:
            shape = (a.shape[0], b.shape[0], a.shape[1], b.shape[1])
            split = np.transpose(np.reshape(y_bar, shape), axes=(0, 2, 1, 3))
            pairs = np.reshape(split, (a.size, b.size))
            a_bar += np.reshape(pairs @ np.ravel(b), a.shape)
            b_bar += np.reshape(pairs.T @ np.ravel(a), b.shape)


@rule(np.cross)
class cross:
    """The cross product of 3-vectors along the last axis: `y_bar·(a_dot×b) = a_dot·(b×y_bar)`."""

    samples = (
        case(values(3), values(3, seed=1)),
        case(values(4, 3), values(3, seed=1)),
        case(values(4, 3), values(4, 3, seed=1)),
    )
    complex = True

    def tangent(a: Any, b: Any, y: Any, a_dot: Any, b_dot: Any) -> Any:
        return np.cross(a_dot, b) + np.cross(a, b_dot)

    def adjoint(a: Any, b: Any, y: Any, y_bar: Any, a_bar: Any, b_bar: Any) -> None:
        a_bar += unbroadcast(np.cross(b, y_bar), a)
        b_bar += unbroadcast(np.cross(y_bar, a), b)
