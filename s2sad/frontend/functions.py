"""Functions of the program: each Python function, once for every tuple of argument types."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import replace
from typing import Any

import gast
import numpy as np

from s2sad.errors import ArgumentError, S2SADError, Span, UnsupportedSyntaxError
from s2sad.frontend import exchanged_rows, growing, keyed, known_rows, references
from s2sad.frontend.constant_tables import with_tables
from s2sad.frontend.containers import (
    AN_ITEM,
    OF_THE_CALLER,
    UNDECIDED,
    current,
    identified,
    is_mutable,
    may_be_returned,
    of_the_caller,
    returns_given,
)
from s2sad.frontend.generic import canonical, known_results, restored
from s2sad.frontend.growing import Guesses, as_number, passed
from s2sad.frontend.in_order import without_marks
from s2sad.frontend.inline import dynamic_lists
from s2sad.frontend.lists import settled, under_one_name
from s2sad.frontend.lowerer import BottomReached, Captured, Context, Instance, Lowerer
from s2sad.frontend.matrices import with_arrays
from s2sad.frontend.noneresults import called, is_entered, settle_results
from s2sad.frontend.optional import KindFound, optional_names
from s2sad.frontend.ragged import with_rows
from s2sad.frontend.source import Source, source_of, unwrap
from s2sad.frontend.statements import lower_block
from s2sad.frontend.surely import NoneOperand, SurelyRaises
from s2sad.frontend.texts import changing_texts
from s2sad.frontend.values import (
    FuncV,
    StaticV,
    StructV,
    V,
    Value,
    const,
    join_types,
    leaves_of,
    literal,
    rebuild,
    type_of,
)
from s2sad.frontend.widening import check_not_written
from s2sad.ir.nodes import Assign, CallStmt, Const, Expr, Function, Param, Raise, Return, Stmt, Var
from s2sad.ir.types import ListOf, Scalar, Static, Struct, Type, given_length, leaf_types
from s2sad.ir.walk import map_blocks, statements
from s2sad.rules.registry import is_read_as_ours

_MAX_KINDS = 12


def _check_kinds(ctx: Context, fun: Any, source: Source) -> None:
    """Raise where a function calls itself again and again with arguments of other kinds."""
    if sum(i.fun is fun and i.open for i in ctx.instances.values()) > _MAX_KINDS:
        raise UnsupportedSyntaxError(
            f"`{source.name}` calls itself with arguments of ever new kinds", source.span(source.node),
            "A list or tuple that grows with each call has no single type. Pass an array, or a list that is "
            "appended to in place.",
        )  # fmt: skip


def instantiate(ctx: Context, fun: Any, types: tuple[Type, ...], span: Span) -> Instance:
    """Return the instance of `fun` for these argument types, lowering it on first use."""
    if (hasattr(fun, "s2sad_kind") or is_read_as_ours(fun)) and ctx.derive is not None:
        made = ctx.derive(ctx, fun, types, span)
        if made is not None:
            return made
    source = source_of(fun)
    key = (_identity(fun), tuple(_key(kind) for kind in types))
    if key in ctx.instances:
        return ctx.instances[key]
    _check_kinds(ctx, fun, source)
    instance = Instance(ctx.unique(source.name), fun, types)
    ctx.instances[key] = instance
    ctx.keep.append(fun)
    plain = unwrap(fun)
    env: dict[str, Value] = {}
    names = parameter_names(source.node)
    if hasattr(plain, "__self__"):
        env[names[0]] = StaticV(plain.__self__)
        names = names[1:]
    _finish(ctx, instance, source, names, types, env)
    ctx.instances[key] = ctx.instances.pop(key)  # callees were added meanwhile: keep them before
    return instance


def _identity(fun: Any) -> Any:
    plain = unwrap(fun)
    return (id(plain.__func__), id(plain.__self__)) if hasattr(plain, "__self__") else id(plain)


def _key(kind: Type) -> Any:
    match kind:
        case Static(value):
            try:
                hash(value)
            except TypeError:
                return ("static", id(value))
            return ("static", type(value).__name__, value)
        case Struct(container, keys, items):
            return (container, keys, tuple(_key(item) for item in items))
        case _:
            return kind


def parameter_names(node: Any) -> list[str]:
    """Return the parameter names in signature order, `*args`, keyword-only ones and `**kwargs` included."""
    args = node.args
    names = [a.id for a in [*args.posonlyargs, *args.args]]
    if args.vararg is not None:
        names.append(args.vararg.id)
    names.extend(a.id for a in args.kwonlyargs)
    if args.kwarg is not None:
        names.append(args.kwarg.id)
    return names


def _finish(
    ctx: Context, instance: Instance, source: Source, names: list[str], types: tuple[Type, ...], env: dict[str, Value]
) -> None:
    """Lower the body; what the function calls may call it in turn."""
    instance.open = True
    try:
        _settle(ctx, instance, source, names, types, env)
    finally:
        instance.open = False


def _settle(
    ctx: Context, instance: Instance, source: Source, names: list[str], types: tuple[Type, ...], env: dict[str, Value]
) -> None:
    """Lower the body; a recursive function is lowered twice, the second time knowing its result.

    So is what it calls that calls it in turn: until its result was known, those paths were missing.
    """
    before = dict(ctx.instances)
    if _is_procedure(source.node):
        instance.result = Static(None)

    guesses = Guesses(ctx, instance)

    def lowered() -> bool:
        while True:
            try:
                return _lower_into(ctx, instance, source, names, types, env)
            except KindFound:
                _drop(ctx, before)
            except keyed.KeyedFound as found:
                if found.owner != id(source.node):
                    raise
                _drop(ctx, before)
            except S2SADError as error:
                if not guesses.suppose_another(error):
                    tried = exchanged_rows.give_up(ctx, source), known_rows.give_up(ctx, source)
                    tried = *tried, references.give_up(ctx, instance.fun, error)
                    if not (any(tried) or keyed.give_up(ctx, source, error)):
                        raise ctx.refused_items.get(id(instance.fun), guesses.first) or error
                    guesses.first = None
                _drop(ctx, before)

    def whole() -> bool:
        return complete and not any(one.incomplete for key, one in ctx.instances.items() if key not in before)

    waits = any(one.open for one in before.values() if one is not instance)  # for a function around it, perhaps
    complete = lowered()
    for _ in range(4):
        inner = [one for key, one in ctx.instances.items() if key not in before]
        if whole() and not any(_calls(one, instance) for one in (instance, *inner)):
            return
        _drop(ctx, before)
        supposed, instance.function = instance.result, None
        complete = lowered()
        if _dtypes(instance.result) == _dtypes(supposed):
            if whole():
                lowered()  # once more, knowing what it writes
                return
            if waits:
                break
    instance.incomplete = not complete
    if (not complete and instance.result is None) or not (waits or whole()):
        raise BottomReached


def _is_procedure(node: Any) -> bool:
    """Say whether a function returns nothing, which is known before it is lowered: it may call itself first."""
    if not isinstance(node, gast.FunctionDef):
        return False
    inner = [n for n in gast.walk(node) if isinstance(n, gast.FunctionDef | gast.Lambda) and n is not node]
    of_inner = {id(part) for fn in inner for part in gast.walk(fn)}
    returns = [n for n in gast.walk(node) if isinstance(n, gast.Return) and id(n) not in of_inner]
    return all(n.value is None or (isinstance(n.value, gast.Constant) and n.value.value is None) for n in returns)


def _drop(ctx: Context, before: dict[Any, Instance]) -> None:
    """Forget the functions that were met since."""
    for key in [k for k in ctx.instances if k not in before]:
        ctx.instances.pop(key)


def _dtypes(result: Type | None) -> list[Any]:
    """Return what a second look at a recursive function may change in the type of its result."""
    return [] if result is None else [getattr(kind, "dtype", None) for kind in leaf_types(result)]


def _calls(one: Instance, other: Instance) -> bool:
    from s2sad.ir.walk import statements

    body = () if one.function is None else one.function.body
    return any(isinstance(s, CallStmt) and s.callee == other.name for s in statements(body))


def _literal_defaults(args: Any) -> dict[str, Const]:
    """Return the defaults of parameters that are numbers, as the text has them."""
    named = [*args.posonlyargs, *args.args]
    pairs = [*zip(named[len(named) - len(args.defaults) :], args.defaults, strict=True),
             *zip(args.kwonlyargs, args.kw_defaults, strict=True)]  # fmt: skip
    found: dict[str, Const] = {}
    for name, node in pairs:
        try:
            value = gast.literal_eval(node)
        except (ValueError, TypeError):
            continue
        if isinstance(value, int | float) and not isinstance(value, bool):
            found[name.id] = literal(value)
    return found


def _lower_into(
    ctx: Context, instance: Instance, source: Source, names: list[str], types: tuple[Type, ...], env: dict[str, Value]
) -> bool:
    """Lower the body once; return False if a recursive call's result was not yet known."""
    ctx.being_lowered.append(source)
    ctx.loops_met.append(Counter())
    try:
        written = exchanged_rows.with_matrices(keyed.without_dicts(source, ctx, instance.fun), ctx, source.node)
        return _lower_now(ctx, instance, written, names, types, env)
    finally:
        ctx.being_lowered.pop()
        ctx.loops_met.pop()


