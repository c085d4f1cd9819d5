# typeshed leaves the arguments of `operator`'s functions untyped, and gast has no types at all.
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false
"""IR expressions to gast: operators, attributes, constants and calls as Python spells them."""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable
from types import EllipsisType
from typing import Any, assert_never, cast

import gast as _gast  # pyright: ignore[reportMissingTypeStubs]
import numpy as np

from s2sad.emit.names import Names
from s2sad.emit.whole_sums import shorter
from s2sad.ir import nodes as ir
from s2sad.ir import ops
from s2sad.ir.device import Intrinsic
from s2sad.ir.types import Array

gast: Any = _gast
Node = Any
Fn = Callable[..., Any]

BINARY: dict[Fn, Any] = {
    operator.add: gast.Add,
    operator.sub: gast.Sub,
    operator.mul: gast.Mult,
    operator.truediv: gast.Div,
    operator.floordiv: gast.FloorDiv,
    operator.mod: gast.Mod,
    operator.pow: gast.Pow,
    operator.matmul: gast.MatMult,
    operator.and_: gast.BitAnd,
    operator.or_: gast.BitOr,
    operator.xor: gast.BitXor,
    operator.lshift: gast.LShift,
    operator.rshift: gast.RShift,
}

UNARY: dict[Fn, Any] = {
    operator.neg: gast.USub,
    operator.pos: gast.UAdd,
    operator.invert: gast.Invert,
    operator.not_: gast.Not,
}

COMPARE: dict[Fn, Any] = {
    operator.lt: gast.Lt,
    operator.le: gast.LtE,
    operator.gt: gast.Gt,
    operator.ge: gast.GtE,
    operator.eq: gast.Eq,
    operator.ne: gast.NotEq,
    operator.is_: gast.Is,
    operator.is_not: gast.IsNot,
}

ATTRIBUTES: dict[Fn, str] = {ops.size: "size", ops.transpose: "T", ops.shape: "shape"}

NEGATED = {gast.In: gast.NotIn, gast.Is: gast.IsNot}


def _attribute(value: Node, attribute: str) -> Node:
    return gast.Attribute(value=value, attr=attribute, ctx=gast.Load())


def _item_of(value: Node, key: Node) -> Node:
    return gast.Subscript(value=value, slice=key, ctx=gast.Load())


# Calls that have a syntax of their own, from their arguments in order.
SPELLED: dict[Fn, Callable[..., Node]] = {
    operator.contains: lambda items, x: gast.Compare(left=x, ops=[gast.In()], comparators=[items]),
    operator.getitem: _item_of,
    ops.dim: lambda x, axis: _item_of(_attribute(x, "shape"), axis),
    ops.ifexp: lambda test, then, other: gast.IfExp(test=test, body=then, orelse=other),
    ops.new_list: lambda: gast.List(elts=[], ctx=gast.Load()),
    ops.stop_gradient: lambda x: x,
    ops.pop: lambda items: gast.Call(func=_attribute(items, "pop"), args=[], keywords=[]),
}

# Types of methods that are written in C, such as `np.ndarray.copy`: printed on their object.
_Method = type(np.ndarray.copy)


def expression(expr: ir.Expr, names: Names) -> Node:
    """Convert an expression."""
    match expr:
        case ir.Var(name):
            return _name(name)
        case ir.Const(value):
            return constant(value, names)
        case ir.Index():
            return _subscript(expr, names)
        case ir.Pack("tuple", items):
            return _tuple([expression(item, names) for item in items])
        case ir.Pack(_, items):
            return gast.List(elts=[expression(item, names) for item in items], ctx=gast.Load())
        case ir.Apply():
            short = shorter(expr)
            return _apply(short, names) if isinstance(short, ir.Apply) else expression(short, names)
        case _:
            assert_never(expr)


def place(where: ir.Expr, op: str, names: Names) -> Node:
    """Convert what is written in place; whatever is not an item is written through `[...]`."""
    node = expression(where, names)
    through = not isinstance(where, ir.Index | ir.Var)
    # `x = value` would bind the name anew, where the store writes into the array.
    through |= isinstance(where, ir.Var) and op == "" and isinstance(where.type, Array)
    if through:
        whole = gast.Constant(value=..., kind=None)
        return gast.Subscript(value=node, slice=whole, ctx=gast.Store())
    node.ctx = gast.Store()
    return node


