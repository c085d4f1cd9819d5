"""What compiled code is told of arrays that lie apart must be true of views too."""

import numpy as np
import pytest
from numba.typed import List

import s2sad
from s2sad.backends.numba_cpu import jitted


def rows_of_one(x):
    """Two rows of one array, written in turn, and a third name for the first of them."""
    state = np.copy(x)
    above, below, again = state[0], state[1], state[0:1][0]
    for i in range(x.shape[1]):
        above[i] = above[i] * below[i]
        below[i] = again[i] + 1.0
        again[i] = below[i] * below[i]
    return np.sum(state)


def shifted_by_one(x):
    """Two views that overlap: each turn reads what the one before wrote."""
    state = np.copy(x)
    here, ahead = state[:-1], state[1:]
    for i in range(here.size):
        ahead[i] = here[i] * 1.5 + ahead[i]
    return np.sum(state)


def turned(x):
    state = np.copy(x)
    other = state.T
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            other[j, i] = state[i, j] * state[i, (j + 1) % x.shape[1]]
    return np.sum(state)


def rows_kept(x):
    """A view of the array of the turn before, while another is made at the same line."""
    total = 0.0
    row = x[0]
    for i in range(x.shape[0]):
        made = np.zeros((2, x.shape[1]))
        made[0] = x[i] * row
        for j in range(x.shape[1]):
            made[1, j] = made[0, j] + row[j]
        total += np.sum(made)
        row = made[1]
    return total


def rows_of_several(weights, x):
    """Rows of an argument, of a copy and of an array made here."""
    state, history = np.copy(x), np.zeros((4, x.shape[1]))
    for t in range(4):
        weight, bias = weights[0], weights[1]
        hidden, cell = state[0], state[1]
        kept = history[t]
        for i in range(x.shape[1]):
            kept[i] = np.exp(-(hidden[i] * weight[i] + bias[i]))
            cell[i] = cell[i] * kept[i] + weight[i]
            hidden[i] = np.tanh(cell[i])
    return np.sum(state) + np.sum(history * history)


X = np.random.default_rng(0).normal(size=(3, 37))


@pytest.mark.parametrize(
    ("fun", "args"),
    [
        (rows_of_one, (X,)), (shifted_by_one, (X[0],)), (turned, (X,)), (rows_kept, (X,)),
        (rows_of_several, (X[:2], X[1:])),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_views_of_an_array_may_meet_it(fun, args):
    """The same numbers as in CPython, to the last bits that vectors of `exp` leave open."""
    np.testing.assert_allclose(jitted(fun, cache=False)(*args), fun(*args), rtol=1e-13)
    found = s2sad.value_and_grad(fun, argnums=tuple(range(len(args))))(*args)
    expected = s2sad.value_and_grad(fun, argnums=tuple(range(len(args))), target="python")(*args)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-13)
    for one, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)


def rows_alone(x):
    state, history = np.empty((2, x.size)), np.empty((2, x.size))
    hidden, kept = state[0], history[0]
    for i in range(x.size):
        hidden[i] = x[i]
        kept[i] = hidden[i] * x[i]
    return kept[0]


def test_items_of_rows_are_known_to_lie_apart_from_other_arrays():
    compiled = jitted(rows_alone, cache=False)
    compiled(X[0].copy())
    (code,) = compiled.inspect_llvm().values()
    assert "!alias.scope" in code


def changing_places(x):
    """Names that exchange their arrays, a third one that keeps the first, and one bound in two places."""
    here, ahead = np.copy(x), np.zeros(x.shape)
    first = here
    for t in range(5):
        other = ahead if t > 2 else first
        for i in range(x.size):
            ahead[i] = np.exp(-here[i]) + first[i]
            first[i] = ahead[i] * 0.5 + here[i] * 0.1
            other[i] = other[i] + here[x.size - 1 - i]
        here, ahead = ahead, here
        if t == 3:
            ahead = np.ones(x.shape)
    return np.sum(here * ahead) + np.sum(first)


def products_that_change_places(a, x):
    state = np.copy(x)
    before = state
    for _ in range(6):
        made = a @ state
        for i in range(x.size):
            made[i] = np.tanh(made[i] + before[i])
            before[i] = made[i] * 0.5
        before, state = state, made
    return np.sum(state) + np.sum(before)


PLACES = [(changing_places, (X[0],)), (products_that_change_places, (X @ X.T, X[:, 0]))]


@pytest.mark.parametrize(("fun", "args"), PLACES)
def test_names_bound_in_several_places(fun, args):
    np.testing.assert_allclose(jitted(fun, cache=False)(*args), fun(*args), rtol=1e-13)


