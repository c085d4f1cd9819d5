"""Why a derivative is as it is: what is active, what is saved, and what each line became.

Everything here is read from the decisions that the transform kept; nothing is decided again.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable, Set
from dataclasses import dataclass

import numpy as np

from s2sad.analysis.activity import sources, varied_and_useful
from s2sad.api.derive import Derivative
from s2sad.api.plan import shape_text
from s2sad.api.wording import ranges, subject, written
from s2sad.emit.names import Names
from s2sad.emit.printer import print_expr
from s2sad.errors import Span
from s2sad.ir.nodes import Append, Assign, Expr, Index, Return, Stmt, Store
from s2sad.ir.types import Array, Scalar, Type, is_inexact
from s2sad.ir.walk import bound, exprs_of, root_of, statements
from s2sad.transform.decisions import Decisions
from s2sad.transform.structure import values_of

_FEW = 4  # as many lines as are listed one by one


@dataclass(frozen=True, slots=True)
class Saved:
    """One value that the forward sweep keeps for the reverse one.

    Attributes:
        place: what is saved, such as `u[i]`.
        tape: the name that holds it in the derivative.
        size: its bytes, as text; lengths that are not known stand by name.
        repeated: one for each iteration of a loop.
        why: the reason, naming lines.
    """

    place: str
    tape: str
    size: str
    repeated: bool
    why: str

    def cost(self) -> str:
        """Write the bytes: `8 bytes per iteration`."""
        return f"{self.size} byte{'s' * (self.size != '1')}" + " per iteration" * self.repeated


@dataclass(frozen=True, slots=True)
class Line:
    """What is known of one line of the user's function.

    Attributes:
        number: its number in the file, from 1.
        text: the line.
        state: "active", "inactive", or "" where the line computes nothing.
        why: for an inactive line, the reason.
        saved: what is saved because of it.
        again: the names that it computes a second time in the reverse sweep.
        emitted: the lines of the derivative that come from it, from 1.
    """

    number: int
    text: str
    state: str
    why: str
    saved: tuple[Saved, ...]
    again: tuple[str, ...]
    emitted: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Flow:
    """Cotangents of `name` go from the line that reads it back to one that makes it."""

    name: str
    reads: int
    makes: int


@dataclass(frozen=True, slots=True)
class Part:
    """One of the functions that were differentiated.

    Attributes:
        name: its name.
        file: where it is written.
        lines: its lines, from the `def` to the last.
        flows: how cotangents go between its lines.
    """

    name: str
    file: str
    lines: tuple[Line, ...]
    flows: tuple[Flow, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a derivative is as it is.

    Attributes:
        function: the function that was differentiated.
        mode: which derivative.
        inputs: the parameters that are differentiated.
        source: the derivative's text; its lines count from 1.
        parts: the function and those that it calls, those among them that were written into it.
    """

    function: str
    mode: str
    inputs: tuple[str, ...]
    source: str
    parts: tuple[Part, ...]


def explanation(derivative: Derivative, mode: str) -> Explanation:
    """Return why a derivative is as it is; only reverse modes have saved values to tell of."""
    derived = derivative.derived
    assert derived is not None and derived.instance.function is not None
    main = derived.instance.function.name
    decisions = derived.decisions
    order = [main, *(name for name in decisions if name != main)]
    parts = [part for name in order if name in decisions for part in _Part(decisions[name], derivative).parts()]
    inputs = tuple(sorted(decisions[main].inputs)) if main in decisions else ()
    named = {p.name: i for i, p in enumerate(derived.instance.function.params)}
    inputs = tuple(sorted(inputs, key=lambda name: named.get(name, len(named))))
    return Explanation(derived.instance.name, mode, inputs, derivative.text, tuple(parts))


@dataclass(frozen=True, slots=True)
class _Place:
    """A function of the user's, by its file, its name and the line of its `def`."""

    file: str
    function: str
    line: int


def _head_of(span: Span) -> int:
    """Return the line of the `def` around a span; its own line where there is none."""
    mark = re.compile(rf"\s*(async\s+)?def\s+{re.escape(span.function)}\b")
    return next((n for n in range(span.line, 0, -1) if mark.match(linecache.getline(span.file, n))), span.line)


