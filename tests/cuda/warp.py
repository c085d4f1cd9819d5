"""Ten programs whose adjoints another tool for Python kernels gets wrong without saying so, with true values."""

from __future__ import annotations

import math

from numba import cuda

from tests.cuda.kernels import case, numbers


@case(1, 4, lambda: (numbers(4), 3, numbers(4, seed=1)))
def product_over_range(x, n, out):  # d x**n = n x**(n-1)
    i = cuda.grid(1)
    if i < x.size:
        s = 1.0
        for _ in range(n):
            s = s * x[i]
        out[i] = s


@case(1, 4, lambda: (numbers(4), numbers(4, seed=1)))
def newton(a, out):  # d sqrt(a) = 1 / (2 sqrt(a))
    i = cuda.grid(1)
    if i < a.size:
        x = 1.0
        while abs(x * x - a[i]) > 1e-12:
            x = 0.5 * (x + a[i] / x)
        out[i] = x


@case(1, 4, lambda: (numbers(4), numbers(4, seed=1)))
def adaptive_steps(k, out):  # a decay whose step depends on the state
    i = cuda.grid(1)
    if i < k.size:
        y, t = 1.0, 0.0
        while t < 1.0:
            h = min(0.3 / (1.0 + y), 1.0 - t)
            y = y - h * k[i] * y
            t = t + h
        out[i] = y


@case(1, 4, lambda: (numbers(4), numbers(4, seed=1)))
def times_in_place(x, y):  # y_bar *= x, x_bar += y_before * y_bar
    i = cuda.grid(1)
    if i < x.size:
        y[i] *= x[i]


@case(1, 4, lambda: (numbers(4), numbers(4, seed=1)))
def read_then_overwrite(x, out):
    i = cuda.grid(1)
    if i < x.size:
        a = x[i] * x[i]
        x[i] = a * a
        out[i] = a * x[i]


@case(1, 4, lambda: (numbers(4), numbers(4, seed=1)))
def leaves_early(x, out):
    i = cuda.grid(1)
    if i < x.size:
        s = x[i]
        for _ in range(100):
            if s > 2.0:
                break
            s = s * s + 0.3
        out[i] = s


@case(1, 4, lambda: (numbers(4), 3, numbers(4, seed=1)))
def double_buffer(x, n, out):
    i = cuda.grid(1)
    if i < x.size:
        old, new = x[i], 0.0
        for _ in range(n):
            new = old * old + 0.1 * x[i]
            old, new = new, old
        out[i] = old + new


@case(1, 3, lambda: (numbers(3, 4), numbers(3, seed=1)))
def running_product(x, out):  # an element of a global array as the loop's state
    i = cuda.grid(1)
    if i < x.shape[0]:
        for k in range(x.shape[1]):
            out[i] = out[i] * x[i, k]


@case(1, 4, lambda: (numbers(4), 5, numbers(4, seed=1)))
def skips_some(x, n, out):
    i = cuda.grid(1)
    if i < x.size:
        s = x[i]
        for k in range(n):
            if k == 2:
                continue
            s = math.sin(s) * x[i]
        out[i] = s


@case(1, 4, lambda: (numbers(4), 3, numbers(4, seed=1)))
def nested_dynamic(x, n, out):
    i = cuda.grid(1)
    if i < x.size:
        s = x[i]
        for k in range(n):
            last = s
            for _ in range(k):
                last = last * s
            s = s + 0.1 * last
        out[i] = s


NAMES = ("product_over_range", "newton", "adaptive_steps", "times_in_place", "read_then_overwrite", "leaves_early",
         "double_buffer", "running_product", "skips_some", "nested_dynamic")
