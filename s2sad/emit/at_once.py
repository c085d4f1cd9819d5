"""Target "cpu", `parallel=True`: the turns of a `prange` are shared between threads, in derivatives too.

    for i in range(x.size):                       total = loss_grad_in_threads(x, y, w, x_bar, w_bar, total)
        r = w * x[i] - y[i]
        total += r * r                   becomes  def loss_grad_in_threads(x, y, w, x_bar, w_bar, total):
        x_bar[i] += 2 * r * w                         parts = numba.get_num_threads()
        w_bar[1] += 2 * r * x[i]                      total_parts = np.empty(parts)
                                                      w_bar_parts = np.empty((parts, w_bar.shape[0]))
    def loss_grad_turns(first, last, …):              for part in numba.prange(parts):
        total = 0.0                                       total_parts[part] = loss_grad_turns(
        w_bar = np.zeros_like(w_bar_part)                     part * x.size // parts,
        for i in range(first, last):                          (part + 1) * x.size // parts, …
            …                                             )
        w_bar_part[:] = w_bar                         for part in range(parts):
        return total                                      total += total_parts[part]
                                                          w_bar += w_bar_parts[part]
                                                      return total

The turns stay the loop that they were, from `first` to `last`, in a function that is compiled like any other: Numba's
passes for threads see nothing but the middle function. A share of the turns has its own sums, and its own arrays to
add to. Where it may raise an error the loop stays, as the error would be lost.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.analysis.alone import arrays_alone
from s2sad.analysis.bounds import lower_bounds
from s2sad.analysis.facts import Facts
from s2sad.emit.independent import Reader, Turns, variables_of
from s2sad.emit.lanes import dtype_of
from s2sad.errors import Span
from s2sad.frontend.operators import BOOL, build
from s2sad.frontend.values import literal, pack
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Apply,
    Assert,
    Assign,
    CallStmt,
    Const,
    Expr,
    For,
    Function,
    Index,
    Param,
    Raise,
    Return,
    Stmt,
    Store,
    Var,
)
from s2sad.ir.types import Array, Scalar, Sym
from s2sad.ir.walk import blocks_of, map_blocks, names_in, statements
from s2sad.transform.called_once import Before
from s2sad.transform.naming import Namer
from s2sad.transform.stepping import minus

_WHOLE = Scalar("int64")
_PARTS = Sym("parts")

Lines = Collection[tuple[str, int]]


def shared_out(
    functions: Mapping[str, Function], entry: str, lines: Lines, before: Mapping[str, Before]
) -> tuple[dict[str, Function], dict[str, Before]]:
    """Return the functions with the turns of loops in these lines shared between threads.

    `before`: what is known of the names of functions.

    Returns:
        the functions, and what is known of the names of those that are new.
    """
    made = dict(functions)
    new: dict[str, Before] = {}
    inside: set[str] = set()  # threads do not start threads
    for name in reversed(list(functions)):  # callers first
        if name in inside:
            continue
        work = _Sharing(functions[name], made, entry, lines)
        body = work.block(functions[name].body)
        after = {**made, name: replace(functions[name], body=body), **{turns.name: turns for turns in work.made}}
        reached = {callee for turns in work.made for callee in Facts(after).reached(turns.name)}
        if not work.made or name in reached:  # the turns of a function that calls itself would start threads again
            continue
        made[name] = replace(functions[name], body=body)
        new |= {turns.name: _known(turns, functions[name], before.get(name, Before())) for turns in work.made}
        made |= {turns.name: turns for turns in work.made}
        inside |= reached
    order = [*(n for n in functions if n in inside and n not in new), *new, *(n for n in functions if n not in inside)]
    return {name: made[name] for name in order}, new


def _known(turns: Function, fn: Function, before: Before) -> Before:
    """Return what is known of the names in a share of the turns: what is known where they were cut out."""
    least = lower_bounds(fn, before.least)
    given = {p.name: least[p.name] for p in turns.params if p.name in least}
    return Before(before.names, {**before.least, **given, turns.params[0].name: 0})


def stays_quiet(functions: Mapping[str, Function], new: Collection[str]) -> bool:
    """Say whether nothing that runs beside others raises an error, now that lengths are checked where they must be."""
    facts = Facts(dict(functions))
    reached = {callee for name in new if name in functions for callee in facts.reached(name)}
    return not any(isinstance(s, Raise | Assert) for name in reached for s in statements(functions[name].body))


def stands_in(fn: Function, lines: Lines) -> bool:
    """Say whether a loop of a function stands in one of these lines."""
    return any(isinstance(s, For) and (s.span.file, s.span.line) in lines for s in statements(fn.body))


def has_threads(fn: Function) -> bool:
    """Say whether a function shares turns between threads."""
    return any(isinstance(s, For) and s.at_once for s in statements(fn.body))


def shares_in(functions: Mapping[str, Function]) -> set[str]:
    """Return the names of the functions that run beside others."""
    loops = (s for fn in functions.values() for s in statements(fn.body) if isinstance(s, For) and s.at_once)
    return {s.callee for loop in loops for s in loop.body if isinstance(s, CallStmt)}


class _Sharing:
    """The loops of one function."""

    def __init__(self, fn: Function, functions: Mapping[str, Function], entry: str, lines: Lines) -> None:
        self.fn, self.lines, self.functions = fn, lines, functions
        alone = None if fn.name == entry else arrays_alone(functions, entry)[fn.name]
        self.reader = Reader(fn, Facts(dict(functions)), alone) if stands_in(fn, lines) else None
        self.made: list[Function] = []

    def _is_marked(self, loop: For) -> bool:
        return (loop.span.file, loop.span.line) in self.lines

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Return a block with its loops, or the loops inside them, shared."""
        if self.reader is None:
            return body
        made: list[Stmt] = []
        for stmt in body:
            turns = self.reader.read(stmt) if isinstance(stmt, For) and self._is_marked(stmt) else None
            if turns is not None:
                made += self._shared(turns)
            elif blocks_of(stmt):
                made.append(map_blocks(stmt, self.block))
            else:
                made.append(stmt)
        return tuple(made)

    def _shared(self, turns: Turns) -> list[Stmt]:
        """Return the call that stands for a loop; the functions that it needs are made."""
        span = turns.loop.span
        name = self._named("turns")
        self.made.append(_turns(name, self.fn, turns))
        threads = _in_threads(self._named("in_threads"), self.fn, turns, name)
        self.made.append(threads)
        some = Apply(operator.gt, (turns.loop.stop, turns.loop.start), BOOL)
        checks = [replace(c, test=Apply(ops.both, (some, c.test), BOOL)) for c in turns.checks]
        return [*checks, CallStmt(turns.sums, threads.name, tuple(Var(p.name, p.type) for p in threads.params), span)]

    def _named(self, what: str) -> str:
        taken = {*self.functions, *(fn.name for fn in self.made)}
        return Namer(taken).fresh(f"{self.fn.name}_{what}")


