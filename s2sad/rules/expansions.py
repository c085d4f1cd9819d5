"""Functions that are other functions in disguise, read as the Python code below.

A call of the function that is named in front is lowered as a call of the body, with the arguments
as the user gave them; which of them are None decides the path.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from s2sad.rules.registry import expands


@expands(np.average, counts=(1, 2), names=("axis", "keepdims"))
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """Return the mean, weighted by an array like `a` or by one number for each place along the axis."""
    if weights is None:
        mean = np.mean(a, axis=axis, keepdims=keepdims)
        if returned:
            return mean, np.zeros_like(mean) + a.size / np.size(mean)
        else:
            return mean
    else:
        a = np.asarray(a)
        weights = np.asarray(weights)
        if weights.ndim < a.ndim:
            last = tuple(range(-len(axis), 0)) if isinstance(axis, tuple) else -1
            total = np.sum(weights)
            mean = np.sum(np.moveaxis(a, axis, last) * weights, axis=last) / total
            if keepdims:
                mean = np.expand_dims(mean, axis)
        else:
            total = np.sum(weights, axis=axis, keepdims=keepdims)
            mean = np.sum(a * weights, axis=axis, keepdims=keepdims) / total
        if returned:
            return mean, total + np.zeros_like(mean)
        else:
            return mean


@expands(math.log, counts=(1,))
def logarithm(x: Any, base: Any = None) -> Any:
    """Return the logarithm, natural without a base."""
    if base is None:
        return math.log(x)
    else:
        return math.log(x) / math.log(base)


@expands(cmath.log, counts=(1,))
def complex_logarithm(x: Any, base: Any = None) -> Any:
    """Return the logarithm, natural without a base."""
    if base is None:
        return cmath.log(x)
    else:
        return cmath.log(x) / cmath.log(base)


@expands(np.clip, counts=(3,))
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """Return `a` between bounds, of which either may be missing, under either name."""
    low = min if a_min is None else a_min
    high = max if a_max is None else a_max
    if low is None and high is None:
        return a
    elif low is None:
        return np.minimum(a, high)
    elif high is None:
        return np.maximum(a, low)
    else:
        return np.clip(a, low, high)


@expands(math.hypot, counts=(2,))
def hypot(*coordinates: Any) -> Any:
    """Return the length of a vector, two coordinates at a time."""
    if len(coordinates) == 1:
        return abs(coordinates[0])
    total = coordinates[0]
    for coordinate in coordinates[1:]:
        total = math.hypot(total, coordinate)
    return total
