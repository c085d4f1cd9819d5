"""Items that are taken one by one with `next`, written as a list and a place in it.

    it = iter(x)                            it_items, it_place = x, 0
    first = next(it)          becomes       first = it_items[it_place]      (after a test that there is one)
                                            it_place += 1
    for v in it:                            for v in it_items[it_place:]:

    y = next((v for v in x if v > 0), 1.0)  becomes a loop that ends in `break` where the first is found.

Where an iterator is handed on, or asked where it may not be (in a lambda, behind `and`), it stays, and is refused.
"""

from __future__ import annotations

import builtins
import copy
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gast

from s2sad.frontend.collected import meant
from s2sad.frontend.generators import WRITING, Renamed, computed_once, taken_names
from s2sad.frontend.jumps import own
from s2sad.frontend.leaving import placed, with_parts
from s2sad.frontend.source import Source

_ITERATORS = (builtins.zip, builtins.enumerate, builtins.map, builtins.filter, builtins.reversed, builtins.range)
_USING_UP = ("list", "tuple", "sum", "max", "min", "sorted", "any", "all", "array", "fsum", "prod")
_APART = (gast.Lambda, gast.ListComp, gast.GeneratorExp, gast.DictComp, gast.SetComp)


@dataclass(frozen=True, slots=True)
class _Iterator:
    """The names under which an iterator's items, and the place of the next one, are kept."""

    items: str
    place: str
    more: str = "{place} + 1"
    item: str = "{items}[{place}]"
    ends: bool = True
    over: str = ""
    """The name of what it goes over."""


def written_by_place(source: Source) -> Source:
    """Return a function in which no item is taken with `next`, as far as that can be written."""
    if isinstance(source.node, gast.Lambda) or not any(_is_next(n) for n in gast.walk(source.node)):
        return source
    if "next" in source.local_names or not source.knows("next") or source.resolve("next") is not builtins.next:
        return source
    key = id(source.node)
    if key not in _WRITTEN:
        _WRITTEN[key] = (source.node, _written(source, frozenset()))
    return source.rewritten(_WRITTEN[key][1], source.lines, {})


_WRITTEN: dict[int, tuple[Any, Any]] = {}
"""What was written, with what it was written from: a text read twice has the same nodes."""


def _written(source: Source, but: frozenset[str]) -> Any:
    """Return the text of a function without `next`; an iterator that is asked where it cannot be written stays."""
    tree = copy.deepcopy(source.node)
    taker = _Taker(source, tree, but)
    tree.body = taker.block(tree.body)
    left = {n.id for n in gast.walk(tree) if isinstance(n, gast.Name)} & set(taker.iterators)
    return _written(source, but | left) if left else tree


def _is_next(node: Any) -> bool:
    return isinstance(node, gast.Call) and getattr(node.func, "id", "") == "next" and not node.keywords


def _end(node: Any) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset


def _changes(tree: Any) -> Iterator[tuple[Any, str]]:
    """Go through what binds a name anew, or writes into what it means."""
    for node in gast.walk(tree):
        match node:
            case gast.Name(id=name) if not isinstance(node.ctx, gast.Load):
                yield node, name
            case gast.Subscript() | gast.Attribute() if not isinstance(node.ctx, gast.Load):
                yield node, _root(node)
            case gast.Call(func=gast.Attribute(value=owner, attr=attr)) if attr in WRITING:
                yield node, _root(owner)
            case _:
                pass


def _read_later(value: Any) -> list[Any]:
    """Return the parts of an iterator that are computed for each item, whose names may mean something else by then."""
    found = [n.body for n in gast.walk(value) if isinstance(n, gast.Lambda)]
    for part in gast.walk(value):
        if isinstance(part, gast.GeneratorExp):
            first, *others = part.generators
            found += [part.elt, *first.ifs, *others]
    return found


def _names_read(*parts: Any) -> set[str]:
    names = [n for part in parts for n in gast.walk(part) if isinstance(n, gast.Name)]
    return {n.id for n in names if isinstance(n.ctx, gast.Load)}


def _root(node: Any) -> str:
    while isinstance(node, gast.Subscript | gast.Attribute):
        node = node.value
    return getattr(node, "id", "")


