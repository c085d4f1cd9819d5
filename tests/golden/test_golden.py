"""The emitted text is the product: it is compared as text, executed, and checked by the oracle."""

import itertools
from pathlib import Path

import numpy as np
import pytest

import s2sad
from tests.golden.cases import CASES
from tests.oracle import oracle_jvp

EXPECTED = Path(__file__).parent / "expected"


def emitted(name: str, mode: str) -> str:
    """Return the text of a case's derivative."""
    fun, args, wrt = CASES[name]
    made = s2sad.differentiate(target="python", argnums=wrt)(fun)
    made.value_and_grad(*args)
    return made.source(mode)


@pytest.mark.parametrize(("name", "mode"), list(itertools.product(CASES, ("value_and_grad", "jvp"))))
def test_text(name: str, mode: str, update_golden: bool) -> None:
    """The text is what it was when a person last read it, to the byte, and twice the same."""
    text = emitted(name, mode)
    file = EXPECTED / f"{name}_{mode}.py"
    if update_golden:
        file.write_text(text)
    assert text == file.read_text()
    assert text == emitted(name, mode)


@pytest.mark.parametrize("name", CASES)
def test_expected_text_runs(name: str) -> None:
    """The file itself, executed alone, gives the derivative that the oracle gives."""
    fun, args, wrt = CASES[name]
    scope: dict[str, object] = {}
    exec((EXPECTED / f"{name}_value_and_grad.py").read_text(), scope)
    value, *bars = scope[f"{fun.__name__}_value_and_grad"](*(np.copy(a) if np.ndim(a) else a for a in args))  # type: ignore[operator]
    for position, bar in zip(wrt, bars, strict=True):
        for index in np.ndindex(np.shape(args[position])):
            unit = np.zeros(np.shape(args[position]))
            unit[index] = 1.0
            dots = [None] * len(args)
            dots[position] = unit if np.ndim(args[position]) else 1.0
            out, dot = oracle_jvp(fun, args, tuple(dots))
            np.testing.assert_allclose(value, out, rtol=1e-13)
            np.testing.assert_allclose(np.asarray(bar)[index], dot, rtol=1e-12, atol=1e-13)
