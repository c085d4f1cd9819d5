"""Python and NumPy as people write it: buffers that change places, folds, itertools, displays, integer functions."""

from __future__ import annotations

import functools
import itertools
import logging
import math
import statistics
import warnings

import numpy as np
import pytest
from numba import prange

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.5, 0.9, 1.1, 0.3])
LOG = logging.getLogger("ordinary")


def two_buffers(u):
    cur = u
    nxt = np.zeros_like(u)
    for t in range(3):
        for i in range(1, 3):
            nxt[i] = cur[i - 1] * cur[i + 1]
        cur, nxt = nxt, cur
    return cur.sum()


def three_assignments(u):
    a = u.copy()
    b = np.zeros(4)
    for t in range(3):
        tmp = a
        a = b
        b = tmp
        a[1:] = b[:-1] * b[1:]
    return a.sum()


def pieces(x):
    y = np.piecewise(x, [x < 0.6, x >= 0.6], [lambda t: t**2, lambda t: 3 * t])
    np.place(y, y > 3.0, [1.0])
    return y.sum()


def sums_and_sorted(x):
    return sum([]) + sum([x[0]], x[1]) + sorted([x[0], x[1], x[2]])[0]


def largest_by_key(x):
    return max([x[0], x[1]], key=lambda t: -t) * min(x, key=abs)


def extremes_or_a_default(x):
    below = max((t for t in x if t < 0.0), default=x[0])
    above = min([t for t in x if t > 100.0], default=2.0)
    far = max([t * t for t in x if t > 0.4], key=lambda t: -t, default=x[1])
    return below * x[1] + above * x[0] + far + max([], default=x[2])


def parallel_range(x):
    s = 0.0
    for i in prange(4):
        s += x[i] ** 2
    return s


def products_and_pairs(x):
    s = 0.0
    for i, j in itertools.product(range(4), range(4)):
        s += x[i] * x[j]
    for i, j in itertools.combinations(range(4), 2):
        s += x[i] * x[j] ** 2
    for a, b in itertools.pairwise(x):
        s += a * b
    return s


def products_of_unknown_lengths(x):
    n = len(x)
    s = 0.0
    for i, j in itertools.product(range(1, n), range(2, n)):
        s += x[i] * x[j - 1] ** 2
    for a, b in itertools.product(x, repeat=2):
        s += a * b if a > b else 0.0
    for (i, a), b in itertools.product(enumerate(x), (1.0, 2.0)):
        s += i * a * b
    for a, b in itertools.product(x[:0], x):
        s += 100 * a * b
    return s


def statistics_of_python(x):
    squares = [v * v for v in x]
    spread = statistics.pstdev(x) * statistics.variance(squares) + statistics.stdev(list(x)) + statistics.pvariance(x)
    return spread + statistics.mean(squares) * statistics.fmean(x, weights=squares) * statistics.median(x)


def means_of_positive_numbers(x):
    return statistics.geometric_mean([v * v for v in x]) * statistics.harmonic_mean([v * v for v in x])


def unpacked_displays(x):
    d = {"a": x[0]}
    e = {**d, "b": x[1]}
    both = [*[x[0], x[1]], 1.0]
    t = (*both[:2],)
    return e["a"] * e["b"] + sum(both) * t[0]


def messages(x):
    if x[0] < 0:
        warnings.warn("neg")
    LOG.info("hi %s", 1)
    return x.sum()


def keys_that_are_tuples(x):
    memo = {}
    for i in range(3):
        memo[(i, 0)] = x[i] ** 2
    return memo[(1, 0)] + memo[(2, 0)]


def shifted_history(x):
    h = [x[0], x[1]]
    h = h[1:] + [x[2]]
    for i in range(3):
        h = [*h[1:], h[0] * h[1]]
    return h[0]


def slices_of_lists(x):
    hist = []
    for v in x:
        hist.append(v * v)
    return sum(hist[-2:]) + sum(hist[:2]) + hist[1:][0] + len(hist[1:])


def folds(x):
    return functools.reduce(lambda a, b: a * b, x) + sum(map(lambda t: t * t, x)) + sum(v for v in x if v > 0.4)


def from_a_generator(x):
    return np.sum(np.fromiter((v * v for v in x), float))


def product_in_place(x):
    b = np.eye(4)
    a = np.outer(x, x)
    b = b @ a
    b @= a
    return b.sum()


def grown_by_append(x):
    y = np.array([])
    for v in x:
        y = np.append(y, v * v)
    return y @ y


def integer_functions(x):
    return math.factorial(4) * x[0] + math.comb(4, 2) * x[1] + np.prod(x.shape) * x[2]


