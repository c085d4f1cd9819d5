"""Calls of NumPy, `math` and `cmath` as programs write them: value, gradient, tangent, second order.

Each case is the body of a function. Its value must be NumPy's; its gradient that of differences;
its tangent must pair with its gradient; and the gradient must differentiate again.
"""

from __future__ import annotations

import importlib.util
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import s2sad

RNG = np.random.default_rng(0)
V, W = RNG.uniform(0.3, 0.9, 5), RNG.uniform(0.2, 0.8, 5)
M, N = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4))
C = RNG.normal(size=(2, 3, 4))
P = np.abs(M) + 0.3
Z = V + 1j * W
HOLES = np.where(M > 0.9, np.nan, M)
MASK = np.where(np.arange(12).reshape(3, 4) % 5 == 1, False, True)
A, B = 0.6, 0.7
KNOTS = np.array([0.0, 0.4, 1.0])

Case = tuple[str, tuple[Any, ...]]
CASES: dict[str, Case] = {}


def add(family: str, bodies: str, *args: Any) -> None:
    """Add one case a line; the arguments are called `x`, `y` and `z`."""
    for line in bodies.strip().split("\n"):
        body = line.strip()
        CASES[f"{family}: {body}"] = (body, args)


def over(names: str, form: str) -> str:
    return "\n".join(form.replace("F", name) for name in names.split())


add("ufunc", over("cbrt exp2 expm1 log2 log10 log1p square reciprocal sinc deg2rad degrees arctanh fabs",
                  "np.sum(np.F(x) * x)"), V)
add("no slope", over("spacing signbit floor ceil trunc rint isfinite fix round sign", "np.sum((np.F(x) + 1) * x)"), V)
add("ufunc", over("hypot logaddexp logaddexp2 arctan2 copysign fmod remainder float_power heaviside nextafter fmax",
                  "np.sum(np.F(x, y) * x)"), V, W)
add("ufunc", """
a, b = np.modf(x); np.sum(a * a) + np.sum(b * x)
a, b = np.frexp(9 * x); np.sum(a * a * b) + np.sum(b * x)
a, b = np.divmod(x, y); np.sum(a * x) + np.sum(b * b)
np.sum(np.clip(x, min=0.4, max=0.7) * x)
np.sum(np.clip(x, a_min=0.4, a_max=None) * x)
np.sum(np.unwrap(10 * x) * y)
np.sum(np.nan_to_num(x, nan=1.0) * x)
""", V, W)
add("reduce", """
np.logaddexp.reduce([x[0], x[1], x[2] * x[0]]) * x[3]
np.logaddexp.reduce((x[0], 0.3)) + np.hypot.reduce([x[0], x[1]])
""", V)
add("out", """
y = np.empty_like(x); np.exp(x, out=y); np.sum(y * y)
y = np.empty_like(x); np.multiply(x, x, y); np.sum(y * y)
y = np.empty_like(x); np.multiply(x, x, out=(y,)); np.sum(y * y)
y = np.empty_like(x); np.sum(np.exp(x, out=y) * y)
y = x.copy(); np.multiply(y, x, out=y); np.sum(y * y)
y = np.zeros((2, 5)); np.sin(x, out=y[1]); np.sum(y * y)
y = np.zeros_like(x); np.log(x, out=y, where=x > 0.5); np.sum(y * x)
y = 2 * x; np.sum(np.divide(x, 3.0, out=y, where=x > 0.5) * x)
y = np.ones_like(x); np.multiply(x, y, out=y, where=True); np.sum(y * x)
y = x.copy(); np.clip(y, 0.4, 0.7, out=y); np.sum(y * y)
y = np.zeros(5); np.cumsum(x, out=y); np.sum(y * y)
""", V)
add("out", "y = np.zeros(4); np.sum(x, axis=0, out=y); np.sum(y * y)", M)
add("out", "y = np.zeros((3, 3)); np.matmul(x, x.T, out=y); np.sum(y * y)", M)

