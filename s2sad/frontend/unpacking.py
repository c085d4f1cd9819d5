"""Several targets at once: what each of them gets, names that change places, and what is read before any changes."""

from __future__ import annotations

import ast
import operator
from dataclasses import dataclass, replace
from typing import Any

import gast
import numpy as np

from s2sad.frontend import protocols, rows
from s2sad.frontend.containers import current as current_items
from s2sad.frontend.containers import holds, rewrite, scopes, without
from s2sad.frontend.expressions import list_of, plain_value
from s2sad.frontend.indexing import item_of_range, length_of_range, lower_index
from s2sad.frontend.lazily import root_name
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.operators import build
from s2sad.frontend.values import (
    FuncV,
    IterV,
    RangeV,
    RowsV,
    StaticV,
    StructV,
    V,
    Value,
    leaves_of,
    literal,
)
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, CallStmt, Const, Expr, If, Raise, Slice, Swap, Var
from s2sad.ir.types import Array, ListOf, Scalar, Static, rank
from s2sad.ir.views import is_item
from s2sad.ir.walk import reads


def unpack(lw: Lowerer, target: Any, value: Value, node: Any) -> None:
    """Bind each of several targets to its part of a value: `a, (b, c), *d = value`."""
    from s2sad.frontend.assignments import assign_target

    names, items = _parts(lw, target, value, node)
    if _named_in_place(lw, names, items, node):
        return
    if _permute(lw, names, items, node):
        return
    if _exchanges_items(node):
        items = [items[0], *(_own_item(item) for item in items[1:])]
    items = _simultaneous(lw, names, items, node)
    for name, item in zip(names, items, strict=True):
        assign_target(lw, name, item, node)


def _parts(lw: Lowerer, target: Any, value: Value, node: Any) -> tuple[list[Any], list[Value]]:
    """Return the targets and what each of them gets: those in a display of targets on a level with the others."""
    items = _items_of(lw, value, len(target.elts), target, node)
    stars = [i for i, t in enumerate(target.elts) if isinstance(t, gast.Starred)]
    if stars and isinstance(value, StructV):
        at, after = stars[0], len(target.elts) - stars[0] - 1
        if len(items) < len(target.elts) - 1:
            lw.fail(node, "not enough values to unpack")
        middle = items[at : len(items) - after]
        starred = StructV("list", tuple(range(len(middle))), tuple(middle))
        items = [*items[:at], starred, *items[len(items) - after :]]
    elif len(items) != len(target.elts):
        lw.fail(node, f"{len(items)} values cannot be unpacked into {len(target.elts)} names")
    names: list[Any] = []
    each: list[Value] = []
    for part, item in zip(target.elts, items, strict=True):
        name = part.value if isinstance(part, gast.Starred) else part
        # a display is there before the first target changes; what else is unpacked is read when its turn comes
        is_display = isinstance(item, StructV) and (item.kind == "tuple" or item.cell is None)
        inner = _parts(lw, name, item, node) if is_display and isinstance(name, gast.Tuple | gast.List) else None
        names += [name] if inner is None else inner[0]
        each += [item] if inner is None else inner[1]
    return names, each


def _exchanges_items(node: Any) -> bool:
    """Say whether items only change their places: `rows[i], rows[j] = rows[j], rows[i]`."""
    match node:
        case gast.Assign(targets=[gast.Tuple(elts=places)], value=gast.Tuple(elts=values)):
            to, given = ([gast.unparse(part) for part in parts] for parts in (places, values))
            return all(isinstance(p, gast.Subscript) for p in places) and sorted(to) == sorted(given)
        case _:
            return False


def _own_item(value: Value) -> Value:
    """Return an array of a list as one of its own, which stays when the list gets another in its place."""
    expr = value.expr if isinstance(value, V) else None
    return V(build(np.copy, expr)) if expr is not None and is_item(expr) else value


