"""A tangent cut in two: `f_lin` runs the primal once and keeps what `f_push` needs for any tangent.

    def f_jvp(x, x_dot):                        def f_lin(x):
        s = np.sin(x)                               s = np.sin(x)
        return s * s, 2.0 * s * ...                 return s * s, 2.0 * s * np.cos(x)

                                                def f_push(residual, x_dot):
                                                    return residual * x_dot

Of a statement that computes a tangent, each largest part that reads no tangent is a *residual*: it is
computed with the primal and kept, outside loops in a name, inside them in an array indexed by the
loops' counters where the trip counts are known before, else in a list that is read in order. What
is cheap and still there (counters, elements of arrays that nobody writes) is computed again.
Source: Griewank and Walther, *Evaluating Derivatives*, 2nd edition, section 6.1, read forwards.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.liveness import Liveness
from s2sad.analysis.sharing import Groups
from s2sad.errors import NotDifferentiableError
from s2sad.frontend.infer import fresh_dim
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal, pack
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    Break,
    CallStmt,
    Const,
    Continue,
    Expr,
    For,
    Function,
    If,
    Index,
    Pack,
    Param,
    Return,
    Slice,
    Stmt,
    Store,
    Swap,
    Var,
    While,
)
from s2sad.ir.shapes import LIKE, SHAPES
from s2sad.ir.types import Array, ListOf, Scalar, Sym
from s2sad.ir.views import is_advanced, view_base
from s2sad.ir.walk import bound, children, exprs_of, map_children, names_in, reads, root_of, statements, subexpressions
from s2sad.runtime.lists import copy_list
from s2sad.transform.adjoint import placeholder
from s2sad.transform.naming import Namer, noun
from s2sad.transform.stepping import forwards

_CREATIONS: frozenset[Any] = SHAPES | {np.zeros, np.empty, np.ones}
_ARITHMETIC = frozenset({operator.add, operator.sub, operator.mul, operator.neg, operator.floordiv, operator.mod})
_COMPARISONS = frozenset({operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge})
_SMALL = 8  # nodes of a scalar expression that is computed again rather than kept
_COUNT = Scalar("int64", True)


@dataclass(frozen=True, slots=True)
class Linear:
    """The two halves of a tangent.

    Attributes:
        forward: `(*params) -> (*results, *residuals)`.
        push: `(*residuals, *dots) -> result dots`, linear in the dots.
        residuals: what is kept.
    """

    forward: Function
    push: Function
    residuals: tuple[Var, ...]


@dataclass(frozen=True, slots=True)
class _Site:
    """A place in both halves: the loops around it, and the statements of each half so far."""

    loops: tuple[Stmt, ...]
    forward: list[Stmt]
    push: list[Stmt]
    guard: tuple[Expr, bool] | None = None
    known: dict[Expr, Expr] = field(default_factory=dict[Expr, Expr])
    """How the push reads what was kept before and has not changed since."""
    outer: _Site | None = None
    """The place of the loop that this one is in."""


class NotSplitError(NotDifferentiableError):
    """A tangent whose halves cannot be told apart, such as that of a recursive function."""


def split(whole: Function, results: int, dots: int, facts: Facts) -> Linear:
    """Cut a tangent whose calls are inlined: `results` primal results come first, `dots` parameters last.

    Raises:
        NotSplitError: a call remains, or control flow depends on a tangent.
    """
    return _Split(whole, results, dots, facts).run()


@dataclass(slots=True)
class _Kept:
    """Residuals found so far, and what each half starts with."""

    variables: dict[str, Var] = field(default_factory=dict[str, Var])
    creations: list[Stmt] = field(default_factory=list[Stmt])
    lists: list[Stmt] = field(default_factory=list[Stmt])
    counters: list[Stmt] = field(default_factory=list[Stmt])


class _Split:
    def __init__(self, whole: Function, results: int, dots: int, facts: Facts) -> None:
        self.fn, self.results, self.facts = whole, results, facts
        count = len(whole.params) - dots
        self.primals, self.dot_params = whole.params[:count], whole.params[count:]
        self.namer = Namer(names_in(whole.body) | {p.name for p in whole.params})
        self.groups = Groups(whole, facts)
        self.moving = self._moving({p.name for p in self.dot_params})
        self.defs = self._definitions(whole.body, ())
        self.written = {
            self.groups.find(name) for s in statements(whole.body) for name in written_by(s, facts)
        }
        self.kept = _Kept()
        self.lengths: dict[Expr, Var] = {}
        self.seen: set[int] = set()
        """The statements, by identity, that come before the one that is looked at."""
        self.expanding = False

    # ---- what depends on the tangents ----

    def _moving(self, names: set[str]) -> set[str]:
        """Return the names whose values, or whose memory, depend on the dots."""
        groups = self.groups
        found = {groups.find(n) for n in names}
        while True:
            before = len(found)
            for stmt in statements(self.fn.body):
                match stmt:
                    case Assign(target, value) if self._depends(value, found):
                        found.add(groups.find(target.name))
                    case Append(target, value) if self._depends(value, found):
                        found.add(groups.find(target.name))
                    case Store(place, _, value) if self._depends(value, found):
                        root = root_of(place)
                        assert root is not None
                        found.add(groups.find(root.name))
                    case CallStmt(_, callee, args) if any(self._depends(a, found) for a in args):
                        raise NotSplitError(f"the tangent of `{callee}` cannot be cut in two", stmt.span)
                    case _:
                        pass
            if len(found) == before:
                return found

    def _depends(self, expr: Expr | Slice, found: set[str]) -> bool:
        if isinstance(expr, Var):
            return self.groups.find(expr.name) in found
        if isinstance(expr, Apply) and expr.fn in SHAPES and expr.fn is not np.full_like:
            return any(self._depends(a, found) for a in expr.args[1:])
        return any(self._depends(child, found) for child in children(expr))

    def moves(self, expr: Expr | Slice) -> bool:
        """Say whether a value depends on the tangents."""
        return self._depends(expr, self.moving)

    def _is_dot(self, name: str) -> bool:
        return self.groups.find(name) in self.moving

    def _definitions(self, body: tuple[Stmt, ...], loops: tuple[int, ...]) -> dict[str, list[tuple[Stmt, Any]]]:
        """Return for each name its bindings, each with the loops and branches around it."""
        found: dict[str, list[tuple[Stmt, Any]]] = {}
        for stmt in body:
            for name in bound(stmt):
                found.setdefault(name, []).append((stmt, loops))
            inside = (*loops, id(stmt))
            blocks = (stmt.body, stmt.orelse) if isinstance(stmt, If) else (
                (stmt.body,) if isinstance(stmt, For | While) else ()
            )  # fmt: skip
            for block in blocks:
                for name, made in self._definitions(block, inside).items():
                    found.setdefault(name, []).extend(made)
        return found

    # ---- running ----

    def run(self) -> Linear:
        body = self.fn.body
        assert body and isinstance(body[-1], Return)
        site = self._block(body[:-1], ())
        forward, push = site.forward, site.push
        values = body[-1].values
        if any(self._is_dot(n) for s in statements(tuple(forward)) for e in exprs_of(s) for n in reads(e)):
            raise NotSplitError("the primal asks for the shape of a tangent", self.fn.span)
        if any(self.moves(v) for v in values[: self.results]):
            raise NotSplitError("a primal value depends on a tangent", self.fn.span)
        dots = tuple(self._fresh(self._rewritten(v, site)) for v in values[self.results :])
        push_body = (*self.kept.counters, *push, Return(dots, self.fn.span))
        used = {n for s in statements(push_body) for e in exprs_of(s) for n in reads(e)}
        residuals = tuple(v for name, v in self.kept.variables.items() if name in used)
        lacking = {v.name: v for v in residuals if self._may_lack(v, forward)} | self._kept_unbound(forward)
        start = [Assign(v, placeholder(v.type), self.fn.span) for v in lacking.values()]
        shared = {self.groups.find(v.name) for v in residuals}
        tapes = {s.target.name for s in self.kept.lists if isinstance(s, Assign)}
        given = [_gathered(v) if v.name in tapes else v for v in residuals]
        outputs = (*(self._own(v, shared) for v in values[: self.results]), *given)
        kinds = tuple(o.type for o in outputs)
        first = Function(
            f"{self.fn.name}_lin", self.primals, (*start, *self.kept.lists, *forward, Return(outputs, self.fn.span)),
            kinds, "", self.fn.span,
        )  # fmt: skip
        params = (*(Param(v.name, g.type) for v, g in zip(residuals, given, strict=True)), *self.dot_params)
        second = Function(
            f"{self.fn.name}_push", params, push_body, tuple(d.type for d in dots), "", self.fn.span
        )
        return Linear(first, second, residuals)

    def _fresh(self, value: Expr) -> Expr:
        """A result never shares memory with a residual, which serves many calls."""
        base = view_base(value)
        return build(np.copy, value) if base is not None and not self._is_dot(base.name) else value

    def _own(self, value: Expr, shared: set[str]) -> Expr:
        """A result is the caller's, who may change it: it shares no memory with a residual."""
        base = view_base(value)
        return build(np.copy, value) if base is not None and self.groups.find(base.name) in shared else value

    def _may_lack(self, var: Var, forward: list[Stmt]) -> bool:
        surely = {p.name for p in self.primals} | {n for s in self.kept.lists for n in bound(s)}
        for stmt in forward:
            surely.update(bound(stmt) if not isinstance(stmt, For) else ())
        return var.name not in surely

    def _kept_unbound(self, forward: list[Stmt]) -> dict[str, Var]:
        """Return the names that are kept in each turn, though a turn that does not read them may not bind them."""
        tapes = {s.target.name for s in (*self.kept.lists, *self.kept.creations) if isinstance(s, Assign)}
        values = [
            s.value for s in statements(tuple(forward))
            if (isinstance(s, Append) and s.list.name in tapes)
            or (isinstance(s, Store) and (root := root_of(s.place)) is not None and root.name in tapes)
        ]  # fmt: skip
        kept = {v.name: v for value in values for v in subexpressions(value) if isinstance(v, Var)}
        early = Liveness(tuple(forward)).inside(If(literal(True), tuple(forward))) - {p.name for p in self.primals}
        return {name: v for name, v in kept.items() if name in early - tapes and isinstance(v.type, Array | Scalar)}

    def _block(self, body: tuple[Stmt, ...], loops: tuple[Stmt, ...], outer: _Site | None = None) -> _Site:
        site = _Site(loops, [], [], outer=outer)
        for stmt in body:
            match stmt:
                case If():
                    self._branch(stmt, site)
                case For() | While():
                    self._loop(stmt, site)
                case Break() | Continue():
                    site.forward.append(stmt)
                    site.push.append(stmt)
                case _ if self._is_linear(stmt):
                    site.push.append(self._linear(stmt, site))
                case _:
                    site.forward.append(stmt)
            self._forget(stmt, site)
            self.seen.add(id(stmt))
        return site

    def _forget(self, stmt: Stmt, site: _Site) -> None:
        """What was kept of names that a statement changes is no longer their value."""
        changed = {n for s in statements((stmt,)) for n in (*bound(s), *written_by(s, self.facts))}
        groups = self.groups.of(changed)
        for expr in [e for e in site.known if reads(e) & changed or self.groups.read(e) & groups]:
            del site.known[expr]

    def _is_linear(self, stmt: Stmt) -> bool:
        match stmt:
            case Assign(target) | Append(target):
                return self._is_dot(target.name)
            case Store(place):
                root = root_of(place)
                return root is not None and self._is_dot(root.name)
            case Swap(first):
                return self._is_dot(first.name)
            case _:
                return False

    def _linear(self, stmt: Stmt, site: _Site) -> Stmt:
        match stmt:
            case Assign(target, value):
                made = self._rewritten(value, site)
                written = self.groups.find(target.name) in self.written
                base = view_base(made)
                if written and base is not None and not self._is_dot(base.name):
                    made = build(np.copy, made)
                return replace(stmt, value=made)
            case Append(_, value):
                return replace(stmt, value=self._rewritten(value, site))
            case Store(place, _, value):
                return replace(stmt, place=self._rewritten(place, site), value=self._rewritten(value, site))
            case _:
                return stmt

    def _alternative(self, body: tuple[Stmt, ...], site: _Site) -> Any:
        """Cut one side of a branch; the lengths that its loops are given in front of them are no other's."""
        before = dict(self.lengths)
        made = self._block(body, site.loops, site.outer)
        self.lengths = self.lengths if site.loops else before
        return made

    def _branch(self, stmt: If, site: _Site) -> None:
        if self.moves(stmt.test):
            raise NotSplitError("a branch depends on a tangent", stmt.span)
        body, orelse = (self._alternative(b, site) for b in (stmt.body, stmt.orelse))
        made = replace(stmt, body=tuple(body.forward), orelse=tuple(orelse.forward))
        if body.push or orelse.push:
            test = self._rewritten(stmt.test, site)
            site.push.append(If(test, tuple(body.push), tuple(orelse.push), stmt.span))
        site.forward.append(made)

    def _loop(self, stmt: For | While, site: _Site) -> None:
        inner = self._block(stmt.body, (*site.loops, stmt), site)
        linear = any(self._is_linear(s) for s in statements(stmt.body))
        if not site.loops:
            site.forward.extend(self.kept.creations)
            self.kept.creations.clear()
        if not linear:
            site.forward.append(replace(stmt, body=tuple(inner.forward)))
        elif isinstance(stmt, For):
            bounds = [self._rewritten(e, site) for e in (stmt.start, stmt.stop, stmt.step)]
            site.push.append(For(stmt.var, bounds[0], bounds[1], bounds[2], tuple(inner.push), stmt.span))
            site.forward.append(replace(stmt, body=tuple(inner.forward)))
        else:
            count = Var(self.namer.fresh("count"), _COUNT)
            tick = Assign(count, build(operator.add, count, literal(1)), stmt.span)
            site.forward.append(Assign(count, literal(0), stmt.span))
            site.forward.append(replace(stmt, body=(tick, *inner.forward)))
            turn = Var(self.namer.fresh("turn"), _COUNT)
            stop = self._kept(count, site)
            site.push.append(For(turn, literal(0), stop, literal(1), tuple(inner.push), stmt.span))

    # ---- residuals ----

    def _rewritten(self, expr: Any, site: _Site) -> Any:
        """Return an expression of the push, its parts without tangents replaced by residuals."""
        match expr:
            case Const():
                return expr
            case Slice(lower, upper, step):
                parts = (lower, upper, step)
                return Slice(*(None if part is None else self._rewritten(part, site) for part in parts))
            case Var(name) if self._is_dot(name):
                return expr
            case Apply(ops.new_list, ()):
                return expr
            case Apply(fn, (test, then, other), kind) if fn is ops.ifexp and self.moves(expr):
                given = self._rewritten(test, site)
                sides = [
                    self._rewritten(side, replace(site, guard=(test, taken)))
                    for side, taken in ((then, True), (other, False))
                ]
                return Apply(fn, (given, *sides), kind)
            case _ if self._reads_dot(expr):
                return map_children(expr, lambda child: self._rewritten(child, site))
            case _:
                return self._residual(expr, site)

    def _reads_dot(self, expr: Expr) -> bool:
        return isinstance(expr, Pack) or any(self._is_dot(name) for name in reads(expr))

    def _residual(self, expr: Expr, site: _Site) -> Expr:
        again = self._again(expr, site.loops)
        if again is not None:
            return again
        if isinstance(expr, Apply) and expr.fn in LIKE and isinstance(expr.args[0], Var):
            return self._like(expr, expr.args[0], site)
        if isinstance(expr, Apply) and expr.fn in _CREATIONS and isinstance(expr.type, Array | ListOf):
            return map_children(expr, lambda child: self._rewritten(child, site))
        return self._kept(expr, site)

    def _like(self, expr: Apply, base: Var, site: _Site) -> Expr:
        """Make an array of the shape of another, of which only the lengths are kept."""
        again = self._again(base, site.loops)
        kind = base.type
        if again is not None or not isinstance(kind, Array) or not isinstance(expr.type, Array) or kind.layout == "A":
            return map_children(expr, lambda child: self._rewritten(child, site))
        lengths = [self._residual(build(ops.dim, base, literal(axis)), site) for axis in range(len(kind.dims))]
        if expr.type.layout == "F" and len(lengths) > 1:  # views of it are views as those of the other
            made = self._by_lengths(expr, replace(expr.type, dims=expr.type.dims[::-1], layout="C"), lengths[::-1])
            return Apply(ops.transpose, (made,), expr.type)
        return self._by_lengths(expr, expr.type, lengths)

    def _by_lengths(self, expr: Apply, kind: Array, lengths: list[Expr]) -> Expr:
        shape: Expr = lengths[0] if len(lengths) == 1 else pack("tuple", lengths)
        static = () if kind.dtype == "float64" else (("dtype", np.dtype(kind.dtype).type),)
        return Apply(LIKE[expr.fn], (shape,), kind, static)

    def _again(self, expr: Any, loops: tuple[Stmt, ...]) -> Any:
        """Return an expression that gives the value again cheaply in the push, or None."""
        match expr:
            case Const():
                return expr
            case Var():
                return self._name_again(expr, loops)
            case Index(base, index) if not is_advanced(index):
                parts = [self._again(part, loops) for part in (base, *index)]
                return None if None in parts else Index(parts[0], tuple(parts[1:]), expr.type)
            case Slice(lower, upper, step):
                given = [None if part is None else self._again(part, loops) for part in (lower, upper, step)]
                lost = any(g is None and p is not None for g, p in zip(given, (lower, upper, step), strict=True))
                return None if lost else Slice(*given)
            case Apply(fn, (Var() as base, *_)) if fn in (ops.dim, ops.size) and self._again(base, loops) is None:
                return self._length(expr, base) if loops else None
            case Apply(fn, args) if _cheap(expr):
                parts = [self._again(a, loops) for a in args]
                return None if None in parts else Apply(fn, tuple(parts), expr.type, expr.static)
            case _:
                return None

    def _name_again(self, var: Var, loops: tuple[Stmt, ...]) -> Expr | None:
        """Counters are there again; what is bound once and never written is kept as it is."""
        made = self.defs.get(var.name, [])
        own = [loop for loop in loops if isinstance(loop, For) and loop.var.name == var.name]
        if own:
            return None if any(id(own[-1]) in around for _, around in made) else var
        param = any(p.name == var.name for p in self.primals)
        written = isinstance(var.type, Array | ListOf) and self.groups.find(var.name) in self.written
        if len(made) + param != 1 and isinstance(var.type, Scalar) and not self.expanding:
            return self._made_here(made, loops)
        if len(made) + param != 1 or written:
            return None
        if param or not made[0][1]:
            self.kept.variables.setdefault(var.name, var)
            return var
        stmt, around = made[0]
        inside = {id(loop) for loop in loops}
        if isinstance(stmt, Assign) and isinstance(stmt.value, Index | Apply) and set(around) <= inside:
            return self._expanded(stmt.value, loops)
        return None

    def _expanded(self, value: Expr, loops: tuple[Stmt, ...]) -> Expr | None:
        """Give again what a name was set to: the names in that meant then what they mean now only if bound once."""
        outer, self.expanding = self.expanding, True
        try:
            return self._again(value, loops)
        finally:
            self.expanding = outer

    def _made_here(self, made: list[tuple[Stmt, Any]], loops: tuple[Stmt, ...]) -> Expr | None:
        """Give again a number that these loops bind once, before it is read, and others besides them."""
        own = [one for one in made if loops and one[1][:1] == (id(loops[0]),)]
        if len(own) != 1 or id(own[0][0]) not in self.seen:
            return None
        stmt, around = own[0]
        if not isinstance(stmt, Assign) or not set(around) <= {id(loop) for loop in loops}:
            return None
        return self._expanded(stmt.value, loops) if isinstance(stmt.value, Index | Apply) else None

    def _length(self, expr: Apply, base: Var) -> Expr | None:
        """Keep a length of an array that is written but never bound again, before the loops around."""
        made = self.defs.get(base.name, [])
        if any(p.name == base.name for p in self.primals) == bool(made) or any(at for _, at in made):
            return None
        if expr not in self.lengths:
            name = Var(self.namer.fresh(f"{base.name}_size"), _COUNT)
            self.lengths[expr] = self.kept.variables[name.name] = name
            self.kept.creations.append(Assign(name, expr, self.fn.span))
        return self.lengths[expr]

    def _kept(self, expr: Expr, site: _Site) -> Expr:
        """Keep a value: in a name, an array or a list; return how the push reads it."""
        while site.outer is not None and site.guard is None and self._stays(expr, site.loops[-1]):
            site = site.outer
        if site.guard is None:
            if expr not in site.known:
                site.known[expr] = self._kept_anew(expr, site)
            return site.known[expr]
        return self._kept_anew(expr, site)

    def _stays(self, expr: Expr, loop: Stmt) -> bool:
        """Say whether a number has been there since before a loop, and is kept in front of it."""
        if not isinstance(expr, Var) or not isinstance(expr.type, Scalar):
            return False
        known = any(id(stmt) in self.seen for stmt, _ in self.defs.get(expr.name, []))
        return known and not any(expr.name in bound(s) for s in statements((loop,)))

    def _kept_anew(self, expr: Expr, site: _Site) -> Expr:
        base = view_base(expr)
        shared = base is not None and self.groups.find(base.name) in self.written
        value = build(np.copy, expr) if shared and isinstance(expr.type, Array) else expr
        if shared and isinstance(expr.type, ListOf):
            value = Apply(copy_list, (expr,), expr.type)
        if site.guard is not None and isinstance(value.type, Scalar):
            test, taken = site.guard
            sides = (value, placeholder(value.type)) if taken else (placeholder(value.type), value)
            value = Apply(ops.ifexp, (test, *sides), value.type)
        kind = _forgotten(value.type)
        if not site.loops:
            name = Var(self.namer.fresh(noun(expr)), kind)
            self.kept.variables[name.name] = name
            site.forward.append(Assign(name, value, self.fn.span))
            return name
        hint = f"{noun(expr)}_tape"
        counts = self._counts(site.loops) if isinstance(kind, Scalar) else None
        return self._in_array(hint, value, counts, site) if counts else self._in_list(hint, value, site)

    def _in_array(self, hint: str, value: Expr, counts: list[Expr], site: _Site) -> Expr:
        """Keep a number of a nest of loops in an array with one axis for each loop."""
        assert isinstance(value.type, Scalar)
        dims = tuple(Sym(self.namer.fresh("turns")) for _ in counts)
        tape = Var(self.namer.fresh(hint), Array(value.type.dtype, dims, "C"))
        dtype = value.type.dtype
        static = () if dtype == "float64" else (("dtype", np.dtype(dtype).type),)
        shape: Expr = counts[0] if len(counts) == 1 else pack("tuple", counts)
        self.kept.creations.append(Assign(tape, Apply(np.empty, (shape,), tape.type, static), self.fn.span))
        self.kept.variables[tape.name] = tape
        loops = [loop for loop in site.loops if isinstance(loop, For)]
        place = Index(tape, tuple(_turn(loop) for loop in loops), Scalar(dtype))
        site.forward.append(Store(place, "", value, self.fn.span))
        known = [
            replace(loop, start=self._again(loop.start, site.loops), step=self._again(loop.step, site.loops))
            for loop in loops
        ]
        return Index(tape, tuple(_turn(loop) for loop in known), Scalar(dtype))

    def _in_list(self, hint: str, value: Expr, site: _Site) -> Expr:
        """Keep a value in a list; the push reads it in the same order."""
        kind = _forgotten(value.type)
        tape = Var(self.namer.fresh(hint), ListOf(kind))
        self.kept.lists.append(Assign(tape, Apply(ops.new_list, (), tape.type), self.fn.span))
        self.kept.variables[tape.name] = tape
        site.forward.append(Append(tape, value, self.fn.span))
        at = Var(self.namer.fresh("position"), _COUNT)
        self.kept.counters.append(Assign(at, literal(0), self.fn.span))
        name = Var(self.namer.fresh(hint.removesuffix("_tape")), kind)
        read = Var(tape.name, _gathered(tape).type)
        site.push.append(Assign(name, Index(read, (at,), kind), self.fn.span))
        site.push.append(Assign(at, build(operator.add, at, literal(1)), self.fn.span))
        return name

    def _counts(self, loops: tuple[Stmt, ...]) -> list[Expr] | None:
        """Return the trip counts of a nest of loops, if all are known before it starts."""
        counts: list[Expr] = []
        for loop in loops:
            if not isinstance(loop, For):
                return None
            start, stop, step = (self._again(e, loops[:1]) for e in (loop.start, loop.stop, loop.step))
            own = {loop.var.name for loop in loops if isinstance(loop, For)}
            if start is None or stop is None or step is None or any(own & reads(b) for b in (start, stop, step)):
                return None
            known = replace(loop, start=start, stop=stop, step=step, body=())
            counts.append(self._count(forwards(known) or known))
        return counts

    def _count(self, loop: For) -> Expr:
        """Return the trip count of a loop, as short as it can be written."""
        bounds = (loop.start, loop.stop, loop.step)
        known = [b.value for b in bounds if isinstance(b, Const) and isinstance(b.value, int)]
        if len(known) == 3:
            return literal(len(range(*known)))
        step = _is(loop.step, 1)
        if step and _is(loop.start, 0) and self._is_length(loop.stop):
            return loop.stop
        given = bounds[1:2] if step and _is(loop.start, 0) else bounds[:2] if step else bounds
        return Apply(ops.length, (Apply(range, given, _COUNT),), _COUNT)

    def _is_length(self, expr: Expr) -> bool:
        """Say whether an expression is the length of an array, or a name for one, and so never below zero."""
        if isinstance(expr, Apply):
            return expr.fn in (ops.dim, ops.size, ops.length)
        made = self.defs.get(expr.name, []) if isinstance(expr, Var) else []
        return len(made) == 1 and isinstance(stmt := made[0][0], Assign) and self._is_length(stmt.value)


