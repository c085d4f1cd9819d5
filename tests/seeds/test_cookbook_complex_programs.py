"""The cookbook's complex programs that need a library's rules: a convolution by Fourier transforms, Cholesky."""

import numpy as np

from s2sad import grad

KERNEL = np.array([1.0, -2.0, 0.5, 0.0, 0.25])


def by_fourier(x):
    return np.sum(np.real(np.fft.ifft(np.fft.fft(x) * np.fft.fft(KERNEL))) ** 2)


def by_sums(x):
    total = 0.0
    for i in range(5):
        value = 0.0
        for j in range(5):
            value += x[j] * KERNEL[(i - j) % 5]
        total += value**2
    return total


def test_real_through_the_fourier_transform():
    """R → R through complex numbers: real, and what the real program gives."""
    x = np.array([0.3, -1.2, 2.0, 0.7, 0.1])
    found = grad(by_fourier, target="python")(x)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, grad(by_sums, target="python")(x), rtol=1e-12)


A = np.array([[5.0, 2.0 + 3j, 5j], [2.0 - 3j, 7.0, 1.0 + 7j], [-5j, 1.0 - 7j, 12.0]])
PRINTED = np.array([
    [-0.7534186, -3.0509028 - 10.940544j, 5.9896846 + 3.5423026j],
    [-3.0509028 + 10.940544j, -8.904491, -5.1351523 - 6.559373j],
    [5.9896846 - 3.5423026j, -5.1351523 + 6.559373j, 0.01320427],
])  # fmt: skip


def of_factor(X):
    L = np.linalg.cholesky(X)
    return np.sum((L - np.sin(L)) ** 2)


def test_cholesky_of_a_complex_matrix():
    """The printed gradient, in single precision there; here also against differences along Hermitian moves."""
    found = grad(of_factor, holomorphic=True, target="python")(A)
    np.testing.assert_allclose(found, PRINTED, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(found, np.conj(found.T), rtol=1e-12, atol=1e-12)
    generator = np.random.default_rng(0)
    for _ in range(3):
        move = generator.normal(size=(3, 3)) + 1j * generator.normal(size=(3, 3))
        move = move + np.conj(move.T)
        step = 1e-6
        change = (of_factor(A + step * move) - of_factor(A - step * move)) / (2 * step)
        np.testing.assert_allclose(np.real(np.sum(found * move)), np.real(change), rtol=1e-6)
