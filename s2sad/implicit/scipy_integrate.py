"""`scipy.integrate`, loaded when a program that uses it is differentiated: sums of samples, and integrals of functions.

Integrals of functions are sums at points that are chosen as the function asks for it, and that do not move with what
is differentiated but for the limits. Sources: Piessens and others, "QUADPACK", 1983, for the rule of 21 points and its
error; Cartwright, "Simpson's Rule Cumulative Integration with MS Excel and Irregularly-spaced Data", 2017.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.integrate

from s2sad.api.transforms import stop_gradient
from s2sad.ir import ops
from s2sad.rules.registry import expands, meaning

POINTS = np.array([
    0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508,
    0.865063366688984510732096688423493, 0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
    0.562757134668604683339000099272694, 0.433395394129247190799265943165784, 0.294392862701460198131126603103866,
    0.148874338981631210884826001129720, 0.0,
])  # fmt: skip
"""The points of Kronrod's rule on the right half of [-1, 1]; every second one is one of Gauss's."""
WEIGHTS = np.array([
    0.011694638867371874278064396062192, 0.032558162307964727478818972459390, 0.054755896574351996031381300244580,
    0.075039674810919952767043140916190, 0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
    0.123491976262065851077958109585166, 0.134709217311473325928054001771707, 0.142775938577060080797094273138717,
    0.147739104901338491374841515972068, 0.149445554002916905664936468389821,
])  # fmt: skip
GAUSS = np.array([
    0.0, 0.066671344308688137593568809893332, 0.0, 0.149451349150580593145863396957658, 0.0,
    0.219086362515982043995534934228163, 0.0, 0.269266719309996355091226921569469, 0.0,
    0.295524224714752870173815619188769, 0.0,
])  # fmt: skip


@expands(scipy.integrate.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Return the integral by trapezia."""
    return np.trapezoid(y, x, dx, axis)


@expands(scipy.integrate.cumulative_trapezoid)
def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """Return the integrals up to each sample."""
    samples = np.moveaxis(np.asarray(y), axis, -1)
    steps = dx if x is None else np.diff(x)
    sums = np.cumsum(steps * (samples[..., 1:] + samples[..., :-1]) / 2.0, axis=-1)
    if initial is not None:
        first = np.zeros((*samples.shape[:-1], 1), sums.dtype)
        sums = np.concatenate((first, sums), axis=-1)
    return np.moveaxis(sums, -1, axis)


