"""`linearize` and `linear_transpose`: linear maps that never run the primal again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pickle import PicklingError
from typing import Any

import numpy as np

from s2sad.analysis.dependence import dependent_results
from s2sad.analysis.facts import Facts
from s2sad.api.applied import LoadedHalf, loaded_half
from s2sad.api.axes import Axes
from s2sad.api.direct import MISSED, Direct, missed
from s2sad.api.empty import typed
from s2sad.api.flatten import Finish, Match, Outcome, Result, finisher, matcher, only
from s2sad.api.forward import Forward, forward_store
from s2sad.api.guards import Guard, both, guard
from s2sad.api.lengths import sure
from s2sad.api.linear_map import MapProgram, values_of
from s2sad.api.nested import context
from s2sad.api.options import Options
from s2sad.api.pieces import Half
from s2sad.api.plan import Entry, Request, entry, split_aux
from s2sad.api.residuals import owned
from s2sad.api.signature import Binder, label
from s2sad.api.specialise import Store
from s2sad.api.structure import Tree, describe, inexact_leaves, kind_text, unflatten
from s2sad.api.tangents import flatten_like, shape_of, zero_like
from s2sad.api.transformed import plain, remembered, target_of
from s2sad.api.transforms import copied, per_parameter, vjp
from s2sad.errors import ArgumentError, NotDifferentiableError
from s2sad.ir.nodes import Function
from s2sad.ir.types import Array
from s2sad.transform.linear import NotSplitError


@dataclass(slots=True)
class Linearization:
    """A function specialised for one structure of primals, its tangent cut in two.

    `push` is None for a function whose tangent cannot be cut, or that has nothing to differentiate.
    """

    request: Request
    trees: tuple[Tree, ...]
    wrt: tuple[Tree, ...]
    match: Match
    guard: Guard | None
    forward: Entry
    shape_outputs: Finish
    push: LoadedHalf | None
    program: MapProgram | None
    direct: Direct = missed

    def run(self, leaves: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Run the primal once; return (output[, aux]), and the residuals with memory of their own."""
        given = (*leaves, *self.forward.captured.read())
        flat = self.forward.call(*given)
        count = len(list(self.forward.output.leaves()))
        kept = getattr(self.forward.derivative, "residual_count", 0) if self.push is not None else 0
        values = tuple(flat) if count + kept != 1 else (flat,)
        return self.shape_outputs(flat, given), owned(values[count:], (*given, *values[:count]))


class Linearized:
    """The tangent of a function at one point; call it with one tangent per argument, as often as wanted."""

    def __init__(
        self, special: Linearization, residuals: tuple[Any, ...], leaves: tuple[Any, ...], count: int, variadic: int
    ) -> None:
        """Hold the residuals of one run with `count` arguments."""
        self._special, self._residuals = special, residuals
        self._count, self._variadic = count, variadic
        every = [leaf for tree in special.trees for leaf in tree.leaves()]
        self._leaves, self._lengths = every, tuple([shape_of(value) for value in leaves])

    def __call__(self, *tangents: Any) -> Any:
        """Return the output's tangent; None is a zero tangent.

        Raises:
            ArgumentError: a tangent that does not fit its primal; names the leaf.
        """
        special = self._special
        if len(tangents) != self._count:
            raise ArgumentError(f"{self._count} tangents are needed, {len(tangents)} were given")
        given = per_parameter(self._variadic, len(special.trees), tangents)
        if special.push is not None:
            result = special.push.direct((self._residuals, self._lengths, given))
            if result is not MISSED:
                return result
        shapes = dict(zip(self._leaves, self._lengths, strict=True))
        dots: dict[Tree, Any] = {}
        for at, (tree, tangent) in enumerate(zip(special.trees, given, strict=True)):
            dots |= flatten_like(tree, tangent, "tangent", f"tangents[{at}]", shapes)
        if special.push is None:
            return unflatten(split_aux(special.forward.output, special.request.options)[0], {}, static=False)
        made = special.push.entry
        pushed = [
            dots[leaf] if dots[leaf] is not None else zero_like(leaf, np.empty(shapes[leaf]))
            for leaf in special.wrt
        ]
        return special.push.finish(made.call(*typed(made, (*self._residuals, *pushed))), ())

    def __repr__(self) -> str:
        """Name the function, and what is mapped to what."""
        special = self._special
        given = ", ".join(kind_text(tree) for tree in special.trees)
        out = split_aux(special.forward.output, special.request.options)[0]
        return f"<linear map of {label(special.request.fun)}: ({given}) to {kind_text(out)}>"

    def __reduce__(self) -> Any:
        """Refuse to be pickled; raises PicklingError."""
        raise PicklingError("a linear map is not pickled; pickle the function and its arguments, and linearize there")

    def s2sad_mapped(self, args: tuple[Any, ...], in_axes: Axes, out_axes: Axes) -> Any:
        """Push a batch of tangents in one loop."""
        if self._special.program is None:
            raise ArgumentError("vmap of the linear map of a function of no differentiable arguments")
        return self._special.program.run(self._residuals, args, in_axes, out_axes)


