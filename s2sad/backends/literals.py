"""A call with a constant, `power(x, 2)`, is compiled like one with any number, not once for each constant.

Numba types a constant in the text by its value, and compiles what is called once more for it. That costs a
compilation each; and a function that calls itself with other numbers then refers to its general version, which
machine code from the disk does not bring along. Where only the constant will do, as for an axis, it stays one.
"""

from __future__ import annotations

import importlib
from typing import Any

_types: Any = importlib.import_module("numba.core.types")
_errors: Any = importlib.import_module("numba.core.errors")


def for_any_number(dispatcher: Any) -> Any:
    """Let `dispatcher` forget the values of constants where it is called from compiled code, and return it."""
    call_template = dispatcher.get_call_template

    def general(args: Any, kws: Any) -> Any:
        plain = tuple(_number(kind) for kind in args)
        if plain != tuple(args):
            try:
                return call_template(plain, {name: _number(kind) for name, kind in kws.items()})
            except _errors.NumbaError:  # it is one of the few that need the value
                pass
        return call_template(args, kws)

    dispatcher.get_call_template = general
    return dispatcher


def _number(kind: Any) -> Any:
    return _types.unliteral(kind) if isinstance(kind, _types.IntegerLiteral | _types.BooleanLiteral) else kind
