"""Derivatives met inside functions that are differentiated: `grad(grad(f))`, `jvp(grad(f), …)`.

The inner derivative is a program like any other; the outer one differentiates that program.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from s2sad.analysis.facts import Facts
from s2sad.api.signature import Binder
from s2sad.api.structure import Tree, tree_of
from s2sad.backends.base import effective
from s2sad.errors import AliasError, RuleError, Span
from s2sad.frontend.functions import instantiate
from s2sad.frontend.lowerer import Context, Instance
from s2sad.frontend.transforms import needs_writing_out
from s2sad.frontend.userrule import UserRule
from s2sad.ir.nodes import Function
from s2sad.ir.types import Static, Struct, Type, is_inexact
from s2sad.rules.registry import is_read_as_ours
from s2sad.transform.entry import bound_apart
from s2sad.transform.pipeline import Derived, derive_instance, derive_program


def context(target: str = "cpu") -> Context:
    """Return a context in which transformed functions are derived where they are called."""
    as_is = effective(target) == "python"
    return Context(derive=instance_of, derivative=derivative_of, writes=writes_of, rule_of=_user_rule, as_is=as_is)


def derivative_of(
    ctx: Context, instance: Instance, mode: str, wrt: tuple[int, ...], aux: bool, own: frozenset[int], span: Span
) -> Function:
    """Return a derivative of a function of the program, after adding it and what it calls.

    Raises:
        AliasError: the function writes into an array that is not among its `own` parameters, so
            that its derivative, which works on copies, would not do what a call does.
    """
    main = instance.function
    assert main is not None
    made = derive_instance(ctx, instance, mode, wrt, aux)
    for at in Facts(made.sources).writes(main.name) - own:
        raise AliasError(
            f"`{instance.name}` is differentiated here, and writes into `{main.params[at].name}` of the function "
            "around it",
            span,
            "Write into an array of its own, and return it.",
        )
    adopt(ctx, made)
    return made.functions[made.entry]


def writes_of(ctx: Context, instance: Instance) -> frozenset[int]:
    """Return the positions of the parameters that a function of the program writes into."""
    opaque = frozenset(known.name for known in ctx.instances.values() if known.rule is not None)
    return Facts(ctx.functions(), opaque).writes(instance.name)


def overwritten(ctx: Context, functions: dict[str, Function], name: str) -> frozenset[int]:
    """Return the positions of the parameters that a call writes into, itself or in copies that derivatives make.

    No other argument may be the same memory: in a call of the function, it would see what is written.
    """
    functions = {**functions, name: bound_apart(functions[name])}
    stubs = {known: replace(fn, body=()) for known, fn in functions.items() if known in ctx.copied}
    facts = Facts({**functions, **stubs})
    facts.declared.update(ctx.copied)
    return facts.writes(name)


def adopt(ctx: Context, made: Derived) -> None:
    """Add the functions of a derived program to the program under construction."""
    names = {known.name for known in ctx.instances.values()}
    for name, function in made.functions.items():
        if name not in names:
            ctx.instances["derived", name] = Instance(name, None, (), function)


def _user_rule(fun: Any) -> UserRule | None:
    """Return what the user gave for a callable: on the object itself, or in a scope of rules."""
    from s2sad.api.custom import CustomJVP, CustomVJP, rule_of

    found = rule_of(fun)
    if found is not None:
        fun = found.callable if isinstance(fun, types.MethodType) else fun  # one object for all accesses of a method
        own = fun.fun if isinstance(fun, CustomJVP | CustomVJP) else fun
        return UserRule(own, found.jvp, found.fwd, found.bwd, owner=fun, makers=found.makers)
    if isinstance(fun, CustomJVP | CustomVJP) and fun.parts()[0] is None:
        how = "defjvp(rule)" if isinstance(fun, CustomJVP) else "defvjp(fwd, bwd)"
        raise RuleError(f"{fun!r} is called before it has a rule", why=f"Give it one with `.{how}`.")
    if isinstance(fun, CustomJVP):
        return UserRule(
            fun.fun, jvp=fun.rule, nondiff=fun.nondiff_argnums, owner=fun, per_argument=fun.per_argument
        )
    if isinstance(fun, CustomVJP):
        return UserRule(fun.fun, jvp=fun.jvp, fwd=fun.fwd, bwd=fun.bwd, nondiff=fun.nondiff_argnums, owner=fun)
    return None


def instance_of(ctx: Context, fun: Any, types: tuple[Type, ...], span: Span) -> Instance:
    """Return the program of a transformed function for these argument types."""
    from s2sad.api.plan import require_scalar
    from s2sad.api.transformed import plain
    from s2sad.api.written import calling, entered, passing

    if hasattr(fun, "s2sad_instance"):  # it knows its own program
        return fun.s2sad_instance(ctx, types, span)
    aux = fun.options.aux if hasattr(fun, "options") else False
    if is_read_as_ours(fun):
        return instantiate(ctx, passing(fun), types, span)
    if needs_writing_out(fun):
        return instantiate(ctx, calling(fun), types, span)
    key = ("transformed", fun, types)
    if key in ctx.instances:
        return ctx.instances[key]
    inner = entered(plain(fun.fun, fun.options))
    chosen, wrt = _wrt(fun, inner, types)
    made = derive_program(inner, fun.kind, types, wrt, aux, ctx)
    if fun.kind in ("grad", "value_and_grad") and made.instance.result is not None:
        require_scalar(tree_of(made.instance.result, "output"), inner, fun.options)
    adopt(ctx, made)
    entry = made.functions[made.entry]
    if fun.kind != "primal" and made.instance.function is not None:
        ctx.copied[made.entry] = overwritten(ctx, made.sources, made.instance.name)
    if fun.kind != "primal":
        ctx.parts[made.entry] = made.prepared.get(made.entry, entry)
    assert made.instance.result is not None
    result = made.instance.result
    if fun.kind != "primal":
        bars = iter(entry.results[len(entry.results) - len(wrt) :])
        parts = tuple(_filled(tree.type, bars) for tree in chosen)
        gradient = _tuple(parts) if isinstance(fun.argnums, tuple) else parts[0]
        result = gradient if fun.kind == "grad" else _tuple((result, gradient))
    instance = Instance(made.entry, fun, types, entry, result, made.instance.captured)
    ctx.instances[key] = instance
    ctx.keep.append(fun)
    return instance


def _wrt(fun: Any, inner: Any, types: tuple[Type, ...]) -> tuple[tuple[Tree, ...], tuple[int, ...]]:
    """Return the structures of the differentiated arguments, and which leaves those are."""
    from s2sad.api.plan import differentiated, select

    binder = Binder(inner)
    trees = tuple(tree_of(kind, name) for kind, name in zip(types, binder.names, strict=True))
    if fun.kind == "primal":
        return (), ()
    stand_ins = tuple(tree.children for tree in trees)
    chosen = select(trees, binder.places(fun.argnums, stand_ins))
    leaves = [leaf for tree in trees for leaf in tree.leaves()]
    wrt = differentiated(chosen, fun.options, zeros=fun.kind in ("grad", "value_and_grad"))
    return chosen, tuple(leaves.index(leaf) for leaf in wrt)


def _filled(kind: Type, bars: Iterator[Type]) -> Type:
    """Return the structure of an argument with the types of its cotangents."""
    if isinstance(kind, Struct):
        return Struct(kind.kind, kind.keys, tuple(_filled(item, bars) for item in kind.items))
    if isinstance(kind, Static) or not is_inexact(kind):
        return Static(None)
    return next(bars)


def _tuple(items: tuple[Type, ...]) -> Type:
    return Struct("tuple", tuple(range(len(items))), items)
