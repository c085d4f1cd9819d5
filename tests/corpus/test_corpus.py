"""Every program of the corpus up the ladder, in CPython and compiled."""

from __future__ import annotations

import builtins
import itertools
import os
from typing import Any

import pytest

from tests.corpus.programs import REGISTER, Program, programs
from tests.corpus.refusals import REFUSALS, Refusal
from tests.ladder import climb, compare

PROGRAMS = programs()
TARGETS = tuple(os.environ.get("S2SAD_CORPUS_TARGETS", "python,cpu").split(","))


ALL_RUNGS = bool(os.environ.get("S2SAD_CORPUS_ALL_RUNGS"))
ALL = ALL_RUNGS or os.environ.get("S2SAD_TESTS") == "all"
_MASKED = "0 * nan where a mask leaves an entry out"
KNOWN_LIMITS: dict[tuple[str, str], str] = {
    ("python", "elementwise.nan_to_finite_mask"): _MASKED,
    ("cpu", "elementwise.nan_to_finite_mask"): _MASKED,
    ("cpu", "decompositions.matrix_function"): "Numba's `eigh` has no UPLO",
}
"""What the compiler refuses or the backend cannot compile yet, by target and program, and why."""


def derivative(program: Program, target: str) -> Any:
    """Differentiate a program for one target."""
    import s2sad

    wrt = program.wrt if len(program.wrt) > 1 else program.wrt[0]
    return s2sad.differentiate(target=target, argnums=wrt)(program.fun)


def cases() -> list[Any]:
    """List every program for every target, the known limits marked; compiled, every sixth.

    Compiling is slow. `S2SAD_TESTS=all` compiles all of them, `S2SAD_CORPUS_ALL_RUNGS=1` climbs with each, too.
    """
    return [
        pytest.param(target, name, id=f"{target}-{name}", marks=_limits(target, name))
        for target in TARGETS
        for at, name in enumerate(REGISTER)
        if target == "python" or ALL or at % 6 == 0 or (target, name) in KNOWN_LIMITS
    ]


def _limits(target: str, name: str) -> list[Any]:
    reason = KNOWN_LIMITS.get((target, name))
    return [] if reason is None else [pytest.mark.xfail(strict=True, reason=reason)]


@pytest.mark.parametrize(("target", "name"), cases())
def test_program(target: str, name: str) -> None:
    """Climb, or where aliasing cannot be decided, refuse with `AliasError`.

    Compiling is slow: compiled, half of those are compared with their own derivative in CPython.
    """
    from s2sad.errors import AliasError

    program = REGISTER[name]
    try:
        if target == "python" or ALL_RUNGS or list(REGISTER).index(name) % 12 == 0:
            climb(program, derivative(program, target))
        else:
            compare(program, derivative(program, target), derivative(program, "python"))
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
