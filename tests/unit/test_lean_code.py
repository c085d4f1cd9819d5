"""Arrays, their items, ranges and transposes, written with what they need: they do what Numba's own do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

from s2sad.backends.lowering import Pipeline

pytestmark = pytest.mark.compiled


def ours(fun: Callable[..., Any]) -> Callable[..., Any]:
    return numba.njit(error_model="numpy", pipeline_class=Pipeline)(fun)


def items(a, i, j):
    return a[i, j], a[i], a[-1, j]


def stored(a, i, j, value):
    a[i, j] = value
    a[0, -1] = value
    return a


def of_one_axis(a, i, value):
    a[i] = value
    return a[i], a[-i - 1]


def counted(start, stop):
    up, down, far, backwards = [0], [0], [0], 0
    for i in range(start, stop):
        up.append(i)
    for i in range(stop, start, -1):
        down.append(i)
    for i in range(start, stop, 3):
        far.append(i)
    for _ in range(stop, start):
        backwards += 1
    return up, down, far, backwards


def by_a_step(start, stop, step):
    found = [0]
    for i in range(start, stop, step):
        found.append(i)
    return found


def left(n):
    """The counter keeps what it last was, and a loop that is left goes on elsewhere."""
    i = -7
    for i in range(n):
        if i == 3:
            break
    k = -1
    for k in range(n, 2, -1):
        continue
    return i, k


def made(n, m):
    a, b = np.empty((n, m)), np.zeros(n)
    a[:, :] = 1.5
    return a.shape, a.strides, a.sum(), b, np.zeros((n, m, 2)).size, np.empty_like(a.T).shape


def transposed(a, b):
    c = a.T
    c[1, 0] = 7.0
    return c.shape, c.strides, c.T[0, 1], c @ b, a.T.T.shape


ARRAYS = [
    np.arange(12.0).reshape(3, 4),
    np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    np.arange(48.0).reshape(6, 8)[::2, ::2],
    np.arange(12.0).reshape(3, 4)[::-1, ::-1],
    np.arange(12).reshape(3, 4),
    np.arange(12, dtype=np.float32).reshape(3, 4),
    np.arange(12.0).reshape(3, 4) * (1.0 - 2.0j),
    np.arange(12).reshape(3, 4) % 3 == 0,
    np.arange(12, dtype=np.int8).reshape(3, 4),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.strides}")
def test_items(array: np.ndarray) -> None:
    for i, j in ((0, 0), (2, 3), (-1, -2), (1, -4), (np.int32(1), np.int64(2)), (np.uint8(2), 1)):
        found = ours(items)(array, i, j)
        expected = items(array, i, j)
        assert found[0] == expected[0]
        assert found[2] == expected[2]
        np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.strides}")
def test_stored_items(array: np.ndarray) -> None:
    for value in (3, 2.0, True):
        one, other = array.copy("K"), array.copy("K")
        np.testing.assert_array_equal(ours(stored)(one, -2, 1, value), stored(other, -2, 1, value))
    first, last = array[0].copy(), array[0].copy()
    assert ours(of_one_axis)(first, 1, 1) == of_one_axis(last, 1, 1)


def test_ranges() -> None:
    for start, stop in ((0, 5), (2, 2), (5, 1), (-3, 4)):
        up, down, far, backwards = ours(counted)(start, stop)
        assert (list(up), list(down), list(far), backwards) == counted(start, stop)
    for step in (1, -1, 2, -3):
        assert list(ours(by_a_step)(0, 6, step)) == by_a_step(0, 6, step)
    with pytest.raises(ValueError, match="must not be zero"):
        ours(by_a_step)(0, 6, 0)
    for n in (0, 1, 3, 9):
        assert ours(left)(n) == left(n)


def test_new_arrays() -> None:
    for n, m in ((2, 3), (0, 4), (1, 1), (5, 0)):
        found, expected = ours(made)(n, m), made(n, m)
        np.testing.assert_array_equal(found[3], expected[3])
        assert (found[0], found[2], *found[4:]) == (expected[0], expected[2], *expected[4:])
    assert ours(made)(2, 3)[1] == (24, 8)


def test_arrays_that_are_too_large_are_refused() -> None:
    def large(n):
        return np.empty((n, n)).size

    with pytest.raises(ValueError, match="too big"):
        ours(large)(2**33)
    with pytest.raises(MemoryError):
        ours(large)(2**26)


@pytest.mark.parametrize("array", [a for a in ARRAYS if a.dtype == float], ids=lambda a: f"{a.strides}")
def test_transposes(array: np.ndarray) -> None:
    one, other = array.copy("K"), array.copy("K")
    b = np.arange(6.0).reshape(3, 2)
    found, expected = ours(transposed)(one, b), transposed(other, b)
    assert found[:3] == expected[:3]
    assert found[4] == expected[4]
    np.testing.assert_allclose(found[3], expected[3])
    np.testing.assert_array_equal(one, other)


def test_memory_is_let_go_of() -> None:
    """As many blocks of memory are freed as are made."""
    from numba.core.runtime import _nrt_python, rtsys

    def work(n):
        total = 0.0
        for i in range(n):
            a = np.empty((3, 4))
            a[:, :] = i
            b = a.T
            total += (b @ a)[0, 0]
        return total

    compiled = ours(work)
    compiled(3)
    counting = _nrt_python.memsys_stats_enabled()
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        compiled(50)
        after = rtsys.get_allocation_stats()
    finally:
        if not counting:
            _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc >= 100
    assert after.alloc - before.alloc == after.free - before.free
