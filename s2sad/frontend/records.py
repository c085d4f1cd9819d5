"""Objects of the user's classes that a function makes, and their operators.

An object is taken apart into its attributes, as a dataclass is; `__init__` is written into the function, and so are
the methods that change what it holds.
"""

from __future__ import annotations

import abc
import inspect
import operator
import types
from dataclasses import replace
from typing import Any

import gast

from s2sad.errors import SourceNotFoundError
from s2sad.frontend import protocols
from s2sad.frontend.containers import current, identified, was_put_away
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.source import source_of
from s2sad.frontend.values import Cell, ItemCell, StructV, Value, const

_NAMES: dict[Any, str] = {
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "truediv", operator.pow: "pow",
    operator.matmul: "matmul", operator.floordiv: "floordiv", operator.mod: "mod", operator.neg: "neg",
    operator.pos: "pos", operator.invert: "invert", operator.and_: "and", operator.or_: "or", operator.xor: "xor",
    operator.lshift: "lshift", operator.rshift: "rshift",
}  # fmt: skip


def as_written(fn: Any) -> Any:
    """Return the class that the user wrote, of one that `numba.experimental.jitclass` has made of it."""
    compiled = isinstance(fn, type) and type(fn).__name__ == "JitClassType" and type(fn).__module__.startswith("numba.")
    return fn.__mro__[1] if compiled else fn


def compiled_method(obj: Any, name: str) -> Any:
    """Return the method that the user wrote, of an object of a class that Numba has compiled; None of any other."""
    methods = getattr(getattr(obj, "_numba_type_", None), "jit_methods", {})
    return types.MethodType(methods[name].py_func, obj) if name in methods else None


def is_plain_class(fn: Any) -> bool:
    """Say whether an object is a class of the user's, whose objects are their attributes."""
    return (
        isinstance(fn, type) and type(fn) in (type, abc.ABCMeta) and fn.__mro__[-1] is object
        and all(isinstance(c.__dict__.get("__init__", None), types.FunctionType | None) for c in fn.__mro__[:-1])
        and not any("__new__" in c.__dict__ for c in fn.__mro__[:-1])
        and all((c.__module__ or "").split(".")[0] not in ("numpy", "numba", "scipy", "builtins", "s2sad")
                for c in fn.__mro__[:-1])
        and (isinstance(fn.__init__, types.FunctionType) or _is_bare(fn))  # type: ignore[misc]
    )  # fmt: skip


def _is_bare(cls: type) -> bool:
    """Say whether a class of the user's has nothing to begin its objects with."""
    return cls.__init__ is object.__init__ and len(cls.__mro__) > 1  # type: ignore[misc]


def construct(lw: Lowerer, cls: type, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`cls(*args)`: what `__init__` leaves behind."""
    from s2sad.frontend.inline import inline_call

    protocols.refuse_hooks(lw, cls, node)
    begun = _begun(cls)
    made = identified(StructV(cls, tuple(begun), tuple(begun.values())))
    assert isinstance(made, StructV)
    if _is_bare(cls):
        return made
    name = lw.fresh("made")
    lw.env[name] = made
    done = inline_call(lw, cls.__init__, [made, *args], kwargs, node)  # type: ignore[misc]
    if done is None:
        lw.fail(node, f"`{cls.__name__}.__init__` returns early, and cannot be written in here",
                "Let it run to its end, or make the object outside and pass it in.")  # fmt: skip
    now = lw.env[name]
    after = now if isinstance(now, StructV) and isinstance(now.cell, ItemCell) else current(lw, made)
    if isinstance(after.cell, ItemCell):  # it has put itself into a list
        del lw.env[name]
        return after
    result = after if was_put_away(after) else replace(after, cell=Cell())  # the names inside `__init__` are gone
    del lw.env[name]
    return result


def _begun(cls: type) -> dict[str, Value]:
    """Return the numbers of a class that its methods count on from, by `self.n += 1`: each object has its own."""
    written = {name for base in cls.__mro__[:-1] for method in vars(base).values() for name in _written_by(method)}
    held = {name: inspect.getattr_static(cls, name, None) for name in sorted(written)}
    return {name: const(value) for name, value in held.items() if type(value) in (int, float, bool, complex)}


def _written_by(method: Any) -> list[str]:
    """Return the attributes that a method adds to, or binds, in its object."""
    if not isinstance(method, types.FunctionType) or not method.__code__.co_argcount:
        return []
    own = method.__code__.co_varnames[0]
    try:
        text = source_of(method).node
    except SourceNotFoundError:
        return []
    stored = [part for part in gast.walk(text) if isinstance(part, gast.Attribute) and isinstance(part.ctx, gast.Store)]
    return [part.attr for part in stored if getattr(part.value, "id", "") == own]


def operated(lw: Lowerer, fn: Any, left: Value, right: Value | None, node: Any) -> Value | None:
    """Return what an operator that the class of an operand defines gives; None if there is none."""
    from s2sad.frontend.calls import call_function

    word = _NAMES.get(fn)
    for owner, other, prefix in ((left, right, ""), (right, left, "r")):
        if word is None or owner is None:
            continue
        method = protocols.special(owner, f"{prefix}{word}", (other,))
        if method is not None:
            return call_function(lw, method, [owner] if other is None else [owner, other], {}, node)
    return None


def augmented(lw: Lowerer, fn: Any, now: Value, value: Value, node: Any) -> Value | None:
    """Return what `now += value` leaves where the class of `now` says so, by `__iadd__` or by `__add__`."""
    in_place = protocols.asked(lw, now, f"i{_NAMES[fn]}", [value], node) if fn in _NAMES else None
    return operated(lw, fn, now, value, node) if in_place is None else in_place


def called(lw: Lowerer, owner: StructV, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value | None:
    """Return what `__call__` of an object gives; None if its class has none."""
    from s2sad.frontend.calls import call_function

    method = None if isinstance(owner.kind, str) else inspect.getattr_static(owner.kind, "__call__", None)
    return call_function(lw, method, [owner, *args], kwargs, node) if isinstance(method, types.FunctionType) else None


def set_by_property(lw: Lowerer, owner: StructV, name: str, value: Value, node: Any) -> bool:
    """`owner.name = value` where the class has a property of that name: what its setter does; False if it has none."""
    from s2sad.frontend.calls import call_function

    found = inspect.getattr_static(owner.kind, name, None) if isinstance(owner.kind, type) else None
    if not isinstance(found, property):
        return False
    if found.fset is None:
        lw.fail(node, f"the property `{name}` of `{owner.kind.__name__}` has no setter",
                "Write the attribute that it is computed from.")  # fmt: skip
    call_function(lw, found.fset, [owner, value], {}, node)
    return True