def _lower_now(
    ctx: Context, instance: Instance, source: Source, names: list[str], types: tuple[Type, ...], env: dict[str, Value]
) -> bool:
    params: list[Param] = []
    used = {n.id for n in gast.walk(source.node) if isinstance(n, gast.Name)}.union(names)
    lw = Lowerer(
        ctx, source, dict(env), [], used, instance, dynamic_lists=dynamic_lists(source.node, source),
        optional=optional_names(source.node), texts=changing_texts(source.node),
    )  # fmt: skip
    for name, value in env.items():
        if isinstance(value, FuncV) and value.env is _ITSELF:
            lw.env[name] = replace(value, owner=lw)
    entered = next(iter(ctx.instances.values())) is instance
    literals = _literal_defaults(source.node.args)
    source = replace(source, node=with_rows(ctx, with_arrays(source.node)))
    for name, kind in zip(names, types, strict=True):
        kind = _as_length(name, kind)
        leaves = _parameter_leaves(lw, name, kind)
        default = literals.get(name) if entered else None
        params.extend(Param(leaf.name, leaf.type, default if leaf.name == name else None) for leaf in leaves)
        lw.env[name] = identified(_given(rebuild(kind, list(leaves))), None if entered else OF_THE_CALLER)
    instance.given = frozenset(param.name for param in params)
    bottomed = _lower_body(lw, source.node) or lw.bottomed
    if not lw.results:
        if bottomed:
            return False
        _refuse_what_only_raises(lw, source)
        lw.results.append(StaticV(None))
    if _returns_lists_of_both_forms(lw):
        ctx.lists_returned.add(id(source.node))
        raise KindFound
    settle_results(lw)
    instance.result = _joined_result(lw, source)
    instance.returns_given = instance.keeps_given or any(returns_given(value) for value in lw.results)
    instance.returns_item = instance.reads_given_items and any(returns_given(value, AN_ITEM) for value in lw.results)
    instance.captured = list(lw.captured.values())
    params.extend(Param(c.var.name, c.var.type) for c in instance.captured)
    body = _returning(_typed_returns(tuple(lw.block)), tuple(leaf_types(instance.result)))
    body = under_one_name(settled(body))
    body = with_tables(lw, body)
    check_not_written(lw, body)
    body = without_marks(lw, instance, body)
    instance.function = Function(
        instance.name, tuple(params), body, tuple(leaf_types(instance.result)),
        "", source.span(source.node), _invented(lw, source, body),
    )  # fmt: skip
    return not bottomed