def _in_threads(name: str, fn: Function, turns: Turns, share: str) -> Function:
    """Return the function that starts the threads, and puts together what they give."""
    import numba

    loop, span = turns.loop, turns.loop.span
    ends = {v.name: v for end in (loop.start, loop.stop) for v in variables_of(end)}
    entering = {v.name: v for v in (*turns.given, *turns.added, *turns.sums)}
    params = {**entering, **{n: v for n, v in ends.items() if n not in entering}}
    namer = Namer(set(params))
    parts, part = Var(namer.fresh("parts"), _WHOLE), Var(namer.fresh("part"), _WHOLE)
    before: list[Stmt] = [Assign(parts, Apply(numba.get_num_threads, (), _WHOLE), span)]
    results: list[tuple[Var, Expr]] = []
    rows: list[Expr] = []
    after: list[Stmt] = []
    for var in turns.sums:
        kind = _number(var)
        whole = Var(namer.fresh(f"{var.name}_parts"), Array(kind.dtype, (_PARTS,), "C"))
        before.append(Assign(whole, Apply(np.empty, (parts,), whole.type, dtype_of(kind)), span))
        place = Index(whole, (part,), kind)
        results.append((Var(namer.fresh(f"{var.name}_part"), kind), place))
        after.append(Assign(var, Apply(operator.add, (var, place), kind), span))
    for var in turns.added:
        kind = var.type
        assert isinstance(kind, Array)
        whole = Var(namer.fresh(f"{var.name}_parts"), Array(kind.dtype, (_PARTS, *kind.dims), "C"))
        lengths = [build(ops.dim, var, literal(axis)) for axis in range(len(kind.dims))]
        made = Apply(np.empty, (pack("tuple", [parts, *lengths]),), whole.type, dtype_of(kind))
        before.append(Assign(whole, made, span))
        row = Index(whole, (part,), kind)
        rows.append(row)
        after.append(_each(var, row, "+", namer, span))
    bounds = _share(loop, part, parts), _share(loop, build(operator.add, part, literal(1)), parts)
    call = CallStmt(tuple(target for target, _ in results), share, (*bounds, *turns.given, *rows), span)
    kept = [Store(place, "", target, span) for target, place in results]
    one_each = For(part, literal(0), parts, literal(1), (call, *kept), span, at_once=True)
    body: list[Stmt] = [*before, one_each]
    if after:
        body.append(For(part, literal(0), parts, literal(1), tuple(after), span))
    if turns.sums:
        body.append(Return(turns.sums, span))
    doc = f"Share the turns of the loop in {_place(turns, fn)} between threads."
    kinds = tuple(_number(v) for v in turns.sums)
    return Function(name, tuple(Param(v.name, v.type) for v in params.values()), tuple(body), kinds, doc, fn.span)


