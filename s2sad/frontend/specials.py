"""Built-in functions, and NumPy functions that are no plain calls: what each means while a program is read."""

from __future__ import annotations

import array
import builtins
import collections
import copy
import dataclasses
import functools
import itertools
import logging
import operator
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.errors import AliasError
from s2sad.frontend import formatted, inherited, iterated, keyed, objects, pickers, records, references, rows
from s2sad.frontend.arguments import UNKNOWN, known_value
from s2sad.frontend.calls import call_function, library_call
from s2sad.frontend.comparisons import set_of
from s2sad.frontend.displays import row_of_numbers
from s2sad.frontend.expansion import refuse
from s2sad.frontend.expressions import as_expr, list_of, lower_bool, outside_value, whole_number
from s2sad.frontend.functional import (
    lower_combinations,
    lower_combinations_with_replacement,
    lower_extreme_by_key,
    lower_extreme_or_default,
    lower_filter,
    lower_fromiter,
    lower_list,
    lower_map,
    lower_namedtuple,
    lower_pairwise,
    lower_partial,
    lower_permutations,
    lower_product,
    lower_reduce,
    lower_sorted,
)
from s2sad.frontend.indexing import length_of_range
from s2sad.frontend.iteration import check_reach, emit_loop, indexable, known_items, static_items
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.methods import attribute
from s2sad.frontend.operators import apply, build
from s2sad.frontend.summed import sum_of_arrays
from s2sad.frontend.values import (
    Cell,
    ItemCell,
    IterV,
    RangeV,
    RowsV,
    SliceV,
    StaticV,
    StructV,
    V,
    Value,
    const,
    literal,
)
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Const, Expr, If, Raise, Var
from s2sad.ir.types import Array, ListOf, Scalar, Static, Sym, Type, is_complex, not_one, rank