def _named_in_place(lw: Lowerer, names: list[Any], items: list[Value], node: Any) -> bool:
    """`w, v = np.linalg.eigh(a)`: the call that was just written gives its results these names."""
    if not all(isinstance(n, gast.Name) for n in names):
        return False
    if lw.in_rule and all(isinstance(i, StaticV) or (isinstance(i, V) and isinstance(i.expr, Var)) for i in items):
        lw.env.update(zip((n.id for n in names), items, strict=True))
        return True
    call = lw.block[-1] if lw.block else None
    if not isinstance(call, CallStmt) or call.fn is None or items != [V(t) for t in call.targets]:
        return False
    given = [lw.ir_name(n.id) for n in names]
    if len(set(given)) < len(given) or any(set(given) & reads(arg) for arg in call.args):
        return False
    targets = tuple(Var(name, t.type) for name, t in zip(given, call.targets, strict=True))
    lw.block[-1] = replace(call, targets=targets)
    lw.names.update(given)
    lw.env.update((n.id, V(t)) for n, t in zip(names, targets, strict=True))
    return True


def _items_of(lw: Lowerer, value: Value, count: int, target: Any, node: Any) -> list[Value]:
    value = protocols.iterated(lw, value, node)
    if isinstance(value, IterV):
        value = _listed(lw, value, node)
    match value:
        case StructV(_, _, items):
            protocols.refuse_own_items(lw, value, node)
            return list(items)
        case StaticV(tuple() as known):
            return [plain_value(lw, item, "item", node) for item in known]
        case V(expr) if isinstance(expr.type, Array | ListOf):
            base = V(lw.atom(expr, "row", lw.span(node)))
            stars = [i for i, t in enumerate(target.elts) if isinstance(t, gast.Starred)]
            if stars:
                return _around_star(lw, base, stars[0], count - stars[0] - 1, node)
            return items_of_row(lw, base, count, node)
        case RangeV() if not any(isinstance(t, gast.Starred) for t in target.elts):
            length = length_of_range(value)
            known = getattr(length.type, "value", None)
            if isinstance(known, int) and known != count:
                lw.fail(node, f"{known} values cannot be unpacked into {count} names")
            if not isinstance(known, int):
                _raise_where(lw, build(operator.ne, length, literal(count)), f"{count} values are needed here", node)
            return [V(item_of_range(value, literal(place))) for place in range(count)]
        case RowsV() if not any(isinstance(t, gast.Starred) for t in target.elts):
            test = build(operator.ne, rows.length(value), literal(count))
            _raise_where(lw, test, f"{count} values are needed here", node)
            return [rows.item(lw, value, literal(place), node) for place in range(count)]
        case _:
            return lw.fail(node, "this value cannot be unpacked")


def _listed(lw: Lowerer, items: IterV, node: Any) -> Value:
    """Return a container of what an iterator gives."""
    from s2sad.frontend.functional import lower_list
    from s2sad.frontend.iteration import static_items

    known = static_items(lw, items)
    return lower_list(lw, items, node) if known is None else StructV("tuple", tuple(range(len(known))), tuple(known))


def items_of_row(lw: Lowerer, row: V, count: int, node: Any) -> list[Value]:
    """Return the items of a list or an array, of which there must be so many."""
    base = V(lw.atom(row.expr, "row", lw.span(node)))
    _check_length(lw, base, count, node)
    return [lower_index(lw, base, [literal(i)], node) for i in range(count)]


def _check_length(lw: Lowerer, row: V, count: int, node: Any) -> None:
    """What is unpacked has as many items as there are names: that is tested where it is not known."""
    if isinstance(row.expr.type, Array):
        length = row.expr.type.dims[0]
        known = f"{length}={count}"
        if length == count or known in lw.proven:
            return
        if isinstance(length, int):
            lw.fail(node, f"{length} values cannot be unpacked into {count} names")
        lw.proven |= {known}
    _raise_where(lw, build(operator.ne, _length(row), literal(count)), f"{count} values are needed here", node)


def _check_enough(lw: Lowerer, row: V, count: int, node: Any) -> None:
    """What is unpacked around a star has an item for each of the other names."""
    length = row.expr.type.dims[0] if isinstance(row.expr.type, Array) else None
    if not isinstance(length, int):
        test = build(operator.lt, _length(row), literal(count))
        _raise_where(lw, test, f"at least {count} values are needed here", node)
    elif length < count:
        lw.fail(node, f"{length} values cannot be unpacked into {count} names and a star")


