"""A Jacobian's sweeps that run abreast give what they give one by one."""

import math

import numpy as np
import pytest

import s2sad
from s2sad.emit import abreast

RNG = np.random.default_rng(3)


def scaled(x):
    out = np.empty(x.size)
    for i in range(x.size):
        out[i] = math.sin(x[i]) * x[(i + 1) % x.size]
    return out


def stepped(p, y0):
    """State that every step overwrites; results in two axes."""
    y = np.copy(y0)
    out = np.empty((6, y.size))
    for t in range(6):
        for i in range(y.size):
            y[i] += 0.1 * (p[i] * y[(i + 1) % y.size] - math.sin(y[i]))
        for i in range(y.size):
            out[t, i] = y[i]
    return out


def branched(x):
    """Numbers that move cross a branch; the branch depends on the counter alone."""
    out = np.zeros(x.size)
    carry = 1.0
    for i in range(x.size):
        if i % 2 == 0:
            first, second = x[i] * carry, x[0]
        else:
            first, second = x[i - 1], x[i] * x[i]
        carry = 0.5 * carry + first * second
        out[i] += carry
        for k in range(3):
            out[i] += first * k + second
    return out


def fixed_to_bones(x):
    """Items that are set, and added to at once; one row is never met."""
    bones = np.empty((3, 2, 3))
    for b in range(3):
        for i in range(2):
            for k in range(3):
                bones[b, i, k] = math.sin(x[b] * (i + 1.0)) * x[3 + k]
    out = np.zeros((5, 2))
    for v in range(4):
        for i in range(2):
            out[v, i] = bones[v % 3, i, 0]
            for k in range(1, 3):
                out[v, i] += bones[v % 3, i, k] * (v + k)
    return out


def searched(x):
    """A loop of unknown length, and a helper number that does not move."""
    total = np.zeros(3)
    step = 0
    while step < x.size:
        weight = 1.0 / (1.0 + step)
        for j in range(3):
            total[j] += weight * x[step] ** (j + 1)
        step += 2
    return total


def of_a_matrix(a):
    out = np.empty((a.shape[0], a.shape[0]))
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            out[i, j] = 0.0
            for k in range(a.shape[1]):
                out[i, j] += a[i, k] * a[j, k]
    return out


