"""Target "cpu": a name that a loop reads before it binds it, though never in its first turn, begins as nothing.

                                             c = 0.0
    for k in range(n):                       for k in range(n):
        if k > 0:               becomes          if k > 0:
            s += b * c                               s += b * c
        c = b                                    c = b

Numba asks that a name is bound in the text before it is read.
"""

from __future__ import annotations

from dataclasses import replace

from s2sad.analysis.liveness import Liveness
from s2sad.frontend.values import literal
from s2sad.ir.nodes import Assign, Function, If, Stmt
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import bound, exprs_of, reads, statements, targets
from s2sad.transform.adjoint import placeholder


def begun(fn: Function) -> Function:
    """Return `fn` with numbers and arrays that it may read before it binds them begun at its head."""
    kinds = {v.name: v for s in statements(fn.body) for v in targets(s) if isinstance(v.type, Scalar | Array)}
    early = Liveness(fn.body).inside(If(literal(True), fn.body)) - {p.name for p in fn.params}
    names = [kinds[name] for name in sorted(early & set(kinds) & _read_first(fn.body))]
    first: list[Stmt] = [Assign(name, placeholder(name.type), fn.span) for name in names]
    return replace(fn, body=(*first, *fn.body)) if first else fn


def _read_first(body: tuple[Stmt, ...]) -> set[str]:
    """Return the names of which the text reads before it binds them."""
    read: set[str] = set()
    known: set[str] = set()
    for stmt in statements(body):
        read |= {name for expr in exprs_of(stmt) for name in reads(expr)} - known
        known.update(bound(stmt))
    return read