def _length(row: V) -> Expr:
    if isinstance(row.expr.type, Array):
        return build(ops.dim, row.expr, literal(0))
    return Apply(ops.length, (row.expr,), Scalar("int64", True))


def _raise_where(lw: Lowerer, test: Expr, text: str, node: Any) -> None:
    lw.emit(If(test, (Raise(ValueError, (Const(text, Static(text)),), lw.span(node)),), (), lw.span(node)))


def _around_star(lw: Lowerer, row: V, before: int, after: int, node: Any) -> list[Value]:
    """`first, *rest = row`: the items before and behind the star, and a list of those between."""
    _check_enough(lw, row, before + after, node)
    first = [lower_index(lw, row, [literal(i)], node) for i in range(before)]
    last = [lower_index(lw, row, [literal(i)], node) for i in range(-after, 0)]
    part = Slice(literal(before), literal(-after) if after else None, None)
    between = lower_index(lw, row, [part], node)
    assert isinstance(between, V)
    return [*first, list_of(lw, between, node), *last]


def _permute(lw: Lowerer, targets: list[Any], items: list[Value], node: Any) -> bool:
    """Arrays or lists that only exchange their places, as in double buffering, are swapped, not copied.

    A place is a name, an item of a list of known length, or an attribute of an object.
    """
    return len(targets) > 1 and _exchange(lw, [_place(lw, target) for target in targets], items, node)


def rearranged(lw: Lowerer, name: str, value: Value, node: Any) -> bool:
    """`levels = [levels[1], levels[0]]`, of a list that has no other name: its items change their places."""
    held = lw.env.get(name)
    if not isinstance(value, StructV) or not isinstance(held, StructV) or len(held.keys) < 2:
        return False
    if (value.kind, value.keys) != (held.kind, held.keys) or value.items == held.items:
        return False
    named = [holds(v, held.cell) for scope in scopes(lw) for v in scope.env.values()] if held.cell else [True]
    if value.cell is held.cell is not None or sum(named) != 1:
        return False
    places = [_Place(name, held, key, item) for key, item in zip(held.keys, held.items, strict=True)]
    return _exchange(lw, list(places), list(value.items), node)


def _exchange(lw: Lowerer, places: list[_Place | None], items: list[Value], node: Any) -> bool:
    """Give each of some places what one of them holds, if they only exchange their arrays."""
    current: list[Any] = [None if place is None else place.now for place in places]
    now, then = ([x.expr for x in xs if isinstance(x, V) and isinstance(x.expr, Var)] for xs in (items, current))
    wanted = [x.name for x in now if isinstance(x.type, Array | ListOf)]
    have = [x.name for x in then if isinstance(x.type, Array | ListOf)]
    if len(wanted) != len(places) or sorted(wanted) != sorted(have) or len(set(have)) != len(have):
        return False
    kinds = {name: c.expr.type for name, c in zip(have, current, strict=True)}
    if len({_shape_of(kind) for kind in kinds.values()}) != 1:
        return False
    if any(place is not None and place.owner is not None for place in places) and _are_met(lw, places, set(have)):
        return False
    order = list(have)
    for position, name in enumerate(wanted):
        other = order.index(name)
        if other != position:
            order[position], order[other] = order[other], order[position]
            lw.emit(Swap(Var(have[position], kinds[order[other]]), Var(have[other], kinds[name]), lw.span(node)))
    for place, name, source in zip(places, have, wanted, strict=True):
        assert place is not None
        place.put(lw, V(Var(name, kinds[source])), node)
    return True


@dataclass(frozen=True, slots=True)
class _Place:
    """A target: a name, or a key of the container that a name means; and what is there now."""

    name: str
    owner: StructV | None
    key: Any
    now: Value

    def put(self, lw: Lowerer, value: V, node: Any) -> None:
        """Say that what is there, under the same variable, is of another kind now."""
        if self.owner is None:
            lw.env[self.name] = value
            return
        held = current_items(lw, self.owner) if self.owner.cell else lw.env[self.name]
        assert isinstance(held, StructV)
        items = {**dict(zip(held.keys, held.items, strict=True)), self.key: value}
        ordered = tuple(items[key] for key in held.keys)
        if self.owner.cell:
            rewrite(lw, self.owner, held.keys, ordered, node)
        else:
            lw.env[self.name] = replace(held, items=ordered)


