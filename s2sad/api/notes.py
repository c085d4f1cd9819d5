"""Where it happened: an exception from inside a derivative gets a note that names the user's line."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from s2sad.errors import NOWHERE, S2SADError, Span

if TYPE_CHECKING:
    from s2sad.api.plan import Entry

_NEAR = 12
"""How many emitted lines above one that has no place of its own are asked for theirs."""


def called(made: Entry, leaves: Sequence[Any]) -> Any:
    """Call a derivative; what it raises gets its note."""
    try:
        return made.call(*leaves)
    except Exception as error:
        note_place(made, error)
        raise


def note_place(made: Entry, error: Exception) -> None:
    """Add a note to an exception that a derivative raised, unless it says already where."""
    if isinstance(error, S2SADError) or any(_MARK in note for note in getattr(error, "__notes__", ())):
        return
    span = _place(made, error.__traceback__)
    if span is not None:
        error.add_note(f"{_MARK} `{span.function}`, {span.file}:{span.line}: {span.text().strip()}")
        return
    derived = made.derivative.derived
    main = derived.instance.function if derived is not None else None
    if main is not None and main.span != NOWHERE:
        way_out = '; target="python" names the line' if made.loaded.target == "cpu" else ""
        error.add_note(f"{_MARK} `{main.span.function}`, {main.span.file}:{main.span.line}{way_out}")


_MARK = "in a derivative of"


def _place(made: Entry, traceback: TracebackType | None) -> Span | None:
    """Return the user's place of the innermost line that was emitted."""
    path, found = str(made.loaded.path), None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == path:
            found = traceback.tb_lineno
        traceback = traceback.tb_next
    if found is None:
        return None
    places = made.loaded.module.source_map
    return next((places[line] for line in range(found, found - _NEAR, -1) if line in places), None)