def _invented(lw: Lowerer, source: Source, body: tuple[Stmt, ...]) -> frozenset[str]:
    """Return the names that no text has: also those of parts of containers that only stand for others, `p_x = x`."""
    if is_ours(source):
        return frozenset(lw.names)
    assigned = [s for s in statements(body) if isinstance(s, Assign)]
    computed = {s.target.name for s in assigned if not isinstance(s.value, Var)}
    return frozenset(lw.invented | ({s.target.name for s in assigned} & set(lw.parts.values()) - computed))


def is_ours(source: Source) -> bool:
    """Say whether a function is part of what stands for a library's."""
    return str(source.globals.get("__name__", "")).startswith(("s2sad.rules.", "s2sad.implicit.scipy"))


def _as_length(name: str, kind: Type) -> Type:
    """A whole number that is given counts as a length: arrays that are made by the same one are equally long."""
    if isinstance(kind, Scalar) and kind == Scalar("int64", weak=True):
        return Scalar("int64", weak=True, value=given_length(name))
    return kind


def _given(value: Value) -> Value:
    """A number that is known is a literal."""
    return const(value.value) if isinstance(value, StaticV) and type(value.value) in (bool, int, float) else value


def _lower_body(lw: Lowerer, node: Any) -> bool:
    try:
        if isinstance(node, gast.Lambda):
            statement = gast.copy_location(gast.Return(value=node.body), node.body)
            lower_block(lw, [statement])
        else:
            if isinstance(node, gast.AsyncFunctionDef):
                lw.fail(node, "`async def` cannot be differentiated", "Write a plain function.")
            jumps = lower_block(lw, node.body)
            if not jumps and lw.results:
                _fall_through(lw, node)
    except BottomReached:
        return True
    except SurelyRaises as error:
        if is_entered(lw):
            kind = ArgumentError if isinstance(error, NoneOperand) else UnsupportedSyntaxError
            raise kind(error.what, error.span, error.why) from None
        raise
    return False


