"""The adjoint of a function: a forward sweep that saves, then the statements in reverse.

Statement by statement: `y[i] = e` reverses to *read, zero, accumulate*; an overwritten value that
a partial reads was saved and is put back; a view's shadow is the same view of its root's shadow.
Source: Griewank and Walther, *Evaluating Derivatives*, 2nd edition, chapters 3, 4 and 6.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from s2sad.analysis.alias import view_base
from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.layout import TOP, Block
from s2sad.analysis.loops import popped_from
from s2sad.analysis.needed import unneeded
from s2sad.analysis.pure import is_pure
from s2sad.analysis.rerun import Rerun, can_run_again, decisions, rerun, rounds
from s2sad.analysis.saved import Plan, SavedValues
from s2sad.analysis.weighed import pays
from s2sad.errors import Span, UnsupportedSyntaxError
from s2sad.frontend.operators import build, negate
from s2sad.frontend.values import literal, pack
from s2sad.ir import ops
from s2sad.ir.device import is_barrier
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    Break,
    CallStmt,
    Comment,
    Const,
    Effect,
    Expr,
    For,
    Function,
    If,
    Index,
    Param,
    Return,
    Slice,
    Stmt,
    Store,
    Swap,
    Var,
    While,
)
from s2sad.ir.types import Array, Dim, ListOf, Scalar, Type, surely_as_long
from s2sad.ir.walk import exchanged, exchanged_in, exprs_of, map_blocks, names_in, reads, root_of, statements, targets
from s2sad.transform.adjoint_statements import CalleeAdjoint, Statements, of_any_length
from s2sad.transform.agreeing import Agreement
from s2sad.transform.algebra import zero, zero_list
from s2sad.transform.cotangents import Cotangents
from s2sad.transform.dead import AGAIN, escaping
from s2sad.transform.dear import Result, dear_results
from s2sad.transform.decisions import Decisions
from s2sad.transform.expanded import expanded
from s2sad.transform.stepping import reversed_range
from s2sad.transform.stored import stored_results
from s2sad.transform.structure import values_of
from s2sad.transform.tapes import Tapes, copied


@dataclass(frozen=True, slots=True)
class Sweeps:
    """The two halves of an adjoint, from which the emitted functions are put together."""

    primal: Function
    """The prepared primal: structured, every web named."""
    forward: tuple[Stmt, ...]
    reverse: tuple[Stmt, ...]
    values: tuple[Expr, ...]
    seeds: tuple[Var, ...]
    """The adjoint of each active result, a parameter of the reverse sweep."""
    bars: tuple[Expr, ...]
    """The adjoints of the differentiated parameters, in their order."""
    decisions: Decisions
    """What was found active and what is saved: for reports, not for the transform."""


def sweeps(
    fn: Function, wrt: tuple[int, ...], facts: Facts, callee_adjoint: CalleeAdjoint,
    own_bars: bool, active_results: tuple[bool, ...] | None = None, seed: float | None = None,
    split: bool = False, wants_values: bool = True, device: bool = False, stacks: bool = False,
) -> Sweeps:  # fmt: skip
    """Return the forward and reverse sweeps of `fn` for the parameters at positions `wrt`.

    `own_bars`: array adjoints start at zero here; otherwise they are parameters, added to.
    `seed`: the cotangent of a scalar result when it is known, else the results' adjoints are parameters.
    `wants_values`: the results are returned too; else the forward sweep only serves the reverse one.
    `split`: the sweeps will be functions of their own, so that the reverse binds its views itself.
    `device`: for a thread of a GPU: nothing is allocated at run time, and array arguments end as they began.
    `stacks`: the sweeps of a recursive function: tapes of loops that call it again are shared by all its calls.
    """
    def attempt(
        fn: Function, saved: frozenset[Span], reversed_: frozenset[Span], kept: frozenset[Result],
        again: frozenset[Span], turns: frozenset[Span],
    ) -> _Adjoint:  # fmt: skip
        return _Adjoint(
            fn, wrt, facts, callee_adjoint, own_bars, active_results, seed, split, wants_values, device, saved,
            reversed_, stacks, kept, again, turns,
        )  # fmt: skip

    again: frozenset[Span] = frozenset()
    made, work = _settled(fn, attempt)
    if divisions := work.quotients_saved():
        other, lighter = _settled(fn, attempt, divisions)
        if lighter.weight() < work.weight():
            made, work, again = other, lighter, divisions
    if not (device or stacks) and (turns := work.turns_worth_running_again()):
        loops, decided = turns
        try:
            return _settled(fn, attempt, again, loops, work.saved | decided)[0]
        except _NotRunAgain:
            return made
    return made


def _settled(
    fn: Function, attempt: Callable[..., _Adjoint], again: frozenset[Span] = frozenset(),
    turns: frozenset[Span] = frozenset(), saved: frozenset[Span] = frozenset(),
) -> tuple[Sweeps, _Adjoint]:  # fmt: skip
    """Return the sweeps once it is known what is saved, what is reversed for that, and what is kept for being dear."""
    reversed_: frozenset[Span] = frozenset()
    kept: frozenset[Result] = frozenset()
    original = fn
    while True:
        work = attempt(fn, saved, reversed_, kept, again, turns)
        try:
            made = work.run()
        except _ControlNeeded as found:
            saved, reversed_ = saved | found.saved, reversed_ | found.reversed_
            continue
        wide = expanded(fn, work.overwritten(), work.facts) if fn is original and not work.device else None
        if wide is not None:
            fn, kept = wide, frozenset()
            continue
        dear = frozenset[Result]() if work.device else work.dear()
        if dear <= kept:
            return made, work
        kept |= dear


class _NotRunAgain(Exception):
    """A loop cannot have its turns run again after all."""


class _ControlNeeded(Exception):
    """What was decided to be saved changes which control flow the reverse sweep has to follow.

    `saved`: branches that must save which way they went; `reversed_`: branches and loops that carry
    no derivative, but restore what they overwrote, so that they must be followed in reverse.
    """

    def __init__(self, saved: set[Span], reversed_: set[Span]) -> None:
        self.saved, self.reversed_ = frozenset(saved), frozenset(reversed_)


class _Adjoint(Statements):
    def run(self) -> Sweeps:
        loops = [s for s in self.fn.body if isinstance(s, For | While) and s.span in self.turns]
        self.layout.again.update(id(loop) for loop in loops)
        self._write_adjoints(self.fn.body)
        for stmt in self.named.together(self.adjoint_code):
            self.results_read[id(stmt)] = None
        if not self.device:
            known = self.layout, self.aliases, self.facts, self.namer
            self.results_read |= stored_results(self.fn, self.adjoint_code, *known)
        needs = dict(self.adjoint_code)
        self._control_needs(self.fn.body, needs)
        names = names_in(self.fn.body) | {p.name for p in self.fn.params}
        self.openings = {block: self._shadows(block) for block in (TOP, *self.layout.parent)}
        results = frozenset(self.results_read)
        self.left_out = unneeded(
            self.fn, self.adjoint_code, self.after_loop, self.facts,
            values_of(self.fn) if self.wants_values else (), self.silent,
            [s for code in self.openings.values() for s in code], results,
        )  # fmt: skip
        self.reruns = self._reruns(loops)
        self.left_out_first = self._left_out_first()
        for made in self.reruns.values():
            inside = {id(s) for s in statements(made.loop.body)}
            self.left_out = (self.left_out - inside) | made.left_out
        saved = SavedValues(
            self.fn, needs, self.aliases, self.facts, self.layout, names, self.after_loop, self.openings,
            self.left_out, self._kept_arguments(), self.prepared.flags | self.named.names, results,
            frozenset(key for key, made in self.results_read.items() if made is not None), self.reruns,
            self.prepared.taken_back(),
        )  # fmt: skip
        self.plan: Plan = saved.run()
        self.newer = self._name_newer()
        self.undone_first = {id(one.update) for some in self.plan.early.values() for one in some}
        self.reading = saved.reading
        self._check_control()
        self._ensure_shapes()
        self.tapes = Tapes(self.layout, self.prepared, self.namer, self.device, self.stacks)
        self.slots = self._all_slots()
        self._check_additions()
        asked = () if self.silent or self.device else self.fn.params
        self.agreement = Agreement(Var(p.name, p.type) for p in asked if p.name not in self.layout.defs)
        body = self.fn.body
        self.agreement.note(s for stmt in body for s in self.adjoint_code.get(id(stmt), ()))
        values = values_of(self.fn)
        last = body[-1] if body and isinstance(body[-1], Return) else None
        forward = self._forward(body[:-1] if values or last else body, TOP)
        if last is not None and not self.wants_values:
            forward += self.agreement.checks(last)
        reverse = self._reverse(body, TOP)
        bars = tuple(self._result_bar(i) for i in self.wrt)
        decisions = Decisions(
            self.fn, frozenset(self.inputs), self.results_active, frozenset(self.active), self.facts,
            self.plan, self.slots, self.reading, self.layout, self.named.names,
        )  # fmt: skip
        return Sweeps(self.fn, tuple(forward), tuple(reverse), values, self.seeds, bars, decisions)

    def _reruns(self, loops: list[For | While]) -> dict[int, Rerun]:
        """Return what it takes to run the turns of the loops again; start anew if one of them cannot be."""
        found: dict[int, Rerun] = {}
        for loop in loops:
            made = rerun(loop, self)
            if made is None:
                raise _NotRunAgain
            found[id(loop)] = made
        return found

    def _left_out_first(self) -> set[int]:
        """Return what the first run of all leaves out: of a turn that is run again, it needs the state alone."""
        if not self.reruns:
            return self.left_out
        inside = {id(s) for made in self.reruns.values() for s in statements(made.loop.body)}
        blocks = [b for b in self.openings if not any((key, 0) in self.layout.chain(b) for key in self.reruns)]
        after = dict(self.after_loop)
        for key, made in self.reruns.items():
            needed = [Effect(name) for name in (*made.state, *made.flags, *made.reads)]
            after[key] = [*after.get(key, []), *needed, *(Effect(build(np.zeros_like, name)) for name in made.works)]
        return unneeded(
            self.fn, {key: code for key, code in self.adjoint_code.items() if key not in inside}, after, self.facts,
            values_of(self.fn) if self.wants_values else (), self.silent,
            [s for block in blocks for s in self.openings[block]],
            frozenset(key for key in self.results_read if key not in inside),
        )  # fmt: skip

    def turns_worth_running_again(self) -> tuple[frozenset[Span], frozenset[Span]] | None:
        """Return the loops whose turns are better run again than kept, and the decisions in them."""
        loops: set[Span] = set()
        inner: set[Span] = set()
        for loop in self.fn.body:
            if not isinstance(loop, For | While) or not any(self.adjoint_code.get(id(s)) for s in statements((loop,))):
                continue
            if can_run_again(loop, self) and pays(loop, self.plan, self):
                loops.add(loop.span)
                inner |= {s.span for s in decisions(loop, self)}
        return (frozenset(loops), frozenset(inner)) if loops else None

    def dear(self) -> frozenset[Result]:
        """Return the calls whose results are better kept than computed again."""
        return dear_results(self.fn, self.adjoint_code, self.plan, self.layout, self.facts)

    def overwritten(self) -> set[str]:
        """Return the arrays of which single items are saved before they are overwritten."""
        places = [place for saved in self.plan.overwrites.values() for place in saved]
        return {p.base.name for p in places if isinstance(p, Index) and isinstance(p.base, Var)}

    def quotients_saved(self) -> frozenset[Span]:
        """Return the divisions whose results are read where they are, in arrays of which something is saved."""
        held = {root.name for places in self.plan.overwrites.values() for p in places if (root := root_of(p))}
        return frozenset(span for name in held for span in self.quotients.get(name, ()))

    def weight(self) -> int:
        """Return how much is saved: places, a thousand times as many for each loop around them."""
        own = self.layout.block_of
        blocks = [own[id(s)] for s in statements(self.fn.body) for _ in self.plan.overwrites.get(id(s), ())]
        blocks += [block for block, names in self.plan.taped.items() for _ in names]
        return sum(1000 ** len(self.layout.loops(block)) for block in blocks)

    def _check_additions(self) -> None:
        """What threads add together cannot be brought back: each would have seen another older value."""
        for stmt in statements(self.fn.body):
            if self.device and isinstance(stmt, Store) and stmt.accumulate and self.slots.get(id(stmt)):
                raise UnsupportedSyntaxError(
                    "threads add to this element together, and its older value is needed by the adjoint", stmt.span,
                    "Add into an array of its own, set to zero beforehand.",
                )  # fmt: skip

    def _check_control(self) -> None:
        """Begin again if the reverse sweep follows control flow that was not prepared for it.

        What restores a value must be reached as often, and on the same paths, as what saved it. A condition
        that both sweeps evaluate must not decide that: contracted to fused operations, or with `exp` of
        several elements at once, in one sweep only, `a*b > c` may come out differently in the other.
        """
        saved: set[Span] = set()
        reversed_: set[Span] = set()
        for stmt in statements(self.fn.body):
            if not isinstance(stmt, If | For | While):
                continue
            inside = [s for s in statements((stmt,)) if s is not stmt]
            restores = any(
                isinstance(s, Swap) or self.plan.overwrites.get(id(s)) or id(s) in self.plan.undone for s in inside
            )
            if restores and not self._active_inside(stmt):
                reversed_.add(stmt.span)
            counts = any(self.prepared.counts.get(id(s)) for s in inside)
            told = isinstance(stmt, If) and (isinstance(stmt.test, Var) or id(stmt) in self.prepared.exits)
            if isinstance(stmt, If) and not told and rounds(stmt.test):
                if restores or counts:
                    saved.add(stmt.span)
        if saved - self.saved or reversed_ - self.reversed_:
            raise _ControlNeeded(saved, reversed_)

    def _kept_arguments(self) -> frozenset[str]:
        """Return the arguments that the reverse sweep leaves as the forward one found them."""
        arrays = [p.name for p in self.fn.params if isinstance(p.type, Array)]
        return frozenset(arrays) if self.device else frozenset()

    def _ensure_shapes(self) -> None:
        """An array that only some paths make must exist on the others, for its adjoint's shape."""
        params = {p.name for p in self.fn.params}
        for block, code in self.openings.items():
            for stmt in code:
                value = stmt.value if isinstance(stmt, Assign) else None
                if not (isinstance(value, Apply) and value.args and isinstance(value.args[0], Var)):
                    continue
                name = value.args[0]
                if not isinstance(name.type, Array | ListOf):
                    continue  # made by its lengths
                made = self.layout.defs.get(name.name, ())
                if name.name in params or any(self.layout.block_of[id(d)] == block for d in made):
                    continue
                missing = self.plan.undefined.setdefault(block, [])
                if made and all(v.name != name.name for v in missing):
                    missing.append(name)

    def _control_needs(self, body: tuple[Stmt, ...], needs: dict[int, list[Stmt]]) -> None:
        """Tests, bounds and trip counts are read by the reverse of their statement."""
        for stmt in statements(body):
            match stmt:
                case If(test) if self._active_inside(stmt):
                    way_out = self.prepared.exits.get(id(stmt))
                    needs[id(stmt)] = [Effect(way_out.flag if way_out else test)]
                    if way_out:
                        self.after_loop.setdefault(id(way_out.loop), []).append(Effect(way_out.flag))
                case For() | While() if self._active_inside(stmt):
                    count = self.prepared.counts.get(id(stmt))
                    if isinstance(stmt, For):
                        needs[id(stmt)] = [Effect(stmt.start), Effect(stmt.stop), Effect(stmt.step)]
                    if count is not None:
                        self.after_loop.setdefault(id(stmt), []).append(Effect(count))
                case _:
                    pass

    def _active_inside(self, stmt: Stmt) -> bool:
        return stmt.span in self.reversed_ or any(self.adjoint_code.get(id(s)) for s in statements((stmt,)))

    def _forward(self, body: tuple[Stmt, ...], block: Block, ends: tuple[Stmt, ...] = ()) -> list[Stmt]:
        result: list[Stmt] = []
        for missing in self.plan.undefined.get(block, ()):
            result.append(Assign(missing, placeholder(missing.type)))
        own = tuple(s for slot in self.slots.get(("end", block), ()) for s in slot.save)
        for stmt in body:
            if id(stmt) in self.left_out:
                result.extend(self.agreement.checks(stmt) if block == TOP else ())
                result.extend(s for slot in self.slots.get(id(stmt), ()) for s in slot.save)
                continue
            if id(stmt) in self.reruns and isinstance(stmt, For | While):
                result.extend(s for slot in self.slots.get(id(stmt), ()) for s in slot.save)
                result.extend(self._creations(stmt))
                result.append(self._first_run(stmt))
                continue
            if isinstance(stmt, Break) and self._is_run_again(block):
                break
            if isinstance(stmt, Break):
                result.extend((*own, *ends, stmt))
                return result
            result.extend(s for slot in self.slots.get(id(stmt), ()) for s in slot.save)
            result.extend(self._creations(stmt))
            made = self._forward_stmt(stmt, (*own, *ends))
            if self._does_nothing(made):
                continue  # its condition, or its bounds, may read what is left out too
            result.append(_with_own_item(made) if self.slots.get(id(stmt)) else made)
        result.extend(own)
        return result

    def _first_run(self, loop: For | While) -> Stmt:
        """The turns of a loop that are run again: each keeps what it begins with, and what it decides."""
        made = self.reruns[id(loop)]
        state = [s for slot in self.slots.get(("state", id(loop)), ()) for s in slot.save]
        flags = [s for slot in self.slots.get(("flags", id(loop)), ()) for s in slot.save]
        inner = {s.target.name for s in loop.body if isinstance(s, Assign)}
        missing = [Assign(flag, placeholder(flag.type)) for flag in made.flags if flag.name not in inner]
        return replace(loop, body=(*state, *missing, *self._first_block(loop.body, flags), *flags))

    def _first_block(self, body: tuple[Stmt, ...], ends: list[Stmt]) -> list[Stmt]:
        """Return the statements of a turn as they are run first; `ends`: what it does before it leaves the loop."""
        result: list[Stmt] = []
        for stmt in body:
            if id(stmt) in self.left_out_first:
                continue
            if isinstance(stmt, Break):
                return [*result, *ends, stmt]
            inside = [] if isinstance(stmt, For | While) else ends
            made = map_blocks(stmt, lambda inner, inside=inside: tuple(self._first_block(inner, inside)))
            if not self._does_nothing(made):
                result.append(made)
        return result

    def _is_run_again(self, block: Block) -> bool:
        """Say whether a block stands in a turn that is run again, in none of its loops."""
        owners = [self.layout.owner[b] for b in self.layout.chain(block)[1:]]
        loops = [s for s in owners if isinstance(s, For | While)]
        return len(loops) == 1 and id(loops[0]) in self.reruns

    def _does_nothing(self, stmt: Stmt) -> bool:
        if isinstance(stmt, For):
            return not stmt.body and stmt.var.name not in escaping(self.fn.body)
        return isinstance(stmt, If | While) and not stmt.body and not getattr(stmt, "orelse", ())

    def _forward_stmt(self, stmt: Stmt, ends: tuple[Stmt, ...]) -> Stmt:
        match stmt:
            case If():
                body = self._forward(stmt.body, (id(stmt), 0), ends)
                orelse = self._forward(stmt.orelse, (id(stmt), 1), ends)
                if orelse and not body:
                    return If(negate(stmt.test), tuple(orelse), (), stmt.span)
                return replace(stmt, body=tuple(body), orelse=tuple(orelse))
            case For() | While():
                return replace(stmt, body=tuple(self._forward(stmt.body, (id(stmt), 0))))
            case _:
                return stmt

    def _reverse(self, body: tuple[Stmt, ...], block: Block) -> list[Stmt]:
        code: list[Stmt] = []
        last: Span | None = None
        for stmt in reversed(body):
            part = self._reverse_stmt(stmt)
            if part and not isinstance(stmt, If | For | While | Effect) and stmt.span != last:
                text = stmt.span.statement()
                if text and not text.startswith(("def ", "@")):
                    code.append(Comment(text, stmt.span))
            if part:
                last = stmt.span
            code.extend(part)
        start = self._opening(block)
        if not code and block != TOP:
            return []
        waits = 0  # what a block starts with reads memory as other threads have put it back
        while waits < len(code) and is_barrier(getattr(code[waits], "value", None)):
            waits += 1
        return [*code[:waits], *start, *code[waits:]]

    def _opening(self, block: Block) -> list[Stmt]:
        """What the reverse of a block starts with: values brought back, adjoints at zero, shadows of views."""
        code: list[Stmt] = []
        bindings: list[Stmt] = list(self.plan.recomputed.get(block, ()))
        code.extend(self._put_back_first(block))
        code.extend(s for slot in self.slots.get(("end", block), ()) for s in slot.restore)
        code.extend(self._computed_again(s) for s in bindings)
        again = self.split or bool(self.layout.loops(block))  # what is put back through a view goes through this turn's
        code.extend(
            a.binding for a in self.aliases.values()
            if self.layout.block_of[id(a.binding)] == block and a.binding not in bindings
            and (again or self._is_of_a_name_bound_anew(a.binding))
            and id(a.binding) not in self.left_out  # a view that no adjoint needs may be one of nothing
        )  # fmt: skip
        code.extend(self.openings[block])
        return code

    def _is_of_a_name_bound_anew(self, view: Assign) -> bool:
        """Say whether a view is of an array that may come back as another one, from a tape."""
        given = {p.name for p in self.fn.params}
        return any(len(self.layout.defs.get(name, ())) + (name in given) > 1 for name in reads(view.value))

    def _shadows(self, block: Block) -> list[Stmt]:
        """Adjoints at zero and shadows of views, for the names that live in a block."""
        code = self._zero_bars(block)
        for item in self.aliases.values():
            moves = item.root in self.active and item.name in self.active
            if self.layout.block_of[id(item.binding)] == block and moves:
                target = item.binding.target
                ct = self._cotangents(item.binding.span)
                code.append(Assign(self.bar(target), _shadow(ct, item.binding.value), item.binding.span))
        return code

    def _zero_bars(self, block: Block) -> list[Stmt]:
        code: list[Stmt] = []
        given = set[str]() if self.own_bars else self.inputs
        seen: set[str] = set()
        for name in [*(p.name for p in self.fn.params), *self.layout.uses]:
            if name in seen or name not in self.active or name in self.aliases:
                continue
            seen.add(name)
            if self.layout.home[name] != block:
                continue
            kind = self.kinds.get(name)
            if kind is None:
                continue
            if name in given and isinstance(kind, Array | ListOf):
                continue
            code.append(self._zero_bar(Var(name, kind)))
        for i in self.wrt if block == TOP else ():
            param = self.fn.params[i]
            if param.name not in seen and (self.own_bars or isinstance(param.type, Scalar)):
                seen.add(param.name)
                code.append(self._zero_bar(Var(param.name, param.type)))
        return code

    def _zero_bar(self, name: Var) -> Stmt:
        bar = self.bar(name)
        span = self.fn.span
        match name.type:
            case Array() as kind:
                shapes = self._shapes_of(name)
                if len(shapes) > 1:  # which it has here is not known by its type
                    kind = of_any_length(kind, shapes)
                    name, bar = replace(name, type=kind), replace(bar, type=kind)
                return Assign(bar, self._zeros(name), span)
            case ListOf():
                return Assign(bar, zero_list(name), span)
            case _:
                return Assign(bar, zero(name.type), span)

    def _shapes_of(self, name: Var) -> set[tuple[Dim, ...]]:
        """Return the lengths of all arrays that a name is given, by an exchange too."""
        binding = self.layout.defs.get(name.name, ())
        given = [target for stmt in binding for target in targets(stmt)]
        given += [one for stmt in binding if isinstance(stmt, Swap) for one in (stmt.first, stmt.second)]
        kinds = [name.type, *(one.type for one in (*given, *self.fn.params) if one.name == name.name)]
        rank_of = len(name.type.dims) if isinstance(name.type, Array) else 0
        return {kind.dims for kind in kinds if isinstance(kind, Array) and len(kind.dims) == rank_of}

    def _zeros(self, name: Var) -> Expr:
        """Return zeros for an array; one made anew in each turn of a loop is not kept for its shape alone."""
        made = self.layout.defs.get(name.name, [])
        if not self.layout.loops(self.layout.home[name.name]):
            return build(np.zeros_like, name)
        if len(made) == 1 and isinstance(made[0], Assign):
            value = made[0].value
            if isinstance(value, Apply) and value.fn in (np.zeros, np.empty, np.ones):
                if all(self.layout.is_steady(part) for part in reads(value)):
                    return replace(value, fn=np.zeros)
        kind = name.type
        if isinstance(kind, Array) and kind.dtype in ("float64", "float32") and kind.dims:
            given = [target.type for stmt in made for target in targets(stmt) if target.name == name.name]
            lengths: list[Expr] = [literal(dim) for dim in kind.dims if isinstance(dim, int)]
            alike = all(isinstance(one, Array) and one.dims == kind.dims for one in given)
            if len(lengths) == len(kind.dims) and alike and given and kind.dtype == "float64":
                return build(np.zeros, lengths[0] if len(lengths) == 1 else pack("tuple", lengths))
            if alike and given and (steady := self._steady_like(kind)) is not None:
                return build(np.zeros_like, steady)
            if alike and given and kind.layout == "C" and kind.dtype == "float64":
                steady = self._steady_like(replace(kind, layout="A"))
                if steady is not None:  # which may lie otherwise
                    asked: list[Expr] = [build(ops.dim, steady, literal(axis)) for axis in range(len(kind.dims))]
                    return build(np.zeros, asked[0] if len(asked) == 1 else pack("tuple", asked))
        return build(np.zeros_like, name)

    def _steady_like(self, kind: Array) -> Var | None:
        """Return a parameter that keeps its length, and is as long as arrays of a type."""
        for one in self.fn.params:
            alike = surely_as_long(one.type, kind) and replace(kind, dims=()) == replace(one.type, dims=())
            if alike and self.layout.is_steady(one.name):
                return Var(one.name, one.type)
        return None

    def _name_newer(self) -> dict[int, list[tuple[Var, Var]]]:
        """Let what reads the newer value of a number that is put back first have it by a name; return those names.

        By update: itself under its own name. By statement that is computed again: the names to exchange.
        """
        found: dict[int, list[tuple[Var, Var]]] = {}
        for block, some in self.plan.early.items():
            again = {id(s) for s in self.plan.recomputed.get(block, ())}
            for one in some:
                old = one.update.target
                readers = [
                    s for s in one.later
                    if id(s) in again or self._adjoint_reads(s, old.name)
                    or (isinstance(s, If) and old.name in reads(s.test))
                ]  # fmt: skip
                made = self.results_read.pop(id(one.update), None)  # its own adjoint reads it, by a name that it has
                if not readers and made is None:
                    continue
                new = made.target if made is not None else Var(self.namer.fresh(f"{old.name}_new"), old.type)
                for stmt in (one.update, *readers):
                    found.setdefault(id(stmt), []).append((old, new))
                for stmt in readers:
                    code = self.adjoint_code.get(id(stmt), ())
                    self.adjoint_code[id(stmt)] = [exchanged_in(s, old, new) for s in code]
        return found

    def _adjoint_reads(self, stmt: Stmt, name: str) -> bool:
        code = self.adjoint_code.get(id(stmt), ())
        return any(name in reads(expr) for s in statements(tuple(code)) for expr in exprs_of(s))

    def _put_back_first(self, block: Block) -> list[Stmt]:
        """The updates of a turn that are undone before all else in its reverse."""
        code: list[Stmt] = []
        for one in reversed(self.plan.early.get(block, ())):
            own = one.update.target
            code.extend(Assign(new, old) for old, new in self.newer.get(id(one.update), ()) if old == own)
            code.extend(s for slot in self.slots.get(id(one.update), ()) for s in slot.restore)
            if back := self.plan.undone.get(id(one.update)):
                code.append(back)
        return code

    def _computed_again(self, stmt: Stmt) -> Stmt:
        """Return a statement as the reverse of its block runs it again."""
        for old, new in self.newer.get(id(stmt), ()):
            stmt = exchanged_in(stmt, old, new)
        return stmt

    def _reverse_stmt(self, stmt: Stmt) -> list[Stmt]:
        slots = () if id(stmt) in self.undone_first else self.slots.get(id(stmt), ())
        restore = [s for slot in slots for s in slot.restore]
        match stmt:
            case If():
                way_out = self.prepared.exits.get(id(stmt))
                test = way_out.test if way_out else stmt.test
                for old, new in self.newer.get(id(stmt), ()):
                    test = exchanged(test, old, new)
                body = self._reverse(stmt.body, (id(stmt), 0))
                orelse = self._reverse(stmt.orelse, (id(stmt), 1))
                if not body and not orelse:
                    return []
                if not body:
                    return [If(negate(test), tuple(orelse), (), stmt.span)]
                return [If(test, tuple(body), tuple(orelse), stmt.span)]
            case For() | While():
                body = self._reverse(stmt.body, (id(stmt), 0))
                if id(stmt) in self.reruns:
                    if not body:
                        return restore
                    again = self._second_run(stmt)
                    made = self._tapes_inside(stmt)
                    return [*made, self._reverse_loop(stmt, (*again, *body)), *restore]
                once = self._reverse_of_the_last_turn(stmt, body)
                return [*(once or ([self._reverse_loop(stmt, tuple(body))] if body else [])), *restore]
            case Swap(first, second):
                return [Swap(first, second, stmt.span), *self.adjoint_code.get(id(stmt), [])]
            case CallStmt():
                return self._reverse_call(stmt, restore)
            case _:
                undone = None if id(stmt) in self.undone_first else self.plan.undone.get(id(stmt))
                back = [undone] if undone else []
                code = self.adjoint_code.get(id(stmt), [])
                made = self.results_read.get(id(stmt))
                if isinstance(stmt, Append) and id(stmt) in self.left_out:
                    code = [s for s in code if not _takes_away(s, stmt.list)]  # it was never put there
                items = popped_from(stmt)
                popped = items is not None  # the item is put back before its name is
                if popped and id(stmt) in self.left_out:
                    code = [s for s in code if not (isinstance(s, Append) and s.list == items)]  # it was never taken
                if popped or (made is None and id(stmt) in self.results_read):  # what it made is read where it is
                    return [*back, *_without_shapes(code, stmt), *restore, *_shapes(code, stmt)]
                return [*([made] if made else []), *restore, *back, *code]

    def _second_run(self, loop: For | While) -> list[Stmt]:
        """What the reverse of a turn starts with: its state put back, and the turn run again."""
        state = self.slots.get(("state", id(loop)), ())
        flags = self.slots.get(("flags", id(loop)), ())
        back = [s for slot in (*flags, *state) for s in slot.restore]
        again = [*back, *self._forward(loop.body, (id(loop), 0))]
        return [Comment(AGAIN), *again] if again else []

    def _tapes_inside(self, loop: For | While) -> list[Stmt]:
        """The tapes of a turn that is run again, which all turns share, as far as they can be made beforehand."""
        return [s for slot in self._shared_tapes(loop) for s in slot.create]

    def _reverse_call(self, stmt: CallStmt, restore: list[Stmt]) -> list[Stmt]:
        """The callee's adjoint overwrites what the callee writes: put it back before and after."""
        code = self.adjoint_code.get(id(stmt), [])
        if stmt.fn is not None:  # its adjoint reads the results
            return [*code, *restore]
        if not code or not restore:
            return [*restore, *code]
        again: list[Stmt] = []
        fixed: list[Stmt] = []
        clobbered = {n for s in code for n in written_by(s, self.facts)}
        for put in restore:
            root = _put_into(put)
            if root is not None and (root.name not in clobbered or isinstance(put, For)):
                fixed.append(put)
                if root.name in clobbered:  # number by number: its tape gives them once
                    name = Var(self.namer.fresh("earlier"), root.type)
                    fixed.append(Assign(name, copied(root), stmt.span))
                    again.append(Store(Index(root, (Slice(None, None, None),), root.type), "", name, stmt.span))
                continue
            value = put.value if isinstance(put, Assign | Store) else None
            if isinstance(value, Apply) and value.fn is np.empty:  # room for what is put back number by number
                fixed.append(put)
                continue
            if isinstance(value, Apply) and value.fn is ops.pop:
                name = Var(self.namer.fresh("earlier"), value.type)
                fixed.append(Assign(name, value, stmt.span))
                put = replace(put, value=name)  # type: ignore[type-var]
            if id(stmt) not in self.left_out:
                fixed.append(_put_copy(put))
            again.append(put)
        return [*fixed, *code, *again]

    def _reverse_of_the_last_turn(self, loop: For | While, body: list[Stmt]) -> list[Stmt]:
        """Return the reverse of a loop in which only the way out of it has one: it is run once, or not at all.

        What is in front of it in a turn may do nothing but give names to what the turn alone reads.
        """
        way_out = self.prepared.exits.get(id(loop.body[-1])) if loop.body else None
        *names, branch = [s for s in body if not isinstance(s, Comment)] or [None]
        if way_out is None or not isinstance(branch, If) or branch.test != way_out.test or branch.orelse:
            return []
        if self.plan.early.get((id(loop), 0)):  # what each turn has changed is put back in front of all else
            return []
        if not all(isinstance(s, Assign) and is_pure(s.value) and view_base(s.value) is None for s in names):
            return []
        around = self.layout.loops(self.layout.block_of[id(loop)])
        back = None if around else self.plan.undone.get(id(way_out.sets))
        inside = [s for s in branch.body if s is not back]
        turn = [] if isinstance(loop, While) else [Assign(loop.var, self._last_turn(loop), loop.span)]
        return [replace(branch, body=(*turn, *(s for s in names if s is not None), *inside))]

    def _last_turn(self, loop: For) -> Expr:
        """Return what a loop that counts its turns has counted to."""
        one = literal(1)
        last = build(operator.sub, self.prepared.counts[id(loop)], one)
        if not (isinstance(loop.step, Const) and loop.step.value == 1):
            last = build(operator.mul, last, loop.step)
        if not (isinstance(loop.start, Const) and loop.start.value == 0):
            last = build(operator.add, loop.start, last)
        return last

    def _reverse_loop(self, stmt: For | While, body: tuple[Stmt, ...]) -> Stmt:
        count = self.prepared.counts.get(id(stmt))
        one = literal(1)
        if isinstance(stmt, While):
            assert count is not None
            own = "_" in names_in(self.fn.body) or any(p.name == "_" for p in self.fn.params)
            step = Var(self.namer.fresh("turn") if own else "_", Scalar("int64", True))
            return For(step, literal(0), count, one, body, stmt.span)
        if count is not None:
            stop = _folded(build(operator.sub, stmt.start, stmt.step))
            back = _folded(build(operator.neg, stmt.step))
            return For(stmt.var, self._last_turn(stmt), stop, back, body, stmt.span)
        return reversed_range(replace(stmt, body=body))


