"""The adjoint of each kind of statement: what its forward form keeps, and what its reverse form adds."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.analysis import alias as alias_analysis
from s2sad.analysis.activity import active_names, sources
from s2sad.analysis.alias import exact_aliases
from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.held import Held
from s2sad.analysis.layout import TOP, Layout
from s2sad.analysis.loops import popped_from
from s2sad.analysis.one_list import check_lists
from s2sad.analysis.rerun import Rerun
from s2sad.analysis.saved import Plan
from s2sad.analysis.sharing import Groups
from s2sad.analysis.squares import Squares
from s2sad.analysis.steep import is_steep
from s2sad.errors import AliasError, NotDifferentiableError, Span
from s2sad.frontend.infer import fresh_dim
from s2sad.frontend.operators import BY_SYMBOL, build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.device import is_barrier
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    CallStmt,
    Const,
    Effect,
    Expr,
    For,
    Function,
    Index,
    Pack,
    Return,
    Slice,
    Stmt,
    Store,
    Swap,
    Var,
    While,
)
from s2sad.ir.types import UNEVEN, Array, Dim, ListOf, Scalar, Type, is_complex, is_inexact
from s2sad.ir.views import is_advanced, is_item
from s2sad.ir.walk import (
    blocks_of,
    bound,
    exprs_of,
    names_in,
    reads,
    root_of,
    statements,
    subexpressions,
)
from s2sad.ir.walk import targets as targets_of
from s2sad.runtime.indexing import last_of_each
from s2sad.runtime.lists import add_lists
from s2sad.transform.algebra import negative, times, zero, zero_list
from s2sad.transform.cotangents import Cotangents
from s2sad.transform.dear import Result, is_dear, with_results_named
from s2sad.transform.moving import with_moving_places
from s2sad.transform.naming import Namer, noun
from s2sad.transform.outliving import with_places_for_names
from s2sad.transform.prepare import Prepared, prepare, with_items_named, with_own_counters, without_scalar_stores
from s2sad.transform.read_by_calls import with_arguments_named
from s2sad.transform.structure import structured, values_of
from s2sad.transform.tapes import Slot, Tapes
from s2sad.transform.webs import renamed

CalleeAdjoint = Callable[[str, tuple[bool, ...], tuple[bool, ...]], str]
"""From a callee, its active arguments and active results, the name of its adjoint function."""


class Statements:
    """What the adjoints of single statements share: the activity, the bars, the tapes and the names."""

    plan: Plan
    reruns: dict[int, Rerun]
    tapes: Tapes
    slots: dict[Any, list[Slot]]

    def __init__(
        self, fn: Function, wrt: tuple[int, ...], facts: Facts, callee_adjoint: CalleeAdjoint,
        own_bars: bool, active_results: tuple[bool, ...] | None, seed: float | None, split: bool,
        wants_values: bool, device: bool, saved: frozenset[Span], reversed_: frozenset[Span],
        stacks: bool = False, kept: frozenset[Result] = frozenset(), again: frozenset[Span] = frozenset(),
        turns: frozenset[Span] = frozenset(),
    ) -> None:  # fmt: skip
        """Prepare `fn` and name its bars; `plan`, `tapes` and `slots` follow once its statements are known."""
        self.device, self.saved, self.reversed_, self.stacks = device, saved, reversed_, stacks
        self.split, self.wants_values, self.silent = split, wants_values, not own_bars
        self.facts, self.callee_adjoint, self.own_bars, self.seed = facts, callee_adjoint, own_bars, seed
        self.namer = Namer({p.name for p in fn.params} | names_in(fn.body))
        fn = renamed(structured(without_scalar_stores(fn), self.namer), self.namer)
        fn = with_own_counters(with_items_named(fn, self.namer), self.namer)
        fn = with_arguments_named(self._with_memory_told_apart(with_places_for_names(fn)), facts, self.namer)
        fn, self.named = with_results_named(fn, kept, self.namer)
        check_lists(fn, facts)
        self.results_active = active_results or tuple(is_inexact(k) for k in fn.results)
        self.inputs = {fn.params[i].name for i in wrt}
        self.active = self._activity(fn)
        self.prepared: Prepared = prepare(fn, self.active, self.namer, facts, saved, reversed_, turns)
        self.fn = self.prepared.fn
        self.aliases = exact_aliases(self.fn)
        self.squares = Squares(self.fn, facts.functions)
        self.layout = Layout(self.fn)
        self.turns = turns
        """Loops of which each turn is to be run again before its reverse."""
        self.wrt = wrt
        self.written: set[str] | None = None
        self.results_read: dict[int, Assign | None] = {}
        """Statements whose adjoint reads what they give, each with the new name for it, if it needs one."""
        self.again = again
        self.quotients: dict[str, set[Span]] = {}
        """By array, the divisions whose results are read where they are, which those in `again` are not."""
        self.bar_names: dict[str, str] = {}
        self.kinds = self._kinds()
        for name, kind in self.kinds.items():
            if name in self.active or name in self.inputs:
                self.bar(Var(name, kind))
        self.seeds = self._seed_vars()
        self.adjoint_code: dict[int, list[Stmt]] = {}
        self.after_loop: dict[int, list[Stmt]] = {}

    def _with_memory_told_apart(self, fn: Function) -> Function:
        """Return `fn`, in which every write is known to reach what its name says; raise AliasError if it is not."""
        try:
            alias_analysis.check(fn, self.facts)
        except AliasError as refused:
            moved = with_moving_places(fn, self.namer)
            try:
                alias_analysis.check(moved, self.facts)
            except AliasError:
                raise refused from None
            return moved
        return fn

    def _activity(self, fn: Function) -> set[str]:
        values = values_of(fn)
        outputs = {
            name for value, on in zip(values, self.results_active, strict=False) if on for name in sources(value)
        }
        if not self.own_bars:
            outputs |= {p.name for p in fn.params if isinstance(p.type, Array | ListOf) and p.name in self.inputs}
        kept = tuple(v for v, on in zip(values, self.results_active, strict=False) if on)
        body = (*fn.body[:-1], Return(kept)) if values else fn.body
        active = active_names(replace(fn, body=body), self.inputs, outputs, self.facts.flow)
        return active | (set() if self.own_bars else {n for n in self.inputs})

    def _kinds(self) -> dict[str, Type]:
        """The type of each name, and None for arrays whose definitions differ in shape."""
        kinds: dict[str, Type] = {p.name: p.type for p in self.fn.params}
        for stmt in statements(self.fn.body):
            targets: list[Var] = []
            match stmt:
                case Assign(target):
                    targets = [target]
                case CallStmt(made):
                    targets = list(made)
                case Append(items) if isinstance(items.type, ListOf) and items.type.item is not None:
                    targets = [items]
                case _:
                    pass
            for target in targets:
                kinds[target.name] = target.type
        return kinds

    def _seed_vars(self) -> tuple[Var, ...]:
        if self.seed is not None:
            return ()
        seeds: list[Var] = []
        on = [i for i, active in enumerate(self.results_active) if active]
        for i in on:
            hint = "result_bar" if len(self.results_active) == 1 else f"result_{i}_bar"
            seeds.append(Var(self.namer.fresh(hint), self.fn.results[i]))
        return tuple(seeds)

    def bar(self, name: Var) -> Var:
        """Return the adjoint variable of a name."""
        if name.name not in self.bar_names:
            self.bar_names[name.name] = self.namer.fresh(f"{name.name}_bar")
        kind = name.type
        if isinstance(kind, Scalar):
            kind = Scalar(self._dtype_of_all(name, kind.dtype), kind.weak)
        return Var(self.bar_names[name.name], kind)

    def _dtype_of_all(self, name: Var, dtype: str) -> str:
        """Return the dtype that the adjoint of a number has: complex if the number becomes that on some path."""
        if not dtype.startswith("float"):
            return dtype
        kinds = [target.type for stmt in self.layout.defs.get(name.name, ()) for target in targets_of(stmt)
                 if target.name == name.name]  # fmt: skip
        return next((kind.dtype for kind in kinds if isinstance(kind, Scalar) and is_complex(kind)), dtype)

    def _cotangents(self, span: Span) -> Cotangents:
        made = Cotangents(self.active, self.bar, self.namer, span)
        made.steep = self.silent or is_steep(self.fn, self.facts.functions)
        made.squares = self.squares
        made.shape_source = self._shape_source
        made.dim_source = self._dim_source
        return made

    def _shape_source(self, dims: tuple[Dim, ...], like: Type) -> Expr | None:
        """Return a name whose array has these dims and the dtype of `like`, and is surely still there."""
        dtype = like.dtype if isinstance(like, Array | Scalar) else ""
        arrays = {name: kind for name, kind in self.kinds.items() if isinstance(kind, Array)}
        for name, kind in arrays.items():
            if (kind.dims, kind.dtype) == (dims, dtype) and self.layout.home.get(name) == TOP:
                if len(self.layout.defs.get(name, ())) + (name in {p.name for p in self.fn.params}) == 1:
                    return Var(name, kind)
        return None

    def _dim_source(self, dim: Dim) -> Expr | None:
        """Return an expression for a symbolic length, from a name that is surely still there."""
        for name, kind in self.kinds.items():
            if isinstance(kind, Array) and dim in kind.dims and self.layout.home.get(name) == TOP:
                if len(self.layout.defs.get(name, ())) + (name in {p.name for p in self.fn.params}) == 1:
                    return build(ops.dim, Var(name, kind), literal(kind.dims.index(dim)))
        return None

    def _result_bar(self, position: int) -> Expr:
        param = self.fn.params[position]
        var = Var(param.name, param.type)
        return self.bar(var)

    def _write_adjoints(self, body: tuple[Stmt, ...]) -> None:
        for stmt in statements(body):
            match stmt:
                case Assign():
                    code = self._assign(stmt)
                case Store():
                    code = self._store(stmt)
                case Append():
                    code = self._append(stmt)
                case CallStmt():
                    code = self._call(stmt)
                case Swap(first, second) if first.name in self.active or second.name in self.active:
                    code: list[Stmt] = [Swap(self.bar(first), self.bar(second), stmt.span)]
                case Return():
                    code = self._return(stmt)
                case Effect(value) if is_barrier(value):
                    code = [stmt]
                case _:
                    code = []
            if code:
                self.adjoint_code[id(stmt)] = code

    def _pop(self, stmt: Assign, items: Expr, bar: Var) -> list[Stmt]:
        """A pop reverses to an append, of the adjoint and of the value."""
        assert isinstance(items, Var)
        return [
            Append(items, stmt.target, stmt.span),
            Append(self.bar(items), bar, stmt.span),
            *([] if self._is_local(stmt.target.name) else [self._zero(stmt.target, bar, stmt.span, put_back=False)]),
        ]

    def _is_local(self, name: str) -> bool:
        """Say whether one adjoint variable per execution of its block suffices, never set back to zero."""
        made = self.layout.defs.get(name, [])
        home = self.layout.home[name]
        if any(p.name == name for p in self.fn.params) or len(made) != 1:
            return False
        return self.layout.block_of[id(made[0])] == home

    def _assign(self, stmt: Assign) -> list[Stmt]:
        target = stmt.target
        items = popped_from(stmt)
        if items is not None and target.name not in self.active and self._root(items.name) in self.active:
            nothing = build(np.zeros_like, target) if isinstance(target.type, Array) else zero(target.type)
            return [Append(items, target, stmt.span), Append(self.bar(items), nothing, stmt.span)]
        if target.name not in self.active or target.name in self.aliases:
            return []
        ct = self._cotangents(stmt.span)
        bar = self.bar(target)
        if isinstance(target.type, ListOf):
            return self._list_taken(stmt, bar)
        if isinstance(stmt.value, Apply) and stmt.value.fn is ops.pop:
            return self._pop(stmt, stmt.value.args[0], bar)
        if self._still_holds(stmt):
            ct.values[id(stmt.value)] = target
            self._push_made(stmt, ct, bar)
            return ct.code
        if (isinstance(target.type, Scalar) and not isinstance(stmt.value, Var | Const)) or self._is_made_anew(stmt):
            return self._rebound(stmt, ct, bar)
        if self._is_local(target.name):
            ct.push_all(stmt.value, bar)
            return ct.code
        if target.name in sources(stmt.value):
            old = Var(self.namer.fresh(f"{target.name}_new_bar"), bar.type)
            ct.code.append(Assign(old, bar, stmt.span))
            ct.code.append(self._zero(target, old, stmt.span))
            ct.push_all(stmt.value, old)
            return ct.code
        ct.push_all(stmt.value, bar)
        ct.code.append(self._zero(target, bar, stmt.span))
        return ct.code

    def _push_made(self, stmt: Assign, ct: Cotangents, bar: Var) -> None:
        """A name that is bound once: its adjoint may read what it was set to."""
        target = stmt.target
        ct.push_all(stmt.value, bar)
        if any(target.name in reads(expr) for s in statements(tuple(ct.code)) for expr in exprs_of(s)):
            self.results_read[id(stmt)] = None
        if not self._is_local(target.name):
            ct.code.append(self._zero(target, bar, stmt.span))

    def _is_made_anew(self, stmt: Assign) -> bool:
        """Say whether an array that nobody writes into, nor has under another name, is what a function gives."""
        name, value = stmt.target.name, stmt.value
        if not isinstance(stmt.target.type, Array) or not isinstance(value, Apply) or self.device:
            return False
        groups = Groups(self.fn, self.facts)
        return is_dear(value) and not groups.of({name}) & groups.of(self._written())

    def _written(self) -> set[str]:
        """Return the names, or their roots, that something is written into."""
        if self.written is None:
            self.written = {self._root(n) for s in statements(self.fn.body) for n in written_by(s, self.facts)}
        return self.written

    def _rebound(self, stmt: Assign, ct: Cotangents, bar: Var) -> list[Stmt]:
        """A name that is bound again: what it was set to is read before its older value is put back."""
        target = stmt.target
        made = Var(self.namer.fresh(f"{target.name}_new"), target.type)
        ct.values[id(stmt.value)] = made
        self_reading = target.name in sources(stmt.value)
        g = Var(self.namer.fresh(f"{target.name}_new_bar"), bar.type) if self_reading else bar
        if self_reading:
            ct.code += [Assign(g, bar, stmt.span), self._zero(target, g, stmt.span)]
        ct.push_all(stmt.value, g)
        if not self_reading and not self._is_local(target.name):
            ct.code.append(self._zero(target, bar, stmt.span))
        if any(made.name in reads(expr) for s in statements(tuple(ct.code)) for expr in exprs_of(s)):
            self.results_read[id(stmt)] = Assign(made, target, stmt.span)
        else:
            self.namer.give_back(made.name)
        return ct.code

    def _still_holds(self, stmt: Assign) -> bool:
        """Say whether a name is what was assigned to it when the reverse comes to the statement."""
        name = stmt.target.name
        if len(self.layout.defs.get(name, ())) != 1 or name in self.inputs or name in sources(stmt.value):
            return False
        return name not in self._written() and not isinstance(stmt.value, Var)

    def _list_taken(self, stmt: Assign, bar: Var) -> list[Stmt]:
        """A list gets another name, or a name another list: the one before it starts from zeros."""
        target, value = stmt.target, stmt.value
        code: list[Stmt] = []
        if isinstance(value, Var) and self._root(value.name) in self.active:
            root = self._root(value.name)
            names = [root, *(name for name, alias in self.aliases.items() if alias.root == root)]
            given = self.bar(Var(root, value.type))
            if any(p.name == root for p in self.fn.params):
                code.append(self._added_in_place(given, bar, stmt.span))
            else:
                last = all(self._is_last_mention(name, stmt) for name in names)
                whole = bar if last else Apply(add_lists, (given, bar), given.type)  # nothing was added to it yet
                code.append(Assign(given, whole, stmt.span))
                code += [Assign(self.bar(Var(name, value.type)), given, stmt.span) for name in names[1:]]
        elif any(self._root(name) in self.active for name in sources(value)):
            raise NotDifferentiableError(
                "a list that another list, or a choice, gives is not differentiated here", stmt.span,
                "Use an array of two dimensions, or one list.",
            )  # fmt: skip
        around = self.layout.all_loops(self.layout.home.get(target.name, TOP))
        again = len(self.layout.all_loops(self.layout.block_of[id(stmt)])) > len(around)
        if not self._is_local(target.name) and (again or len(self.layout.defs.get(target.name, ())) > 1):
            code.append(self._zero(target, bar, stmt.span))
        return code

    def _zero(self, target: Var, like: Var, span: Span, put_back: bool = True) -> Stmt:
        """Set the adjoint of a rebound name back to zero, in the shape of its older value.

        `put_back`: the name has that value again, here.
        """
        bar = self.bar(target)
        if isinstance(target.type, ListOf):
            return Assign(bar, zero_list(target), span)
        if isinstance(target.type, Array):
            steady = {
                s.target.type for s in self.layout.defs.get(target.name, ()) if isinstance(s, Assign)
            }
            kinds = {k.dims for k in (*steady, self.kinds[target.name]) if isinstance(k, Array)}
            param = next((p for p in self.fn.params if p.name == target.name), None)
            if param is not None and isinstance(param.type, Array):
                kinds.add(param.type.dims)
            changes = self.layout.may_change_length(target.name) or any(
                isinstance(s, Assign) and _is_empty(s.value) for s in self.layout.defs.get(target.name, ())
            )
            source = like if len(kinds) == 1 and not changes else target
            if len(kinds) > 1 and put_back:  # the older value may have another length
                older = of_any_length(target.type, kinds)
                source, bar = replace(target, type=older), replace(bar, type=older)
            return Assign(bar, build(np.zeros_like, source), span)
        return Assign(bar, zero(target.type), span)

    def _store(self, stmt: Store) -> list[Stmt]:
        root = root_of(stmt.place)
        if root is None or not is_inexact(stmt.place.type) or self._root(root.name) not in self.active:
            return []
        ct = self._cotangents(stmt.span)
        place = ct.shadow(stmt.place)
        assert place is not None
        added = _added_to(stmt)
        if added is not None:
            return self._add(stmt, [(term, sign) for term, sign in added if ct.is_active(term)], ct, place)
        if stmt.op in ("*", "/") and not self.device and _is_real_and_plain(stmt) and not self._reads_root(
            stmt.value, root.name
        ):
            return self._scaled(stmt, ct, place)
        value = stmt.value if not stmt.op else build(BY_SYMBOL[stmt.op], stmt.place, stmt.value)
        whole = _zero_place(place)
        cleared = Store(whole, "", zero(stmt.place.type), stmt.span)
        if not ct.is_active(value):
            return [cleared]
        if self._reads_root(value, root.name):
            made = None
            if isinstance(stmt.place.type, Scalar) and self._reads_quotient(stmt):
                made = ct.values[id(value)] = Var(self.namer.fresh(f"{noun(stmt.place)}_new"), stmt.place.type)
            g = self._last_written(ct, stmt, self._taken(ct, stmt.place, place))
            ct.code.append(cleared)
            ct.push_fitted(value, g, stmt.place.type)
            if made and any(made.name in reads(expr) for s in statements(tuple(ct.code)) for expr in exprs_of(s)):
                self.results_read[id(stmt)] = Assign(made, stmt.place, stmt.span)
            return ct.code
        g = place
        if isinstance(place.type, Scalar) and _reads_many(value, self.active):
            g = ct.name(place, f"{noun(stmt.place)}_bar")
        ct.push_fitted(value, self._last_written(ct, stmt, g), stmt.place.type)
        ct.code.append(cleared)
        return ct.code

    def _add(self, stmt: Store, added: list[tuple[Expr, str]], ct: Cotangents, place: Expr) -> list[Stmt]:
        """Of what is added to a place, each term has the adjoint of the place, which stays what it is."""
        if not added:
            return []
        root = root_of(stmt.place)
        assert root is not None
        g = place
        if any(self._reads_root(term, root.name) for term, _ in added):
            g = self._taken(ct, stmt.place, place)
        elif isinstance(place, Index) and isinstance(place.type, Scalar) and (
            len(added) > 1 or _reads_many(added[0][0], self.active)
        ):
            g = ct.name(place, f"{noun(stmt.place)}_bar")
        g = self._last_written(ct, stmt, g)
        for term, sign in added:
            ct.push_fitted(term, negative(g) if sign == "-" else g, stmt.place.type)
        return ct.code

    def _scaled(self, stmt: Store, ct: Cotangents, place: Expr) -> list[Stmt]:
        """`y *= a` and `y /= a` scale the adjoint of `y` in the same way, once that of `a` has read it."""
        by = stmt.value
        if not ct.is_active(by):
            ct.code.append(Store(place, stmt.op, by, stmt.span))
            return ct.code
        by = ct.value(by, 2)
        scaled = Store(place, stmt.op, by, stmt.span)
        if self._reads_quotient(stmt):  # of `y / a`, which is there, times that of `y`
            ct.code.append(scaled)
            ct.push_fitted(stmt.value, negative(times(place, stmt.place)), stmt.place.type)
            self.results_read[id(stmt)] = None
            return ct.code
        if stmt.op == "*":
            g = times(place, stmt.place)
        else:
            g = negative(times(place, build(operator.truediv, build(operator.truediv, stmt.place, by), by)))
        ct.push_fitted(stmt.value, g, stmt.place.type)
        ct.code.append(scaled)
        return ct.code

    def _reads_quotient(self, stmt: Store) -> bool:
        """Say whether the adjoint of `y /= a` is to read what that has made, and note that it does."""
        root = root_of(stmt.place)
        if root is None or stmt.op != "/" or stmt.span in self.again or not self._stays_in_place(stmt):
            return False
        self.quotients.setdefault(root.name, set()).add(stmt.span)
        return True

    def _stays_in_place(self, stmt: Store) -> bool:
        """Say whether what a store has made can be read where it is: an array that has one name throughout."""
        root = root_of(stmt.place)
        if root is None or self.device or not isinstance(stmt.place, Var | Index):
            return False
        if isinstance(stmt.place, Index) and not isinstance(stmt.place.base, Var):
            return False
        body = list(statements(self.fn.body))
        moved = {v.name for s in body if isinstance(s, Swap) for v in (s.first, s.second)}
        moved |= {t.name for s in body if isinstance(s, CallStmt) for t in s.targets}
        shared = {alias.root for alias in self.aliases.values()} | set(self.aliases)
        return root.name not in moved | shared

    def _last_written(self, ct: Cotangents, stmt: Store, g: Expr) -> Expr:
        """An index that occurs twice in `y[k] = e` keeps only what was written last."""
        place = stmt.place
        if stmt.accumulate or not isinstance(place, Index) or not isinstance(place.base.type, Array):
            return g
        arrays = [
            (k, i) for k, i in enumerate(place.index)
            if not isinstance(i, Slice) and isinstance(i.type, Array) and i.type.dims
        ]  # fmt: skip
        masks = [i for _, i in arrays if isinstance(i.type, Array) and i.type.dtype == "bool"]
        if len(arrays) == len(masks):
            return g
        if masks:
            raise NotDifferentiableError(
                "a write through a mask beside index arrays is not supported", stmt.span,
                "An index may occur twice there. Use np.flatnonzero(mask) as an index array.",
            )  # fmt: skip
        places: Expr | None = None
        for position, index in arrays:
            size = build(ops.dim, place.base, literal(_axis(place.index, position)))
            counted = build(operator.mod, index, size)
            places = counted if places is None else build(operator.add, build(operator.mul, places, size), counted)
        assert places is not None and isinstance(places.type, Array)
        mask: Expr = Apply(last_of_each, (places,), Array("float64", places.type.dims, "C"))
        for _ in range(_axes_behind(place.index, len(place.base.type.dims))):
            mask = build(np.expand_dims, mask, axis=-1)
        return build(operator.mul, g, mask)

    def _taken(self, ct: Cotangents, primal: Expr, place: Expr) -> Expr:
        """Read the cotangent of a place before anything is added to it."""
        name = Var(self.namer.fresh(f"{noun(primal)}_bar"), place.type)
        value = place if isinstance(place.type, Scalar) else build(np.copy, place)
        ct.code.append(Assign(name, value, ct.span))
        return name

    def _root(self, name: str) -> str:
        return self.aliases[name].root if name in self.aliases else name

    def _reads_root(self, expr: Expr, name: str) -> bool:
        root = self._root(name)
        return any(self._root(n) == root for n in sources(expr))

    def _append(self, stmt: Append) -> list[Stmt]:
        if self._root(stmt.list.name) not in self.active:
            return []
        refuse_nested_list(stmt)
        ct = self._cotangents(stmt.span)
        bar = self.bar(stmt.list)
        g = Var(self.namer.fresh(f"{noun(stmt.value)}_bar"), stmt.value.type)
        ct.code.append(Assign(g, Apply(ops.pop, (bar,), stmt.value.type), stmt.span))
        ct.code.append(Effect(Apply(ops.pop, (stmt.list,), stmt.value.type), stmt.span))
        ct.push_all(stmt.value, g)
        return ct.code

    def _return(self, stmt: Return) -> list[Stmt]:
        ct = self._cotangents(stmt.span)
        seeds = iter(self.seeds)
        for value, on in zip(stmt.values, self.results_active, strict=True):
            if not on:
                continue
            g: Expr = literal(self.seed) if self.seed is not None else next(seeds)
            if isinstance(value, Var) and isinstance(value.type, ListOf):
                ct.code.append(self._added_in_place(self.bar(value), g, stmt.span))
            else:
                ct.push_all(value, g)
        return ct.code

    def _is_last_mention(self, name: str, stmt: Assign) -> bool:
        """Say whether a name made in the block of a statement is not mentioned after the statement."""
        made = self.layout.defs.get(name, ())
        if len(made) != 1 or self.layout.block_of[id(made[0])] != self.layout.block_of[id(stmt)]:
            return False
        order = list(statements(self.fn.body))
        behind = order[next(k for k, s in enumerate(order) if s is stmt) + 1 :]
        return not any(name in {*bound(s), *(n for e in exprs_of(s) for n in reads(e))} for s in behind)

    def _added_in_place(self, bar: Var, g: Expr, span: Span) -> Stmt:
        """Add to the adjoint of a list item by item: it may be the caller's own."""
        assert isinstance(bar.type, ListOf)
        assert bar.type.item is not None
        i = Var(self.namer.fresh("i"), Scalar("int64", True))
        length = Apply(ops.length, (bar,), Scalar("int64", True))
        places = [Index(whole, (i,), bar.type.item) for whole in (bar, g)]
        return For(i, literal(0), length, literal(1), (Store(places[0], "+", places[1], span),), span)

    def _call(self, stmt: CallStmt) -> list[Stmt]:
        """A callee's adjoint runs its own forward sweep again from the arguments before the call."""
        flow = self.facts.flow(stmt.callee)
        ct = self._cotangents(stmt.span)
        on = tuple(ct.is_active(a) and is_inexact(a.type) for a in stmt.args)
        if not any(on):
            return self._clear_targets(stmt, ct)
        results = tuple(
            t.name in self.active and any(on[i] for i in origin)
            for t, origin in zip(stmt.targets, flow.origins(stmt.targets, stmt.args), strict=True)
        )
        written = [i for i in flow.writes if on[i]]
        if not any(results) and not written:
            return self._clear_targets(stmt, ct)
        if stmt.fn is not None:
            ct.push_results(stmt, tuple(self.bar(t) if r else None for t, r in zip(stmt.targets, results, strict=True)))
            return [*ct.code, *self._clear_targets(stmt, self._cotangents(stmt.span))]
        name = self.callee_adjoint(stmt.callee, on, results)
        args: list[Expr] = list(stmt.args)
        args += [self.bar(t) for t, active in zip(stmt.targets, results, strict=True) if active]
        outs: list[tuple[Expr, Var]] = []
        for arg, active in zip(stmt.args, on, strict=True):
            if not active:
                continue
            if isinstance(arg.type, Array | ListOf):
                shadow = ct.shadow(arg)
                if shadow is None:
                    shadow = ct.name(build(np.zeros_like, arg), f"{noun(arg)}_bar")
                args.append(shadow)
            else:
                outs.append((arg, Var(self.namer.fresh(f"{noun(arg)}_bar"), arg.type)))
        ct.code.append(CallStmt(tuple(v for _, v in outs), name, tuple(args), stmt.span))
        for target, active in zip(stmt.targets, results, strict=True):
            if active and not self._is_local(target.name):
                ct.code.append(self._zero(target, self.bar(target), stmt.span))
        for arg, increment in outs:
            ct.push(arg, increment)
        return ct.code

    def _clear_targets(self, stmt: CallStmt, ct: Cotangents) -> list[Stmt]:
        for target in stmt.targets:
            if target.name in self.active and not self._is_local(target.name):
                ct.code.append(self._zero(target, self.bar(target), stmt.span))
        return ct.code

    def _all_slots(self) -> dict[Any, list[Slot]]:
        slots: dict[Any, list[Slot]] = {}
        held = Held(self.fn)
        order = {id(s): s for s in statements(self.fn.body)}
        for key, places in self.plan.overwrites.items():
            stmt = order[key]
            block = self.layout.block_of[key]
            for place in places:
                rebinds = isinstance(stmt, Assign | CallStmt) and isinstance(place, Var) and place.name in bound(stmt)
                reachable = key in self.plan.reachable
                there = _of_kind(place, held.before(stmt, place.name)) if isinstance(place, Var) else place
                if rebinds and isinstance(there, Var) and isinstance(there.type, Array):
                    there = Var(there.name, self._length_before(stmt, there, there.type))
                slots.setdefault(key, []).append(self.tapes.slot(there, stmt, block, rebinds, reachable))
        for block, targets in self.plan.taped.items():
            for target in targets:
                there = _of_kind(target, held.at_end(block, target.name))
                slots.setdefault(("end", block), []).append(self.tapes.slot(
                    there, self.layout.owner[block], block, not self._is_written_in_a_list(target),
                    (block, target.name) in self.plan.written_later,
                ))  # fmt: skip
        for key, made in self.reruns.items():
            state = [_of_kind(var, held.at_turn(made.loop, var.name)) for var in made.state]
            slots["state", key] = [self.tapes.of_turns(var, made.loop) for var in state]
            slots["flags", key] = [self.tapes.of_turns(name, made.loop) for name in made.flags]
        return slots

    def _length_before(self, stmt: Stmt, var: Var, new: Array) -> Array:
        """Return the type of the array that a name gives up: as it was read or bound last, in the same block."""
        every = [p for p in self.fn.params if p.name == var.name]
        every += [v for s in statements(self.fn.body) for v in _mentions(s, var.name)]
        shapes = {v.type.dims for v in every if isinstance(v.type, Array) and len(v.type.dims) == len(new.dims)}
        if len(shapes) < 2:
            return new
        block = next(b for b in _blocks(self.fn.body) if any(s is stmt for s in b))
        at = next(k for k, s in enumerate(block) if s is stmt)
        found = {v.type for e in exprs_of(stmt) for v in _reads_of(e, var.name)}
        for earlier in reversed(block[:at]):
            found = found or {v.type for s in statements((earlier,)) for v in _mentions(s, var.name)}
        kind = found.pop() if len(found) == 1 else None
        if isinstance(kind, Array):
            return kind
        dims = tuple(d if all(other[k] == d for other in shapes) else UNEVEN for k, d in enumerate(new.dims))
        return replace(new, dims=dims)

    def _is_written_in_a_list(self, target: Var) -> bool:
        """Say whether an array is written as an item of a list too, which the other sweep gets apart from it."""
        if not self.split or not isinstance(target.type, Array):
            return False
        lists = {s.list.name for s in statements(self.fn.body)
                 if isinstance(s, Append) and target.name in reads(s.value)}  # fmt: skip
        written = [root_of(s.place) for s in statements(self.fn.body) if isinstance(s, Store)]
        return any(root is not None and self._root(root.name) in lists for root in written)

    def _creations(self, loop: Stmt) -> list[Stmt]:
        shared = {id(slot) for made in self.reruns.values() for slot in self._shared_tapes(made.loop)}
        return [
            c for group in self.slots.values() for slot in group
            if slot.before is loop and id(slot) not in shared for c in slot.create
        ]  # fmt: skip

    def _shared_tapes(self, loop: For | While) -> list[Slot]:
        """The tapes inside a turn that is run again, as far as they can be made before the loop."""
        inside = {id(s) for s in statements(loop.body)}
        slots = [slot for group in self.slots.values() for slot in group if id(slot.before) in inside]
        return [slot for slot in slots if all(self.tapes.is_known_before(s, loop) for s in slot.create)]


