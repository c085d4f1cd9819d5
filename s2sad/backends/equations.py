"""Equations of matrices, compiled: by the Schur form of LAPACK, which is called as SciPy exports it.

Sources: R. H. Bartels, G. W. Stewart, Solution of the matrix equation AX + XB = C, Comm. ACM 15 (1972); A. J. Laub,
A Schur method for solving algebraic Riccati equations, IEEE Trans. Automat. Control 24 (1979); E. K.-W. Chu, H.-Y. Fan,
W.-W. Lin, C.-S. Wang, Structure-preserving algorithms for periodic discrete-time algebraic Riccati equations, Int. J.
Control 77 (2004); Å. Björck, S. Hammarling, A Schur method for the square root of a matrix, Linear Algebra Appl. 52/53
(1983). Discrete Lyapunov equations are solved as SciPy solves them.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from s2sad.backends import solvers

_types: Any = importlib.import_module("numba.core.types")

_N, _V = 78, 86
"""The letters by which LAPACK is told what to do."""
_FEW = 10
"""Rows of a matrix whose discrete Lyapunov equation is solved as one system."""
_NOT_UNIQUE = "the solution of a linear equation of matrices is not unique"
_NONE = "no solution of a Riccati equation stabilises"
_NOT_SYMMETRIC = "the matrices q and r of a Riccati equation are symmetric"
_NOT_REAL = "a real matrix has no real square root here: pass it as a complex array"
_UNEQUAL = "the matrices of an equation do not fit together"


def _of_lapack(name: str, count: int) -> Any:
    """Return a function of LAPACK, all of whose arguments are places in memory."""
    return _types.ExternalFunction(solvers.symbol(name), _types.void(*(_types.voidptr,) * count))


_dgees, _zgees, _dtrsyl, _ztrsyl, _dtrsen = (
    _of_lapack("dgees", 15), _of_lapack("zgees", 15), _of_lapack("dtrsyl", 13), _of_lapack("ztrsyl", 13),
    _of_lapack("dtrsen", 18),
)  # fmt: skip


def _letter(code: int) -> Any:
    return np.full(1, code, np.uint8)


def _whole(n: int) -> Any:
    return np.full(1, n, np.int32)


def _schur(a: Any) -> Any:
    """Return `t` and `u` by columns, `a @ u.T = u.T @ t.T`, `t.T` being triangular but for blocks of two rows.

    An array by columns is used up.
    """
    n = a.shape[0]
    if a.shape[1] != n:
        raise ValueError(_UNEQUAL)
    t, u = np.ascontiguousarray(a.T), np.empty((n, n), a.dtype)
    values, work = np.empty(2 * n, a.dtype), np.empty(40 * n + 1, a.dtype)
    size, count, info = _whole(max(n, 1)), _whole(0), _whole(0)
    with_vectors, unsorted, room = _letter(_V), _letter(_N), _whole(work.size)
    flags, real_work = np.empty(n + 1, np.int32), np.empty(n + 1)
    if n == 0:
        return t, u
    if np.iscomplexobj(a):
        _zgees(
            with_vectors.ctypes, unsorted.ctypes, flags.ctypes, size.ctypes, t.ctypes, size.ctypes, count.ctypes,
            values.ctypes, u.ctypes, size.ctypes, work.ctypes, room.ctypes, real_work.ctypes, flags.ctypes, info.ctypes,
        )  # fmt: skip
    else:
        _dgees(
            with_vectors.ctypes, unsorted.ctypes, flags.ctypes, size.ctypes, t.ctypes, size.ctypes, count.ctypes,
            values.ctypes, values[n:].ctypes, u.ctypes, size.ctypes, work.ctypes, room.ctypes, flags.ctypes,
            info.ctypes,
        )  # fmt: skip
    if info[0] != 0:
        raise np.linalg.LinAlgError("the eigenvalues of a matrix were not found")
    return t, u


def sylvester(a: Any, b: Any, q: Any) -> Any:
    """Return what `runtime.solve_sylvester` does."""
    kind = (np.empty(0, a.dtype) * np.empty(0, b.dtype) * np.empty(0, q.dtype) * np.empty(0, np.float32)).dtype
    wide = (np.empty(0, kind) * np.empty(0, np.float64)).dtype
    if q.shape[0] != a.shape[0] or q.shape[1] != b.shape[0]:
        raise ValueError(_UNEQUAL)
    (t, u), (s, v) = _schur(a.astype(wide)), _schur(b.astype(wide))
    y = np.ascontiguousarray((np.conj(u) @ q.astype(wide) @ v.T).T)
    plain, plus, scale, info = _letter(_N), _whole(1), np.ones(1), _whole(0)
    rows, columns = _whole(t.shape[0]), _whole(s.shape[0])
    if q.size == 0:
        return q.astype(kind)
    if np.iscomplexobj(y):
        _ztrsyl(
            plain.ctypes, plain.ctypes, plus.ctypes, rows.ctypes, columns.ctypes, t.ctypes, rows.ctypes, s.ctypes,
            columns.ctypes, y.ctypes, rows.ctypes, scale.ctypes, info.ctypes,
        )  # fmt: skip
    else:
        _dtrsyl(
            plain.ctypes, plain.ctypes, plus.ctypes, rows.ctypes, columns.ctypes, t.ctypes, rows.ctypes, s.ctypes,
            columns.ctypes, y.ctypes, rows.ctypes, scale.ctypes, info.ctypes,
        )  # fmt: skip
    if info[0] != 0:
        raise np.linalg.LinAlgError(_NOT_UNIQUE)
    return (u.T @ (y.T / scale[0]) @ np.conj(v)).astype(kind)


def discrete_lyapunov(a: Any, q: Any) -> Any:
    """Return what `runtime.solve_discrete_lyapunov` does."""
    n = a.shape[0]
    kind = (np.empty(0, a.dtype) * np.empty(0, q.dtype) * np.empty(0, np.float64)).dtype
    if a.shape[1] != n or q.shape[0] != n or q.shape[1] != n:
        raise ValueError(_UNEQUAL)
    m, right = a.astype(kind), q.astype(kind)
    if n < _FEW:
        whole = np.eye(n * n).astype(kind)
        for i in range(n):
            for j in range(n):
                for k in range(n):
                    for e in range(n):
                        whole[i * n + j, k * n + e] -= m[i, k] * np.conj(m[j, e])
        return np.linalg.solve(whole, np.ascontiguousarray(right).reshape(n * n)).reshape((n, n))
    eye = np.eye(n).astype(kind)
    back = np.conj(m.T)
    behind = np.linalg.inv(back + eye)
    turned = (back - eye) @ behind
    half = np.linalg.solve(m + eye, right @ behind)
    return sylvester(np.conj(turned.T), turned, -(half + half))


def _checked(a: Any, b: Any, q: Any, r: Any) -> None:
    n, m = b.shape
    if a.shape != (n, n) or q.shape != (n, n) or r.shape != (m, m):
        raise ValueError(_UNEQUAL)
    for i in range(n):
        for j in range(i):
            if abs(q[i, j] - q[j, i]) > 1e-12 * (abs(q[i, j]) + abs(q[i, i]) + abs(q[j, j])):
                raise ValueError(_NOT_SYMMETRIC)
    for i in range(m):
        for j in range(i):
            if abs(r[i, j] - r[j, i]) > 1e-12 * (abs(r[i, j]) + abs(r[i, i]) + abs(r[j, j])):
                raise ValueError(_NOT_SYMMETRIC)


def continuous_are(a: Any, b: Any, q: Any, r: Any) -> Any:
    """Return what `runtime.solve_continuous_are` does: by the invariant subspace of the stable eigenvalues."""
    _checked(a, b, q, r)
    n = a.shape[0]
    m, c = a.astype(np.float64), b.astype(np.float64)
    h = np.empty((2 * n, 2 * n))
    h[:n, :n], h[:n, n:] = m, -(c @ np.linalg.solve(r.astype(np.float64), c.T))
    h[n:, :n], h[n:, n:] = -q, -m.T
    t, u = _schur(h)
    chosen, count = np.zeros(2 * n, np.int32), 0
    for i in range(2 * n):
        chosen[i] = t[i, i] < 0.0  # of a block of two rows, both numbers on the diagonal are the real part
        count += chosen[i]
    if count != n:
        raise np.linalg.LinAlgError(_NONE)
    none, update, size, found, info = _letter(_N), _letter(_V), _whole(2 * n), _whole(0), _whole(0)
    values, bounds, work, places = np.empty(4 * n), np.empty(2), np.empty(2 * n + 1), np.empty(1, np.int32)
    room, one = _whole(work.size), _whole(1)
    _dtrsen(
        none.ctypes, update.ctypes, chosen.ctypes, size.ctypes, t.ctypes, size.ctypes, u.ctypes, size.ctypes,
        values.ctypes, values[2 * n :].ctypes, found.ctypes, bounds.ctypes, bounds[1:].ctypes, work.ctypes, room.ctypes,
        places.ctypes, one.ctypes, info.ctypes,
    )  # fmt: skip
    if info[0] != 0 or found[0] != n:
        raise np.linalg.LinAlgError(_NONE)
    x = np.linalg.solve(u[:n, :n], u[:n, n:])
    return 0.5 * (x + x.T)


def discrete_are(a: Any, b: Any, q: Any, r: Any) -> Any:
    """Return what `runtime.solve_discrete_are` does: each turn doubles the steps of the Riccati recurrence."""
    _checked(a, b, q, r)
    m, c, x = a.astype(np.float64), b.astype(np.float64), q.astype(np.float64)
    g, eye = c @ np.linalg.solve(r.astype(np.float64), c.T), np.eye(a.shape[0])
    for _ in range(60):
        inside = np.linalg.solve(eye + g @ x, m)
        added = m.T @ x @ inside
        g = g + m @ np.linalg.solve(eye + g @ x, g) @ m.T
        g, m = 0.5 * (g + g.T), m @ inside
        x = x + 0.5 * (added + added.T)
        size = np.max(np.abs(x))
        if not np.isfinite(size):
            break
        if np.max(np.abs(added)) <= 1e-16 * size:
            return x
    raise np.linalg.LinAlgError(_NONE)


def square_root(a: Any) -> Any:
    """Return what `runtime.sqrtm` does."""
    n = a.shape[0]
    t, u = _schur(a.astype(np.complex128))
    root = np.zeros((n, n), np.complex128)  # by columns, as `t` is
    for j in range(n):
        root[j, j] = np.sqrt(t[j, j])
        for i in range(j - 1, -1, -1):
            rest = t[j, i]
            for k in range(i + 1, j):
                rest -= root[k, i] * root[j, k]
            root[j, i] = rest / (root[i, i] + root[j, j])
    found = np.ascontiguousarray(u.T @ root.T @ np.conj(u))
    out = np.empty((n, n), (np.empty(0, a.dtype) * np.empty(0, np.float64)).dtype)
    parts, given = out.view(np.float64), found.view(np.float64)
    largest, besides = np.max(np.abs(given)), 0.0
    step = parts.shape[1] // n
    for i in range(n):
        for j in range(n):
            parts[i, step * j] = given[i, 2 * j]
            if step == 2:
                parts[i, 2 * j + 1] = given[i, 2 * j + 1]
            else:
                besides = max(besides, abs(given[i, 2 * j + 1]))
    if besides > 1e-6 * largest:
        raise ValueError(_NOT_REAL)
    return out.astype((np.empty(0, a.dtype) * np.empty(0, np.float32)).dtype)
