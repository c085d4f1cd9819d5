"""Which names may share memory, whatever the order of statements: the cautious view of passes."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from s2sad.analysis.alias import view_base
from s2sad.analysis.facts import Facts
from s2sad.analysis.liveness import Liveness
from s2sad.ir.nodes import Append, Assign, CallStmt, Expr, Function, Index, Stmt, Store, Swap, Var
from s2sad.ir.types import Array, ListOf
from s2sad.ir.walk import map_blocks, reads, root_of, statements


class Groups:
    """Names that may share memory are needed together."""

    def __init__(self, fn: Function, facts: Facts) -> None:
        """Union the names of every binding that may be a view or another name, and parameters given one array."""
        self.parent: dict[str, str] = {}
        if facts.entangled(fn.name):
            first, *others = [p.name for p in fn.params if isinstance(p.type, Array | ListOf)]
            for other in others:
                self.join(first, other)
        for stmt in statements(fn.body):
            match stmt:
                case Assign(target, value):
                    base = view_base(value)
                    if base is not None:
                        self.join(target.name, base.name)
                case Swap(first, second):
                    self.join(first.name, second.name)
                case Append(target, value) | Store(Index(Var(_, ListOf()) as target), "", value):
                    base = view_base(value)
                    if base is not None:
                        self.join(target.name, base.name)
                case CallStmt(targets, _, args):
                    for target, shared in zip(targets, facts.target_shares(stmt), strict=True):
                        given = [i for i in shared if i < len(args)]  # room that is lent comes with the caller's turn
                        for root in (root_of(args[i]) for i in given):
                            if root is not None and isinstance(target.type, Array | ListOf):
                                self.join(target.name, root.name)
                case _:
                    pass

    def find(self, name: str) -> str:
        """Return the representative of the names that may share memory with `name`."""
        while self.parent.get(name, name) != name:
            name = self.parent[name]
        return name

    def join(self, a: str, b: str) -> None:
        """Say that two names may share memory."""
        self.parent[self.find(a)] = self.find(b)

    def of(self, names: set[str]) -> set[str]:
        """Return the groups of several names."""
        return {self.find(name) for name in names}

    def read(self, expr: Expr) -> set[str]:
        """Return the groups that an expression reads."""
        return self.of(reads(expr))


class Apart:
    """Which names surely do not share memory at the moment when both are used.

    Two arrays that exchange their names (`a, b = b, a`) are one group to `Groups`, as each name has
    meant either; but they never are one array at the same time.
    """

    def __init__(self, fn: Function, facts: Facts) -> None:
        """Gather the groups, with and without exchanges."""
        self.groups = Groups(fn, facts)
        swaps = [s for s in statements(fn.body) if isinstance(s, Swap)]
        self.swapped = {name for s in swaps for name in (s.first.name, s.second.name)}
        self.unswapped = Groups(replace(fn, body=_without_swaps(fn.body)), facts)
        self._fn, self._facts = fn, facts
        self._joined: list[tuple[str, str]] = []

    def join(self, a: str, b: str) -> None:
        """Say that two names may share memory."""
        self.groups.join(a, b)
        self.unswapped.join(a, b)
        self._joined.append((a, b))
        if "_now" in self.__dict__:
            self._now.join(a, b)

    def may_meet(self, a: str, b: str) -> bool:
        """Say whether two names may share memory when both are used in one place."""
        if a == b:
            return True
        if self.groups.find(a) != self.groups.find(b):
            return False
        exchanged = a in self.swapped and b in self.swapped
        return not exchanged or self.unswapped.find(a) == self.unswapped.find(b)

    def may_meet_now(self, a: str, b: str) -> bool:
        """Say the same of statements between which no array is handed over: `hands_over`."""
        return self.may_meet(a, b) and (a == b or self._now.find(a) == self._now.find(b))

    def hands_over(self, stmt: Stmt) -> bool:
        """Say whether a statement gives an array another name, and nothing uses it by its former one afterwards.

        `u = new` at the end of a turn that began with `new = np.copy(u)`: the two are one array there, and never
        where both are used.
        """
        return _renamed(stmt) in self._handed_over

    @cached_property
    def _handed_over(self) -> set[tuple[str, str]]:
        """The names, new and former, of the statements that hand an array over."""
        renamings = [(s, pair) for s in statements(self._fn.body) if (pair := _renamed(s)) is not None]
        pairs = {pair for _, pair in renamings}
        live = Liveness(self._fn.body).after if pairs else {}
        while pairs:
            groups = Groups(replace(self._fn, body=_without(self._fn.body, pairs)), self._facts)
            kept = {
                (new, former)
                for stmt, (new, former) in renamings
                if any(groups.find(name) == groups.find(former) for name in live[id(stmt)] - {new})
            }
            if not kept & pairs:
                break
            pairs -= kept
        return pairs

    @cached_property
    def _now(self) -> Groups:
        """The groups without the arrays that are handed over."""
        groups = Groups(replace(self._fn, body=_without(self._fn.body, self._handed_over)), self._facts)
        for a, b in self._joined:
            groups.join(a, b)
        return groups


def _renamed(stmt: Stmt) -> tuple[str, str] | None:
    """Return the new and the former name of an array that a statement gives another one."""
    match stmt:
        case Assign(Var(new, Array()), Var(former)):
            return new, former
        case _:
            return None


def _without(body: tuple[Stmt, ...], pairs: set[tuple[str, str]]) -> tuple[Stmt, ...]:
    return tuple(map_blocks(s, lambda inner: _without(inner, pairs)) for s in body if _renamed(s) not in pairs)


def _without_swaps(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    return tuple(map_blocks(s, _without_swaps) for s in body if not isinstance(s, Swap))