def _range(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    exprs = [whole_number(lw, as_expr(lw, a, node), "`range` counts by whole numbers", node) for a in args]
    start = exprs[0] if len(exprs) > 1 else literal(0)
    stop = exprs[1] if len(exprs) > 1 else exprs[0]
    return RangeV(start, stop, exprs[2] if len(exprs) > 2 else literal(1))


def _iterator(kind: str) -> Any:
    def lower(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        if kind == "reversed" and isinstance(args[0], RangeV):
            return reversed_range(args[0])
        start = kwargs.get("start") or (args[1] if kind == "enumerate" and len(args) > 1 else None)
        parts = tuple(args[:1]) if kind != "zip" else tuple(args)
        if kind == "zip" and known_value(kwargs.get("strict", const(False))) is True:
            _check_lengths(lw, parts, node)
        return IterV(kind, parts, None if start is None else as_expr(lw, start, node))

    return lower


def _check_lengths(lw: Lowerer, parts: tuple[Value, ...], node: Any) -> None:
    """`zip(..., strict=True)`: an error where the lengths differ."""
    known = [static_items(lw, part) for part in parts]
    lengths = [
        literal(len(items)) if items is not None else indexable(lw, part, node)[0]
        for items, part in zip(known, parts, strict=True)
    ]
    for other in lengths[1:]:
        differ = build(operator.ne, lengths[0], other)
        if isinstance(lengths[0], Const) and isinstance(other, Const):
            if lengths[0].value != other.value:
                lw.fail(node, "what is zipped differs in length")
        elif other != lengths[0]:
            text = Const("zip: the lengths differ", Static("zip: the lengths differ"))
            lw.emit(If(differ, (Raise(ValueError, (text,), lw.span(node)),), (), lw.span(node)))


def _ndindex(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    shape = args[0].items if len(args) == 1 and isinstance(args[0], StructV) else tuple(args)
    return IterV("ndindex", tuple(shape))


def _unread(name: str, way_out: str) -> Any:
    def lower(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        return lw.fail(node, f"`{name}` is not supported in a differentiated function", way_out)

    return lower


def reversed_range(value: RangeV) -> RangeV:
    """`reversed(range(a, b))` counts down; another step than 1 first finds the last item."""
    step = getattr(value.step.type, "value", None)
    if step == 1:
        return RangeV(_one_less(value.stop), _one_less(value.start), literal(-1))
    last = build(operator.add, value.start, build(operator.mul, _one_less(length_of_range(value)), value.step))
    return RangeV(last, build(operator.sub, value.start, value.step), build(operator.neg, value.step))


def _one_less(bound: Expr) -> Expr:
    if isinstance(bound, Const) and isinstance(bound.value, int):
        return literal(bound.value - 1)
    return build(operator.sub, bound, literal(1))


def _len(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    formatted.refuse_parts(lw, args[0], node)
    match args[0]:
        case StructV(_, keys, _):
            return const(len(keys))
        case RowsV():
            return V(rows.length(args[0]))
        case StaticV(obj):
            return const(len(obj))
        case RangeV():
            return V(length_of_range(args[0]))
        case V(expr) if isinstance(expr.type, Array):
            return V(build(ops.dim, expr, literal(0)))
        case V(expr) if isinstance(expr.type, ListOf):
            return V(Apply(ops.length, (expr,), Scalar("int64", True)))
        case _:
            return lw.fail(node, "the length of this value is not known")


def _sum_of_objects(lw: Lowerer, total: Value, items: list[Value], node: Any) -> Value:
    """`sum` of objects whose class says what `+` means, from the start on."""
    for item in items:
        added = records.operated(lw, operator.add, total, item, node)
        if added is None:
            return lw.fail(node, "these objects cannot be added to what comes before them, which is 0 at first",
                           "Give their class an `__radd__`, or `sum` a start.")  # fmt: skip
        total = added
    return total


def _sum(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    start = args[1] if len(args) > 1 else kwargs.get("start", const(0))
    items = static_items(lw, args[0])
    if items is not None:
        total = start
        if isinstance(start, StructV) and start.kind in ("list", "tuple"):
            lists = [start, *(item for item in items if isinstance(item, StructV) and item.kind == start.kind)]
            if len(lists) == len(items) + 1:
                joined = [part for held in lists for part in held.items]
                return StructV(start.kind, tuple(range(len(joined))), tuple(joined))
        if any(isinstance(item, StructV) and isinstance(item.kind, type) for item in items):
            return _sum_of_objects(lw, start, items, node)
        if isinstance(start, V) and isinstance(start.expr, Const) and start.expr.value == 0 and items:
            total, items = items[0], items[1:]
        for item in items:
            total = apply(lw, operator.add, (as_expr(lw, total, node), as_expr(lw, item, node)), {}, node)
        return total
    from s2sad.frontend.iteration import indexable

    length, item_at = indexable(lw, args[0], node)
    first = as_expr(lw, start, node)
    kind = as_expr(lw, item_at(literal(0)), node).type
    if not isinstance(kind, Scalar):
        return sum_of_arrays(lw, args[0], start, node)
    if isinstance(first, Const) and not isinstance(first.value, float):
        first = literal(float(first.value)) if kind.dtype.startswith("float") else first
    total = Var(lw.fresh("total"), build(operator.add, first, as_expr(lw, item_at(literal(0)), node)).type)
    span = lw.span(node)
    lw.emit(Assign(total, first, span))

    def body(i: Expr) -> None:
        item = as_expr(lw, item_at(i), node)
        lw.emit(Assign(total, build(operator.add, total, item), span))

    emit_loop(lw, length, "i", body, node)
    return V(total)


def _extreme(scalar: Any, whole: Any) -> Any:
    def lower(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        sign = ">" if scalar is builtins.max else "<"
        if "default" in kwargs and len(args) == 1:
            return lower_extreme_or_default(lw, scalar, args[0], kwargs, node)
        if kwargs.keys() == {"key"}:
            return lower_extreme_by_key(lw, sign, args, kwargs["key"], node)
        if kwargs:
            return lw.fail(node, f"`{scalar.__name__}` takes items, a `key` and a `default`")
        if len(args) == 1:
            items = static_items(lw, args[0])
            if items is None:
                value = lower_list(lw, args[0], node) if isinstance(args[0], IterV) else args[0]
                if isinstance(value, RowsV):
                    return lower_extreme_by_key(lw, sign, [value], StaticV(None), node)
                if isinstance(value, V) and rank(value.expr.type) > 1:
                    lw.fail(node, f"`{scalar.__name__}` goes over the rows of this array, which have no order",
                            f"Use `np.{scalar.__name__}`, or say what rows are compared by: `key=np.sum`.")  # fmt: skip
                if isinstance(value, V) and isinstance(value.expr.type, ListOf):
                    value = call_function(lw, np.array, [value], {}, node)
                return call_function(lw, whole, [value], {}, node)
            args = items
        if any(isinstance(item, StructV) for item in args):
            return lower_extreme_by_key(lw, sign, args, StaticV(None), node)
        result = args[0]
        for other in args[1:]:
            result = apply(lw, scalar, (as_expr(lw, result, node), as_expr(lw, other, node)), {}, node)
        return result

    return lower


def _hasattr(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """A module, class or other object known beforehand has an attribute or has not, and so has a record."""
    match args:
        case [StaticV(obj), StaticV(str() as name)]:
            return StaticV(hasattr(obj, name))
        case [StructV(kind, keys, _), StaticV(str() as name)] if isinstance(kind, type):
            return StaticV(name in keys or hasattr(kind, name))
        case [(V() | StructV()) as value, StaticV(str() as name)]:
            return StaticV(hasattr(class_of(value), name))
        case _:
            return lw.fail(node, "`hasattr` of what is computed is not known when the derivative is written",
                           "Ask `isinstance`, or pass a flag.")  # fmt: skip


def _getattr(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`getattr(o, "k")` is `o.k`."""
    name = known_value(args[1])
    if not isinstance(name, str):
        return lw.fail(node, "which attribute `getattr` reads is not known when the derivative is written",
                       "Loop over the names themselves: `for name in (\"a\", \"b\"): getattr(o, name)`.")  # fmt: skip
    if len(args) == 3 and known_value(_hasattr(lw, args[:2], {}, node)) is False:
        return args[2]
    return attribute(lw, args[0], name, node)


def _callable(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    match args:
        case [StaticV(obj)]:
            return StaticV(callable(obj))
        case [StructV(kind)]:
            return StaticV(isinstance(kind, type) and hasattr(kind, "__call__"))
        case [V()]:
            return StaticV(False)
        case _:
            return StaticV(True)


def _isinstance(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    classes = known_value(args[1])
    return StaticV(issubclass(class_of(args[0]), classes if isinstance(classes, tuple) else (classes,)))


def class_of(value: Value) -> type:
    """Return the class that a value has in CPython."""
    match value:
        case V(expr):
            match expr.type:
                case Array():
                    return np.ndarray
                case ListOf():
                    return list
                case Scalar(dtype, weak):
                    plain = {"bool": bool, "int64": int, "float64": float, "complex128": complex}
                    return plain[dtype] if weak and dtype in plain else np.dtype(dtype).type
                case _:
                    return object
        case RowsV():
            return list
        case StructV(kind, _, _):
            return {"tuple": tuple, "list": list, "dict": dict}.get(kind, object) if isinstance(kind, str) else kind
        case StaticV(obj):
            return type(obj)
        case SliceV():
            return slice
        case _:
            return object


def _refused(name: str) -> Any:
    def lower(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        return lw.fail(node, f"`{name}` cannot be differentiated", "Pass what it gives as an argument instead.")

    return lower


def _of_objects(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    return lw.fail(node, "`np.frompyfunc` gives arrays of objects, which have no derivative", "Use `np.vectorize`.")


def _container(kind: str) -> Any:
    def lower(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        if kind == "dict":
            given = args[0] if args else StructV("dict", (), ())
            given = _of_pairs(lw, given, node) or given
            if not (isinstance(given, StructV) and given.kind == "dict"):
                return lw.fail(node, "only a dict of known keys can be copied with `dict`, and pairs with known keys",
                               "Write the keys in the text, as in `dict(zip((\"a\", \"b\"), x))`.")  # fmt: skip
            both = dict(zip(given.keys, given.items, strict=True)) | kwargs
            return StructV("dict", tuple(both), tuple(both.values()))
        if not args and kind == "list" and id(node) in lw.ctx.growing_displays:
            from s2sad.frontend.assignments import dynamic_list

            return dynamic_list(lw, lw.fresh("items"), StructV("list", (), ()), node)
        if not args:
            return StructV(kind, (), (), origin=id(node) if kind == "list" else 0)
        items = static_items(lw, args[0])
        if items is None:
            if isinstance(args[0], RowsV):
                return rows.copied(lw, args[0], node)
            if kind == "tuple" and (known := row_of_numbers(lw, args[0], node)) is not None:
                return known
            if isinstance(args[0], V) and isinstance(args[0].expr.type, ListOf | Array):
                return list_of(lw, args[0], node)
            if isinstance(args[0], IterV | RangeV):
                return lower_list(lw, args[0], node)
            return lw.fail(node, f"`{kind}` of a value of unknown length is not supported")
        return StructV(kind, tuple(range(len(items))), tuple(items))

    return lower


def _typed_array(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`array.array("d", items)` is a list of floats."""
    if not args or known_value(args[0]) != "d":
        return lw.fail(node, "only arrays of doubles are lists of numbers here", 'Give it the type code "d".')
    made = _container("list")(lw, args[1:], kwargs, node)
    if isinstance(made, StructV):
        return replace(made, items=tuple(call_function(lw, float, [item], {}, node) for item in made.items))
    kind = made.expr.type if isinstance(made, V) else None
    if isinstance(kind, ListOf) and isinstance(kind.item, Scalar) and kind.item.dtype != "float64":
        floats = call_function(lw, np.array, [made], {"dtype": StaticV(float)}, node)
        return list_of(lw, V(as_expr(lw, floats, node)), node)
    return made


def _from_keys(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`dict.fromkeys(keys, value)`."""
    items = static_items(lw, args[0])
    keys = [known_value(item) for item in items or ()]
    if items is None or any(key is UNKNOWN for key in keys):
        keyed.begin_again(lw, keyed.given_to(lw, node))
        return lw.fail(node, "the keys of this dict are not known before the function runs",
                       "Begin with `{}`, and put the items in one by one: `d[k] = v`.")  # fmt: skip
    value = args[1] if len(args) > 1 else StaticV(None)
    return StructV("dict", tuple(dict.fromkeys(keys)), (value,) * len(set(keys)))


def _deque(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`deque(items)` is a list; one of a most length, under a local name, is cut where something is added to it."""
    most = known_value(args[1] if len(args) > 1 else kwargs.get("maxlen", StaticV(None)))
    if most is not None and not hasattr(node, "bounded"):
        return lw.fail(node, "a `deque` with `maxlen` is read under a local name only, bound once and handed to nobody",
                       "Use a list: `items = [*items[1:], new]` keeps the last ones.")  # fmt: skip
    return _container("list")(lw, args[:1], {}, node)


def _of_pairs(lw: Lowerer, given: Value, node: Any) -> StructV | None:
    """`dict(zip("ab", x))`, `dict([("a", x), ("b", y)])`: the keys are known, later ones win."""
    if isinstance(given, StructV) and given.kind == "dict":
        return None
    pairs = [static_items(lw, item) for item in static_items(lw, given) or ()]
    made: dict[Any, Value] = {}
    for pair in pairs:
        key = known_value(pair[0]) if pair is not None and len(pair) == 2 else UNKNOWN
        if key is UNKNOWN or pair is None:
            return None
        made[key] = pair[1]
    if pairs:
        check_reach(lw, given, len(pairs), node)
    return StructV("dict", tuple(made), tuple(made.values())) if pairs else None


def _set(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    items = known_items(lw, args[0]) if args else []
    if items is None:
        return lw.fail(node, "a set of values that are not known here is not supported",
                       "Sets have no order; use a list or an array.")  # fmt: skip
    return set_of(lw, items, node)


def _copy(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """A container of the same items."""
    match args[0]:
        case StructV():
            return replace(args[0], cell=None)
        case V(expr) if isinstance(expr.type, Array):
            return call_function(lw, np.copy, args, {}, node)
        case V(expr) if isinstance(expr.type, ListOf):
            return list_of(lw, args[0], node)
        case RowsV():
            return rows.copied(lw, args[0], node)
        case _:
            return args[0]


def _deep_copy(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Containers and arrays anew at every depth; what stood at two places still does."""
    cells: dict[Cell, Cell] = {}
    arrays: dict[Expr, Value] = {}
    whole = args[0]

    def copied(value: Value) -> Value:
        if isinstance(value, RowsV):
            if references.refers_to(value):
                lw.fail(node, "a list of objects that stand in another list is copied with them",
                        "Copy the list that the objects stand in, and make this one anew.", AliasError)  # fmt: skip
            return replace(value, items=tuple(copied(item) for item in value.items))
        if isinstance(value, StructV):
            if isinstance(value.cell, ItemCell) and value is not whole:
                lw.fail(node, "an object of a list is copied beside the list, and objects of the list are written",
                        "Copy the list, and take the object from the copy by its place.", AliasError)  # fmt: skip
            cell = cells.setdefault(value.cell, Cell()) if value.cell is not None else None
            return replace(value, items=tuple(copied(item) for item in value.items), cell=cell)
        if isinstance(value, V) and isinstance(value.expr.type, Array | ListOf):
            if value.expr not in arrays:
                of_arrays = isinstance(value.expr.type, ListOf) and not isinstance(value.expr.type.item, Scalar | None)
                made = _each_anew(lw, value, value.expr.type, node) if of_arrays else _copy(lw, [value], {}, node)
                copied_array = as_expr(lw, made, node)
                arrays[value.expr] = V(lw.atom(copied_array, "copied", lw.span(node)))
            return arrays[value.expr]
        return value

    return copied(args[0])


def _each_anew(lw: Lowerer, value: V, kind: Type, node: Any) -> Value:
    """Return a list of copies of what a list holds."""
    from s2sad.frontend.functional import bind_each, expression

    anew, items = bind_each(lw, [StaticV(np.copy), value])
    depth, text = 0, "item_0"
    while isinstance(kind, ListOf):
        kind, depth = kind.item, depth + 1  # type: ignore[assignment]
    text = f"{anew}(item_{depth})" if isinstance(kind, Array) else f"item_{depth}"
    for level in range(depth, 0, -1):
        text = f"[{text} for item_{level} in {f'item_{level - 1}' if level > 1 else items}]"
    return expression(lw, text, node)


def _replace(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`dataclasses.replace(record, field=value)`."""
    given = args[0].value if isinstance(args[0], StaticV) else None
    if dataclasses.is_dataclass(given) and not isinstance(given, type):
        read = [
            outside_value(lw, getattr(given, f.name), f.name, node, functools.partial(getattr, given, f.name))
            for f in dataclasses.fields(given)
        ]
        own = {f.name: value for f, value in zip(dataclasses.fields(given), read, strict=True)}
        return objects.changed(lw, StructV(type(given), tuple(own), tuple(own.values())), kwargs, node)
    if not (isinstance(args[0], StructV) and hasattr(args[0].kind, "__dataclass_fields__")):
        return lw.fail(node, "only a dataclass has fields to replace")
    return objects.changed(lw, args[0], kwargs, node)


def _isscalar(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Known from the type."""
    if isinstance(args[0], StaticV):
        return StaticV(bool(np.isscalar(args[0].value)))
    return StaticV(isinstance(args[0], V) and isinstance(args[0].expr.type, Scalar))


def _iterable(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Known from the type."""
    if isinstance(args[0], StaticV):
        return StaticV(bool(np.iterable(args[0].value)))
    return StaticV(not (isinstance(args[0], V) and isinstance(args[0].expr.type, Scalar)))


def _isrealobj(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Known from the type."""
    return StaticV(not known_value(_iscomplexobj(lw, args, kwargs, node)))


def _iscomplexobj(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Known from the type."""
    return StaticV(isinstance(args[0], V) and is_complex(args[0].expr.type))


def _conjugate(fn: Any) -> Any:
    """In a rule the conjugate of real numbers is left out; a user's own call stays."""

    def lower(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        if lw.in_rule and isinstance(args[0], V) and not is_complex(args[0].expr.type):
            return args[0]
        return library_call(lw, fn, args, kwargs, node)

    return lower


def _fortran(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """An array whose transpose lies in C order: the array itself where that is so already."""
    dtype = args[1] if len(args) > 1 else kwargs.get("dtype")
    if dtype is not None or not isinstance(args[0], V):
        args = [call_function(lw, np.asarray, args[:1], {} if dtype is None else {"dtype": dtype}, node)]
    kind = args[0].expr.type if isinstance(args[0], V) else None
    if not isinstance(kind, Array):
        return library_call(lw, np.asfortranarray, args, kwargs, node)
    turned = call_function(lw, np.transpose, args, {}, node)
    return call_function(lw, np.transpose, [call_function(lw, np.ascontiguousarray, [turned], {}, node)], {}, node)


def _divmod(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    pair = (as_expr(lw, args[0], node), as_expr(lw, args[1], node))
    parts = tuple(apply(lw, fn, pair, {}, node) for fn in (operator.floordiv, operator.mod))
    return StructV("tuple", (0, 1), parts)


def _message(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """A warning or a line of a log changes no number: a derivative does not give it again."""
    return StaticV(None)


def _print(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    flat: list[Value] = []
    for arg in args:
        flat.extend(formatted.printed(arg) if isinstance(arg, StructV) and formatted.is_unknown(arg) else [arg])
    exprs = tuple(as_expr(lw, a, node) for a in flat)
    return V(Apply(print, exprs, Static(None)))


def _breakpoint(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Stop in the emitted primal sweep; a rule that stops runs as it is, on its own lines."""
    if lw.ctx.in_rule or not lw.ctx.as_is:
        lw.fail(node, "`breakpoint` is not compiled", 'Use target="python" while you look.')
    return V(Apply(breakpoint, (), Static(None)))


def _logical(fn: Any, is_and: bool) -> Any:
    """`all(...)`/`any(...)` over known items; over arrays they are NumPy's."""

    def lower(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        items = static_items(lw, args[0])
        if items is None:
            return call_function(lw, np.all if is_and else np.any, args, kwargs, node)
        exprs = tuple(as_expr(lw, item, node) for item in items)
        return V(Apply(ops.both if is_and else ops.either, exprs, Scalar("bool", True)))

    return lower


def _shape(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    from s2sad.frontend.methods import attribute

    return attribute(lw, args[0], "shape", node)


def _ndim(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    from s2sad.frontend.methods import attribute

    return attribute(lw, args[0], "ndim", node)


def _size(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """The number of elements, along one axis or several if they are named."""
    from s2sad.frontend.methods import attribute

    axis = known_value([*args[1:], *kwargs.values(), StaticV(None)][0])
    if axis is None:
        return attribute(lw, args[0], "size", node)
    sizes = attribute(lw, args[0], "shape", node)
    axes = axis if isinstance(axis, tuple) else (axis,)
    if not isinstance(sizes, StructV) or not all(isinstance(k, int) and abs(k) <= len(sizes.items) for k in axes):
        return lw.fail(node, "the axis of `size` must be a known axis of an array")
    parts = [as_expr(lw, sizes.items[k], node) for k in axes]
    return V(functools.reduce(functools.partial(build, operator.mul), parts))


def _broadcast_shapes(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """The lengths that shapes come to together: of each axis the one that is not 1."""
    shapes = [arg.items if isinstance(arg, StructV) else (arg,) for arg in args]
    lengths: list[Value] = []
    for axis in range(-max(len(shape) for shape in shapes), 0):
        found: list[Expr] = []
        for shape in shapes:
            if len(shape) >= -axis:
                length = as_expr(lw, shape[axis], node)
                if known_value(shape[axis]) != 1 and length not in found:
                    found.append(length)
        kinds = [getattr(length.type, "value", None) for length in found]
        dims = zip(found, kinds, strict=True)
        sure = [length for length, dim in dims if isinstance(dim, int | Sym) and not_one(dim)]
        if sure or len(found) < 2:
            lengths.append(V([*sure, *found, literal(1)][0]))
        else:
            lengths.append(call_function(lw, builtins.max, [V(length) for length in found], {}, node))
    return StructV("tuple", tuple(range(len(lengths))), tuple(lengths))


def _astype(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    from s2sad.frontend.methods import converted

    named = dict(zip(("dtype",), args[1:], strict=False)) | kwargs
    return converted(lw, V(as_expr(lw, args[0], node)), named, True, node)


def _about_types(fn: Any) -> Any:
    """What says something of types alone (`np.finfo`, `np.result_type`) is known beforehand."""

    def kind(value: Value) -> Any:
        match value:
            case V(expr) if isinstance(expr.type, Array):
                return np.dtype(expr.type.dtype)
            case V(expr) if isinstance(expr.type, Scalar):
                if fn is np.result_type and expr.type.weak:
                    return class_of(value)(0)  # a Python number: it takes part by its kind alone
                return np.dtype(expr.type.dtype)
            case _:
                return known_value(value)

    def lower(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        given = [kind(value) for value in args]
        named = {name: kind(value) for name, value in kwargs.items()}
        if any(value is UNKNOWN for value in [*given, *named.values()]):
            return lw.fail(node, f"`{fn.__name__}` is asked about a type that is not known beforehand")
        found = fn(*given, **named)
        return StaticV(found)

    return lower


def _vectorize(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`np.vectorize(f)`: what calls `f` for every element."""
    from s2sad.rules.rearranging import vectorized

    if len(args) != 1 or kwargs.keys() - {"otypes", "cache", "doc"}:
        return lw.fail(node, "`vectorize` is read for a function alone, without `excluded` or `signature`",
                       "Write the loop, or use s2sad.vmap.")  # fmt: skip
    return lower_partial(lw, [StaticV(vectorized), *args], {}, node)


def _slice(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    from s2sad.frontend.values import SliceV

    parts = [None if isinstance(a, StaticV) and a.value is None else a for a in args]
    lower, upper, step = {1: [None, *parts, None], 2: [*parts, None]}.get(len(parts), parts)
    return SliceV(lower, upper, step)


def _logger(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    return StaticV(logging.getLogger())  # what it is told is left out, whichever it is


def _array(fn: Any) -> Any:
    """`np.array(x)` of an array copies; of a growing list it gathers; of a display it packs."""

    def lower(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        if fn is np.array and "ndmin" in kwargs:
            least = known_value(kwargs["ndmin"])
            rest = {name: item for name, item in kwargs.items() if name != "ndmin"}
            return _of_rank(lw, lower(lw, args, rest, node), least, node)
        value = args[0]
        if isinstance(value, RowsV):
            value = rows.stacked(lw, value, node)
        if isinstance(value, StaticV):
            value = outside_value(lw, value.value, "bound", node)
        if isinstance(value, V) and isinstance(value.expr.type, Array):
            from s2sad.frontend.methods import converted

            named = dict(zip(("dtype",), args[1:], strict=False)) | kwargs
            if fn is np.ascontiguousarray:
                named["order"] = StaticV("C")
            return converted(lw, value, named, fn is np.array, node)
        if isinstance(value, V) and isinstance(value.expr.type, Scalar):
            from s2sad.frontend.methods import converted

            return converted(lw, value, dict(zip(("dtype",), args[1:], strict=False)) | kwargs, False, node)
        if isinstance(value, StructV) and value.kind == "tuple":
            value = StructV("list", value.keys, value.items)
        return library_call(lw, np.array, [_lists(value), *args[1:]], kwargs, node)

    return lower


def _of_rank(lw: Lowerer, value: Value, least: Any, node: Any) -> Value:
    """An array with axes of length 1 in front where it has too few."""
    from s2sad.frontend.indexing import lower_index

    if not isinstance(least, int) or not isinstance(value, V):
        return lw.fail(node, "`ndmin=` must be known, and the array one of numbers")
    kind = value.expr.type
    lacking = least - (len(kind.dims) if isinstance(kind, Array) else 0)
    if lacking > 0 and isinstance(kind, Scalar):
        value, lacking = call_function(lw, np.atleast_1d, [value], {}, node), lacking - 1
    if lacking > 0 and isinstance(value, V):
        return lower_index(lw, value, [Const(None, Static(None))] * lacking, node)
    return value


def _unfilled(fn: Any, zeros: Any) -> Any:
    """`np.empty` of complex numbers: parts that are written one after the other need the other part to be a number."""

    def lower(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
        if "shape" in kwargs and args and isinstance(args[0], V) and isinstance(args[0].expr.type, Array):
            dtype = kwargs.get("dtype", StaticV(np.dtype(args[0].expr.type.dtype).type))
            return call_function(lw, np.empty, [kwargs["shape"]], {"dtype": dtype}, node)
        made = library_call(lw, fn, args, kwargs, node)
        is_of_parts = isinstance(made, V) and is_complex(made.expr.type)
        return library_call(lw, zeros, args, kwargs, node) if is_of_parts else made

    return lower


def _lists(value: Value) -> Value:
    """Nested displays of an array are lists, whichever brackets the user wrote."""
    if isinstance(value, StructV) and value.kind in ("tuple", "list"):
        return StructV("list", value.keys, tuple(_lists(item) for item in value.items))
    return value


SPECIAL: dict[Any, Any] = {
    builtins.range: _range,
    builtins.enumerate: _iterator("enumerate"),
    builtins.zip: _iterator("zip"),
    builtins.reversed: _iterator("reversed"),
    np.ndindex: _ndindex,
    np.ndenumerate: _iterator("ndenumerate"),
    builtins.next: iterated.lower_next,
    builtins.iter: _iterator("iter"),
    np.vectorize: _vectorize,
    collections.deque: _deque,
    collections.defaultdict: _unread(
        "defaultdict", "Use an array, or a dict that has all its keys from the start.\n"
        "`defaultdict(float)` is read under a local name that is bound once and handed to nobody.",
    ),
    collections.OrderedDict: _container("dict"),
    **iterated.LOWERED,
    **pickers.LOWERED,
    np.nditer: _unread("nditer", "Loop over np.ndindex(x.shape), or over x.flat."),
    builtins.len: _len,
    builtins.sum: _sum,
    builtins.max: _extreme(builtins.max, np.max),
    builtins.min: _extreme(builtins.min, np.min),
    builtins.isinstance: _isinstance,
    builtins.hasattr: _hasattr,
    builtins.callable: _callable,
    builtins.getattr: _getattr,
    builtins.str: formatted.string,
    builtins.super: inherited.lower_super,
    builtins.type: objects.class_of,
    object.__setattr__: objects.set_attribute,
    builtins.tuple: _container("tuple"),
    builtins.list: _container("list"),
    array.array: _typed_array,
    builtins.dict: _container("dict"),
    dict.fromkeys: _from_keys,
    builtins.set: _set,
    builtins.frozenset: _set,
    builtins.divmod: _divmod,
    np.frompyfunc: _of_objects,
    builtins.eval: _refused("eval"),
    builtins.exec: _refused("exec"),
    builtins.globals: _refused("globals"),
    builtins.locals: _refused("locals"),
    builtins.input: _refused("input"),
    builtins.open: _refused("open"),
    builtins.print: _print,
    builtins.breakpoint: _breakpoint,
    builtins.all: _logical(all, True),
    builtins.any: _logical(any, False),
    builtins.bool: lower_bool,
    builtins.slice: _slice,
    copy.copy: _copy,
    copy.deepcopy: _deep_copy,
    dataclasses.replace: _replace,
    builtins.map: lower_map,
    builtins.filter: lower_filter,
    functools.reduce: lower_reduce,
    functools.partial: lower_partial,
    collections.namedtuple: lower_namedtuple,
    builtins.sorted: lower_sorted,
    itertools.product: lower_product,
    itertools.combinations: lower_combinations,
    itertools.combinations_with_replacement: lower_combinations_with_replacement,
    itertools.permutations: lower_permutations,
    itertools.pairwise: lower_pairwise,
    np.fromiter: lower_fromiter,
    warnings.warn: _message,
    warnings.simplefilter: _message,
    warnings.filterwarnings: _message,
    logging.getLogger: _logger,
    logging.debug: _message,
    logging.info: _message,
    logging.warning: _message,
    logging.error: _message,
    ops.refuse: refuse,
    np.shape: _shape,
    np.ndim: _ndim,
    np.size: _size,
    np.iscomplexobj: _iscomplexobj,
    np.isrealobj: _isrealobj,
    np.isscalar: _isscalar,
    np.iterable: _iterable,
    np.conj: _conjugate(np.conj),
    np.real: _conjugate(np.real),
    np.empty: _unfilled(np.empty, np.zeros),
    np.empty_like: _unfilled(np.empty_like, np.zeros_like),
    np.array: _array(np.array),
    np.asarray: _array(np.asarray),
    np.ascontiguousarray: _array(np.ascontiguousarray),
    np.asanyarray: _array(np.asarray),
    np.asfortranarray: _fortran,
    np.astype: _astype,
    np.broadcast_shapes: _broadcast_shapes,
    **{fn: _about_types(fn) for fn in (np.finfo, np.iinfo, np.result_type, np.promote_types, np.issubdtype, np.dtype)},
}
