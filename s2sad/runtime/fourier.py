"""Fourier transforms: the transposes of NumPy's, and transforms for the compiled target, which has none.

The compiled transforms cost about three times those of NumPy's library where the length is a
power of two, and ten times elsewhere (Bluestein's algorithm, through a power of two).
`power` is the exponent of the length that scales the result: 0, -1/2 or -1.
"""

# Numba takes no starred tuples:
# ruff: noqa: RUF005

from __future__ import annotations

import math
from typing import Any

import numpy as np

_OTHER_WAY: dict[Any, Any] = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def lines_of(a: Any, axis: int) -> Any:
    """Return `a` with `axis` last; a single line is itself, which compiles at once."""
    if a.ndim == 1:
        return a
    return np.swapaxes(a, axis, -1)


def in_place_of(lines: Any, axis: int) -> Any:
    """Return lines along the last axis as the array in one piece whose `axis` they were."""
    if lines.ndim == 1:
        return np.ascontiguousarray(lines)
    return np.ascontiguousarray(np.swapaxes(lines, -1, axis))


def fit_axis(g: Any, n: int, axis: int) -> Any:
    """Return `g` cut, or filled with zeros at the end, to the length `n` along `axis`."""
    lines = lines_of(g, axis)
    out = np.zeros(lines.shape[:-1] + (n,), g.dtype)
    m = min(n, lines.shape[-1])
    out[..., :m] = lines[..., :m]
    return in_place_of(out, axis)


def rfft_back(g: Any, n: int, axis: int, norm: Any) -> Any:
    """Return the transpose of `np.fft.rfft` of `n` numbers, applied to its lines `g`."""
    return np.real(np.fft.fft(g, n, axis, norm))


