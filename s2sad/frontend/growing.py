"""Lists that a function builds: made, appended to, and what their items are.

`r = [0] * n` that takes numbers with a fraction later holds such numbers from the start, and of a list that is read
before anything has gone into it the first guess is that it holds numbers, then that it holds arrays. Where that
turns out only later, the function is lowered again.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gast
import numpy as np

from s2sad.errors import S2SADError
from s2sad.frontend.infer import count_of_dims
from s2sad.frontend.lowerer import Context, Instance, Lowerer
from s2sad.frontend.optional import KindFound
from s2sad.frontend.values import StructV, V, Value, literal
from s2sad.ir import ops
from s2sad.ir.nodes import Append, Apply, Assign, CallStmt, Const, Expr, Function, Index, Store, Var
from s2sad.ir.types import BROADCAST, CARRIED, CUT, UNEVEN, Array, Dim, ListOf, Scalar, Static, Struct, Type, is_uneven
from s2sad.ir.walk import exprs_of, reads, statements, subexpressions

_GUESS = Scalar("float64", weak=True, value=None)
_MOST_GUESSES = 12
_NOTHING = "this list holds nothing yet that could be read here"
_CASTS: dict[str, Any] = {"float64": float, "complex128": complex, "int64": int}


def make(lw: Lowerer, name: str, kind: Type | None, node: Any) -> Var:
    """Emit a new list under a name; it holds `kind`, or more if more goes into it later."""
    target = Var(name, ListOf(lw.ctx.list_items.get(key_of(lw, name), kind)))
    lw.ctx.lists_begun[key_of(lw, name)] = count_of_dims()
    lw.names.add(name)
    lw.emit(Assign(target, Apply(ops.new_list, (), target.type), lw.span(node)))
    return target


def not_begun(lw: Lowerer, name: str) -> None:
    """Forget a list that had a name before: one that a comprehension fills is only made when its items are known."""
    lw.ctx.lists_begun.pop(key_of(lw, name), None)


def made_for(lw: Lowerer, target: Var, name: str) -> None:
    """Note by which name, of which text, a list is made: where it lies in an object or a dict, that is all it has."""
    lw.ctx.list_names[key_of(lw, target.name)] = (id(lw.source.node), name)


def name_of(lw: Lowerer, target: Expr) -> tuple[int, str] | None:
    """Return what `made_for` has noted of a list."""
    return lw.ctx.list_names.get(key_of(lw, target.name)) if isinstance(target, Var) else None


def append(lw: Lowerer, target: Var, value: Expr, node: Any) -> None:
    """Emit `target.append(value)`, with the value as the list holds it."""
    lw.emit(Append(target, fitted(lw, target, value, node), lw.span(node)))


def read_before(lw: Lowerer, items: Sequence[Value], node: Any) -> list[Value]:
    """Return items that go into a list together, `r += [r[-1], 2 * r[-1]]`: all are read before the first goes in."""
    return [*items[:1], *(read_now(lw, item, node) for item in items[1:])]


def read_now(lw: Lowerer, item: Value, node: Any) -> Value:
    """Give what is read of a list a name of its own."""
    if isinstance(item, StructV):
        return replace(item, items=tuple(read_now(lw, part, node) for part in item.items))
    named = (part for part in subexpressions(item.expr) if isinstance(part, Var)) if isinstance(item, V) else ()
    if isinstance(item, V) and any(isinstance(part.type, ListOf) for part in named):
        return V(lw.atom(item.expr, "item", lw.span(node)))
    return item


def fitted(lw: Lowerer, target: Expr, value: Expr, node: Any) -> Expr:
    """Return a value as the items of a list are; the function is lowered again if they turn out to be more."""
    assert isinstance(target.type, ListOf)
    kind = target.type.item
    given = _of_all_turns(lw, target, value.type)
    if kind is None:
        known = lw.ctx.list_items.get(key_of(lw, target.name)) if isinstance(target, Var) else None
        if known is None and given != value.type:
            _begin_again(lw, target, given, node)
        return value if known is None else _cast(lw, value, known)
    if isinstance(target, Var) and is_guessed(lw, target):
        wanted = given
        lw.ctx.guessed.discard(key_of(lw, target.name))
        if isinstance(wanted, Array) and wanted != kind:
            _begin_again(lw, target, wanted, node)
    else:
        wanted = _joined(kind, given)
    if wanted is None:
        take_as_known(lw, name_of(lw, target))
        lw.fail(node, "the items of this list differ in kind",
                "A list that is appended to or written holds items of one type.")  # fmt: skip
    assert wanted is not None
    if _known_as(wanted) != _known_as(kind):
        if _is_made_elsewhere(lw, target) and _is_alike(wanted, kind):
            return value
        _begin_again(lw, target, wanted, node)
    return _cast(lw, value, kind)


def take_as_known(lw: Lowerer, name: tuple[int, str] | None) -> None:
    """Lower the function again with a list, of which the items differ in kind, as one of known structure."""
    if know(lw.ctx, name):
        raise KindFound


def know(ctx: Context, name: tuple[int, str] | None) -> bool:
    """Let a list be one of known structure from now on; False if it is, or cannot be."""
    display = ctx.list_displays.get(name) if name is not None else None
    if name is None or name in ctx.growing_names or name in ctx.known_lists or display in ctx.known_displays:
        return False
    if display is None:
        ctx.known_lists.add(name)
    else:
        ctx.known_displays.add(display)
        ctx.growing_displays.discard(display)
    return True


def _of_all_turns(lw: Lowerer, target: Expr, kind: Type) -> Type:
    """Return the type of what goes into a list in every turn of the loops around that began after the list was made."""
    begun = lw.ctx.lists_begun.get(key_of(lw, target.name), 0) if isinstance(target, Var) else 0
    since = next((count for count in lw.ctx.loops_begun if count > begun), None)
    return kind if since is None else of_all_turns(kind, since)


def _is_older(dim: Dim, count: int) -> bool:
    """Say whether a length is surely one that was there when there were so many."""
    if isinstance(dim, int):
        return True
    if CARRIED in dim.name or CUT in dim.name or BROADCAST in dim.name or is_uneven(dim):
        return False
    _, made, number = dim.name.partition("#")
    return not made or (number.isdecimal() and int(number) < count)


def of_all_turns(kind: Type, count: int) -> Type:
    """Return the type of the items of a list that turns make which began when there were so many lengths."""
    if not isinstance(kind, Array):
        return kind
    return replace(kind, dims=tuple(dim if _is_older(dim, count) else UNEVEN for dim in kind.dims))


def _is_made_elsewhere(lw: Lowerer, target: Expr) -> bool:
    return not isinstance(target, Var) or key_of(lw, target.name) not in lw.ctx.lists_begun


def _is_alike(a: Type, b: Type) -> bool:
    """Say whether arrays differ in their lengths or their order in memory only."""
    return isinstance(a, Array) and isinstance(b, Array) and (a.dtype, len(a.dims)) == (b.dtype, len(b.dims))


def check_division(lw: Lowerer, target: Expr, node: Any) -> None:
    """An item that is divided in place is no whole number any more."""
    assert isinstance(target.type, ListOf)
    kind = target.type.item
    if isinstance(kind, Scalar) and np.dtype(kind.dtype).kind in "iub":
        _begin_again(lw, target, _GUESS, node)


def item_of_empty(lw: Lowerer, target: Expr, node: Any) -> Type:
    """Return what the items of a list are that is read before anything has gone into it."""
    made_here = isinstance(target, Var) and not _is_made_elsewhere(lw, target)
    if isinstance(target, Var) and made_here and key_of(lw, target.name) not in lw.ctx.list_items:
        names = [target.name, *_fields_appended(lw, target)]
        for key in (key_of(lw, name) for name in names):
            lw.ctx.list_items[key] = _GUESS
            lw.ctx.guessed.add(key)
        raise KindFound
    return lw.fail(node, _NOTHING,
                   "Begin it with numbers, as in `[0.0] * n`, or make it an array.")  # fmt: skip


def supposed(lw: Lowerer, given: Sequence[Expr], error: S2SADError, node: Any) -> None:
    """Suppose what an empty list holds that a function reads which it is given to, and lower this one again."""
    for leaf in given if error.what == _NOTHING else ():
        if isinstance(leaf.type, ListOf) and leaf.type.item is None:
            with contextlib.suppress(S2SADError):
                item_of_empty(lw, leaf, node)


class Guesses:
    """What lists may hold that a function reads before anything has gone into them: numbers, else vectors or matrices.

    A wrong guess is put right by the first `append`, if lowering comes as far: `s @ q` of what is taken for a
    number does not. The next guess is for then.
    """

    def __init__(self, ctx: Context, instance: Instance) -> None:
        """Guesses of one function; what was known before it is lowered holds for each."""
        self.ctx, self.owner = ctx, id(instance.fun)
        self.items = dict(ctx.list_items)
        self.first: S2SADError | None = None
        self.ranks: dict[tuple[tuple[int, str], ...], list[tuple[int, ...]]] = {}
        self.left = _MOST_GUESSES

    def suppose_another(self, error: S2SADError) -> bool:
        """Suppose something else of the lists; say whether there was anything left to suppose."""
        self.first = self.first or error
        lists = tuple(sorted(key for key in self.ctx.guessed if key[0] == self.owner))
        ranks = self.ranks.setdefault(lists, _ranks(len(lists)))
        if not ranks or not self.left:
            return False
        self.left -= 1
        guess = zip(lists, ranks.pop(0), strict=True)
        self.ctx.list_items.clear()
        self.ctx.list_items.update(self.items)
        self.ctx.list_items.update((key, _any_array("float64", rank) if rank else _GUESS) for key, rank in guess)
        self.ctx.guessed = {key for key in self.ctx.guessed if key[0] != self.owner} | set(lists)
        return True


def _ranks(lists: int) -> list[tuple[int, ...]]:
    """Return the ranks of the items of some lists in the order of trying; all numbers is what was tried first."""
    alike = [(rank,) * lists for rank in (1, 2)] if lists else []
    mixed = [ranks for ranks in itertools.product((0, 1, 2), repeat=min(lists, 4)) if len(set(ranks)) > 1]
    return alike + (mixed if lists <= 4 else [])


def is_guessed(lw: Lowerer, target: Expr) -> bool:
    """Say whether it is only supposed what a list holds."""
    return isinstance(target, Var) and key_of(lw, target.name) in lw.ctx.guessed


def _fields_appended(lw: Lowerer, target: Var) -> list[str]:
    """Return the lists of the fields, if the text appends tuples to the list."""
    for name, held in lw.env.items():
        if not (isinstance(held, V) and held.expr == target):
            continue
        for part in gast.walk(lw.source.node):
            match part:
                case gast.Call(
                    func=gast.Attribute(value=gast.Name(id=owner), attr="append"), args=[gast.Tuple(elts=parts)]
                ) if owner == name:  # fmt: skip
                    keys = tuple(range(len(parts)))
                    lw.ctx.row_kinds[id(lw.source.node), name] = Struct("tuple", keys, (_GUESS,) * len(parts))
                    return [lw.part_name(target.name, key) for key in keys]
                case _:
                    pass
    return []


def key_of(lw: Lowerer, name: str) -> tuple[int, str]:
    """Return what tells a list from others: the function, and the first of its variables that have been the list."""
    owner = id(lw.instance.fun) if lw.instance is not None else 0
    seen = {name}
    while (owner, name) in lw.ctx.list_origins and lw.ctx.list_origins[owner, name] not in seen:
        name = lw.ctx.list_origins[owner, name]
        seen.add(name)
    return owner, min(seen) if len(seen) > 1 and (owner, name) in lw.ctx.list_origins else name


def _begin_again(lw: Lowerer, target: Expr, wanted: Type, node: Any) -> None:
    key = key_of(lw, target.name) if isinstance(target, Var) else None
    if key is None or lw.ctx.list_items.get(key) == wanted:
        lw.fail(node, "this list was made for items of another type",
                "Begin it with items of the type that it gets: `[0.0] * n` for `[0] * n`.")  # fmt: skip
    assert key is not None
    lw.ctx.list_items[key] = wanted
    lw.ctx.guessed.discard(key)
    raise KindFound


def _known_as(kind: Type) -> Any:
    match kind:
        case Scalar(dtype):
            return dtype
        case Array(dtype, dims, layout):
            return dtype, tuple(is_uneven(dim) for dim in dims), layout
        case _:
            return kind


def _joined(kind: Type, value: Type) -> Type | None:
    """Return the type of items that are `kind` so far and take a `value`; None if there is none."""
    match kind, value:
        case Scalar(a), Scalar(b):
            return kind if a == b else Scalar(np.result_type(a, b).name, weak=True)
        case Array(a, dims, layout), Array(b, others, order) if len(dims) == len(others):
            each = tuple(dim if dim == other else UNEVEN for dim, other in zip(dims, others, strict=True))
            return Array(a if a == b else np.result_type(a, b).name, each, layout if layout == order else "A")
        case Static(None), Scalar(dtype, weak):
            return Scalar(dtype, weak)
        case Static(None), Array():
            return value
        case (Array() | Scalar()), Static(None):
            return kind
        case Static(a), Static(b):
            return kind if type(a) is type(b) and a == b else None
        case _:
            return kind if type(kind) is type(value) and not isinstance(kind, Scalar | Array) else None


def _any_array(dtype: str, rank: int) -> Array:
    return Array(dtype, (UNEVEN,) * rank, "C" if rank < 2 else "A")


def passed(lw: Lowerer, target: Expr, callee: Function | None, position: int, node: Any) -> None:
    """Note that a function which is not written in place may append arrays of other lengths to a list."""
    if not isinstance(target, Var) or not isinstance(target.type, ListOf) or _is_made_elsewhere(lw, target):
        return
    kind = target.type.item
    filled = None if callee is None or kind is not None else _filled_with(callee, callee.params[position].name)
    if filled is not None:
        _begin_again(lw, target, filled, node)
    if not isinstance(kind, Array) or (callee is not None and not _may_append(callee, position)):
        return
    wanted = _any_array(kind.dtype, len(kind.dims))
    if wanted != kind:
        _begin_again(lw, target, wanted, node)


def _filled_with(callee: Function, name: str) -> Type | None:
    """Return what a function puts into a list that it is given empty, where that is of one kind."""
    parts = [part for stmt in statements(callee.body) for expr in exprs_of(stmt) for part in subexpressions(expr)]
    kinds = {part.type.item for part in parts if isinstance(part, Var) and part.name == name
             and isinstance(part.type, ListOf) and part.type.item is not None}  # fmt: skip
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    return _any_array(kind.dtype, len(kind.dims)) if isinstance(kind, Array) else kind


def _may_append(callee: Function, position: int) -> bool:
    """Say whether a function changes what a list holds, or hands it on; what it only reads stays as it is."""
    name = callee.params[position].name
    for stmt in statements(callee.body):
        match stmt:
            case Append(Var(other)) | Store(Index(Var(other))) | Assign(value=Var(other)) if other == name:
                return True
            case CallStmt(args=args) if any(name in reads(arg) for arg in args):
                return True
            case _:
                pass
    return False


def as_number(value: Expr, kind: Type) -> Expr:
    """Return a number as one of another dtype, where that holds it too."""
    if not (isinstance(value.type, Scalar) and isinstance(kind, Scalar)):
        return value
    given, wanted = value.type.dtype, kind.dtype
    if given == wanted or not np.can_cast(given, wanted):
        return value
    if isinstance(value, Const):
        return literal(np.dtype(wanted).type(value.value).item())
    return Apply(_CASTS.get(wanted, np.dtype(wanted).type), (value,), Scalar(wanted, weak=wanted in _CASTS))


def _cast(lw: Lowerer, value: Expr, kind: Type) -> Expr:
    """Return a value as an item of type `kind`."""
    match value.type, kind:
        case Scalar(), Scalar():
            return as_number(value, kind)
        case Array(a, dims, layout), Array(b) if a != b:
            made = Array(b, dims, layout)
            return Apply(ops.astype, (value,), made, (("dtype", np.dtype(b).type),))
        case Static(None), Scalar(b):
            lw.ctx.holds_none = True
            return literal(np.dtype(b).type(0).item())
        case Static(None), Array(b, dims):
            lw.ctx.holds_none = True
            shape: Any = literal(0) if len(dims) == 1 else _zeros(len(dims))
            static = () if b == "float64" else (("dtype", np.dtype(b).type),)
            return Apply(np.zeros, (shape,), Array(b, (0,) * len(dims), "C"), static)
        case _:
            return value


def _zeros(rank: int) -> Expr:
    from s2sad.frontend.values import pack

    return pack("tuple", [literal(0)] * rank)
