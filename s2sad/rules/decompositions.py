"""Solves, inverses, determinants and norms."""

# pyright: reportSelfClsParameterName=false
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.ir.ops import unbroadcast
from s2sad.rules.registry import rule
from s2sad.rules.sample import case, complex_values, definite, values


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


@rule(runtime.solve_lower)
class solve_lower:
    """Giles 2008, section 2.3.1, within the triangle."""

    samples = (
        case(np.tril(definite(3, 3)), values(3, 2)),
        case(np.tril(definite(3, 3)), values(3, 2), trans=1),
        case(np.tril(definite(2, 3, 3)), values(2, 3, 2)),
        case(np.tril(definite(3, 3) + 1j * values(3, 3)), complex_values(3, 2), trans=1),
    )
    complex = True

    def tangent(a: Any, b: Any, y: Any, a_dot: Any, b_dot: Any, *, trans: int = 0) -> Any:
        moved = np.tril(a_dot)
        if trans == 1:
            right = b_dot - np.matrix_transpose(moved) @ y
        else:
            right = b_dot - moved @ y
        return runtime.solve_lower(a, right, trans=trans)

    def adjoint(
        a: Any, b: Any, y: Any, y_bar: Any, a_bar: Any, b_bar: Any, *, trans: int = 0
    ) -> None:
        right_bar = runtime.solve_lower(a, y_bar, trans=1 - trans)
        b_bar += right_bar
        if trans == 1:
            full = y @ np.matrix_transpose(right_bar)
        else:
            full = right_bar @ np.matrix_transpose(y)
        a_bar += -np.tril(full)


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
    """Giles 2008, section 2.2.4; the derivative of a singular matrix raises."""

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


@rule(np.linalg.norm)
class norm:
    """Giles 2008, section 2.3.4, and the other orders by their definition.

    At 0, where a norm has no derivative, 0: a subgradient. Of complex numbers, that of their sizes.
    Orders that are not here are read as other calls (see `rules/products.py`).
    """

    samples = (
        case(values(4)),
        case(values(3, 4)),
        case(values(3, 4), axis=1),
        case(values(3, 4), axis=0, keepdims=True),
        case(values(4), ord=2),
        case(values(3, 4), ord="fro"),
        case(values(2, 3, 4), axis=(0, 2)),
        case(values(4), ord=1),
        case(values(4), ord=np.inf),
        case(values(4), ord=-np.inf),
        case(values(3, 4), ord=1, axis=0),
        case(values(3, 4), ord=np.inf, axis=-1),
        case(values(4), ord=3),
        case(values(3, 4), ord=2.5, axis=0),
        case(values(4), ord=-1),
        case(values(4) * (values(4) > -1.0), ord=3),
        case(values(3, 4), ord=1),
        case(values(3, 4), ord=np.inf),
        case(values(3, 4), ord=2),
        case(complex_values(4)),
        case(complex_values(3, 4), axis=1),
        case(complex_values(3, 4), ord="fro"),
        case(complex_values(4), ord=1),
        case(complex_values(4), ord=3),
        case(complex_values(3, 4), ord=np.inf, axis=1),
        case(complex_values(3, 4), ord=1),
        case(complex_values(3, 4), ord=2),
    )
    complex = True

    def tangent(
        x: Any, y: Any, x_dot: Any, *, ord: Any = None, axis: Any = None, keepdims: bool = False
    ) -> Any:
        size = np.abs(x)
        if np.iscomplexobj(x):
            size_dot = np.real(np.conj(x) * x_dot) / (size + (size == 0))
        else:
            size_dot = np.sign(x) * x_dot
        if axis is None and x.ndim == 2 and (ord == 1 or ord == np.inf):
            sums = np.sum(size, axis=0 if ord == 1 else 1, keepdims=True)
            hit = (sums == y) * np.ones_like(sums)
            return np.sum(hit * size_dot) / np.sum(hit)
        elif axis is None and x.ndim == 2 and ord == 2:
            u, _, vt = np.linalg.svd(x, full_matrices=False)
            return np.real(np.conj(u[:, 0]) @ x_dot @ np.conj(vt[0]))
        elif ord is None or ord == 2 or ord == "fro":
            return np.sum(np.real(np.conj(x) * x_dot), axis=axis, keepdims=keepdims) / (y + (y == 0))
        elif ord == 1:
            return np.sum(size_dot, axis=axis, keepdims=keepdims)
        elif ord == np.inf or ord == -np.inf:
            if ord == np.inf:
                extreme = np.max(size, axis=axis, keepdims=True)
            else:
                extreme = np.min(size, axis=axis, keepdims=True)
            hit = (size == extreme) * np.ones_like(size)
            share = hit / np.sum(hit, axis=axis, keepdims=True)
            return np.sum(share * size_dot, axis=axis, keepdims=keepdims)
        else:
            power = size ** (ord - 1) * size_dot
            return np.sum(power, axis=axis, keepdims=keepdims) / (y + (y == 0)) ** (ord - 1)

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
        size = np.abs(x)
        if np.iscomplexobj(x):
            unit = np.conj(x) / (size + (size == 0))
        else:
            unit = np.sign(x)
        if axis is None and x.ndim == 2 and (ord == 1 or ord == np.inf):
            sums = np.sum(size, axis=0 if ord == 1 else 1, keepdims=True)
            hit = (sums == y) * np.ones_like(sums)
            x_bar += g / np.sum(hit) * hit * unit
        elif axis is None and x.ndim == 2 and ord == 2:
            u, _, vt = np.linalg.svd(x, full_matrices=False)
            x_bar += g * np.outer(np.conj(u[:, 0]), np.conj(vt[0]))
        elif ord is None or ord == 2 or ord == "fro":
            x_bar += g / (total + (total == 0)) * np.conj(x)
        elif ord == 1:
            x_bar += g * unit
        elif ord == np.inf or ord == -np.inf:
            hit = (size == total) * np.ones_like(size)
            x_bar += g / np.sum(hit, axis=axis, keepdims=True) * hit * unit
        else:
            x_bar += g / (total + (total == 0)) ** (ord - 1) * (size ** (ord - 1) * unit)
