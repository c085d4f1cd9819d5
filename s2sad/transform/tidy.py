"""The passes that make generated code read like written code."""

from __future__ import annotations

from s2sad.analysis.facts import Facts
from s2sad.ir.nodes import Function


def tidy(fn: Function, facts: Facts) -> Function:
    """Run every pass, in order."""
    return fn
