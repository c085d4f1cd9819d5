"""Inputs of every layout, precision and size: Fortran, strided, reversed, transposed, zero-size, size one."""

import numpy as np

from tests.corpus.programs import mat, program, vec


@program(vec(12)[::2])
@program(vec(6)[::-1])
@program(mat(6, 4)[:, 1])
@program(vec(12, dtype=np.float32)[::3])
@program(mat(3, 4)[1])
def strided_vector(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] ** 2 * (i + 1)
    return s + np.sum(x * x)


@program(np.asfortranarray(mat(3, 4)))
@program(mat(4, 3).T)
@program(mat(6, 8)[::2, ::2])
@program(mat(3, 4)[::-1, ::-1])
@program(mat(3, 1, 4)[:, 0, :])
@program(np.asfortranarray(mat(3, 4, dtype=np.float32)))
@program(mat(1, 4))
@program(mat(3, 1))
def matrix_of_any_layout(a):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += a[i, j] * a[i, 0] * (i + 2 * j + 1)
    return s + np.sum(a.T @ a)


@program(np.asfortranarray(mat(3, 4)))
@program(mat(6, 8)[::2, ::2])
@program(mat(4, 3).T)
def written_of_any_layout(a):
    for i in range(1, 3):
        a[i] += a[i - 1] * a[i]
        a[i, 0] = a[i, 1] ** 2
    return np.sum(a**2)


@program(np.asfortranarray(mat(3, 4)), mat(8, 5)[::2, :].copy()[:, ::2], wrt=(0, 1))
def product_of_layouts(a, b):
    return np.sum((a @ b) ** 2)


@program(np.asfortranarray(mat(3, 4)))
def result_of_fortran(a):
    return a * a


@program(vec(12)[::2])
def result_of_strided(x):
    y = x.copy()
    y[0] = x[1] * x[2]
    return y


@program(np.array(0.8))
def zero_dimensional_argument(x):
    return x * x + np.sin(x)


@program(np.array([0.8]))
@program(np.array([[0.8]]))
def size_one(x):
    return np.sum(x * x) * np.sum(np.exp(x))


@program(np.array([0.8]), vec(4), wrt=(0, 1))
def size_one_broadcast_in_place(x, y):
    y += x
    y *= x
    return np.sum(y**2)


@program(np.array([0.8]), vec(4), wrt=(0, 1))
def size_one_broadcast_into_slice(x, y):
    z = np.zeros(4)
    z[1:] = x
    z[:2] += x * y[:2]
    return np.sum(z**2)


@program(mat(3, 1), vec(4), wrt=(0, 1))
def column_times_row(a, x):
    return np.sum((a * x) ** 2) + np.sum(a + x)


@program(mat(1, 4), mat(3, 1, seed=1), wrt=(0, 1))
def row_times_column(a, b):
    return np.sum((a / (b + 3.0)) ** 2)


@program(np.float64(0.8))
@program(np.float32(0.8))
@program(0.8)
def scalar_types(x):
    return x * x * x


@program(vec(4, dtype=np.float32), vec(4, 1), wrt=(0, 1))
def mixed_precision(x, y):
    return np.sum(x * y)


@program(vec(4, dtype=np.float32), 1.5, wrt=(0, 1))
def float32_times_python_float(x, c):
    return np.sum(x * c)


@program(vec(4), np.zeros(0), wrt=(0, 1))
def empty_array(x, e):
    return np.sum(x * x) + np.sum(e * 2.0)


@program(mat(2, 2, 2, 2))
def four_dimensions(a):
    return np.sum(a[0] * a[1]) + np.sum(a[:, 1, :, 0] ** 3)


@program(mat(2, 3, 4).transpose(2, 0, 1))
def permuted_axes(a):
    return np.sum(a[0] * a[3]) + np.sum(a[1:, 0] ** 2)
