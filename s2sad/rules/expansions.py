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
def average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    """Return the mean, weighted when there are weights of the shape of `a`."""
    if weights is None:
        return np.mean(a, axis=axis, keepdims=keepdims)
    else:
        return np.sum(a * weights, axis=axis, keepdims=keepdims) / np.sum(
            weights, axis=axis, keepdims=keepdims
        )


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
def clip(a: Any, a_min: Any = None, a_max: Any = None) -> Any:
    """Return `a` between bounds, of which either may be missing."""
    if a_min is None and a_max is None:
        return a
    elif a_min is None:
        return np.minimum(a, a_max)
    elif a_max is None:
        return np.maximum(a, a_min)
    else:
        return np.clip(a, a_min, a_max)


@expands(math.hypot, counts=(2,))
def hypot(*coordinates: Any) -> Any:
    """Return the length of a vector, two coordinates at a time."""
    if len(coordinates) == 1:
        return abs(coordinates[0])
    total = coordinates[0]
    for coordinate in coordinates[1:]:
        total = math.hypot(total, coordinate)
    return total
