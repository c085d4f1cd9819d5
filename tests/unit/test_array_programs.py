"""What programs do with arrays, one line or a few each: shapes, index arrays, grids, lists, writes; climbed."""

from __future__ import annotations

import linecache
import re
from typing import Any

import numpy as np
import pytest

import s2sad
from s2sad.errors import AliasError, S2SADError
from s2sad.rules.sample import values
from tests.rulebook import climb_function

ARGUMENTS: dict[str, Any] = {"s": 0.37, "t": -0.83, "x": values(4), "z": values(4, seed=2), "M": values(3, 4),
                             "N": values(3, 4, seed=1), "C": values(2, 3, 4)}  # fmt: skip

PROGRAMS = """
x, s: A = np.zeros(len(x) + 1); A[1:] = x * s; return A
M, s: A = M.copy(); A[np.array([[0, 1], [1, 2]])] = s; return A
M, N: A = M.copy(); A[[0, 0, 2]] = N; return A * N
M, N: A = M.copy(); A[:, [1, -1, 3]] *= N[:, :3]; return A
M, N: A = M.copy(); A[[0, 0], [2, -2]] = N[0, :2]; return A
M, N: A = M.copy(); A[np.ix_([0, 2], [1, 3])] = N[:2, :2]; return A
C: A = C.copy(); A[[0, 1], :, [1, 2]] = C[:, :, 0]; return A
C: A = C.copy(); A[C[:, :, 0] > 0] = C[0, 0]; return A
C: return C[:, C[0] > 0]
M, N: A = M.copy(); np.add.at(A, (slice(None), [0, 0, 2]), N[:, :3]); return A
M: y = np.broadcast_to(M[0][None], (3, 4)); return np.concatenate([y, M * 2.0]) ** 2
M: A = M.copy(); A.ravel()[::5] = M[0, :3]; return A
M, N: A = M.copy(); A.flat[3] = N[0, 0]; return A * M.flat[5]
M: total = 0.0; [None for _ in ()]; return np.sum(np.array([v * v for v in M.flat]))
M, N: i, j = np.where(M > 0); return M[i, j] * N[np.nonzero(M > 0)]
M: return M[np.unravel_index(np.argmax(M), M.shape)] * M
M, N: return np.sum(np.array([M[i, j] * N[i, j] for i, j in np.ndindex(M.shape)]))
M, N: return np.sum(np.array([v * N[k] for k, v in np.ndenumerate(M)]))
x, s: return np.array([[v * w * s for v in x] for w in x])
x, s: return np.array([[x, x * s], [x * 2, x * 3]])
x, s: return np.concatenate([[s], x, [s * 2, 1.0]])
x, s: return np.r_[s, x, 0.5] * np.append(x, [s, s])
x, z: return np.c_[x, z] * np.r_[0:2]
x, s: X, Y = np.mgrid[0:3, 0:4]; return X * s + Y * x
x, s: X, Y = np.ogrid[0:3, 0:4]; return X * s + Y * x
x, z: X, Y = np.meshgrid(x, z); return X * Y + X
s, t: return np.dot([s, t], [t, s]) + np.max([s, t, s * t]) + np.diag([s, t])
s, t: return np.linspace(s, t, 5) * np.linspace(0, 1, 5)
x, s: A = np.outer(x, x); A[np.diag_indices(4)] = x * s; return A[np.triu_indices(4, 1)]
M: A = M.copy(); A.sort(axis=0); return A * M
M, N: A = M.copy(); np.copyto(A, N, where=M > 0); return A * M
M: return M.flatten(order="F") * np.ravel(M.T)
M: a, b = np.split(M, 2, axis=1); c, *d = np.array_split(M[0], 3); return a * b + c[0]
x: return np.sum(np.select([x > 1, x > 0], [x ** 2, x], -x))
M: return np.pad(M, ((1, 2), (0, 1)), "reflect") * 2.0
x: return np.apply_along_axis(lambda v: v * v.sum(), 0, np.outer(x, x))
M: return gathered(M[[0, 0, 2]]) + gathered(M[M > 0])
x, s: return halved(stacked(x, s, np.stack)) + halved(stacked(x, s, np.vstack))
x, s: return halved(stacked(x, s, np.concatenate)) + halved(stacked(x, s, np.hstack))
x, s: return stacked(x, s, np.column_stack) * 2.0
M: return np.pad(M, 1, mode='linear_ramp') * np.take(M, [0, 9], mode='clip').sum() + np.sum(np.vectorize(np.sin)(M))
"""
REFUSED = {
    "return np.pad(M, 1, mode='empty')": "mode",
    "A = M.T; A.flat[0] = 1.0; return A": "not in C order",
}
HELPERS = '''
import numpy as np


def gathered(part):
    return np.sum(part ** 2)


def stacked(x, s, join):
    rows = []
    for i in range(3):
        rows.append(x * (s + i))
    return join(rows)


def halved(a):
    return np.sum(a ** 2) * 0.5


'''