def irfft_back(g: Any, axis: int, norm: Any) -> Any:
    """Return the transpose of `np.fft.irfft`, applied to the signal `g`."""
    lines = lines_of(np.conj(np.fft.rfft(g, None, axis, _OTHER_WAY[norm])), axis)
    lines[..., 1 : (g.shape[axis] + 1) // 2] *= 2
    return in_place_of(lines, axis)


def transform(a: Any, n: int, axis: int, sign: int, power: float) -> Any:
    """Return the sums over `k` of `a[k] * exp(sign * 2 pi i j k / n)` along `axis`, scaled by `n**power`."""
    if a.ndim == 1:
        return transform_line(a, n, float(sign), power)
    lines = lines_of(a, axis)
    size = lines.shape[-1] if n < 0 else n
    kept = min(size, lines.shape[-1])
    flat = np.ascontiguousarray(lines).reshape(-1, lines.shape[-1])
    out = np.zeros((flat.shape[0], size), np.complex128)
    out[:, :kept] = flat[:, :kept]
    transform_rows(out, float(sign))
    out *= float(size) ** power
    shaped = out.reshape(lines.shape[:-1] + (size,)).astype((a[..., :0] * np.complex64(1)).dtype)
    return in_place_of(shaped, axis)


def transform_line(a: Any, n: int, sign: float, power: float) -> Any:
    """Do the same for an array of one axis, which compiles in half the time."""
    size = a.size if n < 0 else n
    out = np.zeros((1, size), np.complex128)
    for k in range(min(size, a.size)):
        out[0, k] = a[k]
    transform_rows(out, sign)
    scale = float(size) ** power
    for k in range(size):
        out[0, k] *= scale
    return out[0].astype((a[:0] * np.complex64(1)).dtype)


def transform_real(a: Any, n: int, axis: int, power: float) -> Any:
    """Return `np.fft.rfft(a, n, axis)` scaled by `n**power`."""
    size = a.shape[axis] if n < 0 else n
    lines = lines_of(transform(a, n, axis, -1, power), axis)
    return in_place_of(lines[..., : size // 2 + 1], axis)


def real_transform(a: Any, n: int, axis: int, power: float) -> Any:
    """Return the real signal of length `n` whose first lines are `a`, scaled by `n**power`."""
    lines = lines_of(a, axis)
    size = 2 * (lines.shape[-1] - 1) if n < 0 else n
    half = size // 2 + 1
    kept = min(half, lines.shape[-1])
    flat = np.ascontiguousarray(lines).reshape(-1, lines.shape[-1])
    out = np.zeros((flat.shape[0], size), np.complex128)
    out[:, :kept] = flat[:, :kept]
    for i in range(out.shape[0]):
        out[i, 0] = out[i, 0].real
        if size % 2 == 0:
            out[i, size // 2] = out[i, size // 2].real
        for k in range(1, (size + 1) // 2):
            out[i, size - k] = out[i, k].conjugate()
    transform_rows(out, 1.0)
    signal = out.real * float(size) ** power
    shaped = signal.reshape(lines.shape[:-1] + (size,)).astype(a[..., :0].real.dtype)
    return in_place_of(shaped, axis)


def transform_real_back(g: Any, n: int, axis: int, power: float) -> Any:
    """Return the transpose of `transform_real` to `n` numbers."""
    return np.ascontiguousarray(transform(g, n, axis, -1, power).real)


def real_transform_back(g: Any, axis: int, power: float) -> Any:
    """Return the transpose of `real_transform`."""
    lines = lines_of(np.conj(transform_real(g, -1, axis, power)), axis)
    lines[..., 1 : (g.shape[axis] + 1) // 2] *= 2
    return in_place_of(lines, axis)


def frequencies(n: int, d: float) -> Any:
    """Return `np.fft.fftfreq(n, d)`."""
    out = np.empty(n)
    for k in range(n):
        out[k] = (k if k < (n + 1) // 2 else k - n) / (n * d)
    return out


def frequencies_half(n: int, d: float) -> Any:
    """Return `np.fft.rfftfreq(n, d)`."""
    out = np.empty(n // 2 + 1)
    for k in range(out.size):
        out[k] = k / (n * d)
    return out


def transform_rows(rows: Any, sign: float) -> None:
    """Transform each row in place, whatever its length.

    Source: Bluestein 1970; the chirp's exponent is reduced modulo the period before it is rounded.
    """
    n = rows.shape[1]
    if n & (n - 1) == 0:
        turns = roots_of_unity(n, sign)
        for i in range(rows.shape[0]):
            transform_power_of_two(rows[i], turns)
        return
    m = 1
    while m < 2 * n - 1:
        m *= 2
    chirp = np.empty(n, np.complex128)
    for k in range(n):
        angle = math.pi * (k * k % (2 * n)) / n
        chirp[k] = complex(math.cos(angle), sign * math.sin(angle))
    kernel = np.zeros(m, np.complex128)
    for k in range(n):
        kernel[k] = chirp[k].conjugate()
        kernel[-k] = chirp[k].conjugate()
    there, back = roots_of_unity(m, -1.0), roots_of_unity(m, 1.0)
    transform_power_of_two(kernel, there)
    work = np.empty(m, np.complex128)
    for i in range(rows.shape[0]):
        work[:] = 0.0
        for k in range(n):
            work[k] = rows[i, k] * chirp[k]
        transform_power_of_two(work, there)
        work *= kernel
        transform_power_of_two(work, back)
        for k in range(n):
            rows[i, k] = work[k] * chirp[k] / m


def roots_of_unity(n: int, sign: float) -> Any:
    """Return `exp(sign * 2 pi i k / n)` for the first half of the circle."""
    turns = np.empty(max(n // 2, 1), np.complex128)
    for k in range(turns.size):
        angle = 2.0 * math.pi * k / n
        turns[k] = complex(math.cos(angle), sign * math.sin(angle))
    return turns


def transform_power_of_two(line: Any, turns: Any) -> None:
    """Transform a line in place: bits of the index reversed, then butterflies (Cooley & Tukey 1965)."""
    n, j = line.size, 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            line[i], line[j] = line[j], line[i]
    half = 1
    while half < n:
        stride = n // (2 * half)
        for start in range(0, n, 2 * half):
            for k in range(half):
                odd = line[start + half + k] * turns[k * stride]
                line[start + half + k] = line[start + k] - odd
                line[start + k] += odd
        half *= 2
