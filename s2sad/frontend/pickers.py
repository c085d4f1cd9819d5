"""Functions of Python's library that say in a word what a few lines say: `itemgetter(1)`, `asdict(p)`."""

from __future__ import annotations

import collections
import dataclasses
import operator
import typing
from typing import Any

from s2sad.frontend import records
from s2sad.frontend.arguments import UNKNOWN, known_value
from s2sad.frontend.containers import is_mutable, is_open, write_item
from s2sad.frontend.functional import expression
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StaticV, StructV, Value, const


def _getter(name: str, read: Any) -> Any:
    """Return the lowering of a function that makes a function of one argument."""

    def lower(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        known = [known_value(arg) for arg in args]
        if not known or kwargs or any(type(key) not in (int, str, tuple) for key in known):
            return lw.fail(node, f"what `{name}` takes must be known here", "Write a lambda: `lambda item: item[k]`.")
        item = lw.fresh("item")
        parts = ", ".join(read(item, key) for key in known)
        return expression(lw, f"lambda {item}: ({parts})", node)

    return lower


def _cast(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`typing.cast(float, v)` is `v`."""
    return args[1] if len(args) > 1 else kwargs["val"]


def _as_plain(kind: str) -> Any:
    """Return the lowering of `asdict` or `astuple`, which take dataclasses inside of dataclasses apart, too."""

    def plain(value: Value) -> Value:
        if not isinstance(value, StructV):
            return value
        if hasattr(value.kind, "__dataclass_fields__"):
            fields = tuple(field.name for field in dataclasses.fields(value.kind))
            own = tuple(plain(value.items[value.keys.index(name)]) for name in fields)
            return StructV(kind, fields if kind == "dict" else tuple(range(len(own))), own)
        return StructV(value.kind, value.keys, tuple(plain(item) for item in value.items))

    def lower(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        if len(args) != 1 or kwargs or not hasattr(getattr(args[0], "kind", None), "__dataclass_fields__"):
            return lw.fail(node, f"`as{kind}` takes a dataclass that the function made, or was given",
                           "Write the fields that are needed.")  # fmt: skip
        return plain(args[0])

    return lower


def _fields(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`dataclasses.fields(p)`: what the class says of its fields."""
    of = args[0].kind if isinstance(args[0], StructV) else known_value(args[0])
    if of is UNKNOWN or not dataclasses.is_dataclass(of):
        return lw.fail(node, "`fields` takes a dataclass", "Name the fields: `for name in (\"a\", \"b\")`.")
    found = dataclasses.fields(of)
    return StructV("tuple", tuple(range(len(found))), tuple(StaticV(field) for field in found))


def _setattr(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`setattr(p, "x", v)` is `p.x = v`."""
    owner, name, value = args
    known = known_value(name)
    if not isinstance(owner, StructV) or not isinstance(known, str) or not is_mutable(owner):
        return lw.fail(node, "this attribute cannot be set here", "Set one with a known name, of an object made here.")
    if not records.set_by_property(lw, owner, known, value, node):
        if known not in owner.keys and not is_open(owner):
            lw.fail(node, f"`{known}` is no field of this object", "Give the class the field.")
        write_item(lw, owner, known, value, node)
    return StaticV(None)


def _counter(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`Counter("abca")` of what is known: a dict of numbers."""
    known = [known_value(arg) for arg in args]
    if kwargs or len(known) != 1 or known[0] is UNKNOWN or not isinstance(known[0], str | tuple | list):
        return lw.fail(node, "`Counter` of what a run gives is not supported", "Count in an array: `n = np.zeros(k)`.")
    counts = collections.Counter(known[0])
    return StructV("dict", tuple(counts), tuple(const(count) for count in counts.values()))


LOWERED: dict[Any, Any] = {
    operator.itemgetter: _getter("itemgetter", lambda item, key: f"{item}[{key!r}]"),
    operator.attrgetter: _getter("attrgetter", lambda item, key: f"{item}.{key}"),
    typing.cast: _cast,
    dataclasses.asdict: _as_plain("dict"),
    dataclasses.astuple: _as_plain("tuple"),
    dataclasses.fields: _fields,
    setattr: _setattr,
    collections.Counter: _counter,
}
