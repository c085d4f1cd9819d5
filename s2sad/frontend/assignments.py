"""Assignments: names, stores into items and attributes, and the augmented forms."""

from __future__ import annotations

import copy
import operator
from dataclasses import replace
from typing import Any

import gast
import numpy as np

from s2sad.errors import AliasError
from s2sad.frontend import anew, growing, keyed, optional, protocols, records, rows, texts
from s2sad.frontend.arguments import UNKNOWN, known_value
from s2sad.frontend.containers import OF_THE_CALLER, holds, identified, is_mutable, is_open, may_be_written, write_item
from s2sad.frontend.displays import array_of, operands
from s2sad.frontend.environments import seen
from s2sad.frontend.exchange import exchanged_names, is_read_behind
from s2sad.frontend.expressions import as_expr, lower_expr
from s2sad.frontend.fitted import fitted_value, without_new_axes
from s2sad.frontend.indexing import expand_index, lower_index
from s2sad.frontend.item_cases import needs_cases
from s2sad.frontend.iterators import check_used_once
from s2sad.frontend.knownlists import extend
from s2sad.frontend.lazily import check_dict_is_not_written, check_extended_by_itself, check_written_before_use
from s2sad.frontend.lowerer import Contribution, Lowerer
from s2sad.frontend.matrices import filled
from s2sad.frontend.methods import list_method
from s2sad.frontend.noneresults import returned
from s2sad.frontend.operators import BINARY, BY_SYMBOL, SYMBOLS, apply, build
from s2sad.frontend.order import Order, acts, does_more, settled
from s2sad.frontend.tallies import is_tally
from s2sad.frontend.unpacking import rearranged, unpack
from s2sad.frontend.values import (
    BarV,
    Cell,
    RowsV,
    StaticV,
    StructV,
    V,
    Value,
    ZeroV,
    leaves_of,
    literal,
    of_slices,
)
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Expr, Index, Slice, Store, Var
from s2sad.ir.types import Array, ListOf, Static, Struct, is_complex, rank
from s2sad.ir.views import VIEWS, view_base
from s2sad.ir.walk import bound, reads, statements


def lower_assign(lw: Lowerer, node: Any) -> None:
    """Lower `a = b = value`."""
    first = node.targets[0]
    if len(node.targets) == 1 and isinstance(first, gast.Name) and optional.may_be_none(node.value):
        _assign_on_two_paths(lw, node)
        return
    if isinstance(first, gast.Name):
        check_used_once(lw, first.id, node.value, node)
    check_written_before_use(lw, node)
    check_dict_is_not_written(lw, node)
    lw.wanted = _wanted(lw, first, node.value)
    if isinstance(first, gast.Tuple) and isinstance(node.value, gast.Tuple) and len(first.elts) == len(node.value.elts):
        others = [_wanted(lw, t, node.value) for t in first.elts]
        lw.wanted_each = tuple(
            name if _makes_a_list(part, "") else None for name, part in zip(others, node.value.elts, strict=True)
        )
    may_be_none = isinstance(first, gast.Name) and optional.fact_of(node.value) not in lw.proven
    value: Value | None = optional.optional_field(lw, node.value) if may_be_none else None
    if value is None and hasattr(node.value, "as_matrix"):
        value = filled(lw, node.value)
    if value is None:
        value = _handed_on(lw, node.value) if _hands_on_none(lw, first, node.value) else lower_expr(lw, node.value)
    lw.wanted, lw.wanted_each = None, ()
    if hasattr(node.value, "as_matrix"):
        value = array_of(lw, value, node)
    if len(node.targets) == 1:
        assign_target(lw, first, value, node)
    else:
        _assign_to_each(lw, node, value)


def _hands_on_none(lw: Lowerer, target: Any, value: Any) -> bool:
    """Say whether names get what others hold, among it one that may be None: `best, second = x, best`."""
    pairs = [(target, value)]
    if isinstance(target, gast.Tuple) and isinstance(value, gast.Tuple) and len(target.elts) == len(value.elts):
        pairs = list(zip(target.elts, value.elts, strict=True))
    named = all(isinstance(t, gast.Name) for t, _ in pairs)
    return named and any(isinstance(v, gast.Name) and optional.is_optional(lw.env.get(v.id)) for _, v in pairs)


