"""Statements of Python to statements of the IR; types flow along, loops are run to a fixpoint."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import gast

from s2sad.frontend import exchanged_rows, formatted, known_rows, texts
from s2sad.frontend.assignments import ann_assign, assign_target, aug_assign, dynamic_list, lower_assign
from s2sad.frontend.cases import chosen, with_cases
from s2sad.frontend.decorators import decorate
from s2sad.frontend.exceptions import lower_try
from s2sad.frontend.exchange import with_exchanges
from s2sad.frontend.expressions import NO_GENERATORS, lower_expr, lower_test
from s2sad.frontend.flow import lower_break, lower_continue, lower_for, lower_if, lower_while, run_counted
from s2sad.frontend.imports import lower_import
from s2sad.frontend.item_cases import as_cases
from s2sad.frontend.knownlists import delete
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.matching import lower_match
from s2sad.frontend.matrices import with_arrays
from s2sad.frontend.none_given import as_two_calls
from s2sad.frontend.noneresults import is_entered, raised_for_none, result_of, returned
from s2sad.frontend.optional import KIND, checked, may_be_none
from s2sad.frontend.ragged import with_rows
from s2sad.frontend.source import unwrap
from s2sad.frontend.stacked import begun_with_a_row
from s2sad.frontend.values import (
    FuncV,
    IterV,
    MethodV,
    Poison,
    RangeV,
    RowsV,
    StaticV,
    StructV,
    V,
    Value,
    const,
    leaves_of,
    literal,
    type_of,
)
from s2sad.ir.nodes import (
    Apply,
    Assert,
    Const,
    Continue,
    Effect,
    Expr,
    Index,
    Raise,
    Return,
)
from s2sad.ir.types import ListOf

RULE_OUTSIDE = (
    "A rule may not read values of the scope around it, for their derivatives would be lost.\n"
    "Define it outside, and pass what it reads as arguments."
)

_REFUSED = {
    "ClassDef": ("a class inside a differentiated function is not supported", "Move it outside."),
    "Nonlocal": ("`nonlocal` writes cannot be differentiated", "Pass the value in and return it."),
    "AsyncFor": ("`async for` cannot be differentiated", "Use an ordinary loop."),
    "AsyncWith": ("`async with` cannot be differentiated", "Call the function outside."),
    "AsyncFunctionDef": ("`async def` cannot be differentiated", "Write a plain function."),
}


def lower_block(lw: Lowerer, statements: list[Any]) -> bool:
    """Lower statements in order; return True if control never falls off the end."""
    for node in with_cases(lw, with_exchanges(statements, lw.source.node)):
        for assigned in chosen(lw, node):
            lower_stmt(lw, assigned)
        if lower_stmt(lw, node):
            return True
    return False


def lower_stmt(lw: Lowerer, node: Any) -> bool:
    """Lower one statement; return True if it always jumps away."""
    name = type(node).__name__
    lw.statement = node
    if name in _REFUSED:
        what, why = _REFUSED[name]
        lw.fail(node, what, why)
    method = _STATEMENTS.get(name)
    if method is None:
        return lw.fail(node, f"`{name}` is not supported in a differentiated function")
    jumps = as_cases(lw, node)
    jumps = as_two_calls(lw, node) if jumps is None else jumps
    return bool(method(lw, node) if jumps is None else jumps)


def _return(lw: Lowerer, node: Any) -> bool:
    if isinstance(node.value, gast.IfExp) and any(isinstance(n, gast.Call) for n in gast.walk(node.value)):
        # two returns: only one side is run, and a side that recurses may wait for the other's type
        if _recurses(lw, node.value):
            return lower_stmt(lw, _as_two_returns(node))
    if may_be_none(node.value):
        return lower_stmt(lw, _as_two_returns(node))
    value = StaticV(None) if node.value is None else _returned(lw, node)
    if isinstance(value, FuncV | Poison | RangeV | IterV):
        lw.fail(node, "a function cannot be the result of a differentiated function",
                "Return numbers, arrays, or containers of them.")  # fmt: skip
    at_the_top = lw.depth == 0 and lw.instance is next(iter(lw.ctx.instances.values()), None)
    if at_the_top and (what := _no_result(value)):
        lw.fail(node, f"{what} cannot be a result of a differentiated function",
                "Return numbers, arrays, or containers of them.")  # fmt: skip
    if isinstance(value, RowsV) and at_the_top:
        lw.fail(node, "a list of records cannot be the result of a differentiated function",
                "Return an array for each field, or `np.array(…)` of the list.")  # fmt: skip
    if isinstance(value, StructV) and value.kind == "list" and id(lw.source.node) in lw.ctx.lists_returned:
        value = dynamic_list(lw, lw.fresh("items"), value, node)
    if raised_for_none(lw, value, node):
        return True
    if _holds_lists(value):
        exchanged_rows.begin_again(lw)  # a matrix is returned item by item where its shape is known
        known_rows.begin_again(lw, node.value)
    known_rows.check_few(lw, value, node)
    value = result_of(lw, _public(lw, value, node))
    lw.results.append(value)
    lw.emit(Return(tuple(leaves_of(value)), lw.span(node)))
    return True


def _holds_lists(value: Value) -> bool:
    """Say whether a result is, or holds, a list of lists that the function builds."""
    if isinstance(value, StructV):
        lists = [item for item in value.items if isinstance(item, V) and isinstance(item.expr.type, ListOf)]
        is_one = value.kind == "list" and bool(lists) and len(lists) == len(value.items)
        return is_one or (value.kind == "tuple" and any(map(_holds_lists, value.items)))
    kind = value.expr.type if isinstance(value, V) else None
    return isinstance(kind, ListOf) and isinstance(kind.item, ListOf)


def _no_result(value: Value) -> str:
    """Say what there is in a value that no derivative can return, if anything."""
    if isinstance(value, FuncV | MethodV):
        return "a function"
    if not isinstance(value, StructV):
        return ""
    if formatted.is_unknown(value) or isinstance(value.kind, texts.Choice):
        return "a text that the run makes"
    if not isinstance(value.kind, type) and value.kind not in ("tuple", "list", "dict", KIND):
        return "a slice" if value.kind == "slice" else "a function"
    return next(filter(None, map(_no_result, value.items)), "")


def _returned(lw: Lowerer, node: Any) -> Value:
    """Return what a function gives back; the one that is differentiated has to give a value."""
    if not is_entered(lw):
        return returned(lw, node.value)
    value = lower_expr(lw, node.value)
    if isinstance(value, StructV) and value.kind == KIND:
        return checked(lw, value, "None is returned here", node)
    if isinstance(value, V) and isinstance(value.expr, Apply) and value.expr.fn is print:
        lw.emit(Effect(value.expr, lw.span(node)))
        return StaticV(None)
    return value


def _as_two_returns(node: Any) -> Any:
    """`return t if t > 0 else None`: a branch with two returns."""
    choice = node.value
    sides = [gast.copy_location(gast.Return(value=side), side) for side in (choice.body, choice.orelse)]
    return gast.copy_location(gast.If(test=choice.test, body=[sides[0]], orelse=[sides[1]]), node)


def _recurses(lw: Lowerer, node: Any) -> bool:
    """Say whether an expression calls the function that is being lowered."""
    own = lw.instance.fun if lw.instance is not None else None
    called = [n.func for n in gast.walk(node) if isinstance(n, gast.Call) and isinstance(n.func, gast.Name)]
    if any(lw.source.knows(n.id) and unwrap(lw.source.resolve(n.id)) is unwrap(own) for n in called):
        return True
    inner = [lower_expr(lw, n) for n in called if n.id == getattr(lw.source.node, "name", "")]
    return any(isinstance(found, FuncV) and found.node is lw.source.node for found in inner)


def _public(lw: Lowerer, value: Value, node: Any) -> Value:
    if isinstance(value, StaticV) and isinstance(value.value, bool | int | float):
        return const(value.value)
    if isinstance(value, StructV):
        items = tuple(_public(lw, item, node) for item in value.items)
        return replace(value, items=items)
    return value


def _expr_stmt(lw: Lowerer, node: Any) -> bool | None:
    if isinstance(node.value, gast.Constant):
        return None
    if isinstance(node.value, gast.IfExp):  # `print(x) if x > 10 else None`: what is not used may differ in kind
        sides = [[gast.copy_location(gast.Expr(value=side), side)] for side in (node.value.body, node.value.orelse)]
        return lower_stmt(lw, gast.copy_location(gast.If(test=node.value.test, body=sides[0], orelse=sides[1]), node))
    if isinstance(node.value, gast.Yield | gast.YieldFrom | gast.Await):
        word = {"Yield": "yield", "YieldFrom": "yield from", "Await": "await"}[type(node.value).__name__]
        lw.fail(node.value, f"`{word}` cannot be differentiated", NO_GENERATORS)
    value = lower_expr(lw, node.value)
    if isinstance(value, V) and isinstance(value.expr, Apply) and value.expr.fn in (print, breakpoint):
        lw.emit(Effect(value.expr, lw.span(node)))
    return None


def _assert(lw: Lowerer, node: Any) -> None:
    test = lower_test(lw, node.test)
    if test is True:
        return
    expr = literal(test) if isinstance(test, bool) else test
    lw.emit(Assert(expr, None if node.msg is None else _message(lw, node.msg), lw.span(node)))


def _message(lw: Lowerer, node: Any) -> Const:
    """Return the text of an error: what it says of values is named, `too large: {x}`, as compiled code has no texts."""
    from s2sad.ir.types import Static

    if isinstance(node, gast.Name):
        node = _known_text(lw, node)
    text = node.value if isinstance(node, gast.Constant) else _named(node)
    return Const(text, Static(text))


def _known_text(lw: Lowerer, node: Any) -> Any:
    """Return the text that a name means, if it is known, else the name."""
    found = lw.env.get(node.id)
    if found is None and lw.source.knows(node.id):
        found = StaticV(lw.source.resolve(node.id))
    match found:
        case StaticV(str() as text):
            return gast.Constant(value=text, kind=None)
        case _:
            return node


def _named(node: Any) -> str:
    """Return a text in which each value is its name in braces."""
    match node:
        case gast.Constant(value=str(text)):
            return text
        case gast.JoinedStr(values=parts):
            return "".join(map(_named, parts))
        case gast.FormattedValue(value=value) | gast.Call(func=gast.Name(id="str"), args=[value], keywords=[]):
            return f"{{{_code(value)}}}"
        case gast.BinOp(left=left, op=gast.Add(), right=right) if _begins_with_text(left):
            return _named(left) + _named(right)
        case gast.BinOp(left=gast.Constant(value=str(text)), op=gast.Mod(), right=right):
            values = iter(right.elts if isinstance(right, gast.Tuple) else [right])
            return re.sub("%%|" + _CONVERSION, lambda found: "%" if found[0] == "%%" else _next_named(values), text)
        case _:
            return f"{{{_code(node)}}}"


_CONVERSION = r"%[-#0 +]*[0-9]*(\.[0-9]+)?[a-zA-Z]"


def _next_named(values: Iterator[Any]) -> str:
    value = next(values, None)
    return "%" if value is None else f"{{{_code(value)}}}"


def _begins_with_text(node: Any) -> bool:
    while isinstance(node, gast.BinOp) and isinstance(node.op, gast.Add | gast.Mod):
        node = node.left
    is_str = isinstance(node, gast.Call) and getattr(node.func, "id", "") == "str"
    return isinstance(node, gast.JoinedStr) or is_str or isinstance(getattr(node, "value", None), str)


def _code(node: Any) -> str:
    return ast.unparse(ast.fix_missing_locations(gast.gast_to_ast(node)))


def _raise(lw: Lowerer, node: Any) -> bool:
    error, args = raised_class(lw, node)
    lw.emit(Raise(error, args, lw.span(node)))
    return True


def raised_class(lw: Lowerer, node: Any) -> tuple[type[BaseException], tuple[Expr, ...]]:
    """Return the exception class that a `raise` names, and its constant message."""
    if node.exc is None:
        lw.fail(node, "a bare `raise` is not supported", "Name the exception.")
    call = node.exc if isinstance(node.exc, gast.Call) else None
    value = lower_expr(lw, call.func if call else node.exc)
    if not (isinstance(value, StaticV) and isinstance(value.value, type) and issubclass(value.value, BaseException)):
        lw.fail(node, "only an exception class can be raised here", "Write `raise ValueError(…)`.")
    args = tuple(_message(lw, arg) for arg in call.args) if call else ()
    assert isinstance(value, StaticV)
    return value.value, args


def _function_def(lw: Lowerer, node: Any) -> None:
    from s2sad.frontend.functions import evaluated_defaults

    if any(_last_name(item) in ("custom_jvp", "custom_vjp") for item in node.decorator_list):
        lw.fail(node, "a rule cannot be defined inside a differentiated function", RULE_OUTSIDE)
    decorators, node = node.decorator_list, with_rows(lw.ctx, with_arrays(node))
    lw.env[node.name] = FuncV(node, lw.source, lw.env, node.name, evaluated_defaults(lw, node), owner=lw)
    for decorator in reversed(decorators):
        decorate(lw, node.name, decorator)


def _last_name(node: Any) -> str:
    """Return the last word of a decorator, `custom_jvp` in `@s2sad.custom_jvp(...)`."""
    node = node.func if isinstance(node, gast.Call) else node
    return node.attr if isinstance(node, gast.Attribute) else getattr(node, "id", "")


def _with(lw: Lowerer, node: Any) -> bool:
    from s2sad.frontend.segments import is_checkpoint, lower_checkpointed

    if len(node.items) == 1 and is_checkpoint(lw, node.items[0]):
        return lower_checkpointed(lw, node)
    for item in node.items:
        manager = lower_context(lw, item.context_expr)
        if item.optional_vars is not None or not manager:
            lw.fail(item.context_expr, "this context manager is not supported",
                    "`np.errstate(…)` is; anything else belongs outside the function.")  # fmt: skip
    return lower_block(lw, node.body)


def lower_context(lw: Lowerer, node: Any) -> bool:
    """Say whether a `with` expression is one that changes no values: `np.errstate`, warnings, how numbers are shown."""
    import numpy as np

    if not isinstance(node, gast.Call):
        return False
    value = lower_expr(lw, node.func)
    return isinstance(value, StaticV) and value.value in (np.errstate, np.printoptions, warnings.catch_warnings)


def _global(lw: Lowerer, node: Any) -> None:
    """`global k` is what a name means anyway, as long as it is only read."""
    if set(node.names) & lw.source.local_names:
        lw.fail(node, "`global` writes cannot be differentiated", "Pass the value in and return it.")


def _pass(lw: Lowerer, node: Any) -> None:
    del lw, node


def _while(lw: Lowerer, node: Any) -> bool:
    return begun_with_a_row(lw, node, lower_while)


def _for(lw: Lowerer, node: Any) -> bool:
    return begun_with_a_row(lw, node, lower_for)


_STATEMENTS: dict[str, Any] = {
    "Assign": lower_assign,
    "AnnAssign": ann_assign,
    "AugAssign": aug_assign,
    "If": lower_if,
    "While": _while,
    "For": _for,
    "Break": lower_break,
    "Continue": lower_continue,
    "Return": _return,
    "Expr": _expr_stmt,
    "Assert": _assert,
    "Raise": _raise,
    "Try": lower_try,
    "FunctionDef": _function_def,
    "With": _with,
    "Match": lower_match,
    "Import": lower_import,
    "ImportFrom": lower_import,
    "Global": _global,
    "Pass": _pass,
    "Delete": delete,
}

__all__ = ["Continue", "Index", "assign_target", "lower_block", "lower_stmt", "run_counted", "type_of"]
