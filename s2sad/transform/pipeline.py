"""The way from a function's instance to the program of its derivative, pass by pass."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from s2sad.analysis import alias
from s2sad.analysis.facts import Facts
from s2sad.errors import AliasError, NotDifferentiableError, RuleError, Span, UnsupportedSyntaxError
from s2sad.frontend.functions import instantiate
from s2sad.frontend.lowerer import BottomReached, Context, Instance
from s2sad.frontend.rulecalls import rule_span, title
from s2sad.frontend.source import source_of
from s2sad.ir.nodes import CallStmt, Expr, For, Function, Return, Stmt, Var, While
from s2sad.ir.types import Array, ListOf, Scalar, Struct, Type, is_inexact, leaf_types
from s2sad.ir.walk import exprs_of, map_blocks, reads, statements
from s2sad.transform.adjoint import Sweeps, sweeps
from s2sad.transform.adjoint_statements import CalleeAdjoint
from s2sad.transform.cancelled import without_cancelled
from s2sad.transform.decisions import Decisions
from s2sad.transform.entry import arguments_kept, bound_apart, parameters_kept, ranks_apart, with_own_arguments
from s2sad.transform.inlined import inlined, recursive
from s2sad.transform.joint_calls import has_joint_calls, with_joint_calls
from s2sad.transform.linear import split
from s2sad.transform.list_copies import without_list_copies
from s2sad.transform.named import with_named_results
from s2sad.transform.naming import Namer
from s2sad.transform.one_recursion import OneRecursion, one_recursion
from s2sad.transform.recursion import Halves, begun, halves, joint, lighter, sharing
from s2sad.transform.ruled import ruled_adjoint, ruled_tangent, ruled_value, transposed
from s2sad.transform.ruled_as_is import runs_as_is, transposed_as_is
from s2sad.transform.structure import structured
from s2sad.transform.tangent import tangent
from s2sad.transform.tidy import tidy
from s2sad.transform.together import (
    halved,
    headline,
    joined,
    names_of,
    private_copies,
    residuals_of,
    taken_in,
    to_be_called,
    without_empty_sweep,
)
from s2sad.transform.unmoved import unmoved
from s2sad.transform.unnested import with_flat_params, with_flat_results
from s2sad.transform.versions import calling, version, versions
from s2sad.transform.views_written_out import with_views_written_out
from s2sad.transform.written_out import written_out

MODES = (
    "primal", "jvp", "tangent", "vjp", "pullback", "grad", "value_and_grad", "fwd", "bwd", "lin", "push",
    "hoist", "pull",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Derived:
    """A program whose entry is the derivative asked for."""

    entry: str
    functions: dict[str, Function]
    instance: Instance
    residuals: int = 0
    sources: dict[str, Function] = field(default_factory=dict[str, Function])
    """The primal functions, by name."""
    decisions: dict[str, Decisions] = field(default_factory=dict[str, Decisions])
    """By primal function, what its adjoint saves and why: for reports."""
    prepared: dict[str, Function] = field(default_factory=dict[str, Function])
    """By derivative, the function that it is the derivative of, its names as they stand in the derivative."""


class Deriver:
    """Derives functions of one program, each once per activity of its arguments."""

    def __init__(self, ctx: Context, last: bool = False) -> None:
        """Work on the functions of `ctx`; `last`: what is derived will not be differentiated again."""
        self.ctx, self.last = ctx, last
        own = {name: _prepared(fn) for name, fn in ctx.functions().items()}
        self.versions = versions(own)
        self.functions: dict[str, Function] = {name: calling(fn, self.versions) for name, fn in own.items()}
        self.rules: dict[str, Instance] = {i.name: i for i in ctx.instances.values() if i.rule is not None}
        self.facts = Facts(self.functions, frozenset(self.rules))
        for name, fn in list(self.functions.items()):
            if (made := without_cancelled(fn, self.facts)) is not fn:
                self.functions[name] = made
                self.facts.forget(name)
        self.adjoints: dict[Any, str] = {}
        self.tangents: dict[Any, str] = {}
        self.transposing: frozenset[str] = frozenset()
        """The functions whose tangent rules are being transposed."""
        self.inside: frozenset[str] = frozenset()
        """The functions whose tangents are being written."""
        self.undefined: dict[str, tuple[Instance, tuple[bool, ...]]] = {}
        """Names of tangents that a reverse-mode rule does not give; they may stand where nothing reads them."""
        self.wholes: dict[str, Function] = {}
        """By function, what reverse mode differentiates: its helpers written out where that serves."""
        self.recursions: dict[Any, Halves | OneRecursion | None] = {}
        """By function and activity, the sweeps of what calls itself."""
        self.values: dict[str, str] = {}
        """By function with a rule, what gives the result that the rule says."""
        self.joint: dict[str, tuple[str, Halves | OneRecursion]] = {}
        """By name, the functions that run both sweeps, and what of."""
        self.plain: dict[str, tuple[str, tuple[bool, ...], tuple[bool, ...]]] = {}
        """By name, the adjoints of functions that may give their values too, and what of."""
        self.both: dict[str, str] = {}
        """By adjoint, the function that gives the values too."""
        self.finished: dict[str, Function] = {}
        self.decisions: dict[str, Decisions] = {}
        self.prepared: dict[str, Function] = {}

    def _tidy(
        self, fn: Function, keep: frozenset[str] = frozenset(), outputs: frozenset[str] = frozenset(),
        silent: bool = False, together: bool = True,
    ) -> Function:  # fmt: skip
        return tidy(fn, self.facts, keep, outputs, silent, together, marks=not self.last)

    # ---- reverse ----

    def callee_adjoint(self, callee: str, on: tuple[bool, ...], results: tuple[bool, ...]) -> str:
        """Return the name of the adjoint of a callee that adds into the adjoints of its arrays."""
        by_rule = callee in self.rules and callee not in self.transposing
        transposing = self.transposing and self.transposing.intersection(self.facts.reached(callee))
        key = (callee, on, results, transposing)
        if key in self.adjoints:
            return self.adjoints[key]
        apart = None if by_rule else self._recursion(callee, on, results)
        name = self.ctx.unique(f"{callee}_adjoint" if apart else f"{callee}_bwd")
        self.adjoints[key] = name
        if by_rule:
            return self._ruled_adjoint(callee, name, on, results)
        if apart is not None:
            self.functions[name] = joint(name, self._whole(callee), apart)
            self.joint[name] = callee, apart
            self.facts.adjoint_of[name] = callee
            return name
        if self._may_be_joint(callee):
            self.facts.adjoint_of[name] = callee
            self.plain[name] = callee, on, results
        self._write_adjoint(callee, name, on, results, False)
        return name

    def _write_adjoint(
        self, callee: str, name: str, on: tuple[bool, ...], results: tuple[bool, ...], values: bool
    ) -> None:
        """Add the adjoint of a function to the program; with `values`, it gives the function's results before its own.

        The adjoints of arrays come last among its parameters, and are added to.
        """
        fn = self._whole(callee)
        wrt = tuple(i for i, active in enumerate(on) if active)
        self._announce_adjoint(name, fn, wrt, results)
        own = parameters_kept(fn, wrt, self.facts)
        made = sweeps(
            own, wrt, self.facts, self.callee_adjoint, False, results, wants_values=values, device=self.ctx.device
        )
        made = self._sharing(made)
        self.decisions.setdefault(callee, made.decisions)
        self.prepared[name] = made.primal
        whole = to_be_called(made, name, callee, values)
        whole = replace(whole, body=self._by_rules(whole.body))
        shared = frozenset(s.name for s in made.bars if isinstance(s, Var) and isinstance(s.type, Array | ListOf))
        whole = self._tidy(whole, names_of(made.primal), shared, silent=True, together=not self.ctx.device)
        self.functions[name] = self._with_joint_calls(whole)
        self.facts.forget(name)

    def _may_be_joint(self, callee: str) -> bool:
        """Say whether a function and its adjoint may be one call.

        It has loops, writes nothing, raises nothing, and returns no lists, which its adjoint takes apart.
        """
        if any(isinstance(kind, ListOf) for kind in self.functions[callee].results):
            return False
        loops = (s for name in self.facts.reached(callee) for s in statements(self.functions[name].body))
        return (
            not self.ctx.device and any(isinstance(s, For | While) for s in loops)
            and not self.facts.writes(callee) and not self.facts.has_effects(callee)
        )  # fmt: skip

    def _announce(self, name: str, fn: Function, adjoints: set[int]) -> None:
        """Let a derivative of `fn` be called before it is written; `adjoints`: those of its parameters it writes."""
        self.functions[name] = Function(name, fn.params, (), (), "", fn.span)
        self.facts.declared[name] = self.facts.writes(fn.name) | adjoints

    def _announce_adjoint(self, name: str, fn: Function, wrt: tuple[int, ...], results: tuple[bool, ...]) -> None:
        """Let an adjoint be called that is given the adjoints of arrays last, and adds to what `fn` only reads."""
        shared = [i for i in wrt if isinstance(fn.params[i].type, Array | ListOf)]
        at = dict(enumerate(shared, len(fn.params) + sum(results)))
        self._announce(name, fn, set(at))
        self.facts.adds[name] = frozenset(k for k, i in at.items() if i not in self.facts.writes(fn.name))

    def _recursion(
        self, callee: str, on: tuple[bool, ...], results: tuple[bool, ...]
    ) -> Halves | OneRecursion | None:  # fmt: skip
        """Return the sweeps of a function that calls itself as one recursion, or as two; None if it is neither."""
        key = (callee, on, results)
        if key in self.recursions:
            return self.recursions[key]
        self.recursions[key] = None  # while it is being made
        fn = arguments_kept(self._whole(callee))
        called = {s.callee for s in statements(fn.body) if isinstance(s, CallStmt) and s.fn is None}
        through_others = any(callee in self.facts.reached(name) for name in called - {callee})
        if callee not in called or through_others or self.ctx.device or self.facts.writes(callee):
            return None
        if not self.last or callee in self.ctx.run_again:  # tapes that a function is given are not undone
            return None
        wrt = tuple(i for i, active in enumerate(on) if active)
        down, back = self.ctx.unique(f"{callee}_fwd"), self.ctx.unique(f"{callee}_bwd")
        self._announce_adjoint(back, fn, wrt, results)
        self.facts.adjoint_of[back] = callee

        def adjoint_of(name: str, moving: tuple[bool, ...], given: tuple[bool, ...]) -> str:
            return back if (name, moving, given) == key else self.callee_adjoint(name, moving, given)

        try:
            if (one := self._as_one(fn, wrt, results, back, adjoint_of)) is not None:
                self.recursions[key] = one
                return one
            made = sweeps(fn, wrt, self.facts, adjoint_of, False, results, split=True, stacks=True)
            apart = halves(fn, made, (down, back), wrt, residuals_of(made), self.facts)
        except AliasError:  # only between two functions; as one, they may share memory
            return None
        finally:
            del self.functions[back]
            self.facts.forget(back)
        if apart is None:
            return None
        self.decisions.setdefault(callee, replace(made.decisions, pushed=apart.pushed))
        self._adopt_halves(apart, made, len(fn.params))
        tidied = replace(apart, forward=self.functions[down], backward=self.functions[back])
        if (apart := lighter(tidied)) is not tidied:
            self._adopt_halves(apart, made, len(fn.params))
            apart = replace(apart, forward=self.functions[down], backward=self.functions[back])
        self.recursions[key] = apart
        return apart

    def _as_one(
        self, fn: Function, wrt: tuple[int, ...], results: tuple[bool, ...], back: str, adjoint_of: CalleeAdjoint
    ) -> OneRecursion | None:
        """Return both sweeps of a function that calls itself as one recursion, added to the program, if they can be."""
        made = sweeps(fn, wrt, self.facts, adjoint_of, False, results)
        name = self.ctx.unique(f"{fn.name}_fwd_bwd")
        self._announce_adjoint(name, fn, wrt, results)
        one = one_recursion(fn, made, name, back, wrt, self.facts)
        if one is None:
            del self.functions[name]
        else:
            self.functions[name] = one.function
            self.prepared[name] = made.primal
            self.decisions.setdefault(fn.name, made.decisions)
        self.facts.forget(name)
        return one

    def _adopt_halves(self, apart: Halves, made: Sweeps, own: int) -> None:
        """Add two recursions to the program, tidied; each writes into what follows its `own` parameters."""
        parts = {fn.name: fn for fn in (apart.forward, apart.backward)}
        self.functions |= parts
        self.prepared |= dict.fromkeys(parts, made.primal)
        for name in parts:
            self.facts.forget(name)
        for name, part in parts.items():
            filled = frozenset(p.name for p in part.params[own:])
            self.functions[name] = self._tidy(part, names_of(made.primal), filled, silent=True)
            self.facts.forget(name)

    def _sharing(self, made: Sweeps) -> Sweeps:
        """Return sweeps in which what calls itself is run once for its value and its adjoint."""
        for name, (callee, apart) in self.joint.items():
            if isinstance(apart, Halves) and not self.facts.has_effects(callee):  # which the halves leave out
                made = sharing(made, callee, name, apart)
        return made

    def _with_joint_calls(self, fn: Function) -> Function:
        """Return a derivative that calls functions once for their values and their adjoints, where it can."""
        for name, (callee, one) in self.joint.items():
            if isinstance(one, OneRecursion) and not self.facts.has_effects(callee):
                fn = with_joint_calls(fn, callee, name, one.function.name, self.facts)
        for name, (callee, on, results) in list(self.plain.items()):
            if has_joint_calls(fn, callee, name):
                both = self.both.get(name) or self.ctx.unique(f"{callee}_fwd_bwd")
                if name not in self.both:
                    self.both[name] = both
                    self._write_adjoint(callee, both, on, results, True)
                fn = with_joint_calls(fn, callee, name, both, self.facts)
        return fn

    def _writing_apart(self, instance: Instance, made: Function) -> Function:
        """Return the code of a rule that writes into copies of what it is given."""
        assert instance.function is not None
        return with_own_arguments(made, len(instance.function.params), self.facts)

    def _ruled_adjoint(self, callee: str, name: str, on: tuple[bool, ...], results: tuple[bool, ...]) -> str:
        """A user's rule in reverse: `fwd` and `bwd`, or the transpose of the tangent rule."""
        instance = self.rules[callee]
        self._require_no_writes(instance)
        linear = self.ctx.unique(f"{callee}_dot") if instance.rule.jvp is not None else ""
        if instance.rule.fwd is not None or instance.rule.makers is not None:
            made = ruled_adjoint(self.ctx, instance, name, on, results)
        elif runs_as_is(tangent_rule := ruled_tangent(self.ctx, instance, linear, on, True)):
            made = transposed_as_is(instance, name, on, results, runs_as_is(tangent_rule))
        else:
            self._adopt()
            self.functions[linear] = tangent_rule = self._writing_apart(instance, tangent_rule)
            self._require_moved(instance, tangent_rule, on)
            assert instance.function is not None
            mask = (*(False for _ in instance.function.params), *(True for active in on if active))
            assert instance.result is not None
            kinds = leaf_types(instance.result)
            moved = tuple(r for r, kind in zip(results, kinds, strict=True) if is_inexact(kind))
            with self._transposing(instance):
                inner = self.callee_adjoint(linear, mask, moved)
            self._require_linear(instance, inner, tangent_rule, mask)
            made = transposed(instance, name, inner, on, results)
        self._adopt()
        made = self._writing_apart(instance, made)
        shared = frozenset(p.name for p in made.params if isinstance(p.type, Array | ListOf))
        self.functions[name] = self._tidy(made, frozenset(), shared)
        self.facts.forget(name)
        return name

    def _by_rules(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Take results of functions with rules from the rules, in a derivative that is differentiated again."""
        if self.last or not self.rules:
            return body

        def by_rule(stmt: Stmt) -> Stmt:
            if isinstance(stmt, CallStmt) and stmt.fn is None and stmt.callee in self.rules:
                return replace(stmt, callee=self._value_by_rule(stmt.callee))
            return map_blocks(stmt, self._by_rules)

        return tuple(by_rule(stmt) for stmt in body)

    def _value_by_rule(self, callee: str) -> str:
        """Return the function that gives what the rule of another says that its result is, or that other one."""
        if callee in self.transposing:
            return callee
        if callee not in self.values:
            name = self.ctx.unique(f"{callee}_value")
            made = ruled_value(self.ctx, self.rules[callee], name)
            self._adopt()
            self.values[callee] = callee if made is None else name
            if made is not None:
                self.functions[name] = self._tidy(self._writing_apart(self.rules[callee], made))
                self.facts.forget(name)
        return self.values[callee]

    @contextmanager
    def _transposing(self, instance: Instance) -> Generator[None, None, None]:
        """A rule that calls its own function of the tangents says that it is linear: its own body is transposed."""
        around = self.transposing
        same = (name for name, other in self.rules.items() if other.rule.fun is instance.rule.fun)  # for other types
        self.transposing = around | frozenset(same)
        try:
            yield
        finally:
            self.transposing = around

    def _require_no_writes(self, instance: Instance) -> None:
        """A rule says what becomes of results; what a function writes into its arguments is no result."""
        for at in sorted(self.facts.writes(instance.name)):
            assert instance.function is not None
            raise RuleError(
                f"`{instance.name}` has a rule, which says nothing of what it writes into "
                f"`{instance.function.params[at].name}`",
                instance.function.span, "Let it copy the array first, and return what it has written.",
            )  # fmt: skip

    def _require_moved(self, instance: Instance, tangent_rule: Function, on: tuple[bool, ...]) -> None:
        """A tangent that stays where the others are zero is none, or a slope that was not multiplied."""
        assert instance.result is not None
        tangents = sum(is_inexact(kind) for kind in leaf_types(instance.result))
        wrong = "" if runs_as_is(tangent_rule) else unmoved(tangent_rule, sum(on), tangents, self.facts)
        if wrong:
            raise RuleError(
                f"the tangent that the rule of `{title(instance)}` gives {wrong}",
                rule_span(instance, instance.rule.jvp),
                "Multiply the derivative by the tangent, as in `np.cos(x) * x_dot`. A tangent that is zero is None.",
            )  # fmt: skip

    def _require_linear(self, instance: Instance, adjoint: str, tangent_rule: Function, mask: tuple[bool, ...]) -> None:
        """A tangent rule is transposed: it must be linear in the tangents, and so not ask for their values."""
        given = {p.name for p, active in zip(tangent_rule.params, mask, strict=True) if active}
        fn = self.functions[adjoint]
        if any(p.name in given and self._asks_for(adjoint, at) for at, p in enumerate(fn.params)):
            raise RuleError(
                f"the tangent rule of `{title(instance)}` is not linear in the tangents, so that it has no transpose",
                rule_span(instance, instance.rule.jvp),
                "Let each tangent appear once in a product, or give a rule with `defvjp`.",
            )  # fmt: skip

    def _asks_for(self, name: str, at: int, within: frozenset[str] = frozenset()) -> bool:
        """Say whether a function, or one that it calls, reads the value of a parameter and not its shape only."""
        fn = self.functions[name]
        param = fn.params[at]
        if isinstance(param.type, Array):
            return self.facts.depends_on_content(name, at)
        for stmt in statements(fn.body):
            passed = isinstance(stmt, CallStmt) and stmt.fn is None and stmt.callee not in within
            for place, expr in enumerate(exprs_of(stmt)):
                if param.name not in reads(expr):
                    continue
                if not (passed and isinstance(expr, Var) and isinstance(stmt, CallStmt)):
                    return True
                if self._asks_for(stmt.callee, place, within | {name}):
                    return True
        return False

    def _adopt(self) -> None:
        """Take in the functions that a rule's lowering has added to the program."""
        for name, fn in self.ctx.functions().items():
            if name not in self.functions:
                self.functions[name] = bound_apart(with_views_written_out(fn))
        self.rules.update({i.name: i for i in self.ctx.instances.values() if i.rule is not None})
        self.facts.opaque = frozenset(self.rules)

    def reverse(self, instance: Instance, mode: str, wrt: tuple[int, ...], aux: bool) -> Derived:
        """Return the program of a reverse-mode derivative."""
        fn = self._whole(instance.name, self._main(instance))
        seed = 1.0 if mode in ("grad", "value_and_grad") else None
        active = tuple(is_inexact(k) for k in fn.results)
        if aux and isinstance(instance.result, Struct):
            main = len(leaf_types(instance.result.items[0]))
            active = tuple(on and i < main for i, on in enumerate(active))
        split = mode in ("fwd", "bwd")
        wanted = mode not in ("grad", "pullback")
        on = tuple(i in wrt for i in range(len(fn.params)))
        again = version(fn, self.functions)
        if not split and not self.facts.has_effects(fn.name) and (apart := self._recursion(again, on, active)):
            name = self.ctx.unique(f"{instance.name}_{mode}")
            self.prepared[name] = fn
            told = self.decisions.pop(again)
            self.decisions = {fn.name: replace(told, primal=replace(told.primal, name=fn.name)), **self.decisions}
            return self._done(name, begun(name, fn, apart, seed, wanted, headline(instance, mode, wrt)), instance)
        made = sweeps(fn, wrt, self.facts, self.callee_adjoint, True, active, seed, split, wanted)
        self.decisions[fn.name] = made.decisions
        base = instance.name
        if split:
            return self._split(instance, made, mode)
        made = self._sharing(made)
        name = self.ctx.unique(f"{base}_{mode}")
        self.prepared[name] = made.primal
        whole, kept = joined(made, name, headline(instance, mode, wrt), wanted, self.facts)
        whole = replace(whole, body=self._by_rules(whole.body))
        return self._done(name, self._with_joint_calls(self._tidy(whole, kept)), instance)

    def _split(self, instance: Instance, made: Sweeps, mode: str) -> Derived:
        """Put each sweep in a function of its own: `fwd` gives what `bwd` still needs after the results."""
        name = self.ctx.unique(f"{instance.name}_{mode}")
        self.prepared[name] = made.primal
        backward = mode == "bwd"
        whole, count = halved(made, name, instance.name, backward, self.facts)
        whole = replace(whole, body=self._by_rules(whole.body))
        whole, count = _between(self._tidy(whole, names_of(made.primal)), count, backward)
        return self._done(name, whole, instance, count)

    # ---- forward ----

    def forward(
        self, instance: Instance, wrt: tuple[int, ...], moving: int | None = None, mode: str = "jvp"
    ) -> Derived:
        """Return the program of a forward-mode derivative: "jvp" with the value, "tangent" without."""
        fn = self._main(instance)
        alias.check(fn, self.facts, only_unsure=True)
        self.inside = frozenset({instance.name})
        name = self.ctx.unique(f"{instance.name}_{mode}")
        self.prepared[name] = fn
        whole = tangent(fn, name, wrt, self.facts, self.callee_tangent)
        whole = _without_dots(whole, len(fn.results), moving)
        if mode == "tangent":
            whole = _with_results(whole, slice(len(fn.results), None))
        body = (*private_copies(whole, self.facts), *whole.body)
        whole = replace(whole, body=body, doc=headline(instance, mode, wrt))
        return self._done(name, self._tidy(whole, names_of(fn)), instance)

    def callee_tangent(self, callee: str, on: tuple[bool, ...]) -> str:
        """Return the name of the tangent of a callee, given which arguments carry a tangent."""
        key = (callee, on)
        if key not in self.tangents:
            name = self.ctx.unique(f"{callee}_jvp")
            self.tangents[key] = name
            self.facts.origins[name] = callee
            if callee in self.rules and self.inside & self.ctx.reversed_names:
                half = self._forward_half(self.rules[callee])
                if half is not None:
                    self.undefined[name] = self.rules[callee], on  # for `fwd` may call the function itself
                    self._announce(name, self.functions[half], set())
                    self.tangents[key] = self.callee_tangent(half, on)
                    return self.tangents[key]
            if callee in self.rules:
                self._require_no_writes(self.rules[callee])
                self.functions[name] = made = ruled_tangent(self.ctx, self.rules[callee], name, on, False)
                self._adopt()
                self._require_moved(self.rules[callee], made, on)
                self.functions[name] = self._tidy(self._writing_apart(self.rules[callee], made))
                self.facts.forget(name)
                return name
            fn = self.functions[callee]
            self.prepared[name] = fn
            wrt = tuple(i for i, active in enumerate(on) if active)
            self._announce(name, fn, {len(fn.params) + wrt.index(i) for i in self.facts.writes(callee) if i in wrt})
            around, self.inside = self.inside, self.inside | {callee}
            made = tangent(fn, name, wrt, self.facts, self.callee_tangent)
            self.inside = around
            outputs = frozenset(p.name for p in made.params if isinstance(p.type, Array | ListOf))
            self.functions[name] = self._tidy(made, names_of(fn), outputs)
            self.facts.forget(name)
        return self.tangents[key]

    def _forward_half(self, ruled: Instance) -> str | None:
        """Return the name of a function that gives what a rule's `fwd` gives, without its residuals.

        In a derivative by reverse mode that is what a function with a reverse rule only stands for, as in JAX:
        so it can be differentiated again in forward mode, and a Hessian is forward over reverse.
        """
        rule, fn = ruled.rule, ruled.function
        if rule.jvp is not None or rule.fwd is None or rule.keywords or rule.variadic >= 0 or fn is None:
            return None
        name = f"{ruled.name}_forward"
        if name not in self.functions:
            try:
                made = instantiate(self.ctx, rule.fwd, ruled.types, fn.span)
            except UnsupportedSyntaxError:  # it runs as it is
                return None
            if made.function is None or made.captured or ruled.captured:
                return None
            targets = tuple(Var(f"part_{k}", kind) for k, kind in enumerate(made.function.results))
            call = CallStmt(targets, made.name, tuple(Var(p.name, p.type) for p in fn.params), fn.span)
            values: tuple[Expr, ...] = targets[: len(fn.results)]
            self._adopt()
            self.functions[name] = replace(fn, name=name, body=(call, Return(values, fn.span)))
        return name

    def linear(self, instance: Instance, mode: str, wrt: tuple[int, ...], moving: int | None) -> Derived:
        """Return one half of the tangent: "lin" runs the primal and keeps, "push" takes tangents."""
        fn = self._main(instance)
        alias.check(fn, self.facts, only_unsure=True)
        fn = structured(fn, Namer(taken_in(fn)))
        self.inside = frozenset({instance.name})
        whole = tangent(fn, instance.name, wrt, self.facts, self.callee_tangent)
        whole = replace(whole, body=(*private_copies(fn, self.facts), *whole.body))
        whole = _without_dots(whole, len(fn.results), moving)
        return self._cut(instance, whole, mode, len(fn.results), len(wrt), names_of(fn))

    def hoisted(self, instance: Instance, mode: str, wrt: tuple[int, ...], aux: bool) -> Derived:
        """Return one half of the adjoint sweep: "hoist" does what needs no cotangent, "pull" the rest."""
        made = self.reverse(instance, "bwd", wrt, aux)
        fn = made.functions[made.entry]
        return self._cut(instance, fn, mode, 0, len(fn.params) - made.residuals, names_of(self._whole(instance.name)))

    def _cut(
        self, instance: Instance, whole: Function, mode: str, results: int, dots: int, kept: frozenset[str]
    ) -> Derived:
        alone = not any(isinstance(s, CallStmt) and s.fn is None for s in statements(whole.body))
        before = self._main(instance) if alone else whole  # of helpers' names, which are whose is not known
        whole = inlined(whole, self._defined, Namer(taken_in(whole)))
        halves = split(self._tidy(whole, kept), results, dots, self.facts)
        half = halves.forward if mode in ("lin", "hoist") else halves.push
        name = self.ctx.unique(f"{instance.name}_{mode}")
        base = instance.name
        doc = {
            "lin": f"`{base}` and what its tangent needs of it.",
            "push": f"The tangent of `{base}` from what `{base}_lin` kept.",
            "hoist": f"What the adjoint sweep of `{base}` does before it needs a cotangent.",
            "pull": f"The adjoint sweep of `{base}` from what `{base}_hoist` kept.",
        }[mode]
        half = replace(half, name=name, doc=doc, body=(*private_copies(half, self.facts), *half.body))
        self.finished.clear()
        self.prepared[name] = before
        whole, count = _between(self._tidy(half, kept), len(halves.residuals), mode in ("push", "pull"))
        return self._done(name, whole, instance, count)

    # ---- primal ----

    def primal(self, instance: Instance) -> Derived:
        """Return the program of the function itself."""
        return self._done(instance.name, self._main(instance), instance)

    def _main(self, instance: Instance) -> Function:
        assert instance.function is not None
        fn = calling(_named(instance.function), self.versions)
        return ranks_apart(without_cancelled(fn, self.facts))

    def _done(self, name: str, fn: Function, instance: Instance, residuals: int = 0) -> Derived:
        fn = without_empty_sweep(fn)
        self.functions[name] = fn
        order: dict[str, Function] = {}
        self._collect(name, order)
        sources = dict(self.ctx.functions())
        return Derived(name, order, instance, residuals, sources, self.decisions, {**sources, **self.prepared})

    def _whole(self, name: str, own: Function | None = None) -> Function:
        """Return a function, `own` where it is given, with its helpers written out where that serves reverse mode."""
        if name not in self.wholes:
            fn = self.wholes[name] = own or self.functions[name]
            called = {s.callee for s in statements(fn.body) if isinstance(s, CallStmt) and s.fn is None}
            if called and not self.ctx.device:
                called -= self.ctx.run_again
                fit = {c: self._whole(c) for c in sorted(called) if not recursive(c, self.functions.__getitem__)}
                self.wholes[name] = written_out(fn, fit, self.facts)
        return self.wholes[name]

    def _defined(self, name: str) -> Function:
        """Return a function of the program; raises ReverseOnlyError for a tangent that there is none of."""
        if name in self.undefined:
            instance, on = self.undefined[name]
            return ruled_tangent(self.ctx, instance, name, on, False)
        return self.functions[name]

    def _collect(self, name: str, order: dict[str, Function]) -> None:
        """Gather what the entry calls, callees first."""
        if name in order or name in self.finished:
            return
        self.finished[name] = self._defined(name)
        for stmt in statements(self.functions[name].body):
            if isinstance(stmt, CallStmt) and stmt.fn is None:
                self._collect(stmt.callee, order)
        order[name] = self.functions[name]


def _prepared(fn: Function) -> Function:
    return bound_apart(_named(fn))


def _named(fn: Function) -> Function:
    return with_views_written_out(with_named_results(without_list_copies(fn)))


def derive_program(
    fun: Any, mode: str, types: tuple[Type, ...], wrt: tuple[int, ...], aux: bool = False, ctx: Context | None = None,
    last: bool = False,
) -> Derived:  # fmt: skip
    """Return the program of the derivative of `fun` for these argument types.

    `last`: it is not differentiated again.
    """
    ctx = ctx or Context()
    try:
        with ctx.blamed():
            instance = instantiate(ctx, fun, types, Span("<call>", 0, 0, 0, 0, getattr(fun, "__name__", "")))
    except BottomReached as error:
        source = source_of(getattr(fun, "fun", fun))
        raise UnsupportedSyntaxError(
            f"the recursion of `{source.name}` gives no type for its result",
            source.span(source.node),
            "Let one path return without a recursive call, and stand before the others.",
        ) from error
    with ctx.blamed():
        return derive_instance(ctx, instance, mode, wrt, aux, last)


def derive_instance(
    ctx: Context, instance: Instance, mode: str, wrt: tuple[int, ...], aux: bool = False, last: bool = False
) -> Derived:
    """Return the program of the derivative of a function of the program; `last`: it is not differentiated again."""
    deriver = Deriver(ctx, last)
    if mode == "primal":
        return deriver.primal(instance)
    assert instance.function is not None
    if mode not in ("jvp", "tangent") and any(isinstance(kind, ListOf) for kind in instance.function.results):
        raise NotDifferentiableError(
            "a list of unknown length is returned, which has no cotangent", instance.function.span,
            "Return an array: `np.array(items)`.",
        )  # fmt: skip
    for i in wrt:
        param = instance.function.params[i]
        if not is_inexact(param.type):
            raise NotDifferentiableError(f"argument `{param.name}` is not a real or complex number")
    if mode in ("jvp", "tangent"):
        return deriver.forward(instance, wrt, _differentiated_results(instance, aux), mode)
    if mode in ("lin", "push"):
        return deriver.linear(instance, mode, wrt, _differentiated_results(instance, aux))
    if mode in ("hoist", "pull"):
        return _remembered(ctx, deriver.hoisted(instance, mode, wrt, aux))
    return _remembered(ctx, deriver.reverse(instance, mode, wrt, aux))


def _remembered(ctx: Context, made: Derived) -> Derived:
    """Note which functions are derivatives in reverse mode: what they call with a rule went through it."""
    ctx.reversed_names |= made.functions.keys() - ctx.functions().keys()
    return made


def _differentiated_results(instance: Instance, aux: bool) -> int | None:
    """Return how many results are differentiated where others are only passed on; None for all."""
    if not aux or not isinstance(instance.result, Struct):
        return None
    return sum(is_inexact(kind) for kind in leaf_types(instance.result.items[0]))


def _between(fn: Function, count: int, second: bool) -> tuple[Function, int]:
    """Return a sweep with what goes between the sweeps as Python can hand it on, and how many values that is."""
    return with_flat_params(fn, count) if second else with_flat_results(fn, count)


def _without_dots(fn: Function, results: int, moving: int | None) -> Function:
    """Return a tangent with only the first of its result tangents."""
    if moving is None:
        return fn
    return _with_results(fn, slice(results + moving))


def _with_results(fn: Function, which: slice) -> Function:
    """Return a function with some of its results."""

    def each(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(
            replace(s, values=s.values[which]) if isinstance(s, Return) else map_blocks(s, each) for s in body
        )

    return replace(fn, body=each(fn.body), results=fn.results[which])


__all__ = ["Derived", "Deriver", "Scalar", "derive_program"]