def _takes_away(stmt: Stmt, items: Var) -> bool:
    return isinstance(stmt, Effect) and popped_from(stmt) == items


def _with_own_item(stmt: Stmt) -> Stmt:
    """What goes into a list where the item before is put back later, into the same array, is an array of its own.

    Also what is made for it: where a rule reads that again, it has a name, too.
    """
    match stmt:
        case Store(Index(base), "", value) if isinstance(base.type, ListOf) and (
            isinstance(value.type, Array) or view_base(value) is not None
        ):
            return replace(stmt, value=build(np.copy, value))
        case _:
            return stmt


def _put_into(put: Stmt) -> Var | None:
    """Return the array or list that a value is put back into, rather than under its name."""
    inner = [s for s in statements((put,)) if isinstance(s, Store)]
    return root_of(inner[0].place) if inner else None


def _put_copy(put: Stmt) -> Stmt:
    """Put a list of arrays back as copies: what runs next writes into them, and they are put back once more."""
    if isinstance(put, Store) and isinstance(put.value.type, ListOf) and isinstance(put.value.type.item, Array):
        return replace(put, value=copied(put.value))
    return put


def _shadow(ct: Cotangents, value: Expr) -> Expr:
    """Return the view expression with its root replaced by the root's adjoint."""
    match value:
        case Var():
            return ct.bar(value)
        case Index(base, index, kind):
            return Index(_shadow(ct, base), index, kind)
        case Apply(fn, (base, *rest), kind, static):
            return Apply(fn, (_shadow(ct, base), *rest), kind, static)
        case _:
            return value


