"""Decompositions on dual numbers: textbook algorithms in plain arithmetic, with LAPACK's signs.

Jacobi's rotations, Gram and Schmidt's projections and the normal equations know nothing of the rules under test.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.duals import as_dual, value_of


def eigh(a: Any, UPLO: str = "L") -> Any:
    """Rotate a symmetric matrix until it is diagonal; read one triangle, as LAPACK does."""
    a = as_dual(a).copy()
    n = a.shape[0]
    for i, j in itertools.product(range(n), repeat=2):
        if (j > i) == (UPLO == "L") and i != j:
            a[i, j] = a[j, i]
    v = as_dual(np.eye(n))
    for _ in range(7):
        for p, q in itertools.combinations(range(n), 2):
            gap = a[q, q] - a[p, p]
            length = np.sqrt(gap * gap + 4.0 * a[p, q] * a[p, q])
            t = 2.0 * a[p, q] / (gap + (1.0 if value_of(gap) >= 0.0 else -1.0) * length)
            c = 1.0 / np.sqrt(t * t + 1.0)
            turn = as_dual(np.eye(n))
            turn[p, p] = turn[q, q] = c
            turn[p, q], turn[q, p] = t * c, -t * c
            a, v = turn.T @ a @ turn, v @ turn
    order = np.argsort(value_of(np.diagonal(a)))
    w, v = np.diagonal(a)[order], v[:, order]
    known = np.linalg.eigh(value_of(a[:0, :0]) if n == 0 else value_of(v * w @ v.T), UPLO)
    return type(known)(w, v * _signs(v, known[1]))


def _signs(v: Any, known: Any) -> Any:
    """Find for each column whether it points as the known one does."""
    return np.where(np.sum(value_of(v) * known, axis=0) < 0.0, -1.0, 1.0)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Decompose by the eigenvectors of `a.T @ a`; no more columns than the smaller side has."""
    a = as_dual(a)
    known = np.linalg.svd(value_of(a), full_matrices=False)
    if a.shape[0] < a.shape[1]:
        left, s, right = svd(a.T, False)
        turned = _signs(right.T, known[0])
        return type(known)(right.T * turned, s, turned[:, None] * left.T)
    w, v = eigh(a.T @ a)
    s, v = np.sqrt(w[::-1]), v[:, ::-1]
    if not compute_uv:
        return s
    v = v * _signs(v, known[2].T)
    return type(known)(a @ v / s, s, v.T)


def qr(a: Any) -> Any:
    """Orthonormalise the columns one after the other."""
    a = as_dual(a)
    known = np.linalg.qr(value_of(a))
    q = as_dual(np.zeros(known[0].shape))
    for j in range(q.shape[1]):
        column = a[:, j].copy()
        for i in range(j):
            column = column - q[:, i] * np.sum(q[:, i] * column)
        sign = 1.0 if known[1][j, j] >= 0.0 else -1.0
        q[:, j] = column / (sign * np.sqrt(np.sum(column * column)))
    return type(known)(q, q.T @ a)


def table(solve: Callable[[Any, Any], Any]) -> dict[str, Callable[..., Any]]:
    """List what stands in for the functions of `np.linalg`, given how to solve a system."""
    def pinv(a: Any) -> Any:
        return solve(a.T @ a, a.T) if a.shape[0] >= a.shape[1] else solve(a @ a.T, a).T

    def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
        x = pinv(as_dual(a)) @ b
        gap = b - a @ x
        singular = svd(a, compute_uv=False)
        return x, np.atleast_1d(np.sum(gap * gap, axis=0)), len(singular), singular

    return {
        "eigh": eigh, "eigvalsh": lambda a, UPLO="L": eigh(a, UPLO)[0], "svd": svd, "qr": qr, "pinv": pinv,
        "svdvals": lambda a: svd(a, compute_uv=False), "lstsq": lstsq,
    }
