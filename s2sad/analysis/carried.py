"""Arrays whose elements flow from one turn of a loop into the next.

    while t < end:
        for s in range(6):
            for i in range(n):
                middle[i] = x[i]              # `middle` is set before it is read: what it held is gone
                for r in range(s):
                    middle[i] += h * a[s, r] * k[r, i]    # row `r` of `k` was set earlier in this turn
            k[s, 0] = middle[1]
        ...
        x[i] += h * b[s] * k[s, i]            # `x` flows from turn to turn

An array does not flow if every element that a turn reads, and that any turn writes, was written earlier in the same
turn: by a statement on the same path, in the same turns of the loops that tell which element it is or in earlier
ones. Elements that no turn writes stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from s2sad.analysis.alias import Alias
from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.loops import affine
from s2sad.ir.nodes import Apply, Assign, Break, Const, Expr, For, If, Index, Slice, Stmt, Store, Var, While
from s2sad.ir.shapes import SHAPES, reads_content
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import bound, children, exprs_of, reads, statements

_ALL = Slice(None, None, None)
Place = tuple[Any, ...] | None
"""The indices of an element, or of a part, of an array; None for no one knows which."""
Loops = tuple[For | While, ...]
Path = tuple[tuple[int, int, int], ...]
"""The branches that lead to a statement: which, which side, and how many loops of the turn are around it."""


@dataclass(frozen=True, slots=True)
class Access:
    """One place that a statement reads or writes, and where in the turn."""

    place: Place
    at: int
    loops: Loops
    path: Path
    again: bool = True
    """Whether a turn that is run again for its adjoint does so too."""


def carried(
    body: tuple[Stmt, ...], changed: set[str], aliases: dict[str, Alias], facts: Facts,
    adjoint_reads: Callable[[Stmt], Iterable[Expr]], left_out: set[int], after: Callable[[Stmt], bool],
) -> set[str]:  # fmt: skip
    """Return the arrays among the names that change in a turn whose elements may come from an earlier turn.

    `adjoint_reads`: what the adjoint of a statement reads, before the statement or, if `after` says so, behind it.
    """
    found = _Accesses(aliases, facts, adjoint_reads, left_out, after)
    found.turn(body)
    steady = _Steady(body, changed)
    result: set[str] = set()
    for name, read in found.read.items():
        writes = found.written.get(name, [])
        if writes and not all(_is_met(r, w, writes, steady) for r in read for w in writes):
            result.add(name)
    return result


class _Steady:
    """Which expressions have the same value in every turn."""

    def __init__(self, body: tuple[Stmt, ...], changed: set[str]) -> None:
        self.changed = changed
        self.made: dict[str, list[Stmt]] = {}
        self.known: dict[str, bool] = {}
        for stmt in statements(body):
            for name in bound(stmt):
                self.made.setdefault(name, []).append(stmt)

    def __call__(self, expr: Expr) -> bool:
        if any(name in self.changed and not self._is_made_so(name) for name in reads_content(expr)):
            return False
        return all(name not in self.made or self._is_made_so(name) for name in reads(expr))

    def _is_made_so(self, name: str) -> bool:
        """Say whether every turn makes the same number: `n = u.size`."""
        if name not in self.known:
            self.known[name] = False  # while it is looked at
            made = self.made.get(name, [])
            value = made[0].value if len(made) == 1 and isinstance(made[0], Assign) else None
            self.known[name] = value is not None and isinstance(value.type, Scalar) and self(value)
        return self.known[name]


class _Accesses:
    def __init__(
        self, aliases: dict[str, Alias], facts: Facts, adjoint_reads: Callable[[Stmt], Iterable[Expr]],
        left_out: set[int], after: Callable[[Stmt], bool],
    ) -> None:  # fmt: skip
        self.aliases, self.facts, self.left_out = aliases, facts, left_out
        self.adjoint_reads, self.after = adjoint_reads, after
        self.read: dict[str, list[Access]] = {}
        self.written: dict[str, list[Access]] = {}
        self.at = 0
        self.inside = frozenset[int]()

    def turn(self, body: tuple[Stmt, ...]) -> None:
        """Note what a turn reads and writes."""
        self.inside = frozenset(id(s) for s in statements(body))
        self.block(body, (), ())

    def block(
        self, body: tuple[Stmt, ...], loops: Loops, path: Path
    ) -> None:  # fmt: skip
        for stmt in body:
            self.at += 3
            match stmt:
                case If(test, then, orelse):
                    self._reads((test,), self.at, loops, path)
                    self.block(then, loops, (*path, (id(stmt), 0, len(loops))))
                    self.block(orelse, loops, (*path, (id(stmt), 1, len(loops))))
                case For():
                    self._reads(exprs_of(stmt), self.at, loops, path)
                    self.block(stmt.body, (*loops, stmt), path)
                case While():
                    self._reads(exprs_of(stmt), self.at, (*loops, stmt), path)
                    self.block(stmt.body, (*loops, stmt), path)
                    self._reads(exprs_of(stmt), self.at + 1, (*loops, stmt), path)
                case _:
                    self._simple(stmt, loops, path)

    def _simple(self, stmt: Stmt, loops: Loops, path: Path) -> None:
        at = self.at
        self._reads(self.adjoint_reads(stmt), at + 2 if self.after(stmt) else at, loops, path)
        again = id(stmt) not in self.left_out
        if self._binds_view(stmt):
            return
        if isinstance(stmt, Store):
            root, place = self._resolved(stmt.place)
            self.written.setdefault(root, []).append(Access(place, at + 1, loops, path, again))
            if again:
                self._reads((stmt.value,), at, loops, path)
                self._indices(stmt.place, at, loops, path)
            if again and stmt.op:
                self.read.setdefault(root, []).append(Access(place, at, loops, path))
            return
        self._reads(exprs_of(stmt) if again else (), at, loops, path)
        for name in written_by(stmt, self.facts):
            root = self.aliases[name].root if name in self.aliases else name
            self.written.setdefault(root, []).append(Access(None, at + 1, loops, path, again))

    def _binds_view(self, stmt: Stmt) -> bool:
        return isinstance(stmt, Assign) and stmt.target.name in self.aliases

    def _indices(
        self, place: Expr, at: int, loops: Loops, path: Path
    ) -> None:
        while isinstance(place, Index):
            self._reads([i for i in place.index if not isinstance(i, Slice)], at, loops, path)
            place = place.base

    def _reads(
        self, expressions: Iterable[Any], at: int, loops: Loops, path: Path
    ) -> None:
        for expr in expressions:
            if isinstance(expr, Apply) and expr.fn in SHAPES and isinstance(expr.args[0], Var):
                self._reads(expr.args[1:], at, loops, path)
            elif isinstance(expr, Var | Index) and isinstance(getattr(root := _root(expr), "type", None), Array):
                assert root is not None
                name, place = self._resolved(expr)
                self.read.setdefault(name, []).append(Access(place, at, loops, path))
                self._indices(expr, at, loops, path)
            else:
                self._reads(children(expr), at, loops, path)

    def _resolved(self, place: Expr) -> tuple[str, Place]:
        """Return the array of a place, and the indices in it."""
        items: tuple[Any, ...] | None = ()
        while True:
            match place:
                case Index(base, index):
                    scalars = all(not isinstance(i, Slice) and not isinstance(i.type, Array) for i in index)
                    if items is not None:
                        items = (*index, *items) if scalars or not items else None
                    place = base
                case Var(name) if name in self.aliases:
                    binding = self.aliases[name].binding
                    items = items if id(binding) in self.inside else None
                    place = binding.value
                case Var(name):
                    rank = len(place.type.dims) if isinstance(place.type, Array) else 0
                    if items is None or any(isinstance(getattr(i, "type", None), Array) for i in items):
                        return name, None
                    return name, (*items, *(_ALL,) * (rank - len(items)))
                case Apply(_, (base, *_)):
                    items, place = None, base
                case _:
                    return "", None


def _root(expr: Expr) -> Var | None:
    while isinstance(expr, Index):
        expr = expr.base
    return expr if isinstance(expr, Var) else None


# ---- which write comes first ----


def _is_met(read: Access, write: Access, writes: list[Access], steady: _Steady) -> bool:
    """Say whether what is read is not what `write` left there in an earlier turn, as this turn wrote it before."""
    if _never_meet(read.place, write.place):
        return True
    return any(w.again and _covers(w, write, steady) and _precedes(w, read) for w in writes)


def _never_meet(a: Place, b: Place) -> bool:
    """Say whether an index is one number in one place and another in the other."""
    if a is None or b is None:
        return False
    both = [(x.value, y.value) for x, y in zip(a, b, strict=False) if isinstance(x, Const) and isinstance(y, Const)]
    return any(x != y and min(x, y) >= 0 for x, y in both)


def _covers(one: Access, other: Access, steady: _Steady) -> bool:
    """Say whether the places that one write reaches in any turn are all that another does."""
    if one.place is None or other.place is None or len(one.place) != len(other.place):
        return False
    bounds = [b for loop in one.loops if isinstance(loop, For) for b in (loop.start, loop.stop, loop.step)]
    counted = [told[0] for item in one.place if (told := _counted(item, one.loops)) and told[0] is not None]
    if not all(map(steady, bounds)) or len({id(loop) for loop in counted}) < len(counted):
        return False  # of two indices by one counter, only pairs are reached
    return all(_holds(a, b, one.loops, other.loops) for a, b in zip(one.place, other.place, strict=True))


def _holds(a: Any, b: Any, loops: Loops, others: Loops) -> bool:
    if a == _ALL:
        return True
    first = _counted(a, loops)
    second = _counted(b, others)
    if first is None or second is None:
        return False
    loop, off = first
    over, more = second
    if loop is None or over is None:
        if loop is None:
            return over is None and off == more
        low, high = loop.start, loop.stop
        plain = isinstance(low, Const) and isinstance(high, Const) and loop.step == Const(1, loop.step.type)
        return plain and low.value <= more - off < high.value  # type: ignore[union-attr]
    return off == more and (loop.start, loop.stop, loop.step) == (over.start, over.stop, over.step)


def _counted(item: Any, loops: Loops) -> tuple[For | None, int] | None:
    """Read an index as a loop that counts it and an offset, or as a number; None if it is neither."""
    if isinstance(item, Slice):
        return None
    told = affine(item)
    if told is None:
        return None
    name, off = told
    if name is None:
        return (None, off) if off >= 0 else None
    loop = next((s for s in reversed(loops) if isinstance(s, For) and s.var.name == name), None)
    return None if loop is None or not _stays_inside(loop, off) else (loop, off)


def _stays_inside(loop: For, off: int) -> bool:
    """Say whether a counter, moved by a number, is never negative: else it means an element from the other end."""
    step = loop.step.value if isinstance(loop.step, Const) else 0
    if step > 0:
        return isinstance(loop.start, Const) and loop.start.value + off >= 0
    return step < 0 and isinstance(loop.stop, Const) and loop.stop.value + 1 + off >= 0


def _precedes(write: Access, read: Access) -> bool:
    """Say whether the element that is read was written before, in the same turn, if a turn writes it at all."""
    if read.place is None:
        place: tuple[Any, ...] = (None,) * len(write.place or ())
    else:
        place = read.place
    if write.place is None or len(place) != len(write.place):
        return False
    if write.path != read.path[: len(write.path)]:
        return False
    shared = 0
    for a, b in zip(write.loops, read.loops, strict=False):
        if a is not b:
            break
        shared += 1
    if any(_may_stop(loop) for loop in write.loops[shared:]):
        return False
    for depth, loop in enumerate(write.loops[:shared]):
        at = [
            d for d, item in enumerate(write.place)
            if isinstance(loop, For) and not isinstance(item, Slice) and loop.var.name in reads(item)
        ]  # fmt: skip
        if not at:
            continue  # each of its turns writes the same places
        assert isinstance(loop, For)
        ahead = _ahead(loop, write.place[at[0]], place[at[0]], write, read)
        if ahead is None or ahead > 0:
            return False
        if ahead < 0:  # in an earlier turn of this loop, if that met no branch and ran its loops to the end
            behind = write.loops[depth + 1 :]
            return all(around <= depth for _, _, around in write.path) and not any(_may_stop(s) for s in behind)
    return write.at < read.at


def _may_stop(loop: For | While) -> bool:
    """Say whether some of the turns that a loop could have may be left out."""
    return isinstance(loop, While) or any(isinstance(s, Break) for s in statements(loop.body))


def _ahead(loop: For, written: Any, item: Any, write: Access, read: Access) -> int | None:
    """Return by how many turns of a loop an element is written after it is read, at most; None if not known."""
    own = _counted(written, write.loops)
    other = None if item is None else _counted(item, read.loops)
    step = loop.step.value if isinstance(loop.step, Const) else None
    if own is None or other is None or own[0] is not loop or other[0] is None or step not in (1, -1):
        return None
    if other[0] is loop:
        return (other[1] - own[1]) * step
    inner = other[0]
    last = affine(inner.stop)
    if step != 1 or not isinstance(inner.step, Const) or inner.step.value != 1 or last is None:
        return None
    if last[0] != loop.var.name:
        return None
    return last[1] - 1 + other[1] - own[1]


__all__ = ["Access", "carried"]
