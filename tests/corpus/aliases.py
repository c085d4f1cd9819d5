"""Views and aliases, read and written through, including those that depend on layout or on a branch."""

import numpy as np

from tests.corpus.programs import mat, program, vec


@program(vec(4))
def plain_alias(x):
    y = x
    y[0] = y[1] * 3.0
    return np.sum(x * x)


@program(vec(4))
def alias_in_place(x):
    y = x
    y *= 2.0
    return np.sum(x**2)


@program(vec(4))
def alias_of_alias(x):
    y = x.copy()
    z = y
    w = z
    w[0] += x[1] * x[2]
    y[1] = z[0] * w[0]
    return np.sum(z**2)


@program(vec(4))
def rebinding_is_no_alias(x):
    y = x
    y = y * 2.0
    y[0] = 0.0
    return np.sum(x * y)


@program(0.7)
def scalar_rebinding(x):
    y = x
    y *= 2.0
    return x * y


@program(mat(3, 4))
def row_view(a):
    row = a[1]
    row[2] = a[0, 0] * a[2, 3]
    return np.sum(a**2)


@program(mat(3, 4))
def row_view_augmented(a):
    row = a[1]
    row += a[0] * 2.0
    row *= row
    return np.sum(a)


@program(mat(3, 4))
def column_view(a):
    col = a[:, 2]
    col[1] *= col[0]
    col[:2] += 1.0
    return np.sum(a**3)


@program(mat(4, 4))
def rows_in_loop(a):
    for i in range(1, 4):
        row = a[i]
        above = a[i - 1]
        for j in range(4):
            row[j] += 0.5 * above[j] * row[j]
    return np.sum(a)


@program(mat(3, 4))
def view_of_view(a):
    block = a[1:, 1:]
    row = block[1]
    row[0] = block[0, 2] * a[0, 0]
    return np.sum(a * a)


@program(vec(6))
def slice_view(x):
    head = x[:3]
    tail = x[3:]
    head *= tail
    tail[0] = head[0] ** 2
    return np.sum(x**2)


@program(vec(6))
def strided_view(x):
    even = x[::2]
    odd = x[1::2]
    even += odd * odd
    odd[1] = even[2]
    return np.sum(x**2)


@program(vec(6))
def reversed_view(x):
    back = x[::-1]
    back[0] *= x[0]
    x[1] = back[1] * 2.0
    return np.sum(back * np.arange(6.0))


@program(vec(6))
def overlapping_views(x):
    left = x[:4]
    right = x[2:]
    left[3] = right[0] * left[0]
    right[0] += left[3]
    return np.sum(x**2)


@program(mat(3, 4))
def transpose_view(a):
    t = a.T
    t[0, 1] = a[0, 0] * a[2, 2]
    t[3] *= 2.0
    return np.sum(a**2)


@program(vec(6))
def reshape_view(x):
    m = x.reshape(2, 3)
    m[1, 0] = m[0, 0] * m[0, 2]
    m[0] += m[1]
    return np.sum(x**2)


@program(mat(3, 4))
def ravel_view(a):
    flat = a.ravel()
    flat[5] = flat[0] * flat[1]
    return np.sum(a**2)


@program(mat(3, 4))
def flatten_is_copy(a):
    flat = a.flatten()
    flat[5] = flat[0] * flat[1]
    return np.sum(a**2) + np.sum(flat)


@program(mat(3, 4))
def reshape_of_transpose_is_copy(a):
    flat = a.T.reshape(12)
    flat[0] = flat[1] * 5.0
    return np.sum(a**2) + np.sum(flat**3)


@program(mat(3, 4))
def fancy_is_copy(a):
    rows = a[np.array([0, 2])]
    rows[0, 0] = 7.0 * a[1, 1]
    return np.sum(a**2) + np.sum(rows)


@program(vec(5))
def mask_is_copy(x):
    y = x[x > 0]
    y[0] = x[0] * x[1]
    return np.sum(x**2) + np.sum(y)


@program(vec(4))
def copy_is_copy(x):
    y = x.copy()
    z = np.copy(y)
    z[0] = x[1] * x[2]
    y[0] = 9.0
    return np.sum(x * y) + np.sum(z)


@program(vec(4))
def asarray_is_alias(x):
    y = np.asarray(x)
    y[0] = y[1] * y[2]
    return np.sum(x**2)


@program(vec(4))
def array_is_copy(x):
    y = np.array(x)
    y[0] = y[1] * y[2]
    return np.sum(x**2) + np.sum(y)


@program(vec(4))
def newaxis_view(x):
    col = x[:, None]
    col[1, 0] = x[0] * x[2]
    return np.sum(x**2)


@program(vec(4), vec(4, 1), True, wrt=(0, 1))
@program(vec(4), vec(4, 1), False, wrt=(0, 1))
def static_conditional_alias(x, y, first):
    if first:
        z = x
    else:
        z = y
    z[0] = x[1] * y[2]
    return np.sum(x**2) + np.sum(y**3)


@program(vec(4), vec(4, 1), wrt=(0, 1), marks="may_alias")
def active_conditional_alias(x, y):
    z = x if x[0] > 0 else y
    z[0] = x[1] * y[2]
    return np.sum(x**2) + np.sum(y**3)


@program(vec(4), vec(4, 1), wrt=(0, 1))
def conditional_alias_read_only(x, y):
    z = x if x[0] > 0 else y
    return np.sum(z * y)


@program(vec(4), vec(4, 1), wrt=(0, 1), marks="may_alias")
def swapped_arrays(x, y):
    a, b = x, y
    for _ in range(3):
        a, b = b, a
    a[0] = b[1] * b[2]
    return np.sum(x**2) + np.sum(y**3)


@program(vec(6))
def double_buffer_swap(u):
    v = np.zeros(6)
    for _ in range(3):
        for i in range(1, 5):
            v[i] = u[i] + 0.2 * (u[i - 1] - 2.0 * u[i] + u[i + 1]) * u[i]
        u, v = v, u
    return np.sum(u**2)


@program(vec(4))
def tuple_of_arrays_alias(x):
    y = x * 1.0
    pair = (y, x)
    pair[0][1] = x[0] * x[2]
    return np.sum(y**2)


@program(vec(4))
def list_of_rows_alias(x):
    y = x * 1.0
    rows = [y, x * 2.0]
    rows[0][1] = x[0] * x[2]
    return np.sum(y**2) + np.sum(rows[1] * rows[0])


@program(mat(3, 4))
def loop_variable_is_view(a):
    for row in a:
        row[0] = row[1] * row[2]
        row *= 2.0
    return np.sum(a**2)


@program(mat(2, 3))
def diagonal_by_views(a):
    p = a[0]
    q = a[1]
    p[0], q[2] = q[0] * p[1], p[0] * q[1]
    return np.sum(a**2)


@program(mat(3, 3))
def write_through_after_read(a):
    row = a[0]
    s = np.sum(row * row)
    row[:] = a[1] * s
    return s + np.sum(a[0] * a[2])


@program(mat(4, 5)[::2, ::2], marks="may_alias")
def reshape_of_strided_argument(a):
    flat = a.reshape(-1)
    flat[0] = flat[1] * flat[2]
    return np.sum(a**2) + np.sum(flat**3)


@program(np.asfortranarray(mat(3, 4)), marks="may_alias")
def ravel_of_fortran_argument(a):
    flat = a.ravel()
    flat[0] = flat[1] * flat[2]
    return np.sum(a**2) + np.sum(flat**3)
