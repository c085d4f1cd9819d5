"""`scipy.optimize`, loaded when a program that uses it is differentiated: roots.

A root of a function of one number is found as SciPy finds it, one of a system by Newton's method, without
derivatives. Then two Newton steps, each of length zero, give it the derivatives that the equation implies: the first
the slope, the second all up to the third order. Sources: Brent, "Algorithms for Minimization without Derivatives",
1973, chapter 4; Ridders, 1979; Bus and Dekker, 1975, for the hyperbolic extrapolation; Griewank and Walther,
"Evaluating Derivatives", 2008, chapter 15.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize

from s2sad.api.jacobian import jacfwd
from s2sad.api.transforms import jvp, stop_gradient
from s2sad.ir import ops
from s2sad.rules.registry import expands, meaning


@meaning
def implied(f: Any, root: Any, args: Any) -> Any:
    """Return a root with the derivatives that f(x, *args) = 0 implies."""
    x = stop_gradient(root)
    for _ in range(2):
        value, slope = jvp(lambda y: f(y, *args), (x,), (1.0,))
        x = x - (value - stop_gradient(value)) / slope
    return x


@meaning
def bracketed(f: Any, a: Any, b: Any, args: Any, xtol: Any, rtol: Any, most: Any, hyperbolic: Any) -> Any:
    """Return the root between a and b by Brent's method, with the hyperbolic extrapolation if that is said."""
    before, here, across = float(a), float(b), 0.0
    f_before, f_here, f_across = f(before, *args), f(here, *args), 0.0
    last, step = 0.0, 0.0
    if f_before == 0.0:
        return before
    if f_here == 0.0:
        return here
    if (f_before < 0.0) == (f_here < 0.0):
        raise ValueError("f(a) and f(b) must have different signs")
    for _ in range(most):
        if f_before != 0.0 and f_here != 0.0 and (f_before < 0.0) != (f_here < 0.0):
            across, f_across = before, f_before
            last = step = here - before
        if abs(f_across) < abs(f_here):
            before, here, across = here, across, here
            f_before, f_here, f_across = f_here, f_across, f_here
        least = (xtol + rtol * abs(here)) / 2.0
        half = (across - here) / 2.0
        if f_here == 0.0 or abs(half) < least:
            return here
        if abs(last) > least and abs(f_here) < abs(f_before):
            if before == across:
                tried = -f_here * (here - before) / (f_here - f_before)
            else:
                back = (f_before - f_here) / (before - here)
                over = (f_across - f_here) / (across - here)
                if hyperbolic:
                    tried = -f_here * (f_across - f_before) / (f_across * back - f_before * over)
                else:
                    tried = -f_here * (f_across * over - f_before * back) / (over * back * (f_across - f_before))
            if 2.0 * abs(tried) < min(abs(last), 3.0 * abs(half) - least):
                last, step = step, tried
            else:
                last = step = half
        else:
            last = step = half
        before, f_before = here, f_here
        if abs(step) > least:
            here += step
        elif half > 0.0:
            here += least
        else:
            here -= least
        f_here = f(here, *args)
    raise RuntimeError("Failed to converge")


@expands(scipy.optimize.brentq)
def brentq(
    f: Any, a: Any, b: Any, args: Any = (), xtol: Any = 2e-12, rtol: Any = 8.881784197001252e-16, maxiter: Any = 100,
    full_output: Any = False, disp: Any = True,
) -> Any:  # fmt: skip
    """Return the root between a and b."""
    if full_output or not disp:
        ops.refuse("`full_output` and `disp` of a root finder are not supported", "Leave them as they are.")
    given = args if isinstance(args, tuple) else (args,)
    return implied(f, stop_gradient(bracketed(f, a, b, given, xtol, rtol, maxiter, False)), given)


