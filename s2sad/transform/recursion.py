"""The adjoint of a function that calls itself: one recursion down, one back, and stacks between them.

    def f(x, n):                      def f_fwd(x, n, v_tape):          def f_bwd(x, n, f_bar, v_tape):
        if n == 0:                        if n == 0:                        x_bar = 0.0
            return x                          result = x                    if n == 0:
        v = f(x, n - 1)      becomes      else:                                 x_bar += f_bar
        return sin(v) * x                     v = f_fwd(x, n - 1, v_tape)   else:
                                              result = sin(v) * x               v = v_tape.pop()
                                              v_tape.append(v)                  x_bar += sin(v) * f_bar
                                          return result                         v_bar = cos(v) * x * f_bar
                                                                                x_bar += f_bwd(x, n - 1, v_bar, v_tape)
                                                                            return x_bar

Adjoints that run their primal again, at every depth anew, cost the square of the depth, or worse; these cost as
many turns as the primal. What one call puts on a stack last, the adjoint of the same call takes first.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.loops import makes_list, popped_from
from s2sad.analysis.sharing import Groups
from s2sad.frontend.operators import build, negate
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    CallStmt,
    Effect,
    Expr,
    Function,
    If,
    Param,
    Return,
    Stmt,
    Var,
)
from s2sad.ir.shapes import SHAPES
from s2sad.ir.types import Array, ListOf, Scalar, Type
from s2sad.ir.walk import (
    bound,
    exprs_of,
    map_blocks,
    names_in,
    reads,
    root_of,
    statements,
    subexpressions,
)
from s2sad.transform.adjoint import Sweeps, placeholder
from s2sad.transform.algebra import zero_list
from s2sad.transform.naming import Namer
from s2sad.transform.one_recursion import OneRecursion

_CHEAP = frozenset({
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.neg, operator.eq, operator.ne,
    operator.lt, operator.le, operator.gt, operator.ge, min, max, *SHAPES,
})  # fmt: skip
"""What is computed again rather than kept, of arguments alone."""


@dataclass(frozen=True, slots=True)
class Halves:
    """The two recursions of a function, and what is given to them beside its arguments."""

    forward: Function
    backward: Function
    differentiated: tuple[Param, ...]
    seeds: tuple[Var, ...]
    shadows: tuple[Var, ...]
    """The adjoints of array arguments, which the second adds to; those of numbers are its results."""
    tapes: tuple[Var, ...]
    pushed: tuple[tuple[Var, Var], ...]
    """What each call keeps, and on which tape, beside what its loops keep."""

    @property
    def results(self) -> tuple[Type, ...]:
        """What the first gives: the function's own results."""
        return self.forward.results

    @property
    def names(self) -> set[str]:
        """The names of the second's parameters."""
        return {p.name for p in self.backward.params}

    def run(
        self, seeds: Sequence[Expr], values: tuple[Var, ...], scalars: tuple[Var, ...], like: Function
    ) -> list[Stmt]:
        """Return the statements that create the tapes and run both for the arguments of `like`."""
        named = [Var(p.name, p.type) for p in like.params]
        backward = (*named, *seeds, *self.shadows, *self.tapes)
        return [
            *_created(self.tapes, like),
            CallStmt(values, self.forward.name, (*named, *self.tapes), like.span),
            CallStmt(scalars, self.backward.name, backward, like.span),
        ]


def halves(
    callee: Function, made: Sweeps, names: tuple[str, str], wrt: tuple[int, ...], free: Sequence[Var], facts: Facts
) -> Halves | None:
    """Return the sweeps of a recursive function as two recursions, or None where stacks do not serve.

    `names`: of the recursions; the second is what `made` calls where it needs the adjoint of a call.
    `free`: what the reverse sweep reads and does not make.
    """
    return _Halves(callee, made, names, wrt, facts).split(free)