def _handed_on(lw: Lowerer, node: Any) -> Value:
    """Return what a name, or each of several, holds, also if it is None."""
    if not isinstance(node, gast.Tuple):
        return returned(lw, node)
    order = Order(lw)
    for part in node.elts:
        order.add(lambda part=part: returned(lw, part), part)
    return StructV("tuple", tuple(range(len(node.elts))), tuple(order.values))


def _assign_to_each(lw: Lowerer, node: Any, value: Value) -> None:
    """`a[0] = b = value`: computed once, before the first of the targets changes what it reads."""
    first = node.targets[0] if isinstance(node.targets[0], gast.Name) else None
    free = (t for t in node.targets if isinstance(t, gast.Name) and not _is_read(t.id, node.targets))
    name = first or next(free, None)
    if name is None:
        value = lw.store_value(lw.fresh("value"), identified(value), lw.span(node))
    else:
        assign_target(lw, name, value, node)
        value = lower_expr(lw, _as_load(name))
    for target in node.targets:
        if target is not name:
            assign_target(lw, target, value, node)


def _is_read(name: str, targets: list[Any]) -> bool:
    """Say whether one of the targets reads or binds a name beside the target that is the name."""
    inside = [part for t in targets if not isinstance(t, gast.Name) for part in gast.walk(t)]
    return any(isinstance(part, gast.Name) and part.id == name for part in inside)


def _assign_on_two_paths(lw: Lowerer, node: Any) -> None:
    """`t = x if x > 0 else None`: two assignments."""
    from s2sad.frontend.statements import lower_stmt

    choice = node.value
    sides = [
        gast.copy_location(gast.Assign(targets=node.targets, value=side, type_comment=None), side)
        for side in (choice.body, choice.orelse)
    ]
    lower_stmt(lw, gast.copy_location(gast.If(test=choice.test, body=[sides[0]], orelse=[sides[1]]), node))


def _wanted(lw: Lowerer, target: Any, node: Any) -> str | None:
    """Return the name under which a list can be built that is assigned to `target`."""
    if not isinstance(target, gast.Name) or not (isinstance(node, gast.Tuple) or _makes_a_list(node, target.id)):
        return None
    reads_it = any(isinstance(n, gast.Name) and n.id == target.id for n in gast.walk(node))
    return None if reads_it else lw.ir_name(target.id)


def _makes_a_list(node: Any, name: str) -> bool:
    """Say whether an expression makes one list, which can be built under `name` from the start."""
    if any(isinstance(n, gast.Name) and n.id == name for n in gast.walk(node)):
        return False
    if isinstance(node, gast.BinOp):
        return isinstance(node.op, gast.Mult) and not any(
            isinstance(n, gast.ListComp | gast.GeneratorExp) or (isinstance(n, gast.Call) and not _is_length(n))
            for n in gast.walk(node)
        )
    return isinstance(node, gast.ListComp)


def _is_length(call: Any) -> bool:
    return isinstance(call.func, gast.Name) and call.func.id == "len" and isinstance(call.args[0], gast.Name)


def _as_load(name: Any) -> Any:
    copy = gast.Name(id=name.id, ctx=gast.Load(), annotation=None, type_comment=None)
    return gast.copy_location(copy, name)


def ann_assign(lw: Lowerer, node: Any) -> None:
    """Lower `a: kind = value`; the annotation says nothing."""
    if node.value is not None:
        assign_target(lw, node.target, lower_expr(lw, node.value), node)


def assign_target(lw: Lowerer, target: Any, value: Value, node: Any) -> None:
    """Bind or store `value` at an assignment target of any form."""
    match target:
        case gast.Name():
            _bind_name(lw, target.id, value, node)
        case gast.Tuple() | gast.List():
            unpack(lw, target, value, node)
        case gast.Subscript():
            _store_item(lw, target, value, node)
        case gast.Attribute():
            _store_attribute(lw, target, value, node)
        case _:
            lw.fail(target, "this cannot be assigned to in a differentiated function")


