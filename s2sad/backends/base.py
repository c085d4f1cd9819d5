"""What a backend is given, what it gives back, and the choice between them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from s2sad.errors import ArgumentError, Span

Target = Literal["python", "cpu"]


@dataclass(frozen=True)
class Hints:
    """What is known of a function's names and cannot be said in its text.

    Attributes:
        least: the least value of whole numbers: indices that are not negative need no wrap-around.
        sums: real numbers whose sums have no order of their own.
        into_callers: the function is compiled into those that call it.
        internal: only functions of the same module call it, and none of them calls itself.
        alone: arrays it is given whose memory, if any of it is written, nothing else it is given shares.
        apart: the lines, counted from its first, of loops no turn of which touches an element that another changes.
    """

    least: Mapping[str, int] = field(default_factory=dict[str, int])
    sums: frozenset[str] = frozenset()
    into_callers: bool = False
    internal: bool = False
    alone: frozenset[str] = frozenset()
    apart: frozenset[int] = frozenset()

    def of_both(self, other: Hints) -> Hints:
        """Return what holds of two functions with one text."""
        least = {name: min(n, other.least[name]) for name, n in self.least.items() if name in other.least}
        return Hints(
            least, self.sums & other.sums, self.into_callers and other.into_callers, self.internal and other.internal,
            self.alone & other.alone,
        )


@dataclass(frozen=True)
class Module:
    """The text of one derivative, and every object that the text needs.

    Attributes:
        name: what the file is called before its hash, such as "limit_slope_vjp".
        text: Python source: imports, then plain undecorated functions, callees first.
        functions: the names that `text` defines, in order.
        entry: the function to call.
        externals: user callables and captured constants that `text` names and cannot import.
        runtime: helpers of `s2sad.runtime` that `text` names, as plain Python functions.
        key: whatever else decides the result; hashed with the text.
        fastmath: Numba's option of that name.
        parallel: the functions that share the turns of a loop between threads.
        nogil: calls of it run beside other threads.
        error_model: Numba's option of that name.
        cache: whether machine code is kept on disk.
        source_map: the user's span for each line of `text`, where known.
        hints: by function, what the compiler may rely on.
        debug: compile without optimisation and with the lines of `text`, for gdb; nothing is kept on disk.
    """

    name: str
    text: str
    functions: tuple[str, ...]
    entry: str
    externals: Mapping[str, object] = field(default_factory=dict[str, object])
    runtime: Mapping[str, Callable[..., Any]] = field(default_factory=dict[str, Callable[..., Any]])
    key: str = ""
    fastmath: bool | frozenset[str] = False
    parallel: frozenset[str] = frozenset()
    nogil: bool = False
    error_model: Literal["python", "numpy"] = "numpy"
    cache: bool = True
    source_map: Mapping[int, Span] = field(default_factory=dict[int, Span])
    debug: bool = False
    hints: Mapping[str, Hints] = field(default_factory=dict[str, Hints])


@dataclass(frozen=True)
class Loaded:
    """A derivative that can be called, and the real file that it came from.

    Attributes:
        entry: the callable; for target "cpu" a Numba dispatcher.
        path: the file; its lines are the lines of `text`.
        text: the module's text.
        namespace: the globals of the loaded functions.
        module: what was loaded.
        target: where it runs.
    """

    entry: Callable[..., Any]
    path: Path
    text: str
    namespace: dict[str, Any]
    module: Module
    target: Target

    @property
    def py_func(self) -> Callable[..., Any]:
        """Return the entry as plain Python all the way down: step through it in a debugger."""
        if self.target == "python":
            return self.entry
        from s2sad.backends import python

        return python.load(self.module).entry


def require_target(target: str, *known: str) -> None:
    """Raise ArgumentError for a target that is none of these."""
    if target not in known:
        raise ArgumentError(
            f"target {target!r} is not known",
            why='Use "cpu", or "python" for plain NumPy; "cuda" is for `differentiate` and `vmap`.',
        )


def effective(target: str) -> Target:
    """Return the target that really runs, given `S2SAD_DISABLE_JIT` and `NUMBA_DISABLE_JIT`."""
    require_target(target, "python", "cpu")
    for switch in ("S2SAD_DISABLE_JIT", "NUMBA_DISABLE_JIT"):
        if os.environ.get(switch, "0") not in ("", "0"):
            return "python"
    return "cpu" if target == "cpu" else "python"


def load(module: Module, target: str = "cpu") -> Loaded:
    """Write `module` to the cache if it is not there, and load it for `target`.

    Raises:
        CacheError: the cache directory is not private.
        CompileError: a user's function that the text calls cannot be compiled.
    """
    if effective(target) == "python":
        from s2sad.backends import python

        return python.load(module)
    from s2sad.backends import numba_cpu

    return numba_cpu.load(module)
