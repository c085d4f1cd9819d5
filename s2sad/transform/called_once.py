"""Parts of a derivative that are called in one place are written there.

    for i in range(result.size):               for i in range(result.size):
        unit = np.zeros(result.size)               unit = np.zeros(result.size)
        unit[i] = 1.0                   becomes    unit[i] = 1.0
        block[i] = f_bwd(cos_x, unit)              block[i] = cos_x * unit

What the parts hand to each other, and fetch memory for, is then seen and can be left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from s2sad.analysis.bounds import lower_bounds
from s2sad.analysis.facts import Facts
from s2sad.ir.nodes import Assign, CallStmt, Function, Return, Stmt, Var
from s2sad.ir.walk import bound, map_blocks, names_in, statements
from s2sad.transform.inlined import Names, Renaming, free
from s2sad.transform.named import with_named_results
from s2sad.transform.naming import Namer
from s2sad.transform.pipeline import Derived
from s2sad.transform.placed import placed
from s2sad.transform.tidy import tidy


@dataclass(frozen=True, slots=True)
class Before:
    """What is known of the names that a derivative has from the function that it is the derivative of.

    Attributes:
        names: those names, as they stand in the derivative.
        least: the least values of whole numbers among them.
    """

    names: frozenset[str] = frozenset()
    least: Mapping[str, int] = field(default_factory=dict[str, int])

    @staticmethod
    def of(primal: Function) -> Before:
        """Return what is known of the names of a function."""
        return Before(frozenset(names_in(primal.body) | {p.name for p in primal.params}), lower_bounds(primal))

    def renamed(self, names: Mapping[str, str]) -> Before:
        """Return what is known of those that `names` gives another name."""
        least = {names[name]: value for name, value in self.least.items() if name in names}
        return Before(frozenset(names[name] for name in self.names if name in names), least)

    def __or__(self, other: Before) -> Before:
        """Return what is known of two functions that have become one."""
        return Before(self.names | other.names, {**self.least, **other.least})


def put_together(derived: Derived, parts: Mapping[str, Function]) -> tuple[dict[str, Function], dict[str, Before]]:
    """Return the functions of a program with its parts where they are called, and what is known of their names.

    `parts` are by name the functions that may, and of what each is the derivative: its names stay.
    """
    work = _Joining(derived, parts)
    for name in derived.functions:  # callees first
        if name in parts and work.once:
            work.join(name)
    return {name: fn for name, fn in work.functions.items() if name not in work.gone}, work.before


class _Joining:
    """The functions as they stand, and those that have been written into others."""

    def __init__(self, derived: Derived, parts: Mapping[str, Function]) -> None:
        self.functions = dict(derived.functions)
        called = Counter(
            s.callee for fn in self.functions.values() for s in statements(fn.body) if isinstance(s, CallStmt)
        )
        self.once = {
            name for name, fn in self.functions.items()
            if name in parts and called[name] == 1 and name != derived.entry and _returns_last(fn)
        }  # fmt: skip
        known = {**derived.prepared, **parts}
        self.before = {name: Before.of(known[name]) for name in self.functions if name in known}
        self.gone = set[str]()

    def join(self, name: str) -> None:
        """Write into a function the parts that only it calls, and tidy what that shows."""
        fn = self.functions[name]
        body = with_named_results(fn).body
        joined = _Body(self, replace(fn, body=body), self.before[name])
        whole = replace(fn, body=joined.block(body))
        if whole.body == body:
            return
        self.before[name] = joined.before
        facts, keep = Facts(self.functions), joined.before.names - _other_names(whole)
        whole = tidy(whole, facts, keep)
        whole = tidy(placed(whole, facts, keep), facts, keep)
        better = free(joined.wanted, whole)
        self.functions[name] = Names(better).function(whole)
        self.before[name] |= self.before[name].renamed(better)


class _Body:
    """The body of one function, while parts are written into it."""

    def __init__(self, work: _Joining, fn: Function, before: Before) -> None:
        self.work, self.before = work, before
        self.bound = Counter([*(p.name for p in fn.params), *(n for s in statements(fn.body) for n in bound(s))])
        self.namer = Namer({*names_in(fn.body), *(p.name for p in fn.params)})
        self.wanted = {p.name: base for p in fn.params if (base := re.sub(r"(_\d+){2,}$", "", p.name)) != p.name}

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Return a block with the parts in it."""
        made: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, CallStmt) and stmt.callee in self.work.once:
                made.extend(self._part(stmt))
            else:
                made.append(map_blocks(stmt, self.block))
        return tuple(made)

    def _part(self, stmt: CallStmt) -> list[Stmt]:
        self.work.gone.add(stmt.callee)
        own = Renaming(self.work.functions[stmt.callee], stmt, self.namer, self.bound)
        self.wanted |= own.wanted
        self.before |= self.work.before[stmt.callee].renamed(own.names)
        return own.written_out()


def _returns_last(fn: Function) -> bool:
    returns = [stmt for stmt in statements(fn.body) if isinstance(stmt, Return)]
    return len(returns) == 1 and fn.body[-1] is returns[0]


def _other_names(fn: Function) -> set[str]:
    """Return the names that are one more name of something."""
    return {s.target.name for s in statements(fn.body) if isinstance(s, Assign) and isinstance(s.value, Var)}
