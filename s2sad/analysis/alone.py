"""Which arrays that a function of a program is given share no memory that is written with anything else it is given.

The compiler is told (`backends/aliasing.py`), so that it need not ask before every loop whether two arrays overlap.
"""

from __future__ import annotations

from collections.abc import Mapping

from s2sad.analysis.facts import Facts
from s2sad.analysis.sharing import Groups
from s2sad.ir.nodes import CallStmt, Expr, Function
from s2sad.ir.types import Array, ListOf, Scalar
from s2sad.ir.views import view_base
from s2sad.ir.walk import root_of, statements


def arrays_alone(functions: Mapping[str, Function], entry: str) -> dict[str, frozenset[str]]:
    """Return the names of such parameters, by function: none of those of the entry, which anybody calls."""
    facts = Facts(dict(functions))
    found = {
        name: {p.name for p in fn.params if isinstance(p.type, Array)}
        for name, fn in functions.items() if name != entry
    }  # fmt: skip
    for fn in functions.values():
        groups = Groups(fn, facts)
        changed = facts.writes(fn.name) if fn.name == entry else frozenset[int]()
        for position in changed:  # it may have been given one array twice
            for other in fn.params:
                groups.join(fn.params[position].name, other.name)
        for stmt in statements(fn.body):
            if isinstance(stmt, CallStmt) and stmt.callee in found:
                shared = _shared(stmt, groups, facts.writes(stmt.callee), bool(changed))
                found[stmt.callee] -= {functions[stmt.callee].params[at].name for at in shared}
    return {name: frozenset(names) for name, names in found.items()}


def _shared(call: CallStmt, groups: Groups, written: frozenset[int], doubtful: bool) -> set[int]:
    """Return the positions of arguments of which one may be another, where either is written."""
    places = [at for at, arg in enumerate(call.args) if not isinstance(arg.type, Scalar)]
    roots = {at: _group(call.args[at], groups) for at in places}
    found: set[int] = set()
    for at in places:
        for other in places:
            unknown = doubtful and (roots[at] is None or roots[other] is None)
            if at != other and (unknown or roots[at] == roots[other]) and {at, other} & written:
                found |= {at, other}
    return found


def _group(arg: Expr, groups: Groups) -> str | None:
    """Return what an argument may share memory with; None for a new array, or a constant."""
    base = view_base(arg) if isinstance(arg.type, Array | ListOf) else root_of(arg)
    return groups.find(base.name) if base is not None else None
