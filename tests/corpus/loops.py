"""Loops of every form: `for` over ranges, arrays and pairs, `while`, nests, `break`, `continue`, `else`."""

import math

import numpy as np

from tests.corpus.programs import mat, pos, program, vec


@program(vec(6))
@program(vec(6, dtype=np.float32))
@program(vec(1))
def sum_of_squares(x):
    total = 0.0
    for i in range(x.size):
        total += x[i] ** 2
    return total


@program(1.3)
def no_iterations(x):
    y = x * x
    for _ in range(0):
        y = y * 100.0
    return y


@program(0.7)
def scalar_recurrence(x):
    y = x
    for _ in range(7):
        y = math.sin(y) + 0.1 * x
    return y


@program(vec(5))
def range_with_start(x):
    s = x[0]
    for i in range(1, len(x)):
        s = s * x[i] + 1.0
    return s


@program(vec(9))
def range_with_step(x):
    s = 0.0
    for i in range(1, 9, 3):
        s += x[i] * x[i - 1]
    return s


@program(vec(6))
def range_backwards(x):
    s = 0.0
    for i in range(5, -1, -1):
        s = 0.5 * s + math.tanh(x[i])
    return s


@program(vec(7))
def range_backwards_by_two(x):
    s = 1.0
    for i in range(6, 0, -2):
        s *= math.cos(x[i] - x[i - 1])
    return s


@program(vec(5))
def over_array(x):
    s = 0.0
    for e in x:
        s += e * e * e
    return s


@program(mat(3, 4))
def over_rows(a):
    s = 0.0
    for row in a:
        s += math.sin(row[0]) * row[3]
    return s


@program(vec(5))
def over_enumerate(x):
    s = 0.0
    for i, e in enumerate(x):
        s += (i + 1) * math.exp(-e)
    return s


@program(vec(5))
def over_enumerate_from(x):
    s = 0.0
    for i, e in enumerate(x, 2):
        s += e**i
    return s


@program(vec(5), vec(5, 1), wrt=(0, 1))
def over_zip(x, y):
    s = 0.0
    for a, b in zip(x, y):
        s += math.sin(a * b)
    return s


@program(vec(5), vec(3, 1), wrt=(0, 1))
def over_zip_uneven(x, y):
    s = 0.0
    for a, b in zip(x, y):
        s += a * b
    return s


@program(vec(4), vec(4, 1), wrt=(0, 1))
def over_enumerate_zip(x, y):
    s = 0.0
    for i, (a, b) in enumerate(zip(x, y)):
        s += a * b**2 * i
    return s


@program(vec(5))
def over_reversed_array(x):
    s = 0.3
    for e in reversed(x):
        s = s * e + 1.0
    return s


@program(vec(5))
def over_reversed_range(x):
    s = 0.3
    for i in reversed(range(5)):
        s = s * x[i] + 1.0
    return s


@program(1.2, 0.4, wrt=(0, 1))
def over_tuple(a, b):
    s = 0.0
    for e in (a, b, a * b):
        s += e * e
    return s


@program(1.2)
def over_constant_tuple(a):
    s = 0.0
    for c in (0.5, 2.0, 3.0):
        s += math.sin(c * a)
    return s


@program([0.3, 0.8, 1.9])
def over_list(xs):
    s = 1.0
    for e in xs:
        s = s * e + e
    return s


@program(mat(4, 3))
def nested(a):
    s = 0.0
    for i in range(4):
        for j in range(3):
            s += a[i, j] ** 2 * (i - j)
    return s


@program(mat(5, 5))
def triangular(a):
    s = 1.0
    for i in range(5):
        for j in range(i + 1):
            s = s * 0.9 + a[i, j] * a[j, i]
    return s


@program(vec(4))
def triple_nest(x):
    s = 0.0
    for i in range(4):
        for j in range(i):
            for k in range(j, 4):
                s += x[i] * x[j] * x[k]
    return s


@program(vec(6))
def carried_in_nest(x):
    s = 0.5
    for i in range(3):
        t = x[i]
        for j in range(2):
            t = t * s + x[i + j]
        s = math.tanh(t)
    return s