def _are_met(lw: Lowerer, places: list[_Place | None], variables: set[str]) -> bool:
    """Say whether anything but the places themselves means one of these variables."""
    cells = [place.owner.cell for place in places if place is not None and place.owner is not None and place.owner.cell]
    names = {place.name for place in places if place is not None and (place.owner is None or not place.owner.cell)}
    for scope in scopes(lw):
        for name, value in scope.env.items():
            for cell in cells:
                value = without(value, cell)
            own = scope is lw and name in names
            if not own and not isinstance(value, FuncV) and any(variables & reads(leaf) for leaf in leaves_of(value)):
                return True
    return False


def _place(lw: Lowerer, target: Any) -> _Place | None:
    """Return the place that a target names, if that is known and finding it does nothing."""
    match target:
        case gast.Name(id=name) if name in lw.env:
            return _Place(name, None, None, lw.env[name])
        case gast.Subscript(value=gast.Name(id=name), slice=at):
            try:
                key = ast.literal_eval(gast.unparse(at))
            except (ValueError, SyntaxError):
                return None
        case gast.Attribute(value=gast.Name(id=name), attr=key):
            pass
        case _:
            return None
    owner = lw.env.get(name)
    if not isinstance(owner, StructV) or owner.cell is None or isinstance(target, gast.Attribute) == (
        isinstance(owner.kind, str)
    ):
        return None
    held = current_items(lw, owner)
    if owner.kind == "list" and isinstance(key, int) and key < 0:
        key += len(held.keys)
    return _Place(name, owner, key, held.items[held.keys.index(key)]) if key in held.keys else None


def _shape_of(kind: Any) -> Any:
    """Return what two buffers must agree in to change places."""
    if isinstance(kind, ListOf):
        return ("list", _shape_of(kind.item))
    return (getattr(kind, "dtype", None), rank(kind))


def _simultaneous(lw: Lowerer, names: list[Any], items: list[Value], node: Any) -> list[Value]:
    """Read every right-hand side before any name changes: `a, b = b, a + b`.

    A row of an array stays a view, as it is in NumPy: `a[0], a[1] = a[1], a[0]` makes both rows the second.
    """
    result = list(items)
    changed: set[str] = set()
    for position, name in enumerate(names):
        if isinstance(name, gast.Name):
            held = items[position]
            if isinstance(held, V) and isinstance(held.expr, Var) and held.expr.name == lw.ir_name(name.id):
                continue  # the counter of `for i, x in enumerate(xs)` is what it was
            changed |= {lw.ir_name(name.id)} | lw.variables(lw.ir_name(name.id), items[position])
        else:
            changed.update(_roots(lw, name))
        for later in range(position + 1, len(names)):
            value = result[later]
            used = {n for leaf in leaves_of(value) for n in reads(leaf)}
            if isinstance(value, V | StructV) and used & changed:
                hint = names[later].id if isinstance(names[later], gast.Name) else "value"
                result[later] = lw.store_value(lw.fresh(f"{hint}_new"), value, lw.span(node))
    return result


def _roots(lw: Lowerer, target: Any) -> set[str]:
    if isinstance(target, gast.Tuple | gast.List):
        return {name for part in target.elts for name in _roots(lw, part)}
    if isinstance(target, gast.Starred):
        return _roots(lw, target.value)
    if isinstance(target, gast.Name):
        return {lw.ir_name(target.id)} | _held_in(lw, target.id)
    name = root_name(target)
    return set() if name is None else _held_in(lw, name)


def _held_in(lw: Lowerer, name: str) -> set[str]:
    """Return the variables that stand for what a name holds."""
    value = lw.env.get(name)
    return {n for leaf in leaves_of(value) for n in reads(leaf)} if value is not None else set()
