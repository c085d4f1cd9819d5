"""Polynomials and interpolation from tables."""

# pyright: reportSelfClsParameterName=false
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.ir import ops
from s2sad.rules.registry import expands, rule
from s2sad.rules.sample import case, values


@rule(np.polyval, runtime.polyval)
class polyval:
    """Horner's rule; the derivative by `x` is the polynomial `p[:-1] * (n - 1, …, 1)`."""

    samples = (
        case(values(4), values()),
        case(values(4), values(3, seed=1)),
        case(values(3), values(2, 2)),
    )

    def tangent(p: Any, x: Any, y: Any, p_dot: Any, x_dot: Any) -> Any:
        slope = np.polyval(p[:-1] * np.arange(p.size - 1, 0, -1, dtype=p.dtype), x)
        return slope * x_dot + np.polyval(p_dot, x)

    def adjoint(p: Any, x: Any, y: Any, y_bar: Any, p_bar: Any, x_bar: Any) -> None:
        x_bar += y_bar * np.polyval(p[:-1] * np.arange(p.size - 1, 0, -1, dtype=p.dtype), x)
        powers = np.arange(p.size - 1, -1, -1, dtype=p.dtype)
        if np.ndim(x) == 0:
            p_bar += y_bar * x**powers
        else:
            p_bar += np.ravel(y_bar) @ np.ravel(x)[:, None] ** powers


@expands(np.polyval, when=lambda known: known["ndim"][:1] not in ([0], [1]))
def polyval_of_rows(p: Any, x: Any) -> Any:
    """Return polynomials of which each coefficient is an array."""
    value = p[0] + np.zeros_like(x)
    for k in range(1, p.shape[0]):
        value = value * x + p[k]
    return value


@rule(np.vander)
class vander:
    """Columns of powers: each one's derivative is the power below, times the exponent."""

    samples = (
        case(values(3)),
        case(values(3), 2),
        case(values(3), 4, increasing=True),
    )
    complex = True

    def tangent(x: Any, N: Any, y: Any, x_dot: Any, *, increasing: bool = False) -> Any:
        if increasing:
            powers = np.arange(y.shape[1])
        else:
            powers = np.arange(y.shape[1] - 1, -1, -1)
        return x_dot[:, None] * (powers * x[:, None] ** np.maximum(powers - 1, 0))

    def adjoint(x: Any, N: Any, y: Any, y_bar: Any, x_bar: Any, *, increasing: bool = False) -> None:
        if increasing:
            powers = np.arange(y.shape[1])
        else:
            powers = np.arange(y.shape[1] - 1, -1, -1)
        slopes = powers * x[:, None] ** np.maximum(powers - 1, 0)
        x_bar += np.sum(y_bar * slopes, axis=1)


@expands(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    """Return the coefficients of a product; leading zeros are refused, since NumPy drops them."""
    first, second = np.atleast_1d(a1), np.atleast_1d(a2)
    if (first.size > 1 and first[0] == 0) or (second.size > 1 and second[0] == 0):
        raise ValueError("polymul drops leading zeros: np.convolve multiplies polynomials that have some")
    return np.convolve(first, second)


@expands(np.polydiv)
def polydiv(u: Any, v: Any) -> Any:
    """Return quotient and remainder of polynomials by long division; leading zeros of the remainder are dropped."""
    rest, divisor = np.atleast_1d(u) + 0.0, np.atleast_1d(v) + 0.0
    size = max(rest.size - divisor.size + 1, 1)
    quotient = np.zeros(size, rest.dtype)
    scale = 1.0 / divisor[0]
    for k in range(rest.size - divisor.size + 1):
        share = scale * rest[k]
        quotient[k] = share
        rest[k : k + divisor.size] -= share * divisor
    first = 0
    while first < rest.size - 1 and np.abs(rest[first]) <= 1e-8:
        first += 1
    return quotient, rest[first:]


@expands(np.roots)
def zeros_of(p: Any) -> Any:
    """Return the eigenvalues of the companion matrix, which have to be real if the coefficients are."""
    given = np.asarray(p)
    if given[0] == 0 or given[given.size - 1] == 0:
        raise ValueError("roots is differentiated with a first and a last coefficient that are not zero")
    companion = np.diag(np.ones(given.size - 2, given.dtype), -1)
    companion[0] = -given[1:] / given[0]
    return np.linalg.eigvals(companion)


@expands(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """Return the coefficients of the polynomial with these roots."""
    roots = np.asarray(seq_of_zeros)
    if roots.ndim != 1:
        ops.refuse("`poly` of a matrix has no derivative rule", "Give it the eigenvalues.")
    coefficients = np.zeros(roots.size + 1, dtype=roots.dtype)
    coefficients[0] = 1.0
    for k in range(roots.size):
        for j in range(k + 1, 0, -1):
            coefficients[j] -= roots[k] * coefficients[j - 1]
    return coefficients


@rule(np.interp)
class interp:
    """Piecewise linear in `x`, linear in the values; constant outside the table."""

    samples = (
        case(0.7, np.array([-2.0, -0.5, 1.0, 2.5]), values(4)),
        case(values(5), np.array([-2.0, -0.5, 1.0, 2.5]), values(4, seed=1)),
        case(np.array([-3.0, 0.3, 4.0]), np.array([-2.0, -0.5, 1.0, 2.5]), values(4, seed=1)),
        case(values(2, 2), np.array([-2.0, -0.5, 1.0, 2.5]), values(4, seed=1)),
    )

    def tangent(
        x: Any, xp: Any, fp: Any, y: Any, x_dot: Any, xp_dot: Any, fp_dot: Any
    ) -> Any:
        after = np.clip(np.searchsorted(xp, x, side="right"), 1, xp.size - 1)
        before = after - 1
        weight = np.clip((x - xp[before]) / (xp[after] - xp[before]), 0.0, 1.0)
        inside = (x >= xp[0]) & (x <= xp[-1])
        slope = inside * (fp[after] - fp[before]) / (xp[after] - xp[before])
        value_dot = (1 - weight) * fp_dot[before] + weight * fp_dot[after]
        place_dot = (1 - weight) * xp_dot[before] + weight * xp_dot[after]
        return slope * x_dot + value_dot - slope * place_dot

    def adjoint(
        x: Any, xp: Any, fp: Any, y: Any, y_bar: Any, x_bar: Any, xp_bar: Any, fp_bar: Any
    ) -> None:
        after = np.clip(np.searchsorted(xp, x, side="right"), 1, xp.size - 1)
        before = after - 1
        weight = np.clip((x - xp[before]) / (xp[after] - xp[before]), 0.0, 1.0)
        inside = (x >= xp[0]) & (x <= xp[-1])
        slope = inside * (fp[after] - fp[before]) / (xp[after] - xp[before])
        x_bar += y_bar * slope
        if np.ndim(x) == 0:
            fp_bar[before] += y_bar * (1 - weight)
            fp_bar[after] += y_bar * weight
            xp_bar[before] += -y_bar * slope * (1 - weight)
            xp_bar[after] += -y_bar * slope * weight
        else:
            fp_bar += runtime.scatter(y_bar * (1 - weight), before, fp, 0)
            fp_bar += runtime.scatter(y_bar * weight, after, fp, 0)
            xp_bar += runtime.scatter(-y_bar * slope * (1 - weight), before, xp, 0)
            xp_bar += runtime.scatter(-y_bar * slope * weight, after, xp, 0)
