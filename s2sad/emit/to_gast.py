"""IR statements to gast: the shape of the emitted text, before any of it is laid out."""

from __future__ import annotations

import itertools
import operator
from typing import Any, assert_never

import gast as _gast  # pyright: ignore[reportMissingTypeStubs]
import numpy as np

from s2sad.emit.expressions import expression, path, place
from s2sad.emit.names import Names
from s2sad.errors import Span
from s2sad.ir import nodes as ir
from s2sad.ir.types import Array, Scalar, Static

gast: Any = _gast
Node = Any

OPERATORS = {
    "+": gast.Add,
    "-": gast.Sub,
    "*": gast.Mult,
    "/": gast.Div,
    "//": gast.FloorDiv,
    "%": gast.Mod,
    "**": gast.Pow,
    "@": gast.MatMult,
    "&": gast.BitAnd,
    "|": gast.BitOr,
    "^": gast.BitXor,
    "<<": gast.LShift,
    ">>": gast.RShift,
}


class Comment(_gast.AST):
    """A comment line as a statement; Python's own grammar has none."""

    _fields = ("text",)

    def __init__(self, text: str) -> None:
        """Hold the text, without the `#`."""
        super().__init__()
        self.text = text


def function(fn: ir.Function, names: Names) -> Node:
    """Convert a function; its docstring is the first statement, a bare last `return` is dropped."""
    body = block(fn.body, names)
    if body and isinstance(body[-1], gast.Return) and body[-1].value is None:
        body.pop()
    if fn.doc:
        doc = gast.Expr(value=gast.Constant(value=fn.doc, kind=None))
        body = [doc, *body]
    params = [
        gast.Name(id=param.name, ctx=gast.Param(), annotation=None, type_comment=None)
        for param in fn.params
    ]
    given = [param.default for param in itertools.takewhile(lambda p: p.default is not None, reversed(fn.params))]
    node = gast.FunctionDef(
        name=fn.name,
        args=gast.arguments(
            args=params,
            posonlyargs=[],
            vararg=None,
            kwonlyargs=[],
            kw_defaults=[],
            kwarg=None,
            defaults=[expression(value, names) for value in reversed(given) if value is not None],
        ),
        body=_filled(body),
        decorator_list=[],
        returns=None,
        type_comment=None,
        type_params=[],
    )
    return _from(fn.span, node)


def block(body: tuple[ir.Stmt, ...], names: Names) -> list[Node]:
    """Convert the statements of one block, guards de-nested; the block may come out empty."""
    nodes: list[Node] = []
    for stmt in _told_once(body):
        nodes += statement(stmt, names)
    return nodes


def _told_once(body: tuple[ir.Stmt, ...]) -> list[ir.Stmt]:
    """Return a block where a line of the user's is not told again while what it became goes on."""
    kept: list[ir.Stmt] = []
    told: tuple[str, str, int] | None = None
    for stmt in body:
        if isinstance(stmt, ir.Comment):
            line = (stmt.text, stmt.span.file, stmt.span.line)
            if line == told:
                continue
            told = line
        elif isinstance(stmt, ir.If | ir.For | ir.While):
            told = None
        kept.append(stmt)
    return kept


def statement(stmt: ir.Stmt, names: Names) -> list[Node]:
    """Convert one statement: one node, or for a guard the `if` and what was its `else`."""
    if isinstance(stmt, ir.If):
        return _branch(stmt, names)
    return [_from(stmt.span, _simple(stmt, names))]


def _branch(stmt: ir.If, names: Names) -> list[Node]:
    # After a body that always jumps, the `else` is simply what follows.
    if stmt.orelse and always_jumps(stmt.body):
        return [_if(stmt, [], names), *block(stmt.orelse, names)]
    return [_if(stmt, _orelse(stmt.orelse, names), names)]


def _orelse(orelse: tuple[ir.Stmt, ...], names: Names) -> list[Node]:
    """Convert an `else` block, keeping `elif` chains whole: an arm of one is no guard."""
    *before, last = orelse or (None,)
    if isinstance(last, ir.If) and all(isinstance(stmt, ir.Comment) for stmt in before):
        arm = _if(last, _orelse(last.orelse, names), names)
        return [*block(orelse[:-1], names), arm]
    body = block(orelse, names)
    return body if _has_code(body) else []


def _if(stmt: ir.If, orelse: list[Node], names: Names) -> Node:
    node = gast.If(
        test=expression(stmt.test, names), body=_filled(block(stmt.body, names)), orelse=orelse
    )
    return _from(stmt.span, node)


def always_jumps(body: tuple[ir.Stmt, ...]) -> bool:
    """Say whether control never runs off the end of a block, whatever its branches decide."""
    for stmt in reversed(body):
        match stmt:
            case ir.Comment():
                continue
            case ir.Break() | ir.Continue() | ir.Return() | ir.Raise():
                return True
            case ir.If(_, then, orelse):
                return always_jumps(then) and always_jumps(orelse)
            case _:
                return False
    return False


Straight = (
    ir.Assign
    | ir.Store
    | ir.CallStmt
    | ir.Append
    | ir.Swap
    | ir.For
    | ir.While
    | ir.Break
    | ir.Continue
    | ir.Return
    | ir.Raise
    | ir.Assert
    | ir.Effect
    | ir.Comment
)


_AUGMENTED = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/"}


def _augments(target: ir.Var, fn: object, name: str) -> bool:
    """`n = n + 1` of a number reads better as `n += 1`."""
    return fn in _AUGMENTED and target.name == name and isinstance(target.type, Scalar)