def _reads_of(expr: Expr | Slice, name: str) -> Iterator[Var]:
    """Yield a name as an expression reads it."""
    yield from (part for part in subexpressions(expr) if isinstance(part, Var) and part.name == name)


def _mentions(stmt: Stmt, name: str) -> Iterator[Var]:
    """Yield a name as a statement reads and binds it."""
    for expr in exprs_of(stmt):
        yield from _reads_of(expr, name)
    yield from (var for var in targets_of(stmt) if var.name == name)


def _blocks(body: tuple[Stmt, ...]) -> Iterator[tuple[Stmt, ...]]:
    yield body
    for stmt in body:
        for block in blocks_of(stmt):
            yield from _blocks(block)


def refuse_nested_list(stmt: Append) -> None:
    """Raise where a list would hold lists: their adjoints would have no fixed shape."""
    if isinstance(stmt.value.type, ListOf):
        raise NotDifferentiableError(
            "a list of lists has no derivative", stmt.span, "Use a list of arrays, or one array of two dimensions."
        )


def _of_kind(var: Var, kind: Scalar | None) -> Var:
    """Return a name as it holds a number of a kind; None: it never holds one of another."""
    return var if kind is None else Var(var.name, kind)


def _zero_place(place: Expr) -> Expr:
    in_list = is_item(place)
    if isinstance(place, Var) or in_list:  # an item is cleared where it lies: names of the turn stand for it
        return Index(place, (Slice(None, None, None),), place.type)
    return place


