"""The elementary functions: one row each, the call and its partial derivatives.

Conventions, where a derivative does not exist or is not unique:

- ties of `maximum`, `minimum`, `fmax`, `fmin`, `max`, `min` give each side one half (as JAX);
- `clip` is `minimum(maximum(x, lo), hi)`, hence one half to each side at a bound;
- `a**b` has derivative 0 by `b` where `a <= 0` (the power function in `b` exists there only at
  isolated points), and 0 by `a` where `b == 0`, so that neither 0**0 nor (-2.0)**2.0 gives NaN;
- `sqrt`, `cbrt` and `log` at 0 give an infinite derivative;
- `np.linalg.norm` and `hypot` of zeros have derivative 0, which lies in their subdifferential, and so has
  the root of what is seen to be a sum of squares (`analysis/squares.py`).

Sources: Abramowitz & Stegun, chapters 4 to 6 and 7; Griewank & Walther, section 2.
"""

from __future__ import annotations

import builtins
import cmath
import math
import operator

import numpy as np

from s2sad.rules.registry import ABOVE_ONE, POSITIVE, UNIT, add_row, row
from s2sad.runtime.special import digamma, polygamma

_BASES = ((0.3, 3.0), (-2.0, 2.0))
_POWER = ("b * a**(b - (b != 0))", "y * log(where(a > 0, a, 1))")
_FLOATS = (builtins.float, np.float64, np.float32, np.float16)
_POW = (operator.pow, builtins.pow)
_COMPLEX_POWER = ("b * a**(b - (b != 0))", "y * log(where(a == 0, 1, a))")
_LARGER = ("(a > b) + 0.5 * (a == b)", "(b > a) + 0.5 * (a == b)")
_SMALLER = ("(a < b) + 0.5 * (a == b)", "(b < a) + 0.5 * (a == b)")
_SECOND_NONZERO = ((-2.0, 2.0), (0.4, 2.0))

ARITHMETIC = (
    row("add(a, b)", "1", "1", complex=True, also=(operator.add,)),
    row("subtract(a, b)", "1", "-1", complex=True, also=(operator.sub,)),
    row("multiply(a, b)", "b", "a", complex=True, also=(operator.mul,)),
    row(
        "divide(a, b)", "1 / b", "-y / b",
        complex=True, domain=_SECOND_NONZERO, also=(operator.truediv,), of_one=("1 / b", "-y * y"),
    ),
    row("power(a, b)", *_POWER, complex=_COMPLEX_POWER, domain=_BASES, also=_POW),
    row("float_power(a, b)", *_POWER, complex=_COMPLEX_POWER, domain=_BASES),
    row("mod(a, b)", "1", "-(a // b)", domain=_SECOND_NONZERO, also=(operator.mod,)),
    row("ieee(a, b)", "1", "(y - a) / b", domain=_SECOND_NONZERO, also=(math.remainder,)),
    row("fmod(a, b)", "1", "-trunc(a / b)", domain=_SECOND_NONZERO),
    row("negative(x)", "-1", complex=True, also=(operator.neg,)),
    row("positive(x)", "1", complex=True, also=(operator.pos,)),
    row("absolute(x)", "sign(x)", complex=("conj(x) / where(y == 0.0, 1.0, y)",), also=(builtins.abs,)),
    row("fabs(x)", "sign(x)"),
    row("float(x)", "1", also=_FLOATS),
    row("complex128(x)", "1", complex=True, also=(np.complex64,)),
    row("complex(a, b)", "1", "1j", also=(builtins.complex,)),
)  # fmt: skip

EXPONENTIALS = (
    row("exp(x)", "y", complex=True),
    row("exp2(x)", "0.6931471805599453 * y", complex=True),
    row("expm1(x)", "exp(x)", complex=True),
    row("log(x)", "1 / x", domain=POSITIVE, complex=True),
    row("log2(x)", "1.4426950408889634 / x", domain=POSITIVE, complex=True),
    row("log10(x)", "0.4342944819032518 / x", domain=POSITIVE, complex=True),
    row("log1p(x)", "1 / (1 + x)", domain=UNIT, complex=True),
    row("sqrt(x)", "0.5 / y", domain=POSITIVE, complex=True),
    row("cbrt(x)", "1 / (3 * y * y)", domain=POSITIVE),
    row("square(x)", "2 * x", complex=True),
    row("reciprocal(x)", "-y * y", domain=POSITIVE, complex=True),
    # -inf, the logarithm of no chance at all, has no part in what is as likely
    row("logaddexp(a, b)", "exp(a - where(y == -inf, 0.0, y))", "exp(b - where(y == -inf, 0.0, y))"),
    row("logaddexp2(a, b)", "exp2(a - where(y == -inf, 0.0, y))", "exp2(b - where(y == -inf, 0.0, y))"),
    row("hypot(a, b)", "a / y", "b / y"),
)