class _Part:
    """Gathers what the decisions say about one function, by line."""

    def __init__(self, decisions: Decisions, derivative: Derivative) -> None:
        self.of, self.derivative = decisions, derivative
        self.fn = decisions.primal
        self.file = self.fn.span.file
        self.order = {id(s): s for s in statements(self.fn.body)}
        self.names = Names({"numpy": "np", "math": "math"})
        outputs = {
            name
            for value, on in zip(values_of(self.fn), decisions.results_active, strict=False)
            if on
            for name in sources(value)
        }
        self.varied, self.useful = varied_and_useful(self.fn, set(decisions.inputs), outputs, decisions.facts.flow)

    def parts(self) -> list[Part]:
        """Return the function's lines and flows, then those of each function that was written into it."""
        main = _Place(self.file, self.fn.span.function or self.fn.name, self.fn.span.line)
        by_place: dict[_Place, list[Stmt]] = {main: []}
        for stmt in self.order.values():
            if stmt.span.line:
                by_place.setdefault(self._place(stmt.span, main), []).append(stmt)
        inside = frozenset(place.function for place in by_place if place != main)
        return [self._part(place, made, inside) for place, made in by_place.items()]

    def _place(self, span: Span, main: _Place) -> _Place:
        if (span.file, span.function or main.function) == (main.file, main.function):
            return main
        return _Place(span.file, span.function, _head_of(span))

    def _part(self, place: _Place, made: list[Stmt], inside: frozenset[str]) -> Part:
        last = max([place.line, *(s.span.end_line for s in made)])
        emitted: dict[int, list[int]] = {}
        for number, span in self.derivative.module.source_map.items():
            if span.file == place.file:
                emitted.setdefault(span.line, []).append(number)
        by_line: dict[int, list[Stmt]] = {}
        for stmt in made:
            by_line.setdefault(stmt.span.line, []).append(stmt)
        own = {id(stmt) for stmt in made}
        saved, again = self._saved(own), self._again(by_line.keys())
        for number, items in saved.items():  # the lines that save and put back have no span of their own
            emitted.setdefault(number, []).extend(n for item in items for n in self._mentions(item.tape))
        lines: list[Line] = []
        for number in range(place.line, last + 1):
            text = linecache.getline(place.file, number).rstrip("\n")
            state, why = self._state(by_line.get(number, []), text)
            calls = [name for name in sorted(inside) if not state and re.search(rf"\b{re.escape(name)}\(", text)]
            if calls and number != place.line:
                why = f"{subject(calls)[0]}: written out here, and told of below"
            lines.append(
                Line(
                    number, text, state, why, tuple(saved.get(number, ())), written(again.get(number, ()), text),
                    tuple(sorted(set(emitted.get(number, ())))),
                )
            )  # fmt: skip
        numbers = range(place.line, last + 1)
        flows = tuple(f for f in self._flows(made) if f.reads in numbers and f.makes in numbers)
        own_name = self.fn.name if (place.file, place.line) == (self.file, self.fn.span.line) else place.function
        return Part(own_name, place.file, tuple(lines), flows)

    def _mentions(self, name: str) -> list[int]:
        """Return the lines of the derivative that name something and come from no line of the user's."""
        rows = enumerate(self.derivative.text.split("\n"), 1)
        word = re.compile(rf"\b{re.escape(name)}\b")
        return [n for n, row in rows if n not in self.derivative.module.source_map and word.search(row)]

    # ---- activity ----

    def _state(self, made: list[Stmt], text: str) -> tuple[str, str]:
        reasons: dict[str, list[str]] = {}
        for stmt in made:
            if isinstance(stmt, Return):
                if any(sources(value) & self.of.active for value in stmt.values):
                    return "active", ""
                reasons.setdefault(f"the result does not depend on {self._inputs()}", [])
            for name, kind in _targets(stmt):
                if name in self.of.active:
                    return "active", ""
                names = reasons.setdefault(self._reason(name, kind), [])
                if name not in names and re.search(rf"\b{re.escape(name)}\b", text):
                    names.append(name)
        named = [reason.format(*subject(names)) for reason, names in reasons.items() if names or "{0}" not in reason]
        told = named or [reason.format("what is computed here", "is", "does") for reason in list(reasons)[:1]]
        return ("inactive", "; ".join(told)) if reasons else ("", "")

    def _reason(self, name: str, kind: Type) -> str:
        """Return the reason as a sentence about {0}, with the verb {1}."""
        if not is_inexact(kind):
            dtype = getattr(kind, "dtype", "")
            return "{0} {1} " + (
                "true or false" if dtype == "bool" else "whole" if "int" in dtype else "no real number"
            )  # fmt: skip
        if name not in self.varied:
            return "{0} {2} not depend on " + self._inputs()
        if name not in self.useful:
            return "the result does not depend on {0}"
        return "nothing of {0} is differentiated"

    def _inputs(self) -> str:
        return ", ".join(f"`{p.name}`" for p in self.fn.params if p.name in self.of.inputs) or "any input"

    # ---- what is saved ----

    def _saved(self, own: Set[int]) -> dict[int, list[Saved]]:
        found: dict[int, list[Saved]] = {}
        for key, places in self.of.plan.overwrites.items():
            stmt = self.order[key]
            if key not in own:
                continue
            for place, slot in zip(places, self.of.slots.get(key, ()), strict=True):
                root = root_of(place)
                name = root.name if root is not None else ""
                self._add(found, stmt, place, slot.save, f"overwritten here, and {self._read_by(name)}")
        for block, targets in self.of.plan.taped.items():
            for target, slot in zip(targets, self.of.slots.get(("end", block), ()), strict=True):
                made = self.of.layout.defs.get(target.name, ())
                if made and id(made[-1]) in own:
                    dear = target.name in self.of.dear
                    reason = "long to compute again" if dear else "lost at the next iteration"
                    why = f"{reason}, and {self._read_by(target.name)}"
                    self._add(found, made[-1], target, slot.save, why)
        for made in self.of.plan.again.values():
            for names, slots in ((made.state, "state"), (made.flags, "flags")):
                for name, slot in zip(names, self.of.slots.get((slots, id(made.loop)), ()), strict=True):
                    why = "each iteration begins with it, and is run again before its reverse"
                    why = why if slots == "state" else "decided here in the first run"
                    where = made.loop if slots == "state" else self.of.layout.defs[name.name][0]
                    if id(where) in own:
                        self._add(found, where, name, slot.save, why, True)
        for value, tape in self.of.pushed:
            made = self.of.layout.defs.get(value.name, ())
            if made and id(made[-1]) in own:
                why = f"each call has its own, and it is {self._read_by(value.name)}"
                self._add(found, made[-1], value, (Append(tape, value),), why)
        return found

    def _add(
        self, found: dict[int, list[Saved]], stmt: Stmt, place: Expr, save: tuple[Stmt, ...], why: str,
        repeated: bool = False,
    ) -> None:  # fmt: skip
        tape = next((name for name in map(_tape, save) if name), "")
        if not re.search(rf"\b{re.escape(tape)}\b", self.derivative.text):
            return  # nothing read it in the end
        block = self.of.layout.block_of[id(stmt)]
        repeated = repeated or bool(self.of.layout.loops(block))
        item = Saved(print_expr(place, self.names), tape, _size(place.type), repeated, why)
        rows = found.setdefault(stmt.span.line, [])
        if item not in rows:
            rows.append(item)

    def _read_by(self, name: str) -> str:
        lines = sorted(
            {
                self.order[key].span.line
                for key, needs in self.of.reading.items()
                if name in needs and key in self.order and self.order[key].span.line
            }
        )
        if not lines:
            return "read by the reverse sweep"
        listed = ", ".join(map(str, lines))
        if len(lines) > _FEW:
            near = ranges(lines).split(", ")
            listed = ", ".join(near[:_FEW]) + " and others" * (len(near) > _FEW)
        return f"read by the adjoint of line{'s' * (len(lines) > 1)} {listed}"

    def _again(self, lines: Set[int]) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for bindings in self.of.plan.recomputed.values():
            for stmt in bindings:
                if stmt.span.line not in lines or not isinstance(stmt, Assign):
                    continue
                rows = found.setdefault(stmt.span.line, [])
                if stmt.target.name not in rows:
                    rows.append(stmt.target.name)
        return found

    # ---- how cotangents flow ----

    def _flows(self, made: list[Stmt]) -> tuple[Flow, ...]:
        makers: dict[str, list[Stmt]] = {}
        for stmt in made:
            for name, _ in _targets(stmt):
                makers.setdefault(name, []).append(stmt)
        params = {p.name for p in self.fn.params}
        found: dict[Flow, None] = {}
        for stmt in made:
            values = stmt.values if isinstance(stmt, Return) else list(exprs_of(stmt))
            targets = {name for name, _ in _targets(stmt)}
            if not isinstance(stmt, Return) and not targets & self.of.active:
                continue
            for name in sorted({n for value in values for n in sources(value)} & self.of.active):
                lines = {s.span.line for s in makers.get(name, ()) if self._reaches(s, stmt)}
                if name in params:
                    lines.add(self.fn.span.line)
                for line in sorted(lines - {stmt.span.line, 0}):
                    found[Flow(name, stmt.span.line, line)] = None
        return tuple(found)

    def _reaches(self, maker: Stmt, reader: Stmt) -> bool:
        """Say whether what `maker` makes may be read by `reader`: it comes before, or a loop holds both."""
        if maker.span.line < reader.span.line:
            return True
        around = {id(loop) for loop in self.of.layout.all_loops(self.of.layout.block_of[id(reader)])}
        return any(id(loop) in around for loop in self.of.layout.all_loops(self.of.layout.block_of[id(maker)]))