def _refuse_what_only_raises(lw: Lowerer, source: Source) -> None:
    """Name the exception where the function that is differentiated returns on no path that its arguments leave."""
    last = lw.block[-1] if lw.block else None
    if isinstance(last, Raise) and is_entered(lw):
        said = ", ".join(str(arg.value) for arg in last.args if isinstance(arg, Const))
        raise _also(last.error)(
            f"`{source.name}` raises {last.error.__name__} for these arguments, and returns nothing", last.span,
            f"It says: {said}." if said else "Call it with arguments for which it returns a number.",
        )  # fmt: skip


def _also(error: type[BaseException]) -> type[ArgumentError]:
    """Return the class of an error that can be caught as what the function raises, too."""
    try:
        return type(ArgumentError.__name__, (ArgumentError, error), {"__module__": ArgumentError.__module__,
                                                                     "__reduce__": _reduced})  # fmt: skip
    except TypeError:  # it is one already, or cannot be combined
        return ArgumentError


def _reduced(error: ArgumentError) -> tuple[Any, ...]:
    return ArgumentError, (error.what, error.span, error.why)


def _fall_through(lw: Lowerer, node: Any) -> None:
    """Some paths return a value and another falls off the end: Python would return None there."""
    if any(leaves_of(value) for value in lw.results):
        lower_block(lw, [gast.copy_location(gast.Return(value=None), node.body[-1])])


def _parameter_leaves(lw: Lowerer, name: str, kind: Type) -> list[Var]:
    match kind:
        case Struct(_, keys, items):
            parts = [(lw.part_name(name, k), i) for k, i in zip(keys, items, strict=True)]
            return [leaf for part, item in parts for leaf in _parameter_leaves(lw, part, item)]
        case Static():
            return []
        case _:
            return [Var(name, kind)]


def _returns_lists_of_both_forms(lw: Lowerer) -> bool:
    """Say whether a function returns a display on one path, and a list that it builds on another."""
    kinds = [type_of(value) for value in lw.results]
    built = any(isinstance(kind, ListOf) for kind in kinds)
    return built and any(isinstance(kind, Struct) and kind.kind == "list" for kind in kinds)


def _joined_result(lw: Lowerer, source: Source) -> Type:
    result = type_of(lw.results[0])
    for other in lw.results[1:]:
        joined = _join(result, type_of(other))
        if joined is None:
            for value in lw.results:  # `return items[0] if len(items) == 1 else items` asks for one of known length
                if isinstance(value, V) and isinstance(value.expr.type, ListOf):
                    growing.take_as_known(lw, growing.name_of(lw, value.expr))
            why = "Every `return` must give the same structure, and scalars or arrays of one rank and dtype."
            last = source.node.body[-1] if hasattr(source.node, "body") else source.node
            lw.fail(last, "the returns of this function differ in kind", why)
        assert joined is not None
        result = joined
    return result


def _join(a: Type, b: Type) -> Type | None:
    match a, b:
        case Struct(kind, keys, xs), Struct(other, others, ys) if kind == other and keys == others:
            items = [_join(x, y) for x, y in zip(xs, ys, strict=True)]
            if any(item is None for item in items):
                return None
            return Struct(kind, keys, tuple(item for item in items if item is not None))
        case Static(x), Static(y):
            return a if x is y or x == y else None
        case _:
            return join_types(a, b, "")


def _returning(body: tuple[Stmt, ...], kinds: tuple[Type, ...]) -> tuple[Stmt, ...]:
    """Return a body in which a path that returns a whole number returns it as the number that other paths return."""

    def each(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Return) and len(stmt.values) == len(kinds):
            pairs = zip(stmt.values, kinds, strict=True)
            return replace(stmt, values=tuple(as_number(value, kind) for value, kind in pairs))
        return map_blocks(stmt, lambda inner: tuple(each(s) for s in inner))

    return tuple(each(stmt) for stmt in body)


