"""What raises by itself, and when: Python's arithmetic, the functions of `math`, `int`, an index, linear algebra.

Each condition is a function of one `return`, which is written into the program where it is asked. The sources are
Python's reference, "Numeric types" and "math": a `ValueError` where there is no real result, a `ZeroDivisionError`
for a divisor of zero, an `OverflowError` where finite numbers have a result that is not.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gast
import numpy as np

from s2sad import runtime


@dataclass(frozen=True, slots=True)
class Raiser:
    """One thing that an operation raises."""

    error: type[Exception]
    fails: Callable[..., Any]
    """Says of some operands whether it is raised."""
    operands: tuple[int, ...] = (0,)
    """Which ones."""
    only_python: bool = False
    """NumPy's numbers, of which at least one among the operands makes the result one, do not raise it."""


# The largest numbers whose exponential, hyperbolic cosine and gamma function are finite, as `math` computes them.
EXP, COSH, GAMMA = 709.782712893384, 710.4758600739439, 171.6243769563027


def is_zero(x: Any) -> Any:  # noqa: D103 - the name says it, and what it is asked for is in the table below
    return x == 0


def is_negative(x: Any) -> Any:  # noqa: D103
    return x < 0


def not_positive(x: Any) -> Any:  # noqa: D103
    return x <= 0


def below_one(x: Any) -> Any:  # noqa: D103
    return x < 1


def not_above_minus_one(x: Any) -> Any:  # noqa: D103
    return x <= -1


def beyond_one(x: Any) -> Any:  # noqa: D103
    return x < -1 or x > 1


def one_or_beyond(x: Any) -> Any:  # noqa: D103
    return x <= -1 or x >= 1


def is_infinite(x: Any) -> Any:  # noqa: D103
    return math.isinf(x)


def is_nan(x: Any) -> Any:  # noqa: D103
    return math.isnan(x)


def overflows(x: Any) -> Any:
    """Say whether e to the x does."""
    return EXP < x < math.inf


def overflows_either_side(x: Any) -> Any:
    """Say whether the hyperbolic cosine of x does."""
    return COSH < abs(x) < math.inf


def overflows_base_two(x: Any) -> Any:
    """Say whether 2 to the x does."""
    return 1024 <= x < math.inf


def gamma_overflows(x: Any) -> Any:  # noqa: D103
    return GAMMA < x < math.inf


def at_a_pole(x: Any) -> Any:
    """Say whether x is where the gamma function has none of its values: 0, -1, -2, …."""
    return x <= 0 and x % 1.0 == 0.0


def zero_to_a_negative(x: Any, y: Any) -> Any:  # noqa: D103
    return x == 0 and y < 0


def power_overflows(x: Any, y: Any) -> Any:
    """Say whether x to the y does, exact to the last digits of the largest number."""
    return x != 0 and not math.isinf(x) and not math.isinf(y) and y * math.log(abs(x)) > EXP


def no_real_power(x: Any, y: Any) -> Any:
    """Say whether `math.pow` has no result: a root of a negative number, or zero to a negative one."""
    return (x == 0 and y < 0) or (-math.inf < x < 0 and not math.isinf(y) and y % 1.0 != 0.0)


def no_remainder(x: Any, y: Any) -> Any:  # noqa: D103
    return y == 0 or math.isinf(x)


def no_logarithm(x: Any, base: Any) -> Any:  # noqa: D103
    return x <= 0 or base <= 0


def is_one(x: Any) -> Any:  # noqa: D103
    return x == 1


def out_of_range(items: Any, i: Any) -> Any:  # noqa: D103
    return i >= len(items) or i < -len(items)


def has_no_attribute(owner: Any, name: str) -> bool:  # noqa: D103
    return not hasattr(owner, name)


def takes_no_attribute(owner: Any, name: str) -> bool:
    """Say whether no attribute of a name can be set: numbers have none, arrays a few."""
    settable = ("shape", "dtype", "strides", "real", "imag", "flat", "data")
    return not (owner is np.ndarray and name in settable)


def is_number(items: Any) -> bool:  # noqa: D103
    return np.ndim(items) == 0


def lacks(items: Any, key: Any) -> Any:  # noqa: D103
    return key not in items


_DIVISION = (Raiser(ZeroDivisionError, is_zero, (1,), only_python=True),)
_UNITS = (Raiser(OverflowError, is_infinite), Raiser(ValueError, is_nan))

OF_OPERATORS: dict[Any, tuple[Raiser, ...]] = {
    gast.Div: _DIVISION,
    gast.FloorDiv: _DIVISION,
    gast.Mod: _DIVISION,
    gast.Pow: (
        Raiser(ZeroDivisionError, zero_to_a_negative, (0, 1), only_python=True),
        Raiser(OverflowError, power_overflows, (0, 1), only_python=True),
    ),
}
"""By the class of the operator in the text."""

OF_KINDS = (Raiser(TypeError, is_number),)
"""What numbers raise that are asked for their length or for an item: the kind of the first operand tells."""
OF_PLACES = (Raiser(IndexError, out_of_range, (0, 1)),)
OF_KEYS = (Raiser(KeyError, lacks, (0, 1)),)
OF_INDEXING = (*OF_PLACES, *OF_KEYS, *OF_KINDS)
"""The first of lists and arrays, the second of dicts, the last of numbers of Python's."""

