"""Arrays of constants, and of arguments, that a function begins with: where an index that a run knows looks up.

    for v in NEIGHBOURS[u]:                    table = np.array([0, 2, 3])
        s += w[v]                  becomes     table_2 = np.array([1, 2, 0])
                                               for v in table_2[table[u] : table[u + 1]]:
                                                   s += w[v]

While a function is lowered, parts of it perhaps twice, their names are such as no text has.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.optional import KindFound
from s2sad.ir.nodes import Assign, Const, Expr, Pack, Stmt, Var
from s2sad.ir.walk import bound, map_blocks, map_exprs, names_in, reads, statements, subexpressions, substitute


def is_given(lw: Lowerer, expr: Expr) -> bool:
    """Say whether a number is an argument of the function, which it binds nowhere as far as is known."""
    if not isinstance(expr, Var) or lw.outer is not None or lw.instance is None:
        return False
    return expr.name in lw.instance.given and (lw.instance.name, expr.name) not in lw.ctx.bound_arguments


def table(lw: Lowerer, array: Expr, numbers: list[Expr], node: Any) -> Var:
    """Return the name of an array of these constants and arguments."""
    shape = tuple(len(part.items) for part in subexpressions(array) if isinstance(part, Pack))
    key = (str(shape), *(repr(n.value) if isinstance(n, Const) else repr(n) for n in numbers))
    if key not in lw.tables:
        lw.tables[key] = Assign(Var(f"table {len(lw.tables)}", array.type), array, lw.span(node))
    return lw.tables[key].target


def with_tables(lw: Lowerer, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Return the body of a function behind the tables that it reads, under names of their own."""
    lw.names |= names_in(body)
    read = [made for made in lw.tables.values() if made.target.name in names_in(body)]
    again = {name for made in read for name in reads(made.value)}
    again &= {name for stmt in statements(body) for name in bound(stmt)}
    if again and lw.instance is not None:
        lw.ctx.bound_arguments.update((lw.instance.name, name) for name in again)
        raise KindFound  # a table of what is bound again is made where it is read
    begun = [replace(made, target=replace(made.target, name=lw.fresh("table"))) for made in read]
    named: dict[str, Expr] = {old.target.name: new.target for old, new in zip(read, begun, strict=True)}

    def block(inner: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(map_blocks(map_exprs(stmt, lambda expr: substitute(expr, named)), block) for stmt in inner)

    return (*begun, *block(body)) if read else body