def _targets(stmt: Stmt) -> Iterable[tuple[str, Type]]:
    """Yield the names that a statement binds or writes into, with their types."""
    match stmt:
        case Assign(target):
            yield target.name, target.type
        case Store(place):
            root = root_of(place)
            if root is not None:
                yield root.name, root.type
        case Append(items):
            yield items.name, items.type
        case _:
            kinds = {target.name: target.type for target in getattr(stmt, "targets", ())}
            for name in bound(stmt):
                if name in kinds:
                    yield name, kinds[name]


def _tape(stmt: Stmt) -> str:
    match stmt:
        case Assign(target):
            return target.name
        case Append(items):
            return items.name
        case Store(Index(base)):
            root = root_of(base)
            return root.name if root is not None else ""
        case _:
            return ""


def _size(kind: Type) -> str:
    """Write the bytes of a value; `8 * u.shape[0]` where a length is not known."""
    if isinstance(kind, Scalar):
        return str(np.dtype(kind.dtype).itemsize)
    if not isinstance(kind, Array):
        return "?"
    lengths = shape_text(kind).strip("()").rstrip(",").split(", ") if kind.dims else []
    known = int(np.prod([int(n) for n in lengths if n.isdigit()], dtype=int)) * np.dtype(kind.dtype).itemsize
    return " * ".join([str(known), *(n for n in lengths if not n.isdigit())])
