"""Special methods of the user's classes: what `len(p)`, `p[i]`, `p == q` and `if p` mean is for the class to say."""

from __future__ import annotations

import builtins
import inspect
import operator
import types
from collections.abc import Sequence
from dataclasses import is_dataclass, replace
from typing import Any

import gast

from s2sad.frontend import formatted, references
from s2sad.frontend.containers import IN_A_LIST
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.operators import build
from s2sad.frontend.source import source_of
from s2sad.frontend.values import Cell, ItemCell, IterV, StaticV, StructV, V, Value, literal
from s2sad.ir.nodes import Apply, Expr
from s2sad.ir.types import Scalar

_CALLED: dict[Any, str] = {
    builtins.len: "len", builtins.abs: "abs", builtins.float: "float", builtins.int: "int", builtins.complex: "complex",
    builtins.round: "round", builtins.bool: "bool", builtins.divmod: "divmod", builtins.reversed: "reversed",
    operator.getitem: "getitem",
}  # fmt: skip
_COMPARED = {
    "Eq": ("eq", "eq"), "NotEq": ("ne", "ne"), "Lt": ("lt", "gt"), "Gt": ("gt", "lt"), "LtE": ("le", "ge"),
    "GtE": ("ge", "le"),
}  # fmt: skip
_NUMBERS = ("abs", "float", "int", "complex", "round")
"""Asked of an object alone; of its length and its truth Python itself knows what an object from outside says."""
GENERATED = "<string>"
"""The file of methods that `dataclass` writes, which do what is done with containers anyway."""


def special(value: Value, word: str, others: Sequence[Value | None] = ()) -> types.FunctionType | None:
    """Return the special method that the class of an object defines in Python; None for all other values.

    An object from outside the function counts where one of `others`, what it meets, is worked out at run time.
    """
    from s2sad.frontend.calls import python_callee

    kind: Any = value.kind if isinstance(value, StructV) else None
    outside = isinstance(value, StaticV) and not all(isinstance(other, StaticV) for other in others)
    if outside and isinstance(value, StaticV):
        kind = type(value.value)
    method = inspect.getattr_static(kind, f"__{word}__", None) if isinstance(kind, type) else None
    if not isinstance(method, types.FunctionType) or (outside and not python_callee(method)):
        return None
    return method


def own_method(value: Value, word: str, others: Sequence[Value | None] = ()) -> types.FunctionType | None:
    """Return such a method that the user has written, not `dataclass`."""
    method = special(value, word, others)
    return None if method is None or method.__code__.co_filename == GENERATED else method


def asked(lw: Lowerer, owner: Value, word: str, args: Sequence[Value], node: Any) -> Value | None:
    """Return what a special method of an object gives; None if its class defines none."""
    from s2sad.frontend.calls import call_function

    method = own_method(owner, word, args or [None] * (word in _NUMBERS))
    return None if method is None else call_function(lw, method, [owner, *args], {}, node)


def called_with(lw: Lowerer, fn: Any, args: list[Value], node: Any) -> Value | None:
    """Return what `len(p)`, `abs(p)` and their like give where the class of `p` says so."""
    word = _CALLED.get(fn) if args and isinstance(args[0], StructV | StaticV) else None
    if word == "bool":
        said = truth(lw, args[0], node)
        return V(build(operator.ne, said.expr, literal(0))) if isinstance(said, V) else said
    return None if word is None else asked(lw, args[0], word, args[1:], node)


def truth(lw: Lowerer, value: Value, node: Any) -> Value | None:
    """Return whether an object holds: what `__bool__` says, else whether it has a length, else yes."""
    if not isinstance(value, StructV) or not isinstance(value.kind, type):
        return None
    said = asked(lw, value, "bool", [], node)
    if said is not None:
        return said
    length = asked(lw, value, "len", [], node)
    return length if length is not None or hasattr(value.kind, "_fields") else StaticV(True)


def compared(lw: Lowerer, op: str, left: Value, right: Value, node: Any) -> Value | None:
    """Return what a comparison gives that the class of an operand defines; None if none of them does."""
    word, mirrored = _COMPARED[op]
    given = asked(lw, left, word, [right], node)
    if given is None:
        given = asked(lw, right, mirrored, [left], node)
    if given is None and op == "NotEq":
        same = compared(lw, "Eq", left, right, node)
        return same if same is None else _denied(same)
    if given is None and op == "Eq":
        one = one_object(left, right)
        if one is not None and "__eq__" not in _defined(left.kind):  # type: ignore[union-attr]
            return StaticV(one) if isinstance(one, bool) else V(one)
        for value in (left, right):
            if isinstance(value, StructV) and isinstance(value.kind, type) and "__eq__" not in _defined(value.kind):
                lw.fail(node, f"objects of `{value.kind.__name__}`, which defines no `__eq__`, equal themselves only",
                        "Compare their attributes.")  # fmt: skip
    return given


