"""Names that may be None, given to functions that ask whether they are: a call for each of the two.

`H = moved(H, R)` of a name that begins as None is `H = moved(None, R) if H is None else moved(H, R)`, as statements.
"""

from __future__ import annotations

import copy
import inspect
from typing import Any

import gast

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.optional import is_optional, surely_given
from s2sad.frontend.source import has_source, source_of
from s2sad.frontend.values import FuncV, StructV

_SIMPLE = (gast.Assign, gast.AnnAssign, gast.AugAssign, gast.Expr, gast.Return)


def as_two_calls(lw: Lowerer, node: Any) -> bool | None:
    """Lower a statement as two, if it has to be; say whether it always jumps away, None of any other."""
    from s2sad.frontend.statements import lower_stmt

    if not isinstance(node, _SIMPLE):
        return None
    names = {name for name, held in lw.env.items() if is_optional(held)}
    names -= lw.proven | (surely_given(lw.env) if names else frozenset())
    name = next((n for call in gast.walk(node) for n in _asked_about(lw, call, names)), None) if names else None
    if name is None:
        return None
    without = _Without(name).visit(copy.deepcopy(node))
    none = gast.Constant(value=None, kind=None)
    test = gast.Compare(left=gast.Name(name, gast.Load(), None, None), ops=[gast.Is()], comparators=[none])
    return lower_stmt(lw, gast.copy_location(gast.If(test=test, body=[without], orelse=[copy.deepcopy(node)]), node))


def _asked_about(lw: Lowerer, call: Any, names: set[str]) -> list[str]:
    """Return which of the names a call gives to a function that compares that argument with None."""
    if not isinstance(call, gast.Call):
        return []
    given = [(at, arg.id) for at, arg in enumerate(call.args) if isinstance(arg, gast.Name) and arg.id in names]
    by_word = [(word.arg, word.value.id) for word in call.keywords
               if isinstance(word.value, gast.Name) and word.value.id in names]  # fmt: skip
    text: Any
    text, own = text_of(lw, call.func) if given or by_word else (None, 0)
    if not isinstance(text, gast.FunctionDef) or any(isinstance(arg, gast.Starred) for arg in call.args):
        return []
    params = [arg.id for arg in (*text.args.posonlyargs, *text.args.args)][own:]
    given = [(params[at], name) for at, name in given if at < len(params)]
    return [name for param, name in (*given, *by_word) if any(_asks(part, param) for part in gast.walk(text))]


def text_of(lw: Lowerer, called: Any) -> tuple[Any, int]:
    """Return the text of what is called, if it is a function or a method, and how many arguments that has already."""
    found: Any = None
    own = 0
    match called:
        case gast.Name(id=name) | gast.Attribute(value=gast.Name(id=name)):
            held = lw.env.get(name)
            attribute = called.attr if isinstance(called, gast.Attribute) else "__call__"
            if isinstance(held, FuncV) and isinstance(called, gast.Name):
                return held.node, 0
            if isinstance(held, StructV) and isinstance(held.kind, type):
                found, own = inspect.getattr_static(held.kind, attribute, None), 1
            elif held is None and lw.source.knows(name):
                found = lw.source.resolve(name)
                found = found if isinstance(called, gast.Name) else getattr(found, attribute, None)
        case _:
            pass
    return (source_of(found).node if has_source(found) else None), own


def _asks(part: Any, name: str) -> bool:
    match part:
        case gast.Compare(left=gast.Name(id=left), ops=[gast.Is() | gast.IsNot() | gast.Eq() | gast.NotEq()],
                          comparators=[gast.Constant(value=None)]):  # fmt: skip
            return left == name
        case _:
            return False


class _Without(gast.NodeTransformer):
    """Puts None in the place of a name that is read."""

    def __init__(self, name: str) -> None:
        self.name = name

    def visit_Name(self, node: Any) -> Any:
        """Put None in the place of the name."""
        if node.id != self.name or not isinstance(node.ctx, gast.Load):
            return node
        return gast.copy_location(gast.Constant(value=None, kind=None), node)


__all__ = ["as_two_calls", "text_of"]
