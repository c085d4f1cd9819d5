"""The two sweeps of an adjoint as one function, or each as a function of its own."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from s2sad.analysis.facts import Facts, written_names
from s2sad.analysis.liveness import Liveness
from s2sad.frontend.lowerer import Instance
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir.lengths import lengths_said
from s2sad.ir.nodes import Assign, CallStmt, Comment, Const, Expr, For, Function, If, Param, Return, Stmt, Store, Var
from s2sad.ir.types import Array, ListOf
from s2sad.ir.walk import bound, exprs_of, names_in, root_of, statements, subexpressions
from s2sad.transform.adjoint import Sweeps, placeholder
from s2sad.transform.fused import ADJOINT, WITH_PRIMAL
from s2sad.transform.naming import Namer


def joined(made: Sweeps, name: str, doc: str, wanted: bool, facts: Facts) -> tuple[Function, frozenset[str]]:
    """Return one function of both sweeps, and the names in it that are the user's.

    `wanted`: it gives the values too, before the adjoints.
    """
    fn = made.primal
    sections, values = with_values(made, wanted)
    outputs = (*values, *made.bars) if wanted else made.bars
    params = (*fn.params, *(Param(s.name, s.type) for s in made.seeds))
    body = (*private_copies(fn, facts), *sections, Return(outputs, fn.span))
    kept = names_of(fn) | {v.name for v in values if isinstance(v, Var)}
    named = tuple(o.name if isinstance(o, Var) else "" for o in outputs)
    return Function(name, params, body, tuple(o.type for o in outputs), doc, fn.span, named=named), kept


def halved(made: Sweeps, name: str, base: str, backward: bool, facts: Facts) -> tuple[Function, int]:
    """Return one of the sweeps of the function `base`, and how many values go from the first to the second.

    The first gives them behind the results, the second takes them before the seeds.
    """
    fn = made.primal
    residuals = residuals_of(made)
    if backward:
        params = (*(Param(r.name, r.type) for r in residuals), *(Param(s.name, s.type) for s in made.seeds))
        body = (*made.reverse, Return(made.bars, fn.span))
        doc = f"Adjoint sweep of `{base}` from what `{base}_fwd` kept."
        return Function(name, params, body, tuple(b.type for b in made.bars), doc, fn.span), len(residuals)
    forward: list[Stmt] = [*private_copies(fn, facts), *_placeholders(made, residuals), *made.forward]
    values: list[Expr] = []
    kept = {r.name for r in residuals}
    for value in made.values:
        root = root_of(value)
        shared = isinstance(value.type, Array) and root is not None and root.name in kept
        values.append(build(np.copy, value) if shared else value)
    outputs = (*values, *residuals)
    doc = f"Forward sweep of `{base}`: its value, then what the adjoint sweep needs."
    kinds = tuple(o.type for o in outputs)
    return Function(name, fn.params, (*forward, Return(outputs, fn.span)), kinds, doc, fn.span), len(residuals)


def to_be_called(made: Sweeps, name: str, callee: str, wanted: bool) -> Function:
    """Return both sweeps as a function to be called: its adjoints of arrays are given, and added to.

    `wanted`: it gives the values of `callee`, before the adjoints of numbers.
    """
    fn = made.primal
    sections, values = with_values(made, wanted)
    arrays = tuple(b for b in made.bars if isinstance(b, Var) and isinstance(b.type, Array | ListOf))
    outputs = (*values, *(b for b in made.bars if not isinstance(b.type, Array | ListOf)))
    params = (*fn.params, *(Param(v.name, v.type) for v in (*made.seeds, *arrays)))
    body = (*(s for s in sections if not _is_heading(s)), Return(outputs, fn.span))
    doc = f"Add the adjoint of `{callee}` to the adjoints of its arguments."
    if wanted:
        doc = f"Value of `{callee}`; its adjoint is added to those of its arguments on the way."
    return Function(name, params, body, tuple(o.type for o in outputs), doc, fn.span)


def _is_heading(stmt: Stmt) -> bool:
    return isinstance(stmt, Comment) and (not stmt.text or stmt.text.startswith("----"))


def with_values(made: Sweeps, wanted: bool) -> tuple[list[Stmt], tuple[Expr, ...]]:
    """Put the sweeps together; results are named before the reverse sweep may change what they read."""
    forward: list[Stmt] = list(made.forward)
    values: list[Expr] = []
    changed = _changed_names(made.reverse)
    for position, value in enumerate(made.values if wanted else ()):
        if isinstance(value, Const) or (isinstance(value, Var) and value.name not in changed):
            values.append(value)
            continue
        hint = "result" if len(made.values) == 1 else f"result_{position}"
        name = Var(_unused(hint, made), value.type)
        copied = isinstance(value.type, Array) and root_of(value) is not None
        forward.append(Assign(name, build(np.copy, value) if copied else value, made.primal.span))
        values.append(name)
    return [
        Comment("---- primal sweep ----"), *forward, Comment(""), Comment(ADJOINT), *made.reverse,
    ], tuple(values)  # fmt: skip


def private_copies(fn: Function, facts: Facts) -> list[Stmt]:
    """Copy the arguments that the function writes: the caller's arrays are never touched."""
    written = written_names(fn, facts)
    copies: list[Stmt] = []
    for param in fn.params:
        if isinstance(param.type, Array) and param.name in written:
            var = Var(param.name, param.type)
            copies.append(Assign(var, build(np.copy, var), fn.span))
    return copies


