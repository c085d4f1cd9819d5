"""Every adjoint kernel against finite differences of its primal, run by the emulator, which sees every race."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2sad
from tests.cuda import blocks, warp
from tests.cuda.harness import adjoint, check
from tests.cuda.kernels import CASES


@pytest.mark.parametrize("name", list(CASES))
def test_adjoint_is_the_transpose_and_free_of_races(name: str) -> None:
    case = CASES[name]
    check(case.kernel, case.grid, case.block, *case.args())


def bars_of(name: str, *seeds: Any) -> tuple[list[Any], list[Any]]:
    """Return the arguments and the shadows after the adjoint, each shadow starting from its seed."""
    case = CASES[name]
    args = list(case.args())
    bars = [None if s is None else np.array(s, float) for s in seeds]
    adjoint(case.kernel, case.grid, case.block, args, bars)
    return args, bars


def test_product_over_a_dynamic_range() -> None:
    (x, n, _), (x_bar, _, out_bar) = bars_of("product_over_range", np.zeros(4), None, np.ones(4))
    np.testing.assert_allclose(x_bar, n * x ** (n - 1), rtol=1e-14)
    assert not out_bar.any()


def test_newton_iteration() -> None:
    (a, _), (a_bar, _) = bars_of("newton", np.zeros(4), np.ones(4))
    np.testing.assert_allclose(a_bar, 0.5 / np.sqrt(a), rtol=1e-6)


def test_product_in_place() -> None:
    (x, y), (x_bar, y_bar) = bars_of("times_in_place", np.zeros(4), np.full(4, 2.0))
    np.testing.assert_allclose(x_bar, 2.0 * y, rtol=1e-15)
    np.testing.assert_allclose(y_bar, 2.0 * x, rtol=1e-15)


def test_read_then_overwritten() -> None:
    (x, _), (x_bar, _) = bars_of("read_then_overwrite", np.zeros(4), np.ones(4))
    np.testing.assert_allclose(x_bar, 6 * x**5, rtol=1e-13)  # out = x**6, and the new x has no seed


def test_running_product() -> None:
    (x, out), (x_bar, out_bar) = bars_of("running_product", np.zeros((3, 4)), np.ones(3))
    whole = np.prod(x, axis=1)
    np.testing.assert_allclose(out_bar, whole, rtol=1e-13)
    np.testing.assert_allclose(x_bar, (out * whole)[:, None] / x, rtol=1e-13)


def test_a_leaders_adjoint_is_the_sum_over_its_block() -> None:
    (x, _), (x_bar, _) = bars_of("leader", np.zeros(8), np.ones(8))
    first = np.repeat(x[::4], 4)
    want = first**2
    want[::4] += 2.0 * x[::4] * x.reshape(2, 4).sum(axis=1)
    np.testing.assert_allclose(x_bar, want, rtol=1e-14)


def test_a_product_of_tiles() -> None:
    (a, b, _), (a_bar, b_bar, _) = bars_of("tiled_product", np.zeros((4, 4)), np.zeros((4, 4)), np.ones((4, 4)))
    np.testing.assert_allclose(a_bar, 2.0 * (a @ b) @ b.T, rtol=1e-13)
    np.testing.assert_allclose(b_bar, a.T @ (2.0 * (a @ b)), rtol=1e-13)


def test_kernels_of_blocks_are_all_there() -> None:
    assert set(blocks.NAMES) <= set(CASES)


def test_the_ten_programs_are_all_there() -> None:
    assert len(warp.NAMES) == 10
    assert set(warp.NAMES) <= set(CASES)


@pytest.mark.parametrize(("name", "how"), [
    ("scale", {"x_bar[i]": "plain addition", "k_bar[0]": "block sum"}),
    ("diffuse", {"u_bar[i - 1]": "gathered", "u_bar[i + 1]": "gathered"}),
    ("bodies", {"x_bar[i]": "gathered", "x_bar[j]": "gathered, roles exchanged"}),
    ("strided", {"y_bar[i]": "plain addition", "w_bar[0]": "block sum"}),
    ("chosen_element", {"w_bar[k]": "block sum", "w_bar[k + 1]": "block sum"}),
    ("permuted", {"x_bar[order[i]]": "atomic addition"}),
    ("matmul", {"a_bar[i, k]": "atomic addition"}),
    ("interleaved", {"x_bar[2 * i]": "plain addition"}),
    ("pooled", {"x_bar[2 * i]": "plain addition", "x_bar[2 * i + q]": "plain addition"}),
    ("planets", {"p_bar[i, 0]": "gathered", "p_bar[j, 1]": "gathered, roles exchanged", "m_bar[j]": "gathered"}),
    ("column_that_is_not_there", {"p_bar[j, 1]": "gathered, roles exchanged"}),
    ("every_second", {"x_bar[j]": "gathered, roles exchanged", "x_bar[j + 1]": "gathered, roles exchanged"}),
    ("box_filter", {"u_bar[i + q]": "gathered"}),
    ("padded_convolution", {"u_bar[k]": "gathered", "w_bar[q]": "block sums"}),
    ("image_convolution", {"u_bar[i + a, j + b]": "gathered", "w_bar[a, b]": "block sums"}),
    ("around_and_back", {"u_bar[i + q]": "atomic addition"}),
    ("clusters", {"p_bar[i, 0]": "gathered", "p_bar[j, 2]": "gathered, roles exchanged", "m_bar[j]": "gathered"}),
    ("inner_points", {"u_bar[i - 1]": "gathered", "u_bar[i]": "gathered"}),
    ("inner_cells", {"u_bar[i, j - 2]": "gathered", "u_bar[i, j]": "gathered"}),
    ("two_beginnings", {"u_bar[i]": "atomic addition", "u_bar[k]": "atomic addition"}),
    ("two_loops", {"u_bar[i]": "atomic addition", "u_bar[k + 2]": "atomic addition"}),
])  # fmt: skip
def test_the_plan_says_how_and_why(name: str, how: dict[str, str]) -> None:
    case = CASES[name]
    made = adjoint(case.kernel, case.grid, case.block, list(case.args()),
                   [np.zeros(np.shape(a) or 1) if not isinstance(a, int) else None for a in case.args()])
    said = {line.place: line.how for line in made.program.plan}
    for place, word in how.items():
        assert said[place].startswith(word), case.kernel.plan
    assert all(line.why in case.kernel.plan for line in made.program.plan)


def test_gathers_and_exchanges_need_no_atomics() -> None:
    for name in ("diffuse", "flux", "bodies", "interleaved", "planets", "every_second", "box_filter", "inner_points",
                 "pooled"):  # fmt: skip
        case = CASES[name]
        given = [a for a in case.args() if np.ndim(a)]
        types = ", ".join(f"float64[{':, ' * (np.ndim(a) - 1)}::1]" for a in given)
        text = case.kernel.source("adjoint", types + (", int64" if name == "flux" else ""))
        assert "atomic" not in text, text


def test_a_float32_kernel_has_no_float64_literal() -> None:
    import ast

    text = CASES["flux"].kernel.source("adjoint", "float32[:, ::1], float32[:, ::1], float32")
    bare = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.BinOp | ast.Assign | ast.AugAssign)
            for c in ast.iter_child_nodes(n) if isinstance(c, ast.Constant) and isinstance(c.value, float)]
    assert not bare, text
    assert "np.float32(" in text


def test_an_index_that_may_be_negative_is_not_gathered() -> None:
    from numba import cuda

    def periodic(u, out):
        i = cuda.grid(1)
        if i < u.size:
            out[i] = u[i] + u[i - 1]  # at 0: the last element

    text = s2sad.cuda.kernel(periodic).source("adjoint", "float64[::1], float64[::1]")
    assert "cuda.atomic.add(u_bar, i - 1" in text


@pytest.mark.parametrize(("guard", "how"), [
    ("i <= u.size", "atomic"), ("0 < i <= u.size", "plain"), ("i >= 1 and i < out.size", "plain"), ("i < 1", "atomic"),
])  # fmt: skip
def test_reads_of_one_neighbour_are_own_unless_they_may_wrap(guard: str, how: str, tmp_path: Any) -> None:
    import importlib.util

    path = tmp_path / "faces.py"  # at 0 the last element is read, which the last thread reads too
    path.write_text("from numba import cuda\n\n\ndef faces(u, out):\n    i = cuda.grid(1)\n"
                    f"    if {guard}:\n        out[i] = u[i - 1] ** 2\n")  # fmt: skip
    spec: Any = importlib.util.spec_from_file_location(f"faces_{abs(hash(guard))}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = s2sad.cuda.kernel(module.faces)
    assert ("atomic" in kernel.source("adjoint", "float64[::1], float64[::1]")) == (how == "atomic")


def test_leaving_early_rules_out_a_negative_index_too() -> None:
    from numba import cuda

    def faces(u, out):
        i = cuda.grid(1)
        if i == 7 or i < 1:
            return
        out[i] = u[i - 1] ** 2

    assert "atomic" not in s2sad.cuda.kernel(faces).source("adjoint", "float64[::1], float64[::1]")


def test_a_number_that_nothing_comes_of_is_not_summed() -> None:
    text = CASES["chosen_element"].kernel.source("adjoint", "float64[::1], float64[::1], int64, float64[::1], float64")
    assert text.count("syncthreads") == 4
    assert "unused_bar_of_block" not in text


def test_what_is_saved_together_is_counted_once() -> None:
    text = CASES["wavefront"].kernel.source("adjoint", "float64[:, :, ::1], float64, float64[:, :, ::1]")
    first, _, _ = text.partition("def wavefront_steps")
    assert first.count("_count = 0") == 1, first
    assert first.count("_count -= 1") == 1, first
    text = CASES["pendulums"].kernel.source("adjoint", "float64[::1], float64[::1]")
    first, _, _ = text.partition("def pendulums_steps")
    assert first.count("_count = 0") == first.count("_count -= 1") - 1 == 4, first  # two branches save in one tape


def test_arrays_that_are_met_by_one_way_are_gathered_in_one_kernel() -> None:
    kernel = CASES["arrays_of_other_lengths"].kernel
    types = ", ".join(["float64[::1]"] * 4)
    names = kernel.kernels("adjoint", types)
    assert names == ("arrays_of_other_lengths_adjoint_x_y_z", "arrays_of_other_lengths_adjoint")
    text, _, _ = kernel.source("adjoint", types).partition("def arrays_of_other_lengths_adjoint(")
    assert text.count("for other in range(") == 1, text
    assert "each element of `x_bar`, `y_bar` and `z_bar` gathers its own" in " ".join(text.split())


def test_a_short_loop_is_written_out_where_that_saves_a_tape() -> None:
    text = CASES["clusters"].kernel.source("adjoint", "float64[:, ::1], float64[::1], float64[::1]")
    assert "tape" not in text, text
    assert "p_2_sum" in text
    text = CASES["matmul"].kernel.source("adjoint", ", ".join(["float64[:, ::1]"] * 3))
    assert "for k in range(a.shape[1])" in text, text
    text = CASES["rows"].kernel.source("adjoint", "float64[:, ::1], float64[:, ::1]")
    assert "for k in range(row.shape[0])" in text, text
