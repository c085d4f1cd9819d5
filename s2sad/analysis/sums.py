"""Sums that have no order of their own: those of an adjoint, and those over whole arrays."""

from __future__ import annotations

import operator

from s2sad.ir.nodes import Apply, Assign, Function, Var
from s2sad.ir.types import Scalar
from s2sad.ir.walk import statements


def accumulators(fn: Function, own: frozenset[str]) -> frozenset[str]:
    """Return the real numbers that gather a sum, `v += e`, but for those named in `own`.

    No order of addition is given for them: they are adjoints, or sums over whole arrays.
    """
    return frozenset(
        stmt.target.name
        for stmt in statements(fn.body)
        if isinstance(stmt, Assign) and stmt.target.name not in own and _gathers(stmt)
    )


def _gathers(stmt: Assign) -> bool:
    value, kind = stmt.value, stmt.target.type
    if not isinstance(kind, Scalar) or not kind.dtype.startswith("float"):
        return False
    return (
        isinstance(value, Apply)
        and value.fn in (operator.add, operator.sub)
        and isinstance(value.args[0], Var)
        and value.args[0].name == stmt.target.name
    )
