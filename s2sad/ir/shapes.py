"""Shapes: the functions that look at nothing else of their first argument, and what is said where two do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.errors import UNEQUAL, Span
from s2sad.ir import ops
from s2sad.ir.nodes import Const, Expr, If, Raise
from s2sad.ir.types import Static
from s2sad.runtime.lists import zero_arrays, zero_complexes, zero_scalars

SHAPES: frozenset[Any] = frozenset({
    ops.dim, ops.size, ops.length, ops.shape, np.zeros_like, np.empty_like, np.ones_like, np.full_like,
    zero_arrays, zero_complexes, zero_scalars,
})  # fmt: skip


def refused_if(differ: Expr, span: Span) -> If:
    """Return the statement that raises, as NumPy does, where two lengths do not fit."""
    return If(differ, (Raise(ValueError, (Const(UNEQUAL, Static(UNEQUAL)),), span),), (), span)
