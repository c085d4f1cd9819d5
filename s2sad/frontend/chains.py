"""Lists of lists that grow in their places, written as one list of all items, in which each points to its next.

    cells = [[] for _ in range(n)]        cells_first = [-1 for _ in range(n)]
                                          cells_last = [-1 for _ in range(n)]
                                          cells_items, cells_next = [], []
    cells[k].append(v)          becomes   if cells_first[k] < 0:
                                              cells_first[k] = len(cells_items)
                                          else:
                                              cells_next[cells_last[k]] = len(cells_items)
                                          cells_last[k] = len(cells_items)
                                          cells_items.append(v)
                                          cells_next.append(-1)
    for v in cells[k]:                    place = cells_first[k]
        ...                               while place >= 0:
                                              v, place = cells_items[place], cells_next[place]
                                              ...

So bins, neighbours in a graph, what a dict groups by a key. Other uses of a row take a list of its items, made there.
A list of lists has no derivative of its own; where rows are few and known each is a list, and this is for the others.
The list must be bound once and have no second name; no row may grow while a name of it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from s2sad.frontend.respelled import NotFollowed, is_asked, is_safe, named_so, parents_of, scope_of, statements, unused
from s2sad.ir.types import Scalar, Type

_WHOLE = Scalar("int64", weak=True)


def without_rows(tree: Any, name: str) -> tuple[Any, dict[str, Type]]:
    """Return a function without a list of lists, and what the lists in its place hold; raises `NotFollowed`."""
    chains = _Chains(tree, name)
    made = chains.written()
    return made, dict.fromkeys((chains.first, chains.last, chains.next), _WHOLE)


def _rows_of(value: Any) -> Any:
    """Return what every row begins with, a display; None of anything but a list of rows."""
    match value:
        case gast.List(elts=[]):
            return value
        case gast.ListComp(elt=gast.List() as row, generators=[gast.comprehension(iter=over, ifs=[])]):
            counts = isinstance(over, gast.Call) and getattr(over.func, "id", "") == "range"
            return row if all(map(is_safe, over.args if counts else [over])) else None
        case _:
            return None


class _Chains(gast.NodeTransformer):
    """Writes one list of lists as a list of items."""

    def __init__(self, tree: Any, name: str) -> None:
        """Look at every use of the list; raises `NotFollowed` for one that is not followed."""
        self.grown: set[int] | None = None
        self.tree, self.name = tree, name
        parts = list(gast.walk(tree))
        self.parents = parents_of(tree)
        self.taken = {n.id for n in parts if isinstance(n, gast.Name)}
        self.taken |= {n.name for n in parts if isinstance(n, gast.FunctionDef)}
        self.first, self.last = self._new("first"), self._new("last")
        self.next, self.items = self._new("next"), self._new("items")
        self.row, self.at = self._new("row"), self._new("at")
        self.asks_for_rows = False
        self.begun: Any = None
        self.appends: list[Any] = []
        self.reads: list[tuple[Any, bool]] = []
        """What reads a row for longer than an expression; whether rows may not grow behind it either."""
        self.anew: list[Any] = []
        """Displays of which all items are computed before any goes into a row, or the row is emptied."""
        for mention in named_so(parts, name):
            self._look_at(mention)
        if self.begun is None or not self.appends:
            raise NotFollowed
        self._check_growth()

    def _new(self, what: str) -> str:
        return unused(f"{self.name}_{what}", self.taken)

    # ---- looking

    def _look_at(self, mention: Any) -> None:
        parent = self.parents[id(mention)]
        match parent:
            case gast.Assign(targets=[target]) if target is mention and self.begun is None and self._is_own(parent):
                if _rows_of(parent.value) is None:
                    raise NotFollowed
                self.begun = parent
            case gast.Attribute(attr="append") if self._is_new_row(self.parents[id(parent)]):
                pass
            case gast.Subscript(value=value, slice=place) if value is mention and is_safe(place):
                if isinstance(place, gast.Slice | gast.Tuple) or named_so(gast.walk(place), self.name):
                    raise NotFollowed
                self._look_at_row(parent)
            case gast.Call(func=gast.Name(id="len"), args=[_]):
                pass
            case gast.For() | gast.comprehension() if parent.iter is mention:
                self._take(parent, None, mention)
            case gast.Call(func=gast.Name(id="enumerate" | "zip"), keywords=[]):
                loop = self.parents[id(parent)]
                if not (isinstance(loop, gast.For | gast.comprehension) and loop.iter is parent):
                    raise NotFollowed
                at = next(i for i, arg in enumerate(parent.args) if arg is mention)
                self._take(loop, 1 if parent.func.id == "enumerate" else at, mention)
            case _:
                raise NotFollowed

    def _is_own(self, stmt: Any) -> bool:
        """Say whether a statement is one of the function itself, and not of an inner one."""
        part = stmt
        while part is not self.tree:
            part = self.parents[id(part)]
            if isinstance(part, gast.FunctionDef | gast.Lambda | gast.ClassDef) and part is not self.tree:
                return False
        return True

    def _is_new_row(self, call: Any) -> bool:
        """Say whether a statement appends a row, `cells.append([])`."""
        alone = isinstance(self.parents[id(call)], gast.Expr)
        if not alone or len(getattr(call, "args", ())) != 1 or not self._is_row(call.args[0]):
            return False
        self.anew.append(call.args[0])
        return True

    def _is_row(self, value: Any) -> bool:
        return isinstance(value, gast.List) and not any(isinstance(item, gast.Starred) for item in value.elts)

    def _look_at_row(self, row: Any) -> None:
        """Look at a use of `cells[k]`."""
        parent = self.parents[id(row)]
        match parent:
            case gast.Attribute(attr="append"):
                call = self.parents[id(parent)]
                stmt = self.parents[id(call)]
                if not (isinstance(call, gast.Call) and len(call.args) == 1 and isinstance(stmt, gast.Expr)):
                    raise NotFollowed
                self.appends.append(stmt)
            case gast.AugAssign(target=target, op=gast.Add(), value=value) if target is row and self._is_row(value):
                self.appends.append(parent)
                self.anew += [value] if len(value.elts) > 1 else []
            case gast.Assign(targets=[target], value=value) if target is row and self._is_row(value):
                self.appends.append(parent)
                self.anew.append(value)
            case gast.Assign(targets=[gast.Name() as target], value=value) if value is row:
                self._check_read(target)
                self.reads.append((parent, True))
            case gast.For(iter=over) if over is row:
                self.reads.append((parent, False))
            case gast.IfExp(body=body, orelse=gast.List(elts=[])) if body is row:
                self._look_at_row(parent)
            case gast.Subscript(ctx=gast.Load()) | gast.comprehension() | gast.Call():
                if isinstance(parent, gast.Call) and not self._is_reader(parent.func):
                    raise NotFollowed
                if not self._is_used_up(parent):
                    raise NotFollowed
                self._note_loop(row)
            case _:
                if not is_asked(row, self.parents):
                    raise NotFollowed

    def _is_used_up(self, reader: Any) -> bool:
        """Say whether what reads a row is done with it where it stands, as a named generator is not."""
        if isinstance(reader, gast.comprehension):
            reader = self.parents[id(reader)]
            waits = isinstance(reader, gast.GeneratorExp)
        else:
            waits = isinstance(reader, gast.Call) and getattr(reader.func, "id", "") in _LAZY
        if not waits:
            return True
        around = self.parents[id(reader)]
        if isinstance(around, gast.For | gast.comprehension):
            return around.iter is reader and (isinstance(around, gast.For) or self._is_used_up(around))
        return isinstance(around, gast.Call) and self._is_reader(around.func) and self._is_used_up(around)

    def _note_loop(self, row: Any) -> None:
        """Note the loop that goes over what is made of a row: `for k, v in enumerate(cells[k])`."""
        part = row
        while not isinstance(part, gast.stmt):
            part = self.parents[id(part)]
        if isinstance(part, gast.For) and any(n is row for n in gast.walk(part.iter)):
            self.reads.append((part, False))

    def _is_reader(self, func: Any) -> bool:
        """Say whether a function only reads a list that it is given."""
        if isinstance(func, gast.Attribute):
            return isinstance(func.value, gast.Name) and func.value.id in ("np", "numpy", "math")
        return getattr(func, "id", "") in _READERS

    def _take(self, loop: Any, position: int | None, mention: Any) -> None:
        """Note what a loop over the rows names them by."""
        target = loop.target
        if position is not None:
            if not isinstance(target, gast.Tuple) or position >= len(target.elts):
                raise NotFollowed
            target = target.elts[position]
        if not isinstance(target, gast.Name):
            raise NotFollowed
        self._check_read(target)
        if isinstance(loop, gast.For):
            inside = {id(n) for n in gast.walk(loop)}
            self.reads.append((loop, not all(id(n) in inside for n in self._same(target))))

    def _check_read(self, target: Any) -> None:
        """Check that a name is of rows alone, and that they are only read by it."""
        for mention in self._same(target):
            parent = self.parents[id(mention)]
            if not isinstance(mention.ctx, gast.Load):
                if mention is not target and not self._is_bound_to_row(mention):
                    raise NotFollowed
                continue
            match parent:
                case gast.Subscript(value=value, ctx=gast.Load()) if value is mention:
                    pass
                case gast.For(iter=over) | gast.comprehension(iter=over) if over is mention:
                    pass
                case gast.Call() if self._is_reader(parent.func):
                    pass
                case _:
                    if not is_asked(mention, self.parents):
                        raise NotFollowed

    def _same(self, target: Any) -> list[Any]:
        """Return the mentions of the same variable."""
        own = scope_of(target, self.parents, self.tree)
        mentions = named_so(gast.walk(self.tree), target.id)
        return [n for n in mentions if scope_of(n, self.parents, self.tree) is own]

    def _is_bound_to_row(self, mention: Any) -> bool:
        """Say whether a name is bound to a row here too: in another loop over the rows, or by an assignment."""
        part = self.parents[id(mention)]
        if isinstance(part, gast.Tuple):
            part = self.parents[id(part)]
        match part:
            case gast.Assign(value=gast.Subscript(value=gast.Name(id=name))):
                return name == self.name
            case gast.For(iter=over) | gast.comprehension(iter=over):
                return bool(named_so(gast.walk(over), self.name)) and not isinstance(over, gast.Subscript)
            case _:
                return False

    def _check_growth(self) -> None:
        """No row grows while one is read, or behind its naming; none is asked for what it holds while it is set."""
        asking = {self.name} | self._functions_with(named_so(gast.walk(self.tree), self.name))
        for display in self.anew:
            if any(isinstance(n, gast.Name) and n.id in asking for n in gast.walk(display)):
                raise NotFollowed
        order = {id(part): at for at, part in enumerate(_in_order(self.tree))}
        for reader, for_good in self.reads:
            if self._grows_in(reader):
                if not (isinstance(reader, gast.For) and self._row_gone_over(reader.iter) is not None):
                    raise NotFollowed
                if any(isinstance(n, gast.Continue) for n in gast.walk(reader)):
                    raise NotFollowed
            if not for_good:
                continue
            outer = self._outermost(reader)
            own = {id(n) for n in gast.walk(outer)}
            if any(order[id(stmt)] > order[id(reader)] or id(stmt) in own for stmt in self.appends):
                raise NotFollowed
            if self._calls_that_grow():
                raise NotFollowed

    def _grows_in(self, stmt: Any) -> bool:
        """Say whether rows grow in a statement, or in what it calls."""
        inside = {id(n) for n in gast.walk(stmt)}
        return any(id(grown) in inside for grown in self.appends) or bool(inside & self._calls_that_grow())

    def _calls_that_grow(self) -> set[int]:
        """Return the mentions of inner functions in which rows grow."""
        if self.grown is not None:
            return self.grown
        grown = self._functions_with(self.appends)
        self.grown = {id(n) for n in gast.walk(self.tree) if isinstance(n, gast.Name) and n.id in grown}
        return self.grown

    def _functions_with(self, parts: list[Any]) -> set[str]:
        """Return the inner functions in which parts of the text stand, and those that mention them."""
        found: set[str] = set()
        for part in parts:
            while part is not self.tree:
                part = self.parents[id(part)]
                if isinstance(part, gast.FunctionDef) and part is not self.tree:
                    found.add(part.name)
        functions = [f for f in gast.walk(self.tree) if isinstance(f, gast.FunctionDef) and f is not self.tree]
        while True:
            more = {f.name for f in functions
                    if any(isinstance(n, gast.Name) and n.id in found for n in gast.walk(f))} - found  # fmt: skip
            if not more:
                return found
            found |= more

    def _outermost(self, stmt: Any) -> Any:
        """Return the outermost loop around a statement; the statement where there is none."""
        part, found = stmt, stmt
        while part is not self.tree:
            part = self.parents[id(part)]
            if isinstance(part, gast.For | gast.While | gast.FunctionDef) and part is not self.tree:
                found = part
        return found

    # ---- writing

    def written(self) -> Any:
        """Return the function without the list of lists."""
        return self.visit(self.tree)

    def _texts(self, text: str, place: Any, **parts: Any) -> list[Any]:
        names = {"FIRST": self.first, "LAST": self.last, "NEXT": self.next, "ITEMS": self.items, "ROW": self.row}
        return statements(text, place, **names, **parts)

    def _one(self, text: str, place: Any, **parts: Any) -> Any:
        return self._texts(text, place, **parts)[0].value

    def visit_FunctionDef(self, node: Any) -> Any:
        """Write the blocks of a function; what gives a row as a list stands behind the beginning of the rows."""
        made = self.generic_visit(node)
        if node is self.tree and self.asks_for_rows:
            for around in gast.walk(made):
                for block in (b for _, b in gast.iter_fields(around) if isinstance(b, list)):
                    at = next((i for i, stmt in enumerate(block) if getattr(stmt, "begins_chains", None) is self), None)
                    if at is not None:
                        block[at + 1 : at + 1] = self._row_function(block[at])
                        return made
        return made

    def _row_function(self, place: Any) -> list[Any]:
        text = (
            "def ROW(AT):\n    LISTED = []\n    PLACE = FIRST[AT]\n    while PLACE >= 0:\n"
            "        LISTED.append(ITEMS[PLACE])\n        PLACE = NEXT[PLACE]\n    return LISTED"
        )
        return self._texts(text, place, AT=self.at, LISTED=self._new("listed"), PLACE=self._new("place"))

    def visit_Assign(self, node: Any) -> Any:
        """`cells = [[] for _ in range(n)]`, `cells[k] = []`."""
        if node is self.begun:
            return self._beginning(node)
        match node.targets:
            case [gast.Subscript(value=gast.Name(id=name), slice=key)] if name == self.name:
                before, at = self._named(key, node)
                return [*before, *self._texts("FIRST[AT] = -1", node, AT=at), *self._added(node.value.elts, at, node)]
            case _:
                return self.generic_visit(node)

    def _beginning(self, node: Any) -> list[Any]:
        value = node.value
        made = self._texts("FIRST = []\nLAST = []\nITEMS = []\nNEXT = []", node)
        made[-1].begins_chains = self
        if isinstance(value, gast.List):
            return made
        generator = value.generators[0]
        over = generator.iter
        whole = isinstance(over, gast.Call) and len(over.args) == 1
        count = over.args[0] if whole else self._one("len(OVER)", node, OVER=over)
        for stmt in made[:2]:
            stmt.value = self._one("[-1] * N", node, N=count)
        if value.elt.elts:
            loop = self._texts("for AT, I in enumerate(OVER):\n    pass", node, AT=self.at, OVER=over)
            loop[0].target.elts[1] = generator.target
            loop[0].body = self._added(value.elt.elts, self.at, node)
            made += loop
        return made

    def _added(self, items: list[Any], key: Any, node: Any) -> list[Any]:
        """Return what lays items behind the last one of a row, whose place is a name or a number."""
        text = (
            "ITEMS.append(ITEM)\nNEXT.append(-1)\n"
            "if FIRST[AT] < 0:\n    FIRST[AT] = len(NEXT) - 1\nelse:\n    NEXT[LAST[AT]] = len(NEXT) - 1\n"
            "LAST[AT] = len(NEXT) - 1"
        )
        return [stmt for item in items for stmt in self._texts(text, node, AT=key, ITEM=self.visit(item))]

    def visit_AugAssign(self, node: Any) -> Any:
        """`cells[k] += [v]`."""
        match node.target:
            case gast.Subscript(value=gast.Name(id=name), slice=key) if name == self.name:
                return self._grown(key, node.value.elts, node)
            case _:
                return self.generic_visit(node)

    def _grown(self, key: Any, items: list[Any], node: Any) -> list[Any]:
        before, at = self._named(key, node)
        return [*before, *self._added(items, at, node)]

    def _named(self, key: Any, node: Any) -> tuple[list[Any], Any]:
        """Return a name of the place of a row, or its number, and what gives it the name."""
        if isinstance(key, gast.Name | gast.Constant):
            return [], key
        return self._texts("AT = KEY", node, AT=self.at, KEY=self.visit(key)), self.at

    def visit_Expr(self, node: Any) -> Any:
        """`cells[k].append(v)`, `cells.append([])`."""
        match node.value:
            case gast.Call(
                func=gast.Attribute(value=gast.Subscript(value=gast.Name(id=name), slice=key), attr="append"),
                args=[item],
            ) if name == self.name:
                return self._grown(key, [item], node)
            case gast.Call(func=gast.Attribute(value=gast.Name(id=name), attr="append"), args=[row]) if (
                name == self.name
            ):
                made = self._texts("FIRST.append(-1)\nLAST.append(-1)", node)
                if row.elts:
                    made += [*self._texts("AT = len(FIRST) - 1", node, AT=self.at),
                             *self._added(row.elts, self.at, node)]  # fmt: skip
                return made
            case _:
                return self.generic_visit(node)

    def visit_For(self, node: Any) -> Any:
        """A loop over a row, or over all of them."""
        row = self._row_gone_over(node.iter)
        if row is not None:
            place = self._new("place")
            begin = "PLACE = FIRST[KEY]"
            if isinstance(node.iter, gast.IfExp):
                begin = "PLACE = FIRST[KEY] if TEST else -1"
            test = self.visit(node.iter.test) if isinstance(node.iter, gast.IfExp) else None
            made = self._texts(begin, node.iter, PLACE=place, KEY=self.visit(row.slice), TEST=test)
            made += self._texts("while PLACE >= 0:\n    TARGET = ITEMS[PLACE]\n    PLACE = NEXT[PLACE]", node,
                                PLACE=place, TARGET="TARGET_")  # fmt: skip
            loop, grows = made[-1], self._grows_in(node)
            loop.body[0].targets = [node.target]
            at = 1 if grows else 2  # the next item is looked for behind what may add one
            loop.body[at:at] = self._block(node.body)
            loop.orelse = self._block(node.orelse)
            return made
        name, places = self._rows_gone_over(node)
        if name is None:
            return self.generic_visit(node)
        first = self._texts("NAME = ROW(PLACE)", node, NAME=name, PLACE=places)
        self.asks_for_rows = True
        node = self.generic_visit(node)
        node.body[:0] = first
        return node

    def _block(self, body: list[Any]) -> list[Any]:
        made: list[Any] = []
        for stmt in body:
            new = self.visit(stmt)
            made += new if isinstance(new, list) else [new]
        return made

    def _row_gone_over(self, over: Any) -> Any:
        """Return the row that a loop goes over, `cells[k]` or `cells[k] if there else []`."""
        if isinstance(over, gast.IfExp) and isinstance(over.orelse, gast.List) and not over.orelse.elts:
            over = over.body
        match over:
            case gast.Subscript(value=gast.Name(id=name)):
                return over if name == self.name else None
            case _:
                return None

    def _rows_gone_over(self, loop: Any) -> tuple[str | None, str]:
        """Return the name that a loop gives to rows, and that of their places, by which they are found then."""
        over, target = loop.iter, loop.target
        rows = [over] if isinstance(over, gast.Name) else over.args if isinstance(over, gast.Call) else []
        at = next((at for at, row in enumerate(rows) if getattr(row, "id", "") == self.name), None)
        if at is None:
            return None, ""
        places, numbers = self._new("at"), self._one("range(len(FIRST))", over)
        if isinstance(over, gast.Name):
            loop.iter, loop.target = numbers, self._target(target, places)
            return target.id, places
        over.args[at] = numbers
        at = 1 if over.func.id == "enumerate" else at
        name = target.elts[at].id
        target.elts[at] = self._target(target.elts[at], places)
        return name, places

    def _target(self, place: Any, name: str) -> Any:
        return gast.copy_location(gast.Name(name, gast.Store(), None, None), place)

    def _comprehension(self, node: Any) -> Any:
        """A comprehension over all rows: each is asked for where it is read."""
        for generator in node.generators:
            name, places = self._rows_gone_over(generator)
            if name is not None:
                self.asks_for_rows = True
                asked: Callable[[Any], Any] = lambda n, at=places: self._one("ROW(PLACE)", n, PLACE=at)  # noqa: E731
                _Renamed(name, asked).visit(node)
        return self.generic_visit(node)

    visit_ListComp = visit_GeneratorExp = visit_SetComp = visit_DictComp = _comprehension

    def visit_If(self, node: Any) -> Any:
        """`if cells[k]:`."""
        node.test = self._asked(node.test)
        return self.generic_visit(node)

    visit_While = visit_IfExp = visit_If

    def visit_UnaryOp(self, node: Any) -> Any:
        """`not cells[k]`."""
        if isinstance(node.op, gast.Not):
            node.operand = self._asked(node.operand)
        return self.generic_visit(node)

    def visit_BoolOp(self, node: Any) -> Any:
        """`cells[k] and cells[j]`, where only the truth matters."""
        node.values = [self._asked(value) for value in node.values]
        return self.generic_visit(node)

    def _is_of_list(self, node: Any) -> bool:
        return isinstance(node, gast.Subscript) and getattr(node.value, "id", None) == self.name

    def _asked(self, test: Any) -> Any:
        """Ask whether a row has items."""
        if not self._is_of_list(test):
            return test
        return self._one("FIRST[KEY] >= 0", test, KEY=self.visit(test.slice))

    def visit_Call(self, node: Any) -> Any:
        """`len(cells)`."""
        asked = node.args[0] if getattr(node.func, "id", "") == "len" and len(node.args) == 1 else None
        if getattr(asked, "id", "") == self.name:
            return self._one("len(FIRST)", node)
        return self.generic_visit(node)

    def visit_Subscript(self, node: Any) -> Any:
        """A row, as a list of its own."""
        if not self._is_of_list(node):
            return self.generic_visit(node)
        self.asks_for_rows = True
        return self._one("ROW(KEY)", node, KEY=self.visit(node.slice))


class _Renamed(gast.NodeTransformer):
    """Puts an expression in the place of a name where it is read."""

    def __init__(self, name: str, made: Callable[[Any], Any]) -> None:
        self.name, self.made = name, made

    def visit_Name(self, node: Any) -> Any:
        """Put it there."""
        return self.made(node) if node.id == self.name and isinstance(node.ctx, gast.Load) else node


_READERS = frozenset({
    "sum", "len", "min", "max", "sorted", "list", "tuple", "enumerate", "zip", "reversed", "any", "all", "set", "map",
})  # fmt: skip

_LAZY = frozenset({"enumerate", "zip", "reversed", "map"})


def _in_order(node: Any) -> list[Any]:
    """Return the parts of a tree in the order of the text."""
    found = [node]
    for child in gast.iter_child_nodes(node):
        found += _in_order(child)
    return found
