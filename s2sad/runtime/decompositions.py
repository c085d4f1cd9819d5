"""Decompositions that Numba lacks: batches of matrices, and forms with other defaults than NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np


def real_eig(a: Any) -> Any:
    """Return `np.linalg.eig(a)` of a real matrix whose eigenvalues are real.

    Raises:
        ValueError: an eigenvalue is complex.
    """
    w, v = np.linalg.eig(a)
    if np.iscomplexobj(w) and not np.iscomplexobj(a):
        raise ValueError("a real matrix has complex eigenvalues: pass it as a complex array")
    return w, v


def real_eigvals(a: Any) -> Any:
    """Return `np.linalg.eigvals(a)` of a real matrix whose eigenvalues are real.

    Raises:
        ValueError: an eigenvalue is complex.
    """
    w = np.linalg.eigvals(a)
    if np.iscomplexobj(w) and not np.iscomplexobj(a):
        raise ValueError("a real matrix has complex eigenvalues: pass it as a complex array")
    return w


def eigh_batch(a: Any) -> Any:
    """Return `np.linalg.eigh(a)` for a three-dimensional array."""
    w = np.empty(a.shape[:2], np.abs(a[:0]).dtype)
    v = np.empty(a.shape, a.dtype)
    for k in range(a.shape[0]):
        values, vectors = np.linalg.eigh(np.ascontiguousarray(a[k]))
        w[k] = values
        v[k] = vectors
    return w, v


def eigvalsh_batch(a: Any) -> Any:
    """Return `np.linalg.eigvalsh(a)` for a three-dimensional array."""
    w = np.empty(a.shape[:2], np.abs(a[:0]).dtype)
    for k in range(a.shape[0]):
        w[k] = np.linalg.eigvalsh(np.ascontiguousarray(a[k]))
    return w


def svd_batch(a: Any, full: bool) -> Any:
    """Return `np.linalg.svd(a, full_matrices=full)` for a three-dimensional array."""
    m, n = a.shape[1], a.shape[2]
    least = min(m, n)
    u = np.empty((a.shape[0], m, m if full else least), a.dtype)
    s = np.empty((a.shape[0], least), np.abs(a[:0]).dtype)
    vt = np.empty((a.shape[0], n if full else least, n), a.dtype)
    for k in range(a.shape[0]):
        left, singular, right = np.linalg.svd(np.ascontiguousarray(a[k]), full)
        u[k] = left
        s[k] = singular
        vt[k] = right
    return u, s, vt


def svdvals_one(x: Any) -> Any:
    """Return `np.linalg.svdvals(x)` of a matrix."""
    _, s, _ = np.linalg.svd(x, False)
    return s


def svdvals_batch(x: Any) -> Any:
    """Return `np.linalg.svdvals(x)` for a three-dimensional array."""
    s = np.empty((x.shape[0], min(x.shape[1], x.shape[2])), np.abs(x[:0]).dtype)
    for k in range(x.shape[0]):
        s[k] = svdvals_one(np.ascontiguousarray(x[k]))
    return s


def qr_batch(a: Any) -> Any:
    """Return `np.linalg.qr(a)` for a three-dimensional array."""
    least = min(a.shape[1], a.shape[2])
    q = np.empty((a.shape[0], a.shape[1], least), a.dtype)
    r = np.empty((a.shape[0], least, a.shape[2]), a.dtype)
    for k in range(a.shape[0]):
        orthonormal, triangular = np.linalg.qr(np.ascontiguousarray(a[k]))
        q[k] = orthonormal
        r[k] = triangular
    return q, r


def slogdet_batch(a: Any) -> Any:
    """Return `np.linalg.slogdet(a)` for a three-dimensional array."""
    sign = np.empty(a.shape[0], a.dtype)
    size = np.empty(a.shape[0], np.abs(a[:0]).dtype)
    for k in range(a.shape[0]):
        turned, log = np.linalg.slogdet(np.ascontiguousarray(a[k]))
        sign[k] = turned
        size[k] = log
    return sign, size


def cholesky_batch(a: Any) -> Any:
    """Return `np.linalg.cholesky(a)` for a three-dimensional array."""
    out = np.empty(a.shape, a.dtype)
    for k in range(a.shape[0]):
        out[k] = np.linalg.cholesky(np.ascontiguousarray(a[k]))
    return out


def pinv_batch(a: Any) -> Any:
    """Return `np.linalg.pinv(a)` for a three-dimensional array."""
    out = np.empty((a.shape[0], a.shape[2], a.shape[1]), a.dtype)
    for k in range(a.shape[0]):
        out[k] = np.linalg.pinv(np.ascontiguousarray(a[k]))
    return out


def lstsq_default(a: Any, b: Any) -> Any:
    """Return `np.linalg.lstsq(a, b)` with NumPy's own bound on small singular values."""
    bound = np.finfo(np.abs(a[:0]).dtype).eps * max(a.shape[0], a.shape[1])
    return np.linalg.lstsq(a, b, bound)


def tril_batch(a: Any, k: int) -> Any:
    """Return `np.tril(a, k)` for a three-dimensional array."""
    out = np.zeros_like(a)
    for i in range(a.shape[1]):
        for j in range(max(min(i + k + 1, a.shape[2]), 0)):
            out[:, i, j] = a[:, i, j]
    return out


def triu_batch(a: Any, k: int) -> Any:
    """Return `np.triu(a, k)` for a three-dimensional array."""
    out = np.zeros_like(a)
    for i in range(a.shape[1]):
        for j in range(max(i + k, 0), a.shape[2]):
            out[:, i, j] = a[:, i, j]
    return out


def trace_batch(a: Any, offset: int) -> Any:
    """Return `np.trace(a, offset, -2, -1)` for a three-dimensional array."""
    out = np.zeros(a.shape[0], a.dtype)
    for i in range(a.shape[1]):
        if 0 <= i + offset < a.shape[2]:
            out += a[:, i, i + offset]
    return out


def power_batch(a: Any, n: int) -> Any:
    """Return `np.linalg.matrix_power(a, n)` for a three-dimensional array."""
    out = np.empty(a.shape, a.dtype)
    for k in range(a.shape[0]):
        out[k] = np.linalg.matrix_power(np.ascontiguousarray(a[k]), n)
    return out
