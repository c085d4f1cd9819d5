"""Transposes of gathers, tiles, pads and diagonals, and the shape operations that Numba lacks."""

# Numba takes no starred tuples:
# ruff: noqa: RUF005

from __future__ import annotations

from typing import Any

import numpy as np


def same_length(first: int, second: int) -> int:
    """Return a length that two axes must have in common."""
    if first != second:
        raise ValueError("operands could not be broadcast together")
    return first


def scatter(g: Any, index: Any, x: Any, axis: int) -> Any:
    """Return zeros like `x` with `g` added at `index` along `axis`: the transpose of `np.take`."""
    n = x.shape[axis]
    inner = 1
    for k in range(axis % x.ndim + 1, x.ndim):
        inner *= x.shape[k]
    flat, places = np.ravel(np.asarray(g)), np.ravel(np.asarray(index))
    count = places.size
    out = np.zeros(x.size, x.dtype)
    for o in range(x.size // max(n * inner, 1)):
        for k in range(count):
            at = places[k] % n
            for i in range(inner):
                out[(o * n + at) * inner + i] += flat[(o * count + k) * inner + i]
    return out.reshape(x.shape)


def scatter_along(g: Any, indices: Any, x: Any, axis: int) -> Any:
    """Return zeros like `x` with `g` added at `indices` along `axis`; off it, lengths 1 of either are spread."""
    along = axis % x.ndim
    flat, places = np.ravel(g), np.ravel(indices)
    out = np.zeros(x.size, g.dtype)
    for i in range(flat.size):
        left, place, at, place_step, step, along_step = i, 0, 0, 1, 1, 1
        for k in range(x.ndim - 1, -1, -1):
            here = left % g.shape[k]
            left = left // g.shape[k]
            if indices.shape[k] > 1:
                place += here * place_step
            if k == along:
                along_step = step
            elif x.shape[k] > 1:
                at += here * step
            place_step *= indices.shape[k]
            step *= x.shape[k]
        out[at + places[place] % x.shape[along] * along_step] += flat[i]
    return out.reshape(x.shape)


def tile_like(x: Any, g: Any) -> Any:
    """Return `x` tiled to the shape of `g`."""
    flat = np.ravel(x)
    out = np.empty(g.size, x.dtype)
    for i in range(g.size):
        out[i] = flat[tiled_from(i, g, x)]
    return out.reshape(g.shape)


def untile(g: Any, x: Any) -> Any:
    """Sum `g`, which has the shape of `x` tiled, over the tiles."""
    flat = np.ravel(g)
    out = np.zeros(x.size, g.dtype)
    for i in range(g.size):
        out[tiled_from(i, g, x)] += flat[i]
    return out.reshape(x.shape)


def tiled_from(i: int, g: Any, x: Any) -> int:
    """Return the place in the flat `x` that element `i` of the flat tiled `g` was copied from."""
    place, stride = 0, 1
    for k in range(x.ndim - 1, -1, -1):
        n = g.shape[g.ndim - x.ndim + k]
        place += i % n % x.shape[k] * stride
        i //= n
        stride *= x.shape[k]
    return place


def embed(g: Any, start: int, size: int) -> Any:
    """Return a vector of `size` zeros with `g` from `start` on."""
    out = np.zeros(size, g.dtype)
    for i in range(min(g.size, size - start)):
        out[start + i] = g[i]
    return out


def put_diagonal(g: Any, x: Any, k: int) -> Any:
    """Return zeros like the matrix `x` with `g` on its `k`-th diagonal."""
    out = np.zeros(x.shape, g.dtype)
    for i in range(g.size):
        out[i + max(-k, 0), i + max(k, 0)] = g[i]
    return out


def sum_windows(g: Any, x: Any) -> Any:
    """Return zeros like `x` with the windows `g[..., i, :]` added where they lie, from `i` on along the last axis."""
    out = np.zeros(x.shape, g.dtype)
    for k in range(g.shape[-1]):
        out[..., k : k + g.shape[-2]] += g[..., k]
    return out


def unpad(g: Any, x: Any, before: tuple[int, ...]) -> Any:
    """Return the part of `g` that starts at `before` and has the shape of `x`."""
    flat = np.ravel(g)
    out = np.empty(x.size, g.dtype)
    for i in range(x.size):
        place = padded_to(i, g, x, before)
        if place < flat.size:
            out[i] = flat[place]
    return out.reshape(x.shape)


def pad_like(x: Any, g: Any, before: tuple[int, ...]) -> Any:
    """Return zeros of the shape of `g` with `x` placed at `before`."""
    flat = np.ravel(x)
    out = np.zeros(g.size, x.dtype)
    for i in range(x.size):
        place = padded_to(i, g, x, before)
        if place < out.size:
            out[place] = flat[i]
    return out.reshape(g.shape)


def padded_to(i: int, g: Any, x: Any, before: tuple[int, ...]) -> int:
    """Return the place in the flat padded `g` of element `i` of the flat `x`."""
    place, stride = 0, 1
    for k in range(x.ndim - 1, -1, -1):
        place += (i % x.shape[k] + before[k]) * stride
        i //= x.shape[k]
        stride *= g.shape[k]
    return place


def pad_before(pad_width: Any, ndim: int) -> tuple[int, ...]:
    """Return how many elements `np.pad(x, pad_width)` puts before each axis."""
    pairs = np.broadcast_to(np.asarray(pad_width), (ndim, 2))
    return tuple(int(pair[0]) for pair in pairs)


def inverse_axes(axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the permutation that undoes `np.transpose(x, axes)`."""
    return tuple(int(k) for k in np.argsort([axis % len(axes) for axis in axes]))


def join_last_axes(a: Any) -> Any:
    """Return a dense array with its last two axes in one."""
    return np.ascontiguousarray(a).reshape(a.shape[:-2] + (a.shape[-2] * a.shape[-1],))


def roll_axis(a: Any, shift: int, axis: int) -> Any:
    """Return `np.roll(a, shift, axis=axis)`."""
    n = a.shape[axis]
    inner = 1
    for k in range(axis % a.ndim + 1, a.ndim):
        inner *= a.shape[k]
    flat = np.ravel(a)
    out = np.empty_like(flat)
    for i in range(flat.size):
        k = i // inner % n
        out[i + ((k + shift) % n - k) * inner] = flat[i]
    return out.reshape(a.shape)


def roll_axes(a: Any, shifts: Any, axes: tuple[int, ...]) -> Any:
    """Return `np.roll(a, shifts, axis=axes)` for an array of shifts; raises ValueError where they are not as many."""
    if len(axes) == 1:
        return roll_axis(a, np.sum(shifts), axes[0])
    if shifts.size != 1 and shifts.size != len(axes):
        raise ValueError("shape mismatch: there are not as many shifts as axes")
    out = np.ascontiguousarray(a)
    for k in range(len(axes)):
        out = roll_axis(out, shifts[k if shifts.size > 1 else 0], axes[k])
    return out


def flip_axis(a: Any, axis: int) -> Any:
    """Return a copy of `np.flip(a, axis=axis)`."""
    n = a.shape[axis]
    inner = 1
    for k in range(axis % a.ndim + 1, a.ndim):
        inner *= a.shape[k]
    flat = np.ravel(a)
    out = np.empty_like(flat)
    for i in range(flat.size):
        k = i // inner % n
        out[i + (n - 1 - 2 * k) * inner] = flat[i]
    return out.reshape(a.shape)


def argsort_axis(a: Any, axis: int) -> Any:
    """Return `np.argsort(a, axis=axis)`."""
    n = a.shape[axis]
    inner = 1
    for k in range(axis % a.ndim + 1, a.ndim):
        inner *= a.shape[k]
    flat, line = np.ravel(a), np.empty(n, a.dtype)
    out = np.empty(a.size, np.int64)
    for start in range(a.size // max(n, 1)):
        first = start // inner * n * inner + start % inner
        for k in range(n):
            line[k] = flat[first + k * inner]
        order = np.argsort(line)
        for k in range(n):
            out[first + k * inner] = order[k]
    return out.reshape(a.shape)


def tile_axis(x: Any, count: int, axis: int) -> Any:
    """Return `x` repeated whole, `count` times, along one axis."""
    moved = np.swapaxes(x, 0, axis)
    n = moved.shape[0]
    out = np.empty((n * count, *moved.shape[1:]), x.dtype)
    for r in range(count):
        out[r * n : (r + 1) * n] = moved
    return np.ascontiguousarray(np.swapaxes(out, 0, axis))


def pad_axis(x: Any, before: int, after: int, value: float, axis: int) -> Any:
    """Return `x` with `value` before and after along one axis."""
    moved = np.swapaxes(x, 0, axis)
    n = moved.shape[0]
    out = np.empty((before + n + after, *moved.shape[1:]), x.dtype)
    out[:] = value
    out[before : before + n] = moved
    return np.ascontiguousarray(np.swapaxes(out, 0, axis))


def tile_vector(x: Any, reps: int) -> Any:
    """Return `np.tile(x, reps)` of a vector."""
    out = np.empty(x.size * reps, x.dtype)
    for i in range(out.size):
        out[i] = x[i % x.size]
    return out


def tile_matrix(x: Any, down: int, across: int) -> Any:
    """Return `np.tile(x, (down, across))` of a matrix."""
    rows, columns = x.shape
    out = np.empty((rows * down, columns * across), x.dtype)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = x[i % rows, j % columns]
    return out


def pad_vector(x: Any, before: int, after: int, value: float) -> Any:
    """Return `np.pad(x, (before, after), constant_values=value)` of a vector."""
    out = np.empty(before + x.size + after, x.dtype)
    out[:] = value
    for i in range(x.size):
        out[before + i] = x[i]
    return out


def pad_matrix(x: Any, above: int, below: int, left: int, right: int, value: float) -> Any:
    """Return `np.pad(x, ((above, below), (left, right)), constant_values=value)` of a matrix."""
    rows, columns = x.shape
    out = np.empty((above + rows + below, left + columns + right), x.dtype)
    out[:, :] = value
    for i in range(rows):
        for j in range(columns):
            out[above + i, left + j] = x[i, j]
    return out
