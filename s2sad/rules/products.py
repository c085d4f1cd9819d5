"""Matrix functions that are other calls in disguise, read as the Python code below.

A call that is named in front is lowered as a call of the body where `when` says so; what is known
of the call beforehand decides its path.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.rules.registry import Settings, expands

# ---- norms ----


def _takes_singular_values(known: Settings) -> bool:
    """Say whether a norm is one of a matrix, and not one that the rule of `np.linalg.norm` has."""
    order, axis = known.get("ord"), known.get("axis")
    if order in ("nuc", 0):
        return True
    if isinstance(axis, tuple):
        return len(axis) == 2 and order not in (None, "fro")
    return axis is None and known["ndim"][0] == 2 and order in (-1, -2, -np.inf)


@expands(np.linalg.norm, when=_takes_singular_values)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the orders of a matrix norm that are sums or extrema; the order 0 of a vector counts."""
    if ord == 0:
        return np.sum((x != 0.0) * np.ones_like(np.abs(x)), axis=axis, keepdims=keepdims)
    axes = (0, 1) if axis is None else axis
    if ord == 2 or ord == -2 or ord == "nuc":
        s = np.linalg.svdvals(np.moveaxis(x, axes, (-2, -1)))
        if ord == 2:
            value = np.max(s, axis=-1)
        elif ord == -2:
            value = np.min(s, axis=-1)
        else:
            value = np.sum(s, axis=-1)
        return np.expand_dims(value, axes) if keepdims else value
    size = np.abs(x)
    if ord == 1 or ord == -1:
        sums = np.sum(size, axis=axes[0], keepdims=True)
    else:
        sums = np.sum(size, axis=axes[1], keepdims=True)
    if ord == 1:
        value = np.max(sums, axis=axes[1], keepdims=True)
    elif ord == -1:
        value = np.min(sums, axis=axes[1], keepdims=True)
    elif ord == np.inf:
        value = np.max(sums, axis=axes[0], keepdims=True)
    else:
        value = np.min(sums, axis=axes[0], keepdims=True)
    return value if keepdims else np.squeeze(value, axis=axes)


@expands(np.linalg.vector_norm)
def vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """Return the norm of vectors, of the flattened array without an axis."""
    if axis is None or (isinstance(axis, tuple) and len(axis) == x.ndim):
        value = np.linalg.norm(np.ravel(x), ord=ord)
        return np.full((1,) * x.ndim, value) if keepdims else value
    elif isinstance(axis, tuple):
        last = np.moveaxis(x, axis, tuple(range(-len(axis), 0)))
        value = np.linalg.norm(np.reshape(last, (*last.shape[: -len(axis)], -1)), ord=ord, axis=-1)
        return np.expand_dims(value, axis) if keepdims else value
    else:
        return np.linalg.norm(x, ord=ord, axis=axis, keepdims=keepdims)


