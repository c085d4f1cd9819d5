"""Loops over the same elements, or the same rows, become one loop; arrays that only it uses become scalars."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from s2sad.analysis.sharing import Apart
from s2sad.emit.elements import is_view, never_meet
from s2sad.errors import NOWHERE, Span
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Comment, Expr, For, Index, Stmt, Store, Var
from s2sad.ir.shapes import SHAPES, refused_if
from s2sad.ir.types import Array, Dim, Scalar
from s2sad.ir.views import is_advanced
from s2sad.ir.walk import (
    NamesOf,
    blocks_of,
    bound,
    children,
    exchanged,
    exprs_of,
    map_blocks,
    map_exprs,
    reads,
    root_of,
    statements,
    subexpressions,
)
from s2sad.transform.fused import ADJOINT, WITH_PRIMAL


@dataclass(slots=True)
class Nest:
    """Statements on the elements at `index`, for every index below `bounds`.

    Attributes:
        dims: the lengths as types know them: loops over equal ones can be one.
        checks: pairs of lengths that must agree, as symbols and as expressions.
        before: what has to be done before the loops, such as making the array that they fill.
        sums: names that hold a sum only after the loops.
        demands: statements that raise where the loops have nothing to work on.
        alone: the statement to write instead where nothing shares the loops.
    """

    dims: tuple[Dim, ...]
    index: tuple[Expr, ...]
    bounds: list[Expr]
    checks: list[tuple[frozenset[Dim], Expr, Expr]]
    span: Span = NOWHERE
    before: list[Stmt] = field(default_factory=list[Stmt])
    body: list[Stmt] = field(default_factory=list[Stmt])
    sums: set[str] = field(default_factory=set[str])
    demands: list[Stmt] = field(default_factory=list[Stmt])
    alone: Stmt | None = None


def fused(
    items: list[Stmt | Nest], apart: Apart, agreed: frozenset[frozenset[Dim]], positive: Callable[[Expr], bool]
) -> tuple[Stmt, ...]:
    """Return a block in which neighbouring nests share their loops where the order allows it.

    `positive` says which whole numbers are never below zero.
    """
    out: list[Stmt] = []
    current: _Rows | None = None
    comments: list[Stmt] = []
    known = set(agreed)
    for at, item in enumerate(items):
        if isinstance(item, Comment):
            if current is not None and current.takes_heading(items[at : at + 2]):
                continue
            if not item.text or item.text.startswith("----"):  # a heading stands before what it heads
                out += current.statements(known) if current is not None else ()
                current = None
            comments.append(item)
            continue
        if isinstance(item, Nest):
            if current is None or not current.takes(item):
                out += current.statements(known) if current is not None else ()
                current = _Rows(apart, positive)
                out += comments
                comments = []
            current.add(item, comments)
        elif current is not None and current.lets_past(item):
            (current.headed or current.before).extend([*comments, item])
        elif current is not None and current.stays_behind(item):
            current.after += [*comments, item]
        else:
            out += current.statements(known) if current is not None else ()
            current = None
            out += [*comments, item]
        comments = []
    out += current.statements(known) if current is not None else ()
    return (*out, *comments)


class _Rows:
    """Loops over the same rows, to be written as one over rows with a loop each over what a row has.

        for i in range(n):                            for i in range(n):
            for j in range(m):                            for j in range(m):
                total[i] += x[i, j]       becomes             total[i] += x[i, j]
        for i in range(n):                                for j in range(m):
            for j in range(m):                                y[i, j] = x[i, j] / total[i]
                y[i, j] = x[i, j] / total[i]

    A row is in the cache when the next loop reads it, and what only one turn uses needs no place of its own.
    """

    def __init__(self, apart: Apart, positive: Callable[[Expr], bool]) -> None:
        self.apart, self.positive = _Apart(apart), positive
        self.fusions: list[_Fusion] = []
        self.before: list[Stmt] = []
        self.after: list[Stmt] = []
        """Products that nothing in the loops depends on."""
        self.headed: list[Stmt] = []
        """The heading of the adjoint sweep and what follows it, where no loops of that sweep have joined these."""
        self.shared = 0
        """How many of the first axes the loops share, where there is more than one."""

    def takes(self, nest: Nest) -> bool:
        """Say whether a further nest may run with these, row by row if not element by element."""
        *others, last = self.fusions
        if any(self._depends(nest, stmt) for stmt in self.after):
            return False
        if not all(rows.lets_past(stmt) for rows in self.fusions for stmt in nest.before):
            return False
        if last.takes(nest):
            return all(rows.allows(nest, self.shared) for rows in others)
        return self._common(nest) > 0

    def add(self, nest: Nest, comments: list[Stmt]) -> None:
        """Take a nest in; `takes` has said that it fits."""
        if self.headed:
            blank, heading, *rest = self.headed
            self.before = [blank, replace(heading, text=WITH_PRIMAL), *self.before, *rest]
            self.headed = []
        self.before += nest.before
        if not self.fusions or not self.fusions[-1].takes(nest):
            self.shared = self._common(nest) if self.fusions else 0
            self.fusions.append(_Fusion(self.apart, nest.dims, self.positive))
        self.fusions[-1].body += comments
        self.fusions[-1].add(nest)

    def _common(self, nest: Nest) -> int:
        """Return how many of the first axes this nest may share; none if it reads nothing that the others made."""
        most = min(len(nest.dims), *(len(rows.dims) for rows in self.fusions))
        if len(self.fusions) > 1:
            most = min(most, self.shared)
        if not any(rows.gives(nest) for rows in self.fusions):
            return 0
        for count in range(most, 0, -1):
            if any(rows.dims[:count] != nest.dims[:count] for rows in self.fusions):
                continue
            if not isinstance(nest.index[count - 1], Var):
                continue
            if all(rows.allows(nest, count) for rows in self.fusions):
                return count
        return 0

    def _depends(self, nest: Nest, product: Stmt) -> bool:
        """Say whether a nest has to come after a product, or the product before it."""
        if not isinstance(product, Assign):
            return False
        for stmt in (*nest.before, *nest.body):
            if any(var.name == product.target.name for expr in exprs_of(stmt) for var in _names(expr)):
                return True
            if {product.target.name, *reads(product.value)} & set(bound(stmt)):
                return True
            written = _root(stmt.place) if isinstance(stmt, Store) and isinstance(stmt.place, Index) else None
            if written is not None and any(self.apart.may_meet(name, written) for name in reads(product.value)):
                return True
        return False

    def takes_heading(self, items: list[Stmt | Nest]) -> bool:
        """Take in the heading of the adjoint sweep, whose loops may be done with these; say whether it was one."""
        first, *others = items
        if self.headed:
            return first == Comment(ADJOINT) and self.headed[-1] == first
        if first != Comment("") or others != [Comment(ADJOINT)]:
            return False
        self.headed = [Comment(""), Comment(ADJOINT)]
        return True

    def stays_behind(self, stmt: Stmt) -> bool:
        """Say whether a statement is a product, before which further nests may be done."""
        value = stmt.value if isinstance(stmt, Assign) and not self.headed else None
        if not isinstance(value, Apply) or value.fn is not operator.matmul:
            return False
        return all(_is_surely_view(arg) for arg in value.args)

    def lets_past(self, stmt: Stmt) -> bool:
        """Say whether a statement may be done before the loops instead of after them."""
        if not self.apart.lets_past(stmt):
            return False
        for product in self.after:
            if isinstance(stmt, Assign) and isinstance(product, Assign):
                if stmt.target.name in (product.target.name, *reads(product.value)):
                    return False
                if product.target.name in reads(stmt.value):
                    return False
        return all(rows.lets_past(stmt) for rows in self.fusions)

    def statements(self, known: set[frozenset[Dim]]) -> list[Stmt]:
        """Return the loops, and before them what they need."""
        nests = [nest for rows in self.fusions for nest in rows.nests]
        if all(nest.alone is not None for nest in nests):
            return [*self._each_alone(nests), *self._end()]
        checks = [check for rows in self.fusions for check in rows.checks(known)]
        first, *others = self.fusions
        body = tuple(stmt for rows in self.fusions for stmt in rows.loops(self.shared if others else 0))
        if others:
            body = first.around(body, 0, self.shared)
        return [*self.before, *checks, *body, *self._end()]

    def _each_alone(self, nests: Sequence[Nest]) -> list[Stmt]:
        """Return what comes before the loops, with copies as they were written where their arrays would be made."""
        copies = {id(nest.before[0]): nest.alone for nest in nests if nest.before}
        parts = {id(stmt) for nest in nests for stmt in nest.before}
        stays = [stmt for stmt in self.before if id(stmt) in copies or id(stmt) not in parts]
        return [copies.get(id(stmt)) or stmt for stmt in stays]

    def _end(self) -> list[Stmt]:
        return [*self.after, *self.headed]


class _Apart:
    """Which names are apart throughout loops that are written as one: a hand-over between them makes two names one."""

    def __init__(self, apart: Apart) -> None:
        self.apart = apart
        self.relied = self.handed = False

    def may_meet(self, a: str, b: str) -> bool:
        """Say whether two names may share memory in any of the loops so far."""
        if not self.apart.may_meet(a, b):
            return False
        if self.handed or self.apart.may_meet_now(a, b):
            return True
        self.relied = True
        return False

    def lets_past(self, stmt: Stmt) -> bool:
        """Say whether a statement leaves apart what was found so, and note that it may not for what follows."""
        if self.apart.hands_over(stmt):
            self.handed = True
            return not self.relied
        return True


class _Fusion:
    """Nests gathered so far, to be written as one."""

    def __init__(self, apart: _Apart, dims: tuple[Dim, ...], positive: Callable[[Expr], bool]) -> None:
        self.apart, self.dims, self.positive = apart, dims, positive
        self.nests: list[Nest] = []
        self.body: list[Stmt] = []
        self.written: list[tuple[Index, bool]] = []
        self.read: list[Index] = []
        self.scalars: set[str] = set()
        self.named: set[str] = set()

    def add(self, nest: Nest) -> None:
        """Take a nest in; `takes` has said that it fits."""
        self.nests.append(nest)
        self.body += nest.body
        self.scalars |= nest.sums
        for end in (*nest.bounds, *(length for _, *lengths in nest.checks for length in lengths)):
            self.named |= {v.name for v in _names(end)}
        for stmt in nest.body:
            self.read += _elements_read(stmt)
            for expr in exprs_of(stmt):
                self.named |= {v.name for v in _names(expr)}
            if isinstance(stmt, Store) and isinstance(stmt.place, Index):
                self.written.append((stmt.place, stmt.op in ("+", "-")))

    def takes(self, nest: Nest) -> bool:
        """Say whether a further nest may run with these, element by element."""
        if nest.dims != self.dims:
            return False
        for stmt in nest.body:
            if any(v.name in self.scalars for e in exprs_of(stmt) for v in _names(e)):
                return False
            for element in _elements_read(stmt):
                if any(self._crosses(place, element) for place, _ in self.written):
                    return False
            if isinstance(stmt, Store) and isinstance(stmt.place, Index) and not self._may_write(stmt, stmt.place):
                return False
        return True

    def _crosses(self, a: Index, b: Index) -> bool:
        """Say whether two accesses may meet in one element in different iterations."""
        if a == b or not self.apart.may_meet(_root(a), _root(b)):
            return False
        counters = {v.name for v in self.nests[0].index if isinstance(v, Var)} | self.scalars
        return not never_meet(a, b, counters, self.positive)

    def _may_write(self, stmt: Store, place: Index) -> bool:
        if any(self._crosses(element, place) for element in self.read):
            return False
        adds = stmt.op in ("+", "-")
        return not any(self._crosses(other, place) and not (adds and added) for other, added in self.written)

    def lets_past(self, stmt: Stmt) -> bool:
        """Say whether a statement may be done before the loops instead of after them."""
        if not isinstance(stmt, Assign) or stmt.target.name in self.named:
            return False
        if isinstance(stmt.value, Var) and any(stmt.value.name == _root(place) for place, _ in self.written):
            return False  # another name for what is being filled: what reads it must stay behind the loops
        if isinstance(stmt.value.type, Array) and _is_surely_view(stmt.value):
            return not ({v.name for v in _indices(stmt.value)} & self.scalars)
        for var in _contents(stmt.value):
            if var.name in self.scalars or any(self.apart.may_meet(var.name, _root(p)) for p, _ in self.written):
                return False
        return True

    def gives(self, nest: Nest) -> bool:
        """Say whether a nest reads an array that these write."""
        read = {_root(element) for stmt in nest.body for element in _elements_read(stmt)}
        return any(_root(place) in read for place, _ in self.written)

    def allows(self, nest: Nest, count: int) -> bool:
        """Say whether a nest may follow these in each turn of the loops over the first `count` axes."""
        counters = {v.name for v in nest.index[:count] if isinstance(v, Var)}
        for stmt in nest.body:
            if any(v.name in self.scalars and isinstance(v.type, Scalar) for e in exprs_of(stmt) for v in _names(e)):
                return False
            met = [(element, False) for element in _elements_read(stmt)]
            if isinstance(stmt, Store) and isinstance(stmt.place, Index):
                met.append((stmt.place, True))
            for element, writes in met:
                others = [place for place, _ in self.written] + (self.read if writes else [])
                if any(not self._in_one_turn(element, other, counters) for other in others):
                    return False
        return True

    def _in_one_turn(self, a: Index, b: Index, counters: set[str]) -> bool:
        """Say whether two elements are the same only where the counters are."""
        if not self.apart.may_meet(_root(a), _root(b)):
            return True
        if a.base != b.base or len(a.index) != len(b.index):
            return False
        same = {x.name for x, y in zip(a.index, b.index, strict=True) if isinstance(x, Var) and x == y}
        return counters <= same

    def checks(self, known: set[frozenset[Dim]]) -> list[Stmt]:
        """Return the comparisons of lengths that nobody has made."""
        made: list[Stmt] = []
        for nest in self.nests:
            for pair, first, second in nest.checks:
                if pair not in known:
                    known.add(pair)
                    made.append(refused_if(_differ(first, second), self.nests[0].span))
            made += nest.demands
        return made

    def loops(self, first: int) -> tuple[Stmt, ...]:
        """Return the loops over the axes from `first` on."""
        return self.around(tuple(self.body), first, len(self.dims))

    def around(self, body: tuple[Stmt, ...], first: int, end: int) -> tuple[Stmt, ...]:
        """Return statements in the loops over some of the axes."""
        nest = self.nests[0]
        for var, stop in reversed(list(zip(nest.index, nest.bounds, strict=True))[first:end]):
            if isinstance(var, Var):
                body = (For(var, literal(0), stop, literal(1), body, nest.span),)
        return body


def _differ(first: Expr, second: Expr) -> Expr:
    """Return whether two lengths are not equal; `a` and `min(a, b)` are not where `a` is the larger one."""
    for whole, cut in ((first, second), (second, first)):
        if isinstance(cut, Apply) and cut.fn is min and cut.args[0] == whole:
            return Apply(operator.gt, cut.args, Scalar("bool", weak=True))
    return Apply(operator.ne, (first, second), Scalar("bool", weak=True))


def _is_surely_view(expr: Expr) -> bool:
    """Say whether an expression only names a part or a turn of an array: nothing is copied, ever."""
    match expr:
        case Var():
            return True
        case Index(base, index):
            return not is_advanced(index) and _is_surely_view(base)
        case Apply(_, (base, *_)):
            return is_view(expr) and _is_surely_view(base)
        case _:
            return False


def _root(element: Index) -> str:
    root = root_of(element)
    assert root is not None
    return root.name


def _elements_read(stmt: Stmt) -> list[Index]:
    """Return the array elements whose values a scalar statement reads, but for what `+=` adds to."""
    value = stmt.value if isinstance(stmt, Store | Assign) else None
    found = [] if value is None else [e for e in _below(value) if isinstance(e, Index)]
    if isinstance(stmt, Store) and stmt.op in ("*", "/") and isinstance(stmt.place, Index):
        found.append(stmt.place)
    return found


def _below(expr: Any) -> list[Any]:
    return subexpressions(expr)


def _names(expr: Expr) -> list[Var]:
    return [part for part in _below(expr) if isinstance(part, Var)]


def _indices(expr: Expr) -> list[Var]:
    """Return the names in the indices of a view: all that making it reads."""
    root = root_of(expr)
    return [v for v in _names(expr) if root is None or v.name != root.name]


def _contents(expr: Any) -> list[Var]:
    """Return the names whose values an expression reads, not only the shapes of what has a name."""
    if isinstance(expr, Apply) and expr.fn in SHAPES:
        whole, *others = expr.args
        named = _indices(whole) if _is_surely_view(whole) else _contents(whole)
        return [*named, *(v for arg in others for v in _contents(arg))]
    if isinstance(expr, Var):
        return [expr]
    return [v for child in children(expr) for v in _contents(child)]


# ---- arrays that become scalars ----


def contracted(body: tuple[Stmt, ...], made: set[str]) -> tuple[Stmt, ...]:
    """Return `body` with those of the `made` arrays that live in one loop, at one index, as scalars."""
    named, counted = NamesOf(), _Counted()
    while True:
        uses = counted.all(body)
        chosen = _first_local(body, made, uses)
        if chosen is None:
            return body
        made = made - {chosen.base.name}  # type: ignore[union-attr]
        body = _scalarised(body, chosen, named)


class _Counted:
    """How often statements use each name, and bind it (`=name`), each statement looked through once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Stmt, Counter[str]]] = {}

    def all(self, body: tuple[Stmt, ...]) -> Counter[str]:
        """Return the counts of a block, those inside its statements included."""
        counts: Counter[str] = Counter()
        for stmt in body:
            counts.update(self._of(stmt))
        return counts

    def _of(self, stmt: Stmt) -> Counter[str]:
        found = self._known.get(id(stmt))
        if found is None or found[0] is not stmt:
            counts = Counter(var.name for expr in exprs_of(stmt) for var in _names(expr))
            counts.update(f"={name}" for name in bound(stmt))
            for block in blocks_of(stmt):
                counts.update(self.all(block))
            found = self._known[id(stmt)] = (stmt, counts)
        return found[1]


