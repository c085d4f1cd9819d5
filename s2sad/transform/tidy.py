"""The passes that make generated code read like written code, as a list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from s2sad.analysis.facts import Facts
from s2sad.ir import ops, verify
from s2sad.ir.nodes import Apply, Expr, Function, Stmt
from s2sad.ir.walk import each_once, exprs_of, map_blocks, map_children, map_exprs, subexpressions
from s2sad.transform.dead import without_dead_code
from s2sad.transform.filled import filled
from s2sad.transform.fused import fused
from s2sad.transform.handed import handed
from s2sad.transform.kept_before import kept_before
from s2sad.transform.last_stores import without_last_stores
from s2sad.transform.lighter import lighter
from s2sad.transform.merged import merged
from s2sad.transform.nest import nested, without_copies
from s2sad.transform.order import forward_order
from s2sad.transform.read_first import read_first
from s2sad.transform.reciprocals import multiplied
from s2sad.transform.refills import without_refills
from s2sad.transform.repeats import without_repeats
from s2sad.transform.returns import without_last_copies
from s2sad.transform.scalars import scalarised
from s2sad.transform.shared import shared
from s2sad.transform.signs import signed
from s2sad.transform.sizes import sized
from s2sad.transform.sunk import sunk
from s2sad.transform.uniform import uniform
from s2sad.transform.zeros import first_accumulations

_ROUNDS = 8
DISABLED: set[str] = set()
"""Names of passes that are switched off: the tests compare with and without each."""


def tidy(
    fn: Function, facts: Facts, keep: frozenset[str] = frozenset(), outputs: frozenset[str] = frozenset(),
    silent: bool = False, together: bool = True, marks: bool = False,
) -> Function:  # fmt: skip
    """Run every pass until nothing changes.

    `keep`: the user's own names, which stay. `outputs`: arrays written for the caller.
    `silent`: prints and checks are dropped, as their statements have run before.
    `together`: loops and their adjoints may be one; on a device they stay apart, as their tapes are placed later.
    `marks`: what says that no derivative flows somewhere stays, as there are derivatives still to be written.
    """
    passes: list[tuple[str, Callable[[Function], Function]]] = [
        ("zeros", lambda f: first_accumulations(f, keep)),
        ("scalars", lambda f: scalarised(f, keep | outputs)),
        ("dead", lambda f: without_dead_code(f, facts, outputs, silent)),
        ("last", lambda f: without_last_stores(f, facts, outputs)),
        ("copies", lambda f: without_copies(f, keep)),
        ("nest", lambda f: nested(f, facts, keep)),
        ("handed", lambda f: handed(f, facts, keep)),
        ("sizes", lambda f: sized(f, keep)),
        ("uniform", lambda f: uniform(f, facts, keep)),
        ("lighter", lambda f: lighter(f, keep)),
        ("signs", lambda f: signed(f, keep)),
        ("merge", lambda f: merged(f, facts, keep)),
        ("first", lambda f: read_first(f, facts, keep)),
    ]
    fn = replace(fn, body=each_once(fn.body))  # the sweeps have statements of the primal in common
    fn = fn if marks else unmarked(fn)
    for _ in range(_ROUNDS):
        before = fn
        for name, apply in passes:
            if name not in DISABLED and (made := apply(fn)) != fn:
                fn = _checked(made, facts)
        if fn == before:
            break
    if together and "kept" not in DISABLED and (kept := kept_before(fn, facts)) != fn:
        return tidy(_checked(kept, facts), facts, keep, outputs, silent, marks=marks)
    if together and "fused" not in DISABLED and (one := fused(fn, facts, keep)) != fn:
        one = _checked(one, facts)
        one = _checked(without_refills(one, facts), facts) if "refills" not in DISABLED else one
        return tidy(one, facts, keep, outputs, silent, marks=marks)
    if "sunk" not in DISABLED and (moved := sunk(fn)) != fn:
        fn = _checked(without_dead_code(_checked(moved, facts), facts, outputs, silent), facts)
    fn = _checked(without_repeats(fn, facts), facts) if "repeats" not in DISABLED else fn
    fn = _checked(shared(fn, facts, keep), facts) if "shared" not in DISABLED else fn
    fn = _checked(multiplied(fn, keep), facts) if "reciprocals" not in DISABLED else fn
    fn = _checked(forward_order(fn, facts), facts) if "order" not in DISABLED else fn
    fn = _checked(filled(fn, facts), facts) if "filled" not in DISABLED else fn
    return _checked(without_last_copies(fn, facts), facts) if "returns" not in DISABLED else fn


def unmarked(fn: Function) -> Function:
    """Return a function without what says that no derivative flows somewhere: all derivatives have been written."""
    return replace(fn, body=_without_marks(fn.body))


def _without_marks(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    def plain(expr: Expr) -> Expr:
        made: Expr = map_children(expr, plain)
        return made.args[0] if isinstance(made, Apply) and made.fn is ops.stop_gradient else made

    def each(stmt: Stmt) -> Stmt:
        parts = (part for expr in exprs_of(stmt) for part in subexpressions(expr))
        marked = any(isinstance(part, Apply) and part.fn is ops.stop_gradient for part in parts)
        return map_blocks(map_exprs(stmt, plain) if marked else stmt, _without_marks)

    return tuple(each(stmt) for stmt in body)


def _checked(fn: Function, facts: Facts) -> Function:
    return verify.verify(fn, facts.functions) if verify.ENABLED else fn