def _store_attribute(lw: Lowerer, target: Any, value: Value, node: Any) -> None:
    """`state.x = value`, where `state` is a record that the function made or was given."""
    base = lower_expr(lw, target.value)
    if isinstance(base, V) and target.attr in ("real", "imag") and is_complex(base.expr.type):
        part = apply(lw, getattr(np, target.attr), (base.expr,), {}, node).expr
        if _is_part(V(part)) and isinstance(part, Apply):
            _store_part(lw, part, [Slice(None, None, None)], array_of(lw, value, node), node, "")
            return
    if isinstance(base, V) and target.attr == "flat" and isinstance(base.expr.type, Array):
        every = gast.Slice(lower=None, upper=None, step=None)
        flat = gast.Attribute(value=target.value, attr="flat", ctx=gast.Load())
        place = gast.Subscript(value=gast.copy_location(flat, target), slice=every, ctx=gast.Store())
        if isinstance(value, V) and rank(value.expr.type) > 1:
            value = apply(lw, np.ravel, (value.expr,), {}, node)
        _store_item(lw, gast.copy_location(place, target), value, node)
        return
    if isinstance(base, StructV) and records.set_by_property(lw, base, target.attr, value, node):
        return
    is_record = isinstance(base, StructV) and hasattr(base.kind, "__dataclass_fields__") and is_mutable(base)
    if isinstance(base, StructV) and is_record and target.attr not in base.keys and not is_open(base):
        lw.fail(target, f"`{getattr(base.kind, '__name__', base.kind)}` has no field `{target.attr}`",
                f"Make it one in the class: `{target.attr}: float = field(init=False)`.")  # fmt: skip
    if isinstance(base, V) and target.attr == "shape":
        lw.fail(target, "the shape of an array cannot be set",
                "Give the array in its new shape a name: `a = a.reshape(…)`.")  # fmt: skip
    if not (isinstance(base, StructV) and is_mutable(base) and (target.attr in base.keys or is_open(base))):
        lw.fail(target, "this cannot be assigned to in a differentiated function",
                "Attributes belong to an object outside: return the new value beside the result (`has_aux=True`), or\n"
                "write it where the function is called.")  # fmt: skip
    assert isinstance(base, StructV)
    write_item(lw, base, target.attr, value, node)


def _bind_name(lw: Lowerer, name: str, value: Value, node: Any) -> None:
    if rearranged(lw, name, value, node):
        return
    if isinstance(value, V) and _is_given_buffer(lw, name, value.expr, node):
        value = V(build(np.copy, value.expr))
    if isinstance(value, StaticV) and isinstance(value.value, bool) and not lw.in_rule:
        value = V(literal(value.value))  # it may be another on another path
    if name in lw.texts:
        value = texts.coded(lw, value)
    may_be_none = name in lw.optional or optional.is_optional(value) or optional.is_noted(lw, name)
    if may_be_none and optional.bind(lw, name, value, node):
        return
    own = id(lw.source.node), name
    grows = (name in lw.dynamic_lists and own not in lw.ctx.known_lists) or own in lw.ctx.growing_names
    if isinstance(value, StructV) and value.kind == "list" and grows and not of_slices(value):
        if value.cell is not None and _is_seen_again(lw, value.cell):
            lw.fail(node, f"`{name}` is another name of a list, and is written or grows",
                    f"Write `{name} = list(…)`, or use one name for the list.", AliasError)  # fmt: skip
        value = dynamic_list(lw, name, value, node)
    lw.bind(name, value, lw.span(node))


def _is_given_buffer(lw: Lowerer, name: str, expr: Expr, node: Any) -> bool:
    """Say whether a name that changes places begins as an argument, which nothing else in the function reads.

    The function that a user differentiates works on a copy then, for the argument is the caller's.
    """
    given = _named_for(node, name)
    if given is None or not isinstance(expr, Var) or not isinstance(expr.type, Array) or expr.name != given:
        return False
    entered = lw.instance is next(iter(lw.ctx.instances.values()), None) and lw.outer is None
    parameters = [n.id for n in gast.walk(lw.source.node.args) if isinstance(n, gast.Name)]
    whole = lw.source.node
    alone = entered and given in parameters and not is_read_behind(whole, given, node)
    return alone and name in exchanged_names(whole)


