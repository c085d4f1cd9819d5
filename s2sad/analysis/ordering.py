"""Which statements of a function may change places: neither needs, nor undoes, what the other does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.liveness import Liveness
from s2sad.analysis.sharing import Groups
from s2sad.ir.draws import draws
from s2sad.ir.nodes import (
    Assert,
    Break,
    CallStmt,
    Const,
    Continue,
    Effect,
    Expr,
    For,
    Function,
    Index,
    Raise,
    Return,
    Slice,
    Stmt,
    Store,
    Var,
    While,
)
from s2sad.ir.shapes import reads_content
from s2sad.ir.types import Scalar
from s2sad.ir.walk import blocks_of, bound, exprs_of, names_in, reads, root_of, statements


class Ordering:
    """The statements of one function, as they stand in it."""

    def __init__(self, fn: Function, facts: Facts) -> None:
        """Look at what may share memory, and at what is still read behind each statement."""
        self.facts = facts
        self.groups = Groups(fn, facts)
        self.members: dict[str, set[str]] = {}
        for name in names_in(fn.body) | {p.name for p in fn.params}:
            self.members.setdefault(self.groups.find(name), set()).add(name)
        self.live = Liveness(fn.body)
        self._touched: dict[int, tuple[Stmt, set[str], set[str]]] = {}

    def parted(self, between: Iterable[Stmt], one: Stmt) -> tuple[list[Stmt], list[Stmt]]:
        """Part the statements behind another: those that may come before it, and those that must follow."""
        early: list[Stmt] = []
        late: list[Stmt] = []
        read, written = map(set, self._touched_by(one))
        for stmt in between:
            own_read, own_written = self._touched_by(stmt)
            meets = own_written & (read | written) or own_read & written
            if meets and any(self.conflict(stmt, held) for held in (one, *late)):
                late.append(stmt)
                read |= own_read
                written |= own_written
            else:
                early.append(stmt)
        return early, late

    def conflict(self, a: Stmt, b: Stmt) -> bool:
        """Say whether the order of two statements matters.

        It does not for names that both set for themselves alone, nor for memory that both only add to.
        """
        reads_a, writes_a = self._touched_by(a)
        reads_b, writes_b = self._touched_by(b)
        shared = writes_a & (reads_b | writes_b) | reads_a & writes_b
        if not shared:
            return False
        own = self._for_itself(a) & self._for_itself(b)
        shared = {group for group in shared if not self.names_of(group) <= own}
        return bool(shared) and not shared <= self._added(a) & self._added(b)

    def _for_itself(self, stmt: Stmt) -> set[str]:
        """Return the names that a statement sets before it reads them, and nobody after it."""
        names = {n for s in statements((stmt,)) for n in bound(s)}
        return names - _exposed(stmt) - self.live.after.get(id(stmt), names)

    def _added(self, stmt: Stmt) -> set[str]:
        """Return the memory that a statement adds to, and does nothing else with."""
        added: set[str] = set()
        other: set[str] = set()
        for s in statements((stmt,)):
            for expr in read_exprs(s, self.facts):
                other |= self.groups.of(reads_content(expr))
            other |= self.groups.of(set(bound(s)))
            mine = self.groups.of(added_by(s, self.facts))
            added |= mine
            other |= self.groups.of(set(written_by(s, self.facts))) - mine
        return added - other

    def names_of(self, touched: str) -> set[str]:
        """Return the names that may mean what one of the words of `touched` stands for."""
        name = touched.removesuffix(".shape")
        return {name} if name != touched else self.members.get(touched, {touched})

    def _touched_by(self, stmt: Stmt) -> tuple[set[str], set[str]]:
        """Return what one statement reads, and what it writes, to be looked at only."""
        kept = self._touched.get(id(stmt))
        if kept is None:
            kept = self._touched[id(stmt)] = stmt, *self.touched((stmt,))
        return kept[1], kept[2]

    def touched(self, body: tuple[Stmt, ...]) -> tuple[set[str], set[str]]:
        """Return the groups that are read, and those that are bound or written into.

        Who asks for the shape of an array only reads its name, which is written where it is bound. The length of
        a list is part of what it holds.
        """
        read: set[str] = set()
        written: set[str] = set()
        for stmt in statements(body):
            for expr in exprs_of(stmt):
                read |= self.groups.of(reads_content(expr)) | {f"{name}.shape" for name in reads(expr)}
            written |= self.groups.of({*bound(stmt), *written_by(stmt, self.facts)})
            written |= {f"{name}.shape" for name in bound(stmt)}
            if isinstance(stmt, Store) and (root := root_of(stmt.place)) is not None:
                written.add(self.groups.find(root.name))
            if self._has_its_place(stmt):
                read.add("")
                written.add("")
        return read, written

    def _has_its_place(self, stmt: Stmt) -> bool:
        """Say whether a statement prints, raises, draws a random number or leaves a block: not before another such."""
        if isinstance(stmt, CallStmt) and self.facts.has_effects(stmt.callee):
            return True
        return isinstance(stmt, Effect | Raise | Assert | Return | Break | Continue) or any(map(draws, exprs_of(stmt)))


def may_leave(stmt: Stmt, inside: bool = False) -> bool:
    """Say whether what follows a statement may be left out; `inside` of another loop, leaving that is none such."""
    if isinstance(stmt, Return) or (isinstance(stmt, Break | Continue) and not inside):
        return True
    inside = inside or isinstance(stmt, For | While)
    return any(may_leave(s, inside) for part in blocks_of(stmt) for s in part)


def added_by(stmt: Stmt, facts: Facts) -> set[str]:
    """Return the names of the arrays that a statement adds to, as adjoints of calls do to those of the arguments."""
    match stmt:
        case Store(place, "+" | "-"):
            root = root_of(place)
            return set() if root is None else {root.name}
        case CallStmt():
            roots = [root_of(stmt.args[at]) for at in facts.adds.get(stmt.callee, ())]
            return {root.name for root in roots if root is not None}
        case _:
            return set()


def read_exprs(stmt: Stmt, facts: Facts) -> Sequence[Expr | Slice]:
    """Return the expressions that a statement reads, but for what it adds to."""
    match stmt:
        case Store(place, "+" | "-", value):
            return (*(place.index if isinstance(place, Index) else ()), value)
        case CallStmt(callee=callee) if callee in facts.adds:
            given = enumerate(stmt.args)
            return tuple(part for at, arg in given for part in (_around(arg) if at in facts.adds[callee] else (arg,)))
        case _:
            return exprs_of(stmt)


def _around(place: Expr) -> Sequence[Expr | Slice]:
    """Return what a part of an array is found by."""
    match place:
        case Var():
            return ()
        case Index(base, index):
            return (*_around(base), *index)
        case _:
            return (place,)


def _exposed(stmt: Stmt) -> frozenset[str]:
    """Return the names that a statement may read as they were before it."""
    number = Scalar("int64")
    probe = For(Var("_probe", number), Const(0, number), Const(1, number), Const(1, number), (stmt,))
    return Liveness((probe,)).before_loop_body(probe)


__all__ = ["Ordering", "added_by", "may_leave", "read_exprs"]
