"""The program of `vmap`: a loop over the batch around a call of the function, as a Python function.

    def square_vmap(x):
        count = x.shape[0]
        result = np.empty(count)
        for i in range(count):
            result[i] = square(x[i])
        return result

It is differentiated and printed like any function, so that stacking the calls is what it means. Where products with
a shared matrix stand in it, `transform/batched.py` takes the loop apart.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from s2sad.analysis.facts import Facts
from s2sad.api.axes import Axes, frozen, in_range, spread
from s2sad.api.nested import overwritten, writes_of
from s2sad.api.pieces import Flat, filled, part, structured_instance
from s2sad.api.signature import Binder, label
from s2sad.api.structure import Tree, tree_of
from s2sad.api.texts import created, identifier, index_text, unique
from s2sad.api.written import defined
from s2sad.errors import ArgumentError, NotDifferentiableError, Span
from s2sad.frontend.functions import instantiate
from s2sad.frontend.generic import canonical, restored
from s2sad.frontend.lowerer import Context, Instance
from s2sad.ir.nodes import Function
from s2sad.ir.types import Array, Dim, ListOf, Scalar, Sym, Type, is_inexact, leaf_types
from s2sad.transform.batched import batched


@dataclass(frozen=True)
class Mapped:
    """A function mapped over given axes of its parameters; the compiler asks it for its program.

    Attributes:
        fun: the function of one element, with source.
        axes: the batch axes of each parameter.
        out_axes: the batch axes of the result.
        key: equal for equal axes.
    """

    fun: Callable[..., Any]
    axes: tuple[Axes, ...] = field(compare=False)
    out_axes: Axes = field(compare=False)
    key: Any = None

    s2sad_kind = "mapped"

    def __call__(self, *args: Any) -> Any:
        """Stand in the text of a program; only the compiler calls it."""
        raise TypeError("a mapped program is called by the compiler only")

    def s2sad_shared(self) -> tuple[Hashable, Any]:
        """Return what tells this map from others of the function, and the function."""
        return ("mapped", self.key), self.fun

    def s2sad_bind(self, lw: Any, args: Any, kwargs: Any, node: Any) -> Any:
        """Take one value for each parameter."""
        return args

    def s2sad_instance(self, ctx: Context, types: tuple[Type, ...], span: Span) -> Instance:
        """Return the program for batches of these types."""
        key = ("vmap", self, types)
        if key not in ctx.instances:
            made = _Writer(self, ctx, types, span).instance()
            ctx.keep.append(self)
            return part(ctx, key, made[0], types, made[1])
        return ctx.instances[key]


def mapped(fun: Callable[..., Any], axes: tuple[Axes, ...], out_axes: Axes) -> Mapped:
    """Return `fun` mapped over these axes of its parameters; equal for equal axes."""
    return Mapped(fun, axes, out_axes, (frozen(axes), frozen(out_axes)))


def mapped_leaves(trees: tuple[Tree, ...], axes: tuple[Axes, ...]) -> list[tuple[Tree, int | None]]:
    """Return each leaf with its batch axis, counted from the front."""
    found: list[tuple[Tree, int | None]] = []
    for tree, axis in zip(trees, axes, strict=True):
        for leaf, given in spread(tree, axis, "in_axes").items():
            found.append((leaf, None if given is None else in_range(leaf, given)))
    return found


_WHAT = {
    "grad": "Gradient of ", "value_and_grad": "Value and gradient of ", "jacfwd": "Jacobian of ",
    "jacrev": "Jacobian of ", "hessian": "Hessian of ",
}  # fmt: skip


class _Writer:
    """Writes the loop for one choice of types."""

    def __init__(self, what: Mapped, ctx: Context, types: tuple[Type, ...], span: Span) -> None:
        self.what, self.ctx, self.types, self.span = what, ctx, types, span
        self.label = identifier(label(what.fun))
        binder = Binder(what.fun)
        trees = tuple(tree_of(kind, name) for kind, name in zip(types, binder.names_for(types), strict=True))
        self.leaves = mapped_leaves(trees, what.axes)
        self.names = unique([leaf.path for leaf, _ in self.leaves], {self.label, "np", "count", "i"})
        self.texts = [self._element(name, axis) for name, (_, axis) in zip(self.names, self.leaves, strict=True)]

    @staticmethod
    def _element(name: str, axis: int | None, at: str = "i") -> str:
        return name if axis is None else index_text(name, axis, at)

    def instance(self) -> tuple[Instance, Type]:
        """Return the lowered loop, and the structure of its result."""
        flat = Flat(self.what.fun, self.types)
        kinds, back = canonical(tuple(_element_type(leaf.type, axis) for leaf, axis in self.leaves), False)
        inner = structured_instance(self.ctx, self.what.fun, self.types, kinds, self.span)
        assert inner.result is not None
        outputs = self._outputs(tree_of(restored(inner.result, back), "result"))
        self._refuse_varying(outputs, inner)
        self._keep_apart(inner)
        lines = self._lines(outputs)
        name = f"{self.label}_vmap"
        head = f"def {name}({', '.join(self.names)}):"
        text = "\n    ".join([head, *lines]) + "\n"
        fun = defined(name, text, {self.label: flat, "np": np})
        made = instantiate(self.ctx, fun, tuple(leaf.type for leaf, _ in self.leaves), self.span)
        assert made.result is not None
        assert made.function is not None
        what = _WHAT.get(getattr(self.what.fun, "kind", ""), "")
        opaque = frozenset(i.name for i in self.ctx.instances.values() if i.rule is not None)
        at_once = batched(made.function, self.ctx.functions(), opaque)
        how = "one element of the batch after the other" if at_once is None else "the whole batch at once"
        span = inner.function.span if inner.function is not None else made.function.span
        made.function = replace(at_once or made.function, span=span, doc=f"{what}`{self.label}`, {how}.")
        self.ctx.parts[made.name] = Function(made.name, (), (), ())
        self.ctx.copied[made.name] = overwritten(self.ctx, self.ctx.functions(), inner.name)
        return made, filled(inner.result, iter(leaf_types(made.result)))

    def _outputs(self, tree: Tree) -> list[tuple[Tree, int | None]]:
        outputs: list[tuple[Tree, int | None]] = []
        for leaf, axis in spread(tree, self.what.out_axes, "out_axes").items():
            if isinstance(leaf.type, ListOf):
                raise NotDifferentiableError(
                    f"`{self.label}` returns a list that it builds, which vmap cannot stack",
                    self.span if self.span.line and self.span.file != "<call>" else None,
                    "Return `np.array(...)` of it.",
                )
            rank = 1 + (len(leaf.type.dims) if isinstance(leaf.type, Array) else 0)
            if axis is not None and not -rank <= axis < rank:
                raise ArgumentError(f"out_axes {axis} is out of range: `{leaf.path}` has rank {rank}")
            outputs.append((leaf, None if axis is None else axis % rank))
        if not outputs:
            raise ArgumentError(f"`{self.label}` returns nothing that vmap could stack")
        return outputs

    def _refuse_varying(self, outputs: list[tuple[Tree, int | None]], inner: Instance) -> None:
        """A result without a batch axis must be the same for every element: it reads none of the batches."""
        if all(axis is not None for _, axis in outputs):
            return
        opaque = frozenset(i.name for i in self.ctx.instances.values() if i.rule is not None)
        every = frozenset(range(len(self.leaves)))
        flow = Facts(self.ctx.functions(), opaque).flow(inner.name).results or (every,) * len(outputs)
        moving = {i for i, (_, axis) in enumerate(self.leaves) if axis is not None}
        for (leaf, axis), origin in zip(outputs, flow, strict=True):
            if axis is None and (origin & moving or not is_inexact(leaf.type)):
                raise ArgumentError(
                    f"out_axes is None for `{leaf.path}` of `{self.label}`, which differs between elements",
                    why="Give it an axis.",
                )

    def _keep_apart(self, inner: Instance) -> None:
        """What the function writes into is a copy for each element: the arrays are the caller's."""
        for at in writes_of(self.ctx, inner):
            if at < len(self.leaves) and isinstance(self.leaves[at][0].type, Array):
                self.texts[at] = f"np.copy({self.texts[at]})"

    def _lines(self, outputs: list[tuple[Tree, int | None]]) -> list[str]:
        batches = [(name, axis) for name, (_, axis) in zip(self.names, self.leaves, strict=True) if axis is not None]
        lines = [f"count = {batches[0][0]}.shape[{batches[0][1]}]"]
        lines += [
            f'assert {name}.shape[{axis}] == count, "`{batches[0][0]}` and `{name}` differ in length"'
            for name, axis in batches[1:]
        ]
        taken = {self.label, "np", "count", "i", *self.names}
        results = unique([leaf.path for leaf, _ in outputs], taken)
        shapes = [self._shape(leaf.type, axis) for leaf, axis in outputs]
        known = [shape for shape in shapes if shape is not None]
        if len(known) == len(shapes):
            triples = zip(results, known, outputs, strict=True)
            lines += [created(name, shape, leaf.type) for name, shape, (leaf, _) in triples]
            start = "count"
        else:
            lines += self._first(results, outputs)
            start = "1, count"
        lines.append(f"for i in range({start}):")
        lines += ["    " + line for line in self._step(results, outputs)]
        lines.append(f"return {', '.join(results)}")
        return lines

    def _first(self, results: list[str], outputs: list[tuple[Tree, int | None]]) -> list[str]:
        """The first element on its own: it tells the shape of the others."""
        firsts = [f"{name}_first" for name in results]
        texts = [self._element(name, axis, "0") for name, (_, axis) in zip(self.names, self.leaves, strict=True)]
        lines = [f"{', '.join(firsts)} = {self.label}({', '.join(texts)})"]
        for name, first, (leaf, axis) in zip(results, firsts, outputs, strict=True):
            if axis is None:
                lines.append(f"{name} = {first}")
                continue
            rank = len(leaf.type.dims) if isinstance(leaf.type, Array) else 0
            shape = [f"{first}.shape[{k}]" for k in range(rank)]
            shape.insert(axis, "count")
            lines.append(created(name, shape, leaf.type))
            lines.append(f"{self._element(name, axis, '0')} = {first}")
        return lines

    def _step(self, results: list[str], outputs: list[tuple[Tree, int | None]]) -> list[str]:
        call = f"{self.label}({', '.join(self.texts)})"
        places = [(name, axis) for name, (_, axis) in zip(results, outputs, strict=True)]
        if len(places) == 1 and places[0][1] is not None:
            return [f"{self._element(*places[0])} = {call}"]
        lines = [f"{', '.join(f'{name}_i' for name in results)} = {call}"]
        lines += [f"{self._element(name, axis)} = {name}_i" for name, axis in places if axis is not None]
        return lines

    def _shape(self, kind: Type, axis: int | None) -> list[str] | None:
        """Write the shape of a stacked result from those of the arguments; None where they do not tell it."""
        if axis is None:
            return None
        texts: list[str] = []
        for dim in kind.dims if isinstance(kind, Array) else ():
            text = str(dim) if isinstance(dim, int) else self._length(dim)
            if text is None:
                return None
            texts.append(text)
        texts.insert(axis, "count")
        return texts

    def _length(self, dim: Sym) -> str | None:
        for name, (leaf, _) in zip(self.names, self.leaves, strict=True):
            for axis, own in enumerate(leaf.type.dims if isinstance(leaf.type, Array) else ()):
                if isinstance(own, Sym) and own.name == dim.name:
                    less = dim.minus - own.minus
                    return f"{name}.shape[{axis}]" + (f" - {less}" if less > 0 else f" + {-less}" if less else "")
        return None


def _element_type(kind: Type, axis: int | None) -> Type:
    """Return the type of one element of a batch."""
    if axis is None or not isinstance(kind, Array):
        return kind
    dims: tuple[Dim, ...] = (*kind.dims[:axis], *kind.dims[axis + 1 :])
    if not dims:
        return Scalar(kind.dtype)
    return Array(kind.dtype, dims, "C" if axis == 0 and kind.layout == "C" else "A")
