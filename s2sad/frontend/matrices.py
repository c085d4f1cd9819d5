"""Matrices written as lists of lists: `A = [[0.0] * n for _ in range(n)]`, read and written as `A[i][j]`.

Where the text of a function uses such a name element by element only, an array of two dimensions means the same,
and it is one: a list of lists has no derivative of its own. A list of rows that are lists until they are appended,
`row = []`, `row.append(x)`, `rows.append(row)`, and that is read so, or handed to `np.array`, is a list of arrays.
"""

from __future__ import annotations

import copy
from typing import Any

import gast
import numpy as np

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.respelled import parents_of, stays_alone
from s2sad.frontend.values import StaticV, StructV, V, Value, literal
from s2sad.ir.types import Array

COLLECTED, WRITTEN, LISTED = "collected", "written", "listed"
"""How a node of the text says that the list it makes is an array: one that is read, whose items are set, or the copy
of what must be a list, for of an array it is no copy."""

_ROW_READERS = frozenset({"sum", "len", "enumerate", "zip", "min", "max", "abs", "list", "tuple", "sorted"})


def with_arrays(node: Any) -> Any:
    """Return a function with its matrices as arrays; the node itself where it has none."""
    if not isinstance(node, gast.FunctionDef):
        return node
    if not hasattr(node, "with_arrays"):
        node.with_arrays = _rewritten(node)
    return node.with_arrays


def _rewritten(node: Any) -> Any:
    names = _matrix_names(node)
    if not names and not _row_appends(node):
        return node
    made = copy.deepcopy(node)
    made.with_arrays = made
    for call in _row_appends(made):
        call.as_row = COLLECTED
    _Rewriter(names).visit(made)
    return made


def _row_appends(node: Any) -> list[Any]:
    """Return the calls that append a list, done by then, to a list of rows."""
    found: dict[str, list[Any]] = {}
    for block in _blocks(node):
        for at, stmt in enumerate(block):
            appended = _appended(stmt)
            if appended is not None and _is_made_for(node, appended[1], block[: at + 1]):
                found.setdefault(appended[0], []).append(stmt.value)
    return [call for rows, calls in found.items() if _only_collects(node, rows, len(calls)) for call in calls]


def _blocks(node: Any) -> list[list[Any]]:
    found = [b for n in gast.walk(node) for b in (getattr(n, "body", None), getattr(n, "orelse", None))]
    return [block for block in found if isinstance(block, list)]


def _appended(stmt: Any) -> tuple[str, str] | None:
    """Return the names of the list and of what is appended, of `rows.append(row)`."""
    match stmt:
        case gast.Expr(
            value=gast.Call(func=gast.Attribute(value=gast.Name(id=rows), attr="append"), args=[gast.Name(id=row)])
        ):
            return str(rows), str(row)
        case _:
            return None


def _is_made_for(node: Any, row: str, block: list[Any]) -> bool:
    """Say whether a list is begun in a block, and mentioned nowhere but from there to its end."""
    begun = [at for at, stmt in enumerate(block) if _begins(stmt, row)]
    if not begun or sum(_count(stmt, row) for stmt in block[begun[-1] :]) != _count(node, row):
        return False
    parents = parents_of(node)
    appended = block[-1].value.args[0]
    mentions = [n for n in gast.walk(node) if isinstance(n, gast.Name) and n.id == row]
    return all(n is appended or stays_alone(n, parents) for n in mentions)


def _begins(stmt: Any, name: str) -> bool:
    match stmt:
        case gast.Assign(targets=[gast.Name(id=own)], value=gast.List(elts=[])):
            return own == name
        case _:
            return False


def _only_collects(node: Any, rows: str, appends: int) -> bool:
    """Say whether a list begins empty, gets rows, and is read element by element or as an array."""
    begun = [(block, at) for block in _blocks(node) for at, stmt in enumerate(block) if _begins(stmt, rows)]
    if len(begun) != 1:
        return False
    block, at = begun[0]
    behind = block[at:]
    done = next((k for k, stmt in enumerate(behind) if _becomes_an_array(stmt, rows)), None)
    if done is None:
        return _count(node, rows) == 1 + appends + _fine_uses(node, rows)
    alone = _count(node, rows) == sum(_count(stmt, rows) for stmt in behind)
    fine = sum(_fine_uses(stmt, rows) for stmt in behind[:done])
    return alone and sum(_count(stmt, rows) for stmt in behind[:done]) == 1 + appends + fine


def _becomes_an_array(stmt: Any, name: str) -> bool:
    match stmt:
        case gast.Assign(
            targets=[gast.Name(id=own)],
            value=gast.Call(func=gast.Attribute(attr="array" | "asarray"), args=[gast.Name(id=given), *_]),
        ):
            return own == given == name
        case _:
            return False


_CHANGING = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"})


def grows_behind(node: Any, call: Any) -> bool:
    """Say whether a list that `call` appends to another is changed behind that, where both mean it."""
    for block in _blocks(node):
        for at, stmt in enumerate(block):
            appended = _appended(stmt)
            if appended is None or _place(stmt.value) != _place(call):
                continue
            row = appended[1]
            own = any(isinstance(s, gast.Assign) and _binds(s, row) for s in block[:at])
            return any(_changes(part, row) for s in (block[at + 1 :] if own else [node]) for part in gast.walk(s))
    return False


