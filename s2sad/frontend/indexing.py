"""What stands between brackets: items of structures, elements and slices of arrays, and their shapes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import gast
import numpy as np

from s2sad.frontend import choices, fields, formatted, growing, keyed, protocols, rows, sparse, texts
from s2sad.frontend.constant_tables import is_given
from s2sad.frontend.constant_tables import table as table_of
from s2sad.frontend.containers import CHANGING, is_mutable
from s2sad.frontend.cuts import cut_dim
from s2sad.frontend.infer import broadcast_dims, fresh_dim, own_lengths
from s2sad.frontend.item_cases import needs_cases
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.operators import BOOL, apply, build
from s2sad.frontend.surely import NoItem
from s2sad.frontend.values import (
    IterV,
    RangeV,
    RowsV,
    SliceV,
    StaticV,
    StructV,
    V,
    Value,
    ZeroV,
    const,
    literal,
    pack,
    type_of,
)
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Const, Expr, If, Index, Raise, Slice, Stmt
from s2sad.ir.types import Array, Dim, ListOf, Scalar, Static, Sym, same_dim

_LARGEST_TABLE = 1000


def lower_subscript(lw: Lowerer, node: Any, raw: bool = False) -> Value:
    """Return the value of `base[...]`, whatever the base is; `raw`: also one that may be None."""
    from s2sad.frontend.arguments import UNKNOWN
    from s2sad.frontend.expressions import lower_expr, outside_value
    from s2sad.frontend.grids import is_maker, make

    base = lower_expr(lw, node.value)
    match base:
        case ZeroV():
            return base
        case StructV():
            formatted.refuse_parts(lw, base, node)
            item = _struct_item(lw, base, node)
            return item if raw else fields.read(lw, item, node)
        case StaticV(obj) if is_maker(obj):
            return make(lw, obj, node)
        case StaticV(obj) if obj is np.s_ or obj is np.index_exp:
            key = lower_expr(lw, node.slice)
            return StructV("tuple", (0,), (key,)) if obj is np.index_exp and not _is_tuple(key) else key
        case StaticV(obj) if sparse.is_sparse(obj):
            return sparse.item(lw, obj, lower_expr(lw, node.slice), node)
        case StaticV(obj):
            known = _known_place(lower_expr(lw, node.slice))
            if known is UNKNOWN:
                return lw.fail(node, "which item is read is not known when the derivative is written")
            if isinstance(obj, frozenset | set):
                return lw.fail(node, "a set has no items by place, here or in `min` and `max`",
                               "Keep its items in a list, or a flag for each: `left = np.full(n, True)`.")  # fmt: skip
            return outside_value(lw, obj[known], "item", node, lambda: obj[known])
        case RangeV():
            return _range_item(lw, base, lower_expr(lw, node.slice), node)
        case RowsV():
            return rows.at(lw, base, lower_expr(lw, node.slice), node)
        case V(expr) if isinstance(expr.type, Array | ListOf | Scalar):
            return lower_index(lw, base, lower_index_items(lw, node.slice, node), node)
        case _:
            return lw.fail(node, "this value cannot be indexed")


def _known_place(value: Value | None) -> Any:
    """Return an index, or a slice, that is known; UNKNOWN of another."""
    from s2sad.frontend.arguments import UNKNOWN, known_value

    if value is None:
        return None
    if not isinstance(value, SliceV):
        return known_value(value)
    bounds = [_known_place(part) for part in (value.lower, value.upper, value.step)]
    return UNKNOWN if any(bound is UNKNOWN for bound in bounds) else slice(*bounds)


def _is_tuple(value: Value) -> bool:
    return isinstance(value, StructV) and value.kind == "tuple"


def _range_item(lw: Lowerer, base: RangeV, index: Value, node: Any) -> Value:
    """`range(n)[k]`, `range(n)[::-1]`, `range(n)[k:]`."""
    from s2sad.frontend.expressions import as_expr
    from s2sad.frontend.specials import reversed_range

    def known(part: Value | None) -> Any:
        return None if part is None else getattr(getattr(part, "expr", None), "value", part)

    match index:
        case SliceV(None, None, step) if known(step) == -1:
            return reversed_range(base)
        case SliceV(lower, upper, step):
            part = _part_of_range(base, known(lower), known(upper), 1 if step is None else known(step))
            if part is not None:
                return part
        case V():
            return V(item_of_range(base, as_expr(lw, index, node)))
        case _:
            pass
    return lw.fail(node, "this part of a range is not supported", "Write the bounds into the range itself.")


def _part_of_range(base: RangeV, lower: Any, upper: Any, step: Any) -> RangeV | None:
    """`range(n)[1:-1]`, where the bounds are known; None for what else a range can be cut to."""
    start, stop = base.start, base.stop
    by_ones = getattr(base.step.type, "value", None) == 1
    if not isinstance(step, int) or step < 1 or not all(b is None or isinstance(b, int) for b in (lower, upper)):
        return None
    if not by_ones and (upper is not None or (lower or 0) < 0):
        return None
    first = base.start
    if lower is not None and lower < 0:
        first = Apply(max, (start, build(operator.add, stop, literal(lower))), Scalar("int64", True))
    elif lower:
        first = _after(base, literal(lower))
    if upper is not None and upper < 0:
        stop = build(operator.add, stop, literal(upper))
    elif upper is not None:
        stop = Apply(min, (stop, build(operator.add, start, literal(upper))), Scalar("int64", True))
    return RangeV(first, stop, build(operator.mul, base.step, literal(step)) if step > 1 else base.step)


def item_of_range(base: RangeV, index: Expr) -> Expr:
    """`range(n)[k]`, counted from the end where `k` is negative."""
    from_the_start = _after(base, index)
    known = getattr(index.type, "value", None)
    if isinstance(known, int) and known >= 0:
        return from_the_start
    place = build(operator.add, length_of_range(base), index)
    from_the_end = _after(base, place)
    if isinstance(known, int):
        return from_the_end
    return Apply(ops.ifexp, (build(operator.lt, index, literal(0)), from_the_end, from_the_start), from_the_start.type)


def _after(base: RangeV, place: Expr) -> Expr:
    """Return the number that is so many steps behind the first."""
    known = [getattr(part.type, "value", None) for part in (base.start, base.step, place)]
    start, step, k = known
    if isinstance(start, int) and isinstance(step, int) and isinstance(k, int):
        return literal(start + step * k)
    far = place if step == 1 else build(operator.mul, place, base.step)
    return far if start == 0 else build(operator.add, base.start, far)


def length_of_range(base: RangeV) -> Expr:
    """Return how many numbers there are, none where the range ends before it begins."""
    whole = Scalar("int64", True)
    start, step = (getattr(part.type, "value", None) for part in (base.start, base.step))
    if step != 1:
        return Apply(ops.length, (Apply(range, (base.start, base.stop, base.step), whole),), whole)
    is_length = isinstance(base.stop, Apply) and base.stop.fn in (ops.length, ops.dim)
    stop = getattr(base.stop.type, "value", None)
    if start == 0 and (is_length or (isinstance(stop, int) and stop >= 0)):
        return base.stop
    if isinstance(start, int) and isinstance(stop, int):
        return literal(max(stop - start, 0))
    return Apply(max, (build(operator.sub, base.stop, base.start), literal(0)), whole)


def _struct_item(lw: Lowerer, base: StructV, node: Any) -> Value:
    from s2sad.frontend import formatted
    from s2sad.frontend.arguments import known_value
    from s2sad.frontend.expressions import as_expr, lower_expr

    key = lower_expr(lw, node.slice)
    own = protocols.asked(lw, base, "getitem", [key], node)
    if own is not None:
        return own
    match key:
        case StaticV(known) if known in base.keys:
            return base.items[base.keys.index(known)]
        case StructV("tuple", _, _) if (together := known_value(key)) in base.keys:
            return base.items[base.keys.index(together)]
        case SliceV(lower, upper, step):
            parts = (lower, upper, step)
            bounds = [None if p is None else getattr(as_expr(lw, p, node).type, "value", None) for p in parts]
            if any(not isinstance(b, int) and p is not None for b, p in zip(bounds, parts, strict=True)):
                lw.fail(node, "the bounds of a slice of a tuple or list must be known",
                        "Make it an array first: `np.array(items)[:n]`.")  # fmt: skip
            items = base.items[slice(*bounds)]
            return StructV(base.kind if isinstance(base.kind, str) else "tuple", tuple(range(len(items))), items)
        case V(expr):
            known = getattr(expr.type, "value", None)
            if isinstance(known, int) and base.kind != "dict":
                if not -len(base.items) <= known < len(base.items):
                    lw.fail(node, f"index {known} is outside this {base.kind} of {len(base.items)}", "", NoItem)
                return base.items[known]
            if isinstance(known, int) and known in base.keys:
                return base.items[base.keys.index(known)]
            return _keyed_item(lw, base, expr, node) if base.kind == "dict" else _dynamic_item(lw, base, expr, node)
        case _ if formatted.is_unknown(key):
            return formatted.unrolled(lw, node)
        case StructV(texts.Choice()) if base.kind == "dict":
            return _keyed_item(lw, *texts.items_by_number(base, key), node, base)
        case _ if texts.is_choice(key):
            return lw.fail(node, f"which item of this {base.kind} is meant depends on the path taken to here",
                           "Choose the item where the key is chosen: `item = d['a'] if ... else d['b']`.")  # fmt: skip
        case StaticV(missing):
            known = ", ".join(repr(k) for k in base.keys) or "none"
            return lw.fail(node, f"{missing!r} is not among the keys of this {base.kind}", f"Its keys: {known}.")
        case _:
            return lw.fail(node, f"the key is not in this {base.kind}")


def _keyed_item(lw: Lowerer, base: StructV, key: Expr, node: Any, table: StructV | None = None) -> Value:
    """`table[k]` of a dict with whole numbers as keys, k known only at run time: the item at the place of the key.

    `table`: the dict with texts as keys that `base` stands for.
    """
    if getattr(key.type, "dtype", "") == "bool" and set(base.keys) == {True, False}:
        return _by_truth(lw, base, key, node)
    whole = all(isinstance(known, int) for known in base.keys) and getattr(key.type, "dtype", "") == "int64"
    if not base.keys or not whole:
        keyed.begin_again(lw, node)
        return lw.fail(node, "which item of this dict is meant is not known before the function runs",
                       "Let the keys be whole numbers, or loop over the items.")  # fmt: skip
    low, high = min(base.keys), max(base.keys)
    if high - low > _LARGEST_TABLE:
        return lw.fail(node, "the keys of this dict lie too far apart to be looked up",
                       "Put the items into an array, and their places into another one.")  # fmt: skip
    key = lw.atom(key, "key", lw.span(node))
    order = sorted(base.keys)
    known = [Apply(ops.both, (build(operator.le, literal(low), key), build(operator.le, key, literal(high))), BOOL)]
    at = build(operator.sub, key, literal(low)) if low else key
    if len(order) <= high - low:
        places = _numbers(lw, [const(order.index(k) if k in base.keys else -1) for k in range(low, high + 1)], node)
        assert places is not None
        lw.emit(_unless(lw, known[0], node))
        place = lower_index(lw, places, [at], node)
        assert isinstance(place, V)
        at = lw.atom(place.expr, "place", lw.span(node))
        known = [build(operator.le, literal(0), at)]
    lw.emit(_unless(lw, known[0], node))
    items = tuple(base.items[base.keys.index(k)] for k in order)
    return _dynamic_item(lw, StructV("tuple", tuple(range(len(items))), items), at, node, table or base)


def _by_truth(lw: Lowerer, base: StructV, test: Expr, node: Any) -> Value:
    """`{True: a, False: b}[test]`."""
    from s2sad.frontend.functional import bind_each, expression

    sides = [base.items[base.keys.index(said)] for said in (True, False)]
    yes, no, asked = bind_each(lw, [*sides, V(lw.atom(test, "test", lw.span(node)))])
    return expression(lw, f"{yes} if {asked} else {no}", node)


def _unless(lw: Lowerer, known: Expr, node: Any) -> Stmt:
    """Raise what Python raises for a key that is not there."""
    text = "the key is not in this dict"
    stop = Raise(KeyError, (Const(text, Static(text)),), lw.span(node))
    return If(Apply(operator.not_, (known,), BOOL), (stop,), (), lw.span(node))


def _dynamic_item(lw: Lowerer, base: StructV, index: Expr, node: Any, table: StructV | None = None) -> Value:
    """`items[i]` with i known only at run time: the items become an array, or the loop is unrolled.

    `table`: the dict whose items `base` has in the order of their keys.
    """
    from s2sad.frontend.iteration import UnrollNeeded

    exprs = [item.expr for item in base.items if isinstance(item, V)]
    if len(exprs) == len(base.items) and exprs and all(isinstance(e.type, Scalar) for e in exprs):
        numbers = _numbers(lw, list(base.items), node)
        assert numbers is not None
        return lower_index(lw, numbers, [index], node)
    inside_loop = any(scope.loop is not None for scope in lw.loops)
    if not inside_loop or lw.place(node) in lw.ctx.tables:
        found = choices.item_of(lw, base, index, node)
        found = _table_item(lw, base, index, node) if found is None else found
        if found is not None:
            return found
    if (inside_loop or lw.may_be_loop) and lw.place(node) not in lw.ctx.tables:
        raise UnrollNeeded(node)
    needs_cases(lw, table or base, node)
    return lw.fail(node, "the index into this container is not known",
                   "Loop over its items, choose one by a condition (`a if c else b`), or stack them "
                   "into one array.")  # fmt: skip


def _table_item(lw: Lowerer, table: StructV, index: Expr, node: Any) -> Value | None:
    """An item of a table: of records one number of each field, of lists of constants a part of all of them.

    None for any other container, and where the text writes into the table.
    """
    written = {_rooted(n) for n in gast.walk(lw.source.node) if isinstance(n, gast.Subscript | gast.Attribute)
               and isinstance(n.ctx, gast.Store)}  # fmt: skip
    written |= {_rooted(n.func.value) for n in gast.walk(lw.source.node) if isinstance(n, gast.Call)
                and isinstance(n.func, gast.Attribute) and n.func.attr in CHANGING}  # fmt: skip
    table = _with_fields(table)
    items = [item for item in table.items if isinstance(item, StructV) and _is_row(lw, item, node)]
    if not items or len(items) < len(table.items) or _rooted(node) in written:
        return None
    kinds = {item.kind for item in items}
    kind = items[0].kind if isinstance(items[0].kind, type) else "tuple"
    if len(kinds) > 1 and not kinds <= {"tuple", "list"}:
        return None
    at = lw.atom(index, "at", lw.span(node))
    if len({item.keys for item in items}) == 1 and all(_is_number(leaf) for item in items for leaf in item.items):
        alike = len({getattr(type_of(leaf), "dtype", None) for item in items for leaf in item.items}) == 1
        if alike and kinds <= {"tuple", "list"} and _is_indexed(lw, node):
            rows_of = [pack("list", [leaf.expr for leaf in item.items if isinstance(leaf, V)]) for item in items]
            whole = _table(lw, rows_of, [leaf for item in items for leaf in item.items], node)
            return lower_index(lw, whole, [at], node)
        fields = range(len(items[0].keys))
        columns = [StructV("list", table.keys, tuple(item.items[k] for item in items)) for k in fields]
        return StructV(kind, items[0].keys, tuple(_dynamic_item(lw, column, at, node) for column in columns))
    if _is_combined(lw, node):
        return None
    numbers = _one_after_the_other(items)
    ends = _numbers(lw, [const(sum(len(row.items) for row in items[:k])) for k in range(len(items) + 1)], node)
    if numbers is None or ends is None:
        return None
    behind = build(operator.add, at, literal(1))
    bounds = [getattr(lower_index(lw, ends, [place], node), "expr", None) for place in (at, behind)]
    made = [_numbers(lw, column, node) for column in numbers]
    part = Slice(bounds[0], bounds[1], None)
    parts = [lower_index(lw, column, [part], node) for column in made if column is not None]
    if len(parts) < len(made):
        return None
    kinds = [part.expr.type for part in parts if isinstance(part, V)]
    lw.ctx.table_rows |= {kind.dims[0] for kind in kinds if isinstance(kind, Array)}
    return parts[0] if all(_is_number(item) for row in items for item in row.items) else IterV("zip", tuple(parts))


def is_table_row(lw: Lowerer, value: Value) -> bool:
    """Say whether an array stands for a list, which is true where it holds something."""
    part = value.parts[0] if isinstance(value, IterV) and value.parts else value
    kind = part.expr.type if isinstance(part, V) else None
    return isinstance(kind, Array) and bool(kind.dims) and kind.dims[0] in lw.ctx.table_rows


def _is_indexed(lw: Lowerer, node: Any) -> bool:
    """Say whether one number of an item is read where it stands, `table[i][j]`."""
    place, text = _extent(node), gast.dump(node)  # the text may be a copy
    return None not in place and any(
        isinstance(n, gast.Subscript) and not isinstance(n.slice, gast.Slice | gast.Tuple)
        and _extent(n.value) == place and gast.dump(n.value) == text
        for n in gast.walk(lw.source.node)
    )  # fmt: skip


def _extent(node: Any) -> tuple[Any, ...]:
    return tuple(getattr(node, word, None) for word in ("lineno", "col_offset", "end_lineno", "end_col_offset"))


def _is_combined(lw: Lowerer, node: Any) -> bool:
    """Say whether a list is an operand, itself or under a name: `a + b` of lists is not that of arrays."""
    whole = lw.source.node
    names = {target.id for n in gast.walk(whole) if isinstance(n, gast.Assign) and n.value is node
             for target in n.targets if isinstance(target, gast.Name)}  # fmt: skip

    def is_it(part: Any) -> bool:
        return part is node or (isinstance(part, gast.Name) and part.id in names)

    for n in gast.walk(whole):
        match n:
            case gast.BinOp(left=left, right=right) if is_it(left) or is_it(right):
                return True
            case gast.AugAssign(target=target, value=value) if is_it(target) or is_it(value):
                return True
            case gast.Compare(left=left, ops=[op, *_]) if is_it(left) and not isinstance(op, gast.In | gast.NotIn):
                return True
            case _:
                pass
    return False


def _one_after_the_other(rows: list[StructV]) -> list[list[Value]] | None:
    """Return the numbers of all rows; where the rows hold tuples of numbers, those of each place in them."""
    items = [item for row in rows for item in row.items]
    if all(_is_number(item) for item in items):
        return [items]
    records = [item for item in items if isinstance(item, StructV) and item.kind in ("tuple", "list")]
    if len(records) < len(items) or len({item.keys for item in records}) > 1:
        return None
    if not all(_is_number(leaf) for item in records for leaf in item.items):
        return None
    return [[item.items[k] for item in records] for k in range(len(records[0].keys))]


def _with_fields(table: StructV) -> StructV:
    """Return a table of objects from outside, of one class and with numbers for attributes, as records of those."""
    objects = [item.value for item in table.items if isinstance(item, StaticV)]
    kinds = {type(each) for each in objects}
    if len(objects) < len(table.items) or len(kinds) > 1 or not all(hasattr(each, "__dict__") for each in objects):
        return table
    held = [vars(each) for each in objects]
    if any(callable(each) for each in objects) or len({tuple(fields) for fields in held}) != 1:
        return table
    if not all(type(value) in (int, float) for fields in held for value in fields.values()):
        return table
    rows = [StructV(type(each), tuple(held[0]), tuple(map(const, vars(each).values()))) for each in objects]
    return replace(table, items=tuple(rows))


def _is_row(lw: Lowerer, item: StructV, node: Any) -> bool:
    """Say whether numbers taken of an item stand for it: a tuple, or a record of which `node` reads but a field."""
    if not isinstance(item.kind, type):
        return item.kind in ("tuple", "list")
    if not is_mutable(item):
        return True
    fields = (n for n in gast.walk(lw.source.node) if isinstance(n, gast.Attribute) and n.value is node)
    return any(isinstance(field.ctx, gast.Load) for field in fields)


def _is_number(value: Value) -> bool:
    return isinstance(value, V) and isinstance(value.expr.type, Scalar)


def _rooted(node: Any) -> str:
    while isinstance(node, gast.Subscript | gast.Attribute):
        node = node.value
    return getattr(node, "id", "")


def _numbers(lw: Lowerer, numbers: list[Value], node: Any) -> V | None:
    """Return an array of numbers, constants as a table that the function begins with; None where there are none."""
    exprs = [number.expr for number in numbers if isinstance(number, V)]
    if not exprs:
        return None
    return _table(lw, exprs, list(numbers), node)


def _table(lw: Lowerer, items: Sequence[Expr], numbers: list[Value], node: Any) -> V:
    """Return an array of these items, in which there are these numbers."""
    array = apply(lw, np.array, (pack("list", list(items)),), {}, node).expr
    exprs = [number.expr for number in numbers if isinstance(number, V)]
    known = all(isinstance(expr, Const) or is_given(lw, expr) for expr in exprs)
    return V(table_of(lw, array, exprs, node) if known else lw.atom(array, "table", lw.span(node)))


def lower_index_items(lw: Lowerer, node: Any, at: Any) -> list[Any]:
    """Lower what stands between the brackets to index items."""
    from s2sad.frontend.expressions import lower_expr

    parts = node.elts if isinstance(node, gast.Tuple) else [node]
    items: list[Any] = []
    for part in parts:
        if isinstance(part, gast.Starred):  # `A[*place, 0]`
            several = lower_expr(lw, part.value)
            if not isinstance(several, StructV) or several.kind not in ("tuple", "list"):
                return lw.fail(part, "how many indices these are is not known here",
                               "Write them one by one: `A[place[0], place[1]]`.")  # fmt: skip
            items.extend(index_item(lw, v, part) for v in several.items)
            continue
        value = lower_expr(lw, part)
        if isinstance(value, V) and isinstance(value.expr.type, Array | ListOf) and _is_made_tuple(lw, part):
            lw.fail(part, "how many indices this tuple has is not known here",
                    "Write them one by one: `A[place[0], place[1]]`.")  # fmt: skip
        if isinstance(value, StructV) and value.kind == "tuple" and isinstance(node, gast.Tuple):
            value = replace(value, kind="list")  # `x[(0, 2), 1]` selects by both numbers
        if isinstance(value, StructV) and value.kind == "tuple":
            items.extend(index_item(lw, v, part) for v in value.items)
        else:
            items.append(index_item(lw, value, part))
    return items


def _is_made_tuple(lw: Lowerer, node: Any) -> bool:
    """Say whether an index is `tuple(...)`, there or where its name is bound: several indices, and no array of them."""
    match node:
        case gast.Call(func=gast.Name(id="tuple")):
            return True
        case gast.Name(id=name):
            bound = (n.value for n in gast.walk(lw.source.node) if isinstance(n, gast.Assign)
                     and any(isinstance(t, gast.Name) and t.id == name for t in n.targets))  # fmt: skip
            return any(isinstance(made, gast.Call) and _is_made_tuple(lw, made) for made in bound)
        case _:
            return False


def index_item(lw: Lowerer, value: Value, node: Any) -> Any:
    """Return one item of an index: an expression, a slice, or `...`; `p[range(n), k]` means an array of places."""
    from s2sad.frontend.displays import array_of
    from s2sad.frontend.expressions import as_expr

    match value:
        case SliceV(lower, upper, step):
            return Slice(*(None if p is None else as_expr(lw, p, node) for p in (lower, upper, step)))
        case StaticV(obj) if obj is Ellipsis:
            return Ellipsis
        case StaticV(obj) if obj is None:
            return Const(None, Static(None))
        case StaticV(obj) if isinstance(obj, slice):
            return Slice(*(None if p is None else literal(p) for p in (obj.start, obj.stop, obj.step)))
        case StructV("list", _, items):
            display = pack("list", [as_expr(lw, item, node) for item in items])
            return apply(lw, np.array, (display,), {}, node).expr
        case RangeV():
            return as_expr(lw, array_of(lw, value, node), node)
        case V(expr) if isinstance(expr.type, ListOf):
            return as_expr(lw, array_of(lw, value, node), node)
        case _:
            return as_expr(lw, value, node)


def lower_slice(lw: Lowerer, node: Any) -> Value:
    """Return a slice whose bounds may be known only at run time."""
    from s2sad.frontend.expressions import lower_expr, whole_number

    parts = [None if p is None else lower_expr(lw, p) for p in (node.lower, node.upper, node.step)]
    parts = [None if isinstance(p, StaticV) and p.value is None else p for p in parts]
    for part in parts:
        if isinstance(part, V):
            whole_number(lw, part.expr, "a slice has whole numbers for bounds", node)
    return SliceV(*parts)


def lower_index(lw: Lowerer, base: V, index: list[Any], node: Any) -> Value:
    """Return `base[index]` with its type: what NumPy's indexing rules make of the dims."""
    kind = base.expr.type
    if isinstance(kind, ListOf):
        if kind.item is None or kind.item == Static(None):
            kind = ListOf(growing.item_of_empty(lw, base.expr, node))
        assert kind.item is not None
        if isinstance(index[0], Slice):
            return _list_slice(lw, base, index[0], node)
        return V(Index(base.expr, (index[0],), own_lengths(kind.item)))
    if isinstance(kind, Scalar):
        if all(item is Ellipsis for item in index):
            return base
        axes = [item for item in index if item is not Ellipsis]
        if not kind.weak and all(isinstance(item, Const) and item.value is None for item in axes):
            return _with_axes(lw, base, len(axes), node)
        return lw.fail(node, "a scalar cannot be indexed", "It has no axes: use it as it is.")
    assert isinstance(kind, Array)
    index = expand_index(lw, kind, index, node)
    dims, advanced = index_dims(lw, kind, index, node)
    if not dims and not advanced and all(not isinstance(i, Slice) for i in index):
        return V(Index(base.expr, tuple(index), Scalar(kind.dtype)))
    layout = _index_layout(kind, index, dims, advanced)
    return V(Index(base.expr, tuple(index), Array(kind.dtype, dims, layout)))


