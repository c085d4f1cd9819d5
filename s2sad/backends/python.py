"""Target "python": the derivative runs in CPython over NumPy, open to a debugger."""

from __future__ import annotations

from typing import Any

from s2sad.backends import store
from s2sad.backends.base import Loaded, Module

_loaded: dict[str, Loaded] = {}


def load(module: Module) -> Loaded:
    """Load `module` without a JIT: Numba dispatchers among its externals give way to `py_func`."""
    stem = store.stem(module)
    with store.LOCK:
        if stem not in _loaded:
            given: dict[str, Any] = {**module.runtime}
            given |= {name: plain(value) for name, value in module.externals.items()}
            path = store.write(stem, module.text)
            namespace = store.execute(f"{stem}_python", path, module.text, given)
            _loaded[stem] = Loaded(
                namespace[module.entry], path, module.text, namespace, module, "python"
            )
        return _loaded[stem]


def plain(value: object) -> object:
    """Return the Python function behind a Numba dispatcher; anything else as it is."""
    if type(value).__module__.split(".")[0] == "numba":
        return getattr(value, "py_func", value)
    return value
