"""What the compiled target needs that the text would not say by itself.

Numba lacks some of NumPy (`keepdims`, `mean(axis)`, …) and differs from it elsewhere: a float64
literal promotes float32, and overlapping slices are not buffered. For target "cpu" such places are
rewritten; for target "python" the text is NumPy's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.analysis.facts import Facts
from s2sad.analysis.sharing import Apart
from s2sad.frontend.infer import fresh_dim
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    CallStmt,
    Const,
    Effect,
    Expr,
    Function,
    Index,
    Slice,
    Stmt,
    Store,
    Swap,
    Var,
)
from s2sad.ir.types import Array, ListOf, Scalar, Static, is_cut_to, not_one, same_dim
from s2sad.ir.views import view_base
from s2sad.ir.walk import (
    bound,
    exprs_of,
    map_blocks,
    map_children,
    map_exprs,
    root_of,
    statements,
    subexpressions,
)
from s2sad.runtime.lists import empty_list

_BY_COLUMNS = (
    "numpy.linalg", "scipy.linalg", "s2sad.runtime.decompositions", "s2sad.runtime.linalg", "s2sad.runtime.equations",
)  # fmt: skip


def legalised(fn: Function, target: str, facts: Facts) -> Function:
    """Return `fn` with every expression in a form that `target` takes with NumPy's meaning."""
    if target != "cpu":
        return fn
    made = [s.target.name for s in statements(fn.body) if isinstance(s, Assign) and isinstance(s.target.type, ListOf)]
    filled = {s.list.name for s in statements(fn.body) if isinstance(s, Append) and made.count(s.list.name) == 1}
    filled -= _asked_before_filled(fn.body)
    body = tuple(_typed_empty(s, filled) for s in fn.body)
    places = _Places(Apart(fn, facts), fn, facts)
    made_legal = tuple(_stmt(s, places) for s in body)
    every = [stmt for one in facts.functions.values() for stmt in statements(one.body)]
    if any(_gives_columns(stmt) for stmt in every):
        if any(_asks_for_rows(stmt) for stmt in every):
            made_legal = _by_rows(made_legal)
        made_legal = tuple(_in_order(s) for s in made_legal)
    return replace(fn, body=made_legal)


def _gives_columns(stmt: Stmt) -> bool:
    """Say whether a statement calls linear algebra, whose matrices lie by columns in Numba and by rows in NumPy."""
    called = [stmt.fn] if isinstance(stmt, CallStmt) and stmt.fn is not None else []
    called += [part.fn for e in exprs_of(stmt) for part in subexpressions(e) if isinstance(part, Apply)]
    return any(_is_by_columns(fn) for fn in called)


def _is_by_columns(fn: Any) -> bool:
    return (getattr(fn, "__module__", "") or "").startswith(_BY_COLUMNS)


def _asks_for_rows(stmt: Stmt) -> bool:
    """Say whether a statement takes the elements of an array row by row, which is a view of what lies so alone."""
    parts = [part for e in exprs_of(stmt) for part in subexpressions(e)]
    return any(isinstance(part, Apply) and part.fn in (np.reshape, np.ravel) for part in parts)


