"""Target "cpu": an array that every turn of a loop makes anew is made once, before the loop.

    for i in range(n):                        d = np.empty(x.shape[1])
        d = np.empty(x.shape[1])     becomes  for i in range(n):
        for k in range(d.shape[0]):               for k in range(d.shape[0]):
            d[k] = x[i, k] - m[k]                     d[k] = x[i, k] - m[k]

To make one costs as much as the arithmetic of some dozens of elements. Needs: no turn reads what another left, the
lengths are the same in every turn, and nothing keeps the array, or a part of it, from one turn to the next.
"""

from __future__ import annotations

import builtins
import operator
from collections import Counter
from dataclasses import replace

import numpy as np

from s2sad.analysis.bounds import Bounds, least_of, lower_bounds
from s2sad.analysis.facts import Facts, resized_by, written_by
from s2sad.analysis.liveness import Liveness
from s2sad.analysis.sharing import Groups
from s2sad.emit.kept_zeros import with_zeros_kept
from s2sad.emit.lanes import EVERY, dtype_of, sizes_in
from s2sad.errors import Span
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal, pack
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assert,
    Assign,
    CallStmt,
    Const,
    Effect,
    Expr,
    For,
    Function,
    If,
    Index,
    Pack,
    Stmt,
    Store,
    Var,
    While,
)
from s2sad.ir.shapes import BLANK, LIKE, refused_if
from s2sad.ir.types import Array, Dim, ListOf, Scalar, Struct
from s2sad.ir.walk import bound, exprs_of, map_blocks, names_in, reads, root_of, statements, subexpressions
from s2sad.transform.naming import Namer
from s2sad.transform.stepping import forwards

_ZEROS = {"f": literal(0.0), "c": literal(0.0), "i": literal(0), "b": literal(False)}
_ARITHMETIC = frozenset({
    ops.dim, ops.size, builtins.len, builtins.max, builtins.min,
    operator.add, operator.sub, operator.mul, operator.floordiv,
})  # fmt: skip
_MOST = 16  # numbers of a list that are stored one by one
_NEGATIVE = "negative dimensions are not allowed"


def made_once(fn: Function, facts: Facts) -> Function:
    """Return `fn` with the arrays that its loops make in every turn made before them."""
    if not any(creation_in(s) or filled_in(s) for s in statements(fn.body)):
        return fn
    work = _Workspaces(fn, facts)
    return replace(fn, body=work.block(fn.body))


