"""Loops that only pass on an adjoint which a branch may have left at zero are moved into the branch.

    square_bar = 0.0                         if nearer:
    if nearer:                                   square_bar = nearest_bar
        square_bar = nearest_bar    becomes      for j in range(n):
    for j in range(n):                               x_bar[j] += x[j] * square_bar
        x_bar[j] += x[j] * square_bar

What is left out is a sum of products with an exact zero; where a factor is infinite, nothing is still right.
"""

from __future__ import annotations

import operator
from dataclasses import replace

import numpy as np

from s2sad.analysis.liveness import Liveness
from s2sad.analysis.pure import is_pure
from s2sad.ir.nodes import Apply, Assign, Comment, Const, Expr, For, Function, If, Slice, Stmt, Store, Var
from s2sad.ir.types import Scalar, is_inexact
from s2sad.ir.walk import is_const, map_blocks, reads

_BOTH = (operator.add, operator.sub, np.add, np.subtract)
_EITHER = (operator.mul, np.multiply)
_FIRST = (operator.truediv, operator.neg, np.divide, np.negative)


def sunk(fn: Function) -> Function:
    """Move what has nothing to do unless a branch is taken into that branch, where a loop is spared."""
    return replace(fn, body=_Sinking(fn).block(fn.body))


class _Sinking:
    def __init__(self, fn: Function) -> None:
        self.after = Liveness(fn.body).after

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Return a block with its own branches filled, and those of the blocks in it."""
        stmts = list(body)
        made: list[Stmt] = []
        while stmts:
            stmt = stmts.pop(0)
            if isinstance(stmt, If) and (name := _set_only_here(made, stmt)) is not None:
                run = self._run(stmts, name)
                if any(isinstance(s, For) for s in run):
                    stmt = replace(stmt, body=(*stmt.body, *run))
                    del stmts[: len(run)]
            made.append(stmt)
        return tuple(map_blocks(stmt, self.block) for stmt in made)

    def _run(self, stmts: list[Stmt], name: str) -> list[Stmt]:
        """Return the statements at the beginning that change nothing while `name` is zero."""
        count, length = 0, 0
        zeros, temporaries = {name}, set[str]()
        for stmt in stmts:
            if not self._vanishes(stmt, zeros, temporaries):
                break
            count += 1
            if not isinstance(stmt, Comment) and not temporaries & self.after[id(stmt)]:
                length = count
        return stmts[:length]

    def _vanishes(self, stmt: Stmt, zeros: set[str], temporaries: set[str]) -> bool:
        match stmt:
            case Comment():
                return True
            case Store(_, "+" | "-", value, _, True):
                return is_pure(value) and _is_zero(value, zeros)
            case Assign(target, Apply(fn, (Var(same), value))) if fn in _BOTH and same == target.name:
                return is_pure(value) and _is_zero(value, zeros)
            case Assign(target, value) if isinstance(target.type, Scalar) and is_pure(value):
                if target.name in zeros:
                    return False
                temporaries.add(target.name)
                if _is_zero(value, zeros):
                    zeros.add(target.name)
                return True
            case For(var, start, stop, step, body):
                temporaries.add(var.name)
                return all(map(is_pure, (start, stop, step))) and all(
                    self._vanishes(s, zeros, temporaries) for s in body
                )
            case _:
                return False


def _set_only_here(before: list[Stmt], branch: If) -> str | None:
    """Return the number that is zero unless the branch is taken, which then sets it."""
    known = next((s for s in reversed(before) if not isinstance(s, Comment)), None)
    if not isinstance(known, Assign) or not is_inexact(known.target.type) or branch.orelse:
        return None
    if not isinstance(known.value, Const) or not is_const(known.value, 0.0):
        return None
    name = known.target.name
    sets = any(isinstance(s, Assign) and s.target.name == name for s in branch.body)
    return name if sets and name not in reads(branch.test) else None


def _is_zero(expr: Expr | Slice, zeros: set[str]) -> bool:
    """Say whether an expression is a product with one of these names."""
    match expr:
        case Var(name):
            return name in zeros
        case Apply(fn, args) if fn in _EITHER:
            return any(_is_zero(arg, zeros) for arg in args)
        case Apply(fn, args) if fn in _BOTH:
            return all(_is_zero(arg, zeros) for arg in args)
        case Apply(fn, (first, *_)) if fn in _FIRST:
            return _is_zero(first, zeros)
        case _:
            return False