def _place(node: Any) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _binds(stmt: Any, name: str) -> bool:
    return any(isinstance(target, gast.Name) and target.id == name for target in stmt.targets)


def _changes(part: Any, name: str) -> bool:
    match part:
        case gast.Call(func=gast.Attribute(value=gast.Name(id=own), attr=attr)):
            return own == name and attr in _CHANGING
        case gast.Subscript(value=gast.Name(id=own), ctx=gast.Store()) | gast.AugAssign(target=gast.Name(id=own)):
            return own == name
        case _:
            return False


def collected_row(lw: Lowerer, value: Value, node: Any) -> Value:
    """Return a list that is appended to a list of rows as an array of its own."""
    from s2sad.frontend.displays import array_of
    from s2sad.frontend.expressions import as_expr

    return V(lw.atom(as_expr(lw, array_of(lw, value, node), node), "row", lw.span(node)))


def _is_nested(node: Any, matrix: str, value: Any) -> bool:
    """Say whether an expression makes rows of one length, of a number that is not a constant.

    A matrix of a constant number of rows is one where its elements are found by what goes over something else.
    """
    match value:
        case gast.ListComp(elt=row, generators=[gast.comprehension(target=gast.Name(id=name), iter=over, ifs=[])]):
            by_place = not _is_constant_range(over) or (_is_of_zeros(row) and _is_walked(node, matrix))
            return _is_row(row, name) and by_place
        case _:
            return False


def _is_row(row: Any, outer: str) -> bool:
    match row:
        case gast.BinOp(left=gast.List(elts=[item]), op=gast.Mult(), right=count):
            nothing = isinstance(item, gast.Constant) and item.value is None
            plain = not isinstance(item, gast.List | gast.ListComp | gast.Tuple) and not nothing
            return plain and not _mentions(count, outer)
        case gast.ListComp(elt=item, generators=[gast.comprehension(iter=over, ifs=[])]):
            return not _mentions(over, outer) and not isinstance(item, gast.List | gast.ListComp | gast.Tuple)
        case _:
            return False


def _is_of_zeros(row: Any) -> bool:
    """Say whether a row is `[0.0] * n`."""
    match row:
        case gast.BinOp(left=gast.List(elts=[gast.Constant(value=float())])):
            return True
        case _:
            return False


def _is_walked(node: Any, matrix: str) -> bool:
    """Say whether an element of a matrix is asked for by what a loop counts that is not over a constant range."""
    counted: set[str] = set()
    for part in gast.walk(node):
        if isinstance(part, gast.For) and not _is_constant_range(part.iter):
            counted |= {n.id for n in gast.walk(part.target) if isinstance(n, gast.Name)}
    for part in gast.walk(node):
        match part:
            case gast.Subscript(value=gast.Name(id=own), slice=place) if own == matrix:
                if any(_mentions(place, name) for name in counted):
                    return True
            case _:
                pass
    return False


def _mentions(node: Any, name: str) -> bool:
    return any(isinstance(n, gast.Name) and n.id == name for n in gast.walk(node))


def _is_constant_range(over: Any) -> bool:
    return isinstance(over, gast.Call) and all(isinstance(a, gast.Constant) for a in over.args)


def _matrix_names(node: Any) -> frozenset[str]:
    made: dict[str, int] = {}
    for part in gast.walk(node):
        if isinstance(part, gast.Assign) and len(part.targets) == 1 and isinstance(part.targets[0], gast.Name):
            name = part.targets[0].id
            made[name] = made.get(name, 0) + (1 if _is_nested(node, name, part.value) else 1000)
    names = {name for name, count in made.items() if count < 1000}
    counts = {name: _count(node, name) for name in names}
    fine = {name: _fine_uses(node, name) for name in names}
    return frozenset(name for name in names if counts[name] == fine[name] + made[name])


def _count(node: Any, name: str) -> int:
    return sum(isinstance(n, gast.Name) and n.id == name for n in gast.walk(node))


def _fine_uses(node: Any, name: str) -> int:
    """Count the uses of a name that mean the same of an array as of a list of lists."""
    found = 0
    for part in gast.walk(node):
        match part:
            case gast.Subscript(value=gast.Subscript(value=gast.Name(id=own), slice=i), slice=j) if own == name:
                found += not isinstance(i, gast.Slice) and not isinstance(j, gast.Slice)
            case gast.Call(func=gast.Name(id="len"), args=[gast.Name(id=own)]) if own == name:
                found += 1
            case gast.Call(func=gast.Name(id=reader), args=[gast.Subscript(value=gast.Name(id=own), slice=i)]) if (
                own == name and reader in _ROW_READERS and not isinstance(i, gast.Slice)
            ):
                found += 1
            case gast.Call(func=gast.Attribute(attr="array" | "asarray"), args=[gast.Name(id=own), *_]) if own == name:
                found += 1
            case gast.Assign(targets=[gast.Tuple()]) if swapped(part) == name:
                found += 4
            case gast.For(target=gast.Name(id=row), iter=gast.Name(id=own), body=body) if own == name:
                found += all(_reads_row(s, row) for s in body)
            case _:
                pass
    return found


