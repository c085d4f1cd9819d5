"""One specialisation of a transformed function: derived, loaded, and wrapped in generated code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2sad.api import kept
from s2sad.api.captured import NOTHING, Captures, captures
from s2sad.api.closures import derived_once
from s2sad.api.deriving import DERIVING
from s2sad.api.direct import Direct, direct, missed
from s2sad.api.finite import checked
from s2sad.api.flatten import Finish, Match, Outcome, Result, finisher, in_tuple, matcher, only
from s2sad.api.guards import Guard, both, guard
from s2sad.api.intermediates import recorded
from s2sad.api.notes import called
from s2sad.api.options import Options, nans_are_checked
from s2sad.api.signature import Place, label
from s2sad.api.structure import Tree, child_values, inexact_leaves, kind_text, rebuild, tree_of
from s2sad.errors import AliasError, ArgumentError, NotDifferentiableError
from s2sad.frontend.source import returned_at
from s2sad.ir.types import Array, ListOf, Scalar, Static, Struct, Sym, is_complex, is_inexact


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of the compiler, but for the types of the arguments.

    Attributes:
        fun: the function to differentiate.
        target: where the derivative runs.
        options: the caller's choices.
    """

    fun: Callable[..., Any]
    target: str
    options: Options


@dataclass(frozen=True, slots=True)
class Entry:
    """A loaded derivative.

    Attributes:
        call: the callable over flat leaves; on target "cpu" a Numba dispatcher.
        derivative: what the compiler returned.
        loaded: what the backend returned.
        leaves: the leaves of the arguments.
        wrt: the leaves that are differentiated.
        output: the structure of the primal's result.
        captured: the arrays of outer scopes that every call passes after the leaves.
    """

    call: Callable[..., Any]
    derivative: Any
    loaded: Any
    leaves: tuple[Tree, ...]
    wrt: tuple[Tree, ...]
    output: Tree
    captured: Captures = NOTHING

    @property
    def arrays(self) -> tuple[int, ...]:
        """Which of the entry's first arguments, leaves and captured arrays, are arrays."""
        count = len(self.leaves)
        own = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf.type, Array)]
        return (*own, *range(count, count + len(self.captured.items)))

    @property
    def fresh(self) -> frozenset[int]:
        """Which of the entry's flat values surely own their memory."""
        return getattr(self.derivative, "fresh", frozenset())

    @property
    def given_back(self) -> frozenset[int]:
        """Which of the entry's flat values are arguments as they were given."""
        return getattr(self.derivative, "given_back", frozenset())

    def main(self, options: Options) -> Tree:
        """Return the structure of the differentiated part of the output."""
        return split_aux(self.output, options)[0]


def split_aux(output: Tree, options: Options) -> tuple[Tree, Tree | None]:
    """Split the output of a function with `has_aux` in two; raises ArgumentError for no pair."""
    if not options.aux:
        return output, None
    if len(output.children) != 2 or output.cls is not tuple:
        raise ArgumentError(f"with has_aux=True the function must return a pair, not {kind_text(output)}")
    return output.children[0], output.children[1]


def entry(request: Request, mode: str, trees: Sequence[Tree], wrt: Sequence[Tree]) -> Entry:
    """Derive `mode` for arguments of these structures, and load the result.

    Raises:
        S2SADError: whatever the compiler or the backend finds wrong, as it is.
    """
    from s2sad import backends

    leaves = tuple(leaf for tree in trees for leaf in tree.leaves())
    position = {leaf: i for i, leaf in enumerate(leaves)}
    indices = tuple(position[leaf] for leaf in wrt)
    types = tuple(tree.type for tree in trees)


    def derived() -> tuple[Any, Any]:
        made = kept.derive(request.fun, mode, types, indices, request.target, request.options)
        if mode in ("grad", "value_and_grad"):
            require_scalar(tree_of(made.result, "output"), request.fun, request.options)
        return made, backends.load(made.module, request.target)

    with DERIVING:
        keys = tuple(tree.key for tree in trees)  # objects that compare equal may still differ
        asked = mode, types, keys, indices, request.target, request.options
        derivative, loaded = derived_once(request.fun, asked, derived, trees)
    call = loaded.entry
    if request.options.debug is True:
        call = recorded(loaded, request.fun, label(request.fun))
    elif nans_are_checked(request.options):
        call = checked(loaded, label(request.fun))
    if mode not in ("bwd", "push"):  # halves of a derivative take what the other half has kept, and no arguments
        call = kept_apart(call, derivative, leaves)
    output = tree_of(derivative.result, "output")
    captured = captures(() if mode in ("bwd", "push") else getattr(derivative, "captured", ()))
    return Entry(call, derivative, loaded, leaves, tuple(wrt), output, captured)


