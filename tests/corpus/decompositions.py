"""Whole programs that decompose matrices: their results unpacked, indexed, by attribute, in loops."""

import numpy as np

from tests.corpus.programs import mat, pos, program, spd, vec


@program(mat(7, 3), rtol=1e-9)
def principal_components(x):
    centred = x - np.mean(x, axis=0)
    w, v = np.linalg.eigh(centred.T @ centred / (x.shape[0] - 1))
    scores = centred @ v[:, ::-1][:, :2]
    return np.sum(scores**4) / np.sum(w) + np.log(w[-1])


@program(spd(3), vec(3), wrt=(0, 1), rtol=1e-9)
def matrix_function(a, x):
    w, v = np.linalg.eigh(a)
    root = (v * np.sqrt(w)) @ v.T
    return np.sum((root @ x) ** 2) + np.sum(np.linalg.eigvalsh(root @ a, UPLO="U") ** 2)


@program(mat(4, 3), rtol=1e-9)
def best_rank_two(a):
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    near = (u[:, :2] * s[:2]) @ vt[:2]
    return np.sum(near**3) + s[2] ** 2


@program(mat(3, 4), rtol=1e-9)
def nuclear_and_spectral(a):
    return np.linalg.svd(a, full_matrices=False).S[0] + np.sum(np.linalg.svd(a, full_matrices=False)[1] ** 3)


@program(mat(5, 3), vec(5), wrt=(0, 1), rtol=1e-9)
def least_squares_by_qr(a, b):
    q, r = np.linalg.qr(a)
    x = np.linalg.solve(r, q.T @ b)
    return np.sum(x**2) + np.sum(np.linalg.lstsq(a, b, rcond=None)[0] ** 3)


@program(spd(3), rtol=1e-9)
def subspace_iteration(a):
    q = np.eye(3)[:, :2]
    for _ in range(3):
        q, r = np.linalg.qr(a @ q)
    return np.sum(q**4) + r[0, 0] / r[1, 1]


@program(spd(3), rtol=1e-9)
def eigenvalues_in_a_while(a):
    total = 0.0
    w = np.ones(3)
    steps = 0
    while steps < 3 and w[0] > 0.0:
        w, v = np.linalg.eigh(a + np.diag(w) * 0.1)
        a = a + np.outer(v[:, 0], v[:, 0]) * w[0]
        total += np.log(w[0])
        steps += 1
    return total + np.sum(w * v[0])


@program(spd(3), rtol=1e-9)
def written_after_it_was_decomposed(a):
    b = a * 1.0
    w, v = np.linalg.eigh(b)
    b[0] = w
    w[1] = 2.0
    sign, logdet = np.linalg.slogdet(b @ b.T + np.eye(3))
    return np.sum(b * v) + sign * logdet + w[0]


@program(pos(4), vec(4, 1), wrt=(0, 1))
def gaussian_process(scale, y):
    apart = scale[:, None] - scale[None, :]
    k = np.exp(-0.5 * apart**2) + 0.5 * np.eye(4)
    factor = np.linalg.cholesky(k)
    alpha = np.linalg.solve(factor, y)
    return 0.5 * alpha @ alpha + 0.5 * np.linalg.slogdet(k).logabsdet
