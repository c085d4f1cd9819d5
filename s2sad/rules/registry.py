"""The rule of a function, found by the function object: never by its name."""

from __future__ import annotations

import cmath
import importlib
import inspect
import math
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Fn = Callable[..., Any]
Interval = tuple[float, float]
Domain = tuple[Interval, ...]

REAL: Interval = (-2.0, 2.0)
POSITIVE: Interval = (0.3, 3.0)
UNIT: Interval = (-0.9, 0.9)
ABOVE_ONE: Interval = (1.2, 3.0)


@dataclass(frozen=True, slots=True)
class Elementwise:
    """A function that acts element by element and broadcasts its arguments.

    A partial is an expression in the argument names, `y` (the result), the names bound in
    `where` and bare function names (see `resolve`). The tangent is the sum of
    `partial * x_dot`; the adjoint is `x_bar += partial * y_bar`, summed by the engine over
    the axes along which `x` was broadcast. A partial "0" means no derivative.

    Complex numbers follow JAX: no conjugation. A function with complex arguments and a real
    result takes the real part of its tangent; a real argument of a complex result takes the
    real part of its contribution.

    Attributes:
        args: the argument names.
        partials: one expression per argument.
        where: `(name, expression)` pairs, bound in order before the partials.
        domain: one interval per argument, where the tests sample.
        complex_partials: the partials when an argument is complex; None: not allowed.
        of_one: the partials where the first argument is written as the number 1, if they are simpler then.
    """

    args: tuple[str, ...]
    partials: tuple[str, ...]
    where: tuple[tuple[str, str], ...] = ()
    domain: Domain = ()
    complex_partials: tuple[str, ...] | None = None
    of_one: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Structured:
    """A function whose derivative is written as two plain functions.

    Attributes:
        tangent: `(args…, y, arg_dots…, *, static)`, returns `y_dot`.
        adjoint: `(args…, y, y_bar, arg_bars…, *, static)`, adds to the bars.
        source: the paper or the reason, one sentence.
        samples: `(args, kwargs)` pairs, on which the tests run the rule.
        complex: whether the rule also holds for complex arguments.
        only: the values allowed for a static keyword; any other has no rule.
        results: nouns for the results of a function that has several: `y` and `y_bar` are then
            tuples, in `y_bar` None for a result that carries no cotangent, and the tangent returns
            one value for each result that is no integer.
        joint: the tangent takes all the dots together: one that is zero is given as zeros, not left out.

    A static keyword that the two functions do not name has no rule either. An optional
    argument that was not given is None, and has no bar.
    """

    tangent: Fn
    adjoint: Fn
    source: str = ""
    samples: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = ()
    complex: bool = False
    only: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    results: tuple[str, ...] = ()
    joint: bool = False


@dataclass(frozen=True, slots=True)
class Constant:
    """A function whose result does not vary with its arguments, or carries no derivative."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """What a function means, as Python code, and the calls that need no such reading."""

    body: Fn
    counts: tuple[int, ...]
    names: frozenset[str]
    when: Callable[[Settings], bool] | None = None
    keywords: frozenset[str] = frozenset()
    arrays: bool = False
    otherwise: Expansion | None = None
    """What other calls may mean: it was registered before."""
    changes: bool = False
    """Whether the list that is given first is changed."""


Settings = dict[str, Any]
"""What is known of a call beforehand: settings by parameter name, `given` the names of all that are given, of the
operands `ndim` their ranks, `width` the lengths of their last axes where they are known, `complex` whether they are,
and `arrays` whether any is an array or a growing list."""

Rule = Elementwise | Structured | Constant

REGISTRY: dict[Fn, Rule] = {}

HOMES: dict[Fn, Any] = {}
"""The module in which the partials of a function look their names up, after NumPy's ufuncs."""

BROADCASTING: set[Fn] = set()
"""Python functions that act element by element and broadcast, as ufuncs do."""

UNKNOWN = "unknown"
"""A partial derivative that has no closed form."""

EXPANSIONS: dict[Fn, Expansion] = {}
"""Functions read as other Python code: `np.average(x, weights=w)` as a quotient of sums."""

MATH_NAMES = {
    "absolute": "fabs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "deg2rad": "radians",
    "rad2deg": "degrees",
    "power": "pow",
}