def _named_for(node: Any, name: str) -> str | None:
    """Return the name that a statement binds another name to: `p = u`, `p, c = u, u.copy()`."""
    match node:
        case gast.Assign(value=gast.Name(id=given)):
            return given
        case gast.Assign(targets=[gast.Tuple(elts=targets)], value=gast.Tuple(elts=values)) if (
            len(targets) == len(values)
        ):
            pairs = zip(targets, values, strict=True)
            found = [v for t, v in pairs if isinstance(t, gast.Name) and t.id == name]
            return found[0].id if len(found) == 1 and isinstance(found[0], gast.Name) else None
        case _:
            return None


def _is_seen_again(lw: Lowerer, cell: Cell) -> bool:
    """Say whether a container is reached by a name that the function reads more than once, for the new name."""
    holders = {n for n, v in lw.env.items() if isinstance(v, StructV) and holds(v, cell)}
    loads = [n.id for n in gast.walk(lw.source.node) if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Load)]
    return any(loads.count(name) > 1 for name in holders)


def dynamic_list(lw: Lowerer, name: str, value: StructV, node: Any) -> V | RowsV:
    """A list that grows or is written later: a real list, not a known structure."""
    value = replace(value, items=tuple(texts.coded(lw, item) for item in value.items))
    if any(lw.ir_name(name) in reads(leaf) for leaf in leaves_of(value)):  # `s = [v, s[0]]` reads the list before it
        value = replace(value, items=tuple(growing.read_now(lw, item, node) for item in value.items))
    records = rows.records_of(lw, name, value)
    if records is not None:
        made = rows.made(lw, lw.ir_name(name), records, value, node)
        for leaf in leaves_of(made):
            if isinstance(leaf, Var):
                growing.made_for(lw, leaf, name)
        return made
    item: Any = None
    for part in value.items:
        if not isinstance(part, V) or (item is not None and _unlike(item, part.expr.type)):
            growing.take_as_known(lw, (id(lw.source.node), name))
            return lw.fail(node, f"the items of list `{name}` differ in kind",
                    "A list that is appended to or written holds items of one type.")  # fmt: skip
        item = part.expr.type
    target = growing.make(lw, lw.ir_name(name), item, node)
    growing.made_for(lw, target, name)
    for part in value.items:
        growing.append(lw, target, as_expr(lw, part, node), node)
    return V(target)


def _unlike(a: Any, b: Any) -> bool:
    return type(a) is not type(b)


def _store_item(lw: Lowerer, target: Any, value: Value, node: Any, op: str = "") -> None:
    base = lower_expr(lw, target.value)
    span = lw.span(node)
    match base:
        case StructV():
            _store_struct(lw, target, base, value, node, op)
            return
        case BarV(slot):
            index = tuple(_index_items(lw, target.slice, node))
            if slot is not None and isinstance(slot.type, Array):
                index = tuple(expand_index(lw, slot.type, list(index), node))
            added = Contribution(slot, index, as_expr(lw, value, node))
            lw.block.append(added)  # type: ignore[arg-type]
            return
        case RowsV():
            rows.store(lw, base, lower_expr(lw, target.slice), value, node, op)
        case V(expr) if isinstance(expr.type, Array | ListOf):
            if _is_part(base) and isinstance(expr, Apply):
                index = _index_items(lw, target.slice, node)
                _store_part(lw, expr, index, array_of(lw, value, node), node, op)
                return
            if isinstance(expr, Apply) and expr.fn in VIEWS and expr.fn is not ops.transpose:
                expr = lw.atom(expr, "view", span)
            start = len(lw.block)
            index = _index_items(lw, target.slice, node)
            value = settled(lw, value, start, node)
            if isinstance(expr.type, ListOf) and isinstance(index[0], Slice):
                if op:
                    lw.fail(target, "a slice of a growing list is not changed in place", "Write its items in a loop.")
                anew.spliced(lw, expr, index[0], value, target)
                return
            if isinstance(expr.type, ListOf) and expr.type.item == Static(None):
                growing.fitted(lw, expr, as_expr(lw, value, node), node)
            new: list[int] = []
            if isinstance(expr.type, Array):
                index, new = without_new_axes(expr.type, index)
            place = lower_index(lw, V(expr), index, target)
            assert isinstance(place, V)
            if isinstance(place.expr.type, Array) or new:
                value = array_of(lw, value, node)
            written = as_expr(lw, value, node)
            in_place = bool(op) and isinstance(place.expr.type, Array)
            if isinstance(expr.type, ListOf) and not in_place:
                if op == "/":
                    growing.check_division(lw, expr, node)
                written = growing.fitted(lw, expr, written, node)
            if isinstance(expr.type, Array):
                _refuse_unheld(lw, written, node)
                written = fitted_value(lw, written, rank(place.expr.type), new, not op, node)
                _refuse_unfit(lw, place.expr, written, node)
            lw.emit(Store(place.expr, op, written, span))
        case V():
            lw.fail(target, "a number cannot be written by index",
                    "An array of no axes is read as a number: assign to its name, or give it an axis, "
                    "`np.zeros(1)`.")  # fmt: skip
        case _:
            lw.fail(target, "this value cannot be written by index",
                    "Arrays, lists and dicts are written by index: make a new value, and assign it "
                    "to the name.")  # fmt: skip


