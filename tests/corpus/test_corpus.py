"""Every program of the corpus up the ladder, in CPython and compiled."""

from __future__ import annotations

import builtins
import itertools
import os
from typing import Any

import pytest

from tests.corpus.programs import REGISTER, Program, programs
from tests.corpus.refusals import REFUSALS, Refusal
from tests.ladder import climb

PROGRAMS = programs()
TARGETS = tuple(os.environ.get("S2SAD_CORPUS_TARGETS", "python,cpu").split(","))


def derivative(program: Program, target: str) -> Any:
    """Differentiate a program for one target."""
    import s2sad

    wrt = program.wrt if len(program.wrt) > 1 else program.wrt[0]
    return s2sad.differentiate(target=target, argnums=wrt)(program.fun)


@pytest.mark.parametrize("name", list(REGISTER))
@pytest.mark.parametrize("target", TARGETS)
def test_program(target: str, name: str) -> None:
    """Climb, or where aliasing cannot be decided, refuse with `AliasError`."""
    from s2sad.errors import AliasError

    program = REGISTER[name]
    try:
        climb(program, derivative(program, target))
    except AliasError:
        if "may_alias" not in program.marks:
            raise


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda r: r.name)
def test_refusal(refusal: Refusal) -> None:
    """Demand the error's class, its words, and carets under the user's own line."""
    import s2sad
    from s2sad import errors

    expected = getattr(errors, refusal.error, None) or getattr(builtins, refusal.error)
    with pytest.raises(expected) as caught:
        s2sad.differentiate(target="python", argnums=refusal.wrt)(refusal.fun).value_and_grad(*refusal.args)
    message = str(caught.value)
    assert refusal.substring in message, message
    if refusal.caret:
        lines = message.splitlines()
        marked = [above for above, below in itertools.pairwise(lines) if "^" in below]
        assert any(refusal.caret in line for line in marked), message
        assert "refusals.py:" in message, message