@dataclass(frozen=True, slots=True)
class Again:
    """The tangent at one point of a function whose tangent cannot be cut: the primal runs again."""

    special: Forward
    leaves: tuple[Any, ...]
    variadic: int

    def __call__(self, *tangents: Any) -> Any:
        """Return the output's tangent for one tangent per argument."""
        given = per_parameter(self.variadic, len(self.special.trees), tangents)
        return self.special.push(self.leaves, self.special.tangents(self.leaves, given))[1]


@remembered
def linearization_of(fun: Callable[..., Any], options: Options, target: str) -> Store[Linearization]:
    """Return the linearizations of `fun`."""
    request = Request(plain(fun, options), target, options)

    def made_for(trees: tuple[Tree, ...]) -> Linearization:
        wrt = tuple(leaf for tree in trees for leaf in inexact_leaves(tree))
        unchanged = guard(request.fun, trees)
        made = entry(request, "lin" if wrt else "primal", trees, wrt)
        main, aux = split_aux(made.output, options)
        where = {leaf: at for at, leaf in enumerate(made.output.leaves())}
        count = len(where) + (getattr(made.derivative, "residual_count", 0) if wrt else 0)
        results = [Result(main, where, True)] + ([Result(aux, where, True)] if aux is not None else [])
        finish = finisher(Outcome(results, count), made.arrays)
        kept = count - len(where)
        push = _push(request, trees, wrt, main, kept) if wrt and inexact_leaves(main) else None
        program = _program(request, trees, wrt, main) if push is not None else None
        unchanged = both(unchanged, made.captured.guard)
        return Linearization(request, trees, wrt, matcher(trees), unchanged, made, finish, push, program)

    def build(trees: tuple[Tree, ...], values: tuple[Any, ...]) -> Linearization:
        return sure(made_for, trees, values)

    return Store(request.fun, build)


def _push(
    request: Request, trees: tuple[Tree, ...], wrt: tuple[Tree, ...], main: Tree, count: int
) -> LoadedHalf:
    made = entry(request, "push", trees, wrt)
    dots = {leaf: at for at, leaf in enumerate(inexact_leaves(main))}
    outcome = Outcome([Result(main, dots)], len(dots), only, made.fresh)
    return loaded_half(made, outcome, trees, count, range(len([leaf for tree in trees for leaf in tree.leaves()])))


def _program(request: Request, trees: tuple[Tree, ...], wrt: tuple[Tree, ...], main: Tree) -> MapProgram:
    leaves = [leaf for tree in trees for leaf in tree.leaves()]
    types = tuple(tree.type for tree in trees)
    half = Half(request.fun, "push", types, tuple(leaves.index(leaf) for leaf in wrt), request.options.aux)
    return MapProgram(half, trees, (main,), True, request, "tangent")


