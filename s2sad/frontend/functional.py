"""`map`, `sorted`, `functools.reduce`, `itertools`: written as the comprehension or the loop that they stand for."""

from __future__ import annotations

import builtins
import collections
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import gast
import numpy as np

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import IterV, RangeV, RowsV, StaticV, StructV, V, Value, const, keys_of, leaves_of, literal
from s2sad.ir.types import Array, ListOf, Scalar


def lower_map(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`map(f, a, b)`: a list of the calls."""
    if kwargs or len(args) < 2:
        return lw.fail(node, "`map` takes a function and what it is applied to")
    given, items = bind_each(lw, args), [lw.fresh("item") for _ in args[1:]]
    if len(args) == 2:
        return expression(lw, f"[{given[0]}({items[0]}) for {items[0]} in {given[1]}]", node)
    together = lw.fresh("zip")
    lw.env[together] = StaticV(builtins.zip)
    names = ", ".join(items)
    return expression(lw, f"[{given[0]}({names}) for {names} in {together}({', '.join(given[1:])})]", node)


@dataclass(frozen=True, slots=True)
class Partial:
    """A function with some of its arguments, as the kind of a structure of them."""

    positional: int


def lower_partial(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`functools.partial(f, a, b=c)`: the function and its arguments, as they are now."""
    del lw, node
    keys = ("func", *range(len(args) - 1), *kwargs)
    return StructV(Partial(len(args) - 1), keys, (*args, *kwargs.values()))


def call_partial(
    lw: Lowerer, made: StructV, args: list[Value], kwargs: dict[str, Value], node: Any
) -> Value:
    """Call a function with the arguments that it has, then those that are new."""
    from s2sad.frontend.calls import call_value

    assert isinstance(made.kind, Partial)
    first, last = made.items[1 : made.kind.positional + 1], made.kind.positional + 1
    named = dict(zip(made.keys[last:], made.items[last:], strict=True))
    return call_value(lw, made.items[0], [*first, *args], {**named, **kwargs}, node)


def lower_namedtuple(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`namedtuple("Point", "x y")`: one class, however often it is read."""
    from s2sad.frontend.arguments import UNKNOWN, known_value

    known = [known_value(arg) for arg in args]
    if len(known) != 2 or kwargs or any(value is UNKNOWN for value in known):
        return lw.fail(node, "only a namedtuple of a known name and known fields is read here", "Define it outside.")
    return StaticV(_namedtuple(*known))


@functools.cache
def _namedtuple(name: str, fields: Any) -> Any:
    make: Any = collections.namedtuple
    return make(name, fields)


def lower_list(lw: Lowerer, items: Value, node: Any) -> Value:
    """`list(zip(a, b))`: the items of an iterator."""
    (given,), item = bind_each(lw, [items]), lw.fresh("item")
    return expression(lw, f"[{item} for {item} in {given}]", node)


def lower_filter(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`filter(f, a)`: a list of the items that pass; with None, of those that are true."""
    if kwargs or len(args) != 2:
        return lw.fail(node, "`filter` takes a function and what it chooses from")
    given, item = bind_each(lw, args), lw.fresh("item")
    test = item if args[0] == StaticV(None) else f"{given[0]}({item})"
    return expression(lw, f"[{item} for {item} in {given[1]} if {test}]", node)


def lower_reduce(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`functools.reduce(f, a, start)`: a loop that carries one value."""
    from s2sad.frontend.statements import lower_block

    if kwargs or len(args) not in (2, 3):
        return lw.fail(node, "`reduce` takes a function, what it folds, and a start")
    given, item, total = bind_each(lw, args), lw.fresh("item"), lw.fresh("total")
    start, rest = (given[2], given[1]) if len(args) == 3 else (f"{given[1]}[0]", f"{given[1]}[1:]")
    text = f"{total} = {start}\nfor {item} in {rest}:\n    {total} = {given[0]}({total}, {item})\n"
    lower_block(lw, placed(gast.parse(text).body, node))
    return lw.env[total]


def lower_sorted(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`sorted(items)`: a list of numbers, of texts, or of tuples that begin with what is known or hold numbers."""
    from s2sad.frontend.arguments import known_value
    from s2sad.frontend.calls import call_function
    from s2sad.frontend.displays import array_of

    backwards = known_value(kwargs.get("reverse", const(False)))
    if len(args) != 1 or kwargs.keys() - {"reverse", "key"} or not isinstance(backwards, bool):
        return lw.fail(node, "`sorted` takes items, a key, and a `reverse` that is known at transform time")
    key = kwargs.get("key", StaticV(None))
    named = isinstance(args[0], StructV) and args[0].kind == "dict"
    items = keys_of(args[0]) if isinstance(args[0], StructV) and named else args[0]
    if isinstance(items, IterV):
        items = lower_list(lw, items, node)
    if key == StaticV(None) and (width := _width(items)):
        return _sorted_by_all(lw, items, width, backwards, node)
    if key != StaticV(None) or isinstance(items, RowsV):
        return _sorted_by(lw, items, key, backwards, node)
    if isinstance(items, StructV) and (named or _are_known(items)):
        return _sorted_now(lw, items, backwards, node)
    whole = array_of(lw, items, node)
    if isinstance(whole, V) and isinstance(whole.expr.type, Array) and len(whole.expr.type.dims) > 1:
        lw.fail(node, "arrays have no order", "Say what they are sorted by: `sorted(rows, key=lambda row: row[0])`.")
    ordered = call_function(lw, np.sort, [whole], {}, node)
    return _as_list(lw, call_function(lw, np.flip, [ordered], {}, node) if backwards else ordered, node)


_LONGEST = 16  # numbers in order that are written one by one


def _as_list(lw: Lowerer, ordered: Value, node: Any) -> Value:
    """Return the numbers of an array as the list that Python makes: `+` joins it to others, slices are copies."""
    from s2sad.frontend.expressions import list_of
    from s2sad.frontend.indexing import lower_index

    assert isinstance(ordered, V)
    assert isinstance(ordered.expr.type, Array)
    count = ordered.expr.type.dims[0]
    if not isinstance(count, int) or count > _LONGEST:
        return list_of(lw, ordered, node)
    whole = V(lw.atom(ordered.expr, "ordered", lw.span(node)))
    items = tuple(lower_index(lw, whole, [literal(place)], node) for place in range(count))
    return StructV("list", tuple(range(count)), items)


def _width(items: Value) -> int:
    """Return how many numbers each of these tuples holds, if they are tuples of numbers; else 0."""
    rows = items.items if isinstance(items, StructV) else (items,)
    tuples = all(isinstance(row, StructV | RowsV) and row.kind == "tuple" for row in rows)
    numbers = tuples and all(_is_number(item) for row in rows if isinstance(row, StructV | RowsV) for item in row.items)
    widths = {len(leaves_of(row)) if numbers else 0 for row in rows}
    known = isinstance(items, StructV) and _are_told_apart(rows)
    return widths.pop() if len(widths) == 1 and not known else 0


def _is_number(value: Value) -> bool:
    kind = value.expr.type if isinstance(value, V) else None
    return isinstance(kind.item if isinstance(kind, ListOf) else kind, Scalar)


def _are_told_apart(rows: Sequence[Value]) -> bool:
    """Say whether the first items of tuples are known, and tell their order."""
    from s2sad.frontend.arguments import UNKNOWN, known_value

    first = [known_value(row.items[0]) if isinstance(row, StructV) and row.items else UNKNOWN for row in rows]
    return UNKNOWN not in first and len(set(first)) == len(first)


def _sorted_by_all(lw: Lowerer, items: Value, width: int, backwards: bool, node: Any) -> Value:
    """Tuples of numbers: by the last number first, so that the first decides, and equal ones stay as they are."""
    given, order, item = *bind_each(lw, [items, StaticV(builtins.sorted)]), lw.fresh("item")
    text = given
    for place in range(width - 1, -1, -1):
        text = f"{order}({text}, key=lambda {item}: {item}[{place}], reverse={backwards})"
    return expression(lw, text, node)


def _are_known(items: StructV) -> bool:
    """Say whether the order of items is known, as of texts, of tuples that begin with a text, and of constants."""
    from s2sad.frontend.arguments import known_value

    kinds = {type(known_value(item)) for item in items.items}
    return kinds == {int} or any(isinstance(item, StructV | StaticV) for item in items.items)


def _are_texts(items: Value) -> bool:
    """Say whether these are known texts, or known tuples that hold some."""
    from s2sad.frontend.arguments import UNKNOWN, known_value

    known = [known_value(item) for item in items.items] if isinstance(items, StructV) else []
    return not any(item is UNKNOWN for item in known) and not all(map(_is_of_numbers, known))


def _is_of_numbers(item: Any) -> bool:
    return all(map(_is_of_numbers, item)) if isinstance(item, tuple) else isinstance(item, int | float)


def _sorted_now(lw: Lowerer, items: StructV, backwards: bool, node: Any) -> Value:
    """Texts, or tuples whose first items tell their order: it is known before the function runs."""
    from s2sad.frontend.arguments import UNKNOWN, known_value

    first = [known_value(i.items[0] if isinstance(i, StructV) and i.items else i) for i in items.items]
    whole = [known_value(item) for item in items.items]
    keys = whole if UNKNOWN not in whole else first
    if UNKNOWN in keys or (keys is first and len(set(first)) < len(first)):
        return lw.fail(node, "the order of these items is not known before the function runs",
                       "Give `sorted` a key that is a number: `key=lambda item: item[0]`.")  # fmt: skip
    try:
        order = sorted(range(len(keys)), key=lambda at: keys[at], reverse=backwards)
    except TypeError as error:
        return lw.fail(node, f"these items cannot be sorted: {error}")
    return StructV("list", tuple(range(len(order))), tuple(items.items[at] for at in order))


def _sorted_by(lw: Lowerer, items: Value, key: Value, backwards: bool, node: Any) -> Value:
    """The items in the order of their keys; those with equal keys stay as they are."""
    from s2sad.frontend import in_order, references, rows
    from s2sad.frontend.displays import array_of
    from s2sad.frontend.iteration import static_items
    from s2sad.frontend.ordered_texts import all_texts, by_key
    from s2sad.frontend.values import Referred

    if key == StaticV(None):
        return lw.fail(node, "`sorted` of records needs a key", "Write `key=lambda record: record[0]`.")
    of = in_order.sources(items)
    known = static_items(lw, items) if isinstance(items, IterV) else None
    if known is not None:
        items = StructV("list", tuple(range(len(known))), tuple(known))
        of += in_order.sources(items)
    if (names := all_texts(items)) is not None:
        return by_key(lw, names, key, backwards, node)
    if isinstance(items, StructV):
        items = rows.of_display(lw, items, node) or array_of(lw, items, node)
    moves = isinstance(items, RowsV) and items.by_reference
    if isinstance(items, RowsV):
        items = references.plain(rows.copied(lw, items, node))
        moves = moves and not isinstance(items.kind, Referred)
    else:
        items = array_of(lw, items, node)
        if not isinstance(items, V):
            return lw.fail(node, "`sorted` of items that are not known is not supported",
                           "Take the order from np.argsort of an array of the keys.")  # fmt: skip
    given, judge, array, argsort = bind_each(lw, [items, key, StaticV(np.array), StaticV(np.argsort)])
    item = lw.fresh("item")
    keys = expression(lw, f"{array}([{judge}({item}) for {item} in {given}])", node)
    order = order_of(lw, keys, argsort, backwards, node)
    if isinstance(items, RowsV):
        found = rows.ordered(lw, items, order, of, node)
        return references.in_their_place(lw, found, moves, node) if moves or references.are_objects(found) else found
    return _as_list(lw, in_order.in_order(lw, items, order.expr, of, node), node)


def order_of(lw: Lowerer, keys: Value, argsort: str, backwards: bool, node: Any) -> V:
    """Return the order of keys; of tuples by the last number first, so that the first decides."""
    kind = keys.expr.type if isinstance(keys, V) else None
    if not isinstance(keys, V) or not isinstance(kind, Array) or len(kind.dims) > 2:
        return lw.fail(node, "the keys of `sorted` are numbers, or tuples of numbers")
    sign = ("~" if kind.dtype == "bool" else "-") if backwards else ""
    (width,) = kind.dims[1:] or (1,)
    if len(kind.dims) < 2:
        (by,) = bind_each(lw, [keys])
        return _named_order(lw, f'{argsort}({sign}{by}, kind="stable")', node)
    if not isinstance(width, int):
        return lw.fail(node, "how many numbers a key of `sorted` has is not known")
    (by,) = bind_each(lw, [V(lw.atom(keys.expr, "keys", lw.span(node)))])
    order = _named_order(lw, f'{argsort}({sign}{by}[:, {width - 1}], kind="stable")', node)
    for place in range(width - 2, -1, -1):
        (so_far,) = bind_each(lw, [order])
        order = _named_order(lw, f'{so_far}[{argsort}({sign}{by}[{so_far}, {place}], kind="stable")]', node)
    return order


def _named_order(lw: Lowerer, text: str, node: Any) -> V:
    order = expression(lw, text, node)
    assert isinstance(order, V)
    return V(lw.atom(order.expr, "order", lw.span(node)))


def lower_extreme_by_key(lw: Lowerer, sign: str, args: list[Value], key: Value, node: Any) -> Value:
    """`max(items, key=f)`, and without a key of tuples: a loop that keeps the best so far, or where it stands."""
    from s2sad.frontend.iteration import static_items
    from s2sad.frontend.ordered_texts import all_texts, extreme
    from s2sad.frontend.statements import lower_block

    items: Value = args[0] if len(args) == 1 else StructV("list", tuple(range(len(args))), tuple(args))
    items = keys_of(items) if isinstance(items, StructV) and items.kind == "dict" else items
    if key != StaticV(None) and (names := all_texts(items)) is not None:
        return extreme(lw, sign, names, key, node)
    if key != StaticV(None) and _are_texts(items):
        return lw.fail(node, "which of several texts is chosen is known only when the function runs",
                       "Compare the values themselves, `max(d.values())`, or choose among numbers.")  # fmt: skip
    if isinstance(items, IterV) and static_items(lw, items) is None:
        items = lower_list(lw, items, node)
    given, judge = bind_each(lw, [items, key])
    judge = "" if key == StaticV(None) else judge
    best, best_key, item, found = (lw.fresh(word) for word in ("best", "best_key", "item", "key"))
    if isinstance(items, V | RowsV) and static_items(lw, items) is None:
        count, turns = bind_each(lw, [StaticV(builtins.len), StaticV(builtins.range)])
        text = (
            f"{best} = 0\n{best_key} = {judge}({given}[0])\n"
            f"for {item} in {turns}(1, {count}({given})):\n    {found} = {judge}({given}[{item}])\n"
            f"    if {found} {sign} {best_key}:\n        {best} = {item}\n        {best_key} = {found}\n"
        )
        lower_block(lw, placed(gast.parse(text).body, node))
        return expression(lw, f"{given}[{best}]", node)
    text = (
        f"{best} = {given}[0]\n{best_key} = {judge}({best})\n"
        f"for {item} in {given}[1:]:\n    {found} = {judge}({item})\n"
        f"    if {found} {sign} {best_key}:\n        {best} = {item}\n        {best_key} = {found}\n"
    )
    lower_block(lw, placed(gast.parse(text).body, node))
    return lw.env[best]


def lower_extreme_or_default(lw: Lowerer, extreme: Any, items: Value, kwargs: dict[str, Value], node: Any) -> Value:
    """`max(items, default=d)`: the default where there are no items."""
    from s2sad.frontend.calls import call_function
    from s2sad.frontend.iteration import static_items

    rest = {name: value for name, value in kwargs.items() if name != "default"}
    known = static_items(lw, items)
    if known is not None:
        return call_function(lw, extreme, [items], rest, node) if known else kwargs["default"]
    items = items if isinstance(items, V | RowsV) else lower_list(lw, items, node)
    given, choose, default, *judge = bind_each(lw, [items, StaticV(extreme), kwargs["default"], *rest.values()])
    named = "".join(f", {name}={value}" for name, value in zip(rest, judge, strict=True))
    return expression(lw, f"{choose}({given}{named}) if len({given}) > 0 else {default}", node)


_FEW = 8
"""How many tuples of known numbers a loop is written out for."""


def lower_product(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`itertools.product(range(n), range(m))`: the indices of a grid; of known items, all their tuples; else a list."""
    from s2sad.frontend.arguments import known_value
    from s2sad.frontend.iteration import known_items

    if not kwargs and all(isinstance(a, RangeV) and _is(a.start, 0) and _is(a.step, 1) for a in args):
        return IterV("ndindex", tuple(V(a.stop) for a in args if isinstance(a, RangeV)))
    repeat = known_value(kwargs["repeat"]) if kwargs and set(kwargs) <= {"repeat"} else 1 if not kwargs else None
    if isinstance(repeat, int) and len(args) * repeat > 0:
        known = [known_items(lw, arg) for arg in args]
        if all(isinstance(arg, RangeV) for arg in args):
            if None in known or math.prod(len(items or ()) for items in known) ** repeat > _FEW:
                return IterV("grid", tuple(args) * repeat)
        elif None in known:
            return _nested_pairs(lw, args, repeat, node)
    return _combined(itertools.product)(lw, args, kwargs, node)


def _nested_pairs(lw: Lowerer, args: list[Value], repeat: int, node: Any) -> Value:
    """Return the list of tuples that nested loops over the arguments give."""
    given = bind_each(lw, args) * repeat
    items = [lw.fresh("item") for _ in given]
    loops = " ".join(f"for {item} in {name}" for item, name in zip(items, given, strict=True))
    return expression(lw, f"[({', '.join(items)},) {loops}]", node)


def _is(expr: Any, number: int) -> bool:
    return getattr(expr.type, "value", None) == number


def _combined(make: Callable[..., Iterable[tuple[Any, ...]]]) -> Any:
    """Return the lowering of a function of `itertools` that makes tuples of known items."""

    def lower(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        from s2sad.frontend.arguments import UNKNOWN, known_value
        from s2sad.frontend.iteration import known_items

        given: list[Any] = []
        for position, arg in enumerate(args):
            items = known_items(lw, arg)
            number = known_value(arg)
            if items is None and (number is UNKNOWN or position == 0):
                return lw.fail(node, f"`{make.__name__}` of items whose number is not known is not supported",
                               "Write nested loops over the indices.")  # fmt: skip
            given.append(items if items is not None else number)
        named = {name: known_value(value) for name, value in kwargs.items()}
        if UNKNOWN in named.values():
            return lw.fail(node, f"`{make.__name__}` needs a number here that is known before the function runs",
                           "Write nested loops over the indices, or give the number as a constant.")  # fmt: skip
        rows = list(make(*given, **named))
        tuples = [StructV("tuple", tuple(range(len(row))), row) for row in rows]
        return StructV("list", tuple(range(len(tuples))), tuple(tuples))

    return lower


def lower_combinations(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`itertools.combinations(items, 2)`: each item with each behind it; of known items, any number of them."""
    from s2sad.frontend.arguments import known_value
    from s2sad.frontend.iteration import known_items

    if len(args) == 2 and known_items(lw, args[0]) is None and known_value(args[1]) == 2:
        items = lower_list(lw, args[0], node) if isinstance(args[0], IterV) else args[0]
        given, numbers, length = bind_each(lw, [items, StaticV(builtins.range), StaticV(builtins.len)])
        i, j = lw.fresh("i"), lw.fresh("j")
        count = f"{length}({given})"
        pairs = f"({given}[{i}], {given}[{j}])"
        text = f"[{pairs} for {i} in {numbers}({count}) for {j} in {numbers}({i} + 1, {count})]"
        return expression(lw, text, node)
    return _combined(itertools.combinations)(lw, args, kwargs, node)


lower_combinations_with_replacement = _combined(itertools.combinations_with_replacement)
lower_permutations = _combined(itertools.permutations)


def lower_pairwise(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`itertools.pairwise(items)`: each item with the next."""
    items = lower_list(lw, args[0], node) if isinstance(args[0], IterV) else args[0]
    given, together = bind_each(lw, [items, StaticV(builtins.zip)])
    return expression(lw, f"{together}({given}[:-1], {given}[1:])", node)


def lower_fromiter(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`np.fromiter(items, dtype)`: the array of the items."""
    from s2sad.frontend.calls import call_function

    named = dict(zip(("dtype",), args[1:2], strict=False)) | {k: v for k, v in kwargs.items() if k == "dtype"}
    made = call_function(lw, np.array, args[:1], {}, node)
    return call_function(lw, np.asarray, [made], named, node)


FOLDED = "folded"
"""How the names begin by which calls that are written out have their arguments."""


def bind_each(lw: Lowerer, args: list[Value]) -> list[str]:
    """Give each argument a name that nothing else has, and that nothing reads once the call is written out."""
    names = [lw.fresh(FOLDED) for _ in args]
    lw.env.update(zip(names, args, strict=True))
    return names


def expression(lw: Lowerer, text: str, node: Any) -> Value:
    """Lower an expression that is written here, in the place of a call."""
    from s2sad.frontend.expressions import lower_expr

    return lower_expr(lw, placed([gast.parse(text, mode="eval").body], node)[0])


def placed(parts: list[Any], node: Any) -> list[Any]:
    """Give written code the place of the call that it stands for."""
    for part in parts:
        for inner in gast.walk(part):
            gast.copy_location(inner, node)
    return parts
