"""Which names may share memory, whatever the order of statements: the cautious view of passes."""

from __future__ import annotations

from dataclasses import replace

from s2sad.analysis.alias import view_base
from s2sad.analysis.facts import Facts
from s2sad.ir.nodes import Append, Assign, CallStmt, Expr, Function, Stmt, Swap
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
                case Append(target, value):
                    base = view_base(value)
                    if base is not None:
                        self.join(target.name, base.name)
                case CallStmt(targets, _, args):
                    for target, shared in zip(targets, facts.target_shares(stmt), strict=True):
                        for root in (root_of(args[i]) for i in shared):
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

    def join(self, a: str, b: str) -> None:
        """Say that two names may share memory."""
        self.groups.join(a, b)
        self.unswapped.join(a, b)

    def may_meet(self, a: str, b: str) -> bool:
        """Say whether two names may share memory when both are used in one place."""
        if a == b:
            return True
        if self.groups.find(a) != self.groups.find(b):
            return False
        exchanged = a in self.swapped and b in self.swapped
        return not exchanged or self.unswapped.find(a) == self.unswapped.find(b)


def _without_swaps(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    return tuple(map_blocks(s, _without_swaps) for s in body if not isinstance(s, Swap))