def mixed_displays(x):
    return np.array([[1, x[0]], [x[1], 2]]).sum() + x.repeat(2, axis=0).sum() + np.append(x[1:], x[0]) @ x


def a_series(x):
    s = 0.0
    for k in range(4):
        s += x[k] ** k / math.factorial(k)
    return s


def integer_products(x):
    return np.array([[1, 0], [0, 1]]) @ np.array([x[1], x[0]]) @ np.array([2, 3])


def lists_among_arrays(x):
    return np.stack([x, np.zeros(4, dtype=int)]).sum() + np.concatenate([x, [1, 2]]).sum() + np.hstack([x, 1]).sum()


def weighted(a, b, scale=2.0):
    return np.sum(a * b) * scale


WEIGHTS = np.array([1.2, 0.4, 0.9, 0.8])
BY_NAME = functools.partial(weighted, b=WEIGHTS)
BY_PLACE = functools.partial(weighted, WEIGHTS)


def partials_that_hold_arrays(x):
    return BY_NAME(x) * BY_PLACE(x * x, scale=x[0])


def largest_of_a_grid(x):
    both = x.reshape(2, 1, 2) * x.reshape(1, 2, 2)
    return both.max()


def powers_of_a_matrix(x):
    t = np.eye(4)
    t[:3, 3] = x[1:]
    return (np.linalg.matrix_power(t.T, 3) @ np.linalg.matrix_power(t, 2))[:3, 3].sum()


def products_of_lists(x):
    return math.prod([v + 1 for v in x]) + math.prod([v for v in x], start=x[0]) + math.prod([x[0], x[1]], start=2)


def texts_in_order(x):
    d = {"b": x[0], "a": x[1]}
    s = 0.0
    for k in sorted(d):
        s = s * 1.1 + d[k]
    pairs = sorted([("b", 2), ("a", 3)], reverse=True)
    return s * (2 if sorted(["c", "b"])[0] == "b" else 3) + pairs[0][1] * x[2]


class Spring:
    def __init__(self, x):
        self.k = x[0]
        self.c = x[1]


def attributes_by_name(x):
    o = Spring(x)
    total = sum(getattr(o, name) * (i + 1) for i, name in enumerate("{},{}".format("c", "k").split(",")))
    return total * getattr(o, "k") + getattr(o, "m", x[2]) * hasattr(o, "c")


def keys_that_are_pairs(x):
    edges = {(0, 1): 2.0, (1, 2): 3.0}
    s = sum(w * x[i] for (i, j), w in edges.items())
    for (i, j), w in edges.items():
        s += w * x[i] * x[j]
    for i, j in edges:
        s += edges[i, j] * x[j]
    return s


def joined_dicts(x):
    d = {"a": x[0]}
    same = d
    d |= {"b": x[1]}
    return same["b"] * (d | {"a": x[2]})["a"] * d["a"]


def tuples_in_dictionary_order(x):
    s = 2.0 if (2, 1) < (1, 5) else 3.0
    if (x[0], x[1]) < (x[0], x[2]):
        s += x[0]
    if (x[0], 1) >= (x[3], 0):
        s += x[1]
    least = min((x[0], x[1]), (x[3], x[2]))
    return s * least[0] * max([(1, x[0]), (1, x[1])])[1]


def items_times_sums(x):
    u = x.copy()
    u[0] *= sum(2.0 * e for e in x)
    u[1] += sum([e * e for e in x])
    u[2] -= sum(e for e in u if e > 1.0)
    return np.sum(u * u)


def own_name(p):
    p[1] = p[0] * 3
    q = p
    p = p * 2
    p[0] = q[1]
    return np.sum(p * p)


def parameters_bound_again(x):
    u = x.copy()
    return own_name(u) + u[1] * x[2]


def tries_within_tries(x):
    s = 0.0
    try:
        for i in range(4):
            try:
                if x[i] > 0.8:
                    raise ValueError("large")
                s += x[i]
            except ValueError:
                s += x[i] ** 2
        try:
            if s > 1.0:
                raise KeyError("s")
            s *= 5.0
        except KeyError:
            s *= 3.0
        if s > 2.0:
            raise ValueError("s")
        s *= 7.0
    except ValueError:
        s = s * x[1]
    return s


def leaves_a_tuple(x):
    s, t = 0.0, 1.0
    for e in (x[0], x[1], x[2]):
        if e > 1.0:
            break
        s += e * e
    for i, w in enumerate([x, x * 2, x * x]):
        if w[i] > 1.7:
            t = w[3]
            break
        for k in range(4):
            if k == 2:
                break
            s *= 1.0 + w[k]
    else:
        t = 5.0
    for key, w in {"a": x, "b": x * x}.items():
        if key == "b":
            break
        s += w[3]
    return s * t


