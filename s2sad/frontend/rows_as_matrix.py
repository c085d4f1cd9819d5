"""Which names of a function's text mean lists of rows that one matrix may stand for, and their text with it.

Each row is made anew, is in the list by one place only and keeps its length; rows are read item by item, or used up
where they stand, exchanged, and written. What else is done with one leaves it a list.
"""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import gast
import numpy as np

from s2sad.errors import SourceNotFoundError
from s2sad.frontend.matrices import LISTED, WRITTEN, same, swapped
from s2sad.frontend.respelled import called, parents_of, put, statement, unused
from s2sad.frontend.source import Source, has_source, source_of

_USED_UP = frozenset({"sum", "len", "min", "max", "list", "tuple", "sorted", "any", "all", "abs"})
"""What reads a row at once and keeps nothing of it."""
_IN_TURN = frozenset({"zip", "enumerate", "reversed", "map"})
"""What reads a row when it is gone through itself."""
_MOST_CALLS = 4
"""How many functions, one called by the other, are looked into."""
_WRITTEN_FROM_IT = ("with_arrays", "with_rows", "without_rows", "with_matrices", "written_in", "one_return")
_NOT_ONE = gast.Slice | gast.Tuple
_COMPREHENSIONS = gast.ListComp | gast.SetComp | gast.DictComp | gast.GeneratorExp
_LISTS = gast.List | gast.ListComp | gast.Tuple | gast.GeneratorExp


def matrices_in(source: Source, node: Any, is_written_in: bool) -> list[Matrix]:
    """Return the names of a function that mean a matrix wherever they stand."""
    found: list[Matrix] = []
    for scope in [part for part in gast.walk(node) if isinstance(part, gast.FunctionDef)]:
        names: list[str] = []
        for part in gast.walk(scope):
            match part:
                case gast.Assign(targets=[gast.Name(id=name)], value=value) if name not in names and _makes_rows(value):
                    names += [name] if any(n is part.targets[0] for n in _named_in(scope, name)) else []
                case _:
                    pass
        found += [Matrix(source, scope, name) for name in names]
        if is_written_in and scope is node:
            found += [Matrix(source, node, arg.id, is_given=True) for arg in node.args.args if arg.id not in names]
    return [matrix for matrix in found if matrix.is_one()]


def _named_in(scope: Any, name: str) -> list[Any]:
    """Return where the body of a function mentions a name of its own."""
    return [n for stmt in scope.body if name not in _own_names(stmt) for n in _named(stmt, name)]


def plain(node: Any, longer: frozenset[str] | None = None) -> Any:
    """Return a copy of a text that exchanges rows in one statement, and makes longer rows (of these names) anew.

    t = M[i]; M[i] = M[j]; M[j] = t           M[i], M[j] = M[j], M[i]
    for i in range(n): M[i].append(b[i])      M = [list(M[i]) + [b[i]] for i in range(n)]
    """
    made = copy.deepcopy(node)
    blocks: list[list[Any]] = []
    for part in gast.walk(made):
        for written in _WRITTEN_FROM_IT:
            vars(part).pop(written, None)  # what was written from the text as it stood
        parts = (getattr(part, "body", None), getattr(part, "orelse", None))
        blocks += [block for block in parts if isinstance(block, list)]
    kept = Counter(pair[0] for block in blocks for at in range(len(block)) if (pair := _exchanged(block[at : at + 3])))
    alone = frozenset(name for name, count in kept.items() if len(_named(made, name)) == 2 * count)
    for block in blocks:
        block[:] = [plain for stmt in _exchanging(block, alone) for plain in _lengthening(stmt, longer)]
    return made


def _exchanging(block: list[Any], alone: frozenset[str]) -> list[Any]:
    """Return statements that exchange rows by way of names, which serve nothing else, as one each."""
    found: list[Any] = []
    for stmt in block:
        found.append(stmt)
        pair = _exchanged(found[-3:])
        if pair is not None and pair[0] in alone:
            found[-3:] = [_exchange(found[-3], *pair[1:])]
    return found