@expands(scipy.optimize.brenth)
def brenth(
    f: Any, a: Any, b: Any, args: Any = (), xtol: Any = 2e-12, rtol: Any = 8.881784197001252e-16, maxiter: Any = 100,
    full_output: Any = False, disp: Any = True,
) -> Any:  # fmt: skip
    """Return the root between a and b."""
    if full_output or not disp:
        ops.refuse("`full_output` and `disp` of a root finder are not supported", "Leave them as they are.")
    given = args if isinstance(args, tuple) else (args,)
    return implied(f, stop_gradient(bracketed(f, a, b, given, xtol, rtol, maxiter, True)), given)


@meaning
def halved(f: Any, a: Any, b: Any, args: Any, xtol: Any, rtol: Any, most: Any) -> Any:
    """Return the root between a and b by bisection."""
    left = float(a)
    f_left, f_right = f(left, *args), f(float(b), *args)
    if f_left == 0.0:
        return left
    if f_right == 0.0:
        return float(b)
    if (f_left < 0.0) == (f_right < 0.0):
        raise ValueError("f(a) and f(b) must have different signs")
    width = float(b) - left
    for _ in range(most):
        width *= 0.5
        middle = left + width
        value = f(middle, *args)
        if (value < 0.0) == (f_left < 0.0):
            left = middle
        if value == 0.0 or abs(width) < xtol + rtol * abs(middle):
            return middle
    raise RuntimeError("Failed to converge")


@expands(scipy.optimize.bisect)
def bisect(
    f: Any, a: Any, b: Any, args: Any = (), xtol: Any = 2e-12, rtol: Any = 8.881784197001252e-16, maxiter: Any = 100,
    full_output: Any = False, disp: Any = True,
) -> Any:  # fmt: skip
    """Return the root between a and b."""
    if full_output or not disp:
        ops.refuse("`full_output` and `disp` of a root finder are not supported", "Leave them as they are.")
    given = args if isinstance(args, tuple) else (args,)
    return implied(f, stop_gradient(halved(f, a, b, given, xtol, rtol, maxiter)), given)


@meaning
def by_exponentials(f: Any, a: Any, b: Any, args: Any, xtol: Any, rtol: Any, most: Any) -> Any:
    """Return the root between a and b by Ridders' method."""
    left, right = float(a), float(b)
    f_left, f_right = f(left, *args), f(right, *args)
    if f_left == 0.0:
        return left
    if f_right == 0.0:
        return right
    if (f_left < 0.0) == (f_right < 0.0):
        raise ValueError("f(a) and f(b) must have different signs")
    for _ in range(most):
        half = 0.5 * (right - left)
        middle = left + half
        f_middle = f(middle, *args)
        shift = half * f_middle / math.sqrt(f_middle * f_middle - f_left * f_right)
        least = xtol + rtol * max(abs(middle), abs(left))
        if f_right < f_left:
            here = middle + min(abs(shift), abs(half) - 0.5 * least) * (1.0 if shift > 0.0 else -1.0)
        else:
            here = middle - min(abs(shift), abs(half) - 0.5 * least) * (1.0 if shift > 0.0 else -1.0)
        value = f(here, *args)
        if (value < 0.0) != (f_middle < 0.0):
            left, f_left, right, f_right = middle, f_middle, here, value
        elif (value < 0.0) != (f_left < 0.0):
            right, f_right = here, value
        else:
            left, f_left = here, value
        if value == 0.0 or abs(right - left) < least:
            return here
    raise RuntimeError("Failed to converge")


@expands(scipy.optimize.ridder)
def ridder(
    f: Any, a: Any, b: Any, args: Any = (), xtol: Any = 2e-12, rtol: Any = 8.881784197001252e-16, maxiter: Any = 100,
    full_output: Any = False, disp: Any = True,
) -> Any:  # fmt: skip
    """Return the root between a and b."""
    if full_output or not disp:
        ops.refuse("`full_output` and `disp` of a root finder are not supported", "Leave them as they are.")
    given = args if isinstance(args, tuple) else (args,)
    return implied(f, stop_gradient(by_exponentials(f, a, b, given, xtol, rtol, maxiter)), given)


