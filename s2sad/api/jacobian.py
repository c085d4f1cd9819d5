"""`jacfwd`, `jacrev`, `jacobian` and `hessian`: a sweep per basis vector, structures nested."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, ParamSpec

import numpy as np

from s2sad.api.forward import Forward
from s2sad.api.options import Options
from s2sad.api.plan import differentiated, select, split_aux
from s2sad.api.signature import Argnums, label
from s2sad.api.specialise import Store
from s2sad.api.structure import (
    Tree,
    child_values,
    describe,
    inexact_leaves,
    kind_text,
    unflatten,
)
from s2sad.api.tangents import basis, shape_of
from s2sad.api.transformed import Transformed, plain, store_for, target_of
from s2sad.api.transforms import forward_of, reverse_of
from s2sad.api.written import contracted
from s2sad.errors import NotDifferentiableError
from s2sad.ir.types import Array, is_complex

P = ParamSpec("P")

_WEIGHING = threading.RLock()  # the weights of one function are shared by its Hessians


class Jacobian(Transformed[P, Any]):
    """A function returning a Jacobian or a Hessian: "jacfwd", "jacrev" or "hessian"."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Return the Jacobian: in each leaf of the output's structure the argument's."""
        if self.kind in ("jacfwd", "jacrev") and isinstance(self.fun, Jacobian):
            return _of_jacobian(self, self.fun, args, kwargs)
        if self.kind == "jacfwd":
            return _jacfwd(self, args, kwargs)
        if self.kind == "jacrev":
            return _jacrev(self, args, kwargs)
        return _hessian(self, args, kwargs)


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
    options = Options(aux=has_aux, holomorphic=holomorphic)
    return Jacobian(fun, "jacfwd", argnums, options, target_of(fun, target))


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
    options = Options(aux=has_aux, holomorphic=holomorphic)
    return Jacobian(fun, "jacrev", argnums, options, target_of(fun, target))


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
    options = Options(aux=has_aux, holomorphic=holomorphic)
    return Jacobian(fun, "hessian", argnums, options, target_of(fun, target))


def _jacfwd(self: Jacobian[...], args: Any, kwargs: Any) -> Any:
    store = forward_of(self.fun, self.options, self.target)
    values = store.binder.bind(args, kwargs)
    special, leaves = store.find(values)
    chosen = select(special.trees, store.binder.places(self.argnums, values))
    wrt = differentiated(chosen, self.options)
    _refuse_complex(wrt, self, "jacfwd takes real arguments; pass holomorphic=True if")
    return _assemble_columns(self, store, special, leaves, chosen, wrt)


def _assemble_columns(
    self: Jacobian[...],
    store: Store[Forward],
    special: Forward,
    leaves: tuple[Any, ...],
    chosen: tuple[Tree, ...],
    wrt: tuple[Tree, ...],
) -> Any:
    shapes = special.shapes(leaves)
    columns: dict[Tree, list[Any]] = {}
    pushed: tuple[Any, ...] | None = None
    for leaf in wrt:
        columns[leaf] = []
        for unit in basis(leaf, shapes[leaf]):
            pushed = special.push(leaves, {leaf: unit})
            columns[leaf].append(pushed[1])
    if pushed is None:
        pushed = special.push(leaves, {})
    output = _output_tree(special, self.options)
    outer = leaf_values(output, pushed[0])
    blocks: dict[Tree, Any] = {}
    for out_leaf in inexact_leaves(output):
        shape = shape_of(outer[out_leaf])
        inner = {
            leaf: _block([leaf_values(output, dot)[out_leaf] for dot in columns[leaf]], shape, shapes[leaf])
            for leaf in wrt
        }
        blocks[out_leaf] = _inner(chosen, inner, self.argnums)
    made = unflatten(output, blocks, static=False)
    return (made, pushed[2]) if self.options.aux else made


def _output_tree(special: Forward, options: Options) -> Tree:
    made = next(iter(special.pushed.values())).entry
    return split_aux(made.output, options)[0]


def _block(dots: list[Any], out_shape: tuple[int, ...], in_shape: tuple[int, ...]) -> Any:
    """Stack the columns of one block along trailing axes; a number where both shapes are ()."""
    if not in_shape and len(dots) == 1:
        return dots[0]
    if not dots:
        return np.zeros(out_shape + in_shape)
    return np.stack([np.asarray(dot) for dot in dots], axis=-1).reshape(out_shape + in_shape)


def _inner(chosen: tuple[Tree, ...], blocks: dict[Tree, Any], argnums: Argnums) -> Any:
    parts = tuple(unflatten(tree, blocks, static=False) for tree in chosen)
    return parts if isinstance(argnums, tuple) else parts[0]


def leaf_values(tree: Tree, value: Any) -> dict[Tree, Any]:
    """Return the value of each dynamic leaf."""
    if tree.is_leaf:
        return {tree: value}
    parts = child_values(tree, value) or ()
    found: dict[Tree, Any] = {}
    for child, part in zip(tree.children, parts, strict=False):
        found |= leaf_values(child, part)
    return found


