"""`jacfwd`, `jacrev`, `jacobian` and `hessian`: a sweep per basis vector, structures nested."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ParamSpec

from s2sad.api.dressed import dressed
from s2sad.api.flatten import Outcome, Result, in_tuple, only
from s2sad.api.guards import guard
from s2sad.api.lengths import clearest
from s2sad.api.options import Options
from s2sad.api.plan import Entry, Plan, Request, differentiated, entry, planned, select, split_aux
from s2sad.api.signature import Argnums
from s2sad.api.specialise import Store
from s2sad.api.structure import Tree, child_values
from s2sad.api.swept import Boundary, Swept
from s2sad.api.transformed import Transformed, plain, remembered, transformed
from s2sad.errors import Span
from s2sad.frontend.lowerer import Context, Instance
from s2sad.ir.types import Type

P = ParamSpec("P")

class Jacobian(Transformed[P, Any]):
    """A function returning a Jacobian or a Hessian: "jacfwd", "jacrev" or "hessian"."""

    def _make_store(self) -> Store[Any]:
        return jacobian_store(self.fun, self.kind, self.argnums, self.options, self.target)

    def s2sad_instance(self, ctx: Context, types: tuple[Type, ...], span: Span) -> Instance:
        """Return the Jacobian as a program, where it is itself transformed."""
        swept = sweep_of(self.fun, self.kind, self.argnums, self.options)
        return swept.s2sad_instance(ctx, types, span)


def sweep_of(
    fun: Callable[..., Any], kind: str, argnums: Argnums, options: Options, marked: bool = False
) -> Swept:
    """Return what the compiler asks for the program of a Jacobian; a Hessian is the Jacobian of one."""
    if kind == "hessian":
        return Swept(sweep_of(fun, "jacrev", argnums, options, marked), "jacfwd", argnums, options, marked)
    return Swept(plain(fun, options), kind, argnums, options, marked)


@remembered
def jacobian_store(
    fun: Callable[..., Any], kind: str, argnums: Argnums, options: Options, target: str
) -> Store[Plan]:
    """Return the specialisations of one Jacobian, shared by equal ones."""
    swept = sweep_of(fun, kind, argnums, options, marked=True)
    request = Request(swept, target, options)

    def build(trees: tuple[Tree, ...], values: tuple[Any, ...]) -> Plan:
        def made_for(known: tuple[Tree, ...]) -> Plan:
            chosen = select(known, store.binder.places(argnums, values))
            differentiated(chosen, options, zeros=False)
            unchanged = guard(swept.fun, known)
            made = entry(request, "primal", known, ())
            return planned(made, known, unchanged, _outcome(made, chosen, isinstance(argnums, tuple), options))

        return clearest(made_for, lambda plan: plan.entry.derivative.text, trees, values, len(store.known()))

    store: Store[Plan] = Store(plain(fun, options), build)
    return store


def _outcome(made: Entry, chosen: tuple[Tree, ...], many: bool, options: Options) -> Outcome:
    """Shape the blocks as the transform promises: the output's structure outside, the arguments' inside."""
    main, aux = split_aux(made.output, options)
    flat = {leaf: at for at, leaf in enumerate(made.output.leaves())}
    where: dict[Tree, int] = {}
    results = [Result(_like(main, chosen, many, flat, where), where)]
    results += [Result(aux, flat, True)] if aux is not None else []
    return Outcome(results, len(flat), only if aux is None else in_tuple)


def _like(node: Tree, chosen: tuple[Tree, ...], many: bool, flat: dict[Tree, int], where: dict[Tree, int]) -> Tree:
    """Return the structure of a result with the arguments' own classes inside its boundaries."""

    def boundary(part: Tree) -> Tree | None:
        return outside(part) if part.cls is Boundary else None

    def outside(part: Tree) -> Tree:
        if part.cls is not Boundary:
            return replace(part, children=tuple(outside(child) for child in part.children))
        inner = part.children[0]
        if not many:
            return dressed(chosen[0], inner, flat, where, boundary)
        pairs = zip(chosen, inner.children, strict=True)
        return replace(inner, children=tuple(dressed(a, b, flat, where, boundary) for a, b in pairs))

    return outside(node)


def jacfwd(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    target: str | None = None,
) -> Jacobian[P]:
    """Return a function that computes the Jacobian, column by column in forward mode.

    Args:
        fun: the function; good when it has more outputs than inputs.
        argnums: which arguments: a position, a name, or a tuple of them.
        has_aux: `fun` returns `(output, aux)`; the result is `(jacobian, aux)`.
        holomorphic: `fun` is complex-differentiable.
        target: "cpu" or "python".

    Returns:
        For an output of shape `s` and an argument of shape `t` an array of shape `s + t`, in units
        [output]/[argument]; containers nest, the output's outside, the argument's inside.

    Raises:
        NotDifferentiableError: an integer argument; a complex one without `holomorphic`.

    Example:
        >>> import numpy as np, s2sad
        >>> def double(x):
        ...     return 2.0 * x
        >>> s2sad.jacfwd(double)(np.ones(2)).tolist()
        [[2.0, 0.0], [0.0, 2.0]]
    """
    return transformed(Jacobian, fun, "jacfwd", argnums, has_aux, holomorphic, False, target)


def jacrev(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    target: str | None = None,
) -> Jacobian[P]:
    """Return a function that computes the Jacobian, row by row in reverse mode.

    Good when `fun` has more inputs than outputs; everything else is as in `jacfwd`.

    Raises:
        NotDifferentiableError: an integer argument; a complex output without `holomorphic`.

    Example:
        >>> import numpy as np, s2sad
        >>> def double(x):
        ...     return 2.0 * x
        >>> s2sad.jacrev(double)(np.ones(2)).tolist()
        [[2.0, 0.0], [0.0, 2.0]]
    """
    return transformed(Jacobian, fun, "jacrev", argnums, has_aux, holomorphic, False, target)


jacobian = jacrev


def hessian(
    fun: Callable[P, Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    target: str | None = None,
) -> Jacobian[P]:
    """Return a function that computes the Hessian, forward over reverse.

    Returns:
        For an output of shape `s` and an argument of shape `t` an array of shape `s + t + t`, in
        units [output]/[argument]².

    Example:
        >>> import numpy as np, s2sad
        >>> def total(x):
        ...     return np.sum(x * x)
        >>> s2sad.hessian(total)(np.ones(2)).tolist()
        [[2.0, 0.0], [0.0, 2.0]]
    """
    return transformed(Jacobian, fun, "hessian", argnums, has_aux, holomorphic, False, target)


def leaf_values(tree: Tree, value: Any) -> dict[Tree, Any]:
    """Return the value of each dynamic leaf."""
    if tree.is_leaf:
        return {tree: value}
    parts = child_values(tree, value) or ()
    found: dict[Tree, Any] = {}
    for child, part in zip(tree.children, parts, strict=False):
        found |= leaf_values(child, part)
    return found