def _lengthening(stmt: Any, longer: frozenset[str] | None) -> list[Any]:
    """Return a loop that appends an item to each row as what makes the rows anew; other statements as they are."""
    match stmt:
        case gast.For(target=gast.Name(id=counter), iter=over, body=[inner], orelse=[]):
            pass
        case _:
            return [stmt]
    match inner:
        case gast.Expr(value=gast.Call(func=gast.Attribute(value=row, attr="append"), args=[item])):
            items = gast.List(elts=[item], ctx=gast.Load())
        case gast.AugAssign(target=row, op=gast.Add(), value=gast.List(elts=[_, *_]) as items):
            pass
        case _:
            return [stmt]
    match row, over:
        case (
            gast.Subscript(value=gast.Name(id=name), slice=gast.Name(id=place)),
            gast.Call(func=gast.Name(id="range"), args=[count]),
        ) if place == counter and not _named(items, name) and (longer is None or name in longer):
            pass
        case _:
            return [stmt]
    check = statement(f"if len({name}) != 0: raise IndexError('rows of `{name}` differ in length')", stmt)
    check.test.comparators = [copy.deepcopy(count)]
    made = statement(f"{name} = [list({name}[{counter}]) + [0] for {counter} in range(0)]", stmt)
    made.value.elt.right = items
    made.value.generators[0].iter = over
    return [check, made]


def _has_docstring(node: Any) -> bool:
    match node.body[0]:
        case gast.Expr(value=gast.Constant(value=str())):
            return True
        case _:
            return False


def _named(node: Any, name: str) -> list[Any]:
    """Return where a text mentions a name: not in functions that have one of their own."""
    if isinstance(node, gast.Name):
        return [node] if node.id == name else []
    if isinstance(node, _COMPREHENSIONS) and any(_named(each.target, name) for each in node.generators):
        return _named(node.generators[0].iter, name)
    return [
        n for child in gast.iter_child_nodes(node) if name not in _own_names(child) for n in _named(child, name)
    ]


def _own_names(node: Any) -> set[str]:
    if not isinstance(node, gast.FunctionDef | gast.Lambda):
        return set()
    args = node.args
    given = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    own = {arg.id for arg in given if arg is not None}
    if isinstance(node, gast.FunctionDef):
        parts = list(gast.walk(node))
        of_outer = {name for part in parts if isinstance(part, gast.Nonlocal | gast.Global) for name in part.names}
        own |= {n.id for n in parts if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Store)} - of_outer
    return own


def _exchanged(three: list[Any]) -> tuple[str, Any, Any] | None:
    """Return the name and the two rows of `t = M[i]`, `M[i] = M[j]`, `M[j] = t`."""
    match three:
        case [
            gast.Assign(targets=[gast.Name(id=kept)], value=gast.Subscript(value=gast.Name(id=a)) as first),
            gast.Assign(targets=[gast.Subscript() as left], value=gast.Subscript(value=gast.Name(id=b)) as second),
            gast.Assign(targets=[gast.Subscript() as last], value=gast.Name(id=back)),
        ] if kept == back and a == b and _is_place(left, first) and _is_place(last, second):
            return kept, first, second
        case _:
            return None


def _is_place(one: Any, other: Any) -> bool:
    return same(gast.Subscript(one.value, one.slice, other.ctx), other) and isinstance(one.value, gast.Name)


def _exchange(place: Any, first: Any, second: Any) -> Any:
    made = statement("a[0], a[1] = a[1], a[0]", place)
    (left, right), (other, one) = made.targets[0].elts, made.value.elts
    for item, meant in ((left, first), (right, second), (other, second), (one, first)):
        item.value.id = first.value.id
        item.slice = copy.deepcopy(meant.slice)
    return made


def _makes_rows(value: Any) -> bool:
    """Say whether an expression makes a list of rows, each of them anew."""
    match value:
        case gast.ListComp(elt=row, generators=[gast.comprehension(ifs=[])]):
            return _makes_row(row)
        case gast.List(elts=[_, *_] as rows):
            return all(_makes_row(row) for row in rows)
        case gast.Call():
            return _copied(value) is not None
        case _:
            return False