def _gathered(tape: Var) -> Expr:
    """Return a list of numbers as an array, which is cheaper to pass on."""
    kind = tape.type.item if isinstance(tape.type, ListOf) else None
    if not isinstance(kind, Scalar):
        return tape
    static = () if kind.dtype == "float64" else (("dtype", np.dtype(kind.dtype).type),)
    return Apply(np.array, (tape,), Array(kind.dtype, (fresh_dim(),), "C"), static)


def _cheap(expr: Apply) -> bool:
    """Say whether a value is computed again rather than kept."""
    if expr.fn in (ops.dim, ops.size, ops.length, ops.transpose):
        return True
    scalar = isinstance(expr.type, Scalar) and expr.fn in _ARITHMETIC
    if expr.fn in _COMPARISONS:
        scalar = all(isinstance(a.type, Scalar) and "int" in a.type.dtype for a in expr.args)
    return scalar and sum(1 for _ in subexpressions(expr)) <= _SMALL


def _turn(loop: For) -> Expr:
    """Return an index that differs between the iterations of a loop, below its trip count."""
    turn: Expr = loop.var
    if _is(loop.step, -1):  # down to zero: the counter itself
        return turn if _is(loop.stop, -1) else build(operator.sub, loop.start, turn)
    if not _is(loop.start, 0):
        turn = build(operator.sub, turn, loop.start)
    return turn if _is(loop.step, 1) else build(operator.floordiv, turn, loop.step)


def _is(expr: Expr, value: int) -> bool:
    return isinstance(expr, Const) and expr.value == value


def _forgotten(kind: Any) -> Any:
    """A kept number may be any number: its known value is forgotten."""
    return Scalar(kind.dtype, kind.weak) if isinstance(kind, Scalar) else kind
