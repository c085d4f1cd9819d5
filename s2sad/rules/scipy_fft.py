"""`scipy.fft`, loaded when a program that uses it is differentiated: the transforms that NumPy has too, and cosines.

Cosine transforms are parts of a Fourier transform of twice the length. Source: Makhoul, "A fast cosine transform in
one and two dimensions", IEEE Trans. ASSP 28 (1980).
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

from s2sad.ir import ops
from s2sad.rules.registry import expands, meaning


@expands(scipy.fft.fftfreq)
def fftfreq(n: Any, d: Any = 1.0) -> Any:
    """Return NumPy's."""
    return np.fft.fftfreq(n, d)


@expands(scipy.fft.rfftfreq)
def rfftfreq(n: Any, d: Any = 1.0) -> Any:
    """Return NumPy's."""
    return np.fft.rfftfreq(n, d)


@expands(scipy.fft.fft)
def fft(x: Any, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False, workers: Any = None) -> Any:
    """Return NumPy's."""
    return np.fft.fft(x, n, axis=axis, norm=norm)


@expands(scipy.fft.ifft)
def ifft(
    x: Any, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False, workers: Any = None
) -> Any:
    """Return NumPy's."""
    return np.fft.ifft(x, n, axis=axis, norm=norm)


@expands(scipy.fft.rfft)
def rfft(
    x: Any, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False, workers: Any = None
) -> Any:
    """Return NumPy's."""
    return np.fft.rfft(x, n, axis=axis, norm=norm)


@expands(scipy.fft.irfft)
def irfft(
    x: Any, n: Any = None, axis: int = -1, norm: Any = None, overwrite_x: bool = False, workers: Any = None
) -> Any:
    """Return NumPy's."""
    return np.fft.irfft(x, n, axis=axis, norm=norm)


@expands(scipy.fft.fft2)
def fft2(
    x: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, overwrite_x: bool = False, workers: Any = None
) -> Any:
    """Return NumPy's."""
    return np.fft.fft2(x, s, axes=axes, norm=norm)


@expands(scipy.fft.ifft2)
def ifft2(
    x: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, overwrite_x: bool = False, workers: Any = None
) -> Any:
    """Return NumPy's."""
    return np.fft.ifft2(x, s, axes=axes, norm=norm)


@expands(scipy.fft.fftn)
def fftn(
    x: Any, s: Any = None, axes: Any = None, norm: Any = None, overwrite_x: bool = False, workers: Any = None
) -> Any:
    """Return NumPy's."""
    return np.fft.fftn(x, s, axes=axes, norm=norm)


@expands(scipy.fft.ifftn)
def ifftn(
    x: Any, s: Any = None, axes: Any = None, norm: Any = None, overwrite_x: bool = False, workers: Any = None
) -> Any:
    """Return NumPy's."""
    return np.fft.ifftn(x, s, axes=axes, norm=norm)


@expands(scipy.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Any:
    """Return NumPy's."""
    return np.fft.fftshift(x, axes)


@expands(scipy.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Any:
    """Return NumPy's."""
    return np.fft.ifftshift(x, axes)


@meaning
def scaled(norm: Any, n: int) -> Any:
    """Return by what the second cosine transform of `n` numbers is multiplied: its first number, and the others."""
    if norm is None or norm == "backward":
        return 1.0, 1.0
    elif norm == "forward":
        return 0.5 / n, 0.5 / n
    elif norm == "ortho":
        return np.sqrt(0.25 / n), np.sqrt(0.5 / n)
    else:
        ops.refuse("there is no such norm of a transform", "The norm is 'backward', 'ortho' or 'forward'.")


@meaning
def cosines(x: Any, norm: Any) -> Any:
    """Return 2 Σ_j x[j] cos(π k (2 j + 1) / 2 n) along the last axis, scaled."""
    n = x.shape[-1]
    first, other = scaled(norm, n)
    k = np.arange(n)
    whole = np.fft.fft(np.concatenate((x, np.flip(x, axis=-1)), axis=-1), axis=-1)[..., :n]
    return np.real(whole * np.exp(-0.5j * np.pi / n * k)) * np.where(k == 0, first, other)


@meaning
def from_cosines(y: Any, norm: Any) -> Any:
    """Return what has these cosines."""
    n = y.shape[-1]
    first, other = scaled(norm, n)
    k = np.arange(n)
    given = y / np.where(k == 0, first, other)
    turned = np.fft.ifft(given * np.exp(0.5j * np.pi / n * k), 2 * n, axis=-1)[..., :n]
    return 2.0 * np.real(turned) - given[..., :1] / (2.0 * n)


@expands(scipy.fft.dct)
def dct(
    x: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None,
    overwrite_x: bool = False, workers: Any = None, orthogonalize: Any = None,
) -> Any:  # fmt: skip
    """Return the cosines."""
    if type != 2 or n is not None or orthogonalize is not None:
        ops.refuse("this cosine transform is not supported", "Of the second kind, as long as what is given, they are.")
    return np.moveaxis(cosines(np.moveaxis(np.asarray(x), axis, -1), norm), -1, axis)


@expands(scipy.fft.idct)
def idct(
    x: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None,
    overwrite_x: bool = False, workers: Any = None, orthogonalize: Any = None,
) -> Any:  # fmt: skip
    """Return what has these cosines."""
    if type != 2 or n is not None or orthogonalize is not None:
        ops.refuse("this cosine transform is not supported", "Of the second kind, as long as what is given, they are.")
    return np.moveaxis(from_cosines(np.moveaxis(np.asarray(x), axis, -1), norm), -1, axis)


@expands(scipy.fft.dctn)
def dctn(
    x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None,
    overwrite_x: bool = False, workers: Any = None, orthogonalize: Any = None,
) -> Any:  # fmt: skip
    """Return the cosines along every axis."""
    if type != 2 or s is not None or axes is not None or orthogonalize is not None:
        ops.refuse("this cosine transform is not supported", "Of the second kind, along every axis, they are.")
    y = np.asarray(x)
    for axis in range(np.ndim(x)):
        y = np.moveaxis(cosines(np.moveaxis(y, axis, -1), norm), -1, axis)
    return y


@expands(scipy.fft.idctn)
def idctn(
    x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None,
    overwrite_x: bool = False, workers: Any = None, orthogonalize: Any = None,
) -> Any:  # fmt: skip
    """Return what has these cosines along every axis."""
    if type != 2 or s is not None or axes is not None or orthogonalize is not None:
        ops.refuse("this cosine transform is not supported", "Of the second kind, along every axis, they are.")
    y = np.asarray(x)
    for axis in range(np.ndim(x)):
        y = np.moveaxis(from_cosines(np.moveaxis(y, axis, -1), norm), -1, axis)
    return y
