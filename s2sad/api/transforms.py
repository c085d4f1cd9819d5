"""The transforms: `grad`, `value_and_grad`, `jvp`, `vjp`, `hvp`, `stop_gradient`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

import numpy as np

from s2sad.api.direct import MISSED
from s2sad.api.forward import Forward, forward_store, tangent_store
from s2sad.api.options import Options
from s2sad.api.plan import Request
from s2sad.api.reverse import Pullback, Reverse, reverse_store
from s2sad.api.signature import Argnums, label
from s2sad.api.specialise import Store
from s2sad.api.structure import Tree, describe, unflatten
from s2sad.api.transformed import Transformed, plain, remembered, target_of, transformed
from s2sad.errors import ArgumentError

P = ParamSpec("P")
T = TypeVar("T")


def grad(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    target: str | None = None,
) -> Transformed[P, Any]:
    """Return a function that computes the gradient of a scalar-valued function.

    Args:
        fun: ordinary Python over NumPy, `math` and scalars, or an `@njit` function.
        argnums: which arguments: a position, a name, or a tuple of them; negative ones count back.
        has_aux: `fun` returns `(output, aux)`; the result is `(gradient, aux)`.
        holomorphic: `fun` is complex-differentiable; the gradient is dy/dz.
        allow_int: integer arguments get a gradient of zeros instead of an error.
        target: "cpu" compiles by Numba, "python" runs in CPython.

    Returns:
        A function of the same signature. The gradient has the structure, shapes and dtypes of the
        argument, in units [output]/[argument]; a tuple of gradients when `argnums` is a tuple.

    Raises:
        NotDifferentiableError: an integer argument, or an output that is no real scalar.
        ArgumentError: `argnums` names no argument of `fun`.

    Example:
        >>> import s2sad
        >>> def square(x):
        ...     return x * x
        >>> s2sad.grad(square)(3.0)
        6.0
    """
    return transformed(Transformed, fun, "grad", argnums, has_aux, holomorphic, allow_int, target)


def value_and_grad(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    target: str | None = None,
) -> Transformed[P, tuple[Any, Any]]:
    """Return a function that computes `(value, gradient)` in one primal and one adjoint sweep.

    The arguments and errors are those of `grad`; with `has_aux` the result is
    `((value, aux), gradient)`.

    Example:
        >>> import s2sad
        >>> def square(x):
        ...     return x * x
        >>> s2sad.value_and_grad(square)(3.0)
        (9.0, 6.0)
    """
    return transformed(Transformed, fun, "value_and_grad", argnums, has_aux, holomorphic, allow_int, target)


@remembered
def forward_of(fun: Callable[..., Any], options: Options, target: str) -> Store[Forward]:
    """Return the forward-mode specialisations of `fun`."""
    return forward_store(Request(plain(fun, options), target, options))


@remembered
def reverse_of(fun: Callable[..., Any], options: Options, target: str) -> Store[Reverse]:
    """Return the reverse-mode specialisations of `fun`."""
    return reverse_store(Request(plain(fun, options), target, options))


def jvp(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
    *,
    target: str | None = None,
    options: Options | None = None,
) -> tuple[Any, ...]:
    """Return `(out, out_dot)`: the output, and its derivative along the tangents.

    Args:
        fun: the function.
        primals: its arguments, as a tuple or a list.
        tangents: one per argument, of the same structure, shapes and dtypes; None is zero, and
            the only tangent of integer and static arguments.
        has_aux: `fun` returns `(output, aux)`; the result is `(out, out_dot, aux)`.
        target: "cpu" or "python".
        options: all options at once, for callers that hold them; `has_aux` is then ignored.

    Returns:
        `out_dot` has the structure of `out`, None for leaves that are not inexact, in units
        [output]/[argument] times those of the tangent.

    Raises:
        ArgumentError: a tangent that does not fit its primal; names the leaf.

    Example:
        >>> import s2sad
        >>> def product(x, y):
        ...     return x * y
        >>> s2sad.jvp(product, (3.0, 5.0), (1.0, None))
        (15.0, 5.0)
    """
    for given, word in ((primals, "primals"), (tangents, "tangents")):
        if not isinstance(given, tuple | list):
            raise ArgumentError(
                f"jvp takes its {word} as a tuple or a list, not a {type(given).__name__}"
            )
    if len(primals) != len(tangents):
        raise ArgumentError(f"jvp was given {len(primals)} primals but {len(tangents)} tangents")
    options = options or (_AUX if has_aux else _PLAIN)
    store = forward_of(fun, options, target_of(fun, target))
    primals, tangents = tuple(primals), tuple(tangents)
    result = store.direct((primals, tangents))
    if result is not MISSED:
        return result
    values = store.binder.bind(primals, {})
    return _along(store, values, per_parameter(store.binder.variadic, len(values), tangents))


_PLAIN, _AUX = Options(), Options(aux=True)


def _along(store: Store[Forward], values: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
    """Push one tangent per parameter, and remember how: the next call may be like this one."""
    special, leaves = store.find(values)
    result = special.along(leaves, given)
    if len(values) == store.binder.arity:
        store.direct = special.direct_for(given)
    return result


def per_parameter(variadic: int, count: int, tangents: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arrange one tangent per argument by `count` parameters: `*args` in a tuple, None for defaults."""
    if len(tangents) == count and variadic < 0:
        return tangents
    cut = variadic if variadic >= 0 else len(tangents)
    arranged: list[Any] = list(tangents[:cut])
    if variadic >= 0:
        arranged += [None] * (cut - len(arranged))
        arranged.append(tangents[cut:])
    return tuple(arranged + [None] * (count - len(arranged)))