def function(number: int, names: str, body: str) -> Any:
    """Make a function of a program's text."""
    lines = [f"    {line.strip()}" for line in body.split("; ")]
    text = HELPERS + f"def program({names}):\n" + "\n".join(lines) + "\n"
    file = f"<array program {number} {hash(body)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope: dict[str, Any] = {}
    exec(compile(text, file, "exec"), scope)
    return scope["program"]


@pytest.mark.parametrize("line", PROGRAMS.strip().splitlines())
def test_array_program(line: str) -> None:
    """Climb."""
    names, body = line.split(": ", 1)
    args = tuple(ARGUMENTS[name.strip()] for name in names.split(","))
    climb_function(function(0, names, body), args, tuple(range(len(args))), line)


@pytest.mark.parametrize("body", REFUSED)
def test_what_cannot_be_read_is_refused_with_the_line(body: str) -> None:
    """Name the user's line, and say why."""
    run = s2sad.differentiate(target="python", argnums=0)(function(1, "M, n=2", body))
    with pytest.raises(S2SADError, match=re.escape(REFUSED[body])) as caught:
        run.vjp(ARGUMENTS["M"], 2)
    assert body.split("; ")[-2 if "flat" in body else -1] in str(caught.value)


def test_an_axis_that_a_slice_leaves_of_one_element_is_squeezed() -> None:
    """Where the lengths of the argument are known, that of the axis is."""
    M = ARGUMENTS["M"]
    value, pullback = s2sad.vjp(function(1, "M", "return np.squeeze(M[:, :1]) * M[:, 1]"), M, target="python")
    np.testing.assert_allclose(value, M[:, 0] * M[:, 1])
    (M_bar,) = pullback(np.ones(3))
    np.testing.assert_allclose(M_bar[:, :2], M[:, 1::-1])


def test_second_order_through_a_list_of_arrays() -> None:
    """A list that does not vary has a tangent of zeros, one for each of its arrays."""
    program = function(2, "x, s", "return halved(stacked(x, s, np.stack)) * s")
    x, s, v = values(3), 0.7, values(3, seed=2)
    _, got = s2sad.jvp(s2sad.grad(program), (x, s), (v, 0.0))
    np.testing.assert_allclose(got, v * s * sum((s + i) ** 2 for i in range(3)), rtol=1e-12)


@pytest.mark.parametrize("view", ["np.diag(b)", "np.diag(b, 1)", "np.diagonal(b)", "np.linalg.diagonal(b)",
                                  "np.einsum('ii->i', b)", "np.einsum('ij->ji', b)"])  # fmt: skip
def test_a_view_that_moves_with_a_later_write_is_refused(view: str) -> None:
    """What NumPy gives as a view, and s2sad treats as an array of its own, is not read past a write."""
    text = f"def f(a):\n    b = a * 1.0\n    d = {view}\n    b[0, 0] = 2.0 * a[1, 1]\n    return np.sum(d ** 2)\n"
    file = f"<view {view}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, file, "exec"), scope)
    with pytest.raises(AliasError, match=r"`b` is written here while `d` may share its memory"):
        s2sad.differentiate(target="python")(scope["f"]).grad(values(3, 3))


def test_a_diagonal_that_is_a_copy_is_read_past_a_write() -> None:
    """A matrix from a vector, and sums over letters, are arrays of their own."""

    def call(x: Any, a: Any) -> Any:
        y, b = x * 1.0, a * 1.0
        d, sums = np.diag(y), np.einsum("ij->i", b)
        y[0] = 2.0 * x[1]
        b[0, 0] = 2.0 * a[1, 1]
        return np.sum(d**2) + np.sum(sums**2) + np.sum(b) + np.sum(y)

    climb_function(call, (values(3), values(3, 3)), (0, 1), "copies")
