"""One generated function for a whole call: checks, leaves, the derivative, its results.

Steps that are functions of their own (find the specialisation, match, run, finish) cost a microsecond
together, more than the derivative of a few numbers. A call that is like the last one takes this way;
any other is answered with `MISSED`, and goes step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from s2sad.api.custom import CHANGES, rules_key
from s2sad.api.flatten import Outcome, Writer, write_match
from s2sad.api.guards import Guard
from s2sad.api.notes import note_place
from s2sad.api.structure import Tree

if TYPE_CHECKING:
    from s2sad.api.plan import Entry

MISSED = object()
"""Returned for a call that is not like the one that the function was generated for."""

Direct = Callable[[tuple[Any, ...]], Any]


def missed(values: tuple[Any, ...]) -> Any:
    """Take no call at all: nothing has been specialised yet."""
    return MISSED


def direct(trees: Sequence[Tree], made: Entry, unchanged: Guard | None, outcome: Outcome) -> Direct:
    """Generate `direct(values)`: the derivative for bound values of this structure, under the rules now in force."""
    writer = Writer("def direct(values):", "MISSED", MISSED=MISSED, changes=CHANGES, rules_key=rules_key)
    writer.line(f"if changes[0] and rules_key() != {writer.constant(rules_key())}: {writer.missed}")
    leaves = _named(writer, write_match(writer, trees))
    if unchanged is not None:
        writer.line(f"if not {writer.constant(unchanged)}(): {writer.missed}")
    captured = [f"outer[{i}]" for i in range(len(made.captured.items))]
    if captured:
        writer.line(f"outer = {writer.constant(made.captured.read)}()")
    writer.line("try:")
    writer.line(f"    flat = {writer.constant(made.call)}({', '.join([*leaves, *['*outer'][: len(captured)]])})")
    writer.line("except Exception as error:")
    writer.line(f"    {writer.constant(note_place)}({writer.constant(made)}, error)")
    writer.line("    raise")
    given = [*leaves, *captured]
    outcome.write(writer, [given[i] for i in made.arrays])
    return writer.build("direct")


def _named(writer: Writer, texts: list[str]) -> list[str]:
    """Give a name to every leaf that has none."""
    names: list[str] = []
    for text in texts:
        name = text if text.isidentifier() else writer.local()
        if name != text:
            writer.line(f"{name} = {text}")
        names.append(name)
    return names
