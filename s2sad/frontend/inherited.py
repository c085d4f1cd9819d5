"""`super()` in the methods of a class: what the classes behind it define."""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any

import gast

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StaticV, StructV, Value


@dataclass(frozen=True, slots=True)
class Behind:
    """The kind of what `super()` is: the classes that come after `cls` for an object."""

    cls: type


def lower_super(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`super()`: the object that the method was called with, seen as one of the classes behind the method's own.

    `super(C, self)` says both.
    """
    from s2sad.frontend.expressions import lower_expr

    cls, parameters = lw.source.closure.get("__class__"), lw.source.node.args.args
    if len(args) == 2 and isinstance(args[0], StaticV):
        cls, owner = args[0].value, args[1]
    elif parameters and not args:
        first = gast.Name(id=parameters[0].id, ctx=gast.Load(), annotation=None, type_comment=None)
        owner = lower_expr(lw, gast.copy_location(first, node))
    else:
        owner = StaticV(None)
    if not isinstance(cls, type) or owner == StaticV(None):
        return lw.fail(node, "`super` is read in methods, as `super()` or `super(C, self)`",
                       "Name the class: `Base.method(self)`.")  # fmt: skip
    if isinstance(owner, StaticV) and isinstance(owner.value, cls):
        return StaticV(super(cls, owner.value))
    if not isinstance(owner, StructV) or not isinstance(owner.kind, type) or not issubclass(owner.kind, cls):
        return lw.fail(node, "`super` of this value is not known", "Name the class: `Base.method(self)`.")
    return StructV(Behind(cls), ("object",), (owner,))


def property_behind(lw: Lowerer, seen: StructV, name: str, node: Any) -> Value | None:
    """Return what `super().name` gives where that is a property; None where it is a method."""
    from s2sad.frontend.calls import call_function

    owner = seen.items[0]
    assert isinstance(owner, StructV)
    line = owner.kind.__mro__
    found = next((vars(cls)[name] for cls in line[line.index(seen.kind.cls) + 1 :] if name in vars(cls)), None)
    read = found.fget if isinstance(found, property) else None
    return None if read is None else call_function(lw, read, [owner], {}, node)


def method_behind(
    lw: Lowerer, seen: StructV, name: str, args: list[Value], kwargs: dict[str, Value], node: Any
) -> Value:
    """Return what `super().name(*args)` gives."""
    from s2sad.frontend.calls import call_function

    owner = seen.items[0]
    assert isinstance(owner, StructV)
    line = owner.kind.__mro__
    for cls in line[line.index(seen.kind.cls) + 1 :]:
        found = vars(cls).get(name)
        if isinstance(found, types.FunctionType):
            return call_function(lw, found, [owner, *args], kwargs, node)
        if isinstance(found, staticmethod):
            return call_function(lw, found.__func__, args, kwargs, node)
        if found is object.__init__ and not args:
            return StaticV(None)
        if found is not None:
            break
    return lw.fail(node, f"`{name}` of `super()` is not supported here", "Name the class: `Base.method(self)`.")
