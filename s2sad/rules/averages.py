"""The functions of Python's `statistics`, read as NumPy's; those that give a `float` reckon in double precision."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

from s2sad.rules.registry import expands


@expands(statistics.mean)
def mean(data: Any) -> Any:
    """Return the arithmetic mean."""
    return np.mean(np.asarray(data))


@expands(statistics.fmean)
def fmean(data: Any, weights: Any = None) -> Any:
    """Return the arithmetic mean, weighted or not."""
    if weights is None:
        return np.mean(np.asarray(data, np.float64))
    else:
        items = np.asarray(data, np.float64) * np.asarray(weights, np.float64)
        return np.sum(items) / np.sum(np.asarray(weights, np.float64))


@expands(statistics.median)
def median(data: Any) -> Any:
    """Return the middle item, or the mean of the middle two."""
    return np.median(np.asarray(data))


@expands(statistics.pvariance)
def pvariance(data: Any) -> Any:
    """Return the mean squared distance from the mean."""
    return np.var(np.asarray(data))


@expands(statistics.pstdev)
def pstdev(data: Any) -> Any:
    """Return the root of `pvariance`."""
    return np.std(np.asarray(data, np.float64))


@expands(statistics.variance)
def variance(data: Any) -> Any:
    """Return the variance that a sample suggests."""
    return np.var(np.asarray(data), ddof=1)


@expands(statistics.stdev)
def stdev(data: Any) -> Any:
    """Return the root of `variance`."""
    return np.std(np.asarray(data, np.float64), ddof=1)


@expands(statistics.geometric_mean)
def geometric_mean(data: Any) -> Any:
    """Return the root of the product."""
    return np.exp(np.mean(np.log(np.asarray(data, np.float64))))


@expands(statistics.harmonic_mean)
def harmonic_mean(data: Any) -> Any:
    """Return the inverse of the mean of the inverses."""
    items = np.asarray(data)
    return items.size / np.sum(1.0 / items)