def _is_scatter(index: tuple[ir.Expr | ir.Slice, ...]) -> bool:
    """An index array may name one element twice: an adjoint adds each time."""
    return any(
        not isinstance(i, ir.Slice) and isinstance(i.type, Array) and i.type.dtype != "bool" for i in index
    )


def _scatter(base: ir.Expr, index: tuple[ir.Expr | ir.Slice, ...], op: str, value: ir.Expr) -> ir.Expr:
    fn = np.add.at if op == "+" else np.subtract.at
    items = [_as_slice(i) for i in index]
    at = items[0] if len(items) == 1 else ir.Pack("tuple", tuple(items), base.type)
    return ir.Apply(fn, (base, at, value), base.type)


def _as_slice(item: ir.Expr | ir.Slice) -> ir.Expr:
    """Inside a call a slice is written `slice(a, b)`."""
    if not isinstance(item, ir.Slice):
        return item
    none = ir.Const(None, Static(None))
    return ir.Apply(slice, (item.lower or none, item.upper or none, item.step or none), Static(None))


def _simple(stmt: Straight, names: Names) -> Node:
    """Convert a statement other than `if`."""
    match stmt:
        case ir.Assign(target, ir.Apply(fn, (ir.Var(name), value))) if _augments(target, fn, name):
            return gast.AugAssign(
                target=_target(target), op=OPERATORS[_AUGMENTED[fn]](), value=expression(value, names)
            )
        case ir.Assign(target, value):
            return _assign(_target(target), expression(value, names))
        case ir.Store(ir.Index(base, index), op, value, _, True) if _is_scatter(index):
            return gast.Expr(value=expression(_scatter(base, index, op, value), names))
        case ir.Store(where, "", value):
            return _assign(place(where, "", names), expression(value, names))
        case ir.Store(where, op, value):
            return gast.AugAssign(
                target=place(where, op, names),
                op=OPERATORS[op](),
                value=expression(value, names),
            )
        case ir.CallStmt():
            return _call(stmt, names)
        case ir.Append(items, value):
            method = gast.Attribute(value=path(items.name), attr="append", ctx=gast.Load())
            return gast.Expr(value=_invoke(method, [expression(value, names)]))
        case ir.Swap(first, second):
            crossed = gast.Tuple(elts=[path(second.name), path(first.name)], ctx=gast.Load())
            return _assign(_targets((first, second)), crossed)
        case ir.For():
            return _for(stmt, names)
        case ir.While(test, body):
            filled = _filled(block(body, names))
            return gast.While(test=expression(test, names), body=filled, orelse=[])
        case ir.Break():
            return gast.Break()
        case ir.Continue():
            return gast.Continue()
        case ir.Return(values):
            return gast.Return(value=_results(values, names))
        case ir.Raise(error, args):
            raised = path(names.of(error))
            if args:
                raised = _invoke(raised, [expression(arg, names) for arg in args])
            return gast.Raise(exc=raised, cause=None)
        case ir.Assert(test, message):
            msg = None if message is None else expression(message, names)
            return gast.Assert(test=expression(test, names), msg=msg)
        case ir.Effect(value):
            return gast.Expr(value=expression(value, names))
        case ir.Comment(text):
            return Comment(text)
        case _:
            assert_never(stmt)


def _call(stmt: ir.CallStmt, names: Names) -> Node:
    if stmt.fn is not None:
        call = expression(ir.Apply(stmt.fn, stmt.args, stmt.targets[0].type, stmt.static), names)
    else:
        call = _invoke(path(stmt.callee), [expression(arg, names) for arg in stmt.args])
    match stmt.targets:
        case ():
            return gast.Expr(value=call)
        case (target,):
            return _assign(_target(target), call)
        case targets:
            return _assign(_targets(targets), call)


def _for(stmt: ir.For, names: Names) -> Node:
    if not _is_int(stmt.step, 1):
        bounds = [stmt.start, stmt.stop, stmt.step]
    elif not _is_int(stmt.start, 0):
        bounds = [stmt.start, stmt.stop]
    else:
        bounds = [stmt.stop]
    counted = names.attribute("numba", "prange") if stmt.at_once else names.of(range)
    return gast.For(
        target=_target(stmt.var),
        iter=_invoke(path(counted), [expression(bound, names) for bound in bounds]),
        body=_filled(block(stmt.body, names)),
        orelse=[],
        type_comment=None,
    )


def _results(values: tuple[ir.Expr, ...], names: Names) -> Node:
    match values:
        case ():
            return None
        case (value,):
            return expression(value, names)
        case _:
            return gast.Tuple(elts=[expression(value, names) for value in values], ctx=gast.Load())


def _is_int(expr: ir.Expr, value: int) -> bool:
    return isinstance(expr, ir.Const) and type(expr.value) is int and expr.value == value


def _has_code(body: list[Node]) -> bool:
    return any(not isinstance(node, Comment) for node in body)


def _filled(body: list[Node]) -> list[Node]:
    """Add the `pass` that a block without code needs."""
    return body if _has_code(body) else [*body, gast.Pass()]


def _assign(target: Node, value: Node) -> Node:
    return gast.Assign(targets=[target], value=value, type_comment=None)


def _targets(variables: tuple[ir.Var, ...]) -> Node:
    return gast.Tuple(elts=[_target(var) for var in variables], ctx=gast.Store())


def _target(var: ir.Var) -> Node:
    return gast.Name(id=var.name, ctx=gast.Store(), annotation=None, type_comment=None)


def _invoke(callee: Node, args: list[Node]) -> Node:
    return gast.Call(func=callee, args=args, keywords=[])


def _from(span: Span, node: Node) -> Node:
    """Note on a statement's node where in the user's source it came from."""
    node.span = span
    return node