def _folded(expr: Expr) -> Expr:
    from s2sad.transform.algebra import fold

    return fold(expr)


def _shapes(code: list[Stmt], stmt: Stmt) -> list[Stmt]:
    """Return what sets the adjoint of a name to zero in the shape of its older value, which must be back."""
    if not isinstance(stmt, Assign):
        return []
    return [
        s for s in code
        if isinstance(s, Assign) and isinstance(s.value, Apply) and s.value.fn is np.zeros_like
        and s.value.args == (stmt.target,)
    ]  # fmt: skip


def _without_shapes(code: list[Stmt], stmt: Stmt) -> list[Stmt]:
    late = _shapes(code, stmt)
    return [s for s in code if s not in late]


def placeholder(kind: Type) -> Expr:
    """Return a value of a type, for a name that must exist before it is set: as long as the type says, else empty."""
    match kind:
        case Scalar(dtype):
            return literal(False) if dtype == "bool" else literal(0) if "int" in dtype else zero(kind)
        case Array(dtype, dims):
            static = () if dtype == "float64" else (("dtype", np.dtype(dtype).type),)
            known = [dim for dim in dims if isinstance(dim, int)]  # a tape of rows asks for them
            sizes: list[Expr] = [literal(dim) for dim in (known if len(known) == len(dims) else (0,) * len(dims))]
            return Apply(np.zeros, (sizes[0] if len(sizes) == 1 else pack("tuple", sizes),), kind, static)
        case _:
            return Apply(ops.new_list, (), kind)


__all__ = ["Param", "Sweeps", "reads", "sweeps"]
