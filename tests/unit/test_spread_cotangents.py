"""A cotangent that is spread: through transposes, copies, deleted places, places of lower rank."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

import s2sad
from tests.rulebook import Call, calls_of, program, registered

C = np.array([1.0, 2.0, 3.0])
TWO = np.array([1.0, 2.0])
M = np.random.default_rng(0).normal(size=(3, 3))


def multiplied_in_place(a):
    y = a * 1
    y @= M
    y[:2] @= M
    return np.sum(y * y)


def written_into_lower_rank(a):
    x, y = np.zeros(3), np.zeros((2, 3))
    x[:] = np.full((1, 1), a[0, 0])
    y[1] = np.full((1, 1, 1), a[0, 1])
    y[0, 1:] = -np.full((1, 1), a[1, 0])
    x[[0, 2]] = np.full((1, 1), a[0, 2])
    return np.sum(x * C) + np.sum(y * C)


def written_by_what_is_left(a):
    x = C.copy()
    x[:] = np.delete(a[0], [0, -1])
    x += np.delete(a[1], [0, 1])
    return np.sum(x * x)


PROGRAMS = {
    "transposed": ((3, 3), lambda a: np.sum(a.T * C) + np.sum(C * a.T) + np.sum(a.T / C)),
    "oblong": ((2, 3), lambda a: np.sum(a.T * TWO)),
    "less": ((3, 3), lambda a: np.sum(C - a.T * C) + np.mean(a.T * C) + np.sum((a.T - C) * C) ** 2),
    "of a product": ((3, 3), lambda a: np.sum((a @ a).T * C) + np.sum((2 * a).T * C * C) + np.sum(a.T.T * C)),
    "of three axes": ((2, 4, 3), lambda a: np.sum(a.T * TWO) + np.sum(a.T * np.ones((4, 2)) * TWO)),
    "of a part": ((3, 3), lambda a: np.sum(a[:2].T * TWO) + np.sum(np.conj(a).T * C) + np.sum(np.asarray(a).T * C)),
    "other axes": ((3, 3), lambda a: np.sum(np.swapaxes(a, 0, 1) * C) + np.sum(np.moveaxis(a, 0, 1) * C)),
    "deleted": ((3, 3), lambda a: np.sum(C * np.delete(a[0], [0, -1])) + np.sum(C * np.delete(a[:1], [0, 1], axis=1))),
    "deleted by a slice": ((3, 3), lambda a: np.sum(C * np.delete(a[0], slice(1, None)))),
    "differences": ((3, 3), lambda a: np.sum(C * np.diff(a[0][[1, 0]])) + np.sum(np.diff(a[np.ix_([0, 1], [1, 0])]))),
    "sums": ((3, 3), lambda a: np.sum(np.cumsum(a[0][[1, 0, 2]]) ** 2) + np.sum(np.gradient(a[1][[2, 0, 1]]) ** 2)),
    "padded copy": ((3, 3), lambda a: np.sum(np.pad(a[0][[1, 0]], 1) ** 2) + np.polyval(a[1][[1, 0, 2]], 0.3)),
    "what is left": ((3, 3), written_by_what_is_left),
    "lower rank": ((3, 3), written_into_lower_rank),
    "in place": ((3, 3), multiplied_in_place),
}


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_part_has_its_own(name, target):
    shape, program = PROGRAMS[name]
    a = np.random.default_rng(1).normal(size=shape)
    expected = np.zeros(shape)
    for place in np.ndindex(shape):
        step = np.zeros(shape)
        step[place] = 1e-6
        expected[place] = (program(a + step) - program(a - step)) / 2e-6
    value, slope = s2sad.value_and_grad(program, target=target)(a)
    np.testing.assert_allclose(value, program(a), rtol=1e-12)
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-7)
    _, along = s2sad.jvp(program, (a,), (a,), target=target)
    np.testing.assert_allclose(along, np.sum(expected * a), rtol=1e-6, atol=1e-7)


TEXT = """def outer({names}):
    y = inner({names})
    return -np.sum(y * along) + np.sum(y.T * lead) - 2 * y[0].sum()
"""


def matrices() -> list[Call]:
    """List the plain calls of registered functions that make arrays of two axes or more of arrays of real numbers."""
    found: list[Call] = []
    for call in (call for fn in registered() for call in calls_of(fn)):
        arrays = all(isinstance(call.args[k], np.ndarray) for k in call.wrt)
        if call.variant != "plain" or call.procedure or not call.wrt or not arrays:
            continue
        fun, args, _ = program(call)
        y = fun(*args)
        if isinstance(y, np.ndarray) and y.ndim > 1 and y.dtype.kind == "f" and y.size:
            found.append(call)
    return found


def test_every_rule_takes_a_cotangent_that_is_spread():
    calls = matrices()
    assert len(calls) > 250
    for k, call in enumerate(calls):
        inner, args, wrt = program(call)
        y = inner(*args)
        scope = {"np": np, "inner": inner, "along": 1.0 + np.arange(y.shape[-1]), "lead": 1.0 + np.arange(y.shape[0])}
        text, file = TEXT.format(names=", ".join(f"a{i}" for i in range(len(args)))), f"<spread {k}>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        exec(compile(text, file, "exec"), scope)
        random = np.random.default_rng(k)
        dots = {at: random.normal(size=args[at].shape) for at in wrt}

        def moved(h, args=args, dots=dots, outer=scope["outer"]):
            return outer(*(arg + h * dots[at] if at in dots else arg for at, arg in enumerate(args)))

        slopes = s2sad.grad(scope["outer"], argnums=wrt, target="python")(*args)
        found = sum(np.sum(slope * dot) for slope, dot in zip(slopes, dots.values(), strict=True))
        expected = (moved(1e-6) - moved(-1e-6)) / 2e-6
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-5), call.label
