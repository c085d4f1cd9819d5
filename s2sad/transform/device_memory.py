"""Shadows of a block's and of a thread's own arrays: made as the arrays are, and set to zero.

s_bar = np.zeros_like(s)        becomes        s_bar = cuda.shared.array(32, np.float32)
for k in range(cuda.threadIdx.x, 32, cuda.blockDim.x):
s_bar[k] = 0.0
cuda.syncthreads()
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.errors import Span
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir.device import BARRIER, BLOCK_SIZE, LOCAL, SHARED, THREAD
from s2sad.ir.nodes import Apply, Assign, Comment, Effect, Expr, For, Function, Index, Stmt, Store, Var
from s2sad.ir.types import Array, Scalar, Static
from s2sad.ir.walk import map_blocks, names_in, statements
from s2sad.transform.algebra import zero
from s2sad.transform.naming import Namer
from s2sad.transform.rewriting import guarded

INT = Scalar("int64", weak=True)


def with_memory(fn: Function, axes: Iterable[int] = (), namer: Namer | None = None) -> Function:
    """Return `fn` with zeros of constant size in the memory where they belong; `axes`: those of the launch."""
    names = namer or Namer(names_in(fn.body) | {p.name for p in fn.params})
    return replace(fn, body=_Memory(frozenset(axes), names, fn.body).block(fn.body))


class _Memory:
    def __init__(self, axes: frozenset[int], namer: Namer, body: tuple[Stmt, ...]) -> None:
        self.axes, self.namer = axes, namer
        self.kinds: dict[str, Apply] = {}
        for stmt in statements(body):
            if isinstance(stmt, Assign) and isinstance(stmt.value, Apply) and stmt.value.fn in (SHARED, LOCAL):
                self.kinds[stmt.target.name] = stmt.value

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        waiting = False
        for stmt in body:
            made = _zeros_of(stmt, self.kinds)
            if made is None:
                if waiting and not isinstance(stmt, Comment):
                    result.append(Effect(Apply(BARRIER, (), Static(None)), stmt.span))
                    waiting = False
                result.append(map_blocks(stmt, self.block))
                continue
            assert isinstance(stmt, Assign)
            result.append(replace(stmt, value=made))
            result.extend(self._cleared(stmt.target, made.fn is SHARED, stmt.span))
            waiting = waiting or made.fn is SHARED
        return tuple(result)

    def _cleared(self, target: Var, shared: bool, span: Span) -> list[Stmt]:
        """Set an array to zero; one of shared memory by the threads of the block together."""
        assert isinstance(target.type, Array)
        names = [Var(self.namer.fresh(f"k{axis}" if axis else "k"), INT) for axis in range(len(target.type.dims))]
        cell = Index(target, tuple(names), Scalar(target.type.dtype))
        body: tuple[Stmt, ...] = (Store(cell, "", zero(cell.type), span),)
        for axis in range(len(names) - 1, -1, -1):
            size = target.type.dims[axis]
            assert isinstance(size, int)
            start: Expr = literal(0)
            step: Expr = literal(1)
            if shared and axis in self.axes:
                start, step = Apply(THREAD[axis], (), INT), Apply(BLOCK_SIZE[axis], (), INT)
            body = (For(names[axis], start, literal(size), step, body, span),)
        idle = [build(operator.eq, Apply(THREAD[axis], (), INT), literal(0))
                for axis in sorted(self.axes) if shared and axis >= len(names)]  # fmt: skip
        return list(guarded(idle, body, span))


def _zeros_of(stmt: Stmt, kinds: dict[str, Any]) -> Apply | None:
    """Return how a shadow of device memory is made, or None if the statement makes none."""
    if not (isinstance(stmt, Assign) and isinstance(stmt.value, Apply) and stmt.value.fn in (np.zeros_like, np.zeros)):
        return None
    source = stmt.value.args[0]
    kind = stmt.target.type
    if not isinstance(kind, Array) or not all(isinstance(d, int) for d in kind.dims):
        return None
    shape: Any = kind.dims[0] if len(kind.dims) == 1 else kind.dims
    static = (("shape", shape), ("dtype", np.dtype(kind.dtype).type))
    like = kinds.get(source.name) if isinstance(source, Var) else None
    fn = like.fn if like is not None else LOCAL
    return Apply(fn, (), kind, static)
