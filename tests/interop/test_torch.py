"""A function over NumPy inside PyTorch, against PyTorch's own derivative."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from s2sad.interop.torch import function  # noqa: E402


def decay(x, k, n):
    y = x.copy()
    for i in range(n):
        for j in range(y.size):
            y[j] = y[j] - 0.1 * k * np.tanh(y[j])
    return y


def decay_torch(x, k, n):
    for _ in range(n):
        x = x - 0.1 * k * torch.tanh(x)
    return x


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_gradients_are_those_of_torch(dtype):
    x = torch.linspace(-1, 2, 5, dtype=dtype, requires_grad=True)
    k = torch.tensor(0.7, dtype=dtype, requires_grad=True)
    grads = []
    for f in (function(decay), decay_torch):
        x.grad = k.grad = None
        (f(x, k, 3) ** 2).sum().backward()
        grads.append((x.grad, k.grad))
    for ours, theirs in zip(*grads, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        torch.testing.assert_close(ours, theirs)


def test_gradcheck_and_several_results():
    def both(x, y):
        return np.sum(x * y), np.sin(x) + y

    x = torch.linspace(0.1, 1.0, 3, dtype=torch.float64, requires_grad=True)
    y = torch.linspace(1.0, 2.0, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(function(both), (x, y))


def test_what_needs_no_gradient_gets_none():
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    k = torch.tensor(0.5, dtype=torch.float64)
    function(decay)(x, k, 1).sum().backward()
    assert x.grad is not None
    assert k.grad is None
    out = function(decay)(x.detach(), k, 1)
    assert not out.requires_grad


def test_a_module_learns():
    target = torch.tensor([0.3, 0.6], dtype=torch.float64)
    weights = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
    descent = torch.optim.Adam([weights], lr=0.1)
    squash = function(lambda w: np.tanh(w))
    for _ in range(100):
        descent.zero_grad()
        loss = ((squash(weights) - target) ** 2).sum()
        loss.backward()
        descent.step()
    assert loss.item() < 1e-4
