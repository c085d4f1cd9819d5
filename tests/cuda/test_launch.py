"""Launches as users make them, in Numba's simulator: arguments, checks, tapes, tangents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import cuda

import s2sad
from s2sad.backends import cuda as backend
from s2sad.errors import AliasError, ArgumentError, TapeLimitError
from tests.cuda import warp  # registers its cases
from tests.cuda.kernels import CASES, numbers

assert warp.NAMES


def test_adjoint_adds_to_what_is_read_and_takes_from_what_is_overwritten() -> None:
    x, y = numbers(7), numbers(7, seed=1)
    x_bar, y_bar, k_bar = np.ones(7), np.full(7, 2.0), np.array([5.0])
    CASES["scale"].kernel.adjoint[2, 4](x, x_bar, y, y_bar, 1.3, k_bar)
    np.testing.assert_allclose(x_bar, 1.0 + 2.0 * 2.6 * x, rtol=1e-14)
    np.testing.assert_allclose(k_bar, 5.0 + 2.0 * np.sum(x**2), rtol=1e-14)
    assert not y_bar.any()


def test_none_leaves_an_argument_out() -> None:
    x, y = numbers(7), numbers(7, seed=1)
    x_bar = np.zeros(7)
    CASES["scale"].kernel.adjoint[2, 4](x, x_bar, y, np.ones(7), 1.3, None)
    np.testing.assert_allclose(x_bar, 2.6 * x, rtol=1e-14)


def test_primal_and_tangent() -> None:
    kernel = CASES["scale"].kernel
    x, y, x_dot, y_dot = numbers(7), np.zeros(7), numbers(7, seed=2), np.zeros(7)
    kernel[2, 4](x, y, 1.3)
    np.testing.assert_allclose(y, 1.3 * x**2, rtol=1e-14)
    again = np.zeros(7)
    kernel.tangent[2, 4](x, x_dot, again, y_dot, 1.3, 0.5)
    np.testing.assert_array_equal(again, y)
    np.testing.assert_allclose(y_dot, 2.6 * x * x_dot + 0.5 * x**2, rtol=1e-14)


@pytest.mark.parametrize("name", ["bodies", "relax", "local_array", "newton", "strided", "transposed_tile"])
def test_tangent_and_adjoint_agree(name: str) -> None:
    case = CASES[name]
    args = case.args()
    dots: list[Any] = [np.random.default_rng(i).uniform(-1, 1, np.shape(a)) for i, a in enumerate(args)]
    bars: list[Any] = [np.random.default_rng(9 + i).uniform(-1, 1, np.shape(a)) for i, a in enumerate(args)]
    before, seeds = [d.copy() for d in dots], [b.copy() for b in bars]
    fresh = [np.array(a) for a in args]
    case.kernel.tangent[case.grid, case.block](*(v for pair in zip(fresh, dots, strict=True) for v in pair))
    given = [np.array(a) for a in args]
    case.kernel.adjoint[case.grid, case.block](*(v for pair in zip(given, bars, strict=True) for v in pair))
    forward = sum(float(np.sum(d * b)) for d, b in zip(dots, seeds, strict=True))
    reverse = sum(float(np.sum(d * b)) for d, b in zip(before, bars, strict=True))
    np.testing.assert_allclose(forward, reverse, rtol=1e-10)
    for now, then in zip(given, args, strict=True):
        np.testing.assert_array_equal(now, then)


def test_a_host_loop_over_launches() -> None:
    kernel, steps, n = CASES["diffuse"].kernel, 3, 8
    states = np.zeros((steps + 1, n))
    states[0] = numbers(n)
    for t in range(steps):
        kernel[2, 4](states[t], states[t + 1])
    bars = np.zeros_like(states)
    bars[steps] = 1.0
    for t in reversed(range(steps)):
        kernel.adjoint[2, 4](states[t], bars[t], states[t + 1], bars[t + 1])
    step = np.zeros((n, n))
    for i in range(1, n - 1):
        step[i, i - 1 : i + 2] = 0.1, 0.8, 0.1
    np.testing.assert_allclose(bars[0], np.linalg.matrix_power(step.T, steps) @ np.ones(n), rtol=1e-13)


class OnDevice:
    """An array that only says where it is, as CuPy's and torch's do."""

    def __init__(self, values: Any) -> None:
        self.values = values

    shape = property(lambda self: self.values.shape)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        held = self.values
        return {"data": (held.ctypes.data, False), "typestr": held.dtype.str, "shape": held.shape,
                "strides": held.strides, "version": 3}


@pytest.mark.skipif(not backend.is_simulated(), reason="tests/cuda/test_gpu.py has device arrays of a GPU")
def test_device_arrays_of_the_simulator() -> None:
    for name in ("diffuse", "newton", "running_product"):  # with a gather, with a tape, with a copy for the counting
        case = CASES[name]
        here = [np.array(a) for a in case.args()]
        bars = [np.ones_like(a) for a in here]
        there = [cuda.to_device(a) for a in here]
        there_bars = [cuda.to_device(b) for b in bars]
        case.kernel.adjoint[case.grid, case.block](*(v for pair in zip(here, bars, strict=True) for v in pair))
        case.kernel.adjoint[case.grid, case.block](*(v for pair in zip(there, there_bars, strict=True) for v in pair))
        for got, want in zip(there_bars, bars, strict=True):
            np.testing.assert_array_equal(got.copy_to_host(), want)


def test_fastmath_is_that_of_the_users_jit() -> None:
    plain = CASES["diffuse"].kernel.py_func
    assert s2sad.cuda.kernel(cuda.jit(fastmath=True)(plain)).fastmath
    assert not s2sad.cuda.kernel(cuda.jit(plain)).fastmath
    assert s2sad.cuda.kernel(fastmath=True)(plain).fastmath


def test_types_of_device_arrays() -> None:
    from s2sad.api.launch import type_of_argument
    from s2sad.ir.types import Array

    for values, layout in ((np.zeros((2, 3)), "C"), (np.zeros((2, 3), order="F"), "F"), (np.zeros((4, 3))[::2], "A")):
        kind = type_of_argument(OnDevice(values), "a")
        assert isinstance(kind, Array)
        assert (kind.dtype, len(kind.dims), kind.layout) == ("float64", 2, layout)


def test_overlapping_device_arrays_are_refused() -> None:
    whole = np.zeros(9)
    with pytest.raises(AliasError, match="overlap"):
        CASES["diffuse"].kernel.adjoint[2, 4](
            OnDevice(whole[:8]), OnDevice(np.zeros(8)), OnDevice(np.zeros(8)), OnDevice(whole[1:]))


@pytest.mark.parametrize(("args", "message"), [
    ((np.zeros(8), np.zeros(8), np.zeros(8)), "was given 3 arguments"),
    ((np.zeros(8), np.zeros(7), np.zeros(8), np.zeros(8)), r"`u_bar` must be an array of float64 of shape \(8,\)"),
    ((np.zeros(8), np.zeros(8, np.float32), np.zeros(8), np.zeros(8)), "`u_bar` must be an array of float64"),
    (("u", None, np.zeros(8), None), "`u` is a str"),
])  # fmt: skip
def test_arguments_that_do_not_fit(args: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        CASES["diffuse"].kernel.adjoint[2, 4](*args)


def test_a_launch_has_a_grid_and_a_block() -> None:
    for configuration in (1, (1,), (1, 2, 0, 0, 0)):
        with pytest.raises(ArgumentError, match="is no launch"):
            CASES["diffuse"].kernel.adjoint[configuration]


def test_memory_under_two_names_is_refused() -> None:
    u = np.zeros(8)
    with pytest.raises(AliasError, match="overlap"):
        CASES["diffuse"].kernel.adjoint[2, 4](u, np.zeros(8), u, np.zeros(8))
    bar = np.zeros(8)
    with pytest.raises(AliasError, match="overlap"):
        CASES["diffuse"].kernel.adjoint[2, 4](u, bar, np.zeros(8), bar)


def test_threads_that_the_kernel_cannot_tell_apart_are_refused() -> None:
    with pytest.raises(ArgumentError, match="1 axis"):
        CASES["diffuse"].kernel.adjoint[2, (2, 2)](*(np.zeros(8) for _ in range(4)))


def test_an_overflow_raises_and_leaves_no_number() -> None:
    kernel = s2sad.cuda.kernel(max_steps=2)(CASES["newton"].kernel.py_func)
    a = numbers(4) + 4.0
    a_bar = np.zeros(4)
    with pytest.raises(TapeLimitError, match=r"took (\d+) steps, and the tape holds 2"):
        kernel.adjoint[1, 4](a, a_bar, np.zeros(4), np.ones(4))
    assert np.isnan(a_bar).all()
    enough = s2sad.cuda.kernel(max_steps=50)(CASES["newton"].kernel.py_func)
    a_bar = np.zeros(4)
    enough.adjoint[1, 4](a, a_bar, np.zeros(4), np.ones(4))
    np.testing.assert_allclose(a_bar, 0.5 / np.sqrt(a), rtol=1e-6)


def test_the_counting_launch_leaves_arguments_alone() -> None:
    x, out = numbers(3, 4), numbers(3, seed=1)
    args = (x, np.zeros_like(x), out, np.ones(3))
    before = x.copy(), out.copy()
    CASES["running_product"].kernel.adjoint[1, 3](*args)
    np.testing.assert_array_equal(args[0], before[0])
    np.testing.assert_array_equal(args[2], before[1])


def test_argnums_chooses_the_shadows() -> None:
    kernel = s2sad.cuda.kernel(argnums=("x", "y"))(CASES["scale"].kernel.py_func)
    x, x_bar = numbers(7), np.zeros(7)
    kernel.adjoint[2, 4](x, x_bar, np.zeros(7), np.ones(7), 1.3)
    np.testing.assert_allclose(x_bar, 2.6 * x, rtol=1e-14)
    with pytest.raises(ArgumentError, match="no argument 'z'"):
        s2sad.cuda.kernel(argnums="z")(CASES["scale"].kernel.py_func)


def test_a_jitted_kernel_is_taken_as_it_is() -> None:
    kernel = s2sad.cuda.kernel(cuda.jit(CASES["scale"].kernel.py_func))
    x, x_bar = numbers(7), np.zeros(7)
    kernel.adjoint[2, 4](x, x_bar, np.zeros(7), np.ones(7), 1.3, np.zeros(1))
    np.testing.assert_allclose(x_bar, 2.6 * x, rtol=1e-14)


def test_cuda_is_imported_only_when_asked_for() -> None:
    import subprocess
    import sys

    code = "import s2sad, sys; s2sad.grad; s2sad.differentiate; assert 'numba.cuda' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
