"""A source for callables that have none: ufuncs, builtins, partial functions, callable objects.

The compiler reads functions written in Python. `np.tanh` becomes `def tanh(x0): return
function(x0)`, where `function` stands for the object itself, so that its rule is found.
"""

from __future__ import annotations

import functools
import inspect
import keyword
import linecache
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from s2sad.api.custom import CustomJVP, CustomVJP, rule_of
from s2sad.frontend.dispatch import dispatches

_MODULE = "s2sad_written"
_REQUIRED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def has_own_source(fun: Any) -> bool:
    """Say whether the compiler can read `fun` itself."""
    if isinstance(fun, functools.partial | np.ufunc | types.BuiltinFunctionType) or dispatches(fun):
        return False
    if isinstance(fun, types.FunctionType | types.MethodType) or not callable(fun):
        return True
    return hasattr(fun, "py_func") or hasattr(fun, "__s2sad_transformed__")


def entered(fun: Any) -> Any:
    """Return `fun`, or a function that calls it if it has a rule, for a rule holds where it is called."""
    return _passing_once(fun) if rule_of(fun) is not None else fun


@functools.lru_cache(maxsize=512)
def _passing_once(fun: Any) -> Callable[..., Any]:
    return _passing(fun)


@functools.lru_cache(maxsize=512)
def _written_once(fun: Any) -> Callable[..., Any]:
    return _write(fun)


def written(fun: Any) -> Callable[..., Any]:
    """Return a Python function that only calls `fun`; the same one for the same callable."""
    if isinstance(fun, CustomJVP | CustomVJP):
        return _written_once(fun)
    own = getattr(type(fun), "__call__", None)
    if isinstance(own, types.FunctionType):
        return types.MethodType(own, fun)
    try:
        hash(fun)
    except TypeError:
        return _write(fun)
    return _written_once(fun)


def calling(fun: Any) -> Callable[..., Any]:
    """Return a Python function that only calls `fun`, whatever its class says."""
    return _written_once(fun)


def passing(fun: Any) -> Callable[..., Any]:
    """Return a Python function that calls `fun` with all that it takes, defaults included."""
    return _passing_once(fun)


_ARGUMENTS: dict[Any, tuple[str, ...]] = {
    np.where: ("condition", "x", "y"), np.clip: ("a", "a_min", "a_max"), np.einsum: ("subscripts", "*operands"),
}  # fmt: skip
"""What functions are differentiated by, where their signature calls it optional or says nothing."""


def _write(fun: Any) -> Callable[..., Any]:
    if isinstance(fun, functools.partial):
        return _partial(fun)
    if isinstance(fun, CustomJVP | CustomVJP):
        return _passing(fun)
    listed = ", ".join(_names(fun))
    return _defined(fun, listed, f"function({listed})", {"function": fun})


def _passing(fun: Any) -> Callable[..., Any]:
    """Write a call that takes what the user's function takes, defaults and names included."""
    values: dict[str, Any] = {"function": fun}
    listed: list[str] = []
    passed: list[str] = []
    parameters = inspect.signature(fun).parameters.values()
    for position, p in enumerate(parameters):
        if p.kind is p.VAR_POSITIONAL or p.kind is p.VAR_KEYWORD:
            listed.append(str(p.replace(annotation=p.empty)))
            passed.append(listed[-1])
            continue
        if p.kind is p.KEYWORD_ONLY and not any(word.startswith("*") for word in listed):
            listed.append("*")
        default = f"given_{position}"
        if p.default is not p.empty:
            values[default] = p.default
        listed.append(p.name if p.default is p.empty else f"{p.name}={default}")
        passed.append(f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else p.name)
    made = _defined(fun, ", ".join(listed), f"function({', '.join(passed)})", values)
    made.__signature__ = inspect.signature(fun)  # type: ignore[attr-defined]
    return made


@functools.lru_cache(maxsize=512)
def contracted(fun: Any, shape: tuple[int, ...], dtype: str) -> tuple[Callable[..., Any], np.ndarray[Any, Any]]:
    """Return the sum of the elements of `fun` times weights, and the weights, zeros so far."""
    signature = inspect.signature(fun)
    words = [p.name if p.default is p.empty else f"{p.name}=None" for p in signature.parameters.values()]
    weights = np.zeros(shape, dtype)
    passed = ", ".join(signature.parameters)
    values = {"function": fun, "weights": weights, "total": np.sum}
    made = _defined(fun, ", ".join(words), f"total(function({passed}) * weights)", values)
    made.__defaults__ = tuple(p.default for p in signature.parameters.values() if p.default is not p.empty) or None  # type: ignore[attr-defined]
    return made, weights


@functools.lru_cache(maxsize=512)
def returning(fun: Any, outputs: tuple[str, ...]) -> Callable[..., Any]:
    """Return a function that calls the procedure `fun` and returns what it wrote into `outputs`; always the same."""
    try:
        hash(fun)
    except TypeError:
        return _return(fun, outputs)
    return _returning_once(fun, outputs)