@meaning
def by_secants(f: Any, x0: Any, x1: Any, args: Any, tol: Any, rtol: Any, most: Any) -> Any:
    """Return the root near x0 by secants."""
    before = float(x0)
    if x1 is None:
        here = before * (1.0 + 1e-4)
        here += 1e-4 if here >= 0.0 else -1e-4
    else:
        here = float(x1)
    f_before, f_here = f(before, *args), f(here, *args)
    if abs(f_here) < abs(f_before):
        before, here, f_before, f_here = here, before, f_here, f_before
    for _ in range(most):
        if f_here == f_before:
            if here != before:
                raise RuntimeError("Tolerance reached: two points have one value")
            return (here + before) / 2.0
        if abs(f_here) > abs(f_before):
            x = (-f_before / f_here * here + before) / (1.0 - f_before / f_here)
        else:
            x = (-f_here / f_before * before + here) / (1.0 - f_here / f_before)
        if abs(x - here) <= tol + rtol * abs(here):
            return x
        before, f_before = here, f_here
        here = x
        f_here = f(here, *args)
    raise RuntimeError("Failed to converge")


@meaning
def by_tangents(f: Any, x0: Any, slope: Any, curvature: Any, args: Any, tol: Any, rtol: Any, most: Any) -> Any:
    """Return the root near x0 by Newton's method, or Halley's."""
    here = float(x0)
    for _ in range(most):
        value = f(here, *args)
        if value == 0.0:
            return here
        down = slope(here, *args)
        if down == 0.0:
            raise RuntimeError("Derivative was zero")
        step = value / down
        if curvature is not None:
            bent = step * curvature(here, *args) / down / 2.0
            if abs(bent) < 1.0:
                step = step / (1.0 - bent)
        x = here - step
        if abs(x - here) <= tol + rtol * abs(here):
            return x
        here = x
    raise RuntimeError("Failed to converge")


@expands(scipy.optimize.newton)
def newton(
    func: Any, x0: Any, fprime: Any = None, args: Any = (), tol: Any = 1.48e-8, maxiter: Any = 50, fprime2: Any = None,
    x1: Any = None, rtol: Any = 0.0, full_output: Any = False, disp: Any = True,
) -> Any:  # fmt: skip
    """Return the root near x0, a number."""
    if full_output or not disp:
        ops.refuse("`full_output` and `disp` of a root finder are not supported", "Leave them as they are.")
    given = args if isinstance(args, (tuple, list)) else (args,)
    if fprime is None:
        found = by_secants(func, x0, x1, given, tol, rtol, maxiter)
    else:
        found = by_tangents(func, x0, fprime, fprime2, given, tol, rtol, maxiter)
    return implied(func, stop_gradient(found), given)


class Found(NamedTuple):
    """What `root_scalar` and `root` return, as far as it is known here."""

    root: Any
    converged: bool

    @property
    def x(self) -> Any:
        """The root, by the name that `root` has for it."""
        return self.root