def _is_real_and_plain(stmt: Store) -> bool:
    """Say whether real numbers in places that surely differ are changed by real ones."""
    kinds = (stmt.place.type, stmt.value.type)
    if not all(isinstance(kind, Scalar | Array) and not is_complex(kind) for kind in kinds):
        return False
    place = stmt.place
    return not isinstance(place, Index) or (isinstance(place.base.type, Array) and not is_advanced(place.index))


def _axis(index: tuple[Expr | Slice, ...], position: int) -> int:
    """Return the axis that an index item stands for."""
    return sum(not (isinstance(i, Const) and i.value is None) for i in index[:position])


def _axes_behind(index: tuple[Expr | Slice, ...], rank: int) -> int:
    """Return how many axes of the result follow those of the index arrays, which numbers may join."""
    advanced = [not isinstance(i, Slice) and not (isinstance(i, Const) and i.value is None) for i in index]
    first, last = advanced.index(True), len(advanced) - 1 - advanced[::-1].index(True)
    trailing = rank - _axis(index, len(index))
    apart = not all(advanced[first : last + 1])
    return trailing + (advanced.count(False) if apart else len(advanced) - 1 - last)


def _added_to(stmt: Store) -> list[tuple[Expr, str]] | None:
    """Return what a statement adds to an element, `x[i] += e` or `x[i] = x[i] + a - b`, with signs; else None."""
    if stmt.op in ("+", "-"):
        return [(stmt.value, stmt.op)]
    if stmt.op or not isinstance(stmt.place, Index) or not isinstance(stmt.place.type, Scalar):
        return None
    terms: list[tuple[Expr, str]] = []
    value = stmt.value
    while isinstance(value, Apply) and value.fn in (operator.add, operator.sub):
        first, second = value.args
        if value.fn is operator.add and second == stmt.place:
            return [*terms, (first, "+")]
        terms.append((second, "+" if value.fn is operator.add else "-"))
        if first == stmt.place:
            return terms[::-1]
        value = first
    return None


def _reads_many(expr: Expr, active: set[str]) -> bool:
    from s2sad.ir.walk import subexpressions

    found = [p for p in subexpressions(expr) if isinstance(p, Var) and p.name in active]
    return len(found) > 1


def of_any_length(kind: Array, dims: set[tuple[Dim, ...]]) -> Array:
    """Return the type of arrays that have one of several shapes."""
    apart = [len(set(lengths)) > 1 for lengths in zip(*dims, strict=True)]
    return replace(kind, dims=tuple(fresh_dim() if other else n for n, other in zip(kind.dims, apart, strict=True)))


def _is_empty(value: Expr) -> bool:
    """Say whether an array has no items, whatever the lengths of its type: it stands for one that comes later."""
    if not (isinstance(value, Apply) and value.fn is np.zeros):
        return False
    shape = value.args[0]
    lengths = shape.items if isinstance(shape, Pack) else (shape,)
    return any(isinstance(length, Const) and length.value == 0 for length in lengths)
