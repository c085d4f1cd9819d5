"""What a loop does as a whole: counters that can be taken back, and arrays that it fills."""

from __future__ import annotations

from s2sad.ir import ops
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    Break,
    Const,
    Continue,
    Effect,
    Expr,
    For,
    Index,
    Raise,
    Return,
    Slice,
    Stmt,
    Store,
    Var,
    While,
)
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import statements


def affine(expr: Expr | Slice) -> tuple[str | None, int] | None:
    """Read an index as `name + offset` (name None: a constant), or None."""
    import operator

    match expr:
        case Const(int() as value):
            return None, value
        case Var(name):
            return name, 0
        case Apply(fn, (Var(name), Const(int() as value))) if fn is operator.add:
            return name, value
        case Apply(fn, (Const(int() as value), Var(name))) if fn is operator.add:
            return name, value
        case Apply(fn, (Var(name), Const(int() as value))) if fn is operator.sub:
            return name, -value
        case _:
            return None


def popped_from(stmt: Stmt) -> Var | None:
    """Return the list that a statement takes its last item from."""
    value = stmt.value if isinstance(stmt, Assign | Effect) else None
    if isinstance(value, Apply) and value.fn is ops.pop and isinstance(value.args[0], Var):
        return value.args[0]
    return None


def makes_list(stmt: Stmt) -> bool:
    """Say whether a statement makes an empty list."""
    return isinstance(stmt, Assign) and isinstance(stmt.value, Apply) and stmt.value.fn is ops.new_list


def changes_length(stmt: Stmt) -> bool:
    """Say whether a statement makes a list longer or shorter."""
    return isinstance(stmt, Append) or popped_from(stmt) is not None


def taken_back(stmt: Stmt) -> Assign | None:
    """Return the statement that undoes a change of sign, or the counting up or down of an integer; or None."""
    import operator

    if not isinstance(stmt, Assign) or not isinstance(stmt.target.type, Scalar):
        return None
    match stmt.value:
        case Apply(fn, (Var(name),)) if fn is operator.neg and name == stmt.target.name:
            return stmt
        case Apply(fn, (Var(name), Const(int() as step))) if fn in (operator.add, operator.sub):
            if name != stmt.target.name or isinstance(step, bool) or stmt.target.type.dtype != "int64":
                return None
            inverse = operator.sub if fn is operator.add else operator.add
            value = Apply(inverse, stmt.value.args, Scalar("int64"))  # type: ignore[union-attr]
            return Assign(stmt.target, value, stmt.span)
        case _:
            return None


def is_whole(store: Store) -> bool:
    """Say whether a store replaces every element of an array."""
    if store.op:
        return False
    if isinstance(store.place, Var):
        return True
    whole = Slice(None, None, None)
    return (
        isinstance(store.place, Index) and isinstance(store.place.base, Var)
        and all(item == whole for item in store.place.index)
    )  # fmt: skip


def filled_by(loop: For | While) -> list[str]:
    """Return the arrays of which a loop replaces every element, whatever it does beside."""
    if not isinstance(loop, For) or any(isinstance(s, Break | Continue | Return | Raise) for s in statements((loop,))):
        return []
    return [name for name, axes, kind in _filling(loop, {}) if axes == set(range(len(kind.dims)))]


def _filling(loop: For, loops: dict[str, For]) -> list[tuple[str, set[int], Array]]:
    loops = {**loops, loop.var.name: loop}
    found: list[tuple[str, set[int], Array]] = []
    for stmt in loop.body:
        if isinstance(stmt, For):
            found += _filling(stmt, loops)
        if not (isinstance(stmt, Store) and stmt.op == "" and isinstance(stmt.place, Index)):
            continue
        base = stmt.place.base
        if not isinstance(base, Var) or not isinstance(base.type, Array):
            continue
        if len(stmt.place.index) != len(base.type.dims):
            continue
        names = [item.name for item in stmt.place.index if isinstance(item, Var)]
        if len(set(names)) != len(names):
            continue
        if not all(inner.var.name in names or _surely_runs(inner) for inner in loops.values()):
            continue
        axes = {
            axis for axis, item in enumerate(stmt.place.index)
            if isinstance(item, Var) and item.name in loops and _runs_over(loops[item.name], base, axis)
        }  # fmt: skip
        found.append((base.name, axes, base.type))
    return found


def _surely_runs(loop: For) -> bool:
    match loop.start, loop.stop, loop.step:
        case Const(int() as start), Const(int() as stop), Const(int() as step):
            return len(range(start, stop, step)) > 0
        case _:
            return False


def _runs_over(loop: For, array: Var, axis: int) -> bool:
    """Say whether a loop counts through all the indices of an axis."""
    if not (isinstance(loop.start, Const) and loop.start.value == 0):
        return False
    if not (isinstance(loop.step, Const) and loop.step.value == 1):
        return False
    assert isinstance(array.type, Array)
    length = array.type.dims[axis]
    stop = loop.stop
    if isinstance(stop, Apply) and stop.fn is ops.dim and stop.args[0] == array:
        return isinstance(stop.args[1], Const) and stop.args[1].value == axis
    return isinstance(stop.type, Scalar) and stop.type.value is not None and stop.type.value == length
