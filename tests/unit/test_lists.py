"""Lists as people write them: copied, filled, handed on to be grown, taken apart, and given back by recursion."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, -0.4, 2.1])
NEIGHBOURS = [[1, 2], [0, 2, 3], [0], [1]]


def a_list_of_an_array(x):
    doubled = x * 2
    items = list(doubled)
    items[0] = 5.0
    return sum(items) * doubled[0]


def a_copy_that_grows(x):
    squares = []
    for v in x:
        squares.append(v * v)
    longer = list(squares)
    for _ in range(3):
        longer.append(1.0)
    return len(squares) * sum(longer) + len(longer) * sum(squares)


def a_copy_that_is_written(x):
    squares = []
    for v in x:
        squares.append(v * v)
    changed = list(squares)
    changed[0] = x[1]
    for k in range(3):
        changed[k] = changed[k] * 2
    return squares[0] * sum(changed)


def items_moved_down(x):
    doubled = x * 2
    items = list(doubled)
    for i in range(3):
        items[i] = items[i + 1] * 2
    return sum(items) * doubled[0]


def a_copy_and_one_more(x):
    doubled = x * 2
    items = list(doubled) + [x[0]]
    return sum(items) * doubled[0] + len(items)


def a_copy_twice_over(x):
    doubled = x * 2
    items = list(doubled) * 2
    return sum(items) * doubled[0] + len(items)


def displays_repeated(x):
    n = len(x)
    items = [x[0], x[1]] * n
    items[2] = x[3]
    return sum(items) * x[2] + sum([0.5, 1] * n) * x[1]


def push_square(stack, v):
    stack.append(v * v)


def pushed_in_a_loop(x):
    stack = []
    for v in x:
        push_square(stack, v)
    return sum(stack) * stack[0]


def pushed_by_hand(x):
    stack = []
    push_square(stack, x[0])
    push_square(stack, x[1])
    return stack[0] * stack[1]


def pushed_by_an_inner_function(x):
    stack = []

    def record(v):
        stack.append((v, v * v))

    for v in x:
        record(v)
    return sum(a * b for a, b in stack)


def squares_of(x):
    out = []
    for v in x:
        out.append(v * v)
    return out


def halves_combined(a):
    n = len(a)
    if n == 1:
        return a
    even = halves_combined(a[::2])
    odd = halves_combined(a[1::2])
    out = [0.0] * n
    for k in range(n // 2):
        out[k] = even[k] + 0.5 * odd[k] * odd[k]
        out[k + n // 2] = even[k] - 0.5 * odd[k]
    return out


def a_list_from_another_function(x):
    return sum(squares_of(x))


def a_recursive_butterfly(x):
    y = halves_combined(list(x))
    return y[0] * y[1] * y[2]


def steps_of_an_inner_function(x):
    def slope(y):
        return [y[1], -y[0] * x[0]]

    y = [x[0], x[1]]
    for _ in range(3):
        d = slope(y)
        y = [y[i] + 0.1 * d[i] for i in range(2)]
    return y[0] * y[1]


def oscillator(y, stiffness):
    d = [0.0] * 2
    d[0] = y[1]
    d[1] = -y[0] * stiffness
    return d


def steps_of_a_filled_list(x):
    y = [x[0], x[1]]
    for _ in range(3):
        d = oscillator(y, x[2])
        y = [y[i] + 0.1 * d[i] for i in range(2)]
    return y[0] * y[1]


def coupled(y, rate):
    n = len(y)
    d = [0.0 for _ in range(n)]
    for i in range(n):
        d[i] = -y[i] * rate * y[(i + 1) % n]
    return d


def steps_in_place(x):
    y = [v * 1.0 for v in x]
    n = len(y)
    for _ in range(3):
        d = coupled(y, x[2])
        for i in range(n):
            y[i] = y[i] + 0.1 * d[i]
    return y[0] * y[1]


def merge_sort(a):
    if len(a) <= 1:
        return a
    half = len(a) // 2
    left = merge_sort(a[:half])
    right = merge_sort(a[half:])
    out = []
    i = 0
    j = 0
    while i < len(left) and j < len(right):
        if left[i] < right[j]:
            out.append(left[i])
            i += 1
        else:
            out.append(right[j])
            j += 1
    while i < len(left):
        out.append(left[i])
        i += 1
    while j < len(right):
        out.append(right[j])
        j += 1
    return out


def quick_sort(a):
    if len(a) <= 1:
        return a
    pivot = a[0]
    low = [v for v in a[1:] if v < pivot]
    high = [v for v in a[1:] if v >= pivot]
    return quick_sort(low) + [pivot] + quick_sort(high)


def ranks_by_merge_sort(x):
    items = merge_sort([v * v for v in x])
    return sum(v * (i + 1) ** 2 for i, v in enumerate(items))


def ranks_by_quick_sort(x):
    items = quick_sort([v * v for v in x])
    return sum(v * (i + 1) ** 2 for i, v in enumerate(items))


def scale_in_place(items, factor):
    for i in range(len(items)):
        items[i] = items[i] * factor
    return items


def scaled_and_given_back(x):
    squares = [v * v for v in x]
    scaled = scale_in_place(squares, x[0])
    return squares[0] * scaled[1] + sum(squares)


def either_list(a, b, c):
    if c > 0:
        return a
    return b


def one_of_two_lists(x):
    squares = [v * v for v in x]
    doubles = [v * 2 for v in x]
    chosen = either_list(squares, doubles, x[0])
    return squares[0] * chosen[1] + sum(chosen)


def steps_of_heun(x):
    def pendulum(t, y):
        return [y[1], -np.sin(y[0]) * x[2]]

    y = [x[0], x[1]]
    h = 0.1
    for _ in range(4):
        k1 = pendulum(0, y)
        k2 = pendulum(0, [y[i] + h / 2 * k1[i] for i in range(len(y))])
        y = [a + h * (b + c) / 2 for a, b, c in zip(y, k1, k2)]
    return y[0] ** 2 + y[1]


def ring(t, y, rate):
    n = len(y)
    out = []
    for i in range(n):
        out.append(-rate * y[i] * y[i - 1])
    return out


def steps_of_heun_on_a_ring(x):
    y = list(x)
    h = 0.1
    for _ in range(4):
        k1 = ring(0, y, x[0])
        k2 = ring(0, [y[i] + h / 2 * k1[i] for i in range(len(y))], x[0])
        y = [a + h * (b + c) / 2 for a, b, c in zip(y, k1, k2)]
    return y[0] ** 2 + y[1]


def first_items_popped(x):
    items = [v * v for v in x]
    s = 0.0
    while items:
        s = s * 0.5 + items.pop(0)
    return s


def a_window_that_moves(x):
    window = [0.0, 0.0]
    s = 0.0
    for v in x:
        window.append(v * v)
        window.pop(0)
        s += window[0] * window[1]
    return s


def a_queue_of_pairs(x):
    queue = [(0, x[0])]
    s = 0.0
    while queue:
        i, v = queue.pop(0)
        s += v * v * i
        if i < 3:
            queue.append((i + 1, v * x[i]))
    return s


def zeros_overwritten(x):
    r = [0] * len(x)
    for i in range(len(x)):
        r[i] = x[i] ** 2
    return sum(r) + x[0]


def one_item_of_overwritten_zeros(x):
    r = [0] * len(x)
    for i in range(len(x)):
        r[i] = x[i] ** 2
    return r[1]


def nothing_overwritten(x):
    r = [None] * len(x)
    for i in range(len(x)):
        r[i] = x[i] ** 2
    return sum(r)


def a_whole_number_appended_first(x):
    r = []
    r.append(0)
    for v in x:
        r.append(r[-1] + v**2)
    return r[-1] * x[0]


def zeros_by_comprehension(x):
    r = [0 for _ in range(3)]
    for i in range(3):
        r[i] = x[i] ** 2
    return r[-1] * 1.0


def a_table_of_zeros(x):
    table = [[0] * 3 for _ in range(3)]
    for i in range(3):
        for j in range(3):
            table[i][j] = x[i] * x[j]
    return table[1][2] * x[0]


def zeros_made_an_array(x):
    r = [0] * len(x)
    for i, v in enumerate(x):
        r[i] = v**2
    return np.array(r) @ x


def product_of_polynomials(x):
    out = [0] * (2 * len(x) - 1)
    for i, a in enumerate(x):
        for j, b in enumerate(x):
            out[i + j] += a * b
    return sum(c**2 for c in out) + x[0]


def cheapest_way(x):
    n = len(x)
    cost = [10**9] * n
    cost[0] = 0
    for i in range(1, n):
        for j in range(i):
            cost[i] = min(cost[i], cost[j] + (x[i] - x[j]) ** 2)
    return cost[n - 1] * x[0]


def continuants(x):
    f = [0] * (len(x) + 1)
    f[0] = 1.0
    for i in range(len(x)):
        f[i + 1] = f[i] * x[i] + f[max(i - 1, 0)]
    return f[len(x)] * x[0]


def nothing_overwritten_by_a_recurrence(x):
    r = [None] * (len(x) + 1)
    r[0] = 0.0
    for i in range(len(x)):
        r[i + 1] = r[i] * 0.5 + x[i] ** 2
    return r[-1]


def empty_in_the_first_turn(y):
    slopes = []
    for _ in range(3):
        moved = y.copy()
        for k in slopes:
            moved = moved + 0.1 * k
        slopes.append(np.sin(moved))
    return np.sum(slopes[-1])


def asked_for_its_length(y):
    seen = []
    s = 0.0
    for v in y:
        if len(seen) > 0:
            s += seen[-1] * v
        seen.append(v**2)
    return s


def rebuilt_with_one_more(x):
    q = [x[0]]
    while len(q) < 4:
        q = q + [q[-1] * x[1]]
    return sum(q)


def rows_of_pascal(x):
    row = [1.0]
    for v in x:
        row = [a * v + b for a, b in zip([0.0] + row, row + [0.0])]
    return row[0] * row[1]


def a_range_backwards(x):
    s = 0.0
    for i in range(len(x))[::-1]:
        s = s * x[i] + x[i]
    return s


def a_range_searched(x):
    largest = max(range(3), key=lambda i: abs(x[i]))
    return x[largest] ** 2


def a_range_made_a_list(x):
    places = list(range(len(x)))
    return sum(x[i] * i for i in places)


def a_range_combined(x):
    s = 0.0
    for i, j in itertools.combinations(range(len(x)), 2):
        s += x[i] * x[j] ** 2
    return s


def a_range_sorted(x):
    order = sorted(range(len(x)), key=lambda i: x[i])
    return sum(k * x[i] for k, i in enumerate(order))


def neighbours_in_a_while_loop(x):
    s = 0.0
    i = 0
    while i < 4:
        for j in NEIGHBOURS[i]:
            s += x[i] * x[j] ** 2
        i += 1
    return s


def first_and_rest(x):
    first, *rest = x
    s = first
    for r in rest:
        s = s * r + r
    return s


def a_set_of_places(x):
    s = 0.0
    for i in set([0, 2, 2]):
        s += x[i] ** 2
    return s


def places_in_a_set(x):
    active = {0, 2}
    s = 0.0
    for i in range(4):
        if i in active:
            s += x[i] ** 2
    return s


def vectors_made_orthogonal(x):
    basis = []
    for k in range(3):
        v = x ** (k + 1)
        for q in basis:
            v = v - (q @ v) * q
        basis.append(v / np.sqrt(v @ v))
    return np.sum(basis[2] * np.cos(x))


def two_loops_of_a_quasi_newton_step(x):
    steps, changes, scales = [], [], []
    for _ in range(3):
        gradient = q = 2.0 * x + x**3
        weights = []
        for s, y, r in zip(reversed(steps), reversed(changes), reversed(scales)):
            weight = r * (s @ q)
            weights.append(weight)
            q = q - weight * y
        for s, y, r, weight in zip(steps, changes, scales, reversed(weights)):
            q = q + (weight - r * (y @ q)) * s
        new = x - 0.2 * q
        steps.append(new - x)
        changes.append(2.0 * new + new**3 - gradient)
        scales.append(1.0 / (steps[-1] @ changes[-1]))
        x = new
    return np.sum(x)


def matrices_read_before_the_first_is_there(x):
    past = []
    total = 0.0
    for k in range(3):
        m = np.outer(x, x) * (k + 1.0)
        if past:
            m = m @ past[-1].T
        past.append(0.1 * m)
        total += np.trace(m)
    return total


def differences_along(a, axis):
    later = [slice(None)] * a.ndim
    later[axis] = slice(1, None)
    earlier = [slice(None)] * a.ndim
    earlier[axis] = slice(None, -1)
    return a[tuple(later)] - a[tuple(earlier)]


def slices_in_a_list(x):
    a = np.reshape(x, (2, 2))
    total = np.sum(differences_along(a, -1) ** 3)
    for axis in range(a.ndim):
        total += (axis + 1) * np.sum(differences_along(a, axis) ** 2)
    return total


PROGRAMS = [
    vectors_made_orthogonal, two_loops_of_a_quasi_newton_step, matrices_read_before_the_first_is_there,
    slices_in_a_list,
    a_list_of_an_array, a_copy_that_grows, a_copy_that_is_written, items_moved_down, a_copy_and_one_more,
    a_copy_twice_over, displays_repeated, pushed_in_a_loop, pushed_by_hand, pushed_by_an_inner_function,
    a_list_from_another_function, a_recursive_butterfly, steps_of_an_inner_function, steps_of_a_filled_list,
    steps_in_place, ranks_by_merge_sort, ranks_by_quick_sort, scaled_and_given_back, one_of_two_lists, steps_of_heun,
    steps_of_heun_on_a_ring, first_items_popped, a_window_that_moves, a_queue_of_pairs, zeros_overwritten,
    one_item_of_overwritten_zeros, nothing_overwritten, a_whole_number_appended_first, zeros_by_comprehension,
    a_table_of_zeros, zeros_made_an_array, product_of_polynomials, cheapest_way, continuants,
    nothing_overwritten_by_a_recurrence, empty_in_the_first_turn, asked_for_its_length, rebuilt_with_one_more,
    rows_of_pascal, a_range_backwards, a_range_searched, a_range_made_a_list, a_range_combined, a_range_sorted,
    neighbours_in_a_while_loop, first_and_rest, a_set_of_places, places_in_a_set,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)


def never_what_a_matrix_product_takes(x):
    past = []
    for _ in range(2):
        if past:
            x = x @ past[-1] @ "text"
        past.append(x)
    return np.sum(x)


def test_what_no_guess_mends_is_said_of_the_first():
    with pytest.raises(s2sad.S2SADError, match=r'past\[-1\] @ "text"'):
        s2sad.grad(never_what_a_matrix_product_takes, target="python")(X)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_vectors_of_a_list_are_multiplied_across(target):
    def turned(x):
        axes = []
        for i in range(3):
            axes.append(x[3 * i : 3 * i + 3] * (i + 1))
        columns = np.zeros((3, 3))
        for i in range(3):
            columns[:, i] = np.cross(axes[i], x[2:5])
        return np.sum(columns**2)

    x = np.linspace(0.3, 1.7, 9)
    assert_derivatives(turned, x, target)


SHAPES = [(2, 2), (2,), (2, 1), (1,)]


def parameters_of_several_ranks(x):
    parts, at = [], 0
    for shape in SHAPES:
        size = int(np.prod(shape))
        parts.append(x[at : at + size].reshape(shape))
        at += size
    first, offset, second, last = parts
    return np.sum(np.tanh(np.tanh(x[:4].reshape(2, 2) @ first + offset) @ second + last))


def numbers_and_vectors(x):
    parts = []
    for i in range(3):
        parts.append(x[i] if i % 2 else x[:2])
    parts.append(x[3:7].reshape(2, 2))
    return parts[1] * (parts[0] @ parts[3] @ parts[2])


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [parameters_of_several_ranks, numbers_and_vectors])
def test_lists_of_several_kinds_that_grow_where_it_is_known_how(fun, target):
    assert_derivatives(fun, np.linspace(-0.9, 1.3, 9), target)
