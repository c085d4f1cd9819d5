"""Numba learns `scipy.special`: kernels of SciPy's own C code, by name, for numbers and for arrays.

A kernel is a symbol of the process, resolved anew whenever machine code is loaded; so code that
calls it can be kept on disk. Single precision is computed in double and rounded, as SciPy's result
is to the last bit or two.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import re
import sys
import types
from collections.abc import Callable
from typing import Any

from s2sad.runtime.special import hurwitz_zeta

_SIGNATURE = re.compile(r"double \(((?:double, )+)int __pyx_skip_dispatch\)|double \(((?:double(?:, )?)+)\)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_done: set[str] = set()
_Dispatcher: Any = importlib.import_module("numba.core.dispatcher").Dispatcher


def enable(text: str, *used: Any) -> None:
    """Teach Numba the functions with rules that a text names, or the functions `used` beside it and what they call.

    Each once, and only after the program has imported SciPy's: all of them take half a second.
    """
    if "scipy.special" not in sys.modules:
        return
    names = set(_WORD.findall(text))
    seen: set[int] = set()
    for value in used:
        _collect(value, names, seen)
    special: Any = importlib.import_module("scipy.special")
    if names.isdisjoint(special.__all__):
        return
    table: Any = importlib.import_module("s2sad.rules.special")
    for line in table.SPECIAL:
        fn = getattr(special, line.name)
        if line.name in _done or not {line.name, fn.__name__} & names:
            continue
        _done.add(line.name)
        if fn is special.zeta:
            _overload(fn, hurwitz_zeta, 2, skip=False)
            continue
        found = _kernel(line.name)
        if found is not None:
            _overload(fn, *found)


def _collect(value: Any, names: set[str], seen: set[int]) -> None:
    """Add the names of what a function reads, by any name, and of what the functions that it calls read."""
    if id(value) in seen:
        return
    seen.add(id(value))
    names.add(getattr(value, "__name__", ""))
    if isinstance(value, _Dispatcher):
        value = value.py_func
    if not isinstance(value, types.FunctionType):
        return
    waiting = [value.__code__]
    while waiting:
        code = waiting.pop()
        waiting += [part for part in code.co_consts if isinstance(part, types.CodeType)]
        names.update(code.co_names)
        for name in code.co_names:
            if name in value.__globals__:
                _collect(value.__globals__[name], names, seen)
    for cell in value.__closure__ or ():
        with contextlib.suppress(ValueError):  # nothing is in it yet
            _collect(cell.cell_contents, names, seen)


def _kernel(name: str) -> tuple[Any, int, bool] | None:
    """Return the kernel of all doubles, its number of arguments, and whether it takes one more flag."""
    numba: Any = importlib.import_module("numba")
    binding: Any = importlib.import_module("llvmlite.binding")
    capsules: dict[str, Any] = importlib.import_module("scipy.special.cython_special").__pyx_capi__
    for key, capsule in capsules.items():
        if re.fullmatch(rf"(__pyx_fuse_[\d_]+)?{name}", key) is None:
            continue
        text = _name_of(capsule)
        found = _SIGNATURE.fullmatch(text)
        if found is None:
            continue
        count, skip = len(re.findall("double", text)) - 1, "skip_dispatch" in text
        symbol = f"s2sad_special_{name}"
        binding.add_symbol(symbol, importlib.import_module("numba.extending").get_cython_function_address(
            "scipy.special.cython_special", key
        ))  # fmt: skip
        flags = (numba.int32,) if skip else ()
        kind = numba.float64(*(numba.float64,) * count, *flags)
        return numba.types.ExternalFunction(symbol, kind), count, skip
    return None


def _name_of(capsule: Any) -> str:
    read = ctypes.pythonapi.PyCapsule_GetName
    read.restype, read.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return read(capsule).decode()


def _overload(fn: Any, kernel: Any, count: int, skip: bool) -> None:
    """Give `fn` an implementation for any mixture of numbers and arrays that broadcasts."""
    numba: Any = importlib.import_module("numba")
    extending: Any = importlib.import_module("numba.extending")
    compiled = kernel if not callable(kernel) or not hasattr(kernel, "__code__") else numba.njit(kernel)
    double = numba.vectorize(_written("double", count, "{kernel}", skip, compiled))
    single = numba.vectorize(_written("single", count, "float32({kernel})", skip, compiled))

    def choose(*kinds: Any) -> Any:
        parts = [getattr(kind, "dtype", kind) for kind in kinds]
        if not all(isinstance(part, numba.types.Number | numba.types.Boolean) for part in parts):
            return None
        floats = [part for part in parts if isinstance(part, numba.types.Float)]
        narrow = bool(floats) and all(part == numba.float32 for part in floats)
        return _written("call", count, "vectorised({args})", False, single if narrow else double)

    names = ", ".join("abcd"[:count])
    scope: dict[str, Any] = {"choose": choose}
    exec(f"def typed({names}):\n    return choose({names})", scope)
    extending.overload(fn)(scope["typed"])


def _written(name: str, count: int, body: str, skip: bool, kernel: Any) -> Callable[..., Any]:
    """Return a function of `count` named arguments, as Numba wants them, that calls `kernel`."""
    numpy: Any = importlib.import_module("numpy")
    args = ", ".join("abcd"[:count])
    wide = ", ".join(f"float64({arg})" for arg in "abcd"[:count]) + (", 0" if skip else "")
    text = body.format(kernel=f"kernel({wide})", args=args)
    scope: dict[str, Any] = {
        "kernel": kernel, "vectorised": kernel, "float64": numpy.float64, "float32": numpy.float32,
    }  # fmt: skip
    exec(f"def {name}({args}):\n    return {text}", scope)
    return scope[name]