def _copied(call: Any) -> Any:
    """Return what `deepcopy(rows)` and `array.tolist()` copy."""
    match call:
        case gast.Call(func=gast.Attribute(value=array, attr="tolist"), args=[], keywords=[]):
            return array
        case gast.Call(func=gast.Attribute(attr="deepcopy") | gast.Name(id="deepcopy"), args=[rows], keywords=[]):
            return rows
        case _:
            return None


def _makes_row(row: Any) -> bool:
    """Say whether an expression makes a list of numbers anew."""
    match row:
        case gast.List(elts=[_, *_] as items):
            return not any(isinstance(item, _LISTS | gast.Starred) or _is_nothing(item) for item in items)
        case gast.ListComp(elt=item):
            return not isinstance(item, _LISTS) and not _is_nothing(item)
        case gast.Subscript(slice=gast.Slice()):
            return True
        case gast.Call(func=gast.Name(id="list"), args=[_]):
            return True
        case gast.Call(func=gast.Attribute(attr="copy")):
            return True
        case gast.BinOp(left=left, op=gast.Mult(), right=right):
            return any(isinstance(side, gast.List) and _makes_row(side) for side in (left, right))
        case gast.BinOp(left=left, op=gast.Add(), right=right):
            return _makes_row(left) or _makes_row(right)
        case _:
            return False


def _is_nothing(item: Any) -> bool:
    return isinstance(item, gast.Constant) and not isinstance(item.value, int | float | complex)