def constant(value: Any, names: Names) -> Node:
    """Convert a value known at transform time: a literal, dtype, class, function or container."""
    match value:
        case np.dtype():
            return _dtype(cast("np.dtype[Any]", value), names)
        case None | bool() | str() | bytes() | EllipsisType():
            return gast.Constant(value=value, kind=None)
        case np.bool_():
            return gast.Constant(value=bool(value), kind=None)
        case float():  # np.float64 is one
            return _float(float(value), names)
        case complex():  # np.complex128 is one
            return _complex(complex(value), names)
        case int():
            return _signed(int(value))
        case np.number():
            number = cast("np.number[Any]", value)
            return _call(names.of(type(number)), [constant(_plain(number), names)])
        case tuple():
            return _tuple([constant(item, names) for item in cast("tuple[Any, ...]", value)])
        case list():
            items = [constant(item, names) for item in cast("list[Any]", value)]
            return gast.List(elts=items, ctx=gast.Load())
        case slice():
            whole = cast("slice[Any, Any, Any]", value)
            bounds = [whole.start, whole.stop, whole.step]
            return _call(names.of(slice), [constant(bound, names) for bound in bounds])
        case _:
            return path(names.of(value))


def _apply(expr: ir.Apply, names: Names) -> Node:
    """Convert a call: an operator, an attribute, a method, or a name with arguments."""
    fn = expr.fn
    if fn is ops.both or fn is ops.either:
        return _logical(expr, names)
    if fn is operator.not_:
        return _negated(expr.args[0], names)
    args = [expression(arg, names) for arg in expr.args]
    if fn in BINARY:
        return gast.BinOp(left=args[0], op=BINARY[fn](), right=args[1])
    if fn in UNARY:
        return gast.UnaryOp(op=UNARY[fn](), operand=args[0])
    if fn in COMPARE:
        return gast.Compare(left=args[0], ops=[COMPARE[fn]()], comparators=[args[1]])
    if fn in ATTRIBUTES:
        return _attribute(args[0], ATTRIBUTES[fn])
    keywords = [gast.keyword(arg=name, value=constant(value, names)) for name, value in expr.static]
    if isinstance(fn, Intrinsic):
        return _intrinsic(fn, args, keywords, names)
    if fn in SPELLED:
        return SPELLED[fn](*args, *(keyword.value for keyword in keywords))
    if isinstance(fn, _Method):
        method = _attribute(args[0], fn.__name__)
        return gast.Call(func=method, args=args[1:], keywords=keywords)
    callee = names.of(len if fn is ops.length else fn)
    return gast.Call(func=path(callee), args=args, keywords=keywords)


def _intrinsic(fn: Intrinsic, args: list[Node], keywords: list[Node], names: Names) -> Node:
    """Convert `cuda.threadIdx.x`, `cuda.grid(2)[0]`, `cuda.shared.array(shape, dtype)`."""
    node = path(names.attribute(names.device, fn.path))
    if fn.args is None:
        return node
    fixed = [_signed(value) for value in fn.args]
    node = gast.Call(func=node, args=[*fixed, *args, *(keyword.value for keyword in keywords)], keywords=[])
    return node if fn.item is None else _item_of(node, _signed(fn.item))


def _logical(expr: ir.Apply, names: Names) -> Node:
    """Convert `and` and `or`, flat as Python reads them; `a < b and b < c` becomes a chain."""
    kind = gast.And if expr.fn is ops.both else gast.Or
    values: list[Node] = []
    for arg in expr.args:
        node = expression(arg, names)
        flat = isinstance(node, gast.BoolOp) and isinstance(node.op, kind)
        for part in node.values if flat else [node]:
            if values and kind is gast.And and _continues(values[-1], part):
                values[-1].ops += part.ops
                values[-1].comparators += part.comparators
            else:
                values.append(part)
    if len(values) == 1:
        return values[0]
    return gast.BoolOp(op=kind(), values=values)


def _continues(left: Node, right: Node) -> bool:
    """Say whether the second comparison starts with the very operand that the first ends with."""
    if not (isinstance(left, gast.Compare) and isinstance(right, gast.Compare)):
        return False
    if any(isinstance(op, gast.In | gast.NotIn) for op in (*left.ops, *right.ops)):
        return False
    # Dumps, not `==`: to Python, the constants 1, 1.0 and True are equal.
    return gast.dump(left.comparators[-1]) == gast.dump(right.left)