def one_object(left: Value, right: Value) -> Expr | bool | None:
    """Say whether two objects of a class of the user's are one; None where that is not known.

    Those of plain classes are made in the program itself, so that each has its own identity. Objects of dataclasses
    and the like may be the caller's, who may give one twice.
    """
    if not (isinstance(left, StructV) and isinstance(right, StructV)):
        return None
    if any(isinstance(value.cell, ItemCell) for value in (left, right)):
        return references.same(left, right)
    cells = [_last(value.cell) for value in (left, right) if value.cell is not None]
    if len(cells) != 2 or not all(isinstance(value.kind, type) for value in (left, right)):
        return None
    if any(cell.refusal not in ("", IN_A_LIST) for cell in cells):
        return None  # one mark for all that come from elsewhere
    if cells[0] is cells[1]:
        return True
    plain = all(not is_dataclass(value.kind) and not issubclass(value.kind, tuple) for value in (left, right))
    return False if plain else None


def _last(cell: Cell) -> Cell:
    while cell.later is not None:
        cell = cell.later
    return cell


def _defined(kind: type) -> set[str]:
    return {name for base in kind.__mro__[:-1] for name in vars(base)}


def _denied(said: Value) -> Value:
    if isinstance(said, V):
        return V(Apply(operator.not_, (said.expr,), Scalar("bool", True)))
    return StaticV(not said.value) if isinstance(said, StaticV) else said


def refuse_hooks(lw: Lowerer, cls: type, node: Any) -> None:
    """A located error where a class says itself what its attributes are, or how its objects come to be."""
    for hook in ("__setattr__", "__getattr__", "__getattribute__"):
        method = inspect.getattr_static(cls, hook, None)
        if isinstance(method, types.FunctionType) and method.__code__.co_filename != GENERATED:
            lw.fail(node, f"`{cls.__name__}` defines `{hook}`, which is not asked here",
                    "Name the attributes in `__init__`, and read them by their names.")  # fmt: skip


def iterated(lw: Lowerer, value: Value, node: Any) -> Value:
    """Return what a loop over a value goes over: of an object, what its class says that it gives.

    A class without `__iter__` is asked for its items one after the other, until there are no more: that is the
    attribute which its `__getitem__` hands on to.
    """
    from s2sad.frontend.inline import inline_call
    from s2sad.frontend.yielded import gives_values, listed

    if isinstance(value, IterV) and value.kind == "iter":
        return iterated(lw, value.parts[0], node)
    if isinstance(value, IterV):
        return replace(value, parts=tuple(iterated(lw, part, node) for part in value.parts))
    if not isinstance(value, StructV | StaticV):
        return value
    if isinstance(value, StructV):
        formatted.refuse_parts(lw, value, node)
    if (method := own_method(value, "iter", [None])) is not None:
        if gives_values(method):
            return listed(lw, method, [value], {}, node, once=True)
        lw.ctx.asking_iter += 1
        given = inline_call(lw, method, [value], {}, node)
        lw.ctx.asking_iter -= 1
        if given is None or given == value:
            return value
        return iterated(lw, given, node)
    if not isinstance(value, StructV):
        return value
    held = _handed_on(own_method(value, "getitem"))
    items = value.items[value.keys.index(held)] if held in value.keys else value
    return items if not isinstance(items, StructV) or items.kind in ("list", "tuple") else value


TAKES_ITEMS = (
    builtins.enumerate, builtins.zip, builtins.iter, builtins.sum, builtins.list, builtins.tuple, builtins.set,
    builtins.sorted, builtins.any, builtins.all, builtins.max, builtins.min,
)  # fmt: skip
"""Functions of Python that go over the items of what they are given."""


def with_items(lw: Lowerer, fn: Any, args: list[Value], node: Any) -> list[Value]:
    """Return the arguments of such a function, with the items in the place of what it goes over."""
    count = len(args) if fn is builtins.zip else 1  # the others are a start, or a size
    if fn in (builtins.max, builtins.min) and len(args) > 1:
        count = 0
    return [iterated(lw, arg, node) if k < count else arg for k, arg in enumerate(args)]



def _handed_on(method: types.FunctionType | None) -> str:
    """Return the attribute whose items are the object's: `return self.items[k]`; "" if there is none."""
    if method is None:
        return ""
    text = source_of(method).node
    body = [s for s in text.body if not (isinstance(s, gast.Expr) and isinstance(s.value, gast.Constant))]
    own, place = [*[a.id for a in text.args.args], "", ""][:2]
    match body:
        case [gast.Return(value=gast.Subscript(
            value=gast.Attribute(value=gast.Name(id=base), attr=attr), slice=gast.Name(id=index)
        ))] if (base, index) == (own, place):  # fmt: skip
            return attr
        case _:
            return ""


def refuse_own_items(lw: Lowerer, value: StructV, node: Any) -> None:
    """A located error where a class says itself what its objects give one after the other."""
    if own_method(value, "iter") is not None or own_method(value, "getitem") is not None:
        lw.fail(node, f"a loop over a `{value.kind.__name__}`, or its unpacking, asks the class for the items",
                "Loop over the attribute that holds them, or let `__iter__` be `return iter(self.…)`.")  # fmt: skip
