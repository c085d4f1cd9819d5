"""Writes into arrays: elements, slices, masks, fancy indices, in-place operators, overwritten arguments."""

import math

import numpy as np

from tests.corpus.programs import mat, pos, program, vec


@program(vec(4))
def write_element(x):
    y = np.zeros(4)
    y[1] = x[0] * x[2]
    y[3] = math.sin(x[3])
    return np.sum(y * y)


@program(vec(4))
def overwrite_element_twice(x):
    y = np.zeros(2)
    y[0] = x[0] * 100.0
    y[0] = x[1] * x[2]
    y[1] = y[0] * x[3]
    return y[0] + y[1]


@program(vec(4))
def write_argument(x):
    x[0] = x[1] * x[2]
    x[3] = x[0] * x[3]
    return np.sum(x**2)


@program(vec(4))
def write_constant_over_argument(x):
    s = x[0] * x[1]
    x[0] = 2.0
    return s + x[0] * x[1]


@program(vec(4))
def augmented_element(x):
    y = np.ones(4)
    y[0] += x[0] ** 2
    y[1] *= x[1]
    y[2] -= x[2] * y[1]
    y[3] /= x[3] + 3.0
    return np.prod(y)


@program(vec(4))
def augmented_reads_itself(x):
    y = x.copy()
    y[0] += y[0] * y[1]
    y[1] *= y[1]
    y[2] **= 2
    return np.sum(y * x)


@program(vec(6))
def prefix_sum_in_place(x):
    for i in range(1, 6):
        x[i] += x[i - 1]
    return np.sum(x**2)


@program(vec(6))
def prefix_product_in_place(x):
    for i in range(1, 6):
        x[i] *= x[i - 1]
    return np.sum(x)


@program(vec(6))
def shift_left(x):
    for i in range(5):
        x[i] = x[i + 1] * x[i]
    return np.sum(np.sin(x))


@program(vec(6))
def swap_elements(x):
    y = x.copy()
    y[0], y[5] = y[5], y[0]
    y[1], y[2] = y[2] * 2.0, y[1] * 3.0
    return y[0] * y[1] + y[2] * y[5] ** 2


@program(vec(6, 3))
def bubble_sort(x):
    y = x.copy()
    for i in range(6):
        for j in range(5 - i):
            if y[j] > y[j + 1]:
                y[j], y[j + 1] = y[j + 1], y[j]
    s = 0.0
    for i in range(6):
        s += (i + 1) * y[i] ** 2
    return s


@program(vec(6))
def write_slice(x):
    y = np.zeros(6)
    y[1:4] = x[:3] * x[3:]
    return np.sum(y**2)


@program(vec(6))
def write_slice_constant(x):
    y = x * x
    y[2:5] = 1.0
    return np.sum(y * x)


@program(vec(6))
def write_slice_scalar(x):
    y = np.ones(6)
    y[::2] = x[0]
    y[1::2] *= x[1]
    return np.sum(y * x)


@program(vec(6))
def augmented_slice(x):
    y = x.copy()
    y[1:] += x[:-1] ** 2
    y[:3] *= x[3:]
    y[::-1][0:2] -= x[0]
    return np.sum(y**3)


@program(vec(6))
def overlapping_slices(x):
    y = x.copy()
    y[1:] = y[:-1]
    y[:-1] += y[1:] * 2.0
    return np.sum(y * x)


@program(vec(6))
def overlapping_slice_product(x):
    y = x.copy()
    y[1:] = y[1:] * y[:-1]
    return np.sum(y)


@program(mat(3, 4))
def write_row_and_column(a):
    b = a.copy()
    b[1] = a[0] * a[2]
    b[:, 2] = a[:, 0] ** 2
    b[2, 1:3] += 1.5 * a[0, :2]
    return np.sum(b * b)


@program(mat(3, 4))
def write_block(a):
    b = np.zeros((4, 4))
    b[:3, :] = a
    b[1:, 1:] += a[:, 1:] * 2.0
    return np.sum(b**2)


@program(mat(3, 3))
def whole_array_write(a):
    b = np.empty((3, 3))
    b[:] = a * 2.0
    b[...] = b * a
    return np.sum(b)


@program(vec(6))
def write_mask(x):
    y = x.copy()
    y[y < 0.0] = 0.0
    return np.sum(y**2 + x)


@program(vec(6))
def write_mask_values(x):
    y = x * 1.0
    m = x > 0
    y[m] = x[m] ** 2
    y[~m] *= 0.1
    return np.sum(y * x)


