"""Target "cuda": the derivative's file compiled for NVIDIA's GPUs, or run in Numba's simulator.

Two front ends exist for Numba, `numba.cuda` (also as the package numba-cuda, which takes its place)
and numba-cuda-mlir. This module hides which one is there; nothing of CUDA is imported before a
kernel or a device function is asked for.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import types
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from s2sad.backends import store
from s2sad.backends.base import Module
from s2sad.errors import CompileError

_INSTALL = 'Install "s2sad[cuda12]" or "s2sad[cuda13]".'
_INSTALL_MLIR = 'Install "numba-cuda-mlir[cu12]" or "numba-cuda-mlir[cu13]": the package alone brings no compiler.'
_LIBRARIES = ("libnvvm", "libdevice", "libnvrtc")
"""What a front end says of NVIDIA's compiler when that is missing."""
_loaded: dict[tuple[str, tuple[str, ...]], LoadedCuda] = {}


@dataclass(frozen=True)
class LoadedCuda:
    """Kernels and device functions of one file.

    Attributes:
        kernels: the kernels, in the order of their launches: `kernel[grid, block, stream](...)`.
        functions: everything that the text defines, by name, compiled for the device.
        path: the file; its lines are the lines of `text`.
        text: the module's text.
        plain: the functions as Python, by name, for the simulator's debugger and for compiling to PTX.
        front_end: the module that compiled them, which makes their device arrays too.
    """

    kernels: tuple[Any, ...]
    functions: dict[str, Any]
    path: Path
    text: str
    plain: dict[str, Any]
    front_end: Any


MODULES = ("numba.cuda", "numba_cuda_mlir.cuda")
"""The front ends, the one that is taken where a function does not say which comes first."""


def module_name(function: Any = None) -> str:
    """Return the front end that a function's module imports as `cuda`, else the first that is installed.

    Raises:
        CompileError: none is installed.
    """
    for value in getattr(function, "__globals__", {}).values():
        if isinstance(value, types.ModuleType) and value.__name__ in MODULES:
            return value.__name__
    return _installed()


@functools.cache
def _installed() -> str:
    for name in MODULES:
        try:
            if importlib.util.find_spec(name) is not None:
                return name
        except ImportError:
            continue
    raise CompileError("no CUDA front end for Numba is installed", why=_INSTALL)


def front_end(function: Any = None) -> Any:
    """Return the module of the front end that `function` uses.

    Raises:
        CompileError: none is installed, or it cannot be imported here.
    """
    try:
        return importlib.import_module(module_name(function))
    except ImportError as error:
        raise CompileError(f"the CUDA front end cannot be imported: {error}", why=_INSTALL) from error


def is_simulated(function: Any = None) -> bool:
    """Say whether a function's front end has a simulator and it is on (`NUMBA_ENABLE_CUDASIM=1`)."""
    numba: Any = importlib.import_module("numba")
    return bool(getattr(numba.config, "ENABLE_CUDASIM", False)) and module_name(function) == MODULES[0]


@contextlib.contextmanager
def launching(function: Any) -> Generator[None]:
    """Say what can be done without a driver where a launch finds none.

    Raises:
        CompileError: there is no CUDA driver, or no device.
    """
    try:
        yield
    except Exception as error:  # each front end has an exception of its own
        if type(error).__name__ != "CudaSupportError":
            raise
        simulator = "Set NUMBA_ENABLE_CUDASIM=1 before Numba is imported to run in its simulator"
        if module_name(function) != MODULES[0]:
            simulator = f"{simulator}, which `from numba import cuda` has and {module_name(function)} has not"
        raise CompileError(
            f"`{getattr(function, '__name__', 'this')}` cannot be launched: no CUDA driver is found here",
            why=f"{simulator}; or compile without launching, by `.ptx()`.\n{_first_line(error)}",
        ) from error


def _first_line(error: Exception) -> str:
    return " ".join(f"{error}".split())[:200]


def as_device_array(value: Any, cuda: Any = None) -> Any:
    """Return what has a CUDA array interface as a front end's own kind of array, sharing its memory."""
    return value if getattr(type(value), "__cuda_ndarray__", False) else (cuda or front_end()).as_cuda_array(value)


