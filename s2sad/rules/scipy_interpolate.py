"""`scipy.interpolate`, loaded when a program that uses it is differentiated: curves through points, at a place.

The objects themselves are made outside of the function; what they hold are arrays like others of outer scopes.
Source: de Boor, "A Practical Guide to Splines", 2001, chapters VII and X.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate

from s2sad.ir import ops
from s2sad.rules.registry import expands, meaning


@meaning
def of_pieces(at: Any, c: Any, x: Any) -> Any:
    """Return a piecewise polynomial with the coefficients c, highest powers first; its end pieces go on."""
    i = np.clip(np.searchsorted(x, at, side="right") - 1, 0, x.shape[0] - 2)
    s = at - x[i]
    total = c[c.shape[0] - 1, i] + 0.0 * s
    power = s
    for k in range(c.shape[0] - 2, -1, -1):
        total = total + c[k, i] * power
        power = power * s
    return total


@meaning
def of_pieces_inside(at: Any, c: Any, x: Any) -> Any:
    """Return the same, NaN before the first and behind the last piece."""
    return np.where((at < x[0]) | (at > x[-1]), np.nan, of_pieces(at, c, x))


@meaning
def of_basis(at: Any, t: Any, c: Any, k: Any) -> Any:
    """Return a spline of degree k with the knots t at a number, by de Boor's scheme."""
    i = min(max(np.searchsorted(t, at, side="right") - 1, k), t.shape[0] - k - 2)
    d = np.empty(k + 1)
    for j in range(k + 1):
        d[j] = c[j + i - k]
    for r in range(1, k + 1):
        for j in range(k, r - 1, -1):
            left = t[j + i - k]
            share = (at - left) / (t[j + 1 + i - r] - left)
            d[j] = (1.0 - share) * d[j - 1] + share * d[j]
    return d[k]


@meaning
def of_basis_at(at: Any, t: Any, c: Any, k: Any) -> Any:
    """Return the same at a number or at the elements of an array."""
    if np.ndim(at) == 0:
        return of_basis(at, t, c, k)
    else:
        return np.array([of_basis(v, t, c, k) for v in np.ravel(at)]).reshape(np.shape(at))


@meaning
def of_lines(at: Any, x: Any, y: Any) -> Any:
    """Return what lies on straight lines between points; the first and the last go on."""
    i = np.clip(np.searchsorted(x, at), 1, x.shape[0] - 1)
    slope = (y[i] - y[i - 1]) / (x[i] - x[i - 1])
    return slope * (at - x[i - 1]) + y[i - 1]


@meaning
def of_lines_inside(at: Any, x: Any, y: Any) -> Any:
    """Return the same between the first and the last point; raises ValueError elsewhere."""
    if np.any(np.asarray(at) < x[0]):
        raise ValueError("A value is below the interpolation range.")
    if np.any(np.asarray(at) > x[-1]):
        raise ValueError("A value is above the interpolation range.")
    return np.interp(at, x, y)


@meaning
def of_lines_or(at: Any, x: Any, y: Any, below: Any, above: Any) -> Any:
    """Return the same, and other numbers elsewhere."""
    return np.where(at < x[0], below, np.where(at > x[-1], above, np.interp(at, x, y)))


@expands(scipy.interpolate.splev)
def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """Return a spline, which goes on beyond its end knots."""
    if der != 0 or ext != 0:
        ops.refuse("`splev` with `der` or `ext` is not supported", "Differentiate it, or ask where x lies before.")
    t, c, k = tck
    return of_basis_at(x, t, c, k)
