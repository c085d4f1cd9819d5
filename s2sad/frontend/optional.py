"""Names that start as `None` and get a value later: a flag says whether there is one yet.

`best = None` becomes `best_given = False` beside any value at all, `best = v` becomes `best_given = True` beside
`best = v`, and `best is None` asks the flag.
"""

from __future__ import annotations

import operator
from typing import Any

import gast
import numpy as np

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StaticV, StructV, V, Value, literal, pack
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Const, Expr, If, Raise
from s2sad.ir.types import Array, Scalar, Static, Type

KIND = "optional"
_FLAG = Scalar("bool", weak=True)


class KindFound(Exception):
    """The value that a name gets later is of another type than was supposed: the function is lowered again."""


def optional_names(node: Any) -> frozenset[str]:
    """Return the names that a function sets to None, sets to something else, and asks about."""
    none: set[str] = set()
    other: set[str] = set()
    asked: set[str] = set()
    either: set[str] = set()
    for part in gast.walk(node):
        match part:
            case gast.Assign(targets=[gast.Tuple(elts=targets)], value=gast.Tuple(elts=values)) if len(targets) == len(
                values
            ):
                for target, value in zip(targets, values, strict=True):
                    if isinstance(target, gast.Name):
                        (none if isinstance(value, gast.Constant) and value.value is None else other).add(target.id)
            case gast.Assign(targets=[gast.Name(id=name)], value=value) if may_be_none(value):
                either.add(name)
            case gast.Assign(targets=targets, value=value):
                names = {t.id for t in targets if isinstance(t, gast.Name)}
                parts = [e for t in targets if isinstance(t, gast.Tuple) for e in t.elts]
                names |= {e.id for e in parts if isinstance(e, gast.Name)}
                (none if isinstance(value, gast.Constant) and value.value is None else other).update(names)
            case gast.Compare(left=gast.Name(id=name), comparators=[gast.Constant(value=None)]):
                asked.add(name)
            case _:
                pass
    return frozenset(either | (none & other & (asked | _set_on_a_path(node))))


def may_be_none(value: Any) -> bool:
    """Say whether an expression is None on one side of a condition, and something else on the other."""
    sides = (value.body, value.orelse) if isinstance(value, gast.IfExp) else ()
    none = [isinstance(side, gast.Constant) and side.value is None for side in sides]
    return none.count(True) == 1 or any(may_be_none(side) for side in sides)


def _set_on_a_path(node: Any) -> set[str]:
    """Return the names that are bound inside a branch or a loop."""
    paths = [part for part in gast.walk(node) if isinstance(part, gast.If | gast.For | gast.While)]
    inner = [statement for path in paths for statement in gast.walk(path)]
    return {n.id for s in inner if isinstance(s, gast.Assign) for n in s.targets if isinstance(n, gast.Name)}


def bind(lw: Lowerer, name: str, value: Value, node: Any) -> bool:
    """Set a name that may be None; False if the value is of a kind that this cannot express."""
    if isinstance(value, StaticV) and value.value is None:
        given, held = False, _placeholder(lw.ctx.optional_kinds.get(_key(lw, name)))
        lw.proven -= {name}
    elif isinstance(value, V) and isinstance(value.expr.type, Scalar | Array):
        given, held = True, value.expr
        _settle(lw, name, held.type)
    else:
        return False
    span = lw.span(node)
    stored = lw.store_value(lw.ir_name(name), V(held), span)  # it may ask for the flag as it was
    flag = lw.store_value(lw.part_name(lw.ir_name(name), "given"), V(literal(given)), span)
    lw.env[name] = StructV(KIND, ("given", "value"), (flag, stored))
    return True


def _key(lw: Lowerer, name: str) -> tuple[int, str]:
    return id(lw.source.node), name