_TABLES = (
    "elementwise", "constants", "reductions", "scans", "linalg", "decompositions", "factors", "spectral", "shaping",
    "diagonals", "joining", "contractions", "polynomials", "helpers", "expansions", "products", "rearranging",
    "series", "bordering", "counted", "places", "writing", "creation", "numbers", "masked", "averages", "statistics",
    "ranks", "fft", "sparse_systems", "banded", "equations",
)  # fmt: skip
_loaded: list[str] = []


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: the rule and every callable that it serves."""

    name: str
    rule: Elementwise
    also: tuple[Fn, ...] = ()

    def functions(self) -> tuple[Fn, ...]:
        """Return the callables of that name in NumPy, `math` and `cmath`, and those in `also`."""
        names = (self.name, MATH_NAMES.get(self.name, ""))
        candidates = (
            getattr(np, self.name, None),
            getattr(math, self.name, None),
            getattr(math, MATH_NAMES.get(self.name, ""), None),
            *(getattr(cmath, name, None) for name in names if self.rule.complex_partials),
        )
        return tuple(dict.fromkeys(f for f in (*candidates, *self.also) if f is not None))


def row(
    call: str,
    *partials: str,
    where: str = "",
    domain: Interval | Domain = REAL,
    complex: bool | tuple[str, ...] = False,
    also: tuple[Fn, ...] = (),
    of_one: tuple[str, ...] | None = None,
) -> Row:
    """Read one row: `row("arctan2(a, b)", "b / r", "-a / r", where="r = a*a + b*b")`.

    `complex` is True when the partials also hold for complex arguments, or the partials that do.
    `of_one` are those for `call` with the number 1 as its first argument.
    """
    name, _, inside = call.rstrip(")").partition("(")
    args = tuple(part.strip() for part in inside.split(","))
    bound = tuple(_binding(part) for part in where.split(";") if part.strip())
    intervals = (domain,) * len(args) if isinstance(domain[0], float | int) else domain
    complexes = partials if complex is True else complex or None
    return Row(name, Elementwise(args, partials, bound, intervals, complexes, of_one), also)  # type: ignore[arg-type]


def _binding(text: str) -> tuple[str, str]:
    name, _, expression = text.partition("=")
    return name.strip(), expression.strip()


def add_row(line: Row) -> None:
    """Register the rule of a row for each of its functions."""
    for fn in line.functions():
        REGISTRY[fn] = line.rule


def rule(fn: Fn, *more: Fn) -> Callable[[type], Structured]:
    """Register the decorated class, its `tangent`, `adjoint` and `samples`, for the functions."""

    def register(cls: type) -> Structured:
        body = vars(cls)
        made = Structured(
            body["tangent"],
            body["adjoint"],
            (cls.__doc__ or "").strip(),
            tuple(body.get("samples", ())),
            body.get("complex", False),
            tuple(body.get("only", ())),
            tuple(body.get("results", ())),
            body.get("joint", False),
        )
        for each in (fn, *more):
            REGISTRY[each] = made
        return made

    return register


def constant(*fns: Fn) -> None:
    """Register functions that carry no derivative."""
    for fn in fns:
        REGISTRY[fn] = Constant()


def expands(
    *fns: Fn,
    counts: tuple[int, ...] = (),
    names: tuple[str, ...] = (),
    when: Callable[[Settings], bool] | None = None,
    keywords: tuple[str, ...] = (),
    arrays: bool = False,
    changes: bool = False,
) -> Callable[[Fn], Fn]:
    """Register the decorated function as the meaning of each of `fns` (see `rules/expansions.py`).

    A call that has one of these counts of positional arguments, no other keyword than these and no
    argument that is None is left as it is. `when`, `keywords` and `arrays` say instead which calls are
    read so, any of them sufficing: those of which `when` is true, those with one of the `keywords`, and
    those with an array or a growing list among the arguments; and, if there are `counts`, those with another
    count of positional arguments. `changes`: the list that is given first is changed.
    """

    def register(body: Fn) -> Fn:
        for fn in fns:
            EXPANSIONS[fn] = Expansion(
                body, counts, frozenset(names), when, frozenset(keywords), arrays, EXPANSIONS.get(fn), changes
            )
        return body

    return register


def meaning(body: Fn) -> Fn:
    """Register a function of ours that is always read as its own code."""
    EXPANSIONS[body] = Expansion(body, (), frozenset())
    return body


def is_changing(fn: Any) -> bool:
    """Say whether a library function changes the list that it is given first."""
    _load_extra(fn)
    try:
        found = EXPANSIONS.get(fn)
    except TypeError:  # unhashable: surely no library function
        return False
    return found is not None and found.changes


def is_read_as_ours(fn: Any) -> bool:
    """Say whether a function of SciPy's, written in Python, has a meaning here that takes all of its arguments."""
    if not isinstance(fn, types.FunctionType) or not (fn.__module__ or "").startswith("scipy."):
        return False
    _load()
    _load_extra(fn)
    found = EXPANSIONS.get(fn)
    return found is not None and set(inspect.signature(fn).parameters) <= set(inspect.signature(found.body).parameters)