def _reads_row(statement: Any, row: str) -> bool:
    """Say whether a statement only reads the items of a row."""
    fine = 0
    for part in gast.walk(statement):
        match part:
            case gast.Subscript(value=gast.Name(id=own), slice=i, ctx=gast.Load()) if own == row:
                fine += not isinstance(i, gast.Slice)
            case gast.Call(func=gast.Name(id=reader), args=args) if reader in _ROW_READERS - {"list", "tuple"}:
                fine += sum(isinstance(a, gast.Name) and a.id == row for a in args)
            case gast.For(iter=gast.Name(id=own)) | gast.comprehension(iter=gast.Name(id=own)) if own == row:
                fine += 1
            case _:
                pass
    return fine == _count(statement, row)


def swapped(node: Any) -> str | None:
    """Return the matrix of which a statement exchanges two rows."""
    match node:
        case gast.Assign(
            targets=[gast.Tuple(elts=[gast.Subscript(value=gast.Name(id=a), slice=i),
                                      gast.Subscript(value=gast.Name(id=b), slice=j)])],
            value=gast.Tuple(elts=[gast.Subscript(value=gast.Name(id=c), slice=k),
                                   gast.Subscript(value=gast.Name(id=d), slice=m)]),
        ) if a == b == c == d and same(i, m) and same(j, k):  # fmt: skip
            return a
        case _:
            return None


def same(a: Any, b: Any) -> bool:
    """Say whether two texts are one."""
    return gast.dump(a) == gast.dump(b)


def filled(lw: Lowerer, value: Any) -> Value | None:
    """Lower `[[0.0] * n for _ in range(m)]`, a matrix of one number, as the array it is; None for any other text."""
    from s2sad.frontend.calls import call_function
    from s2sad.frontend.expressions import lower_expr

    match value:
        case gast.ListComp(
            elt=row, generators=[gast.comprehension(iter=gast.Call(func=gast.Name(id="range"), args=[rows]), ifs=[])]
        ):
            pass
        case _:
            return None
    match row:
        case gast.BinOp(left=gast.List(elts=[gast.Constant(value=number)]), op=gast.Mult(), right=columns):
            pass
        case gast.ListComp(
            elt=gast.Constant(value=number),
            generators=[gast.comprehension(iter=gast.Call(func=gast.Name(id="range"), args=[columns]), ifs=[])],
        ):
            pass
        case _:
            return None
    if not isinstance(number, int | float) or isinstance(number, bool):
        return None
    lengths = [lower_expr(lw, length) for length in (rows, columns)]
    if not all(isinstance(length, V) for length in lengths):
        return None
    shape = StructV("tuple", (0, 1), tuple(lengths))
    if number == 0:
        return call_function(lw, np.zeros, [shape], {}, value)
    return call_function(lw, np.full, [shape, V(literal(float(number)))], {}, value)


def written_row(lw: Lowerer, value: Value, node: Any) -> Value:
    """Return a row of a matrix as an array of numbers with a fraction, which may be written later."""
    from s2sad.frontend.calls import call_function
    from s2sad.frontend.displays import array_of
    from s2sad.frontend.expressions import as_expr

    row = array_of(lw, value, node)
    kind = row.expr.type if isinstance(row, V) else None
    if not (isinstance(kind, Array) and kind.dtype == "float64"):
        row = call_function(lw, np.array, [row], {"dtype": StaticV(float)}, node)
    return V(lw.atom(as_expr(lw, row, node), "row", lw.span(node)))


class _Rewriter(gast.NodeTransformer):
    def __init__(self, names: frozenset[str]) -> None:
        self.names = names

    def visit_Call(self, node: Any) -> Any:
        """Make an array of a matrix anew, as NumPy does of a list: `np.asarray` of an array is that array."""
        match node:
            case gast.Call(func=gast.Attribute(attr="asarray"), args=[gast.Name(id=own), *_]) if own in self.names:
                node.func.attr = "array"
            case _:
                pass
        return self.generic_visit(node)

    def visit_Assign(self, node: Any) -> Any:
        """Exchange rows as an array does, and mark what makes a matrix."""
        name = swapped(node)
        if name in self.names:
            i, j = (target.slice for target in node.targets[0].elts)
            return _placed(_parsed(f"{name}[[0, 0]] = {name}[[0, 0]]"), node, [i, j], [j, i])
        target = node.targets[0]
        if len(node.targets) == 1 and isinstance(target, gast.Name) and target.id in self.names:
            node.value.as_matrix, node.value.elt.as_row = True, WRITTEN
            return node
        return self.generic_visit(node)


def _parsed(text: str) -> Any:
    return gast.parse(text).body[0]


def _placed(statement: Any, place: Any, written: list[Any], read: list[Any]) -> Any:
    for part in gast.walk(statement):
        gast.copy_location(part, place)
    statement.targets[0].slice.elts, statement.value.slice.elts = written, read
    return statement
