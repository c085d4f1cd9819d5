"""Functions that return None on one path and a value on another: a flag beside the value says which.

`return None` becomes `return (False, 0.0)` and `return t` becomes `return (True, t)`. A caller keeps the two where it
can ask about them, which is under a name (`t = hit(ray)`) or in a test (`if hit(ray) is None`). Anywhere else,
that there is a value is checked when it runs; a container of such results is refused, as it may be asked about later.
"""

from __future__ import annotations

from typing import Any

import gast

from s2sad.frontend import optional
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.optional import KIND, Form, KindFound, form_of, is_optional, joined_form, placeholder
from s2sad.frontend.values import StaticV, StructV, V, Value, leaves_of, literal, type_of
from s2sad.ir.nodes import Const, Raise
from s2sad.ir.types import Static, Struct, Type


def settle_results(lw: Lowerer) -> None:
    """Lower a function of the program again if it turns out to return None on some paths only."""
    instance = lw.instance
    if instance is None or instance.optional_result is not None:
        return
    none = [_is_none(value) for value in lw.results]
    if is_entered(lw):
        if any(none) and any(leaves_of(value) for value in lw.results):
            lw.ctx.none_raises = True
            raise KindFound
        return
    kinds = [type_of(value) for value in lw.results]
    flagged = [isinstance(kind, Struct) and kind.kind == KIND for kind in kinds]
    if (any(none) or any(flagged)) and not all(none) and not all(flagged):
        form = _form(kinds, none)
        if form is not None:
            instance.optional_result = form
            raise KindFound


def _form(kinds: list[Type], none: list[bool]) -> Form | None:
    """Return what the paths that give a value give; None if they differ."""
    given = [kind for kind, is_none in zip(kinds, none, strict=True) if not is_none]
    forms = [form_of(k.items[1] if isinstance(k, Struct) and k.kind == KIND else k) for k in given]
    result = forms[0]
    for form in forms[1:]:
        result = None if result is None or form is None else joined_form(result, form)
    return result


def _is_none(value: Value) -> bool:
    return isinstance(value, StaticV) and value.value is None


def is_entered(lw: Lowerer) -> bool:
    """Say whether this is the function that is differentiated, whose result has to be a value."""
    return lw.instance is next(iter(lw.ctx.instances.values()), None)


def result_of(lw: Lowerer, value: Value) -> Value:
    """Return what a `return` gives back in a function that gives None elsewhere."""
    form = None if lw.instance is None else lw.instance.optional_result
    if form is None or is_optional(value):
        return value
    given = not _is_none(value)
    return StructV(KIND, ("given", "value"), (V(literal(given)), value if given else placeholder(form)))


def raised_for_none(lw: Lowerer, value: Value, node: Any) -> bool:
    """Raise where the function that is differentiated returns None, and a value elsewhere: None has no derivative."""
    if not (lw.ctx.none_raises and is_entered(lw) and _is_none(value)):
        return False
    text = "None is returned here"
    lw.emit(Raise(TypeError, (Const(text, Static(text)),), lw.span(node)))
    return True


def returned(lw: Lowerer, node: Any) -> Value:
    """Return what the expression after `return` means: a name that may be None, with its flag."""
    from s2sad.frontend.expressions import lower_expr

    held = lw.env.get(node.id) if isinstance(node, gast.Name) else None
    if isinstance(held, StructV) and held.kind == KIND and node.id not in lw.proven | optional.surely_given(lw.env):
        return held
    return lower_expr(lw, node)


def called(lw: Lowerer, value: Value, node: Any, name: str, says_none: bool = False) -> Value:
    """Return what a call gives: flag and value where the text can ask about them, else the value, which is checked.

    `says_none`: the function has a path for None; another one may only end with a name that was never set.
    """
    if not (isinstance(value, StructV) and value.kind == KIND):
        return value
    parent = next((p for p in gast.walk(lw.source.node) if any(_same(c, node) for c in gast.iter_child_nodes(p))), None)
    if _is_kept(lw, parent, node):
        return value
    if says_none and isinstance(parent, _CONTAINERS):
        return lw.fail(node, f"`{name}` may return None here",
                       "Name what it returns, and ask about that: `t = f(…)`, then `if t is not None:`.")  # fmt: skip
    return optional.checked(lw, value, f"`{name}` returned None here", node)


_CONTAINERS = (gast.List, gast.Tuple, gast.Dict, gast.ListComp, gast.DictComp, gast.GeneratorExp)


def _is_kept(lw: Lowerer, parent: Any, node: Any) -> bool:
    """Say whether the text keeps the result of a call under a name, or asks whether it is None."""
    if getattr(node, "is_kept", False):
        return True
    match parent:
        case gast.Assign(targets=[gast.Name()]) | gast.AnnAssign(target=gast.Name()):
            return True
        case gast.NamedExpr() | gast.Return() | gast.Expr() | gast.Lambda():
            return True
        case gast.IfExp(body=body, orelse=orelse) if optional.may_be_none(parent) and (
            _same(body, node) or _same(orelse, node)
        ):
            beyond = (p for p in gast.walk(lw.source.node) if any(_same(c, parent) for c in gast.iter_child_nodes(p)))
            return _is_kept(lw, next(beyond, None), parent)
        case gast.If() | gast.While() | gast.IfExp() | gast.UnaryOp(op=gast.Not()):
            return _same(getattr(parent, "test", node), node)
        case gast.Compare(left=left, ops=[gast.Is() | gast.IsNot()], comparators=[gast.Constant(value=None)]):
            return _same(left, node)
        case _:
            return False


def _same(a: Any, b: Any) -> bool:
    """Say whether two pieces of text are one, also if it was copied."""
    words = ("lineno", "col_offset", "end_lineno", "end_col_offset")
    places = [tuple(getattr(n, word, None) for word in words) for n in (a, b)]
    return a is b or (type(a) is type(b) and places[0] == places[1] and places[0][0] is not None)


__all__ = ["called", "is_entered", "raised_for_none", "result_of", "returned", "settle_results"]
