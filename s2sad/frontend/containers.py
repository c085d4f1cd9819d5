"""Lists, dicts and records of known structure as objects: a write through one name is seen through every other.

The emitted code only has their items, each place in a variable of its own. Which places are one container
is known here: they carry one `Cell`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import gast

from s2sad.errors import AliasError, UnsupportedSyntaxError
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import Cell, FuncV, ItemCell, IterV, MethodV, RowsV, StructV, V, Value, leaves_of
from s2sad.ir.nodes import Var
from s2sad.ir.types import ListOf
from s2sad.ir.walk import reads

OF_THE_CALLER = Cell("belongs to the caller, who would not see the write")
"""The containers that a function of the program is called with."""
OUTSIDE = Cell("is defined outside the function, where the write would be lost")
IN_A_LIST = "has been put into a list, of which it is an item"
"""Why a record cannot be written into any more."""
AN_ITEM = Cell("is an item of a list that grows")
"""The records that are read from such a list."""
A_TABLE = "Use an array of two axes, `np.array(…)`; its rows are exchanged by `a[[i, j]] = a[[j, i]]`."
UNDECIDED = Cell("may or may not be the one that another name means")


def is_mutable(value: Value) -> bool:
    """Say whether a value is a container that can be written into."""
    return isinstance(value, StructV) and (value.kind in ("list", "dict") or _is_record(value.kind))


def _is_record(kind: Any) -> bool:
    if hasattr(kind, "__dataclass_fields__"):
        return not kind.__dataclass_params__.frozen
    return isinstance(kind, type) and not hasattr(kind, "_fields")


def of_the_caller(value: Value) -> Value:
    """Return a container as a function of its own sees it, whose writes its maker would not see."""
    if not isinstance(value, StructV):
        return value
    items = tuple(of_the_caller(item) for item in value.items)
    return replace(value, items=items, cell=OF_THE_CALLER if is_mutable(value) else None)


def is_open(value: StructV) -> bool:
    """Say whether a container can get attributes that it does not have yet: an object that has a `__dict__`."""
    return isinstance(value.kind, type) and (
        not hasattr(value.kind, "__dataclass_fields__") or bool(getattr(value.kind, "__dictoffset__", 0))
    )


def identified(value: Value, cell: Cell | None = None) -> Value:
    """Give every container in a value that has none a cell: its own, or the one given."""
    if not isinstance(value, StructV):
        return value
    items = tuple(identified(item, cell) for item in value.items)
    own = value.cell or (cell or Cell() if is_mutable(value) else None)
    same = own is value.cell and all(a is b for a, b in zip(items, value.items, strict=True))
    return value if same else replace(value, items=items, cell=own)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a container stands: a name of a lowering, and the way into what it means."""

    owner: Lowerer
    name: str
    path: tuple[Any, ...]


def scopes(lw: Lowerer) -> list[Lowerer]:
    """Return the lowerings that see what is written, the caller's before those that it is written into."""
    found: list[Lowerer] = []
    waiting = [lw]
    while waiting:
        scope = waiting.pop()
        if any(scope is other for other in found):
            continue
        found.append(scope)
        waiting += [s for s in (scope.outer, scope.definer) if s is not None]
        waiting += [v.owner for v in scope.env.values() if isinstance(v, FuncV) and v.owner is not None]
    return found[::-1]


def _places(scope: Lowerer, cell: Cell) -> Iterator[_Place]:
    for name, value in scope.env.items():
        yield from (_Place(scope, name, path) for path in _paths(value, cell))


def _paths(value: Value, cell: Cell) -> Iterator[tuple[Any, ...]]:
    if not isinstance(value, StructV):
        return
    if value.cell is cell:
        yield ()
    for key, item in zip(value.keys, value.items, strict=True):
        yield from ((key, *path) for path in _paths(item, cell))


def holders(lw: Lowerer, cell: Cell) -> Iterator[Cell | None]:
    """Go through the containers that hold one, by every name; None where a name means it itself."""
    for scope in scopes(lw):
        for place in _places(scope, cell):
            holder: Any = scope.env[place.name] if place.path else None
            for key in place.path[:-1]:
                holder = holder.items[holder.keys.index(key)]
            yield None if holder is None else holder.cell


