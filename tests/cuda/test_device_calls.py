"""Functions of numbers on a device: values as on the CPU, nothing that a GPU lacks, single precision throughout."""

from __future__ import annotations

import ast
import math
import re

import numpy as np
import pytest
from numba import cuda

import s2sad
from s2sad.errors import UnsupportedSyntaxError
from tests.cuda.harness import check


def of_python(x, out, k):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = abs(x[i]) * math.fabs(x[i] - 1.0) + 2**x[i] + x[i] ** k + math.log(2) * x[i] + math.hypot(x[i], 1)
        if k == 3 and x[i] > 0:
            out[i] += math.lgamma(x[i]) + (x[i] if x[i] > 0 else 1) + float(k) * (x[i] % 2) + x[i] ** out[i]


def of_numpy(x):
    a = np.sign(x) * np.square(x) + np.cbrt(x) + np.exp2(x) + np.reciprocal(x) + np.clip(x, -2.0, 2)
    return a + np.remainder(x, 2.0) * np.positive(x) + np.fmod(x, 2.0) + np.trunc(x) * x


def test_a_kernel_of_pythons_functions() -> None:
    check(s2sad.cuda.kernel(of_python), 1, 4, np.array([0.3, 0.7, 1.2, 1.6]), np.zeros(4), 3, rtol=1e-5)


def test_a_batch_of_numpys_functions_is_as_on_the_cpu() -> None:
    x = np.array([-1.7, -0.4, 0.6, 2.3])
    for got, want in zip(s2sad.vmap(s2sad.value_and_grad(of_numpy), target="cuda")(x),
                         s2sad.vmap(s2sad.value_and_grad(of_numpy, target="python"), target="python")(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)


def size(x):
    return abs(x)


def test_the_sign_of_nothing_and_of_no_number() -> None:
    batch = s2sad.vmap(s2sad.grad(size), target="cuda")
    np.testing.assert_array_equal(batch(np.array([-2.0, 0.0, 3.0, np.inf, np.nan])), [-1.0, 0.0, 1.0, 1.0, np.nan])


def test_only_what_a_device_has_is_called() -> None:
    batch = s2sad.vmap(s2sad.value_and_grad(of_numpy), target="cuda")
    called = set(re.findall(r"np\.(\w+)", ast.unparse(ast.parse(batch.source(np.ones(2))))))
    assert called <= {"float32"}, called


@pytest.mark.parametrize("mode", ["adjoint", "tangent"])
def test_integers_beside_single_precision_are_made_single(mode: str) -> None:
    text = s2sad.cuda.kernel(of_python).source(mode, "float32[::1], float32[::1], int64")
    for wanted in ("np.float32(2.0) ** x[i]", "math.log(np.float32(2.0))", "np.float32(k)"):
        assert wanted in text, text
    calls = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call) and "math." in ast.unparse(n.func)]
    assert calls
    assert not [ast.unparse(n) for n in calls for a in n.args if isinstance(a, ast.Constant)], text


def starts_from_integers(x, out):
    i = cuda.grid(1)
    if i < x.size:
        best, total = 0, 1
        for j in range(4):
            t = x[i] * j - j**2
            best = t * t if t > best else best
            total = total * t + best
        if best < 0:
            best = 0
        out[i] = best * total


@pytest.mark.parametrize("mode", ["adjoint", "tangent"])
def test_what_starts_from_an_integer_is_single_too(mode: str) -> None:
    text = s2sad.cuda.kernel(starts_from_integers).source(mode, "float32[::1], float32[::1]")
    assert "best = np.float32(0.0)" in text, text
    assert "total = np.float32(1.0)" in text, text
    assert "float64" not in text, text


def test_what_starts_from_an_integer_has_its_derivative() -> None:
    check(s2sad.cuda.kernel(starts_from_integers), 1, 2, np.array([1.3, 2.4]), np.zeros(2), rtol=1e-5)


def compared_with_integers(x, out, k):
    i = cuda.grid(1)
    if i < x.size:
        s = x[i]
        for j in range(k):
            if s < j + 1 and k >= x[i]:
                s = s * s + x[i]
            elif s != k:
                s = s * x[i]
        out[i] = s if s > i else s * s


@pytest.mark.parametrize("mode", ["adjoint", "tangent"])
def test_an_integer_compared_with_single_precision_is_single(mode: str) -> None:
    text = s2sad.cuda.kernel(compared_with_integers).source(mode, "float32[::1], float32[::1], int64")
    for wanted in ("s < np.float32(j + 1)", "np.float32(k) >= x[i]", "s != np.float32(k)"):
        assert wanted in text, text


def test_comparisons_with_integers_have_their_derivative() -> None:
    check(s2sad.cuda.kernel(compared_with_integers), 1, 4, np.array([0.3, 0.7, 1.2, 1.6]), np.zeros(4), 3, rtol=1e-5)


def uses_nextafter(x, out):
    i = cuda.grid(1)
    out[i] = x[i] * np.nextafter(x[i], 2.0)  # here


def uses_the_sum_of_exponentials(x, out):
    i = cuda.grid(1)
    out[i] = np.logaddexp(x[i], out[i])  # here


@pytest.mark.parametrize("function", [uses_nextafter, uses_the_sum_of_exponentials])
def test_what_no_device_has_is_refused(function) -> None:
    with pytest.raises(UnsupportedSyntaxError, match="cannot run on a device") as caught:
        s2sad.cuda.kernel(function).source("adjoint", "float64[::1], float64[::1]")
    assert caught.value.span is not None
    assert "# here" in caught.value.span.text()
    assert caught.value.why