def _with_axes(lw: Lowerer, number: V, count: int, node: Any) -> Value:
    """`s[None]` of a number of NumPy's: an array of so many axes."""
    from s2sad.frontend.calls import call_function

    shape = StructV("tuple", tuple(range(count)), (V(literal(1)),) * count)
    return call_function(lw, np.full, [shape, number], {}, node)


def _list_slice(lw: Lowerer, base: V, part: Slice, node: Any) -> Value:
    """`items[a:b]` of a list that the function builds: a list of its own."""
    from s2sad.frontend.iteration import emit_loop

    items = lw.atom(base.expr, "items", lw.span(node))
    length: Expr = Apply(ops.length, (items,), Scalar("int64", True))
    start, count, step = counted(lw, part, length, node)
    assert isinstance(items.type, ListOf)
    assert items.type.item is not None
    made = growing.make(lw, lw.list_name(), items.type.item, node)
    item = own_lengths(items.type.item)

    def body(i: Expr) -> None:
        place = i if step == 1 else build(operator.mul, i, literal(step))
        place = place if getattr(start.type, "value", None) == 0 else build(operator.add, start, place)
        growing.append(lw, made, Index(items, (place,), item), node)

    emit_loop(lw, count, "i", body, node)
    return V(made)


def counted(lw: Lowerer, part: Slice, length: Expr, node: Any) -> tuple[Expr, Expr, int]:
    """Return where a slice of a list begins, how many items it has, and its step."""
    step = 1 if part.step is None else getattr(part.step.type, "value", None)
    whole = part.lower is None and part.upper is None
    if not isinstance(step, int) or step == 0:
        lw.fail(node, "this slice of a growing list is not supported", "Its step must be known, and not zero.")
    assert isinstance(step, int)
    if step < 0:
        last = build(operator.sub, length, literal(1))
        start, stop = _bound_below(part.lower, last, last), _bound_below(part.upper, last, literal(-1))
        count = length if whole else Apply(max, (build(operator.sub, start, stop), literal(0)), Scalar("int64", True))
    else:
        start = _bound(part.lower, length, literal(0))
        count = length if whole else build(operator.sub, _bound(part.upper, length, length), start)
    if abs(step) > 1:
        rounded = build(operator.add, count, literal(abs(step) - 1))
        count = build(operator.floordiv, rounded, literal(abs(step)))
    return start, count, step


