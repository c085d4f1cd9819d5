"""Decorators of inner functions: `@d` above `def f` is `f = d(f)`."""

from __future__ import annotations

import functools
from typing import Any

import gast

from s2sad.frontend import keyed
from s2sad.frontend.expressions import lower_expr
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StaticV

_REMEMBERING = (functools.cache, functools.lru_cache)


def decorate(lw: Lowerer, name: str, decorator: Any) -> None:
    """Give the inner function of this name to a decorator; what only compiles or names it leaves it as it is."""
    from s2sad.frontend.calls import call_value

    known = lower_expr(lw, decorator.func if isinstance(decorator, gast.Call) else decorator)
    meant = known.value if isinstance(known, StaticV) else None
    if meant in _REMEMBERING:
        keyed.begin_again(lw, keyed.remembered(name))
        lw.fail(decorator, "an inner function that remembers its results is not supported",
                "Its parameters must be whole numbers that it does not change. Else fill an array in a loop, or leave\n"
                "the decorator out where few calls are made.")  # fmt: skip
    if getattr(meant, "__name__", "") == "checkpoint":
        refuse_checkpoint(lw, decorator)
    if meant is functools.wraps or (getattr(meant, "__module__", None) or "").startswith("numba."):
        return
    made = lower_expr(lw, decorator) if isinstance(decorator, gast.Call) else known
    lw.env[name] = call_value(lw, made, [lw.env[name]], {}, decorator)


def refuse_checkpoint(lw: Lowerer, node: Any) -> Any:
    """Refuse to checkpoint a function that is defined inside another."""
    return lw.fail(node, "`checkpoint` of an inner function is not supported",
                   "Define the function outside, or put its loop under `with s2sad.checkpoint():`.")  # fmt: skip
