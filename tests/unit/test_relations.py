"""The programs whose costs are compared compute the same."""

import numpy as np
import pytest

import s2sad
from tools.relations import hessian_products, jacobian_products, squared_tanh


def test_each_way_gives_the_same_product():
    for group in (hessian_products((3, 4)), *jacobian_products(5)):
        first, *others = (run() for run in group.values())
        for other in others:
            np.testing.assert_allclose(other, first, rtol=1e-12)


def test_a_hessian_vector_product_computes_no_gradient(monkeypatch):
    """It asks for the tangent of the gradient alone, and still looks at what it is given."""
    from s2sad.api import derive as pipeline

    asked = []
    derive = pipeline.derive

    def counted(fun, mode, *rest):
        asked.append(mode)
        return derive(fun, mode, *rest)

    monkeypatch.setattr(pipeline, "derive", counted)
    X, V = np.random.default_rng(2).normal(size=(2, 2, 3))
    found = s2sad.hvp(lambda X: squared_tanh(X), (X,), (V,), target="python")
    t = np.tanh(X)
    np.testing.assert_allclose(found, (2 * (1 - t**2) ** 2 - 4 * t**2 * (1 - t**2)) * V, rtol=1e-12)
    assert set(asked) == {"tangent"}
    for wrong in (V[:1], V.astype(np.float32), (V,), 1.0):
        with pytest.raises(s2sad.ArgumentError, match="tangent"):
            s2sad.hvp(squared_tanh, (X,), (wrong,), target="python")
    np.testing.assert_array_equal(s2sad.hvp(squared_tanh, (X,), (None,), target="python"), np.zeros((2, 3)))
