"""`scipy.spatial.distance`, loaded when a program that uses it is differentiated.

The Euclidean distance of a point to itself has the derivative 0, as every norm at 0 has here.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.spatial.distance as distance

from s2sad.ir import ops
from s2sad.rules.registry import expands, meaning


@meaning
def apart(step: Any, metric: str) -> Any:
    """Return how far apart points are, of their differences."""
    if metric == "euclidean":
        return np.linalg.norm(step, axis=-1)
    elif metric == "sqeuclidean":
        return np.sum(step * step, axis=-1)
    elif metric == "cityblock":
        return np.sum(np.abs(step), axis=-1)
    elif metric == "chebyshev":
        return np.max(np.abs(step), axis=-1)
    else:
        ops.refuse("this metric is not supported", "`euclidean`, `sqeuclidean`, `cityblock` and `chebyshev` are.")


@expands(distance.cdist)
def cdist(XA: Any, XB: Any, metric: str = "euclidean") -> Any:
    """Return the distances of all pairs of rows."""
    return apart(np.asarray(XA)[:, None, :] - np.asarray(XB)[None, :, :], metric)


@expands(distance.pdist)
def pdist(X: Any, metric: str = "euclidean") -> Any:
    """Return the distances of each row to those behind it."""
    points = np.asarray(X)
    i, j = np.triu_indices(points.shape[0], 1)
    return apart(points[i] - points[j], metric)


@expands(distance.squareform)
def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """Return the distances of pairs as a symmetric matrix, or those of such a matrix."""
    given = np.asarray(X)
    if np.ndim(given) == 1:
        n = int(np.ceil(np.sqrt(2.0 * len(given))))
        i, j = np.triu_indices(n, 1)
        out = np.zeros((n, n))
        out[i, j] = given
        out[j, i] = given
        return out
    else:
        i, j = np.triu_indices(given.shape[0], 1)
        return given[i, j]


@expands(distance.euclidean)
def euclidean(u: Any, v: Any) -> Any:
    """Return the length of the difference."""
    return np.linalg.norm(np.asarray(u) - np.asarray(v))


@expands(distance.sqeuclidean)
def sqeuclidean(u: Any, v: Any) -> Any:
    """Return its square."""
    step = np.asarray(u) - np.asarray(v)
    return np.sum(step * step)


@expands(distance.cityblock)
def cityblock(u: Any, v: Any) -> Any:
    """Return the sum of the differences."""
    return np.sum(np.abs(np.asarray(u) - np.asarray(v)))


@expands(distance.chebyshev)
def chebyshev(u: Any, v: Any) -> Any:
    """Return the largest difference."""
    return np.max(np.abs(np.asarray(u) - np.asarray(v)))


@expands(distance.cosine)
def cosine(u: Any, v: Any) -> Any:
    """Return one less the cosine of the angle between two vectors."""
    a, b = np.asarray(u), np.asarray(v)
    return 1.0 - np.dot(a, b) / np.sqrt(np.dot(a, a) * np.dot(b, b))
