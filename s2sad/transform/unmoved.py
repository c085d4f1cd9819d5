"""Tangent rules that are not zero where the tangents are: the slope alone was returned, or something is added."""

from __future__ import annotations

import operator

import numpy as np

from s2sad.analysis.facts import Facts
from s2sad.ir.nodes import Append, Apply, Assign, CallStmt, Const, Expr, Function, Index, Return, Stmt, Store, Swap, Var
from s2sad.ir.types import Array
from s2sad.ir.walk import bound, exprs_of, reads, root_of, statements

_SUMS = {operator.add, operator.sub, np.add, np.subtract}
_UNMOVED = "does not depend on the tangents"
_ADDED = "is not linear in the tangents: something that does not depend on them is added"
_ZEROS = {np.zeros, np.zeros_like, np.empty, np.empty_like}


def unmoved(fn: Function, dots: int, tangents: int, facts: Facts) -> str:
    """Say what is wrong with a tangent that is surely not zero where the tangents given are; "" if none is.

    Args:
        fn: the rule, `(*params, *dots) -> (*results, *result_dots)`.
        dots: how many of its parameters are tangents.
        tangents: how many of its results are.
        facts: what is known of the functions that it calls.
    """
    last = fn.body[-1]
    assert isinstance(last, Return)
    first = len(fn.params) - dots
    moving = frozenset(range(first, len(fn.params)))
    vanishing = frozenset(p.name for p in fn.params[first:])
    flows = facts.flow(fn.name).results or ()
    rows = list(zip(last.values, flows, strict=True))[len(fn.results) - tangents :]
    for value, flow in rows:
        if not _may_vanish(value, fn, vanishing, facts, (fn.name,)):
            return _ADDED if flow & moving else _UNMOVED
    return ""


def _may_vanish(expr: Expr, fn: Function, vanishing: frozenset[str], facts: Facts, within: tuple[str, ...]) -> bool:
    """Say whether a value may be zero, as the arguments in `vanishing` may be; what is not followed may be."""

    def follow(part: Expr) -> bool:
        return _may_vanish(part, fn, vanishing, facts, within)

    match expr:
        case Const(value):
            return not np.any(value)
        case Var(name):
            return _name_may_vanish(name, fn, vanishing, facts, within)
        case Index(base):
            return follow(base)
        case Apply(callee) if callee in _ZEROS:
            return True
        case Apply(callee, args) if callee in _SUMS:
            return all(follow(a) for a in args)
        case Apply(_, args):
            return any(follow(a) for a in args)
        case _:
            return True


def _may_write(stmt: Stmt, name: str) -> bool:
    """Say whether a statement may write into what a name means, or give it another name."""
    if isinstance(stmt, Assign):
        root = root_of(stmt.value)
        return root is not None and root.name == name and isinstance(stmt.value.type, Array)
    return isinstance(stmt, Store | CallStmt | Append | Swap) and any(name in reads(e) for e in exprs_of(stmt))


def _name_may_vanish(
    name: str, fn: Function, vanishing: frozenset[str], facts: Facts, within: tuple[str, ...]
) -> bool:
    every = list(statements(fn.body))
    made = [s for s in every if name in bound(s)]
    given = [p.name for p in fn.params]
    if name in given and not made:
        return name in vanishing
    if len(made) != 1 or name in given or any(s is not made[0] and _may_write(s, name) for s in every):
        return True
    match made[0]:
        case Assign(_, value):
            return _may_vanish(value, fn, vanishing, facts, within)
        case CallStmt(targets, callee, args, fn=None) if callee not in within:
            inner = facts.functions[callee]
            returns = [s for s in statements(inner.body) if isinstance(s, Return)]
            zeros = [
                p.name for p, a in zip(inner.params, args, strict=False) if _may_vanish(a, fn, vanishing, facts, within)
            ]
            at = [t.name for t in targets].index(name)
            if len(returns) != 1 or at >= len(returns[0].values):
                return True
            return _may_vanish(returns[0].values[at], inner, frozenset(zeros), facts, (*within, callee))
        case _:
            return True
