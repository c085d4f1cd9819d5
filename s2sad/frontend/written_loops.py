"""Comprehensions that do more, or less, than give items, written as the loops that they are.

A comprehension with a walrus binds a name of the function around it, turn after turn; `any` and `all` stop at the
first item that decides, so that what the later ones would do is not done; `sum` needs none of the items twice.
"""

from __future__ import annotations

import builtins
import copy
from typing import Any

import gast

from s2sad.frontend.environments import seen
from s2sad.frontend.jumps import own
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.order import acts
from s2sad.frontend.values import StaticV, V, Value
from s2sad.ir.types import ListOf, Scalar


def binds_names(node: Any) -> bool:
    """Say whether a comprehension binds a name of the function that it stands in."""
    return any(isinstance(part, gast.NamedExpr) for part in own([node]))


def as_loop(lw: Lowerer, node: Any) -> Value:
    """Lower a comprehension as a list and the loops that fill it."""
    if not isinstance(node, gast.ListComp | gast.GeneratorExp):
        return lw.fail(node, "a walrus inside a comprehension of this kind is not supported", "Write it as a loop.")
    count = len(lw.made)
    items = lw.local("items")
    append = gast.Attribute(value=_name(items), attr="append", ctx=gast.Load())
    keep = gast.Expr(value=gast.Call(func=append, args=[node.elt], keywords=[]))
    first = gast.Assign(targets=[_target(items)], value=gast.List(elts=[], ctx=gast.Load()), type_comment=None)
    return _lowered(lw, items, [first, *_loops(lw, node, [keep], None)], node, count)


def stops_early(lw: Lowerer, target: Value, node: Any) -> Value | None:
    """Lower `any(… for …)` and `all(… for …)` whose items do more than to say yes or no; None for any others."""
    if not (isinstance(target, StaticV) and target.value in (builtins.any, builtins.all)):
        return None
    if len(node.args) != 1 or not isinstance(node.args[0], gast.GeneratorExp):
        return None
    items = node.args[0]
    if not binds_names(items) and not _does_more(lw, items):
        return None
    until = target.value is builtins.any
    count = len(lw.made)
    decided = lw.local("decided")
    test = items.elt if until else gast.UnaryOp(op=gast.Not(), operand=items.elt)
    found = gast.If(test=test, body=[_set(decided, until), gast.Break()], orelse=[])
    stop = gast.If(test=_name(decided) if until else gast.UnaryOp(op=gast.Not(), operand=_name(decided)),
                   body=[gast.Break()], orelse=[])  # fmt: skip
    return _lowered(lw, decided, [_set(decided, not until), *_loops(lw, items, [found], stop)], node, count)


def summed(lw: Lowerer, target: Value, node: Any) -> Value | None:
    """Lower `sum(… for …)` of numbers that a run counts: each is added as it comes; None for any other sum."""
    if not (isinstance(target, StaticV) and target.value is builtins.sum) or node.keywords:
        return None
    if len(node.args) not in (1, 2) or not isinstance(node.args[0], gast.GeneratorExp | gast.ListComp):
        return None
    items, *start = node.args
    if binds_names(items) or not _is_list_of_numbers(lw, items):
        return None
    count = len(lw.made)
    total = lw.local("total")
    begin = start[0] if start else gast.Constant(value=0, kind=None)
    first = gast.Assign(targets=[_target(total)], value=begin, type_comment=None)
    add = gast.AugAssign(target=_target(total), op=gast.Add(), value=items.elt)
    return _lowered(lw, total, [first, *_loops(lw, items, [add], None)], node, count)


def _is_list_of_numbers(lw: Lowerer, items: Any) -> bool:
    """Try whether a comprehension is a list that grows, of numbers."""
    from s2sad.frontend.expressions import lower_expr

    mark = lw.mark()
    value = lower_expr(lw, items)
    lw.back_to(mark)
    kind = value.expr.type.item if isinstance(value, V) and isinstance(value.expr.type, ListOf) else None
    return isinstance(kind, Scalar) and kind.dtype != "bool"


def _does_more(lw: Lowerer, items: Any) -> bool:
    """Try whether items write, or may raise, when they are computed."""
    from s2sad.frontend.expressions import lower_expr

    if not any(isinstance(part, gast.Call) for part in own([items])):
        return False
    mark, before = lw.mark(), seen(lw)
    start = len(lw.block)
    lower_expr(lw, items)
    found = acts(lw, lw.block[start:], before)
    lw.back_to(mark)
    return found


def _loops(lw: Lowerer, node: Any, innermost: list[Any], stop: Any) -> list[Any]:
    """Return the loops of a comprehension; its variables, which are its own, under names of their own."""
    names = {
        part.id: lw.local(part.id)
        for generator in node.generators for part in gast.walk(generator.target) if isinstance(part, gast.Name)
    }  # fmt: skip
    renamed = _Renamed(names)
    body = [renamed.visit(copy.deepcopy(part)) for part in innermost]
    for position, generator in reversed(list(enumerate(node.generators))):
        for test in reversed(generator.ifs):
            body = [gast.If(test=renamed.visit(copy.deepcopy(test)), body=body, orelse=[])]
        over = generator.iter if position == 0 else renamed.visit(copy.deepcopy(generator.iter))
        target = renamed.visit(copy.deepcopy(generator.target))
        body = [gast.For(target=target, iter=over, body=body, orelse=[], type_comment=None)]
        if stop is not None and position > 0:
            body.append(copy.deepcopy(stop))
    return body


class _Renamed(gast.NodeTransformer):
    """The variables of a comprehension are no names of the function around it."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: Any) -> Any:
        """Rename a variable."""
        made = gast.Name(id=self.names.get(node.id, node.id), ctx=node.ctx, annotation=None, type_comment=None)
        return gast.copy_location(made, node)


def _lowered(lw: Lowerer, result: str, statements: list[Any], node: Any, count: int) -> Value:
    from s2sad.frontend.expressions import lower_expr
    from s2sad.frontend.statements import lower_block

    for statement in statements:
        for part in gast.walk(statement):
            if not hasattr(part, "lineno"):
                gast.copy_location(part, node)
    lower_block(lw, statements)
    value = lower_expr(lw, gast.copy_location(_name(result), node))
    lw.forget(count)
    return value


def _set(name: str, value: bool) -> Any:
    return gast.Assign(targets=[_target(name)], value=gast.Constant(value=value, kind=None), type_comment=None)


def _name(name: str) -> Any:
    return gast.Name(id=name, ctx=gast.Load(), annotation=None, type_comment=None)


def _target(name: str) -> Any:
    return gast.Name(id=name, ctx=gast.Store(), annotation=None, type_comment=None)
