"""Transforms, convolutions, filters and distances of SciPy: the values are SciPy's, the slopes those of differences."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from s2sad.rules.registry import EXPANSIONS
from tests.differences import differences

fft = pytest.importorskip("scipy.fft")
signal = pytest.importorskip("scipy.signal")
distance = pytest.importorskip("scipy.spatial.distance")
ndimage = pytest.importorskip("scipy.ndimage")

_DRAWN = np.random.default_rng(0).standard_normal
VECTOR, KERNEL, MATRIX, PATCH, POINTS, OTHERS = (
    _DRAWN(shape) for shape in ((9,), (4,), (6, 7), (3, 2), (5, 3), (4, 3))
)
PLACES = 2.0 + 4.0 * _DRAWN((2, 3, 4))
WEIGHTS = np.cos(np.arange(200.0))


def weighed(y):
    return np.sum(y * WEIGHTS[: y.size].reshape(y.shape))


def case(fun, *args, named=None, compiled=False):
    """A program of one call, weighed; those of one kind of code are compiled once."""

    def program(*given):
        return weighed(np.asarray(fun(*given)))

    return pytest.param(program, args, compiled, id=named or fun.__name__)


def convolutions(mode):
    full, same = mode == "full", mode == "same"
    return [
        case(lambda x, k: signal.convolve(x, k, mode), VECTOR, KERNEL, named=f"convolve {mode}", compiled=full),
        case(lambda x, k: signal.convolve(x, k, mode, "fft"), MATRIX, PATCH, named=f"convolve-matrices-{mode}"),
        case(lambda x, k: signal.fftconvolve(x, k, mode=mode), VECTOR, KERNEL, named=f"fftconvolve-{mode}"),
        case(lambda x, k: signal.oaconvolve(x, k, mode), KERNEL, VECTOR, named=f"oaconvolve-{mode}"),
        case(
            lambda x, k: signal.correlate(x, k, mode),
            VECTOR,
            KERNEL,
            named=f"correlate-{mode}",
            compiled=same,
        ),
        case(lambda x, k: signal.correlate(x, k, mode), MATRIX, PATCH, named=f"correlate-matrices-{mode}"),
        case(lambda x, k: signal.convolve2d(x, k, mode), MATRIX, PATCH, named=f"convolve2d-{mode}"),
        case(
            lambda x, k: signal.correlate2d(x, k, mode),
            MATRIX,
            PATCH,
            named=f"correlate2d-{mode}",
            compiled=same,
        ),
    ]


def distances(metric):
    return [
        case(lambda p, q: distance.cdist(p, q, metric), POINTS, OTHERS, named=f"cdist-{metric}",
             compiled=metric == "euclidean"),
        case(lambda p: distance.pdist(p, metric), POINTS, named=f"pdist-{metric}"),
        case(lambda p: distance.squareform(distance.pdist(p, metric=metric)), POINTS, named=f"squareform-{metric}",
             compiled=metric == "chebyshev"),
        case(getattr(distance, metric), KERNEL, VECTOR[:4]),
    ]  # fmt: skip


def cosines(norm):
    return [
        case(lambda x: fft.dct(x, norm=norm) ** 2, MATRIX, named=f"dct-{norm}"),
        case(lambda x: fft.idct(x, norm=norm, axis=0) ** 2, MATRIX, named=f"idct-{norm}", compiled=norm is None),
        case(lambda x: fft.idctn(np.tanh(fft.dctn(x, norm=norm)), norm=norm), MATRIX, named=f"dctn-{norm}",
             compiled=norm == "ortho"),
    ]  # fmt: skip


def filters(mode):
    reflect = mode == "reflect"
    return [
        case(lambda x, w: ndimage.correlate1d(x, w, 0, mode=mode, cval=0.3), MATRIX, KERNEL,
             named=f"correlate1d-{mode}"),
        case(lambda x, w: ndimage.convolve1d(x, w, mode=mode), VECTOR, KERNEL, named=f"convolve1d-{mode}"),
        case(lambda x, s: ndimage.gaussian_filter(x, s, mode=mode), MATRIX, 1.3, named=f"gaussian_filter-{mode}",
             compiled=reflect),
        case(lambda x, w: ndimage.convolve(x, w, mode=mode), MATRIX, PATCH, named=f"ndimage.convolve-{mode}"),
        case(lambda x, w: ndimage.correlate(x, w, mode=mode, cval=0.2), MATRIX, PATCH,
             named=f"ndimage.correlate-{mode}", compiled=mode == "constant"),
    ]  # fmt: skip


def kernel_matrix(points):
    squares = distance.cdist(points, points, "sqeuclidean")
    return np.linalg.slogdet(np.exp(-squares) + np.eye(5))[1]


CASES = [
    *(one for mode in ("full", "same", "valid") for one in convolutions(mode)),
    *(one for metric in ("euclidean", "sqeuclidean", "cityblock", "chebyshev") for one in distances(metric)),
    *(one for norm in (None, "ortho", "forward") for one in cosines(norm)),
    *(one for mode in ("reflect", "constant", "nearest", "mirror", "wrap") for one in filters(mode)),
    case(lambda x, s: ndimage.gaussian_filter1d(x, s, order=1), VECTOR, 0.8, named="gaussian_filter1d"),
    case(lambda x: ndimage.gaussian_filter(x, (1.3, 0.4), (2, 0)), MATRIX, named="gaussian_filter-orders"),
    case(lambda x: ndimage.uniform_filter1d(x, 4) ** 2, VECTOR, named="uniform_filter1d"),
    case(lambda x: ndimage.uniform_filter(x, 3) ** 2, MATRIX, named="uniform_filter"),
    case(lambda x: ndimage.laplace(x) ** 2, MATRIX, named="laplace", compiled=True),
    case(lambda x: np.hypot(ndimage.sobel(x, 0), ndimage.sobel(x)), MATRIX, named="sobel"),
    case(lambda x: ndimage.prewitt(x, 0) ** 2, MATRIX, named="prewitt"),
    case(
        lambda x, at: ndimage.map_coordinates(x, at, order=1, cval=0.4),
        MATRIX,
        PLACES,
        named="map_coordinates",
        compiled=True,
    ),
    case(lambda x, at: ndimage.map_coordinates(x, at, order=1, mode="nearest"), MATRIX, PLACES, named="map-nearest"),
    case(signal.lfilter, KERNEL[:3], np.array([1.5, 0.3, -0.2]), VECTOR, compiled=True),
    case(lambda b, x: signal.lfilter(b, [1.0], x), KERNEL, VECTOR, named="lfilter-ahead"),
    case(distance.cosine, KERNEL, VECTOR[:4]),
    case(lambda p: distance.squareform(p @ p.T * (1.0 - np.eye(5))), POINTS, named="squareform-back"),
    case(kernel_matrix, POINTS, compiled=True),
    case(lambda x: np.abs(fft.fft(x)) ** 2, VECTOR, named="fft"),
    case(lambda x: np.abs(fft.ifft(x, norm="ortho")) ** 2, VECTOR, named="ifft"),
    case(lambda x: fft.irfft(fft.rfft(x) * 2.0), VECTOR[:8], named="rfft"),
    case(lambda x: np.real(fft.ifft2(fft.fft2(x, workers=2) ** 2)), MATRIX, named="fft2", compiled=True),
    case(lambda x: np.real(fft.ifftn(fft.fftn(x) ** 2)), MATRIX, named="fftn"),
    case(lambda x: fft.fftfreq(7, x[0]) + x[1] * fft.rfftfreq(13, x[2]), 1.5 + 0.2 * VECTOR, named="frequencies"),
    case(lambda x: np.real(fft.ifftshift(fft.fftshift(fft.fft(x, 6)) * fft.fftfreq(6))), VECTOR, named="fftshift"),
]


def by_target(cases):
    """Each case for Python, and those that are compiled for that too."""
    targets = [(one, target) for one in cases for target in (("python", "cpu") if one.values[2] else ("python",))]
    return [pytest.param(*one.values[:2], target, id=f"{one.id}-{target}") for one, target in targets]


@pytest.mark.parametrize(("program", "args", "target"), by_target(CASES))
def test_values_and_slopes(program, args, target):
    value, bars = s2sad.value_and_grad(program, argnums=tuple(range(len(args))), target=target)(*args)
    np.testing.assert_allclose(value, program(*args), rtol=1e-10, atol=1e-12)
    for at, bar in enumerate(bars):
        wanted = differences(lambda v, at=at: program(*args[:at], v, *args[at + 1 :]), np.asarray(args[at]))
        np.testing.assert_allclose(bar, wanted, rtol=1e-6, atol=1e-7)


def test_every_function_is_sampled():
    s2sad.grad(lambda x: signal.convolve(x, x)[0], target="python")(VECTOR)
    s2sad.grad(lambda x: distance.euclidean(x, 2.0 * x), target="python")(VECTOR)
    s2sad.grad(lambda x: fft.dct(x)[0], target="python")(VECTOR)
    s2sad.grad(lambda x: ndimage.laplace(x)[0], target="python")(VECTOR)
    modules = ("scipy.fft", "scipy.ndimage", "scipy.signal", "scipy.spatial")
    known = {fn.__name__ for fn in EXPANSIONS if (getattr(fn, "__module__", None) or "").startswith(modules)}
    with open(__file__, encoding="utf-8") as text:
        here = text.read()
    metrics = {"euclidean", "sqeuclidean", "cityblock", "chebyshev"}
    assert len(known) > 35
    assert not [name for name in known - metrics if f".{name}(" not in here and f".{name}," not in here]


def test_the_distance_of_a_point_to_itself_has_the_derivative_0():
    bar = s2sad.grad(lambda p: np.sum(distance.cdist(p, p)), target="python")(POINTS)
    assert np.all(np.isfinite(bar))


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (lambda x: np.sum(signal.convolve2d(x, x, boundary="wrap")), r"Use `np.pad` before it"),
        (lambda x: np.sum(signal.lfilter(KERNEL, [1.0], x)), r"Filter the rows one by one"),
        (lambda x: np.sum(fft.dct(x, 3)), r"Of the second kind"),
        (lambda x: np.sum(ndimage.laplace(x, mode="half")), r"'reflect', 'constant', 'nearest', 'mirror' or 'wrap'"),
        (lambda x: np.sum(ndimage.map_coordinates(x, x[:2])), r"with `order=1`"),
        (lambda x: np.sum(ndimage.laplace(np.arange(9)) * x[0, 0]), r"floats, `x \* 1.0`"),
        (lambda x: np.sum(ndimage.gaussian_filter(x, 1.0, 3)), r"order 0, 1 and 2"),
        (lambda x: np.sum(fft.dct(x, norm="half")), r"'backward', 'ortho' or 'forward'"),
        (lambda x: np.sum(signal.convolve(x, x, "half")), r"'full', 'same' or 'valid'"),
        (
            lambda x: np.sum(distance.pdist(x, "canberra")),
            r"`sqeuclidean`, `cityblock` and `chebyshev` are",
        ),
    ],
)
def test_what_is_not_there_is_refused_at_the_users_call(program, told):
    with pytest.raises(s2sad.S2SADError, match=told) as refused:
        s2sad.grad(program, target="python")(MATRIX)
    assert refused.value.span.file == __file__
