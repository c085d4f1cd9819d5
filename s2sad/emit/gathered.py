"""Target "cpu": what an element sends to its neighbours is laid down first, and every neighbour gathers it.

                                              parts = np.zeros(n + 2)
    for i in range(1, n - 1):                 for i in range(1, n - 1):
        part = c * y_bar[i]                       parts[i + 1] = c * y_bar[i]
        x_bar[i + 1] += part      becomes     if n > 2:
        x_bar[i] -= 2.0 * part                    for i in range(n):
        x_bar[i - 1] += part                          x_bar[i] += parts[i] + parts[i + 2] - 2.0 * parts[i + 1]

Additions to `i - 1`, `i` and `i + 1` in one turn wait for each other, so that no processor takes several turns
at once; the two loops on the right have no such chains. Measured 1.7 to 3.2 times as fast. A factor that is the same
in every turn is left to the second loop, so that one array does for more of what is sent. Where the neighbours are
sent different values, along one axis, each of these is laid down in an array if that pays (`_pays`; 1.5 to 2 times).
The array laid down has zeros around what is sent, is made before all loops that leave its lengths
as they are, and is filled anew each time. Needs: a nest of counting loops with nothing but assignments inside, whose
counters and constants are the indices, and an array that is met nowhere else in it, but for other rows of it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from s2sad.analysis.bounds import lower_bounds, never_meet
from s2sad.analysis.facts import Facts, resized_by
from s2sad.analysis.liveness import Liveness
from s2sad.analysis.sharing import Apart
from s2sad.emit.elements import plus, split_sum
from s2sad.emit.from_neighbours import from_neighbours
from s2sad.emit.sends import (
    Factor,
    Made,
    Send,
    added,
    adds_to,
    bounds_of,
    groups_of,
    has_turns,
    is_arithmetic,
    is_one_of,
    nested,
    several,
    without_idle_numbers,
    work_of,
)
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
    Slice,
    Stmt,
    Store,
    Swap,
    Var,
)
from s2sad.ir.shapes import shaping_parts
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import blocks_of, bound, children, exprs_of, names_in, reads, root_of, statements, subexpressions
from s2sad.transform.algebra import times
from s2sad.transform.filled import is_length
from s2sad.transform.naming import Namer

_T = TypeVar("_T")
_FEW = 3  # additions that pay for an array made for one sweep
_MANY = 3  # values sent by one turn that an array is laid down for each
_DEAR = 13  # operations of a turn that are worth taking several turns at once
_FAR = 3  # turns after which an addition is met again
_SHORT = 4  # elements along an axis that are not worth two loops


def gathered(fn: Function, facts: Facts) -> Function:
    """Return `fn` with such loops split in two."""
    if not any(isinstance(s, Store) and s.accumulate for s in statements(fn.body)):
        return fn
    work = _Gathering(fn, facts)
    body, made = work.block(fn.body, frozenset(p.name for p in fn.params), None)
    assert not made
    return replace(fn, body=body)


class _Gathering:
    """Splits the nests of one function."""

    def __init__(self, fn: Function, facts: Facts) -> None:
        self.apart, self.facts = Apart(fn, facts), facts
        self.live = Liveness(fn.body)
        self.least = lower_bounds(fn)
        self.namer = Namer({p.name for p in fn.params} | names_in(fn.body))
        self.changing_places = {v.name for s in statements(fn.body) if isinstance(s, Swap) for v in (s.first, s.second)}

    def block(
        self, body: tuple[Stmt, ...], known: frozenset[str], around: Stmt | None, looped: bool = False
    ) -> tuple[tuple[Stmt, ...], list[Made]]:
        """Return a block with its nests split, and the arrays that are to be made before the statement around it."""
        out: list[Stmt] = []
        leaving: list[Made] = []
        kept = _kept_by(around, self.facts) if around is not None else set[str]()
        outside = known
        for stmt in body:
            made: list[Made] = []
            split = self._split(stmt, looped) if isinstance(stmt, For) else None
            if split is not None:
                new, made = split
            else:
                inner = looped or not isinstance(stmt, If)
                blocks = [self.block(block, known, stmt, inner) for block in blocks_of(stmt)]
                made = [one for _, some in blocks for one in some]
                new = [_with_blocks(stmt, [block for block, _ in blocks])]
            for one in made:
                leaves = around is not None and looped and one.array in outside and not kept & {one.array, *one.bounds}
                leaving += [one] if leaves else []
                out += [] if leaves else [one.stmt]
            out += new
            known |= frozenset(bound(stmt)) if isinstance(stmt, Assign | CallStmt) else frozenset()
        return tuple(out), leaving

    # ---- one nest ----

    def _split(self, loop: For, looped: bool) -> tuple[list[Stmt], list[Made]] | None:
        chain = _chain(loop)
        inner = chain[-1].body
        if not all(isinstance(s, Comment | Store) or _is_number(s) for s in inner) or not _is_plain(chain, inner):
            return None
        counters = {one.var.name for one in chain}
        if counters & self.live.after.get(id(loop), frozenset()):
            return None
        made: list[Made] = []
        behind: list[Stmt] = []
        groups = groups_of(inner, [one.var for one in chain])
        after = self.live.after.get(id(loop), frozenset())
        if any(self._is_worked_out(chain, inner, sends, looped) for sends in groups):
            again = from_neighbours(
                chain, inner, groups, self.namer, self.apart, after,
                lambda place: self._is_met_nowhere_else(place, chain, inner),
            )  # fmt: skip
            if again is not None:
                return [nested(chain, again.inner), *again.behind], again.made
        for sends in groups:
            if len(sends) < _FEW and not looped:
                continue
            new = self._gather(chain, inner, sends, looped)
            if new is not None:
                inner, gather, some = new
                behind.append(gather)
                made += some
        if not made:
            return None
        return [nested(chain, inner), *behind], made

    def _gather(
        self, chain: list[For], inner: tuple[Stmt, ...], sends: list[Send], looped: bool
    ) -> tuple[tuple[Stmt, ...], Stmt, list[Made]] | None:
        place = sends[0].store.place
        assert isinstance(place, Index) and isinstance(place.base, Var)
        array = place.base
        bases = list(dict.fromkeys(send.base for send in sends if any(send.offsets)))
        if not bases or not self._is_met_nowhere_else(place, chain, inner):
            return None
        if len(bases) > 1 and not self._pays(array, len(bases), chain, inner, sends, looped):
            return None
        sends = [send for send in sends if send.base in bases]
        own = {base: [send for send in sends if send.base == base] for base in bases}
        if len({send.offsets[-1] for send in sends}) < 2:
            return None
        for base, some in own.items():
            if not self._stays(base, inner, some):
                return None
            if not any(_factors((send.factor.number, (send.factor.scale, send.offsets)) for send in some).values()):
                return None  # all that is sent is taken back
        grids = _grids(chain, place, sends)
        if grids is None:
            return None
        sizes = [plus(build(ops.dim, array, literal(grid.axis)), grid.room) for grid in grids]
        value = build(np.zeros, sizes[0] if len(sizes) == 1 else pack("tuple", sizes))
        laid = {base: Var(self.namer.fresh(several(base)), value.type) for base in bases}
        made = [Made(Assign(v, value, sends[0].store.span), array.name, bounds_of(chain, array)) for v in laid.values()]
        for base, some in own.items():
            inner = self._laying(inner, chain, base, _item(laid[base], chain, grids, (0,) * len(chain)), some)
        over = [
            For(self._counter(loop, grid), literal(grid.first), plus(loop.stop, grid.most), loop.step, (), loop.span)
            for loop, grid in zip(chain, grids, strict=True)
        ]
        index = list(place.index)
        for loop, grid in zip(over, grids, strict=True):
            index[grid.axis] = loop.var
        terms = [(send.factor, _item(laid[send.base], over, grids, send.offsets)) for send in sends]
        summed = _summed(Index(array, tuple(index), place.type), terms, sends[0].store)
        gather: Stmt = nested([replace(loop, body=(loop,)) for loop in over], (summed,))
        tests = [has_turns(loop) for loop, grid in zip(chain, grids, strict=True) if not grid.is_within(loop, array)]
        tests = list(dict.fromkeys(tests))
        if tests:
            gather = If(tests[0] if len(tests) == 1 else build(ops.both, *tests), (gather,))
        return inner, gather, made

    def _is_worked_out(self, chain: list[For], inner: tuple[Stmt, ...], sends: list[Send], looped: bool) -> bool:
        """Say whether neighbours are sent so different values that each should work out its own."""
        if len({send.base for send in sends if any(send.offsets)}) < 2 or len({s.offsets[-1] for s in sends}) < 2:
            return False
        place = sends[0].store.place
        assert isinstance(place, Index) and isinstance(place.base, Var)
        return len(chain) > 1 or _is_far(sends) or (
            looped and (place.base.name in self.changing_places or work_of(inner) >= _DEAR)
        )  # fmt: skip

    def _pays(
        self, array: Var, many: int, chain: list[For], inner: tuple[Stmt, ...], sends: list[Send], looped: bool
    ) -> bool:  # fmt: skip
        """Say whether it pays to lay down several arrays: those along one axis, where all is gathered.

        In a sweep of its own, additions that wait for each other over a turn or two are as fast (measured). Nor does
        it pay in loops of steps whose turns do nothing but arithmetic: LLVM keeps what one turn leaves for the next in
        registers, which takes half as long where the arrays leave the nearest cache (measured, ten programs). It
        does not where additions meet over more turns, or where arrays change places and may be one for all it knows.
        """
        if many > _MANY or len(chain) > 1:
            return False
        if not looped:
            return _is_far(sends)
        if is_arithmetic(inner) and not _is_far(sends) and array.name not in self.changing_places:
            return False
        own = {id(send.store) for send in sends}
        return not any(
            isinstance(s, Store) and id(s) not in own and (root := root_of(s.place)) is not None
            and root.name == array.name
            for s in inner
        )  # fmt: skip

    def _counter(self, loop: For, grid: _Grid) -> Var:
        """Return what counts where is gathered: a name of its own if it begins lower, of which less is known."""
        assert isinstance(loop.start, Const)
        name = loop.var.name
        return loop.var if grid.first >= loop.start.value else Var(self.namer.fresh(name), loop.var.type)

    def _is_met_nowhere_else(self, place: Index, chain: list[For], inner: tuple[Stmt, ...]) -> bool:
        """Say whether rows of an array, or one that may share its memory, are only added to inside a nest."""
        array = place.base
        assert isinstance(array, Var)
        moving = {name for stmt in (*chain, *inner) for name in bound(stmt)}

        def is_beside(other: Index) -> bool:
            return other.base == array and never_meet(other, place, moving, self.least)

        if not isinstance(array.type, Array) or array.type.dtype != "float64":
            return False
        if all(isinstance(dim, int) and dim <= _SHORT for dim in array.type.dims):
            return False
        for stmt in (*chain, *inner):
            for expr in exprs_of(stmt):
                names = _fetched(expr, is_beside)
                if isinstance(stmt, Store) and stmt.accumulate and expr is stmt.place and adds_to(stmt, array.name):
                    assert isinstance(expr, Index)
                    names = {name for item in expr.index for name in _fetched(item, is_beside)}
                if any(self.apart.may_meet(array.name, name) for name in names):
                    return False
        return True

    def _stays(self, base: Expr, inner: tuple[Stmt, ...], sends: list[Send]) -> bool:
        """Say whether a value is the same wherever it is named, from its first mention to its last addition.

        A name that is set behind its first mention would hold what the turn before gave it.
        """
        first = next(k for k, s in enumerate(inner) if any(base in subexpressions(e) for e in exprs_of(s)))
        last = max(k for k, s in enumerate(inner) if s is sends[-1].store)
        for at, stmt in enumerate(inner[first:], first):
            changed = set(bound(stmt))
            if at <= last and isinstance(stmt, Store) and (root := root_of(stmt.place)) is not None:
                changed.add(root.name)
            if any(self.apart.may_meet(one, name) for one in changed for name in reads(base)):
                return False
        return True

    def _laying(
        self, inner: tuple[Stmt, ...], chain: list[For], base: Expr, place: Index, sends: list[Send]
    ) -> tuple[Stmt, ...]:
        """Put `place = base` for the additions: where the value is made if nothing else needs its name."""
        stores = [send.store for send in sends]
        first = next(k for k, stmt in enumerate(inner) if stmt is stores[0])
        laying = Store(place, "", base, stores[0].span)
        kept = [laying if k == first else s for k, s in enumerate(inner) if k == first or not is_one_of(s, stores)]
        kept = without_idle_numbers(kept, self.live.after.get(id(chain[0]), frozenset()))
        if isinstance(base, Var):
            sets = [k for k, s in enumerate(kept) if base.name in bound(s)]
            uses = sum(part == base for s in kept for e in exprs_of(s) for part in subexpressions(e))
            if uses == len(sets) == 1 and base.name not in self.live.after.get(id(chain[0]), frozenset()):
                made = kept[sets[0]]
                assert isinstance(made, Assign)
                kept[sets[0]] = Store(place, "", made.value, made.span)
                kept = [s for s in kept if s is not laying]
        return tuple(kept)


def _is_far(sends: list[Send]) -> bool:
    """Say whether what is sent along the last axis meets over so many turns that no processor keeps it at hand."""
    offsets = [send.offsets[-1] for send in sends]
    return max(offsets) - min(offsets) >= _FAR


@dataclass(slots=True)
class _Grid:
    """How one counter runs where it gathers.

    Attributes:
        axis: of the array that gathers.
        first: the least element that is sent to.
        most: how much further the last one is than the loop's last.
        shift: from a counter to its place among what is laid down.
        room: how much longer that is than the array.
    """

    axis: int
    first: int
    most: int
    shift: int
    room: int

    @staticmethod
    def of(loop: For, axis: int, offsets: list[int]) -> _Grid | None:
        """Return it for the offsets of what is sent; None where an index may count from the end."""
        assert isinstance(loop.start, Const)
        least, most = min(offsets), max(offsets)
        first = loop.start.value + least
        if first < 0:
            return None
        shift = max(0, most - least - loop.start.value)
        return _Grid(axis, first, most, shift, shift - least)

    def is_within(self, loop: For, array: Var) -> bool:
        """Say whether the elements are there: the loop has turns, or they are there without any."""
        if isinstance(loop.stop, Const):
            return True
        stop, less = split_sum(loop.stop)
        assert isinstance(array.type, Array)
        return less + self.most <= 0 and is_length(stop, array.type.dims[self.axis])


def _chain(loop: For) -> list[For]:
    found = [loop]
    while True:
        inner = [s for s in found[-1].body if not isinstance(s, Comment)]
        if len(inner) != 1 or not isinstance(inner[0], For):
            return found
        found.append(inner[0])


def _is_plain(chain: list[For], inner: tuple[Stmt, ...]) -> bool:
    """Say whether the loops count up from constants to something that nothing inside changes, which may be further."""
    inside = {name for loop in chain for name in bound(loop)} | {name for s in inner for name in bound(s)}
    counters = [loop.var.name for loop in chain]
    if len(set(counters)) != len(counters) or any(set(bound(s)) & set(counters) for s in inner):
        return False
    for loop in chain:
        if not (isinstance(loop.start, Const) and isinstance(loop.start.value, int) and loop.start.value >= 0):
            return False
        if not (isinstance(loop.step, Const) and loop.step.value == 1):
            return False
        if isinstance(loop.stop, Const) and loop.stop.value <= loop.start.value:
            return False
        if reads(loop.stop) & inside or any(isinstance(part, Index) for part in subexpressions(loop.stop)):
            return False
    return True


def _is_number(stmt: Stmt) -> bool:
    return isinstance(stmt, Assign) and isinstance(stmt.target.type, Scalar)


def _fetched(expr: Expr | Slice, is_beside: Callable[[Index], bool]) -> set[str]:
    """Return the names whose memory is read; lengths are none of it, and neither are places that lie beside."""
    if isinstance(expr, Var):
        return {expr.name}
    parts = shaping_parts(expr) if isinstance(expr, Apply) and expr.fn in (ops.dim, ops.size) else children(expr)
    if isinstance(expr, Index) and is_beside(expr):
        parts = expr.index
    return {name for part in parts for name in _fetched(part, is_beside)}


def _grids(chain: list[For], place: Index, sends: list[Send]) -> list[_Grid] | None:
    found: list[_Grid] = []
    for k, loop in enumerate(chain):
        axis = next(at for at, item in enumerate(place.index) if loop.var.name in reads(item))
        grid = _Grid.of(loop, axis, [send.offsets[k] for send in sends])
        if grid is None:
            return None
        found.append(grid)
    return found


def _item(laid: Var, chain: list[For], grids: list[_Grid], offsets: tuple[int, ...]) -> Index:
    """Return what was laid down by the turn that sends to the present one at an offset."""
    index: list[Expr | Slice] = [
        plus(loop.var, grid.shift - offset) for loop, grid, offset in zip(chain, grids, offsets, strict=True)
    ]
    return Index(laid, tuple(index), Scalar("float64"))


def _summed(target: Index, terms: Sequence[tuple[Factor, Expr]], like: Store) -> Store:
    """Return the statement that gathers: `target += d + c * (a + b - 2.0 * d)`, each factor written once."""
    factors = _factors((factor.number, (factor.scale, item)) for factor, item in reversed(terms))
    scaled: dict[Any, dict[float, list[tuple[bool, Expr]]]] = {}
    for (scale, item), number in factors.items():
        if number:
            scaled.setdefault(scale, {}).setdefault(abs(float(number)), []).append((number < 0, item))
    parts: list[tuple[bool, Expr]] = []
    for (multiplied, divided), together in scaled.items():
        inner: list[tuple[bool, Expr]] = []
        for size, signed in together.items():
            less, total = added(signed)
            inner.append((less, times(literal(size), total)))
        if not multiplied and not divided:
            parts += inner
            continue
        less, total = added(inner)
        for one in reversed(multiplied):
            total = build(operator.mul, one, total)
        for one in divided:
            total = build(operator.truediv, total, one)
        parts.append((less, total))
    less, total = added(parts)
    return Store(target, "-" if less else "+", total, like.span, accumulate=True)


def _factors(terms: Iterable[tuple[Any, _T]]) -> dict[_T, Any]:
    """Return what each thing is multiplied by, all in all."""
    found: dict[_T, Any] = {}
    for factor, item in terms:
        found[item] = found.get(item, 0.0) + factor
    return found


def _kept_by(around: Stmt, facts: Facts) -> set[str]:
    """Return the names that a statement gives another array, or another length to a list.

    Exchanges of arrays of equal lengths do not count.
    """
    found: set[str] = set()
    for stmt in statements((around,)):
        if isinstance(stmt, Swap) and isinstance(stmt.first.type, Array) and isinstance(stmt.second.type, Array):
            if stmt.first.type.dims == stmt.second.type.dims:
                continue
        found.update(bound(stmt), resized_by(stmt, facts))
    return found


def _with_blocks(stmt: Stmt, blocks: list[tuple[Stmt, ...]]) -> Stmt:
    if isinstance(stmt, If):
        return replace(stmt, body=blocks[0], orelse=blocks[1])
    return replace(stmt, body=blocks[0]) if blocks else stmt  # type: ignore[call-arg]