add("math", over("exp2 cbrt erf erfc gamma lgamma expm1 log1p degrees asinh atanh", "math.F(x) * x"), A)
add("math", """
math.remainder(x, y) * x
math.hypot(x, y, x * y)
math.dist((x, y), (1.0, 2.0))
math.prod([x, y, x], start=2.0)
math.fsum([x, y, x * y])
x * x if math.isclose(x, y) else x * y
a, b = math.modf(x + 2.0); a * a * x + b * x
a, b = math.frexp(9 * x); a * a * b + b * x * y
math.log(x + 2.0, y + 3.0)
math.comb(5, 2) * x * x * math.perm(4, 2)
max(x, 1) * max([x, y, 1.0]) * min(x, 2)
(1 if x > 100 else x) * x
math.nextafter(x, 3.0) * x + math.ulp(x)
""", A, B)
add("math", "math.dist(x, y)", V, W)
add("math", "math.prod(x)", V)
add("math", "math.fsum(x)", V)
add("math", "math.fsum(a * a for a in x)", V)
add("cmath", """
r, t = cmath.polar(x); r * r + t
cmath.phase(x) * abs(x)
cmath.exp(x).real + cmath.atan(x).imag
np.angle(x, deg=True) * abs(x)
""", 0.6 + 0.3j)
add("cmath", "z = cmath.rect(x, y); z.real * z.imag", A, B)
add("complex", over("cumsum cumprod diff prod sinc", "y = np.F(x); np.sum(np.real(y)) + np.sum(np.imag(y * y))"), Z)

REDUCTIONS = "sum prod mean var std max min ptp median"
add("reduce", over(REDUCTIONS, "np.sum(np.F(x, axis=(0, 2)) ** 2)"), C)
add("reduce", over(REDUCTIONS, "np.sum(np.F(x, axis=(0, -1), keepdims=True) ** 2)"), C)
add("reduce", over(REDUCTIONS, "np.sum(np.F(x, axis=1) ** 2)"), C)
add("reduce", over("nansum nanmean nanmax nanmin nanprod nanvar nanstd nanmedian", "np.sum(np.F(x, axis=1) ** 2)"),
    HOLES)
add("reduce", over("nansum nanmean nanmax nanmin nanprod nanvar nanmedian", "np.F(x) ** 2"), HOLES)
add("reduce", """
np.sum(np.sum(x, axis=1, where=y) ** 2)
np.sum(np.prod(x, axis=1, where=y, initial=2.0) ** 2)
np.sum(np.mean(x, axis=0, where=y) ** 2)
np.sum(np.var(x, axis=1, where=y) ** 2)
np.sum(np.std(x, axis=1, where=y, ddof=1) ** 2)
np.sum(np.max(x, axis=1, where=y, initial=-1.0) ** 2)
np.sum(np.min(x, axis=1, where=y, initial=0.3) ** 2)
np.sum(np.nanmean(x, axis=1, where=y) ** 2)
""", M, MASK)
add("reduce", """
np.sum(x, initial=0.3) ** 2
np.sum(np.max(x, axis=1, initial=0.3) ** 2)
np.sum(np.var(x, axis=0, ddof=1) ** 2)
np.sum(np.var(x, axis=0, correction=1) ** 2)
np.sum(np.std(x, axis=0, mean=np.mean(x, axis=0, keepdims=True)) ** 2)
np.sum(np.nanvar(x, axis=0, ddof=1) ** 2)
np.sum(np.average(x, axis=1, weights=np.array([0.3, 0.5, 0.9, 0.1])) ** 2)
np.sum(np.average(x, axis=0, weights=np.exp(x)) ** 2)
a, s = np.average(x, axis=0, weights=np.exp(x), returned=True); np.sum(a * s * s)
""", M)
add("quantile", """
np.quantile(x, 0.3) ** 2
np.sum(np.quantile(x, 0.3, axis=0) ** 2)
np.sum(np.percentile(x, 30, axis=1, keepdims=True) ** 2)
np.sum(np.quantile(x, [0.3, 0.6]) ** 2)
np.sum(np.quantile(x, np.array([0.3, 0.6])) ** 2)
np.sum(np.percentile(x, [30, 60], axis=1) ** 2)
np.sum(np.quantile(x, [0.3, 0.6], axis=1, keepdims=True)[1] ** 2)
np.quantile(x, 0.3, method="lower") ** 2
np.quantile(x, 0.3, method="higher") ** 2
np.quantile(x, 0.3, method="nearest") ** 2
np.quantile(x, 0.3, method="midpoint") ** 2
np.sum(np.nanquantile(x, 0.4, axis=0) ** 2)
np.nanpercentile(x, 40) ** 2
np.sum(np.median(x, keepdims=True) ** 2)
""", M)
add("quantile", "np.quantile(x, y) ** 2", V, 0.31)
add("scan", over("cumsum cumprod nancumsum nancumprod", "np.sum(np.F(x, axis=0) ** 2)"), M)
add("scan", """
np.sum(np.cumulative_sum(x, include_initial=True) ** 2)
np.sum(np.diff(x, n=2) ** 2)
np.sum(np.diff(x, 3) ** 2)
np.sum(np.diff(x, prepend=0.0) ** 2)
np.sum(np.diff(x, append=x[0]) ** 2)
np.sum(np.diff(x, prepend=x[:2]) ** 2)
np.sum(np.ediff1d(x) ** 2)
np.sum(np.gradient(x) ** 2)
np.sum(np.gradient(x, 0.3) ** 2)
np.sum(np.gradient(x, edge_order=2) ** 2)
np.sum(np.bincount(np.array([0, 1, 1, 2, 0]), weights=x) ** 2)
np.sum(np.interp(x, np.array([0.0, 0.4, 0.6]), x[:3], left=0.0, right=x[0]) ** 2)
np.sum(np.interp(2 * x, np.array([0.0, 0.4, 0.6]), x[:3], period=0.7) ** 2)
""", V)
add("scan", "np.sum(np.gradient(x, y) ** 2)", V, np.array([0.0, 1.0, 1.7, 3.0, 3.3]))
add("scan", "np.sum(np.gradient(x, y, edge_order=2) ** 2)", V, np.array([0.0, 1.0, 1.7, 3.0, 3.3]))
add("scan", "np.sum(np.gradient(x, y) ** 2)", V, 0.4)
add("scan", """
a, b = np.gradient(x, 0.5, 2.0); np.sum(a * b * b)
np.sum(np.gradient(x, 0.5, axis=1) ** 2)
np.sum(np.diff(x, axis=0, prepend=0.0) ** 2)
np.sum(np.diff(x, n=2, axis=1) ** 2)
np.sum(np.trapezoid(x, axis=0) ** 2)
np.sum(np.cov(x) ** 2)
np.sum(np.cov(x, rowvar=False, ddof=0) ** 2)
np.sum(np.corrcoef(x) ** 2)
""", M)
add("scan", "np.trapezoid(x, dx=y) ** 2", V, 0.3)
add("scan", "np.sum(np.trapezoid(x, y, axis=0) ** 2)", M, KNOTS)
add("scan", "np.cov(x, y)[0, 1]", V, W)
FOLDED = "add multiply maximum fmax hypot subtract divide logaddexp"
add("fold", over(FOLDED, "np.sum(np.F.reduce(x) ** 2)"), P)
add("fold", over(FOLDED, "np.sum(np.F.reduce(x, axis=1, keepdims=True) ** 2)"), P)
add("fold", over(FOLDED, "np.sum(np.F.accumulate(x, axis=1) ** 2)"), P)
add("fold", over("add multiply maximum power", "np.sum(np.F.outer(x, y) ** 2)"), V, W[:3])

