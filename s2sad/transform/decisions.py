"""What was decided while an adjoint was written, kept as it is for whoever wants to explain it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from s2sad.analysis.facts import Facts
from s2sad.analysis.layout import Layout
from s2sad.analysis.needs import Needs
from s2sad.analysis.saved import Plan
from s2sad.ir.nodes import Function, Var
from s2sad.transform.tapes import Slot


@dataclass(frozen=True, slots=True)
class Decisions:
    """The facts behind the adjoint of one function; nothing in the transform reads them.

    Attributes:
        primal: the function as it was differentiated: structured, each name with one meaning.
        inputs: the names that are differentiated.
        results_active: which results have a cotangent.
        active: the names that carry a derivative.
        facts: what is known of the functions that it calls.
        plan: what each statement saves, and what each block brings back.
        slots: where the saved values are kept, in the plan's order.
        reading: by statement, the primal values that its adjoint reads.
        layout: the blocks and loops of `primal`.
        dear: the names whose values are kept because it takes long to compute them again.
        pushed: of a function that calls itself, what each call keeps for its adjoint, and on which tape.
    """

    primal: Function
    inputs: frozenset[str]
    results_active: tuple[bool, ...]
    active: frozenset[str]
    facts: Facts
    plan: Plan
    slots: dict[Any, list[Slot]]
    reading: dict[int, Needs]
    layout: Layout
    dear: frozenset[str] = frozenset()
    pushed: tuple[tuple[Var, Var], ...] = ()