def _refuse_unheld(lw: Lowerer, value: Expr, node: Any) -> None:
    """Refuse what no array holds."""
    if isinstance(value.type, Static | Struct | ListOf):
        held = value.type.value if isinstance(value.type, Static) else "a container"
        what = f"`{held!r}`" if isinstance(value.type, Static) else held
        lw.fail(node, f"{what} cannot be written into an array of numbers")


def _refuse_unfit(lw: Lowerer, place: Expr, value: Expr, node: Any) -> None:
    """Refuse what no array holds, and an array in the place of a number."""
    _refuse_unheld(lw, value, node)
    rank = len(place.type.dims) if isinstance(place.type, Array) else 0
    dims = value.type.dims if isinstance(value.type, Array) else ()
    if any(isinstance(dim, int) and dim != 1 for dim in dims[: max(len(dims) - rank, 0)]):
        lw.fail(node, f"an array of rank {len(dims)} does not fit in a place of rank {rank}",
                "Write into a slice of as many axes.")  # fmt: skip


def _is_part(value: Value) -> bool:
    """Say whether a value is the real or the imaginary part of a complex array."""
    expr = value.expr if isinstance(value, V) else None
    return isinstance(expr, Apply) and expr.fn in (np.real, np.imag) and is_complex(expr.args[0].type) and (
        isinstance(expr.type, Array)
    )


def _store_part(lw: Lowerer, part: Apply, index: list[Any], value: Value, node: Any, op: str) -> None:
    """`z.imag[k] = v`: the complex element with its other part as it is."""
    span = lw.span(node)
    whole = lw.atom(part.args[0], "number", span)
    place = as_expr(lw, lower_index(lw, V(whole), index, node), node)
    parts = {fn: build(fn, place) for fn in (np.real, np.imag)}
    new = as_expr(lw, value, node)
    parts[part.fn] = build(BY_SYMBOL[op], parts[part.fn], new) if op else new
    made = build(operator.add, parts[np.real], build(operator.mul, literal(1j), parts[np.imag]))
    lw.emit(Store(place, "", made, span))


def _index_items(lw: Lowerer, node: Any, at: Any) -> list[Any]:
    from s2sad.frontend.indexing import lower_index_items

    return lower_index_items(lw, node, at)


def _store_struct(lw: Lowerer, target: Any, base: StructV, value: Value, node: Any, op: str) -> None:
    """`d["k"] = v`, `items[0] = v` on a container of known structure."""
    if isinstance(base.kind, type):
        if protocols.asked(lw, base, "setitem", [lower_expr(lw, target.slice), value], node) is None or op:
            lw.fail(target, f"an item of a `{base.kind.__name__}` cannot be written here",
                    "Write into the attribute that holds the items.")  # fmt: skip
        return
    if base.kind == "dict" and base.cell is OF_THE_CALLER:
        keyed.begin_again(lw, target)
    may_be_written(lw, base, target)
    key = lower_expr(lw, target.slice)
    known = key.value if isinstance(key, StaticV) else _known_int(key)
    if isinstance(key, StructV) and (together := known_value(key)) is not UNKNOWN:
        known = together
    if isinstance(known, int) and base.kind == "list" and known < 0:
        known += len(base.keys)
    if known is None or (base.kind == "list" and known not in base.keys):
        if known is None and not isinstance(key, StaticV):
            if base.kind == "dict":
                keyed.begin_again(lw, target)
            needs_cases(lw, base, target)
        lw.fail(target, f"the key written to this {base.kind} is not known here",
                f"Use a constant key, or an array instead of a {base.kind}.")  # fmt: skip
    write_item(lw, base, known, value, node)


