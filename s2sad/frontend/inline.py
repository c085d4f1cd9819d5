"""Functions written into their caller: lambdas, inner functions, one-line helpers."""

from __future__ import annotations

from typing import Any, TypeGuard

import gast

from s2sad.errors import S2SADError, SourceNotFoundError
from s2sad.frontend import exchanged_rows
from s2sad.frontend.collected import meant
from s2sad.frontend.containers import identified, scopes
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.noneresults import called, returned
from s2sad.frontend.nonlocals import rebind, rebound_outside
from s2sad.frontend.one_return import with_one_return
from s2sad.frontend.optional import may_be_none, optional_names
from s2sad.frontend.scopes import free_names
from s2sad.frontend.source import Source, has_source, source_of, unwrap
from s2sad.frontend.texts import changing_texts
from s2sad.frontend.values import FuncV, StaticV, StructV, V, Value, leaves_of
from s2sad.ir.nodes import Const, Expr, Var
from s2sad.ir.types import Array, Scalar
from s2sad.ir.views import view_base
from s2sad.ir.walk import reads
from s2sad.rules.registry import is_changing

_MAX_DEPTH = 32


def inline_expression(
    lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any
) -> Value | None:
    """Inline a helper whose body is one `return` of scalars; None when it is anything else."""
    if not has_source(fn) or hasattr(fn, "s2sad_kind") or hasattr(fn, "signatures"):
        if not (has_source(fn) and hasattr(fn, "py_func")):
            return None
    if not all(isinstance(a, V) and isinstance(a.expr.type, Scalar) for a in [*args, *kwargs.values()]):
        return None
    source = source_of(fn)
    body = _body(source.node)
    if len(body) != 1 or not isinstance(body[0], gast.Return) or body[0].value is None or not _straight(body):
        return None
    if any(isinstance(n, gast.Call) and _calls(n, source, fn) for n in gast.walk(body[0])):
        return None
    return _inline(lw, source.node, source, {}, _with_self(fn, args), kwargs, node)


def _with_self(fn: Any, args: list[Value]) -> list[Value]:
    """A bound method gets its object first."""
    plain = unwrap(fn)
    return [StaticV(plain.__self__), *args] if hasattr(plain, "__self__") else args


def inline_call(
    lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any, source: Source | None = None
) -> Value | None:
    """Write a helper into its caller, if its one `return` comes last; None where that cannot be."""
    if hasattr(fn, "s2sad_kind"):
        return None
    source = source or source_of(fn)
    body = _body(source.node)
    one = with_one_return(source.node)
    if not (_straight(body) or returns_a_function(source.node) or one is not None) or any(
        isinstance(n, gast.Call) and _calls(n, source, fn) for s in body for n in gast.walk(s)
    ):  # fmt: skip
        return None
    return _inline(lw, source.node, source, {}, _with_self(fn, args), kwargs, node)


def returns_a_function(node: Any) -> bool:
    """Say whether a function returns, on some path, one that it defines."""
    parts = [part for stmt in _body(node) for part in _own(stmt)]
    made = {part.name for part in parts if isinstance(part, gast.FunctionDef)}
    for part in parts:
        if isinstance(part, gast.Assign) and isinstance(part.value, gast.Lambda):
            made |= {target.id for target in part.targets if isinstance(target, gast.Name)}
    return any(isinstance(part, gast.Return) and _is_made(part.value, made) for part in parts)


def _is_made(value: Any, made: set[str]) -> bool:
    match value:
        case gast.Lambda():
            return True
        case gast.Name(id=name):
            return name in made
        case gast.IfExp(body=then, orelse=other):
            return _is_made(then, made) or _is_made(other, made)
        case gast.Call(args=args):  # `reduce(lambda f, g: lambda v: f(g(v)), fs)`
            return any(isinstance(arg, gast.Lambda) and isinstance(arg.body, gast.Lambda) for arg in args)
        case _:
            return False


def _path(lw: Lowerer, body: list[Any]) -> list[Any] | None:
    """Return the statements that run where all tests before a `return` are known; None where one is not."""
    from s2sad.frontend.expressions import lower_test

    for at, stmt in enumerate(body):
        if isinstance(stmt, gast.Return | gast.Raise):
            return body[: at + 1]
        if isinstance(stmt, gast.If) and any(isinstance(part, gast.Return) for part in _own(stmt)):
            mark = lw.mark()
            try:
                test = lower_test(lw, stmt.test)
            except S2SADError:  # it may ask for what the statements before it make
                lw.back_to(mark)
                return None
            if not isinstance(test, bool):
                lw.back_to(mark)
                return None
            rest = _path(lw, [*(stmt.body if test else stmt.orelse), *body[at + 1 :]])
            return None if rest is None else [*body[:at], *rest]
    return body


