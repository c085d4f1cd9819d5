"""Parts of derivatives that written programs call: over flat leaves, so that structure costs nothing.

`vmap` and the Jacobians are written as short Python functions that call such parts in a loop; the
compiler then reads, differentiates and prints those functions as it does the user's own.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from s2sad.analysis.facts import Facts
from s2sad.api.nested import adopt
from s2sad.api.signature import label
from s2sad.api.texts import identifier
from s2sad.errors import Span
from s2sad.frontend.functions import instantiate
from s2sad.frontend.lowerer import BottomReached, Context, Instance
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import Append, Apply, Assign, For, Function, Index, Stmt, Var
from s2sad.ir.types import Array, Dim, ListOf, Scalar, Static, Struct, Sym, Type, leaf_types
from s2sad.ir.walk import exprs_of, names_in, statements, subexpressions
from s2sad.transform.pipeline import Derived, derive_program


@dataclass(frozen=True)
class Flat:
    """A function as one of its leaves only: containers and static values are put back inside.

    Attributes:
        fun: the function, with source.
        types: the types of its arguments, whose leaves the call replaces.
    """

    fun: Callable[..., Any]
    types: tuple[Type, ...] = field(compare=False)

    s2sad_kind = "flat"

    def __call__(self, *leaves: Any) -> Any:
        """Stand in the text of a program; only the compiler calls it."""
        raise TypeError("a part of a program is called by the compiler only")

    def s2sad_bind(self, lw: Any, args: Any, kwargs: Any, node: Any) -> Any:
        """Take the leaves as they are passed."""
        return args

    def s2sad_instance(self, ctx: Context, types: tuple[Type, ...], span: Span) -> Instance:
        """Return the function's instance for leaves of these types; its results are its leaves."""
        inner = structured_instance(ctx, self.fun, self.types, types, span)
        return part(ctx, ("flat", inner.name), inner, types, flat_result(inner))


def structured_instance(
    ctx: Context, fun: Any, types: tuple[Type, ...], leaves: tuple[Type, ...], span: Span
) -> Instance:
    """Return the instance of `fun` for arguments of the structure of `types` and these leaves."""
    given = iter(leaves)
    inner = instantiate(ctx, fun, tuple(filled(kind, given) for kind in types), span)
    if inner.result is None or inner.function is None:
        raise BottomReached
    return inner


def part(ctx: Context, key: tuple[Any, ...], inner: Instance, types: tuple[Type, ...], result: Type) -> Instance:
    """Return an instance that is `inner` under another structure of arguments and results."""
    if key not in ctx.instances:
        ctx.instances[key] = Instance(inner.name, inner.fun, types, inner.function, result, inner.captured)
    return ctx.instances[key]


def filled(kind: Type, leaves: Iterator[Type]) -> Type:
    """Return `kind` with its leaves replaced, in order."""
    match kind:
        case Struct(container, keys, items):
            return Struct(container, keys, tuple(filled(item, leaves) for item in items))
        case Static():
            return kind
        case _:
            return next(leaves)


def flat_result(inner: Instance) -> Type:
    """Return the result type of an instance as its leaves: one bare, others in a tuple."""
    assert inner.result is not None
    leaves = leaf_types(inner.result)
    return leaves[0] if len(leaves) == 1 else tuple_of(leaves)


def tuple_of(items: list[Type]) -> Type:
    """Return the type of a tuple of these."""
    return Struct("tuple", tuple(range(len(items))), tuple(items))


_AFTER = ("bwd", "hoist", "pull", "push")  # they take what the first half kept


