"""Which results depend on given parameters: through values of any type, and through control flow.

Activity asks what carries a derivative; this asks what could change at all. Shapes do not count.
"""

from __future__ import annotations

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.sharing import Groups
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    CallStmt,
    Expr,
    For,
    Function,
    If,
    Return,
    Slice,
    Stmt,
    Store,
    Var,
    While,
)
from s2sad.ir.shapes import SHAPES, shaping_parts
from s2sad.ir.walk import blocks_of, bound, children, exprs_of, root_of, statements


def dependent_results(fn: Function, params: frozenset[int], facts: Facts) -> frozenset[int]:
    """Return the positions of the results that may change when the parameters at these positions do."""
    return _Dependence(fn, params, facts).run()


class _Dependence:
    def __init__(self, fn: Function, params: frozenset[int], facts: Facts) -> None:
        self.fn, self.facts = fn, facts
        self.groups = Groups(fn, facts)
        self.found = {self.groups.find(fn.params[i].name) for i in params}

    def run(self) -> frozenset[int]:
        while True:
            before = len(self.found)
            self._block(self.fn.body, False)
            if len(self.found) == before:
                break
        returns = [s for s in statements(self.fn.body) if isinstance(s, Return)]
        return frozenset(
            at for s in returns for at, value in enumerate(s.values) if self._depends(value)
        ) | (frozenset(range(len(self.fn.results))) if len(returns) > 1 else frozenset())

    def _block(self, body: tuple[Stmt, ...], controlled: bool) -> None:
        for stmt in body:
            inside = controlled
            match stmt:
                case Assign(target, value) | Append(target, value) if controlled or self._depends(value):
                    self.found.add(self.groups.find(target.name))
                case Store(place, _, value) if controlled or self._depends(value) or self._indexed(place):
                    root = root_of(place)
                    if root is not None:
                        self.found.add(self.groups.find(root.name))
                case CallStmt(_, _, args) if controlled or any(self._depends(a) for a in args):
                    changed = {*bound(stmt), *written_by(stmt, self.facts)}
                    self.found |= {self.groups.find(name) for name in changed}
                case If() | While() | For():
                    inside = controlled or any(self._depends(e) for e in exprs_of(stmt))
                    if inside:
                        self.found |= {self.groups.find(name) for name in bound(stmt)}
                case _:
                    pass
            for block in blocks_of(stmt):
                self._block(block, inside)

    def _indexed(self, place: Expr) -> bool:
        return any(self._depends(part) for part in children(place)[1:])

    def _depends(self, expr: Expr | Slice) -> bool:
        if isinstance(expr, Var):
            return self.groups.find(expr.name) in self.found
        parts = shaping_parts(expr) if isinstance(expr, Apply) and expr.fn in SHAPES else children(expr)
        return any(self._depends(part) for part in parts)