def load(module: Module, kernels: Sequence[str], function: Any = None) -> LoadedCuda:
    """Load the text of `module`; its functions `kernels` can be launched, the others be called by them.

    `function`: the user's, whose front end compiles the text.
    """
    key = (store.stem(module), tuple(kernels))
    with store.LOCK:
        if key not in _loaded:
            _loaded[key] = _load(key[0], module, key[1], front_end(function))
        return _loaded[key]


def _load(stem: str, module: Module, kernels: tuple[str, ...], cuda: Any) -> LoadedCuda:
    given: dict[str, Any] = {name: compiled(helper) for name, helper in module.runtime.items()}
    given |= module.externals
    path = store.write(stem, module.text)
    namespace = store.execute(f"{stem}_cuda", path, module.text, given)
    namespace.update(given)  # the text imports its helpers as plain functions
    plain = {name: namespace[name] for name in module.functions}
    options: dict[str, Any] = {"fastmath": True} if module.fastmath else {}
    functions: dict[str, Any] = {}
    for name in module.functions:
        made = cuda.jit(device=name not in kernels, **options)(plain[name])
        functions[name] = made
        namespace[name] = made
    return LoadedCuda(tuple(functions[name] for name in kernels), functions, path, module.text, plain, cuda)


def compiled(function: Any, device: bool = True, fastmath: bool = False) -> Any:
    """Return a Python function compiled for the device: a device function, or a kernel."""
    options: dict[str, Any] = {"fastmath": True} if fastmath else {}
    return front_end(function).jit(device=device, **options)(function)


def fastmath_of(function: Any) -> bool:
    """Say whether a function under `cuda.jit` was given `fastmath=True`."""
    options = getattr(function, "targetoptions", None)
    own = options.get("fastmath", False) if isinstance(options, dict) else getattr(function, "_fastmath", False)
    return bool(own)


def ptx(function: Any, signature: str, cc: tuple[int, int] = (8, 0), device: bool = False) -> str:
    """Compile a Python function to PTX, which needs neither a GPU nor a driver.

    Raises:
        CompileError: the simulator is on, NVVM is not installed, or the text does not compile.
    """
    cuda = front_end(function)
    if is_simulated(function):
        raise CompileError("PTX cannot be made while the simulator is on", why="Unset NUMBA_ENABLE_CUDASIM.")
    kinds: Any = importlib.import_module(f"{module_name(function).rpartition('.')[0]}.types")
    known = {name: getattr(kinds, name) for name in dir(kinds) if not name.startswith("_")}
    argument_types = eval(f"({signature},)", {"__builtins__": {}}, known)
    try:
        with _as_if_on(cuda, cc):
            text, _ = cuda.compile_ptx(function, argument_types, device=device, cc=cc)
    except Exception as error:  # NVVM missing, a typing error: of many classes
        way_out = _INSTALL if module_name(function) == MODULES[0] else _INSTALL_MLIR
        install = f"\n{way_out}" if any(word in f"{error}".lower() for word in _LIBRARIES) else ""
        raise CompileError(f"`{function.__name__}` does not compile to PTX", why=f"{error}"[:800] + install) from error
    return text if isinstance(text, str) else text.decode()


@contextlib.contextmanager
def _as_if_on(cuda: Any, cc: tuple[int, int]) -> Generator[None]:
    """Answer for the device that the front end asks about on its way to PTX: there may be none."""
    place, name, answer = _question(cuda, cc)
    if not hasattr(place, name):
        yield
        return
    before = getattr(place, name)
    setattr(place, name, answer)
    try:
        yield
    finally:
        setattr(place, name, before)


def _question(cuda: Any, cc: tuple[int, int]) -> tuple[Any, str, Any]:
    """Return the module that holds what is asked, its name there, and the answer for `cc`."""
    if cuda.__name__ == "numba.cuda":
        dispatcher = importlib.import_module(type(cuda.jit(device=True)(_nothing)).__module__)
        return dispatcher, "get_current_device", lambda: types.SimpleNamespace(compute_capability=cc)
    return importlib.import_module(f"{cuda.__name__.partition('.')[0]}.tools"), "_cached_cc", cc


def _nothing() -> None:
    return None


__all__ = [
    "LoadedCuda", "as_device_array", "compiled", "fastmath_of", "front_end", "is_simulated", "launching", "load",
    "module_name", "ptx",
]  # fmt: skip