def _known_int(value: Value) -> Any:
    if isinstance(value, V):
        known = getattr(value.expr.type, "value", None)
        return known if isinstance(known, int) else None
    return None


def aug_assign(lw: Lowerer, node: Any) -> None:
    """Lower `a += value` and its kind."""
    if is_tally(lw, node):
        return
    count = len(lw.made)
    _add_to(lw, node, _placed(lw, node.target))
    lw.forget(count)


def _add_to(lw: Lowerer, node: Any, target: Any) -> None:
    symbol = SYMBOLS[type(node.op).__name__]
    span = lw.span(node)
    held = _array_added_to(lw, target) if any(isinstance(p, gast.Call) for p in gast.walk(node.value)) else None
    start, block = len(lw.block), lw.block
    value = lower_expr(lw, node.value)
    if held is not None and len(block) > start:
        bound_anew = any(held.name in bound(stmt) for stmt in statements(tuple(block[start:])))
        if bound_anew or _array_added_to(lw, target) != held:
            lw.fail(node, "the right side gives another array to the place that it is added to",
                    "Name the array that is meant first, as in `u = s.u`, and add to that.")  # fmt: skip
    if len(block) > start and not lw.contributing:
        if _place_is_changed(lw, target, start):
            lw.fail(node, "the right side changes the place of what it is added to",
                    "Give the right side a name first.")  # fmt: skip
        before = _if_changed(lw, target, start, node)
        if before is not None:
            fn = BINARY[type(node.op).__name__]
            result = apply(lw, fn, (as_expr(lw, before, node), as_expr(lw, value, node)), {}, node)
            assign_target(lw, target, result, node)
            return
    if isinstance(target, gast.Subscript) and symbol == "@":  # all of a product is there before any of it is written
        place = gast.copy_location(gast.Subscript(value=target.value, slice=target.slice, ctx=gast.Load()), target)
        now = as_expr(lw, lower_expr(lw, place), node)
        assign_target(lw, target, apply(lw, operator.matmul, (now, as_expr(lw, value, node)), {}, node), node)
        return
    if isinstance(target, gast.Subscript):
        _aug_item(lw, target, value, node, symbol)
        return
    if isinstance(target, gast.Attribute):
        _aug_attribute(lw, target, value, node, symbol)
        return
    if not isinstance(target, gast.Name):
        lw.fail(target, "this cannot be assigned to in a differentiated function")
    now = lower_expr(lw, _as_load(target))
    if isinstance(now, ZeroV) or isinstance(value, ZeroV):
        lw.env[target.id] = value if isinstance(now, ZeroV) else now
        return
    own = records.augmented(lw, BINARY[type(node.op).__name__], now, value, node)
    if own is not None:
        _bind_name(lw, target.id, own, node)
        return
    if symbol == "+" and not lw.contributing and _extended(lw, now, value, node):
        return
    match now:
        case BarV(slot):
            if symbol not in ("+", "-"):
                lw.fail(node, "a rule only adds to a bar")
            expr = as_expr(lw, value, node)
            if symbol == "-":
                expr = as_expr(lw, apply(lw, operator.neg, (expr,), {}, node), node)
            lw.block.append(Contribution(slot, None, expr))  # type: ignore[arg-type]
        case StructV() if lw.contributing:
            _contribute_parts(lw, now, as_expr(lw, value, node), node)
        case V(expr) if isinstance(expr.type, Array) and symbol == "@":
            product = apply(lw, operator.matmul, (expr, as_expr(lw, value, node)), {}, node).expr
            lw.emit(Store(Index(expr, (Slice(None, None, None),), expr.type), "", product, span))
        case V(expr) if isinstance(expr.type, Array):
            added = as_expr(lw, array_of(lw, value, node), node)
            _refuse_unfit(lw, expr, added, node)
            lw.emit(Store(expr, symbol, added, span))
        case StructV("dict") if isinstance(value, StructV) and value.kind == "dict" and symbol == "|":
            for key, item in zip(value.keys, value.items, strict=True):
                write_item(lw, now, key, item, node)
        case StructV(kind, _, items) if isinstance(value, StructV) and symbol == "+":
            both = (*items, *value.items)
            lw.bind(target.id, StructV(kind, tuple(range(len(both))), both), span)
        case _:
            fn = BINARY[type(node.op).__name__]
            now, value = operands(lw, now, value, node)
            result = apply(lw, fn, (as_expr(lw, now, node), as_expr(lw, value, node)), {}, node)
            _bind_name(lw, target.id, result, node)