def put_away(lw: Lowerer, value: Value) -> bool:
    """Let what a value is, and holds, be written no more by the names that it has: a list has got its items.

    Each container gets a new identity, so that a loop sees what its own end has put away. Returned is whether that
    could be done: a method that waits to be called may write it, too. What the caller gave is written by nobody
    while the function runs; by its caller it is written no more.
    """
    held = [cell for cell in _cells(value) if cell is not AN_ITEM and cell.refusal != IN_A_LIST]
    if any(cell is OF_THE_CALLER for cell in held) and lw.instance is not None:
        lw.instance.keeps_given = True
        held = [cell for cell in held if cell is not OF_THE_CALLER]
    if any(cell.refusal or isinstance(cell, ItemCell) for cell in held):
        return False
    cells = {id(cell): Cell(IN_A_LIST) for cell in held}
    found = scopes(lw)
    others = [v for scope in found for v in scope.env.values() if isinstance(v, MethodV | IterV)]
    others += [v for scope in found for f in scope.env.values() if isinstance(f, FuncV) for v in _seen_by(f)]
    if any(id(cell) in cells for other in others for cell in _cells(other)):
        return False
    for cell in held:
        cell.later = cells[id(cell)]
    for scope in found:
        scope.env.update({name: _with_cells(one, cells) for name, one in scope.env.items()})
    return True


def may_be_returned(lw: Lowerer, values: Iterable[Value]) -> None:
    """Let containers be written no more that a function was given and may have returned: that is one of two then."""
    cells = {id(cell): UNDECIDED for value in values for cell in _cells(value) if not cell.refusal}
    for scope in scopes(lw) if cells else ():
        scope.env.update({name: _with_cells(one, cells) for name, one in scope.env.items()})


def was_put_away(value: StructV) -> bool:
    """Say whether a list has got a record, so that it is not written any more."""
    return value.cell is not None and value.cell.refusal == IN_A_LIST


def _now(lw: Lowerer, cell: Cell) -> Cell:
    """Return the identity that a container has by now, for whoever read it before a list got it."""
    if cell.later is None or any(True for scope in scopes(lw) for _ in _places(scope, cell)):
        return cell
    return _now(lw, cell.later)


def _cells(value: Value) -> Iterator[Cell]:
    match value:
        case StructV(_, _, items):
            if value.cell is not None:
                yield value.cell
            for item in items:
                yield from _cells(item)
        case MethodV(owner):
            yield from _cells(owner)
        case IterV(_, parts):
            for part in parts:
                yield from _cells(part)
        case _:
            pass


def _seen_by(function: FuncV) -> list[Value]:
    """Return what a function holds by itself, and not by the names of a lowering."""
    return [*function.defaults.values(), *(function.env.values() if function.owner is None else ())]


def holds(value: Value, cell: Cell) -> bool:
    """Say whether a container is this value or in it."""
    return any(True for _ in _paths(value, cell))


def current(lw: Lowerer, container: StructV) -> StructV:
    """Return what a container holds by now."""
    if container.cell is None:
        return container
    cell = _now(lw, container.cell)
    for scope in scopes(lw):
        for place in _places(scope, cell):
            found = scope.env[place.name]
            for key in place.path:
                assert isinstance(found, StructV)
                found = found.items[found.keys.index(key)]
            assert isinstance(found, StructV)
            return found
    return container


def may_be_written(lw: Lowerer, container: StructV, node: Any) -> Cell:
    """Return the cell of a container; a located error where a write into it cannot be followed."""
    kind = container.kind if isinstance(container.kind, str) else container.kind.__name__
    cell = container.cell
    if cell is None:  # a frozen dataclass has one only while it is made
        return lw.fail(node, f"items of a {kind} cannot be assigned here", "Build a new one.")
    cell = _now(lw, cell)
    if cell.refusal:
        from s2sad.frontend import exchanged_rows, keyed, references

        way_out = f"Write into a copy, as in `{_copied(kind)}`, and return it."
        if is_open(container):
            way_out = "Make a new object in the function, and return it."
            if cell is OF_THE_CALLER:
                way_out = "Give this function one `return`, at its end, so that it can be written into its caller."
        if cell.refusal == IN_A_LIST:
            way_out = "Write before it is appended, or append a copy, as in `items.append(dataclasses.replace(item))`."
        if cell is AN_ITEM and kind == "list":
            way_out = A_TABLE
        if cell is AN_ITEM:
            keyed.begin_again_with_rows(lw)
            exchanged_rows.begin_again(lw)
        if cell in (AN_ITEM, UNDECIDED) or cell.refusal == IN_A_LIST:
            references.begin_again(lw, container)
        error = UnsupportedSyntaxError if cell is OUTSIDE else AliasError
        lw.fail(node, f"this {kind} {cell.refusal}", way_out, error)
    return cell


def _copied(kind: str) -> str:
    return f"{kind}(…)" if kind in ("list", "dict") else "dataclasses.replace(…)"