def _first_local(body: tuple[Stmt, ...], made: set[str], uses: dict[str, int]) -> Index | None:
    for stmt in statements(body):
        if not isinstance(stmt, For):
            continue
        for inner in stmt.body:
            if not (isinstance(inner, Store) and inner.op == "" and isinstance(inner.place, Index)):
                continue
            base = inner.place.base
            if not isinstance(base, Var) or base.name not in made or uses.get(f"={base.name}") != 1:
                continue
            before = stmt.body[: next(i for i, s in enumerate(stmt.body) if s is inner)]
            if inner.place in _below(inner.value) or base.name in {v.name for v in _read_in(before)}:
                continue  # what was there before the loops, or the turn, counts
            here = sum(
                part == inner.place for s in stmt.body for e in exprs_of(s) for part in _below(e)
            )
            if here == uses.get(base.name):
                return inner.place
    return None


def _read_in(body: tuple[Stmt, ...]) -> list[Var]:
    return [var for stmt in statements(body) for expr in exprs_of(stmt) for var in _names(expr)]


def _scalarised(body: tuple[Stmt, ...], element: Index, named: NamesOf) -> tuple[Stmt, ...]:
    base = element.base
    assert isinstance(base, Var)
    scalar = Var(base.name, element.type)
    read = any(
        part == element
        for s in statements(body)
        for e in (exprs_of(s) if not isinstance(s, Store) or s.place != element or s.op else (s.value,))
        for part in _below(e)
    )

    def expr_of(expr: Any) -> Any:
        return exchanged(expr, element, scalar)

    def each(block: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for stmt in block:
            if base.name not in named.of(stmt):
                out.append(stmt)
                continue
            if isinstance(stmt, Assign) and stmt.target.name == base.name:
                continue
            if isinstance(stmt, Store) and stmt.place == element:
                if not read:
                    continue
                value = expr_of(stmt.value)
                if stmt.op:
                    value = Apply(ops.STORING[stmt.op], (scalar, value), scalar.type)
                out.append(Assign(scalar, value, stmt.span))
                continue
            made = map_blocks(map_exprs(stmt, expr_of), each)
            if not (isinstance(made, For) and made.var in element.index and not made.body):
                out.append(made)
        return tuple(out)

    return each(body)


def without_unused_views(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Return `body` without names of parts of arrays that the loops read directly."""
    uses = _Counted().all(body)

    def each(block: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(map_blocks(s, each) for s in block if not _is_unused_view(s, uses))

    return each(body)


def _is_unused_view(stmt: Stmt, uses: dict[str, int]) -> bool:
    if not isinstance(stmt, Assign) or not isinstance(stmt.value.type, Array) or uses.get(stmt.target.name, 0):
        return False
    return isinstance(stmt.value, Index) or (isinstance(stmt.value, Apply) and _is_surely_view(stmt.value))
