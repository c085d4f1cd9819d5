"""Solves, inverses, determinants, the Cholesky factor and norms."""

# pyright: reportSelfClsParameterName=false
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.ir.ops import unbroadcast
from s2sad.rules.registry import constant, rule
from s2sad.rules.sample import case, definite, values

_SPD = definite(3, 3) @ definite(3, 3).T


@rule(np.linalg.solve)
class solve:
    """Giles 2008, section 2.3.1."""

    samples = (
        case(definite(3, 3), values(3)),
        case(definite(3, 3), values(3, 2)),
        case(definite(2, 3, 3), values(2, 3, 2)),
        case(definite(2, 3, 3), values(3, 2)),
        case(definite(3, 3), values(2, 3, 2)),
    )
    complex = True

    def tangent(a: Any, b: Any, y: Any, a_dot: Any, b_dot: Any) -> Any:
        right = b_dot - a_dot @ y
        return np.linalg.solve(a, right)

    def adjoint(a: Any, b: Any, y: Any, y_bar: Any, a_bar: Any, b_bar: Any) -> None:
        if a.ndim == 2 and b.ndim == 1:
            right_bar = np.linalg.solve(a.T, y_bar)
            a_bar += -np.outer(right_bar, y)
            b_bar += right_bar
        elif a.ndim == 2 and b.ndim == 2:
            right_bar = np.linalg.solve(a.T, y_bar)
            a_bar += -(right_bar @ y.T)
            b_bar += right_bar
        else:
            right_bar = np.linalg.solve(np.swapaxes(a, -1, -2), y_bar)
            a_bar += unbroadcast(-(right_bar @ np.swapaxes(y, -1, -2)), a)
            b_bar += unbroadcast(right_bar, b)


@rule(np.linalg.inv)
class inv:
    """Giles 2008, section 2.2.3."""

    samples = (case(definite(3, 3)), case(definite(2, 3, 3)))
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any) -> Any:
        return -(y @ a_dot @ y)

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any) -> None:
        if a.ndim == 2:
            a_bar += -(y.T @ y_bar @ y.T)
        else:
            transposed = np.swapaxes(y, -1, -2)
            a_bar += -(transposed @ y_bar @ transposed)


@rule(np.linalg.det)
class det:
    """Giles 2008, section 2.2.4; a singular matrix raises."""

    samples = (case(definite(3, 3)), case(definite(2, 3, 3)))
    complex = True

    def tangent(a: Any, y: Any, a_dot: Any) -> Any:
        if a.ndim == 2:
            return y * np.trace(np.linalg.solve(a, a_dot))
        else:
            return y * np.trace(np.linalg.solve(a, a_dot), axis1=-2, axis2=-1)

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any) -> None:
        if a.ndim == 2:
            a_bar += y_bar * y * np.linalg.inv(a).T
        else:
            a_bar += (y_bar * y)[..., None, None] * np.swapaxes(np.linalg.inv(a), -1, -2)


@rule(runtime.log_of_det)
class log_of_det:
    """Giles 2008, section 2.2.4: the part of `slogdet` that is not constant."""

    samples = (case(definite(3, 3)), case(definite(2, 3, 3)))

    def tangent(a: Any, y: Any, a_dot: Any) -> Any:
        if a.ndim == 2:
            return np.trace(np.linalg.solve(a, a_dot))
        else:
            return np.trace(np.linalg.solve(a, a_dot), axis1=-2, axis2=-1)

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any) -> None:
        if a.ndim == 2:
            a_bar += y_bar * np.linalg.inv(a).T
        else:
            a_bar += y_bar[..., None, None] * np.swapaxes(np.linalg.inv(a), -1, -2)


constant(runtime.sign_of_det)


@rule(np.linalg.cholesky)
class cholesky:
    """Murray 2016, section 3; as NumPy reads only the lower triangle, so does the derivative."""

    samples = (case(_SPD), case(np.stack([_SPD, _SPD + np.eye(3)])))

    def tangent(a: Any, y: Any, a_dot: Any) -> Any:
        below = np.tril(a_dot, k=-1)
        if a.ndim == 2:
            half = np.linalg.solve(y, np.tril(a_dot) + below.T)
            inside = np.linalg.solve(y, half.T)
        else:
            half = np.linalg.solve(y, np.tril(a_dot) + np.swapaxes(below, -1, -2))
            inside = np.linalg.solve(y, np.swapaxes(half, -1, -2))
        return 0.5 * (y @ (np.tril(inside) + np.tril(inside, k=-1)))

    def adjoint(a: Any, y: Any, y_bar: Any, a_bar: Any) -> None:
        if a.ndim == 2:
            inside = y.T @ y_bar
            symmetric = np.tril(inside) + np.tril(inside, k=-1).T
            half = np.linalg.solve(y.T, symmetric)
            full = 0.5 * np.linalg.solve(y.T, half.T)
        else:
            transposed = np.swapaxes(y, -1, -2)
            inside = transposed @ y_bar
            symmetric = np.tril(inside) + np.swapaxes(np.tril(inside, k=-1), -1, -2)
            half = np.linalg.solve(transposed, symmetric)
            full = 0.5 * np.linalg.solve(transposed, np.swapaxes(half, -1, -2))
        a_bar += np.tril(full) + np.tril(full, k=-1)


