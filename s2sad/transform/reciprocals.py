"""Divisions by a number that is written down are products in a derivative's loops, where a division takes longer.

    total_bar = a_i_j_bar / 9.0          is          total_bar = a_i_j_bar * (1.0 / 9.0)

The compiler works `1.0 / 9.0` out, and divides by powers of two in this way by itself. Only what is made of adjoints
and tangents may differ in its last bit: the user's own lines, and what of them is worked out again, keep theirs, since
conditions and indices are made of them.
"""

from __future__ import annotations

import math
import operator
import re
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir.nodes import Apply, Assign, Const, For, Function, Stmt, Store, While
from s2sad.ir.types import Array
from s2sad.ir.walk import map_blocks, map_children, map_exprs, reads, root_of

_LARGEST = 1e300
_OF_SLOPES = re.compile(r"(.*_(bar|dot)s?|share)(_\d+)?")
"""How adjoints and tangents are called, and what is made of them."""


def multiplied(fn: Function, keep: frozenset[str]) -> Function:
    """Multiply by reciprocals in loops and in arithmetic of arrays; names in `keep` are the user's."""
    return replace(fn, body=tuple(_stmt(s, keep, False) for s in fn.body))


def _stmt(stmt: Stmt, keep: frozenset[str], inside: bool) -> Stmt:
    if isinstance(stmt, Assign | Store) and not _is_users(stmt, keep):
        stmt = map_exprs(stmt, lambda expr: _expr(expr, keep, inside))
    inside = inside or isinstance(stmt, For | While)
    return map_blocks(stmt, lambda body: tuple(_stmt(s, keep, inside) for s in body))


def _is_users(stmt: Assign | Store, keep: frozenset[str]) -> bool:
    root = stmt.target if isinstance(stmt, Assign) else root_of(stmt.place)
    return root is None or root.name in keep


def _expr(expr: Any, keep: frozenset[str], inside: bool) -> Any:
    expr = map_children(expr, lambda child: _expr(child, keep, inside))
    if not isinstance(expr, Apply) or expr.fn not in (operator.truediv, np.divide):
        return expr
    first, by = expr.args
    if not isinstance(by, Const) or isinstance(first, Const) or not _takes_long(by.value):
        return expr
    if not inside and not isinstance(first.type, Array):
        return expr
    if not any(_OF_SLOPES.fullmatch(name) and name not in keep for name in reads(first)):
        return expr
    return build(operator.mul, first, build(operator.truediv, literal(1.0), literal(float(by.value))))


def _takes_long(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 / _LARGEST < abs(value) < _LARGEST:
        return False
    return abs(math.frexp(value)[0]) != 0.5  # of powers of two the reciprocal is exact
