"""What cannot be differentiated on a device says so, where the user wrote it, with a way out."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda

import s2sad
from s2sad.errors import AliasError, NotDifferentiableError, S2SADError, UnsupportedSyntaxError


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
    (whole_rows, f"{MATRIX}, {MATRIX}", UnsupportedSyntaxError, "whole array"),
])  # fmt: skip
def test_refused_at_the_users_line(function, types, error, message) -> None:
    kernel = s2sad.cuda.kernel(function)
    with pytest.raises(error, match=message) as caught:
        kernel.source("adjoint", types)
    assert caught.value.span is not None
    assert "# here" in caught.value.span.text(), str(caught.value)
    assert caught.value.why


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
