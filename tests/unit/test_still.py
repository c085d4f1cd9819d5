"""The quick look at what a function reads from outside never misses what the exact key would see."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

from s2sad.api.still import look_at
from s2sad.api.structure import static_key


def grow(value: Any) -> None:
    value["a"].append(3)


def replaced(value: Any) -> None:
    value["b"] = 2.5


def renamed(value: Any) -> None:
    value["c"] = value.pop("b")


def reordered(value: Any) -> None:
    value["b"] = value.pop("b")


def turned(value: Any) -> None:
    value["d"].shape = (3, 2)


def written(value: Any) -> None:
    value["e"][...] = 4.0


def attribute(value: Any) -> None:
    value["f"].rate = 0.2


def swapped(value: Any) -> None:
    value["a"][0] = 7


def settings() -> dict[str, Any]:
    inner = types.SimpleNamespace(rate=0.1)
    return {"b": 1.5, "a": [1, 2], "d": np.zeros((2, 3)), "e": np.array(3.0), "f": inner, "g": (1, "x", len)}


@pytest.mark.parametrize("change", [grow, replaced, renamed, reordered, turned, written, attribute, swapped])
def test_a_change_that_the_key_sees_is_seen(change: Any) -> None:
    value = settings()
    look, key = look_at(value), static_key(value)
    assert look is not None
    assert look()
    change(value)
    if change is not turned:  # the key asks only which lengths are one
        assert static_key(value) != key
    assert not look()


def test_values_of_arrays_are_no_change() -> None:
    value = settings()
    look = look_at(value)
    value["d"][...] = 1.0
    assert look is not None
    assert look()


def test_what_cannot_change_is_not_looked_at() -> None:
    assert look_at(3.5) is None
    assert look_at(("a", 1, len)) is None
