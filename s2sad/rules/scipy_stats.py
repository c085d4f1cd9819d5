"""`scipy.stats`, loaded when a program that uses it is differentiated: densities and distribution functions.

Each function is named after the distribution and the method whose meaning it is: `norm_logpdf` is what `norm.logpdf`
gives. Methods that follow from others are composed where they are called (`frontend/distributions.py`): `pdf` is
`exp` of `logpdf`. What lies outside of a distribution's support has the density 0; parameters that none has give NaN.
Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions*, 2nd edition, 1994 and 1995.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special as special

from s2sad.rules.registry import meaning

HALF_LOG_2PI = 0.9189385332046727
LOG_PI = 1.1447298858494002
LOG_2 = 0.6931471805599453


@dataclass
class Frozen:
    """A distribution with its parameters: what `norm(mu, sigma)` makes in a differentiated function."""

    dist: Any
    args: tuple[Any, ...]
    named: dict[str, Any]

    def pdf(self, x: Any) -> Any:
        """Return the density."""
        return self.dist.pdf(x, *self.args, **self.named)

    def logpdf(self, x: Any) -> Any:
        """Return its logarithm."""
        return self.dist.logpdf(x, *self.args, **self.named)

    def pmf(self, k: Any) -> Any:
        """Return the probability."""
        return self.dist.pmf(k, *self.args, **self.named)

    def logpmf(self, k: Any) -> Any:
        """Return its logarithm."""
        return self.dist.logpmf(k, *self.args, **self.named)

    def cdf(self, x: Any) -> Any:
        """Return the distribution function."""
        return self.dist.cdf(x, *self.args, **self.named)

    def logcdf(self, x: Any) -> Any:
        """Return its logarithm."""
        return self.dist.logcdf(x, *self.args, **self.named)

    def sf(self, x: Any) -> Any:
        """Return one less the distribution function."""
        return self.dist.sf(x, *self.args, **self.named)

    def logsf(self, x: Any) -> Any:
        """Return its logarithm."""
        return self.dist.logsf(x, *self.args, **self.named)

    def ppf(self, q: Any) -> Any:
        """Return the quantile."""
        return self.dist.ppf(q, *self.args, **self.named)

    def isf(self, q: Any) -> Any:
        """Return the quantile of one less q."""
        return self.dist.isf(q, *self.args, **self.named)


@meaning
def frozen(dist: Any, *args: Any, **named: Any) -> Any:
    """Return a distribution with its parameters."""
    return Frozen(dist, args, named)


# ---- loc and scale ----


@meaning
def standard(x: Any, loc: Any, scale: Any) -> Any:
    """Return where x lies in the standard distribution."""
    y = np.asarray(x) if loc is None else np.asarray(x) - loc
    return y if scale is None else y / scale


@meaning
def standard_of(x: Any, loc: Any, scale: Any) -> Any:
    """Return the same, NaN where the scale is none."""
    y = np.asarray(x) if loc is None else np.asarray(x) - loc
    return y if scale is None else y / np.where(scale > 0.0, scale, np.nan)


@meaning
def narrowed(log_density: Any, scale: Any) -> Any:
    """Return the logarithm of a density that is spread by a scale."""
    return log_density if scale is None else log_density - np.log(scale)


@meaning
def placed(y: Any, loc: Any, scale: Any) -> Any:
    """Return what lies at y in the standard distribution."""
    spread = y if scale is None else y * np.where(scale > 0.0, scale, np.nan)
    return spread if loc is None else spread + loc


# ---- normal and its kin ----


@meaning
def norm_logpdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return -y²/2 - log(2π)/2."""
    y = standard(x, loc, scale)
    return narrowed(-0.5 * y * y - HALF_LOG_2PI, scale)


@meaning
def norm_cdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return Φ(y)."""
    return special.ndtr(standard_of(x, loc, scale))


@meaning
def norm_sf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return Φ(-y)."""
    return special.ndtr(-standard_of(x, loc, scale))


@meaning
def norm_logcdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return log Φ(y)."""
    return special.log_ndtr(standard_of(x, loc, scale))


@meaning
def norm_logsf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return log Φ(-y)."""
    return special.log_ndtr(-standard_of(x, loc, scale))