class _Halves:
    def __init__(
        self, callee: Function, made: Sweeps, names: tuple[str, str], wrt: tuple[int, ...], facts: Facts
    ) -> None:
        self.callee, self.made, self.facts = callee.name, made, facts
        self.title = callee.span.function or callee.name
        self.differentiated = tuple(callee.params[i] for i in wrt)
        self.down, self.back = names
        self.params = {p.name for p in made.primal.params}
        self.namer = Namer(names_in((*made.forward, *made.reverse)) | self.params | {s.name for s in made.seeds})

    def split(self, free: Sequence[Var]) -> Halves | None:
        if not self._calls_agree():
            return None
        forward, reverse = list(self.made.forward), list(self.made.reverse)
        again = self._computed_again(free)
        there = {*self.params, *(a.target.name for a in again), *(b.name for b in self._shadows())}
        kept = [v for v in free if v.name not in there]
        tapes: list[Var] = []
        pushed: list[tuple[Var, Var]] = []
        for value in kept:
            if isinstance(value.type, ListOf):
                if not self._is_stack(value.name):
                    return None
                forward = list(_without_creation(tuple(forward), value.name))
                tapes.append(value)
                continue
            tape = Var(self.namer.fresh(_tape_name(value.name)), ListOf(_in_one_piece(value.type)))
            forward, reverse = _kept(forward, reverse, value, tape)
            tapes.append(tape)
            pushed.append((value, tape))
        tapes.sort(key=lambda v: v.name)
        down = _with_tapes(forward, self.callee, self.down, tapes)
        back = _with_tapes([*again, *reverse], self.back, self.back, tapes)
        return Halves(
            self._forward(down, kept, tapes), self._backward(back, tapes), self.differentiated,
            self.made.seeds, self._shadows(), tuple(tapes), tuple(pushed),
        )  # fmt: skip

    def _shadows(self) -> tuple[Var, ...]:
        return tuple(b for b in self.made.bars if isinstance(b, Var) and _is_shared(b.type))

    def _calls_agree(self) -> bool:
        """Say whether every call of itself has an adjoint, and runs in the forward sweep."""
        calls = [_calls(body, name) for body, name in (
            (self.made.primal.body, self.callee), (self.made.forward, self.callee), (self.made.reverse, self.back),
        )]  # fmt: skip
        again = _calls(self.made.reverse, self.callee)
        return calls[0] == calls[1] == calls[2] > 0 and not again

    def _computed_again(self, free: Sequence[Var]) -> list[Assign]:
        """Return what costs nothing to compute again from the arguments, in order."""
        wanted = {v.name for v in free}
        every = [n for s in statements(self.made.forward) for n in bound(s)]
        known, found = set(self.params), list[Assign]()
        for stmt in self.made.forward:
            if isinstance(stmt, Assign) and isinstance(stmt.target.type, Scalar) and every.count(stmt.target.name) == 1:
                parts = [p for p in subexpressions(stmt.value) if isinstance(p, Apply)]
                if all(p.fn in _CHEAP for p in parts) and reads(stmt.value) <= known:
                    known.add(stmt.target.name)
                    found.append(stmt)
        while True:
            fewer = [a for a in found if a.target.name in wanted or any(a.target.name in reads(b.value) for b in found)]
            if len(fewer) == len(found):
                return found
            found = fewer

    def _is_stack(self, name: str) -> bool:
        """Say whether a list is made once, appended to by one sweep and emptied by the other, and nothing else."""
        made = [s for s in statements(self.made.forward) if name in bound(s)]
        if len(made) != 1 or not makes_list(made[0]) or name in self.params:
            return False
        for stmt in statements(self.made.forward):
            grows = isinstance(stmt, Append) and stmt.list.name == name and name not in reads(stmt.value)
            if not grows and stmt is not made[0] and any(name in reads(e) for e in exprs_of(stmt)):
                return False
        parts = [p for s in statements(self.made.reverse) for e in exprs_of(s) for p in subexpressions(e)]
        popped = sum(isinstance(p, Apply) and p.fn is ops.pop and reads(p) == {name} for p in parts)
        others = (s for s in statements(self.made.reverse) if popped_from(s) is None)
        met = sum(isinstance(p, Var) and p.name == name for p in parts)
        return popped == met and not any(name in written_by(s, self.facts) for s in others)

    def _forward(self, body: tuple[Stmt, ...], kept: Sequence[Var], tapes: Sequence[Var]) -> Function:
        fn = self.made.primal
        values = tuple(self._own(value, body, kept) for value in self.made.values)
        doc = f"Forward sweep of `{self.title}`: its value; what `{self.back}` needs is put on the tapes."
        params = (*fn.params, *(Param(t.name, t.type) for t in tapes))
        kinds = tuple(v.type for v in values)
        return Function(self.down, params, (*body, Return(values, fn.span)), kinds, doc, fn.span)

    def _own(self, value: Expr, body: tuple[Stmt, ...], kept: Sequence[Var]) -> Expr:
        """Return a result that may be written later: not what a tape holds."""
        root = root_of(value)
        if root is None or not isinstance(value.type, Array):
            return value
        groups = Groups(replace(self.made.primal, body=self.made.forward), self.facts)
        held = {v.name for v in kept} | {n for s in statements(body) if isinstance(s, Append) for n in reads(s.value)}
        shared = any(groups.find(name) == groups.find(root.name) for name in held)
        return build(np.copy, value) if shared else value

    def _backward(self, body: tuple[Stmt, ...], tapes: Sequence[Var]) -> Function:
        fn, made = self.made.primal, self.made
        scalars = tuple(b for b in made.bars if not _is_shared(b.type))
        given = (*made.seeds, *self._shadows(), *tapes)
        params = (*fn.params, *(Param(v.name, v.type) for v in given))
        doc = f"Adjoint sweep of `{self.title}`: adds to the adjoints of its arrays, from the tapes of `{self.down}`."
        whole = (*body, Return(scalars, fn.span))
        return Function(self.back, params, whole, tuple(s.type for s in scalars), doc, fn.span)