@functools.lru_cache(maxsize=512)
def _returning_once(fun: Any, outputs: tuple[str, ...]) -> Callable[..., Any]:
    return _return(fun, outputs)


def _return(fun: Any, outputs: tuple[str, ...]) -> Callable[..., Any]:
    listed = ", ".join(inspect.signature(fun).parameters)
    body = f"function({listed})\n    return {', '.join(outputs)}"
    return _defined(fun, listed, body, {"function": fun}, statement="")


def _names(fun: Any) -> list[str]:
    """Name the arguments that `fun` cannot do without; one where it does not say."""
    if fun in _ARGUMENTS:
        return list(_ARGUMENTS[fun])
    if isinstance(fun, np.ufunc):
        return [f"x{i}" for i in range(fun.nin)]
    try:
        parameters = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):
        return ["*x"]
    names = [p.name for p in parameters if p.kind in _REQUIRED and p.default is p.empty]
    return [f"{n}_" if keyword.iskeyword(n) else n for n in names] or ["x0"]


def _partial(fun: functools.partial[Any]) -> Callable[..., Any]:
    """Write the call with the arguments that are given, as `functools.partial` makes it."""
    values: dict[str, Any] = {"function": fun.func}
    given = [f"given_{i}" for i in range(len(fun.args))]
    values |= dict(zip(given, fun.args, strict=True))
    if _is_library(fun.func):
        return _partial_library(fun, values, given)
    signature = inspect.signature(fun)
    parameters: list[str] = []
    passed: list[str] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind not in (*_REQUIRED, parameter.KEYWORD_ONLY):
            if parameter.kind is parameter.VAR_KEYWORD:
                _add_rest(fun, signature, values, parameters, passed)
            stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            parameters.append(f"{stars}{name}")
            passed.append(f"{stars}{name}")
            continue
        by_name = parameter.kind is parameter.KEYWORD_ONLY
        if name in fun.keywords:
            values[f"given_{name}"] = fun.keywords[name]
            passed.append(f"{name}=given_{name}")
            continue
        if by_name and not any(one.startswith("*") for one in parameters):
            parameters.append("*")
        word = name
        if parameter.default is not parameter.empty:
            values[f"default_{name}"] = parameter.default
            word = f"{name}=default_{name}"
        parameters.append(word)
        passed.append(f"{name}={name}" if by_name else name)
    listed = ", ".join(parameters)
    return _defined(fun.func, listed, f"function({', '.join([*given, *passed])})", values)


def _add_rest(
    fun: functools.partial[Any], signature: inspect.Signature, values: dict[str, Any], parameters: list[str],
    passed: list[str],
) -> None:  # fmt: skip
    """Pass on what is given by names that the function takes with its `**rest`; a call may give it anew."""
    rest = [word for word in fun.keywords if word not in signature.parameters]
    if rest and not any(one.startswith("*") for one in parameters):
        parameters.append("*")
    for word in rest:
        values[f"default_{word}"] = fun.keywords[word]
        parameters.append(f"{word}=default_{word}")
        passed.append(f"{word}={word}")


def _is_library(fun: Any) -> bool:
    """Say whether a function is written in C, as NumPy's are: its settings are left as they are, unless given."""
    by_hand = isinstance(getattr(type(fun), "__call__", None), types.FunctionType)
    return not (has_own_source(fun) or by_hand)


def _partial_library(fun: functools.partial[Any], values: dict[str, Any], given: list[str]) -> Callable[..., Any]:
    """Write the call of a library function with what is given and what it cannot do without."""
    names = _names(fun.func)
    left = names if names[0].startswith("*") else names[len(given) :]
    listed = ", ".join(name for name in left if name not in fun.keywords)
    values |= {f"given_{name}": value for name, value in fun.keywords.items()}
    passed = [*given, *([listed] if listed else []), *(f"{name}=given_{name}" for name in fun.keywords)]
    return _defined(fun.func, listed, f"function({', '.join(passed)})", values)


def _defined(
    fun: Any, parameters: str, result: str, values: dict[str, Any], statement: str = "return "
) -> Callable[..., Any]:
    """Define the function under a file name of its own, where `inspect` finds the lines."""
    name = getattr(fun, "__name__", "function")
    name = name if name.isidentifier() and name not in ("function", *values) else "call"
    return defined(name, f"def {name}({parameters}):\n    {statement}{result}\n", values)


def is_defined(fun: Any) -> bool:
    """Say whether a function's text was written here."""
    return getattr(fun, "__module__", None) == _MODULE


def defined(name: str, text: str, values: dict[str, Any]) -> Callable[..., Any]:
    """Define the function `name` by its text, in which `values` are known, where `inspect` finds it."""
    file = f"<s2sad source of {name} {len(linecache.cache)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"__name__": _MODULE, **values}
    exec(compile(text, file, "exec"), scope)
    return scope[name]
