"""Arrays of enclosing and global scopes: read when the derivative is called, passed as arguments."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any

import gast
import numpy as np

from s2sad.frontend.containers import OUTSIDE, identified
from s2sad.frontend.lowerer import Captured, Lowerer
from s2sad.frontend.values import StructV, V, Value, literal
from s2sad.ir.nodes import Const, Var
from s2sad.ir.typeof import typeof
from s2sad.ir.types import Type

Read = Callable[[], Any]


def capture(lw: Lowerer, found: Any, name: str, read: Read | None = None) -> Value:
    """Return the value of an outer array, or of a container that holds arrays.

    `read` gives it anew at each call; None for what a name of an outer scope means.
    """
    return identified(_captured(lw, found, name, read or functools.partial(lw.source.resolve, name)), OUTSIDE)


def _captured(lw: Lowerer, found: Any, name: str, read: Read) -> Value:
    if isinstance(found, np.ndarray):
        return V(_array(lw, found, name, read))
    if isinstance(found, int | float | complex | np.generic):
        return V(literal(found))
    if isinstance(found, dict):
        items = tuple(_captured(lw, v, f"{name}_{k}", _item(read, k)) for k, v in found.items())
        return StructV("dict", tuple(found), items)
    if isinstance(found, tuple | list):
        kind = type(found) if hasattr(found, "_fields") else type(found).__name__
        keys = getattr(found, "_fields", tuple(range(len(found))))
        items = tuple(_captured(lw, v, f"{name}_{i}", _item(read, i)) for i, v in enumerate(found))
        return StructV(kind, keys, items)
    from s2sad.frontend.expressions import outside_value

    return outside_value(lw, found, name, None)


def _item(read: Read, key: Any) -> Read:
    return lambda: read()[key]


def _array(lw: Lowerer, array: np.ndarray[Any, Any], name: str, read: Read) -> Var | Any:
    if array.ndim == 0:
        return literal(array[()])
    if id(array) in lw.captured:
        return lw.captured[id(array)].var
    lw.ctx.keep.append(array)
    var = Var(_own_name(lw, name), _type_of(lw, array))
    lw.captured[id(array)] = Captured(var.name, read, var)
    return var


def _own_name(lw: Lowerer, name: str) -> str:
    """Return a name that no other captured array has: a loop that is read again begins with the names of before.

    It is the one that the array has outside, where the function itself calls nothing else by that name.
    """
    taken = {item.var.name for item in lw.captured.values()}
    found = name if _is_read_alone(lw, name) else lw.fresh(name)
    while found in taken:
        found = lw.fresh(name)
    return found


def _is_read_alone(lw: Lowerer, name: str) -> bool:
    """Say whether the function that is being written, and not one in it, reads a name and gives it no value."""
    while lw.outer is not None:
        lw = lw.outer
    text = lw.source.node  # None of what runs as it is
    met = [part for part in gast.walk(text) if isinstance(part, gast.Name) and part.id == name] if text else []
    if hasattr(builtins, name):
        return False  # what is emitted may call it
    return name not in lw.env and bool(met) and all(isinstance(part.ctx, gast.Load) for part in met)


def _type_of(lw: Lowerer, array: np.ndarray[Any, Any]) -> Type:
    """Return the type of an array whose lengths are its own: a name may mean arrays of several in two modules."""
    return typeof(array, f"outer {next(k for k, kept in enumerate(lw.ctx.keep) if kept is array)}")


def capture_object(lw: Lowerer, array: np.ndarray[Any, Any], name: str) -> Var | Const:
    """Capture an array that no name outside holds: a default argument."""
    if array.ndim == 0:
        return literal(array[()])
    if id(array) not in lw.captured:
        lw.ctx.keep.append(array)
        var = Var(_own_name(lw, name), _type_of(lw, array))
        lw.captured[id(array)] = Captured(var.name, lambda: array, var)
    return lw.captured[id(array)].var


def pass_captured(lw: Lowerer, captured: list[Captured]) -> list[Any]:
    """Return this function's variables for the arrays that a callee captured."""
    passed: list[Any] = []
    for item in captured:
        array = item.read()
        if id(array) not in lw.captured:
            lw.ctx.keep.append(array)  # it may be made at each reading: one that is gone would give its identity away
            var = Var(_own_name(lw, item.name), item.var.type)
            lw.captured[id(array)] = Captured(var.name, item.read, var)
        passed.append(lw.captured[id(array)].var)
    return passed