def vjp(
    fun: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    target: str | None = None,
    options: Options | None = None,
) -> tuple[Any, ...]:
    """Return `(out, pullback)`; `pullback(out_bar)` gives one cotangent per argument.

    Args:
        fun: the function.
        *primals: its arguments.
        has_aux: `fun` returns `(output, aux)`; the result is `(out, pullback, aux)`.
        target: "cpu" or "python".
        options: all options at once, for callers that hold them; `has_aux` is then ignored.

    Returns:
        The pullback may be called many times; it holds what it needs, so that neither the primal
        runs again nor later changes of the caller's arrays matter.

    Raises:
        ArgumentError: from the pullback, for a cotangent that does not fit the output.

    Example:
        >>> import s2sad
        >>> def product(x, y):
        ...     return x * y
        >>> out, pullback = s2sad.vjp(product, 3.0, 5.0)
        >>> pullback(1.0)
        (5.0, 3.0)
    """
    options = options or (_AUX if has_aux else _PLAIN)
    store = reverse_of(fun, options, target_of(fun, target))
    result = store.direct(primals)
    if result is not MISSED:
        return result
    values = store.binder.bind(primals, {})
    special, leaves = store.find(values)
    shaped, pullback = special.run(leaves)
    if store.binder.variadic >= 0 or len(values) != len(primals):
        pullback = _PerArgument(pullback, store.binder.variadic, len(primals))
    return (shaped[0], pullback, *shaped[1:])


class _PerArgument:
    """A pullback that gives one cotangent per argument of the call: `*args` spread, defaults left out."""

    def __init__(self, pullback: Pullback, variadic: int, count: int) -> None:
        self._pullback, self._variadic, self._count = pullback, variadic, count

    def __call__(self, out_bar: Any) -> tuple[Any, ...]:
        """Return one cotangent per argument."""
        bars = self._pullback(out_bar)
        if self._variadic >= 0:
            bars = (*bars[: self._variadic], *bars[self._variadic])
        return bars[: self._count]

    def __repr__(self) -> str:
        """Name the function, and what is mapped to what."""
        return repr(self._pullback)


def copied(value: Any) -> Any:
    """Return a structure with arrays of its own."""
    tree = describe(value, "x")
    return unflatten(tree, dict(_leaf_copies(tree, value)))


