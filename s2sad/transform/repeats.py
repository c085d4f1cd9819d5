"""A name that has a value already is not given it again, where an adjoint computes anew what is still there."""

from __future__ import annotations

from dataclasses import replace

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.loops import popped_from
from s2sad.analysis.sharing import Groups
from s2sad.ir.draws import draws
from s2sad.ir.nodes import Assign, Expr, Function, Stmt
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import bound, map_blocks, reads, statements


def without_repeats(fn: Function, facts: Facts) -> Function:
    """Leave out assignments that change nothing: of numbers, and of arrays that nobody writes into."""
    groups = Groups(fn, facts)
    written = groups.of({name for s in statements(fn.body) for name in written_by(s, facts)})

    def may_be_kept(stmt: Assign) -> bool:
        kind, name = stmt.target.type, stmt.target.name
        lasting = isinstance(kind, Scalar) or (isinstance(kind, Array) and groups.find(name) not in written)
        return lasting and name not in reads(stmt.value) and popped_from(stmt) is None and not draws(stmt.value)

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        known: dict[str, Expr] = {}
        for stmt in body:
            if isinstance(stmt, Assign) and known.get(stmt.target.name) == stmt.value:
                continue
            inside = list(statements((stmt,)))
            changed = groups.of({name for s in inside for name in (*bound(s), *written_by(s, facts))})
            for name, value in list(known.items()):
                if groups.of({name, *reads(value)}) & changed:
                    del known[name]
            if isinstance(stmt, Assign) and may_be_kept(stmt):
                known[stmt.target.name] = stmt.value
            out.append(map_blocks(stmt, block))
        return tuple(out)

    return replace(fn, body=block(fn.body))
