"""Results of calls go by the name that the user gives them, and so do their adjoints.

rate_value = rate(y, p)
k1 = rate_value                becomes        k1 = rate(y, p)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from s2sad.ir.nodes import Assign, CallStmt, Function, Stmt, Var
from s2sad.ir.walk import bound, exprs_of, map_blocks, statements, subexpressions


def with_named_results(fn: Function) -> Function:
    """Return `fn` with results that only get another name under that name."""
    every = list(statements(fn.body))
    used = Counter(
        e.name for s in every for expr in exprs_of(s) for e in subexpressions(expr) if isinstance(e, Var)
    )
    binds = Counter([*(p.name for p in fn.params), *(name for stmt in every for name in bound(stmt))])

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        made: list[Stmt] = []
        for stmt in body:
            last = made[-1] if made else None
            if isinstance(stmt, Assign) and isinstance(stmt.value, Var) and isinstance(last, CallStmt):
                old, new = stmt.value, stmt.target
                once = used[old.name] == binds[old.name] == binds[new.name] == 1
                if once and old in last.targets and old.type == new.type:
                    made[-1] = replace(last, targets=tuple(new if t == old else t for t in last.targets))
                    continue
            made.append(map_blocks(stmt, block))
        return tuple(made)

    return replace(fn, body=block(fn.body))