class _Taker:
    """Writes the iterators of one function as lists and places."""

    def __init__(self, source: Source, tree: Any, but: frozenset[str]) -> None:
        self.source, self.tree = source, tree
        self.taken = taken_names(tree)
        self.iterators = {name: self._named(name, value) for name, value in self._found() if name not in but}

    def name(self, hint: str) -> str:
        """Return a name that nothing else has."""
        name, count = hint, 1
        while name in self.taken:
            count += 1
            name = f"{hint}_{count}"
        self.taken.add(name)
        return name

    # ---- which iterators

    def _found(self) -> Iterator[tuple[str, Any]]:
        """Go through the names that are bound once, to an iterator, and are asked for items in this function alone."""
        names = [n for n in gast.walk(self.tree) if isinstance(n, gast.Name)]
        stores = [n.id for n in names if not isinstance(n.ctx, gast.Load)]
        here = list(own(self.tree.body))
        asked = {n.args[0].id for n in here if _is_next(n) and n.args and isinstance(n.args[0], gast.Name)}
        for part in here:
            match part:
                case gast.Assign(targets=[gast.Name(id=name)], value=value) if (
                    name in asked and stores.count(name) == 1 and self._is_iterator(value)
                    and not self._is_moved_meanwhile(part, name)
                ):
                    loads = [n for n in names if n.id == name and isinstance(n.ctx, gast.Load)]
                    if all(any(n is used for used in self._used(name, here)) for n in loads):
                        yield name, value
                case _:
                    pass

    def _is_moved_meanwhile(self, begun: Any, name: str) -> bool:
        """Say whether what an iterator has yet to read may be bound anew, or written, before its last use."""
        value = begun.value
        over: Any = value.args[0] if isinstance(value, gast.Call) and self._meant(value.func) is builtins.iter else None
        if isinstance(over, gast.Name | gast.List | gast.Tuple | gast.ListComp) or (
            isinstance(over, gast.Call) and getattr(over.func, "id", "") in ("list", "tuple", "sorted")
        ):
            return False  # it is gone through itself, item by item, or made before
        if isinstance(value, gast.Call) and self._meant(value.func) is itertools.count:
            return False  # its numbers are read when it is made
        read, late = _names_read(value), _names_read(*_read_later(value))
        uses = [n for n in gast.walk(self.tree) if getattr(n, "id", "") == name and n is not begun.targets[0]]
        loops = [n for n in gast.walk(self.tree) if isinstance(n, gast.For | gast.While)
                 and not any(part is begun for part in gast.walk(n))]  # fmt: skip
        around = [loop for loop in loops if any(part is use for part in gast.walk(loop) for use in uses)]
        last = max((_end(n) for n in (*uses, *around)), default=(0, 0))
        first = _end(begun)
        updated = {id(n.target) for n in gast.walk(self.tree) if isinstance(n, gast.AugAssign)}
        return any(
            root in (late if isinstance(n, gast.Name) and id(n) not in updated else read)
            and first < (n.lineno, n.col_offset) < last for n, root in _changes(self.tree)
        )  # fmt: skip

    def _is_iterator(self, value: Any) -> bool:
        if isinstance(value, gast.GeneratorExp):
            return True
        if not isinstance(value, gast.Call) or (value.keywords and self._meant(value.func) not in _ITERATORS):
            return False
        if self._meant(value.func) is itertools.count:
            return len(value.args) < 2 or isinstance(value.args[1], gast.Constant)
        return bool(value.args) and self._meant(value.func) in (builtins.iter, itertools.cycle, *_ITERATORS[:-1])

    def _meant(self, func: Any) -> Any:
        found = meant(self.source, func)
        return found if found is not None or not isinstance(func, gast.Name) else getattr(builtins, func.id, None)

    def _used(self, name: str, parts: list[Any]) -> list[Any]:
        """Return the uses of an iterator that can be written: in `next`, in a loop over it, in `list` and its like."""
        found: list[Any] = []
        for part in parts:
            match part:
                case gast.Call(args=[gast.Name(id=used) as node, *_]) if used == name and (
                    _is_next(part) or getattr(part.func, "id", getattr(part.func, "attr", "")) in _USING_UP
                ):
                    found.append(node)
                case gast.For(iter=gast.Name(id=used) as node) if used == name:
                    found.append(node)
                case gast.GeneratorExp(generators=[one]) if getattr(one.iter, "id", "") == name:
                    found.append(one.iter)
                case _:
                    pass
        return found

    def _named(self, name: str, value: Any) -> _Iterator:
        items, place = self.name(f"{name}_items"), self.name(f"{name}_place")
        kind = self._meant(value.func) if isinstance(value, gast.Call) else None
        if kind is itertools.count:
            step = repr(value.args[1].value) if len(value.args) > 1 else "1"
            return _Iterator(items, place, "{place} + " + step, "{place}", ends=False)
        if kind is itertools.cycle:
            return _Iterator(items, place, "({place} + 1) % len({items})", ends=False)
        over = value.args[0] if isinstance(value, gast.Call) and len(value.args) == 1 else None
        return _Iterator(items, place, over=getattr(over, "id", ""))

    # ---- statements

    def block(self, statements: list[Any]) -> list[Any]:
        """Return statements in which no item is taken with `next`."""
        return [made for stmt in statements for made in self._statement(stmt)]

    def _statement(self, stmt: Any) -> list[Any]:
        match stmt:
            case gast.FunctionDef() | gast.ClassDef():
                return [stmt]
            case gast.Assign(targets=[gast.Name(id=name)]) if name in self.iterators:
                return self._begun(stmt, self.iterators[name])
            case gast.For(iter=gast.Name(id=name)) if name in self.iterators and self.iterators[name].ends:
                return self._loop(stmt, name)
            case gast.While() if any(_is_next(n) for n in gast.walk(stmt.test)) and not stmt.orelse:
                return self._asked_by(stmt)
            case gast.Assign(targets=[gast.Name(id=name)], value=gast.Call() as call) if _is_next(call) and (
                (made := self._written(call, name)) is not None
            ):
                return made
            case _:
                before: list[Any] = []
                for holder, field in computed_once(stmt):
                    setattr(holder, field, self._replaced(getattr(holder, field), stmt, before))
                self._inside(stmt)
                return [*before, stmt]

    def _inside(self, stmt: Any) -> None:
        for part in ("body", "orelse", "finalbody"):
            if isinstance(getattr(stmt, part, None), list):
                setattr(stmt, part, self.block(getattr(stmt, part)))
        for handler in getattr(stmt, "handlers", ()):
            handler.body = self.block(handler.body)

    def _begun(self, stmt: Any, it: _Iterator) -> list[Any]:
        value = stmt.value
        if isinstance(value, gast.Call) and self._meant(value.func) is itertools.count:
            first = value.args[0] if value.args else gast.Constant(value=0, kind=None)
            return _code(f"{it.place} = first", stmt, first=first)
        if isinstance(value, gast.Call) and self._meant(value.func) in (builtins.iter, itertools.cycle):
            value = value.args[0]
        given = self._meant(value.func) if isinstance(value, gast.Call) else None
        text = "list(given)" if given in _ITERATORS or isinstance(value, gast.GeneratorExp) else "given"
        return _code(f"{it.items} = {text}\n{it.place} = 0", stmt, given=value)

    def _asked_by(self, stmt: Any) -> list[Any]:
        """`while (v := next(it, None)) is not None:` asks in each turn: a loop that is left where the test fails."""
        leave = _code("if not test:\n    break", stmt, test=stmt.test)[0]
        made = _code("while True:\n    pass", stmt)[0]
        made.body = [leave, *stmt.body]
        return self._statement(made)

    def _loop(self, loop: Any, name: str) -> list[Any]:
        """A loop over what is left: the body may take items too, and what the loop leaves may be taken after it."""
        it = self.iterators[name]
        parts = [n for s in loop.body for n in gast.walk(s)]
        takes = any(getattr(n, "id", "") == name for n in parts) or self._is_written(it.over, parts)
        uses = [n for n in gast.walk(self.tree) if getattr(n, "id", "") == name and isinstance(n.ctx, gast.Load)]
        if not takes and loop.lineno >= max(n.lineno for n in uses) and not self._is_repeated(loop):
            loop.iter = placed(gast.parse(f"{it.items}[{it.place}:]").body[0].value, loop.iter)
            self._inside(loop)
            return [loop]
        item = it.item.format(items=it.items, place=it.place)
        if takes:
            text = f"while {it.place} < len({it.items}):\n    target = {item}\n    {it.place} = {it.place} + 1"
        else:
            turn = self.name("turn")
            text = f"for {turn} in range({it.place}, len({it.items})):\n    target = {it.items}[{turn}]\n"
            text += f"    {it.place} = {turn} + 1"
        made = _code(text, loop)[0]
        made.body[0].targets = [loop.target]
        self._inside(loop)
        made.body, made.orelse = [*made.body, *loop.body], loop.orelse
        return [made]

    def _is_written(self, over: str, parts: list[Any]) -> bool:
        """Say whether these parts write into what an iterator goes over: it sees items that are added."""
        pairs = [
            {n.targets[0].id, n.value.id} for n in gast.walk(self.tree)
            if isinstance(n, gast.Assign) and isinstance(n.value, gast.Name) and isinstance(n.targets[0], gast.Name)
        ]  # fmt: skip
        also = {over}.union(*(pair for pair in pairs if over in pair))
        return any(
            isinstance(n, gast.Attribute) and n.attr in WRITING and getattr(n.value, "id", "") in also for n in parts
        )

    def _is_repeated(self, loop: Any) -> bool:
        """Say whether a loop stands in another one."""
        loops = [n for n in gast.walk(self.tree) if isinstance(n, gast.For | gast.While) and n is not loop]
        return any(loop is inner for outer in loops for inner in gast.walk(outer))

    # ---- expressions

    def _replaced(self, node: Any, stmt: Any, before: list[Any]) -> Any:
        """Return an expression that takes nothing, where it is sure that what it took is taken once."""
        match node:
            case gast.Call() if _is_next(node) and (made := self._taken(node, stmt, before)) is not None:
                return made
            case gast.NamedExpr(target=gast.Name(id=name), value=gast.Call() as call) if _is_next(call) and (
                (made := self._written(call, name)) is not None
            ):
                before += made
                return placed(_expression(name), node)
            case gast.Call(args=[gast.Name(id=name), *_]) if name in self.iterators and not _is_next(node):
                node.args[0] = self._rest(self.iterators[name], node, before)
                return node
            case gast.Call(args=[gast.GeneratorExp(generators=[one])]) if getattr(one.iter, "id", "") in self.iterators:
                one.iter = self._rest(self.iterators[one.iter.id], node, before)
                return node
            case _ if isinstance(node, _APART):
                return node
            case _:
                return with_parts(node, lambda part: self._replaced(part, stmt, before))

    def _rest(self, it: _Iterator, node: Any, before: list[Any]) -> Any:
        rest = self.name("rest")
        before += _code(f"{rest} = {it.items}[{it.place}:]\n{it.place} = len({it.items})", node)
        return placed(_expression(rest), node)

    def _taken(self, call: Any, stmt: Any, before: list[Any]) -> Any:
        """Write the statements that take an item; return its name, or None where they cannot be written."""
        read = {n.id for n in gast.walk(call) if isinstance(n, gast.Name)}
        if any(isinstance(n, gast.NamedExpr) and n.target.id in read for n in gast.walk(stmt)):
            return None
        item = self.name("found" if isinstance(call.args[0], gast.GeneratorExp) else "item")
        made = self._written(call, item)
        if made is None:
            return None
        before += made
        return placed(_expression(item), call)

    def _written(self, call: Any, item: str) -> list[Any] | None:
        """Return the statements that give a name to what `next` takes, if they can be written."""
        match call.args:
            case [gast.Name(id=name), *default] if name in self.iterators:
                return self._next(self.iterators[name], item, default, call)
            case [gast.GeneratorExp(generators=[one]) as items, *default] if not one.is_async:
                return self.block([self._search(items, item, default, call)])
            case _:
                return None

    def _next(self, it: _Iterator, item: str, default: list[Any], call: Any) -> list[Any]:
        taken = f"{item} = {it.item.format(items=it.items, place=it.place)}"
        step = f"{it.place} = {it.more.format(items=it.items, place=it.place)}"
        if not it.ends:
            return _code(f"{taken}\n{step}", call)
        if default:
            text = f"if {it.place} < len({it.items}):\n    {taken}\n    {step}\nelse:\n    {item} = default"
            return _code(text, call, default=default[0])
        return _code(f"if {it.place} >= len({it.items}):\n    raise StopIteration\n{taken}\n{step}", call)

    def _search(self, items: Any, item: str, default: list[Any], call: Any) -> Any:
        """Return the loop that looks for the first item; the variable of the generator is its own."""
        (one,) = items.generators
        own_names = [n.id for n in gast.walk(one.target) if isinstance(n, gast.Name)]
        renamed = Renamed({name: self.name(name) for name in own_names})
        found = _code(f"{item} = value\nbreak", call, value=renamed.visit(items.elt))
        for test in reversed(one.ifs):
            (inner,) = _code("if test:\n    pass", call, test=renamed.visit(test))
            inner.body = found
            found = [inner]
        none = _code(f"{item} = default", call, default=default[0]) if default else _code("raise StopIteration", call)
        target = renamed.visit(one.target)
        return placed(gast.For(target=target, iter=one.iter, body=found, orelse=none, type_comment=None), call)


def _expression(text: str) -> Any:
    return _unplaced(gast.parse(text)).body[0].value


def _code(text: str, place: Any, **given: Any) -> list[Any]:
    """Return statements that stand where `place` does; names in `given` stand for expressions of the user's."""
    made = _unplaced(gast.parse(text)).body
    filled = [Renamed({k: v for k, v in given.items()}).visit(stmt) for stmt in made] if given else made
    return [placed(stmt, place) for stmt in filled]


def _unplaced(tree: Any) -> Any:
    """Forget where written code stands: it stands where the user's does."""
    for part in gast.walk(tree):
        for field in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            if hasattr(part, field):
                delattr(part, field)
    return tree
