"""Tapes of loops whose length only the data know, on a device: `tape[step, value, slot]`.

The adjoint saves onto lists, one per value; a thread has none. Here each list becomes a column of
an array that the launch brings along: `step` counts the list's items, `value` is the list, `slot`
the thread, last so that neighbours write next to each other. A thread that finds the tape too
short adds nothing and says how long it should have been; the launch then raises. A kernel of its
own runs the forward sweep only and counts.
"""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from s2sad.errors import UnsupportedSyntaxError
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.device import ATOMIC_MAX, GRID, STRIDE, SYNC_OR, is_barrier
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    Break,
    Comment,
    Const,
    Continue,
    Effect,
    Expr,
    Function,
    If,
    Index,
    Param,
    Return,
    Stmt,
    Store,
    Var,
)
from s2sad.ir.types import Array, ListOf, Scalar, Static, Sym, is_inexact
from s2sad.ir.walk import blocks_of, bound, exprs_of, map_blocks, map_exprs, names_in, reads, statements, subexpressions
from s2sad.transform.naming import Namer

INT = Scalar("int64", weak=True)
REVERSE = "---- adjoint sweep ----"


@dataclass(frozen=True, slots=True)
class DeviceTape:
    """What a launch must bring: arrays `[steps, values, threads]`, and one that takes the length needed.

    Attributes:
        values: how many real numbers each step may save; `marks`: how many integers and truth values.
        dtype: the precision of the real ones.
        counter: the kernel that finds the length, of the same arguments without the shadows.
    """

    values: int
    marks: int
    dtype: str
    counter: str = ""


def taped(fn: Function, axes: int | None) -> tuple[Function, DeviceTape | None]:
    """Return `fn` with its lists in `tape`, `marks` and `needed`, which follow its parameters.

    `axes`: how many axes of the launch number the threads; None for a function that is told its `slot`.
    """
    if not lists_of(fn):
        return fn, None
    writer = _Writer(fn, axes)
    return writer.run(), writer.tape()


def counting(fn: Function, name: str, keep: int, bars: frozenset[str]) -> Function:
    """Return the forward sweep of `fn`, whose lists are only counted; `bars` are no parameters of it."""
    writer = _Writer(replace(fn, body=_without_views(fn.body, bars)), keep, counts=True)
    made = writer.run()
    params = tuple(p for p in made.params if p.name not in bars)
    return replace(made, name=name, params=params, doc=f"How long a tape `{fn.name}` needs.")


def _without_views(body: tuple[Stmt, ...], bars: frozenset[str]) -> tuple[Stmt, ...]:
    """Leave out the rows of shadows: the forward sweep does not touch them."""
    kept = (s for s in body if not (isinstance(s, Assign) and reads(s.value) & bars))
    return tuple(map_blocks(s, lambda b: _without_views(b, bars)) for s in kept)


def lists_of(fn: Function) -> dict[str, ListOf]:
    """Return the lists that a derivative saves onto, with their types."""
    found: dict[str, ListOf] = {}
    for stmt in statements(fn.body):
        if isinstance(stmt, Append):
            found.setdefault(stmt.list.name, ListOf(stmt.value.type))
            if not isinstance(stmt.value.type, Scalar):
                raise UnsupportedSyntaxError(
                    "this loop changes a whole array an unknown number of times", fn.span,
                    "A thread saves numbers, not arrays. Give the loop a constant number of steps, or write the "
                    "array element by element.",
                )  # fmt: skip
    return found


def partners(body: tuple[Stmt, ...]) -> dict[str, str]:
    """Return the lists that are always equally long, each with the first of its kind, itself included.

    Such lists are pushed to in one block, and popped from in one: one count serves them all.
    """
    pushed: dict[str, list[int]] = {}
    popped: dict[str, list[int]] = {}

    def visit(block: tuple[Stmt, ...], number: int) -> int:
        jumps = any(isinstance(s, Break | Continue | Return) for s in _without_loops(block[:-1]))
        own = -number if jumps else number
        for stmt in block:
            if isinstance(stmt, Append):
                pushed.setdefault(stmt.list.name, []).append(own)
            for name in _popped(stmt):
                popped.setdefault(name, []).append(own)
        for stmt in block:
            for inner in blocks_of(stmt):
                number = visit(inner, number + 1)
        return number

    visit(body, 1)
    groups: dict[tuple[int, int], list[str]] = {}
    for name, places in pushed.items():
        back = popped.get(name, [0])
        if len(places) == len(back) == 1 and places[0] > 0 and back[0] >= 0:
            groups.setdefault((places[0], back[0]), []).append(name)
    return {name: names[0] for names in groups.values() if len(names) > 1 for name in names}