def _negated(arg: ir.Expr, names: Names) -> Node:
    """Convert `not x`, as `not in` and `is not` where Python has a word for it."""
    node = expression(arg, names)
    if isinstance(node, gast.Compare) and len(node.ops) == 1:
        word = NEGATED.get(type(node.ops[0]))
        if word is not None:
            node.ops = [word()]
            return node
    return gast.UnaryOp(op=gast.Not(), operand=node)


def _subscript(expr: ir.Index, names: Names) -> Node:
    items = [_item(item, names) for item in expr.index]
    key = items[0] if len(items) == 1 else _tuple(items)
    return gast.Subscript(value=expression(expr.base, names), slice=key, ctx=gast.Load())


def _item(item: ir.Expr | ir.Slice, names: Names) -> Node:
    if not isinstance(item, ir.Slice):
        return expression(item, names)
    parts = [
        None if part is None else expression(part, names)
        for part in (item.lower, item.upper, item.step)
    ]
    return gast.Slice(lower=parts[0], upper=parts[1], step=parts[2])


def _signed(value: float) -> Node:
    """Convert a number whose sign, if any, is a minus of its own, as Python parses it."""
    # Not `copysign`: an integer may be too large for a float.
    negative = value < 0 or (isinstance(value, float) and math.copysign(1.0, value) < 0)
    literal = gast.Constant(value=-value if negative else value, kind=None)
    return gast.UnaryOp(op=gast.USub(), operand=literal) if negative else literal


def _float(value: float, names: Names) -> Node:
    if math.isfinite(value):
        return _signed(value)
    if math.isnan(value):
        return path(names.attribute("numpy", "nan"))
    infinity = path(names.attribute("numpy", "inf"))
    return infinity if value > 0 else gast.UnaryOp(op=gast.USub(), operand=infinity)


def _complex(value: complex, names: Names) -> Node:
    """Convert a complex number to literals that give back its two parts, signed zeros included."""
    real, imag = value.real, value.imag
    minus_zero = real == 0.0 and math.copysign(1.0, real) < 0
    if cmath.isfinite(value) and not minus_zero and real == 0.0 and math.copysign(1.0, imag) > 0:
        return gast.Constant(value=complex(0.0, imag), kind=None)
    if cmath.isfinite(value) and minus_zero and math.copysign(1.0, imag) < 0:
        literal = gast.Constant(value=complex(0.0, -imag), kind=None)
        return gast.UnaryOp(op=gast.USub(), operand=literal)
    if not cmath.isfinite(value) or minus_zero or (imag == 0.0 and math.copysign(1.0, imag) < 0):
        return _call(names.of(complex), [_float(real, names), _float(imag, names)])
    return gast.BinOp(
        left=_signed(real),
        op=gast.Sub() if imag < 0 else gast.Add(),
        right=gast.Constant(value=complex(0.0, abs(imag)), kind=None),
    )


def _plain(number: Any) -> Any:
    """Return the shortest Python value from which the NumPy type makes the same number."""
    if number.dtype.char in "gG":
        return str(number)
    if number.dtype.kind == "f" and np.isfinite(number):
        short = float(str(number))
        return short if type(number)(short) == number else number.item()
    return number.item()


def _dtype(dtype: np.dtype[Any], names: Names) -> Node:
    if dtype == np.dtype(dtype.type):
        return path(names.of(dtype.type))
    descr = dtype.str if dtype.names is None else dtype.descr
    return _call(names.of(np.dtype), [constant(descr, names)])


def _name(name: str) -> Node:
    return gast.Name(id=name, ctx=gast.Load(), annotation=None, type_comment=None)


def path(dotted: str) -> Node:
    """Convert a dotted name."""
    root, *attributes = dotted.split(".")
    node = _name(root)
    for attribute in attributes:
        node = _attribute(node, attribute)
    return node


def _tuple(items: list[Node]) -> Node:
    return gast.Tuple(elts=items, ctx=gast.Load())


def _call(name: str, args: list[Node]) -> Node:
    return gast.Call(func=path(name), args=args, keywords=[])
