"""Loops over anything: ranges become counted loops, arrays are indexed, known containers unrolled."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import gast

from s2sad.errors import MissingRuleError, UnsupportedSyntaxError
from s2sad.frontend import growing, iterated, keyed, protocols, rows
from s2sad.frontend.containers import current, is_mutable
from s2sad.frontend.continued import without_continue
from s2sad.frontend.environments import see, seen
from s2sad.frontend.expressions import ArrayAfterNumber, as_expr, known_key, lower_expr, lower_test
from s2sad.frontend.indexing import length_of_range, lower_index
from s2sad.frontend.infer import InferenceError, count_of_dims, infer
from s2sad.frontend.joins import joined_env, same_env
from s2sad.frontend.looped_over import held
from s2sad.frontend.lowerer import Lowerer, Mark
from s2sad.frontend.nests import as_nest, ranges_of
from s2sad.frontend.operators import build
from s2sad.frontend.optional import KindFound
from s2sad.frontend.order import Order
from s2sad.frontend.ragged import row_of
from s2sad.frontend.surely import SurelyRaises, raise_there
from s2sad.frontend.tables import is_table, over_a_table
from s2sad.frontend.turns import Turns
from s2sad.frontend.values import (
    IterV,
    RangeV,
    RowsV,
    Scope,
    StaticV,
    StructV,
    V,
    Value,
    const,
    keys_of,
    leaves_of,
    literal,
)
from s2sad.frontend.written_loops import as_loop, binds_names
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Break, Const, Expr, For, If, Raise, Var
from s2sad.ir.shapes import refused_if
from s2sad.ir.types import Array, ListOf, Scalar, Static, Struct, is_inexact

INT = Scalar("int64", weak=True)
_MAX_UNROLL = 64
_FEW_TURNS = 4  # of which all are written out where kinds change
_REFUSALS = (UnsupportedSyntaxError, MissingRuleError, InferenceError)


class UnrollNeeded(Exception):
    """A container of known structure is indexed by the loop variable."""

    def __init__(self, node: Any, otherwise: tuple[str, str] | None = None) -> None:
        """Remember where the index stands, and what to say if the loop cannot be written out."""
        super().__init__("unroll")
        self.node, self.otherwise = node, otherwise


def loop_over(lw: Lowerer, node: Any, iterable: Value) -> bool:
    """Lower a `for` statement over any iterable value."""
    if isinstance(iterable, IterV) and iterated.is_endless(iterable):
        return iterated.loop_without_end(lw, node, iterable)
    items = static_items(lw, iterable)
    if items is not None:
        check_reach(lw, iterable, len(items), node)
        if is_table(items, node):
            mark = lw.mark()
            try:
                return over_a_table(lw, node, items)
            except (UnrollNeeded, *_REFUSALS):
                lw.back_to(mark)
        return _unrolled(lw, node, items, iterable)
    mark = lw.mark()
    if (ranges := ranges_of(iterable)) is not None:
        count = len(lw.made)
        nest = as_nest(lw, node, ranges)
        try:
            if nest is not None:
                return loop_over(lw, nest, lw.env[nest.iter.id])
        except (UnrollNeeded, *_REFUSALS):
            lw.back_to(mark)
        finally:
            lw.forget(count)
    try:
        return _counted(lw, node, iterable)
    except (UnrollNeeded, *_REFUSALS) as refusal:
        # where the body needs the number itself, an axis or the place in a tuple, the loop is written out
        known = _known_range(iterable)
        if known is not None and len(known) > _FEW_TURNS and not isinstance(refusal, UnrollNeeded):
            lw.back_to(mark)
            try:
                return _first_apart(lw, node, iterable, known)
            except (_NotApart, UnrollNeeded, *_REFUSALS):
                lw.back_to(mark)
        if known is not None and len(known) <= _MAX_UNROLL:
            lw.back_to(mark)
            try:
                return _unrolled(lw, node, [const(i) for i in known])
            except _REFUSALS:
                if isinstance(refusal, UnrollNeeded):
                    raise
        if known is None and (items := _items_of_known_length(lw, iterable, node)) is not None:
            lw.back_to(mark)
            with suppress(*_REFUSALS):
                return _unrolled(lw, node, items, iterable)
        if isinstance(refusal, UnrollNeeded):
            return unrollable(lw, refusal)
        if known is None and isinstance(refusal, ArrayAfterNumber):
            lw.back_to(mark)
            with suppress(_NotApart, UnrollNeeded, *_REFUSALS):
                return _first_of_some(lw, node, iterable)
        raise


def _items_of_known_length(lw: Lowerer, iterable: Value, node: Any) -> list[Value] | None:
    """Return the items of what is as long as is known here, such as an array whose length is; None of any other."""
    length, item_at = indexable(lw, iterable, node)
    count = getattr(length.type, "value", None)
    return [item_at(literal(i)) for i in range(count)] if isinstance(count, int) and count <= _MAX_UNROLL else None


class _NotApart(Exception):
    """A loop whose first turn cannot stand before it."""


def _first_apart(lw: Lowerer, node: Any, iterable: Value, known: range) -> bool:
    """Write the first turn of a loop before it: a sum that begins as `0` is an array from then on."""
    _check_stays(node)
    if _unrolled(lw, node, [const(known[0])]):
        return True
    assert isinstance(iterable, RangeV)
    around = lw.turns
    lw.turns = (*around, 1)
    try:
        return _counted(lw, node, RangeV(literal(known[1]), iterable.stop, iterable.step))
    finally:
        lw.turns = around


def _check_stays(node: Any) -> None:
    """Raise _NotApart where a turn of a loop may leave it."""
    ways_out = (gast.Break, gast.Return, gast.Yield, gast.YieldFrom)
    if node.orelse or any(isinstance(n, ways_out) for s in node.body for n in gast.walk(s)):
        raise _NotApart


def _first_of_some(lw: Lowerer, node: Any, iterable: Value) -> bool:
    """Write the first of turns that a run counts before the loop; without any, what is an array is a number."""
    from s2sad.frontend.assignments import assign_target
    from s2sad.frontend.flow import run_counted

    _check_stays(node)
    if isinstance(iterable, RangeV):
        start, stop, step = _stable(lw, iterable, node)
        if not isinstance(step, Const) or step.value != 1:
            raise _NotApart
        rest = RangeV(build(operator.add, start, literal(1)), stop, step)
        return _first_and_rest(
            lw, node, build(operator.sub, stop, start), V(start), lambda: _counted(lw, node, rest))  # fmt: skip
    length, item = indexable(lw, iterable, node)
    counter = Var(lw.fresh("i"), INT)

    def enter_item() -> None:
        assign_target(lw, node.target, item(counter), node)

    turns = literal(1), length, literal(1)
    return _first_and_rest(
        lw, node, length, item(literal(0)), lambda: run_counted(lw, node, counter, turns, enter_item))  # fmt: skip


def _first_and_rest(lw: Lowerer, node: Any, length: Expr, first: Value, rest: Callable[[], bool]) -> bool:
    lw.emit(refused_if(build(operator.lt, length, literal(1)), lw.span(node), _NO_TURN))
    if _unrolled(lw, node, [first]):
        return True
    around = lw.turns
    lw.turns = (*around, 1)
    try:
        return rest()
    finally:
        lw.turns = around


_NO_TURN = "a loop takes no turn, and what is a number before it would be an array behind it"


def unrollable(lw: Lowerer, refusal: UnrollNeeded) -> Any:
    """Begin again with a container of constants as a table; raise what is wrong if it is none."""
    if refusal.otherwise is not None:
        return lw.fail(refusal.node, *refusal.otherwise)
    if (place := lw.place(refusal.node)) not in lw.ctx.tables:
        lw.ctx.tables.add(place)
        raise KindFound
    return lw.fail(refusal.node, "the index into this container is not known",
                   "Loop over its items, choose one by a condition (`a if c else b`), or stack them "
                   "into one array.")  # fmt: skip


def _known_range(iterable: Value) -> range | None:
    if not isinstance(iterable, RangeV):
        return None
    bounds: list[Any] = [getattr(e.type, "value", None) for e in (iterable.start, iterable.stop, iterable.step)]
    return range(*bounds) if all(isinstance(b, int) for b in bounds) else None


def static_items(lw: Lowerer, iterable: Value) -> list[Value] | None:
    """Return the items of an iterable whose structure is known, or None."""
    match iterable:
        case StructV("dict"):
            return list(keys_of(iterable).items)
        case StructV(_, _, items):
            protocols.refuse_own_items(lw, iterable, lw.statement)
            return list(items)
        case IterV("iter", (part,)):
            return static_items(lw, part)
        case IterV("reversed", (part,)):
            items = static_items(lw, part)
            return None if items is None else items[::-1]
        case IterV("enumerate", (part,), start):
            items = static_items(lw, part)
            first = 0 if start is None else getattr(start.type, "value", None)
            if items is None or first is None:
                return None
            return [StructV("tuple", (0, 1), (const(first + i), item)) for i, item in enumerate(items)]
        case IterV("zip", parts):
            columns = [static_items(lw, part) for part in parts]
            known = [c for c in columns if c is not None]
            if not known:
                return None
            others = [
                _known_length(lw, part) for part, column in zip(parts, columns, strict=True)
                if column is None and not _is_endless(part)
            ]  # fmt: skip
            count = min([len(c) for c in known] + [length for length in others if length is not None])
            rows: list[list[Value]] = []
            for part, column in zip(parts, columns, strict=True):
                rows.append(column if column is not None else _first_items(lw, part, count))
            return [StructV("tuple", tuple(range(len(parts))), tuple(row[i] for row in rows)) for i in range(count)]
        case StaticV(enum.EnumType() as members):
            return [StaticV(member) for member in members]
        case StaticV(obj) if isinstance(obj, tuple | list | range | frozenset | set | str):
            return [StaticV(o) if not isinstance(o, int | float) else const(o) for o in obj]
        case _:
            return None


def known_items(lw: Lowerer, iterable: Value) -> list[Value] | None:
    """Return the items of an iterable whose items, or whose numbers, are all known; None for any other."""
    items = static_items(lw, iterable)
    if items is None and (known := _known_range(iterable)) is not None and len(known) <= _MAX_UNROLL:
        return list[Value](const(i) for i in known)
    return items


def _known_length(lw: Lowerer, part: Value) -> int | None:
    """Return how long a part of a `zip` is, if that is known."""
    if isinstance(part, V) and isinstance(part.expr.type, Array):
        length: Any = part.expr.type.dims[0]
    else:
        length = getattr(indexable(lw, part, None)[0].type, "value", None)
    return length if isinstance(length, int) else None


def check_reach(lw: Lowerer, iterable: Value, count: int, node: Any) -> None:
    """What a `zip` that is written out meets beside a known container is as long: that is tested when it runs."""
    if not isinstance(iterable, IterV):
        return
    if iterable.kind != "zip":
        check_reach(lw, iterable.parts[0], count, node)
        return
    for part in iterable.parts:
        if count == 0 or _is_endless(part) or static_items(lw, part) is not None:
            continue
        length, _ = indexable(lw, part, None)
        fact = f"{part.expr.type.dims[0]}>={count}" if isinstance(part, V) and isinstance(part.expr.type, Array) else ""
        if _known_length(lw, part) is not None or (fact and fact in lw.proven):
            continue
        text = f"`zip` needs {count} items here"
        short = Apply(operator.lt, (length, literal(count)), Scalar("bool", True))
        lw.emit(If(short, (Raise(ValueError, (Const(text, Static(text)),), lw.span(node)),), (), lw.span(node)))
        lw.proven |= {fact} if fact else set()


def _is_endless(part: Value) -> bool:
    return isinstance(part, IterV) and part.kind in iterated.ENDLESS


def _first_items(lw: Lowerer, part: Value, count: int) -> list[Value]:
    if isinstance(part, IterV) and part.kind in iterated.ENDLESS:
        return [iterated.endless_item(lw, part, const(i), lw.statement) for i in range(count)]
    _, item = indexable(lw, part, None)
    return [item(literal(i)) for i in range(count)]


def _unrolled(lw: Lowerer, node: Any, items: list[Value], iterable: Value | None = None) -> bool:
    """Write a loop out item by item; with a `break` in it, inside a loop that runs once and can be left."""
    if not breaks(node.body):
        return _items_in_turn(lw, node, items, iterable, Scope(None, unrolled=True))
    scope = Scope(None, unrolled=True, once=True)
    outer, lw.block = lw.block, []
    try:
        jumps = _items_in_turn(lw, node, items, iterable, scope)
    finally:
        block, lw.block = lw.block, outer
    ends = scope.breaks if jumps else [seen(lw), *scope.breaks]
    if jumps and len(ends) == 1 and isinstance(block[-1], Break):  # where it breaks is known
        block.pop()
        lw.block.extend(block)
    else:
        span = lw.span(node)
        lw.emit(For(Var(lw.fresh("once"), INT), literal(0), literal(1), literal(1), tuple(block), span))
    see(lw, joined_env(lw, ends, ends[0]) if ends else seen(lw))
    return not ends


def breaks(body: list[Any]) -> bool:
    """Say whether these statements leave the loop that they are the body of."""
    for stmt in body:
        inner = stmt.orelse if isinstance(stmt, gast.For | gast.While) else gast.iter_child_nodes(stmt)
        if isinstance(stmt, gast.Break) or breaks([part for part in inner if isinstance(part, gast.AST)]):
            return True
    return False


def _items_in_turn(lw: Lowerer, node: Any, items: list[Value], iterable: Value | None, scope: Scope) -> bool:
    from s2sad.frontend.exceptions import without_continuing_tries

    count = len(lw.made)
    jumps = _turns(lw, node, items, iterable, scope, without_continue(without_continuing_tries(lw, node.body)))
    lw.forget(count)
    return jumps


def _turns(
    lw: Lowerer, node: Any, items: list[Value], iterable: Value | None, scope: Scope, body: list[Any]
) -> bool:  # fmt: skip
    from s2sad.frontend.assignments import assign_target
    from s2sad.frontend.statements import lower_block

    assigned = _assigns(node) or _tells_where_it_was_left(lw, node)
    items = _kept_apart(lw, items, node)
    may_leave = any(isinstance(n, gast.Break | gast.Return | gast.Raise) for inner in body for n in gast.walk(inner))
    watched = [(c, c.cell.writes) for c in _containers(iterable) if c.cell is not None] if iterable is not None else []
    around = lw.turns
    turns = Turns(lw, items, iterable, node.iter)
    for place in range(len(items)):
        first = turns.items[place]
        item = _live_item(lw, iterable, watched, place, first, node) if watched else first
        lw.loops.append(scope)
        lw.turns = (*around, place)
        if isinstance(node.target, gast.Name) and isinstance(item, V) and isinstance(item.expr, Const) and not assigned:
            lw.env[node.target.id] = item
        elif isinstance(node.target, gast.Tuple) and lw.contributing:
            _bind_item(lw, node.target, item, node, assign_target)
        else:
            assign_target(lw, node.target, item, node)
        block, depth = lw.block, len(lw.loops) - 1
        try:
            jumps = lower_block(lw, body)
            lw.loops.pop()
        except SurelyRaises as error:
            if not (place and may_leave):
                raise
            jumps = raise_there(lw, error, block, depth, node)
        lw.turns = around
        if jumps:
            return True
        turns.after(place)
    return lower_block(lw, node.orelse)


def _kept_apart(lw: Lowerer, items: list[Value], node: Any) -> list[Value]:
    """Hold the parts of the items that the body binds anew: `for e in (a, b): a, b = b, a`."""
    names = [n for s in node.body for n in gast.walk(s) if isinstance(n, gast.Name)]
    values = [lw.env[n.id] for n in names if isinstance(n.ctx, gast.Store) and n.id in lw.env]
    written = {leaf.name for value in values for leaf in leaves_of(value) if isinstance(leaf, Var)}

    def held(value: Value) -> Value:
        match value:
            case StructV(_, _, parts) if any(isinstance(e, Var) and e.name in written for e in leaves_of(value)):
                return replace(value, items=tuple(held(part) for part in parts))
            case V(Var(name, kind) as var) if name in written:
                kept = Var(lw.fresh(name), kind)
                lw.emit(Assign(kept, var, lw.span(node)))
                return V(kept)
            case _:
                return value

    return [held(item) for item in items] if len(items) > 1 and written else items


def _live_item(
    lw: Lowerer, iterable: Value | None, watched: list[tuple[StructV, int]], place: int, first: Value, node: Any
) -> Value:
    """Return an item as it is when the loop comes to it: the body may have written into what is looped over."""
    for container, writes in watched:
        assert container.cell is not None
        if container.cell.writes == writes:
            continue
        now = current(lw, container)
        if len(now.items) != len(container.items):
            lw.fail(node, f"this {container.kind} changes its length while it is looped over",
                    "Loop over a copy of it.")  # fmt: skip
        if container.kind == "dict":
            continue  # its keys are what they were
        if container is iterable:
            return now.items[place]
        live = static_items(lw, _as_it_is(lw, iterable)) if iterable is not None else None
        if live is None or place >= len(live):
            return lw.fail(node, f"this {container.kind} is written while it is looped over", "Loop over its indices.")
        return live[place]
    return first


def _as_it_is(lw: Lowerer, iterable: Value) -> Value:
    """Return an iterator over containers as they are by now: `enumerate(zip(params, grads))`."""
    match iterable:
        case StructV():
            return current(lw, iterable)
        case IterV("enumerate" | "zip" | "reversed" | "iter", parts):
            return replace(iterable, parts=tuple(_as_it_is(lw, part) for part in parts))
        case _:
            return iterable


def _containers(iterable: Value) -> list[StructV]:
    match iterable:
        case StructV():
            return [iterable]
        case IterV(_, parts):
            return [found for part in parts for found in _containers(part)]
        case _:
            return []


def _assigns(node: Any) -> bool:
    """Say whether the body of a loop rebinds its own variable."""
    return isinstance(node.target, gast.Name) and any(
        isinstance(n, gast.Name) and n.id == node.target.id and not isinstance(n.ctx, gast.Load)
        for s in node.body for n in gast.walk(s)
    )  # fmt: skip


def _tells_where_it_was_left(lw: Lowerer, node: Any) -> bool:
    """Say whether the variable of a loop that can be left is read elsewhere: then it is a variable indeed."""
    if not isinstance(node.target, gast.Name) or not breaks(node.body):
        return False
    inside = {id(n) for s in node.body for n in gast.walk(s)}
    return any(
        isinstance(n, gast.Name) and n.id == node.target.id and isinstance(n.ctx, gast.Load) and id(n) not in inside
        for n in gast.walk(lw.source.node)
    )


def _counted(lw: Lowerer, node: Any, iterable: Value) -> bool:
    from s2sad.frontend.assignments import assign_target
    from s2sad.frontend.flow import run_counted

    if isinstance(iterable, RangeV) and isinstance(node.target, gast.Name):
        start, stop, step = _stable(lw, iterable, node)
        var = Var(lw.ir_name(node.target.id), INT)
        if not _can_count(lw, node, node.target.id):
            counter = Var(lw.fresh("i"), INT)
            return run_counted(lw, node, counter, (start, stop, step),
                               lambda: lw.bind(node.target.id, V(counter), lw.span(node)))  # fmt: skip
        lw.names.add(var.name)

        def enter() -> None:
            lw.env[node.target.id] = V(var)

        return run_counted(lw, node, var, (start, stop, step), enter)
    length, item = indexable(lw, iterable, node)
    counter = Var(lw.fresh("i"), INT)
    if isinstance(iterable, IterV) and iterable.kind == "enumerate" and isinstance(node.target, gast.Tuple):
        first = node.target.elts[0]
        if isinstance(first, gast.Name) and iterable.start is None and _can_count(lw, node, first.id):
            counter = Var(lw.ir_name(first.id), INT)
            lw.names.add(counter.name)

    def enter_item() -> None:
        assign_target(lw, node.target, item(counter), node)

    return run_counted(lw, node, counter, (literal(0), length, literal(1)), enter_item)


def _can_count(lw: Lowerer, node: Any, name: str) -> bool:
    """Say whether a loop can count by a name of the text: its body gives it no other value, and nobody asks for one."""
    reassigned = any(
        isinstance(n, gast.Name) and n.id == name and isinstance(n.ctx, gast.Store)
        for s in node.body for n in gast.walk(s)
    )  # fmt: skip
    return not (reassigned or _is_inexact(lw.env.get(name)) or _is_parameter(lw, name))


def _is_inexact(value: Value | None) -> bool:
    """Say whether a name holds what may have a derivative, which a counter of that name would keep."""
    return value is not None and any(is_inexact(leaf.type) for leaf in leaves_of(value))


def _is_parameter(lw: Lowerer, name: str) -> bool:
    """Say whether a counter takes the name of a parameter, whose value the adjoint may still ask for."""
    spec = lw.source.node.args
    return any(a.id == name for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)) and name in lw.env


def _stable(lw: Lowerer, iterable: RangeV, node: Any) -> tuple[Expr, Expr, Expr]:
    """The bounds of a range are read once: bind them if the body may change what they read."""
    from s2sad.ir.walk import reads

    names = [n for s in node.body for n in gast.walk(s) if isinstance(n, gast.Name)]
    written = {n.id for n in names if isinstance(n.ctx, gast.Store)}
    result: list[Expr] = []
    for bound, hint in ((iterable.start, "start"), (iterable.stop, "stop"), (iterable.step, "step")):
        changed = {lw.ir_name(n) for n in written if n in lw.env} & reads(bound)
        result.append(lw.atom(bound, hint, lw.span(node)) if changed and not isinstance(bound, Const) else bound)
        if changed and isinstance(result[-1], Var) and result[-1].name in changed:
            frozen = Var(lw.fresh(hint), bound.type)
            lw.emit(Assign(frozen, bound, lw.span(node)))
            result[-1] = frozen
    return result[0], result[1], result[2]


def indexable(lw: Lowerer, iterable: Value, node: Any) -> tuple[Expr, Callable[[Expr], Value]]:
    """Return the length of an iterable and a function giving its item at an index."""
    match iterable:
        case V(expr) if isinstance(expr.type, Array | ListOf):
            if isinstance(expr.type, ListOf) and node is not None and _grows(lw, expr, node):
                lw.fail(node, "this list changes its length while it is looped over", "Loop over a copy of it.")
            base = held(lw, expr, node) if node is not None else expr
            length = Apply(ops.length, (base,), infer(ops.length, (base,), {}))
            if isinstance(expr.type, Array):
                length = build(ops.dim, base, literal(0))
            return length, lambda i: lower_index(lw, V(base), [i], node)
        case RowsV():
            if node is not None and any(_grows(lw, leaf, node) for leaf in leaves_of(iterable)):
                lw.fail(node, "this list changes its length while it is looped over", "Loop over a copy of it.")
            return rows.length(iterable), lambda i: rows.item(lw, iterable, i, node)
        case RangeV(start, stop, step):
            if getattr(start.type, "value", None) == 0 and getattr(step.type, "value", None) == 1:
                return stop, V
            return _range_length(start, stop, step), lambda i: V(
                build(_operator("add"), start, build(_operator("mul"), i, step))
            )
        case IterV("iter", (part,)):
            return indexable(lw, part, node)
        case IterV("enumerate", (part,), first):
            length, item = indexable(lw, part, node)
            offset = first

            def numbered(i: Expr) -> Value:
                at = i if offset is None else build(_operator("add"), i, offset)
                return StructV("tuple", (0, 1), (V(at), item(i)))

            return length, numbered
        case IterV("zip", parts) if any(not _is_endless(part) for part in parts):
            found = [_with_endless(lw, part, node) for part in parts]
            lengths = [length for length, _ in found if length is not None]
            length = lengths[0]
            for other in lengths[1:]:
                known = [getattr(e.type, "value", None) for e in (other, length)]
                if other != length and (None in known or known[0] != known[1]):
                    length = Apply(min, (length, other), INT)
            keys = tuple(range(len(parts)))
            return length, lambda i: StructV("tuple", keys, tuple(item(i) for _, item in found))
        case IterV(kind) if kind in iterated.ENDLESS:
            return iterated.refuse_endless(lw, iterable, node)
        case IterV("grid", parts):
            numbers = [part for part in parts if isinstance(part, RangeV)]
            sizes = [length_of_range(part) for part in numbers]

            def in_each(i: Expr) -> Value:
                at = [as_expr(lw, item, node) for item in _places(i, sizes).items]
                found = [build(_operator("add"), r.start, build(_operator("mul"), k, r.step))
                         for r, k in zip(numbers, at, strict=True)]  # fmt: skip
                return StructV("tuple", tuple(range(len(found))), tuple(V(expr) for expr in found))

            return _product(sizes), in_each
        case IterV("ndindex", parts):
            sizes = [as_expr(lw, part, node) for part in parts]
            return _product(sizes), lambda i: _places(i, sizes)
        case IterV("ndenumerate", (V(expr),)) if isinstance(expr.type, Array):
            base = lw.atom(expr, "items", lw.span(node))
            sizes = [build(ops.dim, base, literal(axis)) for axis in range(len(expr.type.dims))]

            def placed(i: Expr) -> Value:
                place = _places(i, sizes)
                index = [as_expr(lw, item, node) for item in place.items]
                return StructV("tuple", (0, 1), (place, lower_index(lw, V(base), index, node)))

            return _product(sizes), placed
        case IterV("reversed", (part,)):
            length, item = indexable(lw, part, node)
            last = build(_operator("sub"), length, literal(1))
            return length, lambda i: item(build(_operator("sub"), last, i))
        case _:
            return lw.fail(node, "this cannot be looped over in a differentiated function",
                           "Loop over a range, an array, a list, or zip/enumerate/reversed of them.")  # fmt: skip


def _with_endless(lw: Lowerer, part: Value, node: Any) -> tuple[Expr | None, Callable[[Expr], Value]]:
    """Return the length of a part of a `zip`, None if it has no end, and a function giving its item at an index."""
    if isinstance(part, IterV) and part.kind in iterated.ENDLESS:
        return None, lambda i: iterated.endless_item(lw, part, V(i), node)
    return indexable(lw, part, node)


def _grows(lw: Lowerer, items: Expr, loop: Any) -> bool:
    """Say whether the body of a loop changes the length of a list."""
    changed = [
        n.func.value.id for s in getattr(loop, "body", ()) for n in gast.walk(s)
        if isinstance(n, gast.Call) and isinstance(n.func, gast.Attribute) and isinstance(n.func.value, gast.Name)
        and n.func.attr in ("append", "pop", "extend", "insert", "clear", "remove", "popleft", "appendleft")
    ]  # fmt: skip
    held = [lw.env.get(name) for name in changed]
    return any(items in leaves_of(value) for value in held if isinstance(value, V | RowsV))


def _product(sizes: list[Expr]) -> Expr:
    total = sizes[0]
    for size in sizes[1:]:
        total = build(_operator("mul"), total, size)
    return total


def _places(i: Expr, sizes: list[Expr]) -> StructV:
    """Return the index along each axis of the i-th element, counted through in C order."""
    places: list[Value] = []
    for size in sizes[:0:-1]:
        places.insert(0, V(build(_operator("mod"), i, size)))
        i = build(_operator("floordiv"), i, size)
    return StructV("tuple", tuple(range(len(sizes))), (V(i), *places))


def _operator(name: str) -> Any:
    import operator

    return getattr(operator, name)


def _range_length(start: Expr, stop: Expr, step: Expr) -> Expr:
    return Apply(ops.length, (Apply(range, (start, stop, step), INT),), INT)


def emit_loop(lw: Lowerer, count: Expr, hint: str, body: Callable[[Expr], Any], node: Any) -> None:
    """Emit `for i in range(count)` around what `body` emits."""
    var = Var(lw.fresh(hint), INT)
    outer, lw.block = lw.block, []
    with lw.ctx.loop():
        body(var)
    block, lw.block = lw.block, outer
    lw.emit(For(var, literal(0), count, literal(1), tuple(block), lw.span(node)))


def lower_comprehension(lw: Lowerer, node: Any) -> Value:
    """A comprehension: unrolled over known structure, else a loop that appends."""
    name, lw.wanted = lw.wanted, None
    apart = lw.apart
    lw.comprehending += 1
    try:
        if binds_names(node):
            return as_loop(lw, node)
        if (count := _count_of_nothing(node)) is not None:
            lw.wanted = name
            return lower_expr(lw, count)
        lw.apart = apart | {own: lw.fresh(own) for own in _own_names(node) if own in lw.env}
        return _comprehension(lw, node, name)
    finally:
        lw.comprehending -= 1
        lw.apart = apart


def _count_of_nothing(node: Any) -> Any:
    """Return `[None] * n` for `[None for _ in range(n)]`, a list to be filled; None of any other comprehension."""
    match node:
        case gast.ListComp(
            elt=gast.Constant(value=None) as nothing,
            generators=[gast.comprehension(iter=gast.Call(func=gast.Name(id="range"), args=[n]), ifs=[])],
        ):
            pass
        case _:
            return None
    display = gast.copy_location(gast.List(elts=[nothing], ctx=gast.Load()), node)
    return gast.copy_location(gast.BinOp(left=display, op=gast.Mult(), right=n), node)


def _own_names(node: Any) -> list[str]:
    """Return the variables of a comprehension, which are its own whatever they mean outside of it."""
    found = [part.id for each in node.generators for part in gast.walk(each.target) if isinstance(part, gast.Name)]
    return list(dict.fromkeys(found))


def _comprehension(lw: Lowerer, node: Any, name: str | None) -> Value:
    iterable: Value | None = None
    is_keyed = isinstance(node, gast.DictComp)
    if len(node.generators) == 1 or is_keyed:
        generator = node.generators[0]
        iterable = protocols.iterated(lw, lower_expr(lw, generator.iter), generator.iter)
        items: list[Value] | None = static_items(lw, iterable)
        few = _KEYS if is_keyed else 8
        known = _known_range(iterable) if items is None and (is_keyed or not generator.ifs) else None
        if known is not None and len(known) <= few:
            items = list[Value](const(i) for i in known)
        if items is not None:
            check_reach(lw, iterable, len(items), generator.iter)
            made = _unrolled_comprehension(lw, node, generator, items, iterable)
            if made is not None:
                return made
    if is_keyed:
        keyed.begin_again(lw, keyed.given_to(lw, node))
        return lw.fail(node, f"a dict comprehension needs keys known at transform time, {_KEYS} of a range at most",
                       "Make it a list, `[f(i) for i in range(n)]`, or an array, which are indexed alike.")  # fmt: skip
    target = Var(name or lw.fresh("items"), ListOf(None))
    growing.not_begun(lw, target.name)
    lw.proven = frozenset(fact for fact in lw.proven if "." not in fact)  # its variables have names of others, perhaps
    position = len(lw.block)
    item_type: list[Any] = []
    start, before, count = lw.mark(), seen(lw), count_of_dims()
    may_be_loop, lw.may_be_loop = lw.may_be_loop, isinstance(node, gast.ListComp | gast.GeneratorExp)
    try:
        with lw.ctx.loop():
            _nested(lw, node, list(node.generators), target, item_type, iterable)
    except UnrollNeeded:
        if not lw.may_be_loop or any(scope.loop is not None for scope in lw.loops):
            raise
        lw.back_to(start)
        return as_loop(lw, node)  # which can be written out
    finally:
        lw.may_be_loop = may_be_loop
    outside = {name: value for name, value in before.items() if name not in _own_names(node)}
    now = seen(lw)
    if not same_env({name: now.get(name, value) for name, value in outside.items()}, outside):
        lw.back_to(start)  # an item changes what stands outside: `[log.note(v) for v in x]`
        return as_loop(lw, node)
    see(lw, before)
    if not item_type:  # a condition that is known not to hold
        lw.back_to(start)
        return StructV("list", (), ())
    if isinstance(item_type[0], Struct):
        written = _written_out(lw, node, iterable, item_type[0], start)
        if written is not None:
            return written
        behind = lw.block[position:]
        del lw.block[position:]
        made = rows.empty(lw, target.name, rows.of_one_kind(lw, item_type, node), node)
        lw.block.extend(behind)
        return made
    behind = lw.block[position:]
    del lw.block[position:]
    final = growing.make(lw, target.name, growing.of_all_turns(item_type[0], count), node)
    lw.block.extend(behind)
    return V(final)


def _written_out(lw: Lowerer, node: Any, iterable: Value | None, kind: Struct, start: Mark) -> Value | None:
    """Return a list of objects that can be written into item by item, if they are few and their number is known."""
    generator = node.generators[0]
    if iterable is None or generator.ifs or not is_mutable(StructV(kind.kind, (), ())) or kind.kind in ("list", "dict"):
        return None
    items = _items_of_known_length(lw, iterable, node)
    if items is None:
        return None
    lw.back_to(start)
    return _unrolled_comprehension(lw, node, generator, items, iterable)


def _nested(
    lw: Lowerer, node: Any, generators: list[Any], target: Var, found: list[Any], iterable: Value | None = None
) -> None:
    """Emit the loops of a comprehension from the outside in; what the outermost goes over may be lowered already."""
    from s2sad.frontend.assignments import assign_target

    if not generators:
        value = row_of(lw, lower_expr(lw, node.elt), node.elt, node)
        if isinstance(value, StructV):
            found.append(rows.append_parts(lw, target.name, value, node))
            return
        item = as_expr(lw, value, node.elt)
        found.append(item.type)
        growing.append(lw, Var(target.name, ListOf(item.type)), item, node)
        return
    generator, rest = generators[0], generators[1:]
    if iterable is None:
        iterable = protocols.iterated(lw, lower_expr(lw, generator.iter), generator.iter)
    items = static_items(lw, iterable)
    if items is not None:
        turns = Turns(lw, list(items), iterable, generator.iter)
        for place in range(len(items)):
            assign_target(lw, generator.target, turns.items[place], node)
            _filtered(lw, node, generator, rest, target, found)
            turns.after(place)
        return
    if isinstance(iterable, RangeV) and isinstance(generator.target, gast.Name):
        var = Var(lw.fresh(generator.target.id), INT)
        bounds = (iterable.start, iterable.stop, iterable.step)
        first: Value = V(var)
    else:
        length, item_at = indexable(lw, iterable, node)
        var = Var(lw.fresh("i"), INT)
        bounds = (literal(0), length, literal(1))
        first = item_at(var)
    outer, lw.block = lw.block, []
    if isinstance(first, V) and isinstance(first.expr, Var) and isinstance(generator.target, gast.Name):
        lw.env[generator.target.id] = first
    else:
        assign_target(lw, generator.target, first, node)
    _filtered(lw, node, generator, rest, target, found)
    block, lw.block = lw.block, outer
    lw.emit(For(var, *bounds, tuple(block), lw.span(node)))


def _filtered(lw: Lowerer, node: Any, generator: Any, rest: list[Any], target: Var, found: list[Any]) -> None:
    test = _condition(lw, generator)
    if test is False:
        return
    if test is True:
        _nested(lw, node, rest, target, found)
        return
    outer, lw.block = lw.block, []
    _nested(lw, node, rest, target, found)
    block, lw.block = lw.block, outer
    lw.emit(If(test, tuple(block), (), lw.span(node)))


def _condition(lw: Lowerer, generator: Any) -> Expr | bool:
    """Lower the conditions behind one `for` of a comprehension, of which each is tried if those before it hold."""
    if not generator.ifs:
        return True
    whole = generator.ifs[0]
    if len(generator.ifs) > 1:
        whole = gast.copy_location(gast.BoolOp(op=gast.And(), values=generator.ifs), whole)
    return lower_test(lw, whole)


def _unrolled_comprehension(
    lw: Lowerer, node: Any, generator: Any, items: list[Value], iterable: Value
) -> Value | None:
    """Write a comprehension over known items out; None if which of them it keeps is not known."""
    before = dict(lw.env)
    mark = lw.mark()
    order = Order(lw)
    keys: list[Any] = []
    turns = Turns(lw, list(items), iterable, generator.iter)
    for place in range(len(items)):
        order.add(lambda place=place: _one(lw, node, generator, turns.items[place], keys), node)
        turns.after(place)
        if order.values[-1] is _UNKNOWN:
            lw.back_to(mark)
            return None
    lw.env = before
    kept = tuple(value for value in order.values if value is not _LEFT_OUT)
    if isinstance(node, gast.DictComp):
        last: dict[Any, Value] = {}  # a key that comes twice has the value of its last time
        for key, value in zip(keys, kept, strict=True):
            inner = value if key is _SEVERAL and isinstance(value, StructV) else None
            last |= {key: value} if inner is None else dict(zip(inner.keys, inner.items, strict=True))
        return StructV("dict", tuple(last), tuple(last.values()))
    return StructV("list", tuple(range(len(kept))), kept)


_KEYS = 64
"""Items of a range for which a dict comprehension is written out."""
_SEVERAL = object()
"""Stands for the keys of the loops inside another of a dict comprehension."""
_LEFT_OUT = StaticV("left out")
_UNKNOWN = StaticV("not known")


def _one(lw: Lowerer, node: Any, generator: Any, item: Value, keys: list[Any]) -> Value:
    """Lower what a comprehension makes of one known item."""
    from s2sad.frontend.assignments import assign_target

    _bind_item(lw, generator.target, item, node, assign_target)
    test = _condition(lw, generator)
    if not isinstance(test, bool):
        return _UNKNOWN
    if not test:
        return _LEFT_OUT
    if isinstance(node, gast.DictComp) and len(node.generators) > 1:
        rest = gast.DictComp(key=node.key, value=node.value, generators=node.generators[1:])
        keys.append(_SEVERAL)
        return _comprehension(lw, gast.copy_location(rest, node), None)
    if isinstance(node, gast.DictComp):
        keys.append(known_key(lw, node.key))
        return lower_expr(lw, node.value)
    return row_of(lw, lower_expr(lw, node.elt), node.elt, node)


def _bind_item(lw: Lowerer, target: Any, item: Value, node: Any, assign_target: Any) -> None:
    """Name the item without a statement where its parts are names already."""
    if isinstance(target, gast.Name):
        lw.env[target.id] = item
    elif isinstance(target, gast.Tuple) and isinstance(item, StructV) and len(item.items) == len(target.elts):
        for part, value in zip(target.elts, item.items, strict=True):
            _bind_item(lw, part, value, node, assign_target)
    else:
        assign_target(lw, target, item, node)