SPECTRUM = "np.sum(np.abs(y) ** 2 * np.arange(y.shape[0])[:, None])"
add("fft", f"""
y = np.fft.fft(x, axis=0, norm="ortho"); {SPECTRUM}
y = np.fft.ifft(x, 5, axis=0); {SPECTRUM}
y = np.fft.rfft(x, axis=0); {SPECTRUM}
y = np.fft.irfft(x, 5, axis=0, norm="forward"); {SPECTRUM}
y = np.fft.hfft(x, axis=0); {SPECTRUM}
y = np.fft.ihfft(x, axis=0); {SPECTRUM}
y = np.fft.fft2(x); {SPECTRUM}
y = np.fft.ifft2(x, s=(2, 6), axes=(0, 1)); {SPECTRUM}
y = np.fft.rfft2(x, norm="forward"); {SPECTRUM}
y = np.fft.irfft2(x, s=(3, 5)); {SPECTRUM}
y = np.fft.fftn(x, axes=(1, 0)); {SPECTRUM}
y = np.fft.ifftn(x); {SPECTRUM}
y = np.fft.rfftn(x); {SPECTRUM}
y = np.fft.irfftn(x); {SPECTRUM}
y = np.fft.fftshift(x) * x + np.fft.ifftshift(x, axes=0); {SPECTRUM}
""", M)
add("fft", """
np.sum(np.fft.irfft(np.fft.rfft(x) * np.exp(-np.fft.rfftfreq(x.size) ** 2), n=x.size) ** 3)
np.sum(np.fft.ifft(2j * np.pi * np.fft.fftfreq(x.size, d=0.1) * np.fft.fft(x)).real ** 3)
""", V)
add("fft", "np.sum(np.abs(np.fft.ifft(np.exp(-1j * np.arange(5)) * np.fft.fft(x))) ** 4)", Z)

