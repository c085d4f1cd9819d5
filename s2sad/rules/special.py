"""`scipy.special`, loaded once the program has imported it: one row a function, as in `elementwise`.

Conventions: `xlogy` and `entr` at 0 keep their true slope, which is infinite, and `xlogy(0, 0)` has
slope 0 by its second argument. A parameter without a derivative in closed form (the order of a
Bessel function, the shape of `gammainc`) is refused when it is differentiated.

Sources: Abramowitz & Stegun, chapters 5 to 9, 13, 15, 17 and 26; NIST DLMF, 7 to 10 and 25.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.rules import legal, reductions
from s2sad.rules.registry import (
    BROADCASTING,
    HOMES,
    POSITIVE,
    REGISTRY,
    UNIT,
    UNKNOWN,
    Row,
    expands,
    meaning,
    row,
)

special: Any = importlib.import_module("scipy.special")

_INSIDE = (0.1, 0.9)
_ORDER = (0.6, 2.4)
_TWO_OVER_ROOT_PI = "1.1283791670955126"
_ROOT_PI_HALVES = "0.8862269254527580"
_ROOT_TWO_PI = "2.5066282746310002"

ERRORS = (
    row("erf(x)", f"{_TWO_OVER_ROOT_PI} * exp(-x * x)"),
    row("erfc(x)", f"-{_TWO_OVER_ROOT_PI} * exp(-x * x)"),
    row("erfcx(x)", f"2 * x * y - {_TWO_OVER_ROOT_PI}"),
    row("erfi(x)", f"{_TWO_OVER_ROOT_PI} * exp(x * x)"),
    row("dawsn(x)", "1 - 2 * x * y"),
    row("erfinv(x)", f"{_ROOT_PI_HALVES} * exp(y * y)", domain=UNIT),
    row("erfcinv(x)", f"-{_ROOT_PI_HALVES} * exp(y * y)", domain=_INSIDE),
    row("ndtr(x)", f"exp(-0.5 * x * x) / {_ROOT_TWO_PI}"),
    row("log_ndtr(x)", f"exp(-0.5 * x * x - y) / {_ROOT_TWO_PI}"),
    row("ndtri(x)", f"{_ROOT_TWO_PI} * exp(0.5 * y * y)", domain=_INSIDE),
    row("ndtri_exp(x)", f"{_ROOT_TWO_PI} * exp(0.5 * y * y + x)", domain=(-3.0, -0.1)),
    row(
        "owens_t(a, b)",
        f"-exp(-0.5 * a * a) * erf(0.7071067811865476 * a * b) / (2 * {_ROOT_TWO_PI})",
        "exp(-0.5 * a * a * (1 + b * b)) / (6.283185307179586 * (1 + b * b))",
    ),
)

GAMMAS = (
    row("gamma(x)", "y * psi(x)", domain=POSITIVE),
    row("gammaln(x)", "psi(x)", domain=POSITIVE),
    row("loggamma(x)", "psi(x)", domain=POSITIVE),
    row("rgamma(x)", "-y * psi(x)", domain=POSITIVE),
    row("psi(x)", "zeta(2.0, x)", domain=POSITIVE),
    row("zeta(a, b)", UNKNOWN, "-a * zeta(a + 1, b)", domain=((2.0, 4.0), POSITIVE)),
    row("beta(a, b)", "y * (psi(a) - psi(a + b))", "y * (psi(b) - psi(a + b))", domain=POSITIVE),
    row("betaln(a, b)", "psi(a) - psi(a + b)", "psi(b) - psi(a + b)", domain=POSITIVE),
    row("poch(a, b)", "y * (psi(a + b) - psi(a))", "y * psi(a + b)", domain=POSITIVE),
    row(
        "binom(a, b)",
        "y * (psi(a + 1) - psi(a - b + 1))",
        "y * (psi(a - b + 1) - psi(b + 1))",
        domain=((2.2, 3.0), (0.3, 1.4)),
    ),
    row("gammainc(a, x)", UNKNOWN, "exp(xlogy(a - 1, x) - x - gammaln(a))", domain=POSITIVE),
    row("gammaincc(a, x)", UNKNOWN, "-exp(xlogy(a - 1, x) - x - gammaln(a))", domain=POSITIVE),
    row(
        "gammaincinv(a, p)", UNKNOWN, "exp(gammaln(a) + y - xlogy(a - 1, y))",
        domain=(POSITIVE, _INSIDE),
    ),
    row(
        "betainc(a, b, x)", UNKNOWN, UNKNOWN,
        "exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b))",
        domain=(POSITIVE, POSITIVE, _INSIDE),
    ),
    row(
        "betaincinv(a, b, p)", UNKNOWN, UNKNOWN,
        "exp(betaln(a, b) - xlogy(a - 1, y) - xlog1py(b - 1, -y))",
        domain=(POSITIVE, POSITIVE, _INSIDE),
    ),
    row(
        "stdtr(a, t)", UNKNOWN,
        "exp(gammaln((a + 1) / 2) - gammaln(a / 2) - (a + 1) / 2 * log1p(t * t / a))"
        " / sqrt(3.141592653589793 * a)",
        domain=(POSITIVE, (-2.0, 2.0)),
    ),
)  # fmt: skip

LOGARITHMS = (
    row("expit(x)", "y * (1 - y)"),
    row("logit(x)", "1 / (x * (1 - x))", domain=_INSIDE),
    row("log_expit(x)", "expit(-x)"),
    row("xlogy(a, b)", "log(b)", "a / where((a == 0) & (b == 0), 1, b)", domain=POSITIVE),
    row("xlog1py(a, b)", "log1p(b)", "a / where((a == 0) & (b == -1), 1, 1 + b)", domain=POSITIVE),
    row("entr(x)", "-1 - log(x)", domain=POSITIVE),
    row("rel_entr(a, b)", "1 + log(a / b)", "-a / b", domain=POSITIVE),
    row("kl_div(a, b)", "log(a / b)", "1 - a / b", domain=POSITIVE),
    row(
        "huber(d, r)", "where(abs(r) <= d, 0, abs(r) - d)", "minimum(maximum(r, -d), d)",
        domain=((0.5, 1.5), (-3.0, 3.0)),
    ),
    row(
        "pseudo_huber(d, r)", "(2 * d * d + r * r) / sqrt(d * d + r * r) - 2 * d",
        "r * d / sqrt(d * d + r * r)", domain=((0.5, 1.5), (-3.0, 3.0)),
    ),
    row(
        "boxcox(x, b)", "x ** (b - 1)",
        "where(b == 0, 0.5 * log(x) ** 2, ((b * y + 1) * log(x) - y) / where(b == 0, 1, b))",
        domain=POSITIVE,
    ),
    row("boxcox1p(x, b)", "(1 + x) ** (b - 1)",
        "where(b == 0, 0.5 * log1p(x) ** 2, ((b * y + 1) * log1p(x) - y) / where(b == 0, 1, b))", domain=POSITIVE),
    row("inv_boxcox(x, b)", "y ** (1 - b)",
        "where(b == 0, -0.5 * x * x * y, "
        "y * (b * x / (b * x + 1) - log1p(b * x)) / where(b == 0, 1, b * b))", domain=POSITIVE),
    row("inv_boxcox1p(x, b)", "(y + 1) ** (1 - b)",
        "where(b == 0, -0.5 * x * x * (y + 1), "
        "(y + 1) * (b * x / (b * x + 1) - log1p(b * x)) / where(b == 0, 1, b * b))", domain=POSITIVE),
    row("exprel(x)", "0.5 * hyp1f1(2.0, 3.0, x)"),
    row("sindg(x)", "0.017453292519943295 * cosdg(x)"),
    row("cosdg(x)", "-0.017453292519943295 * sindg(x)"),
    row("tandg(x)", "0.017453292519943295 * (1 + y * y)"),
    row("cosm1(x)", "-sin(x)"),
    row("exp10(x)", "2.302585092994046 * y"),
    row("exp2(x)", "0.6931471805599453 * y"),
    row("expm1(x)", "y + 1"),
    row("log1p(x)", "1 / (1 + x)", domain=POSITIVE),
    row("cbrt(x)", "1 / (3 * y * y)", domain=POSITIVE),
)  # fmt: skip

BESSELS = (
    row("j0(x)", "-j1(x)"),
    row("j1(x)", "0.5 * (j0(x) - jv(2.0, x))"),
    row("y0(x)", "-y1(x)", domain=POSITIVE),
    row("y1(x)", "0.5 * (y0(x) - yv(2.0, x))", domain=POSITIVE),
    row("i0(x)", "i1(x)"),
    row("i1(x)", "0.5 * (i0(x) + iv(2.0, x))"),
    row("i0e(x)", "i1e(x) - sign(x) * y", domain=POSITIVE),
    row("i1e(x)", "0.5 * (i0e(x) + ive(2.0, x)) - sign(x) * y", domain=POSITIVE),
    row("k0(x)", "-k1(x)", domain=POSITIVE),
    row("k1(x)", "-0.5 * (k0(x) + kv(2.0, x))", domain=POSITIVE),
    row("k0e(x)", "y - k1e(x)", domain=POSITIVE),
    row("k1e(x)", "y - 0.5 * (k0e(x) + kve(2.0, x))", domain=POSITIVE),
    row("jv(a, x)", UNKNOWN, "0.5 * (jv(a - 1, x) - jv(a + 1, x))", domain=(_ORDER, POSITIVE)),
    row("yv(a, x)", UNKNOWN, "0.5 * (yv(a - 1, x) - yv(a + 1, x))", domain=(_ORDER, POSITIVE)),
    row("iv(a, x)", UNKNOWN, "0.5 * (iv(a - 1, x) + iv(a + 1, x))", domain=(_ORDER, POSITIVE)),
    row("kv(a, x)", UNKNOWN, "-0.5 * (kv(a - 1, x) + kv(a + 1, x))", domain=(_ORDER, POSITIVE)),
    row(
        "ive(a, x)", UNKNOWN, "0.5 * (ive(a - 1, x) + ive(a + 1, x)) - sign(x) * y",
        domain=(_ORDER, POSITIVE),
    ),
    row("jve(a, x)", UNKNOWN, "0.5 * (jve(a - 1, x) - jve(a + 1, x))", domain=(_ORDER, POSITIVE)),
    row("yve(a, x)", UNKNOWN, "0.5 * (yve(a - 1, x) - yve(a + 1, x))", domain=(_ORDER, POSITIVE)),
    row("struve(a, x)", UNKNOWN, "struve(a - 1, x) - a / x * y", domain=(_ORDER, POSITIVE)),
    row("modstruve(a, x)", UNKNOWN, "modstruve(a - 1, x) - a / x * y", domain=(_ORDER, POSITIVE)),
    row("kve(a, x)", UNKNOWN, "y - 0.5 * (kve(a - 1, x) + kve(a + 1, x))", domain=(_ORDER, POSITIVE)),
)  # fmt: skip

INTEGRALS = (
    row("expi(x)", "exp(x) / x", domain=POSITIVE),
    row("exp1(x)", "-exp(-x) / x", domain=POSITIVE),
    row(
        "spence(x)", "where(x == 1, -1, log(x) / where(x == 1, 1, 1 - x))", domain=(1.2, 3.0),
    ),
    row(
        "ellipk(m)", "where(m == 0, 0.39269908169872414, "
        "(ellipe(m) / (1 - m) - y) / (2 * where(m == 0, 1, m)))", domain=_INSIDE,
    ),
    row(
        "ellipe(m)", "where(m == 0, -0.39269908169872414, (y - ellipk(m)) / (2 * where(m == 0, 1, m)))",
        domain=_INSIDE,
    ),
    row(
        "ellipkinc(t, m)", "1 / sqrt(1 - m * sin(t) ** 2)",
        "ellipeinc(t, m) / (2 * m * (1 - m)) - y / (2 * m) - sin(2 * t) / (4 * (1 - m) * sqrt(1 - m * sin(t) ** 2))",
        domain=_INSIDE,
    ),
    row("ellipeinc(t, m)", "sqrt(1 - m * sin(t) ** 2)", "(y - ellipkinc(t, m)) / (2 * m)", domain=_INSIDE),
    row("chdtr(a, x)", UNKNOWN, "0.5 * exp(xlogy(0.5 * a - 1, 0.5 * x) - 0.5 * x - gammaln(0.5 * a))", domain=POSITIVE),
    row("chdtrc(a, x)", UNKNOWN, "-0.5 * exp(xlogy(0.5 * a - 1, 0.5 * x) - 0.5 * x - gammaln(0.5 * a))",
        domain=POSITIVE),
    row("hyp0f1(a, x)", UNKNOWN, "hyp0f1(a + 1, x) / a", domain=POSITIVE),
    row("hyp1f1(a, b, x)", UNKNOWN, UNKNOWN, "a / b * hyp1f1(a + 1, b + 1, x)", domain=POSITIVE),
    row(
        "hyp2f1(a, b, c, x)", UNKNOWN, UNKNOWN, UNKNOWN,
        "a * b / c * hyp2f1(a + 1, b + 1, c + 1, x)", domain=(POSITIVE, POSITIVE, POSITIVE, _INSIDE),
    ),
)  # fmt: skip

SPECIAL = (*ERRORS, *GAMMAS, *LOGARITHMS, *BESSELS, *INTEGRALS)


def _add(line: Row) -> None:
    fn = getattr(special, line.name)
    REGISTRY[fn], HOMES[fn] = line.rule, special


for _line in SPECIAL:
    _add(_line)

BROADCASTING.add(special.zeta)

REGISTRY[special.logsumexp] = reductions.logsumexp  # type: ignore[assignment]
legal.add(special.logsumexp, legal.renamed(runtime.logsumexp))


@expands(special.logsumexp, keywords=("b", "return_sign"), counts=(1, 2))
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """Return the logarithm of a weighted sum of exponentials, shifted by the largest."""
    top = np.max(a, axis=axis, keepdims=True)
    terms = np.exp(a - top) if b is None else b * np.exp(a - top)
    total = np.sum(terms, axis=axis, keepdims=keepdims)
    size = np.log(np.abs(total) if return_sign else total)
    above = top if keepdims else np.sum(top) if axis is None else np.squeeze(top, axis=axis)
    return (size + above, np.sign(total)) if return_sign else size + above


@expands(special.softmax)
def softmax(x: Any, axis: Any = None) -> Any:
    """Return exponentials scaled to the sum 1."""
    return np.exp(x - runtime.logsumexp(x, axis=axis, keepdims=True))


@expands(special.log_softmax)
def log_softmax(x: Any, axis: Any = None) -> Any:
    """Return the logarithm of `softmax`."""
    return x - runtime.logsumexp(x, axis=axis, keepdims=True)


@expands(special.polygamma)
def polygamma(n: Any, x: Any) -> Any:
    """Return the `n`-th derivative of `psi`."""
    if n == 0:
        return special.psi(x)
    else:
        return (-1.0) ** (n + 1) * special.gamma(n + 1.0) * special.zeta(n + 1.0, x)


@expands(special.multigammaln)
def multigammaln(a: Any, d: Any) -> Any:
    """Return the logarithm of the multivariate gamma function."""
    total = d * (d - 1) * 0.28618247146235004  # log(pi) / 4
    for k in range(d):
        total = total + special.gammaln(np.float64(1.0) * a - 0.5 * k)
    return total


@expands(special.comb)
def comb(N: Any, k: Any) -> Any:
    """Return the number of combinations, where neither is a whole number too."""
    return special.binom(N, k)


@expands(special.perm)
def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """Return the number of permutations, where neither is a whole number too."""
    return special.poch(N - k + 1, k)


@expands(special.factorial)
def factorial(n: Any, exact: bool = False) -> Any:
    """Return the factorial, of numbers between the whole ones too."""
    return special.gamma(n + 1.0)


# ---- polynomials of a whole order, in double precision as SciPy's: NIST DLMF, 18.9.1 with table 18.9.1 ----


@meaning
def counting(n: Any) -> Any:
    """Return an order that counts the turns of a recurrence: `range` takes whole numbers alone."""
    if n < 0:
        raise ValueError("the order of a polynomial is not below zero here")
    return n


@expands(special.eval_legendre)
def eval_legendre(n: Any, x: Any) -> Any:
    """Return the polynomial of Legendre."""
    x = np.float64(1.0) * x
    before, value = 0.0 * x, 1.0 + 0.0 * x
    for k in range(counting(n)):
        before, value = value, ((2 * k + 1) * x * value - k * before) / (k + 1)
    return value


@expands(special.eval_chebyt)
def eval_chebyt(n: Any, x: Any) -> Any:
    """Return the polynomial of Chebyshev, of the first kind."""
    x = np.float64(1.0) * x
    before, value = 1.0 * x, 1.0 + 0.0 * x
    for _ in range(counting(n)):
        before, value = value, 2.0 * x * value - before
    return value


@expands(special.eval_chebyu)
def eval_chebyu(n: Any, x: Any) -> Any:
    """Return the polynomial of Chebyshev, of the second kind."""
    x = np.float64(1.0) * x
    before, value = 0.0 * x, 1.0 + 0.0 * x
    for _ in range(counting(n)):
        before, value = value, 2.0 * x * value - before
    return value


@expands(special.eval_hermite)
def eval_hermite(n: Any, x: Any) -> Any:
    """Return the polynomial of Hermite that begins with `(2 * x)**n`."""
    x = np.float64(1.0) * x
    before, value = 0.0 * x, 1.0 + 0.0 * x
    for k in range(counting(n)):
        before, value = value, 2.0 * (x * value - k * before)
    return value


@expands(special.eval_hermitenorm)
def eval_hermitenorm(n: Any, x: Any) -> Any:
    """Return the polynomial of Hermite that begins with `x**n`."""
    x = np.float64(1.0) * x
    before, value = 0.0 * x, 1.0 + 0.0 * x
    for k in range(counting(n)):
        before, value = value, x * value - k * before
    return value


@expands(special.eval_laguerre)
def eval_laguerre(n: Any, x: Any) -> Any:
    """Return the polynomial of Laguerre."""
    x = np.float64(1.0) * x
    before, value = 0.0 * x, 1.0 + 0.0 * x
    for k in range(counting(n)):
        before, value = value, ((2 * k + 1 - x) * value - k * before) / (k + 1)
    return value


for _polynomial in (eval_legendre, eval_chebyt, eval_chebyu, eval_hermite, eval_hermitenorm, eval_laguerre):
    HOMES[getattr(special, _polynomial.__name__)] = special
