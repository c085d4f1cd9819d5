"""Kernels as users write them, each with a launch and arguments small enough for the emulator."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numba import cuda

import s2sad


@dataclass(frozen=True)
class Case:
    name: str
    kernel: Any
    grid: Any
    block: Any
    args: Callable[[], tuple[Any, ...]]


CASES: dict[str, Case] = {}


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed + sum(shape)).uniform(0.5, 1.5, shape)


def case(grid: Any, block: Any, args: Callable[[], tuple[Any, ...]]) -> Any:
    def register(fun: Any) -> Any:
        kernel = s2sad.cuda.kernel(fun)
        CASES[kernel.py_func.__name__] = Case(kernel.py_func.__name__, kernel, grid, block, args)
        return kernel

    return register


@case(2, 4, lambda: (numbers(7), numbers(7, seed=1), 1.3))
def scale(x, y, k):
    i = cuda.grid(1)
    if i >= x.size:
        return
    y[i] = k * x[i] ** 2


@case(2, 4, lambda: (numbers(8), numbers(8, seed=1)))
def diffuse(u, out):
    i = cuda.grid(1)
    if 0 < i < u.size - 1:
        out[i] = u[i] + 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1])


@case(1, 6, lambda: (numbers(9), numbers(9, seed=1)))
def short_launch(u, out):  # fewer threads than elements: the adjoint must know which ones ran
    i = cuda.grid(1)
    if 0 < i:
        out[i] = u[i + 2] * u[i - 1]


@case((2, 2), (2, 2), lambda: (numbers(4, 4), numbers(4, 4, seed=1), 0.4))
def flux(u, out, k):
    i, j = cuda.grid(2)
    if 0 < i < u.shape[0] - 1 and 0 < j < u.shape[1] - 1:
        jump = u[i + 1, j] - u[i - 1, j]
        out[i, j] = u[i, j] + k * math.tanh(jump) * u[i, j + 1]


@case((1, 2, 1), (2, 1, 3), lambda: (numbers(2, 2, 3), numbers(2, 2, 3, seed=1)))
def three_axes(u, out):
    i, j, k = cuda.grid(3)
    if i < u.shape[0] and j < u.shape[1] and k < u.shape[2]:
        out[i, j, k] = math.sin(u[i, j, k]) * u[0, j, k]


@case(2, 2, lambda: (numbers(9), numbers(9, seed=1), numbers(1), numbers(1, seed=3)))
def strided(x, y, w, total):
    start = cuda.grid(1)
    step = cuda.gridsize(1)
    for i in range(start, x.size, step):
        if x[i] > 1.4:
            continue
        y[i] *= math.exp(w[0] * x[i])
        cuda.atomic.add(total, 0, x[i] * x[i])


@case(2, 2, lambda: (numbers(5), numbers(5, seed=1)))
def bodies(x, out):
    for i in range(cuda.grid(1), x.size, cuda.blockDim.x * cuda.gridDim.x):
        acc = 0.0
        for j in range(x.size):
            if j != i:
                d = x[i] - x[j]
                acc += 1.0 / math.sqrt(d * d + 0.1)
        out[i] = acc


@case(2, 3, lambda: (numbers(5), numbers(5, seed=1)))
def pairs_above(x, out):  # the bounds of the inner loop depend on the thread
    i = cuda.grid(1)
    if i < x.size:
        acc = 0.0
        for j in range(i + 1, x.size):
            acc += x[i] * x[j] ** 2
        out[i] = acc


@cuda.jit(device=True)
def force(a, b):
    d = a - b
    if d > 0.1:
        return d * d
    return math.exp(d)


@case(2, 3, lambda: (numbers(5), numbers(5, seed=1)))
def helper_call(x, out):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < x.size:
        acc = 0.0
        for j in range(x.size):
            if j != i:
                acc += force(x[i], x[j])
        out[i] = acc


@cuda.jit(device=True)
def row_sum(a, i):
    s = 0.0
    for k in range(a.shape[1]):
        s += a[i, k] ** 2
    return s


@case(1, 3, lambda: (numbers(3, 2), numbers(3, seed=1)))
def array_helper(a, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sqrt(row_sum(a, i))


@case((2, 2), (2, 2), lambda: (numbers(3, 2), numbers(2, 3), numbers(3, 3)))
def matmul(a, b, out):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        acc = 0.0
        for k in range(a.shape[1]):
            acc += a[i, k] * b[k, j]
        out[i, j] = math.tanh(acc)


@case(2, 4, lambda: (numbers(7), numbers(2, seed=1)))
def block_sum(x, out):
    s = cuda.shared.array(4, np.float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = 0.0
    if i < x.size:
        s[t] = x[i] * x[i]
    cuda.syncthreads()
    half = 2
    while half > 0:
        if t < half:
            s[t] += s[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


@case(2, 4, lambda: (numbers(8), numbers(8, seed=1)))
def mirrored_tile(x, out):
    s = cuda.shared.array(4, np.float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i]
    cuda.syncthreads()
    out[i] = s[3 - t] ** 2 * x[i]


@case(1, 4, lambda: (numbers(4), numbers(4, seed=1)))
def relax(x, out):
    s = cuda.shared.array(6, np.float64)
    t = cuda.threadIdx.x
    s[t + 1] = x[t]
    if t == 0:
        s[0] = 0.5
        s[5] = x[0]
    cuda.syncthreads()
    for _ in range(3):
        new = s[t + 1] + 0.1 * s[t] * s[t + 2]
        cuda.syncthreads()
        s[t + 1] = new
        cuda.syncthreads()
    out[t] = s[t + 1]


@case(1, 4, lambda: (numbers(4), numbers(4, seed=1)))
def read_after_wait(x, out):  # what was read before a barrier is used after it, while others write
    s = cuda.shared.array(4, np.float64)
    t = cuda.threadIdx.x
    acc = 0.0
    for k in range(3):
        s[t] = x[t] * (k + 1)
        cuda.syncthreads()
        other = s[3 - t]
        cuda.syncthreads()
        acc += other * other
    out[t] = acc


@case((2, 1), (2, 2), lambda: (numbers(4, 2), numbers(2, 4, seed=1)))
def transposed_tile(a, out):
    tile = cuda.shared.array((2, 2), np.float64)
    i, j = cuda.grid(2)
    ti, tj = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ti, tj] = a[i, j] ** 2
    cuda.syncthreads()
    out[tj, i] = tile[ti, tj] * tile[tj, ti]


@case(1, 4, lambda: (numbers(3, 3), numbers(3, seed=1)))
def local_array(x, out):
    i = cuda.grid(1)
    a = cuda.local.array(3, np.float64)
    if i < x.shape[0]:
        for k in range(3):
            a[k] = x[i, k] ** 2
        for k in range(2):
            a[k + 1] = a[k + 1] * a[k]
        out[i] = a[2] + math.sin(a[1])


@case(1, 4, lambda: (numbers(4, 2), numbers(4, 2, seed=1)))
def rows(x, out):
    i = cuda.grid(1)
    if i < x.shape[0]:
        row = x[i]
        target = out[i]
        for k in range(row.shape[0]):
            target[k] = row[k] * row[0]


@case(1, 4, lambda: (numbers(4), numbers(4, seed=1)))
def kicked(x, out):  # a branch on a computed number guards what is saved
    i = cuda.grid(1)
    if i < x.size:
        s = x[i]
        for _ in range(4):
            d = s * s - 0.8
            if d > 0.1:
                s = s * 0.5 * s
            else:
                s = s + s * s * 0.2
        out[i] = s


@case(2, 3, lambda: (numbers(6), np.array([3, 0, 5, 1, 4, 2]), numbers(6, seed=1)))
def permuted(x, order, out):  # writes scattered to distinct elements, reads gathered by an index array
    i = cuda.grid(1)
    if i < x.size:
        out[order[i]] = x[i] * x[order[i]]


@case(2, 3, lambda: (numbers(6), np.array([0, 1, 0, 1, 1, 0]), numbers(2, seed=1)))
def histogram(x, bins, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, bins[i], x[i] ** 3)


@case(1, 3, lambda: (numbers(6), numbers(3, seed=1)))
def interleaved(x, out):  # two elements per thread, next to each other
    i = cuda.grid(1)
    if 2 * i + 1 < x.size:
        out[i] = x[2 * i] * x[2 * i + 1]


@case(1, 4, lambda: (numbers(4), numbers(4, seed=1), numbers(4, seed=2)))
def scratch(x, work, out):  # a global array that a thread writes, reads and writes again
    i = cuda.grid(1)
    if i < x.size:
        work[i] = x[i] ** 2
        out[i] = math.sin(work[i])
        work[i] = work[i] * out[i]


@case(2, 3, lambda: (numbers(2, 3, 3), 0.7, numbers(2, 4, 4, seed=1)))
def wavefront(distance, gamma, cost):  # a block has a part of a global array to itself, and its barriers order it
    b = cuda.blockIdx.x
    row = cuda.threadIdx.x
    n = distance.shape[1]
    for diagonal in range(2 * n - 1):
        column = diagonal - row
        if 0 <= column and column < n:
            above = -cost[b, row, column + 1] / gamma
            left = -cost[b, row + 1, column] / gamma
            cost[b, row + 1, column + 1] = distance[b, row, column] - gamma * math.log(math.exp(above) + math.exp(left))
        cuda.syncthreads()


@case((2, 2), (2, 3), lambda: (numbers(4, 5), numbers(4, 5, seed=1), numbers(4, 5, seed=2)))
def plate(u, k, out):  # one branch reads neighbours, the other its own element
    i, j = cuda.grid(2)
    if i < u.shape[0] and j < u.shape[1]:
        if 0 < i and i < u.shape[0] - 1 and 0 < j and j < u.shape[1] - 1:
            around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
            out[i, j] = u[i, j] + k[i, j] * around
        else:
            out[i, j] = u[i, j] ** 2


@case(2, 2, lambda: (numbers(4), numbers(4, seed=1)))
def pendulums(angle, final):  # branches that carry no derivative but decide the steps
    i = cuda.grid(1)
    if i < angle.size:
        a, v, t, h = angle[i], 0.0, 0.0, 0.2
        while t < 1.0:
            if h > 1.0 - t:
                h = 1.0 - t
            v_euler = v - h * math.sin(a)
            v_heun = v - 0.5 * h * (math.sin(a) + math.sin(a + h * v))
            error = abs(v_heun - v_euler)
            if error < 1e-3:
                t = t + h
                a = a + 0.5 * h * (v + v_euler)
                v = v_heun
                if error < 1e-4:
                    h = 1.5 * h
            else:
                h = 0.5 * h
        final[i] = a


@case(2, 2, lambda: (numbers(7), numbers(1), numbers(7, seed=1)))
def sum_in_registers(x, out, y):  # a grid-stride loop that is not the whole kernel
    start, step = cuda.grid(1), cuda.gridsize(1)
    acc = 0.0
    for i in range(start, x.size, step):
        acc += x[i] ** 2
        y[i] *= x[i]
    cuda.atomic.add(out, 0, math.sqrt(acc + 1.0))


@case(1, 4, lambda: (numbers(4, 3), numbers(4, 3, seed=1)))
def same_name_twice(x, out):  # the grid-stride loop's name is bound again, to something else
    for i in range(cuda.grid(1), x.shape[0], cuda.gridsize(1)):
        row = i
        for i in range(3):
            out[row, i] = x[row, i] * x[0, i]


@case(1, 4, lambda: (numbers(4), numbers(4, seed=1)))
def casts(x, out):  # Numba's types, called
    i = cuda.grid(1)
    if i < x.size:
        half = numba.float64(0.5)
        out[i] = numba.float64(x[i]) * half * numba.int32(3) * np.float64(x[i])


@case(1, 1, lambda: (numbers(3), numbers(1)))
def single_thread(x, out):  # no index at all: one thread
    acc = 1.0
    for k in range(x.size):
        acc *= x[k]
    out[0] = acc


@case(2, 2, lambda: (numbers(5), numbers(2), numbers(5, seed=1), 0.7))
def strided_roots(a, w, out, k):  # a tape per element of a grid-stride loop, and sums over blocks at its end
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        x = w[0]
        while abs(x * x - a[i]) > 1e-9:
            x = 0.5 * (x + a[i] / x)
        out[i] = k * x


@case(2, 3, lambda: (numbers(5), numbers(3, seed=3), 1, numbers(5, seed=1), 0.5))
def chosen_element(x, w, k, out, unused):  # every thread reads the element that a number argument says
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * w[k] + w[k + 1] ** 2


@case(2, 3, lambda: (numbers(5), numbers(2, seed=3), numbers(5, seed=1)))
def element_that_is_not_there(x, w, out):  # asked for before it is read: its adjoint must not be added to either
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] ** 2
        if w.size > 2:
            out[i] += w[2] * x[i]


@case(1, 3, lambda: (numbers(3, 8), numbers(3, seed=1), 2, -3))
def steps_of_any_length(x, out, two, back):  # ranges whose last turn is not one step before their end, and empty ones
    i = cuda.grid(1)
    if i < x.shape[0]:
        acc = 1.0
        for k in range(1, x.shape[1] - i, 3):
            acc *= x[i, k]
        for k in range(x.shape[1] - 1, i, -2):
            acc = math.sin(acc) + x[i, k]
        for k in range(i, 7, two):
            acc *= x[i, k]
        for k in range(7, -1, back):
            acc *= x[i, k] + acc
        for k in range(5, i, two):
            acc *= x[i, k]
        for k in range(3 + i, 6, back):
            acc *= x[i, k]
        out[i] = acc


@case(2, 3, lambda: (numbers(5, 2), numbers(5, seed=2), numbers(5, 2, seed=1)))
def planets(p, m, force):  # positions in columns: named one by one
    i = cuda.grid(1)
    if i < p.shape[0]:
        fx = 0.0
        fy = 0.0
        for j in range(p.shape[0]):
            if j != i:
                dx = p[j, 0] - p[i, 0]
                dy = p[j, 1] - p[i, 1]
                r2 = dx * dx + dy * dy + 0.01
                pull = m[j] / (r2 * math.sqrt(r2))
                fx += dx * pull
                fy += dy * pull
        force[i, 0] = fx
        force[i, 1] = fy


@case(2, 3, lambda: (numbers(6, 1), numbers(6, seed=1), 1))
def column_that_is_not_there(p, out, dims):  # asked for before it is read
    i = cuda.grid(1)
    if i < out.size:
        acc = 0.0
        for j in range(p.shape[0]):
            acc += p[j, 0] * p[i, 0]
            if dims > 1:
                acc += p[j, 1] ** 2
        out[i] = acc


@case(2, 3, lambda: (numbers(9), numbers(5, seed=1)))
def every_second(x, out):  # a loop over every second element, in every thread
    i = cuda.grid(1)
    if i < out.size:
        acc = 0.0
        for j in range(1, x.size - 1, 2):
            acc += math.sin(x[j] * (i + 1.0)) + x[j + 1] ** 2
        for j in range(x.size - 1, 2, -3):
            acc += x[j] ** 3
        out[i] = acc


@case(2, 3, lambda: (numbers(9), numbers(5, seed=1)))
def box_filter(u, out):
    i = cuda.grid(1)
    if i < out.size:
        acc = 0.0
        for q in range(5):
            acc += u[i + q] ** 2
        out[i] = acc / 5.0


@case(3, 3, lambda: (numbers(9), numbers(5, seed=2), numbers(9, seed=1)))
def padded_convolution(u, w, out):
    i = cuda.grid(1)
    if i < out.size:
        acc = 0.0
        for q in range(5):
            k = i + q - 2
            if k >= 0 and k < u.size:
                acc += w[q] * u[k]
        out[i] = acc


@case((2, 2), (2, 3), lambda: (numbers(5, 7), numbers(3, 3, seed=2), numbers(3, 5, seed=1)))
def image_convolution(u, w, out):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        acc = 0.0
        for a in range(3):
            for b in range(3):
                acc += w[a, b] * u[i + a, j + b]
        out[i, j] = acc


@case(2, 3, lambda: (numbers(9), numbers(4, seed=2), numbers(6, seed=1)))
def taps_of_any_number(u, w, out):
    i = cuda.grid(1)
    if i < out.size:
        acc = 0.0
        for q in range(w.size):
            acc += w[q] * u[i + w.size - 1 - q] if q == 0 else w[q] * u[i + q]
        out[i] = acc


@case(3, 3, lambda: (numbers(9), numbers(9, seed=1)))
def around_and_back(u, out):  # q of -2 to 2: at the edges a negative index would mean the other end
    i = cuda.grid(1)
    if i < u.size:
        acc = 0.0
        for q in range(-2, 3):
            acc += u[i + q if 0 <= i + q < u.size else 0] ** 2
        for q in range(-1, 2):
            if i >= 1 and i + q < u.size:
                acc += u[i + q] * u[i]
        out[i] = acc


@case(2, 3, lambda: (numbers(12), numbers(6, seed=1)))
def pooled(x, out):  # a stretch of elements to each thread
    i = cuda.grid(1)
    if i < out.size:
        best = x[2 * i]
        for q in range(2):
            best = max(best, x[2 * i + q])
        out[i] = best


@case(2, 2, lambda: (numbers(11), numbers(11, seed=1)))
def inner_points(u, out):  # a grid-stride loop that begins behind the edge
    for i in range(cuda.grid(1) + 1, u.size - 1, cuda.gridsize(1)):
        out[i] = u[i] + 0.1 * (u[i - 1] - 2.0 * u[i] + u[i + 1]) * u[i]


@case((1, 2), (2, 1), lambda: (numbers(6, 5), numbers(6, 5, seed=1), 0.3))
def inner_cells(u, out, k):
    row, column = cuda.grid(2)
    rows, columns = cuda.gridsize(2)
    for i in range(row + 1, u.shape[0] - 1, rows):
        for j in range(column + 2, u.shape[1] - 1, columns):
            out[i, j] = k * u[i, j] * (u[i - 1, j] + u[i + 1, j] + u[i, j - 2] + u[i, j + 1])


@case(2, 2, lambda: (numbers(11), numbers(11, seed=1), numbers(11, seed=2)))
def two_beginnings(u, v, out):  # threads have other elements in the second loop: what they share is not their own
    for i in range(cuda.grid(1), u.size, cuda.gridsize(1)):
        out[i] = u[i] ** 2
    for k in range(cuda.grid(1) + 1, u.size - 1, cuda.gridsize(1)):
        v[k] *= u[k] + u[k + 1]


@case(2, 2, lambda: (numbers(11), numbers(11, seed=1), numbers(11, seed=2)))
def two_loops(u, a, b):
    for i in range(cuda.grid(1), u.size - 1, cuda.gridsize(1)):
        a[i] = u[i] * u[i + 1]
    for k in range(cuda.grid(1), u.size - 2, cuda.gridsize(1)):
        b[k] = u[k + 2] ** 2


@case(3, 4, lambda: (numbers(3, 7), numbers(7, seed=2), numbers(7, seed=3), numbers(3, 7, seed=1)))
def layer_norm(x, gain, shift, out):  # every thread of a block adds to each element of what the block has together
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    sums = cuda.shared.array(4, np.float64)
    squares = cuda.shared.array(4, np.float64)
    acc = 0.0
    for j in range(t, x.shape[1], cuda.blockDim.x):
        acc += x[row, j]
    sums[t] = acc
    cuda.syncthreads()
    mean = 0.0
    for k in range(4):
        mean += sums[k]
    mean /= x.shape[1]
    acc = 0.0
    for j in range(t, x.shape[1], cuda.blockDim.x):
        acc += (x[row, j] - mean) ** 2
    squares[t] = acc
    cuda.syncthreads()
    variance = 0.0
    for k in range(4):
        variance += squares[k]
    scale = 1.0 / math.sqrt(variance / x.shape[1] + 1e-5)
    for j in range(t, x.shape[1], cuda.blockDim.x):
        out[row, j] = gain[j] * (x[row, j] - mean) * scale + shift[j]


@case(2, 4, lambda: (numbers(5), numbers(8, seed=2), numbers(6, seed=3), numbers(5, seed=1)))
def arrays_of_other_lengths(x, y, z, out):  # gathered in one kernel, each as far as it goes
    i = cuda.grid(1)
    if i < x.size:
        acc = 0.0
        for j in range(x.size):
            acc += math.sin(x[i] - x[j]) * y[j] + z[i] * z[j]
        out[i] = acc


@case(2, 3, lambda: (numbers(5, 3), numbers(5, seed=2), numbers(5, seed=1)))
def clusters(p, m, energy):  # positions in columns that a short loop runs over
    i = cuda.grid(1)
    if i < p.shape[0]:
        acc = 0.0
        for j in range(p.shape[0]):
            if j != i:
                r2 = 0.01
                for k in range(3):
                    d = p[i, k] - p[j, k]
                    r2 += d * d
                acc += m[i] * m[j] / math.sqrt(r2)
        energy[i] = acc


@case(2, 3, lambda: (numbers(5, 3), numbers(4, 3, seed=2), numbers(5, 4, seed=1)))
def distances(a, b, out):  # two short loops over one name, and what it is after them
    i = cuda.grid(1)
    if i < a.shape[0]:
        for j in range(b.shape[0]):
            s = 0.1
            for k in range(3):
                if a[i, k] > b[j, k]:
                    s += (a[i, k] - b[j, k]) ** 2
            for k in range(2, 0, -1):
                s *= a[i, k] + k
            out[i, j] = math.sqrt(s) * (k + 1.0)


@case(2, 2, lambda: (numbers(11), numbers(11, seed=1), numbers(11, seed=2)))
def one_name_two_beginnings(u, v, out):
    for i in range(cuda.grid(1), u.size, cuda.gridsize(1)):
        out[i] = u[i] ** 2
    for i in range(cuda.grid(1) + 1, u.size - 1, cuda.gridsize(1)):
        v[i] *= u[i]


@case(2, 4, lambda: (numbers(3, 8), numbers(3, 8, seed=1), 0.1))
def wave(u, out, c):  # a short loop that writes
    i = cuda.grid(1)
    if 0 < i < u.shape[1] - 1:
        out[0, i] = u[1, i]
        out[1, i] = 2.0 * u[1, i] - u[0, i] + c * c * (u[1, i - 1] - 2.0 * u[1, i] + u[1, i + 1])
        for k in range(3):
            out[2, i] += u[k, i + 1] * u[k, i - 1]
            out[k, i] *= 1.5
