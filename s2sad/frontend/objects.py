"""Namedtuples and dataclasses that a function makes: what the class does to its arguments is done here too."""

from __future__ import annotations

import dataclasses
import inspect
import types
from dataclasses import replace
from typing import Any

from s2sad.errors import ArgumentError
from s2sad.frontend.containers import current, is_open, was_put_away, write_item
from s2sad.frontend.fields import stored
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.protocols import GENERATED, refuse_hooks
from s2sad.frontend.values import Cell, RowsV, StaticV, StructV, V, Value


def of_fields(lw: Lowerer, cls: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`cls(*args)` of a namedtuple or a dataclass."""
    refuse_hooks(lw, cls, node)
    own = "__new__" if hasattr(cls, "_fields") else "__init__"
    if own == "__init__" and isinstance(cls.__init__, types.FunctionType) and not _is_generated(cls.__init__):
        return _of_own_init(lw, cls, args, kwargs, node)
    if not _is_generated(getattr(cls, own)):
        lw.fail(node, f"`{cls.__name__}` has an `{own}` of its own, which is not read here",
                "Make the object in a function, or use a class that is no dataclass or namedtuple.")  # fmt: skip
    given = _bound(lw, cls, args, kwargs, node)
    return _filled(lw, cls, given, node)


def _of_own_init(lw: Lowerer, cls: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Return what the `__init__` of a dataclass leaves behind, if that is its fields, and what else it sets."""
    from s2sad.frontend.records import construct

    made = construct(lw, cls, args, kwargs, node)
    assert isinstance(made, StructV)
    held = dict(zip(made.keys, made.items, strict=True))
    fields = [field.name for field in dataclasses.fields(cls)]
    for name in fields:
        if name not in held and not hasattr(cls, name):
            lw.fail(node, f"`{cls.__name__}.__init__` sets no field `{name}`",
                    "Every field is part of the object here: set it, or leave it out of the class.")  # fmt: skip
    held |= {name: StaticV(getattr(cls, name)) for name in fields if name not in held}
    keys = (*fields, *(name for name in made.keys if name not in fields))
    return replace(made, keys=keys, items=tuple(held[key] for key in keys))


def _bound(lw: Lowerer, cls: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> dict[str, Value]:
    try:
        return inspect.signature(cls).bind(*args, **kwargs).arguments
    except TypeError as error:
        return lw.fail(node, f"`{cls.__name__}`: {error}", "", ArgumentError)


def changed(lw: Lowerer, owner: StructV, changes: dict[str, Value], node: Any) -> Value:
    """A namedtuple or a dataclass with some fields changed, and what `__post_init__` makes of it."""
    cls = owner.kind
    known = owner.keys if hasattr(cls, "_fields") else tuple(inspect.signature(cls).parameters)
    for name in changes:
        if name not in known:
            lw.fail(node, f"`{cls.__name__}` has no field `{name}`", "", ArgumentError)
    given = {name: value for name, value in zip(owner.keys, owner.items, strict=True) if name in known} | changes
    return _filled(lw, cls, given, node)


def _filled(lw: Lowerer, cls: Any, given: dict[str, Value], node: Any) -> Value:
    fields = cls._fields if hasattr(cls, "_fields") else tuple(field.name for field in dataclasses.fields(cls))
    made = StructV(cls, fields, tuple(stored(lw, cls, name, _given(lw, cls, name, given, node)) for name in fields))
    return _prepared(lw, made, given, node)


def _prepared(lw: Lowerer, made: StructV, given: dict[str, Value], node: Any) -> Value:
    """Return what `__post_init__` of a dataclass leaves behind."""
    from s2sad.frontend.inline import inline_call

    prepare = inspect.getattr_static(made.kind, "__post_init__", None)
    if not isinstance(prepare, types.FunctionType) or hasattr(made.kind, "_fields"):
        return made
    begun = replace(made, cell=Cell())  # also of a frozen one: `object.__setattr__(self, "x", ...)`
    name = lw.fresh("made")
    lw.env[name] = begun
    extra = [_given(lw, made.kind, word, given, node) for word in inspect.signature(made.kind).parameters
             if word not in made.keys]  # fmt: skip
    if inline_call(lw, prepare, [begun, *extra], {}, node) is None:
        lw.fail(node, f"`{made.kind.__name__}.__post_init__` returns early, and cannot be written in here",
                "Let it run to its end, or make the object outside and pass it in.")  # fmt: skip
    after = current(lw, begun)
    result = after if was_put_away(after) else replace(after, cell=None)
    del lw.env[name]
    return result


def set_attribute(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`object.__setattr__(self, "x", value)`: how a frozen dataclass is written into while it is made."""
    owner, name, value = args
    if not isinstance(owner, StructV) or not isinstance(name, StaticV) or not (
        name.value in owner.keys or is_open(owner)
    ):
        return lw.fail(node, "this attribute cannot be written here", "Name a field of a dataclass.")
    write_item(lw, owner, name.value, value, node)
    return StaticV(None)


def class_of(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`type(p)`: the class of an object, or of a number: `type(x)(0.5)`."""
    from s2sad.frontend.specials import class_of as of_value

    match args:
        case [StructV(kind)] if isinstance(kind, type):
            return StaticV(kind)
        case [StaticV(found)]:
            return StaticV(type(found))
        case [V() | StructV() | RowsV() as value] if (found := of_value(value)) is not object:
            return StaticV(found)
        case _:
            return lw.fail(node, "the type of this value is not read here", "Ask with `isinstance`.")


def _is_generated(method: Any) -> bool:
    return isinstance(method, types.FunctionType) and method.__code__.co_filename == GENERATED


def _given(lw: Lowerer, cls: Any, name: str, given: dict[str, Value], node: Any) -> Value:
    """Return what a field is: as given, else its default, else nothing until `__post_init__` says."""
    from s2sad.frontend.calls import call_function, outside

    if name in given:
        return given[name]
    if name in getattr(cls, "_field_defaults", {}):
        return outside(lw, cls._field_defaults[name], node)
    field = cls.__dataclass_fields__[name]
    if field.default_factory is not dataclasses.MISSING:
        made = field.default_factory  # `list[float]` makes what `list` makes
        return call_function(lw, getattr(made, "__origin__", made), [], {}, node)
    return StaticV(None) if field.default is dataclasses.MISSING else outside(lw, field.default, node)
