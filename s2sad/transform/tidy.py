"""The passes that make generated code read like written code, as a list."""

from __future__ import annotations

from s2sad.analysis.facts import Facts
from s2sad.ir.nodes import Function
from s2sad.transform.dead import without_dead_code
from s2sad.transform.nest import merged, nested, without_copies
from s2sad.transform.order import forward_order
from s2sad.transform.zeros import first_accumulations

_ROUNDS = 8
DISABLED: set[str] = set()
"""Names of passes that are switched off: the tests compare with and without each."""


def tidy(
    fn: Function, facts: Facts, keep: frozenset[str] = frozenset(), outputs: frozenset[str] = frozenset(),
    silent: bool = False,
) -> Function:  # fmt: skip
    """Run every pass until nothing changes.

    `keep`: the user's own names, which stay. `outputs`: arrays written for the caller.
    `silent`: prints and checks are dropped, as their statements have run before.
    """
    for _ in range(_ROUNDS):
        before = fn
        if "zeros" not in DISABLED:
            fn = first_accumulations(fn)
        if "dead" not in DISABLED:
            fn = without_dead_code(fn, facts, outputs, silent)
        if "nest" not in DISABLED:
            fn = merged(nested(without_copies(fn, keep), facts, keep))
        if fn == before:
            break
    return forward_order(fn, facts) if "order" not in DISABLED else fn