def _typed_returns(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Close a procedure's body with nothing; other functions already end in a return."""
    return body[:-1] if body and isinstance(body[-1], Return) and not body[-1].values else body


def bind_arguments(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> list[Value]:
    """Resolve a call of a Python function to one value per parameter."""
    if hasattr(fn, "s2sad_kind"):
        return fn.s2sad_bind(lw, args, kwargs, node)
    source = source_of(fn)
    plain = unwrap(fn)
    if hasattr(plain, "__self__"):
        args = [StaticV(plain.__self__), *args]
    bound = bind_parameters(lw, source.node, source, args, kwargs, node)
    values = [bound[name] for name in parameter_names(source.node)]
    return values[1:] if hasattr(plain, "__self__") else values


def bind_parameters(
    lw: Lowerer, fn_node: Any, source: Source, args: list[Value], kwargs: dict[str, Value], node: Any,
    evaluated: dict[str, Value] | None = None,
) -> dict[str, Value]:  # fmt: skip
    """Give every parameter its value: positional, keyword, default, `*args`.

    `evaluated` are the defaults of an inner function; those of any other are objects, which `source` has.
    """
    spec = fn_node.args
    positional = [a.id for a in [*spec.posonlyargs, *spec.args]]
    bound: dict[str, Value] = dict(zip(positional, args, strict=False))
    extra = args[len(positional) :]
    if extra and spec.vararg is None:
        lw.fail(node, f"`{_called(source, fn_node)}` takes {len(positional)} arguments, {len(args)} were given", "",
                ArgumentError)  # fmt: skip
    if spec.vararg is not None:
        bound[spec.vararg.id] = StructV("tuple", tuple(range(len(extra))), tuple(extra))
    known = {*positional, *(a.id for a in spec.kwonlyargs)}
    if spec.kwarg is not None:
        others = {name: value for name, value in kwargs.items() if name not in known}
        bound[spec.kwarg.id] = StructV("dict", tuple(others), tuple(others.values()))
        kwargs = {name: value for name, value in kwargs.items() if name in known}
    for name, value in kwargs.items():
        if name not in known or name in bound:
            lw.fail(node, f"`{_called(source, fn_node)}` got an unexpected argument `{name}`", "", ArgumentError)
        bound[name] = value
    defaults = dict(zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True))
    defaults.update({a.id: d for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None})
    for name in [*positional, *(a.id for a in spec.kwonlyargs)]:
        if name not in bound:
            if name not in defaults:
                lw.fail(node, f"`{_called(source, fn_node)}` needs its argument `{name}`", "", ArgumentError)
            bound[name] = _as_it_is_now(lw, evaluated[name]) if evaluated is not None else default_of(
                lw, source, name, positional, node
            )
    return bound


def _called(source: Source, text: Any) -> str:
    """Return the name of a function, an inner one or that of a source."""
    return source.name if text is source.node else getattr(text, "name", "lambda")


def _as_it_is_now(lw: Lowerer, default: Value) -> Value:
    """A list that is a default is one object: what earlier calls wrote into it is there."""
    return current(lw, default) if isinstance(default, StructV) else default


def default_of(lw: Lowerer, source: Source, name: str, positional: list[str], node: Any) -> Value:
    """Return a default of a function of a module: the object that its definition evaluated."""
    from s2sad.frontend.captures import capture_object
    from s2sad.frontend.expressions import outside_value

    if name in source.kw_defaults:
        return outside_value(lw, source.kw_defaults[name], name, node)
    value = source.defaults[positional.index(name) - len(positional)]
    if isinstance(value, np.ndarray):
        return V(capture_object(lw, value, name))
    return outside_value(lw, value, name, node)


def evaluated_defaults(lw: Lowerer, fn_node: Any) -> dict[str, Value]:
    """Evaluate the defaults of an inner function, which keeps them whatever happens to the names in them."""
    from s2sad.frontend.expressions import lower_expr

    spec = fn_node.args
    positional = [a.id for a in [*spec.posonlyargs, *spec.args]]
    nodes = dict(zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True))
    nodes.update({a.id: d for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None})
    kept: dict[str, Value] = {}
    for name, node in nodes.items():
        value = lower_expr(lw, node)
        fixed = isinstance(value, V) and isinstance(value.expr, Const)
        if is_mutable(value):  # one object for all calls, as it is one in Python
            hidden = lw.local(f"{name}_default")
            lw.bind(hidden, value, lw.span(node))
            value, fixed = lw.env[hidden], True
        elif isinstance(value, V) and isinstance(value.expr.type, ListOf):
            _bound_once(lw, node)
            fixed = isinstance(value.expr, Var)
        kept[name] = value if fixed else lw.store_value(lw.fresh(name), value, lw.span(node))
    return kept


