"""Which names may share memory, whatever the order of statements: the cautious view of passes."""

from __future__ import annotations

from s2sad.analysis.alias import view_base
from s2sad.analysis.facts import Facts
from s2sad.ir.nodes import Append, Assign, CallStmt, Expr, Stmt, Swap
from s2sad.ir.types import Array, ListOf
from s2sad.ir.walk import reads, root_of, statements


class Groups:
    """Names that may share memory are needed together."""

    def __init__(self, body: tuple[Stmt, ...], facts: Facts) -> None:
        """Union the names of every binding that may be a view or another name."""
        self.parent: dict[str, str] = {}
        for stmt in statements(body):
            match stmt:
                case Assign(target, value):
                    base = view_base(value)
                    if base is not None:
                        self._union(target.name, base.name)
                case Swap(first, second):
                    self._union(first.name, second.name)
                case Append(target, value):
                    base = view_base(value)
                    if base is not None:
                        self._union(target.name, base.name)
                case CallStmt(targets, callee, args):
                    for i in facts.shares(callee):
                        root = root_of(args[i])
                        for target in targets:
                            if root is not None and isinstance(target.type, Array | ListOf):
                                self._union(target.name, root.name)
                case _:
                    pass

    def find(self, name: str) -> str:
        """Return the representative of the names that may share memory with `name`."""
        while self.parent.get(name, name) != name:
            name = self.parent[name]
        return name

    def _union(self, a: str, b: str) -> None:
        self.parent[self.find(a)] = self.find(b)

    def of(self, names: set[str]) -> set[str]:
        """Return the groups of several names."""
        return {self.find(name) for name in names}

    def read(self, expr: Expr) -> set[str]:
        """Return the groups that an expression reads."""
        return self.of(reads(expr))