def _calls(body: tuple[Stmt, ...], name: str) -> int:
    return sum(isinstance(s, CallStmt) and s.fn is None and s.callee == name for s in statements(body))


def _with_tapes(body: Sequence[Stmt], callee: str, name: str, tapes: Sequence[Var]) -> tuple[Stmt, ...]:
    return tuple(
        replace(s, callee=name, args=(*s.args, *tapes))
        if isinstance(s, CallStmt) and s.fn is None and s.callee == callee
        else map_blocks(s, lambda block: _with_tapes(block, callee, name, tapes))
        for s in body
    )


def _without_creation(body: tuple[Stmt, ...], name: str) -> tuple[Stmt, ...]:
    rest = (s for s in body if not (makes_list(s) and name in bound(s)))
    return tuple(map_blocks(s, lambda b: _without_creation(b, name)) for s in rest)


def _kept(forward: list[Stmt], reverse: list[Stmt], value: Var, tape: Var) -> tuple[list[Stmt], list[Stmt]]:
    """Put a value on a stack where the branch that it lives in ends, and take it back where its adjoint starts."""
    for at, stmt in enumerate(forward):
        if isinstance(stmt, If) and any(value.name in bound(s) for s in statements((stmt,))):
            branch = _branch(forward, reverse, stmt, value.name)
            if branch is None:
                break
            side, there, other = branch
            own = reverse[there]
            assert isinstance(own, If)
            down, back = _kept(list((stmt.body, stmt.orelse)[side]), list((own.body, own.orelse)[other]), value, tape)
            forward[at] = _with_side(stmt, side, tuple(down))
            reverse[there] = _with_side(own, other, tuple(back))
            return forward, reverse
    start: list[Stmt] = []
    if not any(value.name in bound(s) for s in forward):  # only some path makes it
        start = [Assign(value, placeholder(value.type))]
    item = _in_one_piece(value.type)
    own = value if item == value.type else build(np.copy, value)
    back = Assign(replace(value, type=item), Apply(ops.pop, (tape,), item))
    return [*start, *forward, Append(tape, own)], [back, *reverse]


