"""A function over NumPy inside PyTorch: its derivative becomes an `autograd.Function`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch  # pyright: ignore[reportMissingImports]

import s2sad

_torch: Any = torch


def function(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return `fun` as a function of tensors, which PyTorch can differentiate once.

    Tensors that require a gradient are differentiated; other arguments, tensors or not, are passed
    on. The work is done by NumPy or Numba on the CPU, whatever the device of the tensors.

    Args:
        fun: a function of arrays and numbers that returns an array, a number, or a tuple of them.

    Returns:
        A function of the same arguments; its result has the dtype that `fun` returns, and the
        device of the first tensor.

    Example:
        >>> import numpy as np, torch
        >>> from s2sad.interop.torch import function
        >>> def energy(x):
        ...     return np.sum(x**2)
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> function(energy)(x).backward()
        >>> x.grad
        tensor([2., 4.])
    """

    class Bridge(_torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            values = tuple(_array(arg) for arg in args)
            wanted = any(ctx.needs_input_grad)
            out, ctx.pullback = s2sad.vjp(fun, *values) if wanted else (fun(*values), None)
            device = next((arg.device for arg in args if isinstance(arg, _torch.Tensor)), None)
            ctx.save_for_backward(*(arg for arg in args if isinstance(arg, _torch.Tensor)))
            ctx.single = not isinstance(out, tuple)
            tensors = tuple(_tensor(part, device) for part in ((out,) if ctx.single else out))
            ctx.like = [(t.dtype, t.shape) for t in tensors]
            ctx.scalars = [np.ndim(part) == 0 for part in ((out,) if ctx.single else out)]
            return tensors[0] if ctx.single else tensors

        @staticmethod
        def backward(ctx: Any, *bars: Any) -> Any:
            again = _torch.is_grad_enabled()  # a graph of this pass is asked for
            with _torch.no_grad():
                found = Bridge.pulled(ctx, bars)
            inputs = [*ctx.saved_tensors, *(bar for bar in bars if bar is not None)] if again else []
            return tuple(_Once.apply(bar, *inputs) if again and bar is not None else bar for bar in found)

        @staticmethod
        def pulled(ctx: Any, bars: Any) -> tuple[Any, ...]:
            given = [
                np.zeros(shape, dtype=str(dtype).removeprefix("torch.")) if bar is None else _array(bar)
                for bar, (dtype, shape) in zip(bars, ctx.like, strict=True)
            ]
            cast = [bar[()] if scalar else bar for bar, scalar in zip(given, ctx.scalars, strict=True)]
            found = ctx.pullback(cast[0] if ctx.single else tuple(cast))
            device = bars[0].device if bars[0] is not None else None
            pairs = zip(found, ctx.needs_input_grad, strict=True)
            return tuple(_tensor(bar, device) if wanted else None for bar, wanted in pairs)

    def call(*args: Any) -> Any:
        return Bridge.apply(*args)

    return call


class _Once(_torch.autograd.Function):
    """A gradient in a graph that may be differentiated again, which would leave out how it moves."""

    @staticmethod
    def forward(ctx: Any, bar: Any, *inputs: Any) -> Any:
        del ctx, inputs
        return bar.clone()

    @staticmethod
    def backward(ctx: Any, *bars: Any) -> Any:
        del ctx, bars
        raise s2sad.NotDifferentiableError(
            "a function of `s2sad.interop.torch` is differentiated once, and here its gradient is differentiated",
            why="Give PyTorch the gradient itself: `function(s2sad.grad(fun))`, whose derivative is the second one.",
        )


def _array(value: Any) -> Any:
    """Return a tensor as an array, one without axes as a number."""
    if not isinstance(value, _torch.Tensor):
        return value
    array = value.detach().cpu().numpy()
    return array if array.ndim else array[()]


def _tensor(value: Any, device: Any) -> Any:
    return _torch.as_tensor(np.array(value), device=device)
