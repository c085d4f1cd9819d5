"""Every registered function, called in its domain and in every variant, climbs the ladder; none is left out."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

from s2sad.rules import REGISTRY, Constant
from s2sad.rules.sample import values
from tests.rulebook import Call, calls_of, climb_call, is_ours, registered

CALLS = [call for fn in registered() for call in calls_of(fn)]
COMPILED = [call for call in CALLS if zlib.crc32(f"{call.label} {call.variant}".encode()) % 149 == 0]
CONSTANTS = [fn for fn, rule in REGISTRY.items() if isinstance(rule, Constant) and not is_ours(fn)]
UNSET = (np.empty, np.empty_like, print, hash)
"""Known to have no derivative, but with results that say nothing."""


def ident(value: Any) -> str:
    """Name a case."""
    return f"{value.label}-{value.variant}" if isinstance(value, Call) else getattr(value, "__name__", str(value))


def test_no_function_is_without_a_domain() -> None:
    """A rule that is sampled nowhere is a rule without a test."""
    missing = [fn for fn in registered() if not calls_of(fn)]
    assert not missing, f"say in the rule or in tests/rulebook.py where to sample {missing}"
    assert len(CALLS) > 900


@pytest.mark.parametrize("call", CALLS, ids=ident)
def test_call(call: Call) -> None:
    """Climb."""
    climb_call(call)


@pytest.mark.parametrize("call", COMPILED, ids=ident)
def test_compiled_call(call: Call) -> None:
    """Climb, compiled: a few calls spread over all functions."""
    climb_call(call, "cpu")


@pytest.mark.parametrize("fn", [fn for fn in CONSTANTS if fn not in UNSET], ids=ident)
def test_a_constant_does_not_vary(fn: Any) -> None:
    """What is known to have no derivative gives the same for arguments that are a little larger."""
    for args in ((values(4),), (values(4), values(4, seed=1)), (0.7,), (0.7, 0.3), (0.7, 2.3, 0.3)):
        try:
            result, moved = (fn(*(a + step for a in args)) for step in (0.0, 1e-9))
        except (TypeError, ValueError, IndexError):
            continue
        np.testing.assert_array_equal(result, moved)
