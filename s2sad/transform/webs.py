"""One name, one meaning: unrelated reuses of a name become names of their own (`h`, `h_2`).

A web is a set of definitions that some use may all see. After renaming, two webs never share a
name, so that straight-line code needs no saving: the old value simply keeps its name.
"""

from __future__ import annotations

from dataclasses import replace

from s2sad.ir.nodes import (
    Assign,
    Break,
    CallStmt,
    Continue,
    Expr,
    For,
    Function,
    If,
    Raise,
    Return,
    Stmt,
    Swap,
    Var,
    While,
)
from s2sad.ir.walk import bound, exprs_of, map_exprs, reads, statements, substitute
from s2sad.transform.naming import Namer

Reaching = dict[str, frozenset[int]]


def renamed(fn: Function, namer: Namer) -> Function:
    """Return `fn` with a name for every web."""
    return _Webs(fn, namer).run()


class _Webs:
    def __init__(self, fn: Function, namer: Namer) -> None:
        self.fn, self.namer = fn, namer
        self.parent: dict[int, int] = {}
        self.owner: dict[int, str] = {}
        self.seen: dict[int, dict[str, frozenset[int]]] = {}
        self.made: dict[tuple[int, str], int] = {}
        self.breaks: list[list[Reaching]] = []
        self.fixed: set[int] = set()

    def run(self) -> Function:
        if not self._reused():
            return self.fn
        state: Reaching = {p.name: frozenset({self._definition(0, p.name)}) for p in self.fn.params}
        self.fixed.update(self.made.values())
        self._block(self.fn.body, state)
        names = self._names()
        return replace(self.fn, body=tuple(self._rename(s, names) for s in self.fn.body))

    def _reused(self) -> bool:
        count: dict[str, int] = {p.name: 1 for p in self.fn.params}
        for stmt in statements(self.fn.body):
            if isinstance(stmt, Assign | CallStmt):
                for name in bound(stmt):
                    count[name] = count.get(name, 0) + 1
        return any(n > 1 for n in count.values())

    def _definition(self, site: int, name: str) -> int:
        key = (site, name)
        if key not in self.made:
            number = len(self.made) + 1
            self.made[key] = number
            self.parent[number] = number
            self.owner[number] = name
        return self.made[key]

    def _find(self, number: int) -> int:
        while self.parent[number] != number:
            number = self.parent[number]
        return number

    def _union(self, numbers: frozenset[int]) -> None:
        roots = sorted({self._find(n) for n in numbers})
        for other in roots[1:]:
            self.parent[other] = roots[0]

    def _use(self, stmt: Stmt, names: set[str], state: Reaching) -> None:
        known = self.seen.setdefault(id(stmt), {})
        for name in names:
            reaching = state.get(name, frozenset())
            self._union(reaching)
            known[name] = known.get(name, frozenset()) | reaching

    def _block(self, body: tuple[Stmt, ...], state: Reaching | None) -> Reaching | None:
        for stmt in body:
            if state is None:
                return None
            state = self._step(stmt, state)
        return state

    def _step(self, stmt: Stmt, state: Reaching) -> Reaching | None:
        if not isinstance(stmt, For | While):
            self._use(stmt, {n for e in exprs_of(stmt) for n in reads(e)}, state)
        match stmt:
            case If(_, body, orelse):
                return _join(self._block(body, dict(state)), self._block(orelse, dict(state)))
            case For() | While():
                return self._loop(stmt, state)
            case Break():
                self.breaks[-1].append(state)
                return None
            case Continue() | Return() | Raise():
                return None
            case Swap(first, second):
                for name in (first.name, second.name):
                    made = self._definition(id(stmt), name)
                    self._union(state.get(name, frozenset()) | {made})
                    state = {**state, name: frozenset({made})}
                return state
            case _:
                for name in bound(stmt):
                    state = {**state, name: frozenset({self._definition(id(stmt), name)})}
                return state

    def _loop(self, stmt: For | While, state: Reaching) -> Reaching | None:
        head = dict(state)
        names = {n for e in exprs_of(stmt) for n in reads(e)}
        if isinstance(stmt, For):
            self._use(stmt, names, head)
        while True:
            if isinstance(stmt, While):
                self._use(stmt, names, head)
            entry = dict(head)
            if isinstance(stmt, For):
                made = self._definition(id(stmt), stmt.var.name)
                self.fixed.add(made)
                entry[stmt.var.name] = frozenset({made})
            self.breaks.append([])
            end = self._block(stmt.body, entry)
            broken = self.breaks.pop()
            merged = _join(head, end) or head
            if merged == head:
                break
            head = merged
        after: Reaching | None = head
        for each in broken:
            after = _join(after, each)
        return after

    def _names(self) -> dict[int, str]:
        """Give each web its name: the first of a name keeps it, loop variables always do."""
        pinned = {self._find(n) for n in self.fixed}
        taken: dict[str, int] = {self.owner[root]: root for root in pinned}
        names: dict[int, str] = {}
        for number in sorted(self.parent):
            root = self._find(number)
            if root in names:
                continue
            name = self.owner[root]
            if root in pinned or taken.setdefault(name, root) == root:
                names[root] = name
            else:
                names[root] = self.namer.fresh(name)
        return names

    def _rename(self, stmt: Stmt, names: dict[int, str]) -> Stmt:
        mapping = {
            name: names[self._find(min(defs))]
            for name, defs in self.seen.get(id(stmt), {}).items()
            if defs
        }
        changed = {old: new for old, new in mapping.items() if old != new}
        original = stmt
        if changed and not isinstance(stmt, Swap):
            stmt = map_exprs(stmt, lambda e: _renamed(e, changed))
        match stmt:
            case Assign(target):
                return replace(stmt, target=self._target(original, target, names))
            case CallStmt(targets):
                return replace(stmt, targets=tuple(self._target(original, t, names) for t in targets))
            case Swap(first, second):
                return replace(stmt, first=self._target(original, first, names),
                               second=self._target(original, second, names))  # fmt: skip
            case If(_, body, orelse):
                return replace(stmt, body=tuple(self._rename(s, names) for s in body),
                               orelse=tuple(self._rename(s, names) for s in orelse))  # fmt: skip
            case For() | While():
                return replace(stmt, body=tuple(self._rename(s, names) for s in stmt.body))
            case _:
                from s2sad.ir.nodes import Append

                if isinstance(stmt, Append) and stmt.list.name in changed:
                    return replace(stmt, list=Var(changed[stmt.list.name], stmt.list.type))
                return stmt

    def _target(self, stmt: Stmt, target: Var, names: dict[int, str]) -> Var:
        made = self.made.get((id(stmt), target.name))
        return target if made is None else Var(names[self._find(made)], target.type)


def _join(a: Reaching | None, b: Reaching | None) -> Reaching | None:
    if a is None or b is None:
        return b if a is None else a
    return {name: a.get(name, frozenset()) | b.get(name, frozenset()) for name in {**a, **b}}


def _renamed(expr: Expr, changed: dict[str, str]) -> Expr:
    kinds: dict[str, Expr] = {}

    def walk(node: Expr) -> None:
        from s2sad.ir.walk import subexpressions

        for part in subexpressions(node):
            if isinstance(part, Var) and part.name in changed:
                kinds[part.name] = Var(changed[part.name], part.type)

    walk(expr)
    return _substitute_typed(expr, changed) if kinds else expr


def _substitute_typed(expr: Expr, changed: dict[str, str]) -> Expr:
    from s2sad.ir.walk import map_children

    if isinstance(expr, Var):
        return Var(changed[expr.name], expr.type) if expr.name in changed else expr
    return map_children(expr, lambda child: _substitute_typed(child, changed))


__all__ = ["renamed", "substitute"]