def out_of_a_list(x):
    """An item that is the array itself, and one of the turn before that was made at the same line."""
    kept, total = [np.copy(x)], 0.0
    for _ in range(4):
        made = np.zeros(x.size)
        kept.append(made)
        last, before = kept[-1], kept[-2]
        for i in range(x.size):
            made[i] = np.exp(-before[i])
            last[i] = made[i] + before[x.size - 1 - i]
            before[i] = last[i] * 0.5 + made[i]
        total += np.sum(kept[-2] * last)
    return total


def out_of_a_list_of_lists(x):
    a, b = np.copy(x), np.ones(x.size)
    layers = [[a, b], [b, np.zeros(x.size)]]
    shared, other = layers[1][0], layers[0][0]
    for i in range(x.size):
        b[i] = np.exp(-x[i])
        shared[i] = b[i] * 2.0 + a[i]
        a[i] = shared[i] + other[x.size - 1 - i]
    return np.sum(a) + np.sum(b * shared)


def put_in_place_of_an_item(x):
    a, b = np.copy(x), np.zeros(x.size)
    items = [a, a]
    items[1] = b
    items.insert(0, b)
    first, last = items[0], items.pop()
    for i in range(x.size):
        first[i] = np.exp(a[i])
        b[i] = first[i] + last[i]
        last[i] = b[i] * a[i]
    return np.sum(last) + np.sum(first)


def filled_elsewhere(x):
    def fill(items, array):
        items.append(array)
        items.append(array)

    a, items = np.copy(x), [np.zeros(x.size)]
    fill(items, a)
    last = items[-1]
    for i in range(x.size):
        a[i] = np.exp(-last[i])
        last[i] = a[i] + items[1][x.size - 1 - i]
    return np.sum(a * last)


def joined_lists(x):
    a, b = np.copy(x), np.ones(x.size)
    items = [a] + [b]
    items += [a]
    items.extend([b])
    one, other, third = items[2], items[3], items[0]
    for i in range(x.size):
        a[i] = np.exp(-one[i]) + other[i]
        one[i] = a[i] + third[x.size - 1 - i]
        other[i] = b[i] * one[i]
    return np.sum(a) + np.sum(b)


def named_while_listed(x):
    made = [np.full(x.size, 0.5 * k) for k in range(3)]
    for k in range(3):
        item, ahead = made[k], made[(k + 1) % 3]
        for i in range(x.size):
            item[i] = np.exp(-ahead[i]) * x[i]
            ahead[i] += item[x.size - 1 - i]
    return np.sum(made[0] * made[1]) + np.sum(made[2])


LISTS = [out_of_a_list, out_of_a_list_of_lists, put_in_place_of_an_item, filled_elsewhere, joined_lists,
         named_while_listed]  # fmt: skip


@pytest.mark.parametrize("fun", LISTS, ids=lambda fun: fun.__name__)
def test_items_of_lists_may_meet_the_arrays_put_in(fun):
    np.testing.assert_allclose(jitted(fun, cache=False)(X[0]), fun(X[0]), rtol=1e-13)


def test_a_list_that_is_an_argument():
    def through(items, x):
        made, first, last = np.zeros(x.size), items[0], items[-1]
        for i in range(x.size):
            made[i] = np.exp(-first[i])
            last[i] = made[i] + first[x.size - 1 - i]
            made[i] += last[i] * x[i]
        return np.sum(made)

    compiled = jitted(through, cache=False)
    shared = X[1].copy()
    found = compiled(List([shared, X[2].copy(), shared]), X[0])
    shared = X[1].copy()
    np.testing.assert_allclose(found, through([shared, X[2].copy(), shared], X[0]), rtol=1e-13)


def test_a_result_does_not_depend_on_where_the_items_of_a_list_lie():
    rng = np.random.default_rng(11)
    c, x = rng.normal(size=6), rng.normal(size=11)
    _, pullback = s2sad.vjp(lambda c, x: np.polynomial.hermite_e.hermeval(x, c), c, x)
    lengths = np.random.default_rng(2).integers(1, 60, 300)
    kept = [(np.empty(n), b"".join(bar.tobytes() for bar in pullback(x))) for n in lengths]
    assert len({found for _, found in kept}) == 1


def test_a_result_does_not_depend_on_where_its_arrays_lie():
    def field(j):
        m = np.zeros(5)
        m[0] = 1.0
        for _ in range(6):
            m = np.tanh(j @ m + 0.1)
        return np.sum(m)

    bar = s2sad.grad(field)
    couplings = np.random.default_rng(1).normal(size=(5, 5))
    lengths = np.random.default_rng(2).integers(1, 60, 200)
    kept = [(np.empty(n), bar(couplings).tobytes()) for n in lengths]
    assert len({found for _, found in kept}) == 1
