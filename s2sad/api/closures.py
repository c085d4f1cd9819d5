"""Functions that are made anew at every call, such as `lambda w: loss(w, batch)`: derived once.

So are transforms of them: an object that has `s2sad_shared` says what it is made of, and of which function.

Two of them with one code object, and in their cells the same values but for arrays, have one derivative:
it reads the arrays at every call, each function its own. What was derived for the first serves the
others, as long as what the first reads from elsewhere is unchanged.
"""

from __future__ import annotations

import types
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from s2sad.api.custom import rules_key
from s2sad.api.guards import Guard, guard, outer_arrays
from s2sad.api.structure import Tree, static_key

if TYPE_CHECKING:
    from s2sad.frontend.lowerer import Captured

_KEPT = 256
_NUMBERS = (bool, int, float, complex, str, bytes, type(None), np.generic)
_FIXED = (types.ModuleType, type, np.ufunc, types.BuiltinFunctionType)

_ITEMS = 100

Made = TypeVar("Made")
Read = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class _Kept:
    fun: Any
    """Kept alive, because the key holds the identity of its module."""
    made: Any
    places: tuple[int | None, ...]
    """For each captured array, which reading of the function gives it; None for one from elsewhere."""
    holds: Guard | None


_kept: OrderedDict[Hashable, _Kept] = OrderedDict()


def derived_once(
    fun: Callable[..., Any], asked: Hashable, derive: Callable[[], tuple[Any, Made]], given: Iterable[Tree] = ()
) -> tuple[Any, Made]:
    """Return what `derive` makes: the derivative, with its captured arrays, and the rest; made before if possible.

    `asked` is all that the derivative depends on beside the function; `given` are the structures of its arguments.
    """
    made_of, fun = _innermost(fun)
    described = _described(fun)
    if described is None:
        return derive()
    key, reads = described
    key = (key, made_of, asked, rules_key())
    try:
        known = _kept.get(key)
    except TypeError:  # an argument that is known, and compares by what is in it
        return derive()
    if known is not None and (known.holds is None or known.holds()):
        derivative, rest = known.made
        items = tuple(
            item if place is None else replace(item, read=reads[place])
            for item, place in zip(getattr(derivative, "captured", ()), known.places, strict=True)
        )
        return replace(derivative, captured=items) if items else derivative, rest
    holds = guard(fun, given)
    made = derive()
    places = _places(getattr(made[0], "captured", ()), reads, outer_arrays(fun))
    if places is not None:
        _kept[key] = _Kept(fun, made, places, holds)
        _kept.move_to_end(key)
        while len(_kept) > _KEPT:
            _kept.popitem(last=False)
    return made


def forget(fun: Callable[..., Any]) -> None:
    """Drop what was derived for functions of the code of `fun`."""
    code = getattr(fun, "__code__", None)
    for key in [key for key in _kept if key[0][0] is code]:  # type: ignore[index]
        del _kept[key]


def _places(
    captured: tuple[Captured, ...], reads: list[Read], outer: set[int]
) -> tuple[int | None, ...] | None:
    """Return which reading gives each captured array; None where one array is read in two ways."""
    ids = [id(read()) for read in reads]
    if len(set(ids)) < len(ids) or outer & set(ids):
        return None
    return tuple(ids.index(key) if (key := id(item.read())) in ids else None for item in captured)


def _innermost(fun: Any) -> tuple[tuple[Hashable, ...], Any]:
    """Return what a transformed function is made of, and the function at its heart."""
    parts: list[Hashable] = []
    while hasattr(fun, "s2sad_shared"):
        part, fun = fun.s2sad_shared()
        parts.append(part)
    return tuple(parts), fun


def _described(fun: Any) -> tuple[Hashable, list[Read]] | None:
    """Return what tells a function from others of its code, and how its arrays are read; None: do not share it."""
    if not isinstance(fun, types.FunctionType):
        return None
    reads: list[Read] = []
    key = _function_key(fun, reads, [])
    return None if key is None else (key, reads)


def _function_key(fun: types.FunctionType, reads: list[Read], within: list[Any]) -> Hashable | None:
    if fun in within:
        return "again", within.index(fun)
    within.append(fun)
    parts: list[Hashable] = [fun.__code__, id(fun.__globals__), fun.__qualname__]
    for value in (*(fun.__defaults__ or ()), *(fun.__kwdefaults__ or {}).values()):
        if not isinstance(value, _NUMBERS):
            return None
        parts.append(static_key(value))
    for cell in fun.__closure__ or ():
        try:
            part = _part(cell.cell_contents, partial(getattr, cell, "cell_contents"), reads, within)
        except ValueError:  # a name that is not bound yet
            return None
        if part is None:
            return None
        parts.append(part)
    return tuple(parts)


def _part(value: Any, read: Read, reads: list[Read], within: list[Any]) -> Hashable | None:
    if type(value) is np.ndarray and value.ndim:
        reads.append(read)
        return static_key(value)
    made_of, inner = _innermost(value)
    if isinstance(inner, types.FunctionType):
        key = _function_key(inner, reads, within)
        return None if key is None else (made_of, key)
    if isinstance(value, _NUMBERS) or isinstance(value, _FIXED):
        return static_key(value)
    if type(value) in (tuple, list, dict) and len(value) <= _ITEMS:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        parts = [(static_key(k), _part(item, partial(_item, read, k), reads, within)) for k, item in items]
        return None if any(part is None for _, part in parts) else (type(value), tuple(parts))
    return None


def _item(read: Read, key: Any) -> Any:
    return read()[key]