class _Workspaces:
    def __init__(self, fn: Function, facts: Facts) -> None:
        self.fn, self.facts = fn, facts
        self.namer = Namer({p.name for p in fn.params} | names_in(fn.body))
        self.live = Liveness(fn.body)
        self.least = lower_bounds(fn)
        rebound = {name for s in statements(fn.body) for name in bound(s)}
        self.given = [Var(p.name, p.type) for p in fn.params if isinstance(p.type, Array) and p.name not in rebound]

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Return a block with the arrays of its loops before them: those of inner loops first."""
        made: list[Stmt] = []
        for stmt in body:
            inside = map_blocks(stmt, self.block)
            if isinstance(inside, For | While):
                assert isinstance(stmt, For | While)
                made += self._loop(inside, stmt)
            else:
                made.append(inside)
        return tuple(made)

    def _loop(self, loop: For | While, was: For | While) -> list[Stmt]:
        """Return a loop with its arrays before it. `was`: the loop as it was when liveness was found."""
        before: list[Stmt] = []
        kept: list[Stmt] = []
        inside = Counter(name for s in statements((loop,)) for name in _changed_by(s, self.facts))
        groups = Groups(replace(self.fn, body=(loop,)), self.facts)
        shared = {groups.find(name) for name in groups.parent}
        late = self.live.before_loop_body(was) | self.live.after.get(id(was), frozenset())
        rest = loop.body
        while rest:
            stmt, *_ = rest
            rest = rest[1:]
            found = creation_in(stmt) or filled_in(stmt)
            name = found[0].name if found is not None else ""
            moved = None
            if found is not None and inside[name] == 1 and name not in late and groups.find(name) not in shared:
                moved = self._moved(*found, loop, inside, stmt.span)
            if moved is None:
                kept.append(stmt)
                continue
            del inside[name]
            made, filling = moved
            if found is not None and _is_zeros(found[1]):
                setting = with_zeros_kept(name, rest, inside, self.facts, self.least)
                if setting is not None:
                    rest, made = setting, [_of_zeros(s, name) for s in made]
                    filling = [s for s in filling if not isinstance(s, Store)]
            before += made
            kept += filling
        return [*before, replace(loop, body=tuple(kept))]

    def _moved(
        self, target: Var, value: Apply, kind: Array, loop: For | While, inside: Counter[str], span: Span
    ) -> tuple[list[Stmt], list[Stmt]] | None:
        """Return what makes an array before the loop, and what is left of making it in every turn."""
        if may_be_kept(target, loop.body):
            return None
        if value.fn is np.array:
            return self._stored(target, value, loop, span)
        if value.fn is np.copy:
            filling = copying(target, value.args[0], self.namer, span)
            value = replace(value, fn=np.empty_like)
            moved = self._moved(target, value, kind, loop, inside, span)
            return None if moved is None else (moved[0], [*moved[1], filling])
        filled: list[Stmt] = []
        if _is_zeros(value):
            whole = Index(target, tuple(EVERY for _ in kind.dims), kind)
            filled = [Store(whole, "", _ZEROS[np.dtype(kind.dtype).kind], span)]
        if value.fn in LIKE and not reads(value) & inside.keys():
            return [Assign(target, Apply(np.empty_like, value.args, kind, value.static), span)], filled
        sizes = self._sizes(value, kind, inside)
        if sizes is None or kind.layout != "C":
            return None
        possible = self._in_a_turn(loop, inside)
        demands: list[Stmt] = []
        for at, size in enumerate(sizes):
            if not is_natural(size, possible):
                negative = Apply(operator.lt, (size, literal(0)), Scalar("bool", weak=True))
                demands.append(refused_if(negative, span, _NEGATIVE))
            if not is_natural(size, self.least):
                sizes[at] = build(builtins.max, size, literal(0))
        shape = sizes[0] if len(sizes) == 1 else pack("tuple", sizes)
        made = Apply(np.empty, (shape,), kind, dtype_of(kind))
        return [Assign(target, made, span)], [*demands, *filled]

    def _stored(self, target: Var, value: Apply, loop: For | While, span: Span) -> tuple[list[Stmt], list[Stmt]]:
        """Return the same of a list of numbers: those that are always the same are set before the loop."""
        assert isinstance(target.type, Array)
        sizes: list[Expr] = [literal(dim) for dim in target.type.dims]
        stores = [Store(replace(place, base=target), "", item, span) for place, item in numbers_of(value)]
        changed = any(target.name in written_by(stmt, self.facts) for stmt in statements(loop.body))
        once = [store for store in stores if isinstance(store.value, Const) and not changed]
        zero = [store for store in once if repr(getattr(store.value, "value", None)) in ("0", "0.0")]
        made = build(np.zeros if zero else np.empty, sizes[0] if len(sizes) == 1 else pack("tuple", sizes))
        others = [store for store in once if store not in zero]
        return [Assign(target, made, span), *others], [store for store in stores if store not in once]

    def _in_a_turn(self, loop: For | While, inside: Counter[str]) -> dict[str, int]:
        """Return what whole numbers do not fall below in a turn: a loop that counts to `n` has turns only if it can."""
        ahead = forwards(loop) if isinstance(loop, For) else None
        ahead = ahead or (loop if isinstance(loop, For) else None)
        if ahead is None or not isinstance(ahead.stop, Var) or inside[ahead.stop.name]:
            return self.least
        first = least_of(ahead.start, self.least)
        if first is None or not isinstance(ahead.step, Const) or ahead.step.value <= 0:
            return self.least
        name = ahead.stop.name
        return {**self.least, name: max(self.least.get(name, first + 1), first + 1)}

    def _sizes(self, value: Apply, kind: Array, inside: Counter[str]) -> list[Expr] | None:
        """Return the lengths of an array in terms of what a loop does not change."""
        axes = range(len(kind.dims))
        size = value.args[0]
        given = [build(ops.dim, size, literal(axis)) for axis in axes] if value.fn in LIKE else sizes_in(size)
        if len(given) != len(axes):
            return None
        found = [self._length(expr, dim, inside) for expr, dim in zip(given, kind.dims, strict=True)]
        return [expr for expr in found if expr is not None] if None not in found else None

    def _length(self, size: Expr, dim: Dim, inside: Counter[str]) -> Expr | None:
        """Return one length as it is written, or as that of a parameter which is as long."""
        if isinstance(dim, int):
            return literal(dim)
        if not reads(size) & inside.keys() and is_arithmetic(size):
            return size
        for param in self.given:
            assert isinstance(param.type, Array)
            if dim in param.type.dims and not dim.minus:
                return build(ops.dim, param, literal(param.type.dims.index(dim)))
        return None


def _is_zeros(value: Apply) -> bool:
    return value.fn in (np.zeros, np.zeros_like)


def _of_zeros(stmt: Stmt, name: str) -> Stmt:
    """Return the making of an array, of zeros now."""
    if not isinstance(stmt, Assign) or stmt.target.name != name or not isinstance(stmt.value, Apply):
        return stmt
    fn = {np.empty: np.zeros, np.empty_like: np.zeros_like}[stmt.value.fn]
    return replace(stmt, value=replace(stmt.value, fn=fn))


def filled_in(stmt: Stmt) -> tuple[Var, Apply, Array] | None:
    """Return the name, the call and the type, if a statement makes a list of numbers an array, or copies one."""
    match stmt:
        case Assign(target, Apply(fn, (Var(source), *_), Array() as kind) as value) if fn is np.copy:
            of_rows = kind.layout == "C" and value.args[0].type == kind
            return (target, value, kind) if kind.dims and source != target.name and of_rows else None
        case Assign(target, Apply(_, _, Array() as kind) as value) if numbers_of(value):
            return (target, value, kind) if target.name not in reads(value) else None
        case _:
            return None


def copying(target: Var, source: Expr, namer: Namer, span: Span) -> Stmt:
    """Return the loops that copy one array into another."""
    assert isinstance(source.type, Array)
    axes = range(len(source.type.dims))
    index = tuple(Var(namer.fresh("ijklmn"[axis]), Scalar("int64")) for axis in axes)
    kind = Scalar(source.type.dtype)
    made: Stmt = Store(Index(target, index, kind), "", Index(source, index, kind), span)
    for axis in reversed(axes):
        made = For(index[axis], literal(0), build(ops.dim, source, literal(axis)), literal(1), (made,), span)
    return made


def creation_in(stmt: Stmt) -> tuple[Var, Apply, Array] | None:
    """Return the name, the call and the type, if a statement makes an array that is empty or zero."""
    match stmt:
        case Assign(target, Apply(fn, (size, *_), Array() as kind) as value) if fn in BLANK:
            fits = kind.dims != () and np.dtype(kind.dtype).kind in _ZEROS and target.name not in reads(size)
            return (target, value, kind) if fits else None
        case _:
            return None


def _changed_by(stmt: Stmt, facts: Facts) -> list[str]:
    """Return what a statement binds, a number that it changes in place, and lists that it makes longer or shorter."""
    counted = [stmt.place.name] if isinstance(stmt, Store) and isinstance(stmt.place, Var) else []
    return [*bound(stmt), *counted, *resized_by(stmt, facts)]


def numbers_of(value: Expr) -> list[tuple[Index, Expr]]:
    """Return the numbers of `np.array([[a, b], [c, d]])` and their places in it, if they are few."""
    match value:
        case Apply(fn, (Pack("list") as display,), Array("float64", dims), ()) if fn is np.array:
            every = np.empty([dim for dim in dims if isinstance(dim, int)], object)
        case _:
            return []
    if every.ndim != len(dims) or not 0 < every.size <= _MOST:
        return []
    found: list[tuple[Index, Expr]] = []
    whole = Var("", value.type)
    for at in np.ndindex(every.shape):
        item: Expr = display
        for k in at:
            if not isinstance(item, Pack) or len(item.items) <= k:
                return []
            item = item.items[k]
        if not isinstance(item.type, Scalar) or np.dtype(item.type.dtype).kind not in "fi":
            return []
        found.append((Index(whole, tuple(literal(k) for k in at), Scalar("float64")), item))
    return found


def is_arithmetic(size: Expr) -> bool:
    """Say whether a length is computed from whole numbers and lengths of arrays, which stay what they are."""
    return all(
        isinstance(part, Const | Var) or (isinstance(part, Apply) and part.fn in _ARITHMETIC)
        for part in subexpressions(size)
    ) and not any(isinstance(part.type, ListOf) for part in subexpressions(size) if isinstance(part, Var))


def is_natural(size: Expr, bounds: Bounds) -> bool:
    """Say whether a length is surely not negative."""
    least = least_of(size, bounds)
    return least is not None and least >= 0


def may_be_kept(array: Var, body: tuple[Stmt, ...]) -> bool:
    """Say whether a statement may put an array itself, not its elements, where it outlives the turn.

    What has another name for it, or for a part of it, is known already.
    """
    for stmt in statements(body):
        if not any(array.name in reads(expr) for expr in exprs_of(stmt)):
            continue
        match stmt:
            case Store(place, _, value):
                root = root_of(place)
                if root is None or not isinstance(root.type, Array) or isinstance(value.type, ListOf | Struct):
                    return True
            case Assign(target):
                if not isinstance(target.type, Array | Scalar):
                    return True
            case CallStmt(_, _, args):
                if any(isinstance(a.type, ListOf) and not isinstance(a.type.item, Scalar) for a in args):
                    return True
            case Append(_, value):
                if not isinstance(value.type, Scalar):
                    return True
            case If() | While() | For() | Assert() | Effect():
                pass
            case _:
                return True
    return False