def _bound_once(lw: Lowerer, node: Any) -> None:
    """A list that is built is kept under its own name, which must go on meaning it."""
    stores = [n for n in gast.walk(lw.source.node) if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Store)]
    if isinstance(node, gast.Name) and sum(n.id == node.id for n in stores) > 1:
        lw.fail(node, "a list that is built, and whose name is bound more than once, cannot be a default",
                "Give it a name of its own, or pass it.")  # fmt: skip


def call_lifted(lw: Lowerer, fn_node: Any, source: Source, scope: dict[str, Value], node: Any) -> Value:
    """Call an inner function with early returns as a function of all that it sees."""
    from s2sad.frontend.calls import argument
    from s2sad.frontend.captures import pass_captured

    recursive = any(i.fun is fn_node and i.open for i in lw.ctx.instances.values())
    itself = {name: FuncV(fn_node, value.source, _ITSELF, value.name, value.defaults)
              for name, value in scope.items() if isinstance(value, FuncV) and _sees_what_it_is_given(value, fn_node)}
    scope = {name: value for name, value in scope.items() if name not in itself}
    names = [name for name, value in scope.items() if leaves_of(value)]
    kinds, back = canonical(tuple(type_of(scope[name]) for name in names), recursive)
    instance = lifted(lw, fn_node, source, scope, kinds, itself)
    if instance.result is None:
        raise BottomReached
    span = lw.span(node)
    leaves: list[Expr] = [argument(lw, leaf, span) for value in scope.values() for leaf in leaves_of(value)]
    leaves += pass_captured(lw, instance.captured)
    result = restored(instance.result, back)
    results = [Var(lw.fresh(f"{instance.name}_value"), kind) for kind in leaf_types(result)]
    lw.emit(CallStmt(tuple(results), instance.name, tuple(leaves), lw.span(node)))
    for position, leaf in enumerate(leaves):
        passed(lw, leaf, instance.function, position, node)
    given = rebuild(result, known_results(instance, list(results)))
    if instance.returns_given:
        may_be_returned(lw, scope.values())
    given = identified(given, UNDECIDED if instance.returns_given or instance.returns_item else None)
    return called(lw, given, node, instance.name, instance.optional_result is not None)


_ITSELF: dict[str, Value] = {}
"""What a function sees that calls itself: its own parameters, among which stands all that it sees."""


def _sees_what_it_is_given(value: FuncV, fn_node: Any) -> bool:
    """Say whether a function is the one that is called, which need not be given what it sees twice."""
    defaults = [leaf for default in value.defaults.values() for leaf in leaves_of(default)]
    return value.node is fn_node and all(isinstance(leaf, Const) for leaf in defaults)


def lifted(
    lw: Lowerer, fn_node: Any, source: Source, scope: dict[str, Value], kinds: tuple[Type, ...] | None = None,
    itself: dict[str, FuncV] | None = None,
) -> Instance:  # fmt: skip
    """Return the function of the program that an inner function is: all that it sees is a parameter.

    `kinds`: the types of what is a value at run time, if not as they stand. `itself`: the names by which it calls
    itself.
    """
    dynamic = {name: value for name, value in scope.items() if leaves_of(value)}
    fixed = {name: value for name, value in scope.items() if name not in dynamic}
    names = list(dynamic)
    types = kinds or tuple(type_of(value) for value in dynamic.values())
    key = ("inner", id(fn_node), tuple(names), tuple(_key(kind) for kind in types),
           tuple((n, _key(type_of(v))) for n, v in fixed.items()), tuple(itself or ()))  # fmt: skip
    ctx = lw.ctx
    instance = ctx.instances.get(key)
    if instance is None:
        name = getattr(fn_node, "name", "lambda_")
        _check_kinds(ctx, fn_node, dataclasses.replace(source, name=name, node=fn_node))
        instance = Instance(ctx.unique(name), fn_node, types)
        ctx.instances[key] = instance
        ctx.keep.append((fn_node, fixed))
        inner = dataclasses.replace(source, name=name, node=fn_node)
        around = {n: of_the_caller(value) for n, value in fixed.items()}
        _finish(ctx, instance, inner, names, types, {**around, **(itself or {})})
        ctx.instances[key] = ctx.instances.pop(key)
    return instance


__all__ = ["Captured", "V", "bind_arguments", "bind_parameters", "call_lifted", "instantiate", "parameter_names"]
