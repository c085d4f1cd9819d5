"""PyTorch, eager, in double precision and on one thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from tools.bench.kernel import Kernel
from tools.bench.peers import torch_programs
from tools.bench.peers.peer import Run

torch.set_num_threads(1)


def derivatives(kernel: Kernel, args: tuple[Any, ...]) -> dict[str, Run]:
    """Return PyTorch's derivative, if the problem has been written for it."""
    primal = getattr(torch_programs, kernel.peers, None)
    if primal is None:
        return {}
    tensors = tuple(_tensor(arg) for arg in args)
    wrt = kernel.wrt if isinstance(kernel.wrt, tuple) else (kernel.wrt,)
    match kernel.derivative:
        case "grad":
            return {"": lambda: _gradient(primal, tensors, wrt)}
        case "hvp":
            return {"": lambda: torch.func.jvp(
                lambda x: torch.func.grad(primal)(x, *tensors[1:-1]), tensors[:1], tensors[-1:])[1]}
        case "covectors":
            return {"": lambda: _covectors(primal, tensors)}
        case "jacfwd":
            return {"": lambda: torch.func.jacfwd(primal)(*tensors)}
        case "batched jacobian" | "own loop":
            jacobian = torch.func.vmap(torch.func.jacrev(primal, argnums=wrt))
            return {"": lambda: jacobian(*tensors)}
    return {}


def _tensor(arg: Any) -> Any:
    if isinstance(arg, float):
        return torch.tensor(arg, dtype=torch.float64)
    return torch.tensor(arg) if isinstance(arg, np.ndarray) else arg


def _gradient(primal: Any, tensors: tuple[Any, ...], wrt: tuple[int, ...]) -> Any:
    leaves = [tensors[i].detach().requires_grad_() for i in wrt]
    given = list(tensors)
    for i, leaf in zip(wrt, leaves, strict=True):
        given[i] = leaf
    return torch.autograd.grad(primal(*given), leaves)


def _covectors(primal: Any, tensors: tuple[Any, ...]) -> Any:
    _, pullback = torch.func.vjp(lambda x: primal(x, *tensors[1:-1]), tensors[0])
    return torch.func.vmap(pullback)(tensors[-1])[0]


def to_numpy(result: Any) -> Any:
    """Return tensors as NumPy arrays, in the same structure."""
    if isinstance(result, tuple | list):
        return tuple(to_numpy(item) for item in result)
    return result.detach().numpy()
