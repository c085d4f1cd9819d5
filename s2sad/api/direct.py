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

Direct = Callable[[Any], Any]


def missed(call: Any) -> Any:
    """Take no call at all: nothing has been specialised yet."""
    return MISSED


def direct(
    trees: Sequence[Tree],
    made: Entry,
    unchanged: Guard | None,
    outcome: Outcome,
    batches: Sequence[tuple[int, int]] = (),
) -> Direct:
    """Generate `direct(values)`: the derivative for bound values of this structure, under the rules now in force.

    `batches` says of which leaves and axes the lengths must be one, and not 0.
    """
    writer = begun("values")
    leaves = named(writer, write_match(writer, trees))
    write_lengths(writer, leaves, batches)
    arrays = write_call(writer, made, leaves, [], unchanged)
    results = outcome.write(writer, [arrays[i] for i in made.arrays])
    writer.line(f"return {outcome.form(results)}")
    return writer.build("direct")


def begun(parameter: str) -> Writer:
    """Begin a function that takes calls under the rules now in force."""
    writer = Writer(f"def direct({parameter}):", "MISSED", MISSED=MISSED, changes=CHANGES, rules_key=rules_key)
    writer.line(f"if changes[0] and rules_key() != {writer.constant(rules_key())}: {writer.missed}")
    return writer


def write_lengths(writer: Writer, leaves: Sequence[str], batches: Sequence[tuple[int, int]]) -> None:
    """Write the check that batches are of one length, and not of none."""
    lengths = [f"{leaves[at]}.shape[{axis}]" for at, axis in batches]
    for other in lengths[1:]:
        writer.line(f"if {other} != {lengths[0]}: {writer.missed}")
    if lengths:
        writer.line(f"if not {lengths[0]}: {writer.missed}")


def write_call(
    writer: Writer, made: Entry, leaves: Sequence[str], rest: Sequence[str], unchanged: Guard | None
) -> list[str]:
    """Write the call of a derivative with leaves, captured arrays and `rest`; return the texts of all arguments."""
    for part in () if unchanged is None else unchanged.each():
        if part is not made.captured.guard:
            _write_guard(writer, part)
    captured = [f"outer[{i}]" for i in range(len(made.captured.items))]
    if captured:
        writer.line(f"outer = {writer.constant(made.captured.checked)}()")
        writer.line(f"if outer is None: {writer.missed}")
    given = [*leaves, *captured, *rest]
    writer.line("try:")
    writer.line(f"    flat = {writer.constant(made.call)}({', '.join(given)})")
    writer.line("except Exception as error:")
    writer.line(f"    {writer.constant(note_place)}({writer.constant(made)}, error)")
    writer.line("    raise")
    return given


_MOST = 16  # tests that are written where the call is


def _write_guard(writer: Writer, unchanged: Guard) -> None:
    """Write that what the function reads from outside is the same: each object, or the whole check says so."""
    same = unchanged.same if len(unchanged.same) <= _MOST else ()
    tests = [f"{writer.constant(owner)}{asked} is not {writer.constant(value)}" for owner, asked, value in same]
    first = f"({' or '.join(tests)}) and " if tests else ""
    writer.line(f"if {first}not {writer.constant(unchanged.check)}(): {writer.missed}")


def named(writer: Writer, texts: Sequence[str]) -> list[str]:
    """Give a name to every leaf that has none."""
    names: list[str] = []
    for text in texts:
        name = text if text.isidentifier() else writer.local()
        if name != text:
            writer.line(f"{name} = {text}")
        names.append(name)
    return names
