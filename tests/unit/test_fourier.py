"""The runtime's Fourier transforms against NumPy's, as Python and compiled inside a derivative."""

import warnings
from typing import Any

import numpy as np
import pytest

import s2sad
from s2sad.runtime import fourier

RNG = np.random.default_rng(3)


def signal(*shape: int, dtype: Any = complex) -> Any:
    made = RNG.normal(size=shape) + 1j * RNG.normal(size=shape)
    return made.astype(dtype) if np.dtype(dtype).kind == "c" else made.real.astype(dtype)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17])
def test_every_length_forth_and_back(n: int) -> None:
    a = signal(n)
    np.testing.assert_allclose(fourier.transform(a, -1, 0, -1, 0.0), np.fft.fft(a), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(fourier.transform(a, -1, 0, 1, -1.0), np.fft.ifft(a), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        fourier.transform_real(a.real, -1, 0, -0.5), np.fft.rfft(a.real, norm="ortho"), rtol=1e-12, atol=1e-13
    )
    np.testing.assert_allclose(
        fourier.real_transform(a, n, 0, -1.0), np.fft.irfft(a, n), rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("n", [-1, 2, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_axes_lengths_and_dtypes(axis: int, n: int, dtype: Any) -> None:
    a, length = signal(2, 3, 4, dtype=dtype), None if n < 0 else n
    close = {"rtol": 1e-4, "atol": 1e-5} if np.finfo(dtype).eps > 1e-10 else {"rtol": 1e-12, "atol": 1e-12}
    pairs = [
        (fourier.transform(a, n, axis, -1, 0.0), np.fft.fft(a, length, axis)),
        (fourier.real_transform(a, n, axis, -1.0), np.fft.irfft(a, length, axis)),
    ]
    if np.dtype(dtype).kind == "f":
        pairs.append((fourier.transform_real(a, n, axis, 0.0), np.fft.rfft(a, length, axis)))
        pairs.append((fourier.real_transform_back(a, axis, -1.0), fourier.irfft_back(a, axis, None)))
    else:
        pairs.append((fourier.transform_real_back(a, 5, axis, 0.0), fourier.rfft_back(a, 5, axis, None)))
    for got, want in pairs:
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, **close)


@pytest.mark.parametrize(("n", "d"), [(1, 1.0), (6, 0.3), (7, 2.0)])
def test_frequencies(n: int, d: float) -> None:
    np.testing.assert_array_equal(fourier.frequencies(n, d), np.fft.fftfreq(n, d))
    np.testing.assert_array_equal(fourier.frequencies_half(n, d), np.fft.rfftfreq(n, d))


def filtered(x, damping):
    k = np.fft.rfftfreq(x.size)
    smooth = np.fft.irfft(np.fft.rfft(x) * np.exp(-damping * k**2), n=x.size)
    return np.sum(smooth**3)


def split_step(u, step):
    k = np.fft.fftfreq(u.size)
    for _ in range(3):
        u = u * np.exp(0.1j * np.abs(u) ** 2)
        u = np.fft.ifft(np.exp(-1j * step * k**2) * np.fft.fft(u))
    return np.sum(np.abs(u) ** 4)


@pytest.mark.parametrize(
    ("function", "args"),
    [(filtered, (signal(6, dtype=float), 0.3)), (split_step, (signal(5), 0.2))],
)
def test_compiled_gradients_equal_interpreted_ones(function: Any, args: tuple[Any, ...]) -> None:
    wrt = tuple(range(len(args)))
    value, grads = s2sad.differentiate(argnums=wrt)(function).value_and_grad(*args)
    expected, wanted = s2sad.differentiate(target="python", argnums=wrt)(function).value_and_grad(*args)
    assert value == pytest.approx(expected, rel=1e-13)
    for got, want in zip(grads, wanted, strict=True):
        assert np.asarray(got).dtype == np.asarray(want).dtype
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)


def test_a_real_signal_has_a_real_gradient() -> None:
    derivative = s2sad.differentiate(target="python", argnums=(0, 1))(filtered)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x_bar, damping_bar = derivative.grad(signal(6, dtype=float), 0.3)
    assert x_bar.dtype == np.float64
    assert not np.iscomplexobj(damping_bar)
