"""Left to right: what an operand reads is what stands there when its turn comes.

A call that writes, a walrus, a `pop()` become statements in front of the expression that they stand in. What an
operand further left has read by then, and they change, is given a name first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from s2sad.frontend.environments import Environment, seen
from s2sad.frontend.joins import same_env
from s2sad.frontend.lowerer import Context, Lowerer
from s2sad.frontend.values import StructV, V, Value, leaves_of
from s2sad.ir import ops
from s2sad.ir.nodes import Append, Apply, Assign, CallStmt, Const, Expr, Raise, Stmt, Store, Swap, Var
from s2sad.ir.types import Array, ListOf
from s2sad.ir.views import view_base
from s2sad.ir.walk import bound, exprs_of, reads, root_of, statements, subexpressions


class Order:
    """The operands of one expression, lowered one after the other."""

    def __init__(self, lw: Lowerer) -> None:
        """Begin with none."""
        self.lw = lw
        self.values: list[Value] = []

    def lower(self, node: Any) -> None:
        """Lower the next operand."""
        from s2sad.frontend.expressions import lower_expr

        self.add(lambda: lower_expr(self.lw, node), node)

    def add(self, lower: Any, node: Any) -> None:
        """Take the next operand, which `lower()` gives."""
        block, start = self.lw.block, len(self.lw.block)
        value = lower()
        if len(block) > start:
            self.values = [settled(self.lw, given, start, node, block) for given in self.values]
        self.values.append(value)


def in_order(lw: Lowerer, nodes: list[Any]) -> list[Value]:
    """Lower operands from left to right."""
    order = Order(lw)
    for node in nodes:
        order.lower(node)
    return order.values


def settled(lw: Lowerer, value: Value, start: int, node: Any, block: list[Stmt] | None = None) -> Value:
    """Return a value as it was before the statements from `start` on, which may change what it reads."""
    block = lw.block if block is None else block
    since = block[start:]
    match value:
        case StructV(_, _, items) if since:
            kept = tuple(settled(lw, item, start, node, block) for item in items)
            return value if value.cell is not None else replace(value, items=kept)
        case V(expr) if since and not isinstance(expr, Const) and _changes(lw.ctx, since, expr):
            name = Var(lw.fresh(expr.name if isinstance(expr, Var) else "before"), expr.type)
            block.insert(start, Assign(name, expr, lw.span(node)))
            return V(name)
        case _:
            return value


def does_more(ctx: Context, since: list[Stmt]) -> bool:
    """Say whether statements do more than compute: they write into what is not their own, or may raise."""
    every = list(statements(tuple(since)))
    own = _made_in(every)
    return any(isinstance(stmt, Raise) or _writes(ctx, stmt, own) for stmt in every)


def acts(lw: Lowerer, since: list[Stmt], before: Environment) -> bool:
    """Say whether statements do more than compute, or give something that had a name before another value."""
    if does_more(lw.ctx, since) or not same_env(seen(lw), before):
        return True
    held = {name for value in before.values() for leaf in leaves_of(value) for name in reads(leaf)} if since else set()
    return any(held & set(bound(stmt)) for stmt in statements(tuple(since)))


def _changes(ctx: Context, since: list[Stmt], expr: Expr) -> bool:
    """Say whether statements bind a name of an expression, or write where it read elements."""
    used = reads(expr)
    every = list(statements(tuple(s for s in since if hasattr(s, "span"))))
    if any(used & set(bound(stmt)) for stmt in every):
        return True
    own = _made_in(every)
    return _reads_elements(expr) and any(_writes(ctx, stmt, own) for stmt in every)


def _made_in(body: list[Stmt]) -> set[str]:
    """Return the names that only ever mean arrays and lists made in these statements."""
    made: set[str] = set()
    other: set[str] = set()
    for stmt in body:
        fresh = isinstance(stmt, Assign) and view_base(stmt.value) is None and not isinstance(stmt.value, Var)
        (made if fresh else other).update(bound(stmt))
    return made - other


def _reads_elements(expr: Expr) -> bool:
    if isinstance(expr, Var) or (isinstance(expr.type, Array | ListOf) and view_base(expr) is not None):
        return False  # the array itself, or a view of it: what is written into it is seen
    return any(isinstance(p, Var) and isinstance(p.type, Array | ListOf) for p in subexpressions(expr))


def _is_own(place: Expr, own: set[str]) -> bool:
    """Say whether a place lies in an array of these names; what a list holds may be anybody's."""
    root = root_of(place)
    return root is not None and root.name in own and isinstance(root.type, Array)


def _writes(ctx: Context, stmt: Stmt, own: set[str]) -> bool:
    """Say whether a statement may write into anything but what is the block's own."""
    match stmt:
        case Store(place):
            return not _is_own(place, own) and (isinstance(place.type, Array) or not isinstance(place, Var))
        case Append(items):
            return items.name not in own
        case Swap():
            return True
        case CallStmt(_, callee) if stmt.fn is None:
            return callee_writes(ctx, callee)
        case _:
            return any(isinstance(p, Apply) and p.fn is ops.pop for e in exprs_of(stmt) for p in subexpressions(e))


def callee_writes(ctx: Context, name: str, within: frozenset[str] = frozenset()) -> bool:
    """Say whether a function may write into what it is given; one that is not finished may."""
    fn = next((i.function for i in ctx.instances.values() if i.name == name), None)
    if fn is None:
        return name not in within
    own = _made_in(list(statements(fn.body)))
    for stmt in statements(fn.body):
        match stmt:
            case Store(place) if isinstance(place.type, Array) or not isinstance(place, Var):
                if not _is_own(place, own):
                    return True
            case Append(items) if items.name not in own:
                return True
            case CallStmt(_, callee) if stmt.fn is None and callee not in within:
                if callee_writes(ctx, callee, within | {name}):
                    return True
            case _:
                pass
    return False
