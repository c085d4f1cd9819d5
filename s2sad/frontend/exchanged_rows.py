"""Lists of rows that are copied, exchanged and written, as a matrix: elimination with pivots over lists of lists.

    M = [row[:] + [b[i]] for i, row in enumerate(A)]
    M[k], M[p] = M[p], M[k]                                # p is told by the run
    M[r][c] -= f * M[k][c]

Which row stands where is known to a run alone, so a row is no list of its own that could be written. An array of two
dimensions means the same where each row is made anew, is in the list by one place only, and keeps its length: that
is read off the text. It is looked for where such a row is written, which would be an error otherwise; where the
array does not do either, that error stands.
"""

from __future__ import annotations

from typing import Any

import gast

from s2sad.errors import AliasError
from s2sad.frontend.containers import holders, scopes
from s2sad.frontend.keyed import KeyedFound
from s2sad.frontend.lowerer import Context, Lowerer
from s2sad.frontend.respelled import statement
from s2sad.frontend.rows_as_matrix import matrices_in, plain
from s2sad.frontend.source import Source
from s2sad.frontend.values import StructV, Value


def begin_again(lw: Lowerer) -> None:
    """Lower the function again with its lists of rows as matrices; return where there are none, or that was tried."""
    if not lw.ctx.being_lowered:  # a rule is read
        return
    asked, entered = lw.ctx.rows_exchanged, lw.ctx.being_lowered[-1]
    scope: Lowerer | None = lw
    while scope is not None:
        is_written_in = scope.outer is not None
        node = scope.source.node if is_written_in else entered.node
        if id(node) in asked:
            return
        found = matrices_in(scope.source, plain(node), is_written_in) if isinstance(node, gast.FunctionDef) else []
        if found:
            known = {own for matrix in found if matrix.is_given for own in _names(lw, scope.env.get(matrix.name))}
            asked[id(node)] = id(entered.node), frozenset(known - lw.ctx.known_lists)
            lw.ctx.known_lists |= known
            raise KeyedFound(id(entered.node))
        scope = scope.outer


def _names(lw: Lowerer, given: Value | None) -> set[tuple[int, str]]:
    """Return by which names, each with its text, callers know a list."""
    return {
        (id(scope.source.node), name)
        for scope in scopes(lw) for name, value in scope.env.items() if given is not None and value == given
    }  # fmt: skip


def give_up(ctx: Context, source: Source) -> bool:
    """Lower a function with its rows as lists again; False if they were."""
    tried = [(owner, known) for owner, (entered, known) in ctx.rows_exchanged.items() if entered == id(source.node)]
    for owner, known in tried:
        ctx.rows_exchanged[owner] = 0, frozenset()
        ctx.known_lists -= known
    return bool(tried)


def with_matrices(source: Source, ctx: Context, owner: Any) -> Source:
    """Return a function, in the text of which lists of rows are matrices if that has been asked for."""
    node = source.node
    if not _is_asked(ctx, owner):
        return source
    if not hasattr(node, "with_matrices"):
        node.with_matrices = _written(source, node, False)
    return source.rewritten(node.with_matrices, source.lines, {})


def written_in(ctx: Context, source: Source, node: Any) -> Any:
    """Return the text of a function that is written into its caller, so that its rows are matrices if asked for."""
    if not _is_asked(ctx, node):
        return node
    if not hasattr(node, "written_in"):
        node.written_in = _written(source, node, True)
    return node.written_in


def _is_asked(ctx: Context, node: Any) -> bool:
    return ctx.rows_exchanged.get(id(node), (0, None))[0] != 0


def _written(source: Source, node: Any, is_written_in: bool) -> Any:
    names = frozenset(matrix.name for matrix in matrices_in(source, plain(node), is_written_in))
    made = plain(node, names)
    matrices = matrices_in(source, made, is_written_in)
    for matrix in matrices:
        matrix.make()
    for matrix in matrices:
        matrix.use()
    return made


def put_back(lw: Lowerer, node: Any, body: list[Any], is_straight: bool) -> list[Any]:
    """Return the body of a function with what it was given as lists of rows copied at its begin, and put back.

    The caller has the rows in other places than Python would: a row that it knows by another name is refused.
    """
    behind: list[Any] = []
    whole = node.body if isinstance(node, gast.FunctionDef) else []
    copies = [stmt for stmt in whole if hasattr(stmt, "copies_rows_of")]
    if copies and not (is_straight and sum(hasattr(stmt, "copies_rows_of") for stmt in body) == len(copies)):
        lw.fail(copies[0], "rows are exchanged in a function that returns from several places",
                "Give it one `return`, at its end.", AliasError)  # fmt: skip
    for stmt in body:
        name = getattr(stmt, "copies_rows_of", "")
        if name:
            rows = _rows_apart(lw, lw.env.get(name))
            if rows is None:
                return lw.fail(stmt, f"rows of `{name}` are exchanged, which have other names, too",
                               "Give the function copies of the rows.", AliasError)  # fmt: skip
            copied = stmt.targets[0].id
            places = [(i, j) for i, row in enumerate(rows) for j in range(len(row.items))]
            behind += [statement(f"{name}[{i}][{j}] = {copied}[{i}, {j}]", stmt) for i, j in places]
    if behind and isinstance(body[-1], gast.Return):
        return [*body[:-1], *behind, body[-1]]
    return [*body, *behind]


def _rows_apart(lw: Lowerer, given: Value | None) -> list[StructV] | None:
    """Return the rows of a list if they are found by way of it alone, each at one place."""
    if not isinstance(given, StructV) or given.kind != "list":
        return None
    rows = [row for row in given.items if isinstance(row, StructV) and row.kind == "list"]
    cells = [row.cell for row in rows if row.cell is not None]
    alone = len(set(map(id, cells))) == len(cells) and all(
        holder is given.cell for cell in cells for holder in holders(lw, cell)
    )
    return rows if alone and len(rows) == len(given.items) else None