def _leaf_copies(tree: Tree, value: Any) -> list[tuple[Tree, Any]]:
    from s2sad.api.structure import child_values

    if tree.is_leaf:
        return [(tree, value.copy() if isinstance(value, np.ndarray) else value)]
    parts = child_values(tree, value) or ()
    pairs = zip(tree.children, parts, strict=True)
    return [item for child, part in pairs for item in _leaf_copies(child, part)]


def hvp(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    argnums: Argnums = 0,
    *,
    target: str | None = None,
    options: Options | None = None,
) -> Any:
    """Return the Hessian times a vector, forward over reverse.

    Args:
        fun: a scalar-valued function.
        primals: all its arguments.
        tangents: one per differentiated argument: `hvp(f, (w, x, y), (v,))`.
        argnums: which arguments are differentiated.
        target: "cpu" or "python".
        options: all options at once, for callers that hold them.

    Returns:
        The structure of the gradient, in units [output]/[argument]² times those of the tangent.

    Raises:
        ArgumentError: as many tangents as differentiated arguments are needed, and they must fit.

    Example:
        >>> import s2sad
        >>> def cube(x):
        ...     return x * x * x
        >>> s2sad.hvp(cube, (2.0,), (1.0,))
        12.0
    """
    target = target_of(fun, target)
    chosen = tuple(argnums) if isinstance(argnums, list) else argnums
    curve = _curvature(fun, chosen, options, target)
    store = curve.store
    if not isinstance(primals, tuple | list):
        raise ArgumentError(f"hvp takes its primals as a tuple or a list, not a {type(primals).__name__}")
    if type(tangents) is tuple and len(tangents) == curve.count:
        result = store.direct((tuple(primals), tuple([None if i is None else tangents[i] for i in curve.spread])))
        if result is not MISSED:
            return result
    values = store.binder.bind(tuple(primals), {})
    places = store.binder.places(curve.gradient.argnums, values)
    if not isinstance(tangents, tuple | list) or len(tangents) != len(places):
        raise ArgumentError(
            f"hvp of `{label(fun)}` needs {len(places)} tangents in a tuple, one per "
            "differentiated argument"
        )
    given: list[Any] = [None] * len(values)
    for place, tangent in zip(places, tangents, strict=True):
        if place.item is None:
            given[place.parameter] = tangent
        else:
            items = given[place.parameter] or (None,) * len(values[place.parameter])
            given[place.parameter] = (*items[: place.item], tangent, *items[place.item + 1 :])
    if len(values) == store.binder.arity:
        at = {place.parameter: i for i, place in enumerate(places)}
        curve.spread, curve.count = [at.get(i) for i in range(len(values))], len(places)
    return _along(store, values, tuple(given))


@dataclass(slots=True)
class _Curvature:
    """What `hvp` runs on.

    Attributes:
        gradient: the gradient of the function.
        store: the specialisations of its tangent without the gradient.
        count: how many arguments are differentiated; -1 while that is not known.
        spread: by parameter which tangent is its own, or None.
    """

    gradient: Transformed[..., Any]
    store: Store[Forward]
    count: int = -1
    spread: list[int | None] = field(default_factory=list[int | None])


@remembered
def _curvature(fun: Callable[..., Any], argnums: Argnums, options: Options | None, target: str) -> _Curvature:
    """Return what belongs to a function, made once."""
    gradient: Transformed[..., Any] = Transformed(fun, "grad", argnums, options, target)
    return _Curvature(gradient, tangent_store(Request(gradient, target, options or Options()), argnums))


def stop_gradient(x: T) -> T:
    """Return `x`, arrays copied; inside a differentiated function its derivative is zero.

    Example:
        >>> import s2sad
        >>> s2sad.stop_gradient(2.0)
        2.0
    """
    return copy.deepcopy(x) if isinstance(x, np.ndarray | tuple | list | dict) else x


stop_gradient.s2sad_stop_gradient = True  # type: ignore[attr-defined]
