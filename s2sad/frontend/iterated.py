"""`itertools` over items whose number a run tells: written as the comprehension or the loop that each stands for."""

from __future__ import annotations

import builtins
import itertools
import operator
from collections.abc import Sequence
from typing import Any

import gast
import numpy as np

from s2sad.frontend.functional import bind_each, expression, placed
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import IterV, StaticV, StructV, V, Value
from s2sad.ir.nodes import Const

_IN_ZIP = "Use it beside others in `zip`, which says how many items there are."


def lower_chain(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`itertools.chain(a, b)`: the items of one after those of the other."""
    from s2sad.frontend.iteration import known_items

    found = [known_items(lw, arg) for arg in args]
    if any(items is None for items in found):
        return expression(lw, f"[{', '.join(f'*{name}' for name in bind_each(lw, _as_lists(lw, args, node)))}]", node)
    together = [item for items in found if items is not None for item in items]
    return StructV("list", tuple(range(len(together))), tuple(together))


def _as_lists(lw: Lowerer, args: Sequence[Value], node: Any) -> list[Value]:
    """Return what can be starred or sliced for each argument: an iterator becomes a list."""
    from s2sad.frontend.functional import lower_list
    from s2sad.frontend.values import RangeV

    return [lower_list(lw, arg, node) if isinstance(arg, IterV | RangeV) else arg for arg in args]


def lower_accumulate(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`itertools.accumulate(items, f, initial=a)`: running sums, or what else `f` makes of the last and the next."""
    from s2sad.frontend.calls import call_function
    from s2sad.frontend.displays import array_of

    fold = args[1] if len(args) > 1 else kwargs.get("func", StaticV(operator.add))
    if fold == StaticV(operator.add) and "initial" not in kwargs:
        return call_function(lw, np.cumsum, [array_of(lw, args[0], node)], {}, node)
    given, item, total, made = bind_each(lw, _as_lists(lw, args[:1], node))[0], *(lw.fresh(w) for w in _WORDS)
    (function,) = bind_each(lw, [fold])
    start, rest = f"{given}[0]", f"{given}[1:]"
    if "initial" in kwargs:
        (start,), rest = bind_each(lw, [kwargs["initial"]]), given
    return _filled(
        lw, f"{total} = {start}\n{made} = [{total}]\nfor {item} in {rest}:\n    {total} = {function}({total}, {item})\n"
        f"    {made}.append({total})\n", made, node)  # fmt: skip


_WORDS = ("item", "total", "made")


def lower_next(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`next(iter(d.values()))`: the first item; one of an iterator that has a name was written by its place before."""
    from s2sad.frontend.iteration import static_items

    known = static_items(lw, args[0])
    if len(args) == 1 and isinstance(node.args[0], gast.Call) and known:
        return known[0]
    if len(args) == 1 and isinstance(node.args[0], gast.Call) and isinstance(args[0], IterV) and args[0].kind == "iter":
        return expression(lw, f"{bind_each(lw, list(args[0].parts))[0]}[0]", node)
    if isinstance(node.args[0], gast.GeneratorExp):
        return lw.fail(node, "`next` cannot be followed here",
                       "For the first item that fits, ask in a `def`, in a line that is sure to ask once,\n"
                       "or write a loop that ends in `break`.")  # fmt: skip
    return lw.fail(node, "`next` cannot be followed here",
                   "Make the iterator and ask it in one function, `it = iter(x)`, `a = next(it)`, in lines that are\n"
                   "sure to ask once. Else index what it goes over, `x[0]`, `x[k]`, or loop over it.")  # fmt: skip


def lower_takewhile(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`itertools.takewhile(f, items)`: the items before the first that does not fit."""
    (test, given), item, made = bind_each(lw, args), lw.fresh("item"), lw.fresh("taken")
    stop = f"    if not {test}({item}):\n        break\n"
    text = f"{made} = []\nfor {item} in {given}:\n{stop}    {made}.append({item})\n"
    return _filled(lw, text, made, node)


def lower_dropwhile(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`itertools.dropwhile(f, items)`: the items from the first that does not fit."""
    (test, given), item, made, begun = bind_each(lw, args), lw.fresh("item"), lw.fresh("rest"), lw.fresh("begun")
    text = (
        f"{made} = []\n{begun} = False\nfor {item} in {given}:\n    {begun} = {begun} or not {test}({item})\n"
        f"    if {begun}:\n        {made}.append({item})\n"
    )
    return _filled(lw, text, made, node)


def lower_starmap(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`itertools.starmap(f, pairs)`: the calls with the items of each."""
    (function, given), item = bind_each(lw, args), lw.fresh("item")
    return expression(lw, f"[{function}(*{item}) for {item} in {given}]", node)


def lower_compress(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`itertools.compress(items, wanted)`: the items beside which something true stands."""
    given, wanted, together = bind_each(lw, [*args, StaticV(builtins.zip)])
    item, keep = lw.fresh("item"), lw.fresh("keep")
    return expression(lw, f"[{item} for {item}, {keep} in {together}({given}, {wanted}) if {keep}]", node)


def lower_islice(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`itertools.islice(items, start, stop, step)`: a slice."""
    from s2sad.frontend.iteration import static_items

    if isinstance(args[0], IterV) and args[0].kind in ENDLESS:
        return lw.fail(node, "`islice` of what has no end is not supported", _IN_ZIP)
    known = static_items(lw, args[0])
    whole = None if known is None else StructV("list", tuple(range(len(known))), tuple(known))
    items = whole or _as_lists(lw, args[:1], node)[0]
    given, *bounds = bind_each(lw, [items, *args[1:]])
    part = f":{bounds[0]}" if len(bounds) == 1 else ":".join(bounds)
    return expression(lw, f"{given}[{part}]", node)


def lower_repeat(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`itertools.repeat(v, n)`: n times the same; without `n`, as often as what stands beside it in `zip`."""
    times = args[1] if len(args) > 1 else kwargs.get("times")
    if times is None:
        return IterV("repeat", (_held(lw, args[0], node),))
    value, numbers, count, turn = *bind_each(lw, [args[0], StaticV(builtins.range), times]), lw.fresh("turn")
    return expression(lw, f"[{value} for {turn} in {numbers}({count})]", node)


def lower_count(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`itertools.count(start, step)`: numbers, as many as a loop takes, or what stands beside them in `zip`."""
    from s2sad.frontend.values import const

    start = args[0] if args else kwargs.get("start", const(0))
    step = args[1] if len(args) > 1 else kwargs.get("step", const(1))
    return IterV("count", (_held(lw, start, node), _held(lw, step, node)))


def lower_cycle(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`itertools.cycle(items)`: the items again and again, as many as what stands beside them in `zip`."""
    return IterV("cycle", (_held(lw, args[0], node),))


def _held(lw: Lowerer, value: Value, node: Any) -> Value:
    """Return a value as it is now, whatever a loop does to its name."""
    if not isinstance(value, V) or isinstance(value.expr, Const):
        return value
    return lw.store_value(lw.fresh("held"), value, lw.span(node))


def lower_zip_longest(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`itertools.zip_longest(a, b, fillvalue=0.0)`: tuples as many as the longest has items, filled up."""
    if "fillvalue" not in kwargs or kwargs["fillvalue"] == StaticV(None):
        return lw.fail(node, "`zip_longest` that fills up with None is not supported",
                       "Fill up with a number: `fillvalue=0.0`.")  # fmt: skip
    words = (builtins.range, builtins.max, builtins.len)
    numbers, most, length, fill = bind_each(lw, [*(StaticV(word) for word in words), kwargs["fillvalue"]])
    given, at = bind_each(lw, _as_lists(lw, args, node)), lw.fresh("place")
    items = ", ".join(f"{name}[{at}] if {at} < {length}({name}) else {fill}" for name in given)
    lengths = ", ".join(f"{length}({name})" for name in given)
    longest = lengths if len(given) == 1 else f"{most}({lengths})"
    return expression(lw, f"[({items},) for {at} in {numbers}({longest})]", node)


ENDLESS = ("repeat", "count", "cycle")
"""Iterators without an end."""


def endless_item(lw: Lowerer, items: IterV, at: Value, node: Any) -> Value:
    """Return the item that an iterator without an end has at a place."""
    if items.kind == "repeat":
        return items.parts[0]
    if items.kind == "count":
        start, step, place = bind_each(lw, [*items.parts, at])
        return expression(lw, f"{start} + {step} * {place}", node)
    given, length, place = bind_each(lw, [items.parts[0], StaticV(builtins.len), at])
    return expression(lw, f"{given}[{place} % {length}({given})]", node)


def is_endless(items: Value) -> bool:
    """Say whether an iterator has no end: one that `itertools` makes, or several beside each other."""
    if not isinstance(items, IterV):
        return False
    if items.kind == "zip":
        return all(is_endless(part) for part in items.parts)
    return items.kind in ENDLESS or (items.kind == "enumerate" and is_endless(items.parts[0]))


def loop_without_end(lw: Lowerer, node: Any, items: IterV) -> bool:
    """Lower `for k in count():`, which something in it leaves, as a `while True:` that counts."""
    from s2sad.frontend.expressions import as_expr
    from s2sad.frontend.statements import lower_block

    if not any(isinstance(part, gast.Break | gast.Return | gast.Raise) for s in node.body for part in gast.walk(s)):
        return refuse_endless(lw, items, node)
    stored = [part.id for s in node.body for part in gast.walk(s)
              if isinstance(part, gast.Name) and not isinstance(part.ctx, gast.Load)]  # fmt: skip
    own = node.target.id if isinstance(node.target, gast.Name) else ""
    counts = items.kind == "count" and all(isinstance(part, V) and _is_whole(part) for part in items.parts)
    alone = counts and own and own not in stored and own not in lw.env
    at = own if alone else lw.fresh("turn")
    first, step = bind_each(lw, list(items.parts)) if counts else ("0", "1")
    known: list[Any] = [getattr(as_expr(lw, part, node), "value", None) for part in items.parts] if counts else [0, 1]
    before = f"{first} - {step}" if None in known else str(known[0] - known[1])
    text = f"{at} = {before}\nwhile True:\n    {at} = {at} + {step}\n"
    begin, loop = placed(gast.parse(text).body, node)
    if not alone:
        (bind,) = placed(gast.parse(f"target = {at if counts else _text_at(lw, items, at)}").body, node)
        bind.targets = [node.target]
        loop.body.append(bind)
    loop.body += node.body
    return lower_block(lw, [begin, loop])


def _is_whole(value: V) -> bool:
    return getattr(value.expr.type, "dtype", "") == "int64"


def _text_at(lw: Lowerer, items: IterV, at: str) -> str:
    """Return the text of the item that an iterator without an end has at a place."""
    match items:
        case IterV("zip", parts):
            return f"({', '.join(_text_at(lw, part, at) for part in parts if isinstance(part, IterV))},)"
        case IterV("enumerate", (IterV() as part,), start):
            number = at if start is None else f"{at} + {bind_each(lw, [V(start)])[0]}"
            return f"({number}, {_text_at(lw, part, at)})"
        case IterV("repeat", (value,)):
            return bind_each(lw, [value])[0]
        case IterV("count", parts):
            start, step = bind_each(lw, list(parts))
            return f"{start} + {step} * {at}"
        case _:
            given, length = bind_each(lw, [items.parts[0], StaticV(builtins.len)])
            return f"{given}[{at} % {length}({given})]"


def refuse_endless(lw: Lowerer, items: IterV, node: Any) -> Any:
    """A located error where something without an end is gone through alone."""
    return lw.fail(node, f"`{items.kind}` has no end, and nothing here says how many of its items are used",
                   f"{_IN_ZIP}\nOr leave the loop: `break`, `return`.")  # fmt: skip


def _filled(lw: Lowerer, text: str, made: str, node: Any) -> Value:
    from s2sad.frontend.statements import lower_block

    lower_block(lw, placed(gast.parse(text).body, node))
    return lw.env[made]


LOWERED: dict[Any, Any] = {
    itertools.chain: lower_chain, itertools.accumulate: lower_accumulate, itertools.takewhile: lower_takewhile,
    itertools.dropwhile: lower_dropwhile, itertools.starmap: lower_starmap, itertools.compress: lower_compress,
    itertools.islice: lower_islice, itertools.repeat: lower_repeat, itertools.count: lower_count,
    itertools.cycle: lower_cycle, itertools.zip_longest: lower_zip_longest,
}  # fmt: skip
