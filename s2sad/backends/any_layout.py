"""Functions of arrays that are compiled once for all layouts, and kept on disk for the programs that come after."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from s2sad.backends.machine_code import keep

_numba: Any = importlib.import_module("numba")
_types: Any = importlib.import_module("numba.core.types")


def compiled(function: Callable[..., Any], name: str) -> Any:
    """Return the dispatcher of a function; `name` tells its machine code from that of all others."""
    from s2sad.backends.numba_cpu import options_of

    return keep(_numba.njit(**options_of())(function), name.partition(" ")[0], name)


def given(dtype: Any, rank: int) -> Any:
    """Return the type by which such a function takes an array: of any layout, and not to be written."""
    return _types.Array(dtype, rank, "A", readonly=True)


def called(dispatcher: Any, kinds: tuple[Any, ...]) -> Any:
    """Return what writes the call of such a function; an array is the same to LLVM in every layout."""
    function = _types.Dispatcher(dispatcher)

    def written(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        asked = function.get_call_type(context.typing_context, kinds, {})
        return context.get_function(function, asked)(builder, args)

    return written
