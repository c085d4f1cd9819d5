"""What to save: the values that the adjoint reads and that would be gone by then.

The forward sweep is walked with N, the values that the adjoint of the statements so far will read.
A statement that overwrites a value in N saves it (to-be-recorded analysis: Hascoet, Naumann and
Pascual, "To be recorded analysis in reverse-mode automatic differentiation", 2005). A name that
lives in one block of a loop only is instead brought back at the start of that block's reverse:
recomputed from what is still there, else read from a tape.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from s2sad.analysis.alias import Alias, is_in_text, sharing
from s2sad.analysis.early import Early, updates
from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.layout import TOP, Block, Layout
from s2sad.analysis.loops import changes_length, filled_by, is_whole, popped_from, taken_back
from s2sad.analysis.needs import SHELL, Need, Needs, union
from s2sad.analysis.places import Places
from s2sad.analysis.pure import SHAPES, is_pure, reads_content, reads_elements
from s2sad.analysis.refilled import filling, has_another_name, is_creation
from s2sad.analysis.renewed import renewed
from s2sad.analysis.rerun import Rerun
from s2sad.analysis.sharing import Groups
from s2sad.errors import AliasError
from s2sad.ir import ops
from s2sad.ir.device import is_barrier
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    Break,
    CallStmt,
    Effect,
    Expr,
    For,
    Function,
    If,
    Index,
    Pack,
    Stmt,
    Store,
    Swap,
    Var,
    While,
)
from s2sad.ir.shapes import LIKE
from s2sad.ir.types import Array, ListOf, Scalar
from s2sad.ir.views import view_base
from s2sad.ir.walk import blocks_of, bound, children, exprs_of, reads, root_of, statements, subexpressions, targets


@dataclass(slots=True)
class Plan:
    """The decisions: what each statement saves, what each block brings back at its reverse."""

    overwrites: dict[int, list[Expr]] = field(default_factory=dict[int, list[Expr]])
    """By statement: the places to save before it and to put back in its reverse."""
    taped: dict[Block, list[Var]] = field(default_factory=dict[Block, list[Var]])
    """By block: names saved at the end of the block's forward run."""
    recomputed: dict[Block, list[Stmt]] = field(default_factory=dict[Block, list[Stmt]])
    """By block: bindings, and loops that fill arrays, executed again at the start of its reverse."""
    early: dict[Block, list[Early]] = field(default_factory=dict[Block, list[Early]])
    """By block: the updates that its reverse undoes first, in their order."""
    undone: dict[int, Stmt] = field(default_factory=dict[int, Stmt])
    """By statement: what takes it back (`k -= 1` for `k += 1`), so that nothing is saved."""
    reachable: set[int] = field(default_factory=set[int])
    """Statements that bind a name anew while another may still write into the array that it meant."""
    written_later: set[tuple[Block, str]] = field(default_factory=set[tuple[Block, str]])
    """By block, the names whose arrays at its end are written through other names somewhere."""
    again: dict[int, Rerun] = field(default_factory=dict[int, Rerun])
    """By loop: what it takes to run each of its turns again before their reverse."""
    undefined: dict[Block, list[Var]] = field(default_factory=dict[Block, list[Var]])
    """By block: names that must exist before the block, because a save may come before a definition."""


