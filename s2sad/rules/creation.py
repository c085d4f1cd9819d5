"""Ranges whose ends are values: linear in both ends, the number of elements is not differentiated."""

# pyright: reportSelfClsParameterName=false
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.ir.ops import unbroadcast
from s2sad.rules.registry import Settings, expands, rule
from s2sad.rules.sample import case, values


@rule(np.linspace)
class linspace:
    """A blend of both ends, whose weights are the same range from 0 to 1."""

    samples = (
        case(values(), values(seed=1), 5),
        case(values(), values(seed=1), 5, endpoint=False),
        case(values(3), values(3, seed=1), 4),
        case(values(3), values(), 4),
        case(values(), values(2, 3), 4),
        case(values(), values(seed=1)),
    )
    complex = True

    def tangent(
        start: Any, stop: Any, num: Any, y: Any, start_dot: Any, stop_dot: Any, *, endpoint: bool = True
    ) -> Any:
        t = np.linspace(0.0, 1.0, y.shape[0], endpoint=endpoint)
        weights = t[(slice(None),) + (None,) * (y.ndim - 1)].astype(y.dtype)
        return start_dot * (1.0 - weights) + stop_dot * weights

    def adjoint(
        start: Any, stop: Any, num: Any, y: Any, y_bar: Any, start_bar: Any, stop_bar: Any, *, endpoint: bool = True
    ) -> None:
        t = np.linspace(0.0, 1.0, y.shape[0], endpoint=endpoint)
        weights = t[(slice(None),) + (None,) * (y.ndim - 1)].astype(y.dtype)
        start_bar += unbroadcast(np.sum(y_bar * (1.0 - weights), axis=0), start)
        stop_bar += unbroadcast(np.sum(y_bar * weights, axis=0), stop)


def _beside_the_first_axis(known: Settings) -> bool:
    """Say whether a range runs along another axis, gives its step too, or has a dtype of its own."""
    return known.get("axis", 0) != 0 or known.get("retstep") is True or known.get("dtype") is not None


@expands(np.linspace, when=_beside_the_first_axis)
def line(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0
) -> Any:
    """Return evenly spaced values along any axis, and their step if it is asked for."""
    first = np.linspace(start, stop, num, endpoint=endpoint)
    typed = first if dtype is None else first.astype(dtype)
    values = typed if axis == 0 else np.moveaxis(typed, 0, axis)
    if retstep:
        return values, (stop - start) / (num - 1 if endpoint else num)
    else:
        return values


@expands(np.full_like, keywords=("shape",))
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None
) -> Any:
    """Return an array of another shape, of the type of `a`."""
    return np.full(shape, fill_value, dtype=a.dtype if dtype is None else dtype)


@expands(np.logspace)
def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    """Return powers of a base, the exponents evenly spaced."""
    exponents = np.linspace(start, stop, num, endpoint=endpoint, axis=axis)
    return np.power(base, exponents) if dtype is None else np.power(base, exponents).astype(dtype)


@expands(np.geomspace)
def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """Return numbers of which each is the same multiple of the one before; positive ends only."""
    if np.any(start <= 0.0) or np.any(stop <= 0.0):
        raise ValueError("geomspace is differentiated between positive ends only")
    single: Any = np.float32
    low = np.float64(start) if isinstance(start, single) else start
    high = np.float64(stop) if isinstance(stop, single) else stop
    exponents = np.linspace(np.log10(low), np.log10(high), num, endpoint=endpoint, axis=axis)
    return np.power(10.0, exponents) if dtype is None else np.power(10.0, exponents).astype(dtype)


@rule(np.arange)
class arange:
    """The first value plus multiples of the step; where the range ends is not differentiated."""

    samples = (case(0.25, 2.0, 0.5), case(-1.5, 2.0))

    def tangent(
        start: Any, stop: Any, step: Any, y: Any, start_dot: Any, stop_dot: Any, step_dot: Any
    ) -> Any:
        if stop is None:
            return np.zeros_like(y)
        elif step is None:
            return np.ones_like(y) * start_dot
        else:
            return np.ones_like(y) * start_dot + np.arange(y.size, dtype=y.dtype) * step_dot

    def adjoint(
        start: Any, stop: Any, step: Any, y: Any, y_bar: Any, start_bar: Any, stop_bar: Any, step_bar: Any
    ) -> None:
        if stop is not None:
            start_bar += np.sum(y_bar)
            if step is not None:
                step_bar += np.sum(np.arange(y.size, dtype=y.dtype) * y_bar)


@rule(np.bincount)
class bincount:
    """Sums of weights by number: linear in the weights, whose cotangents are gathered."""

    samples = (
        case(np.array([0, 1, 1, 3]), values(4)),
        case(np.array([0, 1, 1, 3]), values(4), minlength=6),
    )

    def tangent(x: Any, weights: Any, y: Any, weights_dot: Any, *, minlength: Any = 0) -> Any:
        return np.bincount(x, weights_dot, minlength=minlength)

    def adjoint(x: Any, weights: Any, y: Any, y_bar: Any, weights_bar: Any, *, minlength: Any = 0) -> None:
        weights_bar += y_bar[x]


@expands(np.identity, when=lambda known: "n" not in known)
def identity(n: Any, dtype: Any = float) -> Any:
    """Return the identity matrix of a size that the program computes."""
    return np.eye(n, dtype=dtype)
