"""What other tools differentiate wrongly, one small program each, with the gradient it should have."""

import math

import numpy as np

from tests.corpus.programs import mat, program, vec


def _twin():
    def f(x):
        return 3.0 * x
    return f


def _other_twin():
    def f(x):
        return x * x * x
    return f


first_f, second_f = _twin(), _other_twin()


def halve(v):
    v *= 0.5


def zero_first(v):
    v[0] = 0.0


@program(np.array([1.0, 2.0, 3.0]), true=[8.0, 16.0, 24.0])
def alias_then_in_place(x):
    y = x
    y *= 2.0
    return np.sum(x**2)


@program(np.array([[1.0, 2.0], [3.0, 4.0]]), true=[[2.0, 4.0], [5.0, 5.0]])
def view_written_through(a):
    row = a[1]
    row *= 5.0
    return np.sum(a[0] ** 2) + np.sum(a[1])


@program(np.array([1.0, 2.0, 3.0]), true=[0.0, 4.0, 9.0])
def view_zeroed_by_slice(x):
    head = x[:1]
    head[:] = 0.0
    return x[0] ** 2 + x[1] ** 2 + 1.5 * x[2] ** 2


@program(np.array([2.0, 3.0]), true=[0.5, 1.5])
def callee_mutates(x):
    y = x * 1.0
    halve(y)
    return y[0] + 3.0 * y[1]


@program(np.array([2.0, 3.0]), true=[2.0, 6.0])
def callee_overwrites_after_read(x):
    s = x[0] ** 2 / 2.0
    y = x.copy()
    zero_first(y)
    return s + y[0] * 100.0 + y[1] ** 2


@program(np.array([2.0, 3.0]), true=[12.0, 4.0])
def element_accumulated(x):
    y = np.zeros(2)
    y[0] += x[0] * x[1]
    y[0] += x[0] ** 2
    y[0] += x[0] * 5.0
    y[1] += x[1] * 2.0
    return y[0] + y[1]


@program(np.array([2.0, 3.0]), true=[8.0, 0.0])
def element_accumulated_twice_from_itself(x):
    y = x.copy()
    y[0] += y[0]
    y[0] += y[0]
    return 2.0 * y[0]


@program(np.array([1.0, 2.0, 3.0]), true=[6.0, 0.0, 1.0])
def gather_with_duplicates(x):
    return np.sum(x[np.array([0, 0, 0, 2])] * np.array([1.0, 2.0, 3.0, 1.0]))


@program(np.array([1.0, 2.0, 3.0]), true=[0.0, 0.0, 4.0])
def scatter_with_duplicates_keeps_last(x):
    y = np.zeros(2)
    y[np.array([1, 1, 1])] = x
    return 4.0 * y[1]


@program(np.array([1.0, 2.0, 3.0]), true=[0.0, 0.0, 1.0])
def augmented_fancy_duplicates_count_once(x):
    y = np.zeros(2)
    y[np.array([1, 1, 1])] += x
    return y[1]


@program(2.0, np.array([1.0, 2.0, 4.0]), true=1.75)
def unbroadcast_in_division(a, x):
    return np.sum(a / x)


@program(2.0, np.array([1.0, 2.0, 4.0]), true=-1.75)
def unbroadcast_in_denominator(a, x):
    return np.sum(x / a)


@program(2.0, np.array([1.0, 2.0, 3.0]), true=1.0 + 4.0 + 12.0)
def unbroadcast_in_power_base(a, x):
    return np.sum(a**x)


@program(2.0, np.array([1.0, 2.0, math.e]), true=4 * math.log(2) + math.e**2)
def unbroadcast_in_power_exponent(a, x):
    return np.sum(x**a)


@program(2.0, np.array([1.0, 3.0, 0.5]), true=2.0)
def unbroadcast_in_maximum(a, x):
    return np.sum(np.maximum(a, x))


@program(np.array([[1.0], [2.0]]), np.array([1.0, 2.0, 3.0]), true=[[6.0], [6.0]])
def unbroadcast_column_with_row(a, x):
    return np.sum(a * x)


@program(np.array([2.0]), np.array([1.0, 2.0, 3.0]), true=[6.0])
def unbroadcast_size_one(a, x):
    return np.sum(a * x)


