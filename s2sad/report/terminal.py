"""An explanation in the terminal: each line with what became of it, then the derivative."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from s2sad.api.comparison import Compared
from s2sad.api.explanation import Explanation, Line, Part
from s2sad.api.wording import ranges

_MARKS = {"active": ("●", "green"), "inactive": ("○", "dim"), "": (" ", "")}
_LEGEND = "● active: carries a derivative   ○ inactive   ▸ lines of the derivative   ■ saved   ↻ computed again"
_THEME = "ansi_dark"


def show(explained: Explanation, console: Console, source: bool = True, checks: Sequence[Compared] = ()) -> None:
    """Print an explanation, and after it the derivative itself and its comparison with finite differences."""
    for part in explained.parts:
        _show_part(part, explained, console)
    _print(console, Text(_LEGEND, style="dim"))
    if source:
        _show_source(explained, console)
    if checks:
        console.print()
        show_checks(checks, console)


def _show_part(part: Part, explained: Explanation, console: Console) -> None:
    inputs = ", ".join(explained.inputs) or "nothing"
    _print(console, Text(f"{part.name}  {part.file}", style="bold"), Text(f"  by {inputs}", style="dim"))
    kept = sum(len(line.saved) for line in part.lines)
    width = max((len(line.text) for line in part.lines), default=0) + 2
    code = _coloured("\n".join(line.text for line in part.lines))
    for line, text in zip(part.lines, code, strict=True):
        _show_line(line, text, width, console)
    total = f"{kept} value{'s' * (kept != 1)} saved" if kept else "nothing is saved"
    _print(console, Text(f"       {total}\n", style="dim"))


def _show_line(line: Line, text: Text, width: int, console: Console) -> None:
    mark, style = _MARKS[line.state]
    if line.state == "inactive":
        text = Text(line.text, style="dim")
    row = [Text(f"{line.number:5} ", style="dim"), Text(f"{mark} ", style=style), text]
    notes: list[Text] = []
    if line.why:
        notes.append(Text(line.why, style="dim italic"))
    if line.emitted:
        notes.append(Text("▸ " + ranges(line.emitted), style="cyan"))
    row += [Text(" " * (width - len(line.text))), *_joined(notes)] if notes else []
    _print(console, *row)
    pad = " " * (8 + len(line.text) - len(line.text.lstrip()))
    for item in line.saved:
        first = f"■ {item.place} is saved in {item.tape}, {item.cost()}: {item.why}"
        for row_text in textwrap.wrap(first, 110 - len(pad), subsequent_indent="  "):
            _print(console, Text(pad + row_text, style="yellow"))
    if line.again:
        _print(console, Text(f"{pad}↻ {', '.join(line.again)}: computed again in the reverse sweep", style="magenta"))


def _show_source(explained: Explanation, console: Console) -> None:
    origin = {number: line for part in explained.parts for line in part.lines for number in line.emitted}
    _print(console, Text(f"\nderivative ({explained.mode})", style="bold"))
    for number, text in enumerate(_coloured(explained.source.rstrip("\n")), 1):
        line = origin.get(number)
        came = f"{line.number:5}" if line is not None else "     "
        _print(console, Text(f"{came} ▸{number:4}  ", style="dim"), text)


def show_checks(checks: Iterable[Compared], console: Console) -> None:
    """Print the comparison with finite differences, one argument a line."""
    _print(console, Text("in a random direction of each argument", style="bold"))
    _print(console, Text(f"{'':12}{'forward':>16}{'reverse':>16}{'differences':>16}{'apart by':>12}", style="dim"))
    for row in checks:
        style = "green" if row.error() < 1e-5 else "red"
        numbers = f"{row.tangent:16.8g}{row.adjoint:16.8g}{row.difference:16.8g}{row.error():12.1e}"
        _print(console, Text(f"{row.argument:12}"), Text(numbers, style=style))



def _coloured(code: str) -> list[Text]:
    syntax = Syntax(code, "python", theme=_THEME, background_color="default")
    lines: Any = syntax.highlight(code).split("\n", allow_blank=True)
    count = len(code.split("\n"))
    return [*lines, *(Text("") for _ in range(count - len(lines)))][:count]


def _joined(notes: list[Text]) -> list[Text]:
    found: list[Text] = []
    for note in notes:
        found += [Text("  "), note] if found else [note]
    return found


def _print(console: Console, *parts: Text) -> None:
    console.print(Text.assemble(*parts), soft_wrap=True)
