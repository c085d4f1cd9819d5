"""The programs of Jacobians: the primal once, then a sweep for each unit vector, as a Python function.

    def f_jacfwd(x):                                def f_jacrev(x):
        result, cos_x = f_lin(x)                        result, cos_x = f_fwd(x)
        block = np.empty((result.shape[0], x.size))     block = np.empty((result.size, x.shape[0]))
        for i in range(x.size):                         for i in range(result.size):
            unit = np.zeros(x.size)                         unit = np.zeros(result.size)
            unit[i] = 1.0                                   unit[i] = 1.0
            block[:, i] = f_push(cos_x, unit)               block[i] = f_bwd(cos_x, unit)
        return block                                    return block

They are differentiated and printed like any function, so that Jacobians nest.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from s2sad.api.nested import overwritten
from s2sad.api.options import Options
from s2sad.api.pieces import Half, filled, part, tuple_of
from s2sad.api.plan import differentiated, select, split_aux
from s2sad.api.signature import Argnums, Binder, label
from s2sad.api.structure import Tree, inexact_leaves, kind_text, tree_of
from s2sad.api.texts import created, identifier, index_text, unique
from s2sad.api.written import defined
from s2sad.errors import NotDifferentiableError, Span
from s2sad.frontend.functions import instantiate
from s2sad.frontend.generic import canonical, restored
from s2sad.frontend.lowerer import BottomReached, Context, Instance
from s2sad.ir.nodes import Function
from s2sad.ir.types import Array, Scalar, Static, Struct, Type, is_complex, leaf_types
from s2sad.transform.linear import NotSplitError
from s2sad.transform.pipeline import MODES


class Boundary:
    """Marks, in the structure of a Jacobian, where the output's structure ends and the argument's begins."""


@dataclass(frozen=True)
class Swept:
    """A Jacobian; the compiler asks it for its program.

    Attributes:
        fun: the function that is differentiated, with source.
        kind: "jacfwd" or "jacrev".
        argnums: which arguments are differentiated.
        options: the options of the transform.
        marked: a `Boundary` stands around the argument's structure in the result.
    """

    fun: Callable[..., Any]
    kind: str
    argnums: Argnums
    options: Options
    marked: bool = False

    s2sad_kind = "swept"

    def __call__(self, *args: Any) -> Any:
        """Stand in the text of a program; only the compiler calls it."""
        raise TypeError("a part of a program is called by the compiler only")

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of the function."""
        return inspect.signature(self.fun)

    @property
    def __name__(self) -> str:
        """The name of the function."""
        return label(self.fun)

    def s2sad_shared(self) -> tuple[Hashable, Any]:
        """Return what tells this Jacobian from others of the function, and the function."""
        return ("swept", self.kind, self.argnums, self.options, self.marked), self.fun

    def s2sad_bind(self, lw: Any, args: Any, kwargs: Any, node: Any) -> Any:
        """Take one value for each parameter."""
        return args

    def s2sad_instance(self, ctx: Context, types: tuple[Type, ...], span: Span) -> Instance:
        """Return the program for arguments of these types."""
        key = ("swept", self, types)
        if key not in ctx.instances:
            made, result = _Writer(self, ctx, types, span).instance()
            ctx.keep.append(self)
            return part(ctx, key, made, types, result)
        return ctx.instances[key]


