"""Objects in a list that grows, where they are written: `for b in bodies: b.v += dt * b.a`.

    for b in bodies:                  for i in range(len(bodies_v)):
        b.v += dt * b.a     becomes       bodies_v[i] += dt * bodies_a[i]

A name for such an object means its place in the list: what it holds is read, and written, there, by whatever name.
So each object has one place, in one list; another list that gets it holds the place. When the objects get other places,
by `sort` or in a list that takes the place of this one, names for them mean nothing any more. Lists are made so where
an object of theirs turns out to be written, or to be asked which one it is; the function is lowered again then. Where
that cannot be followed, the structure of the lists has to be known.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import gast

from s2sad.errors import AliasError, S2SADError
from s2sad.frontend import growing
from s2sad.frontend.containers import AN_ITEM, IN_A_LIST, become, is_mutable, is_named, scopes
from s2sad.frontend.lowerer import Context, Instance, Lowerer
from s2sad.frontend.operators import build
from s2sad.frontend.optional import KindFound
from s2sad.frontend.values import (
    Cell,
    FuncV,
    ItemCell,
    IterV,
    MethodV,
    Poison,
    Referred,
    Rows,
    RowsV,
    StructV,
    V,
    Value,
    leaves_of,
    literal,
)
from s2sad.ir import ops
from s2sad.ir.nodes import Append, Apply, Const, Expr, For, Var
from s2sad.ir.types import Scalar, Struct, Type
from s2sad.ir.walk import reads

NOT_TOLD_APART = "whether these are one object is not known here"
MOVED = Cell(IN_A_LIST)
"""What goes from one list into the one that takes its place."""
_OTHER_NAMES = "an object goes into a list, of which objects are written, that has other names"
_WAY_OUT = "Keep the items of each attribute in an array, as in `x = np.zeros(n)`, and write `x[i] = …`."


def item(lw: Lowerer, rows: RowsV, at: Expr) -> StructV:
    """Return what stands at a place of a list: its fields are read when they are asked for."""
    parts = tuple(_field(lw, held, at) for held in rows.items)
    key = tuple(_names(rows)), at.name if isinstance(at, Var) else at  # not the types, which a loop may widen
    cell = lw.ctx.item_cells.setdefault(key, ItemCell(rows=rows, at=at))
    return StructV(rows.kind, rows.keys, parts, cell)


def from_the_front(lw: Lowerer, rows: RowsV, index: Value, node: Any) -> Value:
    """Return a place of a list, `bodies[-1]`, counted from its begin: the list may grow while a name means the item."""
    from s2sad.frontend.functional import bind_each, expression

    known = index.expr.value if isinstance(index, V) and isinstance(index.expr, Const) else None
    if (isinstance(known, int) and known >= 0) or counts_up(lw.source.node, getattr(node, "slice", None)):
        return index
    count, at = bind_each(lw, [V(length_of(rows)), index])
    if isinstance(known, int):
        return expression(lw, f"{count} + {at}", node)
    return expression(lw, f"{at} if {at} >= 0 else {count} + {at}", node)


def counts_up(text: Any, index: Any, below: frozenset[str] = frozenset()) -> bool:
    """Say whether an index is not negative wherever the text of a function has it: it is counted by its loops.

    `below`: the variables that is asked for already.
    """
    match index:
        case gast.Constant(value=int() as number):
            return number >= 0
        case gast.BinOp(op=gast.Add() | gast.Mult(), left=left, right=right):
            return counts_up(text, left, below) and counts_up(text, right, below)
        case gast.BinOp(op=gast.Mod(), right=gast.Constant(value=int() as number)):
            return number > 0
        case gast.BinOp(op=gast.Mod(), right=gast.Call(func=gast.Name(id="len"))):
            return True
        case gast.Name(id=name) if name not in below:
            loops = [part for part in gast.walk(text) if isinstance(part, gast.For | gast.comprehension)]
            counters = [_counter(text, loop, name, below | {name}) for loop in loops]
            stored = [
                part for part in gast.walk(text)
                if isinstance(part, gast.Name) and part.id == name and not isinstance(part.ctx, gast.Load)
            ]  # fmt: skip
            return bool(stored) and all(any(part is one for one in counters) for part in stored)
        case _:
            return False


def _counter(text: Any, loop: Any, name: str, below: frozenset[str]) -> Any:
    """Return where a loop binds a name, if it counts by it from zero or above: `range(n)`, `enumerate(bodies)`."""
    match loop.target, loop.iter:
        case gast.Name(id=found), gast.Call(func=gast.Name(id="range"), args=[_]) if found == name:
            return loop.target
        case gast.Name(id=found), gast.Call(func=gast.Name(id="range"), args=[start, _]) if found == name:
            return loop.target if counts_up(text, start, below) else None
        case gast.Tuple(elts=[gast.Name(id=found) as first, _]), gast.Call(
            func=gast.Name(id="enumerate"), args=[_], keywords=[]
        ) if found == name:
            return first
        case _:
            return None


def _field(lw: Lowerer, held: Value, at: Expr) -> Value:
    from s2sad.frontend.indexing import lower_index

    if isinstance(held, RowsV):
        return meant(lw, held, at, lw.statement) if isinstance(held.kind, Referred) else item(lw, held, at)
    return lower_index(lw, held, [at], lw.statement) if isinstance(held, V) else held


def write(lw: Lowerer, cell: ItemCell, key: Any, value: Value, node: Any) -> None:
    """`b.v = value`: the item of the list of this field."""
    from s2sad.frontend import rows as records

    assert cell.rows is not None and cell.at is not None
    rows, at = cell.rows, lw.atom(cell.at, "at", lw.span(node))
    if key not in rows.keys:
        refuse(lw, node, f"the attribute `{key}` is new in an object that a list has got")
    held = rows.items[rows.keys.index(key)]
    if isinstance(held, RowsV) and not isinstance(held.kind, Referred) and _is_object(value):
        refuse(lw, node, "an object of a list that grows gets another object")
    records.store_field(lw, held, at, value, node)


def _is_object(value: Value) -> bool:
    return isinstance(value, StructV) and (is_mutable(value) or any(_is_object(part) for part in value.items))


def begin_again(lw: Lowerer, record: StructV) -> None:
    """Lower the function again with the lists that a record may be an item of as such lists, if they are not."""
    found = [
        (whole, rows) for whole, rows in lists_within([held for scope in scopes(lw) for held in scope.env.values()])
        if rows.kind == record.kind and rows.keys == record.keys
    ]  # fmt: skip
    for whole, _ in sorted(found, key=lambda pair: pair[0] is not pair[1]):  # before those that hold one of another
        _mark(lw, whole)


def _mark(lw: Lowerer, rows: RowsV) -> None:
    first = leaves_of(rows)[0]
    key = growing.key_of(lw, first.name) if isinstance(first, Var) else None
    if key is not None and key not in lw.ctx.by_reference and are_objects(rows):
        lw.ctx.by_reference[key] = True
        lw.ctx.row_kinds.clear()  # of lists that hold such objects
        raise KindFound


def is_asked(lw: Lowerer, rows: RowsV) -> bool:
    """Say whether the items of a list that is made here are written."""
    first = leaves_of(rows)[0]
    return isinstance(first, Var) and lw.ctx.by_reference.get(growing.key_of(lw, first.name), False)


def lists_within(values: list[Value]) -> Iterator[tuple[RowsV, RowsV]]:
    """Go through the lists of records in values, and those of records in records, each with the one it is part of."""
    waiting: list[tuple[RowsV | None, Value]] = [(None, value) for value in values]
    while waiting:
        whole, value = waiting.pop()
        if isinstance(value, RowsV):
            whole = whole or value
            yield whole, value
        if isinstance(value, StructV | RowsV):
            waiting += [(whole, part) for part in value.items]


def made(lw: Lowerer, rows: RowsV) -> RowsV:
    """Return a new list, still empty, as one whose items are written; names for items of the last mean nothing now."""
    lw.forget_items(set(_names(rows)))
    return _by_reference(rows)


def _by_reference(rows: RowsV) -> RowsV:
    parts = tuple(_by_reference(held) if isinstance(held, RowsV) else held for held in rows.items)
    return replace(rows, items=parts, by_reference=True)


def refuse(lw: Lowerer, node: Any, what: str) -> Any:
    """Raise what cannot be done with such a list."""
    return lw.fail(node, what, _WAY_OUT, AliasError)


def give_up(ctx: Context, owner: Any, error: S2SADError) -> bool:
    """Lower a function with the structure of such lists known; False if there are none in it."""
    tried = [key for key, active in ctx.by_reference.items() if active and key[0] == id(owner)]
    for key in tried:
        ctx.by_reference[key] = False
        growing.know(ctx, ctx.list_names.get(key))
    if tried:
        ctx.row_kinds.clear()
        ctx.refused_items.setdefault(id(owner), error)
    return bool(tried)


def same(left: Value, right: Value) -> Expr | bool | None:
    """Say whether two objects are one, of which at least one is in such a list; None where that is not known."""
    cells = [value.cell if isinstance(value, StructV) else None for value in (left, right)]
    one, other = cells
    if isinstance(one, ItemCell) and isinstance(other, ItemCell):
        assert one.rows is not None and other.rows is not None and one.at is not None and other.at is not None
        if _names(one.rows) == _names(other.rows):
            return True if one.at == other.at else build(operator.eq, one.at, other.at)
        return False if one.rows.kind is not other.rows.kind else None
    plain = other if isinstance(one, ItemCell) else one
    return False if isinstance(plain, Cell) and not plain.refusal and plain.later is None else None


def is_referred(value: Value) -> bool:
    """Say whether a value is, or holds, such a list or an item of one."""
    match value:
        case StructV(cell=ItemCell()):
            return True
        case RowsV(by_reference=True):
            return True
        case StructV(_, _, items) | RowsV(_, _, items):
            return any(is_referred(item) for item in items)
        case _:
            return False


def may_give_item(instance: Instance) -> bool:
    """Say whether what a function returns may be an item of a list that it was given, or such a list."""
    return instance.returns_given or instance.returns_item or _has_rows(instance.result)


def returns_list(lw: Lowerer, instance: Instance) -> bool:
    """Say whether a function returns a list whose items may be written where it is called."""
    return any(lw.ctx.by_reference.values()) and _has_rows(instance.result)


def _has_rows(kind: Type | None) -> bool:
    return isinstance(kind, Struct) and (isinstance(kind.kind, Rows) or any(_has_rows(part) for part in kind.items))


def plain(rows: RowsV) -> RowsV:
    """Return a list as one of which no item has a name."""
    parts = tuple(plain(held) if isinstance(held, RowsV) else held for held in rows.items)
    return replace(rows, items=parts, by_reference=False)


def place_in(rows: RowsV, value: Value) -> Expr | None:
    """Return the place of an object in a list, if it is known to be there."""
    cell = value.cell if isinstance(value, StructV) else None
    same = isinstance(cell, ItemCell) and cell.rows is not None and _names(cell.rows) == _names(rows)
    return cell.at if same and isinstance(cell, ItemCell) else None


def forget(lw: Lowerer, rows: RowsV) -> None:
    """No name means an object of a list any more: they have other places."""
    lw.forget_items(set(_names(rows)))


def are_objects(rows: RowsV) -> bool:
    """Say whether what a list holds can be written."""
    return _is_object(StructV(rows.kind, rows.keys, ()))


def in_their_place(lw: Lowerer, rows: RowsV, moves: bool, node: Any) -> RowsV:
    """Return a list of objects in another order as lists, which grow; `moves`: it takes the place of one as here."""
    from s2sad.frontend.expressions import list_of

    parts = tuple(
        in_their_place(lw, held, moves, node) if isinstance(held, RowsV) else
        list_of(lw, held, node) if isinstance(held, V) else held
        for held in rows.items
    )  # fmt: skip
    return replace(rows, items=parts, by_reference=moves)


def let_go(lw: Lowerer, rows: RowsV, node: Any) -> RowsV:
    """Return the list itself if another is made of it that takes its place, else a list of the places in it."""
    if _gives_way(lw, rows):
        forget(lw, rows)
        return rows
    span = lw.span(node)
    places = growing.make(lw, lw.fresh("places"), Scalar("int64"), node)
    counter = Var(lw.fresh("i"), Scalar("int64"))
    append = Append(places, counter, span)
    lw.emit(For(counter, literal(0), length_of(rows), literal(1), (append,), span))
    return RowsV(Referred(tuple(_names(rows))), ("at",), (V(places),))


def moved(lw: Lowerer, value: Value) -> Value:
    """Return an object that goes into the list that takes the place of the one it is in; any other value as it is."""
    if not (isinstance(value, StructV) and isinstance(value.cell, ItemCell) and value.cell.rows is not None):
        return value
    if not _gives_way(lw, value.cell.rows):
        return value
    return _taken_along(value, value.cell.rows)


def _taken_along(value: StructV, rows: RowsV) -> StructV:
    """Return an object that goes from one list into the next, with the objects that it holds in it."""

    def taken(part: Value, held: Value) -> Value:
        own = isinstance(part, StructV) and isinstance(held, RowsV) and not isinstance(held.kind, Referred)
        return _taken_along(part, held) if own else part  # type: ignore[arg-type]

    parts = tuple(taken(part, held) for part, held in zip(value.items, rows.items, strict=True))
    return replace(value, items=parts, cell=MOVED)


def place_of(cell: ItemCell) -> StructV:
    """Return what another list holds of an object: where it stands."""
    assert cell.rows is not None and cell.at is not None
    return StructV(Referred(tuple(_names(cell.rows))), ("at",), (V(cell.at),))


def meant(lw: Lowerer, rows: RowsV, index: Expr, node: Any) -> StructV:
    """Return the object, in the list where it stands, whose place another list holds."""
    from s2sad.frontend.indexing import lower_index

    places = rows.items[0]
    assert isinstance(places, V)
    place = lower_index(lw, places, [index], node)
    assert isinstance(place, V)
    for _, held in lists_within([value for scope in scopes(lw) for value in scope.env.values()]):
        if held.by_reference and tuple(_names(held)) == rows.kind.names:
            return item(lw, held, place.expr)
    return refuse(lw, node, f"this object {AN_ITEM.refusal}, which is not seen here")


def length_of(rows: RowsV) -> Expr:
    """Return how many objects there are."""
    return Apply(ops.length, (leaves_of(rows)[0],), Scalar("int64", True))


def check_alone(lw: Lowerer, name: str, record: StructV, node: Any) -> None:
    """Refuse an object that has a name already as the item of a comprehension, if its items are written."""
    if not lw.ctx.by_reference.get(growing.key_of(lw, name)) or record.cell is MOVED:
        return
    for part in _items_within(record):
        begin_again(lw, part)
    if record.cell is not None and (record.cell.refusal or is_named(lw, record.cell)):
        refuse(lw, node, _OTHER_NAMES)


def _gives_way(lw: Lowerer, rows: RowsV) -> bool:
    """Say whether a list gets another value in this statement, and has but one name."""
    match lw.statement:
        case gast.Assign(targets=[gast.Name(id=name)]):
            bound = lw.env.get(name)
        case gast.Assign(targets=[gast.Attribute(value=gast.Name(id=name), attr=attr)]):
            owner = lw.env.get(name)
            keys = owner.keys if isinstance(owner, StructV) else ()
            bound = owner.items[keys.index(attr)] if isinstance(owner, StructV) and attr in keys else None
        case _:
            return False
    holders: set[int] = set()
    waiting: list[tuple[int, Value]] = [
        (id(scope) + hash(name), scope.env[name]) for scope in scopes(lw)
        for name in scope.env.keys() & _names_in(scope.source.node)  # others stand for parts of this statement
    ]
    while waiting:
        holder, value = waiting.pop()
        if isinstance(value, RowsV) and set(_names(value)) & set(_names(rows)):
            holders.add(holder)
        elif isinstance(value, StructV):
            waiting += [(id(value.cell) if value.cell is not None else id(value), part) for part in value.items]
    return isinstance(bound, RowsV) and _names(bound) == _names(rows) and len(holders) == 1


class Appended:
    """An object that goes into such a list: from then on its names mean its place."""

    def __init__(self, lw: Lowerer, rows: RowsV, value: Value, node: Any) -> None:
        """Take note of the objects in the value, before the list gets them."""
        for part in _items_within(value):
            begin_again(lw, part)
        self.lw, self.rows = lw, rows
        self.cells = list(_cells_within(value, rows))
        self.at: Expr | None = None
        for _, cell in self.cells:
            if cell is not MOVED and (cell.refusal or cell.later is not None):
                refuse(lw, node, _OTHER_NAMES)

    def place(self, node: Any) -> None:
        """Keep the place that the object is about to get, if it has a name."""
        if any(cell.later is not None and is_named(self.lw, cell.later) for _, cell in self.cells):
            self.at = self.lw.atom(length_of(self.rows), "at", self.lw.span(node))

    def name(self) -> None:
        """Let the names of the object mean its place."""
        for rows, cell in self.cells:
            if self.at is not None and cell.later is not None:
                become(self.lw, cell.later, item(self.lw, rows, self.at))


def _items_within(value: Value) -> Iterator[StructV]:
    """Go through the objects in a value that are items of other lists."""
    if isinstance(value, StructV):
        if value.cell is AN_ITEM:
            yield value
        for part in value.items:
            yield from _items_within(part)


def _cells_within(value: Value, rows: RowsV) -> Iterator[tuple[RowsV, Cell]]:
    if isinstance(value, StructV) and not isinstance(value.cell, ItemCell):
        if value.cell is not None:
            yield rows, value.cell
        for part, held in zip(value.items, rows.items, strict=False):
            if isinstance(held, RowsV):
                yield from _cells_within(part, held)


def forgotten(value: Value, names: set[str]) -> Value:
    """Return a value in which no item is meant of a list that gives way to another of the same variables."""
    if isinstance(value, RowsV) and refers_to(value, names):
        return Poison("it holds objects of a list whose objects have other places now")
    kept = [value.owner] if isinstance(value, MethodV) else list(value.parts) if isinstance(value, IterV) else []
    kept += value.defaults.values() if isinstance(value, FuncV) else []
    if any(forgotten(part, names) is not part for part in kept):
        return Poison("it holds an object of a list whose objects have other places now")
    if not isinstance(value, StructV):
        return value
    if isinstance(value.cell, ItemCell) and any(names & reads(leaf) for leaf in leaves_of(value)):
        return Poison("it was an object of a list whose objects have other places now; take it from the list again")
    parts = tuple(forgotten(part, names) for part in value.items)
    same = all(one is other for one, other in zip(parts, value.items, strict=True))
    return value if same else replace(value, items=parts)


def refers_to(rows: RowsV, names: set[str] | None = None) -> bool:
    """Say whether a list holds places of objects in another, of these variables, or in any."""
    kinds = [held.kind for _, held in lists_within([rows])]
    return any(isinstance(kind, Referred) and (names is None or names & set(kind.names)) for kind in kinds)


def _names_in(node: Any) -> set[str]:
    return {part.id for part in gast.walk(node) if isinstance(part, gast.Name)}


def is_in_variables(rows: RowsV) -> bool:
    """Say whether each field of a list is in a variable, so that its items can be meant."""
    return all(isinstance(leaf, Var) for leaf in leaves_of(rows))


def _names(rows: RowsV) -> list[str]:
    return [leaf.name for leaf in leaves_of(rows) if isinstance(leaf, Var)]