@expands(scipy.integrate.simpson)
def simpson(y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Return the integral by parabolas; of an even number of samples, the last step has Cartwright's."""
    samples = np.moveaxis(np.asarray(y), axis, -1)
    n = samples.shape[-1]
    pairs = n - 1 + n % 2
    left = samples[..., 0 : pairs - 2 : 2]
    middle = samples[..., 1 : pairs - 1 : 2]
    right = samples[..., 2:pairs:2]
    if x is None:
        whole = np.sum(left + 4.0 * middle + right, axis=-1) * (dx / 3.0)
    else:
        steps = np.diff(x)
        h0 = steps[0 : pairs - 2 : 2]
        h1 = steps[1 : pairs - 1 : 2]
        total = h0 + h1
        whole = np.sum(
            total / 6.0 * (left * (2.0 - h1 / h0) + middle * (total * total / (h0 * h1)) + right * (2.0 - h0 / h1)),
            axis=-1,
        )
    if n % 2 == 0:
        last = dx if x is None else x[-1] - x[-2]
        if n == 2:
            whole = whole + 0.5 * last * (samples[..., 0] + samples[..., 1])
        else:
            before = dx if x is None else x[-2] - x[-3]
            alpha = (2.0 * last * last + 3.0 * before * last) / (6.0 * (last + before))
            beta = (last * last + 3.0 * before * last) / (6.0 * before)
            eta = last**3 / (6.0 * before * (before + last))
            whole = whole + alpha * samples[..., -1] + beta * samples[..., -2] - eta * samples[..., -3]
    return whole


@expands(scipy.integrate.fixed_quad)
def fixed_quad(func: Any, a: Any, b: Any, args: Any = (), n: int = 5) -> Any:
    """Return Gauss's rule of n points, of a function of arrays."""
    points, weights = np.polynomial.legendre.leggauss(n)
    places = (b - a) * (points + 1.0) / 2.0 + a
    return (b - a) / 2.0 * np.sum(weights * func(places, *args), axis=-1), None


@meaning
def placed(func: Any, a: Any, b: Any, u: Any, args: Any) -> Any:
    """Return what is integrated over [0, 1] instead of [a, b]; an infinite end is where u is 0."""
    if np.isinf(a) or np.isinf(b):
        x = (1.0 - u) / u
        if np.isinf(a) and np.isinf(b):
            there = func(x, *args) + func(-x, *args)
        elif np.isinf(b):
            there = func(a + x, *args)
        else:
            there = func(b - x, *args)
        value = there / (u * u)
    else:
        value = func(a + (b - a) * u, *args) * (b - a)
    return value


@meaning
def over_an_interval(func: Any, a: Any, b: Any, low: Any, high: Any, args: Any) -> Any:
    """Return Kronrod's sum over a part of [0, 1], and how far Gauss's is from it."""
    center = 0.5 * (low + high)
    half = 0.5 * (high - low)
    total = 0.0
    coarse = 0.0
    for k in range(11):
        shift = half * POINTS[k]
        value = placed(func, a, b, center - shift, args)
        if k < 10:
            value = value + placed(func, a, b, center + shift, args)
        total += WEIGHTS[k] * value
        coarse += GAUSS[k] * value
    return total * half, abs(total - coarse) * half


@meaning
def partition(func: Any, a: Any, b: Any, args: Any, epsabs: Any, epsrel: Any, limit: Any) -> Any:
    """Return where [0, 1] is to be cut, such that the errors of the parts are small enough together."""
    whole, _ = over_an_interval(func, a, b, 0.0, 1.0, args)
    allowed = max(epsabs, epsrel * abs(whole))
    waiting = [1.0]
    cuts = [0.0]
    while len(waiting) > 0:
        low, high = cuts[-1], waiting[-1]
        value, error = over_an_interval(func, a, b, low, high, args)
        sharp = 200.0 * error
        if sharp < abs(value):  # as QUADPACK has it: what two rules differ by says little of how good the better one is
            error = abs(value) * (sharp / abs(value)) ** 1.5
        small = error <= allowed * max(high - low, 0.02) or high - low < 1e-13
        if small or len(cuts) + len(waiting) > 40 * limit:
            cuts.append(high)
            waiting.pop()
        else:
            waiting.append(0.5 * (low + high))
    return np.array(cuts)


@expands(scipy.integrate.quad)
def quad(
    func: Any, a: Any, b: Any, args: Any = (), full_output: Any = 0, epsabs: Any = 1.49e-8, epsrel: Any = 1.49e-8,
    limit: Any = 50, points: Any = None, weight: Any = None, wvar: Any = None, wopts: Any = None, maxp1: Any = 50,
    limlst: Any = 50, complex_func: Any = False,
) -> Any:  # fmt: skip
    """Return the integral and a bound of its error, by Gauss and Kronrod's rule on parts of the interval."""
    if points is not None or weight is not None or full_output or complex_func:
        ops.refuse("`quad` with these options is not supported", "Split the interval, or write the weight as a factor.")
    given = args if isinstance(args, tuple) else (args,)
    cuts = stop_gradient(partition(func, a, b, given, epsabs, epsrel, limit))
    total = 0.0
    error = 0.0
    for k in range(cuts.shape[0] - 1):
        part, off = over_an_interval(func, a, b, cuts[k], cuts[k + 1], given)
        total += part
        error += off
    return total, stop_gradient(error)
