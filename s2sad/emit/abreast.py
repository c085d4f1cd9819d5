"""Target "cpu": a Jacobian's sweeps run abreast, some dozens at a time, one in each lane of a loop.

    for i in range(n):                        for i in range(0, n, 32):
        unit = np.zeros(n)                        lanes = min(32, n - i)
        unit[i] = 1.0                             unit = np.zeros((n, lanes))
        y_dot = np.zeros(m)                       for lane in range(lanes):
        for k in range(m):          becomes           unit[i + lane, lane] = 1.0
            slope = c[k] * unit[k]                y_dot = np.zeros((m, lanes))
            y_dot[k] += slope                     for k in range(m):
        block[:, i] = y_dot                           for lane in range(lanes):
                                                          slope = c[k] * unit[k, lane]
                                                          y_dot[k, lane] += slope
                                                  for lane in range(lanes):
                                                      block[:, i + lane] = y_dot[:, lane]

All directions go the same way through the program, as neither branches nor loops read what moves. So whatever
holds a value that depends on the direction gets a last axis, one place for each lane, and statements in a row
that compute with such values stand in one loop over the lanes, which LLVM makes vector instructions of. An array
of which items are only set, to be put into its column of the block, is that column. Where the sweeps give rows,
`block[i]`, the rows of all lanes are gathered apart and put in their places at the end.

Needs: no turn reads what an earlier one left; what moves is read and written number by number, or viewed,
copied and created as a whole. Else the loop stays as it is.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, replace

import numpy as np

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.liveness import Liveness
from s2sad.emit.blocks import Block, blocks_of_sweep, columns
from s2sad.emit.lanes import Lanes, NoLanesError, dtype_of
from s2sad.frontend.infer import fresh_dim
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal, pack
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Apply,
    Assign,
    CallStmt,
    Comment,
    Const,
    Expr,
    For,
    Function,
    If,
    Index,
    Stmt,
    Store,
    Var,
    While,
)
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import (
    blocks_of,
    bound,
    exprs_of,
    is_const,
    map_blocks,
    map_exprs,
    names_in,
    reads,
    root_of,
    statements,
)
from s2sad.transform.naming import Namer

LANES = 32  # four of the widest vectors: fewer do not pay for the loop, more leave the cache
_FEW = 4  # directions that are not worth a vector
_SHORT = 16  # statements that the turns of a loop come to
_NUMBER = Scalar("int64", True)


def abreast(fn: Function, facts: Facts) -> Function:
    """Return `fn` with such sweeps in lanes."""
    if not any(_unit(stmt) is not None for stmt in statements(fn.body)):
        return fn
    live = Liveness(fn.body)
    namer = Namer(names_in(fn.body) | {p.name for p in fn.params})
    zero: set[str] = set()

    def each(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(_in_lanes(stmt) or map_blocks(stmt, each) for stmt in body)

    def made(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(_made_zero(stmt) if zero & set(bound(stmt)) else map_blocks(stmt, made) for stmt in body)

    def _in_lanes(stmt: Stmt) -> Stmt | None:
        unit = _unit(stmt)
        if unit is None or not isinstance(stmt, For):
            return None
        try:
            sweep = _Sweep(fn, stmt, unit, facts, live, namer)
            loop = sweep.made()
        except NoLanesError:
            return None
        zero.update(sweep.zero)
        return loop

    body = each(fn.body)
    return replace(fn, body=made(body))


def _made_zero(stmt: Stmt) -> Stmt:
    """Return the creation of a block with zeros in it, of which the columns need not be cleared one by one."""
    assert isinstance(stmt, Assign) and isinstance(stmt.value, Apply) and stmt.value.fn is np.empty
    return replace(stmt, value=replace(stmt.value, fn=np.zeros))


def _unit(stmt: Stmt) -> str | None:
    """Return the unit vector that each turn of a loop begins with."""
    match stmt:
        case For(var, start, stop, step, (Assign(unit, Apply(made, (size,))), Store(place, "", one), *_)):
            named = isinstance(place, Index) and place.base == unit and place.index == (var,)
            counts = is_const(start, 0) and is_const(step, 1) and size == stop
            few = isinstance(stop, Const) and stop.value < _FEW
            return unit.name if made is np.zeros and named and counts and is_const(one, 1) and not few else None
        case _:
            return None


@dataclass(slots=True)
class _Run:
    """Statements, as they were, that stand in one loop over the lanes."""

    body: list[Stmt] = field(default_factory=list[Stmt])


@dataclass(slots=True)
class _Around:
    """A loop or branch that all lanes go through together, and what is in its blocks."""

    stmt: Stmt
    blocks: list[list[_Item]]


_Item = _Run | _Around | Stmt


class _Sweep:
    """Puts one loop over directions into lanes."""

    def __init__(self, fn: Function, loop: For, unit: str, facts: Facts, live: Liveness, namer: Namer) -> None:
        self.loop, self.facts, self.namer, self.live = loop, facts, namer, live
        self.inside = list(statements(loop.body))
        own = {name for s in self.inside for name in bound(s)}
        after = live.after[id(loop)]
        if own & (live.before_loop_body(loop) | after) or loop.var.name in own | after or reads(loop.stop) & own:
            raise NoLanesError
        self.blocks = blocks_of_sweep(fn, loop, {n for s in self.inside for n in written_by(s, facts)} - own)
        lane, lanes = Var(namer.fresh("lane"), _NUMBER), Var(namer.fresh("lanes"), _NUMBER)
        self.lanes = Lanes(loop.var, lane, lanes, fresh_dim(), {unit}, set(self.blocks))
        self._find_moving()
        outside = names_in(tuple(s for s in fn.body if s is not loop)) | {p.name for p in fn.params}
        self.lanes.names = {name: namer.fresh(name) for name in sorted(self.lanes.moving & outside)}
        for block in self.blocks.values():
            if block.by_rows:
                kind = Array(block.kind.dtype, (*block.kind.dims[1:], self.lanes.width), "C")
                self.lanes.rows[block.var.name] = Var(namer.fresh(f"{block.var.name}_rows"), kind)
        found = columns(fn, loop, [b for b in self.blocks.values() if not b.by_rows])
        found = {name: column for name, column in found.items() if name in self.lanes.moving}
        self.lanes.columns = {name: column.block for name, column in found.items()}
        self.done = {id(column.put) for column in found.values()}
        self.zero: set[str] = set()
        """The blocks that are to be made with zeros."""

    def _find_moving(self) -> None:
        """Find all that depends on the direction."""
        moving = self.lanes.moving
        while True:
            before = len(moving)
            for stmt in self.inside:
                if isinstance(stmt, If | For | While):
                    continue  # refused when it is written
                if any(self.lanes.moves(e) for e in exprs_of(stmt)) or self._names_row(stmt):
                    moving |= {*bound(stmt), *written_by(stmt, self.facts)} - self.blocks.keys()
            if len(moving) == before:
                return

    def _names_row(self, stmt: Stmt) -> bool:
        """Say whether a statement gives a name to the row of a block that this turn fills."""
        value = stmt.value if isinstance(stmt, Assign) else None
        return isinstance(value, Index) and isinstance(value.base, Var) and value.base.name in self.blocks

    # ---- the loop ----

    def made(self) -> For:
        """Return the loop in lanes."""
        items = self._block(self.loop.body)
        numbers = self._numbers()
        self.lanes.plain = _set_and_read_in_one_run(items, set(numbers))
        span, lanes = self.loop.span, self.lanes
        least = build(min, literal(LANES), build(operator.sub, self.loop.stop, self.loop.var))
        held = [
            Assign(lanes.var(Var(name, kind)), Apply(np.empty, (lanes.lanes,), lanes.kind(kind), dtype_of(kind)), span)
            for name, kind in numbers.items() if name not in lanes.plain
        ]  # fmt: skip
        body = [
            Assign(lanes.lanes, least, span), *held, *(self._row_made(self.blocks[name]) for name in lanes.rows),
            *self._written(items), *(self._row_put(self.blocks[name]) for name in lanes.rows),
        ]  # fmt: skip
        return replace(self.loop, step=literal(LANES), body=tuple(body))

    def _numbers(self) -> dict[str, Scalar]:
        """Return the numbers that move, with types that hold all that they are set to."""
        found: dict[str, Scalar] = {}
        for stmt in self.inside:
            if isinstance(stmt, Assign) and stmt.target.name in self.lanes.moving:
                name, kind = stmt.target.name, stmt.target.type
                if isinstance(kind, Scalar):
                    known = found.get(name, kind).dtype
                    found[name] = Scalar(np.result_type(np.dtype(known), np.dtype(kind.dtype)).name)
        return found

    # ---- runs ----

    def _block(self, body: tuple[Stmt, ...]) -> list[_Item]:
        """Part a block into runs, and what stands between them."""
        made: list[_Item] = []
        for stmt in body:
            if id(stmt) in self.done:
                continue
            moves = any(self.lanes.moves(e) for e in exprs_of(stmt))
            changed = {*bound(stmt), *written_by(stmt, self.facts)}
            if isinstance(stmt, Comment) or self._is_for_each(stmt) or self._is_short(stmt):
                if not (made and isinstance(made[-1], _Run)):
                    made.append(_Run())
                made[-1].body.append(stmt)  # type: ignore[union-attr]
            elif isinstance(stmt, If | For | While) and not moves:
                made.append(_Around(stmt, [self._block(block) for block in blocks_of(stmt)]))
            elif moves or changed & self.lanes.moving:
                made.append(self._whole(stmt))
            elif isinstance(stmt, Assign | CallStmt | Store):
                self._put_before(made, map_exprs(stmt, self.lanes.still), changed)
            else:
                raise NoLanesError
        return made

    def _is_for_each(self, stmt: Stmt) -> bool:
        """Say whether a statement computes one number that moves, or puts results in their places."""
        if isinstance(stmt, Assign):
            return stmt.target.name in self.lanes.moving and isinstance(stmt.target.type, Scalar)
        root = root_of(stmt.place) if isinstance(stmt, Store) else None
        if root is None or not isinstance(stmt, Store):
            return False
        if isinstance(stmt.place.type, Scalar):
            return root.name in self.lanes.moving or root.name in self.blocks
        return root.name in self.blocks and root.name not in self.lanes.rows

    def _is_short(self, stmt: Stmt) -> bool:
        """Say whether a loop of known length has so few turns that LLVM writes them out, inside the one over lanes.

        One with loops inside stays around: the lanes are next to each other in memory, so theirs is to be within.
        """
        if not isinstance(stmt, For) or any(isinstance(s, For) for s in stmt.body):
            return False
        return 0 < self._size(stmt) <= _SHORT

    def _size(self, stmt: Stmt) -> int:
        """Return to how many statements the turns of a loop come; none where something in it has no lanes."""
        if self._is_for_each(stmt):
            return 1
        if not isinstance(stmt, For) or stmt.var.name in self.live.after[id(stmt)]:
            return 0
        limits = [e.value for e in exprs_of(stmt) if isinstance(e, Const)]
        sizes = [self._size(s) for s in stmt.body if not isinstance(s, Comment)]
        return len(range(*limits)) * sum(sizes) if len(limits) == 3 and sizes and all(sizes) else 0

    @staticmethod
    def _put_before(made: list[_Item], stmt: Stmt, changed: set[str]) -> None:
        """Put what does not move before the run that it stands in, unless the run needs what it changes."""
        run = made[-1] if made else None
        if not isinstance(run, _Run) or isinstance(stmt, Store):
            made.append(stmt)
            return
        read = {name for s in statements(tuple(run.body)) for e in exprs_of(s) for name in reads(e)}
        made.insert(len(made) if read & changed else len(made) - 1, stmt)

    # ---- statements ----

    def _written(self, items: list[_Item]) -> tuple[Stmt, ...]:
        return tuple(stmt for item in items for stmt in self._statements(item))

    def _statements(self, item: _Item) -> tuple[Stmt, ...]:
        match item:
            case _Run(body) if all(isinstance(s, Comment) for s in body):
                return tuple(body)
            case _Run(body):
                each = tuple(self._for_each(s) for s in body)
                return (For(self.lanes.lane, literal(0), self.lanes.lanes, literal(1), each, body[0].span),)
            case _Around(If() as stmt, (then, other)):
                test = self.lanes.still(stmt.test)
                return (replace(stmt, test=test, body=self._written(then), orelse=self._written(other)),)
            case _Around(For() | While() as stmt, (block,)):
                return (replace(map_exprs(stmt, self.lanes.still), body=self._written(block)),)
            case _:
                assert not isinstance(item, _Around)
                return (item,)

    def _for_each(self, stmt: Stmt) -> Stmt:
        """Return a statement as one lane runs it."""
        number = self.lanes.number
        match stmt:
            case Assign(target, value) if target.name in self.lanes.plain:
                return Assign(self.lanes.var(target), number(value), stmt.span)
            case Assign(target, value):
                return Store(number(target), "", number(value), stmt.span)
            case Store(place, _, value) if isinstance(place.type, Array):
                return replace(stmt, place=self.lanes.part(place), value=self.lanes.part(value))
            case Store(place, _, value):
                return replace(stmt, place=number(place), value=number(value))
            case For():
                return replace(stmt, body=tuple(self._for_each(s) for s in stmt.body))
            case _:
                return stmt

    def _whole(self, stmt: Stmt) -> Stmt:
        """Return a statement that makes, names or fills an array, for all lanes at once."""
        match stmt:
            case Assign(target, Apply(made)) if target.name in self.lanes.columns:
                block = self.lanes.columns[target.name]
                if made in (np.ones, np.ones_like):
                    return self._column_filled(block, literal(1.0))
                if made not in (np.empty, np.empty_like):
                    self.zero.add(block.name)
                return Comment("", stmt.span)
            case Assign(target, value) if isinstance(target.type, Array):
                return Assign(self.lanes.var(target), self.lanes.array(value), stmt.span)
            case Store(place, op, value) if isinstance(place.type, Array):
                return replace(stmt, place=self.lanes.view(place), value=self._stored(place.type, op, value))
            case _:
                raise NoLanesError

    def _stored(self, place: Array, op: str, value: Expr) -> Expr:
        """Return what is stored into all lanes: a number, the same for all, or an array of the same axes."""
        if isinstance(value.type, Scalar) and not self.lanes.moves(value):
            return self.lanes.still(value)
        if not isinstance(value.type, Array) or len(value.type.dims) != len(place.dims) or op not in ("", "+", "-"):
            raise NoLanesError
        return self.lanes.view(value)

    # ---- blocks ----

    def _row_made(self, block: Block) -> Stmt:
        sizes = [build(ops.dim, block.var, literal(axis)) for axis in range(1, len(block.kind.dims))]
        rows = self.lanes.rows[block.var.name]
        size = pack("tuple", [*sizes, self.lanes.lanes])
        return Assign(rows, Apply(np.empty, (size,), rows.type, dtype_of(block.kind)), self.loop.span)

    def _row_put(self, block: Block) -> Stmt:
        """Put the rows of all lanes in their places."""
        counters, number = self._counters(block.kind), Scalar(block.kind.dtype)
        row = Index(self.lanes.rows[block.var.name], (*counters, self.lanes.lane), number)
        put = Store(Index(block.var, (self.lanes.here(), *counters), number), "", row, self.loop.span)
        return self._over(self.lanes.lane, self.lanes.lanes, self._nest(block.var, 1, counters, put))

    def _column_filled(self, block: Var, value: Expr) -> Stmt:
        """Give all items of the columns of these lanes one value."""
        assert isinstance(block.type, Array)
        counters = self._counters(block.type)
        place = Index(block, (*counters, self.lanes.here()), Scalar(block.type.dtype))
        put = Store(place, "", value, self.loop.span)
        return self._nest(block, 0, counters, self._over(self.lanes.lane, self.lanes.lanes, put))

    def _counters(self, kind: Array) -> list[Var]:
        """Return counters for all axes but that of the directions."""
        return [Var(self.namer.fresh(hint), _NUMBER) for hint in "jklmnopq"[: len(kind.dims) - 1]]

    def _nest(self, array: Var, first: int, counters: list[Var], body: Stmt) -> Stmt:
        """Return loops around a statement, over axes of an array from `first` on."""
        for axis, counter in reversed(list(enumerate(counters, first))):
            body = self._over(counter, build(ops.dim, array, literal(axis)), body)
        return body

    def _over(self, counter: Var, stop: Expr, body: Stmt) -> For:
        return For(counter, literal(0), stop, literal(1), (body,), self.loop.span)


def _set_and_read_in_one_run(items: list[_Item], numbers: set[str]) -> set[str]:
    """Return the numbers that one run alone sets before it reads them: they need no place for each lane."""
    runs: dict[str, set[int]] = {}
    set_first: dict[str, bool] = {}

    def each(items: list[_Item]) -> None:
        for item in items:
            for block in item.blocks if isinstance(item, _Around) else ():
                each(block)
            for stmt in statements(tuple(item.body)) if isinstance(item, _Run) else ():
                read = {name for e in exprs_of(stmt) for name in reads(e)} & numbers
                written = set(bound(stmt)) & numbers
                for name in read | written:
                    set_first.setdefault(name, name not in read)
                    runs.setdefault(name, set()).add(id(item))

    each(items)
    return {name for name in numbers if len(runs.get(name, ())) == 1 and set_first[name]}
