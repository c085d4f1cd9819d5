"""What Numba makes beside `@njit` functions: `@vectorize`, `@guvectorize`, `@stencil`, typed lists and dicts.

Numba is not imported for it: only who uses these objects has done so.
"""

from __future__ import annotations

import builtins
import sys
from typing import Any

import numpy as np

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StaticV, V, Value, const
from s2sad.ir.types import Array, Scalar

_REFUSED = {
    "Dict": ("a typed dict", "Use a dict with known keys, or arrays."),
}


def call_numba_object(
    lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any
) -> Value | None:
    """Call an object that Numba made; None if `fn` is none of them."""
    from s2sad.frontend.calls import call_function

    kind = _kind(fn)
    if kind and getattr(fn, "__name__", "") == "__call__":  # it is the object that is differentiated itself
        fn = fn.__self__
    if kind in _REFUSED:
        what, way_out = _REFUSED[kind]
        return lw.fail(node, f"{what} is not supported in a differentiated function", way_out)
    if kind == "List":
        return call_function(lw, builtins.list, args, kwargs, node)
    if kind == "DUFunc":
        return _call_vectorized(lw, fn, args, kwargs, node)
    if kind == "StencilFunc":
        from s2sad.frontend.stencils import call_stencil

        return call_stencil(lw, fn, args, kwargs, node)
    if kind == "GUFunc":
        from s2sad.frontend.gufuncs import call_gufunc

        return call_gufunc(lw, fn, args, kwargs, node)
    return None


def refuse_overloaded(lw: Lowerer, fn: Any, node: Any) -> None:
    """Refuse a Python function in compiled code, where Numba runs what `@overload` gave it instead."""
    templates = sys.modules.get("numba.core.typing.templates")
    if not lw.source.compiled or templates is None or hasattr(fn, "py_func"):
        return
    if any(known is fn for known, _ in templates.builtin_registry.globals):
        lw.fail(node, f"in compiled code `{fn.__name__}` is what `@overload` says, which cannot be read",
                "Call a function under `@njit`, or give it a rule with `s2sad.defvjp`.")  # fmt: skip


def _kind(fn: Any) -> str:
    """Return the name of the class of Numba's that `fn` is, or is an instance or a maker of."""
    owner = getattr(fn, "__self__", fn)
    made = owner if isinstance(owner, type) else type(owner)
    return made.__name__ if made.__module__.startswith(("numba.np.ufunc", "numba.stencils", "numba.typed")) else ""


def _call_vectorized(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """A `@vectorize` function is its Python function, called for each element."""
    from s2sad.frontend.calls import call_function
    from s2sad.rules.each import each_of_one, each_of_several

    if kwargs or len(args) != fn.nin or not all(isinstance(a, V) for a in args):
        return lw.fail(node, f"`{fn.__name__}`, made by @vectorize, takes {fn.nin} numbers or arrays here",
                       "Call it without keywords, and assign the result.")  # fmt: skip
    plain = fn.__wrapped__
    given, result = _signature(lw, fn, args, node)
    args = [_of_dtype(lw, a, dtype, node) for a, dtype in zip(args, given, strict=True)]
    arrays = [k for k, a in enumerate(args) if isinstance(a, V) and isinstance(a.expr.type, Array)]
    if not arrays:
        value = call_function(lw, plain, args, {}, node)
    elif len(arrays) == 1:
        value = call_function(lw, each_of_one, [StaticV(plain), const(arrays[0]), *args], {}, node)
    else:
        value = call_function(lw, each_of_several, [StaticV(plain), *args], {}, node)
    return _of_dtype(lw, value, result, node)


def _signature(lw: Lowerer, fn: Any, args: list[Value], node: Any) -> tuple[list[str], str]:
    """Return the dtypes that NumPy chooses from the declared ones; empty ones where Numba infers them."""
    given = [_dtype(a) for a in args]
    for signature in fn.types:
        takes, gives = signature.split("->")
        if all(np.can_cast(np.dtype(own), np.dtype(to)) for own, to in zip(given, takes, strict=True)):
            return [np.dtype(to).name for to in takes], np.dtype(gives).name
    if fn.types:
        return lw.fail(node, f"`{fn.__name__}` has no signature for {', '.join(given)}", "Convert the arguments first.")
    return [""] * len(args), ""


def _dtype(value: Value) -> str:
    kind = value.expr.type if isinstance(value, V) else None
    return kind.dtype if isinstance(kind, Array | Scalar) else "float64"


def _of_dtype(lw: Lowerer, value: Value, dtype: str, node: Any) -> Value:
    from s2sad.frontend.methods import converted

    if not dtype or not isinstance(value, V) or _dtype(value) == dtype:
        return value
    return converted(lw, value, {"dtype": StaticV(np.dtype(dtype).type)}, False, node)