class Matrix:
    """Every mention of one list of rows in a function: how it is made, read, and written."""

    def __init__(self, source: Source, node: Any, name: str, is_given: bool = False, depth: int = 0) -> None:
        """Look at a name; `is_given`: at a parameter, of which a copy is the matrix; `depth`: calls looked into."""
        self.source, self.node, self.name, self.is_given, self.depth = source, node, name, is_given, depth
        self.parents = parents_of(node)
        self.made: list[Any] = []
        self.swaps: list[Any] = []
        self.measured: list[Any] = []
        self.as_arrays: list[Any] = []
        self.cut: list[Any] = []
        self.cut_each: list[tuple[Any, Any]] = []
        self.handed: list[Any] = []
        self.returned: list[Any] = []
        self.is_written = False

    def is_one(self) -> bool:
        """Say whether each mention means the same of an array, and an item is written."""
        mentions = _named_in(self.node, self.name)
        if self.is_given:
            return all(self._is_fine(n) for n in mentions) and self.is_written and not (self.made or self.returned)
        if _named(self.node.args, self.name):
            mentions = self._behind_its_copy(mentions)
        return all(self._is_fine(n) for n in mentions) and bool(self.made) and self.is_written

    def _behind_its_copy(self, mentions: list[Any]) -> list[Any]:
        """Return where a parameter means the list of rows that its name is bound to once, `A = deepcopy(A)`.

        Those are all mentions behind that, if no function made before reads the parameter later on.
        """
        body = self.node.body
        at = next((k for k, stmt in enumerate(body) if self._binds(stmt)), None)
        if at is None:
            return mentions
        parts = [part for stmt in [*body[:at], body[at].value] for part in gast.walk(stmt)]
        if any(isinstance(part, gast.FunctionDef | gast.Lambda) for part in parts):
            return mentions
        before = {id(part) for part in parts}
        return [n for n in mentions if id(n) not in before]

    def _binds(self, stmt: Any) -> bool:
        match stmt:
            case gast.Assign(targets=[gast.Name(id=own)], value=value):
                return own == self.name and _makes_rows(value)
            case _:
                return False

    def make(self) -> None:
        """Make the matrix where the list of rows is made."""
        if self.is_given:
            self._copy()
        for stmt in self.made:
            self._make(stmt)

    def use(self) -> None:
        """Use the matrix where the list of rows is used, after all matrices are made."""
        for stmt in self.swaps:
            self._swap(stmt)
        for stmt in self.measured:
            self._measure(stmt)
        for call in self.as_arrays:
            call.func.attr = "array"
        for part in self.cut:
            if hasattr(part, "as_row"):
                part.as_row = WRITTEN  # a row of another matrix, which is another array
            else:
                put(self.parents, part, called("list", part))
        for part in [*self.handed, *self.returned]:
            put(self.parents, part, self._listed(part))
        for part, columns in self.cut_each:
            if hasattr(part, "as_matrix"):
                part.elt.as_row = WRITTEN
                continue
            rows = statement(f"{self.name}[:, 0]", part).value
            rows.slice.elts[1] = columns
            put(self.parents, part, self._listed(rows))

    def _make(self, stmt: Any) -> None:
        value = stmt.value
        rows = value
        if not isinstance(value, gast.ListComp):
            rows = statement("[row[:] for row in rows]", stmt).value
            rows.generators[0].iter = _copied(value) if isinstance(value, gast.Call) else value
        stmt.value = rows
        rows.as_matrix = True
        rows.elt.of_a_matrix = True
        of_an_array = isinstance(value, gast.Call) and not value.args
        rows.elt.as_row = LISTED if isinstance(rows.elt, gast.Subscript) and not of_an_array else WRITTEN

    def _copy(self) -> None:
        """Begin with a copy of what is given, under a name of its own."""
        taken = {part.id for part in gast.walk(self.node) if isinstance(part, gast.Name)}
        name = unused(f"{self.name}_rows", taken)
        for mention in _named_in(self.node, self.name):
            mention.id = name
        copied = statement(f"{name} = [row[:] for row in {self.name}]", self.node.body[0])
        copied.copies_rows_of, self.name = self.name, name
        self._make(copied)
        self.node.body.insert(_has_docstring(self.node), copied)

    def _listed(self, rows: Any) -> Any:
        made = statement("rows.tolist()", rows).value
        made.func.value = rows
        return made

    def _swap(self, stmt: Any) -> None:
        first, second = (target.slice for target in stmt.targets[0].elts)
        made = statement(f"{self.name}[[0, 0]] = {self.name}[[0, 0]]", stmt)
        made.targets[0].slice.elts = [copy.deepcopy(first), copy.deepcopy(second)]
        made.value.slice.elts = [copy.deepcopy(second), copy.deepcopy(first)]
        put(self.parents, stmt, made)

    def _measure(self, stmt: Any) -> None:
        """Raise where a new row is not as long as the one before: an array would have one item everywhere."""
        name = unused(f"{self.name}_row", {n.id for n in gast.walk(self.node) if isinstance(n, gast.Name)})
        made = statement(f"{name} = 0", stmt)
        made.value = stmt.value
        check = statement(
            f"if len({name}) != len({self.name}[0]): raise IndexError('rows of `{self.name}` differ in length')", stmt
        )
        check.test.comparators[0].args[0].slice = copy.deepcopy(stmt.targets[0].slice)
        stmt.value = statement(name, stmt).value
        put(self.parents, stmt, made, check, stmt)

    def _is_fine(self, mention: Any) -> bool:
        parent = self.parents[id(mention)]
        match parent:
            case gast.Assign(targets=[target], value=value) if target is mention and _makes_rows(value):
                self.made.append(parent)
                return True
            case gast.Subscript(value=value, slice=place) if value is mention and not isinstance(place, _NOT_ONE):
                return self._is_row_fine(parent)
            case gast.Call(func=gast.Name(id="len"), args=[_]):
                return True
            case gast.Call(func=gast.Attribute(value=gast.Name(id=module), attr="array" | "asarray"), args=[first, *_]):
                self.as_arrays.append(parent)
                return first is mention and self.source.knows(module) and self.source.resolve(module) is np
            case gast.Call(func=gast.Name(id=called), args=args, keywords=[]):
                reader = self._reader(called, [arg is mention for arg in args])
                if reader is None:
                    return False
                if reader.uses_items():
                    self.is_written = self.is_written or reader.is_written
                    return True
                self.handed.append(mention)  # it takes rows apart, which is done with lists
                return reader.only_reads()
            case gast.Return():
                self.returned.append(mention)
                return True
            case gast.Tuple(ctx=gast.Load()) if isinstance(self.parents[id(parent)], gast.Return):
                self.returned.append(mention)
                return True
            case gast.For(iter=iterated) | gast.comprehension(iter=iterated) if iterated is mention:
                return self._are_rows_read(parent, parent.target)
            case gast.Call(func=gast.Name(id="enumerate"), args=[_]):
                around = self.parents[id(parent)]
                match around:
                    case gast.For(target=gast.Tuple(elts=[gast.Name(), row])) | gast.comprehension(
                        target=gast.Tuple(elts=[gast.Name(), row])
                    ):
                        return self._are_rows_read(around, row)
                    case _:
                        return False
            case _:
                return False

    def _reader(self, called: str, given: list[bool]) -> Matrix | None:
        """Return the parameter that a function of the user's gets the list of rows by; None where that is not found."""
        inner = [n for n in gast.walk(self.node) if isinstance(n, gast.FunctionDef) and n.name == called]
        if not inner and not (self.source.knows(called) and has_source(self.source.resolve(called))):
            return None
        try:
            source = self.source if inner else source_of(self.source.resolve(called))
        except SourceNotFoundError:
            return None
        node = inner[0] if inner else source.node
        at = given.index(True)
        if sum(given) != 1 or not isinstance(node, gast.FunctionDef) or at >= len(node.args.args):
            return None
        if self.depth == _MOST_CALLS:
            return None
        return Matrix(source, node, node.args.args[at].id, depth=self.depth + 1)

    def only_reads(self) -> bool:
        """Say whether a function reads a parameter, and keeps nothing of it."""
        mentions = _named_in(self.node, self.name)
        copied = [id(n) for n in self._behind_its_copy(mentions)]
        if len(copied) < len(mentions):
            mentions = [n for n in mentions if id(n) not in copied]
        kept = self.is_written or self.made or self.swaps or self.returned
        return all(self._is_fine(n) for n in mentions) and not kept

    def uses_items(self) -> bool:
        """Say whether a parameter is read and written item by item, as an array is."""
        mentions = _named_in(self.node, self.name)
        if len(self._behind_its_copy(mentions)) < len(mentions) or not all(self._is_fine(n) for n in mentions):
            return False
        taken_apart = (self.made, self.swaps, self.returned, self.handed, self.cut, self.cut_each, self.as_arrays)
        return not any(taken_apart)

    def _is_row_fine(self, row: Any) -> bool:
        """Say whether `M[i]` is read, exchanged or written as a row is that has its place in the list alone."""
        parent = self.parents[id(row)]
        match parent:
            case gast.Subscript(value=value, slice=place) if value is row and not isinstance(place, _NOT_ONE):
                self.is_written = self.is_written or isinstance(parent.ctx, gast.Store)
                return not isinstance(parent.ctx, gast.Del)
            case gast.Subscript(value=value, slice=gast.Slice()) if value is row:
                return self._is_cut(parent)
            case gast.Tuple():
                stmt = self.parents[id(parent)]
                if swapped(stmt) != self.name or self._is_inside(stmt):
                    return False
                if any(_named(target.slice, self.name) for target in stmt.targets[0].elts):
                    return False  # the second place may be another behind the first write
                if not any(stmt is other for other in self.swaps):
                    self.swaps.append(stmt)
                return True
            case gast.Assign(targets=[target], value=value) if target is row:
                self.is_written = True
                if not self._keeps_length(value) or self._is_inside(parent):
                    return False
                self.measured += [] if self._is_as_long(value) else [parent]
                return True
            case _:
                return isinstance(row.ctx, gast.Load) and self._is_used_up(row)

    def _is_inside(self, stmt: Any) -> bool:
        """Say whether a statement is that of an inner function, which may run while a row is gone through."""
        inner = [n for n in gast.walk(self.node) if isinstance(n, gast.FunctionDef) and n is not self.node]
        return any(part is stmt for fn in inner for part in gast.walk(fn))

    def _is_cut(self, part: Any) -> bool:
        """Say whether `M[i][a:b]` is read: what is not used up at once is a list of its own."""
        if not isinstance(part.ctx, gast.Load):
            return False
        if not self._is_used_up(part):
            self.cut.append(part)
        return True

    def _is_used_up(self, row: Any) -> bool:
        """Say whether a row is read at once, or turn by turn where none is replaced meanwhile."""
        parent = self.parents[id(row)]
        match parent:
            case gast.Call(func=gast.Name(id=name), args=args) if any(row is arg for arg in args):
                if name in ("min", "max") and len(args) > 1:
                    return False  # of lists that is one of them
                return name in _USED_UP or (name in _IN_TURN and self._is_used_up(parent))
            case gast.comprehension():
                made = self.parents[id(parent)]
                return isinstance(made, gast.ListComp) or self._is_used_up(made)
            case gast.For(iter=iterated, body=body) if iterated is row:
                return not any(self._replaces(part) for stmt in body for part in gast.walk(stmt))
            case _:
                return False

    def _replaces(self, part: Any) -> bool:
        match part:
            case gast.Subscript(value=gast.Name(id=own), ctx=gast.Store()):
                return own == self.name
            case _:
                return False

    def _are_rows_read(self, loop: Any, row: Any) -> bool:
        """Say whether what a loop over the rows does with each is to read its items."""
        if not isinstance(row, gast.Name):
            return False
        if isinstance(loop, gast.For):
            within = list(loop.body)
            if any(self._replaces(part) for stmt in within for part in gast.walk(stmt)):
                return False
        else:
            made = self.parents[id(loop)]
            match made:
                case gast.ListComp(elt=gast.Subscript(value=gast.Name(id=own), slice=gast.Slice() as columns)) if (
                    own == row.id and not loop.ifs and len(made.generators) == 1
                ):
                    self.cut_each.append((made, columns))
                    return True
                case _:
                    pass
            if not (isinstance(made, gast.ListComp) or self._is_used_up(made)):
                return False
            within = [made]
        inside = [n for part in within for n in gast.walk(part) if isinstance(n, gast.Name) and n.id == row.id]
        inside = [n for n in inside if n is not row]
        alone = not isinstance(loop, gast.For) or len(inside) + 1 == len(_named(self.node, row.id))
        return alone and all(self._is_item_read(n) for n in inside)

    def _is_item_read(self, row: Any) -> bool:
        if not isinstance(row.ctx, gast.Load):
            return False
        parent = self.parents[id(row)]
        match parent:
            case gast.Subscript(value=value, slice=place, ctx=gast.Load()) if value is row:
                if isinstance(place, gast.Slice):
                    return self._is_cut(parent)
                return not isinstance(place, gast.Tuple)
            case _:
                return self._is_used_up(row)

    def _keeps_length(self, value: Any) -> bool:
        """Say whether a new row is worked out item by item from rows of the matrix."""
        match value:
            case gast.ListComp(elt=item, generators=[gast.comprehension(target=target, iter=over, ifs=[])]):
                pass
            case _:
                return False
        if isinstance(item, _LISTS):
            return False
        match over:
            case gast.Call(func=gast.Name(id="range"), args=[*_]) if isinstance(target, gast.Name):
                return any(self._is_item_at(part, target.id) for part in gast.walk(item)) or self._is_length(over)
            case gast.Call(func=gast.Name(id="zip" | "enumerate"), args=args):
                return any(self._is_row(arg) for arg in args)
            case _:
                return self._is_row(over)

    def _is_as_long(self, value: Any) -> bool:
        """Say whether a new row goes over rows of the matrix alone."""
        match value.generators[0].iter:
            case gast.Call(func=gast.Name(id="zip" | "enumerate"), args=args):
                return all(self._is_row(arg) for arg in args)
            case gast.Call(func=gast.Name(id="range")) as over:
                return self._is_length(over)
            case over:
                return self._is_row(over)

    def _is_item_at(self, part: Any, counter: str) -> bool:
        match part:
            case gast.Subscript(value=row, slice=gast.Name(id=place)):
                return place == counter and self._is_row(row)
            case _:
                return False

    def _is_length(self, over: Any) -> bool:
        match over.args:
            case [gast.Call(func=gast.Name(id="len"), args=[row])]:
                return self._is_row(row)
            case _:
                return False

    def _is_row(self, part: Any) -> bool:
        match part:
            case gast.Subscript(value=gast.Name(id=own), slice=place):
                return own == self.name and not isinstance(place, _NOT_ONE)
            case _:
                return False
