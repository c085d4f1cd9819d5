"""`scipy.signal`, loaded when a program that uses it is differentiated: convolutions, and recursive filters.

Convolutions are sums of shifted products, whatever `method` says: SciPy's by transforms differ in the last bits.
Source: Oppenheim & Schafer, *Discrete-Time Signal Processing*, chapters 2 and 6.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal

from s2sad.ir import ops
from s2sad.rules.registry import expands, meaning


@meaning
def summed_products(a: Any, b: Any) -> Any:
    """Return the whole convolution of two matrices."""
    out = np.zeros((a.shape[0] + b.shape[0] - 1, a.shape[1] + b.shape[1] - 1))
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            out[i : i + a.shape[0], j : j + a.shape[1]] += b[i, j] * a
    return out


@meaning
def convolved(a: Any, b: Any, mode: str, later: int) -> Any:
    """Return a convolution: all of it, as much as `a` has, or where one lies in the other; `same` may start later."""
    if np.iscomplexobj(a) or np.iscomplexobj(b) or np.ndim(a) > 2 or np.ndim(a) != np.ndim(b) or np.ndim(a) == 0:
        ops.refuse("this convolution is not supported", "Two real vectors, or two real matrices, are.")
    if mode not in ("full", "same", "valid"):
        ops.refuse("there is no such mode of a convolution", "The mode is 'full', 'same' or 'valid'.")
    if np.ndim(a) == 1:
        if mode == "full":
            return np.convolve(a, b)
        elif mode == "same":
            start = (len(b) - 1 + later) // 2
            return np.convolve(a, b)[start : start + len(a)]
        else:
            return np.convolve(a, b, "valid")
    else:
        whole = summed_products(a, b)
        if mode == "full":
            return whole
        elif mode == "same":
            i, j = (b.shape[0] - 1 + later) // 2, (b.shape[1] - 1 + later) // 2
            return whole[i : i + a.shape[0], j : j + a.shape[1]]
        else:
            if (a.shape[0] - b.shape[0]) * (a.shape[1] - b.shape[1]) < 0:
                raise ValueError("one of the two lies in the other where the mode is 'valid'")
            i, j = min(a.shape[0], b.shape[0]) - 1, min(a.shape[1], b.shape[1]) - 1
            return whole[i : whole.shape[0] - i, j : whole.shape[1] - j]


@expands(scipy.signal.convolve)
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Return the convolution."""
    return convolved(np.asarray(in1), np.asarray(in2), mode, 0)


@expands(scipy.signal.fftconvolve, scipy.signal.oaconvolve)
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Return the convolution."""
    if axes is not None:
        ops.refuse("a convolution along some of the axes is not supported", "Convolve the rows one by one.")
    return convolved(np.asarray(in1), np.asarray(in2), mode, 0)


@expands(scipy.signal.correlate)
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Return the convolution with what runs backwards."""
    return convolved(np.asarray(in1), np.flip(np.asarray(in2)), mode, 0)


@expands(scipy.signal.convolve2d)
def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """Return the convolution of matrices, with zeros around them."""
    if boundary != "fill" or fillvalue != 0:
        ops.refuse("`convolve2d` with another boundary than zeros is not supported", "Use `np.pad` before it.")
    return convolved(np.asarray(in1), np.asarray(in2), mode, 0)


@expands(scipy.signal.correlate2d)
def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """Return the correlation of matrices, with zeros around them: where a length is even, `same` starts one later."""
    if boundary != "fill" or fillvalue != 0:
        ops.refuse("`correlate2d` with another boundary than zeros is not supported", "Use `np.pad` before it.")
    return convolved(np.asarray(in1), np.flip(np.asarray(in2)), mode, 1)


@expands(scipy.signal.lfilter)
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Return a[0] y[n] = Σ b[k] x[n - k] - Σ a[k] y[n - k], from rest."""
    if zi is not None or np.ndim(x) != 1:
        ops.refuse("`lfilter` of more than a vector, or from another state than rest, is not supported",
                   "Filter the rows one by one.")  # fmt: skip
    ahead, back, given = np.asarray(b), np.asarray(a), np.asarray(x)
    out = np.zeros(len(given))
    for n in range(len(given)):
        total = 0.0
        for k in range(min(len(ahead), n + 1)):
            total += ahead[k] * given[n - k]
        for k in range(1, min(len(back), n + 1)):
            total -= back[k] * out[n - k]
        out[n] = total / back[0]
    return out