def _by_rows(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Let what linear algebra gives lie by rows, as NumPy's does: what is written into a view of it is in it."""
    out: list[Stmt] = []
    for stmt in body:
        out.append(map_blocks(map_exprs(stmt, _laid_by_rows), _by_rows))
        if isinstance(stmt, CallStmt) and stmt.fn is not None and _is_by_columns(stmt.fn):
            matrices = [target for target in stmt.targets if _is_matrix(target)]
            out += [Assign(one, Apply(np.ascontiguousarray, (one,), one.type), stmt.span) for one in matrices]
    return tuple(out)


def _laid_by_rows(expr: Any) -> Any:
    if isinstance(expr, Apply) and expr.fn in (operator.matmul, np.dot, np.ascontiguousarray):
        direct = tuple(map_children(arg, _laid_by_rows) if _lies_by_columns(arg) else _laid_by_rows(arg)
                       for arg in expr.args)  # fmt: skip
        return replace(expr, args=direct)
    expr = map_children(expr, _laid_by_rows)
    return Apply(np.ascontiguousarray, (expr,), expr.type) if _lies_by_columns(expr) else expr


def _lies_by_columns(expr: Any) -> bool:
    return isinstance(expr, Apply) and _is_by_columns(expr.fn) and _is_matrix(expr)


def _is_matrix(expr: Any) -> bool:
    return isinstance(expr.type, Array) and len(expr.type.dims) > 1


def _in_order(stmt: Stmt) -> Stmt:
    """Let reshaping take the elements row by row, which Numba does of arrays alone that it knows to lie so."""
    made = map_exprs(stmt, _rows_first)
    return map_blocks(made, lambda body: tuple(_in_order(s) for s in body))


def _rows_first(expr: Any) -> Any:
    expr = map_children(expr, _rows_first)
    if not (isinstance(expr, Apply) and expr.fn is np.reshape):
        return expr
    base, *shape = expr.args
    if not isinstance(base.type, Array) or (isinstance(base, Apply) and base.fn is np.ascontiguousarray):
        return expr
    return replace(expr, args=(Apply(np.ascontiguousarray, (base,), base.type), *shape))


class _Places:
    """Which arrays may share memory when one of them is written into."""

    def __init__(self, apart: Apart, fn: Function, facts: Facts) -> None:
        self.may_meet = apart.may_meet_now
        self.values: dict[str, list[Expr]] = {}
        self.params = {p.name for p in fn.params}
        self.others = set[str]()
        for stmt in statements(fn.body):
            if isinstance(stmt, Assign):
                self.values.setdefault(stmt.target.name, []).append(stmt.value)
            elif isinstance(stmt, Swap):
                self.values.setdefault(stmt.first.name, []).append(stmt.second)
                self.values.setdefault(stmt.second.name, []).append(stmt.first)
            elif isinstance(stmt, CallStmt):  # results that share nothing with the arguments are arrays of their own
                shares = facts.target_shares(stmt)
                self.others.update(t.name for t, shared in zip(stmt.targets, shares, strict=True) if shared)
            else:
                self.others.update(bound(stmt))

    def row_or_apart(self, name: str, place: Expr) -> bool:
        """Say whether an array is surely a whole row of the one that `place` is a row of, or apart from it.

        Rows may be copied in any order: `tape[i] = y` where `y` is sometimes `tape[j]`.
        """
        if not isinstance(place, Index) or not isinstance(place.base, Var) or not _is_row(place):
            return False
        own = all(isinstance(v, Apply) and view_base(v) is None for v in self.values.get(place.base.name, (place,)))
        waiting, seen = [name], set[str]()
        while waiting:
            name = waiting.pop()
            seen.add(name)
            if name in self.others or name == place.base.name or (name in self.params and not own):
                return False
            for value in self.values.get(name, ()):
                if isinstance(value, Var):
                    waiting += {value.name} - seen
                elif isinstance(value, Index) and value.base == place.base and _is_row(value):
                    if len(value.index) != len(place.index):
                        return False
                elif (base := view_base(value)) is not None:
                    waiting += {base.name} - seen
                elif isinstance(value, Apply) and value.fn is ops.pop:
                    return False
        return True


def _is_row(place: Index) -> bool:
    return all(not isinstance(item, Slice) and isinstance(item.type, Scalar) for item in place.index)


def _asked_before_filled(body: tuple[Stmt, ...]) -> set[str]:
    """Return the lists of which the text asks the length before it appends: what goes in may depend on that."""
    filled: set[str] = set()
    asked: set[str] = set()
    for stmt in statements(body):
        for expr in exprs_of(stmt):
            for part in subexpressions(expr):
                if isinstance(part, Apply) and part.fn in (ops.length, len) and isinstance(part.args[0], Var):
                    asked |= {part.args[0].name} - filled
        if isinstance(stmt, Append):
            filled.add(stmt.list.name)
    return asked


def _typed_empty(stmt: Stmt, filled: set[str]) -> Stmt:
    """A list that stays empty in this function, or whose name gets another list, says what it would hold."""
    match stmt:
        case Assign(target, Apply(fn, (), ListOf(item))) if fn is ops.new_list and target.name not in filled:
            like = _like(item)
            return stmt if like is None else replace(stmt, value=Apply(empty_list, (like,), target.type))
        case _:
            return map_blocks(stmt, lambda body: tuple(_typed_empty(s, filled) for s in body))


def _like(kind: Any) -> Expr | None:
    from s2sad.frontend.values import pack

    if isinstance(kind, Array):
        shape: Expr = literal(0) if len(kind.dims) == 1 else pack("tuple", [literal(0)] * len(kind.dims))
        static = () if kind.dtype == "float64" else (("dtype", np.dtype(kind.dtype).type),)
        return Apply(np.zeros, (shape,), Array(kind.dtype, (0,) * len(kind.dims), "C"), static)
    if isinstance(kind, Scalar) and kind.dtype in ("bool", "int64", "float64", "complex128"):
        return literal({"b": False, "i": 0, "f": 0.0, "c": 0j}[np.dtype(kind.dtype).kind])
    return None


def _stmt(stmt: Stmt, places: _Places) -> Stmt:
    if isinstance(stmt, Store) and isinstance(stmt.place, Index) and _is_grid_mask(stmt.place):
        stmt = _masked_write(stmt, stmt.place)
    stmt = _lying_as_typed(stmt, map_exprs(stmt, _expr))
    if isinstance(stmt, CallStmt) and stmt.fn is not None:
        from s2sad.rules.legal_linalg import legal_call

        return legal_call(stmt)
    if isinstance(stmt, Store) and stmt.op == "@":  # Numba has no `@=`
        from s2sad.frontend.operators import build

        product = _expr(build(operator.matmul, stmt.place, stmt.value))
        whole = Index(stmt.place, (Slice(None, None, None),), stmt.place.type)
        stmt = replace(stmt, place=whole if stmt.place is root_of(stmt.place) else stmt.place, op="", value=product)
    if isinstance(stmt, Append):  # the arrays of a list lie alike
        kind = stmt.value.type
        if isinstance(kind, Array) and kind.layout != "C" and len(kind.dims) > 1 and view_base(stmt.value) is None:
            item = stmt.list.type.item if isinstance(stmt.list.type, ListOf) else None
            layout = "F" if isinstance(item, Array) and item.layout == "F" else "C"
            lying = np.asfortranarray if layout == "F" else np.ascontiguousarray
            stmt = replace(stmt, value=Apply(lying, (stmt.value,), replace(kind, layout=layout)))
    if isinstance(stmt, Store):
        stmt = _apart(stmt, places)
        scatter = _scatter(stmt)
        if scatter is not None:
            return scatter
    return map_blocks(stmt, lambda body: tuple(_stmt(s, places) for s in body))


def _lying_as_typed(stmt: Stmt, made: Stmt) -> Stmt:
    """Let a name hold an array that lies by rows where it is said to: a product of tensors may be one turned around."""
    if not (isinstance(stmt, Assign) and isinstance(made, Assign) and isinstance(made.value.type, Array)):
        return made
    said, kind = stmt.target.type, made.value.type
    turned = isinstance(stmt.value, Apply) and stmt.value.fn is np.einsum and kind.layout == "A"
    if not (turned and isinstance(said, Array) and said.layout == "C"):
        return made
    return replace(made, value=Apply(np.ascontiguousarray, (made.value,), replace(kind, layout="C")))


def _is_grid_mask(expr: Index) -> bool:
    """A mask of two or more dimensions, which Numba does not index with."""
    mask = expr.index[0] if len(expr.index) == 1 else None
    return (
        mask is not None and not isinstance(mask, Slice) and isinstance(mask.type, Array)
        and mask.type.dtype == "bool" and len(mask.type.dims) >= 2
        and isinstance(expr.base.type, Array) and len(expr.base.type.dims) == len(mask.type.dims)
    )  # fmt: skip


def _masked_write(stmt: Store, place: Index) -> Stmt:
    """`A[mask] = v` and `A[mask] += v` by a mask of two or more dimensions: a helper."""
    from s2sad.frontend.operators import BY_SYMBOL, build
    from s2sad.runtime.indexing import put_masked, put_masked_scalar

    mask = place.index[0]
    assert not isinstance(mask, Slice)
    value = build(BY_SYMBOL[stmt.op], place, stmt.value) if stmt.op else stmt.value
    fn = put_masked if isinstance(value.type, Array) else put_masked_scalar
    return Effect(Apply(fn, (place.base, mask, value), value.type), stmt.span)


def _scatter(stmt: Store) -> Stmt | None:
    """Adding by an index array, duplicates included: a helper, as Numba has no `np.add.at`."""
    from s2sad.frontend.operators import build
    from s2sad.runtime.indexing import add_at, add_at_each, add_at_pairs, add_at_scalar, add_at_scalar_pairs

    place = stmt.place
    if not (stmt.accumulate and isinstance(place, Index)):
        return None
    items = [i for i in place.index if not isinstance(i, Slice)]
    arrays = [i for i in items if isinstance(i.type, Array) and i.type.dtype != "bool"]
    if not arrays:
        return None
    value = stmt.value if stmt.op == "+" else build(operator.neg, stmt.value)
    spread = not isinstance(value.type, Array)
    fn = {1: add_at_scalar if spread else add_at, 2: add_at_scalar_pairs if spread else add_at_pairs}.get(len(arrays))
    ranks = [len(a.type.dims) for a in arrays if isinstance(a.type, Array)]
    plain = len(arrays) == len(place.index) and all(rank == 1 for rank in ranks)
    if fn is add_at and plain and not _row_by_row(place, value) and _as_long(place, value):
        fn = add_at_each
    elif fn is None or not plain or not (spread or _row_by_row(place, value)):
        added = _scatter_anywhere(place, value)
        return None if added is None else replace(added, span=stmt.span)
    return Effect(Apply(fn, (place.base, *arrays, value), value.type), stmt.span)


def _row_by_row(place: Index, value: Expr) -> bool:
    """Say whether an array has one part for each place: none of its axes is missing, and the first is not spread."""
    return (
        isinstance(place.type, Array) and isinstance(value.type, Array)
        and len(value.type.dims) == len(place.type.dims)
        and (same_dim(value.type.dims[0], place.type.dims[0]) or not_one(value.type.dims[0]))
    )  # fmt: skip


def _as_long(place: Index, value: Expr) -> bool:
    return (
        isinstance(place.type, Array) and isinstance(value.type, Array)
        and len(value.type.dims) == len(place.type.dims) == 1
        and is_cut_to(place.type.dims[0], value.type.dims[0])
    )  # fmt: skip


def _scatter_anywhere(place: Index, value: Expr) -> Effect | None:
    """Add through any index: the same index reads the places of the elements, counted through."""
    from s2sad.frontend.operators import build
    from s2sad.frontend.values import pack
    from s2sad.runtime.indexing import add_at_number, add_at_places

    base = place.base
    if not isinstance(base.type, Array) or not isinstance(place.type, Array):
        return None
    sizes = pack("tuple", [build(ops.dim, base, literal(axis)) for axis in range(len(base.type.dims))])
    counted = Apply(np.arange, (build(ops.size, base),), Array("int64", (fresh_dim(),), "C"))
    whole = Apply(np.reshape, (counted, sizes), Array("int64", base.type.dims, "C"))
    places = _expr(Index(whole, place.index, Array("int64", place.type.dims, "C")))
    fn = add_at_places if isinstance(value.type, Array) else add_at_number
    return Effect(Apply(fn, (base, places, value), value.type))


def _expr(expr: Any) -> Any:
    expr = map_children(expr, _expr)
    if isinstance(expr, Index) and _is_grid_mask(expr):
        from s2sad.runtime.indexing import take_masked

        return Apply(take_masked, (expr.base, expr.index[0]), expr.type)  # type: ignore[arg-type]
    if isinstance(expr, Index):
        return _with_places(expr)
    if not isinstance(expr, Apply):
        return expr
    gathered = _gathered(expr)
    if gathered is not None:
        return gathered
    if expr.fn is np.reshape:
        expr = replace(expr, args=(_reshapable(expr.args[0]), *expr.args[1:]))
    if expr.fn in (np.allclose, np.isclose):
        expr = _real_tolerances(expr)
    expr = _typed_constants(expr)
    return _helper(expr)


def _real_tolerances(expr: Apply) -> Apply:
    """`rtol=0` is a float to Numba only as `0.0`."""

    def real(value: Any) -> Any:
        return float(value) if isinstance(value, int) and not isinstance(value, bool) else value

    args = tuple(literal(real(a.value)) if isinstance(a, Const) else a for a in expr.args)
    return replace(expr, args=args, static=tuple((name, real(value)) for name, value in expr.static))


def _reshapable(expr: Expr) -> Expr:
    """Return what has the elements of `expr` in their order, and C order, as Numba reshapes nothing else."""
    while isinstance(expr, Apply) and expr.fn is np.expand_dims and isinstance(expr.args[0].type, Array):
        expr = expr.args[0]
    expr = _without_whole_axes(expr)
    transposed = isinstance(expr, Apply) and expr.fn is np.transpose  # of which Numba does not know the layout
    if not isinstance(expr.type, Array) or (expr.type.layout == "C" and not transposed):
        return expr
    return Apply(np.ascontiguousarray, (expr,), expr.type)


def _without_whole_axes(expr: Expr) -> Expr:
    """Return `x[1]` for `x[1, :, :]`, and `x` for `x[:, :]`, of which Numba does not know that they lie by rows."""
    if not isinstance(expr, Index) or any(isinstance(item, Const) and item.value is None for item in expr.index):
        return expr
    index = list(expr.index)
    while index and index[-1] == Slice(None, None, None):
        index.pop()
    return replace(expr, index=tuple(index)) if index else expr.base


def _with_places(expr: Index) -> Index:
    """A mask of several dimensions that does not stand alone: the places where it is true, an array per axis."""
    from s2sad.frontend.operators import build

    items: list[Expr | Slice] = []
    for item in expr.index:
        if isinstance(item, Slice) or not isinstance(item.type, Array) or item.type.dtype != "bool":
            items.append(item)
            continue
        if len(item.type.dims) < 2:
            items.append(item)
            continue
        places: Expr = Apply(np.flatnonzero, (item,), Array("int64", (fresh_dim(),), "C"))
        found: list[Expr] = []
        for axis in range(len(item.type.dims) - 1, 0, -1):
            size = build(ops.dim, item, literal(axis))
            found.insert(0, build(operator.mod, places, size))
            places = build(operator.floordiv, places, size)
        items += [places, *found]
    return expr if len(items) == len(expr.index) else replace(expr, index=tuple(items))


def _gathered(expr: Apply) -> Apply | None:
    """`np.array(items)` and `np.stack(items)` of a growing list: helpers, as Numba lacks both."""
    from s2sad.runtime.lists import gather_arrays, gather_numbers, gather_scalars, join_along, join_arrays

    if expr.fn is np.concatenate and isinstance(expr.args[0].type, ListOf):
        axis = dict(expr.static).get("axis", 0)
        return Apply(join_along, (expr.args[0], literal(axis)), expr.type) if axis else Apply(
            join_arrays, (expr.args[0],), expr.type)  # fmt: skip
    if expr.fn not in (np.array, np.stack) or not isinstance(expr.args[0].type, ListOf):
        return None
    if isinstance(item := expr.args[0].type.item, Array):
        whole = Apply(gather_arrays, (expr.args[0],), expr.type)
        wanted = getattr(expr.type, "dtype", item.dtype)
        if item.dtype == wanted:
            return whole
        whole = replace(whole, type=replace(expr.type, dtype=item.dtype))
        return Apply(np.ndarray.astype, (whole, Const(kind := np.dtype(wanted).type, Static(kind))), expr.type)
    dtype = np.dtype(getattr(expr.type, "dtype", "float64")).type
    if dtype is not np.float64:
        return Apply(gather_numbers, (expr.args[0], Const(dtype, Static(dtype))), expr.type)
    return Apply(gather_scalars, (expr.args[0],), expr.type)


def _helper(expr: Apply) -> Expr:
    from s2sad.rules.legal import legal

    return legal(expr)


def _typed_constants(expr: Apply) -> Apply:
    """A Python scalar beside float32 stays float32 in NumPy; Numba has to be told."""
    kind = expr.type
    if not isinstance(kind, Array | Scalar) or kind.dtype not in ("float32", "complex64"):
        return expr
    args = tuple(_narrow(arg) for arg in expr.args)
    return expr if args == expr.args else Apply(expr.fn, args, expr.type, expr.static)


def _narrow(arg: Expr) -> Expr:
    if not isinstance(arg.type, Scalar) or not arg.type.weak:
        return arg
    if arg.type.dtype == "float64":
        if isinstance(arg, Const):
            value = np.float32(arg.value)
            return Const(value, Scalar("float32"))
        return Apply(np.float32, (arg,), Scalar("float32"))
    return arg


def _apart(stmt: Store, places: _Places) -> Store:
    """`y[1:] += y[:-1]`: NumPy reads everything before it writes; a copy says so to Numba."""
    root = root_of(stmt.place)
    if root is None or not isinstance(stmt.place.type, Array):
        return stmt
    if isinstance(stmt.value, Var) and places.row_or_apart(stmt.value.name, stmt.place):
        return stmt
    copied = _copied(stmt.value, lambda name: places.may_meet(name, root.name), stmt.place)
    return stmt if copied is stmt.value else replace(stmt, value=copied)


def _copied(expr: Any, meets: Callable[[str], bool], place: Expr) -> Any:
    """Copy the views in a value that may share memory with the place written, but are not the very place."""
    if not isinstance(expr, Slice) and isinstance(expr.type, Array) and not _is_same(expr, place):
        base = view_base(expr)
        if base is not None and meets(base.name):
            return Apply(np.copy, (expr,), expr.type)
        if base is not None:
            return expr
    if _is_same(expr, place) or (isinstance(expr, Apply) and expr.fn is np.copy):
        return expr
    return map_children(expr, lambda child: _copied(child, meets, place))


def _is_same(expr: Any, place: Expr) -> bool:
    """Say whether a value is the very place, `y` in `y[:] = y + 1` included: what is read is written next."""
    if expr == place:
        return True
    whole = Slice(None, None, None)
    return isinstance(place, Index) and expr == place.base and all(item == whole for item in place.index)