def _in_one_piece(kind: Type) -> Type:
    """Return the type that a list has for its items: views of other strides are copied."""
    return replace(kind, layout="C") if isinstance(kind, Array) else kind


def _tape_name(name: str) -> str:
    return f"{name}s" if name.endswith("_tape") else f"{name}_tape"


def _with_side(stmt: If, side: int, body: tuple[Stmt, ...]) -> If:
    return replace(stmt, orelse=body) if side else replace(stmt, body=body)


def _branch(forward: Sequence[Stmt], reverse: Sequence[Stmt], stmt: If, name: str) -> tuple[int, int, int] | None:
    """Return the side of a branch outside of which a name is nothing to either sweep, and where its adjoint is."""
    sides = [side for side, block in enumerate((stmt.body, stmt.orelse)) if _anywhere(block, name)]
    if len(sides) != 1:
        return None
    if any(_anywhere((s,), name) for s in forward if s is not stmt) or any(name in reads(e) for e in exprs_of(stmt)):
        return None
    own = [at for at, s in enumerate(reverse) if _anywhere((s,), name)]
    if len(own) != 1 or not isinstance(found := reverse[own[0]], If) or any(name in reads(e) for e in exprs_of(found)):
        return None
    turned = _is_negation(found.test, stmt.test)
    if found.test != stmt.test and not turned:
        return None
    if any(n in reads(stmt.test) for s in statements(tuple(reverse[: own[0]])) for n in bound(s)):
        return None
    there = [side for side, block in enumerate((found.body, found.orelse)) if _anywhere(block, name)]
    same = 1 - sides[0] if turned else sides[0]
    return (sides[0], own[0], same) if there == [same] else None


def _is_negation(one: Expr, other: Expr) -> bool:
    return negate(other) == one or negate(one) == other


def _has(stmt: Stmt, name: str) -> bool:
    return name in bound(stmt) or any(name in reads(e) for e in exprs_of(stmt))


def _anywhere(body: tuple[Stmt, ...], name: str) -> bool:
    return any(_has(s, name) for s in statements(body))


def lighter(apart: Halves) -> Halves:
    """Return halves without the tapes of which nothing is read any more."""
    kept = (s for s in statements(apart.backward.body) if not _dropped_from(s))
    read = {n for s in kept for e in _own_exprs(s, apart) for n in reads(e)}
    idle = {t.name for t in apart.tapes} - read
    if not idle:
        return apart
    forward, backward = (_without_tapes(fn, apart, idle) for fn in (apart.forward, apart.backward))
    tapes = tuple(t for t in apart.tapes if t.name not in idle)
    return replace(apart, forward=forward, backward=backward, tapes=tapes)


def _dropped_from(stmt: Stmt) -> str:
    """Return the tape that a statement takes an item from which nobody reads."""
    tape = popped_from(stmt) if isinstance(stmt, Effect) else None
    return tape.name if tape is not None else ""


def _own_exprs(stmt: Stmt, apart: Halves) -> tuple[Any, ...]:
    """Return what a statement reads, but for the tapes that it only passes on."""
    if isinstance(stmt, CallStmt) and stmt.callee == apart.backward.name:
        return stmt.args[: len(stmt.args) - len(apart.tapes)]
    return tuple(exprs_of(stmt))


def _without_tapes(fn: Function, apart: Halves, idle: set[str]) -> Function:
    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        made: list[Stmt] = []
        for stmt in body:
            if (isinstance(stmt, Append) and stmt.list.name in idle) or _dropped_from(stmt) in idle:
                continue
            if isinstance(stmt, CallStmt) and stmt.callee in (apart.forward.name, apart.backward.name):
                rest = (a for a in stmt.args if not (isinstance(a, Var) and a.name in idle))
                stmt = replace(stmt, args=tuple(rest))
            made.append(map_blocks(stmt, block))
        return tuple(made)

    return replace(fn, params=tuple(p for p in fn.params if p.name not in idle), body=block(fn.body))


