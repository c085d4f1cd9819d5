"""Functions of NumPy that are written where they are called.

Numba writes those that make, copy, turn and multiply arrays, sort them and solve systems in Python and compiles them
for each type of their arguments, 0.03 to 3 s apiece and a third of all compile time of a small program. What they do
is a few instructions (`native_arrays`): these come first where our functions are compiled, and Numba's own where they
know nothing of the types.
"""

from __future__ import annotations

import importlib
import inspect
import operator
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from s2sad.backends import native_arrays as arrays
from s2sad.runtime import decompositions, linalg

_base: Any = importlib.import_module("numba.core.imputils")
_extending: Any = importlib.import_module("numba.core.extending")
_registry: Any = importlib.import_module("numba.core.registry")
_templates: Any = importlib.import_module("numba.core.typing.templates")
_types: Any = importlib.import_module("numba.core.types")
_typing: Any = importlib.import_module("numba.core.typing")

_NATIVE: dict[Any, Callable[..., arrays.Typed]] = {
    np.empty: arrays.empty,
    np.zeros: arrays.zeros,
    np.ones: arrays.ones,
    np.full: arrays.full,
    np.eye: arrays.eye,
    np.empty_like: arrays.empty_like,
    np.zeros_like: arrays.zeros_like,
    np.copy: arrays.copy,
    np.ascontiguousarray: arrays.ascontiguousarray,
    np.transpose: arrays.transpose,
    np.swapaxes: arrays.swapaxes,
    np.reshape: arrays.reshape,
    np.arange: arrays.arange,
    operator.matmul: arrays.matmul,
    np.linalg.solve: arrays.solve,
    np.sort: arrays.sort,
    np.argsort: arrays.argsort,
    np.outer: arrays.outer,
    np.tril: arrays.tril,
    np.triu: arrays.triu,
    linalg.matmul_batch: arrays.matmul_batch,
    decompositions.solve_triangular: arrays.solve_triangular,
    decompositions.lu_factor: arrays.lu_factor,
    decompositions.lu_solve: arrays.lu_solve,
}


class _Native(_templates.AbstractTemplate):
    """What Numba asks for the type of a call of `key`, and for what writes it."""

    typed: Callable[..., arrays.Typed]
    found: dict[Any, Any]

    def generic(self, args: Any, kws: Any) -> Any:
        names = list(inspect.signature(self.typed).parameters)
        given = [*args, *(kws[name] for name in names[len(args) :] if name in kws)]
        if len(given) != len(args) + len(kws) or len(given) > len(names) or set(kws) - set(names[: len(given)]):
            return None
        made = self.typed(*given)
        if made is None:
            return None
        kind, written = made
        sig = _typing.signature(kind, *given)
        if kws:
            sig = sig.replace(pysig=inspect.Signature([
                inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names[: len(given)]
            ]))  # fmt: skip
        if sig.args not in self.found:

            def writes(context: Any, builder: Any, sig: Any, args: Any) -> Any:
                return written(context, builder, sig, args)

            _base.builtin_registry.lower(writes, *sig.args)(writes)
            type(self).found[sig.args] = writes
        return sig

    def get_impl_key(self, sig: Any) -> Any:
        return self.found[sig.args]


def _with_native(function: Any, known: Any) -> Any:
    """Return Numba's type of a function with the native form before its own."""
    own = type(f"_Native_{function.__name__}", (_Native,), {
        "key": known.typing_key, "typed": staticmethod(_NATIVE[function]), "found": {},
    })  # fmt: skip
    return _types.Function((own, *known.templates))


def _place(function: Any) -> Any:
    """Return what Numba's table of known functions has a function under."""
    try:
        return weakref.ref(function)
    except TypeError:
        return function


_OURS = (
    linalg.matmul_batch, decompositions.solve_triangular, decompositions.lu_factor, decompositions.lu_solve,
)  # fmt: skip
"""Functions of this package: for numbers that BLAS does not have Numba compiles them as they stand."""


def _as_it_stands(function: Any) -> Any:
    """Return what says, for arguments by the names of the function's own, that it is to be compiled itself."""
    names = ", ".join(inspect.signature(function).parameters)
    scope: dict[str, Any] = {"function": function}
    exec(f"def otherwise({names}):\n    return function", scope)
    scope["otherwise"].__annotations__ = function.__annotations__  # which Numba compares
    return scope["otherwise"]


_ready: dict[Any, Any] = {}


@contextmanager
def known() -> Generator[None]:
    """Let Numba find the native forms within the block."""
    context = _registry.cpu_target.typing_context
    if not _ready:
        for function in _OURS:
            _extending.overload(function)(_as_it_stands(function))
        context.refresh()
    for function in () if _ready else _NATIVE:
        _ready[function] = _with_native(function, context.resolve_value_type(function))
    before = {place: context._globals[place] for place in map(_place, _ready)}
    for function, kind in _ready.items():
        dict.__setitem__(context._globals, _place(function), kind)
    try:
        yield
    finally:
        for place, kind in before.items():
            dict.__setitem__(context._globals, place, kind)