@dataclass(frozen=True)
class Half:
    """One half of a derivative, over leaves: the sweep that keeps residuals, or the one that uses them.

    Attributes:
        fun: the function, with source.
        mode: "fwd" and "bwd", or "lin" and "push".
        types: the types of its arguments.
        wrt: the leaves that are differentiated.
        aux: only the first of two outputs is differentiated.
        result: the structure of the result, where it is not to be its leaves.
        names: of its parameters, where it is mapped.
    """

    fun: Callable[..., Any]
    mode: str
    types: tuple[Type, ...]
    wrt: tuple[int, ...]
    aux: bool = False
    result: Type | None = None
    names: tuple[str, ...] = field(default=(), compare=False)

    s2sad_kind = "half"

    @property
    def __signature__(self) -> inspect.Signature:
        """Parameters of the names that the half gives its own."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(name, kind) for name in self.names])

    @property
    def __name__(self) -> str:
        """The name of the function, and which half it is."""
        return f"{identifier(label(self.fun))}_{self.mode}"

    def __call__(self, *leaves: Any) -> Any:
        """Stand in the text of a program; only the compiler calls it."""
        raise TypeError("a part of a program is called by the compiler only")

    def s2sad_bind(self, lw: Any, args: Any, kwargs: Any, node: Any) -> Any:
        """Take the leaves as they are passed."""
        return args

    def derived(self, ctx: Context) -> tuple[Function, Derived]:
        """Return this half as a function of the program, and the program it came with."""
        key = ("half", self.fun, self.mode, self.types, self.wrt, self.aux)
        if key not in ctx.instances:
            made = derive_program(self.fun, self.mode, self.types, self.wrt, self.aux, ctx)
            adopt(ctx, made)
            fn = made.functions[made.entry]
            if self.mode in _AFTER:
                fn = _reusable(fn, Facts(made.functions) if self.mode == "bwd" else None)
            if self.mode == "jvp":
                fn = _captured_last(fn, len(made.instance.captured), len(self.wrt))
            made.functions[fn.name] = fn
            ctx.parts[fn.name] = made.prepared.get(fn.name, fn)
            for known in [k for k, i in ctx.instances.items() if i.name == fn.name]:
                del ctx.instances[known]
            ctx.instances[key] = Instance(fn.name, made, (), fn, None, made.instance.captured)
        instance = ctx.instances[key]
        assert instance.function is not None
        return instance.function, instance.fun

    def s2sad_instance(self, ctx: Context, types: tuple[Type, ...], span: Span) -> Instance:
        """Return this half for leaves of these types, its results in the lengths of its arguments."""
        fn, _ = self.derived(ctx)
        leaves = [leaf for kind in types for leaf in leaf_types(kind)]
        dims = _dims([p.type for p in fn.params], leaves)
        results = [_renamed(kind, dims) for kind in fn.results]
        result = results[0] if len(results) == 1 else tuple_of(results)
        if self.result is not None:
            result = filled(self.result, iter(results))
        captured = ctx.instances["half", self.fun, self.mode, self.types, self.wrt, self.aux].captured
        inner = Instance(fn.name, self, types, fn, result, [] if self.mode in _AFTER else captured)
        return part(ctx, ("half", fn.name, types, repr(result)), inner, types, result)


def _captured_last(fn: Function, captured: int, dots: int) -> Function:
    """Return a tangent that takes the arrays from outside after the tangents, as they are passed."""
    first, last = len(fn.params) - captured - dots, len(fn.params) - dots
    return replace(fn, params=(*fn.params[:first], *fn.params[last:], *fn.params[first:last]))


def _reusable(fn: Function, facts: Facts | None) -> Function:
    """Return a second half that works on copies of the residuals which it would use up.

    `facts` None: it has private copies of arrays already.
    """
    start: list[Stmt] = []
    writes = facts.writes(fn.name) if facts is not None else frozenset[int]()
    for at in sorted(writes):
        param = fn.params[at]
        var = Var(param.name, param.type)
        if isinstance(param.type, ListOf):
            start += _list_copy(var, fn)
        else:
            start.append(Assign(var, build(np.copy, var), fn.span))
    popped = {
        e.args[0].name
        for s in statements(fn.body) for expr in exprs_of(s) for e in subexpressions(expr)
        if isinstance(e, Apply) and e.fn is ops.pop and isinstance(e.args[0], Var)
    }  # fmt: skip
    written = {fn.params[at].name for at in writes}
    for param in fn.params:
        if param.name in popped - written:
            start += _list_copy(Var(param.name, param.type), fn)
    return replace(fn, body=(*start, *fn.body))


def _list_copy(var: Var, fn: Function) -> list[Stmt]:
    taken = names_in(fn.body) | {p.name for p in fn.params}
    copy, at = (next(n for n in _candidates(f"{var.name}_{word}") if n not in taken) for word in ("copy", "at"))
    assert isinstance(var.type, ListOf) and var.type.item is not None
    items, turn = Var(copy, var.type), Var(at, Scalar("int64", True))
    length = build(ops.length, var)
    step = Append(items, Index(var, (turn,), var.type.item), fn.span)
    return [
        Assign(items, Apply(ops.new_list, (), var.type), fn.span),
        For(turn, literal(0), length, literal(1), (step,), fn.span),
        Assign(var, items, fn.span),
    ]


def _candidates(base: str) -> Iterator[str]:
    yield base
    yield from (f"{base}_{count}" for count in itertools.count(2))


def _dims(own: list[Type], given: list[Type]) -> dict[str, tuple[Sym, Dim]]:
    """Pair the symbolic lengths of parameters with those of what is passed."""
    found: dict[str, tuple[Sym, Dim]] = {}
    for mine, other in zip(own, given, strict=False):
        if isinstance(mine, Array) and isinstance(other, Array):
            for a, b in zip(mine.dims, other.dims, strict=True):
                if isinstance(a, Sym):
                    found.setdefault(a.name, (a, b))
    return found


def _renamed(kind: Type, dims: dict[str, tuple[Sym, Dim]]) -> Type:
    """Return a type in the lengths of what is passed."""
    if not isinstance(kind, Array):
        return kind
    made: list[Dim] = []
    for dim in kind.dims:
        if isinstance(dim, Sym) and dim.name in dims:
            own, given = dims[dim.name]
            less = dim.minus - own.minus
            made.append(given - less if isinstance(given, int) else Sym(given.name, given.minus + less, given.nonone))
        else:
            made.append(dim)
    return Array(kind.dtype, tuple(made), kind.layout)
