"""`bins[k].append(v)`, `u = parts[k]`, k known only at run time: a branch for each item of the container.

                                      which = k
                                      if not 0 <= which < 3: raise IndexError(...)
    bins[k].append(v)    becomes      if which == 0: bins[0].append(v)
                                      elif which == 1: bins[1].append(v)
                                      else: bins[2].append(v)

It is what is left for items of which no one array can be made, where no loop can be written out turn by turn.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Container
from typing import Any

import gast

from s2sad.frontend import exchanged_rows
from s2sad.frontend.functional import placed
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.optional import KindFound
from s2sad.frontend.values import StructV, V, Value
from s2sad.ir.types import ListOf

Place = tuple[int, int, str, str]
_MOST = 16
_MOST_BRANCHES = 100
"""In how many branches, one in the other, a statement is written at most."""
_RESTARTS = 100
_AT_TIMES = (gast.Lambda, gast.IfExp, gast.BoolOp, gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
_SIMPLE = (gast.Assign, gast.AugAssign, gast.AnnAssign, gast.Expr, gast.Return)
_PLAIN = (gast.Name, gast.Constant, gast.BinOp, gast.UnaryOp, gast.Subscript, gast.Attribute, gast.IfExp,
          gast.Compare, gast.operator, gast.unaryop, gast.cmpop, gast.expr_context, gast.Tuple, gast.Call)  # fmt: skip
_CALLED = ("int", "len", "min", "max", "abs", "round", "floor", "ceil")


def needs_cases(lw: Lowerer, base: StructV, node: Any) -> None:
    """Begin again with the statement around `node`, an item of `base`, as cases; return where that cannot be."""
    known = lw.ctx.by_cases
    if not isinstance(node, gast.Subscript) or _place(node) in known or len(known) >= _RESTARTS:
        return
    if isinstance(node.slice, gast.Constant):
        return
    if not 1 < len(base.items) <= _MOST or base.kind not in ("list", "tuple", "dict"):
        return
    if base.kind == "dict" and not all(isinstance(key, int | str) for key in base.keys):
        return
    if not all(isinstance(part, _PLAIN) and _is_plain_call(part) for part in gast.walk(node)):
        return
    if all(_is_list(item) for item in base.items):
        exchanged_rows.begin_again(lw)
    if _branches(lw) * len(base.items) > _MOST_BRANCHES:
        return
    if isinstance(lw.statement, _SIMPLE) and _item_in(lw.statement, {_place(node)}) is not None:
        known[_place(node)] = (base.kind, tuple(base.keys))
        raise KindFound


def _is_list(item: Value) -> bool:
    return (isinstance(item, StructV) and item.kind == "list") or (
        isinstance(item, V) and isinstance(item.expr.type, ListOf)
    )


def _branches(lw: Lowerer) -> int:
    """Return in how many branches the statement being lowered is written already."""
    items = {_place(part) for part in gast.walk(lw.statement) if isinstance(part, gast.Subscript)}
    return math.prod(len(lw.ctx.by_cases[place][1]) for place in items if place in lw.ctx.by_cases)


def _is_plain_call(part: Any) -> bool:
    if not isinstance(part, gast.Call):
        return True
    return (part.func.attr if isinstance(part.func, gast.Attribute) else getattr(part.func, "id", "")) in _CALLED


def _place(node: Any) -> Place:
    """Tell an item from all others, in the copies of its statement as well."""
    return (getattr(node, "lineno", 0), getattr(node, "col_offset", 0), gast.dump(node.value), gast.dump(node.slice))


def as_cases(lw: Lowerer, node: Any) -> bool | None:
    """Lower a statement as cases, if it has to be; say whether it always jumps away, None of any other."""
    from s2sad.frontend.statements import lower_block

    if not lw.ctx.by_cases or not isinstance(node, _SIMPLE):
        return None
    item = _item_in(node, lw.ctx.by_cases)
    if item is None:
        return None
    kind, keys = lw.ctx.by_cases[_place(item)]
    count = len(lw.made)
    which = lw.local("which")
    begin = gast.Assign(targets=[_name(which, gast.Store())], value=item.slice, type_comment=None)
    cases = [(key, _at(node, item, key)) for key in keys]
    body: Any = [cases[-1][1]]
    for key, case in reversed(cases[:-1]):
        body = [gast.If(test=_parsed(f"{which} == {key!r}").value, body=[case], orelse=body)]
    lines = [begin, *_checks(which, kind, keys, item), *body]
    jumps = lower_block(lw, placed_anew(lines, node))
    lw.forget(count)
    return jumps


def placed_anew(parts: list[Any], node: Any) -> list[Any]:
    """Give written code the place of a statement, where it has none of its own."""
    for part in parts:
        for inner in gast.walk(part):
            if not hasattr(inner, "lineno"):
                placed([inner], node)
    return parts


def _checks(which: str, kind: str, keys: tuple[Any, ...], item: Any) -> list[Any]:
    """Raise what Python raises for a place outside; count from the end where the place is negative."""
    if kind == "dict":
        tests = " and ".join(f"{which} != {key!r}" for key in keys)
        said = "the key is not in this dict"
        if isinstance(item.ctx, gast.Store):
            said = "this dict gets no keys here that it did not have when it was made"
        return [_parsed(f"if {tests}:\n    raise KeyError({said!r})")]
    count = len(keys)
    match item.slice:
        case gast.BinOp(op=gast.Mod(), right=gast.Constant(value=int(most))) if 0 < most <= count:
            return []
        case _:
            pass
    inside = f"-{count} <= {which} < {count}"
    stop = _parsed(f"if not {inside}:\n    raise IndexError('{kind} index out of range')")
    return [stop, _parsed(f"{which} = {which} % {count}")]


def _item_in(node: Any, places: Container[Place]) -> Any:
    """Return the item of these that a statement reads whenever it is run, where it is run."""
    if isinstance(node, gast.Subscript) and _place(node) in places:
        return node
    if isinstance(node, _AT_TIMES):
        return None
    for child in gast.iter_child_nodes(node):
        found = _item_in(child, places)
        if found is not None:
            return found
    return None


def _at(node: Any, item: Any, key: Any) -> Any:
    """Return a statement with one key in place of what is between the brackets of `item`."""
    memo: dict[int, Any] = {}
    made = copy.deepcopy(node, memo)
    memo[id(item)].slice = gast.copy_location(gast.Constant(value=key, kind=None), item.slice)
    return made


def _parsed(text: str) -> Any:
    made = gast.parse(text).body[0]
    for part in gast.walk(made):
        for where in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            if hasattr(part, where):
                delattr(part, where)
    return made


def _name(name: str, ctx: Any) -> Any:
    return gast.Name(id=name, ctx=ctx, annotation=None, type_comment=None)


__all__ = ["as_cases", "needs_cases"]
