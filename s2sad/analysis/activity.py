"""Activity: which names carry a derivative. Varied by the inputs, and useful to the outputs.

Varied: computed from a differentiated input. Useful: an output is computed from it. Both are
fixpoints over names, arrays as a whole: writing an inactive value into `x[i]` does not make `x`
inactive. A value that is both is active, and only active names get an adjoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from s2sad.ir import ops
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    CallStmt,
    Expr,
    Function,
    Index,
    Pack,
    Return,
    Slice,
    Stmt,
    Store,
    Swap,
    Var,
)
from s2sad.ir.types import ListOf, is_complex, is_inexact
from s2sad.ir.walk import root_of, statements
from s2sad.rules.registry import Constant, Elementwise, find


@dataclass(frozen=True, slots=True)
class Flow:
    """What a callee does with derivatives: which results and written parameters vary with which.

    `results` None: every result that can vary does so with every argument.
    """

    results: tuple[frozenset[int], ...] | None
    writes: dict[int, frozenset[int]]

    def origins(self, targets: tuple[Var, ...], args: tuple[Expr, ...]) -> tuple[frozenset[int], ...]:
        """Return, for each target of a call, the positions of the arguments with which it varies."""
        if self.results is not None:
            return self.results
        every = frozenset(i for i, arg in enumerate(args) if is_inexact(arg.type))
        return tuple(every if is_inexact(t.type) else frozenset[int]() for t in targets)


LIBRARY = Flow(None, {})
"""A library function with several results."""


FlowOf = Callable[[str], Flow]


def sources(expr: Expr | Slice) -> set[str]:
    """Return the names through which a derivative flows into `expr`."""
    match expr:
        case Var(name, kind):
            return {name} if is_inexact(kind) else set()
        case Index(base):
            return sources(base) if is_inexact(expr.type) else set()
        case Pack(_, items):
            return {name for item in items for name in sources(item)}
        case Apply(fn, args, kind):
            if fn is ops.pop or (fn in (np.array, np.stack) and isinstance(args[0].type, ListOf)):
                return sources(args[0]) if is_inexact(kind) else set()
            rule = find(fn)
            if isinstance(rule, Constant) or not is_inexact(kind):
                return set()
            found: set[str] = set()
            for position, arg in enumerate(args):
                if isinstance(rule, Elementwise) and _none_at(rule, position, is_complex(arg.type)):
                    continue
                found |= sources(arg)
            return found
        case _:
            return set()


def _none_at(rule: Elementwise, position: int, complex_argument: bool) -> bool:
    """Say whether an argument never has a derivative, complex or not; one without a rule is kept, to be refused."""
    if position >= len(rule.partials) or (complex_argument and rule.complex_partials is None):
        return False
    others = rule.complex_partials or rule.partials
    return rule.partials[position] == "0" and others[position] == "0"


def edges(body: tuple[Stmt, ...], flow_of: FlowOf) -> list[tuple[str, str]]:
    """Return the pairs `(from, to)` along which derivatives flow in one statement."""
    result: list[tuple[str, str]] = []
    written = _written_lists(body, flow_of)
    for stmt in statements(body):
        match stmt:
            case Assign(target, value):
                if is_inexact(target.type):
                    result.extend((name, target.name) for name in sources(value))
                root = _alias_root(value)
                if root is not None:  # what is written through the view is written to its root
                    result.append((target.name, root))
            case Store(place, _, value):
                root = root_of(place)
                if root is not None:
                    result.extend((name, root.name) for name in sources(value))
                    held = _alias_root(value) if root.name in written else None
                    result.extend([(root.name, held)] if held is not None else [])
            case Append(target, value):
                result.extend((name, target.name) for name in sources(value))
                held = _alias_root(value) if target.name in written else None
                result.extend([(target.name, held)] if held is not None else [])  # so for what a list holds
            case Swap(first, second):
                result.extend(((first.name, second.name), (second.name, first.name)))
            case CallStmt(targets, callee, args):
                result.extend(_call_edges(targets, args, flow_of(callee)))
            case _:
                pass
    return result


def _written_lists(body: tuple[Stmt, ...], flow_of: FlowOf) -> set[str]:
    """Return the lists whose arrays are written, themselves or under a name of their own."""
    if not any(isinstance(s, Append) for s in statements(body)):
        return set()
    views = {s.target.name: base for s in statements(body)
             if isinstance(s, Assign) and (base := _alias_root(s.value)) is not None}  # fmt: skip
    found: set[str] = set()

    def note(name: str) -> None:
        seen: set[str] = set()
        while name not in seen:
            seen.add(name)
            name = views.get(name, name)
        found.update(seen)

    for stmt in statements(body):
        match stmt:
            case Store(place, op):
                root = root_of(place)
                whole = isinstance(place, Index) and isinstance(place.base.type, ListOf) and not op
                if root is not None and not whole:
                    note(root.name)
            case CallStmt(_, callee, args):
                for at in flow_of(callee).writes:
                    root = root_of(args[at])
                    if root is not None:
                        note(root.name)
            case _:
                pass
    return found


def _alias_root(value: Expr) -> str | None:
    from s2sad.analysis.alias import view_base

    base = view_base(value)
    return base.name if base is not None else None


def _call_edges(targets: tuple[Var, ...], args: tuple[Expr, ...], flow: Flow) -> Iterable[tuple[str, str]]:
    for target, origin in zip(targets, flow.origins(targets, args), strict=True):
        for position in origin:
            for name in sources(args[position]):
                yield name, target.name
    for written, origin in flow.writes.items():
        root = root_of(args[written])
        if root is not None:
            for position in origin:
                for name in sources(args[position]):
                    yield name, root.name


def reach(start: set[str], pairs: list[tuple[str, str]]) -> set[str]:
    """Return everything reachable from `start` along the pairs."""
    following: dict[str, list[str]] = {}
    for a, b in pairs:
        following.setdefault(a, []).append(b)
    found, todo = set(start), list(start)
    while todo:
        for other in following.get(todo.pop(), ()):
            if other not in found:
                found.add(other)
                todo.append(other)
    return found


def active_names(fn: Function, inputs: set[str], outputs: set[str] | None, flow_of: FlowOf) -> set[str]:
    """Return the names that are varied by `inputs` and useful to the results or to `outputs`."""
    varied, useful = varied_and_useful(fn, inputs, outputs, flow_of)
    return varied & useful


def varied_and_useful(
    fn: Function, inputs: set[str], outputs: set[str] | None, flow_of: FlowOf
) -> tuple[set[str], set[str]]:
    """Return the names computed from `inputs`, and those that the results or `outputs` are computed from."""
    pairs = edges(fn.body, flow_of)
    varied = reach(inputs, pairs)
    useful_start: set[str] = set(outputs or ())
    for stmt in statements(fn.body):
        if isinstance(stmt, Return):
            for value in stmt.values:
                useful_start |= sources(value)
    useful = reach(useful_start, [(b, a) for a, b in pairs])
    return varied, useful


def flow_summary(fn: Function, flow_of: FlowOf, written: frozenset[int]) -> Flow:
    """Summarise a function: how its results and written parameters depend on its parameters."""
    pairs = edges(fn.body, flow_of)
    reached = [reach({p.name}, pairs) if is_inexact(p.type) else set[str]() for p in fn.params]
    returns = [s for s in statements(fn.body) if isinstance(s, Return)]
    results: list[frozenset[int]] = []
    for position in range(len(fn.results)):
        names = {name for r in returns for name in sources(r.values[position])}
        results.append(frozenset(i for i, found in enumerate(reached) if found & names))
    writes = {
        i: frozenset(j for j, found in enumerate(reached) if p.name in found)
        for i, p in enumerate(fn.params)
        if i in written
    }
    return Flow(tuple(results), writes)
