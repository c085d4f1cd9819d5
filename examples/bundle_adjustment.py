"""Bundle adjustment: cameras and points recovered from where the points appear in the pictures.

Every camera (a rotation vector, a position, a focal length) and every point is unknown. The errors
of the pictures are least squares, and SciPy's `least_squares` takes their Jacobian from s2sad.

Rotation by O. Rodrigues' formula. The problem: B. Triggs and others, "Bundle adjustment: a modern
synthesis", 2000.

    python examples/bundle_adjustment.py [figure.svg]
"""

import sys

import numpy as np
from scipy.optimize import least_squares

import s2sad

CAMERAS, POINTS = 4, 12
SIZE = 7  # numbers for a camera: rotation (rad), position (m), focal length (pixels / 1000)


def errors(unknowns, seen):
    """Return the errors in thousands of pixels, of the size of `seen`, (CAMERAS, POINTS, 2)."""
    out = np.empty(CAMERAS * POINTS * 2)
    for c in range(CAMERAS):
        w = unknowns[SIZE * c : SIZE * c + 3]
        angle = np.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + 1e-20)
        cosine, sine = np.cos(angle), np.sin(angle) / angle
        for k in range(POINTS):
            at = SIZE * CAMERAS + 3 * k
            x = unknowns[at] - unknowns[SIZE * c + 3]
            y = unknowns[at + 1] - unknowns[SIZE * c + 4]
            z = unknowns[at + 2] - unknowns[SIZE * c + 5]
            along = (w[0] * x + w[1] * y + w[2] * z) * (1.0 - cosine) / (angle * angle)
            right = x * cosine + (w[1] * z - w[2] * y) * sine + w[0] * along
            up = y * cosine + (w[2] * x - w[0] * z) * sine + w[1] * along
            depth = z * cosine + (w[0] * y - w[1] * x) * sine + w[2] * along
            row = 2 * (c * POINTS + k)
            out[row] = unknowns[SIZE * c + 6] * right / depth - seen[c, k, 0]
            out[row + 1] = unknowns[SIZE * c + 6] * up / depth - seen[c, k, 1]
    return out


def scene(rng):
    """Return the true unknowns: cameras on an arc that look at points in a box."""
    unknowns = np.empty(SIZE * CAMERAS + 3 * POINTS)
    for c in range(CAMERAS):
        turn = 0.3 * (c - 1.5)
        place = [8 * np.sin(turn), 0.1 * c, 8 - 8 * np.cos(turn)]
        unknowns[SIZE * c : SIZE * (c + 1)] = [0.02 * c, -turn, 0.01, *place, 0.9]
    points = rng.uniform(-1, 1, (POINTS, 3))
    points[:, 2] += 8.0
    unknowns[SIZE * CAMERAS :] = points.ravel()
    return unknowns


def main():
    rng = np.random.default_rng(1)
    truth = scene(rng)
    seen = errors(truth, np.zeros((CAMERAS, POINTS, 2))).reshape(CAMERAS, POINTS, 2)
    seen = seen + 1e-4 * rng.normal(size=seen.shape)  # a tenth of a pixel
    start = truth + 0.02 * rng.normal(size=truth.size)
    f = s2sad.differentiate(errors)
    fit = least_squares(f, start, jac=f.jacobian, method="trf", x_scale="jac", args=(seen,))
    before, after = (np.sqrt(np.mean(f(p, seen) ** 2)) * 1e3 for p in (start, fit.x))
    print(f"{truth.size} unknowns, {seen.size} numbers in {CAMERAS} pictures")
    print(f"error of the pictures {before:.2f} pixels before, {after:.3f} after {fit.nfev} evaluations")
    true = points_of(truth)
    apart = [np.sqrt(np.mean((aligned(points_of(p), true) - true) ** 2)) for p in (start, fit.x)]
    print(f"points off by {apart[0]:.4f} m before, {apart[1]:.4f} m after, the scene as a whole laid on the true one")
    if len(sys.argv) > 1:
        draw(sys.argv[1], truth, start, fit.x)


def points_of(unknowns):
    return unknowns[SIZE * CAMERAS :].reshape(POINTS, 3)


def aligned(points, true):
    """Turn, scale and move the points onto the true ones: no picture tells where the scene as a whole is."""
    a, b = points - points.mean(axis=0), true - true.mean(axis=0)
    u, sizes, v = np.linalg.svd(b.T @ a)
    signs = np.array([1.0, 1.0, np.sign(np.linalg.det(u @ v))])
    scale = np.sum(sizes * signs) / np.sum(a * a)
    return scale * a @ (u @ np.diag(signs) @ v).T + true.mean(axis=0)


def draw(path, truth, start, found):
    import matplotlib.pyplot as plt

    true = points_of(truth)
    for unknowns, mark, label in ((start, "x", "start"), (found, "o", "found")):
        points = aligned(points_of(unknowns), true)
        plt.plot(points[:, 0], points[:, 1], mark, label=label, mfc="none")
    plt.plot(true[:, 0], true[:, 1], "k.", label="true")
    plt.legend()
    plt.savefig(path)


if __name__ == "__main__":
    main()
