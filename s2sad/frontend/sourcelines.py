"""Lines of a function that is put together from several texts: each has a number of its own, and is some text's line.

Whatever compares places, `a` before `b`, goes by the numbers; what is shown to the user goes by the lines.
"""

from __future__ import annotations

from typing import Any

import gast

from s2sad.frontend.source import Source

Lines = dict[int, tuple[Source, int]]


def renumbered(tree: Any, source: Source) -> tuple[Any, Lines]:
    """Number the lines of a function anew, in the order of its statements."""
    counter = _Lines(source)
    counter.statement(tree)
    return tree, counter.lines


class _Lines:
    """Gives out numbers."""

    def __init__(self, source: Source) -> None:
        self.source, self.lines = source, Lines()

    def statement(self, stmt: Any) -> None:
        """Number a statement, and those inside of it behind it."""
        own = _own(stmt)
        home = getattr(stmt, "home", self.source)
        numbers: dict[tuple[int, int], int] = {}
        for line in range(stmt.lineno, max(_ends(own, stmt, home, self.source), stmt.lineno) + 1):
            self._number(home, line, numbers)
        for part in own:
            if hasattr(part, "lineno"):
                of = getattr(part, "home", self.source)
                end = part.end_lineno if part is not stmt and part.end_lineno else part.lineno
                part.lineno, part.end_lineno = self._number(of, part.lineno, numbers), self._number(of, end, numbers)
        for inner in _inside(stmt):
            self.statement(inner)
        stmt.end_lineno = max(self.lines) if _inside(stmt) else max(numbers.values())

    def _number(self, home: Source, line: int, numbers: dict[tuple[int, int], int]) -> int:
        key = (id(home), line)
        if key not in numbers:
            numbers[key] = len(self.lines) + 1
            self.lines[numbers[key]] = (home, line)
        return numbers[key]


def _own(stmt: Any) -> list[Any]:
    """Return a statement and what stands in it, but not the statements inside of it."""
    found = [stmt]
    waiting = list(gast.iter_child_nodes(stmt))
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, gast.stmt):
            continue
        found.append(part)
        waiting += list(gast.iter_child_nodes(part))
    return found


def _inside(stmt: Any) -> list[Any]:
    """Return the statements inside of a statement, in order; those in a `case` or a handler are among them."""
    found: list[Any] = []
    for part in gast.iter_child_nodes(stmt):
        found += [part] if isinstance(part, gast.stmt) else ([] if isinstance(part, gast.expr) else _inside(part))
    return found


def _ends(own: list[Any], stmt: Any, home: Source, source: Source) -> int:
    """Return the last line of what a statement says itself."""
    same = [part for part in own if part is not stmt and getattr(part, "home", source) is home]
    ends = [getattr(part, "end_lineno", None) or 0 for part in same]
    if not _inside(stmt):
        ends.append(stmt.end_lineno or stmt.lineno)
    return max(ends, default=0)