def _placed(lw: Lowerer, target: Any) -> Any:
    """The place that is added to is found before the right side is computed: what that does is done here."""
    if not isinstance(target, gast.Subscript):
        return target
    target = copy.copy(target)
    target.value = _done(lw, target.value)
    if isinstance(target.slice, gast.Tuple):
        target.slice = copy.copy(target.slice)
        target.slice.elts = [_done_part(lw, part) for part in target.slice.elts]
    else:
        target.slice = _done_part(lw, target.slice)
    return target


def _done_part(lw: Lowerer, part: Any) -> Any:
    if not isinstance(part, gast.Slice):
        return _done(lw, part)
    part = copy.copy(part)
    for name in ("lower", "upper", "step"):
        if getattr(part, name) is not None:
            setattr(part, name, _done(lw, getattr(part, name)))
    return part


def _done(lw: Lowerer, node: Any) -> Any:
    """Name an expression that does more than to be computed; any other stays where it stands."""
    if not any(isinstance(part, gast.Call | gast.NamedExpr) for part in gast.walk(node)):
        return node
    mark, start, before = lw.mark(), len(lw.block), seen(lw)
    value = lower_expr(lw, node)
    if not (acts(lw, lw.block[start:], before) or any(isinstance(p, gast.NamedExpr) for p in gast.walk(node))):
        lw.back_to(mark)
        return node
    name = lw.local("place")
    lw.bind(name, value, lw.span(node))
    return gast.copy_location(gast.Name(id=name, ctx=gast.Load(), annotation=None, type_comment=None), node)


def _is_gathered(expr: Expr) -> bool:
    """Say whether an array is the copy that index arrays take out of another."""
    return not isinstance(expr, Var) and view_base(expr) is None


def _place_is_changed(lw: Lowerer, target: Any, start: int) -> bool:
    """Say whether the statements that the right side needs may change where it is added: `y[k] += (k := 2)`."""
    place = getattr(target, "slice", None)
    if place is None:
        return False
    names = {part.id for part in gast.walk(place) if isinstance(part, gast.Name)}
    used = {leaf.name for name in names if name in lw.env for leaf in leaves_of(lw.env[name]) if isinstance(leaf, Var)}
    since = list(statements(tuple(lw.block[start:])))
    computed = any(isinstance(part, gast.Subscript | gast.Call) for part in gast.walk(place))
    return any(used & set(bound(stmt)) for stmt in since) or (computed and does_more(lw.ctx, lw.block[start:]))


def _array_added_to(lw: Lowerer, target: Any) -> Var | None:
    """Return the array of an attribute that is added to, or a part of which is."""
    place = target
    while isinstance(place, gast.Subscript):
        place = place.value
    if not isinstance(place, gast.Attribute) or lw.contributing:
        return None
    behind, mark = list(lw.block), lw.mark()
    read = copy.copy(place)
    read.ctx = gast.Load()
    now = lower_expr(lw, read)
    lw.back_to(mark)
    lw.block[:] = behind
    is_array = isinstance(now, V) and isinstance(now.expr, Var) and isinstance(now.expr.type, Array)
    return now.expr if is_array else None  # type: ignore[union-attr, return-value]


def _if_changed(lw: Lowerer, target: Any, start: int, node: Any) -> Value | None:
    """Return what is added to as it was, if the statements that the right side needs change it."""
    behind = list(lw.block)
    mark = lw.mark()
    place = _as_load(target) if isinstance(target, gast.Name) else copy.copy(target)
    place.ctx = gast.Load()
    now = lower_expr(lw, place)
    lw.back_to(mark)
    lw.block[:] = behind
    if not isinstance(now, V) or (isinstance(now.expr.type, Array) and not _is_gathered(now.expr)):
        return None  # an array is added to in place, as it is then
    before = settled(lw, now, start, node)
    return None if before is now else before