def write_item(lw: Lowerer, container: StructV, key: Any, value: Value, node: Any) -> None:
    """`container[key] = value`, where the key is known: a variable of its own at every place of the container."""
    from s2sad.frontend import references
    from s2sad.frontend.fields import stored as as_stored

    cell = may_be_written(lw, container, node)
    cell.writes += 1
    if isinstance(cell, ItemCell):
        return references.write(lw, cell, key, as_stored(lw, container.kind, key, value), node)
    value = identified(as_stored(lw, container.kind, key, value))
    before = current(lw, container)
    keys = before.keys if key in before.keys else (*before.keys, key)
    lw.give_way(dict(zip(before.keys, before.items, strict=True)).get(key))
    held = value
    found = [(scope, list(_places(scope, cell))) for scope in scopes(lw)]
    outermost = next((places for _, places in found if places), [])
    stored: dict[tuple[str, tuple[Any, ...]], Value] = {}
    for place in outermost:
        name = place.owner.ir_name(place.name)
        for word in (*place.path, key):
            name = lw.part_name(name, word)
        if _is_read_elsewhere(lw, name, cell, key):
            now = dict(zip(before.keys, before.items, strict=True)).get(key)
            own = now.expr.name if isinstance(now, V) and isinstance(now.expr, Var) else name
            name = lw.fresh(name) if _is_read_elsewhere(lw, own, cell, key) else own
        held = lw.store_value(name, held, lw.span(node))
        stored[place.name, place.path] = held
    for _, places in found:
        for place in places:
            item = stored.get((place.name, place.path), held) if places is outermost else held
            _put(place, keys, {**dict(zip(before.keys, before.items, strict=True)), key: item}, key)
    return None


def rewrite(lw: Lowerer, container: StructV, keys: tuple[Any, ...], items: tuple[Value, ...], node: Any) -> None:
    """Change which items a container holds: they keep their variables."""
    cell = may_be_written(lw, container, node)
    if isinstance(cell, ItemCell):
        lw.fail(node, "a list in a list that grows changes its length", "Use an array of two axes.", AliasError)
    cell.writes += 1
    for scope in scopes(lw):
        for place in list(_places(scope, cell)):
            _put(place, keys, dict(zip(keys, items, strict=True)), None)


def _put(place: _Place, keys: tuple[Any, ...], items: dict[Any, Value], only: Any) -> None:
    """Change the container at a place; if only one key changed, the others stay the place's own variables."""

    def changed(value: Value, path: tuple[Any, ...]) -> Value:
        assert isinstance(value, StructV)
        if path:
            at = value.keys.index(path[0])
            inner = changed(value.items[at], path[1:])
            return replace(value, items=(*value.items[:at], inner, *value.items[at + 1 :]))
        own = dict(zip(value.keys, value.items, strict=True))
        return replace(value, keys=keys, items=tuple(items[k] if only is None or k == only else own[k] for k in keys))

    place.owner.env[place.name] = changed(place.owner.env[place.name], place.path)


def is_named(lw: Lowerer, cell: Cell) -> bool:
    """Say whether a name means a container, or what holds it."""
    return any(True for scope in scopes(lw) for _ in _places(scope, cell))


def become(lw: Lowerer, cell: Cell, other: Value) -> None:
    """Let what means a container mean another value."""
    span = lw.span(lw.statement)
    for scope in scopes(lw):
        for place in list(_places(scope, cell)):
            meant = other if place.path else lw.store_value(scope.ir_name(place.name), other, span)
            scope.env[place.name] = _with_part(scope.env[place.name], place.path, meant)


def _with_part(value: Value, path: tuple[Any, ...], other: Value) -> Value:
    if not path:
        return other
    assert isinstance(value, StructV)
    at = value.keys.index(path[0])
    inner = _with_part(value.items[at], path[1:], other)
    return replace(value, items=(*value.items[:at], inner, *value.items[at + 1 :]))


def _is_read_elsewhere(lw: Lowerer, name: str, cell: Cell, key: Any) -> bool:
    """Say whether a variable holds more than the item that is about to be replaced."""
    return any(
        name in reads(leaf) for scope in scopes(lw) for value in scope.env.values()
        if not (isinstance(value, FuncV) and value.owner is not None)  # it reads the names, not what they were
        for leaf in leaves_of(_without(value, cell, key))
    )  # fmt: skip


def _without(value: Value, cell: Cell, key: Any) -> Value:
    if not isinstance(value, StructV):
        return value
    kept = [(k, _without(item, cell, key)) for k, item in zip(value.keys, value.items, strict=True)
            if not (value.cell is cell and k == key)]  # fmt: skip
    return StructV(value.kind, tuple(k for k, _ in kept), tuple(item for _, item in kept))


