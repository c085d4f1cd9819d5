"""On a device every array whose adjoint or tangent is needed has a shadow that the caller passes.

On the CPU a derivative makes such an array where the caller gave none; a thread cannot.
"""

from __future__ import annotations

import numpy as np

from s2sad.errors import Span, UnsupportedSyntaxError
from s2sad.ir.nodes import Apply, Assign, Function, Stmt, Store, Var
from s2sad.ir.types import Array
from s2sad.ir.walk import bound, exprs_of, reads, root_of, statements


def with_shadows(made: Function, fn: Function) -> Function:
    """Return the derivative `made` of `fn` as it is, if it has all the shadows that it needs.

    Raises:
        UnsupportedSyntaxError: at the line that needs the shadow of an array which has none.
    """
    known = {p.name for p in made.params}.union(*(bound(s) for s in statements(made.body)))
    for stmt in statements(made.body):
        made_here = _made_here(stmt)
        if made_here is not None:
            raise _refuse(made_here, _first_write(made_here, fn))
        strange = sorted(n for e in exprs_of(stmt) for n in reads(e) - known)
        if strange:
            array = next((p.name for p in fn.params if strange[0] == f"{p.name}_bar"), strange[0])
            raise _refuse(array, stmt.span if stmt.span.line else _first_write(array, fn))
    return made


def _made_here(stmt: Stmt) -> str | None:
    """Return the array of which a shadow of unknown size is made."""
    value = stmt.value if isinstance(stmt, Assign) else None
    if not (isinstance(value, Apply) and value.fn is np.zeros_like and isinstance(value.args[0], Var)):
        return None
    kind = value.args[0].type
    unknown = isinstance(kind, Array) and not all(isinstance(d, int) for d in kind.dims)
    return value.args[0].name if unknown else None


def _first_write(array: str, fn: Function) -> Span:
    places = ((root_of(s.place), s.span) for s in statements(fn.body) if isinstance(s, Store))
    return next((span for root, span in places if root is not None and root.name == array), fn.span)


def _refuse(name: str, span: Span) -> UnsupportedSyntaxError:
    return UnsupportedSyntaxError(
        f"`{name}` is written and used again, and has no shadow", span,
        f"Derivatives pass through `{name}`: differentiate by it too, with an array of zeros as its shadow.",
    )  # fmt: skip


__all__ = ["with_shadows"]
