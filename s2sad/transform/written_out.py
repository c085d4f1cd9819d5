"""Helpers written out where they are called, before the function that calls them is differentiated.

    u = u + h * rate(u, k)      becomes      rate_value = k * u * (1.0 - u)
                                             u = u + h * rate_value

The adjoint of a call runs the helper anew for what it needs; of a body that stands in the caller, that is
kept from the first run, as an adjoint by hand would. Needs: the helper ends in its only return, binds no array
parameter to another array, has no rule and does not call itself. Inside a loop, where what is kept is kept for
every step, only a helper of numbers and tiny arrays is written out. One called from several places stays a
function, but for a few lines outside loops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from math import prod

from s2sad.analysis.facts import Facts
from s2sad.ir.nodes import CallStmt, Const, For, Function, Raise, Return, Stmt, While
from s2sad.ir.types import Array, ListOf, Scalar, Type
from s2sad.ir.walk import bound, exprs_of, map_blocks, names_in, statements, subexpressions, targets
from s2sad.transform.inlined import Names, Renaming, free
from s2sad.transform.naming import Namer

_MANY = 16  # statements of a helper that stands in several places, in all of them together
_WHOLE = 6000  # operations of the helpers that one function takes in: a larger one is no longer read, nor compiled soon
_STEPS = 4  # of a loop that may stand in a loop
_FEW = 16  # numbers of an array that may be kept at every step of a loop


def written_out(fn: Function, functions: Mapping[str, Function], facts: Facts) -> Function:
    """Return `fn` with the bodies of such helpers in place of their calls."""
    work = _Writing(fn, functions, facts)
    if not work.any:
        return fn
    whole = replace(fn, body=work.block(fn.body, False))
    better = free(work.wanted, whole)
    invented = frozenset(better.get(name, name) for name in work.invented)
    return replace(Names(better).function(whole), invented=invented)




class _Writing:
    """Writes helpers into one function."""

    def __init__(self, fn: Function, functions: Mapping[str, Function], facts: Facts) -> None:
        self.functions, self.facts = functions, facts
        self.calls = Counter(s.callee for s in statements(fn.body) if isinstance(s, CallStmt) and s.fn is None)
        self.fit = self._that_has_room({name for name in self.calls if self._fits(name, fn.name)})
        self.any = bool(self.fit)
        self.bound = Counter([*(p.name for p in fn.params), *(n for s in statements(fn.body) for n in bound(s))])
        self.namer = Namer({*names_in(fn.body), *(p.name for p in fn.params)})
        self.wanted: dict[str, str] = {}
        self.invented = set(fn.invented)

    def block(self, body: tuple[Stmt, ...], looped: bool) -> tuple[Stmt, ...]:
        """Return a block, inside a loop or not, with the helpers in it."""
        made: list[Stmt] = []
        for stmt in body:
            inside = looped or isinstance(stmt, For | While)
            if isinstance(stmt, CallStmt) and stmt.callee in self.fit and stmt.fn is None and (
                not looped or (self.calls[stmt.callee] == 1 and _only_few_numbers(self.functions[stmt.callee]))
            ):
                own = Renaming(self.functions[stmt.callee], stmt, self.namer, self.bound)
                self.wanted |= own.wanted
                self.invented |= own.made & {own.names.get(name) for name in own.fn.invented}
                made.extend(own.written_out(own_lines=True))
            else:
                made.append(map_blocks(stmt, lambda b, inside=inside: self.block(b, inside)))
        return tuple(made)

    def _that_has_room(self, names: set[str]) -> set[str]:
        """Return the helpers that the function takes in, the small ones first."""
        taken, total = set[str](), 0
        for size, name in sorted((_operations(self.functions[name].body), name) for name in names):
            total += size
            if total <= _WHOLE:
                taken.add(name)
        return taken

    def _fits(self, name: str, caller: str) -> bool:
        fn = self.functions.get(name)
        if fn is None or name == caller or name in self.facts.opaque or not _returns_last(fn):
            return False
        again = {n for stmt in statements(fn.body) for n in bound(stmt)}
        if any(p.name in again and isinstance(p.type, Array) for p in fn.params):
            return False
        if any(isinstance(k, ListOf) for k in (*fn.results, *(p.type for p in fn.params))):
            return False
        return self.calls[name] == 1 or _size(fn.body) * self.calls[name] <= _MANY


def _returns_last(fn: Function) -> bool:
    returns = [stmt for stmt in statements(fn.body) if isinstance(stmt, Return)]
    return not returns or (len(returns) == 1 and fn.body[-1] is returns[0])


def _size(body: tuple[Stmt, ...]) -> int:
    return sum(1 for stmt in statements(body) if not isinstance(stmt, Return | Raise))


def _operations(body: tuple[Stmt, ...]) -> int:
    return sum(1 for stmt in statements(body) for expr in exprs_of(stmt) for _ in subexpressions(expr))


def _only_few_numbers(fn: Function) -> bool:
    """Say whether a helper makes numbers and tiny arrays alone, without a loop."""
    return all(
        not isinstance(stmt, While) and (not isinstance(stmt, For) or _is_short(stmt))
        and all(_is_small(target.type) for target in targets(stmt))
        for stmt in statements(fn.body)
    )


def _is_short(loop: For) -> bool:
    start, stop = loop.start, loop.stop
    return isinstance(start, Const) and isinstance(stop, Const) and abs(stop.value - start.value) <= _STEPS


def _is_small(kind: Type) -> bool:
    if isinstance(kind, Array):
        sizes = [dim for dim in kind.dims if isinstance(dim, int)]
        return len(sizes) == len(kind.dims) and prod(sizes) <= _FEW
    return isinstance(kind, Scalar)