def _changed_names(body: tuple[Stmt, ...]) -> set[str]:
    changed: set[str] = set()
    for stmt in statements(body):
        changed.update(bound(stmt))
        if isinstance(stmt, Store):
            root = root_of(stmt.place)
            if root is not None:
                changed.add(root.name)
        if isinstance(stmt, CallStmt) and stmt.fn is None:
            for arg in stmt.args:
                root = root_of(arg)
                if root is not None and isinstance(root.type, Array):
                    changed.add(root.name)
    return changed


def residuals_of(made: Sweeps) -> tuple[Var, ...]:
    """Return what the reverse sweep reads and does not make: arguments, primal values, tapes."""
    probe = If(literal(True), (*made.reverse, Return(made.bars)))
    free = Liveness((probe, Return(()))).inside(probe) - {s.name for s in made.seeds}
    kinds: dict[str, Var] = {}
    for stmt in statements(made.reverse):
        for expr in exprs_of(stmt):
            for part in subexpressions(expr):
                if isinstance(part, Var):
                    kinds.setdefault(part.name, part)
    return tuple(kinds[name] for name in sorted(free) if name in kinds)


def _placeholders(made: Sweeps, residuals: tuple[Var, ...]) -> list[Stmt]:
    """A residual that only some path sets must exist on the others."""
    surely = {p.name for p in made.primal.params}
    for stmt in made.forward:
        surely.update(bound(stmt) if not isinstance(stmt, For) else ())
    return [Assign(r, placeholder(r.type), made.primal.span) for r in residuals if r.name not in surely]


def _unused(hint: str, made: Sweeps) -> str:
    return Namer(names_in((*made.forward, *made.reverse)) | {p.name for p in made.primal.params}).fresh(hint)


def names_of(fn: Function) -> frozenset[str]:
    """Return the user's own names, as they stand in the prepared primal."""
    return frozenset(taken_in(fn) - fn.invented)


def taken_in(fn: Function) -> set[str]:
    """Return every name that a function uses."""
    return names_in(fn.body) | {p.name for p in fn.params}


def without_empty_sweep(fn: Function) -> Function:
    """Where nothing of the primal is needed, the headings of the two sweeps say nothing."""
    texts = [s.text if isinstance(s, Comment) else None for s in fn.body]
    for at in range(len(texts) - 2):
        if texts[at : at + 2] == ["---- primal sweep ----", ""] and texts[at + 2] in (ADJOINT, WITH_PRIMAL):
            return replace(fn, body=(*fn.body[:at], *fn.body[at + 3 :]))
    return fn


def headline(instance: Instance, mode: str, wrt: tuple[int, ...]) -> str:
    """Return the first line of a derivative's docstring."""
    what = {
        "jvp": "Value and tangent", "tangent": "Tangent", "vjp": "Value and adjoint", "pullback": "Adjoint",
        "grad": "Gradient", "value_and_grad": "Value and gradient", "fwd": "Forward sweep", "bwd": "Adjoint sweep",
    }[mode]  # fmt: skip
    assert instance.function is not None
    names = ", ".join(f"`{instance.function.params[i].name}`" for i in wrt)
    span = instance.function.span
    place = f" ({os.path.basename(span.file)}:{span.line})" if span.line else ""
    lengths = lengths_said(instance.function.params)
    return f"{what} of `{instance.name}`{place} for {names}." + (f"\n\nHolds where {lengths}." if lengths else "")


__all__ = [
    "halved", "headline", "joined", "names_of", "private_copies", "residuals_of", "taken_in", "to_be_called",
    "with_values",
    "without_empty_sweep",
]  # fmt: skip
