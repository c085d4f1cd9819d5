"""A function over NumPy inside PyTensor, against PyTensor's own derivative."""

from __future__ import annotations

import numpy as np
import pytest

pytensor = pytest.importorskip("pytensor", reason="PyTensor is not installed")
pt = pytest.importorskip("pytensor.tensor", reason="PyTensor is not installed")

from s2sad.interop.pytensor import function  # noqa: E402


def logp(x, scale):
    total = 0.0
    for i in range(x.size):
        total -= 0.5 * (x[i] / scale) ** 2 + np.log(scale)
    return total


X = np.linspace(-1.0, 2.0, 4)


@pytest.fixture(params=["FAST_COMPILE", "NUMBA"])
def compiled(request):
    return lambda inputs, outputs: pytensor.function(inputs, outputs, mode=request.param)


def test_gradients_are_those_of_pytensor(compiled):
    x, scale = pt.dvector("x"), pt.dscalar("scale")
    ours = function(logp)(x, scale)
    theirs = pt.sum(-0.5 * (x / scale) ** 2 - pt.log(scale))
    graphs = [g for out in (ours, theirs) for g in (out, *pt.grad(out, [x, scale]))]
    found = compiled([x, scale], graphs)(X, 1.3)
    for a, b in zip(found[:3], found[3:], strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_array_results_and_integers(compiled):
    x, n = pt.dvector("x"), pt.lscalar("n")
    out = function(lambda x, n: np.cumsum(x) * n, ndim=1)(x, n)
    slope = pt.grad(pt.sum(out * pt.arange(4)), x)
    np.testing.assert_allclose(compiled([x, n], [slope])(X, 3)[0], 3 * np.array([6.0, 6.0, 5.0, 3.0]))


def test_equal_operations_are_merged():
    op = function(logp)
    assert op == function(logp)
    assert hash(op) == hash(function(logp))
