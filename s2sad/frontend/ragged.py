"""Lists of rows that differ in length: `table = [[x]]`, `table.append([f(v) for v in table[-1]] + [x])`.

A list of lists has no derivative of its own, a list of arrays has. Where the text of a function makes every row anew,
lays it in the list when it is done, and from there on reads rows in ways that mean the same of an array, each row is
an array: Romberg's table, Pascal's triangle, divided differences, layers that shrink.
"""

from __future__ import annotations

import copy
from typing import Any

import gast

from s2sad.frontend.lowerer import Context, Lowerer
from s2sad.frontend.matrices import COLLECTED, LISTED, WRITTEN, collected_row, written_row
from s2sad.frontend.optional import KindFound
from s2sad.frontend.respelled import called, parents_of, put, scope_of, stays_alone
from s2sad.frontend.values import StructV, V, Value
from s2sad.ir.types import Array, ListOf, Scalar

_READERS = frozenset({"sum", "len", "enumerate", "zip", "min", "max", "list", "tuple", "sorted", "reversed", "map"})
_MAKERS = frozenset({"list", "sorted"})
_SCOPES = gast.FunctionDef | gast.Lambda | gast.ClassDef


def with_rows(ctx: Context, node: Any) -> Any:
    """Return a function in which rows of lists are marked as arrays; as it stands where there are none."""
    if not isinstance(node, gast.FunctionDef):
        return node
    node = getattr(node, "without_rows", node)
    if id(node) in ctx.rows_are_lists:
        return node
    if not hasattr(node, "with_rows"):
        node.with_rows = _marked(node)
    return node.with_rows


def _marked(node: Any) -> Any:
    names = [name for name in _names_of_lists(node) if _Uses(node, name).is_of_rows()]
    if not names:
        return node
    made = copy.deepcopy(node)
    made.without_rows = node
    for name in names:
        uses = _Uses(made, name)
        uses.is_of_rows()
        uses.mark()
    return made


def row_of(lw: Lowerer, value: Value, text: Any, node: Any) -> Value:
    """Return a list as the row that its text says it is, if so; other values as they are.

    Rows of anything but numbers stay lists: the function is lowered again as it stands.
    """
    kind = getattr(text, "as_row", None)
    if kind is None:
        return value
    marked = lw.source.node
    if hasattr(marked, "without_rows") and not _holds_numbers(value):
        lw.ctx.rows_are_lists.add(id(marked.without_rows))
        raise KindFound
    if hasattr(text, "of_a_matrix") and not (_holds_numbers(value) and (kind != LISTED or _is_list(value))):
        lw.fail(node, "rows of a matrix are lists of numbers", "Make each a list of its own.")
    return written_row(lw, value, node) if kind in (WRITTEN, LISTED) else collected_row(lw, value, node)


def _is_list(value: Value) -> bool:
    if isinstance(value, StructV):
        return value.kind == "list"
    return isinstance(value, V) and isinstance(value.expr.type, ListOf)


def _holds_numbers(value: Value) -> bool:
    if isinstance(value, StructV):
        return value.kind in ("list", "tuple") and all(
            isinstance(item, V) and isinstance(item.expr.type, Scalar) for item in value.items
        )
    match value:
        case V(expr):
            kind = expr.type
            return (isinstance(kind, ListOf) and isinstance(kind.item, Scalar | None)) or (
                isinstance(kind, Array) and len(kind.dims) == 1
            )
        case _:
            return False


def _names_of_lists(node: Any) -> list[str]:
    """Return the names that are bound once, to a display of lists or a comprehension of them."""
    stores: dict[str, int] = {}
    begun: list[str] = []
    for part in gast.walk(node):
        if isinstance(part, gast.Name) and not isinstance(part.ctx, gast.Load):
            stores[part.id] = stores.get(part.id, 0) + 1
        match part:
            case gast.Assign(targets=[gast.Name(id=name)], value=gast.List() | gast.ListComp()):
                begun.append(name)
            case _:
                pass
    return [name for name in begun if stores[name] == 1]