def linearize(
    fun: Callable[..., Any], *primals: Any, has_aux: bool = False, target: str | None = None
) -> tuple[Any, ...]:
    """Return `(out, jvp_fun)`; `jvp_fun(*tangents)` is the output's tangent at these primals.

    The primal runs once, and what its tangent needs is kept: `jvp_fun` costs about as much as one
    run of the primal's arithmetic without its transcendental functions. The tangent of a recursive
    function cannot be cut so; there the primal runs again at each call.

    Args:
        fun: the function.
        *primals: its arguments; later changes of the caller's arrays do not matter.
        has_aux: `fun` returns `(output, aux)`; the result is `(out, jvp_fun, aux)`.
        target: "cpu" or "python".

    Returns:
        The output's tangent has the structure of the output, in units [output]/[argument] times
        those of the tangent.

    Raises:
        ArgumentError: from `jvp_fun`, for a tangent that does not fit its primal.

    Example:
        >>> import s2sad
        >>> def cube(x):
        ...     return x * x * x
        >>> out, tangent = s2sad.linearize(cube, 2.0)
        >>> out, tangent(1.0)
        (8.0, 12.0)
    """
    options, wanted = Options(aux=has_aux), target_of(fun, target)
    store = linearization_of(fun, options, wanted)
    values = store.binder.bind(primals, {})
    try:
        special, leaves = store.find(values)
    except NotSplitError:
        return _again(fun, options, wanted, values)
    shaped, residuals = special.run(leaves)
    return (shaped[0], Linearized(special, residuals, leaves, len(primals), store.binder.variadic), *shaped[1:])


@remembered
def _forward_of(fun: Callable[..., Any], options: Options, target: str) -> Store[Forward]:
    return forward_store(Request(plain(fun, options), target, options))


