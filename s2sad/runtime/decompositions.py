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


def precision(a: Any) -> Any:
    """Return the distance from 1 to the next number of the kind of `a`."""
    return np.finfo(np.abs(a[:0]).dtype).eps


def rank_bound(a: Any) -> Any:
    """Return how small beside the largest one a singular value counts as zero for `np.linalg.lstsq`."""
    return precision(a) * max(a.shape[0], a.shape[1])


def sure_bound(a: Any, rcond: Any) -> Any:
    """Return how small beside the largest one a singular value counts as zero: those that do have to be.

    Raises:
        numpy.linalg.LinAlgError: one is cut off that is not zero, so that what is kept turns as `a` changes.
    """
    sizes = np.linalg.svd(a)[1]
    for size in sizes:
        if size <= rcond * sizes[0] and size > 100.0 * rank_bound(a) * sizes[0]:
            raise np.linalg.LinAlgError("singular values that are not zero are cut off: that has no derivative here")
    return rcond


def lstsq_default(a: Any, b: Any) -> Any:
    """Return `np.linalg.lstsq(a, b)` with NumPy's own bound on small singular values."""
    return np.linalg.lstsq(a, b, rank_bound(a))


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


def power(a: Any, n: int) -> Any:
    """Return `np.linalg.matrix_power(a, n)`, which to Numba may be None, as an array of its own."""
    out = np.empty(a.shape, a.dtype)
    out[:] = np.linalg.matrix_power(np.ascontiguousarray(a), n)
    return out


def power_batch(a: Any, n: int) -> Any:
    """Return `np.linalg.matrix_power(a, n)` for a three-dimensional array."""
    out = np.empty(a.shape, a.dtype)
    for k in range(a.shape[0]):
        out[k] = power(a[k], n)
    return out


def solve_triangular(a: Any, b: Any, trans: bool, lower: bool, unit: bool) -> Any:
    """Return `scipy.linalg.solve_triangular(a, b, trans, lower, unit)` for a matrix or a vector `b`."""
    n = a.shape[0]
    x = np.empty(b.shape, (np.empty(0, a.dtype) * np.empty(0, b.dtype)).dtype)
    x[:] = b
    for step in range(n):
        i = step if lower != trans else n - 1 - step
        for k in range(step):
            j = k if lower != trans else n - 1 - k
            x[i] -= (a[j, i] if trans else a[i, j]) * x[j]
        if not unit:
            x[i] /= a[i, i]
    return x


def lu_factor(a: Any) -> Any:
    """Return the factors of a square matrix in one, the lower one with ones on its diagonal, and the order of rows.

    The product of the factors is `a[order]`; each pivot is the largest number of its column that is left.
    Source: Golub and Van Loan, *Matrix Computations*, 4th edition, 3.4.1.

    Raises:
        numpy.linalg.LinAlgError: the matrix is singular.
    """
    n = a.shape[0]
    lu = a.copy()
    order = np.arange(n)
    for c in range(n):
        pivot = c + np.argmax(np.abs(lu[c:, c]))
        if lu[pivot, c] == 0.0:
            raise np.linalg.LinAlgError("Singular matrix")
        line, row = lu[c].copy(), order[c]
        lu[c], order[c] = lu[pivot], order[pivot]
        lu[pivot], order[pivot] = line, row
        for i in range(c + 1, n):
            lu[i, c] /= lu[c, c]
            lu[i, c + 1 :] -= lu[i, c] * lu[c, c + 1 :]
    return lu, order


def exchange_rows(x: Any, pivots: Any, trans: bool) -> Any:
    """Return `x` with each row exchanged for that of its pivot, one after the other, or back if `trans`.

    Raises:
        ValueError: there are not as many rows as pivots.
    """
    if x.shape[0] != pivots.size:
        raise ValueError("the matrix and the right side of a system are not equally long")
    order = np.arange(pivots.size)
    for i in range(pivots.size):
        row = order[i]
        order[i], order[pivots[i]] = order[pivots[i]], row
    out = np.empty(x.shape, x.dtype)
    for i in range(pivots.size):
        if trans:
            out[order[i]] = x[i]
        else:
            out[i] = x[order[i]]
    return out


def lu_pivots(a: Any) -> Any:
    """Return `scipy.linalg.lu_factor(a)`.

    Raises:
        numpy.linalg.LinAlgError: the matrix is singular.
    """
    lu, order = lu_factor(a)
    pivots, rows, places = np.empty(order.size, np.int32), np.arange(order.size), np.arange(order.size)
    for i in range(order.size):
        place = places[order[i]]
        pivots[i], rows[place], places[rows[i]] = place, rows[i], place
    return lu, pivots


def lu_solve(lu: Any, order: Any, b: Any, trans: bool) -> Any:
    """Return the solution of the system whose matrix has these factors, or of that of the transposed matrix.

    Raises:
        ValueError: the right side is not as long as the matrix.
    """
    if b.shape[0] != lu.shape[0]:
        raise ValueError("the matrix and the right side of a system are not equally long")
    x = np.empty(b.shape, b.dtype)
    if trans:
        below = solve_triangular(lu, b, True, False, False)
        above = solve_triangular(lu, below, True, True, True)
        for i in range(lu.shape[0]):
            x[order[i]] = above[i]
        return x
    for i in range(lu.shape[0]):
        x[i] = b[order[i]]
    below = solve_triangular(lu, x, False, True, True)
    return solve_triangular(lu, below, False, False, False)


def solve_lower_batch(a: Any, b: Any, trans: bool) -> Any:
    """Return `solve_lower(a, b, trans)` for three-dimensional arrays."""
    out = np.empty(b.shape, b.dtype)
    for k in range(a.shape[0]):
        out[k] = solve_triangular(a[k], b[k], trans, True, False)
    return out


# Higham 2005, "The scaling and squaring method for the matrix exponential revisited", section 2.
PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip


def expm(a: Any) -> Any:
    """Return the exponential of a matrix, `scipy.linalg.expm(a)`."""
    size = np.max(np.sum(np.abs(a), 0))
    squarings = 0
    if size > 5.371920351148152:
        squarings = int(np.ceil(np.log2(size / 5.371920351148152)))
    scaled = np.ascontiguousarray(a) * (np.ones_like(a[0, 0]) * 0.5**squarings)
    eye = np.eye(a.shape[0]).astype(a.dtype)
    second = scaled @ scaled
    fourth = second @ second
    sixth = fourth @ second
    top = sixth @ (PADE[13] * sixth + PADE[11] * fourth + PADE[9] * second)
    odd = scaled @ (top + PADE[7] * sixth + PADE[5] * fourth + PADE[3] * second + PADE[1] * eye)
    top = sixth @ (PADE[12] * sixth + PADE[10] * fourth + PADE[8] * second)
    even = top + PADE[6] * sixth + PADE[4] * fourth + PADE[2] * second + PADE[0] * eye
    out = np.linalg.solve(even - odd, even + odd)
    for _ in range(squarings):
        out = out @ out
    return out.astype(a.dtype)


def is_singular(a: Any) -> bool:
    """Say whether `np.linalg.inv(a)`, and so `np.linalg.solve(a, b)`, raises `LinAlgError`."""
    try:
        np.linalg.inv(a)
    except Exception:  # the only class that Numba can catch
        return True
    return False


def not_positive_definite(a: Any) -> bool:
    """Say whether `np.linalg.cholesky(a)` raises `LinAlgError`."""
    try:
        np.linalg.cholesky(a)
    except Exception:  # the only class that Numba can catch
        return True
    return False
