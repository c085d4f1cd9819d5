"""`scipy.ndimage`, loaded when a program that uses it is differentiated: filters, and linear interpolation.

A filter is a sum of shifted images, each times one weight; what lies beyond the edge is said by `mode`, as in SciPy.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.ndimage as ndimage

from s2sad.ir import ops
from s2sad.rules.registry import expands, meaning


@meaning
def image(given: Any, output: Any) -> Any:
    """Return what is filtered."""
    x = np.asarray(given)
    if output is not None:
        ops.refuse("a filter that writes into `output` is not supported", "Assign what it returns.")
    if x.dtype.kind != "f":
        ops.refuse("a filter of an image without fractions rounds its results", "Make it one of floats, `x * 1.0`.")
    return x


@meaning
def places(at: Any, n: int, mode: str) -> Any:
    """Return where along an axis of length `n` lies what stands for places beyond its ends."""
    if mode == "reflect" or mode == "grid-mirror":
        turned = at % (2 * n)
        return np.where(turned < n, turned, 2 * n - 1 - turned)
    elif mode == "mirror":
        period = max(2 * n - 2, 1)
        turned = at % period
        return np.where(turned < n, turned, period - turned)
    elif mode == "wrap" or mode == "grid-wrap":
        return at % n
    elif mode == "nearest" or mode == "constant" or mode == "grid-constant":
        return np.minimum(np.maximum(at, 0), n - 1)
    else:
        ops.refuse("there is no such mode of a filter", "It is 'reflect', 'constant', 'nearest', 'mirror' or 'wrap'.")


@meaning
def shifted(x: Any, by: int, mode: str, cval: Any) -> Any:
    """Return an image moved along its first axis."""
    n = x.shape[0]
    at = np.arange(n) + by
    found = x[places(at, n, mode)]
    if mode == "constant" or mode == "grid-constant":
        inside = np.reshape((at >= 0) & (at < n), (n,) + (1,) * (np.ndim(x) - 1))
        return np.where(inside, found, cval)
    return found


@meaning
def summed_along_first(x: Any, weights: Any, mode: str, cval: Any, centre: int) -> Any:
    """Return the sums of neighbours along the first axis, of which the one in place has the weight at the centre."""
    total = np.zeros_like(x)
    for k in range(len(weights)):
        total += weights[k] * shifted(x, k - centre, mode, cval)
    return total


@meaning
def summed(x: Any, weights: Any, axis: int, mode: str, cval: Any, centre: int) -> Any:
    """Return the sums of neighbours along one axis."""
    if axis % np.ndim(x) == 0:
        return summed_along_first(x, weights, mode, cval, centre)
    else:
        moved = np.moveaxis(x, axis, 0)
        return np.moveaxis(summed_along_first(moved, weights, mode, cval, centre), 0, axis)


@expands(ndimage.correlate1d)
def correlate1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    """Return the correlation along one axis."""
    w = np.asarray(weights)
    return summed(image(input, output), w, axis, mode, cval, len(w) // 2 + origin)


@expands(ndimage.convolve1d)
def convolve1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    """Return the convolution along one axis."""
    w = np.asarray(weights)
    return summed(image(input, output), np.flip(w), axis, mode, cval, (len(w) - 1) // 2 - origin)


@meaning
def bell(sigma: Any, order: int, truncate: float, radius: Any) -> Any:
    """Return the weights of a Gaussian of sum 1, or of its first or second derivative, backwards."""
    reach = int(truncate * sigma + 0.5) if radius is None else radius
    x = np.arange(-reach, reach + 1) * 1.0
    square = sigma * sigma
    density = np.exp(-0.5 / square * x**2)
    density = density / np.sum(density)
    if order == 0:
        return density
    elif order == 1:
        return density * x / square
    elif order == 2:
        return density * (x**2 / square - 1.0) / square
    else:
        ops.refuse("a Gaussian filter of this order is not supported", "Those of order 0, 1 and 2 are.")


@expands(ndimage.gaussian_filter1d)
def gaussian_filter1d(
    input: Any, sigma: Any, axis: int = -1, order: int = 0, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, truncate: float = 4.0, radius: Any = None,
) -> Any:  # fmt: skip
    """Return the image smoothed along one axis."""
    w = bell(sigma, order, truncate, radius)
    return summed(image(input, output), w, axis, mode, cval, len(w) // 2)


@expands(ndimage.gaussian_filter)
def gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    truncate: float = 4.0, radius: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    """Return the image smoothed along every axis."""
    if axes is not None:
        ops.refuse("a filter along some of the axes is not supported", "Use `gaussian_filter1d` along each.")
    total = image(input, output)
    widths = sigma if isinstance(sigma, (tuple, list)) else (sigma,) * np.ndim(total)
    orders = order if isinstance(order, (tuple, list)) else (order,) * np.ndim(total)
    for axis in range(np.ndim(total)):
        w = bell(widths[axis], orders[axis], truncate, radius)
        total = summed(total, w, axis, mode, cval, len(w) // 2)
    return total


@expands(ndimage.uniform_filter1d)
def uniform_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: int = 0
) -> Any:
    """Return the means of neighbours along one axis."""
    return summed(image(input, output), np.full(size, 1.0 / size), axis, mode, cval, size // 2 + origin)


@expands(ndimage.uniform_filter)
def uniform_filter(
    input: Any, size: int = 3, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: int = 0,
    axes: Any = None,
) -> Any:  # fmt: skip
    """Return the means of neighbours."""
    if axes is not None or isinstance(size, (tuple, list)) or isinstance(origin, (tuple, list)):
        ops.refuse("a filter of several sizes is not supported", "Use `uniform_filter1d` along each axis.")
    total = image(input, output)
    for axis in range(np.ndim(total)):
        total = summed(total, np.full(size, 1.0 / size), axis, mode, cval, size // 2 + origin)
    return total


@meaning
def moved_both(x: Any, down: int, right: int, mode: str, cval: Any) -> Any:
    """Return a picture moved along both axes."""
    return shifted(shifted(x, down, mode, cval).T, right, mode, cval).T


@meaning
def patched(x: Any, w: Any, mode: str, cval: Any, centre: Any) -> Any:
    """Return the sums of neighbours of a picture, of which the one in place has the weight at the centre."""
    if np.ndim(x) != 2 or np.ndim(w) != 2:
        ops.refuse("this filter is not supported", "Those of pictures are, of two axes; of vectors, `correlate1d`.")
    total = np.zeros_like(x)
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            total += w[i, j] * moved_both(x, i - centre[0], j - centre[1], mode, cval)
    return total


@expands(ndimage.correlate)
def correlate(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: int = 0,
    axes: Any = None,
) -> Any:  # fmt: skip
    """Return the correlation of pictures."""
    if axes is not None or origin != 0:
        ops.refuse("a filter with `axes` or `origin` is not supported", "Move the image, or take `correlate1d`.")
    w = np.asarray(weights)
    return patched(image(input, output), w, mode, cval, (w.shape[0] // 2, w.shape[-1] // 2))


@expands(ndimage.convolve)
def convolve(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: int = 0,
    axes: Any = None,
) -> Any:  # fmt: skip
    """Return the convolution of pictures."""
    if axes is not None or origin != 0:
        ops.refuse("a filter with `axes` or `origin` is not supported", "Move the image, or take `convolve1d`.")
    w = np.asarray(weights)
    return patched(image(input, output), np.flip(w), mode, cval, ((w.shape[0] - 1) // 2, (w.shape[-1] - 1) // 2))


@expands(ndimage.laplace)
def laplace(input: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, axes: Any = None) -> Any:
    """Return the second differences along every axis, summed."""
    if axes is not None:
        ops.refuse("a filter along some of the axes is not supported", "Use `correlate1d` along each.")
    x = image(input, output)
    total = np.zeros_like(x)
    for axis in range(np.ndim(x)):
        total += summed(x, np.array([1.0, -2.0, 1.0]), axis, mode, cval, 1)
    return total


@meaning
def edges(x: Any, axis: int, around: Any, mode: str, cval: Any) -> Any:
    """Return the differences along one axis, smoothed along the others."""
    total = summed(x, np.array([-1.0, 0.0, 1.0]), axis, mode, cval, 1)
    for other in range(np.ndim(x)):
        if other != axis % np.ndim(x):
            total = summed(total, around, other, mode, cval, 1)
    return total


@expands(ndimage.sobel)
def sobel(input: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0) -> Any:
    """Return the differences along one axis."""
    return edges(image(input, output), axis, np.array([1.0, 2.0, 1.0]), mode, cval)


@expands(ndimage.prewitt)
def prewitt(input: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0) -> Any:
    """Return the differences along one axis."""
    return edges(image(input, output), axis, np.array([1.0, 1.0, 1.0]), mode, cval)


@expands(ndimage.map_coordinates)
def map_coordinates(
    input: Any, coordinates: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:  # fmt: skip
    """Return a picture, linear between its points, at other points; the slope at a point is that to its right."""
    x, at = image(input, output), np.asarray(coordinates)
    if order != 1 or np.ndim(x) != 2 or (mode != "constant" and mode != "nearest"):
        ops.refuse("this interpolation is not supported",
                   "That of two axes is, with `order=1`, in the modes 'constant' and 'nearest'.")  # fmt: skip
    rows, columns = x.shape
    v, u = np.ravel(at[0]), np.ravel(at[1])
    if mode == "nearest":
        v, u = np.minimum(np.maximum(v, 0.0), rows - 1.0), np.minimum(np.maximum(u, 0.0), columns - 1.0)
    i = np.minimum(np.maximum(np.floor(v).astype(np.int64), 0), max(rows - 2, 0))
    j = np.minimum(np.maximum(np.floor(u).astype(np.int64), 0), max(columns - 2, 0))
    below, right = np.minimum(i + 1, rows - 1), np.minimum(j + 1, columns - 1)
    a, b = v - i, u - j
    upper = (1.0 - b) * x[i, j] + b * x[i, right]
    lower = (1.0 - b) * x[below, j] + b * x[below, right]
    found = (1.0 - a) * upper + a * lower
    if mode == "constant":
        inside = (v >= 0.0) & (v <= rows - 1.0) & (u >= 0.0) & (u <= columns - 1.0)
        found = np.where(inside, found, cval)
    return np.reshape(found, at.shape[1:])