@rule(np.linalg.norm)
class norm:
    """Giles 2008, section 2.3.4, and the other orders by their definition.

    At 0, where the Euclidean norm has no derivative, 0: a subgradient.
    """

    samples = (
        case(values(4)),
        case(values(3, 4)),
        case(values(3, 4), axis=1),
        case(values(3, 4), axis=0, keepdims=True),
        case(values(4), ord=2),
        case(values(3, 4), ord="fro"),
        case(values(4), ord=1),
        case(values(4), ord=np.inf),
        case(values(3, 4), ord=1, axis=0),
        case(values(3, 4), ord=np.inf, axis=-1),
        case(values(4), ord=3),
        case(values(3, 4), ord=1),
        case(values(3, 4), ord=np.inf),
        case(values(3, 4), ord=2),
    )
    only = (("ord", (None, 1, 2, 3, 4, np.inf, "fro")),)

    def tangent(
        x: Any, y: Any, x_dot: Any, *, ord: Any = None, axis: Any = None, keepdims: bool = False
    ) -> Any:
        if axis is None and x.ndim == 2 and (ord == 1 or ord == np.inf):
            sums = np.sum(np.abs(x), axis=0 if ord == 1 else 1, keepdims=True)
            hit = (sums == y) * np.ones_like(sums)
            return np.sum(np.sign(x) * hit * x_dot) / np.sum(hit)
        elif axis is None and x.ndim == 2 and ord == 2:
            return np.linalg.svd(x)[0][:, 0] @ x_dot @ np.linalg.svd(x)[2][0]
        elif ord is None or ord == 2 or ord == "fro":
            return np.sum(x * x_dot, axis=axis, keepdims=keepdims) / (y + (y == 0))
        elif ord == 1:
            return np.sum(np.sign(x) * x_dot, axis=axis, keepdims=keepdims)
        elif ord == np.inf:
            size = np.abs(x)
            hit = (size == np.max(size, axis=axis, keepdims=True)) * np.sign(x)
            share = hit / np.sum(np.abs(hit), axis=axis, keepdims=True)
            return np.sum(share * x_dot, axis=axis, keepdims=keepdims)
        else:
            power = np.sign(x) * np.abs(x) ** (ord - 1)
            return np.sum(power * x_dot, axis=axis, keepdims=keepdims) / (y + (y == 0)) ** (ord - 1)

    def adjoint(
        x: Any,
        y: Any,
        y_bar: Any,
        x_bar: Any,
        *,
        ord: Any = None,
        axis: Any = None,
        keepdims: bool = False,
    ) -> None:
        if axis is None or keepdims:
            g = y_bar
            total = y
        else:
            g = np.expand_dims(y_bar, axis)
            total = np.expand_dims(y, axis)
        if axis is None and x.ndim == 2 and (ord == 1 or ord == np.inf):
            sums = np.sum(np.abs(x), axis=0 if ord == 1 else 1, keepdims=True)
            hit = (sums == y) * np.ones_like(sums)
            x_bar += g / np.sum(hit) * hit * np.sign(x)
        elif axis is None and x.ndim == 2 and ord == 2:
            x_bar += g * np.outer(np.linalg.svd(x)[0][:, 0], np.linalg.svd(x)[2][0])
        elif ord is None or ord == 2 or ord == "fro":
            x_bar += g / (total + (total == 0)) * x
        elif ord == 1:
            x_bar += g * np.sign(x)
        elif ord == np.inf:
            hit = (np.abs(x) == total) * np.sign(x)
            x_bar += g / np.sum(np.abs(hit), axis=axis, keepdims=True) * hit
        else:
            x_bar += g / (total + (total == 0)) ** (ord - 1) * (np.sign(x) * np.abs(x) ** (ord - 1))
