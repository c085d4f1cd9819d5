"""Before the adjoint: conditions and bounds that would change are given names, loops are counted.

A branch that leaves its loop was taken in the last turn or in none: one flag tells, and no turn keeps its condition.

    stopped = False                           for i in range(steps - 1, -1, -1):
    for i in range(n):                            if stopped:
        if x[i] > limit:                              stopped = False
            ...                                       ...    # the reverse of what comes before the `break`
            stopped = True                        else:
            break                                     ...    # the reverse of the rest of a turn
        ...
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.sharing import Groups
from s2sad.errors import Span
from s2sad.frontend.operators import BOOL, build, negate
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.device import is_barrier
from s2sad.ir.nodes import (
    Apply,
    Assign,
    Break,
    Const,
    Effect,
    Expr,
    For,
    Function,
    If,
    Index,
    Raise,
    Slice,
    Stmt,
    Store,
    Var,
    While,
)
from s2sad.ir.shapes import shaping_parts
from s2sad.ir.types import Array, Scalar, surely_as_long
from s2sad.ir.walk import (
    bound,
    children,
    exprs_of,
    map_blocks,
    names_in,
    reads,
    root_of,
    statements,
    subexpressions,
    targets,
)
from s2sad.transform.dead import escaping
from s2sad.transform.naming import Namer, noun


@dataclass(frozen=True, slots=True)
class Exit:
    """A way out of a loop before its end: the flag that tells that it was taken, and what sets it."""

    flag: Var
    sets: Assign
    loop: For | While
    way: int
    """Which branch leaves the loop: 0 where the condition holds, 1 where it does not."""

    @property
    def test(self) -> Expr:
        """What the reverse of the branch asks in place of its condition."""
        return negate(self.flag) if self.way else self.flag


class Prepared:
    """A function ready to be reversed: `counts` gives the trip counter of each counted loop."""

    def __init__(
        self, fn: Function, counts: dict[int, Var], flags: frozenset[str] = frozenset(),
        exits: dict[int, Exit] | None = None,
    ) -> None:  # fmt: skip
        """Keep the function, its counters by loop, the conditions that are saved, never evaluated again, and exits.

        `exits`: by their branch, the ways out of loops that are taken in their last turn or never.
        """
        self.fn, self.counts, self.flags, self.exits = fn, counts, flags, exits or {}

    def taken_back(self) -> dict[int, Stmt]:
        """Return, by the statement that sets the flag of an exit, what takes it back."""
        return {id(one.sets): Assign(one.flag, literal(False), one.sets.span) for one in self.exits.values()}


def without_scalar_stores(fn: Function) -> Function:
    """`x += e` on a scalar name rebinds it: write it as an assignment."""
    from s2sad.frontend.operators import BY_SYMBOL

    def each(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Store) and isinstance(stmt.place, Var) and isinstance(stmt.place.type, Scalar):
            value = build(BY_SYMBOL[stmt.op], stmt.place, stmt.value) if stmt.op else stmt.value
            return Assign(stmt.place, value, stmt.span)
        return map_blocks(stmt, lambda body: tuple(each(s) for s in body))

    return replace(fn, body=tuple(each(s) for s in fn.body))


def with_own_counters(fn: Function, namer: Namer) -> Function:
    """A loop variable that is read behind its loop, and set elsewhere too, is set from a counter of the loop's own.

    The reverse sweep runs over the counter; the variable is saved where it is set, as any other.
    """
    bindings: dict[str, int] = {}
    loops = [stmt for stmt in statements(fn.body) if isinstance(stmt, For)]
    for stmt in statements(fn.body):
        for name in bound(stmt):
            bindings[name] = bindings.get(name, 0) + 1
    repeated = {s.var.name for loop in statements(fn.body) if isinstance(loop, For | While)
                for s in statements(loop.body) if isinstance(s, For)}  # fmt: skip
    several = {loop.var.name for loop in loops if bindings[loop.var.name] > 1} | repeated
    outlive = escaping(fn.body) | {s.var.name for loop in loops for s in statements(loop.body)
                                   if isinstance(s, For) and s.var.name == loop.var.name}  # fmt: skip
    shared = several & outlive

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(each(stmt) for stmt in body)

    def each(stmt: Stmt) -> Stmt:
        stmt = map_blocks(stmt, block)
        if not isinstance(stmt, For) or stmt.var.name not in shared:
            return stmt
        counter = Var(namer.fresh(stmt.var.name), stmt.var.type)
        return replace(stmt, var=counter, body=(Assign(stmt.var, counter, stmt.span), *stmt.body))

    return replace(fn, body=block(fn.body)) if shared else fn


def with_items_named(fn: Function, namer: Namer) -> Function:
    """What is popped and stored, or thrown away, is given a name, so that the reverse can put it back."""

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(made for stmt in body for made in each(stmt))

    def each(stmt: Stmt) -> list[Stmt]:
        match stmt:
            case Effect(Apply(pop, _, kind) as value) if pop is ops.pop:
                return [Assign(Var(namer.fresh("item"), kind), value, stmt.span)]
            case Store(_, _, Apply(pop, _, kind) as value) if pop is ops.pop:
                item = Var(namer.fresh("item"), kind)
                return [Assign(item, value, stmt.span), replace(stmt, value=item)]
            case _:
                return [map_blocks(stmt, block)]

    return replace(fn, body=block(fn.body))


def prepare(
    fn: Function, active: set[str], namer: Namer, facts: Facts, saved: frozenset[Span] = frozenset(),
    reversed_: frozenset[Span] = frozenset(), turns: frozenset[Span] = frozenset(),
) -> Prepared:  # fmt: skip
    """Name what a reverse sweep could not evaluate again, and count the loops that need it.

    `saved`: the branches whose condition must not be evaluated again. `reversed_`: branches and loops to be
    followed in reverse although no derivative flows in them. `turns`: the loops whose turns are run again.
    """
    return _Prepare(active, namer, facts, saved, reversed_, turns).run(fn)


class _Prepare:
    def __init__(
        self, active: set[str], namer: Namer, facts: Facts, saved: frozenset[Span], reversed_: frozenset[Span],
        turns: frozenset[Span],
    ) -> None:  # fmt: skip
        self.active, self.namer, self.facts, self.saved, self.reversed_ = active, namer, facts, saved, reversed_
        self.turns = turns
        self.flags: set[str] = set()
        self.counts: dict[int, Var] = {}
        self.leaving: dict[int, tuple[Var, Assign, int]] = {}
        """By the branch that leaves a loop: the flag that tells so, what sets it, and which way leaves."""
        self.exits: dict[int, Exit] = {}

    def run(self, fn: Function) -> Prepared:
        self.groups = Groups(fn, self.facts)
        self.names = names_in(fn.body)
        self.fn = fn
        return Prepared(replace(fn, body=self._block(fn.body)), self.counts, frozenset(self.flags), self.exits)

    def _block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        for stmt in body:
            match stmt:
                case If():
                    result.extend(self._if(stmt))
                case For() | While():
                    result.extend(self._loop(stmt))
                case Store(Index()):
                    result.extend(self._store(stmt))
                case _:
                    result.append(stmt)
        return tuple(result)

    def _store(self, stmt: Store) -> list[Stmt]:
        """An index that reads what is written, or that is costly, is named before the write."""
        place = stmt.place
        assert isinstance(place, Index)
        before: list[Stmt] = []
        root = root_of(place)
        written = self.groups.find(root.name) if root is not None else ""
        items: list[Expr | Slice] = []
        for item in place.index:
            if isinstance(item, Slice | Var | Const):
                items.append(item)
                continue
            if written in self.groups.read(item) or isinstance(item.type, Array):
                name = Var(self.namer.fresh("at"), item.type)
                before.append(Assign(name, item, stmt.span))
                item = name
            items.append(item)
        if not before:
            return [stmt]
        return [*before, replace(stmt, place=Index(place.base, tuple(items), place.type))]

    def _matters(self, body: tuple[Stmt, ...]) -> bool:
        """Say whether the reverse of these statements does anything."""
        for stmt in statements(body):
            names = set(bound(stmt)) | set(written_by(stmt, self.facts))
            if names & self.active or (isinstance(stmt, Effect) and is_barrier(stmt.value)):
                return True
        return False

    def _changed(self, body: tuple[Stmt, ...]) -> set[str]:
        found: set[str] = set()
        written: set[str] = set()
        for stmt in statements(body):
            found.update(bound(stmt))
            written.update(written_by(stmt, self.facts))
        shared = self.groups.of(written)
        return found | written | {n for n in self.names if self.groups.find(n) in shared}

    def _if(self, stmt: If) -> list[Stmt]:
        changed = self._changed((*stmt.body, *stmt.orelse))
        matters = stmt.span in self.reversed_ or self._matters((*stmt.body, *stmt.orelse))
        new = replace(stmt, body=self._block(stmt.body), orelse=self._block(stmt.orelse))
        if (left := self.leaving.pop(id(stmt), None)) is not None:
            self.leaving[id(new)] = left
            return [new]
        other = _roots(stmt.test) & changed or _has_other_lengths(stmt.test, (*stmt.body, *stmt.orelse))
        again = not (other or _costly(stmt.test) or stmt.span in self.saved)
        named = isinstance(stmt.test, Var) and stmt.test.name not in changed
        if not matters or named or again:
            return [new]
        flag = Var(self.namer.fresh(_condition(stmt.test)), stmt.test.type)
        if stmt.span in self.saved:
            self.flags.add(flag.name)
        return [Assign(flag, stmt.test, stmt.span), replace(new, test=flag)]

    def _loop(self, stmt: For | While) -> list[Stmt]:
        before: list[Stmt] = []
        matters = stmt.span in self.reversed_ or self._matters(stmt.body)
        if isinstance(stmt, For) and matters:
            stmt, before = self._fixed_bounds(stmt)
        if matters and stmt.span not in self.turns:
            body, flags = self._told_apart(stmt.body)
            stmt = replace(stmt, body=body)
            before += [Assign(flag, literal(False), stmt.span) for flag in flags]
        inner = replace(stmt, body=self._block(stmt.body))
        if not matters or not (isinstance(stmt, While) or _breaks(stmt.body)):
            return [*before, inner]
        count = Var(self.namer.fresh("steps"), Scalar("int64", True))
        step = Assign(count, build_add(count), stmt.span)
        counted = replace(inner, body=(step, *inner.body))
        self.counts[id(counted)] = count
        for inside in statements(counted.body):
            if (left := self.leaving.pop(id(inside), None)) is not None:
                self.exits[id(inside)] = Exit(left[0], left[1], counted, left[2])
        return [*before, Assign(count, literal(0), stmt.span), counted]

    def _told_apart(self, body: tuple[Stmt, ...]) -> tuple[tuple[Stmt, ...], list[Var]]:
        """Return the block of a loop in which each way out sets a flag of its own, and the flags that are new.

        That of a `return` is one already, where nothing else sets it.
        """
        made: list[Var] = []
        last = body[-1] if body else None
        if not isinstance(last, If) or not _breaks((last,)):
            return body, made
        sides = [last.body, last.orelse]
        for way in (0, 1):
            sides[way], new = self._told_apart(sides[way])
            made += new
        branch = replace(last, body=sides[0], orelse=sides[1])
        way = next((way for way in (0, 1) if sides[way] and isinstance(sides[way][-1], Break)), None)
        if way is None or not self._is_to_be_told(last):
            return (*body[:-1], branch), made
        kept = sides[way][-2] if len(sides[way]) > 1 else None
        if isinstance(kept, Assign) and self._is_set_once(kept):
            self.leaving[id(branch)] = (kept.target, kept, way)
            return (*body[:-1], branch), made
        flag = Var(self.namer.fresh("stopped"), BOOL)
        sets = Assign(flag, literal(True), last.span)
        sides[way] = (*sides[way][:-1], sets, sides[way][-1])
        branch = replace(last, body=sides[0], orelse=sides[1])
        self.leaving[id(branch)] = (flag, sets, way)
        return (*body[:-1], branch), [*made, flag]

    def _is_to_be_told(self, branch: If) -> bool:
        """Say whether the reverse asks which way a branch went, and no flag tells it."""
        if branch.span not in self.reversed_ and not self._matters((*branch.body, *branch.orelse)):
            return False
        if isinstance(branch.test, Var):  # a flag that is set inside, in the last turn alone, tells by itself
            made = [s for s in statements(self.fn.body) if branch.test.name in bound(s)]
            return bool(made) and not (isinstance(made[-1], Assign) and self._is_set_once(made[-1]))
        return True

    def _is_set_once(self, stmt: Assign) -> bool:
        """Say whether a statement is the only one to set the flag of a `return`, which leaves all loops around.

        One of the user's would stay set for the next turn of a loop around: theirs does not stand at the function.
        """
        if stmt.target.type != BOOL or stmt.value != literal(True):
            return False
        made = [s for s in statements(self.fn.body) if stmt.target.name in bound(s)]
        first = made[0]
        return (
            len(made) == 2 and made[1] is stmt and isinstance(first, Assign) and first.value == literal(False)
            and any(first is s for s in self.fn.body) and first.span == self.fn.span
        )  # fmt: skip

    def _fixed_bounds(self, stmt: For) -> tuple[For, list[Stmt]]:
        changed = self._changed(stmt.body)
        before: list[Stmt] = []
        bounds: list[Expr] = []
        for expr, hint in ((stmt.start, "start"), (stmt.stop, "stop"), (stmt.step, "step")):
            if _roots(expr) & changed or _has_other_lengths(expr, stmt.body):
                name = Var(self.namer.fresh(hint), expr.type)
                before.append(Assign(name, expr, stmt.span))
                expr = name
            bounds.append(expr)
        return replace(stmt, start=bounds[0], stop=bounds[1], step=bounds[2]), before


def build_add(count: Var) -> Expr:
    """Return `count + 1`."""
    import operator

    return Apply(operator.add, (count, literal(1)), count.type)


def _roots(expr: Expr | Slice) -> set[str]:
    """Names whose value the expression depends on; a shape does not depend on the content."""
    if isinstance(expr, Apply) and expr.fn in (ops.dim, ops.size):
        return {name for part in shaping_parts(expr) for name in _roots(part)}
    if isinstance(expr, Const):
        return set()
    if isinstance(expr, Var):
        return {expr.name}
    return {name for child in children(expr) for name in _roots(child)}  # type: ignore[arg-type]


def _has_other_lengths(expr: Expr, body: tuple[Stmt, ...]) -> bool:
    """Say whether an expression asks for lengths of arrays whose names mean arrays of others after `body`."""
    asked = {
        root for part in subexpressions(expr)
        if isinstance(part, Apply) and part.fn in (ops.dim, ops.size) and (root := root_of(part.args[0])) is not None
    }
    made = [target for stmt in statements(body) for target in targets(stmt)] if asked else []
    return any(one.name == other.name and not surely_as_long(one.type, other.type) for one in asked for other in made)


def _costly(expr: Expr) -> bool:
    from s2sad.analysis.pure import is_pure

    return not is_pure(expr)


def _condition(test: Expr) -> str:
    for part in subexpressions(test):
        if isinstance(part, Var | Index):
            return f"{noun(part)}_holds"
    return "holds"


def _breaks(body: tuple[Stmt, ...]) -> bool:
    for stmt in body:
        if isinstance(stmt, Break):
            return True
        if isinstance(stmt, If) and (_breaks(stmt.body) or _breaks(stmt.orelse)):
            return True
    return False


__all__ = ["Effect", "Prepared", "Raise", "exprs_of", "prepare", "reads", "without_scalar_stores"]
