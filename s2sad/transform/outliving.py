"""Names for an array that are bound in a branch or a loop and used behind it: the array's own name stands for them.

`while True: ...; if done: result = out; break`, then `return result`. The adjoint of such a name is that of the
array, and the reverse sweep needs it before it comes to the block that binds the name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from s2sad.ir.nodes import Append, Assign, Const, Expr, For, Function, Index, Slice, Stmt, Swap, Var, While
from s2sad.ir.types import Array, ListOf
from s2sad.ir.walk import blocks_of, bound, exprs_of, map_blocks, map_children, map_exprs, reads, root_of, statements


def with_places_for_names(fn: Function) -> Function:
    """Return `fn` in which a name that outlives its block is replaced by the place that it stands for."""
    while True:
        found = _outliving(fn)
        if found is None:
            return fn
        fn = replace(fn, body=_without(fn.body, found))


def _outliving(fn: Function) -> Assign | None:
    defs: dict[str, list[Stmt]] = {}
    users: dict[str, set[int]] = {}
    for stmt in statements(fn.body):
        for name in bound(stmt):
            defs.setdefault(name, []).append(stmt)
        for name in {n for expr in exprs_of(stmt) for n in reads(expr)}:
            users.setdefault(name, set()).add(id(stmt))
    repeated = {
        name for loop in statements(fn.body) if isinstance(loop, For | While)
        for stmt in statements(loop.body) for name in bound(stmt)
    }  # fmt: skip
    params = {p.name for p in fn.params}

    def steady(name: str) -> bool:
        made = defs.get(name, [])
        return not made if name in params else len(made) == 1 and not isinstance(made[0], Swap) and name not in repeated

    def scan(body: tuple[Stmt, ...]) -> Assign | None:
        here = {id(stmt) for stmt in statements(body)}
        for stmt in body:
            if isinstance(stmt, Assign) and isinstance(stmt.target.type, Array | ListOf) and _is_fixed(stmt.value):
                name, root = stmt.target.name, root_of(stmt.value)
                single = len(defs[name]) == 1 and name not in params and not users.get(name, set()) <= here
                if single and root is not None and steady(root.name):
                    return stmt
            for block in blocks_of(stmt):
                found = scan(block)
                if found is not None:
                    return found
        return None

    return scan(fn.body)


def _is_fixed(value: Expr) -> bool:
    """Say whether an expression is an array, or a view of it whose place is constant."""
    match value:
        case Var():
            return True
        case Index(base, index):
            parts = [p for item in index for p in _bounds(item)]
            return isinstance(value.type, Array) and _is_fixed(base) and all(isinstance(p, Const) for p in parts)
        case _:
            return False


def _bounds(item: Any) -> list[Any]:
    return [p for p in (item.lower, item.upper, item.step) if p is not None] if isinstance(item, Slice) else [item]


def _without(body: tuple[Stmt, ...], binding: Assign) -> tuple[Stmt, ...]:
    name, place = binding.target.name, binding.value

    def expr(old: Any) -> Any:
        return place if isinstance(old, Var) and old.name == name else map_children(old, expr)

    def stmt(old: Stmt) -> Stmt:
        new = map_exprs(old, expr)
        if isinstance(new, Append) and new.list.name == name and isinstance(place, Var):
            new = replace(new, list=place)
        return map_blocks(new, lambda inner: _block(inner))

    def _block(inner: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(stmt(s) for s in inner if s is not binding)

    return _block(body)