def _calls(call: Any, source: Source, fn: Any) -> bool:
    """Say whether a call inside the helper is of the helper itself."""
    if not isinstance(call.func, gast.Name):
        return False
    try:
        return source.resolve(call.func.id) is fn
    except KeyError:
        return False


def _body(node: Any) -> list[Any]:
    if isinstance(node, gast.Lambda):
        statement = gast.Return(value=node.body)
        return [gast.copy_location(statement, node.body)]
    body = list(node.body)
    if body and isinstance(body[0], gast.Expr) and isinstance(body[0].value, gast.Constant):
        body = body[1:]
    return body


def call_local(lw: Lowerer, fn: FuncV, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Call a function defined in this very function: its body is written in place."""
    if fn.apart or _calls_itself(fn):
        from s2sad.frontend.functions import bind_parameters

        bound = bind_parameters(lw, fn.node, fn.source, args, kwargs, node, fn.defaults)
        return _out_of_line(lw, fn.node, fn.source, fn.scope, bound, node)
    return _inline(lw, fn.node, fn.source, fn.scope, args, kwargs, node, fn)


def _calls_itself(fn: FuncV) -> bool:
    """Say whether an inner function calls itself: not what another call of the function around it has made."""
    calls = [n.func.id for n in gast.walk(fn.node) if isinstance(n, gast.Call) and isinstance(n.func, gast.Name)]
    named = [fn.scope.get(name) for name in calls]
    return any(
        isinstance(called, FuncV) and called.node is fn.node and called.owner is fn.owner
        and (fn.owner is not None or called.env is fn.env)
        for called in named
    )  # fmt: skip


def _inline(
    lw: Lowerer, fn_node: Any, source: Source, outer_env: dict[str, Value],
    args: list[Value], kwargs: dict[str, Value], node: Any, local: FuncV | None = None,
) -> Value:  # fmt: skip
    from s2sad.frontend.assignments import dynamic_list
    from s2sad.frontend.functions import bind_parameters
    from s2sad.frontend.statements import lower_block

    if lw.depth > _MAX_DEPTH and local is None:
        lw.fail(node, f"`{source.name}` calls itself again and again, on every path",
                "Let one path return without a recursive call.")  # fmt: skip
    if lw.depth > _MAX_DEPTH:
        lw.fail(node, "a recursive inner function is not supported", "Move it to module level.")
    if local is None:
        fn_node = exchanged_rows.written_in(lw.ctx, source, fn_node)
    body = _body(fn_node)
    counters: tuple[str, ...] = ()
    if local is not None and _straight(body):
        counters, body = rebound_outside(lw, local, body)
    inner = Lowerer(
        ctx=lw.ctx, source=source, env=dict(outer_env), block=lw.block, names=lw.names,
        instance=lw.instance, captured=lw.captured, tables=lw.tables, loops=[], results=[], rename={},
        dynamic_lists=dynamic_lists(fn_node, source), optional=optional_names(fn_node),
        texts=changing_texts(fn_node), proven=frozenset(fact for fact in lw.proven if "=" in fact),
        contributing=lw.contributing, depth=lw.depth + 1, turns=lw.turns,
        outer=lw, definer=None if local is None else local.owner, parts=lw.parts, invented=lw.invented,
        counters=lw.counters, numbers=lw.numbers, lengths=lw.lengths,
    )  # fmt: skip
    bound = bind_parameters(lw, fn_node, source, args, kwargs, node, None if local is None else local.defaults)
    for name, value in bound.items():
        seen_by = _kept_for_later(name, body) and is_bound_again(lw, value)
        if name in inner.dynamic_lists and _is_new_list_of_numbers(value):
            inner.env[name] = dynamic_list(inner, name, value, node)
            continue
        known = identified(value)
        inner.env[name] = (
            inner.store_value(inner.ir_name(name), known, lw.span(node)) if seen_by
            else _named(inner, name, known, body, lw.span(node))
        )  # fmt: skip
    if not _straight(body) and returns_a_function(fn_node):
        body = _path(inner, body) or body
    if not _straight(body) and local is None:
        body = with_one_return(fn_node) or body
    body = exchanged_rows.put_back(inner, fn_node, body, _straight(body))
    if not _straight(body):
        return _out_of_line(lw, fn_node, source, outer_env, bound, node)
    for name in counters:
        inner.bind(name, lw.env[name], lw.span(node))
    lower_block(inner, body[:-1])
    last: Any = body[-1] if body else None
    result: Value = StaticV(None)
    if isinstance(last, gast.Return):
        result = StaticV(None) if last.value is None else returned(inner, last.value)
    elif last is not None:
        lower_block(inner, [last])
    lw.names = inner.names
    result = rebind(lw, inner, counters, result, node)
    lw.bottomed = lw.bottomed or inner.bottomed
    return called(lw, result, node, source.name)


def _is_new_list_of_numbers(value: Value) -> TypeGuard[StructV]:
    """Say whether an argument is a list of numbers that nobody else has: `solve(A, b[:])`."""
    return isinstance(value, StructV) and value.kind == "list" and value.cell is None and bool(value.items) and all(
        isinstance(item, V) and isinstance(item.expr.type, Scalar) for item in value.items
    )


def _named(lw: Lowerer, name: str, value: Value, body: list[Any], span: Any) -> Value:
    """Bind a computed argument that is used more than once, that the body rebinds, or that it could change.

    What is computed has its value at the call: what the body writes before it is used must not show, and
    what stands in a loop is not computed in every turn.
    """
    uses = sum(isinstance(n, gast.Name) and n.id == name for s in body for n in gast.walk(s))
    rebound = any(isinstance(n, gast.Name) and n.id == name and not isinstance(n.ctx, gast.Load)
                  for s in body for n in gast.walk(s))  # fmt: skip
    if not isinstance(value, V):
        return value
    computed = not isinstance(value.expr, Var | Const)
    later = uses and computed and not _is_view(value.expr) and _may_change(body)
    if rebound or (uses > 1 and computed) or later:
        return lw.store_value(lw.ir_name(name), value, span)
    return value


def _kept_for_later(name: str, body: list[Any]) -> bool:
    """Say whether a function that is defined in a body reads a name: it may be called when the caller's is another."""
    inner = [n for s in body for n in gast.walk(s) if isinstance(n, gast.FunctionDef | gast.Lambda)]
    return any(isinstance(n, gast.Name) and n.id == name for f in inner for n in gast.walk(f))


def is_bound_again(lw: Lowerer, value: Value) -> bool:
    """Say whether a name around may get another value that what is given is read from."""
    used = {n for leaf in leaves_of(value) for n in reads(leaf)}
    around = scopes(lw)
    return any(
        used & scope.variables(scope.ir_name(name), held)
        and sum(_bindings(other.source.node, name) for other in around) != 1  # none: a name that is not in the text
        for scope in around for name, held in scope.env.items() if isinstance(held, V | StructV)
    )  # fmt: skip


def _bindings(node: Any, name: str) -> int:
    """Return how often a function binds a name: many times where a loop does."""
    given = getattr(node, "args", None)
    params = () if given is None else (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
    count = sum(isinstance(n, gast.Name) and n.id == name for n in params)

    def walk(part: Any, times: int) -> int:
        inside = 2 * times if isinstance(part, gast.For | gast.While) else times
        own = times * (isinstance(part, gast.Name) and part.id == name and not isinstance(part.ctx, gast.Load))
        return own + sum(walk(child, inside) for child in gast.iter_child_nodes(part))

    body = node.body if isinstance(node.body, list) else [node.body]
    return count + sum(walk(stmt, 1) for stmt in body)


def _is_view(expr: Expr) -> bool:
    """Say whether an argument is a part of an array, which shows what is written into it, as in Python."""
    base = view_base(expr)
    return base is not None and isinstance(expr.type, Array)


def _may_change(body: list[Any]) -> bool:
    """Say whether a body does more than to give one expression, each part of it once."""
    repeated = gast.ListComp | gast.GeneratorExp | gast.DictComp | gast.SetComp
    plain = all(isinstance(s, gast.Return) for s in body)
    return not plain or any(isinstance(n, repeated) for s in body for n in gast.walk(s))


def _straight(body: list[Any]) -> bool:
    """Say whether the only `return` is the last statement."""
    returns = [n for s in body for n in _own(s) if isinstance(n, gast.Return)]
    last = len(returns) == 1 and body[-1] is returns[0]
    return not returns or (last and not may_be_none(returns[0].value))


def _own(node: Any) -> list[Any]:
    found = [node]
    if isinstance(node, gast.FunctionDef | gast.Lambda):
        return found
    for child in gast.iter_child_nodes(node):
        found.extend(_own(child))
    return found


def _out_of_line(
    lw: Lowerer, fn_node: Any, source: Source, outer_env: dict[str, Value],
    bound: dict[str, Value], node: Any,
) -> Value:  # fmt: skip
    """An inner function with early returns becomes a function; what it sees becomes arguments."""
    from s2sad.frontend.functions import call_lifted

    free = free_names(fn_node)
    seen = {name: value for name, value in outer_env.items() if name in free and name not in bound}
    return call_lifted(lw, fn_node, source, {**seen, **bound}, node)


def dynamic_lists(node: Any, source: Source | None = None) -> frozenset[str]:
    """Return the names of lists that the function, or one that it calls, grows or writes by a computed index."""
    return _dynamic_lists(node, source, (), _Seen())


class _Seen:
    """The functions that a search has been through: each is asked for once, but where it was cut short by a cycle."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, bool], tuple[Any, frozenset[str]]] = {}
        self.cut: set[int] = set()
        """The functions around at which the search has stopped."""

    def grown(
        self, node: Any, source: Source | None, callers: tuple[Any, ...], repeated: bool
    ) -> frozenset[str]:
        """Return the lists that a function which is called grows."""
        key = (id(node), repeated)
        if key in self.known:
            return self.known[key][1]
        before, self.cut = self.cut, set()
        found = _dynamic_lists(node, source, callers, self, repeated)
        if self.cut <= {id(callers[0])}:  # where the search began, it ends for every function
            self.known[key] = (node, found)
        self.cut |= before
        return found


def _dynamic_lists(
    node: Any, source: Source | None, callers: tuple[Any, ...], seen: _Seen, repeated: bool = False
) -> frozenset[str]:
    """Return the same; `repeated`: the function may be called several times with one list."""
    straight = set[int]() if repeated else _run_once(node)
    found = _grown_here(node, straight)
    inner = {n.name: n for n in gast.walk(node) if isinstance(n, gast.FunctionDef) and n is not node}
    same: list[tuple[str, str]] = []
    for n in gast.walk(node):
        if isinstance(n, gast.Assign) and isinstance(n.value, gast.Name):
            same += [(target.id, n.value.id) for target in n.targets if isinstance(target, gast.Name)]
        elif isinstance(n, gast.Call) and source is not None and is_changing(meant(source, n.func)):
            found |= {arg.id for arg in n.args[:1] if isinstance(arg, gast.Name)}
        elif isinstance(n, gast.Call) and isinstance(n.func, gast.Name):
            found |= _grown_by(n, inner, source, (*callers, node), seen, id(n) not in straight)
    for _ in same:
        for a, b in same:
            found |= {a, b} if found & {a, b} else set()
    return frozenset(found)


def _grown_by(
    call: Any, inner: dict[str, Any], source: Source | None, callers: tuple[Any, ...], seen: _Seen, repeated: bool
) -> set[str]:
    """Return the names passed to a function that grows the list it is given."""
    named = [(k, a.id) for k, a in enumerate(call.args) if isinstance(a, gast.Name)]
    if not named:
        return set()
    callee, its_source = inner.get(call.func.id), source
    if callee is None and source is not None and source.knows(call.func.id):
        found = source.resolve(call.func.id)
        module = getattr(unwrap(found), "__module__", None) or "builtins"
        if not has_source(found) or module.split(".")[0] in ("numpy", "scipy", "s2sad"):
            return set()
        try:
            its_source = source_of(found)
        except SourceNotFoundError:
            return set()
        callee = its_source.node
    if any(callee is c for c in callers):
        seen.cut.add(id(callee))
        return set()
    if callee is None or isinstance(callee, gast.Lambda):
        return set()
    grown = seen.grown(callee, its_source, callers, repeated)
    parameters = [a.id for a in [*callee.args.posonlyargs, *callee.args.args]]
    return {name for k, name in named if k < len(parameters) and parameters[k] in grown}


def _run_once(node: Any) -> set[int]:
    """Return the calls that are statements of a function's body itself: a list has a known length around them."""
    body = [] if isinstance(node, gast.Lambda) else node.body
    return {id(s.value) for s in body if isinstance(s, gast.Expr | gast.Assign)}


def _grown_here(node: Any, straight: set[int]) -> set[str]:
    found: set[str] = set()
    again = _parts_of_recursions(node)
    for n in gast.walk(node):
        method = n.func if isinstance(n, gast.Call) and isinstance(n.func, gast.Attribute) else None
        if id(n) in straight:
            continue
        if method is not None and method.attr in ("append", "pop", "extend", "insert", "popleft", "appendleft"):
            if isinstance(n.func.value, gast.Name):
                found.add(n.func.value.id)
        elif isinstance(n, gast.Subscript) and isinstance(n.ctx, gast.Store) and isinstance(n.value, gast.Name):
            if not isinstance(n.slice, gast.Constant) or (id(n) in again and isinstance(n.slice.value, int)):
                found.add(n.value.id)
    return found


def _parts_of_recursions(node: Any) -> set[int]:
    """Return what stands in inner functions that call themselves: they are not written into the function around."""
    inner = [n for n in gast.walk(node) if isinstance(n, gast.FunctionDef) and n is not node]
    own = [f for f in inner if any(isinstance(n, gast.Call) and getattr(n.func, "id", "") == f.name
                                   for n in gast.walk(f))]  # fmt: skip
    return {
        id(n) for f in own for free in (free_names(f),) for n in gast.walk(f)
        if isinstance(n, gast.Subscript) and getattr(n.value, "id", "") in free
    }


__all__ = ["StructV", "call_local", "dynamic_lists", "inline_expression"]