add("special", """
special.logsumexp(x) ** 2
special.logsumexp(x, b=np.array([1.0, 2.0, 0.5, 3.0, 1.0]))
np.sum(special.softmax(x) * x)
np.sum(special.log_softmax(x) ** 2)
np.sum(special.polygamma(2, x) * x)
special.multigammaln(x[0] + 3.0, 3) * x[0]
np.sum(special.xlogy(x[:, None], x) ** 2)
special.gammaln(x[0]) * special.expit(x[1])
np.sum(special.comb(x + 3.0, 2))
""", V)
add("special", """
np.sum(special.logsumexp(x, axis=1) ** 2)
np.sum((x - special.logsumexp(x, axis=1, keepdims=True)) ** 2)
np.sum(special.softmax(x, axis=0) ** 2)
""", M)


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Write every case as a function into one file, since a derivative is made from source."""
    path: Path = tmp_path_factory.mktemp("breadth") / "breadth.py"
    lines = ["import cmath", "import math", "import numpy as np", "import scipy.special as special", ""]
    for number, (body, args) in enumerate(CASES.values()):
        *before, last = body.split("; ")
        lines += [f"def case_{number}({', '.join('xyz'[: len(args)])}):", *(f"    {line}" for line in before)]
        lines += [f"    return {last}", ""]
    path.write_text("\n".join(lines))
    spec = importlib.util.spec_from_file_location("breadth", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: getattr(module, f"case_{number}") for number, name in enumerate(CASES)}


def is_number(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "fc"


def moved(args: tuple[Any, ...], dots: tuple[Any, ...], step: float) -> tuple[Any, ...]:
    return tuple(a if d is None else a + step * d for a, d in zip(args, dots, strict=True))


def slope(function: Any, args: tuple[Any, ...], dots: tuple[Any, ...]) -> Any:
    step = 1e-6
    high, low = function(*moved(args, dots, step)), function(*moved(args, dots, -step))
    return [(h - lo) / (2 * step) for h, lo in zip(leaves(high), leaves(low), strict=True)]


def leaves(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, functions: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2SAD_DISABLE_JIT", "1")
    function, (_, args) = functions[name], CASES[name]
    wrt = tuple(k for k, a in enumerate(args) if is_number(a))
    derivative = s2sad.differentiate(target="python", argnums=wrt)(function)
    rng = np.random.default_rng(1)

    def direction(value: Any) -> Any:
        if not is_number(value):
            return None
        drawn = rng.normal(size=np.shape(value))
        drawn = drawn + 1j * rng.normal(size=np.shape(value)) if np.iscomplexobj(value) else drawn
        return drawn if isinstance(value, np.ndarray) else drawn.item()

    dots = tuple(direction(a) for a in args)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, grads = derivative.value_and_grad(*args)
        np.testing.assert_allclose(value, function(*args), rtol=1e-13)
        paired = sum(np.sum(np.asarray(g) * np.asarray(dots[k])) for g, k in zip(grads, wrt, strict=True)).real
        np.testing.assert_allclose(paired, slope(function, args, dots)[0], rtol=2e-6, atol=2e-7)
        _, y_dot = derivative.jvp(args, dots)
        np.testing.assert_allclose(y_dot, paired, rtol=1e-11, atol=1e-12)
        if any(np.iscomplexobj(a) for a in args):
            return
        gradient = s2sad.grad(function, argnums=wrt)
        _, second = s2sad.jvp(gradient, args, dots)
        for got, want in zip(leaves(second), slope(derivative.grad, args, dots), strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5)


def test_a_derivative_that_is_an_integer_in_the_code_has_a_tangent() -> None:
    gradient = s2sad.grad(counted, argnums=(0, 1), target="python")
    values, tangents = s2sad.jvp(gradient, (0.5, 0.3), (1.0, 1.0))
    assert values == (120, 0.0)
    assert tangents == (0.0, 0.0)


def test_the_covariance_of_complex_numbers_is_hermitian() -> None:
    z = np.array([[0.3 + 1j, -0.7, 0.2j, 1.1], [0.5, 0.4 - 2j, 0.1, -0.9j]])
    value, _ = s2sad.differentiate(target="python")(covariance).jvp((z,), (z,))
    np.testing.assert_allclose(value, np.cov(z), rtol=1e-13)


def counted(x: float, y: float) -> float:
    return math.comb(5, 2) * x * math.perm(4, 2)


def covariance(z: Any) -> Any:
    return np.cov(z)