def lists_that_start_as_displays(x):
    a = [x[0], x[1]]
    same = a
    a.extend(x)
    b = [x[2], x[0], x[1]]
    c = b
    b.sort()
    c[0] *= 1.5
    b.sort(reverse=True)
    d = [x[0]]
    d += x[:2].tolist()
    return a[-1] * len(same) + b[0] * c[1] ** 2 + sum(d) * d[2]


def items_taken_out(x):
    a = [x[0], x[1], x[2], x[0] * x[1]]
    del a[1]
    del a[-1]
    rows = [x * 2, x, x]
    del rows[1:]
    d = {"a": x[0], "b": x[1]}
    del d["a"]
    names = ["p", "q"]
    names.remove("p")
    built = [v * v for v in x]
    built.sort()
    del built[-1]
    return a[1] * len(a) + a[0] + rows[0][0] * len(rows) + d["b"] * len(d) * (3 if names[0] == "q" else 1) + built[2]


def unpacked_lists(x):
    a, b, c, d = tuple(v**2 for v in x)
    first, *rest, last = [v**3 for v in x]
    return a * b + c * d + first * last + sum(rest) * len(rest)


def put_from_lists(x):
    y = x.copy()
    np.put(y, [0], [x[1]])
    np.put(y, [1, 2], [x[3], x[0] * 2])
    return np.sum(y * x) + np.resize([x[0]], 3).sum() * x[1]


def weighted_by_lists(x):
    columns = np.average(np.outer(x, x), axis=0, weights=[x[0], x[1], 2, 1])
    return np.average(x, weights=[1, 2, 1.0, 3]) + columns[1] + np.average([x[0], x[1]], weights=(x[2], 2))


def corrected(u, f, n):
    u[1:] += f[1:] * n
    if n > 1:
        e = corrected(np.zeros_like(f), f, n - 1)
        u += e
    return u


def writers_that_return_what_they_write(x):
    u = np.zeros_like(x)
    for _ in range(2):
        u = corrected(u, x, 3)
    return np.sum(u * u * x)


PROGRAMS = [
    two_buffers, three_assignments, pieces, sums_and_sorted, largest_by_key, extremes_or_a_default,
    parallel_range, products_and_pairs, products_of_unknown_lengths,
    statistics_of_python, means_of_positive_numbers,
    unpacked_displays, messages, keys_that_are_tuples, shifted_history, slices_of_lists, folds, from_a_generator,
    product_in_place, grown_by_append, integer_functions, mixed_displays, a_series, integer_products,
    lists_among_arrays, partials_that_hold_arrays, largest_of_a_grid, powers_of_a_matrix, products_of_lists,
    texts_in_order, attributes_by_name, keys_that_are_pairs, joined_dicts, tuples_in_dictionary_order,
    items_times_sums, parameters_bound_again, tries_within_tries, leaves_a_tuple, lists_that_start_as_displays,
    items_taken_out, unpacked_lists, put_from_lists, weighted_by_lists, writers_that_return_what_they_write,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_value_tangent_and_gradient(fun, target):
    assert_derivatives(fun, X, target)


def changed_on_a_path(p):
    if p[0] > 0:
        p = p * 2
    p[0] = 1.0
    return np.sum(p * p)


def other_order_of_keys(x):
    d = {"q": x[0], "p": x[1]}
    if x[0] > 0:
        d = {"p": d["q"], "q": x[2]}
    return d["p"]


def too_few(x):
    a, *_, b, c = (x[0], x[1])
    return a * b * c


def no_name_for_it(x):
    z = x.copy()
    y = z if x[0] > 0 else z[::-1]
    y[0] = 1.0
    return np.sum(y * z * x)


def array_of_texts(x):
    return x[0] * len(np.array([(1, "a"), (2, "b")]))


@pytest.mark.parametrize(
    ("fun", "line", "reason"),
    [
        (lambda x: changed_on_a_path(x), "p = p * 2", "bound to something else on some paths"),
        (other_order_of_keys, 'd["p"]', "keys in another order on another path"),
        (too_few, "a, *_, b, c = (x[0], x[1])", "not enough values"),
        (no_name_for_it, "y[0] = 1.0", "Make one a copy, as in `"),
        (array_of_texts, 'np.array([(1, "a"), (2, "b")])', "holds no numbers"),
    ],
)
def test_what_is_refused_names_the_line_and_the_reason(fun, line, reason):
    with pytest.raises(s2sad.S2SADError, match=reason) as caught:
        s2sad.grad(fun, target="python")(X)
    assert line in str(caught.value)


def written_after_a_reversed_view(x, y):
    total = 0.0
    for a, b in zip(x, x[::-1]):
        total = np.tanh(a * b + total)
    x[-1] = total
    x, y = y, x
    return total + np.sum(np.sin(x) * y)


def test_split_sweeps_put_back_what_a_view_shares():
    whole = s2sad.grad(written_after_a_reversed_view, (0, 1), target="python")(X, X[::-1].copy())
    split = s2sad.vjp(written_after_a_reversed_view, X, X[::-1].copy(), target="python")[1](1.0)
    np.testing.assert_allclose(split, whole, rtol=1e-13)
    moved = [1e-6 * unit for unit in np.eye(X.size)]
    slopes = [written_after_a_reversed_view(X + d, X[::-1].copy()) - written_after_a_reversed_view(
        X - d, X[::-1].copy()) for d in moved]  # fmt: skip
    np.testing.assert_allclose(whole[0], np.array(slopes) / 2e-6, rtol=1e-7)


def written_number(x):
    z = np.zeros(())
    z[...] = x[0] ** 2
    return z * x[1]


def picked_by_the_run(x):
    return np.sum([x, x * 2][1 if x[1] > 0 else 0])


@pytest.mark.parametrize(("fun", "way_out"), [
    (written_number, r"assign to its name, or give it an axis, `np\.zeros\(1\)`"),
    (picked_by_the_run, r"choose one by a condition \(`a if c else b`\)"),
])  # fmt: skip
def test_refusals_of_indices_say_what_to_write_instead(fun, way_out):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match=way_out):
        s2sad.grad(fun, target="python")(X)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_is_unpacked_is_counted_at_run_time(target):
    def two(x):
        a, b = [v for v in x if v > 0.4]
        return a * b

    def ends(x):
        a, *between, b = [v for v in x if v > 1.0]
        return a * b + sum(between)

    with pytest.raises(ValueError, match="2 values are needed here"):
        s2sad.grad(two, target=target)(X)
    with pytest.raises(ValueError, match="at least 2 values are needed here"):
        s2sad.grad(ends, target=target)(X)
    np.testing.assert_allclose(s2sad.grad(two, target=target)(X[1:]), [1.1, 0.9, 0.0])


