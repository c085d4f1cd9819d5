"""Arguments that read an array which the call writes into: they get names, as their adjoints read it as it was.

`scale(y, np.sum(y**2))` becomes `total = np.sum(y**2)`, then `scale(y, total)`.
"""

from __future__ import annotations

from dataclasses import replace

from s2sad.analysis.facts import Facts
from s2sad.analysis.sharing import Groups
from s2sad.ir.nodes import Apply, Assign, CallStmt, Function, Stmt, Var
from s2sad.ir.types import Scalar, is_inexact
from s2sad.ir.walk import map_blocks, reads, root_of, statements, subexpressions
from s2sad.transform.naming import Namer, noun


def with_arguments_named(fn: Function, facts: Facts, namer: Namer) -> Function:
    """Return `fn` with a name for each number that a call is given, worked out of what the call writes into."""
    if not any(isinstance(s, CallStmt) and _written(s, facts) for s in statements(fn.body)):
        return fn
    groups = Groups(fn, facts)

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        done: list[Stmt] = []
        for stmt in body:
            stmt = map_blocks(stmt, block)
            if isinstance(stmt, CallStmt) and (written := groups.of(_written(stmt, facts))):
                args = list(stmt.args)
                for at, arg in enumerate(args):
                    is_number = isinstance(arg.type, Scalar) and is_inexact(arg.type)
                    is_made = is_number and any(isinstance(part, Apply) for part in subexpressions(arg))
                    if is_made and groups.of(reads(arg)) & written:
                        name = Var(namer.fresh(noun(arg)), arg.type)
                        done.append(Assign(name, arg, stmt.span))
                        args[at] = name
                stmt = replace(stmt, args=tuple(args))
            done.append(stmt)
        return tuple(done)

    return replace(fn, body=block(fn.body))


def _written(call: CallStmt, facts: Facts) -> set[str]:
    """Return the names of what a call writes into."""
    if call.fn is not None:
        return set()
    roots = [root_of(call.args[at]) for at in facts.writes(call.callee) if at < len(call.args)]
    return {root.name for root in roots if root is not None}


__all__ = ["with_arguments_named"]
