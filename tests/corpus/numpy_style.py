"""Whole-array programs as a NumPy user writes them: indexing, masks, methods, small models."""

import numpy as np

from tests.corpus.programs import mat, pos, program, vec


@program(vec(8))
def fancy_read(x):
    k = np.array([1, 5, 5, 0, -1])
    return np.sum(x[k] ** 2 * np.arange(5.0))


@program(mat(4, 4))
def fancy_pairs(a):
    i = np.array([0, 1, 1, 3])
    j = np.array([2, 2, 2, 0])
    return np.sum(a[i, j] ** 2)


@program(mat(4, 4))
def fancy_rows_then_slice(a):
    return np.sum(a[[0, 2, 2]][:, 1:3] ** 2)


@program(mat(4, 4))
def mixed_slices(a):
    return np.sum(a[1:, :-1] * a[:-1, 1:]) + np.sum(a[::2, 1] * a[2, ::-2])


@program(mat(2, 3, 4))
def ellipsis_and_newaxis(a):
    return np.sum(a[..., 1] ** 2) + np.sum(a[0, ...] * a[1, :, :]) + np.sum(a[..., None, 0] ** 3)


@program(vec(6))
def mask_read(x):
    return np.sum(x[x > 0] ** 2) + np.sum(x[(x < 0) & (x > -1)] ** 3)


@program(mat(3, 4))
def mask_two_dimensional(a):
    return np.sum(a[a > 0] ** 2)


@program(vec(6))
def take_and_choose(x):
    return np.sum(np.take(x, np.array([0, 0, 3])) ** 2)


@program(vec(5))
def method_chain(x):
    return (x * x).cumsum().reshape(5, 1).sum(axis=1).mean() + x.clip(-0.4, 0.9).sum() + x.dot(x)


@program(mat(3, 4))
def distances(a):
    d = a[:, None, :] - a[None, :, :]
    return np.sum(np.sqrt(np.sum(d**2, axis=-1) + 0.1))


@program(mat(5, 2), mat(3, 2, seed=1), wrt=(0, 1))
def kmeans_cost(points, centres):
    cost = 0.0
    for i in range(points.shape[0]):
        best = np.sum((points[i] - centres[0]) ** 2)
        for k in range(1, centres.shape[0]):
            d = np.sum((points[i] - centres[k]) ** 2)
            if d < best:
                best = d
        cost += best
    return cost


@program(mat(5, 2), mat(3, 2, seed=1), wrt=(0, 1))
def kmeans_cost_vectorised(points, centres):
    d = np.sum((points[:, None] - centres[None]) ** 2, axis=2)
    return np.sum(np.min(d, axis=1))


@program(np.array([-1.2, 1.0, 0.7]))
@program(np.array([1.0, 1.0, 1.0]), true=[0.0, 0.0, 0.0])
def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@program(vec(3))
def ackley(x):
    a = -20.0 * np.exp(-0.2 * np.sqrt(np.mean(x**2)))
    return a - np.exp(np.mean(np.cos(2 * np.pi * x))) + 20.0 + np.e


@program(vec(4))
def rastrigin(x):
    return 10.0 * x.size + np.sum(x**2 - 10.0 * np.cos(2.0 * np.pi * x))


@program(np.array([0.3, -0.6]))
def himmelblau(p):
    x, y = p
    return (x**2 + y - 11) ** 2 + (x + y**2 - 7) ** 2


@program(np.array([0.3, -0.6]))
def beale(p):
    x, y = p
    s = 0.0
    for k, c in enumerate((1.5, 2.25, 2.625)):
        s += (c - x + x * y ** (k + 1)) ** 2
    return s


@program(pos(4))
def entropy(x):
    p = x / np.sum(x)
    return -np.sum(p * np.log(p))


@program(vec(6), vec(6, 1), wrt=(0, 1))
def correlation(x, y):
    x = x - x.mean()
    y = y - y.mean()
    return np.dot(x, y) / np.sqrt(np.dot(x, x) * np.dot(y, y))


@program(vec(6), vec(6, 1), wrt=(0, 1))
def cosine_similarity(x, y):
    return x @ y / (np.linalg.norm(x) * np.linalg.norm(y))


@program(vec(8))
def moving_average(x):
    out = np.zeros(6)
    for k in range(3):
        out += x[k:k + 6] / 3.0
    return np.sum(out**2)


@program(mat(6, 6))
def laplacian_slices(u):
    lap = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
    return np.sum(lap**2)


@program(mat(6, 6))
def total_variation(u):
    dx = u[1:, :-1] - u[:-1, :-1]
    dy = u[:-1, 1:] - u[:-1, :-1]
    return np.sum(np.sqrt(dx**2 + dy**2 + 1e-2))


@program(vec(5))
def huber(x):
    a = np.abs(x)
    return np.sum(np.where(a < 0.7, 0.5 * x**2, 0.7 * (a - 0.35)))


@program(vec(5))
def vandermonde(x):
    v = np.ones((5, 4))
    for k in range(1, 4):
        v[:, k] = v[:, k - 1] * x
    return np.sum((v.T @ v) ** 2)


@program(pos(3), pos(3, seed=1), wrt=(0, 1))
def kl_gaussians(s, t):
    return np.sum(np.log(t / s) + s**2 / (2 * t**2) - 0.5)


@program(mat(4, 3))
def covariance(a):
    c = a - a.mean(axis=0, keepdims=True)
    return np.sum((c.T @ c / 3.0) ** 2)


@program(mat(4, 3))
def normalise_rows(a):
    n = a / np.sqrt(np.sum(a**2, axis=1))[:, None]
    return np.sum(n[0] * n[1]) + n[2, 0]


@program(mat(4, 3))
def vector_output_of_loop(a):
    out = np.empty(4)
    for i, row in enumerate(a):
        out[i] = np.sum(row**2) * row[0]
    return out


@program(mat(4, 3), vec(3), wrt=(0, 1))
def two_array_outputs(a, x):
    y = a @ x
    return y, np.outer(y, x)


@program(mat(4, 3))
def dtype_and_shape_creation(a):
    out = np.zeros(a.shape, dtype=a.dtype)
    for i in range(a.shape[0]):
        out[i] = a[i] * i
    return np.sum(out * a)


@program(mat(4, 3, dtype=np.float32))
def float32_buffer(a):
    out = np.zeros_like(a)
    out[1:] = a[:-1] * a[1:]
    return np.sum(out)


@program(vec(4, dtype=np.float32))
def float32_cast_up(x):
    y = x.astype(np.float64)
    return np.sum(y * y)


@program(vec(4))
def float64_cast_down_and_up(x):
    y = x.astype(np.float64) * 2.0
    return np.sum(y * x)


@program(vec(6))
def interpolation_of_grid(x):
    s = 0.0
    for p in (0.3, 1.7, 4.2):
        k = int(p)
        w = p - k
        s += ((1 - w) * x[k] + w * x[k + 1]) ** 2
    return s


@program(0.35)
def table_lookup_by_active_index(p):
    table = np.array([1.0, 4.0, 9.0, 16.0])
    k = int(p * 4)
    w = p * 4 - k
    return (1 - w) * table[k] + w * table[k + 1]
