"""Target "cpu": the derivative's file is compiled by Numba, and the machine code kept on disk.

The text itself carries no decorators: its lines are the file's lines, and `py_func` runs the very
same text in CPython.
"""

from __future__ import annotations

import importlib
import re
import types
import warnings
from collections.abc import Callable
from typing import Any, cast

from s2sad.backends import banded, equations, memory, scipy_special, solvers, sparse_systems, store
from s2sad.backends.base import Loaded, Module
from s2sad.backends.fingerprint import fingerprint, globals_used, is_library
from s2sad.backends.literals import for_any_number
from s2sad.backends.machine_code import keep
from s2sad.errors import CompileError, S2SADError, Span
from s2sad.runtime import banded as diagonals
from s2sad.runtime import decompositions, linalg, sparse
from s2sad.runtime import equations as of_matrices

_numba: Any = importlib.import_module("numba")
_errors: Any = importlib.import_module("numba.core.errors")
_compiler_lock: Any = importlib.import_module("numba.core.compiler_lock")
_Dispatcher: Any = importlib.import_module("numba.core.dispatcher").Dispatcher

_NATIVE = frozenset({
    linalg.matmul_batch, decompositions.solve_triangular, decompositions.lu_factor, decompositions.lu_solve,
})
"""Helpers that `natives` writes where they are called; the rest is compiled as it stands."""
_INSTEAD: dict[Any, Callable[..., Any]] = {
    sparse.sparse_solve: sparse_systems.solved, diagonals.solve_banded: banded.solved,
    diagonals.banded_product: banded.product, diagonals.banded_outer: banded.outer,
    of_matrices.solve_sylvester: equations.sylvester,
    of_matrices.solve_discrete_lyapunov: equations.discrete_lyapunov,
    of_matrices.solve_continuous_are: equations.continuous_are, of_matrices.solve_discrete_are: equations.discrete_are,
    of_matrices.sqrtm: equations.square_root,
}
"""What is compiled for helpers that call what cannot be."""
_THREADS = {"prange": True, **dict.fromkeys(
    ("comprehension", "reduction", "inplace_binop", "setitem", "numpy", "stencil", "fusion"), False
)}  # fmt: skip
"""Numba's `parallel`: of whole-array arithmetic nothing, as it takes an axis of one element for one of many."""
_ADVICE = 'Use target="python": NumPy in CPython differentiates what Numba cannot compile.'

Fastmath = bool | frozenset[str]
_loaded: dict[str, Loaded] = {}
_jitted: dict[tuple[Callable[..., Any], Fastmath, str, bool], Any] = {}


def load(module: Module) -> Loaded:
    """Compile `module` lazily: each function at its first call, from disk where it is known.

    Raises:
        CompileError: an external function cannot become a Numba function.
    """
    stem = store.stem(module)
    with store.LOCK:
        if stem not in _loaded:
            _loaded[stem] = _load(stem, module)
        return _loaded[stem]


def _load(stem: str, module: Module) -> Loaded:
    fastmath, model, cache = module.fastmath, module.error_model, module.cache and not module.debug
    scipy_special.enable(module.text, *module.externals.values())
    memory.keep()
    if any(helper.__module__ == of_matrices.__name__ for helper in module.runtime.values()):
        solvers.name_all()
    given: dict[str, Any] = {
        name: helper if helper in _NATIVE and not module.parallel
        else jitted(_INSTEAD.get(helper, helper), fastmath=fastmath, error_model=model)
        for name, helper in module.runtime.items()
    }  # fmt: skip
    for name, value in module.externals.items():
        given[name] = (
            jitted(cast(Any, value), fastmath=fastmath, error_model=model, cache=cache)
            if _is_source(value)
            else value
        )
    path = store.write(stem, module.text)
    namespace = store.execute(stem, path, module.text, given)
    namespace.update(given)  # the text imports its helpers as plain functions
    options = options_of(fastmath, model)
    if module.nogil:
        options["nogil"] = True
    if module.debug:
        options |= {"debug": True, "_dbg_optnone": True}
    for name in module.functions:
        hints = namespace[name].hints = module.hints.get(name)
        into_callers = hints is not None and hints.into_callers and not module.debug and name not in module.parallel
        threads = {"parallel": _THREADS} if name in module.parallel else {}
        dispatcher = for_any_number(
            _numba.njit(**options, **threads, inline="always" if into_callers else "never")(namespace[name])
        )
        namespace[name] = keep(dispatcher, f"{stem}.{name}", stem) if cache else dispatcher
    entry = namespace[module.entry]
    _explain_failures(entry, module)
    return Loaded(entry, path, module.text, namespace, module, "cpu")


