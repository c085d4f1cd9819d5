"""Loops of unknown length with no tape: windows of every size, in the emulator and as users launch them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import cuda

import s2sad
from s2sad.api.tape import run_again
from s2sad.errors import ArgumentError, Span, TapeLimitError, UnsupportedSyntaxError
from tests.cuda import warp
from tests.cuda.harness import check
from tests.cuda.kernels import CASES, numbers

RUN_AGAIN = ("pendulums", "single_thread", "strided_roots", "product_over_range", "newton", "adaptive_steps",
             "leaves_early", "double_buffer", "skips_some", "nested_dynamic")
assert warp.NAMES


@pytest.mark.parametrize("window", [1, 3, 64])
@pytest.mark.parametrize("name", RUN_AGAIN)
def test_every_window_gives_the_transpose(name: str, window: int) -> None:
    case = CASES[name]
    made = check(s2sad.cuda.kernel(recompute=window)(case.kernel.py_func), case.grid, case.block, *case.args())
    assert made.program.recomputes
    assert made.program.tape is None
    text = made.loaded.text
    assert f"cuda.local.array({window}, " in text
    assert "tape" not in text.replace("_tape", "")


def test_launched_as_users_do() -> None:
    a = numbers(4) + 4.0
    a_bar, out_bar = np.zeros(4), np.ones(4)
    kernel = s2sad.cuda.kernel(recompute=2)(CASES["newton"].kernel.py_func)
    kernel.adjoint[1, 4](a, a_bar, np.zeros(4), out_bar)
    np.testing.assert_allclose(a_bar, 0.5 / np.sqrt(a), rtol=1e-6)
    assert not out_bar.any()


def test_a_kernel_without_such_loops_is_as_before() -> None:
    kernel = s2sad.cuda.kernel(recompute=2)(CASES["diffuse"].kernel.py_func)
    types = "float64[::1], float64[::1]"
    assert kernel.source("adjoint", types) == CASES["diffuse"].kernel.source("adjoint", types)


@pytest.mark.parametrize("name", ["running_product", "block_sum", "wavefront"])
def test_what_cannot_be_computed_again_is_refused(name: str) -> None:
    case = CASES[name]
    kernel = s2sad.cuda.kernel(recompute=4)(case.kernel.py_func)
    args = case.args()
    with pytest.raises(UnsupportedSyntaxError, match="cannot be computed again") as caught:
        kernel.adjoint[case.grid, case.block](*(v for a in args for v in (a, np.zeros(np.shape(a) or 1))))
    assert caught.value.span is not None
    assert caught.value.span.function == name


def test_a_loop_that_came_out_differently_raises_and_leaves_no_number() -> None:
    def differs(*args: Any) -> None:
        args[-1][0] = 1

    bar = np.zeros(3)
    with pytest.raises(TapeLimitError, match="another number of steps"):
        run_again({"k": {(1, 1): differs}}, ("k",), (1, 1), (bar,), (bar,), "k", Span("f.py", 0, 0, 0, 0, "k"))
    assert np.isnan(bar).all()


@pytest.mark.parametrize("options", [{"recompute": 0}, {"recompute": -3}, {"recompute": 4, "max_steps": 4}])
def test_options_that_do_not_fit(options: dict[str, int]) -> None:
    with pytest.raises(ArgumentError, match="do not fit together"):
        s2sad.cuda.kernel(**options)


def test_the_window_before_is_filled_where_lists_differ_in_length() -> None:
    def unequal(x, out):  # two lists, one of which grows twice as fast
        i = cuda.grid(1)
        if i < x.size:
            a, b, k = x[i], 1.0, 0
            while a < 4.0 and k < 9:
                a = a * a + 0.4 * b
                if k % 2 == 0:
                    b = b * a * 0.3
                k += 1
            out[i] = a * b

    for window in (1, 2, 5):
        check(s2sad.cuda.kernel(recompute=window)(unequal), 1, 4, numbers(4), numbers(4, seed=1))