class _Uses:
    """Every mention of one list of rows in a function: where rows come from, and how they are read."""

    def __init__(self, node: Any, name: str) -> None:
        self.node, self.name = node, name
        self.parents = parents_of(node)
        self.begin: Any = None
        self.appends: list[Any] = []
        self.sources: list[Any] = []
        self.sums: list[Any] = []
        self.is_written = False
        self.named: set[str] = set()

    def is_of_rows(self) -> bool:
        """Say whether each mention makes, adds or reads rows, and rows may differ in length."""
        if not all(self._is_fine(n) for n in self._mentions(self.name)) or self.begin is None:
            return False
        if self.is_written and self.named:  # a row that is written through one name and read by another
            return False
        if self.sums and not all(self._is_surely_list(source) for source in self.sources):
            return False  # a sum with an array adds its items
        begin = self.begin.value
        if not self.appends and (isinstance(begin, gast.List) or _fixed_length(begin) is not None):
            return False  # all of it is known
        lengths = {_fixed_length(source) for source in self.sources}
        return bool(lengths) and (None in lengths or len(lengths) > 1) and all(self._is_row(s) for s in self.sources)

    def mark(self) -> None:
        """Mark what makes rows, and write a sum with a row as a sum of lists."""
        kind = WRITTEN if self.is_written else COLLECTED
        for call in self.appends:
            call.as_row = kind
        for part in self.sums:
            put(self.parents, part, called("list", part))
        value = self.begin.value
        if isinstance(value, gast.ListComp):
            value.elt.as_row = kind
        elif value.elts:
            rows, value.elts = value.elts, []
            block = self._block(self.begin)
            at = next(i for i, stmt in enumerate(block) if stmt is self.begin) + 1
            block[at:at] = [self._append(row, kind) for row in rows]

    def _append(self, row: Any, kind: str) -> Any:
        load = gast.Name(self.name, gast.Load(), None, None)
        call = gast.Call(gast.Attribute(load, "append", gast.Load()), [row], [])
        stmt = gast.Expr(call)
        for part in (load, call.func, call, stmt):
            gast.copy_location(part, row)
        call.as_row = kind
        return stmt

    def _mentions(self, name: str) -> list[Any]:
        return [n for n in gast.walk(self.node) if isinstance(n, gast.Name) and n.id == name]

    def _is_fine(self, mention: Any) -> bool:
        """Say whether one mention of the list is understood."""
        if self._is_elsewhere(mention):
            return False
        parent = self.parents[id(mention)]
        match parent:
            case gast.Assign(targets=[target]) if target is mention:
                self.begin = parent
                value = parent.value
                self.sources += [value.elt] if isinstance(value, gast.ListComp) else value.elts
                return True
            case gast.Attribute(attr="append"):
                return self._is_append(self.parents[id(parent)])
            case gast.Subscript(value=value, slice=place) if value is mention and not isinstance(place, gast.Slice):
                return isinstance(place, gast.Tuple) is False and self._is_row_read(parent)
            case gast.Call(func=gast.Name(id="len"), args=[_]):
                return True
            case gast.For(target=gast.Name() as row, iter=over) if over is mention:
                return self._is_read_only(row)
            case gast.comprehension(target=gast.Name() as row, iter=over) if over is mention:
                return self._is_read_only(row)
            case gast.Call(func=gast.Name(id="enumerate" | "reversed" as taker), args=[_], keywords=[]):
                return self._is_taken(parent, taker)
            case _:
                return False

    def _is_taken(self, call: Any, taker: str) -> bool:
        """Say whether the rows that `enumerate(rows)` or `reversed(rows)` give are only read."""
        parent = self.parents[id(call)]
        if not isinstance(parent, gast.For | gast.comprehension) or parent.iter is not call:
            return False
        target = parent.target
        if taker == "enumerate":
            if not (isinstance(target, gast.Tuple) and len(target.elts) == 2):
                return False
            target = target.elts[1]
        return isinstance(target, gast.Name) and self._is_read_only(target)

    def _is_elsewhere(self, mention: Any) -> bool:
        part = mention
        while part is not self.node:
            part = self.parents[id(part)]
            if isinstance(part, _SCOPES) and part is not self.node:
                return True
        return False

    def _is_append(self, call: Any) -> bool:
        if not (isinstance(call, gast.Call) and len(call.args) == 1 and not call.keywords):
            return False
        if not isinstance(self.parents[id(call)], gast.Expr) or hasattr(call, "as_row"):
            return False
        self.appends.append(call)
        self.sources.append(call.args[0])
        return True

    def _is_row_read(self, row: Any) -> bool:
        """Say whether a row, `rows[i]` or a name of it, is read in a way that means the same of an array."""
        parent = self.parents[id(row)]
        match parent:
            case gast.Subscript(value=value, slice=place) if value is row:
                if isinstance(place, gast.Slice):
                    return isinstance(parent.ctx, gast.Load) and self._is_handed(parent)
                self.is_written = self.is_written or not isinstance(parent.ctx, gast.Load)
                return not isinstance(place, gast.Tuple) and not isinstance(parent.ctx, gast.Del)
            case gast.Assign(targets=[gast.Name() as name], value=value) if value is row:
                return self._is_read_only(name)
            case gast.BinOp(op=gast.Add()):
                if self._is_summed(parent, row):
                    self.sums.append(row)
                    return True
                return False
            case _:
                return self._is_handed(row)

    def _is_handed(self, row: Any) -> bool:
        """Say whether a row is handed to what reads it, or gone over."""
        parent = self.parents[id(row)]
        match parent:
            case gast.For(iter=over) | gast.comprehension(iter=over) if over is row:
                return True
            case gast.Call(func=gast.Name(id=reader)) if reader in _READERS:
                return True
            case gast.Call(func=gast.Attribute(value=gast.Name(id="np" | "numpy"))):
                return True
            case _:
                return False

    def _is_summed(self, total: Any, row: Any) -> bool:
        """Say whether the other side of `row + other` is a list."""
        other = total.right if total.left is row else total.left
        return _makes_list(other) or self._is_list_of_numbers(other)

    def _is_list_of_numbers(self, other: Any) -> bool:
        match other:
            case gast.Subscript(value=gast.Name(id=name), slice=place):
                return name == self.name and not isinstance(place, gast.Slice | gast.Tuple)
            case _:
                return False

    def _is_read_only(self, target: Any) -> bool:
        """Say whether what is bound to a row here is bound to rows alone, and only reads them.

        A loop over the rows may use a name that means something else in other places.
        """
        self.named.add(target.id)
        owner = self._bound_in(target)
        loop = owner if isinstance(owner, gast.For) else None
        within = {id(n) for n in gast.walk(loop)} if loop is not None else None
        for mention in self._same(target):
            if self._is_elsewhere(mention):
                return False
            if within is not None and id(mention) not in within:
                if not self._is_bound_before(mention):
                    return False
            elif not isinstance(mention.ctx, gast.Load):
                if mention is not target and not self._binds_row(mention):
                    return False
            elif not self._is_read(mention):
                return False
        return True

    def _is_read(self, mention: Any) -> bool:
        parent = self.parents[id(mention)]
        if isinstance(parent, gast.Subscript) and not isinstance(parent.ctx, gast.Load):
            return False
        return not isinstance(parent, gast.Assign) and self._is_row_read(mention)

    def _bound_in(self, target: Any) -> Any:
        """Return the statement or the comprehension that binds a target."""
        part = self.parents[id(target)]
        return self.parents[id(part)] if isinstance(part, gast.Tuple) else part

    def _binds_row(self, mention: Any) -> bool:
        """Say whether a name is bound to a row by an assignment."""
        match self.parents[id(mention)]:
            case gast.Assign(targets=[gast.Name()], value=gast.Subscript(value=gast.Name(id=name), slice=place)):
                return name == self.name and not isinstance(place, gast.Slice | gast.Tuple)
            case _:
                return False

    def _is_bound_before(self, mention: Any) -> bool:
        """Say whether a name surely means something else here: it is bound before, in a block around, or by a loop."""
        part = mention
        while part is not self.node:
            parent = self.parents[id(part)]
            if isinstance(parent, gast.For) and part is not parent.iter:
                if any(isinstance(n, gast.Name) and n.id == mention.id for n in gast.walk(parent.target)):
                    return True
            block = self._block(part) if isinstance(part, gast.stmt) else []
            for stmt in block:
                if stmt is part and stmt is not self.parents[id(mention)]:
                    break
                if isinstance(stmt, gast.Assign) and any(_names(t, mention.id) for t in stmt.targets):
                    return True
                if stmt is part:
                    break
            part = parent
        return False

    def _same(self, mention: Any) -> list[Any]:
        """Return the mentions of the same variable: those of a comprehension are its own."""
        own = scope_of(mention, self.parents, self.node)
        return [n for n in self._mentions(mention.id) if scope_of(n, self.parents, self.node) is own]

    def _is_surely_list(self, source: Any, asked: frozenset[str] = frozenset()) -> bool:
        """Say whether a row is a list in every run, and no array; `asked`: names of which that is asked already."""
        match source:
            case gast.List() | gast.ListComp() | gast.Call(func=gast.Name(id="list" | "sorted")):
                return True
            case gast.BinOp(left=left, op=gast.Mult()):
                return isinstance(left, gast.List)
            case gast.BinOp(left=left, op=gast.Add(), right=right):
                return self._is_surely_list(left, asked) and self._is_surely_list(right, asked)
            case gast.Subscript(value=gast.Name(id=name), slice=place):
                return name == self.name and not isinstance(place, gast.Slice | gast.Tuple)
            case gast.Name(id=name) if name in self.named or name in asked:
                return True
            case gast.Name(id=name):
                begun = [self.parents[id(n)] for n in self._same(source) if not isinstance(n.ctx, gast.Load)]
                values = [stmt.value for stmt in begun if isinstance(stmt, gast.Assign)]
                return len(values) == len(begun) > 0 and all(self._is_surely_list(v, asked | {name}) for v in values)
            case _:
                return False

    def _is_row(self, source: Any) -> bool:
        """Say whether what goes into the list is a list of its own, of numbers."""
        if isinstance(source, gast.Name):
            return self._is_done(source)
        return _makes_list(source)

    def _is_done(self, source: Any) -> bool:
        """Say whether a row is begun in the block in which it is laid away, and not mentioned behind that."""
        stmt = self.parents[id(self.parents[id(source)])]
        if not isinstance(stmt, gast.Expr):
            return False
        block = self._block(stmt)
        at = next(i for i, other in enumerate(block) if other is stmt)
        begun = [i for i, other in enumerate(block[:at]) if _begins(other, source.id)]
        if not begun:
            return False
        between = {id(n) for part in block[begun[-1] : at + 1] for n in gast.walk(part)}
        for mention in self._same(source):
            if id(mention) not in between:
                if not self._is_in_a_loop_over_rows(mention):
                    return False
            elif self._is_elsewhere(mention) or not (mention is source or stays_alone(mention, self.parents)):
                return False
        return True

    def _is_in_a_loop_over_rows(self, mention: Any) -> bool:
        """Say whether a loop over the rows binds a name here."""
        part = mention
        while part is not self.node:
            parent = self.parents[id(part)]
            if isinstance(parent, gast.For) and part is not parent.iter and _names(parent.target, mention.id):
                return any(isinstance(n, gast.Name) and n.id == self.name for n in gast.walk(parent.iter))
            part = parent
        return False

    def _block(self, stmt: Any) -> list[Any]:
        parent = self.parents[id(stmt)]
        blocks = (getattr(parent, field, None) for field in ("body", "orelse", "finalbody"))
        return next(b for b in blocks if isinstance(b, list) and any(other is stmt for other in b))