class _Writer:
    """Writes the sweeps for one choice of types."""

    def __init__(self, what: Swept, ctx: Context, types: tuple[Type, ...], span: Span) -> None:
        self.what, self.ctx, self.types, self.span = what, ctx, types, span
        self.label = identifier(label(what.fun))
        binder = Binder(what.fun)
        trees = tuple(tree_of(kind, name) for kind, name in zip(types, binder.names_for(types), strict=True))
        stand_ins = tuple(tree.children for tree in trees)
        self.chosen = select(trees, binder.places(what.argnums, stand_ins))
        self.leaves = [leaf for tree in trees for leaf in tree.leaves()]
        self.wrt = [self.leaves.index(leaf) for leaf in differentiated(self.chosen, what.options, zeros=False)]
        taken = {"np", "i", "unit", *(f"{self.label}_{mode}" for mode in MODES)}
        self.names = unique([leaf.path for leaf in self.leaves], taken)
        self.taken = taken | set(self.names)
        kinds, self.back = canonical(tuple(leaf.type for leaf in self.leaves), False)
        given = iter(kinds)
        self.canonical = tuple(filled(kind, given) for kind in types)
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {"np": np}

    # ---- halves ----

    def _half(self, mode: str) -> tuple[Function, Any]:
        """Derive a half, and let the text know it by its name."""
        half = Half(self.what.fun, mode, self.canonical, tuple(self.wrt), self.what.options.aux)
        fn, made = half.derived(self.ctx)
        self.scope[f"{self.label}_{mode}"] = half
        return fn, made

    def _call(self, mode: str, targets: list[str], args: list[str]) -> str:
        call = f"{self.label}_{mode}({', '.join(args)})"
        return f"{', '.join(targets)} = {call}" if targets else call

    def _name(self, hint: str) -> str:
        name = unique([hint], self.taken)[0]
        self.taken.add(name)
        return name

    # ---- running ----

    def instance(self) -> tuple[Instance, Type]:
        """Return the lowered program, and the structure of its result."""
        base = instantiate(self.ctx, self.what.fun, self.canonical, self.span)
        if base.result is None:
            raise BottomReached
        output = tree_of(restored(base.result, self.back), "result")
        main, aux = split_aux(output, self.what.options)
        self._refuse_complex(main)
        results = unique([leaf.path for leaf in output.leaves()], self.taken)
        self.taken |= set(results)
        self.outputs = [(n, leaf) for n, leaf in zip(results, output.leaves(), strict=True)]
        moving = [(n, leaf) for n, leaf in self.outputs if leaf in inexact_leaves(main)]
        blocks = self._sweeps(moving, gradient=aux is None and output.is_leaf and not isinstance(output.type, Array))
        extra = [n for n, leaf in self.outputs if aux is not None and leaf in list(aux.leaves())]
        returned = [*blocks, *extra]
        self.lines.append(f"return {', '.join(returned)}" if returned else "return None")
        lowered = self._lowered()
        if base.function is not None and lowered.function is not None:
            lowered.function = replace(lowered.function, span=base.function.span)
        self.ctx.copied[lowered.name] = overwritten(self.ctx, self.ctx.functions(), base.name)
        return lowered, self._result(main, aux, lowered)

    def _lowered(self) -> Instance:
        name = f"{self.label}_{self.what.kind}"
        text = "\n    ".join([f"def {name}({', '.join(self.names)}):", *self.lines]) + "\n"
        made = instantiate(
            self.ctx, defined(name, text, self.scope), tuple(leaf.type for leaf in self.leaves), self.span
        )
        assert made.result is not None
        assert made.function is not None
        each = "argument" if self.what.kind == "jacfwd" else "result"
        inner = "the gradient of " if getattr(self.what.fun, "kind", "") == "grad" else ""
        doc = f"Jacobian of {inner}`{self.label}`, a sweep for each element of its {each}s."
        made.function = replace(made.function, doc=doc)
        self.ctx.parts[made.name] = Function(made.name, (), (), ())
        return made

    def _result(self, main: Tree, aux: Tree | None, made: Instance) -> Type:
        assert made.result is not None
        single = not isinstance(self.what.argnums, tuple)
        inner = [_only_inexact(tree) for tree in self.chosen]
        part = inner[0] if single else tuple_of(inner)
        whole: Type = _around(main, Struct(Boundary, (0,), (part,)) if self.what.marked else part)
        if aux is not None:
            whole = tuple_of([whole, aux.type])
        return filled(whole, iter(leaf_types(made.result)))

    def _refuse_complex(self, main: Tree) -> None:
        forward = self.what.kind == "jacfwd"
        found = [self.leaves[i] for i in self.wrt] if forward else inexact_leaves(main)
        for leaf in found:
            if is_complex(leaf.type) and not self.what.options.holomorphic:
                what = "arguments" if forward else "outputs"
                raise NotDifferentiableError(
                    f"`{leaf.path}` is {kind_text(leaf)}; {self.what.kind} takes real {what}; "
                    f"pass holomorphic=True if `{label(self.what.fun)}` is so"
                )
        for leaf in inexact_leaves(main) if self.what.options.holomorphic else ():
            if not is_complex(leaf.type):
                raise NotDifferentiableError(
                    f"holomorphic=True needs complex outputs; `{label(self.what.fun)}` returns {kind_text(leaf)}"
                )

    # ---- sweeps ----

    def _sweeps(self, moving: list[tuple[str, Tree]], gradient: bool) -> list[str]:
        """Write the sweeps; return the blocks, output by output."""
        outputs = [name for name, _ in self.outputs]
        wrt = [(self.names[i], self.leaves[i]) for i in self.wrt]
        if not wrt or not moving:
            self._half("primal")
            self.lines.append(self._call("primal", outputs, self.names))
            return []
        if self.what.kind == "jacfwd":
            return self._pushed(outputs, moving, wrt)
        if gradient:
            self._half("grad")
            bars = [self._name(f"{name}_bar") for name, _ in wrt]
            self.lines.append(self._call("grad", bars, self.names))
            return bars
        _, made = self._half("fwd")
        second, _ = self._half("bwd")
        kept = [self._name(p.name) for p in second.params[: made.residuals]]
        self.lines.append(self._call("fwd", [*outputs, *kept], self.names))
        if not any(isinstance(leaf.type, Array) for _, leaf in moving):
            return self._rows("bwd", second, kept, moving, wrt)
        try:
            _, made = self._half("hoist")
            second, _ = self._half("pull")
        except NotSplitError:
            return self._rows("bwd", second, kept, moving, wrt)
        more = [self._name(p.name) for p in second.params[: made.residuals]]
        self.lines += [self._call("hoist", more, kept)] if more else []
        return self._rows("pull", second, more, moving, wrt)

    def _pushed(self, outputs: list[str], moving: list[tuple[str, Tree]], wrt: list[tuple[str, Tree]]) -> list[str]:
        """Push tangents through what one run of the primal kept; run it anew where it cannot be cut."""
        try:
            _, made = self._half("lin")
            second, _ = self._half("push")
        except NotSplitError:
            second, _ = self._half("jvp")
            dots = [self._name(f"{name}_dot") for name, _ in moving]
            zeros = [_zero(name, leaf.type) for name, leaf in wrt]
            self.lines.append(self._call("jvp", [*outputs, *dots], [*self.names, *zeros]))
            return self._columns("jvp", second, self.names, moving, wrt, outputs)
        kept = [self._name(p.name) for p in second.params[: made.residuals]]
        self.lines.append(self._call("lin", [*outputs, *kept], self.names))
        return self._columns("push", second, kept, moving, wrt, [])

    def _rows(
        self, mode: str, second: Function, kept: list[str], moving: list[tuple[str, Tree]],
        wrt: list[tuple[str, Tree]],
    ) -> list[str]:  # fmt: skip
        """One reverse sweep for each element of each output."""
        blocks: list[str] = []
        seeds = [p.type for p in second.params[len(kept) :]]
        for at, (output, leaf) in enumerate(moving):
            bars = [self._name(f"{name}_bar") for name, _ in wrt]
            args = [_zero(n, other.type) for n, other in moving]
            if not isinstance(leaf.type, Array):
                args[at] = _one(seeds[at])
                self.lines.append(self._call(mode, bars, [*kept, *args]))
                blocks += bars
                continue
            own = [self._name(f"{output}_by_{name}") for name, _ in wrt]
            rank = len(leaf.type.dims)
            for block, (name, argument), kind in zip(own, wrt, second.results, strict=True):
                shape = [f"{output}.size", *_shape(name, argument.type)]
                self.lines.append(created(block, shape, kind))
            unit = self._unit(f"{output}.size", seeds[at])
            args[at] = _shaped("unit", output, leaf.type)
            self.lines += [*unit, "    " + self._call(mode, bars, [*kept, *args])]
            for block, bar in zip(own, bars, strict=True):
                self.lines.append(f"    {block}[i] = {bar}")
            for position, (block, (name, argument)) in enumerate(zip(own, wrt, strict=True)):
                if rank > 1:
                    shape = [*_shape(output, leaf.type), *_shape(name, argument.type)]
                    own[position] = f"np.reshape({block}, ({', '.join(shape)}))"
            blocks += own
        return blocks

    def _columns(
        self, mode: str, second: Function, args: list[str], moving: list[tuple[str, Tree]],
        wrt: list[tuple[str, Tree]], ignored: list[str],
    ) -> list[str]:  # fmt: skip
        """One tangent for each element of each argument; the blocks come output by output."""
        blocks: dict[tuple[int, int], str] = {}
        kinds = second.results[len(second.results) - len(moving) :] if moving else ()
        seeds = [p.type for p in second.params[len(args) : len(args) + len(wrt)]]
        skipped = [self._name(f"{name}_again") for name in ignored]
        for at, (name, argument) in enumerate(wrt):
            dots = [self._name(f"{output}_dot") for output, _ in moving]
            given = [_zero(n, leaf.type) for n, leaf in wrt]
            if not isinstance(argument.type, Array):
                given[at] = _one(seeds[at])
                self.lines.append(self._call(mode, [*skipped, *dots], [*args, *given]))
                blocks |= {(k, at): dot for k, dot in enumerate(dots)}
                continue
            own = [self._name(f"{output}_by_{name}") for output, _ in moving]
            rank = len(argument.type.dims)
            for block, (output, leaf), kind in zip(own, moving, kinds, strict=True):
                self.lines.append(created(block, [*_shape(output, leaf.type), f"{name}.size"], kind))
            given[at] = _shaped("unit", name, argument.type)
            self.lines += self._unit(f"{name}.size", seeds[at])
            self.lines.append("    " + self._call(mode, [*skipped, *dots], [*args, *given]))
            for block, dot, (_, leaf) in zip(own, dots, moving, strict=True):
                depth = len(leaf.type.dims) if isinstance(leaf.type, Array) else 0
                self.lines.append(f"    {index_text(block, depth)} = {dot}")
            for k, (block, (output, leaf)) in enumerate(zip(own, moving, strict=True)):
                shape = [*_shape(output, leaf.type), *_shape(name, argument.type)]
                blocks[k, at] = f"np.reshape({block}, ({', '.join(shape)}))" if rank > 1 else block
        return [blocks[k, at] for k in range(len(moving)) for at in range(len(wrt))]

    def _unit(self, size: str, kind: Type) -> list[str]:
        dtype = kind.dtype if isinstance(kind, Array | Scalar) else "float64"
        made = created("unit", [size], Array(dtype, ()), "zeros")
        return [f"for i in range({size}):", f"    {made}", "    unit[i] = 1.0"]


