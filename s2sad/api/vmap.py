"""`vmap`: a function of one element mapped over batches, defined as stacking the calls."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, cast

from s2sad.api.axes import Axes, frozen
from s2sad.api.direct import MISSED, Direct, direct, missed
from s2sad.api.flatten import Match
from s2sad.api.guards import Guard
from s2sad.api.lengths import sure
from s2sad.api.mapped import mapped, mapped_leaves
from s2sad.api.options import Options
from s2sad.api.plan import Plan, Request, plan_of
from s2sad.api.signature import Binder, label
from s2sad.api.specialise import Store
from s2sad.api.structure import Tree
from s2sad.api.threads import shared
from s2sad.api.transformed import Transformed, plain, remembered, target_of
from s2sad.errors import ArgumentError, Span
from s2sad.frontend.lowerer import Context, Instance
from s2sad.ir.types import Array, Type

P = ParamSpec("P")


def vmap(
    fun: Callable[P, Any], in_axes: Axes = 0, out_axes: Axes = 0, *, parallel: bool = False, target: str | None = None
) -> Batched[P]:
    """Return a function that maps `fun` over axes of its arguments and stacks the results.

    The program is a loop over the batch; where elements are multiplied by a matrix that all share, it is arithmetic
    of the whole batch instead, so that `W @ x` becomes one product of two matrices.

    Args:
        fun: the function of one element; a derivative too.
        in_axes: which axis of each argument holds the batch: an int, also negative, None for an
            argument that every call gets whole, or a tuple of those, one per argument; where an
            argument is a container, a structure of those.
        out_axes: where the batch axis goes in each result.
        parallel: on target "cpu", share the batch between as many threads as Numba uses; worth it where the
            whole takes milliseconds. Elsewhere, and inside a function, it changes nothing.
        target: "cpu", "python", or "cuda": one thread per element, for functions of numbers and small
            arrays and their `grad` and `value_and_grad`; see `s2sad.api.batch`.

    Returns:
        A function of the same arguments, keyword arguments being mapped along axis 0.

    Raises:
        ArgumentError: axes that do not fit the arguments, or lengths that differ; names the leaf.

    Example:
        >>> import numpy as np, s2sad
        >>> def square(x):
        ...     return x * x
        >>> s2sad.vmap(s2sad.grad(square))(np.array([1.0, 2.0])).tolist()
        [2.0, 4.0]
    """
    if target == "cuda":
        from s2sad.api.batch import DeviceBatched

        return cast("Batched[P]", DeviceBatched(fun, in_axes, out_axes))
    return Batched(fun, in_axes, out_axes, target_of(fun, target), parallel)


_NO_OPTIONS = Options()


class Batched(Transformed[P, Any]):
    """A function mapped over batches: one compiled loop around its calls, or arithmetic of the whole batch.

    Attributes:
        in_axes: the batch axes of the arguments, as they were given.
        out_axes: the batch axes of the results, as they were given.
        parallel: the batch is shared between threads.
    """

    def __init__(
        self, fun: Callable[..., Any], in_axes: Axes, out_axes: Axes, target: str, parallel: bool = False
    ) -> None:
        """Hold the function; nothing is derived before the first call."""
        if not callable(fun):
            raise ArgumentError(f"a function is needed, not `{fun!r}`")
        self.fun, self.kind, self.target = fun, "vmap", target
        self.in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
        self.out_axes = out_axes
        self.parallel = bool(parallel)
        self.options, self.argnums = _NO_OPTIONS, ()
        if hasattr(fun, "s2sad_mapped"):  # a linear map: it holds the residuals of one run
            return
        functools.update_wrapper(self, fun, updated=())
        inner = plain(fun)
        self.__signature__ = _signature(inner)
        self._binder = Binder(inner)
        self._direct: Direct = missed

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Return the stacked results, deriving and compiling the loop at the first call."""
        own: Any = getattr(self.fun, "s2sad_mapped", None)
        if own is not None:
            return own(args, self.in_axes, self.out_axes)
        if not kwargs:
            result = self._direct(args)
            if result is not MISSED:
                return result
        values = self._binder.bind(args, kwargs)
        axes = self._axes(len(args), kwargs, values)
        store = store_of(mapped(self._binder.fun, axes, self.out_axes), self.target, self.parallel)
        plan, leaves = store.find(values)
        plan.check(leaves)
        if self.parallel and self.target == "cpu":
            return shared(plan.plan, leaves, [batch[:2] for batch in plan.batches], self.out_axes)
        if not kwargs and len(args) == self._binder.arity:
            self._direct = plan.direct
        return plan.plan.run(leaves)

    def _axes(self, count: int, kwargs: Mapping[str, Any], values: tuple[Any, ...]) -> tuple[Axes, ...]:
        """Return the axes of each parameter: those of keyword arguments are 0, of defaults None."""
        given = self.in_axes if isinstance(self.in_axes, tuple) else (self.in_axes,) * count
        if len(given) != count:
            raise ArgumentError(
                f"vmap of `{label(self.fun)}` has in_axes for {len(given)} arguments but was given {count}"
            )
        names, variadic = self._binder.names_for(values), self._binder.variadic
        axes: list[Axes] = []
        for position, name in enumerate(names):
            if position == variadic:
                axes.append(given[position:] if given[position:] else None)
            elif position < len(given) and (variadic < 0 or position < variadic):
                axes.append(given[position])
            else:
                axes.append(0 if name in kwargs else None)
        return tuple(axes)

    def s2sad_shared(self) -> tuple[Hashable, Any]:
        """Return what tells this map from others of the function, and the function."""
        return (Batched, frozen(self.in_axes), frozen(self.out_axes), self.target), self.fun

    def s2sad_bind(self, lw: Any, args: Any, kwargs: Any, node: Any) -> Any:
        """Give the compiler one value per parameter of the function that is mapped."""
        from s2sad.frontend.functions import bind_arguments

        return bind_arguments(lw, plain(self.fun), args, kwargs, node)

    def s2sad_instance(self, ctx: Context, types: tuple[Type, ...], span: Span) -> Instance:
        """Return the loop as a program, where the map is called inside a function."""
        names = self._binder.names_for(types)
        defaults = {n for n, p in self.__signature__.parameters.items() if p.default is not p.empty}
        given = self.in_axes if isinstance(self.in_axes, tuple) else (self.in_axes,) * len(types)
        axes = [
            None if name in defaults and not isinstance(self.in_axes, tuple) and not _mappable(kind) else axis
            for name, kind, axis in zip(names, types, (*given, *(None for _ in types)), strict=False)
        ]
        return mapped(plain(self.fun), tuple(axes), self.out_axes).s2sad_instance(ctx, types, span)

    def __repr__(self) -> str:
        """Name the function and the axes."""
        name = getattr(self.fun, "__qualname__", None) or repr(self.fun)
        return f"<s2sad.vmap of {name}, in_axes={self.in_axes!r}, out_axes={self.out_axes!r}>"

    def _identity(self) -> tuple[Any, ...]:
        return self.fun, self.in_axes, self.out_axes, self.target, self.parallel

    def __eq__(self, other: object) -> bool:
        """Two maps of one function over the same axes are equal."""
        return isinstance(other, Batched) and self._identity() == other._identity()

    def __hash__(self) -> int:
        """Hash by the function: the axes may be lists and dictionaries."""
        return hash((Batched, self.fun, self.target))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind like a function when a class holds the map; `self` is not mapped."""
        if instance is None:
            return self
        axes = self.in_axes[1:] if isinstance(self.in_axes, tuple) else self.in_axes
        return Batched(self.fun.__get__(instance, owner), axes, self.out_axes, self.target, self.parallel)

    def __reduce__(self) -> Any:
        """Pickle by the function and the axes."""
        from s2sad.api import pickling

        return _rebuilt, (pickling.portable(self.fun), *self._identity()[1:])


def _rebuilt(fun: Any, in_axes: Axes, out_axes: Axes, target: str, parallel: bool) -> Batched[...]:
    from s2sad.api import pickling

    return Batched(pickling.restored(fun), in_axes, out_axes, target, parallel)


def _signature(fun: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(fun)
    except (TypeError, ValueError):
        return inspect.Signature()


def _mappable(kind: Type) -> bool:
    return isinstance(kind, Array) or bool(getattr(kind, "items", ()))


@dataclass(slots=True)
class MappedPlan:
    """A specialisation of a map: the plan of its loop, and the lengths that must agree."""

    match: Match
    guard: Guard | None
    plan: Plan
    name: str
    batches: tuple[tuple[int, int, str], ...]
    direct: Direct = missed

    def check(self, leaves: tuple[Any, ...]) -> None:
        """Compare the lengths of the batches; raises ArgumentError naming arguments and axes."""
        first, axis, path = self.batches[0]
        count = leaves[first].shape[axis]
        for position, other, name in self.batches[1:]:
            length = leaves[position].shape[other]
            if length != count:
                raise ArgumentError(
                    f"vmap of `{self.name}` needs batches of one length: `{path}` has {count} along axis {axis}, "
                    f"`{name}` has {length} along axis {other}"
                )
        if count == 0:
            raise ArgumentError(
                f"vmap of `{self.name}` was given a batch of length 0: `{path}` has nothing along axis {axis}, "
                "so that the shape of the result is not known"
            )


@remembered
def store_of(what: Any, target: str, nogil: bool = False) -> Store[MappedPlan]:
    """Return the specialisations of one mapped function."""
    request = Request(what, target, Options(nogil=nogil))

    def made_for(trees: tuple[Tree, ...]) -> MappedPlan:
        leaves = mapped_leaves(trees, what.axes)
        batches = tuple((i, axis, leaf.path) for i, (leaf, axis) in enumerate(leaves) if axis is not None)
        name = label(what.fun)
        if not batches:
            raise ArgumentError(
                f"vmap of `{name}` maps over nothing",
                why="Every in_axes is None, or its arguments hold no numbers or arrays.",
            )
        plan = plan_of(request, "primal", trees, (), True)
        quick = direct(trees, plan.entry, plan.guard, plan.outcome, [batch[:2] for batch in batches])
        return MappedPlan(plan.match, plan.guard, plan, name, batches, quick)

    def build(trees: tuple[Tree, ...], values: tuple[Any, ...]) -> MappedPlan:
        return sure(made_for, trees, values)

    store: Store[MappedPlan] = Store(what.fun, build)
    return store


__all__ = ["Batched", "vmap"]