def _turns(name: str, fn: Function, turns: Turns) -> Function:
    """Return the function of a share: the loop, with sums and arrays of its own."""
    loop, span = turns.loop, turns.loop.span
    namer = Namer(names_in((loop,)) | {v.name for v in (*turns.given, *turns.added)})
    first, last = Var(namer.fresh("first"), _WHOLE), Var(namer.fresh("last"), _WHOLE)
    before: list[Stmt] = []
    after: list[Stmt] = []
    params = [Param(v.name, v.type) for v in (first, last, *turns.given)]
    for var in turns.sums:
        before.append(Assign(var, literal(np.dtype(_number(var).dtype).type(0).item()), span))
    for var in turns.added:
        row = Var(namer.fresh(f"{var.name}_part"), var.type)
        params.append(Param(row.name, var.type))
        before.append(Assign(var, Apply(np.zeros_like, (row,), var.type), span))
        after.append(_each(row, var, "", namer, span))
    body = (*before, replace(loop, start=first, stop=last), *after)
    if turns.sums:
        body = (*body, Return(turns.sums, span))
    doc = f"Turns `{first.name}` to `{last.name}` of the loop in {_place(turns, fn)}."
    return Function(name, tuple(params), body, tuple(_number(v) for v in turns.sums), doc, fn.span)


def _place(turns: Turns, fn: Function) -> str:
    span = turns.loop.span
    return f"`{span.function or fn.name}` ({os.path.basename(span.file)}:{span.line})"


def _number(var: Var) -> Scalar:
    assert isinstance(var.type, Scalar)
    return Scalar(var.type.dtype)


def _each(target: Expr, source: Expr, op: str, namer: Namer, span: Span) -> Stmt:
    """Return the loops that add the elements of an array to those of another, or put them there."""
    kind: Any = target.type
    index = tuple(Var(namer.fresh("ijklmn"[axis]), _WHOLE) for axis in range(len(kind.dims)))
    places = [
        Index(at.base, (*at.index, *index), Scalar(kind.dtype)) if isinstance(at, Index)
        else Index(at, index, Scalar(kind.dtype)) for at in (target, source)
    ]  # fmt: skip
    made: Stmt = Store(places[0], op, places[1], span, accumulate=op == "+")
    for axis in reversed(range(len(index))):
        made = For(index[axis], literal(0), build(ops.dim, target, literal(axis)), literal(1), (made,), span)
    return made


def _share(loop: For, part: Expr, parts: Var) -> Expr:
    """Return the turn with which a share begins: `part * (stop - start) // parts + start`."""
    known = loop.start.value if isinstance(loop.start, Const) else None
    count = loop.stop if known == 0 else build(operator.sub, loop.stop, loop.start)
    if known:
        count = minus(loop.stop, known)
    at = build(operator.floordiv, build(operator.mul, part, count), parts)
    return at if known == 0 else build(operator.add, at, loop.start)