def jitted(
    function: Callable[..., Any],
    *,
    fastmath: Fastmath = False,
    error_model: str = "numpy",
    cache: bool = True,
) -> Any:
    """Return the one dispatcher of a plain function; the functions that it calls are compiled too.

    The function is cloned over a copy of its globals, in which every Python function that it
    names is a dispatcher in its turn; its code, file and lines stay its own.

    Raises:
        CompileError: the function is not one that Numba can take at all.
    """
    if isinstance(function, _Dispatcher):
        return function
    if not isinstance(function, types.FunctionType):
        raise CompileError(f"{function!r} cannot be compiled: it has no Python code", why=_ADVICE)
    options: dict[str, Any] = {"fastmath": fastmath, "error_model": error_model, "cache": cache}
    key = (function, fastmath, error_model, cache)
    with store.LOCK:
        if key not in _jitted:
            scope = dict(function.__globals__)
            dispatcher = _dispatcher(function, scope, fastmath, error_model)
            if cache:
                name = re.sub(r"\W", "_", function.__qualname__)
                keep(dispatcher, name, fingerprint((function, options)))
            _jitted[key] = dispatcher
            cells = dispatcher.py_func.__closure__ or ()
            for name, used in globals_used(function).items():
                if _is_source(used) and used not in _NATIVE:
                    scope[name] = jitted(used, **options)
            for cell in cells:
                if _is_source(cell.cell_contents):
                    cell.cell_contents = jitted(cell.cell_contents, **options)
        return _jitted[key]


def _is_source(value: object) -> bool:
    return isinstance(value, types.FunctionType) and not is_library(value)


def _dispatcher(
    function: types.FunctionType, scope: dict[str, Any], fastmath: Fastmath, error_model: str
) -> Any:
    cells = tuple(types.CellType(cell.cell_contents) for cell in function.__closure__ or ())
    clone = types.FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, cells or None
    )
    clone.__kwdefaults__ = function.__kwdefaults__
    clone.__module__ = function.__module__
    clone.__qualname__ = function.__qualname__
    clone.__doc__ = function.__doc__
    try:
        return for_any_number(_numba.njit(**options_of(fastmath, error_model))(clone))
    except _errors.NumbaError as error:
        raise CompileError(
            f"Numba cannot compile `{function.__qualname__}`",
            _span_of(function),
            f"{_reason(error)}\n{_ADVICE}",
        ) from error


def _pipeline(*args: Any, **options: Any) -> Any:
    """Return the pipeline of one compilation: loaded with the first, as machine code on disk needs none."""
    from s2sad.backends.lowering import Pipeline

    return Pipeline(*args, **options)


def options_of(fastmath: Fastmath = False, error_model: str = "numpy") -> dict[str, Any]:
    """Return the options with which everything is compiled."""
    options: dict[str, Any] = {"error_model": error_model, "pipeline_class": _pipeline}
    if fastmath:
        options["fastmath"] = fastmath if isinstance(fastmath, bool) else set(fastmath)
    return options


def _explain_failures(entry: Any, module: Module) -> None:
    # The C dispatcher looks this attribute up on the instance whenever a signature is new.
    compile_for_args = entry._compile_for_args

    def explained(*args: Any, **kwargs: Any) -> Any:
        try:
            with _compiler_lock.global_compiler_lock, warnings.catch_warnings():
                # The text is ours: that it hands lists to a function, or a column to `@`, is nothing for the user.
                warnings.simplefilter("ignore", _errors.NumbaPendingDeprecationWarning)
                warnings.filterwarnings("ignore", r".*is faster on contiguous", _errors.NumbaPerformanceWarning)
                return compile_for_args(*args, **kwargs)
        except S2SADError:
            raise
        except Exception as error:  # some of Numba's failures are no NumbaError
            raise explain(error, module) from error

    entry._compile_for_args = explained


def explain(error: BaseException, module: Module) -> CompileError:
    """Turn an error of Numba's compiler into one that names the user's line and the way out."""
    span = None
    for line in re.findall(r'File "[^"\n]*", line (\d+)', _plain(error)):
        span = module.source_map.get(int(line), span)
    return CompileError(
        f"Numba cannot compile `{module.entry}`", span, f"{_reason(error)}\n{_ADVICE}"
    )


def _plain(error: BaseException) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", str(error))


_NOISE = (
    "Failed in nopython mode",
    "There are ",
    "Overload of function",
    "During: ",
    "File ",
    "- ",
)


def _reason(error: BaseException) -> str:
    text = re.sub(r"Function\(<(?:built-in )?function (\w+)[^>]*>\)", r"`\1`", _plain(error))
    lines = [line.strip().removeprefix(">>> ") for line in text.splitlines()]
    wanted = [line for line in lines if line and not line.startswith(_NOISE)][:2]
    wanted += [line for line in lines if re.match(r"\w+Error: ", line)][:1]
    reason = "; ".join(dict.fromkeys(wanted)).replace(":; ", " ")
    return f"Numba says: {reason}"[:400] if wanted else "Numba gives no reason."


def _span_of(function: types.FunctionType) -> Span:
    line = function.__code__.co_firstlineno
    file = function.__code__.co_filename
    return Span(file, line, 0, line, max(1, len(function.__name__)), function.__name__)