@expands(np.linalg.matrix_norm)
def matrix_norm(x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Return the norm of the matrices in the last two axes."""
    return np.linalg.norm(x, ord=ord, axis=(-2, -1), keepdims=keepdims)


@expands(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    """Return the quotient of the largest and the smallest singular value, or the product of norms."""
    if p is None or p == 2 or p == -2:
        s = np.linalg.svdvals(x)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        inverse = np.linalg.inv(x)
        return np.linalg.norm(x, ord=p, axis=(-2, -1)) * np.linalg.norm(inverse, ord=p, axis=(-2, -1))


# ---- factors ----


@expands(np.linalg.svd, when=lambda known: known.get("compute_uv") is False or known.get("hermitian") is True)
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Return the singular values alone, or those of a Hermitian matrix by its eigenvalues, as NumPy does."""
    if not compute_uv and not hermitian:
        return np.linalg.svdvals(a)
    elif not compute_uv:
        return np.sort(np.abs(np.linalg.eigvalsh(a)), axis=-1)[..., ::-1]
    else:
        w, q = np.linalg.eigh(a)
        order = np.argsort(np.abs(w), axis=-1)[..., ::-1]
        sorted_w = np.take_along_axis(w, order, axis=-1)
        u = np.take_along_axis(q, np.expand_dims(order, -2), axis=-1)
        sign = np.sign(sorted_w)
        return u, np.abs(sorted_w), np.conj(np.matrix_transpose(u * np.expand_dims(sign, -2)))


@expands(np.linalg.pinv, keywords=("rtol",), when=lambda known: known.get("hermitian") is True)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """Return the pseudo-inverse; of a Hermitian matrix, of which the lower triangle is read."""
    low = np.tril(a, k=-1) if hermitian else a
    matrix = np.tril(a) + np.conj(np.matrix_transpose(low)) if hermitian else a
    limit = rtol if rcond is None else rcond
    return np.linalg.pinv(matrix) if limit is None else np.linalg.pinv(matrix, limit)


@expands(np.linalg.qr, when=lambda known: known.get("mode") == "r")
def qr(a: Any, mode: str = "reduced") -> Any:
    """Return the triangular factor alone."""
    return np.linalg.qr(a)[1]


@expands(np.linalg.cholesky, when=lambda known: known.get("upper") is True)
def cholesky(a: Any, *, upper: bool = False) -> Any:
    """Return the upper factor; NumPy then reads the upper triangle."""
    return np.conj(np.matrix_transpose(np.linalg.cholesky(np.conj(np.matrix_transpose(a)))))


def _is_real(known: Settings) -> bool:
    return not known["complex"][0]


@expands(np.linalg.eig, when=_is_real)
def eig(a: Any) -> Any:
    """Return the eigenvalues and eigenvectors of a real matrix, which have to be real."""
    return runtime.real_eig(a)


@expands(np.linalg.eigvals, when=_is_real)
def eigvals(a: Any) -> Any:
    """Return the eigenvalues of a real matrix, which have to be real."""
    return runtime.real_eigvals(a)


@expands(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    """Return the inverse of a matrix whose rows and columns have several axes each."""
    rows = 1
    for n in a.shape[:ind]:
        rows = rows * n
    return np.reshape(np.linalg.inv(np.reshape(a, (rows, rows))), (*a.shape[ind:], *a.shape[:ind]))


@expands(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any) -> Any:
    """Return the solution of a linear system whose unknowns have several axes."""
    matrix = np.reshape(a, (b.size, b.size))
    return np.reshape(np.linalg.solve(matrix, np.ravel(b)), a.shape[b.ndim :])


# ---- products ----


@expands(np.linalg.multi_dot)
def multi_dot(arrays: Any) -> Any:
    """Return the product of the arrays, from the left."""
    total = arrays[0]
    for array in arrays[1:]:
        total = total @ array
    return total


@expands(np.linalg.matrix_power, when=lambda known: known.get("n", 1) not in (-1, *range(1, 9)))
def matrix_power(a: Any, n: int) -> Any:
    """Return a power by squares; a negative one is one of the inverse."""
    if n < 0:
        return np.linalg.matrix_power(np.linalg.inv(a), -n)
    elif n == 0:
        return np.zeros_like(a) + np.eye(a.shape[-1], dtype=a.dtype)
    half = np.linalg.matrix_power(a, n // 2)
    return half @ half if n % 2 == 0 else half @ half @ a


def missing(count: int, other: int) -> tuple[int, ...]:
    """Return the lengths of the axes that an array of `count` axes lacks beside one of `other`."""
    return (1,) * max(other - count, 0)


def every_other(m: int, n: int, first: int) -> tuple[int, ...]:
    """Return every second axis from `first`, for arrays of `m` and `n` axes spread over twice as many."""
    return tuple(range(first, 2 * max(m, n), 2))


@expands(np.inner, when=lambda known: max(known["ndim"]) > 2 and 0 not in known["ndim"])
def inner(a: Any, b: Any) -> Any:
    """Return the sums over the last axes of arrays of more axes than a matrix."""
    return np.tensordot(a, b, axes=(np.ndim(a) - 1, np.ndim(b) - 1))


@expands(np.dot, when=lambda known: known["ndim"][1:2] > [2] and known["ndim"][0] > 0)
def dot(a: Any, b: Any) -> Any:
    """Return the sums over the last axis of the first and the last but one of a second of more axes than a matrix."""
    return np.tensordot(a, b, axes=(np.ndim(a) - 1, np.ndim(b) - 2))


@expands(np.kron, when=lambda known: known["ndim"] not in ([1, 1], [2, 2]))
def kron(a: Any, b: Any) -> Any:
    """Return the Kronecker product of arrays of any rank, the smaller one's first axes of length 1."""
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    left = np.reshape(a, (*missing(a.ndim, b.ndim), *a.shape))
    right = np.reshape(b, (*missing(b.ndim, a.ndim), *b.shape))
    beside = np.expand_dims(left, every_other(a.ndim, b.ndim, 1))
    spread = beside * np.expand_dims(right, every_other(a.ndim, b.ndim, 0))
    return np.reshape(spread, tuple(p * q for p, q in zip(left.shape, right.shape)))


def _elsewhere(known: Settings) -> bool:
    """Say whether the axes of a cross product are written out."""
    return any(name in known for name in ("axisa", "axisb", "axisc", "axis"))


def _in_a_plane(known: Settings) -> bool:
    """Say whether a cross product is that of vectors of two elements."""
    return known["width"][:2] == [2, 2] and not _elsewhere(known)


@expands(np.cross, when=_in_a_plane)
def cross_in_a_plane(a: Any, b: Any) -> Any:
    """Return the element that stands upright on both vectors."""
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


@expands(np.cross, when=_elsewhere)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    """Return the cross product along the last axes, to which the given ones are moved."""
    if axis == -1 or (axis is None and axisa == -1 and axisb == -1 and axisc == -1):
        return np.cross(a, b)
    elif axis is None:
        return np.moveaxis(np.cross(np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)), -1, axisc)
    else:
        return np.moveaxis(np.cross(np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1)), -1, axis)


@expands(np.linalg.cross)
def linalg_cross(x1: Any, x2: Any, *, axis: int = -1) -> Any:
    """Return the cross product of 3-vectors along an axis."""
    return np.cross(x1, x2, axis=axis)


def _other_axes(known: Settings) -> bool:
    """Say whether a trace is neither over the first two axes nor over the last two."""
    n = known["ndim"][0]
    pair = known.get("axis1", 0), known.get("axis2", 1)
    return n > 2 and pair not in ((0, 1), (-2, -1))


@expands(np.trace, when=_other_axes)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return the trace over the last two axes, to which the given ones are moved."""
    return np.trace(np.moveaxis(a, (axis1, axis2), (-2, -1)), offset=offset, axis1=-2, axis2=-1)


@expands(np.linalg.trace)
def linalg_trace(x: Any, *, offset: int = 0) -> Any:
    """Return the trace of the matrices in the last two axes."""
    return np.trace(x, offset=offset, axis1=-2, axis2=-1)


@expands(np.linalg.diagonal)
def linalg_diagonal(x: Any, *, offset: int = 0) -> Any:
    """Return a diagonal of the matrices in the last two axes."""
    return np.einsum("...ii->...i", x) if offset == 0 else np.diagonal(x, offset, -2, -1)


@expands(np.linalg.matmul)
def linalg_matmul(x1: Any, x2: Any) -> Any:
    """Return the product of matrices."""
    return np.matmul(x1, x2)


@expands(np.linalg.outer)
def linalg_outer(x1: Any, x2: Any) -> Any:
    """Return the outer product of two vectors."""
    return np.outer(x1, x2)


@expands(np.linalg.tensordot)
def linalg_tensordot(x1: Any, x2: Any, *, axes: Any = 2) -> Any:
    """Return the sum of products over axes."""
    return np.tensordot(x1, x2, axes=axes)


@expands(np.vecdot)
def vecdot(x1: Any, x2: Any, axis: int = -1) -> Any:
    """Return the products of vectors along an axis, the first one conjugated."""
    return np.sum(np.conj(x1) * x2, axis=axis)


@expands(np.linalg.vecdot)
def linalg_vecdot(x1: Any, x2: Any, *, axis: int = -1) -> Any:
    """Return the products of vectors along an axis, the first one conjugated."""
    return np.sum(np.conj(x1) * x2, axis=axis)


if hasattr(np, "matvec"):  # since NumPy 2.2

    @expands(np.matvec)
    def matvec(x1: Any, x2: Any) -> Any:
        """Return the products of matrices and vectors."""
        return np.matmul(x1, x2[..., None])[..., 0]

    @expands(np.vecmat)
    def vecmat(x1: Any, x2: Any) -> Any:
        """Return the products of conjugated vectors and matrices."""
        return np.matmul(np.conj(x1)[..., None, :], x2)[..., 0, :]
