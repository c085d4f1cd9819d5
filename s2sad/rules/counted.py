"""Counts of what lies where, and what is left when equal elements are one: read as sorting and searching."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.ir import ops
from s2sad.rules.registry import Settings, expands


@expands(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """Return how many elements lie in each bin, which has no derivative, and the edges, which move with the ends."""
    if isinstance(bins, str):
        ops.refuse("`histogram` that chooses its bins has no derivative rule", "Give their number, or their edges.")
    values = np.ravel(a)
    if isinstance(bins, (int, np.integer)):
        low, high = (np.min(values), np.max(values)) if range is None else range
        wide = 0.5 if low == high else 0.0
        edges = np.linspace(low - wide, high + wide, bins + 1)
    else:
        edges = np.asarray(bins)
    count = edges.size - 1
    places = np.minimum(np.searchsorted(edges, values, side="right") - 1, count - 1)
    inside = np.flatnonzero((values >= edges[0]) & (values <= edges[count]))
    if weights is None:
        heights = np.zeros(count, np.int64)
        np.add.at(heights, places[inside], 1)
    else:
        heavy = np.ravel(weights)
        heights = np.zeros(count, heavy.dtype)
        np.add.at(heights, places[inside], heavy[inside])
    if density:
        return heights / np.diff(edges) / np.sum(heights), edges
    else:
        return heights, edges


def counted_so_far(given: Settings) -> bool:
    """Say whether a weighted `np.bincount` is asked for a length that only a run knows."""
    return {"weights", "minlength"} <= given["given"] and "minlength" not in given


@expands(np.bincount, when=counted_so_far)
def bincount(x: Any, weights: Any, minlength: Any) -> Any:
    """Return the sums of the weights by number, as many as asked for at least."""
    most = np.max(x) + 1 if x.size > 0 else 0
    sums = np.zeros(max(most, minlength))
    np.add.at(sums, x, weights)
    return sums


def values_alone(given: Settings) -> bool:
    """Say whether a call of `np.unique` asks for the values of all elements and for nothing beside them."""
    asked = ("return_index", "return_inverse", "return_counts")
    return not any(given.get(name) for name in asked) and given.get("axis") is None


@expands(np.unique, when=values_alone)
def unique(
    ar: Any, return_index: Any = False, return_inverse: Any = False, return_counts: Any = False, axis: Any = None
) -> Any:
    """Return the different elements in order: of equal ones, the first that the sort gives."""
    ordered = np.sort(np.ravel(ar))
    return ordered[np.concatenate((np.ones(min(ordered.size, 1), np.bool_), ordered[1:] != ordered[:-1]))]