def sharing(made: Sweeps, callee: str, adjoint: str, apart: Halves) -> Sweeps:
    """Return sweeps that run the halves of `callee` where each call has its adjoint, not all of it and then both."""
    calls = [_calls(body, name) for body, name in (
        (made.primal.body, callee), (made.forward, callee), (made.reverse, adjoint),
    )]  # fmt: skip
    if not calls[0] == calls[1] == calls[2] > 0 or _calls(made.reverse, callee):
        return made
    params = {p.name for p in made.primal.params} | {s.name for s in made.seeds}
    namer = Namer(names_in((*made.forward, *made.reverse)) | params)
    tapes = [Var(namer.fresh(t.name), t.type) for t in apart.tapes]
    forward = _with_tapes(made.forward, callee, apart.forward.name, tapes)
    reverse = _with_tapes(made.reverse, adjoint, apart.backward.name, tapes)
    return replace(made, forward=(*_created(tapes, made.primal), *forward), reverse=reverse)


def _created(tapes: Sequence[Var], fn: Function) -> list[Stmt]:
    return [Assign(tape, Apply(ops.new_list, (), tape.type), fn.span) for tape in tapes]


def joint(name: str, fn: Function, apart: Halves | OneRecursion) -> Function:
    """Return both recursions, one after the other: the adjoint of `fn` for those who call it."""
    scalars = tuple(_bar(p) for p in apart.differentiated if not _is_shared(p.type))
    given = (Param(v.name, v.type) for v in (*apart.seeds, *apart.shadows))
    body = (*apart.run(apart.seeds, _unread(apart), scalars, fn), Return(scalars, fn.span))
    doc = f"Add the adjoint of `{fn.span.function or fn.name}` to the adjoints of its arrays."
    return Function(name, (*fn.params, *given), body, tuple(s.type for s in scalars), doc, fn.span)


def begun(
    name: str, fn: Function, apart: Halves | OneRecursion, seed: float | None, wanted: bool, doc: str
) -> Function:  # fmt: skip
    """Return both recursions, begun for `fn` itself: its derivative, with its results if they are `wanted`."""
    shared = [p for p in apart.differentiated if _is_shared(p.type)]
    bars = {p.name: _bar(p) for p in apart.differentiated} | {
        p.name: shadow for p, shadow in zip(shared, apart.shadows, strict=True)
    }
    taken = Namer({p.name for p in fn.params} | apart.names)
    values = tuple(Var(taken.fresh("result"), t) for t in apart.results) if wanted else _unread(apart)
    scalars = tuple(bars[p.name] for p in apart.differentiated if not _is_shared(p.type))
    zeros = (Assign(bars[p.name], _zeros(Var(p.name, p.type)), fn.span) for p in shared)
    seeds = apart.seeds if seed is None else tuple(literal(seed) for _ in apart.seeds)
    given = (Param(s.name, s.type) for s in apart.seeds if seed is None)
    outputs = (*(values if wanted else ()), *(bars[p.name] for p in apart.differentiated))
    body = (*zeros, *apart.run(seeds, values, scalars, fn), Return(outputs, fn.span))
    return Function(name, (*fn.params, *given), body, tuple(o.type for o in outputs), doc, fn.span)


def _unread(apart: Halves | OneRecursion) -> tuple[Var, ...]:
    return tuple(Var(f"_{k}" if k else "_", t) for k, t in enumerate(apart.results))


def _bar(param: Param) -> Var:
    return Var(f"{param.name}_bar", param.type)


def _zeros(array: Var) -> Expr:
    return zero_list(array) if isinstance(array.type, ListOf) else build(np.zeros_like, array)


def _is_shared(kind: Type) -> bool:
    return isinstance(kind, Array | ListOf)


__all__ = ["Halves", "begun", "halves", "joint", "lighter", "sharing"]
