"""A function that runs as it is: the type of its result is found by running it on small samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from s2sad.errors import Span
from s2sad.frontend.asis import AsIs, flattened, structured
from s2sad.frontend.infer import infer
from s2sad.frontend.lowerer import Instance, Lowerer
from s2sad.ir.nodes import Apply, Assign, Const, Expr, Function, Index, Param, Return, Stmt, Var
from s2sad.ir.typeof import typeof
from s2sad.ir.types import ListOf, Scalar, Static, Struct, Type, is_inexact, leaf_types


def sampled(
    lw: Lowerer, rule: Any, name: str, params: tuple[Param, ...], types: tuple[Type, ...], node: Any, reason: str
) -> Instance:
    """A function that runs as it is; the type of its result is found on small samples."""
    keywords = dict(rule.keywords)

    def run(*leaves: Any) -> Any:
        flat = iter(leaves)
        args = rule.spread([structured(kind, flat) for kind in types], tuple)
        return rule.fun(*args, **keywords)

    result = _sampled_type(lw, run, params, name, node)
    span = lw.span(node)

    def flat_results(*leaves: Any) -> list[Any]:
        return flattened(result, run(*leaves), f"the result of `{name}`", span)

    args: tuple[Expr, ...] = tuple(Var(p.name, p.type) for p in params)
    called = AsIs(f"{name}_call", flat_results, reason)
    body, outs = unpacked_call(called, args, leaf_types(result), "results", span)
    function = Function(name, params, (*body, Return(tuple(outs), span)), tuple(leaf_types(result)), "", span)
    return Instance(name, rule.fun, types, function, result)


def unpacked_call(
    fn: AsIs, args: tuple[Expr, ...], kinds: list[Type], hint: str, span: Span
) -> tuple[list[Stmt], list[Expr]]:
    """Call what runs as it is, and return the expressions of the values in its list."""
    held = next((kind for kind in kinds if is_inexact(kind)), Scalar("float64", True))
    values = Var(hint, ListOf(held))
    call = Assign(values, Apply(fn, args, values.type), span)
    return [call], [Index(values, (Const(i, Scalar("int64", True, i)),), kind) for i, kind in enumerate(kinds)]


def _sampled_type(lw: Lowerer, run: Callable[..., Any], params: tuple[Param, ...], name: str, node: Any) -> Type:
    args: tuple[Expr, ...] = tuple(Var(p.name, p.type) for p in params)
    seen: list[Any] = []

    def leaf(position: int) -> Type:
        def one(*leaves: Any) -> Any:
            seen[:] = [run(*leaves)]
            kind = typeof(seen[0], "result")
            return flattened(kind, seen[0], name, lw.span(node))[position]

        return infer(one, args, {})

    try:
        first = leaf(0)
        kind = typeof(seen[0], "result")
        kinds = [first, *(leaf(i) for i in range(1, len(leaf_types(kind))))]
    except Exception as error:
        reason = f"It was run on a sample to find the type of its result: {type(error).__name__}: {error}."
        return lw.fail(node, f"`{name}` can neither be read by the compiler nor run on a sample", reason)
    return _retyped(kind, iter(kinds))


def _retyped(kind: Type, leaves: Iterator[Type]) -> Type:
    match kind:
        case Struct(container, keys, items):
            return Struct(container, keys, tuple(_retyped(item, leaves) for item in items))
        case Static():
            return kind
        case _:
            return next(leaves)