def _settle(lw: Lowerer, name: str, kind: Type) -> None:
    """Begin again if a value before was made up of another type."""
    assert isinstance(kind, Scalar | Array)
    known = lw.ctx.optional_kinds.get(_key(lw, name))
    wanted = (kind.dtype, len(kind.dims) if isinstance(kind, Array) else 0)
    if known == wanted or (known is None and wanted == ("float64", 0)):
        return
    if known is not None and known[1] == wanted[1]:
        wanted = (np.result_type(known[0], wanted[0]).name, wanted[1])
        if wanted == known:
            return
    elif known is not None:
        return  # of different rank on two paths: that is told where the paths meet
    lw.ctx.optional_kinds[_key(lw, name)] = wanted
    raise KindFound


def _placeholder(kind: tuple[str, int] | None) -> Expr:
    dtype, rank = kind or ("float64", 0)
    if rank:
        shape = pack("tuple", [literal(0)] * rank) if rank > 1 else literal(0)
        static = () if dtype == "float64" else (("dtype", np.dtype(dtype).type),)
        return Apply(np.zeros, (shape,), Array(dtype, (0,) * rank, "C"), static)
    zero: Any = {"b": False, "i": 0, "f": 0.0, "c": 0j}[np.dtype(dtype).kind]
    return literal(zero)


def value_of(lw: Lowerer, name: str, held: StructV, node: Any) -> Value:
    """Return what a name holds; where it is not known that it holds anything, that is checked."""
    flag, value = held.items
    assert isinstance(flag, V)
    known = getattr(flag.expr.type, "value", None)
    if known is False:
        return StaticV(None)
    if known is not True and name not in lw.proven:
        text = f"`{name}` is still None here"
        lw.emit(If(_negated(flag.expr), (Raise(TypeError, (Const(text, Static(text)),), lw.span(node)),), (),
                   lw.span(node)))  # fmt: skip
    return value


def _negated(flag: Expr) -> Expr:
    return Apply(operator.not_, (flag,), _FLAG)


def is_none(lw: Lowerer, node: Any) -> Expr | bool | None:
    """Return the test `name is None`, or its negation, of a name that may be None; None for any other comparison."""
    match node:
        case gast.Compare(left=gast.Name(id=name), ops=[op], comparators=[gast.Constant(value=None)]):
            held = lw.env.get(name)
        case _:
            return None
    if not (isinstance(held, StructV) and held.kind == KIND):
        return None
    flag = held.items[0]
    assert isinstance(flag, V)
    known = getattr(flag.expr.type, "value", None)
    wants_none = isinstance(op, gast.Is | gast.Eq)
    if isinstance(known, bool):
        return known is not wants_none
    return _negated(flag.expr) if wants_none else flag.expr


def truth(held: StructV) -> Expr | bool:
    """Return the truth of a name that may be None: it has a value, which is not zero."""
    flag, value = held.items
    assert isinstance(flag, V)
    assert isinstance(value, V)
    known = getattr(flag.expr.type, "value", None)
    nonzero = Apply(operator.ne, (value.expr, literal(0)), _FLAG)
    if isinstance(known, bool):
        return nonzero if known else False
    return Apply(ops.both, (flag.expr, nonzero), _FLAG)


def proven_by(test: Any, holds: bool) -> frozenset[str]:
    """Return the names that surely have a value where a condition holds, or where it does not."""
    match test:
        case gast.Compare(left=gast.Name(id=name), ops=[op], comparators=[gast.Constant(value=None)]):
            is_given = isinstance(op, gast.IsNot | gast.NotEq)
            return frozenset({name}) if is_given == holds else frozenset()
        case gast.UnaryOp(op=gast.Not(), operand=operand):
            return proven_by(operand, not holds)
        case gast.BoolOp(op=op, values=values) if isinstance(op, gast.And) == holds:
            return frozenset[str]().union(*(proven_by(value, holds) for value in values))
        case gast.Name(id=name) if holds:
            return frozenset({name})
        case _:
            return frozenset()
