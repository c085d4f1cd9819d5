"""`debug_nans`: stop at the first NaN or infinity that a derivative produces, and name the line."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from s2sad.errors import Span, frame

_EMPTY = re.compile(r"\s*(\w+) = np\.empty(?:_like)?\(")
_MADE = re.compile(r"\s*(\w+) = ")
_WORD = re.compile(r"[A-Za-z_]\w*")


def checked(loaded: Any, name: str) -> Callable[..., Any]:
    """Wrap a loaded derivative so that it raises where a NaN or an infinity first appears.

    The derivative runs as it is; only when its result is not finite is its Python text run once
    more, line by line, to find the place.

    Raises:
        FloatingPointError: from the wrapper; names the primal's line, or the derivative's.
    """

    def call(*leaves: Any) -> Any:
        kept = [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves]
        result = loaded.entry(*leaves)
        if is_finite(result):
            return result
        if not all(is_finite(leaf) for leaf in kept):
            raise FloatingPointError(f"an argument of the derivative of `{name}` is not finite")
        raise FloatingPointError(f"the derivative of `{name}` is not finite{_place(loaded, kept)}")

    return call


def is_finite(value: Any) -> bool:
    """Say whether every number in a value is finite; what is no number is."""
    if isinstance(value, tuple | list):
        return all(is_finite(item) for item in value)
    if isinstance(value, np.ndarray | np.generic | float | complex):
        return np.asarray(value).dtype.kind not in "fc" or bool(np.all(np.isfinite(value)))
    return True


def _place(loaded: Any, leaves: list[Any]) -> str:
    """Run the derivative's text under a tracer; return where the first such value arose."""
    found: list[tuple[int, str]] = []
    file = str(loaded.path)
    running: dict[FrameType, int] = {}
    lines = loaded.text.splitlines()

    def trace(now: FrameType, event: str, argument: Any) -> Any:
        if now.f_code.co_filename != file or found:
            return None
        if now in running:
            _fill(lines[running[now] - 1], now.f_locals)
            bad = [name for name, value in now.f_locals.items() if not is_finite(value)]
            if bad:
                found.append((running[now], f"`{bad[0]}`"))
                return None
        if event == "return" and not is_finite(argument):  # made in the `return` itself
            found.append((now.f_lineno, "the result"))
            return None
        running[now] = now.f_lineno
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with np.errstate(all="ignore"):
            loaded.py_func(*leaves)
    except ArithmeticError as error:
        return f": {error}"
    finally:
        sys.settrace(before)
    return _describe(loaded, *found[0]) if found else ""


def _fill(line: str, values: dict[str, Any]) -> None:
    """Put zeros into an array that the line has just made without contents."""
    made = _EMPTY.match(line)
    if made is not None and isinstance(array := values.get(made[1]), np.ndarray):
        array.fill(0)


def _describe(loaded: Any, line: int, name: str) -> str:
    lines = loaded.text.splitlines()
    source = lines[line - 1].strip()
    span: Span | None = loaded.module.source_map.get(line)
    if source.startswith("return "):  # it stands for several statements, the last of them where its values are made
        made = _last_made(lines, line, source)
        span = loaded.module.source_map.get(made, span)
    where = f"\n{frame(span)}" if span is not None else ""
    return f": {name} becomes so{where}\n  in the derivative, {loaded.path}:{line}: {source}"


def _last_made(lines: list[str], line: int, source: str) -> int:
    """Return the last line of the function above `line` that makes a value which `source` reads; 0 for none."""
    read = set(_WORD.findall(source))
    for at in range(line - 1, 0, -1):
        text = lines[at - 1]
        if text.startswith("def "):
            return 0
        if (made := _MADE.match(text)) is not None and made[1] in read:
            return at
    return 0