def _again(fun: Callable[..., Any], options: Options, target: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    store = _forward_of(fun, options, target)
    special, leaves = store.find(tuple(copied(value) for value in values))
    out = special.push(leaves, {leaf: None for tree in special.trees for leaf in inexact_leaves(tree)})
    return (out[0], Again(special, leaves, store.binder.variadic), *out[2:])


def linear_transpose(fun: Callable[..., Any], *primals: Any, target: str | None = None) -> Callable[[Any], Any]:
    """Return the transpose of a linear function.

    Args:
        fun: a linear function of all its arguments.
        *primals: stand-ins for the arguments, of which only structure, shapes and dtypes count.
        target: "cpu" or "python".

    Returns:
        A function from a cotangent of the output to a tuple of one cotangent per argument.

    Raises:
        NotDifferentiableError: `fun` is not linear: its tangent depends on the point, or it does
            not take zero to zero.

    Example:
        >>> import s2sad
        >>> def double(x):
        ...     return 2.0 * x
        >>> s2sad.linear_transpose(double, 1.0)(5.0)
        (10.0,)
    """
    zeros = tuple(zeroed(value) for value in primals)
    out, pullback = vjp(fun, *zeros, target=target)
    _require_linear(fun, zeros, out, target)
    _require_no_steps(fun, zeros, pullback, target)
    return pullback



def zeroed(value: Any) -> Any:
    """Return a structure with zeros in place of its inexact leaves."""
    tree = describe(value, "x")
    leaves = dict(zip(tree.leaves(), values_of(tree, value), strict=True))
    zeros = {leaf: zero_like(leaf, leaves[leaf]) for leaf in inexact_leaves(tree)}
    return unflatten(tree, {**leaves, **zeros})


def _require_linear(fun: Callable[..., Any], primals: tuple[Any, ...], out: Any, target: str | None) -> None:
    name = label(fun)
    tree = describe(out, "output")
    values = dict(zip(tree.leaves(), values_of(tree, out), strict=True))
    for leaf in inexact_leaves(tree):
        if np.any(values[leaf] != 0):
            raise NotDifferentiableError(
                f"`{name}` is not linear: it takes zero to something else, in `{leaf.path}`",
                why="Leave the constant out, or use `s2sad.vjp`.",
            )
    if _tangent_depends_on_the_point(plain(fun), primals):
        raise NotDifferentiableError(
            f"`{name}` is not linear: its derivative depends on the point", why="Use `s2sad.vjp` or `s2sad.linearize`."
        )


def _require_no_steps(
    fun: Callable[..., Any], zeros: tuple[Any, ...], pullback: Callable[..., Any], target: str | None
) -> None:
    """Compare the function with its tangent at some other point: `floor(x)` has a tangent of zero, and is not zero."""
    random = np.random.default_rng(0)
    points = tuple(_drawn(value, random) for value in zeros)
    out, _ = vjp(fun, *points, target=target)
    cotangent = _drawn(out, random)
    bars = pullback(cotangent)
    products = [pairs for x, bar in zip(points, bars, strict=True) for pairs in _products(x, bar)]
    images = _products(out, cotangent)
    size = sum(float(np.sum(np.abs(p))) for p in (*products, *images))
    difference = sum(np.sum(np.real(p)) for p in images) - sum(np.sum(np.real(p)) for p in products)
    if not abs(difference) <= 1e-4 * size:
        raise NotDifferentiableError(
            f"`{label(fun)}` is not linear: its derivative leaves out steps, such as those of `floor`",
            why="Use `s2sad.vjp` or `s2sad.linearize`.",
        )


def _drawn(value: Any, random: np.random.Generator) -> Any:
    """Return a structure with random numbers in place of its inexact leaves."""
    tree = describe(value, "x")
    leaves = dict(zip(tree.leaves(), values_of(tree, value), strict=True))
    drawn: dict[Tree, Any] = {}
    for leaf in inexact_leaves(tree):
        zero = zero_like(leaf, leaves[leaf])
        numbers = random.uniform(2.0, 9.0, np.shape(zero)) * random.choice([-1.0, 1.0], np.shape(zero))
        drawn[leaf] = zero + (numbers.astype(zero.dtype) if isinstance(zero, np.ndarray) else type(zero)(numbers))
    return unflatten(tree, {**leaves, **drawn})


def _products(value: Any, cotangent: Any) -> list[Any]:
    """Return the elements of a structure times those of its cotangent; cotangents pair without conjugation."""
    left, right = describe(value, "x"), describe(cotangent, "x_bar")
    first = dict(zip(left.leaves(), values_of(left, value), strict=True))
    second = dict(zip(right.leaves(), values_of(right, cotangent), strict=True))
    pairs = zip(inexact_leaves(left), inexact_leaves(right), strict=True)
    return [np.asarray(first[x]) * np.asarray(second[y]) for x, y in pairs]


def _tangent_depends_on_the_point(fun: Callable[..., Any], primals: tuple[Any, ...]) -> bool:
    """Say whether something that the push half reads changes with the arguments; also where that is not known."""
    binder = Binder(fun)
    values = binder.bind(primals, {})
    trees = tuple(describe(v, n) for v, n in zip(values, binder.names_for(values), strict=True))
    leaves = [leaf for tree in trees for leaf in tree.leaves()]
    wrt = tuple(at for at, leaf in enumerate(leaves) if leaf in inexact_leaves(leaf))
    types = tuple(tree.type for tree in trees)
    try:
        first, made = Half(fun, "lin", types, wrt).derived(context())
        second, pushed = Half(fun, "push", types, wrt).derived(context())
    except NotSplitError:
        return True
    changing = dependent_results(first, frozenset(wrt), Facts(made.functions))
    facts = Facts(pushed.functions)
    start = len(first.results) - made.residuals
    return any(start + at in changing and _is_read(facts, second, at) for at in range(made.residuals))


def _is_read(facts: Facts, fn: Function, at: int) -> bool:
    return not isinstance(fn.params[at].type, Array) or facts.reads_content(fn.name, at)
