"""Functions that call themselves, directly or through others: right, and as cheap as their primal is."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import s2sad


def haar(x):
    n = x.shape[0]
    if n == 1:
        return x * 1.0
    half = haar((x[::2] + x[1::2]) * x[::2])
    half *= 0.5
    out = np.empty(n)
    out[: n // 2] = np.sin(half)
    out[n // 2 :] = x[::2] - x[1::2] * half
    out[0] = out[0] * out[n - 1]
    return out


def use_haar(x):
    y = haar(x)
    y[0] = y[0] * 3.0
    y *= y
    return np.sum(y * y)


def in_loop(x, k):
    total = 0.0
    for i in range(x.shape[0]):
        r = power(x[i], k)
        total += r * x[i]
        total = math.sin(total)
    return total


def power(x, k):
    if k == 0:
        return 1.0
    if k % 2 == 0:
        h = power(x, k // 2)
        return h * h
    return x * power(x, k - 1)


def multigrid(u, f, level):
    for _ in range(2):
        for i in range(1, u.shape[0] - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1] + f[i] * u[i] * 0.1)
    if level > 0:
        n = (u.shape[0] - 1) // 2 + 1
        r = np.zeros(n)
        for i in range(1, n - 1):
            r[i] = f[2 * i] - 2.0 * u[2 * i] + u[2 * i - 1] + u[2 * i + 1]
        e = np.zeros(n)
        multigrid(e, r, level - 1)
        for i in range(1, n - 1):
            u[2 * i] += math.tanh(e[i])
    return np.sum(u * u)


def whole_multigrid(f):
    u = 0.3 * f
    return multigrid(u, f, 2)


def simpson(a, b, c, depth):
    m = 0.5 * (a + b)
    whole = (b - a) * (g(a, c) + 4.0 * g(m, c) + g(b, c)) / 6.0
    if depth == 0 or abs(whole) < 1e-3:
        return whole
    left = simpson(a, m, c, depth - 1)
    right = simpson(m, b, c, depth - 1)
    return left + right


def g(t, c):
    return math.exp(-c * t) * math.sin(3.0 * t * c)


def newton(x, a, n):
    if n == 0:
        return x
    y = x
    while abs(y * y - a) > 0.5:
        y = 0.5 * (y + a / y)
    return newton(0.5 * (y + a / y), a * 1.01, n - 1) + y * 0.1


def pairs(x, i, acc):
    if i == x.shape[0]:
        return acc, acc * acc
    s, t = pairs(x, i + 1, acc * x[i] + 1.0)
    return math.sin(s) + t * 0.1, s * x[i]


def use_pairs(x):
    s, t = pairs(x, 0, 0.5)
    return s * t


def ack(x, m, n):
    if m == 0:
        return x * (n + 1)
    if n == 0:
        return ack(x * 0.9, m - 1, 1)
    inner = ack(x, m, n - 1)
    return ack(math.sin(x * inner), m - 1, 1) + inner * 0.1


def views(x, n):
    if n == 0:
        return x[0] * x[1]
    row = x[1:]
    y = x * 1.0
    y[0] = views(row, n - 1) * y[1]
    z = y[:2]
    z[1] = math.sin(z[0]) * z[1]
    return y[0] * y[1] + z[1]


def fft_like(x):
    n = x.shape[0]
    if n == 1:
        return x
    e = fft_like(x[::2])
    o = fft_like(x[1::2])
    t = np.cos(o) * e
    return np.concatenate((e + t, e - t * o))


def use_fft(x):
    return np.sum(fft_like(x) ** 2)


def swaps(x, y, n):
    if n == 0:
        return x
    return swaps(y * x, x + y, n - 1) + swaps(y, x, n - 1)


def raises(x, n):
    if n < 0:
        raise ValueError("negative")
    if n == 0:
        return x
    return math.sin(raises(x * x, n - 1)) + raises(x, n - 1)


def depth_by_value(x, n):
    if x > 100.0 or n > 20:
        return math.log(x)
    return depth_by_value(x * x + 1.0, n + 1) * x


def even(x, y, n):
    if n == 0:
        return x
    return odd(x, y, n - 1) * 2.0
def odd(x, y, n):
    if n <= 1:
        return y
    return math.sin(even(y, x, n - 1))
def first(x, y, z, n):
    if n == 0:
        return x * 1.0
    return second(y, z, x, n - 1)
def second(x, y, z, n):
    if n == 0:
        return 2.0 * z
    return first(y, x, z, n - 1) + second(z, x, y, n - 1)


def chain(x, n):
    if n == 0:
        return x
    return math.sin(chain(x, n - 1) * x)


def tree(x, low, high):
    if high - low == 1:
        return x[low]
    middle = (low + high) // 2
    return math.sin(tree(x, low, middle)) * tree(x, middle, high)


def speaking(x, n):
    print(n)
    if n == 0:
        return x
    return math.sin(speaking(x, n - 1)) * x


def writing(a, n):
    if n == 0:
        return a[1]
    x = a[0] * writing(a, n - 1)  # `a[0]` is read before the call writes it
    a[0] = x + 1.0
    return x


def use_writing(x):
    a = x * 1.0
    return writing(a, 3) + a[0]


def here(a, n):
    if n == 0:
        return a[1]
    x = a[0] * there(a, n - 1)
    a[0] = x + 1.0
    return x


def there(a, n):
    if n == 0:
        return a[1]
    y = a[1] + here(a, n - 1)
    a[1] = y * 0.5
    return y * a[0]


def use_here(x):
    a = x * 1.0
    return here(a, 4) + a[0] + a[1]


def taking_turns(x, n):
    if n == 0:
        return x[0] * x[1]
    a = x * 1.0
    b = x * 2.0
    for _ in range(2):
        a[0] = math.sin(a[0] * b[1]) * taking_turns(x, n - 1)  # `a` may be `b` to what brings values back
        b = a
        b[1] = b[1] * a[0]
        a = b * 1.5
    return np.sum(a * b)


EIGHT = np.array([0.3, -1.2, 0.7, 1.1, 0.2, 0.9, -0.4, 0.5])
PROGRAMS = [
    (use_haar, (EIGHT,)), (in_loop, (EIGHT, 5)), (power, (1.3, 13)), (whole_multigrid, (np.append(EIGHT, 0.1),)),
    (simpson, (0.0, 1.0, 0.8, 4)), (newton, (1.7, 3.0, 3)), (use_pairs, (EIGHT,)), (ack, (0.7, 2, 2)),
    (views, (EIGHT, 4)), (use_fft, (EIGHT,)), (swaps, (0.7, 0.4, 4)), (raises, (0.8, 4)),
    (depth_by_value, (1.3, 0)), (even, (0.5, 0.7, 4)), (even, (0.5, 0.7, 5)), (first, (0.5, 0.7, 0.9, 4)),
    (chain, (0.5, 4)), (tree, (EIGHT, 1, 8)), (use_writing, (EIGHT[:2] + 1.0,)), (use_here, (EIGHT[:2] + 1.0,)),
]  # fmt: skip
IDS = [f"{fun.__name__}-{k}" for k, (fun, _) in enumerate(PROGRAMS)]


def moved(args):
    return tuple(i for i, value in enumerate(args) if isinstance(value, float | np.ndarray))


@pytest.mark.parametrize(("fun", "args"), PROGRAMS, ids=IDS)
def test_both_modes_agree_with_differences(fun, args):
    wrt = moved(args)
    before = [np.copy(a) for a in args]
    value, found = s2sad.value_and_grad(fun, argnums=wrt, target="python")(*args)
    forward = s2sad.jacfwd(fun, argnums=wrt, target="python")(*args)
    for one, other in zip(args, before, strict=True):
        np.testing.assert_array_equal(one, other)
    assert value == pytest.approx(fun(*(a.copy() if isinstance(a, np.ndarray) else a for a in args)), rel=1e-14)
    for at, got, pushed in zip(wrt, found, forward, strict=True):
        np.testing.assert_allclose(got, pushed, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(got, differences(fun, args, at), rtol=1e-6, atol=1e-6)


def differences(fun, args, at, step=1e-6):
    base = np.asarray(args[at])
    found = np.empty(base.shape)
    for k in range(base.size):
        ends = []
        for sign in (1, -1):
            changed = np.array(base, dtype=float)
            changed.flat[k] += sign * step
            given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
            given[at] = changed if base.shape else float(changed)
            ends.append(fun(*given))
        found.flat[k] = (ends[0] - ends[1]) / (2 * step)
    return found


@pytest.mark.compiled
@pytest.mark.parametrize(("fun", "args"), PROGRAMS, ids=IDS)
def test_second_derivatives_agree_whatever_the_order_of_modes(fun, args):
    at = moved(args)[0]
    options = {"argnums": at, "target": "python"}
    found = s2sad.hessian(fun, **options)(*args)
    for other in (
        s2sad.jacrev(s2sad.grad(fun, **options), **options),
        s2sad.jacfwd(s2sad.jacfwd(fun, **options), **options),
        s2sad.jacrev(s2sad.jacfwd(fun, **options), **options),
    ):
        np.testing.assert_allclose(other(*args), found, rtol=1e-10, atol=1e-10)


@pytest.mark.compiled
@pytest.mark.parametrize(("fun", "args"), PROGRAMS, ids=IDS)
def test_compiled_it_is_what_the_interpreter_gives(fun, args):
    wrt = moved(args)
    value, found = s2sad.value_and_grad(fun, argnums=wrt)(*args)
    same, wanted = s2sad.value_and_grad(fun, argnums=wrt, target="python")(*args)
    assert value == pytest.approx(same, rel=1e-12)
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)


def test_what_only_one_function_can_bring_back_is_still_differentiated():
    x = EIGHT[2:5] * 0.5
    found = s2sad.grad(taking_turns, target="python")(x, 2)
    np.testing.assert_allclose(found, s2sad.jacfwd(taking_turns, target="python")(x, 2), rtol=1e-11)
    np.testing.assert_allclose(found, differences(taking_turns, (x, 2), 0), rtol=1e-6, atol=1e-7)


def calls_of(gradient, *args):
    """Count the calls of functions written in Python within one call of a gradient."""
    gradient(*args)
    count = 0

    def seen(frame, event, _):
        nonlocal count
        count += event == "call" and frame.f_code.co_name.startswith(("chain", "tree", "in_loop", "power"))

    sys.setprofile(seen)
    try:
        gradient(*args)
    finally:
        sys.setprofile(None)
    return count


def test_the_adjoint_of_a_recursion_takes_as_many_calls_as_the_primal():
    gradient = s2sad.grad(chain, target="python")
    short, long = calls_of(gradient, 0.5, 20), calls_of(gradient, 0.5, 80)
    assert long < 4.5 * short
    gradient = s2sad.grad(tree, target="python")
    assert calls_of(gradient, np.linspace(0.1, 1.0, 64), 0, 64) <= 2 * 127 + 2


def test_the_adjoint_of_what_calls_a_recursion_does_too():
    gradient = s2sad.grad(in_loop, target="python")
    ones = calls_of(gradient, EIGHT, 1)  # two calls of `power` for each item, down and back
    assert calls_of(gradient, EIGHT, 2**9) <= 6 * ones


def test_what_a_recursion_prints_is_printed_once(capsys):
    found = s2sad.grad(speaking, target="python")(0.5, 2)
    assert capsys.readouterr().out.split() == ["2", "1", "0"]
    assert found == pytest.approx(s2sad.jacfwd(speaking, target="python")(0.5, 2))


def test_what_a_recursion_raises_is_raised():
    with pytest.raises(ValueError, match="negative"):
        s2sad.grad(raises, target="python")(0.5, -1)


def endless(x, n):
    return math.sin(without_end(x, n - 1))


def without_end(x, n):
    return endless(x * 2.0, n) + 1.0


def bottomless(x, n):
    return bottomless(x, n - 1) * x


@pytest.mark.parametrize("fun", [endless, bottomless])
def test_a_recursion_that_never_ends_is_refused_with_the_way_out(fun):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match=r"[Ll]et one path return without a recursive call"):
        s2sad.grad(fun, target="python")(0.5, 3)


AGAIN = """
import test_recursion as here
import s2sad
print(s2sad.value_and_grad(here.{name}, argnums={wrt})(*{args}))
"""


@pytest.mark.parametrize(("name", "wrt", "args"), [
    ("use_pairs", 0, "(here.EIGHT,)"), ("tree", 0, "(here.EIGHT, 0, 8)"), ("first", (0, 1), "(0.5, 0.7, 0.9, 4)"),
])  # fmt: skip
def test_a_second_process_runs_the_machine_code_of_the_first(tmp_path, name, wrt, args):
    """A call with a constant, and functions that call one another, refer to code that is compiled after them."""
    program = AGAIN.format(name=name, wrt=wrt, args=args)
    path = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[2])])
    said = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-B", "-c", program], capture_output=True, text=True, timeout=240,
            env=os.environ | {"PYTHONPATH": path, "S2SAD_CACHE_DIR": str(tmp_path)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said[0] == said[1]


def constants(x):
    return weighted(x, 2) + weighted(x, 3) + weighted(x, 4)


def weighted(x, k):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] ** k
        if total > 1e9:
            return total
    return total


def test_a_helper_is_compiled_once_for_all_constants(tmp_path, monkeypatch):
    monkeypatch.setenv("S2SAD_CACHE_DIR", str(tmp_path))
    s2sad.value_and_grad(constants)(EIGHT)
    versions = [path.name.rsplit(".", 2)[0] for path in tmp_path.glob("*weighted*.machine")]
    assert versions
    assert len(set(versions)) == len(versions)
