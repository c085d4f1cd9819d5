"""A quick look at what a function reads from outside: surely the same, or worth a closer look.

`static_key` says exactly when a value has changed, and takes microseconds to say it. A derivative
asks at every call, and nearly always nothing has changed: these checks compare identities, item by
item, as far down as the key goes.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from s2sad.api.structure import CONTAINERS, CONTENTS, OBJECTS, Custom, contents_of, has_contents, slots_of

Look = Callable[[], bool]
"""Says whether a value is surely what it was. False: it may have changed, or was made anew and is equal."""

_UNCHANGING = (
    type(None), bool, int, float, complex, str, bytes, type, types.ModuleType, np.dtype, np.generic,
)  # fmt: skip


def look_at(value: Any) -> Look | None:
    """Return a look at what may change within `value`; None if nothing may that `static_key` would see."""
    return _look(value, {})


def _look(value: Any, seen: dict[int, Any]) -> Look | None:
    if isinstance(value, np.ndarray):
        return _at_array(value)
    if isinstance(value, _UNCHANGING):
        return None
    if isinstance(value, Custom):
        return _look(value.metadata, seen)
    if isinstance(value, tuple):
        return _all(_look(item, seen) for item in value)
    if not (isinstance(value, CONTAINERS) or has_contents(value)) or id(value) in seen or len(seen) > OBJECTS:
        return None
    seen[id(value)] = value
    if type(value) is list:
        return _at_list(value, seen) if len(value) <= CONTENTS else None
    if type(value) is dict:
        return _at_items(value, seen) if len(value) <= CONTENTS else None
    attributes = getattr(value, "__dict__", None)
    if isinstance(attributes, dict) and not isinstance(value, CONTAINERS) and not slots_of(type(value)):
        return _at_items(attributes, seen) if len(attributes) <= CONTENTS else None
    return _at_contents(value, seen)


def _at_contents(value: Any, seen: dict[int, Any]) -> Look:
    keys, values = _both(value)
    inner = _all(_look(item, seen) for item in values)

    def same() -> bool:
        now_keys, now_values = _both(value)
        unmoved = len(now_values) == len(values) and all(map(operator.is_, now_values, values)) and now_keys == keys
        return unmoved and (inner is None or inner())

    return same


def _both(value: Any) -> tuple[list[Any], list[Any]]:
    found = contents_of(value)
    return [key for key, _ in found], [item for _, item in found]


def _at_array(array: np.ndarray[Any, Any]) -> Look:
    dtype, shape, strides = array.dtype, array.shape, array.strides
    if not shape:
        content = array.tobytes()
        return lambda: array.dtype is dtype and array.shape == shape and array.tobytes() == content
    return lambda: array.dtype is dtype and array.shape == shape and array.strides == strides


def _at_items(items: dict[Any, Any], seen: dict[int, Any]) -> Look:
    keys, values = list(items), list(items.values())
    inner = _all(_look(value, seen) for value in values)

    def same() -> bool:
        return (
            len(items) == len(keys)
            and all(map(operator.is_, items.values(), values))
            and list(items) == keys
            and (inner is None or inner())
        )

    return same


def _at_list(items: list[Any], seen: dict[int, Any]) -> Look:
    values = list(items)
    inner = _all(_look(value, seen) for value in values)

    def same() -> bool:
        unmoved = len(items) == len(values) and all(map(operator.is_, items, values))
        return unmoved and (inner is None or inner())

    return same


def _all(looks: Iterable[Look | None]) -> Look | None:
    found = [look for look in looks if look is not None]
    if not found:
        return None
    if len(found) == 1:
        return found[0]

    def same() -> bool:
        for look in found:
            if not look():
                return False
        return True

    return same
