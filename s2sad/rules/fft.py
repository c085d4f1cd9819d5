"""Fourier transforms: linear, so that a tangent is a transform, and an adjoint its transpose.

Without conjugation, as everywhere here (JAX's convention): the matrix of `fft` is symmetric, so
that its transpose is itself, cut or filled to the length of the argument. A real argument takes
the real part of what comes back. The one-sided transforms are the full ones cut in two:

- `rfft(x)` is the first half of `fft(x)`: its transpose fills up with zeros and transforms;
- `irfft(x)` counts every line but the first and, in even lengths, the last twice: so does its
  transpose, which is the first half of a transform. Imaginary parts that `irfft` does not read
  get no cotangent.

Source: Oppenheim & Schafer, Discrete-Time Signal Processing, chapter 8; `norm` as in NumPy.
"""

# pyright: reportSelfClsParameterName=false
# ruff: noqa: D102

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.rules.registry import Settings, constant, expands, rule
from s2sad.rules.sample import case, complex_values, values

constant(np.fft.fftfreq, np.fft.rfftfreq)



def spaced(given: Settings) -> bool:
    """Say whether frequencies are asked for a spacing that only a run knows."""
    return "d" in given["given"] and "d" not in given


@expands(np.fft.fftfreq, when=spaced)
def fftfreq(n: Any, d: Any) -> Any:
    """Return the whole numbers that the frequencies count, in their order, over the length of the line."""
    return np.concatenate((np.arange((n + 1) // 2), np.arange(-(n // 2), 0))) * (1.0 / (n * d))


@expands(np.fft.rfftfreq, when=spaced)
def rfftfreq(n: Any, d: Any) -> Any:
    """Return the same of the first half."""
    return np.arange(n // 2 + 1) * (1.0 / (n * d))


_LINE, _TABLE = complex_values(6), complex_values(3, 4)
_REAL = values(3, 4)
_COMMON = (
    case(_LINE),
    case(_LINE, 4),
    case(_LINE, 8, norm="ortho"),
    case(complex_values(5), norm="forward"),
    case(_TABLE, axis=0),
    case(_TABLE, 5, axis=0, norm="backward"),
    case(complex_values(2, 3, 2), axis=1),
)


@rule(np.fft.fft)
class fft:
    """Symmetric: the transpose is the same transform of as many lines, cut to the argument's length."""

    samples = _COMMON
    complex = True

    def tangent(a: Any, n: Any, y: Any, a_dot: Any, *, axis: int = -1, norm: Any = None) -> Any:
        return np.fft.fft(a_dot, n, axis=axis, norm=norm)

    def adjoint(
        a: Any, n: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: int = -1, norm: Any = None
    ) -> None:
        if n is None:
            a_bar += np.fft.fft(y_bar, axis=axis, norm=norm)
        else:
            a_bar += runtime.fit_axis(np.fft.fft(y_bar, axis=axis, norm=norm), a.shape[axis], axis)


@rule(np.fft.ifft)
class ifft:
    """Symmetric, as `fft`."""

    samples = _COMMON
    complex = True

    def tangent(a: Any, n: Any, y: Any, a_dot: Any, *, axis: int = -1, norm: Any = None) -> Any:
        return np.fft.ifft(a_dot, n, axis=axis, norm=norm)

    def adjoint(
        a: Any, n: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: int = -1, norm: Any = None
    ) -> None:
        if n is None:
            a_bar += np.fft.ifft(y_bar, axis=axis, norm=norm)
        else:
            a_bar += runtime.fit_axis(np.fft.ifft(y_bar, axis=axis, norm=norm), a.shape[axis], axis)


@rule(np.fft.rfft)
class rfft:
    """The first half of `fft` of a real signal: the transpose fills up with zeros, transforms, and is real."""

    samples = (
        case(values(6)),
        case(values(5)),
        case(values(6), 4, norm="ortho"),
        case(values(5), 9),
        case(_REAL, axis=0, norm="forward"),
        case(_REAL, 4, axis=0),
    )

    def tangent(a: Any, n: Any, y: Any, a_dot: Any, *, axis: int = -1, norm: Any = None) -> Any:
        return np.fft.rfft(a_dot, n, axis=axis, norm=norm)

    def adjoint(
        a: Any, n: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: int = -1, norm: Any = None
    ) -> None:
        if n is None:
            a_bar += runtime.rfft_back(y_bar, a.shape[axis], axis, norm)
        else:
            a_bar += runtime.fit_axis(runtime.rfft_back(y_bar, n, axis, norm), a.shape[axis], axis)


@rule(np.fft.irfft)
class irfft:
    """A real signal from half of its lines: inner lines count twice, for themselves and their mirror images."""

    samples = (
        case(complex_values(4)),
        case(complex_values(4), 7),
        case(complex_values(5), 6, norm="ortho"),
        case(complex_values(3), 9, norm="forward"),
        case(_TABLE, axis=0),
        case(_TABLE, 6, norm="backward"),
    )
    complex = True

    def tangent(a: Any, n: Any, y: Any, a_dot: Any, *, axis: int = -1, norm: Any = None) -> Any:
        return np.fft.irfft(a_dot, n, axis=axis, norm=norm)

    def adjoint(
        a: Any, n: Any, y: Any, y_bar: Any, a_bar: Any, *, axis: int = -1, norm: Any = None
    ) -> None:
        if n is None:
            a_bar += runtime.irfft_back(y_bar, axis, norm)
        else:
            a_bar += runtime.fit_axis(runtime.irfft_back(y_bar, axis, norm), a.shape[axis], axis)


@rule(runtime.rfft_back)
class rfft_back:
    """The transpose of `rfft`."""

    samples = (
        case(complex_values(4), 6, axis=-1, norm=None),
        case(complex_values(3), 5, axis=-1, norm="ortho"),
        case(_TABLE, 5, axis=0, norm="forward"),
    )
    complex = True

    def tangent(g: Any, n: Any, y: Any, g_dot: Any, *, axis: int, norm: Any) -> Any:
        return runtime.rfft_back(g_dot, n, axis, norm)

    def adjoint(g: Any, n: Any, y: Any, y_bar: Any, g_bar: Any, *, axis: int, norm: Any) -> None:
        g_bar += np.fft.rfft(y_bar, axis=axis, norm=norm)


@rule(runtime.irfft_back)
class irfft_back:
    """The transpose of `irfft`."""

    samples = (
        case(values(6), axis=-1, norm=None),
        case(values(5), axis=-1, norm="ortho"),
        case(_REAL, axis=0, norm="forward"),
    )

    def tangent(g: Any, y: Any, g_dot: Any, *, axis: int, norm: Any) -> Any:
        return runtime.irfft_back(g_dot, axis, norm)

    def adjoint(g: Any, y: Any, y_bar: Any, g_bar: Any, *, axis: int, norm: Any) -> None:
        g_bar += np.fft.irfft(y_bar, g.shape[axis], axis=axis, norm=norm)


@rule(runtime.fit_axis)
class fit_axis:
    """Cutting and filling with zeros are each other's transpose."""

    samples = (
        case(complex_values(5), 3, axis=-1),
        case(values(2, 3), 4, axis=0),
        case(values(3), 3, axis=0),
    )
    complex = True

    def tangent(g: Any, n: Any, y: Any, g_dot: Any, *, axis: int) -> Any:
        return runtime.fit_axis(g_dot, n, axis)

    def adjoint(g: Any, n: Any, y: Any, y_bar: Any, g_bar: Any, *, axis: int) -> None:
        g_bar += runtime.fit_axis(y_bar, g.shape[axis], axis)


@expands(np.fft.hfft)
def hfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    """Return the transform of a signal that is symmetric about 0: `irfft` of its conjugate, scaled back."""
    if norm is None or norm == "backward":
        return np.fft.irfft(np.conj(a), n, axis=axis, norm="forward")
    elif norm == "forward":
        return np.fft.irfft(np.conj(a), n, axis=axis, norm="backward")
    else:
        return np.fft.irfft(np.conj(a), n, axis=axis, norm=norm)


@expands(np.fft.ihfft)
def ihfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    """Return the inverse of `hfft`."""
    if norm is None or norm == "backward":
        return np.conj(np.fft.rfft(a, n, axis=axis, norm="forward"))
    elif norm == "forward":
        return np.conj(np.fft.rfft(a, n, axis=axis, norm="backward"))
    else:
        return np.conj(np.fft.rfft(a, n, axis=axis, norm=norm))


@expands(np.fft.fft2)
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    """Return the transform along two axes, the last one first."""
    return fftn(a, s, axes, norm)


@expands(np.fft.ifft2)
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    """Return the inverse of `fft2`."""
    return ifftn(a, s, axes, norm)


@expands(np.fft.rfft2)
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    """Return `fft2` of a real array, the first half along the last axis."""
    return rfftn(a, s, axes, norm)


@expands(np.fft.irfft2)
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    """Return the inverse of `rfft2`."""
    return irfftn(a, s, axes, norm)


@expands(np.fft.fftn)
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    """Return the transform along several axes, the last one first."""
    if axes is not None:
        chosen = axes
    elif s is not None:
        chosen = [k for k in range(a.ndim - len(s), a.ndim)]
    else:
        chosen = [k for k in range(a.ndim)]
    result = a
    if s is None:
        for axis in reversed(chosen):
            result = np.fft.fft(result, axis=axis, norm=norm)
    else:
        for n, axis in reversed(list(zip(s, chosen))):
            result = np.fft.fft(result, n, axis=axis, norm=norm)
    return result


@expands(np.fft.ifftn)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    """Return the inverse of `fftn`."""
    if axes is not None:
        chosen = axes
    elif s is not None:
        chosen = [k for k in range(a.ndim - len(s), a.ndim)]
    else:
        chosen = [k for k in range(a.ndim)]
    result = a
    if s is None:
        for axis in reversed(chosen):
            result = np.fft.ifft(result, axis=axis, norm=norm)
    else:
        for n, axis in reversed(list(zip(s, chosen))):
            result = np.fft.ifft(result, n, axis=axis, norm=norm)
    return result


@expands(np.fft.rfftn)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    """Return `fftn` of a real array, the first half along the last axis."""
    if axes is not None:
        chosen = axes
    elif s is not None:
        chosen = [k for k in range(a.ndim - len(s), a.ndim)]
    else:
        chosen = [k for k in range(a.ndim)]
    if s is None:
        result = np.fft.rfft(a, axis=chosen[-1], norm=norm)
        for axis in reversed(chosen[:-1]):
            result = np.fft.fft(result, axis=axis, norm=norm)
    else:
        result = np.fft.rfft(a, s[-1], axis=chosen[-1], norm=norm)
        for n, axis in reversed(list(zip(s[:-1], chosen[:-1]))):
            result = np.fft.fft(result, n, axis=axis, norm=norm)
    return result


@expands(np.fft.irfftn)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    """Return the inverse of `rfftn`."""
    if axes is not None:
        chosen = axes
    elif s is not None:
        chosen = [k for k in range(a.ndim - len(s), a.ndim)]
    else:
        chosen = [k for k in range(a.ndim)]
    result = a
    if s is None:
        for axis in chosen[:-1]:
            result = np.fft.ifft(result, axis=axis, norm=norm)
        return np.fft.irfft(result, axis=chosen[-1], norm=norm)
    else:
        for n, axis in zip(s[:-1], chosen[:-1]):
            result = np.fft.ifft(result, n, axis=axis, norm=norm)
        return np.fft.irfft(result, s[-1], axis=chosen[-1], norm=norm)


@expands(np.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Any:
    """Return the lines with the zeroth in the middle."""
    if axes is None:
        chosen = [k for k in range(x.ndim)]
    elif isinstance(axes, (tuple, list)):
        chosen = axes
    else:
        chosen = [axes]
    shifted = x
    for axis in chosen:
        shifted = np.roll(shifted, x.shape[axis] // 2, axis=axis)
    return shifted


@expands(np.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Any:
    """Return the inverse of `fftshift`."""
    if axes is None:
        chosen = [k for k in range(x.ndim)]
    elif isinstance(axes, (tuple, list)):
        chosen = axes
    else:
        chosen = [axes]
    shifted = x
    for axis in chosen:
        shifted = np.roll(shifted, -(x.shape[axis] // 2), axis=axis)
    return shifted
