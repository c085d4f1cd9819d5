"""Where threads meet: how each addition to a shared shadow is done so that none is lost.

Each array of shadows gets one class, from its accesses in the adjoint:

- *own*: every thread touches only its own elements; a plain `+=`;
- *sum*: all threads add to one element; each sums in a register, each block in shared memory,
  and one atomic per block adds the sum;
- *sums*: the same, of a few elements that loops over constant ranges name;
- *atomic*: anything else.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from s2sad.analysis.on_device import shared_memory
from s2sad.analysis.races import Access, accesses
from s2sad.analysis.threads import Threads, held
from s2sad.errors import Span
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal, pack
from s2sad.ir import ops
from s2sad.ir.device import ATOMIC_ADD, BARRIER, SHARED, THREAD
from s2sad.ir.nodes import (
    Apply,
    Assign,
    Comment,
    Const,
    Effect,
    Expr,
    For,
    Function,
    If,
    Index,
    Return,
    Slice,
    Stmt,
    Store,
    Var,
)
from s2sad.ir.types import Array, Scalar, Static, is_inexact
from s2sad.ir.walk import map_blocks, statements
from s2sad.transform.algebra import negative, zero
from s2sad.transform.device_memory import with_memory
from s2sad.transform.naming import Namer

INT = Scalar("int64", weak=True)


@dataclass(frozen=True, slots=True)
class PlanLine:
    """How one addition of the adjoint is done, and why."""

    span: Span
    place: str
    how: str
    why: str

    def __str__(self) -> str:
        """Write the line, then the decision."""
        text = self.span.statement() if self.span.line else ""
        return f"line {self.span.line}: {text}\n    {self.place}: {self.how}, because {self.why}"


@dataclass(frozen=True, slots=True)
class Meeting:
    """A tidied derivative of a kernel, before it is decided how threads add to its shadows."""

    fn: Function
    coordinates: dict[str, int]
    bars: frozenset[str]
    totals: tuple[Var, ...]
    """For each value that the function returns, the array of one that takes the sum over threads."""
    namer: Namer


def met(meeting: Meeting, primal: Function) -> tuple[Function, tuple[PlanLine, ...]]:
    """Return the function with every addition safe, and the decisions."""
    return _Met(meeting, primal).run()


class _Met:
    def __init__(self, meeting: Meeting, primal: Function) -> None:
        self.meeting, self.fn, self.namer = meeting, meeting.fn, meeting.namer
        self.threads = Threads(self.fn, meeting.coordinates).launched_as(Threads(primal, meeting.coordinates))
        self.shared = _shared_arrays(self.fn)
        self.met_in = self.shared | {p.name for p in self.fn.params if isinstance(p.type, Array)}
        self.found: dict[str, list[Access]] = {}
        holding = held(self.fn.body)
        wraps: set[str] = set()
        for access in accesses(self.fn, self.threads):
            if access.index is not None and self.threads.may_wrap(access.index, holding.get(id(access.stmt), ())):
                wraps.add(access.root)
            self.found.setdefault(access.root, []).append(access)
        self.wraps = wraps
        self.how = {root: self._class_of(root, found) for root, found in self.found.items() if root in self.met_in}
        self.sums: dict[tuple[str, tuple[Any, ...]], Var] = {}
        self.few: dict[str, Few] = {}
        self.plan: list[PlanLine] = []

    def run(self) -> tuple[Function, tuple[PlanLine, ...]]:
        body = self._block(self.fn.body)
        body = (*(few.zeros(self.fn.span) for few in self.few.values()), *body)
        fn = with_memory(replace(self.fn, body=body), self.threads.axes, self.namer)
        body = fn.body
        returned = body[-1].values if body and isinstance(body[-1], Return) else ()
        body = body[:-1] if body and isinstance(body[-1], Return) else body
        totals = [(value, Index(out, (literal(0),), Scalar(_dtype(out))))
                  for value, out in zip(returned, self.meeting.totals, strict=True)]  # fmt: skip
        totals = [(value, place) for value, place in totals if not _is_zero(value)]
        for _, place in totals:
            self.plan.append(PlanLine(self.fn.span, shown(_root_name(place), place.index),
                                      "block sum, one atomic per block",
                                      "every thread has a part of this number's adjoint"))  # fmt: skip
        start: list[Stmt] = []
        for (root, index), total in self.sums.items():
            start.append(Assign(total, zero(total.type), self.fn.span))
            base = next(Var(p.name, p.type) for p in self.fn.params if p.name == root)
            totals.append((total, Index(base, index, total.type)))
        end = [s for value, place in totals for s in self._block_sum(value, place)]
        end += [s for few in self.few.values() for s in self._block_sums(few)]
        fn = replace(self.fn, body=(*start, *body, *end), results=())
        return fn, tuple(dict.fromkeys(self.plan))

    # ---- deciding ----

    def _class_of(self, root: str, found: list[Access]) -> tuple[str, str]:
        known = [a.index for a in found if a.index is not None]
        if len(known) == len(found) and self.threads.are_own(known, root in self.shared):
            if root not in self.wraps:
                return "own", "each thread touches its own elements only"
            return "atomic", "a negative index, which nothing rules out here, counts from the end, where another adds"
        adds_only = all(a.kind == "add" for a in found)
        uniform = len(known) == len(found) and all(self.threads.is_uniform(i) for index in known for i in index)
        if adds_only and uniform and root not in self.shared and root in self.meeting.bars:
            return "sum", "every thread adds to this one element"
        few = [self.threads.few(index) for index in known] if adds_only and len(known) == len(found) else []
        if few and all(few) and root not in self.shared and root in self.meeting.bars:
            return "sums", "every thread adds to these few elements"
        return "atomic", "threads may add to one element at the same time"

    # ---- rewriting ----

    def _block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Store) and isinstance(stmt.place, Index):
                result.append(self._store(stmt, stmt.place))
            else:
                result.append(map_blocks(stmt, self._block))
        return tuple(result)

    def _store(self, stmt: Store, place: Index) -> Stmt:
        known = self.threads.resolved(place)
        if known is None or known[0] not in self.met_in:
            return stmt
        root, index = known
        how, why = self.how[root]
        place_text = shown(root, index)
        if not stmt.accumulate:
            return stmt
        if how == "own":
            self.plan.append(PlanLine(stmt.span, place_text, "plain addition", why))
            return stmt
        value = negative(stmt.value) if stmt.op == "-" else stmt.value
        if how == "sum":
            self.plan.append(PlanLine(stmt.span, place_text, "block sum, one atomic per block", why))
            total = self._total(root, index, place)
            fn = operator.sub if stmt.op == "-" else operator.add
            return Assign(total, build(fn, total, stmt.value), stmt.span)
        if how == "sums":
            self.plan.append(PlanLine(stmt.span, place_text, "block sums, one atomic per block and element", why))
            assert isinstance(place.base, Var)
            return replace(stmt, place=self._few(root, place.base).cell(index))
        self.plan.append(PlanLine(stmt.span, place_text, "atomic addition", why))
        items = place.index
        at = items[0] if len(items) == 1 else pack("tuple", list(items))  # type: ignore[arg-type]
        return Effect(Apply(ATOMIC_ADD, (place.base, at, value), Static(None)), stmt.span)  # type: ignore[arg-type]

    def _few(self, root: str, base: Var) -> Few:
        if root not in self.few:
            ranges = [self.threads.few(a.index) for a in self.found[root] if a.index is not None]
            lows = [min(r[k][0] for r in ranges if r) for k in range(len(ranges[0] or ()))]
            sizes = [max(r[k][1] for r in ranges if r) + 1 for k in range(len(lows))]
            whole = Var(root, next((p.type for p in self.fn.params if p.name == root), base.type))
            kind = Array(_dtype(whole), tuple(sizes), "C")
            self.few[root] = Few(Var(self.namer.fresh(f"{root.removesuffix('_bar')}_sums"), kind), whole, tuple(lows))
        return self.few[root]

    def _block_sums(self, few: Few) -> list[Stmt]:
        """Add the sums of every thread to their elements, one after the other."""
        names = [Var(self.namer.fresh(f"k{axis}" if axis else "k"), INT) for axis in range(len(few.lows))]
        place = Index(few.whole, tuple(names), Scalar(_dtype(few.whole)))
        gap, heading, share, *rest = self._block_sum(few.cell(tuple(names)), place, counted=True)
        assert isinstance(heading, Comment)
        body = tuple(rest)
        sizes = few.array.type.dims if isinstance(few.array.type, Array) else ()
        for name, low, size in reversed(list(zip(names, few.lows, sizes, strict=True))):
            assert isinstance(size, int)
            body = (For(name, literal(low), literal(size), literal(1), body, self.fn.span),)
        heading = replace(heading, text="one sum per block and element, one atomic per block and element")
        return [gap, heading, share, *body]

    def _total(self, root: str, index: tuple[Any, ...], place: Index) -> Var:
        if (root, index) not in self.sums:
            word = "_".join(str(i.value) for i in index if isinstance(i, Const) and i.value >= 0)
            hint = f"{root}_{word}_sum" if word else f"{root}_sum"
            self.sums[root, index] = Var(self.namer.fresh(hint), Scalar(_dtype(place.base)))
        return self.sums[root, index]

    def _block_sum(self, value: Expr, place: Index, counted: bool = False) -> list[Stmt]:
        """Add `value` of every thread to `place`: within the block first, then once per block.

        `counted`: loops from 0 on count the index.
        """
        kind = Array(_dtype(place.base), (1,), "C")
        root = place.base.name if isinstance(place.base, Var) else "block"
        share = Var(self.namer.fresh(f"{root}_of_block"), kind)
        static = (("shape", 1), ("dtype", np.dtype(kind.dtype).type))
        cell = Index(share, (literal(0),), Scalar(kind.dtype))
        span = self.fn.span
        at: Expr = place.index[0] if len(place.index) == 1 else pack("tuple", list(place.index))  # type: ignore
        wait = Effect(Apply(BARRIER, (), Static(None)), span)
        return [
            Comment(""),
            Comment("one sum per block, one atomic per block"),
            Assign(share, Apply(SHARED, (), kind, static), span),
            If(self._is_first(), (Store(cell, "", zero(cell.type), span),), (), span),
            wait,
            Effect(Apply(ATOMIC_ADD, (share, literal(0), value), Static(None)), span),
            wait,
            If(_all((self._is_first(), *_within(place, counted))),
               (Effect(Apply(ATOMIC_ADD, (place.base, at, cell), Static(None)), span),), (), span),
        ]  # fmt: skip

    def _is_first(self) -> Expr:
        axes = sorted(self.threads.axes) or [0]
        return _all(tuple(build(operator.eq, Apply(THREAD[a], (), INT), literal(0)) for a in axes))


@dataclass(frozen=True, slots=True)
class Few:
    """The sums of one thread for the few elements of an array that all threads add to."""

    array: Var
    whole: Var
    lows: tuple[int, ...]

    def zeros(self, span: Span) -> Stmt:
        """Make the array, set to zero."""
        kind = self.array.type
        assert isinstance(kind, Array)
        sizes = [literal(n) for n in kind.dims if isinstance(n, int)]
        size = sizes[0] if len(sizes) == 1 else pack("tuple", list(sizes))
        return Assign(self.array, Apply(np.zeros, (size,), kind), span)

    def cell(self, index: tuple[Any, ...]) -> Index:
        """Return the sum for an element."""
        return Index(self.array, index, Scalar(_dtype(self.array)))


def _all(tests: tuple[Expr, ...]) -> Expr:
    return tests[0] if len(tests) == 1 else Apply(ops.both, tests, Scalar("bool", weak=True))


def _within(place: Index, counted: bool) -> list[Expr]:
    """Say that the element exists: the kernel may have asked before reading it, and the sum stands outside its test."""
    assert isinstance(place.base.type, Array)
    tests: list[Expr] = []
    for axis, (item, size) in enumerate(zip(place.index, place.base.type.dims, strict=False)):
        assert not isinstance(item, Slice)
        if isinstance(item, Const) and isinstance(size, int) and -size <= item.value < size:
            continue
        length = build(ops.dim, place.base, literal(axis))
        if not (isinstance(item, Const) and item.value < 0):
            tests.append(build(operator.lt, item, length))
        if not (counted or (isinstance(item, Const) and item.value >= 0)):
            tests.append(build(operator.ge, build(operator.add, item, length), literal(0)))
    return tests


def _is_zero(value: Expr) -> bool:
    return isinstance(value, Const) and value.value == 0


def _root_name(place: Index) -> str:
    assert isinstance(place.base, Var)
    return place.base.name


def _shared_arrays(fn: Function) -> set[str]:
    """Return the arrays of shared memory, and their shadows."""
    own = shared_memory(fn)
    for stmt in statements(fn.body):
        if isinstance(stmt, Assign) and isinstance(stmt.value, Apply) and stmt.value.fn is np.zeros_like:
            source = stmt.value.args[0]
            if isinstance(source, Var) and source.name in own:
                own.add(stmt.target.name)
    return own


def _dtype(expr: Expr) -> str:
    kind = expr.type
    assert isinstance(kind, Array | Scalar)
    return kind.dtype


def shown(root: str, index: tuple[Any, ...]) -> str:
    return f"{root}[{', '.join(_text(item) for item in index)}]"


_SIGNS: dict[Any, str] = {operator.add: "+", operator.sub: "-", operator.mul: "*"}


def _text(item: Any) -> str:
    """Write an index as the user would, in the plan's lines."""
    match item:
        case Var(name):
            return name
        case Const(value):
            return str(value)
        case Apply(fn, (a, b)) if fn in _SIGNS:
            return f"{_text(a)} {_SIGNS[fn]} {_text(b)}"
        case Index(base, index):
            return f"{_text(base)}[{', '.join(_text(i) for i in index)}]"
        case _:
            return "…"


__all__ = ["Meeting", "PlanLine", "is_inexact", "met"]