def _bound(given: Expr | None, length: Expr, missing: Expr) -> Expr:
    """Return where a slice begins or ends: counted from the end if negative, and within the list."""
    if given is None:
        return missing
    known = getattr(given.type, "value", None)
    if known == 0:
        return given
    whole = Scalar("int64", True)
    if isinstance(known, int) and known < 0:
        return Apply(max, (build(operator.sub, length, literal(-known)), literal(0)), whole)
    within = Apply(min, (given, length), whole)
    if isinstance(known, int):
        return within
    behind = Apply(max, (build(operator.add, length, given), literal(0)), whole)
    return Apply(ops.ifexp, (build(operator.lt, given, literal(0)), behind, within), whole)


def _bound_below(given: Expr | None, last: Expr, missing: Expr) -> Expr:
    """Return where a slice that goes backwards begins or ends, from the `last` item to before the first."""
    if given is None:
        return missing
    known, whole = getattr(given.type, "value", None), Scalar("int64", True)
    behind = Apply(max, (build(operator.add, last, build(operator.add, given, literal(1))), literal(-1)), whole)
    within = Apply(min, (given, last), whole)
    if isinstance(known, int):
        return behind if known < 0 else within
    return Apply(ops.ifexp, (build(operator.lt, given, literal(0)), behind, within), whole)


