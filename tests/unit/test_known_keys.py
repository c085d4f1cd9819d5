"""Keys of dicts from numbers among the arguments: such lists are known to the compiler, each for itself."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import differences

X = np.array([0.3, -1.0, 2.0])
EDGES = [(0, 1), (1, 2)]


def by_edge(x, edges):
    rest = {e: 1.0 + 0.1 * i for i, e in enumerate(edges)}
    return sum((abs(x[j] - x[i]) - length) ** 2 for (i, j), length in rest.items())


def products(x, edges):
    rest = {(i, j): x[i] * x[j] for i, j in edges}
    return sum(v**2 for v in rest.values()) + len(rest)


def stored(x, edges):
    rest = {}
    for e in edges:
        rest[e] = x[e[0]] * x[e[1]]
    return sum(v**2 for v in rest.values())


def of_faces(x, faces):
    edges = {}
    for face in faces:
        for k in range(3):
            a, b = face[k], face[(k + 1) % 3]
            key = (min(a, b), max(a, b))
            edges[key] = edges.get(key, 0.0) + x[a] * x[b]
    return sum(v**2 for v in edges.values())


def in_groups(x, groups):
    total = {}
    for group, v in zip(groups, x, strict=True):
        total[group] = total.get(group, 0.0) + v * v
    return sum(np.sqrt(v) for v in total.values())


def twice(x, names):
    last = {name: v * v for name, v in zip(names, x, strict=True)}
    return sum(last.values()) + 10.0 * len(last)


def of_a_tree(x, tree):
    memo = {}
    for name, (i, j) in tree.items():
        memo[name] = x[i] * x[j] + (memo["a"] if name != "a" else 0)
    return memo["b"]


PROGRAMS = [
    (by_edge, EDGES), (products, EDGES), (products, [(0, 1), (0, 1)]), (products, ((0, 2), (2, 0))), (stored, EDGES),
    (of_faces, [(0, 1, 2), (1, 2, 0)]), (in_groups, [3, 5, 3]), (in_groups, ["u", "v", "u"]), (twice, ["a", "b", "a"]),
    (of_a_tree, {"a": (0, 1), "b": (1, 2)}),
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(("f", "given"), PROGRAMS)
def test_keys(f, given, target):
    value, gradient = s2sad.value_and_grad(f, target=target)(X, given)
    np.testing.assert_allclose(value, f(X, given), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(lambda x: f(x, given), X), rtol=1e-6, atol=1e-7)


def test_another_list_has_a_derivative_of_its_own():
    gradient = s2sad.grad(products, target="python")
    for edges in (EDGES, [(0, 2), (1, 2)], EDGES, [(0, 1), (0, 1)], [(2, 2)]):
        want = differences(lambda x, e=edges: products(x, e), X)
        np.testing.assert_allclose(gradient(X, edges), want, rtol=1e-6, atol=1e-7)


def test_keys_of_a_run_are_refused():
    def f(x, edges):
        rest = {(i, j): x[i] * x[j] for i, j in edges}
        return sum(rest.values())

    with pytest.raises(s2sad.UnsupportedSyntaxError, match="needs keys known"):
        s2sad.grad(f)(X, np.array(EDGES))