def kept_apart(call: Callable[..., Any], derivative: Any, leaves: Sequence[Tree]) -> Callable[..., Any]:
    """Check at each call that no array overlaps one that the function writes; raises AliasError."""
    arrays = [i for i, leaf in enumerate(leaves) if isinstance(leaf.type, Array)]
    if not derivative.written or len(arrays) < 2:
        return call
    names = derivative.names
    written = [i for i in arrays if names[i] in derivative.written]

    def checked_call(*values: Any) -> Any:
        for i in written:
            for j in arrays:
                if i != j and np.may_share_memory(values[i], values[j]):
                    raise AliasError(
                        f"arguments `{names[i]}` and `{names[j]}` overlap, and `{names[i]}` is written",
                        derivative.derived.instance.function.span,
                        "Pass a copy of one of them.",
                    )
        return call(*values)

    return checked_call


def require_scalar(output: Tree, fun: Any, options: Options) -> None:
    """Check the output of a function under `grad`; raises NotDifferentiableError."""
    name = label(fun)
    output, _ = split_aux(output, options)
    kind = output.type
    if isinstance(kind, Array) and kind.dims:
        raise NotDifferentiableError(
            f"`{name}` returns {kind_text(output)}, of shape {shape_text(kind)}; a gradient needs a scalar",
            returned_at(fun),
            why="Use `s2sad.jacrev` or `s2sad.jacfwd` for the Jacobian, or `s2sad.vjp` with a cotangent.",
        )
    if isinstance(kind, Struct | ListOf):
        aux = " If only its first item is to be differentiated, pass has_aux=True." * (output.cls is tuple)
        raise NotDifferentiableError(
            f"`{name}` returns a {output.cls.__name__}; a gradient needs a scalar",
            returned_at(fun),
            why=f"Use `s2sad.jacrev` for Jacobians, or `s2sad.vjp` with cotangents.{aux}",
        )
    if isinstance(kind, Static) or not is_inexact(kind):
        raise NotDifferentiableError(
            f"`{name}` returns {kind_text(output)}, which has no gradient",
            returned_at(fun),
            why="A gradient needs a real scalar output of a floating-point type.",
        )
    if is_complex(kind) and not options.holomorphic:
        raise NotDifferentiableError(
            f"`{name}` returns a complex scalar; its gradient needs holomorphic=True",
            returned_at(fun),
            why="Differentiate a real output such as `abs(...)` or `.real`, or use `s2sad.vjp`.",
        )
    if options.holomorphic and not is_complex(kind):
        raise NotDifferentiableError(
            f"holomorphic=True needs a complex output; `{name}` returns a real one", returned_at(fun)
        )


def shape_text(kind: Array) -> str:
    """Write a shape, unknown lengths by their names: `(x.shape[0], 3)`."""
    texts = [_dim_text(dim) if isinstance(dim, Sym) else str(dim) for dim in kind.dims]
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


def _dim_text(dim: Sym) -> str:
    name, dot, axis = dim.name.rpartition(".")
    text = f"{name}.shape[{axis}]" if dot and axis.isdigit() else dim.name.partition("#")[0]
    text = text if text.isidentifier() or axis.isdigit() else "n"
    return f"{text} - {dim.minus}" if dim.minus else text


