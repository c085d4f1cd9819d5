"""`debug=True`: every value that a derivative computes on its way is kept, and must be finite."""

from __future__ import annotations

import re
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np

from s2sad.api.finite import is_finite
from s2sad.errors import ArgumentError, Span, frame


@dataclass(frozen=True, slots=True)
class Step:
    """A name that got a value.

    Attributes:
        function: the generated function.
        line: the line of its file, from 1.
        source: that line.
        span: the user's line that it came from, or None.
        name: the name; "result" for what a `return` computes.
        value: a copy of its value after the line.
    """

    function: str
    line: int
    source: str
    span: Span | None
    name: str
    value: Any


@dataclass(slots=True)
class Intermediates:
    """What one call computed on its way, in order.

    Attributes:
        path: the file that was run.
        steps: the values.
    """

    path: str
    steps: list[Step] = field(default_factory=list[Step])

    def of(self, name: str) -> list[Any]:
        """Return the values that a name of the derivative had, such as `u_bar`, in order."""
        return [step.value for step in self.steps if step.name == name]

    def __len__(self) -> int:
        """Count the values."""
        return len(self.steps)

    def __str__(self) -> str:
        """Lay the values out, a line each, with the lines that made them."""
        rows = [f"{step.line:5}  {step.name} = {_brief(step.value)}    # {step.source}" for step in self.steps]
        return "\n".join([self.path, *rows])


_last: weakref.WeakKeyDictionary[Any, Intermediates] = weakref.WeakKeyDictionary()


def last_of(fun: Any, name: str) -> Intermediates:
    """Return the intermediates of the last recorded call; raises ArgumentError where there was none."""
    try:
        return _last[fun]
    except (KeyError, TypeError):
        raise ArgumentError(
            f"nothing that `{name}` computed was kept", why="Use debug=True, and call it or a derivative first."
        ) from None


def recorded(loaded: Any, fun: Any, name: str) -> Callable[..., Any]:
    """Wrap a loaded derivative so that it runs in CPython, its intermediates kept and checked.

    Under a debugger or a coverage tool, which trace themselves, it only runs in CPython.

    Raises:
        FloatingPointError: from the wrapper, at the first value that is not finite.
    """

    def call(*leaves: Any) -> Any:
        if sys.gettrace() is not None:
            return loaded.py_func(*leaves)
        kept = Intermediates(str(loaded.path))
        _remember(fun, kept)
        recorder = _Recorder(loaded, kept, name)
        sys.settrace(recorder.enter)
        try:
            with np.errstate(all="ignore"):
                result = loaded.py_func(*leaves)
        finally:
            sys.settrace(None)
        return result

    return call


def _remember(fun: Any, kept: Intermediates) -> None:
    try:
        _last[fun] = kept
    except TypeError:  # a callable that cannot be referred to weakly; `.intermediates` then says so
        return


class _Recorder:
    """A trace function for the generated file: compares the locals before and after each line."""

    def __init__(self, loaded: Any, kept: Intermediates, name: str) -> None:
        self.loaded, self.kept, self.name = loaded, kept, name
        self.file = str(loaded.path)
        self.lines = loaded.text.splitlines()
        self.before: dict[FrameType, dict[str, Any]] = {}
        self.running: dict[FrameType, int] = {}

    def enter(self, now: FrameType, event: str, argument: Any) -> Any:
        """Follow the functions of the generated file, and no others."""
        if now.f_code.co_filename != self.file or now.f_code.co_name == "<module>":
            return None
        self.before[now] = {name: _copy(value) for name, value in now.f_locals.items()}
        return self.line

    def line(self, now: FrameType, event: str, argument: Any) -> Any:
        """Note what the line that has just run has changed."""
        number = self.running.get(now)
        if number is not None and event in ("line", "return"):
            self._note(now, number)
        self.running[now] = now.f_lineno
        if event == "return":
            self._note_result(now, argument)
            self.before.pop(now, None)
            self.running.pop(now, None)
        return self.line

    def _note(self, now: FrameType, number: int) -> None:
        known = self.before[now]
        for name, value in now.f_locals.items():
            if name in known and _same(known[name], value):
                continue
            known[name] = _copy(value)
            checked = "np.empty" not in self._source(number) and not name.endswith(("_tape", "_saved"))
            self._keep(now, number, name, value, checked)

    def _note_result(self, now: FrameType, value: Any) -> None:
        """Note what a `return` computes itself; what has a name was noted under it."""
        source = self._source(now.f_lineno)
        if value is not None and source.startswith("return") and not _NAMED.fullmatch(source):
            self._keep(now, now.f_lineno, "result", value, True)

    def _source(self, number: int) -> str:
        return self.lines[number - 1].strip()

    def _keep(self, now: FrameType, number: int, name: str, value: Any, checked: bool) -> None:
        source, span = self._source(number), self.loaded.module.source_map.get(number)
        self.kept.steps.append(Step(now.f_code.co_name, number, source, span, name, _copy(value)))
        if checked and not is_finite(value):
            where = f"\n{frame(span)}" if span is not None else ""
            raise FloatingPointError(
                f"the derivative of `{self.name}` is not finite: `{name}` becomes {_brief(value)}{where}\n"
                f"  in the derivative, {self.file}:{number}: {source}"
            )


_NAMED = re.compile(r"return [\w, ()]+")


def _copy(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    return list(value) if isinstance(value, list) else value


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b)
    return a is b or (type(a) is type(b) and not isinstance(a, np.ndarray) and bool(a == b))


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return np.array2string(value, threshold=6, precision=6)
    return f"{value:.6g}" if isinstance(value, float) else repr(value)
