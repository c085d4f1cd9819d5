"""Target "cpu": a name that a loop reads before it binds it, though never in its first turn, begins as nothing.

                                             c = 0.0
    for k in range(n):                       for k in range(n):
        if k > 0:               becomes          if k > 0:
            s += b * c                               s += b * c
        c = b                                    c = b

Numba asks that every name is bound before it is read, on every way through the text.
"""

from __future__ import annotations

from dataclasses import replace

from s2sad.analysis.liveness import Liveness
from s2sad.frontend.values import literal
from s2sad.ir.nodes import Assign, Function, If, Stmt
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import statements, targets
from s2sad.transform.adjoint import placeholder


def begun(fn: Function) -> Function:
    """Return `fn` with numbers and arrays that it may read before it binds them begun at its head."""
    kinds = {v.name: v for s in statements(fn.body) for v in targets(s) if isinstance(v.type, Scalar | Array)}
    early = Liveness(fn.body).inside(If(literal(True), fn.body)) - {p.name for p in fn.params}
    names = [kinds[name] for name in sorted(early & set(kinds))]
    first: list[Stmt] = [Assign(name, placeholder(name.type), fn.span) for name in names]
    return replace(fn, body=(*first, *fn.body)) if first else fn
