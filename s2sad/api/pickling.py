"""Functions that cross process boundaries: by name where the name leads back, else by source."""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import linecache
import sys
import textwrap
import types
from dataclasses import dataclass
from pickle import PicklingError
from typing import Any


@dataclass(frozen=True, slots=True)
class ByName:
    """A function under its name in a module, `attribute` being the way from what stands there."""

    module: str
    qualname: str
    attribute: str


@dataclass(frozen=True, slots=True)
class BySource:
    """A function as text, with the values that it reads from around it."""

    module: str
    name: str
    text: str
    values: dict[str, Any]
    defaults: tuple[Any, ...]
    kw_defaults: dict[str, Any]


def lookup(module: str, qualname: str) -> Any:
    """Return what stands under a qualified name in a loaded module, or None."""
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


def global_name(value: Any) -> str | None:
    """Return the qualified name under which exactly this object is found in its module."""
    module, qualname = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not module or not qualname or "<" in qualname:
        return None
    return qualname if lookup(module, qualname) is value else None


def portable(fun: Any, within: tuple[types.FunctionType, ...] = ()) -> Any:
    """Return something picklable from which `restored` gets the function back.

    A script's own functions go by source too: another process has another `__main__`. `within`
    are the functions that carry this one.

    Raises:
        PicklingError: a lambda, a function without source, or functions that call each other.
    """
    if not isinstance(fun, types.FunctionType):
        return fun
    if fun.__module__ != "__main__" and global_name(fun) is not None:
        return fun
    if fun in within:
        raise PicklingError(f"`{fun.__qualname__}` is recursive through others; put it in a module")
    holder = lookup(fun.__module__, fun.__qualname__) if "<" not in fun.__qualname__ else None
    for attribute in ("py_func", "fun", "__wrapped__"):
        if (
            holder is not None
            and getattr(holder, attribute, None) is fun
            and fun.__module__ != "__main__"
        ):
            return ByName(fun.__module__, fun.__qualname__, attribute)
    return _by_source(fun, within)


def _by_source(fun: types.FunctionType, within: tuple[types.FunctionType, ...]) -> BySource:
    try:
        text = textwrap.dedent(inspect.getsource(fun))
        tree = ast.parse(text)
    except (OSError, SyntaxError, TypeError) as error:
        raise PicklingError(
            f"`{fun.__qualname__}` has no source to be pickled by: {error}"
        ) from error
    node = tree.body[0]
    if not isinstance(node, ast.FunctionDef):
        raise PicklingError(f"`{fun.__qualname__}` is a lambda; define it with `def` to pickle it")
    node.decorator_list = []
    cells = zip(fun.__code__.co_freevars, fun.__closure__ or (), strict=True)
    values = {name: portable(cell.cell_contents, (*within, fun)) for name, cell in cells}
    if fun.__module__ == "__main__":
        names = set(_names(fun.__code__)) & fun.__globals__.keys()
        values |= {
            name: _carried(fun.__globals__[name], (*within, fun)) for name in names - {fun.__name__}
        }
    defaults = dict(fun.__kwdefaults__ or {})
    return BySource(
        fun.__module__, fun.__name__, ast.unparse(tree), values, fun.__defaults__ or (), defaults
    )


@dataclass(frozen=True, slots=True)
class Several:
    """A tuple of what is carried."""

    items: tuple[Any, ...]


def carried(value: Any) -> Any:
    """Return something picklable from which `restored` gets a value of an object back."""
    if isinstance(value, tuple):
        return Several(tuple(carried(item) for item in value))
    return portable(value)


@dataclass(frozen=True, slots=True)
class Imported:
    """A module that a function names."""

    name: str


def _carried(value: Any, within: tuple[types.FunctionType, ...]) -> Any:
    return (
        Imported(value.__name__) if isinstance(value, types.ModuleType) else portable(value, within)
    )


def _names(code: types.CodeType) -> tuple[str, ...]:
    inner = [name for c in code.co_consts if isinstance(c, types.CodeType) for name in _names(c)]
    return (*code.co_names, *inner)


def restored(carried: Any) -> Any:
    """Return the function that `portable` was given, in this process."""
    match carried:
        case Imported(name):
            return importlib.import_module(name)
        case ByName(module, qualname, attribute):
            importlib.import_module(module)
            return getattr(lookup(module, qualname), attribute)
        case BySource():
            return _executed(carried)
        case Several(items):
            return tuple(restored(item) for item in items)
        case _:
            return carried


def _executed(carried: BySource) -> Any:
    """Execute the text in a file name of its own, so that its source is found again."""
    digest = hashlib.sha256(carried.text.encode()).hexdigest()[:12]
    file = f"<s2sad pickled {carried.name} {digest}>"
    linecache.cache[file] = (len(carried.text), None, carried.text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {}
    if carried.module != "__main__":
        scope.update(vars(importlib.import_module(carried.module)))
    scope.update({name: restored(value) for name, value in carried.values.items()})
    scope["__name__"] = carried.module
    exec(compile(carried.text, file, "exec"), scope)
    fun = scope[carried.name]
    fun.__defaults__ = carried.defaults or None
    fun.__kwdefaults__ = carried.kw_defaults or None
    return fun
