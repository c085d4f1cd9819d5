"""A function over NumPy inside JAX, against JAX's own derivative."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")

from s2sad.interop.jax import function  # noqa: E402


@pytest.fixture(autouse=True)
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def energy(x, k):
    total = 0.0
    for i in range(1, x.size):
        total += k * np.sin(x[i] - x[i - 1]) ** 2
    return total


def energy_jax(x, k):
    return jnp.sum(k * jnp.sin(x[1:] - x[:-1]) ** 2)


X = np.linspace(0.0, 2.0, 5) ** 2


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_gradients_are_those_of_jax(wrap):
    ours = wrap(jax.value_and_grad(function(energy), argnums=(0, 1)))(X, 0.7)
    theirs = jax.value_and_grad(energy_jax, argnums=(0, 1))(X, 0.7)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_vmap_and_composition():
    batch = np.stack([X, X / 2, X - 1])
    f = function(energy)
    ours = jax.vmap(jax.grad(lambda x: jnp.exp(f(2.0 * x, 0.3))))(batch)
    theirs = jax.vmap(jax.grad(lambda x: jnp.exp(energy_jax(2.0 * x, 0.3))))(batch)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_an_array_result_needs_its_shape():
    def steps(x, n):
        return np.cumsum(x) * n

    def output(x, n):
        return x

    ours = jax.jacrev(function(steps, output))(X, 3)
    np.testing.assert_allclose(ours, 3 * np.tril(np.ones((5, 5))))
    with pytest.raises(Exception, match="the function returned shape"):
        jax.block_until_ready(function(steps)(X, 3))


def test_single_precision_stays_single():
    x = X.astype(np.float32)
    found = jax.grad(function(energy))(x, np.float32(0.7))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, jax.grad(energy_jax)(x, np.float32(0.7)), rtol=1e-5)