OF_READING = (Raiser(AttributeError, has_no_attribute, (0, 1)),)
OF_SETTING = (Raiser(AttributeError, takes_no_attribute, (0, 1)),)
OF_ATTRIBUTES = (*OF_READING, *OF_SETTING)
"""What `x.name` raises where it is read and where it is set: the kind of `x` tells."""

OF_FUNCTIONS: dict[Any, tuple[Raiser, ...]] = {
    math.log: (Raiser(ValueError, not_positive),),
    math.log2: (Raiser(ValueError, not_positive),),
    math.log10: (Raiser(ValueError, not_positive),),
    math.log1p: (Raiser(ValueError, not_above_minus_one),),
    math.sqrt: (Raiser(ValueError, is_negative),),
    math.acos: (Raiser(ValueError, beyond_one),),
    math.asin: (Raiser(ValueError, beyond_one),),
    math.acosh: (Raiser(ValueError, below_one),),
    math.atanh: (Raiser(ValueError, one_or_beyond),),
    math.exp: (Raiser(OverflowError, overflows),),
    math.expm1: (Raiser(OverflowError, overflows),),
    math.cosh: (Raiser(OverflowError, overflows_either_side),),
    math.sinh: (Raiser(OverflowError, overflows_either_side),),
    math.sin: (Raiser(ValueError, is_infinite),),
    math.cos: (Raiser(ValueError, is_infinite),),
    math.tan: (Raiser(ValueError, is_infinite),),
    math.gamma: (Raiser(ValueError, at_a_pole), Raiser(OverflowError, gamma_overflows)),
    math.lgamma: (Raiser(ValueError, at_a_pole),),
    math.pow: (Raiser(ValueError, no_real_power, (0, 1)), Raiser(OverflowError, power_overflows, (0, 1))),
    math.fmod: (Raiser(ValueError, no_remainder, (0, 1)),),
    math.floor: _UNITS,
    math.ceil: _UNITS,
    math.trunc: _UNITS,
    builtins.int: _UNITS,
    builtins.divmod: _DIVISION,
    builtins.len: OF_KINDS,
    builtins.iter: OF_KINDS,
    np.linalg.cholesky: (Raiser(np.linalg.LinAlgError, runtime.not_positive_definite),),
    np.linalg.solve: (Raiser(np.linalg.LinAlgError, runtime.is_singular),),
    np.linalg.inv: (Raiser(np.linalg.LinAlgError, runtime.is_singular),),
}
"""By the function that is called with one argument, or as many as the condition reads."""
if hasattr(math, "exp2"):  # from Python 3.11 on
    OF_FUNCTIONS[math.exp2] = (Raiser(OverflowError, overflows_base_two),)

LOGARITHM_TO_BASE = (Raiser(ValueError, no_logarithm, (0, 1)), Raiser(ZeroDivisionError, is_one, (1,)))
"""`math.log(x, base)`."""

TESTED = (ArithmeticError, ValueError, IndexError, KeyError, AttributeError, TypeError, NameError)
"""The classes of what is tested for, `LinAlgError` among them as a `ValueError`; missing names are told at once."""
ANYTHING = (BaseException, Exception)

UNTOLD: dict[str, type[Exception]] = {
    "pop": IndexError, "popleft": IndexError, "index": ValueError, "remove": ValueError, "max": ValueError,
    "min": ValueError,
}  # fmt: skip
"""What methods and functions of these names raise of empty lists, and of what is not in them: not tested for."""

NEVER = frozenset({
    math.fabs, math.copysign, math.atan, math.atan2, math.tanh, math.asinh, math.erf, math.erfc, math.hypot, math.dist,
    math.degrees, math.radians, math.isnan, math.isinf, math.isfinite, math.isclose, math.nextafter,
    *([math.cbrt] if hasattr(math, "cbrt") else []),
})  # fmt: skip
"""Functions of `math` that raise nothing of numbers."""


def never_of(raiser: Raiser, operands: list[Any]) -> bool:
    """Say whether numbers in the text tell that something is not raised: `x / 2`, `x ** 2` of a zero."""
    given = [_number(operands[at]) if at < len(operands) else None for at in raiser.operands]
    if None not in given:
        return not raiser.fails(*given)
    power = given[-1] if len(given) == 2 else None
    return raiser.error is ZeroDivisionError and power is not None and power >= 0


def _number(node: Any) -> float | None:
    match node:
        case gast.Constant(value=bool()):
            return None
        case gast.Constant(value=int() | float() as value):
            return value
        case gast.UnaryOp(op=gast.USub(), operand=operand):
            inner = _number(operand)
            return None if inner is None else -inner
        case _:
            return None


def of_call(fn: Any, node: Any) -> tuple[Raiser, ...] | None:
    """Return what a call of a function of Python's raises; None for one that is not in the table."""
    if fn is math.log and len(node.args) == 2:
        return LOGARITHM_TO_BASE
    try:
        return OF_FUNCTIONS.get(fn)
    except TypeError:  # it has no hash
        return None
