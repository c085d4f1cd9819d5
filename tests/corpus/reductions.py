"""Reductions, scans, products, linear algebra and array building."""

import numpy as np

from tests.corpus.programs import mat, pos, program, spd, vec


@program(mat(3, 4))
@program(mat(3, 4, dtype=np.float32))
def sums(a):
    return np.sum(a) * a.sum() + np.sum(np.sum(a, axis=0) ** 2) + np.sum(a.sum(axis=1) ** 3)


@program(mat(2, 3, 2))
def sum_over_two_axes(a):
    return np.sum(np.sum(a, axis=(0, 2)) ** 2) + np.sum(np.sum(a, axis=-1, keepdims=True) * a)


@program(mat(3, 4))
def means(a):
    return np.mean(a) * a.mean() + np.sum(np.mean(a, axis=0) ** 2) + np.sum(np.mean(a, axis=1, keepdims=True) * a)


@program(mat(3, 4))
def variance_and_deviation(a):
    return np.var(a) + np.std(a) + np.sum(np.var(a, axis=0)) + np.sum(np.std(a, axis=1))


@program(pos(5))
def product(x):
    return np.prod(x) + x.prod() ** 2


@program(pos(3, 4))
def product_axis(a):
    return np.sum(np.prod(a, axis=1) ** 2)


@program(np.array([1.5, 0.0, 2.0]), true=[0.0, 3.0, 0.0])
def product_with_zero(x):
    return np.prod(x)


@program(np.array([0.0, 0.0, 2.0]), true=[0.0, 0.0, 0.0])
def product_with_two_zeros(x):
    return np.prod(x)


@program(vec(6))
def maxima(x):
    return np.max(x) * x.min() + np.max(x * x)


@program(mat(3, 4))
def maxima_axis(a):
    return np.sum(np.max(a, axis=0) ** 2) + np.sum(np.min(a, axis=1) ** 3)


@program(vec(6))
def argmax_used(x):
    return x[np.argmax(x)] * x[x.argmin()] * 2.0


@program(vec(6))
def cumulative(x):
    return np.sum(np.cumsum(x) ** 2) + np.sum(np.cumprod(x) * x)


@program(mat(3, 4))
def cumulative_axis(a):
    return np.sum(np.cumsum(a, axis=0) ** 2) + np.sum(np.cumsum(a, axis=1) ** 3)


@program(vec(6))
def logsumexp(x):
    m = np.max(x)
    return m + np.log(np.sum(np.exp(x - m)))


@program(mat(3, 4))
def softmax_rows(a):
    e = np.exp(a - np.max(a, axis=1, keepdims=True))
    p = e / np.sum(e, axis=1, keepdims=True)
    return np.sum(p * p)


@program(vec(4), vec(4, 1), wrt=(0, 1))
def dots(x, y):
    return np.dot(x, y) * (x @ y) + np.inner(x, y) + np.vdot(x, y)


@program(mat(3, 4), vec(4), wrt=(0, 1))
def matrix_vector(a, x):
    return np.sum((a @ x) ** 2) + np.sum(np.dot(a, x))


@program(vec(3), mat(3, 4), wrt=(0, 1))
def vector_matrix(x, a):
    return np.sum((x @ a) ** 3)


@program(mat(3, 4), mat(4, 2, seed=1), wrt=(0, 1))
@program(mat(3, 4, dtype=np.float32), mat(4, 2, seed=1, dtype=np.float32), wrt=(0, 1))
def matrix_matrix(a, b):
    return np.sum((a @ b) ** 2) + np.sum(np.dot(a, b))


@program(mat(2, 3, 4), mat(2, 4, 2, seed=1), wrt=(0, 1))
def batched_matmul(a, b):
    return np.sum((a @ b) ** 2)


@program(mat(2, 3, 4), mat(4, 2, seed=1), wrt=(0, 1))
def batched_matmul_broadcast(a, b):
    return np.sum(np.matmul(a, b) ** 2)


@program(vec(3), vec(4, 1), wrt=(0, 1))
def outer_product(x, y):
    return np.sum(np.outer(x, y) ** 2)


@program(mat(3, 4), mat(4, 3, seed=1), wrt=(0, 1))
def einsum_trace(a, b):
    return np.einsum("ij,ji->", a, b) + np.sum(np.einsum("ij,jk->ik", a, b) ** 2)


@program(mat(3, 4), mat(4, 3, seed=1), wrt=(0, 1))
def tensordot(a, b):
    return np.sum(np.tensordot(a, b, axes=1) ** 2)


@program(mat(3, 3))
def trace_and_diagonal(a):
    return np.trace(a @ a) + np.sum(np.diag(a) ** 2) + np.sum(np.diag(a[0]) * a)


@program(mat(3, 4))
def transposes(a):
    return np.sum(a.T @ a) + np.sum(np.transpose(a)[1] ** 2)


