"""Machine code on disk, in place of Numba's own cache.

Numba's cache keeps an index that two processes can tear (one signature then runs another's code),
unpickles damaged files, and trusts whatever `NUMBA_CACHE_DIR` says. Here one file holds one
signature of one function, named by a hash of both, checked before it is unpickled.

Machine code needs no types: `CPUContext.refresh`, which loads all that Numba can compile (0.3 s), is left
to the first function that has to be compiled. What machine code needs is the addresses of what it calls.
Their names are kept with it, and where one is unknown Numba is set up in full, as for a compilation.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import pickle
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from s2sad.backends import solvers, store, vector_math
from s2sad.errors import CacheError

_binding: Any = importlib.import_module("llvmlite.binding")
_compiler: Any = importlib.import_module("numba.core.compiler")
_config: Any = importlib.import_module("numba.core.config")
_memory: Any = importlib.import_module("numba.core.runtime._nrt_python")
_serialize: Any = importlib.import_module("numba.core.serialize")

_LINEAR_ALGEBRA = re.compile(r"numba_(x|ez_)")
"""Numba's names of BLAS and LAPACK, which are SciPy's, and must be of the width that Numba was built for."""


_TO_COME = ".numba.unresolved$"
"""How Numba marks a function that was not compiled yet when it was called: where it lies is known to the process."""


class MachineCode:
    """The cache of one dispatcher; has the interface of `numba.core.caching._Cache`."""

    def __init__(self, name: str, fingerprint: str, compiling: Any = None) -> None:
        """Keep the machine code of `name`, which computes what `fingerprint` describes.

        `compiling`: Numba's counter of how many signatures of the function are just being compiled.
        """
        self._name, self._fingerprint, self._compiling = name, fingerprint, compiling

    @property
    def cache_path(self) -> str:
        """Return the directory that the files are in."""
        return str(store.directory())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compile result of `sig`, or None where there is none that is whole.

        What a function calls of itself with arguments of another type is compiled with it: it is called by an
        address that the one on disk does not have.
        """
        if self._compiling is not None and self._compiling.counter > 1:
            return None
        key = self._key(sig, target_context.codegen())
        path = self._path(key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        body = store.payload(content)
        if body is not None:
            try:
                found, needed, data = pickle.loads(body)
                if found == key:
                    if not _are_known(needed):
                        target_context.refresh()
                    return _with_own_dtypes(_compiler.CompileResult._rebuild(target_context, *data))
            except Exception:
                pass
        path.unlink(missing_ok=True)
        return None

    def save_overload(self, sig: Any, compiled: Any) -> None:
        """Write the compile result of `sig`, where Numba allows it to outlive the process."""
        if compiled.library.has_dynamic_globals or any(not one.can_cache for one in compiled.lifted):
            return
        needed = _needed(compiled.library)
        if any(name.startswith(_TO_COME) for name in needed):  # of functions that call one another
            return
        key = self._key(sig, compiled.codegen)
        body = _serialize.dumps((key, needed, compiled._reduce()))
        try:
            store.replace(self._path(key), store.with_checksum(body))
        except CacheError:
            return  # a full disk costs a compilation in the next process, nothing more

    def enable(self) -> None:
        """Do nothing: this cache is always on."""

    def disable(self) -> None:
        """Do nothing: this cache is always on."""

    def flush(self) -> None:
        """Remove every signature of this function."""
        for path in store.directory().glob(f"{self._name}.*{store.MACHINE_SUFFIX}"):
            path.unlink(missing_ok=True)

    def _key(self, sig: Any, codegen: Any) -> str:
        args = getattr(sig, "args", sig)
        types = ", ".join(str(one) for one in args)
        made_by = f"{store.versions()} {_writer()} {vector_math.available()}"
        return f"{self._fingerprint} ({types}) {codegen.magic_tuple()} {made_by}"

    def _path(self, key: str) -> Path:
        short = hashlib.sha256(key.encode()).hexdigest()[:16]
        return store.directory() / f"{self._name}.{short}{store.MACHINE_SUFFIX}"


def _with_own_dtypes(compiled: Any) -> Any:
    """Replace the dtypes that unpickling has copied by NumPy's own, which comparisons by identity know."""
    constants = compiled.environment.consts
    for at, constant in enumerate(constants):
        if isinstance(constant, np.dtype) and np.dtype(constant.char) == constant:
            constants[at] = np.dtype(constant.char)
    return compiled


@functools.cache
def _writer() -> str:
    """Describe what tells LLVM how to compile: this package's own text."""
    texts = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256(b"".join(texts)).hexdigest()[:16]


def _needed(library: Any) -> tuple[str, ...]:
    """Return the names that a compiled library takes from the process."""
    module = library._final_module
    return tuple(
        one.name
        for kind in (module.functions, module.global_variables)
        for one in kind
        if one.is_declaration and not one.name.startswith("llvm.")
    )


def _are_known(names: Iterable[str]) -> bool:
    """Say whether the process has all these names already, but for Numba's memory, which is named here."""
    if _config.NRT_STATS:
        return False
    if any(map(_LINEAR_ALGEBRA.match, names)):
        importlib.import_module("numba.np.linalg").ensure_lapack()
    _name_memory()
    if any(map(solvers.has, names)):
        solvers.name_all()
    return all(map(_binding.address_of_symbol, names))


@functools.cache
def _name_memory() -> None:
    """Name the functions of Numba's memory, as `numba.core.runtime.rtsys` does when it is set up."""
    for name, address in _memory.c_helpers.items():
        _binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def keep(dispatcher: Any, name: str, fingerprint: str) -> Callable[..., Any]:
    """Give `dispatcher` a cache on disk, and return it."""
    dispatcher._cache = MachineCode(name, fingerprint, dispatcher._compiling_counter)
    return dispatcher
