"""The derivative of each library function: one row or one class per function."""

from s2sad.rules.registry import (
    REGISTRY,
    Constant,
    Elementwise,
    Rule,
    Structured,
    add_row,
    constant,
    find,
    resolve,
    row,
    rule,
)

__all__ = [
    "REGISTRY",
    "Constant",
    "Elementwise",
    "Rule",
    "Structured",
    "add_row",
    "constant",
    "find",
    "resolve",
    "row",
    "rule",
]
