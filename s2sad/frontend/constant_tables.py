"""Arrays of constants that a function begins with: what an index that only a run knows is looked up in.

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
from s2sad.ir.nodes import Assign, Const, Expr, Stmt, Var
from s2sad.ir.walk import map_blocks, map_exprs, names_in, substitute


def table(lw: Lowerer, array: Expr, numbers: list[Const], node: Any) -> Var:
    """Return the name of an array of these constants."""
    key = tuple(repr(number.value) for number in numbers)
    if key not in lw.tables:
        lw.tables[key] = Assign(Var(f"table {len(lw.tables)}", array.type), array, lw.span(node))
    return lw.tables[key].target


def with_tables(lw: Lowerer, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Return the body of a function behind the tables that it reads, under names of their own."""
    lw.names |= names_in(body)
    read = [made for made in lw.tables.values() if made.target.name in names_in(body)]
    begun = [replace(made, target=replace(made.target, name=lw.fresh("table"))) for made in read]
    named: dict[str, Expr] = {old.target.name: new.target for old, new in zip(read, begun, strict=True)}

    def block(inner: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(map_blocks(map_exprs(stmt, lambda expr: substitute(expr, named)), block) for stmt in inner)

    return (*begun, *block(body)) if read else body
