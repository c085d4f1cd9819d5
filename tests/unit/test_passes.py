"""Each pass changes the text, never the numbers: every case with each pass switched off."""

import numpy as np
import pytest

import s2sad
from s2sad.transform import tidy
from tests.golden.cases import CASES

PASSES = [
    "zeros", "dead", "scalars", "copies", "nest", "handed", "sizes", "signs", "merge", "sunk", "shared", "order",
    "returns",
]  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("off", PASSES)
def test_without_pass(name, off, monkeypatch):
    """The derivative without one pass equals the derivative with all of them."""
    fun, args, wrt = CASES[name]

    def run():
        made = s2sad.differentiate(target="python", argnums=wrt, cache=False)(fun)
        made.recompile()
        return made.value_and_grad(*args)

    value, bars = run()
    monkeypatch.setattr(tidy, "DISABLED", {off})
    other, others = run()
    np.testing.assert_allclose(other, value, rtol=1e-14)
    for a, b in zip(bars, others, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-13, atol=1e-14)
