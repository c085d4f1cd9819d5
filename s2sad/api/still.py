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

from s2sad.api.structure import CONTENTS, OBJECTS, Custom, has_contents

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
    if not (isinstance(value, dict | list) or has_contents(value)) or id(value) in seen or len(seen) > OBJECTS:
        return None
    seen[id(value)] = value
    if isinstance(value, list):
        return _at_list(value, seen) if len(value) <= CONTENTS else None
    items = value if isinstance(value, dict) else vars(value)
    return _at_items(items, seen) if len(items) <= CONTENTS else None


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
