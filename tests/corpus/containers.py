"""Lists, tuples, named tuples and dictionaries, as arguments and as locals, of active values."""

import math
from collections import namedtuple
from dataclasses import dataclass

import numpy as np

from tests.corpus.programs import mat, pos, program, vec

Point = namedtuple("Point", ["x", "y"])
Params = namedtuple("Params", ["w", "b"])


@dataclass
class Spring:
    """A dataclass argument."""

    stiffness: float
    rest: np.ndarray


@program((1.2, 0.4))
def tuple_argument(p):
    return p[0] * math.sin(p[1])


@program((1.2, 0.4))
def tuple_argument_unpacked(p):
    a, b = p
    return a / b


@program([vec(3), vec(3, 1)])
def list_argument(arrays):
    return np.sum(arrays[0] * arrays[1])


@program({"w": mat(2, 3), "b": vec(2)}, vec(3))
def dict_argument(params, x):
    return np.sum(np.tanh(params["w"] @ x + params["b"]))


@program({"layer": {"w": vec(3), "b": 0.3}, "scale": (1.1, 0.7)}, vec(3))
def nested_argument(params, x):
    y = np.sum(params["layer"]["w"] * x) + params["layer"]["b"]
    return params["scale"][0] * y + params["scale"][1] * y * y


@program(Params(vec(3), 0.4), vec(3), wrt=(0, 1))
def namedtuple_argument(params, x):
    return math.exp(np.dot(params.w, x)) + params.b**2


@program(Spring(2.0, vec(3)), vec(3, 1), wrt=(0, 1))
def dataclass_argument(spring, x):
    return 0.5 * spring.stiffness * np.sum((x - spring.rest) ** 2)


@program([(vec(2), 0.1), (vec(2, 1), 0.2)])
def list_of_tuples_argument(layers):
    s = 0.0
    for w, b in layers:
        s += np.sum(w * w) * b
    return s


@program(vec(4))
def list_append(x):
    out = []
    for i in range(4):
        out.append(x[i] * x[i])
    s = 0.0
    for e in out:
        s += e * e
    return s


@program(vec(4))
def list_append_carried(x):
    h = [x[0]]
    for i in range(1, 4):
        h.append(math.tanh(h[-1] + x[i]))
    return h[-1] * h[1]


@program(vec(4))
def list_to_array(x):
    out = []
    for e in x:
        out.append(e**2)
    return np.sum(np.array(out) * x)


@program(vec(4))
def comprehension(x):
    squares = [e * e for e in x]
    return squares[0] * squares[3] + squares[1]


@program(vec(4))
def comprehension_sum(x):
    return sum([x[i] * x[i - 1] for i in range(1, 4)])


@program(vec(4))
def comprehension_with_condition(x):
    positive = [e * e for e in x if e > 0]
    s = 0.0
    for p in positive:
        s += math.sin(p)
    return s


@program(vec(3))
def comprehension_to_array(x):
    return np.sum(np.array([math.sin(e) for e in x]) ** 2)


@program(vec(3))
def nested_comprehension(x):
    table = [[a * b for a in x] for b in x]
    return table[0][1] * table[2][2]


@program(vec(3))
def generator_sum(x):
    return sum(e * e for e in x)


@program(vec(4))
def list_of_arrays(x):
    steps = [x]
    for _ in range(3):
        steps.append(np.sin(steps[-1]) * x)
    return np.sum(steps[3] * steps[1])


@program(vec(4))
def stack_list_of_arrays(x):
    rows = []
    for i in range(3):
        rows.append(x * (i + 1.0) + x[i])
    return np.sum(np.stack(rows) ** 2)


@program(0.7)
def list_literal(x):
    xs = [x, x * x, 1.0]
    return xs[0] * xs[1] + xs[2]


@program(0.7)
def list_preallocated(x):
    xs = [0.0] * 4
    for i in range(4):
        xs[i] = x * i
    return xs[1] * xs[3]


@program(0.7)
def list_pop(x):
    xs = [x, x * 2.0, x * x]
    last = xs.pop()
    return last * xs[-1]


@program(0.7)
def tuple_local(x):
    pair = (x * 2.0, math.sin(x))
    return pair[0] * pair[1]


@program(0.7)
def tuple_rebound_in_loop(x):
    state = (x, 1.0)
    for _ in range(4):
        state = (state[0] * 0.9 + state[1], state[1] * x)
    return state[0] * state[1]


@program(0.7)
def tuple_concatenated(x):
    t = (x, x * x) + (1.0, x)
    return t[0] * t[1] + t[3]


@program(0.7)
def namedtuple_local(x):
    p = Point(x=x * x, y=math.cos(x))
    q = Point(p.y, p.x)
    return p.x * q.x + q.y


@program(Point(0.4, 0.9))
def namedtuple_replaced(p):
    q = Point(p.x * 2.0, p.y * p.x)
    return q.x * q.y


@program(0.7)
def dict_local(x):
    d = {"a": x, "b": x * x}
    d["c"] = d["a"] * d["b"]
    d["a"] = 2.0
    return d["a"] * d["c"] + d["b"]


@program(vec(3))
def dict_of_arrays_local(x):
    d = {"u": x, "v": x * 2.0}
    return np.sum(d["u"] * d["v"])


@program(0.7)
def dict_items(x):
    d = {"a": x, "b": x * x}
    s = 0.0
    for _, value in d.items():
        s += value * value
    return s


@program(vec(3))
def returns_dict(x):
    return {"sum": np.sum(x), "squares": x * x}


@program(vec(3))
def returns_list(x):
    return [x[0] * x[1], x[2]]


@program(vec(3))
def returns_namedtuple(x):
    return Point(x[0] * x[1], x * 2.0)


@program(pos(3), {"power": 2, "name": "sum"})
def static_settings(x, settings):
    return np.sum(x ** settings["power"])


@program(vec(3))
def len_and_min_max(x):
    xs = [x[0], x[1], x[2]]
    return max(xs[0], xs[1]) * len(xs) + min(xs[1], xs[2]) ** 2


@program(vec(3))
def list_slice(x):
    xs = [x[0], x[1], x[2], x[0] * x[1]]
    ys = xs[1:3]
    return ys[0] * ys[1] + xs[-1]


@program(vec(3))
def list_concatenated(x):
    xs = [x[0]] + [x[1] * x[2]]
    xs += [x[0] * 3.0]
    return xs[0] * xs[1] * xs[2]
