"""Empty lists handed to compiled code: Numba cannot tell what an empty Python list would hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from s2sad.errors import CompileError
from s2sad.ir.types import Array, ListOf, Scalar, Type

if TYPE_CHECKING:
    from s2sad.api.plan import Entry


def typed(made: Entry, values: Sequence[Any]) -> Sequence[Any]:
    """Return the arguments of a derivative, an empty list replaced by one that knows the type of its items.

    A loop that ran zero times leaves its tapes empty.
    """
    if made.loaded.target != "cpu" or [] not in [value for value in values if isinstance(value, list)]:
        return values
    kinds = takes(made)
    return [
        _empty(kinds[i]) if isinstance(value, list) and not value else value for i, value in enumerate(values)
    ]


def takes(made: Entry) -> Sequence[Type]:
    """Return the types of the parameters of a loaded derivative; nothing where they are not known."""
    return getattr(made.derivative, "takes", ())


def _empty(kind: Type) -> Any:
    from numba.typed import List

    assert isinstance(kind, ListOf)
    make: Any = List.empty_list
    return make(_numba(kind.item))


def _numba(kind: Type | None) -> Any:
    from numba import from_dtype, types

    match kind:
        case Scalar(dtype):
            return from_dtype(np.dtype(dtype))
        case Array(dtype, dims, layout):
            return types.Array(from_dtype(np.dtype(dtype)), len(dims), layout)
        case ListOf(item):
            return types.ListType(_numba(item))
        case _:
            raise CompileError("an empty list of these cannot be passed between the sweeps", why='Use target="python".')
