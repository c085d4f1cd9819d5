"""What cannot be differentiated on a device says so, where the user wrote it, with a way out."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda

import s2sad
from s2sad.errors import AliasError, ArgumentError, NotDifferentiableError, S2SADError, UnsupportedSyntaxError


def reads_neighbour_in_place(u):
    i = cuda.grid(1)
    if 0 < i < u.size:
        u[i] = 0.5 * u[i - 1]  # here


def everyone_writes_one(u, out):
    i = cuda.grid(1)
    out[0] = u[i]  # here


def reads_what_others_add(u, out):
    i = cuda.grid(1)
    cuda.atomic.add(out, 0, u[i])
    u[i] = out[0]  # here


def scattered_update(u, order):
    i = cuda.grid(1)
    u[order[i]] *= 2.0  # here


def barrier_in_a_branch(u, out):
    s = cuda.shared.array(4, np.float64)
    t = cuda.threadIdx.x
    if t < 2:
        s[t] = u[t]
        cuda.syncthreads()  # here
    out[t] = s[t]


def barrier_after_leaving(u, out):
    i = cuda.grid(1)
    if i >= u.size:
        return
    cuda.syncthreads()  # here
    out[i] = u[i]


def allocates(u, out):
    i = cuda.grid(1)
    work = np.zeros(u.size)  # here
    work[i] = u[i]
    out[i] = work[i]


def solves(u, out):
    i = cuda.grid(1)
    x = np.linalg.solve(u, u)  # here
    out[i, i] = x[i, i]


def raises(u, out):
    i = cuda.grid(1)
    if u[i] < 0.0:
        raise ValueError("negative")  # here
    out[i] = u[i]


def grows(u, out):
    i = cuda.grid(1)
    found = []  # here
    for k in range(3):
        found.append(u[k])
    out[i] = found[0]


def fibonacci(x, n):
    if n < 2:
        return x
    return fibonacci(x, n - 1) + x * fibonacci(x, n - 2)  # here


def recurses(u, out, n):
    i = cuda.grid(1)
    out[i] = fibonacci(u[i], n)


def sums_an_array(u, out):
    i = cuda.grid(1)
    out[i] = np.sum(u[i])  # here


def unknown_intrinsic(u, out):
    i = cuda.grid(1)
    cuda.atomic.max(out, 0, u[i])  # here


def dynamic_shared(u, out):
    s = cuda.shared.array(0, np.float64)  # here
    out[0] = s[0]


def whole_rows(u, out):
    i = cuda.grid(1)
    out[i] = u[i]  # here


def adds_to_what_was_read(u, out):
    s = cuda.shared.array(1, np.float64)
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        s[0] = u[i]
    cuda.syncthreads()
    before = s[0] * s[0]
    cuda.syncthreads()
    cuda.atomic.add(s, 0, u[i])  # here
    cuda.syncthreads()
    out[i] = s[0] * before


def asks_what_was_there(u, out):
    i = cuda.grid(1)
    if cuda.atomic.add(out, 0, 1.0) == 0.0:  # here
        u[i] = u[i] ** 2


def takes_a_ticket(u, count, out):
    i = cuda.grid(1)
    ticket = cuda.atomic.add(count, 0, 1)  # here
    out[ticket] = u[i] ** 2  # here


VECTOR, MATRIX = "float64[::1]", "float64[:, ::1]"


@pytest.mark.parametrize(("function", "types", "error", "message"), [
    (reads_neighbour_in_place, VECTOR, AliasError, "another thread may write"),
    (everyone_writes_one, f"{VECTOR}, {VECTOR}", AliasError, "every thread writes"),
    (reads_what_others_add, f"{VECTOR}, {VECTOR}", AliasError, "other threads add"),
    (scattered_update, f"{VECTOR}, int64[::1]", AliasError, "not surely the thread's own"),
    (barrier_in_a_branch, f"{VECTOR}, {VECTOR}", UnsupportedSyntaxError, "not every thread"),
    (barrier_after_leaving, f"{VECTOR}, {VECTOR}", UnsupportedSyntaxError, "not every thread"),
    (allocates, f"{VECTOR}, {VECTOR}", UnsupportedSyntaxError, "new array"),
    (solves, f"{MATRIX}, {MATRIX}", UnsupportedSyntaxError, "new array"),
    (raises, f"{VECTOR}, {VECTOR}", UnsupportedSyntaxError, "exception"),
    (grows, f"{VECTOR}, {VECTOR}", UnsupportedSyntaxError, "list"),
    (recurses, f"{VECTOR}, {VECTOR}, int64", UnsupportedSyntaxError, "recursion"),
    (sums_an_array, f"{MATRIX}, {VECTOR}", UnsupportedSyntaxError, "of an array"),
    (unknown_intrinsic, f"{VECTOR}, {VECTOR}", UnsupportedSyntaxError, "atomic.max"),
    (dynamic_shared, f"{VECTOR}, {VECTOR}", UnsupportedSyntaxError, "constant"),
    (adds_to_what_was_read, f"{VECTOR}, {VECTOR}", UnsupportedSyntaxError, "its older value is needed"),
    (asks_what_was_there, f"{VECTOR}, {VECTOR}", UnsupportedSyntaxError, "`cuda.atomic.add` returns"),
    (takes_a_ticket, f"{VECTOR}, int64[::1], {VECTOR}", UnsupportedSyntaxError, "`cuda.atomic.add` returns"),
    (whole_rows, f"{MATRIX}, {MATRIX}", UnsupportedSyntaxError, "whole array"),
])  # fmt: skip
def test_refused_at_the_users_line(function, types, error, message) -> None:
    kernel = s2sad.cuda.kernel(function)
    with pytest.raises(error, match=message) as caught:
        kernel.source("adjoint", types)
    assert caught.value.span is not None
    assert "# here" in caught.value.span.text(), str(caught.value)
    assert caught.value.why


def all_do_all(x, out):
    if cuda.grid(1) < x.size:
        for k in range(x.size):
            out[k] = x[k] ** 2  # here


def block_without_leader(x, out):
    s = cuda.shared.array(4, np.float64)
    s[cuda.threadIdx.x] = x[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.blockIdx.x] = s[0] * s[1]  # here


def shared_by_all(x, out):
    s = cuda.shared.array(1, np.float64)
    s[0] = x[cuda.blockIdx.x] ** 2  # here
    cuda.syncthreads()
    out[cuda.grid(1)] = s[0]


def second_axis_unused(x, out):
    i, j = cuda.grid(2)
    if i < x.size and j < x.size:
        out[i] = x[i] ** 2  # here


def leader_by_return(x, out):
    s = cuda.shared.array(4, np.float64)
    s[cuda.threadIdx.x] = x[cuda.grid(1)] ** 2
    cuda.syncthreads()
    if cuda.threadIdx.x > 0:
        return
    out[cuda.blockIdx.x] = s[0] * s[1]


@pytest.mark.parametrize(("function", "grid", "block", "part"), [
    (all_do_all, 1, 4, "threadIdx.x"), (all_do_all, 4, 1, "blockIdx.x"), (block_without_leader, 1, 4, "threadIdx.x"),
    (shared_by_all, 1, 4, "threadIdx.x"), (second_axis_unused, (1, 1), (4, 2), "threadIdx.y"),
    (second_axis_unused, (1, 2), (4, 1), "blockIdx.y"),
])  # fmt: skip
def test_threads_that_write_one_element_alike_are_refused_at_launch(function, grid, block, part) -> None:
    arrays = [np.ones(4) for _ in range(4)]
    for mode in ("adjoint", "tangent"):
        with pytest.raises(AliasError, match=f"`cuda.{part}` all write") as caught:
            getattr(s2sad.cuda.kernel(function), mode)[grid, block](*arrays)
        assert caught.value.span is not None
        assert "# here" in caught.value.span.text()


@pytest.mark.parametrize(("function", "grid", "block"), [
    (all_do_all, 1, 1), (second_axis_unused, 1, 4), (leader_by_return, 1, 4), (shared_by_all, 4, 1),
])  # fmt: skip
def test_a_launch_in_which_no_two_threads_write_alike_is_run(function, grid, block) -> None:
    x_bar = np.zeros(4)
    s2sad.cuda.kernel(function).adjoint[grid, block](np.full(4, 2.0), x_bar, np.ones(4), np.ones(4))
    assert x_bar[:2].all()


def through_scratch(x, work, out):
    i = cuda.grid(1)
    if i < x.size:
        work[i] = x[i] ** 2  # here
        out[i] = np.sin(work[i]) * work[i]  # here


@pytest.mark.parametrize("mode", ["adjoint", "tangent"])
def test_an_array_that_derivatives_pass_through_needs_a_shadow(mode: str) -> None:
    kernel = s2sad.cuda.kernel(argnums=("x", "out"))(through_scratch)
    with pytest.raises(UnsupportedSyntaxError, match="`work` is written and used again, and has no shadow") as caught:
        kernel.source(mode, f"{VECTOR}, {VECTOR}, {VECTOR}")
    assert "# here" in caught.value.span.text()
    device = s2sad.differentiate(target="cuda")(scaled_in_place).device(f"float64, {VECTOR}")
    with pytest.raises(UnsupportedSyntaxError, match="`w` is written and used again") as caught:
        device.source("jvp" if mode == "tangent" else "grad")
    assert "# here" in caught.value.span.text()


def scaled_in_place(x, w):
    w[0] = w[0] * x  # here
    return w[0] * w[1]  # here


@pytest.mark.parametrize("mode", ["grad", "value_and_grad", "vjp"])
def test_a_device_function_does_not_write_into_what_it_is_differentiated_by(mode: str) -> None:
    functions = s2sad.differentiate(target="cuda", argnums=("x", "w"))(scaled_in_place).device(f"float64, {VECTOR}")
    with pytest.raises(AliasError, match="`w` is written into") as caught:
        functions.source(mode)
    assert "# here" in caught.value.span.text()
    assert "w_dot[0] =" in functions.source("jvp")


def test_an_array_that_is_only_written_needs_none() -> None:
    text = s2sad.cuda.kernel(argnums="u")(writes_only).source("adjoint", f"{VECTOR}, {VECTOR}")
    assert "out_bar" not in text


def writes_only(u, out):
    i = cuda.grid(1)
    if i < u.size:
        out[i] = u[i] ** 2


def test_blocks_that_do_the_same_work_are_refused() -> None:
    def own_thread(x):
        x[cuda.threadIdx.x] *= x[cuda.threadIdx.x]

    def own_block(x):
        x[cuda.blockIdx.x] *= x[cuda.blockIdx.x]

    with pytest.raises(ArgumentError, match=r"never asks for `cuda.blockIdx.x`, but its grid is \(2,\)"):
        s2sad.cuda.kernel(own_thread).adjoint[2, 4](np.ones(4), np.ones(4))
    with pytest.raises(ArgumentError, match=r"never asks for `cuda.threadIdx.x`, but its block is \(2,\)"):
        s2sad.cuda.kernel(own_block).adjoint[4, 2](np.ones(4), np.ones(4))
    for function, grid, block in ((own_thread, 1, 4), (own_block, 4, 1)):
        x_bar = np.ones(4)
        s2sad.cuda.kernel(function).adjoint[grid, block](np.full(4, 3.0), x_bar)
        np.testing.assert_array_equal(x_bar, np.full(4, 6.0))


def test_a_kernel_returns_nothing() -> None:
    def returns(u):
        return u[cuda.grid(1)]

    with pytest.raises(NotDifferentiableError, match="returns a value"):
        s2sad.cuda.kernel(returns).source("adjoint", VECTOR)


def test_thread_indices_mean_nothing_on_the_host() -> None:
    def place(x):
        return x * cuda.grid(1)

    with pytest.raises(S2SADError, match="for kernels and device functions only"):
        s2sad.grad(place, target="python")(1.0)
