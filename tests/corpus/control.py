"""Branches, returns, ternaries, chained comparisons, walrus, booleans, exceptions, output statements."""

import math

import numpy as np

from tests.corpus.programs import program, vec


@program(1.3)
@program(-1.3)
@program(np.float32(1.3))
def if_else(x):
    if x > 0.0:
        y = x * x
    else:
        y = math.exp(x)
    return y


@program(1.2, 0.3)
@program(0.4, 0.1)
def adaptive_heun(angle, damping):  # steps chosen by the error: branches that only change what is saved
    a, v, t, h = angle, 0.0, 0.0, 0.2
    while t < 1.0:
        if h > 1.0 - t:
            h = 1.0 - t
        acceleration = -math.sin(a) - damping * v
        v_euler = v + h * acceleration
        v_heun = v + 0.5 * h * (acceleration - math.sin(a + h * v) - damping * v_euler)
        error = abs(v_heun - v_euler)
        if error < 1e-3:
            t = t + h
            a = a + 0.5 * h * (v + v_euler)
            v = v_heun
            if error < 1e-4:
                h = 1.5 * h
        else:
            h = 0.5 * h
    return a


@program(1.3)
@program(-0.3)
def if_without_else(x):
    y = x
    if x > 0:
        y = y * x
    return y


@program(-2.0)
@program(0.4)
@program(3.0)
def elif_chain(x):
    if x < -1.0:
        return -x
    elif x < 1.0:
        return 0.5 * x * x
    elif x < 2.0:
        return x**3
    else:
        return math.log(x)


@program(0.4, 0.9, wrt=(0, 1))
@program(0.9, 0.4, wrt=(0, 1))
def nested_ifs(a, b):
    if a > b:
        if a > 2 * b:
            y = a * b
        else:
            y = a / b
    else:
        y = a - b
        if b > 0.5:
            y = y * b
    return y


@program(0.7)
@program(-0.7)
def ternary(x):
    return x * x if x > 0 else -3.0 * x


@program(0.7)
@program(1.7)
@program(-0.7)
def nested_ternary(x):
    return x**2 if 0 < x < 1 else math.sin(x) if x >= 1 else x


@program(0.4)
@program(1.4)
def chained_comparison(x):
    y = x
    if 0.0 <= x < 1.0 < 2.0 * x + 1.0:
        y = math.sqrt(x)
    return y * x


@program(1.1)
def walrus(x):
    if (y := x * x) > 1.0:
        y = y * 2.0
    return y


@program(0.6)
def walrus_in_while(x):
    s = 0.0
    t = x
    while (t := t * 1.5) < 6.0:
        s += t * t
    return s


@program(0.6)
def walrus_in_expression(x):
    return (y := math.sin(x)) * y + y


@program(0.6, -0.2, wrt=(0, 1))
def boolean_and_or_not(a, b):
    s = 0.0
    if a > 0 and b < 0:
        s += a * b
    if a < 0 or not b > 0:
        s += a * a
    if not (a > 0 and b > 0):
        s += math.cos(b)
    return s


@program(0.6)
def short_circuit(x):
    if x < 0 and math.log(x) > 0:
        return 0.0 * x
    return math.log(x)


@program(0.6)
def stored_condition(x):
    large = x * x > 0.1
    if large:
        y = x**3
    else:
        y = x
    return y if large else -y


@program(0.6)
@program(-0.6)
def early_return(x):
    if x < 0:
        return x * x
    y = math.sin(x)
    return y * x


@program(2.5)
def guard_clauses(x):
    if x < 0:
        return 0.0
    if x < 1:
        return x
    if x < 2:
        return x * x
    return x * x * x


@program(0.8)
def return_constant_branch(x):
    if x > 10.0:
        return 1.0
    return x * 2.0


@program(0.8, 1.7, wrt=(0, 1))
def returns_pair(a, b):
    return a * b, math.sin(a)


@program(0.8)
def returns_one_of_two_pairs(a):
    if a > 0:
        return a * a, a
    return a, -a


@program(vec(3))
def returns_nested(x):
    return {"a": x * 2.0, "b": (x[0] ** 2, np.sum(x))}


