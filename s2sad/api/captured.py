"""Arrays that a function reads from outer scopes: read at every call, passed after the leaves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2sad.api.guards import Guard
from s2sad.ir.typeof import layout_of
from s2sad.ir.types import Array


@dataclass(frozen=True, slots=True)
class Captures:
    """What one derivative reads from outside.

    Attributes:
        items: for each array how it is read, and the type that was compiled for.
        guard: says whether the arrays still have those types; None where there is no array.
    """

    items: tuple[Any, ...] = ()
    guard: Guard | None = None

    def read(self) -> tuple[Any, ...]:
        """Return the arrays as they are now."""
        return tuple([item.read() for item in self.items])


NOTHING = Captures()


def captures(items: Iterable[Any]) -> Captures:
    """Return the arrays that a derivative reads, with the check of their types."""
    found = tuple(items)
    if not found:
        return NOTHING

    expected = [(item.read, *_described(item.var.type)) for item in found]

    def unchanged() -> bool:
        try:
            for read, dtype, ones, layout in expected:
                if not _fits(read(), dtype, ones, layout):
                    return False
            return True
        except (KeyError, IndexError, AttributeError, TypeError):  # no longer there at all
            return False

    return Captures(found, unchanged)


def _described(kind: Array) -> tuple[np.dtype[Any], tuple[bool, ...], str]:
    return np.dtype(kind.dtype), tuple(dim == 1 for dim in kind.dims), kind.layout


def _fits(value: Any, dtype: np.dtype[Any], ones: tuple[bool, ...], layout: str) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype != dtype:
        return False
    return tuple([n == 1 for n in value.shape]) == ones and layout_of(value) == layout
