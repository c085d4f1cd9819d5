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
    kinds: tuple[_Expected, ...] = ()

    def read(self) -> tuple[Any, ...]:
        """Return the arrays as they are now."""
        return tuple([item.read() for item in self.items])

    def checked(self) -> tuple[Any, ...] | None:
        """Return the arrays as they are now, or None if one is no longer of its type."""
        try:
            found = self.read()
        except _GONE:
            return None
        for value, kind in zip(found, self.kinds, strict=True):
            if not kind.fits(value):
                return None
        return found


NOTHING = Captures()


def captures(items: Iterable[Any]) -> Captures:
    """Return the arrays that a derivative reads, with the check of their types."""
    found = tuple(items)
    if not found:
        return NOTHING

    kinds = tuple(_Expected(item.var.type) for item in found)

    def unchanged() -> bool:
        try:
            for item, kind in zip(found, kinds, strict=True):
                if not kind.fits(item.read()):
                    return False
            return True
        except _GONE:
            return False

    return Captures(found, Guard(unchanged), kinds)


_GONE = (KeyError, IndexError, AttributeError, TypeError)
"""What is raised where an array is no longer there at all."""


class _Expected:
    """An array type that was compiled for, and the last array seen that has it."""

    __slots__ = ("_dtype", "_layout", "_ones", "_seen")

    def __init__(self, kind: Array) -> None:
        self._dtype, self._layout = np.dtype(kind.dtype), kind.layout
        self._ones = tuple(dim == 1 for dim in kind.dims)
        self._seen: Any = None  # one pair, which threads read and write as a whole

    def fits(self, value: Any) -> bool:
        """Say whether a value has the type; one laid out as the last was is not looked at further."""
        if not isinstance(value, np.ndarray) or (value.dtype is not self._dtype and value.dtype != self._dtype):
            return False
        laid_out = value.shape, value.strides
        if laid_out == self._seen:
            return True
        if tuple([n == 1 for n in value.shape]) != self._ones or layout_of(value) != self._layout:
            return False
        self._seen = laid_out
        return True
