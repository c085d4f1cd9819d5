"""Array parameters that a function binds again get a local name, so that the parameter stays the caller's.

    def step(w, x):                         def step(w, x):
        for i in range(3):                      x_now = np.copy(x)
            x = x + np.tanh(w @ x)  becomes     for i in range(3):
        return x                                    x_now = x_now + np.tanh(w @ x_now)
                                                return x_now

The adjoint of a called function adds into the adjoints of its arrays in place: it must not bind them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from s2sad.analysis.facts import Facts, written_names
from s2sad.errors import NotDifferentiableError
from s2sad.frontend.operators import build
from s2sad.ir.nodes import Assign, CallStmt, Expr, Function, Param, Stmt, Swap, Var
from s2sad.ir.types import Array, ListOf, Scalar, rank
from s2sad.ir.walk import bound, map_blocks, map_exprs, names_in, statements, subexpressions, substitute, targets
from s2sad.transform.naming import Namer
from s2sad.transform.webs import renamed


def bound_apart(fn: Function) -> Function:
    """Return `fn` with another name for what an array parameter is bound to, wherever it no longer is the caller's."""
    again = {name for stmt in statements(fn.body) for name in bound(stmt)}
    if not any(p.name in again and isinstance(p.type, Array | ListOf) for p in fn.params):
        return fn
    return renamed(fn, Namer(names_in(fn.body) | {p.name for p in fn.params}))


def ranks_apart(fn: Function) -> Function:
    """Return `fn` with a name for each use of one that is an array here and a number, or one of more axes, there."""
    ranks: dict[str, set[int]] = {}
    for stmt in statements(fn.body):
        for target in targets(stmt):
            if isinstance(target.type, Array | Scalar):
                ranks.setdefault(target.name, set()).add(rank(target.type))
    if not any(len(found) > 1 for found in ranks.values()):
        return fn
    return renamed(fn, Namer(names_in(fn.body) | {p.name for p in fn.params}))


def parameters_kept(fn: Function, wrt: tuple[int, ...], facts: Facts) -> Function:
    """Return `fn` with no differentiated array parameter bound anywhere.

    Raises:
        NotDifferentiableError: a parameter is written in place and bound again as well.
    """
    again = {name for stmt in statements(fn.body) for name in bound(stmt)}
    moved = [fn.params[i] for i in wrt if fn.params[i].name in again and isinstance(fn.params[i].type, Array | ListOf)]
    if not moved:
        return fn
    namer = Namer(names_in(fn.body) | {p.name for p in fn.params})
    names: dict[str, str] = {}
    start: list[Stmt] = []
    body = fn.body
    for param in moved:
        written = fn.params.index(param) in facts.writes(fn.name)
        if written and (better := _named_behind_writes(fn, body, param, namer, facts)) is not None:
            body = better
            continue
        if written or isinstance(param.type, ListOf):
            place = next(stmt.span for stmt in statements(fn.body) if param.name in bound(stmt))
            raise NotDifferentiableError(
                f"`{param.name}` of `{fn.name}` is written in place, and here is bound to something else on some paths",
                place, f"Give what it is bound to a name of its own, as in `own = {param.name}.copy()`.",
            )  # fmt: skip
        names[param.name] = namer.fresh(f"{param.name}_now")
        copied = build(np.copy, Var(param.name, param.type))
        start.append(Assign(Var(names[param.name], param.type), copied, fn.span))
    return replace(fn, body=(*start, *(_renamed(stmt, names) for stmt in body)))


def _named_behind_writes(
    fn: Function, body: tuple[Stmt, ...], param: Param, namer: Namer, facts: Facts
) -> tuple[Stmt, ...] | None:
    """Give a parameter another name from where it is bound anew on, if nothing is written into it from there on."""
    if not isinstance(param.type, Array):
        return None
    at = next(k for k, stmt in enumerate(body) if any(param.name in bound(s) for s in statements((stmt,))))
    if param.name in written_names(replace(fn, body=body[at:]), facts):
        return None
    own = Var(namer.fresh(f"{param.name}_now"), param.type)
    copied = Assign(own, build(np.copy, Var(param.name, param.type)), body[at].span)
    return (*body[:at], copied, *(_renamed(stmt, {param.name: own.name}) for stmt in body[at:]))


def arguments_kept(fn: Function) -> Function:
    """Return `fn` with no parameter bound anywhere: each that was has a local name, which begins as the parameter.

    What runs the sweep back by itself is given the arguments as they came in.
    """
    again = {name for stmt in statements(fn.body) for name in bound(stmt)}
    moved = [p for p in fn.params if p.name in again]
    if not moved:
        return fn
    namer = Namer(names_in(fn.body) | {p.name for p in fn.params})
    names = {p.name: namer.fresh(f"{p.name}_now") for p in moved}
    start: list[Stmt] = []
    for param in moved:
        var = Var(param.name, param.type)
        value = build(np.copy, var) if isinstance(param.type, Array) else var
        start.append(Assign(Var(names[param.name], param.type), value, fn.span))
    return replace(fn, body=(*start, *(_renamed(stmt, names) for stmt in fn.body)))


def with_own_arguments(fn: Function, count: int, facts: Facts) -> Function:
    """Return the code of a rule with copies of those of its first arguments that it writes into: others read them."""
    written = written_names(fn, facts)
    given = [p for p in fn.params[:count] if isinstance(p.type, Array) and p.name in written]
    if not given:
        return fn
    namer = Namer(names_in(fn.body) | {p.name for p in fn.params})
    names = {p.name: namer.fresh(f"{p.name}_now") for p in given}
    start = [Assign(Var(names[p.name], p.type), build(np.copy, Var(p.name, p.type)), fn.span) for p in given]
    return replace(fn, body=(*start, *(_renamed(stmt, names) for stmt in fn.body)))


def _renamed(stmt: Stmt, names: dict[str, str]) -> Stmt:
    def name(var: Var) -> Var:
        return Var(names.get(var.name, var.name), var.type)

    made: Stmt = map_exprs(stmt, lambda e: _substituted(e, names))
    match made:
        case Assign(target):
            made = replace(made, target=name(target))
        case Swap(first, second):
            made = replace(made, first=name(first), second=name(second))
        case CallStmt(targets):
            made = replace(made, targets=tuple(name(t) for t in targets))
        case _:
            pass
    return map_blocks(made, lambda body: tuple(_renamed(s, names) for s in body))


def _substituted(expr: Expr, names: dict[str, str]) -> Expr:
    kinds = {p.name: p.type for p in subexpressions(expr) if isinstance(p, Var) and p.name in names}
    return substitute(expr, {name: Var(names[name], kind) for name, kind in kinds.items()})