@program(2.0, np.array([1.0, 2.0, 3.0]), true=6.0)
def unbroadcast_in_place(a, x):
    x *= a
    return np.sum(x)


@program(2.0, true=5 * 2.0**4)
def loop_carried_product(x):
    p = 1.0
    for _ in range(5):
        p = p * x
    return p


@program(np.array([2.0, 3.0, 5.0]), true=[15.0, 10.0, 6.0])
def loop_carried_product_of_elements(x):
    p = 1.0
    for i in range(3):
        p *= x[i]
    return p


@program(0.5)
def output_reused_by_rule(x):
    y = x
    for _ in range(4):
        y = math.exp(0.3 * y)
        y = math.tanh(y)
        y = math.sqrt(y)
    return y


@program(np.array([2.0, 3.0]), true=[12.0, 0.0])
def read_then_overwritten(x):
    y = x[0] ** 2
    x[0] = 7.0
    x[1] = y * 3.0
    return x[1] + x[0]


@program(3.0, true=2.0 * 3.0 * 10.0)
def operand_overwritten_after_use(x):
    a = x
    b = a * a
    a = 10.0
    return b * a


@program(np.array([1.0, 2.0, 3.0]), true=[9.0, 12.0, 3.0])
def double_buffer_copies(u):
    v = np.zeros(3)
    v[:] = u
    for i in range(3):
        u[i] = v[i] * v[2 - i]
    return u[0] + u[1] + 2.0 * u[2] + 8.0 * v[1]


@program(np.array([3.0, 1.0, 2.0]), true=[0.0, 2.0, 0.0])
def argmin_with_continue(x):
    best = 0
    for i in range(3):
        if x[i] >= x[best]:
            continue
        best = i
    return x[best] ** 2


@program(2.0, true=12.0)
def before_dynamic_loop_used_after(x):
    y = x * x
    n = 0
    while n < 3:
        n += 1
    return y * n


@program(2.0, true=1.0)
def maximum_of_equals(x):
    return np.maximum(x, x)


@program(2.0, true=3.0)
def maximum_and_minimum_of_equals(x):
    return np.maximum(x, x) + 2.0 * np.minimum(x, x)


@program(2.0, true=1.0)
def maximum_over_equal_entries(x):
    return np.max(np.array([x, x, x, 1.0]))


@program(2.0, true=1.0)
def builtin_max_of_equals(x):
    return max(x, x)


@program(np.array([-1.0, 0.0, 4.0]), true=[0.0, 0.0, 0.25], marks="kink")
def where_guards_sqrt(x):
    return np.sum(np.where(x > 0, np.sqrt(x), 0.0))


@program(np.array([0.0, 2.0]), true=[0.0, 0.25], marks="kink")
def where_guards_division(x):
    return np.sum(np.where(x > 0, -1.0 / x, 0.0) + 0.0 * x)


@program(np.array([-1.0, 1.0]), true=[1.0, 1.0])
def where_guards_logarithm(x):
    return np.sum(np.where(x > 0, np.log(x), x))


@program(np.array([0.0, 0.0]), true=[0.0, 0.0], marks="kink")
def norm_at_zero(x):
    return np.linalg.norm(x)


@program(np.array([0.0, 0.0]), np.array([3.0, 4.0]), true=[0.6, 0.8])
def norm_of_shifted_zero(x, c):
    return np.linalg.norm(x + c)


@program(0.0, true=0.0, marks="kink")
def absolute_at_zero(x):
    return np.abs(x)


@program(-2.0, true=-4.0)
def square_of_negative(x):
    return x**2


@program(-2.0, true=12.0)
def float_exponent_of_negative(x):
    return x**3.0


@program(0.0, true=0.0)
def square_at_zero(x):
    return x**2


@program(0.0, true=1.0)
def first_power_at_zero(x):
    return x**1


@program(0.0, true=0.0)
def zeroth_power_at_zero(x):
    return x**0


@program(np.array([0.0, -1.5]), 2.0, true=[0.0, -3.0])
def variable_exponent_inactive(x, p):
    return np.sum(x**p)


@program(np.array([0.0, 2.0]), 2.0, wrt=(0, 1), marks="kink", true=[0.0, 4.0])
def active_exponent_at_zero(x, p):
    return np.sum(x**p)


