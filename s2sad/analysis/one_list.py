"""Lists that two names may mean: one that grows or shrinks by one of them does so by the other.

The adjoint of a list grows and shrinks with it, by name. `b = a` that holds for good has one adjoint for both;
`c = a if x[0] > 0 else b` has one of its own, as a value would, and so `c.append(1.0)` after it is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from s2sad.analysis.alias import exact_aliases, given_names
from s2sad.analysis.liveness import Liveness
from s2sad.analysis.loops import popped_from
from s2sad.errors import AliasError
from s2sad.ir.nodes import Append, Assign, CallStmt, For, Function, If, Stmt, Swap, Var, While
from s2sad.ir.types import ListOf
from s2sad.ir.walk import root_of

if TYPE_CHECKING:
    from s2sad.analysis.facts import Facts

State = dict[str, frozenset[Any]]


def check_lists(fn: Function, facts: Facts) -> None:
    """Raise AliasError if a list grows or shrinks that two names may mean, and it is not known that both do."""
    _Lists(fn, facts).block(fn.body, {p.name: frozenset({p.name}) for p in fn.params})


class _Lists:
    """Follows lists: a parameter's, or those that a statement makes, the newest and the earlier ones."""

    def __init__(self, fn: Function, facts: Facts) -> None:
        self.facts, self.exact = facts, exact_aliases(fn)
        self.live = Liveness(fn.body, given_names(fn))

    def block(self, body: tuple[Stmt, ...], state: State) -> State:
        for stmt in body:
            state = self.step(stmt, state)
        return state

    def step(self, stmt: Stmt, state: State) -> State:
        resized = stmt.list if isinstance(stmt, Append) else popped_from(stmt)
        if resized is not None:
            self.resize(resized.name, stmt, state)
        match stmt:
            case Assign(Var(name, ListOf()), Var(source)):
                return {**state, name: state.get(source, frozenset())}
            case Assign(Var(name, ListOf())):
                return _made(name, id(stmt), state)
            case Swap(Var(a, ListOf()), Var(b)):
                return {**state, a: state.get(b, frozenset()), b: state.get(a, frozenset())}
            case CallStmt():
                return self.call(stmt, state)
            case If(_, body, orelse):
                one, other = self.block(body, state), self.block(orelse, state)
                later = self.live.after.get(id(stmt), frozenset())
                both = (one.keys() & other.keys()) | later  # what one side made, and nothing reads later, is gone
                return {n: held for n, held in _join(one, other).items() if n in both}
            case For() | While():
                while True:
                    after = _join(state, self.block(stmt.body, state))
                    if after == state:
                        return state
                    state = after
            case _:
                return state

    def call(self, stmt: CallStmt, state: State) -> State:
        given = [root_of(stmt.args[i]) for i in self.facts.shares(stmt.callee)]
        shared = [state.get(root.name, frozenset()) for root in given if root is not None]
        for number, target in enumerate(stmt.targets):
            if isinstance(target.type, ListOf):
                state = _made(target.name, hash((id(stmt), number)), state)
                state[target.name] = state[target.name].union(*shared)
        return state

    def resize(self, name: str, stmt: Stmt, state: State) -> None:
        """Refuse where another name, which is not this one for good, may mean the list."""
        later = self.live.after.get(id(stmt), frozenset())
        same = [
            other for other in sorted(state)
            if self._root(other) != self._root(name) and state[other] & state.get(name, frozenset())
        ]  # fmt: skip
        two = any(not state[a] & state[b] for a in same for b in same)  # one of them keeps its length
        for other in same:
            if other in later or two:
                raise AliasError(
                    f"`{name}` grows or shrinks here while `{other}` may be the same list",
                    stmt.span,
                    f"Whether it is cannot be decided. Make it a list of its own before: `{name} = list({name})`.",
                )

    def _root(self, name: str) -> str:
        return self.exact[name].root if name in self.exact else name


def _made(name: str, site: int, state: State) -> State:
    """A new list: what the site made before is now an earlier one."""
    aged = {n: frozenset((site, "old") if one == (site, "new") else one for one in held) for n, held in state.items()}
    return {**aged, name: frozenset({(site, "new")})}


def _join(a: State, b: State) -> State:
    return {name: a.get(name, frozenset()) | b.get(name, frozenset()) for name in {**a, **b}}