def _index_layout(kind: Array, index: list[Any], dims: tuple[Dim, ...], advanced: bool) -> str:
    if advanced:  # NumPy gives the axes of the index arrays the memory's outermost place
        first = index[0]
        leads = not isinstance(first, Slice | Const) and isinstance(first.type, Array)
        return "C" if leads and (kind.layout == "C" or len(dims) < 2) else "A"
    whole = Slice(None, None, None)
    tail = index
    while tail and not isinstance(tail[0], Slice) and not _is_new_axis(tail[0]):
        tail = tail[1:]
    rest_whole = all(i == whole for i in tail[1:])
    if kind.layout == "C" and (not tail or (rest_whole and (tail[0] == whole or _unit_step(tail[0])))):
        return "C"
    return "A"


def _unit_step(item: Any) -> bool:
    return isinstance(item, Slice) and (item.step is None or getattr(item.step.type, "value", None) == 1)


def _is_new_axis(item: Any) -> bool:
    return isinstance(item, Const) and item.value is None


def _consumed(item: Any) -> int:
    if item is Ellipsis or _is_new_axis(item):
        return 0
    if not isinstance(item, Slice) and isinstance(item.type, Array) and item.type.dtype == "bool":
        return len(item.type.dims)
    return 1


def expand_index(lw: Lowerer, kind: Array, index: list[Any], node: Any) -> list[Any]:
    """Replace `...` by full slices; trailing axes stay unwritten, as the user left them."""
    used = sum(_consumed(item) for item in index)
    if used > len(kind.dims):
        lw.fail(node, f"{used} indices for a {len(kind.dims)}-dimensional array")
    result: list[Any] = []
    for item in index:
        if item is Ellipsis:
            result.extend([Slice(None, None, None)] * (len(kind.dims) - used))
        else:
            result.append(item)
    return result