@program(3.7)
def while_newton(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


@program(0.3)
def while_counter(x):
    i = 0
    y = x
    while i < 5:
        y = y + math.sin(y) * i
        i += 1
    return y


@program(0.3)
def while_never(x):
    y = x * x
    while y > 100.0:
        y = y / 2.0
    return y


@program(37.0)
def while_active_condition(x):
    y = x
    n = 0
    while y > 1.0:
        y = y / 2.7
        n += 1
    return y * n


@program(0.2)
def while_true_break(x):
    y = x
    while True:
        y = y * 1.5 + x
        if y > 10.0:
            break
    return y


@program(0.9)
def while_nested(x):
    y = x
    i = 0
    while i < 3:
        z = y
        while z < 4.0:
            z = z * 1.7
        y = y + 0.1 * z
        i += 1
    return y


@program(vec(8))
def break_on_value(x):
    s = 0.0
    for i in range(8):
        s += x[i] ** 2
        if s > 2.0:
            break
    return s * 3.0


@program(vec(8))
def continue_on_value(x):
    s = 0.0
    for i in range(8):
        if x[i] < 0.0:
            continue
        s += x[i] ** 3
    return s


@program(vec(8))
def break_and_continue(x):
    s = 1.0
    for i in range(8):
        if x[i] > 1.2:
            break
        if x[i] < -0.5:
            continue
        s *= 1.0 + 0.3 * x[i]
    return s


@program(mat(4, 4))
def break_inner_only(a):
    s = 0.0
    for i in range(4):
        for j in range(4):
            if a[i, j] > 0.6:
                break
            s += a[i, j] * (s + 1.0)
    return s


@program(mat(4, 4))
def continue_outer_after_inner(a):
    s = 0.0
    for i in range(4):
        t = 0.0
        for j in range(4):
            if a[i, j] < 0:
                continue
            t += a[i, j] ** 2
        if t < 0.2:
            continue
        s += math.sqrt(t)
    return s


@program(vec(5))
def else_reached(x):
    s = 0.0
    for e in x:
        if e > 100.0:
            break
        s += e
    else:
        s = s * s
    return s


@program(vec(5))
def else_skipped(x):
    s = 0.0
    for i in range(5):
        s += x[i] * x[i]
        if i == 2:
            break
    else:
        s = -100.0 * s
    return s


@program(1.4)
def while_else(x):
    y = x
    while y < 20.0:
        y = y * y + 0.5
    else:
        y = math.log(y)
    return y


@program(vec(8))
def return_from_loop(x):
    s = 0.0
    for i in range(8):
        s += x[i] ** 2
        if s > 1.5:
            return s * x[i]
    return s


@program(mat(4, 4))
def return_from_nest(a):
    p = 1.0
    for i in range(4):
        for j in range(4):
            p = p * (1.0 + 0.5 * a[i, j])
            if p > 1.6:
                return p * p
    return -p


@program(vec(5))
def loop_variable_after(x):
    i = 0
    for i in range(4):
        pass
    return x[i] ** 2


@program(vec(5))
def loop_element_after(x):
    e = 0.0
    for e in x:
        pass
    return e * e


@program(vec(6))
def defined_before_used_after(x):
    y = x[0] * x[1]
    s = 0.0
    for i in range(6):
        s += math.sin(x[i])
    return s * y


@program(vec(6))
def temporary_overwritten(x):
    s = 0.0
    for i in range(6):
        t = x[i] * x[i]
        t = math.sin(t)
        t = t * t
        s += t
    return s


@program(vec(6), 4)
def static_trip_count(x, n):
    s = 0.0
    for i in range(n):
        s += x[i] ** 2
    return s


@program(pos(6))
def two_loops_share_names(x):
    s = 1.0
    for i in range(6):
        s *= x[i]
    t = 0.0
    for i in range(6):
        t += s / x[i]
    return t


@program(vec(4))
def index_arithmetic(x):
    s = 0.0
    n = len(x)
    for i in range(2 * n):
        s += x[i % n] * x[(i * 3 + 1) % n]
    return s


@program(vec(6))
def negative_indices(x):
    s = 0.0
    for i in range(1, 4):
        s += x[-i] * x[i - 1]
    return s
