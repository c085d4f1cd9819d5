"""Lists of records that grow: `history.append((t, y))`. The emitted code has one list for each field.

Which records a list holds that starts empty is known at its first `append`: the function is lowered again then.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.errors import AliasError
from s2sad.frontend import growing, keyed, references, texts
from s2sad.frontend.containers import A_TABLE, AN_ITEM, is_mutable, put_away, scopes
from s2sad.frontend.infer import own_lengths
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.optional import KindFound
from s2sad.frontend.values import (
    ItemCell,
    Referred,
    RowsV,
    SliceV,
    StaticV,
    StructV,
    V,
    Value,
    const,
    leaves_of,
    type_of,
)
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Expr, Index, Store, Var
from s2sad.ir.types import Array, ListOf, Scalar, Static, Struct, Type
from s2sad.ir.walk import reads


def look_for_records(lw: Lowerer, items: Expr, value: Value) -> None:
    """Begin again if the first item of a list that starts empty turns out to be a record."""
    if not (isinstance(value, StructV) and isinstance(items.type, ListOf)):
        return
    value = _coded(lw, value)
    if items.type.item is not None and not growing.is_guessed(lw, items):
        return
    named = {
        (id(scope.source.node), name): type_of(value)
        for scope in scopes(lw) for name, held in scope.env.items() if isinstance(held, V) and held.expr == items
    }  # fmt: skip
    made_for = growing.name_of(lw, items)
    if made_for is not None:
        named[made_for] = type_of(value)
    if named.keys() - lw.ctx.row_kinds.keys():
        lw.ctx.row_kinds.update(named)
        raise KindFound


def records_of(lw: Lowerer, name: str, value: StructV) -> Struct | None:
    """Return what the list that a name is bound to holds, if that is records."""
    found = type_of(_coded(lw, value.items[0])) if value.items else lw.ctx.row_kinds.get((id(lw.source.node), name))
    return found if isinstance(found, Struct) and found.keys else None


def made(lw: Lowerer, name: str, kind: Struct, value: StructV, node: Any) -> RowsV:
    """A list of records under a name, with its first items."""
    rows = empty(lw, name, kind, node)
    for item in value.items:
        append(lw, rows, item, node)
    return rows


def empty(lw: Lowerer, name: str, kind: Struct, node: Any, within: bool = False) -> RowsV:
    """Emit an empty list for each field; `within`: of a record that is a field of others."""
    fields: list[Value] = []
    for key, item in zip(kind.keys, kind.items, strict=True):
        part = lw.part_name(name, key)
        match item:
            case Struct():
                fields.append(empty(lw, part, item, node, within=True))
            case Scalar() | Array():
                fields.append(V(growing.make(lw, part, _unknown(item), node)))
            case Static(None | str() as same):
                fields.append(StaticV(same))
            case _:
                lw.fail(node, "a list of records holds numbers and arrays only",
                        "Functions and lists in a record that is appended are not supported.")  # fmt: skip
    made = RowsV(kind.kind, kind.keys, tuple(fields))
    if not within and leaves_of(made) and references.is_asked(lw, made):
        made = references.made(lw, made)
    if not within and not leaves_of(made):
        keyed.begin_again_with_rows(lw)
        if kind.kind == "list":
            lw.fail(node, "the rows of this list begin empty, and it is used in a way that is not followed",
                    "Rows grow by `rows[k].append(v)`, and are read, `for v in rows[k]`, `sum(rows[k])`, `rows[k][0]`\n"
                    "under one name of the list, in the function that makes it.\n"
                    "Else keep one list of all items, and one that says to which row each belongs.")  # fmt: skip
        lw.fail(node, "the records of this list hold no number that could be counted",
                "Count them in a number: `count += 1`.")  # fmt: skip
    return made


def _unknown(kind: Type) -> Type:
    return Scalar(kind.dtype, kind.weak) if isinstance(kind, Scalar) else kind


def of_display(lw: Lowerer, value: StructV, node: Any) -> RowsV | None:
    """Return the list of records that a display of records is, if they are all of one form."""
    kind = type_of(_coded(lw, value.items[0])) if value.items else None
    return made(lw, lw.fresh("records"), kind, value, node) if isinstance(kind, Struct) else None


def append(lw: Lowerer, rows: RowsV, value: Value, node: Any) -> None:
    """`rows.append(record)`: each field goes to its list."""
    from s2sad.frontend.methods import list_method

    value = references.moved(lw, value)
    appended = references.Appended(lw, rows, value, node) if rows.by_reference else None
    record = _matching(lw, rows, value, node)
    if appended is not None:
        appended.place(node)
    for held, item in zip(rows.items, record.items, strict=True):
        if isinstance(held, RowsV):
            append(lw, replace(held, by_reference=False), item, node)
        elif isinstance(held, V):
            list_method(lw, held, "append", [item], {}, node)
        else:
            _same(lw, held, item, node)
    if appended is not None:
        appended.name()


def _same(lw: Lowerer, held: Value, item: Value, node: Any) -> None:
    """Where a text differs from that of the records before it, begin again with a number for each."""
    if held == item:
        return
    if isinstance(held, StaticV) and isinstance(item, StaticV) and {type(held.value), type(item.value)} == {str}:
        _tell_apart(lw, held.value, item.value)
    lw.fail(node, *_UNLIKE)


def _tell_apart(lw: Lowerer, *found: str) -> None:
    """Begin again with a number for each of these texts in records."""
    lw.ctx.told_apart.update(dict.fromkeys(found))
    lw.ctx.row_kinds.clear()
    raise KindFound


_UNLIKE = (
    "the items of this list differ in kind",
    "A list that is appended to holds items of one type, and lists of one length.\n"
    "Rows that grow fit into an array: `table = np.zeros((n, n))`, and `table[i, j] = …`.",
)


def _coded(lw: Lowerer, value: Value) -> Value:
    """Return a record in which numbers stand for texts that differ, and for objects that are in another list."""
    match value:
        case StructV(cell=ItemCell() as cell):
            return references.place_of(cell)
        case StaticV(str() as text) if text in lw.ctx.told_apart:
            return texts.coded_among(tuple(lw.ctx.told_apart), text)
        case StructV():
            return replace(value, items=tuple(_coded(lw, item) for item in value.items))
        case _:
            return value


def of_one_kind(lw: Lowerer, kinds: list[Any], node: Any) -> Struct:
    """Return what the records of a comprehension are, which is written out in several places."""
    for kind in kinds[1:]:
        _alike(lw, kinds[0], kind, node)
    return kinds[0]


def _alike(lw: Lowerer, first: Type, other: Type, node: Any) -> None:
    match first, other:
        case Struct(kind, keys, items), Struct(same, others, parts) if kind == same and keys == others:
            for item, part in zip(items, parts, strict=True):
                _alike(lw, item, part, node)
        case Static(text), Static(differs):
            _same(lw, StaticV(text), StaticV(differs), node)
        case (Struct() | Static(), _) | (_, Struct() | Static()):
            lw.fail(node, *_UNLIKE)
        case _:
            pass


def append_parts(lw: Lowerer, name: str, record: StructV, node: Any) -> Struct:
    """Append the fields of a record to lists that are made later; return what the record is."""
    from s2sad.frontend.expressions import as_expr

    whole = _coded(lw, references.moved(lw, record))
    assert isinstance(whole, StructV)
    kinds: list[Type] = []
    for key, item in zip(whole.keys, whole.items, strict=True):
        part = lw.part_name(name, key)
        if isinstance(item, StructV):
            kinds.append(append_parts(lw, part, item, node))
            continue
        if isinstance(item, StaticV):
            kinds.append(type_of(item))
            continue
        references.check_alone(lw, part, whole, node)
        expr = as_expr(lw, item, node)
        kinds.append(expr.type)
        growing.append(lw, Var(part, ListOf(_unknown(expr.type))), expr, node)
    return Struct(whole.kind, whole.keys, tuple(kinds))


def _matching(lw: Lowerer, rows: RowsV, value: Value, node: Any) -> StructV:
    """Return a record that goes into a list; a located error if it is of another form, or has another name."""
    if rows.kind == texts.Choice(tuple(lw.ctx.told_apart)):
        value = _coded(lw, value)
        if isinstance(value, StaticV) and isinstance(value.value, str):
            _tell_apart(lw, value.value)
    value = _coded(lw, texts.coded(lw, value))
    if not (isinstance(value, StructV) and value.kind == rows.kind and value.keys == rows.keys):
        keyed.begin_again_with_rows(lw)
        lw.fail(node, *_UNLIKE)
    assert isinstance(value, StructV)
    value = _read_now(lw, rows, value, node)
    assert isinstance(value, StructV)
    if _is_shared(value) and not put_away(lw, value):
        lw.fail(node, "what is appended here has another name, through which it can be written",
                "Append a tuple, or a new record.")  # fmt: skip
    return value


def _read_now(lw: Lowerer, rows: RowsV, value: Value, node: Any) -> Value:
    """Read every field of a record before any goes to its list."""
    if isinstance(value, StructV):
        return replace(value, items=tuple(_read_now(lw, rows, item, node) for item in value.items))
    own = {name for leaf in leaves_of(rows) for name in reads(leaf)}
    if isinstance(value, V) and not isinstance(value.expr, Var) and reads(value.expr) & own:
        return V(lw.atom(value.expr, "field", lw.span(node)))
    return value


def _is_shared(value: Value) -> bool:
    if not isinstance(value, StructV):
        return False
    return (is_mutable(value) and value.cell is not None) or any(_is_shared(item) for item in value.items)


def length(rows: RowsV) -> Expr:
    """Return how many records there are."""
    return Apply(ops.length, (leaves_of(rows)[0],), Scalar("int64", True))


def item(lw: Lowerer, rows: RowsV, index: Expr, node: Any) -> StructV:
    """Return one record."""
    from s2sad.frontend.containers import identified
    from s2sad.frontend.indexing import lower_index

    if isinstance(rows.kind, Referred):
        return references.meant(lw, rows, index, node)
    if rows.by_reference and references.is_in_variables(rows):
        return references.item(lw, rows, index)

    def part(held: Value) -> Value:
        if isinstance(held, RowsV):
            return item(lw, held, index, node)
        return lower_index(lw, held, [index], node) if isinstance(held, V) else held

    parts = tuple(part(held) for held in rows.items)
    if lw.instance is not None and any(reads(leaf) & lw.instance.given for leaf in leaves_of(rows)):
        lw.instance.reads_given_items = True
    record = identified(StructV(rows.kind, rows.keys, parts), AN_ITEM)
    assert isinstance(record, StructV)
    return record


def at(lw: Lowerer, rows: RowsV, index: Value, node: Any) -> Value:
    """`rows[i]` or `rows[a:b]`."""
    from s2sad.frontend.expressions import as_expr
    from s2sad.frontend.indexing import index_item, lower_index

    if isinstance(index, SliceV):
        part = index_item(lw, index, node)
        return _each(lw, rows, lambda held: lower_index(lw, held, [part], node), node)
    place = references.from_the_front(lw, rows, index, node) if rows.by_reference else index
    return item(lw, rows, lw.atom(as_expr(lw, place, node), "at", lw.span(node)), node)


def store(lw: Lowerer, rows: RowsV, index: Value, value: Value, node: Any, op: str) -> None:
    """`rows[i] = record`."""
    from s2sad.frontend.expressions import as_expr

    if op or isinstance(index, SliceV):
        lw.fail(node, "a list of records is written one whole record at a time", "Write `rows[i] = (…)`.")
    if rows.by_reference and rows.kind == "list":
        lw.fail(node, f"this list {AN_ITEM.refusal}", A_TABLE, AliasError)
    if rows.by_reference:
        references.refuse(lw, node, "an object of this list gives way to another, and objects of it are written")
    record = _matching(lw, rows, value, node)
    place = lw.atom(as_expr(lw, index, node), "at", lw.span(node))
    for held, part in zip(rows.items, record.items, strict=True):
        store_field(lw, held, place, part, node)


def store_field(lw: Lowerer, held: Value, place: Expr, part: Value, node: Any) -> None:
    """Store one field of a record in its list."""
    from s2sad.frontend.expressions import as_expr

    if isinstance(held, RowsV):
        return store(lw, replace(held, by_reference=False), V(place), part, node, "")
    if isinstance(held, StaticV):
        return _same(lw, held, part, node)
    if not isinstance(held, V) or not isinstance(held.expr.type, ListOf):
        return lw.fail(node, "a record of this list is kept in an array, which takes no other in its place",
                       "Write the fields into lists of their own, or make a new list.")  # fmt: skip
    expr = as_expr(lw, part, node)
    kind = own_lengths(held.expr.type.item or expr.type)
    expr = growing.fitted(lw, held.expr, expr, node)
    lw.emit(Store(Index(held.expr, (place,), kind), "", expr, lw.span(node)))
    return None


def _each(lw: Lowerer, rows: RowsV, change: Any, node: Any) -> RowsV:
    if rows.by_reference:
        rows = references.let_go(lw, rows, node)
    parts = tuple(
        _each(lw, held, change, node) if isinstance(held, RowsV) else change(held) if isinstance(held, V) else held
        for held in rows.items
    )
    return replace(rows, items=parts)


def copied(lw: Lowerer, rows: RowsV, node: Any) -> RowsV:
    """`list(rows)`."""
    from s2sad.frontend.expressions import list_of

    return _each(lw, rows, lambda held: list_of(lw, held, node), node)


def joined(lw: Lowerer, left: RowsV | StructV, right: RowsV | StructV, node: Any) -> Value:
    """`rows + [record]`: a new list of the records of each."""
    if isinstance(left, RowsV):
        made = copied(lw, left, node)
    else:
        assert isinstance(right, RowsV)
        kind = type_of(_coded(lw, left.items[0])) if left.items else _kind_of(right)
        assert isinstance(kind, Struct)
        made = empty(lw, lw.fresh("records"), kind, node)
        for record in left.items:
            append(lw, made, record, node)
    method(lw, made, "extend", [right], node)
    return made


def _kind_of(rows: RowsV) -> Struct:
    """Return what the records of a list are."""

    def of_field(held: Value) -> Type:
        if isinstance(held, RowsV):
            return _kind_of(held)
        kind = type_of(held)
        return kind.item if isinstance(kind, ListOf) and kind.item is not None else kind

    return Struct(rows.kind, rows.keys, tuple(of_field(held) for held in rows.items))


def stacked(lw: Lowerer, rows: RowsV, node: Any) -> Value:
    """`np.array(rows)`: a row for each record."""
    from s2sad.frontend.calls import call_function
    from s2sad.frontend.displays import array_of

    if any(isinstance(held, RowsV) for held in rows.items):
        return lw.fail(node, "a list of nested records cannot be made an array", "Make one array of each field.")
    columns = tuple(array_of(lw, held, node) for held in rows.items)
    display = StructV("list", tuple(range(len(columns))), columns)
    return call_function(lw, np.stack, [display], {"axis": const(1)}, node)


def columns(lw: Lowerer, rows: RowsV, node: Any) -> StructV:
    """`zip(*rows)`: a list for each field."""
    if any(isinstance(held, StaticV) for held in rows.items):  # there is none for what is the same in all of them
        lw.fail(node, "a text in these records is the same in all of them, and has no list of its own",
                "Loop over the records: `for name, value in rows:`.")  # fmt: skip
    return StructV("tuple", tuple(range(len(rows.items))), copied(lw, rows, node).items)


def ordered(lw: Lowerer, rows: RowsV, order: V, of: list[Expr], node: Any) -> RowsV:
    """Return the records in an order: of each field an array; `of`: what arrays among the fields may be."""
    from s2sad.frontend.displays import array_of
    from s2sad.frontend.in_order import in_order

    def taken(held: V) -> Value:
        column = array_of(lw, held, node)
        assert isinstance(column, V)
        return in_order(lw, column, order.expr, of, node)

    return _each(lw, rows, taken, node)


def _sort(lw: Lowerer, rows: RowsV, ordered: Value, node: Any) -> Value:
    """`rows.sort(key=f)`: the list of each field gives way to one in the order of the records."""
    from s2sad.frontend import anew
    from s2sad.frontend.expressions import as_expr, list_of

    if not isinstance(ordered, RowsV):
        return lw.fail(node, "the order of these records cannot be found", "Use `sorted(rows, key=...)`.")
    for held, part in zip(rows.items, ordered.items, strict=True):
        if isinstance(held, RowsV):
            _sort(lw, held, part, node)
        elif isinstance(held, V) and isinstance(held.expr, Var) and isinstance(part, V):
            anew.give_way(lw, held.expr, as_expr(lw, list_of(lw, part, node), node), node)
    return StaticV(None)


def method(
    lw: Lowerer, rows: RowsV, name: str, args: list[Value], node: Any, kwargs: dict[str, Value] | None = None
) -> Value:
    """A method of a list of records."""
    from s2sad.frontend.functional import lower_sorted
    from s2sad.frontend.methods import append_each
    from s2sad.frontend.searched import search

    if rows.by_reference and name in ("pop", "popleft", "remove", "clear", "reverse", "sort"):
        args = [V(at) if (at := references.place_in(rows, arg)) is not None else arg for arg in args]
        if name == "remove" and args and isinstance(args[0], V):
            name = "pop"
        result = method(lw, references.plain(rows), name, args, node, kwargs)
        references.forget(lw, rows)
        return result
    if name == "popleft":
        name, args = "pop", [const(0)]
    match name:
        case "append" if len(args) == 1:
            append(lw, rows, args[0], node)
            return StaticV(None)
        case "extend" if len(args) == 1 and isinstance(args[0], StructV) and args[0].kind in ("list", "tuple"):
            for record in growing.read_before(lw, args[0].items, node):
                append(lw, rows, record, node)
            return StaticV(None)
        case "extend" if len(args) == 1 and args[0] != rows:
            return append_each(lw, rows, args[0], node)
        case "pop" if len(args) < 2:
            gone: list[Value] = []
            for held in rows.items:
                gone.append(_of_field(lw, held, "pop", args, node))
            return StructV(rows.kind, rows.keys, tuple(gone))
        case "remove" if len(args) == 1:
            method(lw, rows, "pop", [search(lw, "index", rows, args, node)], node)
            return StaticV(None)
        case "sort" if not args:
            return _sort(lw, rows, lower_sorted(lw, [rows], kwargs or {}, node), node)
        case "reverse" | "clear" if not args:
            for held in rows.items:
                _of_field(lw, held, name, [], node)
            return StaticV(None)
        case "copy" if not args:
            return copied(lw, rows, node)
        case _:
            return lw.fail(node, f"`{name}` of a growing list is not supported here",
                           "Only `append`, `extend`, `pop`, `remove`, `reverse`, `clear`, `sort`, `copy`.\n"
                           "Use one array for each field.")  # fmt: skip


def _of_field(lw: Lowerer, held: Value, name: str, args: list[Value], node: Any) -> Value:
    """Call a method of the list of one field; a field that is the same in all records has none."""
    from s2sad.frontend.methods import list_method

    if isinstance(held, RowsV):
        return method(lw, held, name, args, node)
    return list_method(lw, held, name, args, {}, node) if isinstance(held, V) else held