@program(2.0, true=3.0 + 12.0)
def two_functions_of_one_name(x):
    return first_f(x) + second_f(x)


@program(np.array([1.0, 2.0], dtype=np.float32), true=np.array([2.0, 4.0], dtype=np.float32))
def float32_stays_float32(x):
    return np.sum(2.0 * x * x / 2.0)


@program(np.float32(3.0), true=np.float32(6.0))
def float32_scalar_stays(x):
    return x * x


@program(np.array([1.0, 2.0, 3.0]), true=[1.0, 2.0, 0.0])
def last_index_negative(x):
    y = x.copy()
    y[-1] = 0.0
    return y[0] + 2.0 * y[1] + 3.0 * y[2]


@program(np.array([1.0, 2.0, 3.0]), true=[2.0, 4.0, 6.0])
def loop_over_view_of_argument(x):
    s = 0.0
    for e in x[::-1]:
        s += e * e
    return s


@program(np.array([1.0, 2.0]), true=[1.0, 0.0])
def swap_through_temporary(x):
    t = x[0]
    x[0] = x[1]
    x[1] = t
    return x[1]


@program(np.array([1.0, 2.0]), true=[0.0, 3.0])
def tuple_swap_of_elements(x):
    x[0], x[1] = x[1], x[0]
    return 3.0 * x[0]


@program(2.0, true=4.0)
def branch_variable_overwritten(x):
    flag = x
    if flag > 0:
        flag = -1.0
        y = x * x
    else:
        y = x
    return y + 0.0 * flag


@program(2.0, true=1.0)
def untaken_branch_divides(x):
    y = x
    if x < 0:
        y = 1.0 / (x - x)
    return y


@program(np.array([1.0, 2.0, 3.0]), true=[5.0, 1.0, 1.0])
def constant_written_does_not_kill(x):
    y = x * 1.0
    y[0] = 4.0
    y[0] += x[0] * 5.0
    return np.sum(y)


@program(np.array([1.0, 2.0]), true=[2.0, 1.0])
def unused_result_of_write(x):
    y = np.zeros(2)
    y[0] = x[0] * x[1]
    y = x * x
    y[1] = x[1]
    return y[0] + y[1]


@program(np.array([1.0, 2.5, 3.0]), true=[0.0, 0.0, 0.0])
def integer_division_is_flat(x):
    return np.sum(x // 2.0)


@program(vec(4), true=np.ones(4))
def dead_cubes(x):
    y = x**3
    z = np.sum(y)
    return np.sum(x) + 0 * int(z > 100)


@program(mat(2, 2), true=[[0.0, 2.0], [3.0, 0.0]])
def transpose_shares_memory(a):
    t = a.T
    t[0, 0] = 1.0
    t[1, 1] = 1.0
    return 2.0 * a[0, 1] + 3.0 * t[0, 1] + a[0, 0] * t[1, 1]


@program(np.array([1.0, 2.0, 3.0, 4.0]), true=[0.0, 1.0, 1.0, 2.0])
def reshape_shares_memory(x):
    m = x.reshape(2, 2)
    m[0, 0] = m[1, 1]
    return np.sum(x)


@program(2.0, true=2.0)
def same_scalar_twice_in_call(x):
    return np.arctan2(x, x) + x * x / 2.0


@program(np.array([2.0, 3.0]), true=[4.0, 6.0])
def same_array_both_operands(x):
    return np.dot(x, x)


@program(np.array([1.0, 2.0, 3.0]), true=[4.0, 2.0, 2.0])
def slice_added_to_itself(x):
    y = x.copy()
    y[:] += y
    y[0] += y[0]
    return np.sum(y)


@program(0.0, true=1.0)
def sine_of_zero_times_one(x):
    return math.sin(x) * 1.0


@program(2.0, true=0.5)
def log_of_absolute(x):
    return np.log(np.abs(-x))


@program(np.array([3.0, 4.0]), np.array([3.0, 4.0]), wrt=(0, 1), true=[3.0, 4.0])
def equal_arguments_are_distinct(x, y):
    return np.dot(x, y)


@program(1.0, true=10.0)
def dynamic_trip_count(x):
    y = 0.0
    n = int(10 * x + 0.5)
    for _ in range(n):
        y += x
    return y
