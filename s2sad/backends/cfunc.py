"""A compiled derivative of numbers as a C function, for libraries that call C."""

from __future__ import annotations

import importlib
from typing import Any

from s2sad.backends.base import Loaded
from s2sad.errors import CompileError

_kept: list[Any] = []  # C code must outlive whatever holds its address


def cfunc(loaded: Loaded, dtypes: tuple[str, ...], result: str, packed: bool) -> Any:
    """Return a `numba.core.ccallback.CFunc` that calls a loaded function of numbers.

    Args:
        loaded: the function.
        dtypes: the types of its arguments, such as "float64".
        result: the type of its result.
        packed: the C function is `double (int, double *)`, else it takes one argument each.

    Raises:
        CompileError: the function was not compiled.
    """
    if loaded.target != "cpu":
        raise CompileError(
            f"`{loaded.module.entry}` is not compiled, so that C cannot call it", why='Use target="cpu".'
        )
    numba: Any = importlib.import_module("numba")
    names = [f"x{i}" for i in range(len(dtypes))]
    if packed:
        body = ", ".join(f"values[{i}]" for i in range(len(dtypes)))
        text = f"def call(count, values):\n    return entry({body})\n"
        signature = numba.float64(numba.types.intc, numba.types.CPointer(numba.float64))
    else:
        text = f"def call({', '.join(names)}):\n    return entry({', '.join(names)})\n"
        signature = getattr(numba, result)(*(getattr(numba, dtype) for dtype in dtypes))
    scope: dict[str, Any] = {"entry": loaded.entry}
    exec(compile(text, f"<C function of {loaded.module.entry}>", "exec"), scope)
    made = numba.cfunc(signature)(scope["call"])
    _kept.append(made)
    return made
