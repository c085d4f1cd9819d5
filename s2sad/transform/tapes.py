"""Tapes: where a saved value is kept. Arrays indexed by loop counters if the sizes are known, else lists."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from s2sad.analysis.layout import TOP, Block, Layout, are_steady, steady_lengths
from s2sad.errors import NOWHERE
from s2sad.frontend.infer import fresh_dim
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal, pack
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    CallStmt,
    Const,
    Expr,
    For,
    If,
    Index,
    Pack,
    Param,
    Slice,
    Stmt,
    Store,
    Swap,
    Var,
    While,
)
from s2sad.ir.shapes import refused_if, standing, stands_in
from s2sad.ir.types import Array, ListOf, Scalar, Sym, Type
from s2sad.ir.views import is_item
from s2sad.ir.walk import blocks_of, bound, exprs_of, reads, root_of, statements, targets
from s2sad.runtime.lists import copy_arrays, copy_list
from s2sad.transform.extents import furthest, nearest
from s2sad.transform.naming import Namer, noun
from s2sad.transform.prepare import Prepared
from s2sad.transform.stepping import minus


@dataclass(frozen=True, slots=True)
class Slot:
    """How one value is saved and read back."""

    create: tuple[Stmt, ...]
    before: Any
    """The loop in front of which the tape is created, or None: the statement itself."""
    save: tuple[Stmt, ...]
    restore: tuple[Stmt, ...]


class Tapes:
    """Chooses a slot for every save, cheapest first."""

    def __init__(
        self, layout: Layout, prepared: Prepared, namer: Namer, device: bool = False, stacks: bool = False
    ) -> None:
        """Tapes of one function; `device`: an array is made only where its lengths are constants.

        `stacks`: what calls the function itself keeps lists, which all its calls share.
        """
        self.layout, self.prepared, self.namer, self.device, self.stacks = layout, prepared, namer, device, stacks
        self.made: dict[Any, list[tuple[list[Block], Slot]]] = {}
        """By what is saved and how, the blocks that do so and their slots."""
        self.counters: list[Var] = []
        """What counts the elements of arrays that lists of numbers take, by axis."""

    def slot(self, place: Expr, stmt: Stmt, block: Any, rebinds: bool, reachable: bool = False) -> Slot:
        """Return the slot of `place`, saved at `stmt` in `block`; both sides of a branch save in one place.

        `rebinds`: the name gets a new array; `reachable`: what it held may still be written by another name.
        `stmt` is the one that overwrites it; or that of which `block` is a part, where it is kept at the end of that.
        """
        if not isinstance(place, Var) or not isinstance(place.type, Scalar):
            return self._new(place, block, rebinds, reachable, self._is_made_in_a_turn(place, stmt, block))
        loops = tuple(id(loop) for loop in self.layout.repeating(block))
        same = self.made.setdefault((place.name, place.type.dtype, loops), [])
        chain = self.layout.chain(block)
        for blocks, slot in same:
            if all(_either(chain, self.layout.chain(other)) for other in blocks):
                blocks.append(block)
                back = tuple(replace(s, target=place) if isinstance(s, Assign) else s for s in slot.restore)
                return replace(slot, create=(), restore=back)
        slot = self._new(place, block, rebinds, reachable)
        same.append(([block], slot))
        return slot

    def _is_made_in_a_turn(self, place: Expr, stmt: Stmt, block: Block) -> bool | None:
        """Say whether a turn makes what it keeps at its end; None if not every turn keeps it."""
        around = [self.layout.owner[one] for one in self.layout.chain(block)[1:]]
        loop = next((at for at, one in enumerate(around) if isinstance(one, For | While)), len(around))
        if any(isinstance(one, If) for one in around[loop:]):
            return None
        ends = blocks_of(stmt)[block[1]] if self.layout.owner.get(block) is stmt else ()
        return isinstance(place, Var) and any(place.name in bound(s) for s in ends)

    def of_turns(self, place: Var, loop: For | While) -> Slot:
        """Return the slot of what each turn of an outermost loop keeps of a number or of an array.

        Where a list keeps it, that is one of numbers: to make an array for each turn takes longer than to fill it.
        """
        if isinstance(place.type, Array) and (isinstance(loop, While) or id(loop) in self.prepared.counts):
            return self._of_elements(place, place.type, loop)
        return self._in_loops(place, [loop], False, False)

    def _of_elements(self, place: Var, kind: Array, loop: For | While) -> Slot:
        number, one = Scalar(kind.dtype), literal(1)
        tape = Var(self.namer.fresh(f"{noun(place)}_tape"), ListOf(number))
        while len(self.counters) < len(kind.dims):
            self.counters.append(Var(self.namer.fresh("i"), Scalar("int64", True)))
        at = tuple(self.counters[: len(kind.dims)])
        element = Index(place, at, number)
        save: Stmt = Append(tape, element)
        restore: Stmt = Store(element, "", Apply(ops.pop, (tape,), number))
        for axis, var in reversed(list(enumerate(at))):
            dim = kind.dims[axis]
            length = literal(dim) if isinstance(dim, int) else build(ops.dim, place, literal(axis))
            save = For(var, literal(0), length, one, (save,))
            last = literal(dim - 1) if isinstance(dim, int) else build(operator.sub, length, one)
            restore = For(var, last, literal(-1), literal(-1), (restore,))
        create = Assign(tape, Apply(ops.new_list, (), tape.type))
        return Slot((create,), loop, (save,), (restore,))

    def is_known_before(self, create: Stmt, loop: For | While) -> bool:
        """Say whether a tape can be made before a loop: what its lengths are made of is there, and stays."""
        return all(self._fixed(name, loop) for expr in exprs_of(create) for name in reads(expr))

    def _new(self, place: Expr, block: Any, rebinds: bool, reachable: bool, there: bool | None = None) -> Slot:
        return self._in_loops(place, self.layout.repeating(block), rebinds, reachable, there)

    def _in_loops(
        self, place: Expr, loops: list[For | While], rebinds: bool, reachable: bool, there: bool | None = None
    ) -> Slot:  # fmt: skip
        """Return a slot inside loops; `there`: each turn has made what it keeps, None if not each keeps it."""
        hint = noun(place)
        if not loops:
            return self._variable(place, hint, rebinds, reachable)
        shared = self.stacks and _calls(loops[0], self.layout.fn.name)
        counted = [loop for loop in loops if isinstance(loop, While) or id(loop) in self.prepared.counts]
        if not shared and (not counted or (len(loops) == 1 and self._has_room_for_all(loops[0], place))):
            indexed = self._indexed(place, [s for s in loops if isinstance(s, For)], hint, rebinds, there)
            if indexed is not None:
                return indexed
        if not self.device and isinstance(place, Var) and self._is_of_few_numbers(place):
            return self._of_numbers(place, loops[0], rebinds)
        return self._list(place, loops[0], hint, rebinds, reachable)

    def _has_room_for_all(self, loop: For | While, place: Expr) -> bool:
        """Say whether what a loop keeps takes no more than an array does that is there, though it may leave early."""
        if self.device or not (isinstance(loop, For) and isinstance(place.type, Scalar)):
            return False  # a thread has little memory: it runs such turns again, or has a tape that the user measures
        match loop.stop:
            case Const(int() as turns):
                return turns <= _MOST_TURNS
            case Apply(fn, args) if fn is min:
                return all(_is_length(arg) for arg in args)
            case stop:
                return _is_length(stop)

    def _is_of_few_numbers(self, place: Var) -> bool:
        """Say whether an array always has the same few numbers: a list takes them sooner than an array is made."""
        dims = place.type.dims if isinstance(place.type, Array) else ()
        known = [dim for dim in dims if isinstance(dim, int)]
        return 0 < prod(known) <= _FEW and len(known) == len(dims) > 0 and self._is_of_one_length(place)

    def _of_numbers(self, place: Var, loop: For | While, rebinds: bool) -> Slot:
        """Return a slot in a list of numbers; a name that is bound anew gets an array for them."""
        assert isinstance(place.type, Array)
        slot = self._of_elements(place, place.type, loop)
        if not rebinds:
            return slot
        sizes: list[Expr] = [literal(dim) for dim in place.type.dims]
        size = sizes[0] if len(sizes) == 1 else pack("tuple", sizes)
        static = () if place.type.dtype == "float64" else (("dtype", np.dtype(place.type.dtype).type),)
        room = Apply(np.empty, (size,), _fresh_type(place.type), static)
        return replace(slot, restore=(Assign(place, room), *slot.restore))

    def _variable(self, place: Expr, hint: str, rebinds: bool, reachable: bool) -> Slot:
        saved = Var(self.namer.fresh(f"{hint}_saved"), _fresh_type(place.type))
        kept = (rebinds and not reachable) or isinstance(place.type, Scalar)
        value = place if kept else copied(place)
        return Slot((), None, (Assign(saved, value),), self._put_back(place, saved, rebinds))

    def _list(self, place: Expr, loop: Any, hint: str, rebinds: bool, reachable: bool) -> Slot:
        kind = _fresh_type(place.type)
        if isinstance(kind, Array) and self._may_be_empty(place):
            kind = replace(kind, dims=tuple(fresh_dim() for _ in kind.dims))
        tape = Var(self.namer.fresh(f"{hint}_tape"), ListOf(kind))
        kept = (rebinds and not reachable) or isinstance(place.type, Scalar)
        value = place if kept else copied(place)
        create = Assign(tape, Apply(ops.new_list, (), tape.type))
        popped = Apply(ops.pop, (tape,), kind)
        return Slot((create,), loop, (Append(tape, value),), self._put_back(place, popped, rebinds))

    def _put_back(self, place: Expr, value: Expr, rebinds: bool) -> tuple[Stmt, ...]:
        if not is_item(place):
            return (_put_back(place, value, rebinds),)
        before = Var(self.namer.fresh(f"{noun(place)}_before"), value.type)
        empty = self._may_be_empty(place)
        if empty and isinstance(before.type, Array):
            before = replace(before, type=replace(before.type, dims=tuple(fresh_dim() for _ in before.type.dims)))
        axes = range(len(place.type.dims) if isinstance(place.type, Array) else 0)
        lengths = [(build(ops.dim, before, literal(axis)), build(ops.dim, place, literal(axis))) for axis in axes]
        checks = [refused_if(build(operator.ne, *pair), NOWHERE, _OTHER_LENGTH) for pair in lengths]
        put_back = (*checks, _put_back(place, before, rebinds))
        if empty:  # what stood there was nothing yet
            there = build(operator.gt, build(ops.size, before), literal(0))
            return (Assign(before, value), If(there, put_back, (), NOWHERE))
        return (Assign(before, value), *put_back)

    def _may_be_empty(self, place: Expr) -> bool:
        """Say whether a place is in a list that begins with what stands for arrays until they are set: `[None] * n`."""
        if not is_item(place):
            return False
        return any(isinstance(s, Append) and _is_empty(s.value) for s in statements(self.layout.fn.body))

    def _indexed(self, place: Expr, loops: list[For], hint: str, rebinds: bool, there: bool | None) -> Slot | None:
        outer = loops[0]
        extents: list[Expr] = []
        positions: list[Expr] = []
        for loop in loops:
            found = self.extent(loop, outer)
            if found is None:
                return None
            extents.append(found[0])
            positions.append(found[1])
        shape: list[Expr] = []
        if isinstance(place.type, ListOf):
            return None
        if isinstance(place.type, Array):
            known = self._lengths(place, outer, there) if rebinds else self._shape(place, outer)
            if known is None:
                return None
            shape = known
        if self.device and not _small([*extents, *shape]):
            return None
        dims = tuple(fresh_dim() for _ in (*extents, *shape))
        dtype = getattr(place.type, "dtype", "float64")
        tape = Var(self.namer.fresh(f"{hint}_tape"), Array(dtype, dims, "C"))
        sizes = [*extents, *shape]
        size = sizes[0] if len(sizes) == 1 else pack("tuple", sizes)
        static = () if dtype == "float64" else (("dtype", np.dtype(dtype).type),)
        create = Assign(tape, Apply(np.empty, (size,), tape.type, static))
        cell: Expr = Index(tape, tuple(positions), _cell_type(place.type))
        save = (Store(cell, "", place),)
        if rebinds and isinstance(place.type, Array) and len(place.type.dims) > 1 and place.type.layout != "C":
            if place.type.layout != "F":
                return None
            cell = build(np.asfortranarray, cell)  # what is a view of the one is a view of the other
        return Slot((create,), outer, save, (_put_back(place, cell, rebinds),))

    def extent(self, loop: For, outer: For) -> tuple[Expr, Expr] | None:
        """Return the length of an axis with a place for each turn of a loop, told before `outer`, and the position."""
        begin, stop = self._before(loop.start, outer), self._before(loop.stop, outer)
        if not isinstance(loop.step, Const) or (begin is None and stop is None):
            return None
        if begin is None or stop is None:
            return self._triangle(loop, outer)
        step = loop.step.value
        start = loop.start.value if isinstance(loop.start, Const) else None
        if step == 1 and isinstance(start, int) and 0 <= start <= 64:
            return self._no_less_than_nothing(stop), loop.var
        if not (self._steady(loop.start, outer) and self._steady(loop.stop, outer)):
            return None
        if step == 1:
            length = build(operator.sub, loop.stop, loop.start)
            return Apply(max, (length, literal(0)), length.type), build(operator.sub, loop.var, loop.start)
        if step == -1 and isinstance(loop.stop, Const) and loop.stop.value in (-1, 0):
            if (whole := _one_more(loop.start)) is not None:
                return whole, loop.var
            match loop.start:
                case Apply(fn, (count, Const(1))) if fn is operator.sub:
                    trips = count
                case _:
                    trips = build(operator.add, loop.start, literal(1))
            return Apply(max, (trips, literal(0)), Scalar("int64", True)), loop.var
        span = Apply(range, (loop.start, loop.stop, loop.step), Scalar("int64", True))
        count = Apply(ops.length, (span,), Scalar("int64", True))
        offset = build(operator.sub, loop.var, loop.start)
        return count, build(operator.floordiv, offset, loop.step)

    def _triangle(self, loop: For, outer: For) -> tuple[Expr, Expr] | None:
        """Return the same of a loop of which one end moves with the loops around it: `range(i + 1)`, `range(i, n)`.

        Where both do, a band may be meant, and most of the places would stay empty.
        """
        assert isinstance(loop.step, Const)
        around = [s for s in self.layout.loops(self.layout.block_of[id(loop)]) if isinstance(s, For)]
        if self.device or outer not in around:
            return None
        around = around[around.index(outer) :]
        low, high = (loop.start, loop.stop) if loop.step.value == 1 else (loop.stop, loop.start)
        least = nearest(low, around)
        top = furthest(high, around, lambda expr: self._steady(expr, outer))
        if top is None or least is None or loop.step.value not in (1, -1):
            return None
        if loop.step.value == -1:
            top, least = minus(top, -1), least + 1
        return (self._no_less_than_nothing(top), loop.var) if least >= 0 else None

    def _no_less_than_nothing(self, stop: Expr) -> Expr:
        """Return a length that a counter which begins at nothing or later does not leave, of an empty loop too.

        `range(1, n - 1)` of an empty array has no turns, but `np.empty(n - 1)` is an error: `np.empty(n)` is none.
        """
        if not self._may_be_negative(stop):
            return stop
        if isinstance(stop, Apply) and stop.fn is operator.sub and isinstance(stop.args[1], Const):
            length, less = stop.args[0], stop.args[1].value
            if isinstance(less, int) and less >= 0 and not self._may_be_negative(length):
                return length
        return Apply(max, (stop, literal(0)), stop.type)

    def _may_be_negative(self, count: Expr) -> bool:
        """Say whether the text of a count tells that it may be; a number that is given is taken for none that is."""
        match count:
            case Const(int() as value):
                return value < 0
            case Var(name):
                made = self.layout.defs.get(name, [])
                once = made[0] if len(made) == 1 else None
                return isinstance(once, Assign) and name not in reads(once.value) and self._may_be_negative(once.value)
            case Apply(fn, (first, second)) if fn in (operator.add, operator.mul, operator.floordiv, min):
                return self._may_be_negative(first) or self._may_be_negative(second)
            case Apply(fn, (first, second)) if fn is max:
                return self._may_be_negative(first) and self._may_be_negative(second)
            case Apply(fn, _):
                return fn in (operator.sub, operator.neg)
            case _:
                return False

    def _before(self, expr: Expr, outer: For) -> Expr | None:
        """Return a bound as it can be told before the outermost loop: itself, or the length of an array there."""
        if self._steady(expr, outer):
            return expr
        length = expr.type.value if isinstance(expr.type, Scalar) else None
        if not isinstance(length, Sym):
            return None
        for array in self._arrays(outer):
            for axis, dim in enumerate(array.type.dims if isinstance(array.type, Array) else ()):
                if isinstance(dim, Sym) and dim.name == length.name:
                    found = build(ops.dim, array, literal(axis))
                    longer = dim.minus - length.minus
                    if longer:
                        found = build(operator.add, found, literal(longer))
                    return Apply(max, (found, literal(0)), found.type) if longer < 0 else found
        return None

    def _arrays(self, outer: For) -> list[Var]:
        """Return the arrays that stay what they are from before the outermost loop on, arguments first."""
        named = [Var(p.name, p.type) for p in self.layout.fn.params]
        used = {name for s in statements(self.layout.fn.body) for expr in exprs_of(s) for name in reads(expr)}
        named += [s.target for s in self.layout.fn.body if isinstance(s, Assign) and s.target.name in used]
        return [v for v in named if isinstance(v.type, Array) and self._fixed(v.name, outer)]

    def _steady(self, expr: Expr, outer: For) -> bool:
        """Say whether a bound has its value already before the outermost loop."""
        for part in reads(expr):
            if not self._fixed(part, outer):
                return False
        lengths = any(isinstance(p, Var) and isinstance(p.type, ListOf) for p in _parts(expr))
        if lengths and _changes_a_length(outer):
            return False
        return not any(isinstance(p, Index) for p in _parts(expr))

    def _fixed(self, name: str, outer: For | While) -> bool:
        made = self.layout.defs.get(name, [])
        params = {p.name for p in self.layout.fn.params}
        if name in params:
            return not made
        if len(made) != 1:
            return False
        top = self.layout.fn.body
        owner = self._top_statement(made[0])
        if owner not in top or owner is not made[0]:
            return False
        outermost = self._top_statement(outer)
        return _position(top, owner) < _position(top, outermost)

    def _top_statement(self, stmt: Stmt) -> Stmt:
        block = self.layout.block_of[id(stmt)]
        chain = self.layout.chain(block)
        return stmt if len(chain) == 1 else self.layout.owner[chain[1]]

    def _lengths(self, place: Expr, outer: For, there: bool | None) -> list[Expr] | None:
        """Return the lengths of an array that each turn makes, if they are known before the loops."""
        if not isinstance(place, Var) or not isinstance(kind := place.type, Array):
            return None
        if not self._is_of_one_length(place):
            return None  # what is overwritten may be shorter than what it is overwritten with
        constant, before = all(isinstance(dim, int) for dim in kind.dims), self._is_there_before(place.name, outer)
        if not constant and (there is None or not (there or before)):
            return None
        found: list[Expr] = []
        for axis, dim in enumerate(kind.dims):
            if isinstance(dim, int):
                found.append(literal(dim))
                continue
            same = (  # of an argument, which is there whatever the derivative leaves out
                build(ops.dim, Var(param.name, param.type), literal(at))
                for param in self.layout.fn.params if self._is_as_long_before(param, outer)
                for at, other in enumerate(param.type.dims if isinstance(param.type, Array) else ())
                if other == dim
            )
            length = next(same, build(ops.dim, place, literal(axis)) if before else None)
            if length is None:
                return None
            found.append(length)
        return found or None

    def _is_as_long_before(self, param: Param, outer: For) -> bool:
        """Say whether an argument is there before a loop, or an array of the same lengths by its name."""
        return self._fixed(param.name, outer) or self._is_of_one_length(Var(param.name, param.type))

    def _is_of_one_length(self, place: Var) -> bool:
        """Say whether all arrays that a name is ever given have the same lengths."""
        binding = self.layout.defs.get(place.name, ())
        made = [t for stmt in binding for t in targets(stmt) if t.name == place.name]
        made += [t for stmt in binding if isinstance(stmt, Swap) for t in (stmt.first, stmt.second)]
        given = [p for p in self.layout.fn.params if p.name == place.name]
        dims = place.type.dims if isinstance(place.type, Array) else ()
        if any(self.layout.loops(self.layout.block_of[id(stmt)]) for stmt in binding):
            if not are_steady(place.type, self._steady_lengths):
                return False  # the symbol is the same in every turn, and what it stands for need not be
        return all(isinstance(one.type, Array) and one.type.dims == dims for one in (*made, *given))

    @cached_property
    def _steady_lengths(self) -> frozenset[tuple[str, str]]:
        return steady_lengths(self.layout.fn)

    @cached_property
    def _standing(self) -> frozenset[str]:
        return standing(self.layout.fn.body)

    def _is_there_before(self, name: str, outer: For) -> bool:
        """Say whether a name surely has an array before a loop, not only what stands for one until it is bound."""
        if any(p.name == name for p in self.layout.fn.params):
            return True
        top = self.layout.fn.body
        loop = _position(top, self._top_statement(outer))
        return any(
            isinstance(stmt, Assign) and self.layout.block_of[id(stmt)] == TOP and _position(top, stmt) < loop
            and not stands_in(stmt.value, self._standing)
            for stmt in self.layout.defs.get(name, ())
        )  # fmt: skip

    def _shape(self, place: Expr, outer: For) -> list[Expr] | None:
        """Return the lengths of an array place that are known before the loops: whole arrays only."""
        root = root_of(place)
        if root is None or not self._fixed(root.name, outer) or not isinstance(root.type, Array):
            return None
        if place is root:
            return [build(ops.dim, root, literal(i)) for i in range(len(root.type.dims))]
        if not isinstance(place, Index) or place.base is not root:
            return None
        shape: list[Expr] = []
        for axis in range(len(root.type.dims)):
            item = place.index[axis] if axis < len(place.index) else Slice(None, None, None)
            if isinstance(item, Slice):
                if item != Slice(None, None, None):
                    return None
                shape.append(build(ops.dim, root, literal(axis)))
            elif not isinstance(item.type, Scalar):
                return None
        return shape


def _either(chain: list[Block], other: list[Block]) -> bool:
    """Say whether two blocks are on different sides of one branch."""
    apart = next(((a, b) for a, b in zip(chain, other, strict=False) if a != b), None)
    return apart is not None and apart[0][0] == apart[1][0]


def _calls(loop: Stmt, name: str) -> bool:
    return any(isinstance(s, CallStmt) and s.callee == name for s in statements((loop,)))


def _changes_a_length(loop: For) -> bool:
    """Say whether a list may become longer or shorter in a loop."""
    for stmt in statements((loop,)):
        exprs = exprs_of(stmt)
        if isinstance(stmt, Append) or any(isinstance(p, Apply) and p.fn is ops.pop for e in exprs for p in _parts(e)):
            return True
        if isinstance(stmt, CallStmt) and any(isinstance(arg.type, ListOf) for arg in stmt.args):
            return True
    return False


def _one_more(last: Expr) -> Expr | None:
    """Return the length of which an expression is one less, as it is written."""
    if isinstance(last, Apply) and last.fn is operator.sub and last.args[1] == literal(1):
        length = last.args[0]
        return length if isinstance(length, Apply) and length.fn in (ops.dim, ops.size, ops.length) else None
    return None


def _is_length(expr: Expr) -> bool:
    """Say whether an expression is the length of an array, or by a constant less."""
    if isinstance(expr, Apply) and expr.fn is operator.sub and isinstance(expr.args[1], Const):
        expr = expr.args[0]
    return isinstance(expr, Apply) and expr.fn in (ops.dim, ops.size) and isinstance(expr.args[0].type, Array)


_MOST_TURNS = 1024
"""Turns of a loop for each of which a tape has a place, though the loop may leave early."""
_FEW = 8
"""Numbers of an array that a list takes one by one."""
_OTHER_LENGTH = "an array of a list gave way to one of another length"


_LARGEST_LOCAL = 1024


def _small(sizes: list[Expr]) -> bool:
    """Say whether an array of these lengths fits into the memory of a thread."""
    total = 1
    for size in sizes:
        value = size.value if isinstance(size, Const) else getattr(size.type, "value", None)
        if not isinstance(value, int):
            return False
        total *= value
    return total <= _LARGEST_LOCAL


def _position(body: tuple[Stmt, ...], stmt: Stmt) -> int:
    return next(i for i, s in enumerate(body) if s is stmt)


def _parts(expr: Expr) -> Any:
    from s2sad.ir.walk import subexpressions

    return subexpressions(expr)


def _is_empty(value: Expr) -> bool:
    """Say whether a value is an array without elements, as stands in a list for what is set later."""
    if not isinstance(value, Apply) or value.fn not in (np.zeros, np.empty) or not value.args:
        return False
    shape = value.args[0]
    sizes = shape.items if isinstance(shape, Pack) else (shape,)
    return any(isinstance(size, Const) and size.value == 0 for size in sizes)


def _put_back(place: Expr, value: Expr, rebinds: bool) -> Stmt:
    if isinstance(place, Var) and (rebinds or isinstance(place.type, Scalar)):
        return Assign(place, value)
    return Store(_whole(place), "", value)


def copied(value: Expr) -> Expr:
    """Return a copy that no write into the value reaches."""
    if not isinstance(value.type, ListOf):
        return build(np.copy, value)
    return Apply(copy_arrays if isinstance(value.type.item, Array) else copy_list, (value,), value.type)


def _whole(place: Expr) -> Expr:
    """A whole array is written back through `[:]`, keeping its buffer and its aliases."""
    if isinstance(place, Index) and not is_item(place):
        return place
    return Index(place, (Slice(None, None, None),), place.type)


def _cell_type(kind: Type) -> Type:
    if isinstance(kind, Scalar):
        return Scalar(kind.dtype)
    return kind


def _fresh_type(kind: Type) -> Type:
    if isinstance(kind, Array):
        return Array(kind.dtype, kind.dims, "C")
    if isinstance(kind, Scalar):
        return Scalar(kind.dtype, kind.weak)
    return kind
