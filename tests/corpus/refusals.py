"""Programs that must be refused, each with the error's class, a word of its message, and the line it points at."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.corpus.programs import mat, vec


@dataclass(frozen=True, slots=True)
class Refusal:
    """A function, its arguments, the error's name, part of its message, and text of the line under the caret."""

    name: str
    fun: Callable[..., Any]
    args: tuple[Any, ...]
    error: str
    substring: str
    caret: str
    wrt: Any = 0


REFUSALS: list[Refusal] = []
COUNT = 0.0


def refusal(*args: Any, error: str = "UnsupportedSyntaxError", says: str, caret: str = "",
            wrt: Any = 0) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function that must be refused."""
    def register(fun: Callable[..., Any]) -> Callable[..., Any]:
        REFUSALS.append(Refusal(fun.__name__, fun, args, error, says, caret, wrt))
        return fun
    return register


@refusal(1.0, says="yield", caret="yield x")
def generator(x):
    yield x


@refusal(vec(3), says="not a function", caret="made.append(scaled)")
def list_of_inner_functions(x):
    made = []
    for k in range(3):
        def scaled(t):
            return t * k
        made.append(scaled)
    return made[0](x[0])


@refusal(1.0, says="yield", caret="yield from")
def delegating_generator(x):
    yield from (x, x)


@refusal(1.0, says="async")
async def coroutine(x):
    return x * x


@refusal(1.0, says="global", caret="global COUNT")
def global_write(x):
    global COUNT
    COUNT = x
    return x * COUNT


@refusal(1.0, says="nonlocal", caret="nonlocal y")
def nonlocal_write(x):
    y = x
    def bump():
        nonlocal y
        if x > 3.0:
            return
        y = y * 2.0
    bump()
    return y


@refusal(np.array([1.0, 2.0]), says="delete", caret="del y[0]")
def delete(x):
    y = x * x
    del y[0]
    return y


@refusal(1.0, says="exec", caret='exec("y = 2")')
def execute(x):
    exec("y = 2")
    return x


@refusal(1.0, says="eval", caret='eval("x * x")')
def evaluate(x):
    return eval("x * x")


@refusal(1.0, says="class", caret="class Local")
def class_definition(x):
    class Local:
        pass
    return x


@refusal(1.0, says="with", caret="with open")
def context_manager(x):
    with open("nowhere") as f:
        f.read()
    return x


@refusal(1.0, says="set", caret="{x, 2.0}")
def set_literal(x):
    s = {x, 2.0}
    return len(s) * x


@refusal(1.0, error="MissingRuleError", says="gauss", caret="random.gauss(x, 1.0)")
def unknown_callable(x):
    return random.gauss(x, 1.0)


@refusal(spectrum := mat(3, 3), error="MissingRuleError", says="kaiser", caret="np.kaiser(5, a[0, 0])")
def unknown_numpy_function(a):
    return np.sum(np.kaiser(5, a[0, 0]))


@refusal(1.0, error="UnsupportedSyntaxError", says="interp1d", caret="interp1d(x)")
def unresolved_name(x):
    return interp1d(x)  # noqa: F821


@refusal(3, error="NotDifferentiableError", says="int")
def integer_scalar(n):
    return n * 2.0


@refusal(np.arange(3), error="NotDifferentiableError", says="int64")
def integer_array(k):
    return np.sum(k * 2.0)


@refusal(3, error="TypeError", says="int")
def integer_is_a_type_error(n):
    return n * n


@refusal("text", error="NotDifferentiableError", says="text")
def string_argument(s):
    return 1.0


@refusal(vec(3), error="NotDifferentiableError", says="shape")
def vector_output(x):
    return x * x


@refusal(mat(2, 2), error="TypeError", says="shape")
def matrix_output(a):
    return a @ a


@refusal(1.0, error="NotDifferentiableError", says="tuple")
def pair_output(x):
    return x, x


@refusal(0.5 + 0.5j, error="NotDifferentiableError", says="holomorphic")
def complex_output(z):
    return z * z


@refusal(1.0, error="NotDifferentiableError", says="int")
def integer_output(x):
    return int(x)


@refusal(vec(4), vec(4, 1), error="AliasError", says="z", caret="z[0] = x[1] * y[2]", wrt=(0, 1))
def undecidable_alias(x, y):
    z = x if x[0] > 0 else y[::-1]
    z[0] = x[1] * y[2]
    return np.sum(x**2) + np.sum(y**3)


@refusal(vec(4), vec(4, 1), error="AliasError", says="z", caret="z", wrt=(0, 1))
def undecidable_alias_in_loop(x, y):
    z = x
    for i in range(4):
        if x[i] > 0:
            z = y
        z[i] = x[0] * y[1]
    return np.sum(x**2) + np.sum(y**3)


_shared = vec(6)


@refusal(_shared[:4], _shared[2:], error="AliasError", says="overlap", wrt=(0, 1))
def overlapping_arguments_written(x, y):
    x[3] = y[0] * 2.0
    return np.sum(x**2) + np.sum(y)


@refusal(1.0, error="ArgumentError", says="weight", wrt="weight")
def unknown_argument_name(x):
    return x * x
