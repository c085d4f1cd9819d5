"""Facts about the functions of a program: what they write, what their results may share, how they vary."""

from __future__ import annotations

from collections.abc import Callable

from s2sad.analysis.activity import Flow, flow_summary
from s2sad.analysis.alias import exact_aliases, view_base
from s2sad.ir.nodes import Append, Assign, CallStmt, Function, Return, Stmt, Store
from s2sad.ir.types import Array, ListOf, is_inexact
from s2sad.ir.walk import root_of, statements


class Facts:
    """Summaries of every function of a program, each computed when first asked for."""

    def __init__(self, functions: dict[str, Function]) -> None:
        """Keep the functions; recursive ones are solved by iteration from below."""
        self.functions = functions
        self._writes: dict[str, frozenset[int]] = {}
        self._flows: dict[str, Flow] = {}
        self._shares: dict[str, frozenset[int]] = {}

    def forget(self, name: str) -> None:
        """Drop what was derived from an earlier version of a function."""
        for table in (self._writes, self._flows, self._shares):
            table.pop(name, None)

    def writes(self, name: str) -> frozenset[int]:
        """Return the positions of the parameters that the function writes into."""
        if name not in self._writes:
            self._writes[name] = frozenset()
            while True:
                found = self._find_writes(self.functions[name])
                if found == self._writes[name]:
                    break
                self._writes[name] = found
        return self._writes[name]

    def _find_writes(self, fn: Function) -> frozenset[int]:
        names = written_names(fn, self)
        return frozenset(i for i, p in enumerate(fn.params) if p.name in names)

    def flow(self, name: str) -> Flow:
        """Return how results and written parameters vary with the parameters."""
        if name not in self._flows:
            fn = self.functions[name]
            empty: frozenset[int] = frozenset()
            writes = self.writes(name)
            self._flows[name] = Flow(tuple(empty for _ in fn.results), {i: empty for i in writes})
            while True:
                found = flow_summary(fn, self.flow, writes)
                if found == self._flows[name]:
                    break
                self._flows[name] = found
        return self._flows[name]

    def shares(self, name: str) -> frozenset[int]:
        """Return the positions of the parameters whose memory a result may share."""
        if name not in self._shares:
            self._shares[name] = frozenset()
            self._shares[name] = self._find_shares(self.functions[name])
        return self._shares[name]

    def _find_shares(self, fn: Function) -> frozenset[int]:
        group = _groups(fn.body, self)
        returned = {
            group(base.name)
            for stmt in statements(fn.body)
            if isinstance(stmt, Return)
            for value in stmt.values
            if (base := view_base(value)) is not None
        }
        return frozenset(
            i for i, p in enumerate(fn.params)
            if isinstance(p.type, Array | ListOf) and group(p.name) in returned
        )  # fmt: skip


def written_names(fn: Function, facts: Facts) -> set[str]:
    """Return every name whose memory may be written, through any alias."""
    group = _groups(fn.body, facts)
    written: set[str] = set()
    for stmt in statements(fn.body):
        for root in written_by(stmt, facts):
            written.add(group(root))
    names = {p.name for p in fn.params}
    for stmt in statements(fn.body):
        if isinstance(stmt, Assign):
            names.add(stmt.target.name)
    return {name for name in names if group(name) in written}


def written_by(stmt: Stmt, facts: Facts) -> list[str]:
    """Return the root names that one statement writes into."""
    match stmt:
        case Store(place) if isinstance(place.type, Array) or root_of(place) is not place:
            root = root_of(place)
            return [root.name] if root is not None else []
        case Append(target):
            return [target.name]
        case CallStmt(_, callee, args):
            roots = [root_of(args[i]) for i in facts.writes(callee) if i < len(args)]
            return [root.name for root in roots if root is not None]
        case _:
            return []


def _groups(body: tuple[Stmt, ...], facts: Facts) -> Callable[[str], str]:
    """Union names that may share memory, whatever the order of statements."""
    from s2sad.analysis.sharing import Groups

    return Groups(body, facts).find


__all__ = ["Facts", "exact_aliases", "is_inexact", "written_by", "written_names"]