def a_number(x):
    total = 0.0
    for i in range(x.size - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


def over_views(x):
    """Rows of work arrays with names, and copies of them."""
    work = np.zeros((3, x.size))
    for k in range(3):
        row = work[k]
        for i in range(x.size):
            row[i] = x[i] ** (k + 1)
    kept = np.copy(work[1])
    for i in range(x.size):
        work[0, i] += kept[i] * x[0]
    return work[0]


def several(x, y):
    total = np.zeros(x.size)
    other = 0.0
    for i in range(x.size):
        total[i] = x[i] * y[0]
        other += x[i] * y[1]
    return total, other


def turning(z):
    out = np.empty(z.size, dtype=np.complex128)
    for i in range(z.size):
        out[i] = z[i] * z[i] * 1j + z[0]
    return out


PROGRAMS = [
    (scaled, (RNG.normal(size=7),), 0),
    (stepped, (RNG.normal(size=5), RNG.normal(size=5)), (0, 1)),
    (branched, (RNG.normal(size=6),), 0),
    (searched, (RNG.normal(size=9),), 0),
    (fixed_to_bones, (RNG.normal(size=6),), 0),
    (of_a_matrix, (RNG.normal(size=(3, 4)),), 0),
    (over_views, (RNG.normal(size=5),), 0),
    (several, (RNG.normal(size=6), RNG.normal(size=2)), (0, 1)),
]


def text_of(transformed, *args):
    plan, _ = transformed.store.find(args)
    return plan.entry.derivative.text


@pytest.fixture
def in_cpython(monkeypatch):
    """The text of the compiled target, run by CPython, three lanes at a time."""
    from s2sad.api import derive

    form = derive._compiled_form
    monkeypatch.setattr(abreast, "LANES", 3)
    monkeypatch.setattr(abreast, "_FEW", 1)
    monkeypatch.setattr(derive, "_compiled_form", lambda derived, target, *others: form(derived, "cpu", *others))
    monkeypatch.setenv("S2SAD_VERIFY", "1")


@pytest.mark.parametrize("transform", [s2sad.jacfwd, s2sad.jacrev], ids=["jacfwd", "jacrev"])
@pytest.mark.parametrize(("fun", "args", "argnums"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_jacobians_in_lanes(fun, args, argnums, transform, in_cpython):
    """The columns are tangents of unit vectors, whatever the number of lanes that are left at the end."""
    found = transform(fun, argnums=argnums, target="python")(*args)
    wrt = argnums if isinstance(argnums, tuple) else (argnums,)
    outputs = fun(*args)
    for at, output in enumerate(outputs if isinstance(outputs, tuple) else (outputs,)):
        part = found[at] if isinstance(outputs, tuple) else found
        for k, i in enumerate(wrt):
            block = part[k] if isinstance(argnums, tuple) else part
            for unit in np.eye(args[i].size):
                dots = [np.zeros_like(a) for a in args]
                dots[i] = unit.reshape(args[i].shape)
                dot = s2sad.jvp(fun, args, tuple(dots), target="python")[1]
                column = np.tensordot(block, dots[i], axes=args[i].ndim)
                np.testing.assert_allclose(column, dot[at] if isinstance(outputs, tuple) else dot, rtol=1e-12)
                assert np.shape(output) == np.shape(column)


def test_hessians_in_lanes(in_cpython):
    x = RNG.normal(size=8)
    derivative = s2sad.hessian(a_number, target="python")
    found = derivative(x)
    np.testing.assert_allclose(found, found.T, rtol=1e-12)
    v = RNG.normal(size=8)
    np.testing.assert_allclose(found @ v, s2sad.hvp(a_number, (x,), (v,), target="python"), rtol=1e-12)
    assert " lanes" in text_of(derivative, x)


def test_complex_lanes(in_cpython):
    z = RNG.normal(size=5) + 1j * RNG.normal(size=5)
    for transform in (s2sad.jacfwd, s2sad.jacrev):
        expected = np.diag(2j * z)
        expected[:, 0] += 1.0
        np.testing.assert_allclose(transform(turning, holomorphic=True, target="python")(z), expected, rtol=1e-13)


@pytest.mark.parametrize("n", [0, 1, 3, 31, 32, 33, 70])
def test_any_number_of_directions_compiled(n):
    x = RNG.normal(size=n)
    for transform in (s2sad.jacfwd, s2sad.jacrev):
        derivative = transform(scaled)
        expected = np.zeros((n, n))
        for i in range(n):
            expected[i, i] += math.cos(x[i]) * x[(i + 1) % n]
            expected[i, (i + 1) % n] += math.sin(x[i])
        np.testing.assert_allclose(derivative(x), expected, rtol=1e-13)
        assert n == 1 or " lanes" in text_of(derivative, x)  # an axis of one element is a type of its own


@pytest.mark.compiled
@pytest.mark.parametrize("transform", [s2sad.jacfwd, s2sad.jacrev], ids=["jacfwd", "jacrev"])
@pytest.mark.parametrize(("fun", "args", "argnums"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_compiled_as_in_cpython(fun, args, argnums, transform):
    import optree

    found = optree.tree_leaves(transform(fun, argnums=argnums)(*args))
    expected = optree.tree_leaves(transform(fun, argnums=argnums, target="python")(*args))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_what_is_added_to_where_it_is_set_is_the_column():
    """No array apart for it, and no pass that clears the columns: their block is made of zeros."""
    x = RNG.normal(size=6)
    at_once, later = s2sad.jacfwd(fixed_to_bones), s2sad.jacfwd(searched)
    at_once(x)
    later(x)
    assert "result_by_x = np.zeros(" in text_of(at_once, x)
    assert "result_dot" not in text_of(at_once, x)
    assert "i + lane] = result_dot[" in text_of(later, x)


def test_single_precision_stays():
    x = RNG.normal(size=9).astype(np.float32)
    found = s2sad.jacfwd(scaled)(x)
    np.testing.assert_allclose(found, s2sad.jacfwd(scaled, target="python")(x), rtol=1e-6)


def test_what_cannot_be_in_lanes_stays():
    """A product of matrices of what moves has no lanes."""

    def through(w):
        h = np.ones(w.shape[0])
        for _ in range(2):
            h = np.tanh(w @ h)
        return h

    w = RNG.normal(size=(4, 4))
    derivative = s2sad.jacfwd(through)
    np.testing.assert_allclose(derivative(w), s2sad.jacrev(through)(w), rtol=1e-12)
    assert " lanes" not in text_of(derivative, w)
