"""A function that calls itself, with its adjoint: one recursion gives the value and adds to the adjoints.

    def tree(x, lo, hi):                    def tree_fwd_bwd(x, lo, hi, result_bar, x_bar):
        if hi - lo == 1:                        if hi - lo == 1:
            return x[lo] ** 2                       result = x[lo] ** 2
        mid = (lo + hi) // 2                        x_bar[lo] += 2 * x[lo] * result_bar
        a = tree(x, lo, mid)         becomes    else:
        b = tree(x, mid, hi)                        mid = (lo + hi) // 2
        return a + 2 * b                            b = tree_fwd_bwd(x, mid, hi, 2 * result_bar, x_bar)
                                                    a = tree_fwd_bwd(x, lo, mid, result_bar, x_bar)
                                                    result = a + 2 * b
                                                return result

Needs: the cotangent of every call is known before the call is made, as where results are only multiplied and
added. Else there are two recursions, and stacks between them (`transform/recursion.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.ordering import Ordering
from s2sad.ir.nodes import CallStmt, Expr, For, Function, Param, Var, While
from s2sad.ir.types import Array, ListOf, Type
from s2sad.ir.walk import bound, exprs_of, reads, statements
from s2sad.transform.adjoint import Sweeps
from s2sad.transform.joint_calls import with_joint_calls
from s2sad.transform.one_branch import with_one_branch
from s2sad.transform.tidy import tidy
from s2sad.transform.together import names_of, to_be_called


@dataclass(frozen=True, slots=True)
class OneRecursion:
    """The recursion, and what is given to it beside the arguments of the function."""

    function: Function
    results: tuple[Type, ...]
    differentiated: tuple[Param, ...]
    seeds: tuple[Var, ...]
    shadows: tuple[Var, ...]
    """The adjoints of array arguments, which it adds to; those of numbers are results, behind the values."""

    @property
    def names(self) -> set[str]:
        """The names of its parameters."""
        return {p.name for p in self.function.params}

    def run(
        self, seeds: Sequence[Expr], values: tuple[Var, ...], scalars: tuple[Var, ...], like: Function
    ) -> list[CallStmt]:
        """Return the call for the arguments of `like`."""
        named = (Var(p.name, p.type) for p in like.params)
        return [CallStmt((*values, *scalars), self.function.name, (*named, *seeds, *self.shadows), like.span)]


def one_recursion(
    callee: Function, made: Sweeps, name: str, back: str, wrt: tuple[int, ...], facts: Facts
) -> OneRecursion | None:
    """Return both sweeps of a recursive function as one recursion, or None where that cannot be.

    `back`: what `made` calls where it needs the adjoint of a call; it has no body.
    """
    if _needs_values(callee, made, back, facts):
        return None
    shadows = tuple(b for b in made.bars if isinstance(b, Var) and isinstance(b.type, Array | ListOf))
    whole = to_be_called(made, name, callee.span.function or callee.name, True)
    filled = frozenset(s.name for s in shadows)
    names = names_of(made.primal)
    whole = tidy(whole, facts, names, filled, silent=True)
    whole = tidy(with_one_branch(whole, Ordering(whole, facts)), facts, names, filled, silent=True)
    whole = with_joint_calls(whole, callee.name, back, name, facts)
    called = [s.callee for s in statements(whole.body) if isinstance(s, CallStmt) and s.fn is None]
    if back in called or callee.name in called or name not in called:
        return None
    results, differentiated = made.primal.results, tuple(callee.params[i] for i in wrt)
    return OneRecursion(whole, results, differentiated, made.seeds, shadows)


def _needs_values(callee: Function, made: Sweeps, back: str, facts: Facts) -> bool:
    """Say whether a cotangent follows from what a call gives, so that it is not known before the call."""
    every = [*statements(made.forward), *statements(made.reverse)]
    calls = [s for s in every if isinstance(s, CallStmt) and s.fn is None]
    known = {t.name for s in calls if s.callee == callee.name for t in s.targets}
    follows: set[str] = set()
    while known - follows:
        follows |= known
        for stmt in every:
            if not isinstance(stmt, For | While) and any(reads(e) & follows for e in exprs_of(stmt)):
                known |= {*bound(stmt), *written_by(stmt, facts)}
    seeds = slice(len(callee.params), len(callee.params) + len(made.seeds))
    return any(reads(seed) & follows for s in calls if s.callee == back for seed in s.args[seeds])


__all__ = ["OneRecursion", "one_recursion"]
