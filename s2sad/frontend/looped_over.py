"""What is looped over is told once: a name, an attribute or an item that the loop binds anew goes on as it was."""

from __future__ import annotations

from typing import Any

import gast

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.none_given import text_of
from s2sad.frontend.values import V
from s2sad.ir.nodes import Assign, Expr, Var


def held(lw: Lowerer, expr: Expr, node: Any) -> Expr:
    """Return what is looped over under a name that the body does not bind anew."""
    base = lw.atom(expr, "items", lw.span(node))
    if not isinstance(base, Var) or not _is_bound_anew(lw, base, node):
        return base
    kept = Var(lw.fresh("items"), base.type)
    lw.emit(Assign(kept, base, lw.span(node)))
    return kept


def _is_bound_anew(lw: Lowerer, base: Var, node: Any) -> bool:
    """Say whether a loop, or what it calls, may give what it goes over to another array."""
    parts = [part for one in (node.body if isinstance(getattr(node, "body", None), list) else [node])
             for part in gast.walk(one)]  # fmt: skip
    stored = {n.id for n in parts if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Store)}
    if base.name in {lw.ir_name(name) for name in stored if name in lw.env}:
        return True
    if any(isinstance(held, V) and held.expr == base for held in lw.env.values()):
        return False
    over = [part for one in _gone_over(node) for part in gast.walk(one)]
    roots = {n.id for n in over if isinstance(n, gast.Name)}
    fields = {n.attr for n in over if isinstance(n, gast.Attribute)}
    items = any(isinstance(n, gast.Subscript) for n in over)
    if roots & stored or _sets(parts, fields, items):
        return True
    return any(isinstance(part, gast.Call) and _is_set_by(lw, part, roots, fields, items) for part in parts)


def _gone_over(node: Any) -> list[Any]:
    if hasattr(node, "iter"):
        return [node.iter]
    return [part.iter for part in gast.walk(node) if isinstance(part, gast.comprehension)]


def _sets(parts: list[Any], fields: set[str], items: bool) -> bool:
    """Say whether statements give a field another value, or an item; what is added to an array is added in place."""
    in_place = {id(part.target) for part in parts if isinstance(part, gast.AugAssign)}
    for part in parts:
        if not isinstance(getattr(part, "ctx", None), gast.Store | gast.Del) or id(part) in in_place:
            continue
        if isinstance(part, gast.Attribute) and part.attr in fields:
            return True
        if isinstance(part, gast.Subscript) and items and isinstance(part.slice, gast.Constant | gast.Name):
            return True
    return False


def _is_set_by(lw: Lowerer, call: Any, roots: set[str], fields: set[str], items: bool) -> bool:
    """Say whether a call is given what is gone over, or what holds it, and may set that itself or by another call."""
    given = [*call.args, *(word.value for word in call.keywords)]
    owner = call.func.value if isinstance(call.func, gast.Attribute) else None
    names = {n.id for part in (*given, owner) if part is not None for n in gast.walk(part) if isinstance(n, gast.Name)}
    text, _ = text_of(lw, call.func)
    if not isinstance(text, gast.FunctionDef):
        return False
    parts = list(gast.walk(text))
    if isinstance(call.func, gast.Name) and call.func.id in lw.env:  # an inner function has what is around it
        names |= {n.id for n in parts if isinstance(n, gast.Name)}
    if not names & roots:
        return False
    own = {arg.id for arg in (*text.args.posonlyargs, *text.args.args)}
    hands_on = any(
        isinstance(part, gast.Call) and own & {n.id for n in gast.walk(part) if isinstance(n, gast.Name)}
        and text_of(lw, part.func)[0] is not None for part in parts
    )  # fmt: skip
    return _sets(parts, fields, items) or hands_on


__all__ = ["held"]
