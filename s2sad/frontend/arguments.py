"""What a library function is given: which arguments are values, and which settings must be known now."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.errors import MissingRuleError
from s2sad.frontend.expressions import as_expr
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StaticV, StructV, V, Value, const
from s2sad.ir.draws import PARAMETERS
from s2sad.ir.nodes import Const, Expr
from s2sad.ir.types import Scalar

STATIC_NAMES: frozenset[str] = frozenset({
    "axis", "axes", "keepdims", "ddof", "dtype", "order", "n", "k", "ord", "mode", "indexing",
    "initial_static", "offset", "axis1", "axis2", "norm", "decimals", "copy", "full_matrices",
    "UPLO", "casting", "axisa", "axisb", "axisc", "nan", "posinf", "neginf", "optimize", "lower",
    "kind", "side", "source", "destination", "pad_width", "constant_values", "stable", "return_index",
    "endpoint", "subok", "like", "device", "hermitian", "compute_uv", "trans", "increasing", "minlength",
    "discont",
})  # fmt: skip


def in_order(fn: Any, given: int, kwargs: dict[str, Value]) -> list[Value]:
    """Take the parameters of a distribution out of the keywords, the default of each before the last."""
    names = PARAMETERS.get(fn.__name__, {})
    rest = list(names.items())[given:]
    last = max((k for k, (name, _) in enumerate(rest) if name in kwargs), default=-1)
    return [kwargs.pop(name) if name in kwargs else const(default) for name, default in rest[: last + 1]]


def dotted(fn: Any) -> str:
    """Return the public path under which a callable is imported: `np.linalg.cond`, `scipy.special.lpmv`."""
    name = getattr(fn, "__name__", "f")
    home = getattr(fn, "__module__", None) or ""
    if isinstance(fn, np.ufunc):
        home = "numpy" if getattr(np, name, None) is fn else "scipy.special"
    parts = [str(part) for part in home.split(".")]
    while len(parts) > 1 and (parts[-1].startswith("_") or any(part.startswith("_") for part in parts)):
        parts.pop()
    if (owner := _owner(fn, ".".join(parts))) is not None:
        parts.append(owner)
    if home in ("", "builtins"):
        return f"builtins.{name}" if home else name
    return ".".join(["np" if parts[0] == "numpy" else parts[0], *parts[1:], name])


def _owner(fn: Any, home: str) -> str | None:
    """Return the name that a module has for the object whose method `fn` is: `norm` in `scipy.stats.norm.logpdf`."""
    owner = getattr(fn, "__self__", None)
    if not isinstance(fn, types.MethodType) or owner is None:
        return None
    if isinstance(owner, type):
        return owner.__name__
    known = vars(sys.modules[home]) if home in sys.modules else {}
    return next((name for name, value in known.items() if value is owner), None)


def missing_rule_help(fn: Any) -> str:
    """Show the three lines that add a rule for `fn`."""
    from s2sad.frontend.distributions import written_beside

    owner = getattr(fn, "__self__", None)
    bound = owner is not None and not isinstance(owner, type | types.ModuleType | np.ufunc)
    if (bound and _owner(fn, ".".join(dotted(fn).split(".")[:-2])) is None) or _asks_the_system(fn):
        return written_beside(fn) + (
            "Call it outside, and pass what it gives as an argument. If that depends on what is differentiated,\n"
            "put the call in a function of your own, and give it a rule: `@s2sad.custom_vjp`."
        )
    return written_beside(fn) + (
        "Neither a rule nor Python source to differentiate was found. Give it a rule:\n"
        f"    s2sad.defvjp({dotted(fn)}, fwd, bwd)\n"
        f"    # fwd(*args) -> (result, residuals)\n"
        f"    # bwd(residuals, result_bar) -> one cotangent for each argument"
    )


def _asks_the_system(fn: Any) -> bool:
    home = (getattr(fn, "__module__", "") or "").split(".")[0]
    return home in ("os", "posix", "nt", "io", "_io", "time", "datetime", "socket", "subprocess", "pathlib", "sys")


@functools.lru_cache(maxsize=1024)
def parameters_of(fn: Any) -> tuple[str, ...] | None:
    """Return the parameter names of a library function, or None where they are not known."""
    if isinstance(fn, np.ufunc) or fn is np.einsum or getattr(fn, "__module__", "") in ("math", "cmath"):
        return None
    try:
        parameters = inspect.signature(fn).parameters.values()
        if any(p.kind is p.VAR_POSITIONAL for p in parameters):  # what follows has names of its own
            return tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)
        return tuple(p.name for p in parameters)
    except (TypeError, ValueError):
        return _KNOWN_PARAMETERS.get(fn)


_KNOWN_PARAMETERS: dict[Any, tuple[str, ...]] = {
    np.concatenate: ("arrays", "axis"), np.dot: ("a", "b"), np.where: ("condition", "x", "y"),
    np.bincount: ("x", "weights", "minlength"), np.copyto: ("dst", "src", "casting", "where"),
    np.zeros: ("shape", "dtype"), np.empty: ("shape", "dtype"), np.array: ("object", "dtype"),
    np.asarray: ("a", "dtype"), np.arange: ("start", "stop", "step", "dtype"),
    np.inner: ("a", "b"), np.vdot: ("a", "b"), np.empty_like: ("prototype", "dtype"),
    np.ascontiguousarray: ("a", "dtype"), np.asfortranarray: ("a", "dtype"),
}  # fmt: skip


_RUN_TIME: dict[Any, tuple[str, ...]] = {
    **dict.fromkeys((np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.fftfreq, np.fft.rfftfreq), ("n",)),
    **dict.fromkeys((runtime.rfft_back, runtime.fit_axis), ("n",)),
}  # fmt: skip
"""Parameters that go by the name of a setting, but may be computed."""


def split_arguments(
    lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any
) -> tuple[list[Expr], dict[str, Any]]:
    """Separate run-time operands from settings known now (`axis`, `keepdims`, `dtype`, …)."""
    names = parameters_of(fn)
    dynamic: list[Expr] = []
    static: dict[str, Any] = {}
    for position, value in enumerate(args):
        name = names[position] if names is not None and position < len(names) else ""
        if name in STATIC_NAMES and name not in _RUN_TIME.get(fn, ()):
            _add_static(lw, fn, static, name, value, node)
        else:
            dynamic.append(as_expr(lw, value, node))
    for name, value in kwargs.items():
        static_name = name in STATIC_NAMES and name not in _RUN_TIME.get(fn, ())
        if names is not None and name in names and not static_name and names.index(name) == len(dynamic):
            dynamic.append(as_expr(lw, value, node))
        else:
            _add_static(lw, fn, static, name, value, node)
    return dynamic, static


def _add_static(lw: Lowerer, fn: Any, static: dict[str, Any], name: str, value: Value, node: Any) -> None:
    known = known_value(value)
    if known is UNKNOWN and not _ruled(fn):
        named = getattr(fn, "__name__", fn)
        lw.fail(node, f"`{named}` has no derivative rule", missing_rule_help(fn), MissingRuleError)
    if known is UNKNOWN:
        lw.fail(node, f"`{name}` of `{getattr(fn, '__name__', fn)}` must be known at transform time",
                "Write it as a constant, or as the name of a global one.")  # fmt: skip
    if name == "copy" and known is False and fn is np.nan_to_num:
        lw.fail(node, "`nan_to_num(copy=False)` writes into its argument", "Assign: x[:] = np.nan_to_num(x).")
    if known is None and name == "axis" and fn in (np.concatenate, np.sort, np.argsort, np.append):
        static[name] = known
        return
    if known is None and name in ("axis", "out", "initial", "dtype", "order", "ord", "where"):
        return
    if name in ("copy", "subok", "like", "device") or (name == "keepdims" and known is False):
        return
    if name == "order" and known == "F" and fn in _MAKERS:
        lw.fail(node, "an array in Fortran order cannot be made here", "Make the transposed array.")
    if name == "order" and fn is np.copy:
        return
    if name == "dtype":
        known = _kind_named(known, fn, lw, node)
    static[name] = known


def _kind_named(known: Any, fn: Any, lw: Lowerer, node: Any) -> Any:
    """Return the NumPy class that a `dtype` names; Numba's own types (`numba.float64`) go by their names."""
    kinds: dict[Any, Any] = {float: np.float64, int: np.int64, complex: np.complex128, bool: np.bool_}
    try:
        if (getattr(type(known), "__module__", "") or "").startswith("numba."):
            known = known.name
        return np.dtype(kinds.get(known, known)).type
    except TypeError:
        named = getattr(fn, "__name__", fn)
        return lw.fail(node, f"`{known}` is no `dtype` of `{named}`", "Give a NumPy one, as in `np.float64`.")


def _ruled(fn: Any) -> bool:
    from s2sad.rules import find

    return find(fn) is not None


_MAKERS = (
    np.zeros, np.ones, np.empty, np.full, np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.array,
    np.asarray,
)  # fmt: skip

UNKNOWN = object()


def known_value(value: Value) -> Any:
    """Return the Python object that a value is at transform time, or a sentinel."""
    match value:
        case StaticV(obj):
            return obj
        case StructV(kind, _, items) if kind in ("tuple", "list"):
            parts = [known_value(item) for item in items]
            return UNKNOWN if any(p is UNKNOWN for p in parts) else tuple(parts)
        case V(Const(number)):
            return number
        case V(expr) if isinstance(expr.type, Scalar) and isinstance(expr.type.value, int):
            return expr.type.value
        case _:
            return UNKNOWN