def expansion(fn: Any, count: int, names: set[str], has_none: bool, known: Settings) -> Fn | None:
    """Return the function to lower in place of `fn` for such a call, or None."""
    _load()
    _load_extra(fn)
    found = EXPANSIONS.get(fn)
    while found is not None:
        body = _body_for(found, count, names, has_none, known)
        if body is not None:
            return body
        found = found.otherwise
    return None


def _body_for(found: Expansion, count: int, names: set[str], has_none: bool, known: Settings) -> Fn | None:
    if found.when is not None or found.keywords or found.arrays:
        asked = bool(names & found.keywords) or (found.arrays and known["arrays"])
        asked = asked or (found.when is not None and found.when(known))
        return found.body if asked or (found.counts and count not in found.counts) else None
    if count in found.counts and names <= found.names and not has_none:
        return None
    return found.body


def find(fn: Any) -> Rule | None:
    """Return the rule of `fn`, or None."""
    _load()
    _load_extra(fn)
    try:
        return REGISTRY.get(fn)
    except TypeError:  # unhashable: surely no library function
        return None


def resolve(name: str, primal: Fn) -> Any:
    """Return what a bare name in a partial means: of the module of the primal, else NumPy's."""
    from s2sad import runtime

    special = HOMES.get(primal)
    if special is not None:
        found = getattr(np, name, None)
        return found if isinstance(found, np.ufunc) or not hasattr(special, name) else getattr(special, name)
    if hasattr(runtime, name):
        return getattr(runtime, name)
    home = {"math": math, "cmath": cmath}.get(getattr(primal, "__module__", ""))
    if home is not None:
        found = getattr(home, name, None) or getattr(home, MATH_NAMES.get(name, ""), None)
        if found is not None:
            return found
    return getattr(np, name)


_EXTRAS = {
    "_bisect": "s2sad.rules.ordered_lists",
    "_heapq": "s2sad.rules.ordered_lists",
    "heapq": "s2sad.rules.ordered_lists",
    "scipy.linalg": "s2sad.rules.scipy_linalg",
    "scipy.interpolate": "s2sad.rules.scipy_interpolate",
    "scipy.integrate": "s2sad.implicit.scipy_integrate",
    "scipy.optimize": "s2sad.implicit.scipy_optimize",
    "scipy.special": "s2sad.implicit.scipy_special",
    "scipy.fft": "s2sad.rules.scipy_fft",
    "scipy.ndimage": "s2sad.rules.scipy_ndimage",
    "scipy.signal": "s2sad.rules.scipy_signal",
    "scipy.spatial": "s2sad.rules.scipy_spatial",
    "scipy.stats": "s2sad.rules.scipy_scores",
}
"""The modules to load when a function of these is met; those that solve equations call transforms."""


def _load_extra(fn: Any) -> None:
    """Load the rules of a library that is not NumPy when a function of it is met."""
    home = ".".join((getattr(fn, "__module__", None) or "").split(".")[:2])
    if home in _EXTRAS:
        importlib.import_module(_EXTRAS[home])


def _load() -> None:
    if not _loaded:
        _loaded.append("numpy")
        for table in _TABLES:
            importlib.import_module(f"s2sad.rules.{table}")
    if "scipy" not in _loaded and hasattr(sys.modules.get("scipy.special"), "zeta"):  # wholly imported
        _loaded.append("scipy")
        importlib.import_module("s2sad.rules.special")