@program(vec(6))
def augmented_mask(x):
    y = x.copy()
    y[x > 0] += x[x > 0] ** 2
    return np.sum(y)


@program(vec(6))
def write_fancy(x):
    y = np.zeros(6)
    k = np.array([4, 0, 2])
    y[k] = x[:3] ** 2
    return np.sum(y * x)


@program(vec(6))
def augmented_fancy(x):
    y = x.copy()
    k = np.array([4, 0, 2])
    y[k] *= x[1:4]
    return np.sum(y**2)


@program(vec(6))
def in_place_array_operators(x):
    y = x.copy()
    y += x
    y *= x
    y -= 0.5
    y /= x + 3.0
    y **= 2
    return np.sum(y)


@program(vec(6), vec(6, 1), wrt=(0, 1))
def in_place_on_argument(x, w):
    x *= w
    x += w
    return np.sum(x * w)


@program(vec(4))
def fill(x):
    y = np.empty(4)
    y.fill(x[0])
    y[2] = x[1]
    return np.sum(y * x)


@program(vec(4))
def array_out(x):
    y = np.empty(4)
    for i in range(4):
        y[i] = x[i] * x[(i + 1) % 4]
    return y


@program(vec(4))
def argument_returned(x):
    x[1] = x[0] * 2.0
    return x


@program(vec(4), np.zeros(4))
def write_inactive_argument(x, buffer):
    for i in range(4):
        buffer[i] = x[i] ** 2
    return np.sum(buffer * x)


@program(vec(4), pos(4))
def inactive_overwritten(x, c):
    s = 0.0
    for i in range(4):
        c[i] = c[i] * 2.0
        s += c[i] * x[i]
        c[i] = 0.0
    return s


@program(vec(8))
def history_array(x):
    h = np.zeros(9)
    for t in range(8):
        h[t + 1] = np.tanh(0.5 * h[t] + x[t])
    return h[8]


@program(vec(5))
def fibonacci_like(x):
    f = np.zeros(8)
    f[0] = x[0]
    f[1] = x[1]
    for i in range(2, 8):
        f[i] = f[i - 1] * x[2] + f[i - 2] * x[3]
    return f[7] * x[4]


@program(vec(5))
def scratch_reused(x):
    t = np.zeros(2)
    s = 0.0
    for i in range(5):
        t[0] = x[i] * x[i]
        t[1] = t[0] + s
        s = np.sin(t[1]) * t[0]
    return s


@program(vec(5))
def ring_buffer(x):
    b = np.zeros(3)
    s = 0.0
    for i in range(5):
        b[i % 3] = x[i] * (1.0 + b[(i + 1) % 3])
        s += b[0] * b[1]
    return s


@program(mat(4, 4))
def symmetrise_in_place(a):
    for i in range(4):
        for j in range(i):
            m = 0.5 * (a[i, j] + a[j, i])
            a[i, j] = m
            a[j, i] = m
    return np.sum(a * a * a)


@program(mat(4, 4) + 4 * np.eye(4))
def gaussian_elimination(a):
    d = 1.0
    for k in range(4):
        d *= a[k, k]
        for i in range(k + 1, 4):
            m = a[i, k] / a[k, k]
            for j in range(k, 4):
                a[i, j] -= m * a[k, j]
    return d


@program(vec(5))
def list_element_write(x):
    xs = [x[0], x[1], x[2]]
    xs[1] = xs[0] * xs[2]
    xs[0] = xs[1] * x[3]
    return xs[0] + xs[1] * xs[2]


@program(vec(5))
def conditional_write(x):
    y = np.zeros(5)
    for i in range(5):
        if x[i] > 0:
            y[i] = x[i] ** 2
        elif i > 2:
            y[i - 1] += x[i]
    return np.sum(y * x)


@program(vec(5), np.array([0, 3, 3, 1]))
def scatter_add_loop(x, where):
    y = np.zeros(4)
    for i in range(4):
        y[where[i]] += x[i] * x[i + 1]
    return np.sum(y**2)


@program(vec(5), np.array([0, 3, 3, 1]))
def scatter_overwrite_loop(x, where):
    y = np.zeros(4)
    for i in range(4):
        y[where[i]] = x[i] * x[i + 1]
    return np.sum(y**2)


@program(vec(4))
def three_dimensional(x):
    a = np.zeros((2, 2, 2))
    for i in range(2):
        for j in range(2):
            for k in range(2):
                a[i, j, k] = x[i] * x[j + 1] + x[k + 2]
    return np.sum(a[0] * a[1]) + a[1, 1, 0] ** 2
