"""A hash of what a function computes: its code, and everything that its code names.

Numba's own cache looks at one file and so returns stale machine code after a callee in another
file has changed; hashing the callees is what makes ours safe.
"""

from __future__ import annotations

import hashlib
import os
import sys
import types
import uuid
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

_LIBRARIES = frozenset({"numpy", "numba", "scipy", "llvmlite"})
_STANDARD = os.path.dirname(os.__file__) + os.sep


def is_library(function: types.FunctionType) -> bool:
    """Say whether Numba knows the function itself, so that its source must not be compiled."""
    root = (function.__module__ or "").split(".")[0]
    if root in _LIBRARIES:
        return True
    # A user's test.py or code.py shares its name with a standard module, but not its place.
    file = function.__code__.co_filename
    standard = file.startswith((_STANDARD, "<frozen ")) and "site-packages" not in file
    return standard and root in sys.stdlib_module_names


def names_used(code: types.CodeType) -> set[str]:
    """Return the global names and attributes that `code` and the code nested in it mention."""
    names = set(code.co_names)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= names_used(const)
    return names


def globals_used(function: types.FunctionType) -> dict[str, Any]:
    """Return the globals that `function` reads, by name, in the order of the names."""
    scope = function.__globals__
    return {name: scope[name] for name in sorted(names_used(function.__code__)) if name in scope}


def fingerprint(value: object) -> str:
    """Return a hash that is the same in every process, and changes whenever `value` does.

    A value that cannot be described gets a hash of its own each time: compiled again, never stale.
    """
    digest = hashlib.sha256()
    for part in _describe(value, {}):
        digest.update(part.encode() if isinstance(part, str) else part)
        digest.update(b"\0")
    return digest.hexdigest()


def _describe(value: object, seen: dict[int, int]) -> Iterator[str | bytes]:
    match value:
        case None | bool() | int() | float() | complex() | str() | bytes() | np.generic():
            yield f"{type(value).__qualname__} {value!r}"
        case np.ndarray():
            yield from _describe_array(cast(np.ndarray[Any, Any], value))
        case tuple() | list():
            items = cast(tuple[object, ...] | list[object], value)
            yield f"{type(items).__qualname__} {len(items)}"
            for item in items:
                yield from _describe(item, seen)
        case frozenset() | set():
            yield "set"
            yield from sorted(fingerprint(x) for x in cast(frozenset[object], value))
        case dict():
            mapping = cast(dict[object, object], value)
            yield f"dict {len(mapping)}"
            for key, item in mapping.items():
                yield from _describe(key, seen)
                yield from _describe(item, seen)
        case types.CodeType():
            yield from _describe_code(value, seen)
        case types.ModuleType():
            yield f"module {value.__name__} {getattr(value, '__version__', '')}"
        case type() | types.BuiltinFunctionType() | np.ufunc():
            yield f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}"
        case _ if callable(value):
            yield from _describe_callable(value, seen)
        case _:
            yield _describe_other(value)


def _describe_array(array: np.ndarray[Any, Any]) -> Iterator[str | bytes]:
    yield f"array {array.dtype.str} {array.shape} {array.flags.f_contiguous}"
    if array.dtype.hasobject:
        yield uuid.uuid4().hex
    else:
        yield np.ascontiguousarray(array).tobytes()


def _describe_code(code: types.CodeType, seen: dict[int, int]) -> Iterator[str | bytes]:
    yield f"code {code.co_name} {code.co_argcount} {code.co_kwonlyargcount} {code.co_flags}"
    yield code.co_code
    yield " ".join((*code.co_names, "|", *code.co_varnames, "|", *code.co_freevars))
    for const in code.co_consts:
        yield from _describe(const, seen)


def _describe_callable(value: Callable[..., Any], seen: dict[int, int]) -> Iterator[str | bytes]:
    if id(value) in seen:
        yield f"again {seen[id(value)]}"
        return
    seen[id(value)] = len(seen)
    function: object = getattr(value, "py_func", value)
    if function is not value:
        yield f"dispatcher {sorted(getattr(value, 'targetoptions', {}).items())}"
    if not isinstance(function, types.FunctionType):
        yield _describe_other(function)
        return
    if is_library(function):
        yield f"library {function.__module__}.{function.__qualname__}"
        return
    yield from _describe_code(function.__code__, seen)
    yield from _describe(function.__defaults__, seen)
    yield from _describe(function.__kwdefaults__, seen)
    for cell in function.__closure__ or ():
        yield from _describe(cell.cell_contents, seen)
    for name, used in globals_used(function).items():
        yield name
        yield from _describe(used, seen)


def _describe_other(value: object) -> str:
    text = repr(value)
    return uuid.uuid4().hex if " at 0x" in text else f"{type(value).__qualname__} {text}"