def index_dims(lw: Lowerer, kind: Array, index: list[Any], node: Any) -> tuple[tuple[Dim, ...], bool]:
    """Return the dims of the result, and whether the indexing is advanced (a copy)."""
    dims: list[Dim] = []
    arrays: list[tuple[Dim, ...]] = []
    at: int | None = None
    split, last, axis = False, False, 0
    has_array = any(not isinstance(i, Slice) and isinstance(i.type, Array) for i in index)
    for item in index:
        if isinstance(item, Slice):
            dims.append(slice_dim(kind.dims[axis], item, lw))
            axis, last = axis + 1, False
        elif _is_new_axis(item):
            dims.append(1)
            last = False
        elif isinstance(item.type, Array) or has_array:
            at, split = (len(dims) if at is None else at), split or (at is not None and not last)
            arrays.append(_array_dims(lw, item))
            axis, last = axis + _consumed(item), True
        elif isinstance(item.type, Scalar) and ("int" in item.type.dtype):
            axis, last = axis + 1, False
        else:
            lw.fail(node, "an index must be an integer, a slice or an array")
    dims.extend(kind.dims[axis:])
    if not arrays:
        return tuple(dims), False
    if split and any(_is_new_axis(item) for item in index):  # Numba puts the axes of the arrays elsewhere than NumPy
        lw.fail(node, "a new axis stands in an index beside arrays or numbers that stand apart from each other",
                "Index first, and add the axis to what that gives: `x[0, [1, 2]][:, None]`.")  # fmt: skip
    where = 0 if split else (at or 0)
    return (*dims[:where], *broadcast_dims(arrays), *dims[where:]), True


