"""`map`, `filter` and `functools.reduce`: written as the comprehension or the loop that they stand for."""

from __future__ import annotations

import builtins
from typing import Any

import gast

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StaticV, Value


def lower_map(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`map(f, a, b)`: a list of the calls."""
    if kwargs or len(args) < 2:
        return lw.fail(node, "`map` takes a function and what it is applied to")
    given, items = _named(lw, args), [lw.fresh("item") for _ in args[1:]]
    if len(args) == 2:
        return _expression(lw, f"[{given[0]}({items[0]}) for {items[0]} in {given[1]}]", node)
    together = lw.fresh("zip")
    lw.env[together] = StaticV(builtins.zip)
    names = ", ".join(items)
    return _expression(lw, f"[{given[0]}({names}) for {names} in {together}({', '.join(given[1:])})]", node)


def lower_filter(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`filter(f, a)`: a list of the items that pass; with None, of those that are true."""
    if kwargs or len(args) != 2:
        return lw.fail(node, "`filter` takes a function and what it chooses from")
    given, item = _named(lw, args), lw.fresh("item")
    test = item if args[0] == StaticV(None) else f"{given[0]}({item})"
    return _expression(lw, f"[{item} for {item} in {given[1]} if {test}]", node)


def lower_reduce(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`functools.reduce(f, a, start)`: a loop that carries one value."""
    from s2sad.frontend.statements import lower_block

    if kwargs or len(args) not in (2, 3):
        return lw.fail(node, "`reduce` takes a function, what it folds, and a start")
    given, item, total = _named(lw, args), lw.fresh("item"), lw.fresh("total")
    start, rest = (given[2], given[1]) if len(args) == 3 else (f"{given[1]}[0]", f"{given[1]}[1:]")
    text = f"{total} = {start}\nfor {item} in {rest}:\n    {total} = {given[0]}({total}, {item})\n"
    lower_block(lw, _placed(gast.parse(text).body, node))
    return lw.env[total]


def _named(lw: Lowerer, args: list[Value]) -> list[str]:
    """Give each argument a name that nothing else has."""
    names = [lw.fresh("folded") for _ in args]
    lw.env.update(zip(names, args, strict=True))
    return names


def _expression(lw: Lowerer, text: str, node: Any) -> Value:
    from s2sad.frontend.expressions import lower_expr

    return lower_expr(lw, _placed([gast.parse(text, mode="eval").body], node)[0])


def _placed(parts: list[Any], node: Any) -> list[Any]:
    """Give written code the place of the call that it stands for."""
    for part in parts:
        for inner in gast.walk(part):
            gast.copy_location(inner, node)
    return parts