def _names(target: Any, name: str) -> bool:
    return any(isinstance(n, gast.Name) and n.id == name for n in gast.walk(target))


def _begins(stmt: Any, name: str) -> bool:
    match stmt:
        case gast.Assign(targets=[gast.Name(id=own)], value=value):
            return own == name and _makes_list(value)
        case _:
            return False


def _makes_list(value: Any) -> bool:
    """Say whether an expression makes a list of its own whose items are no lists, tuples or texts themselves."""
    match value:
        case gast.List(elts=items):
            return all(_is_number(item) for item in items)
        case gast.ListComp(elt=item):
            return _is_number(item)
        case gast.BinOp(left=left, op=gast.Add(), right=right):
            return (_makes_list(left) and (_makes_list(right) or _is_row_of(right))) or (
                _is_row_of(left) and _makes_list(right)
            )
        case gast.BinOp(left=gast.List(), op=gast.Mult()):
            return _makes_list(value.left)
        case gast.Call(func=gast.Name(id=maker), args=[_], keywords=[]):
            return maker in _MAKERS
        case gast.Call(func=gast.Attribute(attr="copy"), args=[], keywords=[]):
            return True
        case gast.Subscript(slice=gast.Slice()):
            return True
        case _:
            return False


def _is_row_of(value: Any) -> bool:
    """Say whether an expression may be a row that is added to a list; where it is none, nothing is marked."""
    match value:
        case gast.Name():
            return True
        case gast.Subscript(value=gast.Name(), slice=place):
            return not isinstance(place, gast.Tuple)
        case _:
            return False


def _is_number(item: Any) -> bool:
    """Say whether an item may be a number."""
    if isinstance(item, gast.Constant):
        return isinstance(item.value, int | float | complex)
    kinds = (gast.List, gast.ListComp, gast.Tuple, gast.Dict, gast.Set, gast.Starred, gast.Lambda, gast.JoinedStr)
    return not isinstance(item, kinds)


def _fixed_length(source: Any) -> int | None:
    """Return how many items a row has if its text tells."""
    match source:
        case gast.List(elts=items):
            return len(items)
        case gast.ListComp(
            generators=[gast.comprehension(iter=gast.Call(func=gast.Name(id="range"), args=args), ifs=[])]
        ):
            ends = [a.value for a in args if isinstance(a, gast.Constant) and isinstance(a.value, int)]
            return len(range(*ends)) if len(ends) == len(args) else None
        case gast.BinOp(left=gast.List(elts=[_]), op=gast.Mult(), right=gast.Constant(value=int(count))):
            return count
        case _:
            return None