def select(trees: Sequence[Tree], places: Sequence[Place]) -> tuple[Tree, ...]:
    """Return the structures of the differentiated arguments."""
    return tuple(
        trees[place.parameter] if place.item is None else trees[place.parameter].children[place.item]
        for place in places
    )


def differentiated(chosen: Sequence[Tree], options: Options, zeros: bool = True) -> tuple[Tree, ...]:
    """Return the leaves that get a gradient; `zeros`: the transform has the option `allow_int`.

    Raises:
        NotDifferentiableError: for an integer or static leaf, unless `allow_int`; for a real one
            under `holomorphic`.
    """
    for tree in chosen:
        for node in tree.nodes():
            nothing = isinstance(node.type, Static) and node.value is None
            if not is_inexact(node.type) and not nothing and (not options.allow_int or _extended(node)):
                raise _not_inexact(node, zeros)
            if options.holomorphic and is_inexact(node.type) and not is_complex(node.type):
                raise NotDifferentiableError(
                    f"`{node.path}` is {kind_text(node)}; holomorphic=True needs complex arguments",
                    why=f"Pass `{_cast(node, 'complex')}`.",
                )
    return tuple(leaf for tree in chosen for leaf in inexact_leaves(tree))


def _extended(node: Tree) -> str:
    """Return the builtin kind of a leaf of floating-point numbers that are not differentiated; "" of any other."""
    if not isinstance(node.type, Scalar | Array) or is_inexact(node.type):
        return ""
    return {"f": "float", "c": "complex"}.get(np.dtype(node.type.dtype).kind, "")


def _as_container(node: Tree) -> str:
    """Say how an object becomes a container, if it is one of a class of the user's."""
    cls = type(node.value)
    if callable(node.value) or cls.__module__ in ("builtins", "numpy"):
        return ""
    return (
        f", make `{cls.__name__}` a dataclass, or register it: "
        'optree.register_pytree_node(cls, flatten, unflatten, namespace="s2sad")'
    )


def _as_none(node: Tree, zeros: bool) -> str:
    """Say how a part that is no number, beside others that are, stays what it is."""
    return ", or pass allow_int=True: the gradient has None there" if zeros and not node.path.isidentifier() else ""


def _not_inexact(node: Tree, zeros: bool) -> NotDifferentiableError:
    if isinstance(node.type, Static):
        return NotDifferentiableError(
            f"`{node.path}` is {kind_text(node)}, which has no gradient",
            why=f"Choose other arguments with `argnums`{_as_container(node)}{_as_none(node, zeros)}.",
        )
    if wide := _extended(node):
        return NotDifferentiableError(
            f"`{node.path}` is {kind_text(node)}, which has no gradient here",
            why=f"Numbers of more than 64 bits are not differentiated: pass `{_cast(node, wide)}`.",
        )
    return NotDifferentiableError(
        f"`{node.path}` is {kind_text(node)}, which has no gradient",
        why=f"Pass `{_cast(node, 'float')}`, choose other arguments with `argnums`, "
        + ("or pass allow_int=True for a gradient of zero." if zeros else "or pass it as an argument of its own."),
    )


def _cast(node: Tree, kind: str) -> str:
    return f"{node.path}.astype({kind})" if issubclass(node.cls, np.ndarray) else f"{kind}({node.path})"


@dataclass(slots=True)
class Plan:
    """A specialisation of a transform of flat entries: match, run, shape the results."""

    match: Match
    entry: Entry
    finish: Finish
    outcome: Outcome
    guard: Guard | None
    trees: tuple[Tree, ...]
    """The structures that it was made for."""
    direct: Direct
    """All steps of a call in one, where that is possible."""

    def run(self, leaves: tuple[Any, ...]) -> Any:
        """Return the structured results for the leaves of one call."""
        if self.entry.captured.items:
            leaves += self.entry.captured.read()
        return self.finish(called(self.entry, leaves), leaves)