def _shape(name: str, kind: Type) -> list[str]:
    return [f"{name}.shape[{axis}]" for axis in range(len(kind.dims))] if isinstance(kind, Array) else []


def _shaped(unit: str, like: str, kind: Array) -> str:
    """Return the text of a direction that lies in memory as what it is a direction of, so that its views are views."""
    rank = len(kind.dims)
    if rank == 1:
        return unit
    shape = ", ".join(f"{like}.shape[{axis}]" for axis in range(rank))
    whole = f"np.reshape({unit}, ({shape}))"
    return f"np.asfortranarray({whole})" if kind.layout == "F" else whole


def _zero(name: str, kind: Type) -> str:
    if isinstance(kind, Array):
        return f"np.zeros_like({name})"
    return _number("0.0", kind)


def _one(kind: Type) -> str:
    return _number("1.0", kind)


def _number(text: str, kind: Type) -> str:
    dtype = kind.dtype if isinstance(kind, Scalar) else "float64"
    return text if dtype == "float64" else f"np.{dtype}({text})"


def _only_inexact(tree: Tree) -> Type:
    """Return the structure of an argument, None in place of what has no derivative."""
    if isinstance(tree.type, Struct):
        return Struct(tree.type.kind, tree.type.keys, tuple(_only_inexact(child) for child in tree.children))
    return tree.type if inexact_leaves(tree) else Static(None)


def _around(output: Tree, inner: Type) -> Type:
    """Return the output's structure with `inner` at each differentiated leaf."""
    if isinstance(output.type, Struct):
        return Struct(output.type.kind, output.type.keys, tuple(_around(c, inner) for c in output.children))
    return inner if inexact_leaves(output) else Static(None)