@expands(scipy.optimize.root_scalar)
def root_scalar(
    f: Any, args: Any = (), method: Any = None, bracket: Any = None, fprime: Any = None, fprime2: Any = None,
    x0: Any = None, x1: Any = None, xtol: Any = None, rtol: Any = None, maxiter: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    """Return the root between two numbers, or near one."""
    if options is not None:
        ops.refuse("`options` of a root finder are not supported", "Give `xtol`, `rtol` and `maxiter`.")
    given = args if isinstance(args, tuple) else (args,)
    most = (50 if bracket is None else 100) if maxiter is None else maxiter
    if bracket is not None:
        a, b = bracket[0], bracket[1]
        close = 2e-12 if xtol is None else xtol
        relative = 8.881784197001252e-16 if rtol is None else rtol
        if method is None or method == "brentq":
            found = bracketed(f, a, b, given, close, relative, most, False)
        elif method == "brenth":
            found = bracketed(f, a, b, given, close, relative, most, True)
        elif method == "bisect":
            found = halved(f, a, b, given, close, relative, most)
        elif method == "ridder":
            found = by_exponentials(f, a, b, given, close, relative, most)
        else:
            ops.refuse("this method of `root_scalar` is not supported", 'Use method="brentq".')
    else:
        close = 1.48e-8 if xtol is None else xtol
        relative = 0.0 if rtol is None else rtol
        if fprime is None:
            found = by_secants(f, x0, x1, given, close, relative, most)
        else:
            found = by_tangents(f, x0, fprime, fprime2, given, close, relative, most)
    return Found(implied(f, stop_gradient(found), given), True)


@meaning
def values_of(f: Any, x: Any, args: Any) -> Any:
    """Return what a system of equations gives, which may be a list of numbers, as an array of one axis."""
    return np.atleast_1d(np.asarray(f(x, *args)))


@meaning
def of_a_system(f: Any, x0: Any, args: Any, tol: Any) -> Any:
    """Return the root of a system near x0, by Newton's method with steps that are halved until they help."""
    x = x0 + 0.0
    value = values_of(f, x, args)
    for _ in range(200):
        step = np.linalg.solve(jacfwd(lambda y: values_of(f, y, args))(x), value)
        size = np.max(np.abs(value))
        length = 1.0
        there = x - step
        value_there = values_of(f, there, args)
        while not np.max(np.abs(value_there)) <= size and length > 1e-6:
            length *= 0.5
            there = x - length * step
            value_there = values_of(f, there, args)
        x = there
        value = value_there
        if np.max(np.abs(step)) <= tol * (1.0 + np.max(np.abs(x))):
            return x
    raise RuntimeError("Failed to converge")


@meaning
def implied_by_a_system(f: Any, root: Any, args: Any) -> Any:
    """Return a root of a system with the derivatives that the equations imply."""
    x = stop_gradient(root)
    for _ in range(2):
        slope = jacfwd(lambda y: values_of(f, y, args))(x)
        value = values_of(f, x, args)
        x = x - np.linalg.solve(slope, value - stop_gradient(value))
    return x


@expands(scipy.optimize.fsolve)
def fsolve(
    func: Any, x0: Any, args: Any = (), fprime: Any = None, full_output: Any = 0, col_deriv: Any = 0,
    xtol: Any = 1.49012e-8, maxfev: Any = 0, band: Any = None, epsfcn: Any = None, factor: Any = 100, diag: Any = None,
) -> Any:  # fmt: skip
    """Return the root near x0, an array."""
    if full_output:
        ops.refuse("`full_output` of `fsolve` is not supported", "Leave it as it is.")
    given = args if isinstance(args, tuple) else (args,)
    start = np.atleast_1d(np.asarray(x0)) * 1.0
    return implied_by_a_system(func, stop_gradient(of_a_system(func, start, given, 1e-4 * xtol)), given)


@expands(scipy.optimize.root)
def root(
    fun: Any, x0: Any, args: Any = (), method: Any = "hybr", jac: Any = None, tol: Any = None, callback: Any = None,
    options: Any = None,
) -> Any:  # fmt: skip
    """Return the root near x0, as the `x` of an object."""
    if jac is True:
        ops.refuse("`root` of a function that returns its Jacobian too is not supported", "Return the values only.")
    given = args if isinstance(args, tuple) else (args,)
    start = np.atleast_1d(np.asarray(x0)) * 1.0
    return Found(implied_by_a_system(fun, stop_gradient(of_a_system(fun, start, given, 1e-12)), given), True)


# ---- the test function of Rosenbrock (1960), a column of an array being one point ----


@expands(scipy.optimize.rosen)
def rosen(x: Any) -> Any:
    """Return the sum of `100 * (x[i + 1] - x[i]**2)**2 + (1 - x[i])**2`."""
    points = np.asarray(x) * 1.0
    return np.sum(100.0 * (points[1:] - points[:-1] ** 2) ** 2 + (1.0 - points[:-1]) ** 2, axis=0)


@expands(scipy.optimize.rosen_der)
def rosen_der(x: Any) -> Any:
    """Return the gradient of `rosen` at a point."""
    points = np.asarray(x) * 1.0
    steps = points[1:] - points[:-1] ** 2
    slope = np.zeros_like(points)
    slope[1:] = 200.0 * steps
    slope[:-1] -= 400.0 * points[:-1] * steps + 2.0 * (1.0 - points[:-1])
    return slope