def plan_of(request: Request, kind: str, trees: tuple[Tree, ...], chosen: Sequence[Tree], single: bool) -> Plan:
    """Specialise "primal", "grad" or "value_and_grad" for arguments of these structures."""
    options = request.options
    wrt = differentiated(chosen, options) if kind != "primal" else ()
    unchanged = guard(request.fun, trees)
    mode = kind if (wrt and not options.aux) or kind == "primal" else "value_and_grad"
    if kind != "primal" and not wrt:
        made = entry(request, "primal", trees, ())
        require_scalar(made.output, request.fun, request.options)
    else:
        made = entry(request, mode, trees, wrt)
    outcome = _primal_outcome(made) if kind == "primal" else _grad_outcome(made, kind, chosen, single, options)
    plan = planned(made, trees, unchanged, outcome)
    leaves = [leaf for tree in chosen for leaf in tree.leaves()]
    if kind != "primal" and any(leaf not in made.wrt for leaf in leaves):
        plan.finish, plan.direct = _with_zeros(plan.finish, made, kind, chosen, single, options), missed
    return plan


def planned(made: Entry, trees: tuple[Tree, ...], unchanged: Guard | None, outcome: Outcome) -> Plan:
    """Return the plan of an entry whose flat values become `outcome`."""
    unchanged = both(unchanged, made.captured.guard)
    finish = finisher(outcome, made.arrays)
    return Plan(matcher(trees), made, finish, outcome, unchanged, trees, direct(trees, made, unchanged, outcome))


def _primal_outcome(made: Entry) -> Outcome:
    leaves = list(made.output.leaves())
    where = {leaf: i for i, leaf in enumerate(leaves)}
    return Outcome([Result(made.output, where, True)], len(leaves), only, made.fresh)


def _grad_outcome(made: Entry, kind: str, chosen: Sequence[Tree], single: bool, options: Options) -> Outcome:
    """Shape (value, aux, bars) or (aux, bars) as the transform promises."""
    outputs = list(made.output.leaves())
    flat_outputs = outputs if kind == "value_and_grad" or options.aux or not made.wrt else []
    where = {leaf: i for i, leaf in enumerate(flat_outputs)}
    bars = {leaf: len(flat_outputs) + i for i, leaf in enumerate(made.wrt)}
    count = len(flat_outputs) + len(bars)
    results = [Result(tree, bars) for tree in chosen]
    if flat_outputs:
        results.append(Result(made.output, where, True))

    def form(texts: list[str]) -> str:
        grads = texts[0] if single else in_tuple(texts[: len(chosen)])
        if kind == "value_and_grad":
            return in_tuple([texts[-1], grads])
        return in_tuple([grads, f"{texts[-1]}[1]"]) if options.aux else grads

    return Outcome(results, count, form, made.fresh)


def _with_zeros(
    finish: Finish, made: Entry, kind: str, chosen: Sequence[Tree], single: bool, options: Options
) -> Finish:
    """Put the zeros of integer leaves into what `finish` returns."""
    at = 1 if kind == "value_and_grad" else 0
    packed = kind == "value_and_grad" or options.aux

    def finished(flat: Any, leaves: tuple[Any, ...]) -> Any:
        parts = finish(flat, leaves)
        grads = parts[at] if packed else parts
        pairs = zip(chosen, (grads,) if single else grads, strict=True)
        filled = tuple([zeros_for_integers(tree, part, made, leaves) for tree, part in pairs])
        grads = filled[0] if single else filled
        if not packed:
            return grads
        return (parts[0], grads) if at else (grads, parts[1])

    return finished


def zeros_for_integers(tree: Tree, part: Any, made: Entry, leaves: tuple[Any, ...]) -> Any:
    """Put zeros of the argument's own shape and dtype where `allow_int` lets an integer stand."""
    if tree.is_leaf:
        if is_inexact(tree.type):
            return part
        value = leaves[made.leaves.index(tree)]
        return np.zeros_like(value) if isinstance(tree.type, Array) else tree.cls(0)
    parts = child_values(tree, part)
    if parts is None:
        return part
    children = [zeros_for_integers(c, p, made, leaves) for c, p in zip(tree.children, parts, strict=True)]
    return rebuild(tree, children)