@program(0.8)
def swap(x):
    a, b = x, x * x
    a, b = b, a
    return a / b + a


@program(0.3, 0.5, 0.7, wrt=(0, 1, 2))
def rotate(a, b, c):
    for _ in range(4):
        a, b, c = b * 1.1, c, a
    return a + 2.0 * b + 3.0 * c * a


@program(vec(5))
def starred_unpacking(x):
    first, *middle, last = (x[0], x[1], x[2], x[3])
    return first * last + middle[0] * middle[1]


@program(vec(3))
def unpack_array(x):
    a, b, c = x
    return a * b - c * a


@program(1.2)
def nested_unpacking(x):
    (a, b), c = (x, x * 2.0), math.sin(x)
    return a * b * c


@program(1.2)
def chained_assignment(x):
    a = b = x * x
    a = a * 2.0
    return a * b


@program(1.2)
def annotated_assignment(x: float) -> float:
    y: float = x * x
    z: float
    z = y + 1.0
    return z * y


@program(1.2)
def augmented_everything(x):
    y = x
    y += 2.0
    y *= x
    y -= 0.5 * x
    y /= x + 1.0
    y **= 2
    return y


@program(7.3)
def floor_and_modulo(x):
    return (x % 2.5) * x + (x // 2.0) * x


@program(-7.3, 2.1, wrt=(0, 1))
def modulo_negative(x, y):
    return (x % y) ** 2


@program(7.3)
def floor_modulo_augmented(x):
    y = x * x
    y %= 3.0
    z = x
    z //= 2.0
    return y * z


@program(0.9)
def assertion(x):
    assert x > 0, "x must be positive"
    return math.sqrt(x)


@program(0.9)
def assertion_of_active(x):
    y = x * x
    assert y < 10.0
    return y * x


@program(0.9)
def raise_not_reached(x):
    if x < 0:
        raise ValueError(f"x = {x} is negative")
    return math.log(x)


@program(-0.9)
@program(0.9)
def try_except_raise(x):
    try:
        if x < 0:
            raise ValueError("negative")
        y = math.log(x)
    except ValueError:
        y = x * x
    return y * 2.0


@program(0.9)
def print_and_fstring(x):
    y = x * x
    print(f"y is {y:.3f} and x is {x}")
    print("done", x)
    return y * x


@program(0.9)
def docstring_and_pass(x):
    """Square, at length."""
    if x > 0:
        pass
    else:
        pass
    return x * x


@program(0.9, "square")
@program(0.9, "cube")
def string_mode(x, mode):
    if mode == "square":
        return x * x
    elif mode == "cube":
        return x**3
    return x


@program(0.9, True)
@program(0.9, False)
def boolean_mode(x, flag):
    return math.sin(x) if flag else math.cos(x)


@program(0.9, None)
@program(0.9, 2.0)
def none_default(x, scale):
    if scale is None:
        scale = x
    return x * scale


@program(0.9)
def variable_defined_in_both(x):
    if x > 0.5:
        y = x
        z = y * 2.0
    else:
        z = x
        y = z * 3.0
    return y * z


@program(0.9)
def variable_overwritten_in_branch(x):
    y = math.exp(x)
    z = y * y
    if x > 0:
        y = math.sin(z)
    return y * z


@program(0.93)
def pass_through_int_cast(x):
    n = int(x * 10.0)
    return x * n


@program(0.9)
def integer_counter_scales(x):
    k = 0
    for _ in range(3):
        k += 2
    return x**k


@program(vec(4))
def lookup_by_comparison(x):
    best = 0
    for i in range(1, 4):
        if x[i] > x[best]:
            best = i
    return x[best] ** 2


@program(0.3)
def piecewise_with_state(x):
    state = 0
    y = x
    for _ in range(6):
        if state == 0:
            y = y * 1.8
            state = 1
        elif state == 1:
            y = y - 0.1
            state = 2
        else:
            y = math.sin(y)
            state = 0
    return y


@program(0.3)
def is_none_branch(x):
    best = None
    for c in (1.0, 2.0, 0.5):
        y = (x - c) ** 2
        if best is None or y < best:
            best = y
    return best