class SavedValues:
    """Runs the analysis: needs come in by statement, a `Plan` comes out."""

    def __init__(
        self, fn: Function, needs: dict[int, list[Stmt]], aliases: dict[str, Alias], facts: Facts,
        layout: Layout, primal_names: set[str], after_loop: dict[int, list[Stmt]],
        openings: dict[Block, list[Stmt]], left_out: set[int], kept: frozenset[str] = frozenset(),
        flags: frozenset[str] = frozenset(), results: frozenset[int] = frozenset(),
        renaming: frozenset[int] = frozenset(), again: dict[int, Rerun] | None = None,
        backs: dict[int, Stmt] | None = None,
    ) -> None:  # fmt: skip
        """Prepare the analysis.

        `needs` gives the adjoint statements of each primal statement, `after_loop` what is read on leaving a loop,
        `openings` what the reverse of a block starts with, `left_out` the statements that are not run,
        `kept` the arrays to be put back to what they were,
        `flags` the names that are saved, never computed again, `results` the statements whose result their
        adjoint reads, `renaming` those of which it does so by another name, `again` the loops whose turns are
        run again, `backs` by statement what takes it back.
        """
        self.backs = backs or {}
        self.leaving_by: list[Needs] = []
        """By the loops around, innermost last: what is needed where a `break` leaves them."""
        self.flags, self.results, self.renaming = flags, results, renaming
        self.kept: Needs = {name: frozenset({Need(None)}) for name in kept}
        self.fn, self.aliases, self.facts, self.layout = fn, aliases, facts, layout
        self.names, self.codes, self.groups = primal_names, needs, Groups(fn, facts)
        self.reading = {key: self._read_places(code) for key, code in needs.items()}
        self.changing = {key for key, code in needs.items() if any(changes_length(s) for s in code)}
        """Statements whose adjoint brings a list of the primal back to its length."""
        self.leaving = {key: self._read_places(code) for key, code in after_loop.items()}
        self.left_out = left_out
        self.opening = {block: self._read_places(code) for block, code in openings.items()}
        shared = sharing(fn, facts)
        self.sharing = shared.at_writes
        self.places = Places(fn, layout, aliases)
        self.plan = Plan(reachable=shared.rebound, again=again or {}, written_later=shared.written_later)
        self.recording = False
        self.put_back = frozenset[Expr]()
        """Elements that a store on the way here keeps, and that nothing has read since."""
        self.renewed = frozenset[int]() if kept else renewed(
            fn, layout, self.groups, lambda s: id(s) in results, lambda s: id(s) not in left_out
        )  # fmt: skip
        self.saving: set[int] = set()
        """Statements that bind a name anew whose older value is needed, and saved or had by taking them back."""

    def run(self) -> Plan:
        """Return the plan of the whole function."""
        self._block(self.fn.body, TOP, self.kept)
        self.recording = True
        self._block(self.fn.body, TOP, self.kept)
        return self.plan

    # ---- what adjoint code reads ----

    def _read_places(self, code: list[Stmt]) -> Needs:
        found: dict[str, set[Need]] = {}
        for stmt in statements(tuple(code)):
            for position, expr in enumerate(exprs_of(stmt)):
                if isinstance(stmt, CallStmt) and isinstance(expr, Var) and self._only_written(stmt, position, expr):
                    if not self._keeps_shape(expr.name):
                        found.setdefault(expr.name, set()).add(Need(SHELL))
                    continue
                self._collect(expr, found)
        return {name: frozenset(places) for name, places in found.items()}

    def _only_written(self, stmt: CallStmt, position: int, expr: Var) -> bool:
        """Say whether a callee's adjoint reads no element of an array that it has not set, and the array can be had."""
        if not isinstance(expr.type, Array) or not (self._keeps_shape(expr.name) or self._is_made_here(expr.name)):
            return False
        if not self.facts.reads_content(stmt.callee, position):
            return True
        group = self.groups.find(expr.name)
        met = [root for arg in stmt.args if (root := root_of(arg)) is not None and self.groups.find(root.name) == group]
        return len(met) == 1 and not self.facts.reads_found(stmt.callee, position)

    def _is_made_here(self, name: str) -> bool:
        """Say whether a name means nothing but arrays that one statement makes, empty or zero, in turns of a loop."""
        made = self.layout.defs.get(name, [])
        if len(made) != 1 or name not in self.names or name in self.flags or name in self.aliases:
            return False
        return isinstance(made[0], Assign) and is_creation(made[0].value) and not has_another_name(name, self)

    def _collect(self, expr: Any, found: dict[str, set[Need]]) -> None:
        if isinstance(expr, Apply) and expr.fn in SHAPES and isinstance(expr.args[0], Var):
            if self._keeps_shape(expr.args[0].name):
                for arg in expr.args[1:]:
                    self._collect(arg, found)
                return
            if self._is_made_here(expr.args[0].name):
                found.setdefault(expr.args[0].name, set()).add(Need(SHELL))
                for arg in expr.args[1:]:
                    self._collect(arg, found)
                return
            if self._shape_stays(expr.args[0].name):  # the view is bound again; what its array holds is not asked
                found.setdefault(expr.args[0].name, set()).add(Need(None))
                alias = self.aliases[expr.args[0].name]
                for name in reads(alias.binding.value) - {alias.root}:
                    self._collect(Var(name, Scalar("int64")), found)
                for arg in expr.args[1:]:
                    self._collect(arg, found)
                return
        if isinstance(expr, Index) and isinstance(expr.base, Var) and expr.base.name in self.names:
            if expr.base.name not in self.aliases and isinstance(expr.base.type, Array):
                found.setdefault(expr.base.name, set()).add(Need(expr))
                for item in expr.index:
                    self._collect(item, found)
                return
        if isinstance(expr, Var) and expr.name in self.names:
            found.setdefault(expr.name, set()).add(Need(None))
            alias = self.aliases.get(expr.name)
            if alias is not None:
                found.setdefault(alias.root, set()).add(Need(None))
                for name in reads(alias.binding.value):
                    if name != alias.root:
                        self._collect(Var(name, Scalar("int64")), found)
            return
        for child in children(expr):
            self._collect(child, found)

    def _keeps_shape(self, name: str) -> bool:
        """Say whether the name always means arrays of one shape that is still known at the end."""
        if name in self.aliases:
            return False
        home = self.layout.home.get(name, TOP)
        if self.layout.loops(home):
            return False
        made = self.layout.defs.get(name, [])
        if self.layout.may_change_length(name):
            return False
        param = any(p.name == name for p in self.fn.params)
        return len(made) + param == 1 or (all(isinstance(s, Swap) for s in made) and param)

    def _shape_stays(self, name: str) -> bool:
        """Say whether a name is a view of an array that keeps its shape."""
        return name in self.aliases and self._keeps_shape(self.aliases[name].root)

    # ---- the forward walk ----

    def _block(self, body: tuple[Stmt, ...], block: Block, needs: Needs) -> Needs:
        needs = self._leave(body, block, self._through(body, needs))
        if body and isinstance(body[-1], Break):
            self.leaving_by[-1] = union(self.leaving_by[-1], needs)
            return {}
        return needs

    def _through(self, body: tuple[Stmt, ...], needs: Needs) -> Needs:
        for stmt in body:
            self._forget(stmt)
            needs = self._step(stmt, needs)
            if id(stmt) in self.results:  # the adjoint reads what the statement gives
                self._forget(stmt)
        return needs

    def _forget(self, stmt: Stmt) -> None:
        """Leave out of what is put back by earlier stores what the adjoint of a statement reads."""
        if not self.put_back:
            return
        small = isinstance(stmt, Store | If) or (isinstance(stmt, Assign) and isinstance(stmt.target.type, Scalar))
        read, anew = self.reading.get(id(stmt), {}), set(bound(stmt))
        self.put_back = frozenset(
            place for place in self.put_back
            if small and not reads(place) & anew and (root := root_of(place)) is not None and root.name not in read
        )

    def _step(self, stmt: Stmt, needs: Needs) -> Needs:
        reading = self.reading.get(id(stmt), {})
        if isinstance(stmt, CallStmt) and stmt.fn is not None:
            return self._library(stmt, needs, reading)
        if isinstance(stmt, Assign) and (items := popped_from(stmt)) is not None:
            return self._pop(stmt, items, needs, reading)
        if isinstance(stmt, Assign) and id(stmt) in self.results:
            return self._made(stmt, needs, reading)
        if isinstance(stmt, Store) and id(stmt) in self.results:
            return self._stored(stmt, needs, reading)
        if id(stmt) in self.left_out:
            return union(self._clobbered(stmt, needs), reading)
        needs = union(needs, reading)
        match stmt:
            case If(_, body, orelse):
                before = self.put_back
                then = self._block(body, (id(stmt), 0), needs)
                behind, self.put_back = self.put_back, before
                other = self._block(orelse, (id(stmt), 1), needs)
                self.put_back &= behind
                return union(then, other)
            case For() | While():
                return self._loop(stmt, needs)
            case Assign(target):
                return self._rebind(stmt, target, needs)
            case CallStmt(targets, callee, args):
                for position in self.facts.writes(callee):
                    needs = self._overwrite(stmt, args[position], needs)
                for target in targets:
                    needs = self._rebind(stmt, target, needs)
                return needs
            case Store(place) if isinstance(place, Var) and isinstance(place.type, Scalar):
                return self._rebind(stmt, place, needs)
            case Store(place):
                return self._overwrite(stmt, place, needs)
            case Append(items, value):
                if self._list_name(items) in needs:
                    self._take_back(stmt, Effect(Apply(ops.pop, (items,), value.type), stmt.span))
                return needs
            case Swap(first, second):
                renamed = dict(needs)
                for a, b in ((first.name, second.name), (second.name, first.name)):
                    renamed.pop(a, None)
                    if b in needs:
                        renamed[a] = frozenset({Need(None)})
                return renamed
            case _:
                return needs

    def _clobbered(self, stmt: Stmt, needs: Needs) -> Needs:
        """A call that the forward sweep leaves out: its adjoint may write what it would have written."""
        if isinstance(stmt, CallStmt):
            written = {name for code in self.codes.get(id(stmt), ()) for name in written_by(code, self.facts)}
            for position in self.facts.writes(stmt.callee) if written else ():
                root = root_of(stmt.args[position])
                if root is not None and root.name in written:
                    needs = self._overwrite(stmt, stmt.args[position], needs)
        return needs

    def _library(self, stmt: CallStmt, needs: Needs, reading: Needs) -> Needs:
        """The adjoint of a library function with several results reads them as they are after it."""
        made = set(bound(stmt))
        needs = union(needs, {name: places for name, places in reading.items() if name not in made})
        if id(stmt) not in self.left_out:
            for target in stmt.targets:
                needs = self._rebind(stmt, target, needs)
        return union(needs, {name: places for name, places in reading.items() if name in made})

    def _made(self, stmt: Assign, needs: Needs, reading: Needs) -> Needs:
        """The adjoint reads what the statement gives, as it is after it: of a name bound once wherever it reads it."""
        name = stmt.target.name
        once = len(self.layout.defs.get(name, ())) == 1
        needs = union(needs, {n: places for n, places in reading.items() if n != name or not once})
        if id(stmt) not in self.left_out:
            needs = self._rebind(stmt, stmt.target, needs)
        return union(needs, {name: reading.get(name, frozenset()) if once else frozenset({Need(None)})})

    def _stored(self, stmt: Store, needs: Needs, reading: Needs) -> Needs:
        """The adjoint reads the element that the statement writes, as it is after it.

        Where the value is made of other elements of the array, those are read as they are before it.
        """
        root = root_of(stmt.place)
        assert root is not None
        if root.name in reads(stmt.value):
            needs = union(needs, reading)
            if id(stmt) not in self.left_out:
                needs = self._overwrite(stmt, stmt.place, needs)
            found: dict[str, set[Need]] = {}
            self._collect(stmt.place, found)
            return union(needs, {name: frozenset(places) for name, places in found.items()})
        needs = union(needs, {n: places for n, places in reading.items() if n != root.name})
        if id(stmt) not in self.left_out:
            needs = self._overwrite(stmt, stmt.place, needs)
        return union(needs, {root.name: reading.get(root.name, frozenset())})

    def _list_name(self, items: Var) -> str:
        return self.aliases[items.name].root if items.name in self.aliases else items.name

    def _take_back(self, stmt: Stmt, back: Stmt) -> None:
        """Undo a change of a list's length in the reverse, if the adjoint of the statement does not do so anyway."""
        if self.recording and id(stmt) not in self.changing:
            self.plan.undone[id(stmt)] = back

    def _pop(self, stmt: Assign, items: Var, needs: Needs, reading: Needs) -> Needs:
        """What was popped is read as it is after the statement, and put back."""
        if id(stmt) in self.left_out:
            return union(needs, reading)
        name = stmt.target.name
        own = reading.get(name, frozenset[Need]())
        needs = union(needs, {n: places for n, places in reading.items() if n != name})
        needs = self._rebind(stmt, stmt.target, needs)
        if self._list_name(items) in needs:
            self._take_back(stmt, Append(items, stmt.target, stmt.span))
            own = own | {Need(None)}
        return union(needs, {name: own}) if own else needs

    def _rebind(self, stmt: Stmt, target: Var, needs: Needs) -> Needs:
        name = target.name
        if name in needs and name not in self.aliases:
            back = self.backs.get(id(stmt)) or taken_back(stmt)
            self.saving.add(id(stmt))
            if back is not None:
                if self.recording:
                    self.plan.undone[id(stmt)] = back
                return needs
            if self.recording:
                self._save(stmt, target)
            needs = {k: v for k, v in needs.items() if k != name}
        return needs

    def _overwrite(self, stmt: Stmt, place: Expr, needs: Needs) -> Needs:
        root = root_of(place)
        if root is None:
            return needs
        name = self.aliases[root.name].root if root.name in self.aliases else root.name
        clash = any(not self.places.apart(need, place, stmt) for need in needs.get(name, frozenset()))
        sharing = self.sharing.get(id(stmt), set())
        if id(stmt) in self.renewed and root.name not in self.aliases and not sharing:
            return needs
        others = [
            o for o, of in needs.items()
            if o != name and o not in self.aliases and o in sharing and of != frozenset({Need(SHELL)})
        ]  # fmt: skip
        if not all(self._has_turn(o, stmt) for o in others):
            named = [word for word in (others[0], root.name) if is_in_text(word, stmt.span)]
            example = f", as in `{named[0]} = {named[0]}.copy()`" if named else ""
            raise AliasError(
                f"`{root.name}` is written here while `{others[0]}` may share its memory" if len(named) == 2 else
                "an array is written here while what was read before may share its memory", stmt.span,
                f"All of it would have to be kept at every write of a loop. Make one a copy{example}, before the loop.",
            )  # fmt: skip
        clash = clash or bool(others)
        own = name == root.name and not self._may_be_anothers(name)
        same = own and isinstance(stmt, Store) and self.places.stays(place, stmt)
        alone = same and not others
        if not clash or (alone and place in self.put_back):
            return needs
        self.put_back |= {place} if alone else frozenset()
        if self.recording:
            self._save(stmt, place)
            for other in others:  # the reverse may have it apart: what is put back through one name is not through two
                self._save(stmt, self._variable(other))
                self._ensure_defined(stmt, self._variable(other))
        if own and isinstance(stmt, Store) and is_whole(replace(stmt, op="")) and not others:  # all of it is kept
            needs = {k: v for k, v in needs.items() if k != name}
        elif same:
            needs = {**needs, name: needs.get(name, frozenset()) - {Need(place)}}  # it is put back here
        found: dict[str, set[Need]] = {}
        for part in _index_parts(place):
            self._collect(part, found)
        if root.name in self.aliases:
            for other in reads(self.aliases[root.name].binding.value) - {name}:
                self._collect(Var(other, Scalar("int64")), found)
        return union(needs, {k: frozenset(v) for k, v in found.items()})

    def _may_be_anothers(self, name: str) -> bool:
        """Say whether a name is ever bound to an array that is there already.

        What is put back through it must not reach that one: where it is bound so, what it meant has to come back too.
        """
        return any(
            view_base(made.value) is not None if isinstance(made, Assign) else isinstance(made, CallStmt)
            for made in self.layout.defs.get(name, ())
        )

    def _has_turn(self, name: str, stmt: Stmt) -> bool:
        """Say whether a name means another array in each turn of the innermost loop around a statement, if any."""
        around = self.places.loops_around(stmt)
        blocks = {self.layout.block_of[id(made)] for made in self.layout.defs.get(name, ())}
        return not around or any(around[-1] is loop for block in blocks for loop in self.layout.loops(block))

    def _save(self, stmt: Stmt, place: Expr) -> None:
        saved = self.plan.overwrites.setdefault(id(stmt), [])
        if place not in saved:
            saved.append(place)
        if isinstance(place, Var) and not isinstance(stmt, Store):
            self._ensure_defined(stmt, place)

    def _ensure_defined(self, stmt: Stmt, name: Var) -> None:
        """A save before the first definition, or beside the branch that holds it, needs the name to exist."""
        if any(p.name == name.name for p in self.fn.params):
            return
        chain = self.layout.chain(self.layout.block_of[id(stmt)])
        home = [block for block in self.layout.chain(self.layout.home[name.name]) if block in chain][-1]
        for other in self.layout.defs[name.name]:
            where = self.layout.block_of[id(other)]
            if other is stmt or id(other) in self.left_out:
                continue
            if where in chain and self._earlier(other, stmt, where):
                return
        missing = self.plan.undefined.setdefault(home, [])
        if all(v.name != name.name for v in missing):
            missing.append(name)

    def _earlier(self, first: Stmt, second: Stmt, block: Block) -> bool:
        """Say whether `first`, directly in `block`, comes before the statement that holds `second`."""
        body = self.fn.body if block == TOP else blocks_of(self.layout.owner[block])[block[1]]
        for stmt in body:
            if stmt is first:
                return not isinstance(stmt, For | While | If)
            if any(s is second for s in statements((stmt,))):
                return False
        return False

    def _run_again(self, made: Rerun, needs: Needs) -> Needs:
        """A turn that is run again has its state put back first: of what it makes, nothing is needed once it is over.

        What was needed before the loop, and turns change, is put back behind the reverse of the first turn.
        """
        stmt = made.loop
        groups = self.groups.of(set(made.written))
        lost = {n for n in needs if n in made.changed or self.groups.find(n) in groups}
        if self.recording:
            for name in sorted(lost - set(self.aliases)):
                self._save(stmt, self._variable(name))
        read = {v.name: frozenset({Need(None)}) for v in made.reads}
        inside = union(union(*self._turn(stmt, {})), read)
        own = {stmt.var.name} if isinstance(stmt, For) else set[str]()
        outside = {
            n: frozenset({Need(None)}) for n in inside.keys() - own
            if n in self.names and self.groups.find(n) not in groups and n not in made.changed
            and (n not in self.layout.home or not self.layout.within(self.layout.home[n], (id(stmt), 0)))
        }  # fmt: skip
        outside |= {n: frozenset({Need(None)}) for n in made.held}
        needs = union({n: places for n, places in needs.items() if n not in lost}, outside)
        return union(needs, self.leaving.get(id(stmt), {}))

    def _variable(self, name: str) -> Var:
        for param in self.fn.params:
            if param.name == name:
                return Var(name, param.type)
        return next(v for s in self.layout.defs[name] for v in targets(s) if v.name == name)

    def _loop(self, stmt: For | While, needs: Needs) -> Needs:
        if (made := self.plan.again.get(id(stmt))) is not None:
            return self._run_again(made, needs)
        needs = self._kept_before(stmt, needs)
        was, self.recording = self.recording, False
        head = needs
        while True:
            end, left = self._turn(stmt, head)
            around = {name: frozenset(self.places.crossing(n, stmt) for n in places) for name, places in end.items()}
            if isinstance(stmt, For):
                around.pop(stmt.var.name, None)
            merged = union(head, around)
            if merged == head:
                break
            head = merged
        covered = [
            n for n in filled_by(stmt)
            if n in head and n not in self.aliases and not self.sharing_in(stmt, n) and not self._leaves_out(stmt, n)
            and not self._may_be_anothers(n)
        ]  # fmt: skip
        fresh: Needs = {}
        if covered:
            fresh = union(*self._turn(stmt, {k: v for k, v in head.items() if k not in covered}))
        self.recording = was
        if was:
            self._turn(stmt, head)
        if covered:  # every element that was needed before the loop has been saved in it
            head = {k: v for k, v in head.items() if k not in covered or k in fresh}
        head = union(head, left)
        if isinstance(stmt, For):
            head = self.places.past(head, stmt)
        return union(head, self.leaving.get(id(stmt), {}))

    def _turn(self, loop: For | While, needs: Needs) -> tuple[Needs, Needs]:
        """Walk through a turn of a loop; return what is needed at its end, and where a `break` has left the loop.

        What is put back in one turn is not what another turn or the code around keeps.
        """
        block = (id(loop), 0)
        self.put_back = frozenset()
        self.leaving_by.append({})
        end = self._through(loop.body, needs)
        left = self.leaving_by.pop()
        was, self.recording = self.recording, False
        around = self._leave(loop.body, block, end)
        self.recording = was
        left = self._leave(loop.body, block, union(end, left)) if left or self.recording else around
        self.put_back = frozenset()
        return around, left

    def _kept_before(self, loop: For | While, needs: Needs) -> Needs:
        """Save before a loop what it may write through another name: in it, each write would have to keep all of it."""
        reached = {o for s in statements(loop.body) for o in self.sharing.get(id(s), set()) - self._written_roots(s)}
        for name in sorted((reached - set(self.aliases)) & set(needs)):
            array = self._variable(name)
            inside = any(name in bound(s) for s in statements(loop.body))
            if inside or not isinstance(array.type, Array):
                continue
            if self.recording:
                self._save(loop, array)
                self._ensure_defined(loop, array)
            needs = {**needs, name: frozenset({Need(SHELL)})}  # to put it back takes the array
        return needs

    def _written_roots(self, stmt: Stmt) -> set[str]:
        """Return what a statement writes into, each array by its own name and not by that of a view."""
        names = written_by(stmt, self.facts)
        return {self.aliases[name].root if name in self.aliases else name for name in names}

    def sharing_in(self, loop: For | While, name: str) -> bool:
        """Say whether a write in a loop may reach an array through another name."""
        return any(self.sharing.get(id(s)) for s in statements(loop.body)) or any(
            a.root == name for a in self.aliases.values()
        )

    def _leaves_out(self, loop: For | While, name: str) -> bool:
        """Say whether a write to an array in a loop is not run, so that it saves nothing."""
        return any(id(s) in self.left_out for s in statements(loop.body) if name in written_by(s, self.facts))

    # ---- leaving a block: names that live in it only ----

    def _leave(self, body: tuple[Stmt, ...], block: Block, needs: Needs) -> Needs:
        needs = union(needs, self.opening.get(block, {}))
        if block == TOP or not self.layout.loops(block):
            return needs
        owner = self.layout.owner[block]
        result = dict(needs)
        recomputed: list[Stmt] = []
        taped: list[Var] = []
        early = {} if self.kept else updates(body, block, self.saving, self)
        used: set[str] = set()
        for stmt in reversed([s for s in statements(body) if isinstance(s, Assign | CallStmt)]):
            for target in [stmt.target] if isinstance(stmt, Assign) else list(stmt.targets):
                name = target.name
                if name not in result or self.layout.home.get(name) != block:
                    continue
                if isinstance(owner, For) and owner.var.name == name:
                    continue
                shell = all(need.place is SHELL for need in result.pop(name))
                if isinstance(stmt, Assign) and (
                    self._can_be_made_again(stmt, body) if shell else self._can_recompute(stmt, name, body)
                ):
                    recomputed.append(stmt)
                    result = union(result, self._binding_needs(stmt, name))
                elif isinstance(stmt, Assign) and not shell and (ahead := self._ahead(stmt, name, body, early)):
                    recomputed.append(stmt)
                    used |= ahead
                    needed = self._binding_needs(stmt, name)
                    result = union(result, {k: v for k, v in needed.items() if k not in ahead})
                elif isinstance(stmt, Assign) and not self.kept and (again := filling(stmt, body, self)):
                    recomputed += [*again.fills[::-1], stmt]
                    result = union(result, {other: frozenset({Need(None)}) for other in again.reads})
                else:
                    taped.append(target)
        if isinstance(owner, For):
            result.pop(owner.var.name, None)
        if self.recording:
            self.plan.recomputed[block] = recomputed[::-1]
            self.plan.early[block] = [one for name, one in early.items() if name in used]
            self.plan.taped[block] = taped[::-1]
            for target in taped:
                made = self.layout.defs[target.name]
                if len(made) == 1 and self.layout.block_of[id(made[0])] == block:
                    continue
                if not any(self.layout.block_of[id(d)] == block for d in made):
                    missing = self.plan.undefined.setdefault(block, [])
                    if all(v.name != target.name for v in missing):
                        missing.append(target)
        return result

    def _binding_needs(self, stmt: Assign, name: str) -> Needs:
        found: dict[str, set[Need]] = {}
        if name in self.aliases:
            root = self.aliases[name].root
            for other in reads(stmt.value):
                if other != root:
                    self._collect(Var(other, Scalar("int64")), found)
        else:
            self._collect(stmt.value, found)
        return {k: frozenset(v) for k, v in found.items()}

    def _ahead(self, stmt: Assign, name: str, body: tuple[Stmt, ...], early: dict[str, Early]) -> set[str]:
        """Return the names that a statement reads and that are to be put back first, so that it can be run again."""
        if not early or stmt not in body:
            return set()
        behind = body[body.index(stmt) + 1 :]
        names = reads(stmt.value) & set(early)
        names = {n for n in names if any(s is early[n].update for s in behind)}
        passed = frozenset(id(early[n].update) for n in names)
        return names if names and self._can_recompute(stmt, name, body, passed) else set()

    def _can_recompute(
        self, stmt: Assign, name: str, body: tuple[Stmt, ...], passed: frozenset[int] = frozenset()
    ) -> bool:  # fmt: skip
        if len(self.layout.defs[name]) != 1 or stmt not in body or name in self.flags:
            return False
        if name in self.aliases:
            return True
        if self.layout.stores.get(name) or self._written_in(name, body):
            return False
        if not is_pure(stmt.value):
            return False
        rest = body[body.index(stmt) + 1 :]
        if reads_elements(stmt.value) and _waits_inside(rest):
            return False  # read again on the other side of a barrier, other threads may be writing
        used = reads(stmt.value)
        for other in used:
            if other not in self.names:
                return False
        shaped = {name for name in used if self._shape_stays(name)} - reads_content(stmt.value)
        return not any(
            shaped & set(bound(later))
            or (self._changes(later, used - shaped) and not self._writes_beside(later, stmt.value))
            for later in statements(rest) if id(later) not in passed
        )  # fmt: skip

    def _can_be_made_again(self, stmt: Assign, body: tuple[Stmt, ...]) -> bool:
        """Say whether at its end a turn can make an array as long as the one that it has made."""
        if not isinstance(stmt.value, Apply) or stmt not in body or not reads(stmt.value) <= self.names:
            return False
        sizes = [part for arg in stmt.value.args for part in (arg.items if isinstance(arg, Pack) else (arg,))]
        if stmt.value.fn in LIKE:
            measured = {size.name for size in sizes if isinstance(size, Var)}
        elif all(is_pure(size) for size in sizes):
            measured = reads(stmt.value) - reads_content(stmt.value)
        else:
            return False
        return not any(
            measured & set(bound(later)) or self._changes(later, reads(stmt.value) - measured)
            for later in statements(body[body.index(stmt) + 1 :])
        )

    def _writes_beside(self, stmt: Stmt, read: Expr) -> bool:
        """Say whether a statement writes one element of an array of which `read` fetches others, in the same turn."""
        place = stmt.place if isinstance(stmt, Store) else None
        if not (isinstance(place, Index) and isinstance(place.base, Var)) or self.sharing.get(id(stmt)):
            return False
        name = place.base.name
        met = [part.name for part in subexpressions(read) if isinstance(part, Var)]
        if any(other != name and self.groups.find(other) == self.groups.find(name) for other in met):
            return False
        items = [part for part in subexpressions(read) if isinstance(part, Index) and part.base == place.base]
        return met.count(name) == len(items) and all(
            any(self.places.differs(a, b, stmt) for a, b in zip(item.index, place.index, strict=False))
            for item in items
        )

    def _written_in(self, name: str, body: tuple[Stmt, ...]) -> bool:
        return any(self._changes(s, {name}, rebinding=False) for s in statements(body))

    def _changes(self, stmt: Stmt, names: set[str], rebinding: bool = True) -> bool:
        """Say whether the statement changes the value of one of the names."""
        if rebinding and names & set(bound(stmt)):
            return True
        return bool(self.groups.of(names) & self.groups.of(set(written_by(stmt, self.facts))))


def _index_parts(place: Expr) -> list[Any]:
    """Return the indices along a place: they are read again when it is put back."""
    parts: list[Any] = []
    while isinstance(place, Index | Apply):
        if isinstance(place, Index):
            parts.extend(place.index)
            place = place.base
        else:
            place = place.args[0]
    return parts


def _waits_inside(body: tuple[Stmt, ...]) -> bool:
    """Say whether a barrier stands before the last statement that is none."""
    while body and isinstance(body[-1], Effect) and is_barrier(body[-1].value):
        body = body[:-1]
    return any(isinstance(s, Effect) and is_barrier(s.value) for s in statements(body))


__all__ = ["TOP", "Block", "Layout", "ListOf", "Plan", "SavedValues"]
