"""All that a derivative is made from, in words that are the same in every process: the key of what is kept on disk.

A function is told by its code, the text of its file, and all that its names mean: functions, numbers, texts and
containers of them, modules by what is asked of them. What lies beyond (objects of the user's classes, arrays, rules,
names looked up as texts) may mean anything tomorrow: `Unsure` is raised, and nothing is kept.
"""

from __future__ import annotations

import builtins
import dataclasses
import dis
import hashlib
import inspect
import linecache
import os
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from s2sad.api.options import Options
from s2sad.backends.fingerprint import names_used
from s2sad.ir.types import Array, ListOf, Scalar, Static, Struct, Sym

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
_LIBRARIES = frozenset({"numpy", "numba", "scipy", "s2sad", "builtins"})
_BY_TEXT = frozenset({"getattr", "globals", "vars", "eval", "exec", "__import__", "import_module", "locals"})
_IMPORT = dis.opmap["IMPORT_NAME"]
_TYPES = (Array, ListOf, Scalar, Static, Struct, Sym, Options)


class Unsure(Exception):
    """A derivative is made from something that cannot be told in words."""


def described(*values: Any) -> str:
    """Return a hash of values and of all that they are made from; raises `Unsure`."""
    digest = hashlib.sha256()
    for part in _Walk().each(values, frozenset()):
        digest.update(part.encode() if isinstance(part, str) else part)
        digest.update(b"\0")
    return digest.hexdigest()


def by_name(value: Any) -> tuple[str, str] | None:
    """Return the module of a library and the name under which it has `value`; None where it has not."""
    if inspect.getattr_static(type(value), "__getattr__", None) is not None:
        return None  # it answers for any name
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(value, np.ufunc):
        module, name = "numpy", value.__name__
        if getattr(np, name, None) is not value:
            module = "scipy.special"
    if not isinstance(module, str) or not isinstance(name, str) or not _is_library_name(module):
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return (module, name) if found is value else None


def _is_library_name(module: str) -> bool:
    root = module.partition(".")[0]
    if root in _LIBRARIES:
        return True
    file = getattr(sys.modules.get(root), "__file__", None)  # a user's `code.py` has a name of the standard library
    return root in sys.stdlib_module_names and (file is None or file.startswith(os.path.dirname(os.__file__) + os.sep))


def _version(module: str) -> str:
    """Return the version of the package that a module is of, where it says one."""
    return str(getattr(sys.modules.get(module.partition(".")[0]), "__version__", ""))


class _Walk:
    """One walk over values: each function is described once."""

    def __init__(self) -> None:
        self.seen: dict[int, int] = {}
        self.files: set[str] = set()
        self.alive: list[Any] = []

    def each(self, values: Any, names: frozenset[str]) -> Iterator[str | bytes]:
        yield f"{type(values).__name__} {len(values)}"
        for value in values:
            yield from self.one(value, names)

    def one(self, value: Any, names: frozenset[str]) -> Iterator[str | bytes]:
        """Describe a value, of which code with these `names` makes use."""
        kind: Any = type(value)
        if kind in _PLAIN:
            yield f"{kind.__name__} {value!r}"
        elif issubclass(kind, np.generic) and kind.__module__ == "numpy" and not value.dtype.hasobject:
            yield f"number {value.dtype.str}"
            yield value.tobytes()
        elif kind is slice or kind is range or issubclass(kind, np.dtype):
            if issubclass(kind, np.dtype) and (value.hasobject or value.fields is not None):
                raise Unsure
            yield f"{kind.__name__} {value!r}"
            if kind is slice:
                yield from self.each((value.start, value.stop, value.step), names)
        elif kind in (tuple, list):
            yield from self.each(value, names)
        elif kind in (set, frozenset):
            if not all(type(item) in _PLAIN for item in value):
                raise Unsure
            yield from self.each(tuple(sorted(map(repr, value))), names)
        elif kind is dict:
            yield from self.each(tuple(value), names)
            yield from self.each(tuple(value.values()), names)
        elif kind in _TYPES:
            yield kind.__name__
            for field in dataclasses.fields(value):
                yield from self.one(getattr(value, field.name), names)
        elif isinstance(value, types.ModuleType):
            yield from self.module(value, names)
        elif by_name(value) is not None:
            place = by_name(value) or ("", "")
            yield f"{' '.join(place)} {_version(place[0])}"
        elif hasattr(kind, "s2sad_shared"):
            part, inner = value.s2sad_shared()
            yield "transform"
            yield from self.one(part, names)
            yield from self.one(inner, names)
        elif (kind.__module__, kind.__name__) == ("numba.core.registry", "CPUDispatcher"):
            yield "dispatcher"
            yield from self.one({k: value.targetoptions[k] for k in sorted(value.targetoptions)}, names)
            yield from self.one(value.py_func, names)
        elif kind is types.FunctionType:
            yield from self.function(value)
        else:
            raise Unsure

    def module(self, module: types.ModuleType, names: frozenset[str]) -> Iterator[str | bytes]:
        """Describe a module: a library by its name, one of the user's by what code with these names asks of it."""
        yield f"module {module.__name__} {_version(module.__name__)}"
        if id(module) in self.seen:
            return
        self.seen[id(module)] = len(self.seen)
        scope, own = vars(module), not _is_library_name(module.__name__)
        if own and ("__getattr__" in scope or not names):  # an argument: what is asked of it is not told here
            raise Unsure
        for name in sorted(names & scope.keys()):
            yield name
            try:
                yield from self.one(scope[name], names)
            except Unsure:
                if own:
                    raise
                yield f"an object of {module.__name__}"
        del self.seen[id(module)]

    def function(self, function: types.FunctionType) -> Iterator[str | bytes]:
        if id(function) in self.seen:
            yield f"again {self.seen[id(function)]}"
            return
        self.seen[id(function)] = len(self.seen)
        self.alive.append(function)
        code = function.__code__
        if vars(function):
            raise Unsure
        yield f"function {function.__module__} {function.__qualname__} {function.__name__}"
        yield from self.file(code.co_filename)
        yield from self.code(code)
        names = frozenset(names_used(code))
        if names & _BY_TEXT:
            raise Unsure
        yield from self.one(function.__defaults__, names)
        yield from self.one(function.__kwdefaults__, names)
        for cell in function.__closure__ or ():
            try:
                held = cell.cell_contents
            except ValueError:
                raise Unsure from None
            yield from self.one(held, names)
        scope = {**{name: value for name, value in vars(builtins).items() if name in names}, **function.__globals__}
        for name in sorted(names & scope.keys()):
            yield name
            yield from self.one(scope[name], names)

    def code(self, code: types.CodeType) -> Iterator[str | bytes]:
        if _IMPORT in code.co_code[::2]:
            raise Unsure
        yield f"code {code.co_name} {code.co_firstlineno} {code.co_argcount} {code.co_posonlyargcount}"
        yield f"{code.co_kwonlyargcount} {code.co_flags}"
        yield code.co_code
        yield code.co_linetable
        for kept in (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars):
            yield " ".join(kept)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                yield from self.code(constant)
            else:
                yield from self.one(constant, frozenset())

    def file(self, name: str) -> Iterator[str | bytes]:
        """Describe a file by its lines, as the compiler reads them."""
        yield name
        if name in self.files:
            return
        self.files.add(name)
        linecache.checkcache(name)
        lines = linecache.getlines(name)
        if not lines or name.startswith("<"):
            raise Unsure
        yield "".join(lines)
