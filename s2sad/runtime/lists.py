"""Lists of adjoints, beside the lists that a function builds."""

from __future__ import annotations

from typing import Any

import numpy as np


def empty_list(item: Any) -> list[Any]:
    """Return an empty list of items like `item`: compiled, a list has a type though nothing goes into it."""
    return [item for _ in range(0)]


def zero_scalars(items: list[Any]) -> list[Any]:
    """Return a list of zeros as long as `items`."""
    return [0.0 for _ in items]


def zero_complexes(items: list[Any]) -> list[Any]:
    """Return a list of complex zeros as long as `items`."""
    return [0j for _ in items]


def zero_arrays(items: list[Any]) -> list[Any]:
    """Return a list of zero arrays, each of the shape and dtype of the item at its place."""
    return [np.zeros_like(item) for item in items]


def add_lists(first: list[Any], second: list[Any]) -> list[Any]:
    """Return the sums of the items of two lists of one length."""
    return [first[k] + second[k] for k in range(len(first))]


def place_of(items: list[Any], value: Any) -> int:
    """Return the first place of a number in a list, -1 if it is not there."""
    for place in range(len(items)):
        if items[place] == value:
            return place
    return -1


def place_of_pair(first: list[Any], second: list[Any], a: Any, b: Any) -> int:
    """Return the first place of a pair of numbers in a list of pairs, kept as two lists; -1 if it is not there."""
    for place in range(len(first)):
        if first[place] == a and second[place] == b:
            return place
    return -1


def place_of_three(first: list[Any], second: list[Any], third: list[Any], a: Any, b: Any, c: Any) -> int:
    """Return the first place of three numbers in a list of threes, kept as three lists; -1 if they are not there."""
    for place in range(len(first)):
        if first[place] == a and second[place] == b and third[place] == c:
            return place
    return -1


def copy_list(items: list[Any]) -> list[Any]:
    """Return another list of the same items."""
    return [item for item in items]


def copy_arrays(items: list[Any]) -> list[Any]:
    """Return a list of copies of the arrays of a list."""
    return [np.copy(item) for item in items]


def gather_scalars(items: list[Any]) -> Any:
    """Return the numbers of a list as an array."""
    result = np.empty(len(items))
    for k in range(len(items)):
        result[k] = items[k]
    return result


def gather_numbers(items: list[Any], dtype: Any) -> Any:
    """Return the numbers of a list as an array of `dtype`: indices, conditions, complex numbers."""
    result = np.empty(len(items), dtype)
    for k in range(len(items)):
        result[k] = items[k]
    return result


def join_arrays(items: list[Any]) -> Any:
    """Return the arrays of a list one behind the other, along their first axis."""
    count = 0
    for item in items:
        count += item.shape[0]
    result = np.empty((count, *items[0].shape[1:]), items[0].dtype)
    start = 0
    for item in items:
        result[start : start + item.shape[0]] = item
        start += item.shape[0]
    return result


def join_along(items: list[Any], axis: int) -> Any:
    """Return the arrays of a list one behind the other, along an axis that is not their first."""
    count = 0
    for item in items:
        count += item.shape[axis]
    result = np.empty((count, *np.swapaxes(items[0], 0, axis).shape[1:]), items[0].dtype)
    start = 0
    for item in items:
        result[start : start + item.shape[axis]] = np.swapaxes(item, 0, axis)
        start += item.shape[axis]
    return np.ascontiguousarray(np.swapaxes(result, 0, axis))


def gather_arrays(items: list[Any]) -> Any:
    """Return the arrays of a list stacked along a new first axis; they have one shape."""
    result = np.empty((len(items), *items[0].shape), items[0].dtype)
    for k in range(len(items)):
        result[k] = items[k]
    return result


def flat_list(items: list[list[Any]]) -> list[Any]:
    """Return what the lists of a list hold, as one list."""
    return [item for inner in items for item in inner]


def flat_arrays(items: list[list[Any]]) -> list[Any]:
    """Return copies of the arrays that the lists of a list hold, as one list."""
    return [np.copy(item) for inner in items for item in inner]


def list_lengths(items: list[list[Any]]) -> Any:
    """Return how long each list of a list is."""
    result = np.empty(len(items), np.int64)
    for k in range(len(items)):
        result[k] = len(items[k])
    return result


def nested_list(items: list[Any], lengths: Any) -> list[list[Any]]:
    """Return the lists of these lengths that hold the items, one behind the other."""
    result = []
    start = 0
    for length in lengths:
        result.append([items[start + k] for k in range(length)])
        start += length
    return result


def nested_arrays(items: list[Any], lengths: Any) -> list[list[Any]]:
    """Return the lists of these lengths that hold copies of the arrays, one behind the other."""
    result = []
    start = 0
    for length in lengths:
        result.append([np.copy(items[start + k]) for k in range(length)])
        start += length
    return result
