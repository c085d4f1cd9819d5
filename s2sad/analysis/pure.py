"""Expressions that may be evaluated again, and what they read of arrays: their shapes only, or what is in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.ir import ops
from s2sad.ir.device import is_index
from s2sad.ir.draws import is_draw
from s2sad.ir.nodes import Apply, Expr, Index, Pack, Var
from s2sad.ir.walk import children, subexpressions
from s2sad.runtime.lists import zero_arrays, zero_complexes, zero_scalars

SHAPES = frozenset({
    ops.dim, ops.size, np.zeros_like, np.empty_like, np.ones_like, np.full_like, ops.shape,
    zero_arrays, zero_complexes, zero_scalars,
})  # fmt: skip
"""Functions that read no more than the shape of their first argument."""
_PLAIN = (ops.both, ops.either, ops.ifexp, ops.transpose, ops.length)


def is_pure(expr: Expr) -> bool:
    """Say whether an expression may be evaluated again: cheap, and without effects."""
    from s2sad.rules.registry import Elementwise, find

    for part in subexpressions(expr):
        if isinstance(part, Apply):
            if part.fn in (ops.pop, ops.new_list) or is_draw(part.fn):
                return False
            if part.fn in SHAPES or is_index(part.fn) or part.fn in _PLAIN:
                continue
            rule = find(part.fn)
            module = getattr(part.fn, "__module__", "") or ""
            if isinstance(rule, Elementwise) or module in ("_operator", "builtins", "math"):
                continue
            if isinstance(part.fn, np.ufunc) or part.fn in (np.array, np.sum):
                continue
            return False
    return not isinstance(expr, Pack)


def reads_content(expr: Any) -> set[str]:
    """Return the names of which more than the shape is read."""
    if isinstance(expr, Apply) and expr.fn in SHAPES and isinstance(expr.args[0], Var):
        return {name for arg in expr.args[1:] for name in reads_content(arg)}
    if isinstance(expr, Var):
        return {expr.name}
    return {name for child in children(expr) for name in reads_content(child)}


def reads_elements(expr: Expr) -> bool:
    """Say whether an expression reads parts of arrays."""
    return any(isinstance(part, Index) for part in subexpressions(expr))
