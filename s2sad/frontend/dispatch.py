"""Functions made by `functools.singledispatch`: the one that the class of the first argument chooses is called."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from s2sad.frontend.lowerer import Lowerer
    from s2sad.frontend.values import Value


def dispatches(fn: Any) -> bool:
    """Say whether `functools.singledispatch` made a function."""
    return isinstance(fn, FunctionType) and hasattr(fn, "registry") and hasattr(fn, "dispatch")


def chosen(lw: Lowerer, fn: Any, args: list[Value], node: Any) -> Any:
    """Return the function that a call of `fn` runs, which is `fn` itself unless it dispatches."""
    from s2sad.frontend.specials import class_of

    if not dispatches(fn):
        return fn
    kind = class_of(args[0]) if args else object
    if kind is object:
        lw.fail(node, f"what `{fn.__name__}` runs is chosen by the class of its argument, which is not known here",
                "Call the function that is meant by its own name.")  # fmt: skip
    return fn.dispatch(kind)  # type: ignore[attr-defined]
