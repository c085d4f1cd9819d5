"""`vmap`: a function of one element mapped over batches, defined as stacking the calls."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, cast

import numpy as np

from s2sad.api.jacobian import leaf_values
from s2sad.api.signature import Binder, label
from s2sad.api.structure import Tree, describe, unflatten
from s2sad.api.transformed import Transformed, target_of
from s2sad.errors import ArgumentError
from s2sad.ir.types import Array, Static, Struct

P = ParamSpec("P")

Axes = Any  # an int, None, or a structure of those that is a prefix of the value's


def vmap(fun: Callable[P, Any], in_axes: Axes = 0, out_axes: Axes = 0, *, target: str | None = None) -> Batched[P]:
    """Return a function that maps `fun` over axes of its arguments and stacks the results.

    Args:
        fun: the function of one element; a derivative too.
        in_axes: which axis of each argument holds the batch: an int, also negative, None for an
            argument that every call gets whole, or a tuple of those, one per argument; where an
            argument is a container, a structure of those.
        out_axes: where the batch axis goes in each result.
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
    return Batched(fun, in_axes, out_axes, target_of(fun, target))


class Batched(Transformed[P, Any]):
    """A function mapped over batches.

    Attributes:
        in_axes: the batch axes of the arguments, as they were given.
        out_axes: the batch axes of the results, as they were given.
    """

    def __init__(self, fun: Callable[..., Any], in_axes: Axes, out_axes: Axes, target: str) -> None:
        """Hold the function; every call runs the compiled function once per element."""
        if not callable(fun):
            raise ArgumentError(f"a function is needed, not `{fun!r}`")
        self.fun, self.kind, self.target = fun, "vmap", target
        self.in_axes = list_to_tuple(in_axes)
        self.out_axes = out_axes
        functools.update_wrapper(self, fun, updated=())
        derived = type(fun).__module__.startswith("s2sad.")  # a derivative, a pullback: it is compiled
        self._one: Any = fun if derived else Transformed(fun, "primal", (), None, target)
        self._binder = Binder(fun)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Return the stacked results of one call per element of the batch."""
        axes = self.in_axes if isinstance(self.in_axes, tuple) else (self.in_axes,) * len(args)
        if len(axes) != len(args):
            raise ArgumentError(
                f"vmap of `{label(self.fun)}` has in_axes for {len(axes)} arguments but was given {len(args)}"
            )
        parts = [_Part(self._name(i), value, axis) for i, (value, axis) in enumerate(zip(args, axes, strict=True))]
        named = {name: _Part(name, value, 0) for name, value in kwargs.items()}
        count = self._count([*parts, *named.values()])
        results = [
            self._one(
                *(part.at(index) for part in parts),
                **{name: part.at(index) for name, part in named.items()},
            )
            for index in range(count)
        ]
        return stacked(results, self.out_axes, label(self.fun))

    def _name(self, position: int) -> str:
        names = self._binder.names
        variadic = self._binder.variadic
        if 0 <= variadic <= position:
            return f"{names[variadic]}[{position - variadic}]"
        return names[position] if position < len(names) else f"args[{position}]"

    def _count(self, parts: Sequence[_Part]) -> int:
        """Return the length of the batch, on which all mapped leaves must agree."""
        first: tuple[str, int, int] | None = None
        for part in parts:
            for path, axis, length in part.lengths:
                first = first or (path, axis, length)
                if length != first[2]:
                    raise ArgumentError(
                        f"vmap of `{label(self.fun)}` needs batches of one length: `{first[0]}` "
                        f"has {first[2]} along axis {first[1]}, `{path}` has {length} along axis "
                        f"{axis}"
                    )
        if first is None:
            raise ArgumentError(f"vmap of `{label(self.fun)}` maps over nothing: every in_axes is None")
        if first[2] == 0:
            raise ArgumentError(
                f"vmap of `{label(self.fun)}` was given a batch of length 0: `{first[0]}` has "
                f"nothing along axis {first[1]}, so that the shape of the result is not known"
            )
        return first[2]

    def __repr__(self) -> str:
        """Name the function and the axes."""
        name = getattr(self.fun, "__qualname__", None) or repr(self.fun)
        return f"<s2sad.vmap of {name}, in_axes={self.in_axes!r}, out_axes={self.out_axes!r}>"

    def _identity(self) -> tuple[Any, ...]:
        return self.fun, self.in_axes, self.out_axes, self.target

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
        return Batched(self.fun.__get__(instance, owner), axes, self.out_axes, self.target)

    def __reduce__(self) -> Any:
        """Pickle by the function and the axes."""
        from s2sad.api import pickling

        return _rebuilt, (pickling.portable(self.fun), *self._identity()[1:])


def _rebuilt(fun: Any, in_axes: Axes, out_axes: Axes, target: str) -> Batched[...]:
    from s2sad.api import pickling

    return Batched(pickling.restored(fun), in_axes, out_axes, target)


def list_to_tuple(axes: Axes) -> Axes:
    """Return the outermost list as a tuple: both say one entry per argument."""
    return tuple(axes) if isinstance(axes, list) else axes


class _Part:
    """One argument: its structure, its leaves, and along which axis each is mapped."""

    def __init__(self, name: str, value: Any, axes: Axes) -> None:
        self.tree = describe(value, name)
        self.values = leaf_values(self.tree, value)
        self.axes = spread(self.tree, axes, "in_axes")
        self.whole = value
        self.lengths: list[tuple[str, int, int]] = []
        for leaf, axis in self.axes.items():
            if axis is None:
                continue
            shape = np.shape(self.values[leaf])
            if not -len(shape) <= axis < len(shape):
                raise ArgumentError(
                    f"`{leaf.path}` has no axis {axis} to be mapped over: its rank is {len(shape)}",
                    why="Use None in in_axes for an argument that every call gets whole.",
                )
            self.axes[leaf] = axis % len(shape)
            self.lengths.append((leaf.path, axis, shape[axis]))

    def at(self, index: int) -> Any:
        """Return this argument of the call for one element."""
        if not self.lengths:
            return self.whole
        picked = {
            leaf: value if axis is None else value[(slice(None),) * axis + (index,)]
            for leaf, value in self.values.items()
            for axis in (self.axes[leaf],)
        }
        return unflatten(self.tree, picked)


def spread(tree: Tree, axes: Axes, word: str) -> dict[Tree, int | None]:
    """Return the axis of each leaf, given a structure of axes that is a prefix of the value's.

    Raises:
        ArgumentError: the axes have another structure, or are no integers.
    """
    if axes is None or (isinstance(axes, int | np.integer) and not isinstance(axes, bool)):
        return {leaf: None if axes is None else int(axes) for leaf in tree.leaves()}
    children = _axes_of_children(tree, axes)
    if children is None:
        raise ArgumentError(
            f"{word} of `{tree.path}` must be an int, None, or a structure of those like the value's, not `{axes!r}`"
        )
    found: dict[Tree, int | None] = {}
    for child, axis in zip(tree.children, children, strict=True):
        found |= spread(child, axis, word)
    return found


def _axes_of_children(tree: Tree, axes: Axes) -> Sequence[Axes] | None:
    if not isinstance(tree.type, Struct):
        return None
    keys = tree.type.keys
    if tree.type.kind == "dict":
        fits = isinstance(axes, dict) and set(axes) == set(keys)
        return [axes[key] for key in keys] if fits else None
    if isinstance(axes, tuple | list):
        return axes if len(axes) == len(keys) else None
    fields = [getattr(axes, str(key), axes) for key in keys]
    return fields if type(axes) is tree.cls else None


def stacked(results: Sequence[Any], axes: Axes, name: str) -> Any:
    """Return one structure whose leaves stack those of `results` along `axes`."""
    tree = describe(results[0], "output")
    where = spread(tree, axes, "out_axes")
    columns = [leaf_values(describe(value, "output"), value) for value in results]
    lists = [list(column.values()) for column in columns]
    if any(len(values) != len(lists[0]) for values in lists):
        raise ArgumentError(f"`{name}` returns structures that differ between elements of a batch")
    leaves = {
        leaf: _stack([values[position] for values in lists], where[leaf], leaf, name)
        for position, leaf in enumerate(tree.leaves())
    }
    _same_static(tree, results, name)
    return unflatten(tree, leaves)


def _stack(values: list[Any], axis: int | None, leaf: Tree, name: str) -> Any:
    shapes = {np.shape(value) for value in values}
    if len(shapes) > 1:
        listed = " and ".join(map(str, sorted(shapes)))
        raise ArgumentError(f"`{leaf.path}` of `{name}` has different shapes in one batch: {listed}")
    if axis is None:
        if any(not np.array_equal(value, values[0], equal_nan=True) for value in values):
            raise ArgumentError(
                f"out_axes is None for `{leaf.path}` of `{name}`, which differs between elements",
                why="Give it an axis.",
            )
        return values[0]
    rank = len(np.shape(values[0])) + 1
    if not -rank <= axis < rank:
        raise ArgumentError(f"out_axes {axis} is out of range: `{leaf.path}` has rank {rank}")
    dtype = None if isinstance(leaf.type, Array | Static) else getattr(leaf.type, "dtype", None)
    return np.stack([np.asarray(value, dtype) for value in values], axis=axis)


def _same_static(tree: Tree, results: Sequence[Any], name: str) -> None:
    key = _static_values(tree)
    for value in results[1:]:
        if _static_values(describe(value, "output")) != key:
            raise ArgumentError(f"`{name}` returns values that are no numbers and differ in a batch")


def _static_values(tree: Tree) -> list[Any]:
    return [node.key for node in tree.nodes() if isinstance(node.type, Static)]