@program(spd(3), vec(3), wrt=(0, 1))
def linear_solve(a, b):
    return np.sum(np.linalg.solve(a, b) ** 2)


@program(spd(3), mat(3, 2), wrt=(0, 1))
def linear_solve_matrix(a, b):
    return np.sum(np.linalg.solve(a, b) ** 2)


@program(spd(3))
def inverse(a):
    return np.sum(np.linalg.inv(a) ** 2)


@program(spd(3))
def determinant(a):
    return np.linalg.det(a)


@program(spd(3))
def log_determinant(a):
    return np.linalg.slogdet(a)[1]


@program(spd(3))
def cholesky(a):
    return np.sum(np.linalg.cholesky(a @ a.T) ** 2 * np.arange(9.0).reshape(3, 3))


@program(vec(4))
def norms(x):
    return np.linalg.norm(x) + np.linalg.norm(x, 1) + np.linalg.norm(x, np.inf)


@program(mat(3, 4))
def norm_axis(a):
    return np.sum(np.linalg.norm(a, axis=1) ** 3) + np.linalg.norm(a)


@program(vec(3), vec(4, 1), wrt=(0, 1))
def concatenations(x, y):
    z = np.concatenate((x, y * y, x))
    return np.sum(z * np.arange(10.0)) + np.sum(np.hstack((y, x)) ** 2)


@program(vec(3), vec(3, 1), wrt=(0, 1))
def stacks(x, y):
    s = np.stack((x, y, x * y))
    return np.sum(s[0] * s[2]) + np.sum(np.vstack((x, y)) ** 2) + np.sum(np.stack((x, y), axis=1) ** 3)


@program(vec(3))
def array_literal(x):
    r = np.array([[x[0], x[1]], [x[2], 1.0]])
    return np.sum(r @ r)


@program(0.4)
def creation_functions(c):
    a = np.full(3, c) + np.ones(3) * c + np.zeros_like(np.ones(3))
    b = np.full_like(a, 2.0) * a + np.eye(3)[1] * c
    return np.sum(a * b) + np.sum(np.linspace(0.0, 1.0, 4) * c)


@program(vec(6))
def diff_and_flip(x):
    return np.sum(np.diff(x) ** 2) + np.sum(np.flip(x)[:3] * x[:3]) + np.sum(np.roll(x, 2) * x)


@program(vec(4))
def tile_and_repeat(x):
    return np.sum(np.tile(x, 2) * np.arange(8.0)) + np.sum(np.repeat(x, 2) ** 2 * np.arange(8.0))


@program(vec(6))
def reshapes(x):
    return np.sum(x.reshape(2, 3) @ x.reshape(3, 2)) + np.sum(np.reshape(x, (6, 1)) * x)


@program(vec(6, 3))
def sorting(x):
    return np.sum(np.sort(x) ** 2 * np.arange(6.0)) + np.sum(x[np.argsort(x)] * np.arange(6.0))


@program(vec(6, 3))
def order_statistics(x):
    return np.median(x) + np.ptp(x)


@program(mat(3, 4))
def triangles(a):
    return np.sum(np.triu(a) ** 2) + np.sum(np.tril(a, -1) ** 3)


@program(mat(2, 3, 4))
def swapped_axes(a):
    return np.sum(np.swapaxes(a, 0, 2)[1] ** 2) + np.sum(np.transpose(a, (1, 2, 0))[0] ** 3)


@program(vec(3))
def expand_and_squeeze(x):
    return np.sum(np.expand_dims(x, 0) * x[:, None]) + np.sum(np.squeeze(x[None, :]) ** 2)


@program(vec(5), vec(3, 1), wrt=(0, 1))
def convolve(x, k):
    return np.sum(np.convolve(x, k) ** 2)


@program(vec(3), vec(3, 1), wrt=(0, 1))
def cross(x, y):
    return np.sum(np.cross(x, y) ** 2)


@program(mat(3, 4))
def attributes(a):
    return np.sum(a) / a.size + a.shape[0] * a[0, 0] * a.ndim + len(a) * a[1, 1] ** 2


@program(vec(4))
def add_at(x):
    y = np.zeros(3)
    np.add.at(y, np.array([0, 2, 0, 0]), x * x)
    return np.sum(y**2)


@program(vec(4))
def any_all_conditions(x):
    if np.any(x > 1.4) or np.all(x < 100.0):
        return np.sum(x**2)
    return np.sum(x)


@program(mat(3, 4))
def broadcast_to(a):
    return np.sum(np.broadcast_to(a[0], (3, 4)) * a)


@program(mat(3, 4), vec(4), wrt=(0, 1))
def centred_rows(a, w):
    c = a - a.mean(axis=0)
    return np.sum((c.T @ c) * np.outer(w, w))
