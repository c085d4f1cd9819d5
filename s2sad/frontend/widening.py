"""Arrays that go on in a wider dtype than they begin in.

    P = P0                          # float32
    for _ in range(steps):
        P = A @ P @ A.T + Q         # float64, for Q is

NumPy gives the name an array of another dtype in the first turn. Here it means one dtype where paths meet: it is
converted before the loop, or at the end of the branch that leaves it narrow. The numbers are the same, and what the
first turn makes of them is as exact as in the turns behind it. Needs: an array that nothing writes into, for
an array of whole numbers cuts what is written, and the converted one is another array.
"""

from __future__ import annotations

from typing import Any

import gast
import numpy as np

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.optional import KindFound
from s2sad.frontend.values import Poison, V, Value
from s2sad.ir import ops
from s2sad.ir.nodes import Append, Apply, Assign, CallStmt, Expr, Index, Stmt, Store, Swap, Var
from s2sad.ir.types import Array, ListOf
from s2sad.ir.views import view_base
from s2sad.ir.walk import root_of, statements

_LOSING_NOTHING = ("int64", "float32", "float64", "complex64")
"""Dtypes in which sums are what they are in a wider one: small whole numbers wrap around, truths do not add."""


def wider(a: Any, b: Any) -> str | None:
    """Return the dtype of the wider of two types of arrays, where one of them holds all that the other can."""
    if not (isinstance(a, Array) and isinstance(b, Array) and len(a.dims) == len(b.dims)):
        return None
    found = np.result_type(np.dtype(a.dtype), np.dtype(b.dtype)).name
    narrow = b.dtype if found == a.dtype else a.dtype
    fine = found in (a.dtype, b.dtype) and np.dtype(found).kind in "fc" and narrow in _LOSING_NOTHING
    return found if fine else None


def ask_for(lw: Lowerer, name: str, torn: Poison) -> None:
    """Lower the function again with a name in its wider dtype, where that has not been tried."""
    key = id(lw.source.node), name
    if torn.wide is not None and key not in lw.ctx.widened and name not in _written(lw.source.node):
        lw.ctx.widened[key] = torn.wide
        raise KindFound


def way_out(name: str, dtype: str) -> str:
    """Say how the user gives a name one dtype."""
    return f"Make it one where it begins: `{name} = {name}.astype(np.{dtype})`."


def before_loop(lw: Lowerer, node: Any) -> None:
    """Convert, before a loop, what its turns go on with in a wider dtype."""
    for name in _bound_in(node):
        _widen(lw, name, node)


def at_the_end(lw: Lowerer, node: Any, block: list[Stmt], env: dict[str, Value]) -> None:
    """Convert, at the end of a branch, what the other leaves in a wider dtype."""
    if lw.ctx.widened:
        outer, env_outside = lw.block, lw.env
        lw.block, lw.env = block, env
        for name in _bound_in(node):
            _widen(lw, name, node)
        lw.block, lw.env = outer, env_outside


def check_not_written(lw: Lowerer, body: tuple[Stmt, ...]) -> None:
    """Lower again without converting what is written into by any name: one of them may mean the narrow array."""
    fn = id(lw.source.node)
    converted = [name for (key, name), dtype in lw.ctx.widened.items() if key == fn and dtype]
    if not converted:
        return
    links = [link for stmt in statements(body) for link in _linked(stmt)]
    places = [place for stmt in statements(body) for place in written_places(lw, stmt)]
    written = {root.name for place in places if (root := root_of(place)) is not None}
    for name in converted:
        if _reached({lw.ir_name(name)}, links) & written:
            lw.ctx.widened[fn, name] = None
            raise KindFound


def _linked(stmt: Stmt) -> list[tuple[str, str]]:
    """Return pairs of names that may mean one memory by a statement: views, results of helpers, items of lists."""
    match stmt:
        case Assign(target, value):
            base = view_base(value)
            return [] if base is None else [(target.name, base.name)]
        case CallStmt(targets, _, args):
            roots = [root.name for arg in args if (root := root_of(arg)) is not None]
            return [(target.name, root) for target in targets for root in roots]
        case Append(items, value) | Store(Index(Var(type=ListOf()) as items), "", value):
            root = root_of(value)
            return [] if root is None else [(items.name, root.name)]
        case _:
            return []


def _reached(names: set[str], links: list[tuple[str, str]]) -> set[str]:
    """Return the names that links lead to, in either direction."""
    while True:
        more = {name for link in links if names & set(link) for name in link} - names
        if not more:
            return names
        names |= more


def _widen(lw: Lowerer, name: str, node: Any) -> None:
    dtype, held = lw.ctx.widened.get((id(lw.source.node), name)), lw.env.get(name)
    if dtype is None or not isinstance(held, V) or not isinstance(held.expr.type, Array):
        return
    kind = held.expr.type
    if kind.dtype != dtype:
        made = Array(dtype, kind.dims, kind.layout)
        lw.bind(name, V(Apply(ops.astype, (held.expr,), made, (("dtype", np.dtype(dtype).type),))), lw.span(node))


def written_places(lw: Lowerer, stmt: Stmt) -> list[Expr]:
    """Return the places that a statement writes into, itself or by what it calls."""
    if isinstance(stmt, Store):
        return [stmt.place]
    if isinstance(stmt, Swap):
        return [stmt.first, stmt.second]
    if isinstance(stmt, CallStmt) and lw.ctx.writes is not None:
        called = next((one for one in lw.ctx.instances.values() if one.name == stmt.callee), None)
        written = frozenset[int]() if called is None or called.function is None else lw.ctx.writes(lw.ctx, called)
        return [stmt.args[position] for position in written]
    return []


def _bound_in(node: Any) -> list[str]:
    """Return the names that statements bind, in the order of the text."""
    found = [n.id for n in gast.walk(node) if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Store)]
    return list(dict.fromkeys(found))


def _written(node: Any) -> set[str]:
    """Return the names of which a function's text says that what they mean is changed in place."""
    found: set[str] = set()
    for part in gast.walk(node):
        targets: list[Any] = []
        if isinstance(part, gast.AugAssign):
            targets = [part.target]
        elif isinstance(part, gast.Subscript) and isinstance(part.ctx, gast.Store):
            targets = [part.value]
        elif isinstance(part, gast.keyword) and part.arg == "out":
            targets = [part.value]
        for target in targets:
            while isinstance(target, gast.Subscript | gast.Attribute):
                target = target.value
            found |= {n.id for n in gast.walk(target) if isinstance(n, gast.Name)}
    return found
