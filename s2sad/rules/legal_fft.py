"""Target "cpu": Fourier transforms as the runtime's own, since Numba has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.ir.nodes import Apply, Const, Expr
from s2sad.ir.types import Scalar
from s2sad.runtime import fourier

_INT = Scalar("int64", weak=True)
_POWERS = {None: (0.0, -1.0), "backward": (0.0, -1.0), "ortho": (-0.5, -0.5), "forward": (-1.0, 0.0)}


def _int(value: int) -> Const:
    return Const(value, Scalar("int64", weak=True, value=value))


def _float(value: float) -> Const:
    return Const(value, Scalar("float64", weak=True))


def _length(call: Apply) -> Expr:
    """Return the length that was asked for; -1 stands for none."""
    given = call.args[1] if len(call.args) > 1 else Const(None, _INT)
    return _int(-1) if isinstance(given, Const) and given.value is None else given


def _rewritten(fn: Any, inverse: bool, *more: Expr, sized: bool = True) -> Callable[[Apply], Expr]:
    def rewrite(call: Apply) -> Expr:
        static = dict(call.static)
        power = _POWERS[static.get("norm")][inverse]
        lengths = (_length(call),) if sized else ()
        settings = (*lengths, _int(static.get("axis", -1)), *more, _float(power))
        return Apply(fn, (call.args[0], *settings), call.type)

    return rewrite


def _renamed(fn: Any) -> Callable[[Apply], Expr]:
    def rewrite(call: Apply) -> Expr:
        given = call.args if len(call.args) > 1 else (*call.args, _float(1.0))
        return Apply(fn, given, call.type)

    return rewrite


REWRITES: dict[Any, Callable[[Apply], Expr]] = {
    np.fft.fft: _rewritten(fourier.transform, False, _int(-1)),
    np.fft.ifft: _rewritten(fourier.transform, True, _int(1)),
    np.fft.rfft: _rewritten(fourier.transform_real, False),
    np.fft.irfft: _rewritten(fourier.real_transform, True),
    runtime.rfft_back: _rewritten(fourier.transform_real_back, False),
    runtime.irfft_back: _rewritten(fourier.real_transform_back, True, sized=False),
    np.fft.fftfreq: _renamed(fourier.frequencies),
    np.fft.rfftfreq: _renamed(fourier.frequencies_half),
}
