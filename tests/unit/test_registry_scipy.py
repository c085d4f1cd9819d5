"""Every function of SciPy with a rule, called in its domain and in every variant, climbs the ladder."""

from __future__ import annotations

import pytest

from tests.rulebook import Call, calls_of, climb_call

pytest.importorskip("scipy")
from tests.rulebook_scipy import registered

CALLS = [call for fn in registered() for call in calls_of(fn)]


def ident(call: Call) -> str:
    """Name a case."""
    return f"{call.label}-{call.variant}"


def test_no_function_is_without_a_domain() -> None:
    """A rule that is sampled nowhere is a rule without a test."""
    assert not [fn for fn in registered() if not calls_of(fn)]
    assert len(CALLS) > 500


@pytest.mark.parametrize("call", CALLS, ids=ident)
def test_call(call: Call) -> None:
    """Climb."""
    climb_call(call)