def _aug_attribute(lw: Lowerer, target: Any, value: Value, node: Any, symbol: str) -> None:
    place = gast.copy_location(gast.Attribute(value=target.value, attr=target.attr, ctx=gast.Load()), target)
    now = lower_expr(lw, place)
    if _is_part(now):
        assert isinstance(now, V)
        assert isinstance(now.expr, Apply)
        _store_part(lw, now.expr, [Slice(None, None, None)], array_of(lw, value, node), node, symbol)
        return
    if isinstance(now, V) and isinstance(now.expr.type, Array):
        lw.emit(Store(now.expr, symbol, as_expr(lw, array_of(lw, value, node), node), lw.span(node)))
        return
    fn = BINARY[type(node.op).__name__]
    own = records.augmented(lw, fn, now, value, node)
    if own is not None:
        _store_attribute(lw, target, own, node)
        return
    if symbol == "+" and _extended(lw, now, value, node):
        return
    now, value = operands(lw, now, value, node)
    result = apply(lw, fn, (as_expr(lw, now, node), as_expr(lw, value, node)), {}, node)
    _store_attribute(lw, target, result, node)


def _contribute_parts(lw: Lowerer, bars: StructV, value: Expr, node: Any) -> None:
    """The bar of a nested display: each item takes its own part of what is added."""
    for position, bar in enumerate(bars.items):
        part = lower_index(lw, V(value), [literal(position)], node)
        if isinstance(bar, BarV):
            lw.block.append(Contribution(bar.slot, None, as_expr(lw, part, node)))  # type: ignore[arg-type]
        elif isinstance(bar, StructV):
            _contribute_parts(lw, bar, as_expr(lw, part, node), node)


def _extended(lw: Lowerer, now: Value, value: Value, node: Any) -> bool:
    """`items += more`, wherever the list stands; False for what is no list."""
    is_array = isinstance(value, V) and isinstance(value.expr.type, Array)
    known = isinstance(now, StructV) and now.kind == "list" and not is_array
    grows = isinstance(now, RowsV) or (isinstance(now, V) and isinstance(now.expr.type, ListOf))
    if known or grows:
        check_extended_by_itself(lw, node.target, node.value, node)
    if isinstance(now, StructV) and known:
        extend(lw, now, value, node)
    elif isinstance(now, RowsV):
        rows.method(lw, now, "extend", [value], node)
    elif isinstance(now, V) and grows:
        _extend(lw, now.expr, value, node)
    return known or grows


def _extend(lw: Lowerer, target: Expr, value: Value, node: Any) -> None:
    assert isinstance(target, Var)
    if isinstance(value, V) and not isinstance(value.expr.type, ListOf):
        lw.fail(node, "`+=` extends a list by another list only", "Write `items.extend(…)`.")
    if isinstance(value, V) and value.expr == target:
        lw.fail(node, "a list that is extended by itself is not supported", "Loop over a copy of it.")
    list_method(lw, V(target), "extend", [value], {}, node)


def _aug_item(lw: Lowerer, target: Any, value: Value, node: Any, symbol: str) -> None:
    base = lower_expr(lw, target.value)
    if isinstance(base, StructV):
        now = lower_expr(lw, target)
        if isinstance(now, V) and isinstance(now.expr.type, Array):
            lw.emit(Store(now.expr, symbol, as_expr(lw, array_of(lw, value, node), node), lw.span(node)))
            return
        own = records.augmented(lw, BINARY[type(node.op).__name__], now, value, node)
        if own is not None:
            _store_struct(lw, target, base, own, node, "")
            return
        if symbol == "+" and _extended(lw, now, value, node):
            return
        fn = BINARY[type(node.op).__name__]
        result = apply(lw, fn, (as_expr(lw, now, node), as_expr(lw, value, node)), {}, node)
        _store_struct(lw, target, base, result, node, "")
        return
    _store_item(lw, target, value, node, symbol)