@meaning
def norm_ppf(q: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return the y with Φ(y) = q."""
    return placed(special.ndtri(np.asarray(q)), loc, scale)


@meaning
def norm_isf(q: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return the y with Φ(-y) = q."""
    return placed(-special.ndtri(np.asarray(q)), loc, scale)


@meaning
def halfnorm_logpdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return log(2/π)/2 - y²/2."""
    y = standard(x, loc, scale)
    return narrowed(np.where(y < 0.0, -np.inf, -0.5 * y * y - (HALF_LOG_2PI - LOG_2)), scale)


@meaning
def halfnorm_cdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return erf(y/√2)."""
    return special.erf(np.maximum(standard_of(x, loc, scale), 0.0) / 1.4142135623730951)


@meaning
def halfnorm_sf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return erfc(y/√2)."""
    return special.erfc(np.maximum(standard_of(x, loc, scale), 0.0) / 1.4142135623730951)


@meaning
def lognorm_logpdf(x: Any, s: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return -log(y)²/(2s²) - log(s y) - log(2π)/2."""
    y = standard(x, loc, scale)
    log_y = np.log(np.where(y <= 0.0, 1.0, y))
    whole = -log_y * log_y / (2.0 * s * s) - np.log(s) - log_y - HALF_LOG_2PI
    return narrowed(np.where(y <= 0.0, -np.inf, whole), scale)


@meaning
def lognorm_cdf(x: Any, s: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return Φ(log(y)/s)."""
    y = standard_of(x, loc, scale)
    return np.where(y <= 0.0, 0.0, special.ndtr(np.log(np.where(y <= 0.0, 1.0, y)) / s))


@meaning
def lognorm_sf(x: Any, s: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return Φ(-log(y)/s)."""
    y = standard_of(x, loc, scale)
    return np.where(y <= 0.0, 1.0, special.ndtr(-np.log(np.where(y <= 0.0, 1.0, y)) / s))


@meaning
def lognorm_ppf(q: Any, s: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return exp(s Φ⁻¹(q))."""
    return placed(np.exp(s * special.ndtri(np.asarray(q))), loc, scale)


@meaning
def skewnorm_logpdf(x: Any, a: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return log 2 + log φ(y) + log Φ(a y)."""
    y = standard(x, loc, scale)
    return narrowed(LOG_2 - HALF_LOG_2PI - 0.5 * y * y + special.log_ndtr(a * y), scale)


@meaning
def log_mass(a: Any, b: Any) -> Any:
    """Return log(Φ(b) - Φ(a)), from the tail in which both lie."""
    low, high = np.where(a > 0.0, -b, a), np.where(a > 0.0, -a, b)
    tail = special.log_ndtr(high) + np.log(-special.expm1(special.log_ndtr(low) - special.log_ndtr(high)))
    middle = np.log1p(-special.ndtr(a) - special.ndtr(-b))
    return np.where((a <= 0.0) & (b > 0.0), middle, tail)


@meaning
def truncnorm_logpdf(x: Any, a: Any, b: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return log φ(y) - log(Φ(b) - Φ(a))."""
    y = standard(x, loc, scale)
    inner = -0.5 * y * y - HALF_LOG_2PI - log_mass(a, b)
    return narrowed(np.where((y < a) | (y > b), -np.inf, inner), scale)


# ---- on the whole line ----


@meaning
def t_logpdf(x: Any, df: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return Student's log density."""
    y = standard(x, loc, scale)
    r = (df + 1.0) / 2.0
    constant = special.gammaln(r) - special.gammaln(df / 2.0) - 0.5 * (np.log(df) + LOG_PI)
    return narrowed(constant - r * np.log1p(y * y / df), scale)


@meaning
def t_cdf(x: Any, df: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return Student's distribution function."""
    return special.stdtr(df, standard_of(x, loc, scale))


@meaning
def t_sf(x: Any, df: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return that at -y."""
    return special.stdtr(df, -standard_of(x, loc, scale))


@meaning
def cauchy_logpdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return -log π - log(1 + y²)."""
    y = standard(x, loc, scale)
    return narrowed(-LOG_PI - np.log1p(y * y), scale)


@meaning
def cauchy_cdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return 1/2 + arctan(y)/π, from the side on which it is exact."""
    return np.arctan2(1.0, -standard_of(x, loc, scale)) / np.pi


@meaning
def cauchy_sf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return 1/2 - arctan(y)/π likewise."""
    return np.arctan2(1.0, standard_of(x, loc, scale)) / np.pi


@meaning
def cauchy_ppf(q: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return tan(π q - π/2)."""
    return placed(np.tan(np.pi * np.asarray(q) - np.pi / 2.0), loc, scale)


@meaning
def laplace_logpdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return -|y| - log 2."""
    return narrowed(-np.abs(standard(x, loc, scale)) - LOG_2, scale)


@meaning
def laplace_cdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return exp(y)/2 below 0, 1 - exp(-y)/2 above."""
    y = standard_of(x, loc, scale)
    tail = 0.5 * np.exp(-np.abs(y))
    return np.where(y > 0.0, 1.0 - tail, tail)


@meaning
def laplace_sf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return that at -y."""
    y = standard_of(x, loc, scale)
    tail = 0.5 * np.exp(-np.abs(y))
    return np.where(y > 0.0, tail, 1.0 - tail)


@meaning
def logistic_logpdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return y - 2 log(1 + exp(y)), of -|y|."""
    y = -np.abs(standard(x, loc, scale))
    return narrowed(y - 2.0 * np.log1p(np.exp(y)), scale)


@meaning
def logistic_cdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return 1/(1 + exp(-y))."""
    return special.expit(standard_of(x, loc, scale))


@meaning
def logistic_sf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return 1/(1 + exp(y))."""
    return special.expit(-standard_of(x, loc, scale))


@meaning
def logistic_logcdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return -log(1 + exp(-y))."""
    return special.log_expit(standard_of(x, loc, scale))


@meaning
def logistic_logsf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return -log(1 + exp(y))."""
    return special.log_expit(-standard_of(x, loc, scale))


@meaning
def logistic_ppf(q: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return log(q/(1 - q))."""
    return placed(special.logit(np.asarray(q)), loc, scale)


@meaning
def gumbel_r_logpdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return -y - exp(-y)."""
    y = standard(x, loc, scale)
    return narrowed(-y - np.exp(-y), scale)


@meaning
def gumbel_r_cdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return exp(-exp(-y))."""
    return np.exp(-np.exp(-standard_of(x, loc, scale)))


@meaning
def gumbel_r_logcdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return -exp(-y)."""
    return -np.exp(-standard_of(x, loc, scale))


@meaning
def gumbel_r_sf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return 1 - exp(-exp(-y))."""
    return -np.expm1(-np.exp(-standard_of(x, loc, scale)))


@meaning
def gumbel_l_logpdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return y - exp(y)."""
    y = standard(x, loc, scale)
    return narrowed(y - np.exp(y), scale)


@meaning
def gumbel_l_cdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return 1 - exp(-exp(y))."""
    return -np.expm1(-np.exp(standard_of(x, loc, scale)))


@meaning
def gumbel_l_sf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return exp(-exp(y))."""
    return np.exp(-np.exp(standard_of(x, loc, scale)))


@meaning
def gumbel_l_logsf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return -exp(y)."""
    return -np.exp(standard_of(x, loc, scale))


@meaning
def vonmises_logpdf(x: Any, kappa: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return kappa (cos y - 1) - log(2π) - log(exp(-kappa) I₀(kappa))."""
    y = standard(x, loc, scale)
    return narrowed(kappa * special.cosm1(y) - 2.0 * HALF_LOG_2PI - np.log(special.i0e(kappa)), scale)


# ---- above 0 ----


@meaning
def expon_logpdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return -y."""
    y = standard(x, loc, scale)
    return narrowed(np.where(y < 0.0, -np.inf, -y), scale)


@meaning
def expon_cdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return 1 - exp(-y)."""
    return -np.expm1(-np.maximum(standard_of(x, loc, scale), 0.0))


@meaning
def expon_sf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return exp(-y)."""
    return np.exp(-np.maximum(standard_of(x, loc, scale), 0.0))


@meaning
def expon_logsf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return -y."""
    return -np.maximum(standard_of(x, loc, scale), 0.0)


@meaning
def expon_ppf(q: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return -log(1 - q)."""
    return placed(-np.log1p(-np.asarray(q)), loc, scale)


@meaning
def gamma_logpdf(x: Any, a: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return (a - 1) log y - y - log Γ(a)."""
    y = standard(x, loc, scale)
    inner = special.xlogy(a - 1.0, np.where(y < 0.0, 1.0, y)) - y - special.gammaln(np.where(a > 0.0, a, np.nan))
    return narrowed(np.where(y < 0.0, -np.inf, inner), scale)


@meaning
def gamma_cdf(x: Any, a: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return the regularised lower incomplete gamma function."""
    return special.gammainc(a, np.maximum(standard_of(x, loc, scale), 0.0))


@meaning
def gamma_sf(x: Any, a: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return the upper one."""
    return special.gammaincc(a, np.maximum(standard_of(x, loc, scale), 0.0))


@meaning
def gamma_ppf(q: Any, a: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return the inverse of the lower one."""
    return placed(special.gammaincinv(a, np.asarray(q)), loc, scale)


@meaning
def invgamma_logpdf(x: Any, a: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return -(a + 1) log y - log Γ(a) - 1/y."""
    y = standard(x, loc, scale)
    above = np.where(y <= 0.0, 1.0, y)
    inner = -(a + 1.0) * np.log(above) - special.gammaln(np.where(a > 0.0, a, np.nan)) - 1.0 / above
    return narrowed(np.where(y <= 0.0, -np.inf, inner), scale)


@meaning
def invgamma_cdf(x: Any, a: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return the upper incomplete gamma function at 1/y."""
    y = standard_of(x, loc, scale)
    return np.where(y <= 0.0, 0.0, special.gammaincc(a, 1.0 / np.where(y <= 0.0, 1.0, y)))


@meaning
def chi2_logpdf(x: Any, df: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return (df/2 - 1) log y - y/2 - log Γ(df/2) - df/2 log 2."""
    y = standard(x, loc, scale)
    half = np.where(df > 0.0, df, np.nan) / 2.0
    inner = special.xlogy(half - 1.0, np.where(y < 0.0, 1.0, y)) - y / 2.0 - special.gammaln(half) - LOG_2 * half
    return narrowed(np.where(y < 0.0, -np.inf, inner), scale)


@meaning
def chi2_cdf(x: Any, df: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return the distribution function of a sum of df squares."""
    return special.gammainc(df / 2.0, np.maximum(standard_of(x, loc, scale), 0.0) / 2.0)


@meaning
def chi2_sf(x: Any, df: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return one less that."""
    return special.gammaincc(df / 2.0, np.maximum(standard_of(x, loc, scale), 0.0) / 2.0)


@meaning
def weibull_min_logpdf(x: Any, c: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return log c + (c - 1) log y - y^c."""
    y = standard(x, loc, scale)
    above = np.where(y < 0.0, 1.0, y)
    return narrowed(np.where(y < 0.0, -np.inf, np.log(c) + special.xlogy(c - 1.0, above) - above**c), scale)


@meaning
def weibull_min_cdf(x: Any, c: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return 1 - exp(-y^c)."""
    return -np.expm1(-(np.maximum(standard_of(x, loc, scale), 0.0) ** np.where(c > 0.0, c, np.nan)))


@meaning
def weibull_min_sf(x: Any, c: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return exp(-y^c)."""
    return np.exp(-(np.maximum(standard_of(x, loc, scale), 0.0) ** np.where(c > 0.0, c, np.nan)))


@meaning
def pareto_logpdf(x: Any, b: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return log b - (b + 1) log y, above 1."""
    y = standard(x, loc, scale)
    return narrowed(np.where(y < 1.0, -np.inf, np.log(b) - (b + 1.0) * np.log(np.where(y < 1.0, 1.0, y))), scale)


@meaning
def pareto_cdf(x: Any, b: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return 1 - y^-b."""
    return 1.0 - pareto_sf(x, b, loc, scale)


@meaning
def pareto_sf(x: Any, b: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return y^-b."""
    return np.maximum(standard_of(x, loc, scale), 1.0) ** -np.where(b > 0.0, b, np.nan)


@meaning
def halfcauchy_logpdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return log(2/π) - log(1 + y²)."""
    y = standard(x, loc, scale)
    return narrowed(np.where(y < 0.0, -np.inf, LOG_2 - LOG_PI - np.log1p(y * y)), scale)


@meaning
def halfcauchy_cdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return 2/π arctan y."""
    return 2.0 / np.pi * np.arctan(np.maximum(standard_of(x, loc, scale), 0.0))


@meaning
def rayleigh_logpdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return log y - y²/2."""
    y = standard(x, loc, scale)
    return narrowed(np.where(y < 0.0, -np.inf, special.xlogy(1.0, np.where(y < 0.0, 1.0, y)) - 0.5 * y * y), scale)


@meaning
def rayleigh_cdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return 1 - exp(-y²/2)."""
    return -np.expm1(-0.5 * np.maximum(standard_of(x, loc, scale), 0.0) ** 2)


@meaning
def rayleigh_sf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return exp(-y²/2)."""
    return np.exp(-0.5 * np.maximum(standard_of(x, loc, scale), 0.0) ** 2)


# ---- between 0 and 1 ----


@meaning
def beta_logpdf(x: Any, a: Any, b: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return (a - 1) log y + (b - 1) log(1 - y) - log B(a, b)."""
    y = standard(x, loc, scale)
    whole = special.betaln(np.where(a > 0.0, a, np.nan), np.where(b > 0.0, b, np.nan))
    outside = (y < 0.0) | (y > 1.0)
    within = np.where(outside, 0.5, y)
    inner = special.xlog1py(b - 1.0, -within) + special.xlogy(a - 1.0, within) - whole
    return narrowed(np.where(outside, -np.inf, inner), scale)


@meaning
def beta_cdf(x: Any, a: Any, b: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return the regularised incomplete beta function."""
    return special.betainc(a, b, np.minimum(np.maximum(standard_of(x, loc, scale), 0.0), 1.0))


@meaning
def beta_sf(x: Any, a: Any, b: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return that at 1 - y, with a and b exchanged."""
    return special.betainc(b, a, 1.0 - np.minimum(np.maximum(standard_of(x, loc, scale), 0.0), 1.0))


@meaning
def beta_ppf(q: Any, a: Any, b: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return the inverse of the incomplete beta function."""
    return placed(special.betaincinv(a, b, np.asarray(q)), loc, scale)


@meaning
def uniform_logpdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return 0."""
    y = standard(x, loc, scale)
    return narrowed(np.where((y < 0.0) | (y > 1.0), -np.inf, 0.0 * y), scale)


@meaning
def uniform_cdf(x: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return y."""
    return np.minimum(np.maximum(standard_of(x, loc, scale), 0.0), 1.0)


@meaning
def uniform_ppf(q: Any, loc: Any = None, scale: Any = None) -> Any:
    """Return q."""
    return placed(np.asarray(q), loc, scale)


# ---- of whole numbers ----


@meaning
def counted(k: Any, loc: Any) -> Any:
    """Return how many, less what the least is."""
    return np.asarray(k) if loc is None else np.asarray(k) - loc


@meaning
def chance(p: Any) -> Any:
    """Return a probability, NaN where it is none."""
    return np.where((p < 0.0) | (p > 1.0), np.nan, p)


@meaning
def bernoulli_logpmf(k: Any, p: Any, loc: Any = None) -> Any:
    """Return k log p + (1 - k) log(1 - p)."""
    n, q = counted(k, loc), chance(p)
    inner = special.xlogy(n, q) + special.xlog1py(1.0 - n, -q)
    return np.where((n == 0) | (n == 1), inner, -np.inf + 0.0 * q)


@meaning
def binom_logpmf(k: Any, n: Any, p: Any, loc: Any = None) -> Any:
    """Return log C(n, k) + k log p + (n - k) log(1 - p)."""
    m, q = counted(k, loc), chance(p)
    ways = special.gammaln(n + 1.0) - special.gammaln(m + 1.0) - special.gammaln(n - m + 1.0)
    inner = ways + special.xlogy(m, q) + special.xlog1py(n - m, -q)
    return np.where((m < 0) | (m > n) | (np.floor(m) != m), -np.inf + 0.0 * q, inner)


@meaning
def poisson_logpmf(k: Any, mu: Any, loc: Any = None) -> Any:
    """Return k log mu - log k! - mu."""
    n = counted(k, loc)
    rate = np.where(mu < 0.0, np.nan, mu)
    inner = special.xlogy(n, rate) - special.gammaln(n + 1.0) - rate
    return np.where((n < 0) | (np.floor(n) != n), -np.inf + 0.0 * rate, inner)


@meaning
def poisson_cdf(k: Any, mu: Any, loc: Any = None) -> Any:
    """Return the upper incomplete gamma function of ⌊k⌋ + 1 at mu."""
    n = np.floor(counted(k, loc))
    return np.where(n < 0, 0.0, special.gammaincc(np.maximum(n, 0.0) + 1.0, mu))


@meaning
def geom_logpmf(k: Any, p: Any, loc: Any = None) -> Any:
    """Return (k - 1) log(1 - p) + log p."""
    n, q = counted(k, loc), chance(p)
    inner = special.xlog1py(n - 1.0, -q) + np.log(q)
    return np.where((n < 1) | (np.floor(n) != n), -np.inf + 0.0 * q, inner)


@meaning
def nbinom_logpmf(k: Any, n: Any, p: Any, loc: Any = None) -> Any:
    """Return log C(n + k - 1, k) + n log p + k log(1 - p)."""
    m, q = counted(k, loc), chance(p)
    ways = special.gammaln(n + m) - special.gammaln(m + 1.0) - special.gammaln(n)
    inner = ways + n * np.log(q) + special.xlog1py(m, -q)
    return np.where((m < 0) | (np.floor(m) != m), -np.inf + 0.0 * q, inner)


# ---- of several ----


@meaning
def multivariate_normal_logpdf(x: Any, mean: Any = None, cov: Any = None) -> Any:
    """Return that of a vector, or of each row; the covariance is a matrix, its diagonal or a number."""
    y = np.asarray(x) if mean is None else np.asarray(x) - mean
    if cov is None:
        return -0.5 * np.sum(y * y, axis=-1) - HALF_LOG_2PI * y.shape[-1]
    elif np.ndim(cov) == 2:
        factor = np.linalg.cholesky(cov)
        z = np.linalg.solve(factor, y.T)
        log_volume = np.sum(np.log(np.diag(factor)))
        return -0.5 * np.sum(z * z, axis=0) - log_volume - HALF_LOG_2PI * y.shape[-1]
    elif np.ndim(cov) == 1:
        log_volume = 0.5 * np.sum(np.log(cov))
        return -0.5 * np.sum(y * y / cov, axis=-1) - log_volume - HALF_LOG_2PI * y.shape[-1]
    else:
        size = y.shape[-1]
        return -0.5 * np.sum(y * y, axis=-1) / cov - size * (0.5 * np.log(cov) + HALF_LOG_2PI)


@meaning
def dirichlet_logpdf(x: Any, alpha: Any) -> Any:
    """Return Σ (alpha - 1) log x - log B(alpha)."""
    whole = np.sum(special.gammaln(alpha)) - special.gammaln(np.sum(alpha))
    return np.sum(special.xlogy(np.asarray(alpha) - 1.0, np.asarray(x)), axis=0) - whole


@meaning
def multinomial_logpmf(x: Any, n: Any, p: Any) -> Any:
    """Return log n! - Σ log x! + Σ x log p."""
    counts = np.asarray(x)
    return special.gammaln(n + 1.0) + np.sum(special.xlogy(counts, p) - special.gammaln(counts + 1.0), axis=-1)