def _array_dims(lw: Lowerer, item: Any) -> tuple[Dim, ...]:
    if isinstance(item.type, Array) and item.type.dtype == "bool":
        return (lw.mask_length(item),)
    return item.type.dims if isinstance(item.type, Array) else ()


def slice_dim(dim: Dim, item: Slice, lw: Lowerer) -> Dim:
    """Return the length of `dim` under a slice: exact for constants, symbolic for `a:-b`."""
    bounds = [None if p is None else getattr(p.type, "value", None) for p in (item.lower, item.upper, item.step)]
    unknown = [b is None and p is not None for b, p in zip(bounds, (item.lower, item.upper, item.step), strict=True)]
    if any(unknown):
        return _cut(lw, dim, item)
    lower, upper, step = bounds
    if isinstance(dim, int) and all(b is None or isinstance(b, int) for b in bounds):
        return len(range(dim)[slice(lower, upper, step)])
    if isinstance(upper, Sym) and isinstance(dim, Sym) and step in (None, 1):
        start = lower or 0
        if upper.name == dim.name and upper.minus >= dim.minus and isinstance(start, int) and start >= 0:
            minus = upper.minus + start
            return Sym(dim.name, minus, dim.nonone and minus == dim.minus)
        return _cut(lw, dim, item)
    if not isinstance(dim, Sym) or not all(b is None or isinstance(b, int) for b in bounds):
        return _cut(lw, dim, item)
    lower, upper = cast("int | None", lower), cast("int | None", upper)
    cut = (lower or 0) - (upper or 0)
    if step in (None, 1) and (lower or 0) >= 0 and (upper is None or upper < 0):
        return dim if cut == 0 else Sym(dim.name, dim.minus + cut)
    if step == -1 and lower is None and upper is None:
        return dim
    text = f"{dim.name}-{dim.minus}[{lower}:{upper}:{step}]"
    nonone = dim.nonone and not lower and upper is not None and upper > 1 and step in (None, 1)
    return Sym(text, 0, nonone)


def _cut(lw: Lowerer, dim: Dim, item: Slice) -> Dim:
    found = cut_dim(lw, dim, item)
    return fresh_dim() if found is None else found


def same_dims(a: tuple[Dim, ...], b: tuple[Dim, ...]) -> bool:
    """Say whether two shapes are surely equal."""
    return len(a) == len(b) and all(same_dim(x, y) for x, y in zip(a, b, strict=True))
