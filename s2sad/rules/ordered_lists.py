"""Lists that are kept in order: `bisect` and `heapq`, read as the Python code below."""

from __future__ import annotations

import bisect
import heapq
from typing import Any

import numpy as np

from s2sad.ir import ops
from s2sad.rules.registry import expands


@expands(bisect.bisect_right, bisect.bisect)
def bisect_right(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> Any:
    """Return the place behind the items that are not larger."""
    if lo != 0 or hi is not None or key is not None:
        ops.refuse("`bisect` of a part of a list, or by a key, is not supported", "Give it the part, or the keys.")
    return int(np.searchsorted(np.asarray(a), x, side="right"))


@expands(bisect.bisect_left)
def bisect_left(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> Any:
    """Return the place before the items that are not smaller."""
    if lo != 0 or hi is not None or key is not None:
        ops.refuse("`bisect` of a part of a list, or by a key, is not supported", "Give it the part, or the keys.")
    return int(np.searchsorted(np.asarray(a), x))


@expands(bisect.insort_right, bisect.insort, changes=True)
def insort_right(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> None:
    """Put an item behind those that are not larger."""
    a.insert(bisect.bisect_right(a, x, lo, hi, key=key), x)


@expands(bisect.insort_left, changes=True)
def insort_left(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> None:
    """Put an item before those that are not smaller."""
    a.insert(bisect.bisect_left(a, x, lo, hi, key=key), x)


@expands(heapq.heappush, changes=True)
def heappush(heap: Any, item: Any) -> None:
    """Add an item and let it rise."""
    heap.append(item)
    _rise(heap, 0, len(heap) - 1)


@expands(heapq.heappop, changes=True)
def heappop(heap: Any) -> Any:
    """Take the least item away, and put the last one in its place."""
    last = heap.pop()
    if len(heap) == 0:
        return last
    least = heap[0]
    heap[0] = last
    _sink(heap, 0)
    return least


@expands(heapq.heapreplace, changes=True)
def heapreplace(heap: Any, item: Any) -> Any:
    """Take the least item away, and put another one in its place."""
    least = heap[0]
    heap[0] = item
    _sink(heap, 0)
    return least


@expands(heapq.heappushpop, changes=True)
def heappushpop(heap: Any, item: Any) -> Any:
    """Return the item if it is not above the least one, else that one, whose place it takes."""
    least = item
    if len(heap) > 0 and heap[0] < item:
        least = heap[0]
        heap[0] = item
        _sink(heap, 0)
    return least


@expands(heapq.heapify, changes=True)
def heapify(x: Any) -> None:
    """Put a list in the order of a heap: no item is above those behind it at twice its place."""
    for place in range(len(x) // 2 - 1, -1, -1):
        _sink(x, place)


def _rise(heap: Any, top: int, place: int) -> None:
    item = heap[place]
    while place > top:
        parent = (place - 1) // 2
        above = heap[parent]
        if not item < above:
            break
        heap[place] = above
        place = parent
    heap[place] = item


def _sink(heap: Any, top: int) -> None:
    """Move the lesser children up to the last, then let the item rise from there: fewer are compared.

    Source: D. E. Knuth, The Art of Computer Programming, volume 3, 5.2.3, exercise 18.
    """
    item, place, child = heap[top], top, 2 * top + 1
    while child < len(heap):
        if child + 1 < len(heap) and not heap[child] < heap[child + 1]:
            child += 1
        heap[place] = heap[child]
        place, child = child, 2 * child + 1
    heap[place] = item
    _rise(heap, top, place)


@expands(heapq.nsmallest)
def nsmallest(n: int, iterable: Any, key: Any = None) -> Any:
    """Return the least items, in order."""
    return sorted(iterable, key=key)[:n]


@expands(heapq.nlargest)
def nlargest(n: int, iterable: Any, key: Any = None) -> Any:
    """Return the greatest items, in falling order."""
    return sorted(iterable, key=key, reverse=True)[:n]