def _refuse_complex(leaves: Iterable[Tree], self: Jacobian[...], what: str) -> None:
    for leaf in leaves:
        if is_complex(leaf.type) and not self.options.holomorphic:
            raise NotDifferentiableError(f"`{leaf.path}` is {kind_text(leaf)}; {what} `{label(self.fun)}` is so")


def _jacrev(self: Jacobian[...], args: Any, kwargs: Any) -> Any:
    store = reverse_of(self.fun, self.options, self.target)
    values = store.binder.bind(args, kwargs)
    special, leaves = store.find(values)
    places = store.binder.places(self.argnums, values)
    chosen = select(special.trees, places)
    wrt = differentiated(chosen, self.options)
    shaped, pullback = special.run(leaves)
    output = pullback.output
    _refuse_complex(inexact_leaves(output), self, "jacrev takes real outputs; pass holomorphic=True if")
    all_leaves = [leaf for tree in special.trees for leaf in tree.leaves()]
    in_shapes = {leaf: shape_of(value) for leaf, value in zip(all_leaves, leaves, strict=True)}
    blocks: dict[Tree, Any] = {}
    for out_leaf in inexact_leaves(output):
        shape = pullback.shapes[out_leaf]
        rows: dict[Tree, list[Any]] = {leaf: [] for leaf in wrt}
        for unit in basis(out_leaf, shape):
            bars = pullback.pull({out_leaf: unit})
            for tree, bar in zip(special.trees, bars, strict=True):
                for leaf, value in leaf_values(tree, bar).items():
                    if leaf in rows:
                        rows[leaf].append(value)
        inner = {leaf: _rows(rows[leaf], shape, in_shapes[leaf], leaf) for leaf in wrt}
        blocks[out_leaf] = _inner(chosen, inner, self.argnums)
    made = unflatten(output, blocks, static=False)
    return (made, shaped[1]) if self.options.aux else made


def _rows(bars: list[Any], out_shape: tuple[int, ...], in_shape: tuple[int, ...], leaf: Tree) -> Any:
    """Stack the rows of one block along leading axes; a number where both shapes are ()."""
    if not out_shape and len(bars) == 1:
        return bars[0]
    if not bars:
        return np.zeros(out_shape + in_shape, getattr(leaf.type, "dtype", "float64"))
    return np.stack([np.asarray(bar) for bar in bars]).reshape(out_shape + in_shape)


def _hessian(self: Jacobian[...], args: Any, kwargs: Any) -> Any:
    """`jacfwd` of the Jacobian."""
    inner: Jacobian[...] = Jacobian(self.fun, "jacrev", self.argnums, self.options, self.target)
    return Jacobian(inner, "jacfwd", self.argnums, self.options, self.target)(*args, **kwargs)


def _of_jacobian(self: Jacobian[...], inner: Jacobian[...], args: Any, kwargs: Any) -> Any:
    """Return second derivatives: the Jacobian of the gradient of each element of the output."""
    primal = store_for(inner.fun, "primal", (), inner.options, self.target)
    plan, leaves = primal.find(primal.binder.bind(args, kwargs))
    main = plan.entry.main(inner.options)
    if not main.is_leaf:
        raise NotDifferentiableError(
            f"`{label(inner.fun)}` returns a {main.cls.__name__}; second derivatives need a number or an array",
            why="Differentiate one item of it at a time.",
        )
    options = replace(self.options, holomorphic=inner.options.holomorphic)
    if not isinstance(main.type, Array):
        gradient: Any = Transformed(inner.fun, "grad", inner.argnums, options, self.target)
        return Jacobian(gradient, self.kind, self.argnums, self.options, self.target)(*args, **kwargs)
    if inner.options.aux:
        raise NotDifferentiableError("second derivatives of an array output take no has_aux")
    shape = np.shape(plan.run(leaves))
    weighted, unit = contracted(plain(inner.fun), shape, main.type.dtype)
    gradient = Transformed(weighted, "grad", inner.argnums, options, self.target)
    rows: Any = Jacobian(gradient, self.kind, self.argnums, self.options, self.target)
    blocks: list[Any] = []
    with _WEIGHING:
        for position in range(unit.size):
            unit[...] = 0
            unit.reshape(-1)[position] = 1
            blocks.append(rows(*args, **kwargs))
    if not blocks:
        raise NotDifferentiableError(f"`{label(inner.fun)}` returns an empty array")
    tree = describe(blocks[0], "output")
    columns = [list(leaf_values(describe(b, "output"), b).values()) for b in blocks]
    stacked = {leaf: _block_of(columns, i, shape) for i, leaf in enumerate(leaf_values(tree, blocks[0]))}
    return unflatten(tree, stacked)


def _block_of(columns: list[list[Any]], position: int, shape: tuple[int, ...]) -> Any:
    parts = np.stack([np.asarray(column[position]) for column in columns])
    return parts.reshape(shape + parts.shape[1:])
