"""Arrays that go on in a wider dtype than they begin in: converted where paths meet, as NumPy's names change."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import differences

A = np.array([[0.9, 0.1], [0.0, 0.8]])
P = np.array([[1.0, 0.5], [0.5, 2.0]])
V = np.array([1.1, 1.2])


def covariance(a, p, steps):
    for _ in range(steps):
        p = a @ p @ a.T + np.eye(2) * 0.1
    return np.sum(p * p)


def branch(a, p, steps):
    q = p
    if steps > 2:
        q = p * np.array([1.0, 2.0])
    return np.sum(q * q * a)


def other_branch(a, p, steps):
    if steps > 2:
        q = p
    else:
        q = p * np.array([1.0, 2.0])
    return np.sum(q * q * a)


def until(a, p, steps):
    while np.sum(p) < 20.0 * steps:
        p = a @ p * 1.5 + np.ones((2, 2))
    return np.sum(p * a)


def left_early(a, p, steps):
    for k in range(10):
        if k == steps:
            break
        if p[0, 0] > 50.0:
            continue
        p = p * np.array([1.5, 1.25]) + a
    return np.sum(p * p)


def in_a_helper(a, p, steps):
    return covariance(a, p, steps) + covariance(a, p * 2, 1)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("steps", [0, 1, 3])
@pytest.mark.parametrize("f", [covariance, branch, other_branch, until, left_early, in_a_helper])
def test_single_precision_that_becomes_double(f, steps, target):
    singles = A.astype(np.float32), P.astype(np.float32)
    found = s2sad.value_and_grad(f, argnums=(0, 1), target=target)(*singles, steps)
    wanted = s2sad.value_and_grad(f, argnums=(0, 1), target="python")(*(s.astype(np.float64) for s in singles), steps)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-6)
    for one, other in zip(found[1], wanted[1], strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=2e-6)
    assert all(s.dtype == np.float32 for s in singles)


def counts(v, counts, steps):
    for _ in range(steps):
        counts = counts * v + 1
    return np.sum(counts**2)


def wave(v, psi, steps):
    for k in range(steps):
        psi = psi * np.exp(1j * v * k)
    return np.sum(np.abs(psi + 1.0) ** 2)


@pytest.mark.parametrize("steps", [0, 1, 4])
@pytest.mark.parametrize(("f", "start"), [(counts, np.array([1, 2])), (wave, np.array([1.0, 2.0]))])
def test_whole_and_complex_numbers(f, start, steps):
    wanted = differences(lambda v: f(v, start, steps), V)
    for target in ("python", "cpu"):
        np.testing.assert_allclose(s2sad.grad(f, target=target)(V, start, steps), wanted, rtol=1e-6, atol=1e-7)


def test_the_text_says_where():
    f = s2sad.differentiate(covariance)
    f.grad(A.astype(np.float32), P.astype(np.float32), 3)
    assert f.source("grad").count(" = p.astype(np.float64)") == 1


def written(v, counts, rows):
    for row in rows:
        counts[0] = 2.7
        counts = counts * v + row
    return np.sum(counts)


def added_to(v, counts, rows):
    for row in rows:
        counts += 1
        counts = counts * v + row
    return np.sum(counts)


def _adds(counts):
    counts[0] += 1


def written_by_a_helper(v, counts, rows):
    for row in rows:
        _adds(counts)
        counts = counts * v + row
    return np.sum(counts)


def written_through_a_view(v, counts, rows):
    for row in rows:
        part = counts[:1]
        part[0] = 1
        counts = counts * v + row
    return np.sum(counts)


def of_another_name(v, counts, rows):
    given = counts
    counts = given
    for row in rows:
        given[0] = 1
        counts = counts * v + row
    return np.sum(counts)


def of_a_part(v, given, rows):
    counts = given[:2]
    for row in rows:
        given[0] = 1
        counts = counts * v + row
    return np.sum(counts)


def _same(counts):
    return counts


def from_a_helper(v, given, rows):
    counts = _same(given)
    for row in rows:
        given[0] = 1
        counts = counts * v + row
    return np.sum(counts)


def in_a_list(v, counts, rows):
    kept = [counts]
    kept.append(counts)
    for row in rows:
        kept[int(row[0])][0] = 1
        counts = counts * v + row
    return np.sum(counts)


@pytest.mark.parametrize(
    "f", [written, added_to, written_by_a_helper, written_through_a_view, of_another_name, of_a_part, from_a_helper]
)
def test_what_is_written_is_not_converted(f):
    with pytest.raises(s2sad.UnsupportedSyntaxError) as info:
        s2sad.grad(f)(V, np.array([1, 2]), np.ones((20, 2)))
    assert "counts.astype(np.float64)" in str(info.value)
    assert info.value.span is not None


def scaled(v, counts, rows):
    for row in rows:
        counts = (counts + counts) * v + row
    return np.sum(counts)


@pytest.mark.parametrize("start", [np.array([200, 100], np.uint8), np.array([True, False])])
def test_what_wraps_around_or_does_not_add_is_not_converted(start):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="`counts` has no single meaning here"):
        s2sad.grad(scaled)(V, start, np.ones((20, 2)))


def test_what_a_list_holds_is_not_converted_where_it_is_written():
    with pytest.raises(s2sad.S2SADError):
        s2sad.grad(in_a_list)(V, np.array([1, 2]), np.ones((20, 2)))


def kept_by_turn(a, p, steps):
    history = np.zeros((4, 2, 2))
    for k in range(steps):
        history[k] = p
        p = a @ p @ a.T + np.eye(2) * 0.1
    return np.sum(history**2) + np.sum(p)


def test_what_is_copied_into_an_array_is_converted():
    singles = A.astype(np.float32), P.astype(np.float32)
    found = s2sad.value_and_grad(kept_by_turn, argnums=(0, 1))(*singles, 3)
    wanted = s2sad.value_and_grad(kept_by_turn, argnums=(0, 1))(*(s.astype(np.float64) for s in singles), 3)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-6)
    np.testing.assert_allclose(found[1][0], wanted[1][0], rtol=2e-6)