def _without_loops(body: tuple[Stmt, ...]) -> list[Stmt]:
    """Return the statements of a block and of the branches in it."""
    found: list[Stmt] = []
    for stmt in body:
        found.append(stmt)
        if isinstance(stmt, If):
            found += [s for block in blocks_of(stmt) for s in _without_loops(block)]
    return found


def _popped(stmt: Stmt) -> list[str]:
    return [p.args[0].name for e in exprs_of(stmt) for p in subexpressions(e)
            if isinstance(p, Apply) and p.fn is ops.pop and isinstance(p.args[0], Var)]  # fmt: skip


def _word(name: str) -> str:
    """Return what a list is of: `h` for `h_tape`, `h_2` for `h_tape_2`."""
    return re.sub(r"_tape(_\d+)?$", r"\1", name)


class _Writer:
    def __init__(self, fn: Function, axes: int | None, counts: bool = False) -> None:
        self.fn, self.axes, self.counts, self.told = fn, axes or 1, counts, axes is None
        namer = Namer(names_in(fn.body) | {p.name for p in fn.params})
        self.lists = lists_of(fn)
        self.first = partners(fn.body)
        self.last = {first: name for name, first in self.first.items()}
        own = {n: Var(namer.fresh(f"{_word(n)}_count"), INT) for n in self.lists if self.first.get(n, n) == n}
        self.count = {n: own[self.first.get(n, n)] for n in self.lists}
        self.down: set[str] = set()
        reals = [n for n, kind in self.lists.items() if is_inexact(kind.item)]
        self.column = {n: reals.index(n) if n in reals else i for i, n in enumerate(self.lists)}
        others = [n for n in self.lists if n not in reals]
        self.column |= {n: others.index(n) for n in others}
        self.reals, self.others = reals, others
        self.made_in_reverse: set[str] = set()
        self.pushes: set[int] = set()
        """The identities of the branches that save, which live in `kept`."""
        self.kept: list[Stmt] = []
        dtypes = {getattr(self.lists[n].item, "dtype", "") for n in reals}
        single = {p.type.dtype for p in fn.params if isinstance(p.type, Array) and is_inexact(p.type)} == {"float32"}
        self.dtype = "float32" if single or dtypes == {"float32"} else "float64"
        dims = tuple(Sym(f"tape.{axis}", nonone=True) for axis in range(3))
        self.tape_var = Var(namer.fresh("tape"), Array(self.dtype, dims, "C"))
        self.marks = Var(namer.fresh("marks"), Array("int64", dims, "C"))
        self.needed = Var(namer.fresh("needed"), Array("int64", (1,), "C"))
        self.slot = Var(namer.fresh("slot"), INT)

    def tape(self) -> DeviceTape:
        return DeviceTape(len(self.reals), len(self.others), self.dtype)

    def run(self) -> Function:
        body = self._block(self.fn.body)
        extra = (self.needed,) if self.counts else (self.tape_var, self.marks, self.needed)
        extra = (*extra, self.slot) if self.told else extra
        start = () if self.counts or self.told else (Assign(self.slot, self._slot(), self.fn.span),)
        params = (*self.fn.params, *(Param(v.name, v.type) for v in extra))
        return replace(self.fn, params=params, body=(*start, *body))

    def _slot(self) -> Expr:
        """Number the threads of a launch."""
        total: Expr | None = None
        for axis in reversed(range(self.axes)):
            here: Expr = Apply(GRID[self.axes, axis], (), INT)
            if total is None:
                total = here
            else:
                wide = build(operator.mul, Apply(STRIDE[self.axes, axis], (), INT), total)
                total = build(operator.add, here, wide)
        assert total is not None
        return total

    def _block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        at = next((n for n, s in enumerate(body) if isinstance(s, Comment) and s.text == REVERSE), None)
        if at is None:
            return self._statements(body)
        zeros = [Assign(count, literal(0), self.fn.span) for count in dict.fromkeys(self.count.values())]
        forward = self._statements(body[:at])
        self.made_in_reverse = {n for s in statements(body[at + 1 :]) for n in bound(s)}
        if self.counts:
            return (*zeros, *forward, *self._reports())
        return (*zeros, *forward, *body[at : at + 1], *self._guarded(self._statements(body[at + 1 :])))

    def _guarded(self, reverse: tuple[Stmt, ...]) -> list[Stmt]:
        """Run the reverse sweep only where the tape was long enough; all threads of a block or none."""
        tail = reverse[-1:] if reverse and isinstance(reverse[-1], Return) else ()
        reverse = reverse[: len(reverse) - len(tail)]
        pairs = dict.fromkeys((self.count[n], self._array(n)) for n in self.lists)
        tests = [build(operator.gt, count, build(ops.dim, array, literal(0))) for count, array in pairs]
        short: Expr = tests[0] if len(tests) == 1 else Apply(ops.either, tuple(tests), Scalar("bool", weak=True))
        if any(isinstance(s, Effect) and is_barrier(s.value) for s in statements(reverse)):
            short = Apply(SYNC_OR, (Apply(np.int32, (short,), Scalar("int32")),), Scalar("bool", weak=True))
        return [If(short, (*self._reports(), *self._no_numbers(tail)), reverse, self.fn.span), *tail]

    def _no_numbers(self, tail: tuple[Stmt, ...]) -> list[Stmt]:
        """What the reverse sweep would have computed and the function returns is NaN instead."""
        values = tail[0].values if tail and isinstance(tail[0], Return) else ()
        return [Assign(v, Const(math.nan, v.type), self.fn.span)
                for v in values if isinstance(v, Var) and v.name in self.made_in_reverse]  # fmt: skip

    def _reports(self) -> tuple[Stmt, ...]:
        return tuple(
            Effect(Apply(ATOMIC_MAX, (self.needed, literal(0), count), Static(None)), self.fn.span)
            for count in dict.fromkeys(self.count.values())
        )

    def _array(self, name: str) -> Var:
        return self.tape_var if name in self.reals else self.marks

    def _cell(self, name: str) -> Index:
        array = self._array(name)
        kind = array.type
        assert isinstance(kind, Array)
        return Index(array, (self.count[name], literal(self.column[name]), self.slot), Scalar(kind.dtype))

    def _statements(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        for stmt in body:
            for made in self._stmt(stmt):
                last = result[-1] if result else None
                twins = isinstance(made, If) and isinstance(last, If) and made.test == last.test
                if isinstance(made, If) and isinstance(last, If) and twins and id(made) in self.pushes:
                    result[-1] = replace(last, body=(*last.body, *made.body))
                    self.pushes.add(id(result[-1]))
                    self.kept.append(result[-1])
                    continue
                result.append(made)
        return tuple(result)

    def _stmt(self, stmt: Stmt) -> list[Stmt]:
        if isinstance(stmt, Assign) and isinstance(stmt.target.type, ListOf):
            return []
        if isinstance(stmt, Append):
            return self._push(stmt)
        popped = _popped(stmt)
        if not popped:
            return [map_blocks(stmt, self._block)] if blocks_of(stmt) else [stmt]
        downs: list[Stmt] = []
        for name in popped:
            first = self.first.get(name, name)
            if first not in self.down:  # those that share its count are read where it stands now
                count = self.count[name]
                downs.append(Assign(count, build(operator.sub, count, literal(1)), stmt.span))
            if name in self.first:
                self.down.add(first)
        if isinstance(stmt, Effect):
            return downs
        return [*downs, map_exprs(stmt, self._read)]

    def _push(self, stmt: Append) -> list[Stmt]:
        name = stmt.list.name
        up: list[Stmt] = []
        if name not in self.first or self.last[self.first[name]] == name:
            up = [Assign(self.count[name], build(operator.add, self.count[name], literal(1)), stmt.span)]
        if self.counts:
            return up
        room = build(operator.lt, self.count[name], build(ops.dim, self._array(name), literal(0)))
        push = If(room, (Store(self._cell(name), "", stmt.value, stmt.span),), (), stmt.span)
        self.pushes.add(id(push))
        self.kept.append(push)
        return [push, *up]

    def _read(self, expr: Any) -> Any:
        from s2sad.ir.walk import map_children

        if isinstance(expr, Apply) and expr.fn is ops.pop and isinstance(expr.args[0], Var):
            name = expr.args[0].name
            cell = self._cell(name)
            if isinstance(expr.type, Scalar) and expr.type.dtype == "bool":
                return build(operator.ne, cell, literal(0))
            return cell
        return map_children(expr, self._read)


__all__ = ["DeviceTape", "counting", "lists_of", "taped"]
