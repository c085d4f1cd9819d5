"""Reductions along one axis that Numba lacks, and the transposes of products.

Each works on the contiguous data as an `(outer, n, inner)` array, so that any rank and axis share
one loop. `shape_without(a, axis)` is the result's shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def shape_without(a: Any, axis: int) -> Any:
    """Return the lengths of every axis of `a` but `axis`; `a` has two to six.

    A case for each rank, because a compiled tuple has a fixed length: Numba keeps the one that
    applies. (`np.moveaxis` compiles a sort of tuples, which takes seconds.)
    """
    k, n = axis % a.ndim, a.shape
    if a.ndim == 2:
        return (n[0 + (k < 1)],)
    if a.ndim == 3:
        return n[0 + (k < 1)], n[1 + (k < 2)]
    if a.ndim == 4:
        return n[0 + (k < 1)], n[1 + (k < 2)], n[2 + (k < 3)]
    if a.ndim == 5:
        return n[0 + (k < 1)], n[1 + (k < 2)], n[2 + (k < 3)], n[3 + (k < 4)]
    return n[0 + (k < 1)], n[1 + (k < 2)], n[2 + (k < 3)], n[3 + (k < 4)], n[4 + (k < 5)]


def inner_size(a: Any, axis: int) -> int:
    """Return the product of the lengths after `axis`, which may be negative."""
    inner = 1
    for k in range(axis % a.ndim + 1, a.ndim):
        inner *= a.shape[k]
    return inner


def sum_axis(a: Any, axis: int) -> Any:
    """Return `np.sum(a, axis=axis)` of floating-point numbers, of rank 2 or more.

    Numbers that lie side by side are added in four sums at once, as each addition waits for the one before.
    """
    flat, n, inner = np.ravel(a), a.shape[axis], inner_size(a, axis)
    outer = 1
    for k in range(axis % a.ndim):
        outer *= a.shape[k]
    out = np.zeros(outer * inner, a.dtype)
    if inner == 1:
        for o in range(outer):
            first = second = third = fourth = out[o]
            for k in range(o * n, o * n + n - 3, 4):
                first += flat[k]
                second += flat[k + 1]
                third += flat[k + 2]
                fourth += flat[k + 3]
            for k in range(o * n + n - n % 4, o * n + n):
                first += flat[k]
            out[o] = (first + second) + (third + fourth)
    else:
        for o in range(outer):
            for k in range(n):
                for i in range(inner):
                    out[o * inner + i] += flat[(o * n + k) * inner + i]
    return out.reshape(shape_without(a, axis))


def mean_axis(a: Any, axis: int) -> Any:
    """Return `np.mean(a, axis=axis)` of an array of rank 2 or more."""
    flat, n, inner = np.ravel(a), a.shape[axis], inner_size(a, axis)
    outer = flat.size // (n * inner)
    out = np.zeros(outer * inner, a.dtype)
    for o in range(outer):
        for k in range(n):
            for i in range(inner):
                out[o * inner + i] += flat[(o * n + k) * inner + i]
        for i in range(inner):
            out[o * inner + i] /= n
    return out.reshape(shape_without(a, axis))


def var_axis(a: Any, axis: int, ddof: int = 0) -> Any:
    """Return `np.var(a, axis=axis, ddof=ddof)` of a real array of rank 2 or more, in two passes."""
    flat, n, inner = np.ravel(a), a.shape[axis], inner_size(a, axis)
    outer = flat.size // (n * inner)
    out = np.zeros(outer * inner, a.dtype)
    for o in range(outer):
        for i in range(inner):
            middle = out[0] * 0
            for k in range(n):
                middle += flat[(o * n + k) * inner + i]
            middle /= n
            for k in range(n):
                deviation = flat[(o * n + k) * inner + i] - middle
                out[o * inner + i] += deviation * deviation
            out[o * inner + i] /= n - ddof
    return out.reshape(shape_without(a, axis))


def std_axis(a: Any, axis: int, ddof: int = 0) -> Any:
    """Return `np.std(a, axis=axis, ddof=ddof)` of a real array of rank 2 or more."""
    return np.sqrt(var_axis(a, axis, ddof))


def var_all(a: Any, ddof: int = 0) -> Any:
    """Return `np.var(a, ddof=ddof)` of a whole real array, in two passes."""
    flat = np.ravel(a)
    middle = np.sum(flat) / flat.size
    total = middle * 0
    for i in range(flat.size):
        deviation = flat[i] - middle
        total += deviation * deviation
    return total / (flat.size - ddof)


def std_all(a: Any, ddof: int = 0) -> Any:
    """Return `np.std(a, ddof=ddof)` of a whole real array."""
    return np.sqrt(var_all(a, ddof))


def max_axis(a: Any, axis: int) -> Any:
    """Return `np.max(a, axis=axis)` of an array of rank 2 or more; NaN wins."""
    flat, n, inner = np.ravel(a), a.shape[axis], inner_size(a, axis)
    outer = flat.size // (n * inner)
    out = np.empty(outer * inner, a.dtype)
    for o in range(outer):
        for i in range(inner):
            best = flat[o * n * inner + i]
            for k in range(1, n):
                item = flat[(o * n + k) * inner + i]
                if item > best or item != item:
                    best = item
            out[o * inner + i] = best
    return out.reshape(shape_without(a, axis))


def min_axis(a: Any, axis: int) -> Any:
    """Return `np.min(a, axis=axis)` of an array of rank 2 or more; NaN wins."""
    flat, n, inner = np.ravel(a), a.shape[axis], inner_size(a, axis)
    outer = flat.size // (n * inner)
    out = np.empty(outer * inner, a.dtype)
    for o in range(outer):
        for i in range(inner):
            best = flat[o * n * inner + i]
            for k in range(1, n):
                item = flat[(o * n + k) * inner + i]
                if item < best or item != item:
                    best = item
            out[o * inner + i] = best
    return out.reshape(shape_without(a, axis))


def prod_axis(a: Any, axis: int) -> Any:
    """Return `np.prod(a, axis=axis)` of an array of rank 2 or more."""
    flat, n, inner = np.ravel(a), a.shape[axis], inner_size(a, axis)
    outer = flat.size // (n * inner)
    out = np.ones(outer * inner, a.dtype)
    for o in range(outer):
        for k in range(n):
            for i in range(inner):
                out[o * inner + i] *= flat[(o * n + k) * inner + i]
    return out.reshape(shape_without(a, axis))


def nansum_axis(a: Any, axis: int) -> Any:
    """Return `np.nansum(a, axis=axis)` of an array of rank 2 or more."""
    return np.sum(np.where(np.isnan(a), a.dtype.type(0), a), axis)


def nanmean_axis(a: Any, axis: int) -> Any:
    """Return `np.nanmean(a, axis=axis)` of an array of rank 2 or more."""
    count = np.sum(np.where(np.isnan(a), a.dtype.type(0), a.dtype.type(1)), axis)
    return nansum_axis(a, axis) / count


def any_axis(a: Any, axis: int) -> Any:
    """Return `np.any(a, axis=axis)` of a truth array of rank 2 or more."""
    return np.sum(a, axis) > 0


def all_axis(a: Any, axis: int) -> Any:
    """Return `np.all(a, axis=axis)` of a truth array of rank 2 or more."""
    return np.sum(a, axis) == a.shape[axis]


def product_of_others(a: Any, axis: int) -> Any:
    """Return, for each element, the product of the other elements along `axis`.

    Products from both sides, no division: right where elements are zero.
    Source: Griewank & Walther 2008, section 3.3 (Speelpenning's product).
    """
    flat, n, inner = np.ravel(a), a.shape[axis], inner_size(a, axis)
    out = np.ones_like(flat)
    for start in range(flat.size // max(n, 1)):
        first = start // inner * n * inner + start % inner
        before = out[first] * 0 + 1
        for k in range(n):
            out[first + k * inner] = before
            before = before * flat[first + k * inner]
        after = before * 0 + 1
        for k in range(n - 1, -1, -1):
            out[first + k * inner] = out[first + k * inner] * after
            after = after * flat[first + k * inner]
    return out.reshape(a.shape)


def cumprod_axis(a: Any, axis: int) -> Any:
    """Return `np.cumprod(a, axis=axis)`."""
    out, n, inner = a.flatten(), a.shape[axis], inner_size(a, axis)
    for start in range(out.size // max(n, 1)):
        first = start // inner * n * inner + start % inner
        for k in range(1, n):
            out[first + k * inner] *= out[first + (k - 1) * inner]
    return out.reshape(a.shape)


def scan(a: Any, f: Any, axis: int) -> Any:
    """Return `out[k] = f[k] + out[k - 1] * a[k]` along `axis`; `a[0]` is not read."""
    flat, out, n, inner = np.ravel(a), f.flatten(), a.shape[axis], inner_size(a, axis)
    for start in range(out.size // max(n, 1)):
        first = start // inner * n * inner + start % inner
        for k in range(1, n):
            here = first + k * inner
            out[here] += out[here - inner] * flat[here]
    return out.reshape(a.shape)


def scan_back(a: Any, g: Any, axis: int) -> Any:
    """Return `out[k] = g[k] + out[k + 1] * a[k + 1]` along `axis`: the transpose of `scan`."""
    flat, out, n, inner = np.ravel(a), g.flatten(), a.shape[axis], inner_size(a, axis)
    for start in range(out.size // max(n, 1)):
        first = start // inner * n * inner + start % inner
        for k in range(n - 1, 0, -1):
            here = first + k * inner
            out[here - inner] += out[here] * flat[here]
    return out.reshape(a.shape)


def shift(a: Any, first: float, axis: int) -> Any:
    """Return `a` moved one place along `axis`, with `first` in front: `out[k] = a[k - 1]`."""
    flat, n, inner = np.ravel(a), a.shape[axis], inner_size(a, axis)
    out = np.empty_like(flat)
    for i in range(flat.size):
        if i // inner % n == 0:
            out[i] = first
        else:
            out[i] = flat[i - inner]
    return out.reshape(a.shape)


def shift_back(a: Any, axis: int) -> Any:
    """Return `out[k] = a[k + 1]` along `axis`, 0 at the end: the transpose of `shift`."""
    flat, n, inner = np.ravel(a), a.shape[axis], inner_size(a, axis)
    out = np.zeros_like(flat)
    for i in range(flat.size):
        if i // inner % n != n - 1:
            out[i] = flat[i + inner]
    return out.reshape(a.shape)


def logsumexp(a: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the logarithm of the sum of exponentials, shifted by the largest so that none overflows."""
    top = np.max(a, axis=axis, keepdims=True)
    base = np.where(np.isfinite(top), top, np.zeros_like(top))
    total = np.log(np.sum(np.exp(a - base), axis=axis, keepdims=True)) + base
    if keepdims:
        return total
    return np.sum(total) if axis is None else np.squeeze(total, axis=axis)


def logsumexp_all(a: Any) -> Any:
    """Return `logsumexp(a)` of a whole array."""
    flat = np.ravel(a)
    top = np.max(flat)
    if not np.isfinite(top):
        top = top * 0 if np.isnan(top) else flat.dtype.type(0)
    total = top * 0
    for i in range(flat.size):
        total += np.exp(flat[i] - top)
    return np.log(total) + top


def logsumexp_axis(a: Any, axis: int) -> Any:
    """Return `logsumexp(a, axis=axis)` of an array of rank 2 or more."""
    flat, n, inner = np.ravel(a), a.shape[axis], inner_size(a, axis)
    out = np.empty(flat.size // n, a.dtype)
    line = np.empty(n, a.dtype)
    for start in range(out.size):
        first = start // inner * n * inner + start % inner
        for k in range(n):
            line[k] = flat[first + k * inner]
        out[start] = logsumexp_all(line)
    return out.reshape(shape_without(a, axis))
