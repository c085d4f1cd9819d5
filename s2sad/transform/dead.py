"""Dead code: what no result needs is not computed.

Two views together: a name that nothing needed ever reads is dropped with all its assignments
(counters that only count themselves included), and an assignment whose value is overwritten
before it is read is dropped where it stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from s2sad.analysis.facts import Facts
from s2sad.analysis.liveness import Liveness
from s2sad.analysis.loops import makes_list, popped_from
from s2sad.analysis.sharing import Groups
from s2sad.errors import RuleShapeError
from s2sad.ir import ops
from s2sad.ir.draws import draws
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assert,
    Assign,
    Break,
    CallStmt,
    Comment,
    Continue,
    Effect,
    Expr,
    For,
    Function,
    If,
    Raise,
    Return,
    Stmt,
    Store,
    Swap,
    Var,
    While,
)
from s2sad.ir.shapes import reads_content
from s2sad.ir.types import Array, ListOf
from s2sad.ir.walk import blocks_of, bound, exprs_of, map_blocks, reads, root_of, statements, subexpressions, targets

AGAIN = "---- this iteration again ----"


def without_dead_code(fn: Function, facts: Facts, outputs: frozenset[str], silent: bool) -> Function:
    """Drop what neither the returned values nor `outputs` (arrays written for the caller) need.

    `silent`: prints and checks belong to another run of the same statements and are dropped.
    """
    while True:
        slim = _overwritten(_unneeded(fn, facts, outputs, silent), facts, outputs, silent)
        if slim == fn:
            return fn
        fn = slim


def _unneeded(fn: Function, facts: Facts, outputs: frozenset[str], silent: bool) -> Function:
    """Keep the statements that a needed name depends on, and the control flow around them."""
    finder = _Needed(fn, facts, outputs, silent)
    return replace(fn, body=finder.kept(fn.body))


class _Needed:
    def __init__(self, fn: Function, facts: Facts, outputs: frozenset[str], silent: bool) -> None:
        self.facts, self.silent = facts, silent
        self.groups = Groups(fn, facts)
        self.names: set[str] = {self.groups.find(n) for n in outputs}
        self.shapes: set[str] = set()
        """Arrays of which the lengths alone are needed: what they are bound to, not what is written into them."""
        self.keep: set[int] = set()
        self.escaping = escaping(fn.body)
        self.unread = _lists_only_filled(fn) - outputs
        while self._mark(fn.body):
            pass

    def _need(self, expressions: Iterable[Expr]) -> None:
        for expr in expressions:
            arrays = {p.name for p in subexpressions(expr) if isinstance(p, Var) and isinstance(p.type, Array)}
            shapes = arrays - reads_content(expr)
            self.shapes |= shapes
            self.names.update(self.groups.find(n) for n in reads(expr) - shapes)

    def _bound(self, name: str) -> bool:
        """Say whether what a name is bound to is needed."""
        return name in self.shapes or self._wanted(name)

    def _wanted(self, name: str) -> bool:
        return name not in self.unread and self.groups.find(name) in self.names

    def _mark(self, body: tuple[Stmt, ...]) -> bool:
        """Mark once through, from the end, as a name is needed where it is read; say whether anything new was found."""
        before = (len(self.names), len(self.shapes), len(self.keep))
        for stmt in reversed(body):
            self._visit(stmt)
        return (len(self.names), len(self.shapes), len(self.keep)) != before

    def _visit(self, stmt: Stmt) -> bool:
        if id(stmt) in self.keep and not blocks_of(stmt):
            return True
        kept = self._visit_inner(stmt)
        if kept:
            self.keep.add(id(stmt))
        return kept

    def _visit_inner(self, stmt: Stmt) -> bool:
        match stmt:
            case If(test, body, orelse):
                inside = [self._visit(s) for s in (*reversed(orelse), *reversed(body))]
                if any(inside):
                    self._need((test,))
                return any(inside)
            case For() | While():
                inside = [self._visit(s) for s in reversed(stmt.body) if not isinstance(s, Break | Continue)]
                if isinstance(stmt, For) and stmt.var.name in self.escaping and self._wanted(stmt.var.name):
                    inside.append(True)
                if any(inside):
                    self._need(exprs_of(stmt))
                    self._needs_jumps(stmt.body)
                return any(inside)
            case Comment() | Break() | Continue():
                return False
            case _ if self._essential(stmt):
                self._need(exprs_of(stmt))
                return True
            case _:
                return False

    def _needs_jumps(self, body: tuple[Stmt, ...]) -> None:
        """A loop that is kept keeps its ways out."""
        for stmt in body:
            if isinstance(stmt, Break | Continue):
                self.keep.add(id(stmt))
            elif isinstance(stmt, If) and _jumps((stmt,)):
                self.keep.add(id(stmt))
                self._need((stmt.test,))
                self._needs_jumps((*stmt.body, *stmt.orelse))

    def _essential(self, stmt: Stmt) -> bool:
        match stmt:
            case Return():
                return True
            case Effect(value) if isinstance(value, Apply) and value.fn is ops.pop:
                return _pops_needed(value, self)
            case Raise(error) if issubclass(error, RuleShapeError):
                return True  # what a rule gives is looked at where the rule runs, which may be here first
            case Raise() | Assert() | Effect():
                return not self.silent
            case Assign(target, value):
                return self._bound(target.name) or _pops_needed(value, self) or draws(value)
            case Store(place):
                root = root_of(place)
                return root is not None and self._wanted(root.name)
            case Append(target):
                return self._wanted(target.name)
            case Swap(first, second):
                return self._bound(first.name) or self._bound(second.name)
            case CallStmt(targets, callee, args):
                written = [root_of(args[i]) for i in self.facts.writes(callee)]
                names = [r.name for r in written if r is not None]
                given = any(self._bound(t.name) for t in targets)
                speaks = not self.silent and self.facts.has_effects(callee)
                return given or any(self._wanted(n) for n in names) or not (targets or names) or speaks
            case _:
                return True

    def kept(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        for stmt in body:
            if id(stmt) in self.keep:
                result.append(_turned(map_blocks(stmt, self.kept)))
            elif isinstance(stmt, Comment):
                result.append(stmt)
        return _without_stray_comments(result)


def _lists_only_filled(fn: Function) -> set[str]:
    """Return the lists that are made here and filled, of which no item is read; some may be taken away for nothing."""
    every = [s for s in statements(fn.body) if not _drops_an_item(s)]
    filled = {s.list.name for s in every if isinstance(s, Append)}
    read = {n for s in every if isinstance(s, Append) for n in reads(s.value)}
    read |= {n for s in every if not isinstance(s, Append) for e in exprs_of(s) for n in reads(e)}
    made = {n for s in every if makes_list(s) for n in bound(s)}
    other = {n for s in every if not makes_list(s) for n in bound(s)}
    return (filled & made) - read - other - {p.name for p in fn.params}


def _drops_an_item(stmt: Stmt) -> bool:
    """Say whether a statement takes the last item from a list for nothing."""
    match stmt:
        case Effect(Apply(fn, (Var(),))):
            return fn is ops.pop
        case _:
            return False


def escaping(body: tuple[Stmt, ...], inside: frozenset[str] = frozenset()) -> set[str]:
    """Return the names that are read outside a loop over them: a loop variable may outlive its loop."""
    found: set[str] = set()
    for stmt in body:
        found |= {n for e in exprs_of(stmt) for n in reads(e)} - inside
        inner = inside | {stmt.var.name} if isinstance(stmt, For) else inside
        for block in blocks_of(stmt):
            found |= escaping(block, inner)
    return found


def _turned(stmt: Stmt) -> Stmt:
    """`if c: pass` / `else: …` says `if not c: …`."""
    from s2sad.frontend.operators import negate

    if isinstance(stmt, If) and not stmt.body and stmt.orelse:
        return replace(stmt, test=negate(stmt.test), body=stmt.orelse, orelse=())
    return stmt


def _jumps(body: tuple[Stmt, ...]) -> bool:
    for stmt in body:
        if isinstance(stmt, Break | Continue | Return):
            return True
        if isinstance(stmt, If) and (_jumps(stmt.body) or _jumps(stmt.orelse)):
            return True
    return False


def _pops_needed(value: Expr, needed: _Needed) -> bool:
    """A pop moves its list on, so that the other pops still meet what they expect."""
    for part in subexpressions(value):
        if isinstance(part, Apply) and part.fn is ops.pop:
            base = root_of(part.args[0])
            if base is not None and needed.groups.find(base.name) in needed.names:
                return True
    return False


def _without_stray_comments(body: list[Stmt]) -> tuple[Stmt, ...]:
    """A comment names the statement below it; without one it goes."""
    result: list[Stmt] = []
    for position, stmt in enumerate(body):
        if isinstance(stmt, Comment) and stmt.text == AGAIN and not _is_run_again(body[position + 1 :]):
            continue
        if isinstance(stmt, Comment) and stmt.text and not stmt.text.startswith("----"):
            following = next((s for s in body[position + 1 :] if s.span.line or isinstance(s, Comment)), None)
            if following is None or isinstance(following, Comment) or following.span != stmt.span:
                continue
        result.append(stmt)
    if all(isinstance(s, Comment) for s in result):
        return ()
    return tuple(result)


def _is_run_again(rest: list[Stmt]) -> bool:
    """Say whether a statement of the primal follows, rather than those of the adjoint alone."""
    match next((s for s in rest if not isinstance(s, Comment)), None):
        case Assign(target, _):
            return "_bar" not in target.name
        case Store(place):
            root = root_of(place)
            return root is None or "_bar" not in root.name
        case CallStmt((), callee, _):
            return not callee.endswith("_bwd")
        case _:
            return True


def _overwritten(fn: Function, facts: Facts, outputs: frozenset[str], silent: bool) -> Function:
    """Drop assignments and calls whose value is not read before the name is bound again."""
    live = Liveness(fn.body, outputs)
    used = Liveness(fn.body, outputs, pops_read=False)
    groups = Groups(fn, facts)
    shared = {s for s in groups.parent}
    lists = {p.name for p in fn.params if isinstance(p.type, ListOf)}
    lists |= {t.name for s in statements(fn.body) for t in targets(s) if isinstance(t.type, ListOf)}

    def each(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Assign) and _is_dead(stmt, live, shared):
                continue
            if isinstance(stmt, CallStmt) and _is_idle_call(stmt, live, facts, silent):
                continue
            if popped_from(stmt) is not None and isinstance(stmt, Assign):
                if stmt.target.name not in live.after.get(id(stmt), frozenset()):
                    result.append(Effect(stmt.value, stmt.span))  # nobody wants the item
                    continue
            if isinstance(stmt, Effect) and _is_idle_pop(stmt, used, groups, lists):
                continue
            result.append(map_blocks(stmt, each))
        return _without_stray_comments(result)

    return replace(fn, body=each(fn.body))


def _is_idle_pop(stmt: Effect, used: Liveness, groups: Groups, lists: set[str]) -> bool:
    """A list from which nothing is read any more need not be made shorter: arrays that were in it stay."""
    base = popped_from(stmt)
    later = used.after.get(id(stmt), frozenset()) & lists
    return base is not None and groups.find(base.name) not in groups.of(set(later))


def _is_idle_call(stmt: CallStmt, live: Liveness, facts: Facts, silent: bool) -> bool:
    """A call that only gives its results does nothing if none of them is read, as in a turn that is run again."""
    after = live.after.get(id(stmt), frozenset())
    if not stmt.callee or not stmt.targets or any(t.name in after for t in stmt.targets):
        return False
    return not facts.writes(stmt.callee) and (silent or not facts.has_effects(stmt.callee))


def _is_dead(stmt: Assign, live: Liveness, shared: set[str]) -> bool:
    if stmt.target.name in live.after.get(id(stmt), frozenset()):
        return False
    if isinstance(stmt.value, Var) and stmt.value.name == stmt.target.name:
        return True
    return not draws(stmt.value) and not any(
        isinstance(p, Apply) and p.fn is ops.pop for p in subexpressions(stmt.value)
    )