def without(value: Value, cell: Cell) -> Value:
    """Return a value without what a container in it, or the value itself, holds."""
    if not isinstance(value, StructV):
        return value
    if value.cell is cell:
        return StructV(value.kind, (), ())
    return StructV(value.kind, value.keys, tuple(without(item, cell) for item in value.items))


def writes_given(node: Any, bound: dict[str, Value]) -> bool:
    """Say whether the text of a function writes into a container, or a list, that it was given."""
    given = {
        name for name, value in bound.items()
        if _has_container(value) or (isinstance(value, V) and isinstance(value.expr.type, ListOf))
    }  # fmt: skip
    return bool(given) and any(_written(part) in given for part in gast.walk(node))


def written_place(node: Any, names: frozenset[str]) -> Any:
    """Return where the text of a function first writes into what one of these names, never bound anew, means."""
    again = {part.id for part in gast.walk(node) if isinstance(part, gast.Name) and isinstance(part.ctx, gast.Store)}
    return next((part for part in gast.walk(node) if _written(part) in names - again), None)


def _has_container(value: Value) -> bool:
    within = isinstance(value, StructV) and any(_has_container(item) for item in value.items)
    return is_mutable(value) or isinstance(value, RowsV) or within


def _written(part: Any) -> str | None:
    """Return the name at the root of what a piece of text writes into."""
    match part:
        case gast.Subscript(value=place, ctx=gast.Store()) | gast.Attribute(value=place, ctx=gast.Store()):
            pass
        case gast.Call(func=gast.Attribute(value=place, attr=attr)) if attr in CHANGING:
            pass
        case _:
            return None
    while isinstance(place, gast.Subscript | gast.Attribute):
        place = place.value
    return place.id if isinstance(place, gast.Name) else None


CHANGING = (
    "append", "extend", "insert", "pop", "clear", "reverse", "sort", "update", "setdefault", "popitem", "popleft",
    "appendleft", "rotate",
)  # fmt: skip


def is_lost_write(error: AliasError) -> bool:
    """Say whether an error is about a write into a container of the caller's, which the caller would not see."""
    return OF_THE_CALLER.refusal in error.what


def returns_given(value: Value, cell: Cell = OF_THE_CALLER) -> bool:
    """Say whether a result is, or holds, a container that the caller gave, or one with another cell."""
    return isinstance(value, StructV) and (
        value.cell is cell or any(returns_given(item, cell) for item in value.items)
    )


class Meeting:
    """Which containers of two paths are one, found while their environments are joined."""

    def __init__(self) -> None:
        """Begin with nothing met."""
        self.pairs: list[tuple[Cell, Cell]] = []
        self.torn: list[tuple[Any, Any, Value, Value]] = []
        """The fields in which the paths leave what is not one: the container's kind, the key, and both."""
        self.late: list[Any] = []
        """Names that only the second path has."""

    def cell(self, a: StructV, b: StructV) -> Cell | None:
        """Return the cell of what is `a` on one path and `b` on the other, as long as nothing contradicts."""
        if a.cell is None or b.cell is None:
            return a.cell or b.cell
        self.pairs.append((a.cell, b.cell))
        return b.cell if b.cell.refusal else a.cell

    def settled(self, env: dict[Any, Value]) -> dict[Any, Value]:
        """Return the joined environment; a container that is two on one of the paths cannot be written any more."""
        partners: dict[tuple[str, int], set[int]] = {}
        for a, b in self.pairs:
            partners.setdefault(("first", id(a)), set()).add(id(b))
            partners.setdefault(("second", id(b)), set()).add(id(a))
        torn: dict[int, Cell] = {}
        renamed: dict[int, Cell] = {}
        for a, b in self.pairs:
            if len(partners["first", id(a)]) > 1 or len(partners["second", id(b)]) > 1:
                torn[id(a)] = torn[id(b)] = UNDECIDED
            elif not b.refusal:
                renamed[id(b)] = a
        for name in self.late if renamed else ():
            env[name] = _with_cells(env[name], renamed)
        return {name: _with_cells(value, torn) for name, value in env.items()} if torn else env


def _with_cells(value: Value, renamed: dict[int, Cell]) -> Value:
    if not isinstance(value, StructV):
        return value
    items = tuple(_with_cells(item, renamed) for item in value.items)
    cell = renamed.get(id(value.cell), value.cell) if value.cell is not None else None
    same = cell is value.cell and all(a is b for a, b in zip(items, value.items, strict=True))
    return value if same else replace(value, items=items, cell=cell)