def test_a_rule_whose_value_calls_the_function_again_has_no_second_derivative():
    @s2sad.custom_vjp
    def product(x, y):
        return x * y

    product.defvjp(lambda x, y: (product(x, y), (x, y)), lambda kept, g: (g * kept[1], g * kept[0]))

    def folded(x):
        t = 1.0
        for i in range(2):
            t = product(x[i], t)
        return t

    with pytest.raises(s2sad.S2SADError, match="`product` has a reverse-mode rule only"):
        s2sad.hessian(folded, target="python")(X)


KNOWN = "not in range"


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_texts_of_errors_name_their_values(target):
    def percent(x):
        if x[0] < 5:
            raise ValueError("%5.2f of %d%% in " % (x[0], len(x)) + str(x[1]), 3)  # noqa: UP031
        return x[0]

    def by_name(x):
        assert x[0] > 5, KNOWN
        return x[0]

    with pytest.raises(ValueError) as caught:
        s2sad.grad(percent, target=target)(X)
    assert caught.value.args == ("{x[0]} of {len(x)}% in {x[1]}", 3)
    with pytest.raises(AssertionError, match=KNOWN):
        s2sad.grad(by_name, target=target)(X)


def doubled(a):
    return a * 2


def test_arguments_that_do_not_fit_are_told_at_the_call():
    def caller(x):

        return doubled(x, x)

    with pytest.raises(s2sad.S2SADError, match="takes 1 arguments") as caught:
        s2sad.grad(caller, target="python")(1.0)
    assert "return doubled(x, x)" in str(caught.value)
    with pytest.raises(s2sad.S2SADError, match=r"of shape \(n,\)"):
        s2sad.grad(lambda x: x[:1] * 2, target="python")(X)
    with pytest.raises(s2sad.S2SADError, match="`y` is a memoryview"):
        s2sad.grad(lambda x, y: x * y[0], target="python")(1.0, memoryview(X))


def one_of_two(x, k):
    least, most = k, k + 2
    if k in {least, most + 1}:
        return x * x
    return x


def in_none(x, k):
    if k not in {1, 2} and x in {x, 2.0 * x}:
        return x**3
    return 2.0 * x


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_is_in_a_set_of_computed_values(target):
    assert s2sad.grad(one_of_two, target=target)(3.0, 5) == 6.0
    assert s2sad.grad(in_none, target=target)(3.0, 5) == 27.0
    assert s2sad.grad(in_none, target=target)(3.0, 1) == 2.0