TRIGONOMETRIC = (
    row("sin(x)", "cos(x)", complex=True),
    row("cos(x)", "-sin(x)", complex=True),
    row("tan(x)", "1 + y * y", domain=UNIT, complex=True),
    row("arcsin(x)", "1 / sqrt(1 - x * x)", domain=UNIT, complex=True),
    row("arccos(x)", "-1 / sqrt(1 - x * x)", domain=UNIT, complex=True),
    row("arctan(x)", "1 / (1 + x * x)", complex=True),
    row("arctan2(a, b)", "b / r", "-a / r", where="r = a * a + b * b"),
    row("sinh(x)", "cosh(x)", complex=True),
    row("cosh(x)", "sinh(x)", complex=True),
    row("tanh(x)", "1 - y * y", complex=True),
    row("arcsinh(x)", "1 / sqrt(x * x + 1)", complex=True),
    row("arccosh(x)", "1 / (sqrt(x - 1) * sqrt(x + 1))", domain=ABOVE_ONE, complex=True),
    row("arctanh(x)", "1 / (1 - x * x)", domain=UNIT, complex=True),
    row("deg2rad(x)", "0.017453292519943295"),
    row("radians(x)", "0.017453292519943295"),
    row("rad2deg(x)", "57.29577951308232"),
    row("degrees(x)", "57.29577951308232"),
    row(
        # near 0 the series of (cos(pi x) - sinc(x)) / x, which cancels there; t = (pi x)**2
        "sinc(x)",
        "where(t < 0.001, -3.289868133696453 * x * (1 - t / 10 + t * t / 280 - t * t * t / 15120), "
        "(cos(3.141592653589793 * x) - y) / where(x == 0, 1, x))",
        where="t = 9.869604401089358 * x * x",
        complex=(
            "where(abs(t) < 0.001, -3.289868133696453 * x * (1 - t / 10 + t * t / 280 - t * t * t / 15120), "
            "(cos(3.141592653589793 * x) - y) / where(x == 0, 1, x))",
        ),
    ),
)

SELECTIONS = (
    row("maximum(a, b)", *_LARGER, also=(builtins.max,)),
    row("minimum(a, b)", *_SMALLER, also=(builtins.min,)),
    row("fmax(a, b)", "(a > b) + 0.5 * (a == b) + (b != b)", "(b > a) + 0.5 * (a == b) + (a != a)"),
    row("fmin(a, b)", "(a < b) + 0.5 * (a == b) + (b != b)", "(b < a) + 0.5 * (a == b) + (a != a)"),
    row(
        "clip(x, lo, hi)",
        "((x > lo) + 0.5 * (x == lo)) * ((m < hi) + 0.5 * (m == hi))",
        "((lo > x) + 0.5 * (x == lo)) * ((m < hi) + 0.5 * (m == hi))",
        "(hi < m) + 0.5 * (hi == m)",
        where="m = maximum(x, lo)",
        domain=((-2.0, 2.0), (-1.0, -0.2), (0.2, 1.0)),
    ),
    row("copysign(a, b)", "copysign(1.0, a) * copysign(1.0, b)", "0"),
    row("sign(x)", "0"),  # of a complex number: no rule, as it turns with its argument
    row("heaviside(a, b)", "0", "a == 0"),
    row("nextafter(a, b)", "1", "0"),
    row("nan_to_num(x)", "isfinite(x)"),
    row("ldexp(x, n)", "ldexp(1.0, n)", "0", domain=((-2.0, 2.0), (1.0, 3.0))),
)

COMPLEX = (
    row("real(x)", "1", complex=("1",)),
    row("imag(x)", "0", complex=("-1j",)),
    row("angle(x)", "0", complex=("-1j / x",), also=(cmath.phase,)),
)

SPECIAL = (
    row("erf(x)", "1.1283791670955126 * exp(-x * x)"),
    row("erfc(x)", "-1.1283791670955126 * exp(-x * x)"),
    row("gamma(x)", "y * digamma(x)", domain=POSITIVE),
    row("lgamma(x)", "digamma(x)", domain=POSITIVE),
    row("digamma(x)", "polygamma(1, x)", domain=POSITIVE, also=(digamma,)),
    row(
        "polygamma(n, x)",
        "0",
        "polygamma(n + 1, x)",
        domain=((1.0, 3.0), POSITIVE),
        also=(polygamma,),
    ),
)

ELEMENTWISE = (
    *ARITHMETIC, *EXPONENTIALS, *TRIGONOMETRIC, *SELECTIONS, *COMPLEX, *SPECIAL,
)  # fmt: skip

for _line in ELEMENTWISE:
    add_row(_line)
